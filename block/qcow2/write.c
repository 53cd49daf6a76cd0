/* block/qcow2/write.c - writing, zeroes, discards: everything that changes what is where. */
#include "block/qcow2/qcow2.h"

#include "util/iov.h"

#define ALLOC_MAX (16 * MiB) /* bytes that one step gives a place */

#define HEADER_AUTOCLEAR 88

/* Before the first change: features that we do not keep up to date are no longer true. Lock held.
 */
static int prepare(struct qcow2 *q)
{
	int ret = 0;

	if (!q->writable)
		return -EROFS;
	if (q->broken)
		return -EIO;
	if (!q->header_prepared && q->h.version >= 3 && q->h.autoclear) {
		memset(q->h.sector + HEADER_AUTOCLEAR, 0, sizeof(u64));
		ret = qcow2_pwrite(q, 0, q->h.sector, sizeof(q->h.sector));
		if (!ret)
			ret = qcow2_barrier(q);
		if (!ret)
			q->h.autoclear = 0;
	}
	q->header_prepared = !ret;
	return ret;
}

/* ---- Data that already has its place ---- */

/*
 * Writes from @pos on while that needs no change of the mapping. Return: bytes written, or -errno.
 */
static s64 write_in_place(struct qcow2 *q, u64 pos, const struct iovec *iov, int niov,
			  unsigned flags)
{
	g_autofree struct iovec *part = g_new(struct iovec, niov + 1);
	u64 bytes = iov_size(iov, niov), done = 0;

	while (done < bytes) {
		struct qcow2_run run;
		int ret, n;

		g_mutex_lock(&q->lock);
		ret = prepare(q);
		if (!ret)
			ret = qcow2_lookup(q, pos + done, bytes - done, &run);
		g_mutex_unlock(&q->lock);
		if (ret)
			return ret;
		if (run.kind != QCOW2_KIND_DATA || !run.in_place)
			break;
		n = iov_slice(iov, niov, done, run.bytes, part);
		ret = image_io(q->img,
			       &(struct io){ IO_WRITE, run.host, run.bytes, part, n, flags });
		if (ret)
			return ret;
		done += run.bytes;
	}
	return done;
}

/* ---- Data that gets a place ---- */

/* Clusters of the disk, one after the other, and the place that they get. */
struct placing {
	u64 first; /* offset on the disk of the first cluster */
	u64 count;
	u64 host;    /* of the first, in the file */
	bool taken;  /* newly allocated, not a zero cluster's own place */
	bool virgin; /* the file reads as zeroes there */
};

/* Whether a write to the cluster would change the mapping. */
static bool needs_place(const struct qcow2 *q, u64 entry)
{
	struct qcow2_run run;

	qcow2_decode(q, entry, &run);
	return run.kind != QCOW2_KIND_DATA || !run.in_place;
}

/* Lock held. */
static int place(struct qcow2 *q, u64 pos, u64 end, struct placing *p)
{
	unsigned index = qcow2_l2_index(q, pos);
	u64 most = MIN(DIV_ROUND_UP(end, q->cluster_size) - pos / q->cluster_size,
		       ((u64)1 << q->l2_bits) - index);
	struct qcow2_run run;
	u64 cluster, n = 1;
	int ret;
	struct table *t = qcow2_l2(q, pos, true, &ret);

	if (!t)
		return ret;
	*p = (struct placing){ .first = ROUND_DOWN(pos, q->cluster_size), .count = 1 };
	qcow2_decode(q, qcow2_l2_entry(t, index), &run);
	if (run.kind == QCOW2_KIND_ZERO && run.in_place) {
		if (!IS_ALIGNED(run.host, q->cluster_size) || qcow2_is_metadata(q, run.host))
			return qcow2_corrupt(q, "a zero cluster's place cannot be", run.host);
		p->host = run.host;
		return 0;
	}
	most = MIN(most, MAX(ALLOC_MAX >> q->h.cluster_bits, 1));
	while (n < most && needs_place(q, qcow2_l2_entry(t, index + n)))
		n++;
	ret = qcow2_alloc(q, 1, n, &cluster);
	if (ret < 0)
		return ret;
	p->count = ret;
	p->host = cluster << q->h.cluster_bits;
	p->taken = true;
	p->virgin = cluster >= q->virgin;
	q->virgin = MAX(q->virgin, cluster + p->count);
	return 0;
}

/* The bytes of [from, to) as they are on the disk now, which lies in one cluster; NULL in @iov if
 * they need not be written. */
static int old_bytes(struct qcow2 *q, const struct placing *p, u64 from, u64 to, struct iovec *iov)
{
	u64 inside = MIN(to, q->f.size); /* the last cluster may end beyond the disk */
	struct qcow2_run run = { .kind = QCOW2_KIND_ZERO };
	int ret = 0;

	*iov = (struct iovec){ NULL, 0 };
	if (from == to)
		return 0;
	if (from < inside) {
		g_mutex_lock(&q->lock);
		ret = qcow2_lookup(q, from, inside - from, &run);
		g_mutex_unlock(&q->lock);
	}
	if (ret)
		return ret;
	if (run.kind == QCOW2_KIND_NONE && !q->f.b->backing)
		run.kind = QCOW2_KIND_ZERO;
	if (run.kind == QCOW2_KIND_ZERO && p->virgin)
		return 0;
	iov->iov_base = g_malloc0(to - from);
	iov->iov_len = to - from;
	if (run.kind != QCOW2_KIND_ZERO) {
		struct iovec v = { iov->iov_base, inside - from };

		ret = qcow2_read_locked(q, from, &v, 1);
	}
	return ret;
}

/* Writes the clusters of @p: [from, to) from @iov, the rest of the first and the last as it was. */
static int fill(struct qcow2 *q, const struct placing *p, u64 from, u64 to, const struct iovec *iov,
		int niov)
{
	u64 end = p->first + p->count * q->cluster_size, start = from;
	g_autofree struct iovec *all = g_new(struct iovec, niov + 2);
	struct iovec head, tail = { 0 };
	int n = 0, ret = old_bytes(q, p, p->first, from, &head);

	if (!ret)
		ret = old_bytes(q, p, to, end, &tail);
	if (!ret) {
		if (head.iov_len) {
			all[n++] = head;
			start = p->first;
		}
		memcpy(all + n, iov, niov * sizeof(*iov));
		n += niov;
		if (tail.iov_len)
			all[n++] = tail;
		ret = image_io(q->img, &(struct io){ IO_WRITE, p->host + (start - p->first),
						     iov_size(all, n), all, n, 0 });
	}
	g_free(head.iov_base);
	g_free(tail.iov_base);
	return ret;
}

/* Lock held. */
static int link_clusters(struct qcow2 *q, const struct placing *p)
{
	int ret;
	struct table *t = qcow2_l2(q, p->first, true, &ret);
	unsigned index = qcow2_l2_index(q, p->first);

	if (!t)
		return ret;
	for (u64 i = 0; i < p->count; i++)
		qcow2_l2_set(q, t, index + i, (p->host + (i << q->h.cluster_bits)) | QCOW2_COPIED);
	return 0;
}

/* One step of a write that holds its range: bytes written, or -errno. */
static s64 write_step(struct qcow2 *q, u64 pos, const struct iovec *iov, int niov)
{
	g_autofree struct iovec *part = g_new(struct iovec, niov + 1);
	u64 end = pos + iov_size(iov, niov), to;
	struct placing p = { 0 };
	int ret, n;

	g_mutex_lock(&q->lock);
	ret = place(q, pos, end, &p);
	g_mutex_unlock(&q->lock);
	if (ret)
		return ret;
	to = MIN(end, p.first + p.count * q->cluster_size);
	n = iov_slice(iov, niov, 0, to - pos, part);
	ret = fill(q, &p, pos, to, part, n);
	g_mutex_lock(&q->lock);
	if (!ret)
		ret = link_clusters(q, &p);
	if (ret && p.taken)
		qcow2_unalloc(q, p.host >> q->h.cluster_bits, p.count);
	g_mutex_unlock(&q->lock);
	return ret ? ret : (s64)(to - pos);
}

/* For a caller that holds the range of all of it, exclusively. */
static int write_held(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov)
{
	g_autofree struct iovec *rest = g_new(struct iovec, niov + 1);
	u64 bytes = iov_size(iov, niov), done = 0;

	while (done < bytes) {
		int left = iov_slice(iov, niov, done, bytes - done, rest);
		s64 n = write_in_place(q, offset + done, rest, left, 0);

		if (!n)
			n = write_step(q, offset + done, rest, left);
		if (n < 0)
			return n;
		done += n;
	}
	return 0;
}

static void enter(struct qcow2 *q, struct range *r, u64 offset, u64 bytes, bool exclusive)
{
	g_mutex_lock(&q->lock);
	qcow2_range_enter(q, r, offset, bytes, exclusive);
	g_mutex_unlock(&q->lock);
}

static void leave(struct qcow2 *q, struct range *r)
{
	g_mutex_lock(&q->lock);
	qcow2_range_leave(q, r);
	g_mutex_unlock(&q->lock);
}

int qcow2_write(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov, unsigned flags)
{
	g_autofree struct iovec *rest = g_new(struct iovec, niov + 1);
	u64 bytes = iov_size(iov, niov);
	struct range r;
	int ret = 0, left;
	s64 n;

	enter(q, &r, offset, bytes, false);
	n = write_in_place(q, offset, iov, niov, flags);
	leave(q, &r);
	if (n < 0)
		return n;
	if (n < bytes) {
		enter(q, &r, offset + n, bytes - n, true);
		left = iov_slice(iov, niov, n, bytes - n, rest);
		ret = write_held(q, offset + n, rest, left);
		leave(q, &r);
		if (!ret && flags & BLOCK_FUA)
			return qcow2_sync(q);
	} else if (flags & BLOCK_FUA && qcow2_is_dirty(q)) {
		/* The data is on the disk, but perhaps not yet what says where. */
		return qcow2_sync(q);
	}
	return ret ? ret : qcow2_relieve(q);
}

/* ---- Zeroes ---- */

/* A part of a cluster; exclusive range held. */
static int zero_part(struct qcow2 *q, u64 offset, u64 bytes)
{
	g_autofree void *zero = NULL;
	struct qcow2_run run;
	struct iovec v;
	int ret;

	g_mutex_lock(&q->lock);
	ret = prepare(q);
	if (!ret)
		ret = qcow2_lookup(q, offset, bytes, &run);
	g_mutex_unlock(&q->lock);
	if (ret || run.kind == QCOW2_KIND_ZERO || (run.kind == QCOW2_KIND_NONE && !q->f.b->backing))
		return ret;
	zero = g_malloc0(bytes);
	v = (struct iovec){ zero, bytes };
	return write_held(q, offset, &v, 1);
}

/* The entry of a cluster that is to read as zeroes; -1: version 2 has none, it must be written. */
static int zero_entry(const struct qcow2 *q, u64 old, bool unmap, u64 *entry)
{
	struct qcow2_run run;

	qcow2_decode(q, old, &run);
	*entry = old;
	if (run.kind == QCOW2_KIND_NONE && !q->f.b->backing)
		return 0;
	if (q->h.version < 3) {
		*entry = 0;
		return q->f.b->backing || (run.kind == QCOW2_KIND_DATA && !unmap) ? -1 : 0;
	}
	*entry = QCOW2_ZERO;
	if (!unmap && run.kind != QCOW2_KIND_PACKED && run.in_place)
		*entry |= run.host | QCOW2_COPIED;
	return 0;
}

static int zero_by_writing(struct qcow2 *q, u64 offset)
{
	return zero_part(q, offset, MIN(q->cluster_size, q->f.size - offset));
}

/* Whole clusters of one L2 table. Return: bytes done, or -errno. */
static s64 zero_step(struct qcow2 *q, u64 offset, u64 end, bool unmap)
{
	unsigned index = qcow2_l2_index(q, offset), entries = 1u << q->l2_bits;
	u64 done = 0, entry;
	bool by_writing = false;
	struct table *t;
	int ret;

	g_mutex_lock(&q->lock);
	ret = prepare(q);
	/* Without a table there are zeroes already, if no backing file shows. */
	t = ret ? NULL : qcow2_l2(q, offset, q->f.b->backing && q->h.version >= 3, &ret);
	for (; !ret && index < entries && offset + done < end; index++) {
		if (t)
			by_writing = zero_entry(q, qcow2_l2_entry(t, index), unmap, &entry);
		else
			by_writing = q->f.b->backing != NULL;
		if (by_writing)
			break;
		if (t)
			qcow2_l2_set(q, t, index, entry);
		done += q->cluster_size;
	}
	g_mutex_unlock(&q->lock);
	if (ret)
		return ret;
	if (by_writing) {
		ret = zero_by_writing(q, offset + done);
		done += q->cluster_size;
	}
	return ret ? ret : (s64)done;
}

static int zeroes_held(struct qcow2 *q, u64 offset, u64 end, bool unmap)
{
	u64 cluster = q->cluster_size, whole = ROUND_UP(offset, cluster);
	u64 stop = end == q->f.size ? ROUND_UP(end, cluster) : ROUND_DOWN(end, cluster);
	int ret = 0;

	if (offset < MIN(whole, end))
		ret = zero_part(q, offset, MIN(whole, end) - offset);
	while (!ret && whole < stop) {
		s64 n = zero_step(q, whole, stop, unmap);

		if (n < 0)
			return n;
		whole += n;
		/* One request may be as large as the disk. */
		ret = qcow2_relieve(q);
	}
	if (!ret && stop < end && stop >= whole)
		ret = zero_part(q, stop, end - stop);
	return ret;
}

int qcow2_zeroes(struct qcow2 *q, u64 offset, u64 bytes, unsigned flags)
{
	struct range r;
	int ret;

	if (!bytes)
		return 0;
	enter(q, &r, offset, bytes, true);
	ret = zeroes_held(q, offset, offset + bytes, flags & BLOCK_MAY_UNMAP);
	leave(q, &r);
	return !ret && flags & BLOCK_FUA ? qcow2_sync(q) : ret;
}

/* ---- Discard ---- */

/*
 * A discarded cluster reads as zeroes, not as what a backing file has: that is older than what was
 * discarded. Version 2 cannot say so, and keeps such clusters.
 */
static u64 discarded_entry(const struct qcow2 *q, u64 old)
{
	struct qcow2_run run;

	qcow2_decode(q, old, &run);
	if (run.kind == QCOW2_KIND_NONE)
		return old;
	if (q->h.version >= 3)
		return QCOW2_ZERO;
	return q->f.b->backing ? old : 0;
}

static s64 discard_step(struct qcow2 *q, u64 offset, u64 end)
{
	unsigned index = qcow2_l2_index(q, offset), entries = 1u << q->l2_bits;
	u64 n = MIN((end - offset) >> q->h.cluster_bits, entries - index);
	struct table *t = NULL;
	int ret;

	g_mutex_lock(&q->lock);
	ret = prepare(q);
	if (!ret)
		t = qcow2_l2(q, offset, false, &ret);
	for (u64 i = 0; t && i < n; i++)
		qcow2_l2_set(q, t, index + i, discarded_entry(q, qcow2_l2_entry(t, index + i)));
	g_mutex_unlock(&q->lock);
	return ret ? ret : (s64)(n << q->h.cluster_bits);
}

int qcow2_discard(struct qcow2 *q, u64 offset, u64 bytes)
{
	u64 end = offset + bytes, pos = ROUND_UP(offset, q->cluster_size);
	struct range r;
	int ret = 0;

	end = end == q->f.size ? ROUND_UP(end, q->cluster_size) : ROUND_DOWN(end, q->cluster_size);
	if (pos >= end)
		return 0;
	enter(q, &r, pos, end - pos, true);
	while (!ret && pos < end) {
		s64 n = discard_step(q, pos, end);

		if (n < 0)
			ret = n;
		else
			pos += n;
		if (!ret)
			ret = qcow2_relieve(q);
	}
	leave(q, &r);
	return ret;
}

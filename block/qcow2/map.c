/* block/qcow2/map.c - from a place on the disk to a place in the file. */
#include "block/qcow2/qcow2.h"

unsigned qcow2_l2_index(const struct qcow2 *q, u64 offset)
{
	return (offset >> q->h.cluster_bits) & (((u64)1 << q->l2_bits) - 1);
}

u64 qcow2_l2_entry(const struct table *t, unsigned index)
{
	return GUINT64_FROM_BE(((const u64 *)t->bytes)[index]);
}

static void decode_packed(const struct qcow2 *q, u64 entry, struct qcow2_run *run)
{
	unsigned count_bits = q->h.cluster_bits - 8, offset_bits = 62 - count_bits;
	u64 sectors = (entry >> offset_bits) & (((u64)1 << count_bits) - 1);

	run->kind = QCOW2_KIND_PACKED;
	run->host = entry & (((u64)1 << offset_bits) - 1);
	run->packed = (sectors + 1) * 512 - (run->host & 511);
}

void qcow2_decode(const struct qcow2 *q, u64 entry, struct qcow2_run *run)
{
	*run = (struct qcow2_run){ .kind = QCOW2_KIND_NONE };
	if (entry & QCOW2_COMPRESSED) {
		decode_packed(q, entry, run);
		return;
	}
	run->host = entry & QCOW2_OFFSET;
	run->in_place = run->host && entry & QCOW2_COPIED;
	if (entry & QCOW2_ZERO && q->h.version >= 3)
		run->kind = QCOW2_KIND_ZERO;
	else if (run->host)
		run->kind = QCOW2_KIND_DATA;
}

struct table *qcow2_l2(struct qcow2 *q, u64 offset, bool create, int *ret)
{
	u64 index = offset >> (q->h.cluster_bits + q->l2_bits), entry, cluster;
	struct table *t;

	*ret = 0;
	if (index >= q->l1_size) {
		*ret = -EIO;
		return NULL;
	}
	entry = GUINT64_FROM_BE(q->l1[index]);
	if (entry & QCOW2_OFFSET) {
		if (!IS_ALIGNED(entry & QCOW2_OFFSET, q->cluster_size)) {
			*ret = qcow2_corrupt(q, "an L2 table is not aligned", entry & QCOW2_OFFSET);
			return NULL;
		}
		/* Without snapshots no table has two owners. */
		if (q->writable && !(entry & QCOW2_COPIED)) {
			*ret = qcow2_corrupt(q, "an L2 table is shared", entry & QCOW2_OFFSET);
			return NULL;
		}
		return table_get(q, &q->l2, entry & QCOW2_OFFSET, ret);
	}
	if (!create)
		return NULL;
	*ret = qcow2_alloc(q, 1, 1, &cluster);
	if (*ret < 0)
		return NULL;
	*ret = 0;
	offset = cluster << q->h.cluster_bits;
	t = table_new(q, &q->l2, offset);
	qcow2_note_metadata(q, offset, 1);
	q->l1[index] = GUINT64_TO_BE(offset | QCOW2_COPIED);
	q->l1_lo = MIN(q->l1_lo, index);
	q->l1_hi = MAX(q->l1_hi, index + 1);
	return t;
}

/* Whether a data cluster is where one can be. */
static int check_data(struct qcow2 *q, const struct qcow2_run *run)
{
	if (run->kind == QCOW2_KIND_PACKED || !run->host)
		return 0;
	if (!IS_ALIGNED(run->host, q->cluster_size))
		return qcow2_corrupt(q, "a data cluster is not aligned", run->host);
	if (q->writable && qcow2_is_metadata(q, run->host))
		return qcow2_corrupt(q, "a data cluster is metadata too", run->host);
	return 0;
}

static bool continues(const struct qcow2 *q, const struct qcow2_run *run, u64 clusters,
		      const struct qcow2_run *next)
{
	if (next->kind != run->kind || run->kind == QCOW2_KIND_PACKED)
		return false;
	return run->kind != QCOW2_KIND_DATA ||
	       (next->in_place == run->in_place &&
		next->host == run->host + (clusters << q->h.cluster_bits));
}

int qcow2_lookup(struct qcow2 *q, u64 offset, u64 bytes, struct qcow2_run *run)
{
	u64 inside = offset & (q->cluster_size - 1), n = 1, most;
	unsigned index = qcow2_l2_index(q, offset);
	int ret;
	struct table *t = qcow2_l2(q, offset, false, &ret);

	if (ret)
		return ret;
	most = MIN(DIV_ROUND_UP(inside + bytes, q->cluster_size), ((u64)1 << q->l2_bits) - index);
	if (!t) {
		*run = (struct qcow2_run){ .kind = QCOW2_KIND_NONE };
		n = most;
	} else {
		struct qcow2_run next;

		qcow2_decode(q, qcow2_l2_entry(t, index), run);
		ret = check_data(q, run);
		for (; !ret && n < most; n++) {
			qcow2_decode(q, qcow2_l2_entry(t, index + n), &next);
			if (!continues(q, run, n, &next))
				break;
			ret = check_data(q, &next);
		}
		if (ret)
			return ret;
	}
	run->bytes = MIN(bytes, n * q->cluster_size - inside);
	if (run->kind == QCOW2_KIND_DATA)
		run->host += inside;
	return 0;
}

static void free_old(struct qcow2 *q, u64 old, u64 entry)
{
	struct qcow2_run was, is;
	u64 first, last;

	qcow2_decode(q, old, &was);
	qcow2_decode(q, entry, &is);
	if (!was.host || (was.host == is.host && was.kind != QCOW2_KIND_PACKED))
		return;
	first = was.host >> q->h.cluster_bits;
	last = was.kind == QCOW2_KIND_PACKED ? (was.host + was.packed - 1) >> q->h.cluster_bits
					     : first;
	qcow2_free_later(q, first, last - first + 1);
}

void qcow2_l2_set(struct qcow2 *q, struct table *t, unsigned index, u64 entry)
{
	u64 *e = (u64 *)t->bytes + index, old = GUINT64_FROM_BE(*e);

	if (old == entry)
		return;
	*e = GUINT64_TO_BE(entry);
	table_mark(q, &q->l2, t, index * sizeof(*e), sizeof(*e));
	free_old(q, old, entry);
}

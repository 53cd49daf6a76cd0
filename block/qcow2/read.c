/* block/qcow2/read.c - reading: from the file, from compressed clusters, from the backing file. */
#include "block/qcow2/qcow2.h"

#include "util/iov.h"

#include <zlib.h>
#include <zstd.h>

/* ---- Ranges ---- */

static bool excludes(const struct range *a, const struct range *b)
{
	return a->first <= b->last && b->first <= a->last && (a->exclusive || b->exclusive);
}

/* Whether one that came before @r excludes it. */
static bool must_wait(struct qcow2 *q, const struct range *r)
{
	for (GList *l = q->ranges.head; l->data != r; l = l->next) {
		if (excludes(l->data, r))
			return true;
	}
	return false;
}

void qcow2_range_enter(struct qcow2 *q, struct range *r, u64 offset, u64 bytes, bool exclusive)
{
	r->first = offset >> q->h.cluster_bits;
	r->last = (offset + MAX(bytes, 1) - 1) >> q->h.cluster_bits;
	r->exclusive = exclusive;
	g_queue_push_tail(&q->ranges, r);
	while (must_wait(q, r))
		g_cond_wait(&q->left, &q->lock);
}

void qcow2_range_leave(struct qcow2 *q, struct range *r)
{
	g_queue_remove(&q->ranges, r);
	g_cond_broadcast(&q->left);
}

/* ---- Compressed clusters ---- */

/* Raw deflate data; what follows it up to the next sector is no part of it. */
static int inflate_cluster(const u8 *in, size_t len, u8 *out, size_t size)
{
	z_stream z = { .next_in = (u8 *)in, .avail_in = len, .next_out = out, .avail_out = size };
	int ret;

	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	ret = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return (ret == Z_STREAM_END || ret == Z_BUF_ERROR) && !z.avail_out ? 0 : -EIO;
}

static int unzstd_cluster(const u8 *in, size_t len, u8 *out, size_t size)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer from = { in, len, 0 };
	ZSTD_outBuffer to = { out, size, 0 };

	while (z && to.pos < to.size) {
		size_t was_in = from.pos, was_out = to.pos;

		if (ZSTD_isError(ZSTD_decompressStream(z, &to, &from)) ||
		    (from.pos == was_in && to.pos == was_out))
			break;
	}
	ZSTD_freeDStream(z);
	return z && to.pos == to.size ? 0 : -EIO;
}

static int unpack(struct qcow2 *q, const struct qcow2_run *run)
{
	g_autofree u8 *packed = g_malloc(run->packed);
	int ret;

	if (q->unpacked_from == run->host)
		return 0;
	if (!q->unpacked)
		q->unpacked = g_malloc(q->cluster_size);
	q->unpacked_from = UINT64_MAX;
	ret = qcow2_pread(q, run->host, packed, run->packed);
	if (ret)
		return ret;
	if (q->h.compression == QCOW2_ZSTD)
		ret = unzstd_cluster(packed, run->packed, q->unpacked, q->cluster_size);
	else
		ret = inflate_cluster(packed, run->packed, q->unpacked, q->cluster_size);
	if (!ret)
		q->unpacked_from = run->host;
	return ret;
}

static int read_packed(struct qcow2 *q, const struct qcow2_run *run, u64 offset,
		       const struct iovec *iov, int niov)
{
	int ret;

	g_mutex_lock(&q->unpack_lock);
	ret = unpack(q, run);
	if (!ret)
		iov_from_buf(iov, niov, 0, q->unpacked + (offset & (q->cluster_size - 1)),
			     run->bytes);
	g_mutex_unlock(&q->unpack_lock);
	return ret;
}

/* ---- All kinds ---- */

static int read_backing(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov)
{
	struct block_backend *backing = q->f.b->backing;
	u64 bytes = iov_size(iov, niov), size = backing ? block_size(backing) : 0;
	u64 there = offset < size ? MIN(bytes, size - offset) : 0;
	g_autofree struct iovec *part = NULL;
	int n;

	iov_set(iov, niov, there, 0, bytes - there);
	if (!there)
		return 0;
	part = g_new(struct iovec, niov + 1);
	n = iov_slice(iov, niov, 0, there, part);
	return node_io(backing, &(struct io){ IO_READ, offset, there, part, n, 0 });
}

static int read_run(struct qcow2 *q, const struct qcow2_run *run, u64 offset,
		    const struct iovec *iov, int niov)
{
	switch (run->kind) {
	case QCOW2_KIND_NONE: return read_backing(q, offset, iov, niov);
	case QCOW2_KIND_PACKED: return read_packed(q, run, offset, iov, niov);
	case QCOW2_KIND_DATA:
		return image_io(q->img,
				&(struct io){ IO_READ, run->host, run->bytes, iov, niov, 0 });
	default: iov_set(iov, niov, 0, 0, SIZE_MAX); return 0;
	}
}

int qcow2_read_locked(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov)
{
	g_autofree struct iovec *part = g_new(struct iovec, niov + 1);
	u64 pos = offset, end = offset + iov_size(iov, niov);
	int ret = 0;

	while (pos < end && !ret) {
		struct qcow2_run run;

		g_mutex_lock(&q->lock);
		ret = qcow2_lookup(q, pos, end - pos, &run);
		g_mutex_unlock(&q->lock);
		if (!ret) {
			int n = iov_slice(iov, niov, pos - offset, run.bytes, part);

			ret = read_run(q, &run, pos, part, n);
			pos += run.bytes;
		}
	}
	return ret;
}

int qcow2_read(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov)
{
	struct range r;
	int ret;

	g_mutex_lock(&q->lock);
	qcow2_range_enter(q, &r, offset, iov_size(iov, niov), false);
	g_mutex_unlock(&q->lock);
	ret = qcow2_read_locked(q, offset, iov, niov);
	g_mutex_lock(&q->lock);
	qcow2_range_leave(q, &r);
	g_mutex_unlock(&q->lock);
	return ret;
}

/* block/qcow2/node.c - qcow2 as a format of nodes: options, loading, operations, size. */
#include "block/qcow2/qcow2.h"

#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

#include <sys/stat.h>

#define L2_CACHE_DEFAULT   (32 * MiB) /* the tables of 256 GiB with clusters of 64 KiB */
#define REFS_CACHE_DEFAULT (4 * MiB)  /* the same of 128 GiB of file */
#define TABLES_MIN         8

/* ---- The file ---- */

static int transfer(struct qcow2 *q, enum io_op op, u64 offset, void *buf, size_t len)
{
	struct iovec v = { buf, len };

	return image_io(q->img, &(struct io){ op, offset, len, &v, 1, 0 });
}

int qcow2_pread(struct qcow2 *q, u64 offset, void *buf, size_t len)
{
	return transfer(q, IO_READ, offset, buf, len);
}

int qcow2_pwrite(struct qcow2 *q, u64 offset, const void *buf, size_t len)
{
	return transfer(q, IO_WRITE, offset, (void *)buf, len);
}

int qcow2_barrier(struct qcow2 *q)
{
	return image_io(q->img, &(struct io){ .op = IO_FLUSH });
}

int qcow2_corrupt(struct qcow2 *q, const char *what, u64 where)
{
	const unsigned incompatible = 72, lowest_byte = incompatible + 7;

	if (q->broken)
		return -EIO;
	q->broken = true;
	log_warn("qcow2 image '%s' is corrupt: %s (%#" PRIx64 "); no more writes to it, 'qemu-img "
		 "check' tells more",
		 q->img->o.filename, what, where);
	if (q->writable && q->h.version >= 3) {
		q->h.sector[lowest_byte] |= QCOW2_CORRUPT;
		qcow2_pwrite(q, 0, q->h.sector, sizeof(q->h.sector));
	}
	return -EIO;
}

/* ---- Loading ---- */

static void clear(struct qcow2 *q)
{
	table_cache_clear(&q->l2);
	table_cache_clear(&q->refs);
	g_clear_pointer(&q->l1, g_free);
	g_clear_pointer(&q->reftable, g_free);
	g_clear_pointer(&q->metadata, g_hash_table_destroy);
	g_clear_pointer(&q->freed, g_array_unref);
	g_clear_pointer(&q->unpacked, g_free);
	q->unpacked_from = UINT64_MAX;
	q->freed_clusters = q->hint = 0;
	q->l1_lo = q->ref_lo = UINT32_MAX;
	q->l1_hi = q->ref_hi = 0;
	q->l1_moved = q->reftable_moved = q->header_changed = q->header_prepared = false;
	q->writable = q->broken = false;
	q->img->growing = false;
}

static void derive(struct qcow2 *q)
{
	q->cluster_size = (u64)1 << q->h.cluster_bits;
	q->l2_bits = q->h.cluster_bits - 3;
	q->ref_bits = q->h.cluster_bits + 3 - q->h.refcount_order;
	q->piece = MAX(q->cluster_size / 64, MAX(q->img->align, BLOCK_SECTOR));
	q->piece = MIN(q->piece, q->cluster_size);
	q->f.size = ROUND_UP(q->h.size, BLOCK_SECTOR);
}

static int read_header(struct qcow2 *q, GError **err)
{
	int ret;

	qcow2_header_clear(&q->h);
	ret = qcow2_header_read(q->img, &q->h, err);
	if (!ret)
		derive(q);
	return ret;
}

static int read_tables(struct qcow2 *q, GError **err)
{
	size_t l1_bytes = q->h.l1_size * sizeof(u64);
	size_t reftable_bytes = q->h.reftable_clusters * q->cluster_size;
	int ret;

	q->l1_size = q->h.l1_size;
	q->l1 = g_malloc0(MAX(ROUND_UP(l1_bytes, q->cluster_size), q->cluster_size));
	q->reftable = g_malloc0(reftable_bytes);
	q->reftable_size = q->reftable_in_file = reftable_bytes / sizeof(u64);
	ret = qcow2_pread(q, q->h.l1_offset, q->l1, l1_bytes);
	if (!ret && q->writable)
		ret = qcow2_pread(q, q->h.reftable_offset, q->reftable, reftable_bytes);
	if (ret)
		error_set_errno(err, -ret, "cannot read the tables of qcow2 image '%s'",
				q->img->o.filename);
	return ret;
}

static unsigned cache_tables(const struct qcow2 *q, u64 bytes)
{
	return MAX(bytes >> q->h.cluster_bits, TABLES_MIN);
}

/* Return: 0, or -EINVAL if a cluster has two of these uses. */
static int note_once(struct qcow2 *q, u64 offset, u64 clusters)
{
	for (u64 i = 0; i < clusters; i++) {
		if (qcow2_is_metadata(q, offset + i * q->cluster_size))
			return -EINVAL;
		qcow2_note_metadata(q, offset + i * q->cluster_size, 1);
	}
	return 0;
}

static int note_table(struct qcow2 *q, const u64 *table, u64 entries, u64 mask)
{
	int ret = 0;

	for (u64 i = 0; i < entries && !ret; i++) {
		u64 offset = GUINT64_FROM_BE(table[i]) & mask;

		if (offset)
			ret = note_once(q, offset, 1);
	}
	return ret;
}

/* What must not be data, and must not be two things at once. */
static int note_all(struct qcow2 *q, GError **err)
{
	u64 l1_clusters = DIV_ROUND_UP(q->l1_size * sizeof(u64), q->cluster_size);
	int ret = note_once(q, 0, 1);

	if (!ret)
		ret = note_once(q, q->h.l1_offset, l1_clusters);
	if (!ret)
		ret = note_once(q, q->h.reftable_offset, q->h.reftable_clusters);
	if (!ret)
		ret = note_table(q, q->reftable, q->reftable_size, ~(u64)511);
	if (!ret)
		ret = note_table(q, q->l1, q->l1_size, QCOW2_OFFSET);
	if (ret)
		error_set(err,
			  "qcow2 image '%s' is corrupt, two of its tables are in the same "
			  "cluster: 'qemu-img check -r all' may repair it; read-only=on opens it "
			  "as it is",
			  q->img->o.filename);
	return ret;
}

static void start_writing(struct qcow2 *q)
{
	struct stat st;

	q->img->growing = true;
	q->virgin = UINT64_MAX;
	if (q->img->o.kind == IMAGE_FILE && !fstat(q->img->fd, &st))
		q->virgin = DIV_ROUND_UP((u64)st.st_size, q->cluster_size);
	if (q->h.has_bitmaps && q->h.autoclear)
		log_warn("qcow2 image '%s' has dirty bitmaps: the first write makes them void",
			 q->img->o.filename);
}

static int qcow2_load(struct format *f, bool writable, GError **err)
{
	struct qcow2 *q = qcow2_of(f);
	int ret = read_header(q, err);

	if (!ret && writable)
		ret = qcow2_header_check_write(&q->h, q->img->o.filename, err);
	if (ret)
		return ret;
	q->writable = writable;
	table_cache_init(&q->l2, cache_tables(q, q->l2_max ?: L2_CACHE_DEFAULT));
	table_cache_init(&q->refs, cache_tables(q, q->refs_max ?: REFS_CACHE_DEFAULT));
	q->metadata = g_hash_table_new(NULL, NULL);
	q->freed = g_array_new(false, false, sizeof(struct cluster_run));
	ret = read_tables(q, err);
	if (!ret && writable)
		ret = note_all(q, err);
	if (ret)
		clear(q);
	else if (writable)
		start_writing(q);
	return ret;
}

static int qcow2_unload(struct format *f, GError **err)
{
	struct qcow2 *q = qcow2_of(f);
	int ret = qcow2_settle(q);

	if (ret) {
		error_set_errno(err, -ret, "cannot write the tables of qcow2 image '%s'",
				q->img->o.filename);
		return ret;
	}
	clear(q);
	return 0;
}

/* ---- Operations ---- */

static int qcow2_io(struct format *f, const struct io *io)
{
	struct qcow2 *q = qcow2_of(f);

	switch (io->op) {
	case IO_READ: return qcow2_read(q, io->offset, io->iov, io->niov);
	case IO_WRITE: return qcow2_write(q, io->offset, io->iov, io->niov, io->flags);
	case IO_ZEROES: return qcow2_zeroes(q, io->offset, io->bytes, io->flags);
	case IO_DISCARD: return qcow2_discard(q, io->offset, io->bytes);
	default: return qcow2_sync(q);
	}
}

static int qcow2_settle_file(struct format *f)
{
	return f->loaded ? qcow2_settle(qcow2_of(f)) : 0;
}

static void info(struct format *f, struct block_info *info)
{
	const struct qcow2 *q = qcow2_of(f);

	info->backing_name = q->h.backing_name;
	info->backing_format = q->h.backing_format;
	info->cluster_size = q->cluster_size;
	info->dirty = q->h.incompatible & QCOW2_DIRTY;
}

/* ---- Size ---- */

/* A larger L1 table at a new place. */
static int grow_l1(struct qcow2 *q, u64 entries)
{
	u64 clusters = DIV_ROUND_UP(entries * sizeof(u64), q->cluster_size), first;
	u64 old = q->h.l1_offset >> q->h.cluster_bits;
	u64 old_clusters = DIV_ROUND_UP(q->l1_size * sizeof(u64), q->cluster_size);
	int ret = qcow2_alloc(q, clusters, clusters, &first);
	u64 *l1;

	if (ret < 0)
		return ret;
	l1 = g_malloc0(clusters * q->cluster_size);
	memcpy(l1, q->l1, q->l1_size * sizeof(u64));
	g_free(q->l1);
	q->l1 = l1;
	for (u64 i = 0; i < old_clusters; i++)
		g_hash_table_remove(q->metadata, GSIZE_TO_POINTER(old + i + 1));
	qcow2_free_later(q, old, old_clusters);
	q->l1_size = entries;
	q->h.l1_offset = first << q->h.cluster_bits;
	q->l1_moved = true;
	qcow2_note_metadata(q, q->h.l1_offset, clusters);
	return 0;
}

static int resize_tables(struct qcow2 *q, u64 size)
{
	u64 entries = DIV_ROUND_UP(size, q->cluster_size << q->l2_bits);
	int ret = 0;

	g_mutex_lock(&q->lock);
	if (entries > q->l1_size)
		ret = grow_l1(q, entries);
	if (!ret) {
		q->h.size = q->f.size = size;
		q->header_changed = true;
	}
	g_mutex_unlock(&q->lock);
	return ret;
}

/* What is new reads as zeroes, whatever a longer backing file or the last cluster has there. */
static int clear_new(struct qcow2 *q, u64 from)
{
	u64 end = ROUND_UP(from, q->cluster_size);

	if (q->f.b->backing)
		end = MAX(end, block_size(q->f.b->backing));
	end = MIN(end, q->f.size);
	return end > from ? qcow2_zeroes(q, from, end - from, BLOCK_MAY_UNMAP) : 0;
}

static int qcow2_resize(struct format *f, u64 size, GError **err)
{
	const u64 l1_max = 32 * MiB / sizeof(u64);
	struct qcow2 *q = qcow2_of(f);
	u64 old = q->f.size;
	int ret;

	if (size < old) {
		error_set(err,
			  "qcow2 image '%s' has %" PRIu64 " bytes and cannot shrink to %" PRIu64
			  "; 'qemu-img resize --shrink' can, while it is not in use",
			  q->img->o.filename, old, size);
		return -ENOTSUP;
	}
	if (DIV_ROUND_UP(size, q->cluster_size << q->l2_bits) > l1_max) {
		error_set(err,
			  "%" PRIu64 " bytes are too many for qcow2 image '%s' with clusters of "
			  "%" PRIu64,
			  size, q->img->o.filename, q->cluster_size);
		return -EFBIG;
	}
	ret = resize_tables(q, size);
	if (!ret) {
		ret = clear_new(q, old);
		if (!ret)
			ret = qcow2_sync(q);
		/* The header may have the new size already, which does no harm. */
		if (ret)
			resize_tables(q, old);
	}
	if (ret)
		error_set_errno(err, -ret, "cannot resize qcow2 image '%s'", q->img->o.filename);
	return ret;
}

/* ---- Making ---- */

static void qcow2_close(struct format *f)
{
	struct qcow2 *q = qcow2_of(f);

	if (f->loaded && qcow2_settle(q))
		log_warn("qcow2 image '%s': its tables could not be written: clusters may be "
			 "lost, and what was not flushed",
			 q->img->o.filename);
	clear(q);
	qcow2_header_clear(&q->h);
	g_mutex_clear(&q->lock);
	g_mutex_clear(&q->sync_lock);
	g_mutex_clear(&q->unpack_lock);
	g_cond_clear(&q->left);
	g_free(q);
}

static int take_opts(struct qcow2 *q, JsonObject *o, GError **err)
{
	u64 both = 0;
	bool lazy = false;

	q->discard_file = q->f.b->unmap;
	if (keyval_take_bool(o, "lazy-refcounts", &lazy, err) == -EINVAL ||
	    keyval_take_bool(o, "pass-discard-request", &q->discard_file, err) == -EINVAL ||
	    keyval_take_size(o, "l2-cache-size", 'B', &q->l2_max, err) == -EINVAL ||
	    keyval_take_size(o, "refcount-cache-size", 'B', &q->refs_max, err) == -EINVAL ||
	    keyval_take_size(o, "cache-size", 'B', &both, err) == -EINVAL)
		return -EINVAL;
	if (lazy) {
		error_set(err, "'lazy-refcounts=on' is not supported: refcounts are written with "
			       "each flush; off, or leave it out");
		return -EINVAL;
	}
	if (both && q->l2_max && q->refs_max) {
		error_set(err, "cache-size cannot go with both l2-cache-size and "
			       "refcount-cache-size");
		return -EINVAL;
	}
	if (both < MAX(q->l2_max, q->refs_max) && both) {
		error_set(err, "cache-size=%" PRIu64 " is less than one of its parts", both);
		return -EINVAL;
	}
	if (both && !q->refs_max)
		q->refs_max = q->l2_max ? both - q->l2_max : both / 8;
	if (both && !q->l2_max)
		q->l2_max = both - q->refs_max;
	return 0;
}

struct format *qcow2_open(struct block_backend *b, JsonObject *opts, GError **err)
{
	static const struct format_ops ops = {
		.load = qcow2_load,
		.unload = qcow2_unload,
		.io = qcow2_io,
		.settle = qcow2_settle_file,
		.resize = qcow2_resize,
		.info = info,
		.close = qcow2_close,
	};
	struct qcow2 *q = g_new0(struct qcow2, 1);

	q->f.ops = &ops;
	q->f.b = b;
	q->img = b->img;
	g_mutex_init(&q->lock);
	g_mutex_init(&q->sync_lock);
	g_mutex_init(&q->unpack_lock);
	g_cond_init(&q->left);
	g_queue_init(&q->ranges);
	clear(q);
	if (take_opts(q, opts, err) || read_header(q, err)) {
		qcow2_close(&q->f);
		return NULL;
	}
	return &q->f;
}

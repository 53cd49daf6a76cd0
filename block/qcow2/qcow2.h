/*
 * block/qcow2/qcow2.h - images in the qcow2 format, versions 2 and 3.
 *
 * Source of the format: the public specification "Qcow2 Image File Format" (QEMU's documentation,
 * interop/qcow2). Words used here: a cluster is the unit of allocation; L1 table -> L2 tables ->
 * clusters map the disk to the file; refcount table -> refcount blocks say how often each cluster
 * of the file is used. All numbers in a file are big-endian, and so are the tables in memory.
 *
 * What may be written when, so that a crash at any point leaves at worst clusters that nobody uses:
 *
 *  - a cluster is counted in the file before anything in the file points to it, and what it holds
 *    is there before, too;
 *  - a cluster is no longer pointed to in the file before its count goes down and before it is
 *    used again.
 *
 * Requests change the tables in memory only: a cluster is linked once its data is written, and one
 * that is no longer needed goes on a list. qcow2_sync() carries a consistent state of the tables to
 * the file, in steps with flushes between: refcount blocks (and all data so far), refcount table,
 * L2 tables, L1 table, header; and only then lowers the counts of what is on the list.
 *
 * Locks: @sync_lock (one sync at a time), then @lock (everything else); @lock is held for reads of
 * tables but never for data or flushes. Requests that touch the same cluster exclude each other
 * through ranges: data in place is shared, changes of the mapping are exclusive.
 */
#ifndef BLOCK_QCOW2_QCOW2_H
#define BLOCK_QCOW2_QCOW2_H

#include "block/block-priv.h"

#define QCOW2_MAGIC         0x514649fbu
#define QCOW2_HEADER_SECTOR 512 /* all fields that change are in it; the host writes it whole */

enum qcow2_incompatible {
	QCOW2_DIRTY = 1 << 0,
	QCOW2_CORRUPT = 1 << 1,
	QCOW2_DATA_FILE = 1 << 2,
	QCOW2_COMPRESSION = 1 << 3,
	QCOW2_EXTENDED_L2 = 1 << 4,
};

#define QCOW2_COPIED     ((u64)1 << 63) /* the refcount is exactly one */
#define QCOW2_COMPRESSED ((u64)1 << 62)
#define QCOW2_ZERO       ((u64)1 << 0)
#define QCOW2_OFFSET     0x00fffffffffffe00ull

enum qcow2_compression { QCOW2_ZLIB = 0, QCOW2_ZSTD = 1 };

/* What the first cluster of the file says; checked against everything that can be known then. */
struct qcow2_header {
	unsigned version;
	unsigned cluster_bits;
	unsigned refcount_order;
	u64 size; /* of the disk, bytes */
	u64 l1_offset, reftable_offset;
	u32 l1_size; /* entries */
	u32 reftable_clusters;
	u32 snapshots;
	u64 incompatible, compatible, autoclear;
	enum qcow2_compression compression;
	bool has_bitmaps;
	char *backing_name, *backing_format; /* NULL: none */
	u8 sector[QCOW2_HEADER_SECTOR];      /* as it is in the file */
};

/*
 * qcow2_header_read() - read and check the header.
 * @h: zeroed or cleared.
 *
 * Refuses what cannot be read by its name: encryption, a data file, extended L2 entries, unknown
 * features. Return: 0, or -errno with @err; @h is to be cleared in any case.
 */
int qcow2_header_read(struct image *img, struct qcow2_header *h, GError **err);
void qcow2_header_clear(struct qcow2_header *h);

/* qcow2_header_check_write() - why an image that can be read must not be written: -EINVAL with @err
 * (refcounts that may be wrong, known corruption, internal snapshots); else 0. */
int qcow2_header_check_write(const struct qcow2_header *h, const char *filename, GError **err);

/* ---- Cache of L2 tables or refcount blocks, by their place in the file ---- */

/* A table of one cluster. Its pointer is good while the lock is held and the cache is not trimmed.
 */
struct table {
	u64 offset;
	u64 dirty;   /* a bit per piece */
	u64 written; /* pieces that a sync is writing now */
	GList lru;   /* most recently used first */
	u8 *bytes;
};

struct table_cache {
	GHashTable *by_offset; /* of struct table */
	GQueue lru;
	unsigned max; /* tables */
	unsigned dirty;
};

struct qcow2 {
	struct format f;
	struct image *img;
	bool writable;
	bool discard_file;    /* pass-discard-request */
	u64 l2_max, refs_max; /* bytes of caches; 0: default */
	struct qcow2_header h;

	unsigned l2_bits;  /* log2 of entries of an L2 table */
	unsigned ref_bits; /* log2 of entries of a refcount block */
	u64 cluster_size;
	unsigned piece; /* bytes: the unit in which tables are written, a 64th of a cluster or more
			 */

	GMutex lock;
	u64 *l1; /* room for whole clusters */
	u32 l1_size;
	u32 l1_lo, l1_hi; /* entries [lo, hi) differ from the file */
	bool l1_moved; /* the table goes to h.l1_offset, all of it; the header does not know yet */
	u64 *reftable;
	u64 reftable_size;    /* entries; in the file less where the table grew */
	u64 reftable_in_file; /* entries that have a place at h.reftable_offset */
	u64 ref_lo, ref_hi;   /* as for L1 */
	bool reftable_moved;  /* as for L1 */
	bool header_changed;  /* size */
	bool header_prepared; /* autoclear bits are clear */
	bool broken;          /* found corrupt: no writes any more */
	struct table_cache l2, refs;
	GHashTable *metadata; /* cluster numbers of the header, L1, L2, refcount structures */
	GArray *freed; /* of struct cluster_run: not needed once the tables are in the file */
	u64 freed_clusters;
	u64 hint;   /* no cluster below it is free */
	u64 virgin; /* clusters from it on were beyond the end of the file and are unwritten */

	GCond left;    /* a range was left */
	GQueue ranges; /* of struct range, in the order of arrival */
	GMutex sync_lock;

	GMutex unpack_lock;
	u64 unpacked_from; /* place in the file of the cluster in @unpacked; UINT64_MAX: none */
	u8 *unpacked;
};

struct cluster_run {
	u64 first, count; /* clusters of the file */
};

static inline struct qcow2 *qcow2_of(struct format *f)
{
	return container_of(f, struct qcow2, f);
}

/* Blocking transfers of the file. Return: 0 or -errno. */
int qcow2_pread(struct qcow2 *q, u64 offset, void *buf, size_t len);
int qcow2_pwrite(struct qcow2 *q, u64 offset, const void *buf, size_t len);
int qcow2_barrier(struct qcow2 *q);

/* qcow2_corrupt() - the file contradicts itself: says so once, forbids writes, sets the bit in the
 * file. Return: -EIO. Lock held. */
int qcow2_corrupt(struct qcow2 *q, const char *what, u64 where);

/* ---- table.c; lock held ---- */
void table_cache_init(struct table_cache *c, unsigned max);
void table_cache_clear(struct table_cache *c); /* dirty ones too */
/* The table at @offset, read if need be; NULL with @ret -errno. */
struct table *table_get(struct qcow2 *q, struct table_cache *c, u64 offset, int *ret);
/* A new one, all zeroes, dirty; nothing is read. */
struct table *table_new(struct qcow2 *q, struct table_cache *c, u64 offset);
/* [at, at + len) of its bytes was changed. */
void table_mark(struct qcow2 *q, struct table_cache *c, struct table *t, size_t at, size_t len);
/* Drop clean ones, the longest unused first, until no more than max are left. */
void table_cache_trim(struct table_cache *c);

/* ---- refcount.c; lock held ---- */
/*
 * qcow2_alloc() - count clusters as used that were free.
 * @least, @most: how many in a row.
 * @first:        their first number.
 *
 * Return: how many, or -errno. The counts are in memory only: see above.
 */
int qcow2_alloc(struct qcow2 *q, u64 least, u64 most, u64 *first);
/* Give clusters back that nothing in the file points to, nor ever did. */
void qcow2_unalloc(struct qcow2 *q, u64 first, u64 count);
/* Clusters of which one use ended: their counts go down after the next sync. */
void qcow2_free_later(struct qcow2 *q, u64 first, u64 count);
/* Lower the counts of @runs, of struct cluster_run, whose uses are out of the file. Not holding the
 * lock: gives their place in the file back, too. */
void qcow2_free_now(struct qcow2 *q, GArray *runs);
void qcow2_note_metadata(struct qcow2 *q, u64 offset, u64 clusters);
bool qcow2_is_metadata(const struct qcow2 *q, u64 offset);

/* ---- sync.c; lock not held ---- */
/* Carry the tables to the file (see above). Return: 0 or -errno (what is not there stays dirty). */
int qcow2_sync(struct qcow2 *q);
/* The same until nothing is left, not even counts to lower. */
int qcow2_settle(struct qcow2 *q);
/* Whether a sync would write anything. Waits for one that is under way. */
bool qcow2_is_dirty(struct qcow2 *q);
/* After each request: a sync if much is dirty, and caches back to their size. */
int qcow2_relieve(struct qcow2 *q);

/* ---- map.c ---- */
enum qcow2_kind {
	QCOW2_KIND_NONE, /* nothing here: the backing file shows */
	QCOW2_KIND_ZERO,
	QCOW2_KIND_DATA,
	QCOW2_KIND_PACKED,
};

/* A run of clusters of the same kind. */
struct qcow2_run {
	enum qcow2_kind kind;
	u64 bytes;     /* from the offset asked about */
	u64 host;      /* DATA: of that offset in the file; PACKED: of the compressed bytes */
	u32 packed;    /* PACKED: their number */
	bool in_place; /* DATA: may be overwritten */
};

/* Decodes an L2 entry. @run: kind, host (of the cluster's start), packed, in_place. */
void qcow2_decode(const struct qcow2 *q, u64 entry, struct qcow2_run *run);
/* What is at @offset of the disk, for at most @bytes. Return: 0 or -errno. Lock held. */
int qcow2_lookup(struct qcow2 *q, u64 offset, u64 bytes, struct qcow2_run *run);
/* The L2 table of @offset. @create: made if there is none, else NULL with @ret 0. Lock held. */
struct table *qcow2_l2(struct qcow2 *q, u64 offset, bool create, int *ret);
/* Where @offset is in its L2 table. */
unsigned qcow2_l2_index(const struct qcow2 *q, u64 offset);
u64 qcow2_l2_entry(const struct table *t, unsigned index);
/* Replaces an entry; what the old one used is freed unless @entry uses it. Lock held. */
void qcow2_l2_set(struct qcow2 *q, struct table *t, unsigned index, u64 entry);

/* ---- read.c, write.c ---- */
/* Part of a disk that a request works on. */
struct range {
	u64 first, last; /* clusters of the disk */
	bool exclusive;
};
/* Waits for earlier ones that exclude it. Lock held (dropped while waiting). */
void qcow2_range_enter(struct qcow2 *q, struct range *r, u64 offset, u64 bytes, bool exclusive);
void qcow2_range_leave(struct qcow2 *q, struct range *r);

int qcow2_read(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov);
/* The same, for a caller that holds a range. */
int qcow2_read_locked(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov);
int qcow2_write(struct qcow2 *q, u64 offset, const struct iovec *iov, int niov, unsigned flags);
int qcow2_zeroes(struct qcow2 *q, u64 offset, u64 bytes, unsigned flags);
int qcow2_discard(struct qcow2 *q, u64 offset, u64 bytes);

/* ---- node.c ---- */
/*
 * qcow2_open() - the format of a node whose file is known: reads the header.
 * @opts: options of the node that are qcow2's; taken from it.
 *
 * Return: not loaded; NULL with @err.
 */
struct format *qcow2_open(struct block_backend *b, JsonObject *opts, GError **err);

#endif

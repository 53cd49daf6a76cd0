/*
 * block/qcow2/sync.c - carry the tables to the file, in the order that qcow2.h promises.
 *
 * The state to be written is copied under the lock, at one moment, so requests go on meanwhile.
 * What it links was written before that moment, so the first flush covers it.
 */
#include "block/qcow2/qcow2.h"

#define FREED_MAX 4096 /* clusters; more are not kept from use until the guest flushes */

enum {
	HEADER_SIZE = 24,
	HEADER_L1_SIZE = 36,
	HEADER_L1_OFFSET = 40,
	HEADER_REFTABLE_OFFSET = 48,
	HEADER_REFTABLE_CLUSTERS = 56,
};

struct chunk {
	u64 offset; /* in the file */
	size_t len;
	u8 *bytes;
};

/* L1 or refcount table: a part of it, or all of it at a new place. */
struct top_table {
	struct chunk chunk; /* len 0: nothing */
	bool moved;
	u64 place;
	u32 count; /* entries of L1, clusters of the refcount table */
};

struct snapshot {
	GArray *refs, *l2; /* of struct chunk */
	GPtrArray *ref_tables, *l2_tables;
	struct top_table reftable, l1;
	bool size_changed;
	u64 size;
	GArray *freed;
	u64 freed_clusters;
};

/* ---- Taking it ---- */

static void clear_chunk(gpointer data)
{
	g_free(((struct chunk *)data)->bytes);
}

static GArray *new_chunks(void)
{
	GArray *a = g_array_new(false, false, sizeof(struct chunk));

	g_array_set_clear_func(a, clear_chunk);
	return a;
}

static void copy_table(struct qcow2 *q, const struct table *t, GArray *chunks)
{
	unsigned pieces = q->cluster_size / q->piece;

	for (unsigned i = 0, n; i < pieces; i += n) {
		bool dirty = t->dirty >> i & 1;
		struct chunk c;

		for (n = 1; i + n < pieces && (t->dirty >> (i + n) & 1) == dirty; n++)
			;
		if (!dirty)
			continue;
		c.offset = t->offset + (u64)i * q->piece;
		c.len = (size_t)n * q->piece;
		c.bytes = g_memdup2(t->bytes + (size_t)i * q->piece, c.len);
		g_array_append_val(chunks, c);
	}
}

static void copy_cache(struct qcow2 *q, struct table_cache *c, GArray *chunks, GPtrArray *tables)
{
	for (GList *l = c->lru.head; l && c->dirty; l = l->next) {
		struct table *t = l->data;

		if (!t->dirty)
			continue;
		copy_table(q, t, chunks);
		t->written = t->dirty;
		t->dirty = 0;
		c->dirty--;
		g_ptr_array_add(tables, t);
	}
}

/* Entries [lo, hi) of a table, in whole sectors, or all @room bytes of it. */
static void copy_top(struct top_table *out, const u64 *table, u64 place, size_t room, u64 lo,
		     u64 hi)
{
	size_t from = 0, to = room;

	out->place = place;
	if (!out->moved) {
		if (lo >= hi)
			return;
		from = ROUND_DOWN(lo * 8, BLOCK_SECTOR);
		to = MIN(ROUND_UP(hi * 8, BLOCK_SECTOR), room);
	}
	out->chunk.offset = place + from;
	out->chunk.len = to - from;
	out->chunk.bytes = g_memdup2((const u8 *)table + from, to - from);
}

/* Return: whether there is anything. */
static bool take_snapshot(struct qcow2 *q, struct snapshot *s)
{
	if (!q->refs.dirty && !q->l2.dirty && q->ref_lo >= q->ref_hi && q->l1_lo >= q->l1_hi &&
	    !q->reftable_moved && !q->l1_moved && !q->header_changed && !q->freed->len)
		return false;
	s->refs = new_chunks();
	s->l2 = new_chunks();
	s->ref_tables = g_ptr_array_new();
	s->l2_tables = g_ptr_array_new();
	copy_cache(q, &q->refs, s->refs, s->ref_tables);
	copy_cache(q, &q->l2, s->l2, s->l2_tables);
	s->reftable.moved = q->reftable_moved;
	s->reftable.count = q->h.reftable_clusters;
	copy_top(&s->reftable, q->reftable, q->h.reftable_offset, q->reftable_in_file * 8,
		 q->ref_lo, q->ref_hi);
	s->l1.moved = q->l1_moved;
	s->l1.count = q->l1_size;
	copy_top(&s->l1, q->l1, q->h.l1_offset, ROUND_UP((size_t)q->l1_size * 8, q->cluster_size),
		 q->l1_lo, q->l1_hi);
	q->ref_lo = q->l1_lo = UINT32_MAX;
	q->ref_hi = q->l1_hi = 0;
	s->size_changed = q->header_changed;
	s->size = q->h.size;
	q->reftable_moved = q->l1_moved = q->header_changed = false;
	s->freed = q->freed;
	s->freed_clusters = q->freed_clusters;
	q->freed = g_array_new(false, false, sizeof(struct cluster_run));
	q->freed_clusters = 0;
	return true;
}

/* ---- Writing it ---- */

static int write_chunks(struct qcow2 *q, GArray *chunks)
{
	int ret = 0;

	for (guint i = 0; i < chunks->len && !ret; i++) {
		struct chunk *c = &g_array_index(chunks, struct chunk, i);

		ret = qcow2_pwrite(q, c->offset, c->bytes, c->len);
	}
	return ret;
}

static void put32(u8 *p, u32 v)
{
	v = GUINT32_TO_BE(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(u8 *p, u64 v)
{
	v = GUINT64_TO_BE(v);
	memcpy(p, &v, sizeof(v));
}

/* One sector, so the host writes all of it or nothing. */
static int write_header(struct qcow2 *q)
{
	int ret = qcow2_pwrite(q, 0, q->h.sector, sizeof(q->h.sector));

	return ret ? ret : qcow2_barrier(q);
}

static int write_top(struct qcow2 *q, const struct top_table *t)
{
	int ret;

	if (!t->chunk.len)
		return 0;
	ret = qcow2_pwrite(q, t->chunk.offset, t->chunk.bytes, t->chunk.len);
	return ret ? ret : qcow2_barrier(q);
}

static int write_reftable(struct qcow2 *q, const struct snapshot *s)
{
	int ret = write_top(q, &s->reftable);

	if (ret || !s->reftable.moved)
		return ret;
	g_mutex_lock(&q->lock);
	put64(q->h.sector + HEADER_REFTABLE_OFFSET, s->reftable.place);
	put32(q->h.sector + HEADER_REFTABLE_CLUSTERS, s->reftable.count);
	ret = write_header(q);
	g_mutex_unlock(&q->lock);
	return ret;
}

static int write_l1(struct qcow2 *q, const struct snapshot *s)
{
	int ret = write_top(q, &s->l1);

	if (ret || (!s->l1.moved && !s->size_changed))
		return ret;
	g_mutex_lock(&q->lock);
	if (s->l1.moved) {
		put32(q->h.sector + HEADER_L1_SIZE, s->l1.count);
		put64(q->h.sector + HEADER_L1_OFFSET, s->l1.place);
	}
	put64(q->h.sector + HEADER_SIZE, s->size);
	ret = write_header(q);
	g_mutex_unlock(&q->lock);
	return ret;
}

static int write_snapshot(struct qcow2 *q, const struct snapshot *s)
{
	int ret = write_chunks(q, s->refs);

	if (!ret)
		ret = qcow2_barrier(q);
	if (!ret)
		ret = write_reftable(q, s);
	if (ret)
		return ret;
	if (s->l2->len) {
		ret = write_chunks(q, s->l2);
		if (!ret)
			ret = qcow2_barrier(q);
	}
	return ret ? ret : write_l1(q, s);
}

/* ---- Afterwards ---- */

static void settle_tables(struct table_cache *c, GPtrArray *tables, bool failed)
{
	for (guint i = 0; i < tables->len; i++) {
		struct table *t = g_ptr_array_index(tables, i);

		if (failed && !t->dirty)
			c->dirty++;
		if (failed)
			t->dirty |= t->written;
		t->written = 0;
	}
}

static void forget_top(struct top_table *t, bool failed, bool *moved, bool *all)
{
	if (failed && t->chunk.len) {
		*moved |= t->moved;
		*all = true;
	}
	g_free(t->chunk.bytes);
}

/* What could not be written is to be written again; of L1 and refcount table all of it. */
static void settle_snapshot(struct qcow2 *q, struct snapshot *s, bool failed)
{
	bool l1_again = false, refs_again = false;

	settle_tables(&q->refs, s->ref_tables, failed);
	settle_tables(&q->l2, s->l2_tables, failed);
	forget_top(&s->reftable, failed, &q->reftable_moved, &refs_again);
	forget_top(&s->l1, failed, &q->l1_moved, &l1_again);
	if (refs_again) {
		q->ref_lo = 0;
		q->ref_hi = q->reftable_in_file;
	}
	if (l1_again) {
		q->l1_lo = 0;
		q->l1_hi = q->l1_size;
	}
	if (failed) {
		q->header_changed |= s->size_changed;
		g_array_append_vals(q->freed, s->freed->data, s->freed->len);
		q->freed_clusters += s->freed_clusters;
	}
	g_array_unref(s->refs);
	g_array_unref(s->l2);
	g_ptr_array_unref(s->ref_tables);
	g_ptr_array_unref(s->l2_tables);
}

int qcow2_sync(struct qcow2 *q)
{
	struct snapshot s = { 0 };
	bool any;
	int ret;

	if (!q->writable)
		return 0;
	g_mutex_lock(&q->sync_lock);
	g_mutex_lock(&q->lock);
	any = take_snapshot(q, &s);
	g_mutex_unlock(&q->lock);
	ret = any ? write_snapshot(q, &s) : qcow2_barrier(q);
	if (any) {
		g_mutex_lock(&q->lock);
		settle_snapshot(q, &s, ret);
		g_mutex_unlock(&q->lock);
		if (!ret)
			qcow2_free_now(q, s.freed);
		g_array_unref(s.freed);
	}
	g_mutex_unlock(&q->sync_lock);
	return ret;
}

bool qcow2_is_dirty(struct qcow2 *q)
{
	bool dirty;

	/* What a sync is writing is not there yet. */
	g_mutex_lock(&q->sync_lock);
	g_mutex_lock(&q->lock);
	dirty = q->refs.dirty || q->l2.dirty || q->freed->len;
	g_mutex_unlock(&q->lock);
	g_mutex_unlock(&q->sync_lock);
	return dirty;
}

int qcow2_settle(struct qcow2 *q)
{
	int ret = qcow2_sync(q);

	/* A second time for the counts that the first one lowered, which frees nothing more. */
	while (!ret && q->writable && qcow2_is_dirty(q))
		ret = qcow2_sync(q);
	return ret;
}

int qcow2_relieve(struct qcow2 *q)
{
	bool much;
	int ret = 0;

	g_mutex_lock(&q->lock);
	much = q->l2.dirty > q->l2.max / 2 || q->refs.dirty > q->refs.max / 2 ||
	       q->freed_clusters > FREED_MAX;
	g_mutex_unlock(&q->lock);
	if (much)
		ret = qcow2_sync(q);
	g_mutex_lock(&q->lock);
	table_cache_trim(&q->l2);
	table_cache_trim(&q->refs);
	g_mutex_unlock(&q->lock);
	return ret;
}

/*
 * block/qcow2/table.c - L2 tables and refcount blocks in memory.
 *
 * A table never leaves the cache while it differs from the file, or while a sync is writing it: its
 * content would be read again too early. So the cache may be over its size for a while; requests
 * end with qcow2_relieve(), which has tables written when many differ.
 */
#include "block/qcow2/qcow2.h"

static void table_free(gpointer data)
{
	struct table *t = data;

	g_free(t->bytes);
	g_free(t);
}

void table_cache_init(struct table_cache *c, unsigned max)
{
	c->by_offset = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, table_free);
	g_queue_init(&c->lru);
	c->max = max;
	c->dirty = 0;
}

void table_cache_clear(struct table_cache *c)
{
	g_clear_pointer(&c->by_offset, g_hash_table_destroy);
	g_queue_init(&c->lru);
	c->dirty = 0;
}

static struct table *insert(struct qcow2 *q, struct table_cache *c, u64 offset, u8 *bytes)
{
	struct table *t = g_new0(struct table, 1);

	t->offset = offset;
	t->bytes = bytes;
	t->lru.data = t;
	g_hash_table_insert(c->by_offset, &t->offset, t);
	g_queue_push_head_link(&c->lru, &t->lru);
	return t;
}

struct table *table_get(struct qcow2 *q, struct table_cache *c, u64 offset, int *ret)
{
	struct table *t = g_hash_table_lookup(c->by_offset, &offset);
	u8 *bytes;

	*ret = 0;
	if (t) {
		g_queue_unlink(&c->lru, &t->lru);
		g_queue_push_head_link(&c->lru, &t->lru);
		return t;
	}
	bytes = g_malloc(q->cluster_size);
	*ret = qcow2_pread(q, offset, bytes, q->cluster_size);
	if (*ret) {
		g_free(bytes);
		return NULL;
	}
	return insert(q, c, offset, bytes);
}

struct table *table_new(struct qcow2 *q, struct table_cache *c, u64 offset)
{
	struct table *t;

	/* What was there before the cluster was freed and used again. */
	t = g_hash_table_lookup(c->by_offset, &offset);
	if (t)
		memset(t->bytes, 0, q->cluster_size);
	else
		t = insert(q, c, offset, g_malloc0(q->cluster_size));
	table_mark(q, c, t, 0, q->cluster_size);
	return t;
}

void table_mark(struct qcow2 *q, struct table_cache *c, struct table *t, size_t at, size_t len)
{
	if (!t->dirty)
		c->dirty++;
	for (size_t i = at / q->piece; i <= (at + len - 1) / q->piece; i++)
		t->dirty |= (u64)1 << i;
}

void table_cache_trim(struct table_cache *c)
{
	GList *l = c->lru.tail;

	while (l && c->lru.length > c->max) {
		struct table *t = l->data;

		l = l->prev;
		if (t->dirty || t->written)
			continue;
		g_queue_unlink(&c->lru, &t->lru);
		g_hash_table_remove(c->by_offset, &t->offset);
	}
}

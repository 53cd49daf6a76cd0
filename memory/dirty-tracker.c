/* memory/dirty-tracker.c - clients share one tracking back end. */
#include "memory/dirty-log.h"

#include "util/barrier.h"
#include "util/bitmap.h"

#include <assert.h>

/* Without a back end a batch costs nothing to re-arm; this bounds what a taker holds. */
#define DEFAULT_BATCH_PAGES (1u << 15)

struct dirty_tracker {
	struct ram_list *ram;
	const struct dirty_log_ops *ops; /* NULL: no vCPU writes memory */
	void *backend;
	GMutex lock; /* guards clients and the back end's start and stop */
	u32 clients; /* DIRTY_BIT() of those that track; written under lock, read atomically */
};

struct dirty_tracker *dirty_tracker_create(struct ram_list *ram, const struct dirty_log_ops *ops,
					   void *backend)
{
	struct dirty_tracker *t = g_new0(struct dirty_tracker, 1);

	t->ram = ram;
	t->ops = ops;
	t->backend = backend;
	g_mutex_init(&t->lock);
	return t;
}

void dirty_tracker_destroy(struct dirty_tracker *t)
{
	assert(!t->clients);
	g_mutex_clear(&t->lock);
	g_free(t);
}

static void start_client(struct dirty_tracker *t, enum dirty_client client, bool all_dirty)
{
	for (unsigned i = 0; i < t->ram->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(t->ram->blocks, i);

		dirty_map_client_start(&b->dirty, client, all_dirty);
	}
	/* A device that saw the client inactive wrote its page before: now we see that write. */
	process_barrier();
}

static void stop_client(struct dirty_tracker *t, enum dirty_client client)
{
	for (unsigned i = 0; i < t->ram->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(t->ram->blocks, i);

		dirty_map_client_stop(&b->dirty, client);
	}
}

/* Re-arms every page: for a client that starts clean on a back end that starts all dirty. */
static int clear_everything(struct dirty_tracker *t, enum dirty_client client, GError **err)
{
	for (unsigned i = 0; i < t->ram->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(t->ram->blocks, i);
		u64 batch = dirty_tracker_batch_pages(t, b);

		for (u64 at = 0; at < ram_pages(b); at += batch) {
			int ret = dirty_tracker_clear(t, client, b, at,
						      MIN(batch, ram_pages(b) - at), NULL, err);
			if (ret)
				return ret;
		}
	}
	return 0;
}

int dirty_tracker_start(struct dirty_tracker *t, enum dirty_client client, bool all_dirty,
			GError **err)
{
	bool backend_all_dirty = false;
	int ret = 0;

	g_mutex_lock(&t->lock);
	assert(!(t->clients & DIRTY_BIT(client)));
	start_client(t, client, all_dirty);
	if (!t->clients && t->ops)
		ret = t->ops->start(t->backend, NULL, &backend_all_dirty, err);
	if (ret) {
		stop_client(t, client);
		goto out;
	}
	__atomic_fetch_or(&t->clients, DIRTY_BIT(client), __ATOMIC_SEQ_CST);
	if (backend_all_dirty && !all_dirty)
		ret = clear_everything(t, client, err);
	if (ret) {
		__atomic_fetch_and(&t->clients, ~DIRTY_BIT(client), __ATOMIC_SEQ_CST);
		stop_client(t, client);
		t->ops->stop(t->backend, NULL);
	}
out:
	g_mutex_unlock(&t->lock);
	return ret;
}

void dirty_tracker_stop(struct dirty_tracker *t, enum dirty_client client)
{
	g_mutex_lock(&t->lock);
	assert(t->clients & DIRTY_BIT(client));
	__atomic_fetch_and(&t->clients, ~DIRTY_BIT(client), __ATOMIC_SEQ_CST);
	stop_client(t, client);
	if (!t->clients && t->ops)
		t->ops->stop(t->backend, NULL);
	g_mutex_unlock(&t->lock);
}

int dirty_tracker_sync(struct dirty_tracker *t, GError **err)
{
	return t->ops ? t->ops->sync(t->backend, NULL, err) : 0;
}

int dirty_tracker_clear(struct dirty_tracker *t, enum dirty_client client, struct ramblock *block,
			u64 first, u64 n, const u64 *bits, GError **err)
{
	u32 others = __atomic_load_n(&t->clients, __ATOMIC_SEQ_CST) & ~DIRTY_BIT(client);

	assert(IS_ALIGNED(first, BITS_PER_WORD) && first + n <= block->dirty.npages);
	if (!t->ops)
		return 0;
	if (others && bits)
		dirty_map_or(&block->dirty, first, n, bits, others);
	else if (others)
		dirty_map_set(&block->dirty, first, n, others);
	return t->ops->clear(t->backend, block, first, n, bits, err);
}

u64 dirty_tracker_batch_pages(struct dirty_tracker *t, const struct ramblock *block)
{
	u64 n = t->ops && t->ops->batch_pages ? t->ops->batch_pages(t->backend, block) : 0;

	assert(IS_ALIGNED(n, BITS_PER_WORD));
	return n ? n : DEFAULT_BATCH_PAGES;
}

void dirty_tracker_stats(struct dirty_tracker *t, struct dirty_log_stats *out)
{
	*out = (struct dirty_log_stats){ 0 };
	if (t->ops && t->ops->stats)
		t->ops->stats(t->backend, out);
}

const char *dirty_tracker_name(const struct dirty_tracker *t)
{
	return t->ops ? t->ops->name : "none";
}

const char *dirty_tracker_mode(const struct dirty_tracker *t)
{
	return t->ops && t->ops->mode ? t->ops->mode(t->backend) : "none";
}

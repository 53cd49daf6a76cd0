/* block/pool.c - requests done by a pool of threads, each with blocking system calls. */
#include "block/block-priv.h"

#include <unistd.h>

#define POOL_THREADS 32 /* enough to keep a disk's queue full */

static GThreadPool *pool;

void pool_complete(struct block_req *r)
{
	struct engine *e = r->engine;
	u64 one = 1;
	bool first;

	g_mutex_lock(&e->lock);
	first = !e->finished.length;
	g_queue_push_tail(&e->finished, r);
	/* The counter cannot overflow, so this neither blocks nor fails. Within the lock: whoever
	 * takes the request may free the engine. */
	if (first && write(e->done_fd, &one, sizeof(one)) < 0)
		g_assert_not_reached();
	g_mutex_unlock(&e->lock);
}

static void work(gpointer data, gpointer unused)
{
	struct block_req *r = data;

	const struct io io = { r->op, r->offset, r->bytes, r->iov, r->niov, r->flags };

	r->ret = node_io(r->b, &io);
	pool_complete(r);
}

void pool_submit(struct block_req *r)
{
	if (!pool)
		pool = g_thread_pool_new(work, NULL, POOL_THREADS, FALSE, NULL);
	g_thread_pool_push(pool, r, NULL);
}

int pool_reap(struct engine *e)
{
	u64 count;
	int n = 0;

	if (read(e->done_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		g_assert_not_reached();
	for (;;) {
		struct block_req *r;

		g_mutex_lock(&e->lock);
		r = g_queue_pop_head(&e->finished);
		g_mutex_unlock(&e->lock);
		if (!r)
			return n;
		request_done(r);
		n++;
	}
}

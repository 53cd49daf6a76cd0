/* block/pool.c - requests done by a pool of threads, each with blocking system calls. */
#include "block/block-priv.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define POOL_THREADS 32 /* enough to keep a disk's queue full */

static GThreadPool *pool;
static GMutex lock;
static GQueue finished = G_QUEUE_INIT; /* of struct block_req, guarded by lock */
static int event_fd = -1;

int pool_event_fd(void)
{
	if (event_fd < 0)
		event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return event_fd;
}

void pool_complete(struct block_req *r)
{
	u64 one = 1;
	bool first;

	g_mutex_lock(&lock);
	first = !finished.length;
	g_queue_push_tail(&finished, r);
	g_mutex_unlock(&lock);
	/* The counter cannot overflow, so this neither blocks nor fails. */
	if (first && write(event_fd, &one, sizeof(one)) < 0)
		g_assert_not_reached();
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

int pool_reap(void)
{
	u64 count;
	int n = 0;

	if (read(event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		g_assert_not_reached();
	for (;;) {
		struct block_req *r;

		g_mutex_lock(&lock);
		r = g_queue_pop_head(&finished);
		g_mutex_unlock(&lock);
		if (!r)
			return n;
		request_done(r);
		n++;
	}
}

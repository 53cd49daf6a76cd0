/* block/uring.c - requests done by the kernel through an io_uring of each engine (io_uring(7)). */
#include "block/block-priv.h"

#include "util/iov.h"

#include <liburing.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RING_ENTRIES 256

struct ring {
	struct io_uring ring;
	int event_fd;
	int queued; /* prepared, not submitted */
};

static int plugged;

static struct ring *set_up(void)
{
	struct ring *u = g_new0(struct ring, 1);

	if (io_uring_queue_init(RING_ENTRIES, &u->ring, IORING_SETUP_CLAMP) < 0) {
		g_free(u);
		return NULL;
	}
	u->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (u->event_fd >= 0 && !io_uring_register_eventfd(&u->ring, u->event_fd))
		return u;
	if (u->event_fd >= 0)
		close(u->event_fd);
	io_uring_queue_exit(&u->ring);
	g_free(u);
	return NULL;
}

int uring_event_fd(struct engine *e)
{
	if (!e->ring_tried)
		e->ring = set_up();
	e->ring_tried = true;
	return e->ring ? e->ring->event_fd : -1;
}

bool uring_available(void)
{
	return uring_event_fd(engine_main()) >= 0;
}

void uring_free(struct engine *e)
{
	if (!e->ring)
		return;
	io_uring_queue_exit(&e->ring->ring);
	close(e->ring->event_fd);
	g_free(e->ring);
	e->ring = NULL;
}

static bool can_take(const struct block_req *r)
{
	const struct image *img = r->img;

	if (!img->uring || !r->engine->ring || r->b->overlay || r->b->fmt)
		return false;
	if (r->op == IO_FLUSH)
		return img->writable && !img->o.no_flush;
	if (r->op != IO_READ && r->op != IO_WRITE)
		return false;
	if (r->niov > IOV_MAX || r->bytes > INT_MAX)
		return false;
	if (img->align == 1)
		return true;
	if (!IS_ALIGNED((r->offset + r->b->base) | r->bytes, img->align))
		return false;
	for (int i = 0; i < r->niov; i++) {
		if ((uintptr_t)r->iov[i].iov_base % img->mem_align ||
		    r->iov[i].iov_len % img->align)
			return false;
	}
	return true;
}

static void submit(struct ring *u)
{
	int n = io_uring_submit(&u->ring);

	/* What the kernel did not take now (-EAGAIN, -EBUSY) stays in the queue for the next try:
	 * the next request, or the next completion. */
	if (n > 0)
		u->queued -= n;
}

bool uring_submit(struct block_req *r)
{
	struct ring *u = r->engine->ring;
	struct io_uring_sqe *sqe;
	int rwf = r->flags & BLOCK_FUA && !r->img->o.no_flush ? RWF_DSYNC : 0;
	u64 offset = r->offset + r->b->base;

	if (!can_take(r))
		return false;
	sqe = io_uring_get_sqe(&u->ring);
	if (!sqe) {
		submit(u);
		sqe = io_uring_get_sqe(&u->ring);
		if (!sqe)
			return false;
	}
	if (r->op == IO_READ)
		io_uring_prep_readv(sqe, r->img->fd, r->iov, r->niov, offset);
	else if (r->op == IO_WRITE)
		io_uring_prep_writev2(sqe, r->img->fd, r->iov, r->niov, offset, rwf);
	else
		io_uring_prep_fsync(sqe, r->img->fd, IORING_FSYNC_DATASYNC);
	io_uring_sqe_set_data(sqe, r);
	u->queued++;
	if (!plugged)
		submit(u);
	return true;
}

void uring_plug(bool plug)
{
	plugged += plug ? 1 : -1;
}

void uring_submit_queued(struct engine *e)
{
	if (e->ring && e->ring->queued && !plugged)
		submit(e->ring);
}

/* Return: whether the request is done; otherwise the pool does it (again). */
static bool settle(struct block_req *r, int res)
{
	if (res == -EAGAIN || res == -EINTR)
		return false;
	if (res < 0) {
		r->ret = res;
		return true;
	}
	/* A short transfer is an end of file or an interruption: the pool tells which. */
	if (r->op != IO_FLUSH && res < r->bytes)
		return false;
	r->ret = 0;
	return true;
}

int uring_reap(struct engine *e)
{
	struct ring *u = e->ring;
	struct io_uring_cqe *cqe;
	u64 count;
	int n = 0;

	if (!u)
		return 0;
	if (read(u->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		g_assert_not_reached();
	while (!io_uring_peek_cqe(&u->ring, &cqe)) {
		struct block_req *r = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&u->ring, cqe);
		n++;
		if (settle(r, res))
			request_done(r);
		else
			pool_submit(r);
	}
	uring_submit_queued(e);
	return n;
}

/* block/request.c - requests: checks, choice of the engine, completion, statistics. */
#include "block/block-priv.h"

#include "util/iov.h"
#include "util/lock.h"
#include "util/timer.h"

#include <assert.h>

static int in_flight; /* of all images and of none */

/* ---- Statistics ---- */

static enum block_op stat_op(enum io_op op)
{
	switch (op) {
	case IO_READ: return BLOCK_OP_READ;
	case IO_FLUSH: return BLOCK_OP_FLUSH;
	case IO_DISCARD: return BLOCK_OP_UNMAP;
	default: return BLOCK_OP_WRITE;
	}
}

static void account(struct block_backend *b, const struct block_req *r)
{
	struct block_stats *s = &b->stats;
	enum block_op op = stat_op(r->op);

	s->last_access_ns = clock_ns(CLOCK_TYPE_REALTIME);
	if (r->ret) {
		(*(r->invalid ? &s->invalid : &s->failed))[op]++;
		return;
	}
	s->operations[op]++;
	s->bytes[op] += r->bytes;
	s->total_time_ns[op] += s->last_access_ns - r->start_ns;
	if (op == BLOCK_OP_WRITE)
		s->wr_highest_offset = MAX(s->wr_highest_offset, r->offset + r->bytes);
}

void block_get_stats(const struct block_backend *b, struct block_stats *s)
{
	*s = b->stats;
	/* Where a format writes in its file. */
	if (b->img && !b->child)
		s->wr_highest_offset = MAX(s->wr_highest_offset,
					   __atomic_load_n(&b->img->highest, __ATOMIC_RELAXED));
}

/* ---- Life of a request ---- */

void request_done(struct block_req *r)
{
	assert(machine_lock_held());
	account(r->b, r);
	if (r->img)
		r->img->in_flight--;
	in_flight--;
	/* Freed after done(), whose owner may drain: the counts must not include this one. */
	r->done(r->opaque, r->ret);
	if (r->img)
		image_unref(r->img);
	g_free(r);
}

/*
 * Whether a write would make a disk whose format was guessed to be raw look like an image of a
 * format: the next start would follow what its header says, to any file of the host.
 */
static bool plants_header(struct block_backend *b, const struct block_req *r)
{
	u8 head[16] = "";
	size_t n;

	if (!b->probed || r->op != IO_WRITE || r->offset >= sizeof(head))
		return false;
	if (r->offset || r->bytes < sizeof(head)) {
		struct iovec v = { head, sizeof(head) };

		if (node_io(b, &(struct io){ IO_READ, 0, sizeof(head), &v, 1, 0 }))
			return true;
	}
	n = MIN(r->bytes, sizeof(head) - r->offset);
	iov_to_buf(r->iov, r->niov, 0, head + r->offset, n);
	return probe_bytes(head, sizeof(head)) != NULL;
}

/* Return: 0, or why the host is not asked. */
static int check(struct block_backend *b, const struct block_req *r)
{
	bool writes = r->op != IO_READ && r->op != IO_FLUSH;
	u64 size = block_size(b);

	if (!r->img)
		return -ENOMEDIUM;
	if (writes && !r->img->active)
		return -EPERM;
	if (writes && b->read_only)
		return -EROFS;
	if (r->offset > size || r->bytes > size - r->offset)
		return -EIO;
	return plants_header(b, r) ? -EPERM : 0;
}

static void adjust(struct block_backend *b, struct block_req *r)
{
	if (r->op == IO_WRITE && b->detect_zeroes && iov_is_zero(r->iov, r->niov)) {
		r->op = IO_ZEROES;
		if (b->detect_zeroes == BLOCK_ZEROES_UNMAP)
			r->flags |= BLOCK_MAY_UNMAP;
	}
	if (!b->unmap)
		r->flags &= ~BLOCK_MAY_UNMAP;
	if ((r->op == IO_WRITE || r->op == IO_ZEROES) && !b->write_cache)
		r->flags |= BLOCK_FUA;
}

void request_start(struct block_req *r)
{
	/* Nothing to do in the host: done at the next turn of the loop. */
	if ((r->op == IO_DISCARD && !block_can_discard(r->b)) || r->img->fd < 0) {
		if (r->op == IO_READ)
			iov_set(r->iov, r->niov, 0, 0, SIZE_MAX);
		pool_complete(r);
		return;
	}
	if (!uring_submit(r))
		pool_submit(r);
}

static void submit(struct block_backend *b, struct block_req *r)
{
	assert(machine_lock_held());
	r->b = b;
	r->img = b->img ? image_ref(b->img) : NULL;
	r->start_ns = clock_ns(CLOCK_TYPE_REALTIME);
	r->engine = engine_of(b);
	in_flight++;
	if (r->img)
		r->img->in_flight++;
	r->ret = check(b, r);
	if (r->ret) {
		r->invalid = true;
		pool_complete(r);
		return;
	}
	adjust(b, r);
	if (!throttle_hold(r))
		request_start(r);
}

static struct block_req *request(enum io_op op, const struct block_span *span, block_done_fn *done,
				 void *opaque)
{
	struct block_req *r = g_malloc0(sizeof(*r) + span->niov * sizeof(*span->iov));

	r->op = op;
	r->offset = span->offset;
	r->done = done;
	r->opaque = opaque;
	r->niov = span->niov;
	if (span->niov)
		memcpy(r->iov, span->iov, span->niov * sizeof(*span->iov));
	r->bytes = iov_size(span->iov, span->niov);
	return r;
}

/* One that carries no bytes. */
static struct block_req *bare_request(enum io_op op, u64 offset, block_done_fn *done, void *opaque)
{
	const struct block_span span = { .offset = offset };

	return request(op, &span, done, opaque);
}

void block_readv(struct block_backend *b, const struct block_span *span, block_done_fn *done,
		 void *opaque)
{
	submit(b, request(IO_READ, span, done, opaque));
}

void block_writev(struct block_backend *b, const struct block_span *span, unsigned flags,
		  block_done_fn *done, void *opaque)
{
	struct block_req *r = request(IO_WRITE, span, done, opaque);

	r->flags = flags;
	submit(b, r);
}

void block_flush(struct block_backend *b, block_done_fn *done, void *opaque)
{
	submit(b, bare_request(IO_FLUSH, 0, done, opaque));
}

void block_discard(struct block_backend *b, u64 offset, u64 bytes, block_done_fn *done,
		   void *opaque)
{
	struct block_req *r = bare_request(IO_DISCARD, offset, done, opaque);

	r->bytes = bytes;
	submit(b, r);
}

void block_write_zeroes(struct block_backend *b, u64 offset, u64 bytes, unsigned flags,
			block_done_fn *done, void *opaque)
{
	struct block_req *r = bare_request(IO_ZEROES, offset, done, opaque);

	r->bytes = bytes;
	r->flags = flags;
	submit(b, r);
}

/* ---- At once ---- */

static int rw_now(struct block_backend *b, enum io_op op, u64 offset, void *buf, size_t len)
{
	struct iovec v = { buf, len };
	g_autofree struct block_req *r =
		request(op, &(struct block_span){ offset, &v, 1 }, NULL, NULL);

	assert(machine_lock_held());
	r->b = b;
	r->start_ns = clock_ns(CLOCK_TYPE_REALTIME);
	r->flags = op == IO_WRITE && !b->write_cache ? BLOCK_FUA : 0;
	r->img = b->img;
	r->ret = check(b, r);
	r->invalid = r->ret != 0;
	if (!r->ret)
		r->ret = node_io(b, &(struct io){ op, offset, len, &v, 1, r->flags });
	account(b, r);
	return r->ret;
}

int block_pread(struct block_backend *b, u64 offset, void *buf, size_t len)
{
	return rw_now(b, IO_READ, offset, buf, len);
}

int block_pwrite(struct block_backend *b, u64 offset, const void *buf, size_t len)
{
	return rw_now(b, IO_WRITE, offset, (void *)buf, len);
}

/* ---- Waiting ---- */

void block_drain(struct block_backend *b)
{
	assert(machine_lock_held());
	while (b->img && b->img->in_flight) {
		throttle_release(b);
		engine_wait();
	}
}

void block_drain_all(void)
{
	assert(machine_lock_held());
	while (in_flight) {
		for (GList *l = block_nodes(); l; l = l->next)
			throttle_release(l->data);
		engine_wait();
	}
}

int block_flush_all(void)
{
	int ret = 0;

	block_drain_all();
	for (GList *l = block_nodes(); l; l = l->next) {
		struct block_backend *b = l->data;
		int one;

		if (!b->img || b->parent || !b->img->active || !b->img->writable)
			continue;
		one = b->fmt ? b->fmt->ops->settle(b->fmt)
			     : image_io(b->img, &(struct io){ .op = IO_FLUSH });
		if (one && !ret)
			ret = one;
	}
	return ret;
}

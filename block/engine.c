/*
 * block/engine.c - where requests are submitted and come back: the main thread's engine, and one of
 * each I/O thread that disks are given to. The machine lock guards all but what finished.
 */
#include "block/block-priv.h"

#include "util/lock.h"

#include <assert.h>
#include <glib-unix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct engine *main_engine;
static GPtrArray *engines; /* of struct engine; the first is the main thread's */

static gboolean pool_ready(gint fd, GIOCondition cond, gpointer engine)
{
	pool_reap(engine);
	return G_SOURCE_CONTINUE;
}

static gboolean ring_ready(gint fd, GIOCondition cond, gpointer engine)
{
	uring_reap(engine);
	return G_SOURCE_CONTINUE;
}

static GSource *watch(struct engine *e, int fd, GUnixFDSourceFunc fn)
{
	GSource *s = g_unix_fd_source_new(fd, G_IO_IN);

	g_source_set_callback(s, G_SOURCE_FUNC(fn), e, NULL);
	g_source_attach(s, iothread_context(e->thread));
	return s;
}

static struct engine *create(struct iothread *thread)
{
	struct engine *e = g_new0(struct engine, 1);

	g_mutex_init(&e->lock);
	g_queue_init(&e->finished);
	e->thread = thread;
	e->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert(e->done_fd >= 0);
	if (!engines)
		engines = g_ptr_array_new();
	g_ptr_array_add(engines, e);
	if (thread)
		iothread_hold(thread);
	return e;
}

static void destroy(struct engine *e)
{
	assert(!e->finished.length);
	for (unsigned i = 0; i < ARRAY_SIZE(e->source); i++) {
		if (e->source[i])
			g_source_destroy(e->source[i]);
		g_clear_pointer(&e->source[i], g_source_unref);
	}
	uring_free(e);
	close(e->done_fd);
	g_ptr_array_remove(engines, e);
	iothread_drop(e->thread);
	g_mutex_clear(&e->lock);
	g_free(e);
}

struct engine *engine_main(void)
{
	if (!main_engine)
		main_engine = create(NULL);
	return main_engine;
}

struct engine *engine_of(struct block_backend *b)
{
	struct engine *e = b->engine ?: engine_main();

	if (!e->source[0])
		e->source[0] = watch(e, e->done_fd, pool_ready);
	if (!e->source[1] && b->img && b->img->uring && uring_event_fd(e) >= 0)
		e->source[1] = watch(e, uring_event_fd(e), ring_ready);
	return e;
}

void block_set_iothread(struct block_backend *b, struct iothread *thread)
{
	struct engine *old = b->engine;

	assert(machine_lock_held());
	block_drain(b);
	b->engine = NULL;
	for (guint i = 0; thread && engines && i < engines->len && !b->engine; i++) {
		struct engine *e = g_ptr_array_index(engines, i);

		if (e->thread == thread)
			b->engine = e;
	}
	if (thread && !b->engine)
		b->engine = create(thread);
	if (b->engine)
		b->engine->users++;
	if (old && !--old->users)
		destroy(old);
}

void engine_wait(void)
{
	g_autofree struct pollfd *p = g_new0(struct pollfd, 2 * engines->len);
	int done = 0;

	for (guint i = 0; i < engines->len; i++) {
		struct engine *e = g_ptr_array_index(engines, i);

		done += pool_reap(e) + uring_reap(e);
		p[2 * i] = (struct pollfd){ .fd = e->done_fd, .events = POLLIN };
		/* -1 is skipped by poll(2) */
		p[2 * i + 1] =
			(struct pollfd){ .fd = e->ring ? uring_event_fd(e) : -1, .events = POLLIN };
	}
	if (!done)
		poll(p, 2 * engines->len, -1);
}

void block_plug(void)
{
	uring_plug(true);
}

void block_unplug(void)
{
	uring_plug(false);
	for (guint i = 0; engines && i < engines->len; i++)
		uring_submit_queued(g_ptr_array_index(engines, i));
}

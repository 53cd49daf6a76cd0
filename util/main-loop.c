/* util/main-loop.c - GLib's main loop under the machine lock. */
#include "util/main-loop.h"

#include "util/base.h"
#include "util/lock.h"

static bool quit_requested;

struct call {
	void (*fn)(void *opaque);
	void *opaque;
};

/* Everything but the wait itself runs with the lock held. */
static int poll_unlocked(GPollFD *fds, guint nfds, int timeout)
{
	int ret;

	machine_unlock();
	ret = g_poll(fds, nfds, timeout);
	machine_lock();
	return ret;
}

void main_loop_poll_unlocked(GMainContext *ctx)
{
	g_main_context_set_poll_func(ctx, poll_unlocked);
}

void main_loop_init(void)
{
	main_loop_poll_unlocked(g_main_context_default());
	machine_lock();
}

void main_loop_run(void)
{
	while (!__atomic_exchange_n(&quit_requested, false, __ATOMIC_SEQ_CST))
		g_main_context_iteration(NULL, TRUE);
}

void main_loop_quit(void)
{
	__atomic_store_n(&quit_requested, true, __ATOMIC_SEQ_CST);
	g_main_context_wakeup(NULL);
}

void main_loop_iterate(bool block)
{
	g_main_context_iteration(NULL, block);
}

static gboolean call_dispatch(gpointer data)
{
	struct call *c = data;

	c->fn(c->opaque);
	return G_SOURCE_REMOVE;
}

void main_loop_call(void (*fn)(void *opaque), void *opaque)
{
	struct call *c = g_new(struct call, 1);

	*c = (struct call){ fn, opaque };
	g_idle_add_full(G_PRIORITY_DEFAULT, call_dispatch, c, g_free);
}

/* util/iothread.c - threads beside the main one that serve devices. */
#include "util/iothread.h"

#include "util/lock.h"
#include "util/main-loop.h"

#include <assert.h>
#include <unistd.h>

struct iothread {
	GMainContext *context;
	GThread *thread;
	GMutex lock; /* guards tid until it is known */
	GCond started;
	int tid;
	bool quit; /* atomic */
	int users;
};

static gpointer run(gpointer data)
{
	struct iothread *t = data;

	g_mutex_lock(&t->lock);
	t->tid = gettid();
	g_cond_signal(&t->started);
	g_mutex_unlock(&t->lock);
	machine_lock();
	while (!__atomic_load_n(&t->quit, __ATOMIC_ACQUIRE))
		g_main_context_iteration(t->context, TRUE);
	machine_unlock();
	return NULL;
}

struct iothread *iothread_create(const char *id)
{
	struct iothread *t = g_new0(struct iothread, 1);
	g_autofree char *name = g_strconcat("IO ", id, NULL);

	t->context = g_main_context_new();
	main_loop_poll_unlocked(t->context);
	g_mutex_init(&t->lock);
	g_cond_init(&t->started);
	t->thread = g_thread_new(name, run, t);
	g_mutex_lock(&t->lock);
	while (!t->tid)
		g_cond_wait(&t->started, &t->lock);
	g_mutex_unlock(&t->lock);
	return t;
}

void iothread_destroy(struct iothread *t)
{
	assert(machine_lock_held() && !iothread_is_current(t) && !t->users);
	__atomic_store_n(&t->quit, true, __ATOMIC_RELEASE);
	g_main_context_wakeup(t->context);
	machine_unlock();
	g_thread_join(t->thread);
	machine_lock();
	g_main_context_unref(t->context);
	g_mutex_clear(&t->lock);
	g_cond_clear(&t->started);
	g_free(t);
}

int iothread_tid(const struct iothread *t)
{
	return t->tid;
}

GMainContext *iothread_context(const struct iothread *t)
{
	return t ? t->context : NULL;
}

bool iothread_is_current(const struct iothread *t)
{
	return g_thread_self() == t->thread;
}

void iothread_hold(struct iothread *t)
{
	t->users++;
}

void iothread_drop(struct iothread *t)
{
	assert(t->users > 0);
	t->users--;
}

bool iothread_in_use(const struct iothread *t)
{
	return t->users > 0;
}

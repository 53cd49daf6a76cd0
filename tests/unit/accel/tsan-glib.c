/*
 * GLib's mutexes and conditions made of those of POSIX threads, for ThreadSanitizer: it knows
 * these, and does not see that GLib's own, which are futexes in a library without instrumentation,
 * order anything. The functions here take the place of GLib's in the program that they are linked
 * into.
 */
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

/* What @place points to, made by @make at the first use: GLib's objects may be just zeroes. */
static void *lazily(gpointer *place, void *(*make)(void))
{
	void *now = __atomic_load_n(place, __ATOMIC_ACQUIRE), *mine;

	if (now)
		return now;
	mine = make();
	if (__atomic_compare_exchange_n(place, &now, mine, FALSE, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return mine;
	free(mine);
	return now;
}

static void *make_mutex(void)
{
	pthread_mutex_t *m = malloc(sizeof(*m));

	pthread_mutex_init(m, NULL);
	return m;
}

static void *make_cond(void)
{
	pthread_cond_t *c = malloc(sizeof(*c));
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	return c;
}

static pthread_mutex_t *mutex_of(GMutex *m)
{
	return lazily(&m->p, make_mutex);
}

static pthread_cond_t *cond_of(GCond *c)
{
	return lazily(&c->p, make_cond);
}

void g_mutex_init(GMutex *m)
{
	m->p = NULL;
}

void g_mutex_clear(GMutex *m)
{
	free(m->p);
	m->p = NULL;
}

void g_mutex_lock(GMutex *m)
{
	pthread_mutex_lock(mutex_of(m));
}

gboolean g_mutex_trylock(GMutex *m)
{
	return !pthread_mutex_trylock(mutex_of(m));
}

void g_mutex_unlock(GMutex *m)
{
	pthread_mutex_unlock(mutex_of(m));
}

void g_cond_init(GCond *c)
{
	c->p = NULL;
}

void g_cond_clear(GCond *c)
{
	free(c->p);
	c->p = NULL;
}

void g_cond_wait(GCond *c, GMutex *m)
{
	pthread_cond_wait(cond_of(c), mutex_of(m));
}

gboolean g_cond_wait_until(GCond *c, GMutex *m, gint64 end_us)
{
	struct timespec end = { end_us / 1000000, end_us % 1000000 * 1000 };

	return pthread_cond_timedwait(cond_of(c), mutex_of(m), &end) != ETIMEDOUT;
}

void g_cond_signal(GCond *c)
{
	pthread_cond_signal(cond_of(c));
}

void g_cond_broadcast(GCond *c)
{
	pthread_cond_broadcast(cond_of(c));
}

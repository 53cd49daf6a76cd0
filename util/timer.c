/* util/timer.c - clocks and timers on the main loop. */
#include "util/timer.h"

#include "util/lock.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NTYPES (CLOCK_TYPE_VIRTUAL + 1)

static GMutex lock;          /* guards everything below */
static GQueue armed[NTYPES]; /* of struct timer, by expiry */
static GSource *source;
static int alarm_fd; /* timerfd that wakes the main loop */

/*
 * The virtual clock. vCPUs read it often (a guest's counter), so readers take no lock: they read
 * virtual_seq, the rest, and virtual_seq again until it was the same even number both times.
 */
static u32 virtual_seq;
static bool virtual_running;
static s64 virtual_stopped_at; /* virtual time while stopped */
static s64 virtual_offset;     /* virtual = realtime + offset while running */
static s64 (*virtual_source)(void);
static void (*virtual_source_set)(s64 ns);
static void (*virtual_first_changed)(void);

static s64 host_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

#define VIRTUAL_GET(var)        __atomic_load_n(&(var), __ATOMIC_RELAXED)
#define VIRTUAL_SET(var, value) __atomic_store_n(&(var), value, __ATOMIC_RELAXED)

static s64 virtual_ns_once(void)
{
	s64 (*now)(void) = VIRTUAL_GET(virtual_source);

	if (now)
		return now();
	return VIRTUAL_GET(virtual_running)
		       ? host_clock_ns(CLOCK_MONOTONIC) + VIRTUAL_GET(virtual_offset)
		       : VIRTUAL_GET(virtual_stopped_at);
}

static s64 virtual_ns(void)
{
	for (;;) {
		u32 seq = __atomic_load_n(&virtual_seq, __ATOMIC_ACQUIRE);
		s64 ns = virtual_ns_once();

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && seq == __atomic_load_n(&virtual_seq, __ATOMIC_RELAXED))
			return ns;
	}
}

/* Brackets of a change to the virtual clock; the lock is held. */
static void virtual_change_begin(void)
{
	__atomic_store_n(&virtual_seq, virtual_seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void virtual_change_end(void)
{
	__atomic_store_n(&virtual_seq, virtual_seq + 1, __ATOMIC_RELEASE);
}

s64 clock_ns(enum clock_type type)
{
	switch (type) {
	case CLOCK_TYPE_REALTIME: return host_clock_ns(CLOCK_MONOTONIC);
	case CLOCK_TYPE_HOST: return host_clock_ns(CLOCK_REALTIME);
	case CLOCK_TYPE_VIRTUAL: return virtual_ns();
	}
	g_assert_not_reached();
}

/* The virtual clock's timers fire by themselves only while host time drives it. */
static bool self_driven(enum clock_type type)
{
	return type != CLOCK_TYPE_VIRTUAL || (virtual_running && !virtual_source);
}

/* Nanoseconds until the first expiry of any self-driven clock; -1: none. */
static s64 next_wait_locked(void)
{
	s64 wait = -1;

	for (int type = 0; type < NTYPES; type++) {
		struct timer *t = armed[type].head ? armed[type].head->data : NULL;

		if (t && self_driven(type)) {
			s64 left = t->expiry_ns - clock_ns(type); /* read it once: it moves */

			left = MAX(left, 0);
			wait = wait < 0 ? left : MIN(wait, left);
		}
	}
	return wait;
}

/* A timerfd keeps microseconds that the main loop's own timeout rounds up to milliseconds, and
 * arming it does not wake the main thread. */
static void rearm_locked(void)
{
	s64 wait = next_wait_locked();
	struct itimerspec when = { 0 }; /* all zero disarms */

	if (wait >= 0) {
		wait = MAX(wait, 1);
		when.it_value.tv_sec = wait / NS_PER_S;
		when.it_value.tv_nsec = wait % NS_PER_S;
	}
	if (timerfd_settime(alarm_fd, 0, &when, NULL))
		g_error("timerfd_settime: %s", g_strerror(errno));
}

/* Fires what is due on one clock. The callbacks run without the lock: they arm timers. */
static void run_due(enum clock_type type)
{
	g_mutex_lock(&lock);
	while (armed[type].head) {
		struct timer *t = armed[type].head->data;

		if (t->expiry_ns > clock_ns(type))
			break;
		g_queue_unlink(&armed[type], &t->link);
		t->expiry_ns = -1;
		g_mutex_unlock(&lock);
		t->fn(t->opaque);
		g_mutex_lock(&lock);
	}
	g_mutex_unlock(&lock);
}

static gboolean source_dispatch(GSource *s, GSourceFunc fn, gpointer data)
{
	u64 expirations;

	if (read(alarm_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		g_error("timerfd: %s", g_strerror(errno));
	for (int type = 0; type < NTYPES; type++)
		if (self_driven(type))
			run_due(type);
	g_mutex_lock(&lock);
	rearm_locked();
	g_mutex_unlock(&lock);
	return G_SOURCE_CONTINUE;
}

static void source_create_locked(void)
{
	static GSourceFuncs funcs = { .dispatch = source_dispatch };

	alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarm_fd < 0)
		g_error("timerfd_create: %s", g_strerror(errno));
	source = g_source_new(&funcs, sizeof(GSource));
	g_source_set_name(source, "timers");
	g_source_add_unix_fd(source, alarm_fd, G_IO_IN);
	g_source_attach(source, NULL);
}

void timer_init(struct timer *t, enum clock_type type, timer_fn *fn, void *opaque)
{
	*t = (struct timer){ .type = type, .expiry_ns = -1, .fn = fn, .opaque = opaque };
	t->link.data = t;
}

static void unlink_locked(struct timer *t)
{
	if (t->expiry_ns >= 0)
		g_queue_unlink(&armed[t->type], &t->link);
	t->expiry_ns = -1;
}

void timer_mod(struct timer *t, s64 expiry_ns)
{
	void (*changed)(void) = NULL;
	GList *at;

	g_mutex_lock(&lock);
	if (!source)
		source_create_locked();
	unlink_locked(t);
	t->expiry_ns = MAX(expiry_ns, 0);
	for (at = armed[t->type].head; at; at = at->next)
		if (((struct timer *)at->data)->expiry_ns > t->expiry_ns)
			break;
	if (at)
		g_queue_insert_before_link(&armed[t->type], at, &t->link);
	else
		g_queue_push_tail_link(&armed[t->type], &t->link);
	if (armed[t->type].head == &t->link) {
		rearm_locked();
		changed = t->type == CLOCK_TYPE_VIRTUAL ? virtual_first_changed : NULL;
	}
	g_mutex_unlock(&lock);
	if (changed)
		changed();
}

void timer_del(struct timer *t)
{
	g_mutex_lock(&lock);
	unlink_locked(t);
	g_mutex_unlock(&lock);
}

bool timer_pending(const struct timer *t)
{
	return t->expiry_ns >= 0;
}

void clock_virtual_run(bool run)
{
	g_mutex_lock(&lock);
	if (run != virtual_running) {
		s64 now = virtual_ns();

		virtual_change_begin();
		if (run && !virtual_source)
			VIRTUAL_SET(virtual_offset,
				    virtual_stopped_at - host_clock_ns(CLOCK_MONOTONIC));
		else if (!virtual_source)
			VIRTUAL_SET(virtual_stopped_at, now);
		VIRTUAL_SET(virtual_running, run);
		virtual_change_end();
	}
	if (source)
		rearm_locked();
	g_mutex_unlock(&lock);
}

bool clock_virtual_runs(void)
{
	return VIRTUAL_GET(virtual_running);
}

void clock_virtual_set_ns(s64 ns)
{
	g_mutex_lock(&lock);
	assert(!virtual_running);
	virtual_change_begin();
	VIRTUAL_SET(virtual_stopped_at, ns);
	virtual_change_end();
	if (virtual_source && virtual_source_set)
		virtual_source_set(ns);
	g_mutex_unlock(&lock);
}

void clock_virtual_set_source(s64 (*now)(void), void (*set)(s64 ns))
{
	g_mutex_lock(&lock);
	virtual_change_begin();
	VIRTUAL_SET(virtual_source, now);
	virtual_source_set = set;
	virtual_change_end();
	g_mutex_unlock(&lock);
}

void clock_virtual_on_first_timer(void (*fn)(void))
{
	g_mutex_lock(&lock);
	virtual_first_changed = fn;
	g_mutex_unlock(&lock);
}

s64 timer_run_virtual(void)
{
	run_due(CLOCK_TYPE_VIRTUAL);
	return timer_next_virtual();
}

s64 timer_next_virtual(void)
{
	struct timer *t;
	s64 next;

	g_mutex_lock(&lock);
	t = armed[CLOCK_TYPE_VIRTUAL].head ? armed[CLOCK_TYPE_VIRTUAL].head->data : NULL;
	next = t ? t->expiry_ns : -1;
	g_mutex_unlock(&lock);
	return next;
}

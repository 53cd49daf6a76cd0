/*
 * util/timer.h - clocks and timers.
 */
#ifndef UTIL_TIMER_H
#define UTIL_TIMER_H

#include "util/base.h"

enum clock_type {
	CLOCK_TYPE_REALTIME, /* monotonic host time; never stops */
	CLOCK_TYPE_HOST,     /* wall-clock time of the host; may jump */
	CLOCK_TYPE_VIRTUAL,  /* guest time: runs only while the VM runs; travels with a migration */
};

/*
 * clock_ns() - read a clock.
 *
 * Return: nanoseconds since the clock's origin (REALTIME: boot; HOST: 1970-01-01 UTC; VIRTUAL:
 * machine creation, less the time the VM was stopped).
 * Context: any thread, no locks; takes none itself and makes no system call.
 */
s64 clock_ns(enum clock_type type);

/*
 * clock_virtual_run() - let the virtual clock run or stop it.
 *
 * Context: machine lock held; called by the run state only.
 */
void clock_virtual_run(bool run);

/*
 * clock_virtual_runs() - whether the virtual clock runs. A vCPU that waits for it must look: the
 * clock stops before the vCPUs do.
 *
 * Context: any thread, no locks.
 */
bool clock_virtual_runs(void);

/*
 * clock_virtual_set_ns() - make the virtual clock show @ns now (incoming migration).
 *
 * Context: machine lock held, VM stopped.
 */
void clock_virtual_set_ns(s64 ns);

/*
 * clock_virtual_set_source() - let something else drive the virtual clock (qtest, icount).
 * @now: returns guest nanoseconds; any thread; monotonic. NULL returns to host time.
 * @set: makes @now return that from now on, for clock_virtual_set_ns(); NULL: it cannot be set.
 *
 * Timers of the virtual clock then fire only when timer_run_virtual() is called.
 * Context: main thread, before the VM starts.
 */
void clock_virtual_set_source(s64 (*now)(void), void (*set)(s64 ns));

/*
 * clock_virtual_on_first_timer() - have @fn called, without locks, by whoever arms a timer of the
 * virtual clock that is now the first to expire. NULL: nobody wants to know.
 *
 * Context: main thread, before the VM starts.
 */
void clock_virtual_on_first_timer(void (*fn)(void));

/*
 * timer_run_virtual() - fire the virtual clock's timers that are due; for a driven clock.
 *
 * Return: earliest expiry that is left, -1 if none.
 * Context: the thread that drives the clock, machine lock held.
 */
s64 timer_run_virtual(void);

/* timer_next_virtual() - earliest expiry of the virtual clock's timers, -1 if none. Any thread. */
s64 timer_next_virtual(void);

typedef void timer_fn(void *opaque);

/* Embedded in its owner; initialised by timer_init(). */
struct timer {
	enum clock_type type;
	s64 expiry_ns; /* on the timer's clock; -1: not armed. Migrates as a signed 64-bit value. */
	timer_fn *fn;
	void *opaque;
	GList link; /* in the clock's list, sorted by expiry, while armed */
};

/*
 * timer_init() - prepare a timer; it is not armed.
 * @fn: runs in the main thread under the machine lock, once per timer_mod(); for the virtual clock
 *      in the thread of whatever drives it.
 */
void timer_init(struct timer *t, enum clock_type type, timer_fn *fn, void *opaque);

/*
 * timer_mod() - arm the timer, or move its expiry.
 * @expiry_ns: absolute time on the timer's clock; a past time fires at once.
 *
 * Context: any thread.
 */
void timer_mod(struct timer *t, s64 expiry_ns);

/*
 * timer_del() - disarm; harmless if not armed. On return the callback does not start any more, if
 * the caller holds the machine lock; without it, it may be about to start once.
 *
 * Context: any thread.
 */
void timer_del(struct timer *t);

/*
 * timer_pending() - whether the timer is armed.
 */
bool timer_pending(const struct timer *t);

#endif

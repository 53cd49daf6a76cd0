/*
 * util/main-loop.h - the main thread's GLib loop, run under the machine lock.
 */
#ifndef UTIL_MAIN_LOOP_H
#define UTIL_MAIN_LOOP_H

#include <glib.h>
#include <stdbool.h>

/*
 * main_loop_init() - make the default GLib context drop the machine lock while it polls.
 *
 * Context: main thread, once, before any source is attached; on return the caller holds the
 * machine lock.
 */
void main_loop_init(void);

/*
 * main_loop_poll_unlocked() - make another context drop the machine lock while it polls.
 *
 * Context: any thread, before the context is run.
 */
void main_loop_poll_unlocked(GMainContext *ctx);

/*
 * main_loop_run() - dispatch sources until main_loop_quit().
 *
 * Context: main thread, machine lock held (and released only while polling).
 */
void main_loop_run(void);

/*
 * main_loop_quit() - make main_loop_run() return after the current callback.
 *
 * Context: any thread.
 */
void main_loop_quit(void);

/*
 * main_loop_call() - run a function once in the main thread, under the machine lock.
 * @fn:     what to run; calls from one thread run in their order.
 * @opaque: its argument.
 *
 * Context: any thread, any locks; never runs @fn before it returns.
 */
void main_loop_call(void (*fn)(void *opaque), void *opaque);

/*
 * main_loop_iterate() - dispatch what is ready, waiting for at least one source if @block.
 *
 * Context: main thread, machine lock held. Used where a command must wait for a back end.
 */
void main_loop_iterate(bool block);

#endif

/*
 * util/iothread.h - threads beside the main one that serve devices.
 *
 * Such a thread runs a GLib loop like the main thread's: under the machine lock, which it drops
 * while it polls. What a device does there need not wait for the main thread to come round, and
 * its time is that of a thread which can be placed on a CPU.
 */
#ifndef UTIL_IOTHREAD_H
#define UTIL_IOTHREAD_H

#include "util/base.h"

#include <glib.h>

struct iothread;

/*
 * iothread_create() - start a thread.
 * @id: names it, "IO ID".
 *
 * Return: when it runs. Context: any, machine lock held or not.
 */
struct iothread *iothread_create(const char *id);

/*
 * iothread_destroy() - end it. Nobody uses it any more.
 *
 * Context: another thread, machine lock held (dropped while waiting).
 */
void iothread_destroy(struct iothread *t);

/* iothread_tid() - its thread id, as in /proc/PID/task. */
int iothread_tid(const struct iothread *t);

/* iothread_context() - where its sources are attached; NULL, the main thread's, for a @t of NULL.
 * Callbacks run with the machine lock held. */
GMainContext *iothread_context(const struct iothread *t);

/* iothread_is_current() - whether the calling thread is this one. */
bool iothread_is_current(const struct iothread *t);

/* iothread_hold(), iothread_drop() - devices that use it. Machine lock held. */
void iothread_hold(struct iothread *t);
void iothread_drop(struct iothread *t);
bool iothread_in_use(const struct iothread *t);

#endif

/*
 * system/daemon.h - the process as its parent and its administrator see it.
 */
#ifndef SYSTEM_DAEMON_H
#define SYSTEM_DAEMON_H

#include "config.h"

/*
 * daemon_fork() - go to the background for -daemonize.
 *
 * The parent waits until the child calls daemon_ready() and exits with 0, or with 1 if the child
 * ends before that. Only the child returns.
 * Context: before any thread is created.
 */
int daemon_fork(GError **err);

/* daemon_ready() - let the parent go, and drop the terminal. No effect without daemon_fork(). */
void daemon_ready(void);

/* pidfile_write() - create and lock the file; it is removed by pidfile_remove(). */
int pidfile_write(const char *path, GError **err);
void pidfile_remove(void);

/*
 * process_confine() - -run-with, -runas, -chroot, -overcommit: limits that hold from now on.
 *
 * Return: 0 or -errno with @err naming option and value.
 */
int process_confine(struct config *c, GError **err);

#endif

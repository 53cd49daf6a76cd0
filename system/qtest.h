/*
 * system/qtest.h - the qtest protocol: a test drives the machine over a character device.
 *
 * One line a command, one answer a command; QEMU's documentation of libqtest describes it.
 */
#ifndef SYSTEM_QTEST_H
#define SYSTEM_QTEST_H

#include "hw/machine.h"

struct qtest_server;

/*
 * qtest_create() - serve the protocol on @dev (as after -serial), logging to @log_path if not NULL.
 *
 * Context: main thread, machine lock held. Return: NULL with @err.
 */
struct qtest_server *qtest_create(struct machine *m, const char *dev, const char *log_path,
				  GError **err);
void qtest_destroy(struct qtest_server *s);

#endif

/*
 * tests/unit/hw/fake-chardev.h - a character device that records output and takes input.
 */
#ifndef TESTS_UNIT_HW_FAKE_CHARDEV_H
#define TESTS_UNIT_HW_FAKE_CHARDEV_H

#include "chardev/char.h"

/* All fake devices are one: what was written, and what the back end claims to hold back. */
extern GString *fake_output;
extern size_t fake_backlog;

/* fake_chardev() - the device under any id. */
struct chardev *fake_chardev(void *opaque, const char *id);

/* fake_input() - offer bytes. Return: how many the front end took. */
size_t fake_input(const char *bytes, size_t len);
void fake_break(void);

#endif

/*
 * console.h - set-up of the console, private to the library.
 */
#ifndef TESTS_GUESTS_CONSOLE_H
#define TESTS_GUESTS_CONSOLE_H

#include "guest.h"

extern const char *const console_names[];
extern u64 console_kind; /* index in console_names */

void console_init(void); /* chooses between test device and uart if told "auto" */

#endif

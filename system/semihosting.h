/*
 * system/semihosting.h - -semihosting and -semihosting-config.
 */
#ifndef SYSTEM_SEMIHOSTING_H
#define SYSTEM_SEMIHOSTING_H

#include "emulator.h"
#include "options.h"

/* For the option table: keys as of keyval_parse(), but arg= may come again and again. */
int semihosting_parse(struct config *c, const struct option_desc *o, const char *arg, GError **err);

/*
 * setup_semihosting() - enable it, if that is asked for.
 *
 * Return: 0 or -errno with @err. Context: main thread, machine lock held; character devices and
 * devices are there.
 */
int setup_semihosting(struct emulator *e, GError **err);

/* teardown_semihosting() - the vCPUs are gone; harmless if it is not enabled. */
void teardown_semihosting(void);

#endif

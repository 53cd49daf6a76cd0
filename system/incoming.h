/*
 * system/incoming.h - the machine's migration object, and what a receiver does.
 */
#ifndef SYSTEM_INCOMING_H
#define SYSTEM_INCOMING_H

#include "emulator.h"

/* setup_migration() - create it and apply -global migration.X=Y. */
int setup_migration(struct emulator *e, GError **err);
void teardown_migration(struct emulator *e);

/* announce_start() - announce every NIC @rounds times: now, after @initial_ms, then @step_ms longer
 * each time up to @max_ms; replaces announcements under way. */
void announce_start(unsigned initial_ms, unsigned max_ms, unsigned rounds, unsigned step_ms);

/* start_incoming() - begin to wait as -incoming says. */
int start_incoming(struct emulator *e, GError **err);

#endif

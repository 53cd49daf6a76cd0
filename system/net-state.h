/*
 * system/net-state.h - user networks take part in migration.
 */
#ifndef SYSTEM_NET_STATE_H
#define SYSTEM_NET_STATE_H

struct emulator;

/* net_state_update() - back ends may have been added: make their sections known. Machine lock
 * held, no migration running. */
void net_state_update(struct emulator *e);

#endif

/*
 * migration/dirty-rate.h - how fast the guest writes memory.
 */
#ifndef MIGRATION_DIRTY_RATE_H
#define MIGRATION_DIRTY_RATE_H

#include "util/base.h"

struct vm;
struct dirty_rate;

struct dirty_rate *dirty_rate_create(struct vm *vm);
/* dirty_rate_destroy() - ends a running measurement. Machine lock not held. */
void dirty_rate_destroy(struct dirty_rate *d);

#endif

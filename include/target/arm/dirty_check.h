/*
 * target/arm/dirty_check.h - what the checker of dirty-state protocols (-cpu
 * max,dirty-state-check=on) has found.
 */
#ifndef TARGET_ARM_DIRTY_CHECK_H
#define TARGET_ARM_DIRTY_CHECK_H

#include "util/base.h"

/* A mistake of the hypervisor. */
struct arm_dirty_problem {
	const char *kind; /* one word; docs/hdbss-hacdbs.md lists them */
	const char *text; /* what is wrong, and what would be right */
	unsigned cpu;
	u64 pc;  /* of the instruction that showed it */
	u64 ipa; /* of the page, 0 if none */
};

/* arm_dirty_check_problems() - the last 64, oldest first. Any thread. */
void arm_dirty_check_problems(void (*fn)(void *opaque, const struct arm_dirty_problem *p),
			      void *opaque);

#endif

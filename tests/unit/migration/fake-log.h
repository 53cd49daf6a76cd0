/*
 * tests/unit/migration/fake-log.h - a tracking back end in software, and writers that obey it.
 *
 * It behaves like a write-protecting dirty log: a write is noticed only while its page is armed;
 * noticing disarms it, and only clear() arms it again. Whoever copies a page before clearing it, or
 * clears what was not taken, loses writes here as on real hardware.
 */
#ifndef FAKE_LOG_H
#define FAKE_LOG_H

#include "memory/dirty-log.h"

#define FAKE_BLOCKS 8

struct fake_log {
	GMutex lock;
	struct ram_list *ram;
	u64 *armed[FAKE_BLOCKS], *noted[FAKE_BLOCKS];
	bool active;
	bool initially_set; /* start() declares everything dirty */
	struct dirty_log_stats stats;

	/* Faults to inject. */
	int fail_sync_at, fail_clear_at; /* n-th call fails; 0: never */
	u64 drop_every;                  /* loses every n-th noted write; 0: none */
	u64 noted_writes;
};

extern const struct dirty_log_ops fake_log_ops;

void fake_log_init(struct fake_log *f, struct ram_list *ram, bool initially_set);
void fake_log_finish(struct fake_log *f);

/* fake_log_write() - a vCPU's store of 8 bytes. */
void fake_log_write(struct fake_log *f, struct ramblock *b, u64 offset, u64 value);

#endif

/*
 * migration/convergence.h - whether the passes will end, when, and slowing the guest so that they
 * do.
 */
#ifndef MIGRATION_CONVERGENCE_H
#define MIGRATION_CONVERGENCE_H

#include "migration/ram-source.h"

enum verdict {
	VERDICT_STARTING,
	VERDICT_CONVERGING,
	VERDICT_THROTTLING,
	VERDICT_DIVERGING,
	VERDICT_CONVERGED
};

struct downtime {
	u64 stop_ns, sync_ns, ram_ns, device_ns, resume_ns;
};

/* Written by the migration thread; read with relaxed atomics. */
struct convergence {
	u64 bandwidth; /* bytes per second, measured or given by the user */
	u64 rate_bps;  /* bits per second over the last window */
	u64 pages_per_second;
	u64 dirty_rate; /* bytes per second that the guest writes anew, last pass */
	u64 verdict;    /* enum verdict */
	u64 eta_ms;     /* until the switch-over; UINT64_MAX: never */
	u64 throttle_pct;
	u64 expected_downtime_ms;
	struct downtime predicted;

	/* Migration thread only. */
	s64 window_ns;
	u64 window_bytes, window_pages;
	s64 pass_ns;
	u64 pass_bytes;
	unsigned late_passes; /* made although the rest fitted into the downtime */
	unsigned hot_passes;  /* in a row that wrote more than the threshold */
};

void convergence_init(struct convergence *c, const struct settings *settings, u64 device_ns);

/* convergence_tick() - measure; call often. @bytes: sent so far. */
void convergence_tick(struct convergence *c, const struct settings *settings, u64 bytes, u64 pages);

/*
 * convergence_pass() - after a sync: decide whether to switch over now, else adapt the throttle.
 * @bytes: sent so far.
 *
 * Return: true to switch over now: the rest fits into the downtime limit, and no late pass pays.
 */
bool convergence_pass(struct convergence *c, struct vm *vm, const struct settings *settings,
		      const struct ram_stats *stats, u64 bytes);

/* convergence_end() - give the guest its speed back. */
void convergence_end(struct convergence *c, struct vm *vm);

const char *verdict_name(enum verdict v);

#endif

/*
 * hw/virtio/balloon.h - what the monitor asks of the balloon device.
 *
 * All functions: main thread, machine lock held.
 */
#ifndef HW_VIRTIO_BALLOON_H
#define HW_VIRTIO_BALLOON_H

#include "hw/machine.h"

/* Tags of the statistics, in the order of Virtio 1.2, 5.5.6.4. */
enum balloon_stat {
	BALLOON_SWAP_IN,
	BALLOON_SWAP_OUT,
	BALLOON_MAJOR_FAULTS,
	BALLOON_MINOR_FAULTS,
	BALLOON_FREE_MEMORY,
	BALLOON_TOTAL_MEMORY,
	BALLOON_AVAILABLE_MEMORY,
	BALLOON_DISK_CACHES,
	BALLOON_HTLB_PGALLOC,
	BALLOON_HTLB_PGFAIL,
	BALLOON_STATS
};

struct balloon_stats {
	s64 last_update_s;        /* UTC; 0: the guest has not answered yet */
	u64 value[BALLOON_STATS]; /* UINT64_MAX: the guest does not tell */
};

/* balloon_stat_name() - "stat-swap-in", ... as guest-stats shows them. */
const char *balloon_stat_name(enum balloon_stat stat);

/*
 * balloon_set_target() - ask the guest to use no more than @bytes of its memory.
 * @bytes: above the size of the memory it counts as that size.
 *
 * Return: 0; -ENODEV with @err (class DeviceNotActive) if there is no balloon device.
 */
int balloon_set_target(struct machine *m, u64 bytes, GError **err);

/* balloon_actual() - @bytes: memory that the guest has. Return as balloon_set_target(). */
int balloon_actual(struct machine *m, u64 *bytes, GError **err);

/*
 * balloon_stats_interval() - have the guest asked for statistics every @seconds; 0: not.
 * balloon_get_stats() - the last answer.
 * @dev: a balloon device.
 *
 * Return (interval): 0, or -EINVAL with @err: out of range.
 */
int balloon_stats_interval(struct device *dev, s64 seconds, GError **err);
void balloon_get_stats(struct device *dev, struct balloon_stats *stats);

/* balloon_on_change() - for the BALLOON_CHANGE event; set once. @actual: bytes. */
void balloon_on_change(void (*fn)(struct machine *m, u64 actual, void *opaque), void *opaque);

#endif

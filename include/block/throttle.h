/*
 * block/throttle.h - limits of bytes and requests a second, of a disk or of a group of disks.
 *
 * Names, meaning and defaults of the limits: QEMU's QMP reference, block_set_io_throttle, and its
 * manual of -drive, throttling.*. Time is that of the virtual clock, so limits hold by what the
 * guest sees. All functions: machine lock held.
 */
#ifndef BLOCK_THROTTLE_H
#define BLOCK_THROTTLE_H

#include "util/base.h"

struct block_backend;

enum block_limit_kind {
	BLOCK_BPS_TOTAL, /* bytes a second of reads, writes and writes of zeroes */
	BLOCK_BPS_READ,
	BLOCK_BPS_WRITE,
	BLOCK_IOPS_TOTAL, /* requests a second */
	BLOCK_IOPS_READ,
	BLOCK_IOPS_WRITE,
	BLOCK_LIMITS
};

/* block_limit_name() - "bps-total", "iops-read", ... */
const char *block_limit_name(enum block_limit_kind kind);

struct block_limit {
	u64 avg;    /* a second, in the long run; 0: no limit */
	u64 max;    /* a second, in a burst; 0: bursts of a tenth of a second */
	u64 length; /* seconds that a burst may last, >= 1; 1 without max */
};

struct block_throttle {
	struct block_limit limit[BLOCK_LIMITS];
	u64 iops_size; /* bytes: larger requests count as so many more; 0: all count as one */
};

/* block_throttle_init() - no limits. */
void block_throttle_init(struct block_throttle *t);

/*
 * block_throttle_set() - limit a disk, or all of the group that it is in or joins.
 * @group: NULL: the group that it is in, else one that is named like the disk.
 *
 * No limits at all: the disk leaves its group. Requests that wait are looked at again.
 * Return: 0; -EINVAL with @err: limits that contradict each other, or out of range.
 */
int block_throttle_set(struct block_backend *b, const struct block_throttle *t, const char *group,
		       GError **err);

/*
 * block_throttle_get() - the limits of a disk.
 *
 * Return: name of its group; NULL: it is not limited, @t is as after block_throttle_init().
 */
const char *block_throttle_get(const struct block_backend *b, struct block_throttle *t);

#endif

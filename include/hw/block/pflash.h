/*
 * hw/block/pflash.h - parallel NOR flash with Intel's command set.
 */
#ifndef HW_BLOCK_PFLASH_H
#define HW_BLOCK_PFLASH_H

#include "hw/device.h"

#define PFLASH_TYPE "cfi.pflash01"

struct block_backend;
struct ramblock;

struct pflash_config {
	const char *name; /* of the RAM block with its content, "virt.flash0" */
	u64 base, size;   /* guest physical; bytes */
	u32 sector;       /* bytes that are erased together */
	/* Content, exactly @size bytes. NULL: the flash forgets and begins with zeroes, as on other
	 * emulators, not with what erased flash has: so it costs no memory until it is used. */
	struct block_backend *drive;
};

/*
 * pflash_create() - a bank of two interleaved 16-bit chips, accessed by 32 bits.
 *
 * Return: the realized device; NULL with @err: drive in use, of another size, or unreadable.
 * Context: machine's init(), bus "System" there.
 */
struct device *pflash_create(struct machine *m, const struct pflash_config *cfg, GError **err);

/* pflash_load() - put an image at the start of the flash, for flash without drive. @len: at most
 * its size. */
void pflash_load(struct device *dev, const void *data, u64 len);

/* pflash_has_drive() - whether the content came from a drive. */
bool pflash_has_drive(const struct device *dev);

#endif

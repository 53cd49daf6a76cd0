/*
 * hw/arm/boot.h - direct boot of a kernel: where its parts go in guest memory.
 *
 * Source: Linux, Documentation/arch/arm64/booting.rst.
 */
#ifndef HW_ARM_BOOT_H
#define HW_ARM_BOOT_H

#include "hw/machine.h"

struct arm_boot {
	struct machine *m;
	u64 ram_base, ram_size;
	/* Out; guest physical addresses. */
	u64 entry;
	u64 initrd, initrd_end; /* equal: none */
	u64 dtb;                /* where the device tree goes */
};

/*
 * arm_boot_load() - read opt.kernel and opt.initrd and add them to the machine's blobs.
 *
 * The kernel is a Linux Image, as it is or compressed by gzip, an EFI image that holds such a one
 * compressed, or any other flat program, which is entered at its first byte.
 * Return: 0, or -errno with @err naming the file and what would be understood.
 */
int arm_boot_load(struct arm_boot *b, GError **err);

#endif

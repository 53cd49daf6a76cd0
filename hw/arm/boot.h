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
	bool is_program;        /* an ELF file: nobody tells it where the device tree is */
	u64 entry, end;         /* first byte behind the kernel */
	u64 initrd, initrd_end; /* equal: none */
	u64 dtb;                /* where the device tree goes; for a program: RAM's start */
};

/*
 * arm_boot_load() - read opt.kernel and opt.initrd and add them to the machine's blobs.
 *
 * The kernel is a Linux Image, as it is or compressed by gzip, an EFI image that holds such a one
 * compressed, an ELF program, which goes to its physical addresses and is entered where it says, or
 * any other flat program, which is entered at its first byte.
 * Return: 0, or -errno with @err naming the file and what would be understood.
 */
int arm_boot_load(struct arm_boot *b, GError **err);

#endif

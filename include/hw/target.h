/*
 * hw/target.h - which machines and device types one emulator binary has.
 */
#ifndef HW_TARGET_H
#define HW_TARGET_H

#include "util/base.h"

struct device_type;
struct machine_type;

struct hw_target {
	const char *name;                                /* "x86_64", as in qemu-system-NAME */
	const char *cpu_type;                            /* QOM's type of its CPUs: "x86_64-cpu" */
	const char *default_machine;                     /* NULL: -machine must be given */
	const struct machine_type *const *machines;      /* NULL-terminated */
	const struct device_type *const *const *devices; /* NULL-terminated list of such lists */
	const u8 *gic_versions; /* of Arm's interrupt controller that machines can have, 0 ends
				   them; NULL: none */
	u16 elf_machine;        /* EM_... of programs for its CPUs */
	unsigned page_bits; /* of the target's pages, for streams; 0: those of its whole family */
};

extern const struct hw_target hw_target_x86_64;  /* hw/i386/target.c */
extern const struct hw_target hw_target_aarch64; /* hw/arm/target.c */

#endif

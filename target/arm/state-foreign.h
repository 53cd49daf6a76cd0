/*
 * target/arm/state-foreign.h - system registers that QEMU's CPUs have and that do not exist here.
 *
 * Its receivers want each constant of theirs in a stream, with their value.
 */
#ifndef TARGET_ARM_STATE_FOREIGN_H
#define TARGET_ARM_STATE_FOREIGN_H

#include "target/arm/cpu.h"

/* Kinds of numbers (Linux, Documentation/virt/kvm/api.rst, 4.68). */
#define ARM_WIRE_A64   0x6030000000130000ull /* arm64, 64 bits, system register */
#define ARM_WIRE_A32   0x4020000000000000ull /* arm, 32 bits */
#define ARM_WIRE_A32_D 0x4030000000000000ull /* arm, 64 bits */
#define ARM_WIRE_KIND  0xffff000000000000ull

/*
 * arm_foreign_sysregs() - tell those of the model, with their values at reset.
 * @cpus:     of the machine.
 * @old_list: as QEMU 7.2 has them; else as QEMU 11.1.
 *
 * Model max has none: no two versions of it are alike.
 */
void arm_foreign_sysregs(const struct arm_cpu *cpu, unsigned cpus, bool old_list,
			 void (*fn)(void *opaque, u64 index, u64 value), void *opaque);

#endif

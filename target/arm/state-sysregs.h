/*
 * target/arm/state-sysregs.h - system registers in a stream: a list of numbers and values.
 *
 * The numbers are those of KVM (Linux, Documentation/virt/kvm/api.rst, 4.68), the list is one that
 * QEMU's receivers take: they refuse a number that their CPU does not have, and want each constant
 * of theirs with the value that it has there.
 */
#ifndef TARGET_ARM_STATE_SYSREGS_H
#define TARGET_ARM_STATE_SYSREGS_H

#include "target/arm/cpu.h"

#define ARM_WIRE_SYSREGS 512 /* at most */

/*
 * arm_wire_save_sysregs() - fill both arrays, by ascending number.
 * @cpus:     of the machine.
 * @old_list: for receivers such as QEMU 7.2; else QEMU 11.1.
 *
 * Return: how many.
 */
unsigned arm_wire_save_sysregs(struct arm_cpu *cpu, unsigned cpus, bool old_list, u64 *indexes,
			       u64 *values);

/*
 * arm_wire_check_sysregs() - whether the source's registers can be taken.
 *
 * Those that this CPU does not have may be there if they tell nothing that a guest of this CPU
 * could use: zeroes, AArch32's, the source's caches, its implementation.
 * Return: 0, or -EINVAL with @err naming the register and its value.
 *
 * arm_wire_load_sysregs() - take them, after a successful check.
 */
int arm_wire_check_sysregs(struct arm_cpu *cpu, const u64 *indexes, const u64 *values, unsigned n,
			   GError **err);
void arm_wire_load_sysregs(struct arm_cpu *cpu, const u64 *indexes, const u64 *values, unsigned n);

#endif

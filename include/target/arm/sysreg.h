/*
 * target/arm/sysreg.h - table of system registers (Arm DDI 0487, C5 and D24).
 */
#ifndef TARGET_ARM_SYSREG_H
#define TARGET_ARM_SYSREG_H

#include "target/arm/cpu.h"

/* op0, op1, CRn, CRm and op2 packed as in bits 20:5 of MRS and MSR. */
#define SYSREG(op0, op1, crn, crm, op2)                                                            \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

#define SYSREG_NONE  4 /* no exception level may do it */
#define SYSREG_UNDEF 8 /* of a trap function: the access is UNDEFINED */

struct arm_sysreg {
	u16 key;              /* SYSREG() */
	u8 read_el, write_el; /* lowest exception level allowed; SYSREG_NONE = never */
	u16 offset;           /* of a u64 in struct arm_cpu, 0 = only the functions below */
	const char *name;
	u64 (*read)(struct arm_cpu *cpu, const struct arm_sysreg *reg); /* NULL: the field */
	void (*write)(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val);
	void *opaque; /* for the functions: a timer, a GIC interface, ... */
	/* Whether an access that the levels above allow is trapped all the same: the exception
	 * level that gets it (EC 0x18), SYSREG_UNDEF, or 0. NULL: never. */
	unsigned (*trap)(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write);
};

/*
 * arm_sysreg_find() - look up a register.
 * @key: SYSREG().
 *
 * Return: the register, a private one of the CPU first; NULL if it does not exist.
 */
const struct arm_sysreg *arm_sysreg_find(struct arm_cpu *cpu, unsigned key);

/* arm_sysreg_foreach() - every register of the CPU, in no order. */
void arm_sysreg_foreach(struct arm_cpu *cpu, void (*fn)(const struct arm_sysreg *reg, void *opaque),
			void *opaque);

/*
 * arm_sysreg_add() - give one CPU further registers (timers, GIC CPU interface, PMU).
 * @regs: @n entries that live as long as the CPU; they take precedence over the built-in ones.
 */
void arm_sysreg_add(struct arm_cpu *cpu, const struct arm_sysreg *regs, unsigned n);

#endif

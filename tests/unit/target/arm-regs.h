/*
 * tests/unit/target/arm-regs.h - system registers as MRS and MSR reach them, for tests.
 */
#ifndef TESTS_UNIT_TARGET_ARM_REGS_H
#define TESTS_UNIT_TARGET_ARM_REGS_H

#include <glib.h>

#include "target/arm/sysreg.h"

#define TEST_OK 0 /* the access is allowed; else a level that traps it, or SYSREG_UNDEF */

static inline void cpu_set_el(struct arm_cpu *cpu, unsigned el)
{
	cpu->pstate = (cpu->pstate & ~(3u << PSTATE_EL_SHIFT)) | el << PSTATE_EL_SHIFT;
}

/* What MRS or MSR would do at the current exception level. */
static inline unsigned reg_access(struct arm_cpu *cpu, unsigned key, bool write)
{
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, key);

	if (!reg || cpu_el(cpu) < (write ? reg->write_el : reg->read_el))
		return SYSREG_UNDEF;
	return reg->trap ? reg->trap(cpu, reg, write) : TEST_OK;
}

static inline u64 mrs(struct arm_cpu *cpu, unsigned key)
{
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, key);

	g_assert_cmpuint(reg_access(cpu, key, false), ==, TEST_OK);
	return reg->read ? reg->read(cpu, reg) : *(u64 *)((char *)cpu + reg->offset);
}

static inline void msr(struct arm_cpu *cpu, unsigned key, u64 val)
{
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, key);

	g_assert_cmpuint(reg_access(cpu, key, true), ==, TEST_OK);
	if (reg->write)
		reg->write(cpu, reg, val);
	else
		*(u64 *)((char *)cpu + reg->offset) = val;
}

#endif

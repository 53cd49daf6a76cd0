/*
 * tests/unit/hw/gic-machine.h - a machine with RAM, a GICv3 and CPUs that execute nothing.
 */
#ifndef TESTS_UNIT_HW_GIC_MACHINE_H
#define TESTS_UNIT_HW_GIC_MACHINE_H

#include "tests/unit/hw/fake-machine.h"
#include "tests/unit/target/arm-regs.h"

#include "hw/intc/arm-gicv3.h"
#include "memory/address-space.h"
#include "target/arm/irq.h"

#define GICD      0x08000000ull
#define GICR      0x080a0000ull
#define GIC_CPUS  4
#define RAM_BASE  0x40000000ull
#define RAM_BYTES (4 * MiB)

#define ICC_PMR     SYSREG(3, 0, 4, 6, 0)
#define ICC_IAR0    SYSREG(3, 0, 12, 8, 0)
#define ICC_EOIR0   SYSREG(3, 0, 12, 8, 1)
#define ICC_HPPIR0  SYSREG(3, 0, 12, 8, 2)
#define ICC_BPR0    SYSREG(3, 0, 12, 8, 3)
#define ICC_AP0R0   SYSREG(3, 0, 12, 8, 4)
#define ICC_AP1R0   SYSREG(3, 0, 12, 9, 0)
#define ICC_AP1R1   SYSREG(3, 0, 12, 9, 1)
#define ICC_DIR     SYSREG(3, 0, 12, 11, 1)
#define ICC_RPR     SYSREG(3, 0, 12, 11, 3)
#define ICC_SGI1R   SYSREG(3, 0, 12, 11, 5)
#define ICC_SGI0R   SYSREG(3, 0, 12, 11, 7)
#define ICC_IAR1    SYSREG(3, 0, 12, 12, 0)
#define ICC_EOIR1   SYSREG(3, 0, 12, 12, 1)
#define ICC_HPPIR1  SYSREG(3, 0, 12, 12, 2)
#define ICC_BPR1    SYSREG(3, 0, 12, 12, 3)
#define ICC_CTLR    SYSREG(3, 0, 12, 12, 4)
#define ICC_SRE     SYSREG(3, 0, 12, 12, 5)
#define ICC_IGRPEN0 SYSREG(3, 0, 12, 12, 6)
#define ICC_IGRPEN1 SYSREG(3, 0, 12, 12, 7)

/* The parts under test; made by gic_machine(). */
extern struct machine *gic_m;
extern struct device *gic;
extern struct arm_cpu *gic_cpu[GIC_CPUS];

/* gic_machine() - 256 SPIs, GIC_CPUS CPUs with affinities 0.0.0.n, all at EL1, everything as after
 * a reset. @el2: they have it, and start there. */
void gic_machine(bool el2);
void gic_machine_free(void);

/* gic_enable() - what a kernel does first: groups, priority mask, SGIs and PPIs of group 1 on. */
void gic_enable(void);

/* gic_setup_spi() - group 1, priority, edge or level, CPU, enabled. */
void gic_setup_spi(unsigned spi, u8 prio, bool edge, unsigned cpu);

u64 rd(u64 gpa, unsigned size);
void wr(u64 gpa, unsigned size, u64 val);
static inline u32 rd32(u64 gpa)
{
	return rd(gpa, 4);
}
static inline void wr32(u64 gpa, u32 val)
{
	wr(gpa, 4, val);
}

/* Base of a redistributor, and of its frame for SGIs and PPIs. */
static inline u64 gicr(unsigned cpu)
{
	return GICR + cpu * ARM_GICV3_REGION;
}
static inline u64 gicr_sgi(unsigned cpu)
{
	return gicr(cpu) + 0x10000;
}

/* Interrupt lines of a CPU. */
static inline bool irq_line(unsigned cpu)
{
	return gic_cpu[cpu]->irq_lines & 1u << ARM_LINE_IRQ;
}
static inline bool fiq_line(unsigned cpu)
{
	return gic_cpu[cpu]->irq_lines & 1u << ARM_LINE_FIQ;
}

#endif

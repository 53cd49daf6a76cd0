/*
 * target/arm/pmu-priv.h - what the registers of the performance monitors and their engine share.
 */
#ifndef TARGET_ARM_PMU_PRIV_H
#define TARGET_ARM_PMU_PRIV_H

#include "target/arm/pmu.h"
#include "util/timer.h"

#define PMCR_E  (1u << 0)
#define PMCR_P  (1u << 1)
#define PMCR_C  (1u << 2)
#define PMCR_D  (1u << 3) /* has no effect, since LC is 1 */
#define PMCR_X  (1u << 4) /* nor this: nobody is there to export events to */
#define PMCR_DP (1u << 5)
#define PMCR_LC (1u << 6) /* RES1 without AArch32: the cycle counter overflows at 64 bits */
#define PMCR_LP (1u << 7)

#define PMCR_N_SHIFT  11
#define PMCR_ID_SHIFT 16 /* IMP and IDCODE */

#define PMU_CYCLES      31 /* bit, and number in PMSELR_EL0, of the cycle counter */
#define PMU_CYCLES_BIT  (1u << PMU_CYCLES)
#define PMU_EVENTS_MASK ((1u << ARM_PMU_COUNTERS) - 1)

/* Of PMEVTYPERn_EL0 and PMCCFILTR_EL0. */
#define PMU_FILTER_P   (1u << 31) /* not at EL1 */
#define PMU_FILTER_U   (1u << 30) /* not at EL0 */
#define PMU_FILTER_NSH (1u << 27) /* at EL2, too */

/* Common events (D13.12.3). */
enum pmu_event {
	PMU_SW_INCR = 0x00,
	PMU_INST_RETIRED = 0x08,
	PMU_CPU_CYCLES = 0x11,
	PMU_CHAIN = 0x1e,
	PMU_STALL_FRONTEND = 0x23, /* there is no pipeline that could stall: always 0 */
	PMU_STALL_BACKEND = 0x24,
	PMU_STALL = 0x3c,
};

/* Host side. All of it belongs to the vCPU's thread but @expired. */
struct arm_pmu {
	struct arm_cpu *cpu;
	s64 last_ns; /* what the counters have seen of the virtual clock... */
	u64 last_insns;
	struct timer timer; /* the next overflow that interrupts */
	int expired;        /* it is due; atomic, set by whoever runs timers */
	bool level;         /* output as last driven */
	bool loaded;        /* last_x are not known yet: the clock may still have to be loaded */
	void (*output)(void *opaque, bool level);
	void *opaque;
};

/* pmu_accessible() - counters that the current level may use, as bits of PMCNTENSET_EL0. */
u32 pmu_accessible(const struct arm_cpu *cpu);

/* pmu_is_reserved_to_el2() - event counter @n is not for EL1 and EL0 (MDCR_EL2.HPMN). */
bool pmu_is_reserved_to_el2(const struct arm_cpu *cpu, unsigned n);

/* pmu_has_wide_counters() - event counters have 64 bits. */
static inline bool pmu_has_wide_counters(const struct arm_cpu *cpu)
{
	return cpu->pmu_version >= ARM_PMU_V3P5;
}

/* pmu_increment() - a software increment of the counters in @mask. After arm_pmu_sync(). */
void pmu_increment(struct arm_cpu *cpu, u32 mask);

/* pmu_registers_add() - pmu_regs.c: the system registers. */
void pmu_registers_add(struct arm_cpu *cpu);

#endif

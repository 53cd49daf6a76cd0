/*
 * target/arm/pmu.h - the performance monitors of a CPU, FEAT_PMUv3 (Arm DDI 0487, D13).
 *
 * Counters are brought up to date when somebody looks at them, when a register changes what is
 * counted, and when one that may interrupt overflows: code that is executed pays nothing. A cycle
 * is a nanosecond of the virtual clock. Counted are cycles, software increments, overflows of
 * another counter, and, where the accelerator counts them (-icount), instructions.
 */
#ifndef TARGET_ARM_PMU_H
#define TARGET_ARM_PMU_H

#include "target/arm/cpu.h"

/* Values of ID_AA64DFR0_EL1.PMUVer, arm_cpu.pmu_version; 0 is none. */
#define ARM_PMU_V3   1
#define ARM_PMU_V3P1 4
#define ARM_PMU_V3P4 5
#define ARM_PMU_V3P5 6

/*
 * arm_pmu_create() - give the CPU the performance monitors that cpu->pmu_version names.
 *
 * arm_pmu_destroy() - take them away again; nothing happens if there are none.
 * Context: main thread, the CPU does not run. A CPU with EL3 cannot have them.
 */
void arm_pmu_create(struct arm_cpu *cpu);
void arm_pmu_destroy(struct arm_cpu *cpu);

/*
 * arm_pmu_connect() - where the overflow interrupt goes. Before the CPU runs.
 * @fn: called by the vCPU's thread, or by the main thread while the CPU is parked, with or without
 *      the machine lock.
 */
void arm_pmu_connect(struct arm_cpu *cpu, void (*fn)(void *opaque, bool level), void *opaque);

/*
 * The functions below do nothing for a CPU without performance monitors. Context: the vCPU's
 * thread, or it is parked.
 *
 * arm_pmu_sync() - bring the counters up to date: before anything changes what is counted.
 * arm_pmu_update() - sync, drive the interrupt, set the timer for the next overflow: after it.
 */
void arm_pmu_sync(struct arm_cpu *cpu);
void arm_pmu_update(struct arm_cpu *cpu);

/* arm_pmu_leave_level() - the current instruction, which is executed at the current level, is about
 * to change it. For CPUs with pmu_by_level. */
void arm_pmu_leave_level(struct arm_cpu *cpu);

/* arm_pmu_reset() - state after a cold reset of the CPU's registers. */
void arm_pmu_reset(struct arm_cpu *cpu);

/* arm_pmu_loaded() - the registers have been written by a migration. */
void arm_pmu_loaded(struct arm_cpu *cpu);

/* arm_pmu_service() - act on an overflow that was due. Context: tcg_ops.service. */
void arm_pmu_service(struct arm_cpu *cpu);

#endif

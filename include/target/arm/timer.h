/*
 * target/arm/timer.h - the generic timers of a CPU (Arm DDI 0487, D12).
 *
 * The system counter is the virtual clock of util/timer.h in units of 1/frequency: it stands still
 * while the VM is stopped and travels with a migration.
 */
#ifndef TARGET_ARM_TIMER_H
#define TARGET_ARM_TIMER_H

#include "target/arm/cpu.h"

/* Counter frequencies, in Hz: of CPU models since Armv8.6 (which requires it), and of older ones
 * (the choice of QEMU's machines). */
#define ARM_CNTFRQ_V8_6   1000000000u
#define ARM_CNTFRQ_LEGACY 62500000u

/*
 * arm_timers_create() - give a CPU the generic timers: their registers, disarmed.
 * @cpu:   has_el2 and has_el3 decide which there are.
 * @hz:    frequency of the counter, 1..1000000000; also what CNTFRQ_EL0 reads after reset.
 *
 * arm_timers_destroy() - take them away again; nothing happens if there are none.
 * Context: main thread, the CPU does not run.
 */
void arm_timers_create(struct arm_cpu *cpu, u32 hz);
void arm_timers_destroy(struct arm_cpu *cpu);

/* A timer's output changed. Vcpu's or main thread, with or without the machine lock; the caller
 * holds the CPU's timer lock, below which only locks of interrupt controllers may be taken. */
typedef void arm_timer_output_fn(void *opaque, enum arm_timer timer, bool level);

/* arm_timers_connect() - where the outputs go. Before the CPU runs. */
void arm_timers_connect(struct arm_cpu *cpu, arm_timer_output_fn *fn, void *opaque);

/* arm_timers_reset() - power-on state: all off. Machine lock held, CPU parked. */
void arm_timers_reset(struct arm_cpu *cpu);

/*
 * arm_timers_update() - drive outputs and host timers from the registers anew.
 *
 * For whoever wrote cpu->timer[], cntvoff_el2, cntpoff_el2 or hcr_el2 other than by the registers'
 * functions: after a migration's load.
 * Context: CPU parked, or on its thread.
 */
void arm_timers_update(struct arm_cpu *cpu);

/*
 * arm_timers_repeat() - give all outputs their levels once more: for a receiver that loaded its own
 * state after the timers'. A timer may have become due between the source's stop and its load.
 * Context: CPU parked. Nothing happens for a CPU without timers.
 */
void arm_timers_repeat(struct arm_cpu *cpu);

/* arm_timers_counter() - CNTPCT_EL0 without offset. Any thread, no locks. */
u64 arm_timers_counter(const struct arm_cpu *cpu);

/* arm_timers_virtual_counter() - CNTVCT_EL0 as the current exception level sees it. */
u64 arm_timers_virtual_counter(const struct arm_cpu *cpu);

/* arm_timers_to_ns() - nanoseconds of the virtual clock at which the counter reaches @count,
 * rounded up; INT64_MAX if that is later than the clock can show. */
s64 arm_timers_to_ns(const struct arm_cpu *cpu, u64 count);

#endif

/*
 * target/arm/timer.h - what the timers' registers and their engine share.
 */
#ifndef TARGET_ARM_TIMER_PRIV_H
#define TARGET_ARM_TIMER_PRIV_H

#include "target/arm/timer.h"
#include "util/timer.h"

#define CNT_ENABLE  (1u << 0)
#define CNT_IMASK   (1u << 1)
#define CNT_ISTATUS (1u << 2)

#define CNTHCTL_ECV (1u << 12)

/*
 * Host side of the timers. The lock orders the vCPU, which writes registers, and the main thread,
 * where host timers fire; registers are written by the vCPU's own thread only, which therefore
 * reads them without it.
 */
struct arm_timers {
	struct arm_cpu *cpu;
	u32 hz;
	u32 period_ns; /* 1/hz where that is a whole number of ns, else 0 */
	GMutex lock;
	struct timer host[ARM_TIMERS];
	bool level[ARM_TIMERS]; /* outputs as last driven */
	arm_timer_output_fn *output;
	void *opaque;
};

/* timer_write() - change a register of a timer and act on it. The vCPU's thread. */
void timer_write_ctl(struct arm_cpu *cpu, enum arm_timer n, u64 ctl);
void timer_write_cval(struct arm_cpu *cpu, enum arm_timer n, u64 cval);

/* timer_count() - the counter as timer @n compares it, offset applied. */
u64 timer_count(const struct arm_cpu *cpu, enum arm_timer n);

/* timer_condition() - whether CVAL is reached. */
bool timer_condition(const struct arm_cpu *cpu, enum arm_timer n);

/* timer_physical_offset() - CNTPOFF_EL2 where it applies to EL1 and EL0, else 0. */
u64 timer_physical_offset(const struct arm_cpu *cpu);

/* timer_registers_add() - timer_regs.c: the system registers. */
void timer_registers_add(struct arm_cpu *cpu);

#endif

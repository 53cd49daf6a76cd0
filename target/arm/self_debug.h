/*
 * target/arm/self_debug.h - debug exceptions that the guest gives itself: breakpoints, watchpoints,
 * software step (Arm DDI 0487, D2).
 */
#ifndef TARGET_ARM_SELF_DEBUG_H
#define TARGET_ARM_SELF_DEBUG_H

#include "target/arm/cpu.h"
#include "target/arm/decode.h"

#define MDSCR_SS       (1u << 0)
#define ARM_OSLSR_OSLK (1u << 1) /* the OS lock is set */

/* arm_cpu.stepped */
#define ARM_STEPPED           1u
#define ARM_STEPPED_EXCLUSIVE 2u
#define ARM_STEPPING          4u /* it is being executed, and no call */

/* arm_self_debug_init() - give the CPU the registers; once. */
void arm_self_debug_init(struct arm_cpu *cpu);

/* arm_self_debug_changed() - after registers were set by other means than MSR. */
void arm_self_debug_changed(struct arm_cpu *cpu);

/* Level that debug exceptions go to: 1, or 2 if EL2 wants them. */
unsigned arm_debug_target(const struct arm_cpu *cpu);

/*
 * arm_step_key() - TCG_KEY_INTERPRET while software step is active, else 0: part of the state that
 * translations depend on.
 */
u32 arm_step_key(const struct arm_cpu *cpu);

/* PSTATE.D may have changed outside of an exception: see whether software step is active now. */
static inline void arm_daif_changed(struct arm_cpu *cpu)
{
	if (unlikely(cpu->mdscr_el1 & MDSCR_SS)) {
		arm_state_changed(cpu);
		cpu->tcg.exit_request = 1;
	}
}

/*
 * arm_step_begin() - with MDSCR_EL1.SS set, before each instruction: raise the exception of
 * software step if it is due. Return: true if the instruction is stepped; then arm_step_end() must
 * be called before it is executed.
 */
bool arm_step_begin(struct arm_cpu *cpu);
void arm_step_end(struct arm_cpu *cpu, const struct a64_insn *insn);

/* Whether an exception return with SPSR_ELx.SS set starts a step. */
bool arm_return_steps(const struct arm_cpu *cpu, u32 spsr);

/* arm_check_breakpoints() - raise the exception of a breakpoint at @pc, if there is one. */
void arm_check_breakpoints(struct arm_cpu *cpu, u64 pc);

/* tcg_ops.break_in_page, watched and watch. */
bool arm_break_in_page(struct tcg_cpu *cpu, u64 pc_page);
bool arm_watched(struct tcg_cpu *cpu, u64 va);
void arm_watch(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access);

#endif

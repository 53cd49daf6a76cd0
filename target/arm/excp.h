/*
 * target/arm/excp.h - exception entry and return (Arm DDI 0487, D1.3).
 */
#ifndef TARGET_ARM_EXCP_H
#define TARGET_ARM_EXCP_H

#include "target/arm/cpu.h"
#include "target/arm/el2.h"

/*
 * arm_exception_return() - the ERET family: restore PSTATE and continue at @pc.
 * @spsr: new state; an illegal one sets PSTATE.IL and keeps the exception level.
 */
void arm_exception_return(struct arm_cpu *cpu, u64 pc, u64 spsr);

/*
 * arm_take_exception() - enter the handler of the recorded cpu->excp.
 *
 * Context: outside of translated code; registers are those of the interrupted instruction.
 */
void arm_take_exception(struct arm_cpu *cpu);

/* Offsets into the vector table for arm_take_interrupt(). */
enum arm_vector {
	VECTOR_SYNC = 0x000,
	VECTOR_IRQ = 0x080,
	VECTOR_FIQ = 0x100,
	VECTOR_SERROR = 0x180
};

/* Mask bits have been cleared: look at the interrupt lines before the next region. */
static inline void arm_unmasked(struct arm_cpu *cpu)
{
	if (__atomic_load_n(&cpu->irq_lines, __ATOMIC_SEQ_CST) || cpu->hcr_el2 & HCR_VIRTUAL)
		__atomic_store_n(&cpu->tcg.exit_request, 1, __ATOMIC_RELAXED);
}

/* Enter the handler of an interrupt at exception level @el (1 to 3). */
void arm_take_interrupt(struct arm_cpu *cpu, enum arm_vector kind, unsigned el);

/*
 * arm_set_pstate() - write PSTATE in the layout of SPSR_ELx, switching the stack pointer.
 * Bits that do not exist are dropped.
 */
void arm_set_pstate(struct arm_cpu *cpu, u32 spsr);

/* PSTATE in the layout of SPSR_ELx, NZCV included. */
u32 arm_get_pstate(const struct arm_cpu *cpu);

#endif

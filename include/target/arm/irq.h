/*
 * target/arm/irq.h - interrupt inputs of a CPU.
 */
#ifndef TARGET_ARM_IRQ_H
#define TARGET_ARM_IRQ_H

#include "target/arm/cpu.h"

enum arm_irq_line {
	ARM_LINE_IRQ,
	ARM_LINE_FIQ,
	ARM_LINE_VIRQ, /* from the virtual CPU interface */
	ARM_LINE_VFIQ,
	ARM_LINE_SERROR,
};

/* arm_irq_set() - an interrupt controller drives a line; the CPU looks at it soon. Any thread. */
void arm_irq_set(struct arm_cpu *cpu, enum arm_irq_line line, bool level);

/*
 * arm_irq_take() - enter the handler of the most important interrupt that is not masked.
 *
 * Return: true if one was taken. Context: tcg_ops.service.
 */
bool arm_irq_take(struct arm_cpu *cpu);

/* ISR_EL1: which interrupts are pending for the current level, virtual ones if it takes those. */
u64 arm_irq_pending(const struct arm_cpu *cpu);

/* True if WFI ends: an interrupt is there, masked or not. */
bool arm_irq_wakes(const struct arm_cpu *cpu);

#endif

/* target/arm/irq.c - interrupt inputs of a CPU and when they are taken (Arm DDI 0487, D1.3.6). */
#include "target/arm/irq.h"
#include "target/arm/cpu-features.h"
#include "target/arm/excp.h"

#define VSESR_BITS 0x1ffffffull /* IDS, ISS */
#define SCR_IRQ    (1ull << 1)
#define SCR_FIQ    (1ull << 2)
#define SCR_EA     (1ull << 3)

void arm_irq_set(struct arm_cpu *cpu, enum arm_irq_line line, bool level)
{
	u32 bit = 1u << line;

	if (level) {
		__atomic_fetch_or(&cpu->irq_lines, bit, __ATOMIC_SEQ_CST);
		tcg_cpu_kick(&cpu->tcg);
	} else {
		__atomic_fetch_and(&cpu->irq_lines, ~bit, __ATOMIC_SEQ_CST);
	}
}

/* Exception level that a physical interrupt goes to. */
static unsigned physical_target(const struct arm_cpu *cpu, u64 scr_bit, u64 hcr_bit)
{
	if (cpu->has_el3 && cpu->scr_el3 & scr_bit)
		return 3;
	return cpu->has_el2 && cpu->hcr_el2 & (hcr_bit | HCR_TGE) ? 2 : 1;
}

/* A mask bit of PSTATE counts only at the target level itself: lower levels cannot mask it, and
 * what is for a lower level stays pending. */
static bool unmasked(const struct arm_cpu *cpu, unsigned target, u32 mask)
{
	unsigned el = cpu_el(cpu);

	if (el > target)
		return false;
	return el < target && target > 1 ? true : !(cpu->pstate & mask);
}

static bool take_physical(struct arm_cpu *cpu, enum arm_vector vector, u32 mask, u64 scr_bit,
			  u64 hcr_bit)
{
	unsigned target = physical_target(cpu, scr_bit, hcr_bit);

	if (!unmasked(cpu, target, mask))
		return false;
	arm_take_interrupt(cpu, vector, target);
	return true;
}

/* Virtual interrupts exist below EL2 while physical ones go to EL2, and not under a host. */
static bool has_virtual(const struct arm_cpu *cpu, u64 hcr_bit)
{
	return cpu_el(cpu) < 2 && !(cpu->hcr_el2 & HCR_TGE) && cpu->hcr_el2 & hcr_bit;
}

static bool take_virtual(struct arm_cpu *cpu, enum arm_vector vector, u32 mask, u64 hcr_bit)
{
	if (!has_virtual(cpu, hcr_bit) || cpu->pstate & mask)
		return false;
	arm_take_interrupt(cpu, vector, 1);
	if (vector == VECTOR_SERROR) { /* there is one only; with FEAT_RAS EL2 says what it is */
		cpu->hcr_el2 &= ~HCR_VSE;
		if (cpu_has(cpu, ARM_FEAT_RAS))
			cpu->esr_el[1] |= cpu->vsesr_el2 & VSESR_BITS;
	}
	return true;
}

/* Which of ISR_EL1's bits are pending as virtual interrupts, whoever takes them. */
static u32 virtual_pending(const struct arm_cpu *cpu, u32 lines)
{
	return (lines & 1u << ARM_LINE_VFIQ || cpu->hcr_el2 & HCR_VF ? PSTATE_F : 0) |
	       (lines & 1u << ARM_LINE_VIRQ || cpu->hcr_el2 & HCR_VI ? PSTATE_I : 0) |
	       (cpu->hcr_el2 & HCR_VSE ? PSTATE_A : 0);
}

bool arm_irq_take(struct arm_cpu *cpu)
{
	u32 lines = __atomic_load_n(&cpu->irq_lines, __ATOMIC_SEQ_CST), virtual;

	if (lines & 1u << ARM_LINE_FIQ &&
	    take_physical(cpu, VECTOR_FIQ, PSTATE_F, SCR_FIQ, HCR_FMO))
		return true;
	if (lines & 1u << ARM_LINE_IRQ &&
	    take_physical(cpu, VECTOR_IRQ, PSTATE_I, SCR_IRQ, HCR_IMO))
		return true;
	if (lines & 1u << ARM_LINE_SERROR &&
	    take_physical(cpu, VECTOR_SERROR, PSTATE_A, SCR_EA, HCR_AMO))
		return true;
	if (!cpu->has_el2)
		return false;
	virtual = virtual_pending(cpu, lines);
	return (virtual & PSTATE_F && take_virtual(cpu, VECTOR_FIQ, PSTATE_F, HCR_FMO)) ||
	       (virtual & PSTATE_I && take_virtual(cpu, VECTOR_IRQ, PSTATE_I, HCR_IMO)) ||
	       (virtual & PSTATE_A && take_virtual(cpu, VECTOR_SERROR, PSTATE_A, HCR_AMO));
}

/* Bits of PSTATE's masks that virtual interrupts have at this level. */
static u32 virtual_kinds(const struct arm_cpu *cpu)
{
	return (has_virtual(cpu, HCR_FMO) ? PSTATE_F : 0) |
	       (has_virtual(cpu, HCR_IMO) ? PSTATE_I : 0) |
	       (has_virtual(cpu, HCR_AMO) ? PSTATE_A : 0);
}

u64 arm_irq_pending(const struct arm_cpu *cpu)
{
	u32 lines = __atomic_load_n(&cpu->irq_lines, __ATOMIC_SEQ_CST);
	u32 physical = (lines & 1u << ARM_LINE_FIQ ? PSTATE_F : 0) |
		       (lines & 1u << ARM_LINE_IRQ ? PSTATE_I : 0) |
		       (lines & 1u << ARM_LINE_SERROR ? PSTATE_A : 0);
	u32 kinds = virtual_kinds(cpu);

	return (virtual_pending(cpu, lines) & kinds) | (physical & ~kinds);
}

bool arm_irq_wakes(const struct arm_cpu *cpu)
{
	u32 lines = __atomic_load_n(&cpu->irq_lines, __ATOMIC_SEQ_CST);

	return lines & (1u << ARM_LINE_FIQ | 1u << ARM_LINE_IRQ | 1u << ARM_LINE_SERROR) ||
	       virtual_pending(cpu, lines) & virtual_kinds(cpu);
}

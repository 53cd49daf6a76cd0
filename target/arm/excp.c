/* target/arm/excp.c - exception entry and return in AArch64 state (Arm DDI 0487, D1.3). */
#include "target/arm/excp.h"
#include "target/arm/cpu-features.h"
#include "target/arm/engines-priv.h"
#include "target/arm/mmu.h"
#include "target/arm/pmu.h"
#include "util/log.h"
#include "target/arm/self_debug.h"

#define ESR_IL     (1u << 25)
#define SCTLR_SPAN (1ull << 23)

_Noreturn void arm_raise(struct arm_cpu *cpu, unsigned ec, u32 iss, u64 far)
{
	arm_mmu_end_unpriv(cpu);
	if (unlikely(cpu->stepped & ARM_STEPPING)) { /* it was not executed */
		cpu->pstate |= PSTATE_SS;
		cpu->stepped = 0;
	}
	cpu->excp.ec = ec;
	cpu->excp.iss = iss;
	cpu->excp.far = far;
	cpu->excp.pending = true;
	tcg_raise(&cpu->tcg);
}

_Noreturn void arm_undefined(struct arm_cpu *cpu)
{
	arm_raise(cpu, EC_UNKNOWN, 0, 0);
}

/* Which banked stack pointer is in use. */
static unsigned sp_bank(u32 pstate)
{
	return pstate & PSTATE_SPSEL ? (pstate >> PSTATE_EL_SHIFT) & 3 : 0;
}

u32 arm_get_pstate(const struct arm_cpu *cpu)
{
	return cpu->pstate | cpu->btype << PSTATE_BTYPE_SHIFT | cpu_nzcv(cpu) << 28;
}

void arm_set_pstate(struct arm_cpu *cpu, u32 spsr)
{
	bool counters = unlikely(cpu->pmu_by_level);
	u32 known = PSTATE_SPSEL | 3u << PSTATE_EL_SHIFT | PSTATE_DAIF | PSTATE_IL | PSTATE_SS;

	if (cpu_has(cpu, ARM_FEAT_PAN))
		known |= PSTATE_PAN;
	if (cpu_has(cpu, ARM_FEAT_UAO))
		known |= PSTATE_UAO;
	if (cpu_has(cpu, ARM_FEAT_DIT))
		known |= PSTATE_DIT;
	if (cpu_has(cpu, ARM_FEAT_SSBS))
		known |= PSTATE_SSBS;

	if (counters)
		arm_pmu_sync(cpu);
	cpu->sp_el[sp_bank(cpu->pstate)] = cpu->tcg.r[31];
	cpu->pstate = spsr & known;
	cpu->btype = cpu->bti_on ? spsr >> PSTATE_BTYPE_SHIFT & 3 : 0;
	cpu->tcg.r[31] = cpu->sp_el[sp_bank(cpu->pstate)];
	cpu_set_nzcv(cpu, spsr >> 28);
	if (counters)
		arm_pmu_update(cpu);
	arm_state_changed(cpu);
}

/* IllegalExceptionReturn(): AArch32 is not implemented at any level. */
static bool return_is_legal(const struct arm_cpu *cpu, u64 spsr)
{
	unsigned target = (spsr >> PSTATE_EL_SHIFT) & 3;

	if (spsr & (PSTATE_nRW | 2) || target > cpu_el(cpu))
		return false;
	if (target == 0 && spsr & PSTATE_SPSEL)
		return false;
	if (target == 1 && cpu->has_el2 && cpu->hcr_el2 & HCR_TGE)
		return false;
	return target != 2 || cpu->has_el2;
}

void arm_exception_return(struct arm_cpu *cpu, u64 pc, u64 spsr)
{
	if (unlikely(cpu->pmu_by_level))
		arm_pmu_leave_level(cpu);
	cpu->tcg.excl_addr = ~(u64)0;
	cpu->stepped = 0;
	if (spsr & PSTATE_SS && !arm_return_steps(cpu, spsr))
		spsr &= ~(u64)PSTATE_SS;
	if (return_is_legal(cpu, spsr)) {
		arm_set_pstate(cpu, spsr);
	} else {
		u32 keep = PSTATE_SPSEL | 3u << PSTATE_EL_SHIFT;

		arm_set_pstate(cpu, (spsr & ~keep) | (cpu->pstate & keep) | PSTATE_IL);
	}
	cpu->tcg.npc = pc;
	if (log_enabled(LOG_INT))
		log_write(LOG_INT, "CPU %u: exception return to EL%u at 0x%" PRIx64 "\n",
			  (unsigned)(cpu->mpidr & 0xff), cpu_el(cpu), pc);
	arm_unmasked(cpu);
}

static void log_entry(const struct arm_cpu *cpu, enum arm_vector kind, unsigned from, unsigned el)
{
	static const char *const names[] = { "synchronous exception", "IRQ", "FIQ", "SError" };
	u64 esr = cpu->esr_el[el];

	log_write(LOG_INT,
		  "CPU %u: %s from EL%u at 0x%" PRIx64 " to EL%u, 0x%" PRIx64 ", SPSR 0x%" PRIx64
		  "\n",
		  (unsigned)(cpu->mpidr & 0xff), names[kind / 0x80], from, cpu->elr_el[el], el,
		  tcg_pc(&cpu->tcg), cpu->spsr_el[el]);
	if (kind == VECTOR_SYNC)
		log_write(LOG_INT, "  EC 0x%x ISS 0x%x ESR 0x%" PRIx64 " FAR 0x%" PRIx64 "\n",
			  (unsigned)(esr >> 26 & 0x3f), (unsigned)(esr & 0x1ffffff), esr,
			  cpu->far_el[el]);
}

/* Common part of entry to level @el at vector @kind, with the interrupted pc as return address. */
static void enter(struct arm_cpu *cpu, enum arm_vector kind, unsigned el)
{
	u32 old = arm_get_pstate(cpu);
	unsigned from = cpu_el(cpu);
	u32 new = PSTATE_SPSEL | el << PSTATE_EL_SHIFT | PSTATE_DAIF | (old & PSTATE_NZCV) |
		  (old & (PSTATE_PAN | PSTATE_DIT));
	u64 offset = kind;

	if (from < el)
		offset += 0x400;
	else if (old & PSTATE_SPSEL)
		offset += 0x200;
	if (!(cpu->sctlr_el[el] & SCTLR_SPAN) && (el == 1 || (el == 2 && arm_el0_in_host(cpu))))
		new |= PSTATE_PAN;
	if (cpu->sctlr_el[el] & SCTLR_DSSBS)
		new |= PSTATE_SSBS;
	cpu->spsr_el[el] = old;
	cpu->elr_el[el] = tcg_pc(&cpu->tcg);
	arm_set_pstate(cpu, new);
	tcg_set_pc(&cpu->tcg, (cpu->vbar_el[el] & ~(u64)0x7ff) + offset);
	if (engines_checked(cpu))
		arm_dirty_synchronized(cpu);
	if (log_enabled(LOG_INT))
		log_entry(cpu, kind, from, el);
}

static unsigned target_level(const struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);

	if (cpu->excp.target_el > el)
		return cpu->excp.target_el;
	if (el == 0)
		return cpu->has_el2 && cpu->hcr_el2 & HCR_TGE ? 2 : 1;
	return el;
}

/* The classes whose number tells whether the level changed. */
static bool is_split_class(u32 ec)
{
	return ec == EC_IABORT || ec == EC_DABORT || ec == EC_BREAKPOINT || ec == EC_STEP ||
	       ec == EC_WATCHPOINT;
}

void arm_take_exception(struct arm_cpu *cpu)
{
	unsigned from = cpu_el(cpu), el = target_level(cpu);
	u32 ec = cpu->excp.ec;
	u32 il = ESR_IL;

	if (is_split_class(ec) && from < el)
		ec -= EC_IABORT - EC_IABORT_LOWER;
	cpu->esr_el[el] = (u64)cpu->excp.iss2 << 32 | (u64)ec << 26 | il | cpu->excp.iss;
	if (ec == EC_IABORT || ec == EC_IABORT_LOWER || ec == EC_DABORT || ec == EC_DABORT_LOWER ||
	    ec == EC_PC_ALIGN || (ec & ~1u) == EC_WATCHPOINT_LOWER)
		cpu->far_el[el] = cpu->excp.far;
	cpu->excp.pending = false;
	cpu->excp.target_el = 0;
	cpu->excp.iss2 = 0;
	enter(cpu, VECTOR_SYNC, el);
}

void arm_take_interrupt(struct arm_cpu *cpu, enum arm_vector kind, unsigned el)
{
	if (kind == VECTOR_SERROR) /* without FEAT_RAS: uncategorised */
		cpu->esr_el[el] = (u64)EC_SERROR << 26 | ESR_IL;
	enter(cpu, kind, el);
}

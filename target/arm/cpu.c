/* target/arm/cpu.c - one step of the interpreter and the CPU model "max". */
#include "accel/tcg/mem.h"
#include "target/arm/el2.h"
#include "target/arm/fp.h"
#include "target/arm/self_debug.h"
#include "target/arm/sem.h"
#include "target/arm/sem_mem.h"

#define SCTLR_A   (1ull << 1)
#define SCTLR_SA  (1ull << 3)
#define SCTLR_SA0 (1ull << 4)

/* A load or store with the stack pointer as base; prefetches do not count. */
static bool is_sp_access(const struct a64_insn *insn)
{
	u32 raw = insn->raw;

	if ((raw & 0x0a000000) != 0x08000000 || (raw >> 28 & 3) == 1 || (raw >> 5 & 31) != 31)
		return false;
	return !((insn->op == A64_LDST_u || insn->op == A64_LDST_i || insn->op == A64_LDST_r) &&
		 raw >> 30 == 3 && (raw >> 22 & 3) == 2);
}

void arm_step(struct tcg_cpu *tcg)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);
	u64 pc = tcg_pc(tcg);
	struct a64_insn insn;
	bool allocated, step = false;

	if (unlikely(cpu->mdscr_el1 & MDSCR_SS))
		step = arm_step_begin(cpu);
	if (pc & 3)
		arm_raise(cpu, EC_PC_ALIGN, 0, pc);
	if (cpu->pstate & PSTATE_IL)
		arm_raise(cpu, EC_ILLEGAL_STATE, 0, 0);
	allocated = a64_decode(tcg_fetch(tcg, pc), &insn);
	if (unlikely(tcg->hw_points & TCG_HW_BREAK))
		arm_check_breakpoints(cpu, pc);
	if (unlikely(cpu->btype))
		arm_check_bti(cpu, insn.raw);
	if (!allocated || !arm_op_available(cpu, insn.op))
		arm_undefined(cpu);

	if (a64_rules[insn.op].fp)
		check_fp_access(cpu);
	if (unlikely(tcg->r[31] & 15) && tcg->state_key & ARM_KEY_SP_CHECK && is_sp_access(&insn))
		arm_raise(cpu, EC_SP_ALIGN, 0, 0);
	tcg->npc = pc + 4;
	if (unlikely(step))
		arm_step_end(cpu, &insn);
	a64_rules[insn.op].exec(cpu, &insn.args);
	if (unlikely(step))
		cpu->stepped &= ~ARM_STEPPING;
	if (unlikely(!(tcg->r[31] & 15) == !!(tcg->state_key & ARM_KEY_SP_ODD)))
		arm_state_changed(cpu);
	tcg_set_pc(tcg, tcg->npc);
}

bool arm_op_available(const struct arm_cpu *cpu, unsigned op)
{
	unsigned feature = a64_rules[op].feature;

	return !feature || cpu_has(cpu, feature);
}

/* FPEN of CPACR_EL1, or of CPTR_EL2 in the same layout: 0 and 2 trap all, 1 traps EL0. */
static bool fpen_traps(u64 reg, bool user)
{
	unsigned fpen = reg >> CPTR_FPEN_SHIFT & 3;

	return !(fpen & 1) || (user && fpen == 1);
}

/* The level that traps FP and SIMD instructions; 0 if they are allowed. */
static unsigned fp_trap_level(const struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);
	bool host = arm_el0_in_host(cpu);

	if (el < 2 && !host && fpen_traps(cpu->cpacr_el1, el == 0))
		return cpu->has_el2 && cpu->hcr_el2 & HCR_TGE ? 2 : 1;
	if (!cpu->has_el2 || el > 2)
		return 0;
	if (arm_is_host(cpu))
		return fpen_traps(cpu->cptr_el2, el == 0 && host) ? 2 : 0;
	return cpu->cptr_el2 & CPTR_TFP ? 2 : 0;
}

bool arm_fp_enabled(const struct arm_cpu *cpu)
{
	return !fp_trap_level(cpu);
}

/* While a wrong stack pointer may be used as a base, nothing is translated. */
static u32 alignment_key(const struct arm_cpu *cpu)
{
	u64 sctlr = cpu->sctlr_el[arm_control_el(cpu)];
	u32 key = sctlr & SCTLR_A ? ARM_KEY_ALIGN : 0;

	if (sctlr & (cpu_el(cpu) ? SCTLR_SA : SCTLR_SA0))
		key |= ARM_KEY_SP_CHECK;
	if (cpu->tcg.r[31] & 15)
		key |= ARM_KEY_SP_ODD | (key & ARM_KEY_SP_CHECK ? TCG_KEY_INTERPRET : 0);
	return key;
}

u32 arm_state_key(const struct arm_cpu *cpu)
{
	bool host = arm_is_host(cpu) && cpu_el(cpu) == 2; /* registers are redirected */

	return cpu_el(cpu) | arm_fp_enabled(cpu) << 2 | !!(cpu->pstate & PSTATE_IL) << 3 |
	       !!(cpu->fpcr & FPCR_FZ) << 4 | (cpu->pstate & PSTATE_SPSEL) << 5 | cpu->bti_on << 6 |
	       !!(cpu->mdscr_el1 & MDSCR_SS) << 7 | alignment_key(cpu) | host << 11 |
	       pac_state_key(cpu) << 12 | arm_step_key(cpu);
}

/* AHP, DN, FZ, RMode, FZ16; trap enables are RAZ/WI as on CPUs without trapping. */
#define FPCR_BITS 0x07c80000u
#define FPSR_BITS 0x0800009fu

u32 arm_get_fpsr(struct arm_cpu *cpu)
{
	u32 raised = tcg_fp_take(&cpu->tcg);

	_Static_assert(TCG_FP_INVALID == FPSR_IOC && TCG_FP_DIVZERO == FPSR_DZC &&
			       TCG_FP_OVERFLOW == FPSR_OFC && TCG_FP_UNDERFLOW == FPSR_UFC &&
			       TCG_FP_INEXACT == FPSR_IXC,
		       "flags have the same places");
	cpu->fpsr |= raised & ~TCG_FP_SATURATED;
	if (raised & TCG_FP_SATURATED)
		cpu->fpsr |= FPSR_QC;
	return cpu->fpsr;
}

void arm_set_fpsr(struct arm_cpu *cpu, u32 val)
{
	tcg_fp_take(&cpu->tcg);
	cpu->fpsr = val & FPSR_BITS;
}

void arm_set_fpcr(struct arm_cpu *cpu, u32 val)
{
	u32 bits = cpu_has(cpu, ARM_FEAT_FP16) ? FPCR_BITS : FPCR_BITS & ~FPCR_FZ16;

	cpu->fpcr = val & bits;
	tcg_fp_set(&cpu->tcg, (enum tcg_rounding)(cpu->fpcr >> FPCR_RMODE_SHIFT & 3));
	arm_state_changed(cpu);
}

void check_fp_access(struct arm_cpu *cpu)
{
	unsigned el = fp_trap_level(cpu);

	if (!el)
		return;
	/* A trap of CPACR_EL1 that only TGE sends to EL2 has no class of its own there. */
	if (el == 2 && cpu_el(cpu) == 0 && !arm_is_host(cpu) && !(cpu->cptr_el2 & CPTR_TFP))
		arm_undefined(cpu);
	cpu->excp.target_el = el;
	arm_raise(cpu, EC_FP_ACCESS, 1u << 24 | 0xe << 20, 0);
}

/* The features that rows are for, and those that are not about single encodings. */
u64 arm_features_max(void)
{
	static const u8 others[] = { ARM_FEAT_LSE2,     ARM_FEAT_PAN,     ARM_FEAT_UAO,
				     ARM_FEAT_DIT,      ARM_FEAT_SSBS,    ARM_FEAT_FP,
				     ARM_FEAT_FP16,     ARM_FEAT_DPB,     ARM_FEAT_DPB2,
				     ARM_FEAT_TLBIOS,   ARM_FEAT_HAFDBS,  ARM_FEAT_HPDS,
				     ARM_FEAT_VMID16,   ARM_FEAT_TGRAN16, ARM_FEAT_SPECRES,
				     ARM_FEAT_CSV2_2,   ARM_FEAT_IDST,    ARM_FEAT_E0PD,
				     ARM_FEAT_PAN3,     ARM_FEAT_BTI,     ARM_FEAT_RAS,
				     ARM_FEAT_INHERENT, ARM_FEAT_HAFT,    ARM_FEAT_XNX,
				     ARM_FEAT_FWB,      ARM_FEAT_HCX,     ARM_FEAT_EVT,
				     ARM_FEAT_ECV,      ARM_FEAT_VHE,     ARM_FEAT_LPA2 };

	_Static_assert(ARM_FEAT_COUNT <= 64, "features are bits of a word");
	u64 mask = a64_row_features;

	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		mask |= (u64)1 << others[i];
	return mask;
}

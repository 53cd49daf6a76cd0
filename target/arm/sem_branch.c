/* target/arm/sem_branch.c - branches and exception generation (Arm DDI 0487, C6.2, D1.3). */
#include "accel/tcg/mem.h"
#include "target/arm/excp.h"
#include "target/arm/self_debug.h"
#include "target/arm/pmu.h"
#include "target/arm/sem.h"
#include "target/arm/semihosting.h"

void exec_B(struct arm_cpu *cpu, const struct a64_B *i)
{
	u64 pc = cpu_pc(cpu);

	if (i->op)
		cpu_set_x(cpu, 30, pc + 4);
	branch_to(cpu, pc + (s64)i->imm * 4);
}

void exec_CBZ(struct arm_cpu *cpu, const struct a64_CBZ *i)
{
	u64 v = cpu_x(cpu, i->rt);
	bool zero = i->sf ? !v : !(u32)v;

	if (zero != i->nz)
		branch_to(cpu, cpu_pc(cpu) + (s64)i->imm * 4);
}

void exec_TBZ(struct arm_cpu *cpu, const struct a64_TBZ *i)
{
	bool set = cpu_x(cpu, i->rt) >> (i->b5 << 5 | i->b40) & 1;

	if (set == i->nz)
		branch_to(cpu, cpu_pc(cpu) + (s64)i->imm * 4);
}

void exec_BCOND(struct arm_cpu *cpu, const struct a64_BCOND *i)
{
	if (cond_holds(cpu, i->cond))
		branch_to(cpu, cpu_pc(cpu) + (s64)i->imm * 4);
}

void exec_BC(struct arm_cpu *cpu, const struct a64_BC *i)
{
	if (cond_holds(cpu, i->cond))
		branch_to(cpu, cpu_pc(cpu) + (s64)i->imm * 4);
}

/* PSTATE.BTYPE of BR and its like: what it may lead to in a guarded page. */
static void note_jump(struct arm_cpu *cpu, unsigned rn)
{
	struct tcg_page page;

	if (!cpu->bti_on)
		return;
	tcg_exec_page(&cpu->tcg, cpu_pc(cpu), &page);
	cpu->btype = page.guarded && rn != 16 && rn != 17 ? BTYPE_JUMP : BTYPE_ANY;
}

static void note_call(struct arm_cpu *cpu)
{
	if (cpu->bti_on)
		cpu->btype = BTYPE_CALL;
}

#define SCTLR_BT0 (1ull << 35)
#define SCTLR_BT1 (1ull << 36)

/* Whether an indirect branch of the current kind may lead to this instruction. */
static bool may_land(const struct arm_cpu *cpu, u32 word)
{
	unsigned el = cpu_el(cpu);
	u64 strict = el == 0 ? SCTLR_BT0 : SCTLR_BT1;

	switch (word) {
	case 0xd503245f: return cpu->btype != BTYPE_JUMP; /* BTI c */
	case 0xd503249f: return cpu->btype != BTYPE_CALL; /* BTI j */
	case 0xd50324df: return true;                     /* BTI jc */
	case 0xd503233f:                                  /* PACIASP */
	case 0xd503237f:                                  /* PACIBSP */
		return cpu->btype != BTYPE_JUMP || !(cpu->sctlr_el[el ? el : 1] & strict);
	default: return (word & 0xff80001f) == 0xd4000000 && (word >> 21 & 3); /* BRK, HLT */
	}
}

void arm_check_bti(struct arm_cpu *cpu, u32 word)
{
	struct tcg_page page;

	tcg_exec_page(&cpu->tcg, cpu_pc(cpu), &page);
	if (page.guarded && !may_land(cpu, word))
		arm_raise(cpu, EC_BTI, cpu->btype, 0);
	cpu->btype = BTYPE_NONE;
}

void exec_BR(struct arm_cpu *cpu, const struct a64_BR *i)
{
	note_jump(cpu, i->rn);
	branch_to(cpu, cpu_x(cpu, i->rn));
}

void exec_BLR(struct arm_cpu *cpu, const struct a64_BLR *i)
{
	u64 target = cpu_x(cpu, i->rn);

	note_call(cpu);
	cpu_set_x(cpu, 30, cpu_pc(cpu) + 4);
	branch_to(cpu, target);
}

void exec_RET(struct arm_cpu *cpu, const struct a64_RET *i)
{
	branch_to(cpu, cpu_x(cpu, i->rn));
}

void exec_BRA(struct arm_cpu *cpu, const struct a64_BRA *i)
{
	u64 modifier = i->m ? cpu_xsp(cpu, i->rm) : 0;

	note_jump(cpu, i->rn);
	branch_to(cpu, pac_auth(cpu, cpu_x(cpu, i->rn), modifier, i->b ? PAC_IB : PAC_IA));
}

void exec_BLRA(struct arm_cpu *cpu, const struct a64_BLRA *i)
{
	u64 modifier = i->m ? cpu_xsp(cpu, i->rm) : 0;
	u64 target = pac_auth(cpu, cpu_x(cpu, i->rn), modifier, i->b ? PAC_IB : PAC_IA);

	note_call(cpu);
	cpu_set_x(cpu, 30, cpu_pc(cpu) + 4);
	branch_to(cpu, target);
}

void exec_RETA(struct arm_cpu *cpu, const struct a64_RETA *i)
{
	enum arm_pac_key key = i->b ? PAC_IB : PAC_IA;

	branch_to(cpu, pac_auth(cpu, cpu_x(cpu, 30), cpu_xsp(cpu, 31), key));
}

void exec_ERET(struct arm_cpu *cpu, const struct a64_ERET *i)
{
	unsigned el = cpu_el(cpu);

	if (el == 0)
		arm_undefined(cpu);
	arm_exception_return(cpu, cpu->elr_el[el], cpu->spsr_el[el]);
}

void exec_ERETA(struct arm_cpu *cpu, const struct a64_ERETA *i)
{
	unsigned el = cpu_el(cpu);
	u64 target;

	if (el == 0)
		arm_undefined(cpu);
	target = pac_auth(cpu, cpu->elr_el[el], cpu_xsp(cpu, 31), i->b ? PAC_IB : PAC_IA);
	arm_exception_return(cpu, target, cpu->spsr_el[el]);
}

void exec_DRPS(struct arm_cpu *cpu, const struct a64_DRPS *i)
{
	arm_undefined(cpu); /* Debug state does not exist here */
}

/* SVC, HVC and SMC return to the instruction after them. */
static _Noreturn void raise_call(struct arm_cpu *cpu, unsigned ec, unsigned imm, unsigned el)
{
	tcg_set_pc(&cpu->tcg, cpu_pc(cpu) + 4);
	cpu->excp.target_el = el;
	arm_raise(cpu, ec, imm, 0);
}

/* With a machine around the handler is entered at once, without a detour through tcg_run(). */
void exec_SVC(struct arm_cpu *cpu, const struct a64_SVC *i)
{
	if (!cpu->mmu)
		raise_call(cpu, EC_SVC64, i->imm, 0);
	if (unlikely(cpu->pmu_by_level))
		arm_pmu_leave_level(cpu);
	tcg_set_pc(&cpu->tcg, cpu_pc(cpu) + 4);
	cpu->excp = (struct arm_exception){ .ec = EC_SVC64, .iss = i->imm };
	arm_take_exception(cpu);
	branch_to(cpu, cpu_pc(cpu));
}

void exec_HVC(struct arm_cpu *cpu, const struct a64_HVC *i)
{
	if (cpu_el(cpu) == 0 || !(cpu->has_el2 || cpu->conduit == ARM_CONDUIT_HVC))
		arm_undefined(cpu);
	if (cpu->hcr_el2 & HCR_HCD && !cpu->has_el3)
		arm_undefined(cpu);
	raise_call(cpu, EC_HVC64, i->imm, 2);
}

void exec_SMC(struct arm_cpu *cpu, const struct a64_SMC *i)
{
	if (cpu_el(cpu) == 0)
		arm_undefined(cpu);
	if (cpu_el(cpu) == 1 && arm_hcr(cpu) & HCR_TSC) {
		cpu->excp.target_el = 2; /* trapped: the preferred return is the SMC itself */
		arm_raise(cpu, EC_SMC64, i->imm, 0);
	}
	if (!cpu->has_el3 && cpu->conduit != ARM_CONDUIT_SMC)
		arm_undefined(cpu);
	raise_call(cpu, EC_SMC64, i->imm, 3);
}

void exec_BRK(struct arm_cpu *cpu, const struct a64_BRK *i)
{
	cpu->excp.target_el = arm_debug_target(cpu) == 2 && cpu_el(cpu) < 2 ? 2 : 0;
	arm_raise(cpu, EC_BRK64, i->imm, 0);
}

void exec_HLT(struct arm_cpu *cpu, const struct a64_HLT *i)
{
	if (i->imm != SEMIHOSTING_IMM || !arm_semihosting_call(cpu))
		arm_undefined(cpu); /* halting debug is not implemented */
}

void exec_UDF(struct arm_cpu *cpu, const struct a64_UDF *i)
{
	arm_undefined(cpu);
}

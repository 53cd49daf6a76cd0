/* target/arm/trans_branch.c - translation rules of branches, hints, barriers, system registers. */
#include "target/arm/sysreg.h"
#include "target/arm/trans.h"

bool trans_B(struct trans *t, const struct a64_B *i)
{
	if (i->op)
		e_pc(t, 30, (s64)t->off + 4);
	arm_goto(t, E_ALWAYS, t->off + (s64)i->imm * 4);
	return true;
}

bool trans_CBZ(struct trans *t, const struct a64_CBZ *i)
{
	unsigned cc = e_test_zero(t, i->sf, gx(i->rt));

	arm_goto(t, cc ^ i->nz, t->off + (s64)i->imm * 4);
	return true;
}

bool trans_TBZ(struct trans *t, const struct a64_TBZ *i)
{
	unsigned cc = e_test_bit(t, gx(i->rt), i->b5 << 5 | i->b40);

	arm_goto(t, cc ^ i->nz, t->off + (s64)i->imm * 4);
	return true;
}

bool trans_BCOND(struct trans *t, const struct a64_BCOND *i)
{
	unsigned cc = i->cond >= 14 ? E_ALWAYS : flags_use(t, (enum e_cond)i->cond);

	arm_goto(t, cc, t->off + (s64)i->imm * 4);
	return true;
}

bool trans_BR(struct trans *t, const struct a64_BR *i)
{
	e_goto_reg(t, gx(i->rn));
	return true;
}

bool trans_RET(struct trans *t, const struct a64_RET *i)
{
	e_goto_reg(t, gx(i->rn));
	return true;
}

bool trans_BLR(struct trans *t, const struct a64_BLR *i)
{
	e_mov(t, 1, E_T2, gx(i->rn));
	e_pc(t, 30, (s64)t->off + 4);
	e_goto_reg(t, E_T2);
	return true;
}

bool trans_HINT(struct trans *t, const struct a64_HINT *i)
{
	return true;
}

bool trans_CLREX(struct trans *t, const struct a64_CLREX *i)
{
	e_movi(t, E_T0, ~(u64)0);
	e_st_field(t, 1, offsetof(struct tcg_cpu, excl_addr), E_T0);
	return true;
}

bool trans_DSB(struct trans *t, const struct a64_DSB *i)
{
	e_fence(t);
	return true;
}

/* The host reorders only a store with a later load: LD and ST barriers are free. */
bool trans_DMB(struct trans *t, const struct a64_DMB *i)
{
	if ((i->crm & 3) == 3)
		e_fence(t);
	return true;
}

bool trans_MRS(struct trans *t, const struct a64_MRS *i)
{
	struct arm_cpu *cpu = region_of(t)->cpu;
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, key);

	if (!reg || reg->read || cpu_el(cpu) < reg->read_el)
		return false;
	e_ld_field(t, 1, gx(i->rt), reg->offset);
	return true;
}

bool trans_MRS_TPIDR0(struct trans *t, const struct a64_MRS_TPIDR0 *i)
{
	e_ld_field(t, 1, gx(i->rt), offsetof(struct arm_cpu, tpidr_el[0]));
	return true;
}

bool trans_MSR_TPIDR0(struct trans *t, const struct a64_MSR_TPIDR0 *i)
{
	e_st_field(t, 1, offsetof(struct arm_cpu, tpidr_el[0]), gx(i->rt));
	return true;
}

bool trans_MSR_DAIFI(struct trans *t, const struct a64_MSR_DAIFI *i)
{
	unsigned field = offsetof(struct arm_cpu, pstate);

	if (i->clear || cpu_el(region_of(t)->cpu) == 0) {
		e_call(t, (void (*)(void))exec_MSR_DAIFI, i, sizeof(*i), false);
		e_exit_check(t);
		return true;
	}
	e_ld_field(t, 0, E_T0, field);
	e_alui(t, E_OR, 0, E_T0, E_T0, (s64)i->crm << 6);
	e_st_field(t, 0, field, E_T0);
	return true;
}

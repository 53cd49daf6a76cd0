/* target/arm/trans_branch.c - translation rules of branches, hints, barriers, system registers. */
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/self_debug.h"
#include "target/arm/sem.h"
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
	if (region_of(t)->cpu->bti_on) /* PSTATE.BTYPE depends on this page */
		return false;
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
	if (region_of(t)->cpu->bti_on) {
		e_movi(t, E_T0, BTYPE_CALL);
		e_st_field(t, 0, offsetof(struct arm_cpu, btype), E_T0);
	}
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
	if (engines_checked(region_of(t)->cpu))
		return false;
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

/* What changes the context ends a region. */
bool trans_ISB(struct trans *t, const struct a64_ISB *i)
{
	if (engines_checked(region_of(t)->cpu))
		return false;
	arm_goto(t, E_ALWAYS, t->off + 4);
	return true;
}

#define KEY_DAIF      SYSREG(3, 3, 4, 2, 1)
#define KEY_FPCR      SYSREG(3, 3, 4, 4, 0)
#define KEY_CURRENTEL SYSREG(3, 0, 4, 2, 2)
#define KEY_SP_EL0    SYSREG(3, 0, 4, 1, 0)

/* Registers with functions of their own that need only be loaded. */
static bool load_special(struct trans *t, struct arm_cpu *cpu, unsigned key, unsigned d)
{
	switch (key) {
	case KEY_SP_EL0:
		if (!(cpu->pstate & PSTATE_SPSEL))
			return false;
		e_ld_field(t, 1, d, offsetof(struct arm_cpu, sp_el[0]));
		return true;
	case KEY_DAIF:
		e_ld_field(t, 0, E_T0, offsetof(struct arm_cpu, pstate));
		e_alui(t, E_AND, 0, d, E_T0, PSTATE_DAIF);
		return true;
	case KEY_CURRENTEL: e_movi(t, d, cpu->pstate & 3u << PSTATE_EL_SHIFT); return true;
	case KEY_FPCR:
		if (!arm_fp_enabled(cpu))
			return false;
		e_ld_field(t, 0, d, offsetof(struct arm_cpu, fpcr));
		return true;
	default: return false;
	}
}

static bool may_trap_at_el2(const struct arm_cpu *cpu, unsigned key, bool write)
{
	return cpu->has_el2 && cpu_el(cpu) < 2 && arm_el2_may_trap(key, write);
}

/* Traps that the state key does not tell: looked at each time. DAIF is EL0's alone. */
static bool may_trap(const struct arm_cpu *cpu, const struct arm_sysreg *reg, unsigned key,
		     bool write)
{
	if (reg->key == KEY_DAIF)
		return cpu_el(cpu) == 0 || cpu->mdscr_el1 & MDSCR_SS;
	if (reg->trap)
		return true;
	return may_trap_at_el2(cpu, key, write);
}

/* MRS of a register that was looked up while translating. */
struct known_MRS {
	const struct arm_sysreg *reg;
	struct a64_MRS insn;
};

static void exec_known_MRS(struct arm_cpu *cpu, const struct known_MRS *k)
{
	if (k->reg->trap && k->reg->trap(cpu, k->reg, false))
		exec_MRS(cpu, &k->insn);
	else
		cpu_set_x(cpu, k->insn.rt, k->reg->read(cpu, k->reg));
}

bool trans_MRS(struct trans *t, const struct a64_MRS *i)
{
	struct arm_cpu *cpu = region_of(t)->cpu;
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, arm_vhe_key(cpu, key));

	if (!reg || cpu_el(cpu) < reg->read_el)
		return false;
	if (reg->read && !may_trap_at_el2(cpu, key, false)) {
		struct known_MRS known = { .reg = reg, .insn = *i };

		if (may_trap(cpu, reg, key, false) || !load_special(t, cpu, key, gx(i->rt)))
			e_call(t, (void (*)(void))exec_known_MRS, &known, sizeof(known), false);
		return true;
	}
	if (may_trap(cpu, reg, key, false))
		return false;
	e_ld_field(t, 1, gx(i->rt), reg->offset);
	return true;
}

/* Bits of DAIF may have been cleared: an interrupt that is waiting must be seen. */
static void unmasked(struct trans *t, void (*exec)(void), const void *args, unsigned size)
{
	struct arm_cpu *cpu = region_of(t)->cpu;

	flags_sync(t);
	e_call_if(t, offsetof(struct arm_cpu, irq_lines), ~0u, exec, args, size);
	if (cpu->has_el2)
		e_call_if(t, offsetof(struct arm_cpu, hcr_el2), HCR_VIRTUAL, exec, args, size);
	e_exit_check(t);
}

/* TTBRn_EL1, which are written with the value that they have by whoever changes the ASID alone. */
static bool is_table(const struct arm_sysreg *reg)
{
	return reg->offset == offsetof(struct arm_cpu, ttbr0_el[1]) ||
	       reg->offset == offsetof(struct arm_cpu, ttbr1_el[1]);
}

bool arm_msr_is_plain(struct arm_cpu *cpu, const struct a64_MSR *i)
{
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, arm_vhe_key(cpu, key));

	if (!reg || cpu_el(cpu) < reg->write_el || may_trap(cpu, reg, key, true))
		return false;
	if (key == KEY_SP_EL0)
		return cpu->pstate & PSTATE_SPSEL;
	if (is_table(reg))
		return !cpu->tcg.counted;
	return !reg->write || key == KEY_DAIF;
}

bool trans_MSR(struct trans *t, const struct a64_MSR *i)
{
	struct arm_cpu *cpu = region_of(t)->cpu;
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, arm_vhe_key(cpu, key));

	if (!arm_msr_is_plain(cpu, i))
		return false;
	if (key == KEY_SP_EL0) {
		e_st_field(t, 1, offsetof(struct arm_cpu, sp_el[0]), gx(i->rt));
	} else if (key == KEY_DAIF) {
		e_ld_field(t, 0, E_T2, offsetof(struct arm_cpu, pstate));
		e_alui(t, E_AND, 0, E_T2, E_T2, ~(s64)PSTATE_DAIF);
		e_alui(t, E_AND, 0, E_T0, gx(i->rt), PSTATE_DAIF);
		e_alu(t, E_OR, 0, E_T2, E_T2, E_T0);
		e_st_field(t, 0, offsetof(struct arm_cpu, pstate), E_T2);
		unmasked(t, (void (*)(void))exec_MSR, i, sizeof(*i));
	} else if (is_table(reg)) {
		e_leave_unless(t, reg->offset, gx(i->rt), (void (*)(void))exec_MSR, i, sizeof(*i));
	} else {
		e_st_field(t, 1, reg->offset, gx(i->rt));
	}
	return true;
}

/* PAN. */
bool arm_msr_i_is_plain(const struct arm_cpu *cpu, const struct a64_MSR_I *i)
{
	return i->op1 == 0 && i->op2 == 4 && cpu_has(cpu, ARM_FEAT_PAN) && cpu_el(cpu);
}

bool trans_MSR_I(struct trans *t, const struct a64_MSR_I *i)
{
	unsigned field = offsetof(struct arm_cpu, pstate), n;

	if (!arm_msr_i_is_plain(region_of(t)->cpu, i))
		return false;
	n = e_view(t, i->crm & 1, (void (*)(void))exec_MSR_I, i, sizeof(*i));
	e_ld_field(t, 0, E_T0, field);
	if (i->crm & 1)
		e_alui(t, E_OR, 0, E_T0, E_T0, PSTATE_PAN);
	else
		e_alui(t, E_AND, 0, E_T0, E_T0, ~(s64)PSTATE_PAN);
	e_st_field(t, 0, field, E_T0);
	e_instead_end(t, n);
	return true;
}

#define KEY_DC_ZVA SYSREG(1, 3, 7, 4, 1)

/* Kernels clear pages with DC ZVA. EL0 may use it only by leave of EL1. */
bool arm_sysop_is_plain(const struct arm_cpu *cpu, const struct a64_SYSOP *i)
{
	return !i->l && SYSREG(1, i->op1, i->crn, i->crm, i->op2) == KEY_DC_ZVA &&
	       cpu_el(cpu) == (cpu->has_el2 ? 2 : 1);
}

bool trans_SYSOP(struct trans *t, const struct a64_SYSOP *i)
{
	if (!arm_sysop_is_plain(region_of(t)->cpu, i))
		return false;
	e_zero_line(t, gx(i->rt), (void (*)(void))exec_SYSOP, i, sizeof(*i));
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

	if (cpu_el(region_of(t)->cpu) == 0 || region_of(t)->cpu->mdscr_el1 & MDSCR_SS) {
		e_call(t, (void (*)(void))exec_MSR_DAIFI, i, sizeof(*i), false);
		e_exit_check(t);
		return true;
	}
	e_ld_field(t, 0, E_T0, field);
	if (i->clear)
		e_alui(t, E_AND, 0, E_T0, E_T0, ~((s64)i->crm << 6));
	else
		e_alui(t, E_OR, 0, E_T0, E_T0, (s64)i->crm << 6);
	e_st_field(t, 0, field, E_T0);
	if (i->clear)
		unmasked(t, (void (*)(void))exec_MSR_DAIFI, i, sizeof(*i));
	return true;
}

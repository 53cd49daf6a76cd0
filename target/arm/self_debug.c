/*
 * target/arm/self_debug.c - breakpoints, watchpoints and software step as exceptions of the guest
 * (Arm DDI 0487, D2.4 to D2.11, D24.3).
 *
 * Pages with breakpoints are interpreted, pages with watchpoints have no fast entries in the soft
 * TLB, and while software step is active nothing is translated. Whether a breakpoint or watchpoint
 * counts at the current level is looked at when it is hit.
 */
#include "target/arm/self_debug.h"

#include "target/arm/excp.h"
#include "target/arm/mmu.h"
#include "target/arm/sysreg.h"

#define MDSCR_KDE  (1u << 13)
#define MDSCR_MDE  (1u << 15)
#define MDSCR_BITS (MDSCR_SS | 1u << 12 | MDSCR_KDE | 1u << 14 | MDSCR_MDE)
#define OSLSR_OSLM (1u << 3) /* there is an OS lock */

#define FIRST_CONTEXT (ARM_BREAKPOINTS - 2)
#define CR_E          (1u << 0)
#define CR_HMC        (1u << 13)
#define WCR_LINKED    (1u << 20)
#define FSC_DEBUG     0x22
#define ISS_WNR       (1u << 6)
#define ISS_EX        (1u << 6)
#define ISS_ISV       (1u << 24)

/* What a breakpoint compares: DBGBCR.BT without its lowest bit, which says that it is linked. */
enum { BT_ADDRESS = 0, BT_CONTEXT = 1 };

unsigned arm_debug_target(const struct arm_cpu *cpu)
{
	return cpu->has_el2 && (cpu->mdcr_el2 & MDCR_TDE || cpu->hcr_el2 & HCR_TGE) ? 2 : 1;
}

/* AArch64.GenerateDebugExceptionsFrom(): at level @el with PSTATE.D as in @pstate. */
static bool enabled_from(const struct arm_cpu *cpu, unsigned el, u32 pstate)
{
	unsigned target = arm_debug_target(cpu);

	if (cpu->oslsr_el1 & ARM_OSLSR_OSLK || el > target)
		return false;
	return el < target || (cpu->mdscr_el1 & MDSCR_KDE && !(pstate & PSTATE_D));
}

static bool enabled(const struct arm_cpu *cpu)
{
	return enabled_from(cpu, cpu_el(cpu), cpu->pstate);
}

static _Noreturn void raise_debug(struct arm_cpu *cpu, unsigned ec, u32 iss, u64 far)
{
	cpu->excp.target_el = arm_debug_target(cpu) > cpu_el(cpu) ? arm_debug_target(cpu) : 0;
	arm_raise(cpu, ec, iss | FSC_DEBUG, far);
}

/* ---- software step ---- */

static bool step_active(const struct arm_cpu *cpu)
{
	return cpu->mdscr_el1 & MDSCR_SS && enabled(cpu);
}

u32 arm_step_key(const struct arm_cpu *cpu)
{
	return step_active(cpu) ? TCG_KEY_INTERPRET : 0;
}

bool arm_return_steps(const struct arm_cpu *cpu, u32 spsr)
{
	unsigned el = spsr >> PSTATE_EL_SHIFT & 3;

	return cpu->mdscr_el1 & MDSCR_SS && !enabled(cpu) && enabled_from(cpu, el, spsr);
}

bool arm_step_begin(struct arm_cpu *cpu)
{
	u32 iss = 0;

	if (!step_active(cpu))
		return false;
	if (cpu->pstate & PSTATE_SS)
		return true;
	if (cpu->stepped)
		iss = ISS_ISV | (cpu->stepped & ARM_STEPPED_EXCLUSIVE ? ISS_EX : 0);
	cpu->stepped = 0;
	raise_debug(cpu, EC_STEP, iss, 0);
}

static bool is_exclusive_load(const struct a64_insn *insn)
{
	return (insn->op == A64_LDSTX && insn->args.LDSTX.l) ||
	       (insn->op == A64_LDSTXP && insn->args.LDSTXP.l);
}

/*
 * The step is over when the instruction has been executed, or a call has been made. If it faults,
 * it is to be stepped again: arm_raise() then sets PSTATE.SS anew.
 */
void arm_step_end(struct arm_cpu *cpu, const struct a64_insn *insn)
{
	bool call = insn->op == A64_SVC || insn->op == A64_HVC || insn->op == A64_SMC;

	cpu->pstate &= ~PSTATE_SS;
	cpu->stepped = ARM_STEPPED | (is_exclusive_load(insn) ? ARM_STEPPED_EXCLUSIVE : 0) |
		       (call ? 0 : ARM_STEPPING);
}

/* ---- what a breakpoint or watchpoint counts for ---- */

/* StateMatch(): privilege of @el in HMC, SSC and PxC of a control register. All is Non-secure. */
static bool counts_at(u32 control, unsigned el)
{
	unsigned ssc = control >> 14 & 3, pxc = control >> 1 & 3;
	bool hmc = control & CR_HMC;

	if (ssc == 2 && !hmc)
		return false; /* Secure state only */
	switch (el) {
	case 0: return pxc & 2;
	case 1: return pxc & 1;
	case 2: return (hmc && !(ssc == 2 && pxc == 0)) || ssc == 3;
	default: return false;
	}
}

/* Breakpoint @n compares a context, and this is the current one. */
static bool context_matches(const struct arm_cpu *cpu, unsigned n, bool linked)
{
	u32 control;

	if (n < FIRST_CONTEXT || n >= ARM_BREAKPOINTS)
		return false;
	control = cpu->dbgbcr[n];
	return control & CR_E && (control >> 21 & 7) == BT_CONTEXT &&
	       (control >> 20 & 1) == linked && (u32)cpu->dbgbvr[n] == (u32)cpu->contextidr_el[1] &&
	       cpu_el(cpu) < 2;
}

/* Comparable form of an address: what a tag of its top byte does not change. */
static u64 plain(u64 va)
{
	return (u64)((s64)(va << 8) >> 8);
}

static bool breakpoint_matches(const struct arm_cpu *cpu, unsigned n, u64 pc)
{
	u32 control = cpu->dbgbcr[n];

	if (!(control & CR_E) || !counts_at(control, cpu_el(cpu)))
		return false;
	switch (control >> 20 & 15) {
	case BT_CONTEXT << 1: return context_matches(cpu, n, false);
	case BT_ADDRESS << 1: break;
	case BT_ADDRESS << 1 | 1:
		if (!context_matches(cpu, control >> 16 & 15, true))
			return false;
		break;
	default: return false;
	}
	return (plain(cpu->dbgbvr[n]) & ~3ull) == plain(pc) && control >> 5 & 15;
}

void arm_check_breakpoints(struct arm_cpu *cpu, u64 pc)
{
	if (!(cpu->mdscr_el1 & MDSCR_MDE) || !enabled(cpu))
		return;
	for (unsigned n = 0; n < ARM_BREAKPOINTS; n++)
		if (breakpoint_matches(cpu, n, pc))
			raise_debug(cpu, EC_BREAKPOINT, 0, 0);
}

bool arm_break_in_page(struct tcg_cpu *tcg, u64 pc_page)
{
	const struct arm_cpu *cpu = arm_cpu_of(tcg);

	for (unsigned n = 0; n < ARM_BREAKPOINTS; n++) {
		u32 control = cpu->dbgbcr[n];
		bool context = control >> 21 & 7;

		if (control & CR_E && counts_at(control, cpu_el(cpu)) &&
		    (context || (plain(cpu->dbgbvr[n]) & TCG_PAGE_MASK) == plain(pc_page)))
			return true;
	}
	return false;
}

/* ---- watchpoints ---- */

/* The bytes that watchpoint @n watches: a power of two by MASK, or some of eight by BAS. */
static void watched_bytes(const struct arm_cpu *cpu, unsigned n, u64 *first, u64 *last, u32 *select)
{
	u32 control = cpu->dbgwcr[n];
	unsigned mask = control >> 24 & 31;

	*first = plain(cpu->dbgwvr[n]) & ~3ull;
	*select = control >> 5 & 0xff;
	if (mask > 2) {
		*first &= ~(((u64)1 << mask) - 1);
		*last = *first + ((u64)1 << mask) - 1;
		*select = 0;
		return;
	}
	if (*first & 4)
		*select &= 15;
	*last = *first + 7;
}

/* The first byte of the access that is watched; false if there is none. */
static bool first_hit(const struct arm_cpu *cpu, unsigned n, u64 va, u64 size, u64 *hit)
{
	u64 first, last;
	u32 select;

	watched_bytes(cpu, n, &first, &last, &select);
	if (va > last || va + size - 1 < first)
		return false;
	if (cpu->dbgwcr[n] >> 24 & 31) {
		*hit = MAX(va, first);
		return true;
	}
	for (*hit = MAX(va, first); *hit <= MIN(last, va + size - 1); ++*hit)
		if (select >> (*hit - first) & 1)
			return true;
	return false;
}

static bool watchpoint_counts(const struct arm_cpu *cpu, unsigned n, enum tcg_access access)
{
	u32 control = cpu->dbgwcr[n];
	unsigned el = cpu->mmu_saved ? 0 : cpu_el(cpu); /* LDTR and its like are EL0's */

	if (!(control & CR_E) || !counts_at(control, el) ||
	    !(control >> 3 & (access == TCG_WRITE ? 2 : 1)))
		return false;
	return !(control & WCR_LINKED) || context_matches(cpu, control >> 16 & 15, true);
}

bool arm_watched(struct tcg_cpu *tcg, u64 va)
{
	const struct arm_cpu *cpu = arm_cpu_of(tcg);
	u64 page = plain(va) & TCG_PAGE_MASK, first, last;
	u32 select;

	for (unsigned n = 0; n < ARM_WATCHPOINTS; n++) {
		if (!(cpu->dbgwcr[n] & CR_E))
			continue;
		watched_bytes(cpu, n, &first, &last, &select);
		if (first <= page + TCG_PAGE_SIZE - 1 && last >= page)
			return true;
	}
	return false;
}

void arm_watch(struct tcg_cpu *tcg, u64 va, u64 size, enum tcg_access access)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);
	u64 hit;

	if (!enabled(cpu))
		return;
	for (unsigned n = 0; n < ARM_WATCHPOINTS; n++)
		if (watchpoint_counts(cpu, n, access) && first_hit(cpu, n, plain(va), size, &hit))
			raise_debug(cpu, EC_WATCHPOINT, access == TCG_WRITE ? ISS_WNR : 0,
				    hit - plain(va) + va);
}

/* ---- registers ---- */

static u32 points_now(const struct arm_cpu *cpu)
{
	u32 points = 0;

	if (!(cpu->mdscr_el1 & MDSCR_MDE) || cpu->oslsr_el1 & ARM_OSLSR_OSLK)
		return 0;
	for (unsigned n = 0; n < ARM_BREAKPOINTS; n++)
		points |= cpu->dbgbcr[n] & CR_E ? TCG_HW_BREAK : 0;
	for (unsigned n = 0; n < ARM_WATCHPOINTS; n++)
		points |= cpu->dbgwcr[n] & CR_E ? TCG_HW_WATCH : 0;
	return points;
}

void arm_self_debug_changed(struct arm_cpu *cpu)
{
	u32 points = points_now(cpu);

	/* Fast entries and jumps may be in the way of new ones. */
	if ((points | cpu->tcg.hw_points) && cpu->mmu)
		arm_mmu_flush(cpu);
	cpu->tcg.hw_points = points;
	arm_state_changed(cpu);
}

static void write_point(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	*(u64 *)((char *)cpu + reg->offset) = val;
	arm_self_debug_changed(cpu);
}

static void write_control(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_point(cpu, reg, val & 0x1fffffff);
}

static void write_mdscr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_point(cpu, reg, val & MDSCR_BITS);
}

static u64 read_oslsr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->oslsr_el1 | OSLSR_OSLM;
}

static void write_oslar(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->oslsr_el1 = val & 1 ? ARM_OSLSR_OSLK : 0;
	arm_self_debug_changed(cpu);
}

static u64 read_zero(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return 0;
}

/* There is no double lock. */
static void write_nothing(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
}

#define AT(field) offsetof(struct arm_cpu, field)
#define POINT(crm, op2, name, field, wr)                                                           \
	{                                                                                          \
		SYSREG(2, 0, 0, crm, op2), 1, 1, AT(field), name, NULL, wr, NULL, NULL             \
	}
#define BREAKPOINT(n)                                                                              \
	POINT(n, 4, "DBGBVR" #n "_EL1", dbgbvr[n], write_point),                                   \
		POINT(n, 5, "DBGBCR" #n "_EL1", dbgbcr[n], write_control)
#define WATCHPOINT(n)                                                                              \
	POINT(n, 6, "DBGWVR" #n "_EL1", dbgwvr[n], write_point),                                   \
		POINT(n, 7, "DBGWCR" #n "_EL1", dbgwcr[n], write_control)

static const struct arm_sysreg debug_regs[] = {
	BREAKPOINT(0),
	BREAKPOINT(1),
	BREAKPOINT(2),
	BREAKPOINT(3),
	BREAKPOINT(4),
	BREAKPOINT(5),
	WATCHPOINT(0),
	WATCHPOINT(1),
	WATCHPOINT(2),
	WATCHPOINT(3),
	POINT(2, 2, "MDSCR_EL1", mdscr_el1, write_mdscr),
	{ SYSREG(2, 0, 1, 0, 4), SYSREG_NONE, 1, 0, "OSLAR_EL1", NULL, write_oslar, NULL, NULL },
	{ SYSREG(2, 0, 1, 1, 4), 1, SYSREG_NONE, AT(oslsr_el1), "OSLSR_EL1", read_oslsr, NULL, NULL,
	  NULL },
	{ SYSREG(2, 0, 1, 3, 4), 1, 1, 0, "OSDLR_EL1", read_zero, write_nothing, NULL, NULL },
};

void arm_self_debug_init(struct arm_cpu *cpu)
{
	_Static_assert(ARM_BREAKPOINTS == 6 && ARM_WATCHPOINTS == 4, "debug_regs has them all");
	arm_sysreg_add(cpu, debug_regs, ARRAY_SIZE(debug_regs));
}

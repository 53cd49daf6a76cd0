/* target/arm/timer_regs.c - system registers of the generic timers (Arm DDI 0487, D24.10). */
#include "target/arm/timer-priv.h"

#include "target/arm/excp.h"
#include "target/arm/sysreg.h"

#define SCR_NS (1ull << 0)
#define SCR_ST (1ull << 11)

/* Enables in CNTKCTL_EL1 and, for a host at EL2, in CNTHCTL_EL2. */
#define EL0PCTEN (1u << 0)
#define EL0VCTEN (1u << 1)
#define EL0VTEN  (1u << 8)
#define EL0PTEN  (1u << 9)
/* Enables of EL1 in CNTHCTL_EL2, with E2H clear and set. */
#define EL1PCTEN     (1u << 0)
#define EL1PCEN      (1u << 1)
#define EL1PCTEN_E2H (1u << 10)
#define EL1PTEN_E2H  (1u << 11)
/* Traps that FEAT_ECV adds there. */
#define EL1TVT  (1u << 13)
#define EL1TVCT (1u << 14)

#define ECV_SHIFT 60 /* of ID_AA64MMFR0_EL1.ECV */

/* What a register of a timer is, in arm_sysreg.opaque. */
enum timer_field { TVAL, CTL, CVAL };
enum timer_alias {
	DIRECT,
	BY_EL0, /* a host at EL2 gets EL2's timer instead */
	BY_EL02 /* such a host's way to EL1's timer */
};
#define ROW(timer, field, alias) ((void *)(uintptr_t)((timer) | (field) << 4 | (alias) << 8))

/* EL2 and EL0 run as, and below, a host with FEAT_VHE. */
static bool el0_in_host(const struct arm_cpu *cpu)
{
	return cpu->has_el2 && (cpu->hcr_el2 & (HCR_E2H | HCR_TGE)) == (HCR_E2H | HCR_TGE);
}

static bool in_host(const struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);

	return el == 2 ? cpu->hcr_el2 & HCR_E2H : el == 0 && el0_in_host(cpu);
}

static bool has_ecv(const struct arm_cpu *cpu)
{
	return cpu->id[7][0] >> ECV_SHIFT;
}

static enum arm_timer timer_of(const struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	uintptr_t row = (uintptr_t)reg->opaque;
	enum arm_timer n = row & 0xf;

	if (row >> 8 != BY_EL0 || !in_host(cpu))
		return n;
	return n == ARM_TIMER_PHYS ? ARM_TIMER_HYP : ARM_TIMER_HYP_VIRT;
}

static u64 read_timer(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	enum arm_timer n = timer_of(cpu, reg);
	u64 ctl = cpu->timer[n].ctl;

	switch ((uintptr_t)reg->opaque >> 4 & 0xf) {
	case TVAL: return (u32)(cpu->timer[n].cval - timer_count(cpu, n));
	case CTL: return ctl & CNT_ENABLE && timer_condition(cpu, n) ? ctl | CNT_ISTATUS : ctl;
	default: return cpu->timer[n].cval;
	}
}

static void write_timer(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	enum arm_timer n = timer_of(cpu, reg);

	switch ((uintptr_t)reg->opaque >> 4 & 0xf) {
	case TVAL: timer_write_cval(cpu, n, timer_count(cpu, n) + (s64)(s32)val); break;
	case CTL: timer_write_ctl(cpu, n, val); break;
	default: timer_write_cval(cpu, n, val); break;
	}
}

/* ---- who may access what ---- */

/* @el0_bit: enable for EL0; @el1_bit, @el1_bit_e2h: for EL1 and EL0 below a hypervisor, 0 if there
 * is none; @ecv_trap: trap of those with FEAT_ECV. */
struct access_rule {
	u32 el0_bits, el1_bit, el1_bit_e2h, ecv_trap;
};

static unsigned check_access(const struct arm_cpu *cpu, const struct access_rule *rule)
{
	unsigned el = cpu_el(cpu);
	bool host = el0_in_host(cpu);
	u32 el1_bit = cpu->hcr_el2 & HCR_E2H ? rule->el1_bit_e2h : rule->el1_bit;
	u64 ctl = host ? cpu->cnthctl_el2 : cpu->cntkctl_el1;

	if (el >= 2)
		return 0;
	if (el == 0 && !(ctl & rule->el0_bits))
		return cpu->has_el2 && cpu->hcr_el2 & HCR_TGE ? 2 : 1;
	if (!cpu->has_el2 || (el == 0 && host))
		return 0;
	if (el1_bit && !(cpu->cnthctl_el2 & el1_bit))
		return 2;
	return has_ecv(cpu) && cpu->cnthctl_el2 & rule->ecv_trap ? 2 : 0;
}

#define ACCESS_RULE(name, ...)                                                                     \
	static unsigned name(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)        \
	{                                                                                          \
		static const struct access_rule rule = { __VA_ARGS__ };                            \
                                                                                                   \
		return check_access(cpu, &rule);                                                   \
	}
ACCESS_RULE(trap_physical_counter, EL0PCTEN, EL1PCTEN, EL1PCTEN_E2H, 0)
ACCESS_RULE(trap_virtual_counter, EL0VCTEN, 0, 0, EL1TVCT)
ACCESS_RULE(trap_physical_timer, EL0PTEN, EL1PCEN, EL1PTEN_E2H, 0)
ACCESS_RULE(trap_virtual_timer, EL0VTEN, 0, 0, EL1TVT)

/* Software may set the frequency that others read at the highest exception level only. */
static unsigned trap_frequency(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	static const struct access_rule rule = { EL0PCTEN | EL0VCTEN, 0, 0, 0 };
	unsigned highest = cpu->has_el3 ? 3 : cpu->has_el2 ? 2 : 1;

	if (write)
		return cpu_el(cpu) < highest ? SYSREG_UNDEF : 0;
	return check_access(cpu, &rule);
}

static unsigned trap_ecv(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu->id[7][0] >> ECV_SHIFT >= 2 ? 0 : SYSREG_UNDEF;
}

static unsigned trap_physical_ss(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return has_ecv(cpu) ? trap_physical_counter(cpu, reg, write) : SYSREG_UNDEF;
}

static unsigned trap_virtual_ss(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return has_ecv(cpu) ? trap_virtual_counter(cpu, reg, write) : SYSREG_UNDEF;
}

/* The EL02 and EL12 names exist for a host with FEAT_VHE. */
static unsigned trap_alias(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu->hcr_el2 & HCR_E2H ? 0 : SYSREG_UNDEF;
}

static unsigned trap_secure_timer(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	unsigned el = cpu_el(cpu);

	if (el == 3)
		return 0;
	if (el == 2 || cpu->scr_el3 & SCR_NS)
		return SYSREG_UNDEF;
	return cpu->scr_el3 & SCR_ST ? 0 : 3;
}

/* ---- counters and controls ---- */

static u64 read_cntpct(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return arm_timers_counter(cpu) - (cpu_el(cpu) < 2 ? timer_physical_offset(cpu) : 0);
}

static u64 read_cntvct(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return arm_timers_virtual_counter(cpu);
}

static void write_offset(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	*(u64 *)((char *)cpu + reg->offset) = val;
	arm_timers_update(cpu);
}

static void write_cntfrq(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->cntfrq_el0 = (u32)val;
}

static u64 *kctl_of(struct arm_cpu *cpu)
{
	return cpu_el(cpu) == 2 && cpu->hcr_el2 & HCR_E2H ? &cpu->cnthctl_el2 : &cpu->cntkctl_el1;
}

static u64 read_cntkctl(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return *kctl_of(cpu);
}

static void write_cnthctl(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->cnthctl_el2 = val & 0xfffff;
	arm_timers_update(cpu); /* ECV switches an offset on and off */
}

static void write_cntkctl(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	if (kctl_of(cpu) == &cpu->cnthctl_el2)
		write_cnthctl(cpu, reg, val);
	else
		cpu->cntkctl_el1 = val & 0x203ff;
}

#define AT(field) offsetof(struct arm_cpu, field)
#define COUNTER(op2, name, fn, check)                                                              \
	{                                                                                          \
		SYSREG(3, 3, 14, 0, op2), 0, SYSREG_NONE, 0, name, fn, NULL, NULL, check           \
	}
#define REG(op1, crm, op2, el, name, timer, field, alias, check)                                   \
	{                                                                                          \
		SYSREG(3, op1, 14, crm, op2), el, el, 0, name, read_timer, write_timer,            \
			ROW(timer, field, alias), check                                            \
	}
#define TIMER(op1, crm, el, pre, post, timer, alias, check)                                        \
	REG(op1, crm, 0, el, pre "_TVAL_" post, timer, TVAL, alias, check),                        \
		REG(op1, crm, 1, el, pre "_CTL_" post, timer, CTL, alias, check),                  \
		REG(op1, crm, 2, el, pre "_CVAL_" post, timer, CVAL, alias, check)

static const struct arm_sysreg el1_regs[] = {
	{ SYSREG(3, 3, 14, 0, 0), 0, 1, AT(cntfrq_el0), "CNTFRQ_EL0", NULL, write_cntfrq, NULL,
	  trap_frequency },
	COUNTER(1, "CNTPCT_EL0", read_cntpct, trap_physical_counter),
	COUNTER(2, "CNTVCT_EL0", read_cntvct, trap_virtual_counter),
	COUNTER(5, "CNTPCTSS_EL0", read_cntpct, trap_physical_ss),
	COUNTER(6, "CNTVCTSS_EL0", read_cntvct, trap_virtual_ss),
	{ SYSREG(3, 0, 14, 1, 0), 1, 1, AT(cntkctl_el1), "CNTKCTL_EL1", read_cntkctl, write_cntkctl,
	  NULL, NULL },
	TIMER(3, 2, 0, "CNTP", "EL0", ARM_TIMER_PHYS, BY_EL0, trap_physical_timer),
	TIMER(3, 3, 0, "CNTV", "EL0", ARM_TIMER_VIRT, BY_EL0, trap_virtual_timer),
};

static const struct arm_sysreg el2_regs[] = {
	{ SYSREG(3, 4, 14, 0, 3), 2, 2, AT(cntvoff_el2), "CNTVOFF_EL2", NULL, write_offset, NULL,
	  NULL },
	{ SYSREG(3, 4, 14, 0, 6), 2, 2, AT(cntpoff_el2), "CNTPOFF_EL2", NULL, write_offset, NULL,
	  trap_ecv },
	{ SYSREG(3, 4, 14, 1, 0), 2, 2, AT(cnthctl_el2), "CNTHCTL_EL2", NULL, write_cnthctl, NULL,
	  NULL },
	{ SYSREG(3, 5, 14, 1, 0), 2, 2, AT(cntkctl_el1), "CNTKCTL_EL12", NULL, NULL, NULL,
	  trap_alias },
	TIMER(4, 2, 2, "CNTHP", "EL2", ARM_TIMER_HYP, DIRECT, NULL),
	TIMER(4, 3, 2, "CNTHV", "EL2", ARM_TIMER_HYP_VIRT, DIRECT, NULL),
	TIMER(5, 2, 2, "CNTP", "EL02", ARM_TIMER_PHYS, BY_EL02, trap_alias),
	TIMER(5, 3, 2, "CNTV", "EL02", ARM_TIMER_VIRT, BY_EL02, trap_alias),
};

static const struct arm_sysreg el3_regs[] = {
	TIMER(7, 2, 1, "CNTPS", "EL1", ARM_TIMER_SEC, DIRECT, trap_secure_timer),
};

void timer_registers_add(struct arm_cpu *cpu)
{
	arm_sysreg_add(cpu, el1_regs, ARRAY_SIZE(el1_regs));
	if (cpu->has_el2)
		arm_sysreg_add(cpu, el2_regs, ARRAY_SIZE(el2_regs));
	if (cpu->has_el3)
		arm_sysreg_add(cpu, el3_regs, ARRAY_SIZE(el3_regs));
}

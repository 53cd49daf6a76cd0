/* target/arm/pmu_regs.c - system registers of the performance monitors (Arm DDI 0487, D24.5). */
#include "target/arm/pmu-priv.h"

#include "accel/tcg/icount.h"
#include "target/arm/excp.h"
#include "target/arm/sysreg.h"

/* Bits of PMUSERENR_EL0. */
#define USER_EN (1u << 0)
#define USER_SW (1u << 1)
#define USER_CR (1u << 2)
#define USER_ER (1u << 3)

/* The event counter of a PMEVCNTR<n>_EL0 or PMEVTYPER<n>_EL0. */
static unsigned number_of(const struct arm_sysreg *reg)
{
	return reg->key & 31;
}

static bool may_use(const struct arm_cpu *cpu, unsigned n)
{
	return pmu_accessible(cpu) >> n & 1;
}

/* ---- control ---- */

static u32 pmcr_bits(const struct arm_cpu *cpu)
{
	return PMCR_E | PMCR_D | PMCR_X | (cpu->pmu_version >= ARM_PMU_V3P1 ? PMCR_DP : 0) |
	       (pmu_has_wide_counters(cpu) ? PMCR_LP : 0);
}

static u64 read_pmcr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	unsigned n = __builtin_popcount(pmu_accessible(cpu) & PMU_EVENTS_MASK);

	return cpu->pmcr_el0 | n << PMCR_N_SHIFT | (u64)cpu->pmu_id << PMCR_ID_SHIFT;
}

static void write_pmcr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	arm_pmu_sync(cpu);
	cpu->pmcr_el0 = (val & pmcr_bits(cpu)) | PMCR_LC;
	if (val & PMCR_C)
		cpu->pmccntr_el0 = 0;
	for (unsigned n = 0; val & PMCR_P && n < ARM_PMU_COUNTERS; n++)
		if (may_use(cpu, n))
			cpu->pmevcntr_el0[n] = 0;
	arm_pmu_update(cpu);
}

static void write_selr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->pmselr_el0 = val & 31;
}

static void write_userenr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->pmuserenr_el0 = val & (USER_EN | USER_SW | USER_CR | USER_ER);
}

static void write_swinc(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	arm_pmu_sync(cpu);
	pmu_increment(cpu, val & pmu_accessible(cpu));
	arm_pmu_update(cpu);
}

static u64 read_ceid(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	u64 events = 1ull << PMU_SW_INCR | 1ull << PMU_CPU_CYCLES | 1ull << PMU_CHAIN;

	if (tcg_icount_enabled())
		events |= 1ull << PMU_INST_RETIRED;
	if (cpu->pmu_version >= ARM_PMU_V3P1)
		events |= 1ull << PMU_STALL_FRONTEND | 1ull << PMU_STALL_BACKEND;
	if (cpu->pmu_version >= ARM_PMU_V3P4)
		events |= 1ull << PMU_STALL;
	return reg->opaque ? events >> 32 : events & UINT32_MAX;
}

static u64 read_zero(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return 0;
}

/* ---- one bit for each counter: a register sets them, another clears them ---- */

enum { CLEARS, SETS };
#define SETTER  ((void *)(uintptr_t)SETS)
#define CLEARER ((void *)(uintptr_t)CLEARS)

static void write_bits(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 *bits, u64 val)
{
	arm_pmu_sync(cpu);
	val &= pmu_accessible(cpu);
	*bits = reg->opaque == SETTER ? *bits | val : *bits & ~val;
	arm_pmu_update(cpu);
}

static u64 read_cnten(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->pmcnten_el0 & pmu_accessible(cpu);
}

static void write_cnten(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_bits(cpu, reg, &cpu->pmcnten_el0, val);
}

static u64 read_inten(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->pminten_el1 & pmu_accessible(cpu);
}

static void write_inten(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_bits(cpu, reg, &cpu->pminten_el1, val);
}

static u64 read_ovs(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	arm_pmu_sync(cpu);
	return cpu->pmovs_el0 & pmu_accessible(cpu);
}

static void write_ovs(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_bits(cpu, reg, &cpu->pmovs_el0, val);
}

/* ---- counters ---- */

static u64 read_ccntr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	arm_pmu_sync(cpu);
	return cpu->pmccntr_el0;
}

static void write_ccntr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	arm_pmu_sync(cpu);
	cpu->pmccntr_el0 = val;
	arm_pmu_update(cpu);
}

/* What is not there, or not for this level, reads as zero and ignores writes. */
static u64 get_counter(struct arm_cpu *cpu, unsigned n)
{
	if (n >= ARM_PMU_COUNTERS || !may_use(cpu, n))
		return 0;
	arm_pmu_sync(cpu);
	return cpu->pmevcntr_el0[n];
}

static void set_counter(struct arm_cpu *cpu, unsigned n, u64 val)
{
	if (n >= ARM_PMU_COUNTERS || !may_use(cpu, n))
		return;
	arm_pmu_sync(cpu);
	cpu->pmevcntr_el0[n] = pmu_has_wide_counters(cpu) ? val : (u32)val;
	arm_pmu_update(cpu);
}

static u64 get_type(struct arm_cpu *cpu, unsigned n)
{
	if (n == PMU_CYCLES)
		return cpu->pmccfiltr_el0;
	return n < ARM_PMU_COUNTERS && may_use(cpu, n) ? cpu->pmevtyper_el0[n] : 0;
}

static void set_type(struct arm_cpu *cpu, unsigned n, u64 val)
{
	u64 filter = PMU_FILTER_P | PMU_FILTER_U | (cpu->has_el2 ? PMU_FILTER_NSH : 0);
	u64 event = cpu->pmu_version >= ARM_PMU_V3P1 ? 0xffff : 0x3ff;

	arm_pmu_sync(cpu);
	if (n == PMU_CYCLES)
		cpu->pmccfiltr_el0 = val & filter;
	else if (n < ARM_PMU_COUNTERS && may_use(cpu, n))
		cpu->pmevtyper_el0[n] = val & (filter | event);
	arm_pmu_update(cpu);
}

static u64 read_evcntr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return get_counter(cpu, number_of(reg));
}

static void write_evcntr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	set_counter(cpu, number_of(reg), val);
}

static u64 read_evtyper(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return get_type(cpu, number_of(reg));
}

static void write_evtyper(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	set_type(cpu, number_of(reg), val);
}

static u64 read_xevcntr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return get_counter(cpu, cpu->pmselr_el0);
}

static void write_xevcntr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	set_counter(cpu, cpu->pmselr_el0, val);
}

static u64 read_xevtyper(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return get_type(cpu, cpu->pmselr_el0);
}

static void write_xevtyper(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	set_type(cpu, cpu->pmselr_el0, val);
}

/* ---- who may access what; EL2's traps of all of them are in el2_trap.c ---- */

static unsigned check_user(const struct arm_cpu *cpu, u32 bits)
{
	if (cpu_el(cpu) || cpu->pmuserenr_el0 & bits)
		return 0;
	return cpu->has_el2 && cpu->hcr_el2 & HCR_TGE ? 2 : 1;
}

static unsigned trap_user(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return check_user(cpu, USER_EN);
}

static unsigned trap_cycles(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return check_user(cpu, write ? USER_EN : USER_EN | USER_CR);
}

static unsigned trap_counter(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return check_user(cpu, write ? USER_EN : USER_EN | USER_ER);
}

static unsigned trap_select(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return check_user(cpu, USER_EN | USER_ER);
}

static unsigned trap_swinc(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return check_user(cpu, USER_EN | USER_SW);
}

static unsigned trap_pmmir(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu->pmu_version >= ARM_PMU_V3P4 ? 0 : SYSREG_UNDEF;
}

/* ---- table; the offset of a register is where it travels in a migration ---- */

#define AT(field) offsetof(struct arm_cpu, field)
#define EVCNTR(n)                                                                                  \
	{                                                                                          \
		SYSREG(3, 3, 14, 8, n), 0, 0, AT(pmevcntr_el0[n]), "PMEVCNTR" #n "_EL0",           \
			read_evcntr, write_evcntr, NULL, trap_counter                              \
	}
#define EVTYPER(n)                                                                                 \
	{                                                                                          \
		SYSREG(3, 3, 14, 12, n), 0, 0, AT(pmevtyper_el0[n]), "PMEVTYPER" #n "_EL0",        \
			read_evtyper, write_evtyper, NULL, trap_user                               \
	}

static const struct arm_sysreg regs[] = {
	{ SYSREG(3, 3, 9, 12, 0), 0, 0, AT(pmcr_el0), "PMCR_EL0", read_pmcr, write_pmcr, NULL,
	  trap_user },
	{ SYSREG(3, 3, 9, 12, 1), 0, 0, AT(pmcnten_el0), "PMCNTENSET_EL0", read_cnten, write_cnten,
	  SETTER, trap_user },
	{ SYSREG(3, 3, 9, 12, 2), 0, 0, 0, "PMCNTENCLR_EL0", read_cnten, write_cnten, CLEARER,
	  trap_user },
	{ SYSREG(3, 3, 9, 12, 3), 0, 0, 0, "PMOVSCLR_EL0", read_ovs, write_ovs, CLEARER,
	  trap_user },
	{ SYSREG(3, 3, 9, 12, 4), SYSREG_NONE, 0, 0, "PMSWINC_EL0", NULL, write_swinc, NULL,
	  trap_swinc },
	{ SYSREG(3, 3, 9, 12, 5), 0, 0, AT(pmselr_el0), "PMSELR_EL0", NULL, write_selr, NULL,
	  trap_select },
	{ SYSREG(3, 3, 9, 12, 6), 0, SYSREG_NONE, 0, "PMCEID0_EL0", read_ceid, NULL, NULL,
	  trap_user },
	{ SYSREG(3, 3, 9, 12, 7), 0, SYSREG_NONE, 0, "PMCEID1_EL0", read_ceid, NULL,
	  (void *)(uintptr_t)1, trap_user },
	{ SYSREG(3, 3, 9, 13, 0), 0, 0, AT(pmccntr_el0), "PMCCNTR_EL0", read_ccntr, write_ccntr,
	  NULL, trap_cycles },
	{ SYSREG(3, 3, 9, 13, 1), 0, 0, 0, "PMXEVTYPER_EL0", read_xevtyper, write_xevtyper, NULL,
	  trap_user },
	{ SYSREG(3, 3, 9, 13, 2), 0, 0, 0, "PMXEVCNTR_EL0", read_xevcntr, write_xevcntr, NULL,
	  trap_counter },
	{ SYSREG(3, 3, 9, 14, 0), 0, 1, AT(pmuserenr_el0), "PMUSERENR_EL0", NULL, write_userenr,
	  NULL, NULL },
	{ SYSREG(3, 0, 9, 14, 1), 1, 1, AT(pminten_el1), "PMINTENSET_EL1", read_inten, write_inten,
	  SETTER, NULL },
	{ SYSREG(3, 0, 9, 14, 2), 1, 1, 0, "PMINTENCLR_EL1", read_inten, write_inten, CLEARER,
	  NULL },
	{ SYSREG(3, 3, 9, 14, 3), 0, 0, AT(pmovs_el0), "PMOVSSET_EL0", read_ovs, write_ovs, SETTER,
	  trap_user },
	{ SYSREG(3, 0, 9, 14, 6), 1, SYSREG_NONE, 0, "PMMIR_EL1", read_zero, NULL, NULL,
	  trap_pmmir },
	{ SYSREG(3, 3, 14, 15, 7), 0, 0, AT(pmccfiltr_el0), "PMCCFILTR_EL0", read_evtyper,
	  write_evtyper, NULL, trap_user },
	EVCNTR(0),
	EVCNTR(1),
	EVCNTR(2),
	EVCNTR(3),
	EVCNTR(4),
	EVCNTR(5),
	EVTYPER(0),
	EVTYPER(1),
	EVTYPER(2),
	EVTYPER(3),
	EVTYPER(4),
	EVTYPER(5),
};

void pmu_registers_add(struct arm_cpu *cpu)
{
	_Static_assert(ARM_PMU_COUNTERS == 6, "the table has six");
	arm_sysreg_add(cpu, regs, ARRAY_SIZE(regs));
}

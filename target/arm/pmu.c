/* target/arm/pmu.c - performance monitors: counting, overflow, interrupt (Arm DDI 0487, D13). */
#include "target/arm/pmu-priv.h"

#include "accel/tcg/icount.h"
#include "target/arm/el2.h"

#include <assert.h>

#define NEVER UINT64_MAX

/* ---- what is counted ---- */

/* How many event counters EL1 and EL0 have; the others are EL2's. */
static unsigned counters_of_el1(const struct arm_cpu *cpu)
{
	return cpu->has_el2 ? MIN(cpu->mdcr_el2 & MDCR_HPMN, ARM_PMU_COUNTERS) : ARM_PMU_COUNTERS;
}

bool pmu_is_reserved_to_el2(const struct arm_cpu *cpu, unsigned n)
{
	return n != PMU_CYCLES && n >= counters_of_el1(cpu);
}

u32 pmu_accessible(const struct arm_cpu *cpu)
{
	unsigned n = cpu_el(cpu) < 2 ? counters_of_el1(cpu) : ARM_PMU_COUNTERS;

	return PMU_CYCLES_BIT | ((1u << n) - 1);
}

static bool is_enabled(const struct arm_cpu *cpu, unsigned n)
{
	bool all =
		pmu_is_reserved_to_el2(cpu, n) ? cpu->mdcr_el2 & MDCR_HPME : cpu->pmcr_el0 & PMCR_E;

	return all && cpu->pmcnten_el0 >> n & 1;
}

static u64 filter_of(const struct arm_cpu *cpu, unsigned n)
{
	return n == PMU_CYCLES ? cpu->pmccfiltr_el0 : cpu->pmevtyper_el0[n];
}

static unsigned event_of(const struct arm_cpu *cpu, unsigned n)
{
	return n == PMU_CYCLES ? PMU_CPU_CYCLES : cpu->pmevtyper_el0[n] & 0xffff;
}

/* EL2 may not want to be seen by counters of EL1 (FEAT_PMUv3p1), or by the cycle counter at all
 * (FEAT_PMUv3p5). */
static bool is_prohibited_at_el2(const struct arm_cpu *cpu, unsigned n)
{
	bool hpmd = cpu->pmu_version >= ARM_PMU_V3P1 && cpu->mdcr_el2 & MDCR_HPMD;

	if (n != PMU_CYCLES)
		return hpmd && !pmu_is_reserved_to_el2(cpu, n);
	return (hpmd && cpu->pmcr_el0 & PMCR_DP) ||
	       (cpu->pmu_version >= ARM_PMU_V3P5 && cpu->mdcr_el2 & MDCR_HCCD);
}

static bool counts_at(const struct arm_cpu *cpu, unsigned n, unsigned el)
{
	u64 filter = filter_of(cpu, n);

	switch (el) {
	case 0: return !(filter & PMU_FILTER_U);
	case 1: return !(filter & PMU_FILTER_P);
	default: return filter & PMU_FILTER_NSH && !is_prohibited_at_el2(cpu, n);
	}
}

static bool is_counting(const struct arm_cpu *cpu, unsigned n)
{
	return is_enabled(cpu, n) && counts_at(cpu, n, cpu_el(cpu));
}

/* Whether some counter starts or stops when the exception level changes. */
static bool depends_on_level(const struct arm_cpu *cpu)
{
	for (unsigned n = 0; n <= PMU_CYCLES; n++) {
		bool at_el1;

		if (!(cpu->pmcnten_el0 >> n & 1) || !is_enabled(cpu, n))
			continue;
		at_el1 = counts_at(cpu, n, 1);
		if (counts_at(cpu, n, 0) != at_el1 ||
		    (cpu->has_el2 && counts_at(cpu, n, 2) != at_el1))
			return true;
	}
	return false;
}

/* ---- counting ---- */

static u64 *counter_of(struct arm_cpu *cpu, unsigned n)
{
	return n == PMU_CYCLES ? &cpu->pmccntr_el0 : &cpu->pmevcntr_el0[n];
}

/* Whether the counter overflows at 64 bits; else at 32, however wide it is. */
static bool overflows_late(const struct arm_cpu *cpu, unsigned n)
{
	if (n == PMU_CYCLES)
		return true;
	if (!pmu_has_wide_counters(cpu))
		return false;
	return pmu_is_reserved_to_el2(cpu, n) ? cpu->mdcr_el2 & MDCR_HLP
					      : !!(cpu->pmcr_el0 & PMCR_LP);
}

static bool is_chained_to(const struct arm_cpu *cpu, unsigned n)
{
	return n & 1 && n < ARM_PMU_COUNTERS && event_of(cpu, n) == PMU_CHAIN;
}

static void add(struct arm_cpu *cpu, unsigned n, u64 delta)
{
	u64 *counter = counter_of(cpu, n), old = *counter, overflows;

	*counter = old + delta;
	if (overflows_late(cpu, n)) {
		overflows = *counter < old;
	} else {
		overflows = ((old & UINT32_MAX) + delta) >> 32;
		if (!pmu_has_wide_counters(cpu))
			*counter &= UINT32_MAX;
	}
	if (!overflows)
		return;
	cpu->pmovs_el0 |= 1u << n;
	if (is_chained_to(cpu, n + 1) && is_counting(cpu, n + 1))
		add(cpu, n + 1, overflows);
}

void pmu_increment(struct arm_cpu *cpu, u32 mask)
{
	for (unsigned n = 0; n < ARM_PMU_COUNTERS; n++)
		if (mask >> n & 1 && is_counting(cpu, n) && event_of(cpu, n) == PMU_SW_INCR)
			add(cpu, n, 1);
}

/* Instructions since the last call, and @more. */
static u64 take_insns(struct arm_cpu *cpu, unsigned more)
{
	u64 insns = tcg_icount_cpu_read(&cpu->tcg) + more - cpu->pmu->last_insns;

	if ((s64)insns < 0) /* the current one has been counted as executed before it was */
		return 0;
	cpu->pmu->last_insns += insns;
	return insns;
}

static void start_from_now(struct arm_cpu *cpu)
{
	cpu->pmu->last_ns = clock_ns(CLOCK_TYPE_VIRTUAL);
	cpu->pmu->last_insns = tcg_icount_cpu_read(&cpu->tcg);
	cpu->pmu->loaded = false;
}

static void count(struct arm_cpu *cpu, unsigned more_insns)
{
	u64 cycles, insns;
	s64 now;

	if (cpu->pmu->loaded)
		start_from_now(cpu);
	now = clock_ns(CLOCK_TYPE_VIRTUAL);
	cycles = now - cpu->pmu->last_ns;
	insns = take_insns(cpu, more_insns);
	cpu->pmu->last_ns = now;
	for (u32 left = cpu->pmcnten_el0; left; left &= left - 1) {
		unsigned n = __builtin_ctz(left), event = event_of(cpu, n);

		if (event == PMU_CPU_CYCLES && is_counting(cpu, n))
			add(cpu, n, cycles);
		else if (event == PMU_INST_RETIRED && is_counting(cpu, n))
			add(cpu, n, insns);
	}
}

void arm_pmu_sync(struct arm_cpu *cpu)
{
	if (cpu->pmu)
		count(cpu, 0);
}

void arm_pmu_leave_level(struct arm_cpu *cpu)
{
	count(cpu, tcg_icount_enabled());
}

/* ---- overflow ---- */

/* Increments up to the next overflow; 0: 2^64. */
static u64 room_of(struct arm_cpu *cpu, unsigned n)
{
	u64 counter = *counter_of(cpu, n);

	return overflows_late(cpu, n) ? -counter : (1ull << 32) - (counter & UINT32_MAX);
}

/* Nanoseconds up to the @times-th overflow by itself. */
static u64 ns_to_overflow(struct arm_cpu *cpu, unsigned n, u64 times)
{
	u64 room = room_of(cpu, n), more;

	if (!is_counting(cpu, n) || !room || !times)
		return NEVER;
	switch (event_of(cpu, n)) {
	case PMU_CPU_CYCLES: break;
	case PMU_INST_RETIRED:
		if (!tcg_icount_enabled())
			return NEVER;
		break;
	case PMU_CHAIN: return n & 1 ? ns_to_overflow(cpu, n - 1, room) : NEVER;
	default: return NEVER;
	}
	if (times > 1 && overflows_late(cpu, n))
		return NEVER;
	if (__builtin_mul_overflow(times - 1, 1ull << 32, &more) ||
	    __builtin_add_overflow(room, more, &room) || room > INT64_MAX)
		return NEVER;
	return event_of(cpu, n) == PMU_CPU_CYCLES ? room : tcg_icount_to_ns(room);
}

static void set_timer(struct arm_cpu *cpu)
{
	struct arm_pmu *p = cpu->pmu;
	u64 next = NEVER;

	for (u32 left = cpu->pminten_el1; left; left &= left - 1)
		next = MIN(next, ns_to_overflow(cpu, __builtin_ctz(left), 1));
	if (next > (u64)(INT64_MAX - p->last_ns)) {
		if (timer_pending(&p->timer))
			timer_del(&p->timer);
		return;
	}
	if (!timer_pending(&p->timer) || p->timer.expiry_ns != p->last_ns + (s64)next)
		timer_mod(&p->timer, p->last_ns + (s64)next);
}

static void drive(struct arm_cpu *cpu)
{
	struct arm_pmu *p = cpu->pmu;
	u32 own = (1u << counters_of_el1(cpu)) - 1, mask = 0;
	bool level;

	if (cpu->pmcr_el0 & PMCR_E)
		mask |= own | PMU_CYCLES_BIT;
	if (cpu->has_el2 && cpu->mdcr_el2 & MDCR_HPME)
		mask |= PMU_EVENTS_MASK & ~own;
	level = cpu->pmovs_el0 & cpu->pminten_el1 & mask;
	if (level == p->level)
		return;
	p->level = level;
	if (p->output)
		p->output(p->opaque, level);
}

void arm_pmu_update(struct arm_cpu *cpu)
{
	if (!cpu->pmu)
		return;
	arm_pmu_sync(cpu);
	cpu->pmu_by_level = depends_on_level(cpu);
	drive(cpu);
	set_timer(cpu);
}

/* Any thread that runs timers. The counters are the vCPU's. */
static void on_expiry(void *opaque)
{
	struct arm_pmu *p = opaque;

	__atomic_store_n(&p->expired, 1, __ATOMIC_SEQ_CST);
	tcg_cpu_kick(&p->cpu->tcg);
}

void arm_pmu_service(struct arm_cpu *cpu)
{
	if (cpu->pmu && __atomic_exchange_n(&cpu->pmu->expired, 0, __ATOMIC_SEQ_CST))
		arm_pmu_update(cpu);
}

/* ---- life ---- */

void arm_pmu_reset(struct arm_cpu *cpu)
{
	if (!cpu->pmu)
		return;
	cpu->pmcr_el0 = PMCR_LC;
	if (cpu->has_el2)
		cpu->mdcr_el2 = ARM_PMU_COUNTERS; /* HPMN: EL1 may use all */
	start_from_now(cpu);
	arm_pmu_update(cpu);
}

void arm_pmu_loaded(struct arm_cpu *cpu)
{
	if (!cpu->pmu)
		return;
	cpu->pmcr_el0 = (cpu->pmcr_el0 & 0xff) | PMCR_LC;
	cpu->pmcnten_el0 &= PMU_EVENTS_MASK | PMU_CYCLES_BIT;
	cpu->pminten_el1 &= PMU_EVENTS_MASK | PMU_CYCLES_BIT;
	cpu->pmselr_el0 &= 31;
	drive(cpu);
	cpu->pmu->loaded = true; /* the rest before it runs */
	on_expiry(cpu->pmu);
}

void arm_pmu_connect(struct arm_cpu *cpu, void (*fn)(void *opaque, bool level), void *opaque)
{
	if (!cpu->pmu)
		return;
	cpu->pmu->output = fn;
	cpu->pmu->opaque = opaque;
}

void arm_pmu_create(struct arm_cpu *cpu)
{
	struct arm_pmu *p;

	if (!cpu->pmu_version)
		return;
	assert(!cpu->has_el3); /* filters know no secure state */
	p = g_new0(struct arm_pmu, 1);
	p->cpu = cpu;
	timer_init(&p->timer, CLOCK_TYPE_VIRTUAL, on_expiry, p);
	cpu->pmu = p;
	pmu_registers_add(cpu);
	arm_pmu_reset(cpu);
}

void arm_pmu_destroy(struct arm_cpu *cpu)
{
	struct arm_pmu *p = cpu->pmu;

	cpu->pmu = NULL;
	if (!p)
		return;
	timer_del(&p->timer);
	g_free(p);
}

/*
 * target/arm/hdbss.c - hardware dirty state tracking structure, FEAT_HDBSS (Arm DDI 0487, D8.5.6,
 * D24.2: HDBSSBR_EL2, HDBSSPROD_EL2).
 *
 * The thread that has made a stage-2 descriptor dirty by a compare-and-swap appends the entry
 * before it goes on to the guest's store. So an entry never lies, and none is missing.
 */
#include "target/arm/engines.h"
#include "accel/tcg/icount.h"
#include "accel/tcg/mem.h"
#include "target/arm/engines-priv.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sysreg.h"
#include "util/log.h"
#include "util/timer.h"

/* Injected entries that lie name the range so far away: the neighbour, for a page of 4 KiB. */
#define SPURIOUS_DISTANCE 0x1000ull

bool arm_hdbss_enabled(const struct arm_cpu *cpu)
{
	const u64 needed = VTCR_HDBSS | VTCR_HA | VTCR_HD;

	return cpu->engines && cpu->engines->config.hdbss && (cpu->vtcr_el2 & needed) == needed &&
	       (!cpu->has_el3 || cpu->scr_el3 & SCR_HDBSSEN);
}

/* Host address of the next entry; NULL: not RAM. */
static u64 *next_entry(struct arm_cpu *cpu, struct arm_bus_page *page, u64 *phys)
{
	*phys = buffer_base(cpu->hdbssbr_el2) + (cpu->hdbssprod_el2 & PROD_INDEX) * 8;
	arm_bus_lookup(cpu, *phys & TCG_PAGE_MASK, page);
	if (!page->host || !page->writable)
		return NULL;
	return (u64 *)(page->host + (*phys & ~TCG_PAGE_MASK));
}

/* The next entry cannot be written: tell of it in FSC, or at once. */
static enum arm_hdbss_room abort_entry(struct arm_cpu *cpu, bool at_once)
{
	engine_count(&cpu->engines->hdbss.aborts, 1);
	if (at_once)
		return ARM_HDBSS_ABORT;
	cpu->hdbssprod_el2 &= ~PROD_FSC;
	cpu->hdbssprod_el2 |= (u64)FSC_EXTERNAL_ABORT << PROD_FSC_SHIFT;
	return ARM_HDBSS_FULL;
}

static u64 room(const struct arm_cpu *cpu)
{
	return MIN(buffer_entries(cpu->hdbssbr_el2),
		   engine_inject(cpu->engines, ARM_INJECT_HDBSS_FULL_AT));
}

enum arm_hdbss_room arm_hdbss_prepare(struct arm_cpu *cpu)
{
	struct arm_engines *e = cpu->engines;
	u64 phys, index = cpu->hdbssprod_el2 & PROD_INDEX;
	struct arm_bus_page page;

	if (likely(!arm_hdbss_enabled(cpu)))
		return ARM_HDBSS_OFF;
	if (cpu->hdbssprod_el2 & PROD_FSC) {
		engine_count(&e->hdbss.error_faults, 1);
		return ARM_HDBSS_FULL;
	}
	if (index >= room(cpu)) {
		engine_count(&e->hdbss.full_faults, 1);
		if (log_enabled(LOG_TRACE))
			log_write(LOG_TRACE, "hdbss_full cpu=%u index=%u\n", e->index,
				  (unsigned)index);
		return ARM_HDBSS_FULL;
	}
	if (index == engine_inject(e, ARM_INJECT_HDBSS_ABORT_AT))
		return abort_entry(cpu, engine_inject(e, ARM_INJECT_HDBSS_ABORT_SYNC));
	if (!next_entry(cpu, &page, &phys))
		return abort_entry(cpu, false);
	return ARM_HDBSS_READY;
}

/* The cost model: the vCPU waits, by the guest's clock. A stop of the VM ends the wait. */
static void wait_ns(u64 ns)
{
	s64 end;

	if (!ns || tcg_icount_advance_ns(ns))
		return;
	end = clock_ns(CLOCK_TYPE_VIRTUAL) + ns;
	while (clock_ns(CLOCK_TYPE_VIRTUAL) < end && clock_virtual_runs())
		;
}

/* Return: false if there is no room, which only entries that are injected can meet. */
static bool store_entry(struct arm_cpu *cpu, u64 entry)
{
	struct arm_bus_page page;
	u64 phys, *host = next_entry(cpu, &page, &phys);

	if (!host || (cpu->hdbssprod_el2 & PROD_INDEX) >= room(cpu))
		return false;
	if (page.track)
		cpu->mmu->bus->dirty(cpu->mmu->bus->opaque, phys & TCG_PAGE_MASK);
	/* Whoever sees the entry sees the descriptor dirty. */
	__atomic_store_n(host, entry, __ATOMIC_RELEASE);
	tcg_invalidate_host(host, sizeof(entry));
	cpu->hdbssprod_el2++;
	return true;
}

static bool every(const struct arm_engines *e, enum arm_injection which)
{
	u64 n = engine_inject(e, which);

	return unlikely(n) && e->hdbss.entries % n == 0;
}

void arm_hdbss_append(struct arm_cpu *cpu, u64 ipa, int level, bool table)
{
	struct arm_engines *e = cpu->engines;

	if (likely(!arm_hdbss_enabled(cpu)))
		return;
	store_entry(cpu, entry_pack(ipa, level));
	engine_count(&e->hdbss.entries, 1);
	engine_count(&e->hdbss.table_entries, table);
	if (log_enabled(LOG_TRACE))
		log_write(LOG_TRACE, "hdbss_append cpu=%u ipa=0x%" PRIx64 " level=%d index=%u\n",
			  e->index, ipa, level, (unsigned)(cpu->hdbssprod_el2 & PROD_INDEX) - 1);
	if (engines_checked(cpu))
		arm_dirty_appended(cpu, ipa);
	if (every(e, ARM_INJECT_HDBSS_DUPLICATE_EVERY))
		engine_count(&e->hdbss.injected, store_entry(cpu, entry_pack(ipa, level)));
	/* One for a page that nobody wrote. */
	if (every(e, ARM_INJECT_HDBSS_SPURIOUS_EVERY))
		engine_count(&e->hdbss.injected,
			     store_entry(cpu, entry_pack(ipa ^ SPURIOUS_DISTANCE, level)));
	wait_ns(e->config.hdbss_append_ns);
}

void arm_hdbss_view(const struct arm_cpu *cpu, struct arm_hdbss_view *v)
{
	u64 br = __atomic_load_n(&cpu->hdbssbr_el2, __ATOMIC_RELAXED);
	u64 prod = __atomic_load_n(&cpu->hdbssprod_el2, __ATOMIC_RELAXED);

	*v = (struct arm_hdbss_view){
		.enabled = arm_hdbss_enabled(cpu),
		.base = buffer_base(br),
		.size = buffer_entries(br),
		.index = prod & PROD_INDEX,
		.fsc = (prod & PROD_FSC) >> PROD_FSC_SHIFT,
	};
}

/* ---- registers ---- */

static unsigned trap(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu_el(cpu) == 2 && cpu->has_el3 && !(cpu->scr_el3 & SCR_HDBSSEN) ? 3 : 0;
}

static u64 read_br(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->hdbssbr_el2;
}

static void write_br(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->hdbssbr_el2 = buffer_register(cpu, "HDBSSBR_EL2", val);
}

static u64 read_prod(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	cpu->engines->unseen_entries = 0;
	return cpu->hdbssprod_el2;
}

static void write_prod(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	u64 old = cpu->hdbssprod_el2;

	cpu->hdbssprod_el2 = val & (PROD_FSC | PROD_INDEX);
	if (engines_checked(cpu))
		arm_dirty_prod_written(cpu, old, cpu->hdbssprod_el2);
	engine_count(&cpu->engines->hdbss.resets, 1);
}

static const struct arm_sysreg registers[] = {
	{ SYSREG(3, 4, 2, 3, 2), 2, 2, 0, "HDBSSBR_EL2", read_br, write_br, NULL, trap },
	{ SYSREG(3, 4, 2, 3, 3), 2, 2, 0, "HDBSSPROD_EL2", read_prod, write_prod, NULL, trap },
};

void arm_hdbss_init(struct arm_cpu *cpu)
{
	arm_sysreg_add(cpu, registers, ARRAY_SIZE(registers));
}

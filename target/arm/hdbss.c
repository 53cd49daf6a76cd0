/*
 * target/arm/hdbss.c - hardware dirty state tracking structure, FEAT_HDBSS (Arm DDI 0487, D8.5.6,
 * D24.2: HDBSSBR_EL2, HDBSSPROD_EL2).
 *
 * The thread that has made a stage-2 descriptor dirty by a compare-and-swap appends the entry
 * before it goes on to the guest's store. So an entry never lies, and none is missing.
 */
#include "target/arm/engines.h"
#include "accel/tcg/mem.h"
#include "target/arm/engines-priv.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sysreg.h"
#include "util/log.h"
#include "util/timer.h"

static bool is_enabled(const struct arm_cpu *cpu)
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

static void set_fsc(struct arm_cpu *cpu, unsigned fsc)
{
	cpu->hdbssprod_el2 = (cpu->hdbssprod_el2 & ~PROD_FSC) | (u64)fsc << PROD_FSC_SHIFT;
	cpu->engines->hdbss.aborts++;
}

enum arm_hdbss_room arm_hdbss_prepare(struct arm_cpu *cpu)
{
	struct arm_bus_page page;
	u64 phys;

	if (likely(!is_enabled(cpu)))
		return ARM_HDBSS_OFF;
	if (cpu->hdbssprod_el2 & PROD_FSC) {
		cpu->engines->hdbss.error_faults++;
		return ARM_HDBSS_FULL;
	}
	if ((cpu->hdbssprod_el2 & PROD_INDEX) >= buffer_entries(cpu->hdbssbr_el2)) {
		cpu->engines->hdbss.full_faults++;
		return ARM_HDBSS_FULL;
	}
	if (!next_entry(cpu, &page, &phys)) {
		set_fsc(cpu, FSC_EXTERNAL_ABORT);
		return ARM_HDBSS_FULL;
	}
	return ARM_HDBSS_READY;
}

/* The cost model: the vCPU waits, by the guest's clock. */
static void wait_ns(u64 ns)
{
	s64 end;

	if (!ns)
		return;
	end = clock_ns(CLOCK_TYPE_VIRTUAL) + ns;
	while (clock_ns(CLOCK_TYPE_VIRTUAL) < end)
		;
}

static void store_entry(struct arm_cpu *cpu, u64 entry)
{
	struct arm_bus_page page;
	u64 phys, *host = next_entry(cpu, &page, &phys);

	if (page.track)
		cpu->mmu->bus->dirty(cpu->mmu->bus->opaque, phys & TCG_PAGE_MASK);
	/* Whoever sees the entry sees the descriptor dirty. */
	__atomic_store_n(host, entry, __ATOMIC_RELEASE);
	tcg_invalidate_host(host, sizeof(entry));
	cpu->hdbssprod_el2++;
	cpu->engines->hdbss.entries++;
	wait_ns(cpu->engines->config.hdbss_append_ns);
}

void arm_hdbss_append(struct arm_cpu *cpu, u64 ipa, int level, bool table)
{
	if (likely(!is_enabled(cpu)))
		return;
	store_entry(cpu, entry_pack(ipa, level));
	cpu->engines->hdbss.table_entries += table;
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
	return cpu->hdbssprod_el2;
}

static void write_prod(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->hdbssprod_el2 = val & (PROD_FSC | PROD_INDEX);
	cpu->engines->hdbss.resets++;
}

static const struct arm_sysreg registers[] = {
	{ SYSREG(3, 4, 2, 3, 2), 2, 2, 0, "HDBSSBR_EL2", read_br, write_br, NULL, trap },
	{ SYSREG(3, 4, 2, 3, 3), 2, 2, 0, "HDBSSPROD_EL2", read_prod, write_prod, NULL, trap },
};

void arm_hdbss_init(struct arm_cpu *cpu)
{
	arm_sysreg_add(cpu, registers, ARRAY_SIZE(registers));
}

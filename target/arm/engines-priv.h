/*
 * target/arm/engines.h - what the dirty-state engines and the MMU know of each other.
 */
#ifndef TARGET_ARM_ENGINES_PRIV_H
#define TARGET_ARM_ENGINES_PRIV_H

#include "target/arm/cpu-features.h"
#include "target/arm/engines.h"
#include "target/arm/cpu.h"
#include "target/arm/el2.h"

#define VTCR_HA    (1ull << 21)
#define VTCR_HD    (1ull << 22)
#define VTCR_HAFT  (1ull << 44)
#define VTCR_HDBSS (1ull << 45)

#define SCR_HDBSSEN  (1ull << 60)
#define SCR_HACDBSEN (1ull << 61)

#define ESR_ISS2_HDBSSF (1u << 11)

#define TCR2_HAFT (1ull << 11)

/* arm_haft_enabled() - whether the access flag of stage-1 tables of regime @el is hardware's, as
 * far as TCR2_ELx says; TCR_ELx.HA must be set too. */
static inline bool arm_haft_enabled(const struct arm_cpu *cpu, unsigned el)
{
	return cpu_has(cpu, ARM_FEAT_HAFT) && cpu->tcr2_el[el] & TCR2_HAFT &&
	       (el != 1 || arm_hcrx(cpu) & HCRX_TCR2EN);
}

/* Base address and size of both buffers: HDBSSBR_EL2, HACDBSBR_EL2. */
#define BUFFER_BADDR  0x00fffffffffff000ull
#define BUFFER_SZ     15ull
#define BUFFER_SZ_MAX 9u /* 2 MiB; larger values are reserved, and taken as this */

/* HDBSSPROD_EL2 */
#define PROD_INDEX         0x7ffffull
#define PROD_FSC_SHIFT     26
#define PROD_FSC           (0x3full << PROD_FSC_SHIFT)
#define FSC_EXTERNAL_ABORT 0x10u

/* HACDBSBR_EL2, HACDBSCONS_EL2 */
#define HACDBSBR_EN    (1ull << 11)
#define CONS_INDEX     0x7ffffull
#define CONS_ERR_SHIFT 62
enum hacdbs_error { HACDBS_NOF, HACDBS_STRUCTF, HACDBS_IPAF, HACDBS_IPAHACF };

/* An entry (table D8-93). */
#define ENTRY_VALID      1ull
#define ENTRY_TTWL_SHIFT 1
#define ENTRY_IPA        0x00fffffffffff000ull

/* buffer_entries() - room of a buffer, from the register that has its size. */
static inline u64 buffer_entries(u64 br)
{
	return 512ull << MIN(br & BUFFER_SZ, BUFFER_SZ_MAX);
}

/* buffer_base() - where it starts: aligned to its size. */
static inline u64 buffer_base(u64 br)
{
	return br & BUFFER_BADDR & ~(buffer_entries(br) * 8 - 1);
}

/* entry_pack() - the entry for a descriptor of @level (-1 to 3) that maps @ipa. */
static inline u64 entry_pack(u64 ipa, int level)
{
	return (ipa & ENTRY_IPA) | ((u64)level & 7) << ENTRY_TTWL_SHIFT | ENTRY_VALID;
}

/* entry_level() - its TTWL: -4 to 3, of which -4 to -2 are reserved. */
static inline int entry_level(u64 entry)
{
	unsigned ttwl = entry >> ENTRY_TTWL_SHIFT & 7;

	return ttwl & 4 ? (int)ttwl - 8 : (int)ttwl;
}

/* Whether a page may become dirty by hardware. */
enum arm_hdbss_room {
	ARM_HDBSS_OFF,   /* yes, and nothing is logged */
	ARM_HDBSS_READY, /* yes, and arm_hdbss_append() must follow */
	ARM_HDBSS_FULL,  /* no: no room, or an error is shown in HDBSSPROD_EL2 */
	ARM_HDBSS_ABORT, /* no: the entry cannot be written, which is reported at once */
};

/*
 * arm_hdbss_prepare() - before a stage-2 descriptor is made dirty.
 * arm_hdbss_append() - after it was: log the range at @ipa, mapped at @level.
 * @table: the page holds a table of stage 1 that hardware updates.
 *
 * Context: the vCPU's thread in a helper of guest code.
 */
enum arm_hdbss_room arm_hdbss_prepare(struct arm_cpu *cpu);
void arm_hdbss_append(struct arm_cpu *cpu, u64 ipa, int level, bool table);

/* buffer_register() - what a write of @val to HDBSSBR_EL2 or HACDBSBR_EL2 keeps, less EN. */
u64 buffer_register(struct arm_cpu *cpu, const char *name, u64 val);

/* arm_hacdbs_update() - HACDBSBR_EL2.EN is set and HCR_EL2 or SCR_EL3 has changed. */
void arm_hacdbs_update(struct arm_cpu *cpu);

/* arm_hdbss_enabled() - whether pages that become dirty are logged. */
bool arm_hdbss_enabled(const struct arm_cpu *cpu);

/* engine_count() - add to a counter that other threads may read. */
static inline void engine_count(u64 *counter, u64 n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* engine_inject() - the value of an injection. */
static inline u64 engine_inject(const struct arm_engines *e, enum arm_injection which)
{
	return __atomic_load_n(&e->config.inject[which], __ATOMIC_RELAXED);
}

/* ---- dirty_check.c ---- */

#define DESC_DBM (1ull << 51)

/* engines_watched() - whether the functions below are to be called. */
static inline bool engines_watched(const struct arm_cpu *cpu)
{
	return unlikely(cpu->engines != NULL) &&
	       (cpu->engines->config.check || engine_inject(cpu->engines, ARM_INJECT_STALE_TLB));
}

static inline bool engines_checked(const struct arm_cpu *cpu)
{
	return unlikely(cpu->engines != NULL) && cpu->engines->config.check;
}

/* arm_dirty_stale() - whether a write to a page that is clean goes through a translation from
 * before. arm_dirty_written() - a write was let through, by descriptor @desc. */
bool arm_dirty_stale(struct arm_cpu *cpu, u64 ipa);
void arm_dirty_written(struct arm_cpu *cpu, u64 ipa, u64 desc, bool device);

/* What a TLB maintenance instruction has invalidated. */
enum arm_tlbi_stages { ARM_TLBI_STAGE1, ARM_TLBI_STAGE2, ARM_TLBI_BOTH };
struct arm_dirty_tlbi {
	enum arm_tlbi_stages stages;
	int vmid;        /* < 0: all */
	u64 first, last; /* intermediate addresses */
	bool broadcast;
};
void arm_dirty_tlbi(struct arm_cpu *cpu, const struct arm_dirty_tlbi *t);

/* HACDBS has cleaned @size bytes at @ipa, which are at @phys; and has done so with a piece. */
void arm_dirty_cleaned(struct arm_cpu *cpu, u64 ipa, u64 phys, u64 size);
void arm_dirty_watch_reads(struct arm_cpu *cpu);
/* EL2 reads a page. */
void arm_dirty_el2_reads(struct arm_cpu *cpu, u64 phys);
/* An entry was appended; HDBSSPROD_EL2 was written; HACDBS handles a piece. */
void arm_dirty_appended(struct arm_cpu *cpu, u64 ipa);
void arm_dirty_prod_written(struct arm_cpu *cpu, u64 old, u64 new);
void arm_dirty_engine_runs(struct arm_cpu *cpu, bool starts);
/* HACDBSBR_EL2.EN was cleared; HACDBSCONS_EL2 was read, and the engine is still @running. */
void arm_dirty_engine_stopped(struct arm_cpu *cpu);
void arm_dirty_progress_read(struct arm_cpu *cpu, bool running);
/* A DSB that waits for loads and stores; a context synchronization event; HCR_EL2 was written. */
void arm_dirty_dsb(struct arm_cpu *cpu);
void arm_dirty_synchronized(struct arm_cpu *cpu);
void arm_dirty_regime_changed(struct arm_cpu *cpu);

/* engines_controls_changed() - HCR_EL2 or SCR_EL3 was written. */
static inline void engines_controls_changed(struct arm_cpu *cpu)
{
	if (engines_checked(cpu))
		arm_dirty_regime_changed(cpu);
	if (unlikely(cpu->hacdbsbr_el2 & HACDBSBR_EN))
		arm_hacdbs_update(cpu);
}

/* hdbss.c, hacdbs.c: their registers, for arm_engines_create(). */
void arm_hdbss_init(struct arm_cpu *cpu);
void arm_hacdbs_init(struct arm_cpu *cpu);
void arm_hacdbs_finish(struct arm_cpu *cpu);

#endif

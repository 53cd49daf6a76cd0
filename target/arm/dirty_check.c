/*
 * target/arm/dirty_check.c - a model of TLBs that keep what they may keep, and a checker of what
 * hypervisors do with dirty state (Arm DDI 0487, D8.5, D8.17).
 *
 * The model remembers, for each page of each guest, which CPUs have written it: until the TLB
 * maintenance that the architecture asks for, their TLBs may hold a writable translation, and they
 * may write the page without anybody being told, whatever the descriptor says. Two things use it:
 * an injection that really lets such writes pass unseen, and the checker, which reports a page that
 * is read too early. It costs nothing where neither is on.
 */
#include "target/arm/dirty_check.h"
#include "accel/tcg/work.h"
#include "target/arm/engines-priv.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sem.h"
#include "util/log.h"

#define PROBLEMS     64
#define WARNINGS_MAX 20 /* on standard error; the list goes on */
#define CPU_BIT(e)   ((u64)1 << MIN((e)->index, 63u))
#define ALL_CPUS     (~(u64)0)

/* A page of a guest that CPUs have written. */
struct page {
	u64 key;     /* vmid << 40 | ipa >> 12 */
	u64 held;    /* CPUs whose TLB may have it writable */
	u64 partial; /* of these: stage 2 is invalidated, entries that join both stages are not */
	u64 clean_phys; /* it was cleaned since, and lies here; ~0: it was not */
};

static GMutex lock;
static GHashTable *pages;     /* of struct page by key */
static GHashTable *unflushed; /* those with clean_phys, by that */
static unsigned npartial;
static GHashTable *tracked; /* keys of pages that were written with DBM set */
static GHashTable *guests;  /* table, of VTTBR_EL2, by VMID: whose translations TLBs may hold */
static struct arm_dirty_problem problems[PROBLEMS];
static u64 nproblems;

static u64 key_of(unsigned vmid, u64 ipa)
{
	return (u64)vmid << 40 | ipa >> TCG_PAGE_BITS;
}

/* ---- problems ---- */

static void report(struct arm_cpu *cpu, const char *kind, u64 ipa, const char *text)
{
	struct arm_dirty_problem p = { kind, text, cpu->engines->index, cpu_pc(cpu), ipa };
	u64 n;

	g_mutex_lock(&lock);
	n = nproblems++;
	problems[n % PROBLEMS] = p;
	g_mutex_unlock(&lock);
	if (n < WARNINGS_MAX)
		log_warn("dirty-state-check: CPU %u at 0x%" PRIx64 ", IPA 0x%" PRIx64 ": %s: %s",
			 p.cpu, p.pc, p.ipa, kind, text);
}

void arm_dirty_check_problems(void (*fn)(void *opaque, const struct arm_dirty_problem *p),
			      void *opaque)
{
	g_mutex_lock(&lock);
	for (u64 n = nproblems > PROBLEMS ? nproblems - PROBLEMS : 0; n < nproblems; n++)
		fn(opaque, &problems[n % PROBLEMS]);
	g_mutex_unlock(&lock);
}

/* ---- the model ---- */

static struct page *page_find(u64 key)
{
	return pages ? g_hash_table_lookup(pages, &key) : NULL;
}

static void forget_clean(struct page *p)
{
	if (p->clean_phys != ~(u64)0)
		g_hash_table_remove(unflushed, &p->clean_phys);
	p->clean_phys = ~(u64)0;
}

/* VTTBR_EL2 without CnP: what tells guests apart. */
static u64 guest_of(const struct arm_cpu *cpu)
{
	return cpu->vttbr_el2 & ~1ull;
}

/* Return: whether TLBs may hold translations of another guest's tables under the VMID. */
static bool vmid_is_shared(struct arm_cpu *cpu)
{
	gpointer vmid = GUINT_TO_POINTER(arm_vmid(cpu));
	u64 *known, guest = guest_of(cpu);
	bool shared;

	g_mutex_lock(&lock);
	if (!guests)
		guests = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	known = g_hash_table_lookup(guests, vmid);
	shared = known && *known != guest;
	if (!known || shared)
		g_hash_table_insert(guests, vmid, g_memdup2(&guest, sizeof(guest)));
	g_mutex_unlock(&lock);
	return shared;
}

static gboolean is_guest_of(gpointer vmid, gpointer guest, gpointer tlbi)
{
	const struct arm_dirty_tlbi *t = tlbi;

	return t->vmid < 0 || GPOINTER_TO_UINT(vmid) == (unsigned)t->vmid;
}

static void hold(struct arm_cpu *cpu, u64 ipa)
{
	u64 key = key_of(arm_vmid(cpu), ipa);
	struct page *p;

	if (!pages) {
		pages = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
		unflushed = g_hash_table_new(g_int64_hash, g_int64_equal);
	}
	p = page_find(key);
	if (!p) {
		p = g_new0(struct page, 1);
		p->key = key;
		p->clean_phys = ~(u64)0;
		g_hash_table_insert(pages, &p->key, p);
	}
	npartial -= p->partial != 0;
	p->held |= CPU_BIT(cpu->engines);
	p->partial &= ~CPU_BIT(cpu->engines);
	npartial += p->partial != 0;
}

bool arm_dirty_stale(struct arm_cpu *cpu, u64 ipa)
{
	struct arm_engines *e = cpu->engines;
	const struct page *p;
	bool held;

	if (!engine_inject(e, ARM_INJECT_STALE_TLB))
		return false;
	g_mutex_lock(&lock);
	p = page_find(key_of(arm_vmid(cpu), ipa));
	held = p && p->held & CPU_BIT(e);
	g_mutex_unlock(&lock);
	if (held)
		engine_count(&e->stale_writes, 1);
	return held;
}

static void report_shared_vmid(struct arm_cpu *cpu, u64 ipa)
{
	if (vmid_is_shared(cpu))
		report(cpu, "one-vmid-for-two-guests", ipa,
		       "the VMID was used with other tables, and TLBs were not invalidated since: "
		       "they "
		       "may hold translations of the wrong guest");
}

/* Return: whether the page was written with DBM before; notes that it was if @now. */
static bool was_tracked(u64 key, bool now)
{
	bool before;

	g_mutex_lock(&lock);
	if (!tracked)
		tracked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	before = g_hash_table_contains(tracked, &key);
	if (now && !before)
		g_hash_table_add(tracked, g_memdup2(&key, sizeof(key)));
	g_mutex_unlock(&lock);
	return before;
}

static bool list_has_room(const struct arm_cpu *cpu)
{
	return (cpu->hdbssprod_el2 & PROD_INDEX) < buffer_entries(cpu->hdbssbr_el2);
}

/*
 * Memory that is not logged is writable without DBM, and a hypervisor may leave HDBSS on all the
 * time: only a page that was logged before, while there is a list, is suspicious.
 */
void arm_dirty_written(struct arm_cpu *cpu, u64 ipa, u64 desc, bool device)
{
	bool before;

	g_mutex_lock(&lock);
	hold(cpu, ipa);
	g_mutex_unlock(&lock);
	if (!cpu->engines->config.check)
		return;
	report_shared_vmid(cpu, ipa & TCG_PAGE_MASK);
	before = was_tracked(key_of(arm_vmid(cpu), ipa), desc & DESC_DBM);
	if (before && !(desc & DESC_DBM) && !device && arm_hdbss_enabled(cpu) && list_has_room(cpu))
		report(cpu, "untracked-page", ipa & TCG_PAGE_MASK,
		       "was logged before and is written while HDBSS has a list, but neither "
		       "listed "
		       "nor marked as dirty: its descriptor is writable with DBM clear");
}

static void drop(struct page *p, u64 cpus)
{
	npartial -= p->partial != 0;
	p->held &= ~cpus;
	p->partial &= p->held;
	npartial += p->partial != 0;
	if (!p->held)
		forget_clean(p);
}

static bool covers(const struct arm_dirty_tlbi *t, const struct page *p)
{
	u64 ipa = (p->key & (((u64)1 << 40) - 1)) << TCG_PAGE_BITS;

	return (t->vmid < 0 || p->key >> 40 == (unsigned)t->vmid) && ipa >= t->first &&
	       ipa <= t->last;
}

static void apply(const struct arm_dirty_tlbi *t, u64 cpus)
{
	GHashTableIter it;
	gpointer value;

	if (t->stages == ARM_TLBI_STAGE1 && !npartial)
		return;
	g_hash_table_iter_init(&it, pages);
	while (g_hash_table_iter_next(&it, NULL, &value)) {
		struct page *p = value;

		if (!covers(t, p))
			continue;
		if (t->stages == ARM_TLBI_BOTH) {
			drop(p, cpus);
		} else if (t->stages == ARM_TLBI_STAGE1) {
			drop(p, cpus & p->partial);
		} else {
			npartial -= p->partial != 0;
			p->partial |= cpus & p->held;
			npartial += p->partial != 0;
		}
		if (!p->held)
			g_hash_table_iter_remove(&it);
	}
}

void arm_dirty_tlbi(struct arm_cpu *cpu, const struct arm_dirty_tlbi *t)
{
	if (!cpu->engines)
		return;
	g_mutex_lock(&lock);
	if (pages && g_hash_table_size(pages))
		apply(t, t->broadcast ? ALL_CPUS : CPU_BIT(cpu->engines));
	if (guests && t->stages == ARM_TLBI_BOTH && t->broadcast)
		g_hash_table_foreach_remove(guests, is_guest_of, (gpointer)t);
	g_mutex_unlock(&lock);
	if (engines_checked(cpu))
		arm_dirty_regime_changed(cpu);
}

/* ---- the checker ---- */

static void flush(struct tcg_cpu *tcg, u64 a, u64 b)
{
	arm_mmu_flush(arm_cpu_of(tcg));
}

void arm_dirty_cleaned(struct arm_cpu *cpu, u64 ipa, u64 phys, u64 size)
{
	bool any = false;

	g_mutex_lock(&lock);
	for (u64 at = 0; at < size; at += TCG_PAGE_SIZE) {
		struct page *p = page_find(key_of(arm_vmid(cpu), ipa + at));

		if (!p || !p->held)
			continue;
		forget_clean(p);
		p->clean_phys = phys + at;
		g_hash_table_insert(unflushed, &p->clean_phys, p);
		any = true;
	}
	g_mutex_unlock(&lock);
	cpu->engines->watch_reads |= any;
}

void arm_dirty_watch_reads(struct arm_cpu *cpu)
{
	if (!cpu->engines->watch_reads)
		return;
	cpu->engines->watch_reads = false;
	arm_mmu_flush(cpu); /* EL2's reads of these pages must ask again */
	/* Out of code, this CPU does as the others do. */
	tcg_run_on_others(cpu->tcg.in_code ? &cpu->tcg : NULL, flush, 0, 0);
}

void arm_dirty_el2_reads(struct arm_cpu *cpu, u64 phys)
{
	const struct page *p;
	u64 ipa = 0;

	phys &= TCG_PAGE_MASK;
	g_mutex_lock(&lock);
	p = unflushed ? g_hash_table_lookup(unflushed, &phys) : NULL;
	if (p) {
		ipa = (p->key & (((u64)1 << 40) - 1)) << TCG_PAGE_BITS;
		forget_clean((struct page *)p); /* once */
	}
	g_mutex_unlock(&lock);
	if (p)
		report(cpu, "read-before-tlbi", ipa,
		       "read at EL2 after HACDBS has cleaned it and before the TLB maintenance "
		       "(IPAS2E1IS "
		       "and then VMALLE1IS, or VMALLS12E1IS): a CPU that still has it writable can "
		       "change it after this read, and nothing will tell");
}

void arm_dirty_appended(struct arm_cpu *cpu, u64 ipa)
{
	struct arm_engines *e = cpu->engines;
	u64 table = guest_of(cpu);

	if (e->unread_entries && e->logged_vttbr != table)
		report(cpu, "two-guests-in-one-list", ipa,
		       "HDBSS has entries of another VTTBR_EL2: entries do not name their guest, "
		       "so "
		       "the list must be read before another guest is loaded");
	e->logged_vttbr = table;
	e->unread_entries++;
	e->unseen_entries++;
}

/* A list names no guest: it is cleaned in the tables that are current. */
void arm_dirty_engine_runs(struct arm_cpu *cpu, bool starts)
{
	struct arm_engines *e = cpu->engines;
	u64 table = guest_of(cpu);

	if (!starts && e->started_vttbr != table)
		report(cpu, "other-guest-cleaned", 0,
		       "VTTBR_EL2 was changed while HACDBS was running: the rest of the list is "
		       "cleaned in another guest's tables");
	e->started_vttbr = table;
	if (!starts)
		return;
	report_shared_vmid(cpu, 0);
	if ((cpu->hcr_el2 & (HCR_E2H | HCR_TGE)) == (HCR_E2H | HCR_TGE))
		report(cpu, "started-with-tge", 0,
		       "HACDBS was started with HCR_EL2.{E2H,TGE} = {1,1}, where VM may count as "
		       "0: it "
		       "may never run");
}

void arm_dirty_engine_stopped(struct arm_cpu *cpu)
{
	cpu->engines->undrained = true;
}

void arm_dirty_dsb(struct arm_cpu *cpu)
{
	cpu->engines->undrained = false;
}

/* Also TLB maintenance: it has to come after what the engine does, not beside it. */
void arm_dirty_regime_changed(struct arm_cpu *cpu)
{
	if (!cpu->engines->undrained)
		return;
	cpu->engines->undrained = false; /* once */
	report(cpu, "no-dsb-after-stop", 0,
	       "HACDBSBR_EL2.EN was cleared, and no DSB of this CPU followed before HCR_EL2 was "
	       "written or TLBs were invalidated: the engine may still be changing descriptors");
}

void arm_dirty_synchronized(struct arm_cpu *cpu)
{
	cpu->engines->progress_seen = false;
}

void arm_dirty_progress_read(struct arm_cpu *cpu, bool running)
{
	struct arm_engines *e = cpu->engines;

	if (e->progress_seen)
		report(cpu, "progress-without-isb", 0,
		       "HACDBSCONS_EL2 was read again while HACDBS runs, without an ISB: the value "
		       "may "
		       "be the old one for ever");
	e->progress_seen = running;
}

void arm_dirty_prod_written(struct arm_cpu *cpu, u64 old, u64 new)
{
	struct arm_engines *e = cpu->engines;

	if (e->unseen_entries && (new &PROD_INDEX) < (old & PROD_INDEX))
		report(cpu, "entries-dropped", 0,
		       "HDBSSPROD_EL2.INDEX was lowered, and not read since entries were appended: "
		       "they are lost");
	if (old & PROD_FSC && !(new &PROD_FSC))
		report(cpu, "entries-lost-before", 0,
		       "HDBSSPROD_EL2.FSC was cleared: entries may be missing, all memory of the "
		       "guest "
		       "must be taken as dirty");
	e->unread_entries = e->unseen_entries = 0;
}

/* sec3.c - tests of stage-2 dirty state and FEAT_HDBSS (docs/hdbss-hacdbs.md). */
#include "el2.h"

static void clean_becomes_dirty(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(3));
	equal(e, leaf_bits(e, 3), S2_DIRTY);
	equal(e, leaf_bits(e, 4), S2_CLEAN);
}

static void entry_of_a_page(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(5) + 0x128);
	equal(e, mrs(HDBSSPROD), 1);
	equal(e, e->hdbss[0], page_ipa(5) | 7);
	equal(e, e->hdbss[1], 0);
}

static void entry_of_a_block(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, BLOCK_IPA + 0x12340);
	equal(e, mrs(HDBSSPROD), 1);
	equal(e, e->hdbss[0], BLOCK_IPA | 5);
}

static void logged_once(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(5));
	store_ok(e, page_ipa(5) + 8);
	stage2_tlbi();
	store_ok(e, page_ipa(5));
	equal(e, mrs(HDBSSPROD), 1);
}

static void full(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, 511);
	store_ok(e, page_ipa(0)); /* the last free entry fills silently */
	equal(e, mrs(HDBSSPROD), 512);
	esr = guest_call(e, guest_store, page_ipa(1), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, esr & ESR_WNR, ESR_WNR);
	equal(e, leaf_bits(e, 1), S2_CLEAN);
	equal(e, e->v.hpfar, page_ipa(1) >> 8);
	equal(e, e->v.far, page_ipa(1));
	msr(HDBSSPROD, 0);
	equal(e, EC(guest_resume(e)), EC_HVC);
	equal(e, mrs(HDBSSPROD), 1);
	equal(e, e->hdbss[0], page_ipa(1) | 7);
}

/* ---- 3.1 and 3.2: which descriptors, which accesses ---- */

static void dbm_stays(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0) & S2_DBM, S2_DBM);
}

static void ordinary_page_is_not_logged(struct env *e)
{
	env_reset(e, S2_RW);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	equal(e, mrs(HDBSSPROD), 0);
	equal(e, leaf_bits(e, 0), S2_RW);
}

static void read_only_page_faults(struct env *e)
{
	u64 esr;

	env_reset(e, S2_RO);
	hdbss_on(e, 0);
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_HDBSSF, 0);
	equal(e, leaf_bits(e, 0), S2_RO);
}

static void read_leaves_it_clean(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	equal(e, EC(guest_call(e, guest_load, page_ipa(0), 0, 0)), EC_HVC);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	equal(e, mrs(HDBSSPROD), 0);
}

static void write_after_read(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	equal(e, mrs(HDBSSPROD), 1);
}

static void access_flag_with_dirty(struct env *e)
{
	env_reset(e, S2_CLEAN & ~S2_AF);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
}

static void access_flag_alone(struct env *e)
{
	env_reset(e, S2_CLEAN & ~S2_AF);
	hdbss_on(e, 0);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	equal(e, mrs(HDBSSPROD), 0);
}

/* A page that no permission allows is refused, whether its access flag is set or not. */
static void permission_without_access_flag(struct env *e)
{
	u64 esr;

	env_reset(e, S2_RO & ~S2_AF);
	hdbss_on(e, 0);
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
}

static void needs_hd(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr("vtcr_el2", VTCR_LOG & ~VTCR_HD);
	stage2_tlbi();
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_HDBSSF, 0);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

static void needs_ha(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr("vtcr_el2", VTCR_LOG & ~VTCR_HA);
	stage2_tlbi();
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, mrs(HDBSSPROD), 0);
}

static void guest_add(u64 addr, u64 value, u64 unused)
{
	asm volatile(".arch_extension lse\n	ldadd %0, xzr, [%1]"
		     :
		     : "r"(value), "r"(addr)
		     : "memory");
	guest_done(0);
}

/* CAS that fails: may or may not dirty the page; here it does. */
static void guest_cas_fails(u64 addr, u64 expected, u64 value)
{
	asm volatile(".arch_extension lse\n	cas %0, %1, [%2]"
		     : "+r"(expected)
		     : "r"(value), "r"(addr)
		     : "memory");
	guest_done(expected);
}

static void atomics_dirty(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	equal(e, EC(guest_call(e, guest_add, page_ipa(0), 1, 0)), EC_HVC);
	equal(e, EC(guest_call(e, guest_cas_fails, page_ipa(1), ~0UL, 1)), EC_HVC);
	equal(e, mrs(HDBSSPROD), 2);
	equal(e, leaf_bits(e, 1), S2_DIRTY);
}

/* One store over the end of a page dirties both. */
static void guest_store_unaligned(u64 addr, u64 value, u64 unused)
{
	asm volatile("str %0, [%1]" : : "r"(value), "r"(addr) : "memory");
	guest_done(0);
}

static void store_over_two_pages(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	equal(e, EC(guest_call(e, guest_store_unaligned, page_ipa(1) - 4, 1, 0)), EC_HVC);
	equal(e, mrs(HDBSSPROD), 2);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	equal(e, leaf_bits(e, 1), S2_DIRTY);
}

/* The current descriptor counts: one that became clean for another address is used as it is now. */
static void descriptor_in_memory_counts(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	e->leaves[0] = (e->memory + 7 * PAGE_SIZE) | S2_CLEAN | 3; /* no TLB maintenance */
	asm volatile("dsb sy" : : : "memory");
	*(volatile u64 *)(e->memory + 7 * PAGE_SIZE) = 0;
	equal(e, EC(guest_call(e, guest_store, page_ipa(0), 99, 0)), EC_HVC);
	equal(e, *(volatile u64 *)(e->memory + 7 * PAGE_SIZE), 99);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
}

/* AT counts a page that is clean but writable as writable, and leaves it clean. */
static void at_does_not_dirty(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	asm volatile("at s12e1w, %0; isb" : : "r"(page_ipa(3)) : "memory");
	msr("hcr_el2", HCR_RW);
	equal(e, mrs("par_el1") & 1, 0);
	equal(e, mrs("par_el1") & 0xfffffffff000, e->memory + 3 * PAGE_SIZE);
	equal(e, leaf_bits(e, 3), S2_CLEAN);
	equal(e, mrs(HDBSSPROD), 0);
}

/* ---- 3.2: updates of stage-1 tables ---- */

#define S1_ROOT  200 /* test pages that hold the guest's tables */
#define S1_MID   201
#define S1_LEAF  202
#define S1_CODE  0x701UL /* 1 GiB block: AF, inner shareable, attribute 0 */
#define S1_PAGE  0x703UL
#define S1_RO    (1UL << 7)
#define S1_DBM   (1UL << 51)
#define S1_AF    (1UL << 10)
#define TCR_S1   (25UL | 1UL << 8 | 1UL << 10 | 3UL << 12 | 1UL << 23 | 2UL << 30 | 2UL << 32)
#define TCR_HAHD (3UL << 39)

static u64 *s1_table(struct env *e, unsigned page)
{
	return (u64 *)(e->memory + page * PAGE_SIZE);
}

/* Stage 1 maps the test region flat, with @leaf for its page 0. */
static void stage1_on(struct env *e, u64 leaf, u64 tcr2)
{
	for (unsigned i = 0; i < 512; i++)
		s1_table(e, S1_ROOT)[i] = s1_table(e, S1_MID)[i] = s1_table(e, S1_LEAF)[i] = 0;
	s1_table(e, S1_ROOT)[1] = 0x40000000 | S1_CODE;
	s1_table(e, S1_ROOT)[2] = page_ipa(S1_MID) | 3;
	s1_table(e, S1_MID)[0] = page_ipa(S1_LEAF) | 3;
	s1_table(e, S1_LEAF)[0] = page_ipa(0) | leaf;
	asm volatile("dsb ish" : : : "memory");
	msr("ttbr0_el1", page_ipa(S1_ROOT));
	msr("mair_el1", 0xff);
	msr("tcr_el1", TCR_S1 | TCR_HAHD);
	msr("S3_0_C2_C0_3", tcr2);
	msr("sctlr_el1", 0x30d01805);
	stage2_tlbi();
}

static bool was_logged(const struct env *e, u64 ipa)
{
	for (u64 i = 0; i < mrs(HDBSSPROD); i++)
		if (e->hdbss[i] == (ipa | 7))
			return true;
	return false;
}

static void s1ptw_logs_the_table(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	stage1_on(e, S1_PAGE & ~S1_AF, 0);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, s1_table(e, S1_LEAF)[0] & S1_AF, S1_AF);
	equal(e, was_logged(e, page_ipa(S1_LEAF)), 1);
	equal(e, was_logged(e, page_ipa(S1_MID)), 0);
	equal(e, was_logged(e, page_ipa(0)), 0);
	equal(e, leaf_bits(e, S1_LEAF), S2_DIRTY);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

static void s1ptw_of_dirty_state(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	stage1_on(e, S1_PAGE | S1_RO | S1_DBM, 0);
	store_ok(e, page_ipa(0));
	equal(e, s1_table(e, S1_LEAF)[0] & S1_RO, 0);
	equal(e, was_logged(e, page_ipa(S1_LEAF)), 1);
	equal(e, was_logged(e, page_ipa(0)), 1);
	equal(e, mrs(HDBSSPROD), 2);
}

static void s1ptw_refused(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	set_leaf(e, S1_LEAF, S2_RO);
	hdbss_on(e, 0);
	stage1_on(e, S1_PAGE & ~S1_AF, 0);
	esr = guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_S1PTW, ESR_S1PTW);
	equal(e, e->v.hpfar, page_ipa(S1_LEAF) >> 8);
	equal(e, s1_table(e, S1_LEAF)[0] & S1_AF, 0);
}

static void s1ptw_full(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, 512);
	stage1_on(e, S1_PAGE & ~S1_AF, 0);
	esr = guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, esr & (ESR_S1PTW | ESR_HDBSSF), ESR_S1PTW | ESR_HDBSSF);
	equal(e, s1_table(e, S1_LEAF)[0] & S1_AF, 0);
}

/* The update of a stage-1 table that AT needs is logged, or refused as on a walk. */
static void at_when_full(struct env *e)
{
	u64 par;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, 512);
	stage1_on(e, S1_PAGE & ~S1_AF, 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	asm volatile("at s1e1r, %0; isb" : : "r"(page_ipa(0)) : "memory");
	par = mrs("par_el1");
	msr("hcr_el2", HCR_RW);
	equal(e, par & 1, 1);
	equal(e, par >> 1 & 0x3f, 0xf);
	equal(e, par >> 8 & 3, 3); /* stage 2, on a walk of stage 1 */
}

static void haft_of_stage1(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	stage1_on(e, S1_PAGE, 1UL << 11);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, s1_table(e, S1_ROOT)[2] & S1_AF, S1_AF);
	equal(e, s1_table(e, S1_MID)[0] & S1_AF, S1_AF);
	equal(e, was_logged(e, page_ipa(S1_ROOT)), 1);
	equal(e, was_logged(e, page_ipa(S1_MID)), 1);
	msr("S3_0_C2_C0_3", 0);
}

static void no_haft_of_stage1(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	stage1_on(e, S1_PAGE, 0);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, s1_table(e, S1_MID)[0] & S1_AF, 0);
	equal(e, mrs(HDBSSPROD), 0);
}

/* ---- 3.3: TLB ---- */

static void tlbi_shows_writes_again(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	set_leaf(e, 0, S2_CLEAN);
	asm volatile("dsb ishst; tlbi ipas2e1is, %0; dsb ish; tlbi vmalle1is; dsb ish; isb"
		     :
		     : "r"(page_ipa(0) >> 12)
		     : "memory");
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	equal(e, mrs(HDBSSPROD), 2);
}

/* ---- 3.5 ---- */

static void off_touches_nothing(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr("vtcr_el2", VTCR_LOG & ~VTCR_HDBSS);
	stage2_tlbi();
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	equal(e, mrs(HDBSSPROD), 0);
	equal(e, e->hdbss[0], 0);
}

static void entries_in_order(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	equal(e, EC(guest_call(e, guest_store_pages, page_ipa(0), 100, 0)), EC_HVC);
	equal(e, mrs(HDBSSPROD), 100);
	for (unsigned i = 0; i < 100; i++)
		equal(e, e->hdbss[i], page_ipa(i) | 7);
	equal(e, e->hdbss[100], 0);
}

static void prod_can_be_set(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, 40);
	store_ok(e, page_ipa(9));
	equal(e, e->hdbss[40], page_ipa(9) | 7);
	equal(e, mrs(HDBSSPROD), 41);
}

/* ---- 3.6 ---- */

static void full_lets_reads_pass(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	msr(HDBSSPROD, 512);
	stage2_tlbi();
	equal(e, EC(guest_call(e, guest_load, page_ipa(1), 0, 0)), EC_HVC);
	store_ok(e, page_ipa(0)); /* dirty already */
	equal(e, mrs(HDBSSPROD), 512);
}

static void full_beyond_the_end(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, 0x7ffff);
	equal(e, EC(guest_call(e, guest_store, page_ipa(1), 1, 0)), EC_DABT_LOW);
	equal(e, mrs(HDBSSPROD), 0x7ffff);
}

static void error_stops_logging(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, PROD_FSC_ABORT);
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	msr(HDBSSPROD, 0);
	equal(e, EC(guest_resume(e)), EC_HVC);
}

static void buffer_that_is_not_ram(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSBR, GICD);
	msr(HDBSSPROD, 2);
	esr = guest_call(e, guest_store, page_ipa(0), 1, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, mrs(HDBSSPROD), PROD_FSC_ABORT | 2);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

static void full_error_without_hdbss(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr("vtcr_el2", VTCR_LOG & ~VTCR_HDBSS);
	msr(HDBSSPROD, 512);
	stage2_tlbi();
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
}

/* 3.8: what a hypervisor does: run, drain, clean, flush, run again; no write is missed. */
static void drain(struct env *e)
{
	u64 seen = 0;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	for (unsigned round = 1; round <= 5; round++) {
		seen = 0;
		guest_call(e, guest_store_pages, page_ipa(0), 64 * round, 0);
		for (u64 i = 0; i < mrs(HDBSSPROD); i++) {
			unsigned n = (e->hdbss[i] - TEST_IPA) / PAGE_SIZE;

			seen++;
			set_leaf(e, n, S2_CLEAN);
		}
		msr(HDBSSPROD, 0);
		stage2_tlbi();
		equal(e, seen, 64 * round);
	}
}

const struct test tests_3[] = {
	{ "3.1/clean-becomes-dirty", clean_becomes_dirty },
	{ "3.1/dbm-never-changes", dbm_stays },
	{ "3.1/ordinary-page-is-not-logged", ordinary_page_is_not_logged },
	{ "3.1/read-only-page-faults", read_only_page_faults },
	{ "3.2/read-leaves-it-clean", read_leaves_it_clean },
	{ "3.2/write-after-read", write_after_read },
	{ "3.2/access-flag-in-the-same-update", access_flag_with_dirty },
	{ "3.2/access-flag-alone-is-not-logged", access_flag_alone },
	{ "3.2/permission-without-access-flag", permission_without_access_flag },
	{ "3.2/needs-hd", needs_hd },
	{ "3.2/needs-ha", needs_ha },
	{ "3.2/atomics-count-as-writes", atomics_dirty },
	{ "3.2/store-over-two-pages", store_over_two_pages },
	{ "3.2/descriptor-in-memory-counts", descriptor_in_memory_counts },
	{ "3.2/at-does-not-dirty", at_does_not_dirty },
	{ "3.2/s1ptw-logs-the-table", s1ptw_logs_the_table },
	{ "3.2/s1ptw-of-dirty-state", s1ptw_of_dirty_state },
	{ "3.2/s1ptw-refused", s1ptw_refused },
	{ "3.2/haft-of-stage-1", haft_of_stage1 },
	{ "3.2/no-haft-of-stage-1", no_haft_of_stage1 },
	{ "3.3/tlbi-shows-writes-again", tlbi_shows_writes_again },
	{ "3.4/entry-of-a-page", entry_of_a_page },
	{ "3.4/entry-of-a-block", entry_of_a_block },
	{ "3.5/logged-once", logged_once },
	{ "3.5/off-touches-nothing", off_touches_nothing },
	{ "3.5/entries-in-order", entries_in_order },
	{ "3.5/prod-can-be-set", prod_can_be_set },
	{ "3.6/full", full },
	{ "3.6/full-lets-reads-pass", full_lets_reads_pass },
	{ "3.6/full-beyond-the-end", full_beyond_the_end },
	{ "3.6/full-on-a-stage-1-table", s1ptw_full },
	{ "3.6/at-when-full", at_when_full },
	{ "3.6/error-stops-logging", error_stops_logging },
	{ "3.6/buffer-that-is-not-ram", buffer_that_is_not_ram },
	{ "3.6/full-means-nothing-when-off", full_error_without_hdbss },
	{ "3.8/drain", drain },
	{ NULL, NULL },
};

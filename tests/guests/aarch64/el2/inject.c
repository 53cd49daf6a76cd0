/* inject.c - one test for each fault that can be injected; the functional test injects it. */
#include "el2.h"

static void full_at_5(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	esr = guest_call(e, guest_store_pages, page_ipa(0), 10, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, e->v.hpfar, page_ipa(5) >> 8);
	equal(e, mrs(HDBSSPROD), 5);
	msr(HDBSSPROD, 0);
	equal(e, EC(guest_resume(e)), EC_HVC);
	equal(e, mrs(HDBSSPROD), 5);
}

static void abort_at_3(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	esr = guest_call(e, guest_store_pages, page_ipa(0), 10, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0xf);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, mrs(HDBSSPROD), PROD_FSC_ABORT | 3);
	equal(e, leaf_bits(e, 3), S2_CLEAN);
}

static void abort_at_3_at_once(struct env *e)
{
	u64 esr;

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	esr = guest_call(e, guest_store_pages, page_ipa(0), 10, 0);
	equal(e, EC(esr), EC_DABT_LOW);
	equal(e, FSC(esr), 0x17);
	equal(e, esr & ESR_HDBSSF, ESR_HDBSSF);
	equal(e, mrs(HDBSSPROD), 3);
}

static void duplicates(struct env *e)
{
	static const u8 want[] = { 0, 1, 1, 2, 3, 3 };

	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_store_pages, page_ipa(0), 4, 0);
	equal(e, mrs(HDBSSPROD), 6);
	for (unsigned i = 0; i < 6; i++)
		equal(e, e->hdbss[i], page_ipa(want[i]) | 7);
}

static void spurious(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_store_pages, page_ipa(10), 1, 0);
	guest_call(e, guest_store_pages, page_ipa(20), 1, 0);
	equal(e, mrs(HDBSSPROD), 3);
	equal(e, e->hdbss[0], page_ipa(10) | 7);
	equal(e, e->hdbss[1], page_ipa(20) | 7);
	equal(e, e->hdbss[2], page_ipa(21) | 7);
	equal(e, leaf_bits(e, 21), S2_CLEAN);
}

/* The list of test pages 0 to n - 1 and the marker; returns where it ends. */
static u64 clean_pages(struct env *e, unsigned n)
{
	u64 end = now_ns() + 30000000000, cons;

	for (unsigned i = 0; i < n; i++)
		e->hacdbs[i] = page_ipa(i) | 7;
	e->hacdbs[n] = STOP_MARKER;
	asm volatile("dsb ishst" : : : "memory");
	msr(HACDBSCONS, 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	do {
		asm volatile("isb" : : : "memory");
		cons = mrs(HACDBSCONS);
	} while (!(cons >> 62) && (cons & 0x7ffff) < 512 && now_ns() < end);
	return cons;
}

static void stop(void)
{
	msr(HACDBSBR, 0);
	asm volatile("isb; dsb ish; isb" : : : "memory");
	msr("hcr_el2", HCR_RW);
}

static void error_at_4(struct env *e, u64 reason)
{
	env_reset(e, S2_DIRTY);
	equal(e, clean_pages(e, 10), CONS_ERR(reason) | 4);
	equal(e, leaf_bits(e, 3), S2_CLEAN);
	equal(e, leaf_bits(e, 4), S2_DIRTY);
	msr(HACDBSCONS, 5); /* leave it behind */
	equal(e, mrs(HACDBSCONS), CONS_ERR(3) | 10);
	equal(e, leaf_bits(e, 9), S2_CLEAN);
	stop();
}

static void structf_at_4(struct env *e)
{
	error_at_4(e, 1);
}

static void ipaf_at_4(struct env *e)
{
	error_at_4(e, 2);
}

static void ipahacf_at_4(struct env *e)
{
	error_at_4(e, 3);
}

static void ahead_by_3(struct env *e)
{
	env_reset(e, S2_DIRTY);
	set_leaf(e, 4, S2_RW);
	equal(e, clean_pages(e, 10), CONS_ERR(3) | 4);
	stop();
	for (unsigned i = 0; i < 10; i++)
		equal(e, leaf_bits(e, i), i == 4 ? S2_RW : i < 8 ? S2_CLEAN : S2_DIRTY);
}

/* A list without end marker, one entry for each of 512 dirty pages. */
static void start_full_list(struct env *e)
{
	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < 512; i++)
		e->hacdbs[i] = page_ipa(i) | 7;
	asm volatile("dsb ishst" : : : "memory");
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
}

/* Pieces of ten entries and ten seconds: nothing is done when the engine has just been started. */
static void late(struct env *e)
{
	start_full_list(e);
	equal(e, mrs(HACDBSCONS), 0);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	stop();
}

/* Pieces of ten entries: who polls sees only whole ones. */
static void pieces(struct env *e)
{
	u64 cons = 0, ends = 0;

	start_full_list(e);
	while (cons < 512) {
		cons = mrs(HACDBSCONS);
		equal(e, cons % 10 == 0 || cons == 512, 1);
		ends++;
	}
	stop();
	equal(e, ends > 1, 1);
}

#define PPI 17

static bool irq_pending(struct env *e)
{
	return *reg32(gicr_sgi(e->cpu) + 0x200) >> PPI & 1;
}

static void irq_lost(struct env *e)
{
	env_reset(e, S2_DIRTY);
	clean_pages(e, 3);
	equal(e, irq_pending(e), 0);
	stop();
	clean_pages(e, 3);
	equal(e, irq_pending(e), 1);
	stop();
}

/* It is ten seconds late. */
static void irq_late(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, clean_pages(e, 3), CONS_ERR(3) | 3);
	equal(e, irq_pending(e), 0);
	stop();
}

static void irq_a_little_late(struct env *e)
{
	u64 end = now_ns() + 30000000000;

	env_reset(e, S2_DIRTY);
	equal(e, clean_pages(e, 3), CONS_ERR(3) | 3);
	while (!irq_pending(e) && now_ns() < end)
		arch_relax();
	equal(e, irq_pending(e), 1);
	stop();
	equal(e, irq_pending(e), 0);
}

/* A page that was cleaned is written again unseen, until both parts of TLB maintenance are done. */
static void stale(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(0));
	equal(e, mrs(HDBSSPROD), 1);
	set_leaf(e, 0, S2_CLEAN);
	asm volatile("dsb sy; isb" : : : "memory");
	*(volatile u64 *)e->memory = 0;
	equal(e, EC(guest_call(e, guest_store, page_ipa(0), 77, 0)), EC_HVC);
	equal(e, *(volatile u64 *)e->memory, 77);
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	asm volatile("tlbi ipas2e1is, %0; dsb ish" : : "r"(page_ipa(0) >> 12) : "memory");
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	asm volatile("tlbi vmalle1is; dsb ish; isb" : : : "memory");
	store_ok(e, page_ipa(0));
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	equal(e, mrs(HDBSSPROD), 2);
}

/* ---- what the checker must find, and must not ---- */

static void write_and_clean(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_store_pages, page_ipa(0), 4, 0);
	clean_pages(e, mrs(HDBSSPROD));
	stop();
	msr(HDBSSPROD, 0);
}

static void read_page(struct env *e, unsigned n)
{
	equal(e, *(volatile u64 *)(e->memory + n * PAGE_SIZE), n + 1);
}

static void check_nothing(struct env *e)
{
	write_and_clean(e);
	asm volatile("tlbi ipas2e1is, %0" : : "r"(page_ipa(0) >> 12) : "memory");
	asm volatile("tlbi ipas2e1is, %0" : : "r"(page_ipa(2) >> 12) : "memory");
	asm volatile("dsb ish; tlbi vmalle1is; dsb ish; isb" : : : "memory");
	read_page(e, 0);
	read_page(e, 2);
	stage2_tlbi();
	read_page(e, 1);
}

static void check_read_before_tlbi(struct env *e)
{
	write_and_clean(e);
	read_page(e, 2);
}

static void check_half_a_tlbi(struct env *e)
{
	write_and_clean(e);
	asm volatile("tlbi ipas2e1is, %0; dsb ish" : : "r"(page_ipa(2) >> 12) : "memory");
	read_page(e, 2);
}

static void check_untracked(struct env *e)
{
	env_reset(e, S2_CLEAN);
	set_leaf(e, 2, S2_RW); /* memory that is not logged */
	hdbss_on(e, 0);
	store_ok(e, page_ipa(2));
	store_ok(e, page_ipa(3));
	set_leaf(e, 3, S2_RW);
	stage2_tlbi();
	store_ok(e, page_ipa(3));
}

static void check_dropped(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(3));
	msr(HDBSSPROD, 0);
}

static void check_two_guests(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	store_ok(e, page_ipa(3));
	for (unsigned i = 0; i < 512; i++)
		e->s1[i] = e->root[i];
	msr("vttbr_el2", (u64)e->s1 | 9UL << 48);
	store_ok(e, page_ipa(4));
	msr("vttbr_el2", e->vttbr);
	equal(e, mrs(HDBSSPROD), 2);
}

static void check_fsc(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	msr(HDBSSPROD, PROD_FSC_ABORT);
	equal(e, mrs(HDBSSPROD), PROD_FSC_ABORT);
	msr(HDBSSPROD, 0);
}

/* HACDBS started with @hcr, on the list of test page 0 and the marker. */
static void start(struct env *e, u64 hcr)
{
	env_reset(e, S2_DIRTY);
	e->hacdbs[0] = page_ipa(0) | 7;
	e->hacdbs[1] = STOP_MARKER;
	asm volatile("dsb ishst" : : : "memory");
	msr("hcr_el2", hcr);
	msr(HACDBSCONS, 0);
	asm volatile("isb" : : : "memory");
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	asm volatile("isb" : : : "memory");
}

static void check_tge(struct env *e)
{
	start(e, HCR_RW | HCR_VM | HCR_E2H | HCR_TGE);
	equal(e, mrs(HACDBSCONS), CONS_ERR(3) | 1);
	stop();
}

static void check_dsb(struct env *e)
{
	start(e, HCR_RW | HCR_VM);
	msr(HACDBSBR, 0);
	asm volatile("isb; dsb ishst" : : : "memory");
	msr("hcr_el2", HCR_RW);
}

/* Pieces of one entry: it still runs when it is looked at. */
static void check_isb(struct env *e)
{
	start_full_list(e);
	asm volatile("isb" : : : "memory");
	mrs(HACDBSCONS);
	mrs(HACDBSCONS);
	asm volatile("isb" : : : "memory");
	equal(e, mrs(HACDBSCONS) < 512, 1);
	stop();
}

static void check_vmid(struct env *e)
{
	start(e, HCR_RW | HCR_VM);
	stop();
	for (unsigned i = 0; i < 512; i++)
		e->s1[i] = e->root[i];
	msr("vttbr_el2", (u64)e->s1 | e->vttbr >> 48 << 48);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSCONS, 0);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	stop();
	stage2_tlbi();
	msr("vttbr_el2", e->vttbr);
	equal(e, clean_pages(e, 1), CONS_ERR(3) | 1);
	stop();
}

/* The engine takes time, and works for one guest after another. */
static void check_slow(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, clean_pages(e, 3), CONS_ERR(3) | 3);
	stop();
	for (unsigned i = 0; i < 512; i++)
		e->s1[i] = e->root[i];
	msr("vttbr_el2", (u64)e->s1 | 9UL << 48);
	equal(e, clean_pages(e, 3), CONS_ERR(3) | 3);
	stop();
	msr("vttbr_el2", e->vttbr);
}

/* With 1000 ns for an entry: three pages and the marker take no longer than that. */
static void short_list(struct env *e)
{
	u64 start;

	env_reset(e, S2_DIRTY);
	start = now_ns();
	equal(e, clean_pages(e, 3), CONS_ERR(3) | 3);
	equal(e, (now_ns() - start) / 4000, 1);
	stop();
}

const struct test tests_injected[] = {
	{ "full-at-5", full_at_5 },
	{ "abort-at-3", abort_at_3 },
	{ "abort-at-3-at-once", abort_at_3_at_once },
	{ "duplicates", duplicates },
	{ "spurious", spurious },
	{ "structf-at-4", structf_at_4 },
	{ "ipaf-at-4", ipaf_at_4 },
	{ "ipahacf-at-4", ipahacf_at_4 },
	{ "ahead-by-3", ahead_by_3 },
	{ "late", late },
	{ "pieces", pieces },
	{ "irq-lost", irq_lost },
	{ "irq-late", irq_late },
	{ "irq-a-little-late", irq_a_little_late },
	{ "stale", stale },
	{ "check-nothing", check_nothing },
	{ "check-read-before-tlbi", check_read_before_tlbi },
	{ "check-half-a-tlbi", check_half_a_tlbi },
	{ "check-untracked", check_untracked },
	{ "check-dropped", check_dropped },
	{ "check-two-guests", check_two_guests },
	{ "check-fsc", check_fsc },
	{ "check-tge", check_tge },
	{ "check-dsb", check_dsb },
	{ "check-isb", check_isb },
	{ "check-vmid", check_vmid },
	{ "check-slow", check_slow },
	{ "short-list", short_list },
	{ NULL, NULL },
};

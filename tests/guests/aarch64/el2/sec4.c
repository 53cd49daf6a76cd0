/* sec4.c - tests of FEAT_HACDBS (docs/hdbss-hacdbs.md). */
#include "el2.h"

#define HACDBS_PPI 17 /* as the functional test configures it */

enum { NOF, STRUCTF, IPAF, IPAHACF };

/* Room of the buffer in use. */
static u64 limit_of(unsigned sz)
{
	return 512UL << sz;
}

/* Entries 0 to n - 1 are test pages @first and on; the stop marker comes next. */
static void list_pages(struct env *e, unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		e->hacdbs[i] = page_ipa(first + i) | 7;
	e->hacdbs[n] = STOP_MARKER;
}

/* Enable at the INDEX that CONS has. */
static void enable(struct env *e, unsigned sz)
{
	asm volatile("dsb ishst" : : : "memory");
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN | sz);
}

static u64 wait_end(unsigned sz)
{
	u64 end = now_ns() + 20000000000, cons;

	do {
		cons = mrs(HACDBSCONS);
		asm volatile("isb" : : : "memory");
	} while (!(cons >> 62) && (cons & 0x7ffff) < limit_of(sz) && now_ns() < end);
	return cons;
}

static void disable(void)
{
	msr(HACDBSBR, 0);
	msr("hcr_el2", HCR_RW);
	asm volatile("dsb ish; isb" : : : "memory");
}

/* Run the list in e->hacdbs from index 0 to its end. Return: HACDBSCONS_EL2. */
static u64 run_list(struct env *e)
{
	u64 cons;

	msr(HACDBSCONS, 0);
	enable(e, 0);
	cons = wait_end(0);
	disable();
	return cons;
}

/* What one entry ends in. */
static u64 result_of(struct env *e, u64 entry)
{
	e->hacdbs[0] = entry;
	e->hacdbs[1] = STOP_MARKER;
	return run_list(e);
}

#define STOPPED_AT(n) (CONS_ERR(IPAHACF) | (n)) /* by the marker */

/* ---- 4.1, 4.2 ---- */

static void cleans_listed_pages(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 10, 20);
	equal(e, run_list(e), STOPPED_AT(20));
	for (unsigned i = 0; i < 40; i++)
		equal(e, leaf_bits(e, i), i >= 10 && i < 30 ? S2_CLEAN : S2_DIRTY);
}

static void independent_of_hdbss(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	equal(e, mrs(HDBSSPROD), 0);
}

static void takes_hdbss_buffer(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_store_pages, page_ipa(0), 30, 0);
	e->hdbss[30] = STOP_MARKER;
	asm volatile("dsb ishst" : : : "memory");
	msr(HACDBSCONS, 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hdbss | BR_EN);
	equal(e, wait_end(0), STOPPED_AT(30));
	disable();
	for (unsigned i = 0; i < 30; i++)
		equal(e, leaf_bits(e, i), S2_CLEAN);
}

static void needs_vm(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 1);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	equal(e, mrs(HACDBSCONS), 0);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	msr("hcr_el2", HCR_RW | HCR_VM);
	equal(e, wait_end(0), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
	disable();
}

static void needs_en(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 1);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hacdbs);
	equal(e, mrs(HACDBSCONS), 0);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
	disable();
}

/* VM is what was written, also where a host has its effect switched off. */
static void stored_vm_counts(struct env *e)
{
	u64 cons;

	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 3);
	asm volatile("dsb ishst" : : : "memory");
	msr("hcr_el2", HCR_RW | HCR_VM | HCR_E2H | HCR_TGE);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	cons = wait_end(0);
	msr(HACDBSBR, 0);
	msr("hcr_el2", HCR_RW);
	equal(e, cons, STOPPED_AT(3));
	equal(e, leaf_bits(e, 2), S2_CLEAN);
}

static void runs_below_a_guest(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 1);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	guest_call(e, guest_load, page_ipa(5), 0, 0); /* VM is set for the guest only */
	msr(HACDBSBR, 0);
	equal(e, mrs(HACDBSCONS), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

/* Another guest's tables, whose test region has its leaves elsewhere. */
static void current_vttbr_counts(struct env *e)
{
	u64 *root = e->s1, *mid = e->s1 + 512, *leaves = e->s1 + 1024;

	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < 512; i++) {
		root[i] = e->root[i];
		mid[i] = 0;
		leaves[i] = (e->memory + i * PAGE_SIZE) | S2_DIRTY | 3;
	}
	root[2] = (u64)mid | 3;
	mid[0] = (u64)leaves | 3;
	list_pages(e, 0, 4);
	msr("vttbr_el2", (u64)root | 9UL << 48);
	equal(e, run_list(e), STOPPED_AT(4));
	equal(e, leaf_bits(e, 3), S2_DIRTY);
	equal(e, leaves[3] & S2_W, 0);
	msr("vttbr_el2", e->vttbr);
}

/* ---- 4.3 ---- */

static void skips_invalid_entries(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 10);
	e->hacdbs[4] &= ~1UL;
	e->hacdbs[5] = 0;
	equal(e, run_list(e), STOPPED_AT(10));
	equal(e, leaf_bits(e, 3), S2_CLEAN);
	equal(e, leaf_bits(e, 4), S2_DIRTY);
	equal(e, leaf_bits(e, 5), S2_DIRTY);
	equal(e, leaf_bits(e, 9), S2_CLEAN);
}

static void cleans_a_block(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, result_of(e, BLOCK_IPA | 5), STOPPED_AT(1));
	equal(e, e->block[0] & (S2_DIRTY | 3), S2_CLEAN | 1);
}

static void clean_stays_clean(struct env *e)
{
	env_reset(e, S2_CLEAN);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

static void other_bits_stay(struct env *e)
{
	env_reset(e, S2_DIRTY | 0xfUL << 55);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN | 0xfUL << 55);
}

static void access_flag_is_no_fault(struct env *e)
{
	env_reset(e, S2_DIRTY & ~S2_AF);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN & ~S2_AF);
}

static void permissions_are_no_fault(struct env *e)
{
	env_reset(e, S2_DIRTY & ~S2_R);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN & ~S2_R);
}

static void hd_is_not_needed(struct env *e)
{
	env_reset(e, S2_DIRTY);
	msr("vtcr_el2", VTCR_BASE);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, leaf_bits(e, 0), S2_CLEAN);
}

static void tables_keep_their_access_flag(struct env *e)
{
	env_reset(e, S2_DIRTY);
	msr("vtcr_el2", VTCR_BASE | VTCR_HA | VTCR_HAFT);
	equal(e, result_of(e, page_ipa(0) | 7), STOPPED_AT(1));
	equal(e, *e->leaves_parent & S2_AF, 0);
}

static void wrong_level(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, result_of(e, page_ipa(0) | 5), CONS_ERR(IPAHACF) | 0);
	equal(e, result_of(e, BLOCK_IPA | 7), CONS_ERR(IPAHACF) | 0);
	equal(e, result_of(e, page_ipa(0) | 0xf), CONS_ERR(IPAHACF) | 0);
	equal(e, leaf_bits(e, 0), S2_DIRTY);
}

static void contiguous(struct env *e)
{
	env_reset(e, S2_DIRTY | S2_CONT);
	equal(e, result_of(e, page_ipa(0) | 7), CONS_ERR(IPAHACF) | 0);
	equal(e, leaf_bits(e, 0), S2_DIRTY | S2_CONT);
}

static void not_tracked(struct env *e)
{
	env_reset(e, S2_RW);
	equal(e, result_of(e, page_ipa(0) | 7), CONS_ERR(IPAHACF) | 0);
	equal(e, leaf_bits(e, 0), S2_RW);
	env_reset(e, S2_RO);
	equal(e, result_of(e, page_ipa(0) | 7), CONS_ERR(IPAHACF) | 0);
}

static void nothing_mapped(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, result_of(e, HOLE_IPA | 7), CONS_ERR(IPAF) | 0);
	equal(e, result_of(e, 1UL << 45 | 7), CONS_ERR(IPAF) | 0); /* beyond T0SZ */
}

static void reserved_level_first(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, result_of(e, HOLE_IPA | STOP_MARKER), CONS_ERR(IPAHACF) | 0);
	equal(e, result_of(e, HOLE_IPA | 5UL << 1 | 1), CONS_ERR(IPAHACF) | 0);
	equal(e, result_of(e, HOLE_IPA | 6UL << 1 | 1), CONS_ERR(IPAHACF) | 0);
}

static void error_tells_the_entry(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 10);
	e->hacdbs[6] = HOLE_IPA | 7;
	equal(e, run_list(e), CONS_ERR(IPAF) | 6);
	equal(e, leaf_bits(e, 5), S2_CLEAN);
	equal(e, leaf_bits(e, 6), S2_DIRTY);
}

static void list_that_is_not_ram(struct env *e)
{
	env_reset(e, S2_DIRTY);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, GICD | BR_EN);
	equal(e, wait_end(0), CONS_ERR(STRUCTF) | 0);
	disable();
}

/* ---- 4.4 ---- */

static void finishes_at_the_end(struct env *e)
{
	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < 512; i++)
		e->hacdbs[i] = page_ipa(i) | 7;
	msr(HACDBSCONS, 0);
	enable(e, 0);
	equal(e, wait_end(0), 512);
	equal(e, mrs(HACDBSBR), (u64)e->hacdbs | BR_EN); /* EN stays */
	disable();
	for (unsigned i = 0; i < 512; i++)
		equal(e, leaf_bits(e, i), S2_CLEAN);
}

static bool irq_pending(struct env *e)
{
	return *reg32(gicr_sgi(e->cpu) + 0x200) >> HACDBS_PPI & 1;
}

static void irq_when_finished(struct env *e)
{
	env_reset(e, S2_DIRTY);
	equal(e, irq_pending(e), 0);
	msr(HACDBSCONS, 0);
	enable(e, 0);
	wait_end(0);
	equal(e, irq_pending(e), 1);
	msr("hcr_el2", HCR_RW); /* VM does not matter to it */
	equal(e, irq_pending(e), 1);
	disable();
	equal(e, irq_pending(e), 0);
}

static void irq_for_an_error(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 2);
	enable(e, 0);
	wait_end(0);
	equal(e, irq_pending(e), 1);
	e->hacdbs[2] = 0;
	e->hacdbs[3] = STOP_MARKER;
	msr("hcr_el2", HCR_RW); /* paused, so that nothing ends it again */
	msr(HACDBSCONS, 2);
	equal(e, irq_pending(e), 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	equal(e, wait_end(0), STOPPED_AT(3));
	equal(e, irq_pending(e), 1);
	disable();
	equal(e, irq_pending(e), 0);
}

static void irq_at_once(struct env *e)
{
	env_reset(e, S2_DIRTY);
	msr(HACDBSCONS, 512);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN); /* VM is 0 */
	equal(e, irq_pending(e), 1);
	disable();
	msr(HACDBSCONS, CONS_ERR(IPAF) | 3);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	equal(e, irq_pending(e), 1);
	disable();
}

static void stop_engine(unsigned cpu, u64 intid)
{
	msr(HACDBSBR, 0);
}

/* The vCPU sleeps in WFI until the interrupt comes, and takes it. */
static void irq_ends_wfi(struct env *e)
{
	u64 before;

	env_reset(e, S2_DIRTY);
	irq_hook = stop_engine;
	*reg32(gicr_sgi(e->cpu) + 0x100) = 1u << HACDBS_PPI;
	before = irqs_taken[e->cpu];
	msr(HACDBSCONS, 0);
	asm volatile("dsb ishst" : : : "memory");
	msr("hcr_el2", HCR_RW | HCR_VM | 1 << 4); /* IMO: taken at EL2 */
	for (unsigned i = 0; i < BUFFER_MAX / 8; i++)
		e->hacdbs[i] = page_ipa(i % TEST_PAGES) | 7;
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN | 9);
	while (irqs_taken[e->cpu] == before) {
		asm volatile("wfi" : : : "memory");
		irq_on();
		irq_off();
	}
	equal(e, irqs_taken[e->cpu], before + 1);
	equal(e, mrs(HACDBSCONS), BUFFER_MAX / 8);
	equal(e, mrs(HACDBSBR), 0);
	*reg32(gicr_sgi(e->cpu) + 0x180) = 1u << HACDBS_PPI;
	disable();
}

static void goes_on_after_an_error(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 10);
	e->hacdbs[4] = HOLE_IPA | 7;
	msr(HACDBSCONS, 0);
	enable(e, 0);
	equal(e, wait_end(0), CONS_ERR(IPAF) | 4);
	equal(e, leaf_bits(e, 5), S2_DIRTY);
	msr(HACDBSCONS, 5);
	equal(e, wait_end(0), STOPPED_AT(10));
	equal(e, leaf_bits(e, 4), S2_DIRTY);
	equal(e, leaf_bits(e, 9), S2_CLEAN);
	disable();
}

/* ---- 4.6, 4.7 ---- */

static void long_list(struct env *e)
{
	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < BUFFER_MAX / 8; i++)
		e->hacdbs[i] = page_ipa(i % TEST_PAGES) | 7;
	msr(HACDBSCONS, 0);
	enable(e, 9);
	equal(e, wait_end(9), BUFFER_MAX / 8);
	disable();
	for (unsigned i = 0; i < TEST_PAGES; i++)
		equal(e, leaf_bits(e, i), S2_CLEAN);
}

static void starts_at_index(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 10);
	msr(HACDBSCONS, 7);
	enable(e, 0);
	equal(e, wait_end(0), STOPPED_AT(10));
	disable();
	equal(e, leaf_bits(e, 6), S2_DIRTY);
	equal(e, leaf_bits(e, 7), S2_CLEAN);
}

static void writes_are_ignored_while_on(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 1);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN); /* VM is 0: it waits */
	msr(HACDBSCONS, 9);
	equal(e, mrs(HACDBSCONS), 0);
	msr(HACDBSBR, 0x5000000000 | BR_EN);
	equal(e, mrs(HACDBSBR), (u64)e->hacdbs | BR_EN);
	msr("hcr_el2", HCR_RW | HCR_VM);
	equal(e, wait_end(0), STOPPED_AT(1));
	disable();
}

static void base_can_change_after_an_error(struct env *e)
{
	env_reset(e, S2_DIRTY);
	list_pages(e, 0, 1);
	enable(e, 0);
	wait_end(0);
	e->hdbss[0] = page_ipa(8) | 7;
	e->hdbss[1] = STOP_MARKER;
	asm volatile("dsb ishst" : : : "memory");
	msr(HACDBSBR, (u64)e->hdbss | BR_EN);
	equal(e, mrs(HACDBSCONS), STOPPED_AT(1)); /* not before ERR_REASON is 0 */
	equal(e, leaf_bits(e, 8), S2_DIRTY);
	msr(HACDBSCONS, 0);
	equal(e, wait_end(0), STOPPED_AT(1));
	equal(e, leaf_bits(e, 8), S2_CLEAN);
	disable();
}

static void pauses_with_vm(struct env *e)
{
	u64 cons;

	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < BUFFER_MAX / 8; i++)
		e->hacdbs[i] = page_ipa(i % TEST_PAGES) | 7;
	msr(HACDBSCONS, 0);
	enable(e, 9);
	msr("hcr_el2", HCR_RW);
	cons = mrs(HACDBSCONS);
	for (unsigned i = 0; i < 100; i++)
		equal(e, mrs(HACDBSCONS), cons);
	msr("hcr_el2", HCR_RW | HCR_VM);
	equal(e, wait_end(9), BUFFER_MAX / 8);
	disable();
}

static void clear_en_stops_it(struct env *e)
{
	u64 cons;

	env_reset(e, S2_DIRTY);
	for (unsigned i = 0; i < BUFFER_MAX / 8; i++)
		e->hacdbs[i] = page_ipa(i % TEST_PAGES) | 7;
	msr(HACDBSCONS, 0);
	enable(e, 9);
	disable();
	cons = mrs(HACDBSCONS);
	msr("hcr_el2", HCR_RW | HCR_VM);
	equal(e, mrs(HACDBSCONS), cons);
	msr(HACDBSCONS, 1); /* free to be written again */
	equal(e, mrs(HACDBSCONS), 1);
	msr("hcr_el2", HCR_RW);
}

/* After cleaning and TLB maintenance the next write is seen. */
static void cleaned_pages_are_logged_again(struct env *e)
{
	env_reset(e, S2_CLEAN);
	hdbss_on(e, 0);
	guest_call(e, guest_store_pages, page_ipa(0), 50, 0);
	list_pages(e, 0, 50);
	equal(e, run_list(e), STOPPED_AT(50));
	stage2_tlbi();
	msr(HDBSSPROD, 0);
	guest_call(e, guest_store_pages, page_ipa(0), 50, 0);
	equal(e, mrs(HDBSSPROD), 50);
	equal(e, leaf_bits(e, 49), S2_DIRTY);
}

const struct test tests_4[] = {
	{ "4.1/cleans-listed-pages", cleans_listed_pages },
	{ "4.1/independent-of-hdbss", independent_of_hdbss },
	{ "4.1/takes-hdbss-buffer", takes_hdbss_buffer },
	{ "4.2/needs-vm", needs_vm },
	{ "4.2/needs-en", needs_en },
	{ "4.2/stored-vm-counts", stored_vm_counts },
	{ "4.2/runs-below-a-guest", runs_below_a_guest },
	{ "4.2/current-vttbr-counts", current_vttbr_counts },
	{ "4.3/skips-invalid-entries", skips_invalid_entries },
	{ "4.3/cleans-a-block", cleans_a_block },
	{ "4.3/clean-stays-clean", clean_stays_clean },
	{ "4.3/other-bits-stay", other_bits_stay },
	{ "4.3/access-flag-is-no-fault", access_flag_is_no_fault },
	{ "4.3/permissions-are-no-fault", permissions_are_no_fault },
	{ "4.3/hd-is-not-needed", hd_is_not_needed },
	{ "4.3/tables-keep-their-access-flag", tables_keep_their_access_flag },
	{ "4.3/wrong-level", wrong_level },
	{ "4.3/contiguous", contiguous },
	{ "4.3/not-tracked", not_tracked },
	{ "4.3/nothing-mapped", nothing_mapped },
	{ "4.3/reserved-level-first", reserved_level_first },
	{ "4.3/error-tells-the-entry", error_tells_the_entry },
	{ "4.3/list-that-is-not-ram", list_that_is_not_ram },
	{ "4.4/finishes-at-the-end", finishes_at_the_end },
	{ "4.4/irq-when-finished", irq_when_finished },
	{ "4.4/irq-for-an-error", irq_for_an_error },
	{ "4.4/irq-at-once", irq_at_once },
	{ "4.4/irq-ends-wfi", irq_ends_wfi },
	{ "4.4/goes-on-after-an-error", goes_on_after_an_error },
	{ "4.5/cleaned-pages-are-logged-again", cleaned_pages_are_logged_again },
	{ "4.6/long-list", long_list },
	{ "4.7/starts-at-index", starts_at_index },
	{ "4.7/writes-are-ignored-while-on", writes_are_ignored_while_on },
	{ "4.7/base-can-change-after-an-error", base_can_change_after_an_error },
	{ "4.7/pauses-with-vm", pauses_with_vm },
	{ "4.7/clear-en-stops-it", clear_en_stops_it },
	{ NULL, NULL },
};

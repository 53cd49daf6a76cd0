/* shared.c - tests with two CPUs that run one guest: both call each test at the same time. */
#include "el2.h"

#define PAGES  256
#define ROUNDS 40

static volatile unsigned arrived;
static struct env *volatile first; /* whose tables both use */

/* Both CPUs are here, for the @n-th time. */
static void meet(unsigned n)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < 2 * n)
		arch_relax();
}

/* Clean tables of CPU 0 for both, and an empty list for each. */
static void set_up(struct env *e, unsigned n)
{
	env_reset(e, S2_CLEAN);
	if (e->cpu == 0)
		first = e;
	meet(n);
	hdbss_on(e, 9);
	msr("vttbr_el2", first->vttbr);
	stage2_tlbi();
	for (unsigned i = 0; i < BUFFER_MAX / 8; i++)
		e->hdbss[i] = 0;
	meet(n + 1);
}

static u64 *list_of_second(const struct env *e)
{
	return e->hdbss + 0x1000000 / 8; /* 16 MiB on, see el2.c */
}

static volatile u64 entries[2];

static u64 times_listed(const u64 *list, u64 n, u64 ipa)
{
	u64 times = 0;

	for (u64 i = 0; i < n; i++)
		times += list[i] == (ipa | 7);
	return times;
}

static void one_entry(struct env *e)
{
	set_up(e, 1);
	equal(e, EC(guest_call(e, guest_store_pages, page_ipa(0), PAGES, 0)), EC_HVC);
	entries[e->cpu] = mrs(HDBSSPROD);
	meet(3);
	if (e->cpu == 0) {
		equal(e, entries[0] + entries[1], PAGES);
		for (unsigned i = 0; i < PAGES; i++)
			equal(e,
			      times_listed(e->hdbss, entries[0], page_ipa(i)) +
				      times_listed(list_of_second(e), entries[1], page_ipa(i)),
			      1);
	}
	meet(4);
}

/* CPU 1 cleans what CPU 0's guest writes. */
static void clean_all(struct env *e)
{
	u64 cons;

	for (unsigned i = 0; i < PAGES; i++)
		e->hacdbs[i] = page_ipa(i) | 7;
	e->hacdbs[PAGES] = STOP_MARKER;
	asm volatile("dsb ishst" : : : "memory");
	msr(HACDBSCONS, 0);
	msr("hcr_el2", HCR_RW | HCR_VM);
	msr(HACDBSBR, (u64)e->hacdbs | BR_EN);
	do {
		cons = mrs(HACDBSCONS);
	} while (!(cons >> 62));
	msr(HACDBSBR, 0);
	msr("hcr_el2", HCR_RW);
	stage2_tlbi();
	equal(e, cons, CONS_ERR(3) | PAGES);
}

/* Each page that is dirty at the end has been listed, and each entry was for a page that was clean.
 */
static void cleaning_beside_a_writer(struct env *e)
{
	u64 n;

	set_up(e, 5);
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (e->cpu)
			clean_all(e);
		else
			equal(e, EC(guest_call(e, guest_store_pages, page_ipa(0), PAGES, 0)),
			      EC_HVC);
	}
	meet(7);
	if (e->cpu == 0) {
		n = mrs(HDBSSPROD);
		equal(e, n >= PAGES, 1);
		for (unsigned i = 0; i < PAGES; i++) {
			u64 times = times_listed(e->hdbss, n, page_ipa(i));

			equal(e, times >= 1 && times <= ROUNDS, 1);
			equal(e, leaf_bits(e, i) == S2_CLEAN || leaf_bits(e, i) == S2_DIRTY, 1);
		}
	}
	meet(8);
}

const struct test tests_shared[] = {
	{ "shared/one-entry-among-two-cpus", one_entry },
	{ "shared/cleaning-beside-a-writer", cleaning_beside_a_writer },
	{ NULL, NULL },
};

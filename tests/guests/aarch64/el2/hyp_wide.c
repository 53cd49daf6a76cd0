/* hyp_wide.c - stage 2 with addresses of 52 bits in pages of 4 KiB (FEAT_LPA2; Arm DDI 0487, D8.3).
 */
#include "el2.h"

#define VTCR_DS  (1UL << 32)
#define VTCR_SL2 (1UL << 33)
#define VTCR_PS  (7UL << 16)
#define PS_52    (6UL << 16)
#define PS_48    (5UL << 16)
/* 52 bits of input, from level -1 */
#define VTCR_WIDE ((VTCR_BASE & ~(0x3fUL | 3UL << 6 | VTCR_PS)) | 12UL | VTCR_DS | VTCR_SL2)

#define IPA_BIT_51 (1UL << 51)
#define BITS_9_8   (3UL << 8) /* shareability before, bits 51:50 of an address now */

static bool has_lpa2(void)
{
	return (mrs("id_aa64mmfr0_el1") >> 40 & 0xf) == 3;
}

/* The old tables are of three levels; copy one below @from to @to, without shareability. Return:
 * what follows the copy. */
static u64 *copy(u64 *to, const u64 *from, int level)
{
	u64 *next = to + 512;

	for (unsigned i = 0; i < 512; i++) {
		to[i] = from[i] & ~BITS_9_8;
		if (level == 3 || (from[i] & 3) != 3)
			continue;
		to[i] = (u64)next | 3;
		next = copy(next, (u64 *)(from[i] & 0xfffffffff000UL), level + 1);
	}
	return next;
}

/* The guest's tables in the new layout below two levels more, in the room of a buffer that these
 * tests do not need otherwise. */
static u64 *enter_wide(struct env *e, u64 ps)
{
	u64 *top = e->hdbss, *level0 = top + 512;

	env_reset(e, S2_RW);
	copy(top + 1024, e->root, 1);
	for (unsigned i = 0; i < 512; i++)
		top[i] = level0[i] = 0;
	top[0] = (u64)level0 | 3;
	level0[0] = (u64)(top + 1024) | 3;
	msr("vttbr_el2", (u64)top | (e->vttbr & ~0xffffffffffffUL));
	msr("vtcr_el2", VTCR_WIDE | ps);
	stage2_tlbi();
	return top;
}

static void leave_wide(struct env *e)
{
	stage2_tlbi();
	env_reset(e, S2_RW);
}

static void test_wide_levels(struct env *e)
{
	u64 *top;

	if (!has_lpa2())
		return;
	top = enter_wide(e, PS_52);
	*(volatile u64 *)e->memory = 4711;
	equal(e, EC(guest_call(e, guest_load, page_ipa(0), 0, 0)), EC_HVC);
	equal(e, e->v.x[0], 4711);
	/* The highest bit of an intermediate address; level -1 has nothing there. */
	equal(e, EC(guest_call(e, guest_load, IPA_BIT_51 | page_ipa(0), 0, 0)), EC_DABT_LOW);
	equal(e, FSC(e->v.esr), 0x2b);
	equal(e, e->v.hpfar, (IPA_BIT_51 | page_ipa(0)) >> 8);
	equal(e, EC(guest_call(e, guest_load, 1UL << 40 | page_ipa(0), 0, 0)), EC_DABT_LOW);
	equal(e, FSC(e->v.esr), 0x04);
	top[8] = top[0];
	equal(e, EC(guest_call(e, guest_load, IPA_BIT_51 | page_ipa(0), 0, 0)), EC_HVC);
	equal(e, e->v.x[0], 4711);
	leave_wide(e);
}

static void test_wide_output(struct env *e)
{
	static const u8 sizes[] = { 0x29, 0x00 }, aborts[] = { 0x14, 0x15 };
	u64 *top;

	if (!has_lpa2())
		return;
	/* A table where there is nothing: the next level cannot be read. */
	top = enter_wide(e, PS_52);
	for (unsigned i = 0; i < 2; i++) {
		volatile u64 *d = i ? &top[513] : &top[8]; /* level 0 or -1 */
		u64 ipa = i ? 1UL << 39 : IPA_BIT_51, old = *d;

		*d = (u64)(top + 512) | 2UL << 8 | 3; /* bit 51 */
		stage2_tlbi();
		equal(e, EC(guest_call(e, guest_load, ipa, 0, 0)), EC_DABT_LOW);
		equal(e, FSC(e->v.esr), aborts[i]);
		msr("vtcr_el2", VTCR_WIDE | PS_48);
		stage2_tlbi();
		equal(e, EC(guest_call(e, guest_load, ipa, 0, 0)), EC_DABT_LOW);
		equal(e, FSC(e->v.esr), sizes[i]);
		msr("vtcr_el2", VTCR_WIDE | PS_52);
		*d = old;
		stage2_tlbi();
	}
	leave_wide(e);
}

/* SL2 is for FEAT_LPA2's start level, and there is one only. */
static void test_wide_start(struct env *e)
{
	if (!has_lpa2())
		return;
	enter_wide(e, PS_52);
	msr("vtcr_el2", VTCR_WIDE | PS_52 | 1UL << 6);
	stage2_tlbi();
	equal(e, EC(guest_call(e, guest_load, page_ipa(0), 0, 0)), 0x20); /* the first fetch */
	equal(e, FSC(e->v.esr), 0x04);
	leave_wide(e);
}

const struct test tests_4[] = {
	{ "el2/wide-levels", test_wide_levels },
	{ "el2/wide-output", test_wide_output },
	{ "el2/wide-start", test_wide_start },
	{ NULL, NULL },
};

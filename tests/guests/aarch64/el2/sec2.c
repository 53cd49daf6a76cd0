/* sec2.c - tests of registers: ID fields, access, fields that are kept (docs/hdbss-hacdbs.md). */
#include "el2.h"

static void id_hafdbs(struct env *e)
{
	equal(e, mrs("S3_0_C0_C7_1") & 15, 4);
}

static void id_tcrx(struct env *e)
{
	equal(e, mrs("S3_0_C0_C7_3") & 15, 1);
}

static void guest_reads_hdbssbr(u64 a, u64 b, u64 c)
{
	guest_done(mrs(HDBSSBR));
}

/* At EL1 the registers are UNDEFINED, which EL1 takes: VBAR_EL1 is nowhere, so it faults there. */
static void undefined_at_el1(struct env *e)
{
	env_reset(e, S2_RW);
	msr("vbar_el1", HOLE_IPA);
	guest_call(e, guest_reads_hdbssbr, 0, 0, 0);
	equal(e, EC(mrs("esr_el1")), EC_UNKNOWN);
	equal(e, e->v.far, HOLE_IPA + 0x200);
}

/* The bits of a base register that can be written: up to the size of a physical address. */
static u64 base_bits(void)
{
	static const u8 pa_bits[] = { 32, 36, 40, 42, 44, 48, 52, 56 };

	return (1UL << pa_bits[mrs("id_aa64mmfr0_el1") & 7]) - 4096;
}

static void hdbssbr_reserved_bits(struct env *e)
{
	env_reset(e, S2_RW);
	msr(HDBSSBR, ~0UL << 4);
	equal(e, mrs(HDBSSBR), base_bits());
	equal(e, own_exception(), 0);
}

static void hdbssbr_alignment(struct env *e)
{
	env_reset(e, S2_RW);
	for (u64 sz = 0; sz <= 9; sz++) {
		msr(HDBSSBR, 0x7ffffff000 | sz);
		equal(e, mrs(HDBSSBR), (0x7ffffff000UL & ~((4096UL << sz) - 1)) | sz);
	}
}

static void hdbssprod_reserved_bits(struct env *e)
{
	env_reset(e, S2_RW);
	msr(HDBSSPROD, ~0UL);
	equal(e, mrs(HDBSSPROD), 0xfc07ffff);
}

static void id_hacdbs(struct env *e)
{
	equal(e, mrs("S3_0_C0_C7_4") >> 12 & 15, 1);
}

/* Each register by the number that the manual has for it: what one write leaves in it. */
static void encodings(struct env *e)
{
	env_reset(e, S2_RW);
	asm volatile(".inst 0xd51c2340" : : : "memory"); /* msr HDBSSBR_EL2, x0 */
	equal(e, mrs(HDBSSBR) == mrs("S3_4_C2_C3_2"), 1);
	msr(HDBSSPROD, 3);
	msr(HACDBSCONS, 5);
	equal(e, mrs(HDBSSPROD), 3);
	equal(e, mrs(HACDBSCONS), 5);
	msr(HDBSSBR, 0x1000);
	msr(HACDBSBR, 0x2000);
	equal(e, mrs(HDBSSBR), 0x1000);
	equal(e, mrs(HACDBSBR), 0x2000);
	equal(e, own_exception(), 0);
}

static void hacdbsbr_reserved_bits(struct env *e)
{
	env_reset(e, S2_RW);
	msr(HACDBSBR, ~0UL << 4 & ~BR_EN);
	equal(e, mrs(HACDBSBR), base_bits());
	msr(HACDBSBR, ~0UL << 4); /* VM is 0: nothing runs */
	equal(e, mrs(HACDBSBR), base_bits() | BR_EN);
}

static void hacdbsbr_alignment(struct env *e)
{
	env_reset(e, S2_RW);
	for (u64 sz = 0; sz <= 9; sz++) {
		msr(HACDBSBR, 0x7ffffff000 | sz);
		equal(e, mrs(HACDBSBR), (0x7ffffff000UL & ~((4096UL << sz) - 1)) | sz);
	}
}

static void hacdbscons_reserved_bits(struct env *e)
{
	env_reset(e, S2_RW);
	msr(HACDBSCONS, ~0UL);
	equal(e, mrs(HACDBSCONS), 3UL << 62 | 0x7ffff);
}

/* HDBSS: what SZ means shows in the INDEX that counts as full. */
static void sizes(struct env *e)
{
	for (u64 sz = 0; sz <= 15; sz++) {
		u64 entries = 512UL << (sz < 9 ? sz : 9);

		env_reset(e, S2_CLEAN);
		hdbss_on(e, sz);
		msr(HDBSSPROD, entries - 1);
		store_ok(e, page_ipa(0));
		equal(e, mrs(HDBSSPROD), entries);
		equal(e, e->hdbss[entries - 1], page_ipa(0) | 7);
		e->hdbss[entries - 1] = 0;
		equal(e, EC(guest_call(e, guest_store, page_ipa(1), 1, 0)), EC_DABT_LOW);
	}
}

/* VTCR_EL2.HAFT: the table above a page gets its access flag. */
static void vtcr_haft(struct env *e)
{
	env_reset(e, S2_CLEAN);
	msr("vtcr_el2", VTCR_BASE | VTCR_HA);
	stage2_tlbi();
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, *e->leaves_parent & S2_AF, 0);
	msr("vtcr_el2", VTCR_BASE | VTCR_HA | VTCR_HAFT);
	stage2_tlbi();
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, *e->leaves_parent & S2_AF, S2_AF);
}

static void vtcr_haft_needs_ha(struct env *e)
{
	env_reset(e, S2_CLEAN);
	msr("vtcr_el2", VTCR_BASE | VTCR_HAFT);
	stage2_tlbi();
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	equal(e, *e->leaves_parent & S2_AF, 0);
}

const struct test tests_2[] = {
	{ "1/id-hafdbs", id_hafdbs },
	{ "1/id-hacdbs", id_hacdbs },
	{ "1/id-tcrx", id_tcrx },
	{ "1/haft-of-stage-2", vtcr_haft },
	{ "1/haft-needs-ha", vtcr_haft_needs_ha },
	{ "2.1/encodings", encodings },
	{ "2.2/undefined-at-el1", undefined_at_el1 },
	{ "2.3/reserved-bits-are-zero", hdbssbr_reserved_bits },
	{ "2.3/base-is-aligned-to-size", hdbssbr_alignment },
	{ "2.4/reserved-bits-are-zero", hdbssprod_reserved_bits },
	{ "2.5/reserved-bits-are-zero", hacdbsbr_reserved_bits },
	{ "2.5/base-is-aligned-to-size", hacdbsbr_alignment },
	{ "2.6/reserved-bits-are-zero", hacdbscons_reserved_bits },
	{ "2.7/sizes-and-reserved-sizes", sizes },
	{ NULL, NULL },
};

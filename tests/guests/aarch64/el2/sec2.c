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

static void hdbssbr_reserved_bits(struct env *e)
{
	env_reset(e, S2_RW);
	msr(HDBSSBR, ~0UL << 4);
	equal(e, mrs(HDBSSBR), 0xfffffffff000);
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

const struct test tests_2[] = {
	{ "1/id-hafdbs", id_hafdbs },
	{ "1/id-tcrx", id_tcrx },
	{ "2.2/undefined-at-el1", undefined_at_el1 },
	{ "2.3/reserved-bits-are-zero", hdbssbr_reserved_bits },
	{ "2.3/base-is-aligned-to-size", hdbssbr_alignment },
	{ "2.4/reserved-bits-are-zero", hdbssprod_reserved_bits },
	{ NULL, NULL },
};

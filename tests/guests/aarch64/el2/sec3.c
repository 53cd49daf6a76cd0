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

const struct test tests_3[] = {
	{ "3.1/clean-becomes-dirty", clean_becomes_dirty },
	{ "3.4/entry-of-a-page", entry_of_a_page },
	{ "3.4/entry-of-a-block", entry_of_a_block },
	{ "3.5/logged-once", logged_once },
	{ "3.6/full", full },
	{ NULL, NULL },
};

/* target/arm/trans_vec_mem.c - translation rules of AdvSIMD structure loads and stores: those of
 * one element per structure, and of two in whole vectors. */
#include "target/arm/trans_vec.h"

static void post_index(struct trans *t, unsigned rn, unsigned rm, unsigned bytes)
{
	if (rm == 31)
		e_addi(t, 1, rn, rn, bytes);
	else
		e_alu(t, E_ADD, 1, rn, rn, rm);
}

static struct e_address address(struct trans *t, unsigned rn, s32 imm)
{
	return (struct e_address){ .base = rn, .imm = imm, .hint = arm_hint_for(region_of(t), rn) };
}

/* LD1 and ST1 of one to four vectors: two at a time. */
static void consecutive(struct trans *t, const struct a64_LDST_multi *i, unsigned n)
{
	unsigned size = 8u << i->q;

	for (unsigned k = 0; k < n; k += 2) {
		struct e_address at = address(t, i->rn, (s32)(k * size));
		u8 v[] = { (i->rt + k) & 31, (i->rt + k + 1) & 31 };

		if (i->l)
			e_load_vector(t, size, v, MIN(n - k, 2), &at);
		else
			e_store_vector(t, size, v, MIN(n - k, 2), &at);
	}
}

/* LD2 and ST2. */
static void interleaved(struct trans *t, const struct a64_LDST_multi *i)
{
	static const u8 v[] = { E_V0, E_V1 };
	struct e_address at = address(t, i->rn, 0);
	unsigned n = i->q ? 2 : 1, second = (i->rt + 1) & 31;

	if (i->l) {
		e_load_vector(t, 16, v, n, &at);
		if (!i->q)
			e_vmov(t, E_V1, E_V0);
		e_v(t, E_VUZP1, i->size, i->rt, E_V0, E_V1);
		e_v(t, E_VUZP2, i->size, second, E_V0, E_V1);
		finish(t, i->q, i->rt);
		finish(t, i->q, second);
		return;
	}
	e_v(t, E_VZIP1, i->size, E_V0, i->rt, second);
	if (i->q)
		e_v(t, E_VZIP2, i->size, E_V1, i->rt, second);
	e_store_vector(t, 16, v, n, &at);
}

bool trans_LDST_multi(struct trans *t, const struct a64_LDST_multi *i)
{
	static const u8 vectors[16] = { [2] = 4, [6] = 3, [7] = 1, [10] = 2 };
	unsigned n = vectors[i->opc];

	if (!e_has_vectors() || (!n && i->opc != 8))
		return false;
	if (n)
		consecutive(t, i, n);
	else
		interleaved(t, i);
	if (i->post)
		post_index(t, i->rn, i->rm, (n ? n : 2) * (8u << i->q));
	return true;
}

/* One element, or one for all of the vector if @replicate. */
static void lane(struct trans *t, const struct a64_LDST_lane *i, unsigned lg, unsigned index,
		 bool replicate)
{
	struct e_address at = address(t, i->rn, 0);
	u8 v[] = { replicate ? i->rt : E_V0 };

	if (!i->l) {
		e_vdup(t, lg, E_V0, i->rt, index);
		e_store_vector(t, 1u << lg, v, 1, &at);
	} else if (replicate) {
		e_load_vector(t, 1u << lg, v, 1, &at);
		e_vdup(t, lg, i->rt, i->rt, 0);
		finish(t, i->q, i->rt);
	} else {
		e_load(t, (enum e_ext)(E_U8 + lg), 0, E_T0, &at);
		e_vset(t, lg, i->rt, index, E_T0);
	}
	if (i->post)
		post_index(t, i->rn, i->rm, 1u << lg);
}

bool trans_LDST_lane(struct trans *t, const struct a64_LDST_lane *i)
{
	unsigned qs = i->q << 1 | i->s;

	if (!e_has_vectors() || i->opc & 1 || i->r)
		return false;
	switch (i->opc >> 1) {
	case 0: lane(t, i, 0, qs << 2 | i->size, false); break;
	case 1: lane(t, i, 1, qs << 1 | i->size >> 1, false); break;
	case 2:
		if (i->size & 1)
			lane(t, i, 3, i->q, false);
		else
			lane(t, i, 2, qs, false);
		break;
	default: lane(t, i, i->size, 0, true); break;
	}
	return true;
}

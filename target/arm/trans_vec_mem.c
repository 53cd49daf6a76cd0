/* target/arm/trans_vec_mem.c - translation rules of AdvSIMD structure loads and stores. A load that
 * faults may leave anything in its vectors, but nothing in the address. */
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

static unsigned vector(const struct a64_LDST_multi *i, unsigned k)
{
	return (i->rt + k) & 31;
}

/* @bytes from memory into the vectors, 16 in each. */
static void load_raw(struct trans *t, const struct a64_LDST_multi *i, unsigned bytes)
{
	for (unsigned k = 0; 16 * k < bytes; k++) {
		struct e_address at = address(t, i->rn, 16 * (s32)k);
		u8 v = vector(i, k);

		e_load_vector(t, MIN(bytes - 16 * k, 16), &v, 1, &at);
	}
}

/* The first @bytes of E_V0 to the place of the @k-th vector. */
static void store_raw(struct trans *t, const struct a64_LDST_multi *i, unsigned k, unsigned bytes)
{
	static const u8 v = E_V0;
	struct e_address at = address(t, i->rn, 16 * (s32)k);

	e_store_vector(t, bytes, &v, 1, &at);
}

/* LD3 and ST3. */
static void triples(struct trans *t, const struct a64_LDST_multi *i)
{
	unsigned bytes = i->q ? 48 : 24;

	if (!i->l) {
		for (unsigned k = 0; 16 * k < bytes; k++) {
			e_vmix3(t, true, i->size, k, E_V0, i->rt);
			store_raw(t, i, k, MIN(bytes - 16 * k, 16));
		}
		return;
	}
	load_raw(t, i, bytes);
	e_vmix3(t, false, i->size, 0, E_V0, i->rt);
	e_vmix3(t, false, i->size, 1, E_V1, i->rt);
	e_vmix3(t, false, i->size, 2, vector(i, 2), i->rt);
	e_vmov(t, vector(i, 0), E_V0);
	e_vmov(t, vector(i, 1), E_V1);
	for (unsigned k = 0; k < 3; k++)
		finish(t, i->q, vector(i, k));
}

/* Every fourth element of 32 or 64 bytes: every second one of every second one. */
static void load_quads(struct trans *t, const struct a64_LDST_multi *i)
{
	unsigned v[4], lg = i->size;

	for (unsigned k = 0; k < 4; k++)
		v[k] = vector(i, k);
	load_raw(t, i, i->q ? 64 : 32);
	e_v(t, E_VUZP1, lg, E_V0, v[0], v[1]);
	e_v(t, E_VUZP2, lg, v[1], v[0], v[1]);
	e_vmov(t, v[0], E_V0);
	if (i->q) {
		e_v(t, E_VUZP1, lg, E_V0, v[2], v[3]);
		e_v(t, E_VUZP2, lg, E_V1, v[2], v[3]);
	} else {
		e_vmov(t, E_V1, v[1]);
	}
	e_v(t, E_VUZP2, lg, v[2], v[0], E_V0);
	e_v(t, E_VUZP1, lg, v[0], v[0], E_V0);
	e_v(t, E_VUZP2, lg, v[3], v[1], E_V1);
	e_v(t, E_VUZP1, lg, v[1], v[1], E_V1);
	for (unsigned k = 0; k < 4; k++)
		finish(t, i->q, v[k]);
}

/* The first and third elements, and the second and fourth, side by side, then these. */
static void store_quads(struct trans *t, const struct a64_LDST_multi *i)
{
	for (unsigned k = 0; k < (i->q ? 4 : 2); k++) {
		enum e_vop half = k < 2 ? E_VZIP1 : E_VZIP2;

		e_v(t, half, i->size, E_V0, vector(i, 0), vector(i, 2));
		e_v(t, half, i->size, E_V1, vector(i, 1), vector(i, 3));
		e_v(t, k & 1 ? E_VZIP2 : E_VZIP1, i->size, E_V0, E_V0, E_V1);
		store_raw(t, i, k, 16);
	}
}

bool trans_LDST_multi(struct trans *t, const struct a64_LDST_multi *i)
{
	static const u8 vectors[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
	};

	if (!e_has_vectors())
		return false;
	switch (i->opc) {
	case 0:
		if (i->l)
			load_quads(t, i);
		else
			store_quads(t, i);
		break;
	case 4: triples(t, i); break;
	case 8: interleaved(t, i); break;
	default: consecutive(t, i, vectors[i->opc]); break;
	}
	if (i->post)
		post_index(t, i->rn, i->rm, vectors[i->opc] * (8u << i->q));
	return true;
}

/* One element of vector @rt, or one for all of it if @replicate; @imm: where, from the base on. */
static void element(struct trans *t, const struct a64_LDST_lane *i, unsigned lg, unsigned index,
		    bool replicate, unsigned rt, s32 imm)
{
	struct e_address at = address(t, i->rn, imm);
	u8 v = replicate ? rt : E_V0;

	if (!i->l) {
		e_vdup(t, lg, E_V0, rt, index);
		e_store_vector(t, 1u << lg, &v, 1, &at);
	} else if (replicate) {
		e_load_vector(t, 1u << lg, &v, 1, &at);
		e_vdup(t, lg, rt, rt, 0);
		finish(t, i->q, rt);
	} else {
		e_load(t, (enum e_ext)(E_U8 + lg), 0, E_T0, &at);
		e_vset(t, lg, rt, index, E_T0);
	}
}

/* The same of one to four vectors. */
static void lane(struct trans *t, const struct a64_LDST_lane *i, unsigned lg, unsigned index,
		 bool replicate)
{
	unsigned n = (i->opc & 1) * 2 + i->r + 1;

	for (unsigned k = 0; k < n; k++)
		element(t, i, lg, index, replicate, (i->rt + k) & 31, (s32)(k << lg));
	if (i->post)
		post_index(t, i->rn, i->rm, n << lg);
}

bool trans_LDST_lane(struct trans *t, const struct a64_LDST_lane *i)
{
	unsigned qs = i->q << 1 | i->s;

	if (!e_has_vectors())
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

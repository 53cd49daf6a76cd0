/* target/arm/trans_vec_sat.c - translation rules of AdvSIMD operations that saturate. */
#include "target/arm/trans_vec.h"

/* The operand with everything else 0, in @spare unless it is all of the register. */
static unsigned operand(struct trans *t, unsigned q, unsigned s, unsigned lg, unsigned v,
			unsigned spare)
{
	if (!s)
		return harmless(t, q, v, spare);
	e_vfirst(t, lg, spare, v);
	return spare;
}

/* ---- addition and subtraction ---- */

static bool sum(struct trans *t, enum e_vop op, const struct a64_QADD_v *i)
{
	unsigned a, b;

	if (!e_has_vectors())
		return false;
	a = operand(t, i->q, i->s, i->size, i->rn, E_V0);
	b = operand(t, i->q, i->s, i->size, i->rm, E_V1);
	return e_v(t, op, i->size, i->rd, a, b);
}

bool trans_QADD_v(struct trans *t, const struct a64_QADD_v *i)
{
	return sum(t, i->u ? E_VUQADD : E_VSQADD, i);
}

bool trans_QSUB_v(struct trans *t, const struct a64_QSUB_v *i)
{
	struct a64_QADD_v same = { i->q, i->u, i->s, i->size, i->rm, i->rn, i->rd };

	return sum(t, i->u ? E_VUQSUB : E_VSQSUB, &same);
}

/* ---- narrowing ---- */

/* Of @a, which is E_V1 or all of a register. */
static bool narrow(struct trans *t, enum e_vnarrow how, unsigned q, unsigned s, unsigned lg,
		   unsigned d, unsigned a)
{
	e_vqnarrow(t, how, lg, E_V0, a);
	return vec_put_narrow(t, q && !s, d);
}

static bool extract_narrow(struct trans *t, enum e_vnarrow how, const struct a64_QXTN_v *i)
{
	if (!e_has_vectors() || i->size > 1)
		return false;
	return narrow(t, how, i->q, i->s, i->size, i->rd,
		      operand(t, 1, i->s, i->size + 1, i->rn, E_V1));
}

bool trans_QXTN_v(struct trans *t, const struct a64_QXTN_v *i)
{
	return extract_narrow(t, i->u ? E_NARROW_UNSIGNED : E_NARROW_SIGNED, i);
}

bool trans_SQXTUN_v(struct trans *t, const struct a64_SQXTUN_v *i)
{
	struct a64_QXTN_v same = {
		.q = i->q, .s = i->s, .size = i->size, .rn = i->rn, .rd = i->rd
	};

	return extract_narrow(t, E_NARROW_TO_UNSIGNED, &same);
}

static bool shift_narrow(struct trans *t, enum e_vnarrow how, const struct a64_QSHRN_i *i)
{
	unsigned lg = vec_imm_size(i->imm), a;

	if (!e_has_vectors() || lg > 1)
		return false;
	a = operand(t, 1, i->s, lg + 1, i->rn, E_V1);
	vec_shift_right(t, how != E_NARROW_UNSIGNED, i->r, lg + 1, E_V1, a, vec_imm_right(i->imm));
	return narrow(t, how, i->q, i->s, lg, i->rd, E_V1);
}

bool trans_QSHRN_i(struct trans *t, const struct a64_QSHRN_i *i)
{
	return shift_narrow(t, i->u ? E_NARROW_UNSIGNED : E_NARROW_SIGNED, i);
}

bool trans_SQSHRUN_i(struct trans *t, const struct a64_SQSHRUN_i *i)
{
	struct a64_QSHRN_i same = {
		.q = i->q, .s = i->s, .imm = i->imm, .r = i->r, .rn = i->rn, .rd = i->rd
	};

	return shift_narrow(t, E_NARROW_TO_UNSIGNED, &same);
}

/* ---- doubled products ---- */

#define DOUBLED(name, round)                                                                       \
	bool trans_##name##_v(struct trans *t, const struct a64_##name##_v *i)                     \
	{                                                                                          \
		unsigned a, b;                                                                     \
                                                                                                   \
		if (!e_has_vectors())                                                              \
			return false;                                                              \
		a = operand(t, i->q, i->s, i->size, i->rn, E_V0);                                  \
		b = operand(t, i->q, i->s, i->size, i->rm, E_V1);                                  \
		e_vqdmulh(t, round, i->size, i->rd, a, b);                                         \
		return true;                                                                       \
	}                                                                                          \
	bool trans_##name##_e(struct trans *t, const struct a64_##name##_e *i)                     \
	{                                                                                          \
		unsigned a;                                                                        \
                                                                                                   \
		if (!e_has_vectors())                                                              \
			return false;                                                              \
		a = operand(t, i->q, i->s, i->size, i->rn, E_V0);                                  \
		VEC_ELEMENT(t, i);                                                                 \
		e_vqdmulh(t, round, i->size, i->rd, a, E_V1);                                      \
		return true;                                                                       \
	}

DOUBLED(SQDMULH, false)
DOUBLED(SQRDMULH, true)

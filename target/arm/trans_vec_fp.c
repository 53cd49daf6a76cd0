/* target/arm/trans_vec_fp.c - translation rules of AdvSIMD floating point on singles and doubles.
 */
#include "target/arm/trans_vec.h"

/* A whole vector; one of 8 bytes is computed with zeros in the upper half. */
static enum e_fkind vector_kind(unsigned sz)
{
	return sz ? E_F64V : E_F32V;
}

static enum e_fkind kind_of(unsigned scalar, unsigned sz)
{
	if (scalar)
		return sz ? E_F64 : E_F32;
	return vector_kind(sz);
}

/* ---- arithmetic ---- */

#define THREE(name, op)                                                                            \
	bool trans_##name(struct trans *t, const struct a64_##name *i)                             \
	{                                                                                          \
		struct e_exact exact = EXACT(name, i);                                             \
                                                                                                   \
		if (!arm_can_compute(t))                                                           \
			return false;                                                              \
		e_f(t, op, vector_kind(i->sz), i->rd, harmless(t, i->q, i->rn, E_V0),              \
		    harmless(t, i->q, i->rm, E_V1), &exact);                                       \
		finish(t, i->q, i->rd); /* 0 - 0 may be -0 */                                      \
		return true;                                                                       \
	}

THREE(FADD_v, E_FADD)
THREE(FSUB_v, E_FSUB)
THREE(FMUL_v, E_FMUL)
THREE(FMAX_v, E_FMAX)
THREE(FMIN_v, E_FMIN)
THREE(FMAXNM_v, E_FMAX)
THREE(FMINNM_v, E_FMIN)

/* 0 / 0 must not be computed in the upper half. */
bool trans_FDIV_v(struct trans *t, const struct a64_FDIV_v *i)
{
	struct e_exact exact = EXACT(FDIV_v, i);

	if (!arm_can_compute(t) || !i->q)
		return false;
	e_f(t, E_FDIV, vector_kind(i->sz), i->rd, i->rn, i->rm, &exact);
	return true;
}

bool trans_FABD_v(struct trans *t, const struct a64_FABD_v *i)
{
	struct e_exact exact = EXACT(FABD_v, i);
	unsigned whole = i->q || i->s;

	if (!arm_can_compute(t))
		return false;
	e_f(t, E_FABD, kind_of(i->s, i->sz), i->rd, harmless(t, whole, i->rn, E_V0),
	    harmless(t, whole, i->rm, E_V1), &exact);
	return true;
}

bool trans_FMLA_v(struct trans *t, const struct a64_FMLA_v *i)
{
	struct e_exact exact = EXACT(FMLA_v, i);
	struct e_fma op = {
		.kind = vector_kind(i->sz), .d = i->rd, .a = i->rn, .b = i->rm, .c = i->rd
	};

	if (!arm_can_compute(t) || !i->q)
		return false;
	e_fma(t, &op, &exact);
	return true;
}

bool trans_FMLS_v(struct trans *t, const struct a64_FMLS_v *i)
{
	struct e_exact exact = EXACT(FMLS_v, i);
	struct e_fma op = { .kind = vector_kind(i->sz),
			    .d = i->rd,
			    .a = i->rn,
			    .b = i->rm,
			    .c = i->rd,
			    .neg_product = true };

	if (!arm_can_compute(t) || !i->q)
		return false;
	e_fma(t, &op, &exact);
	return true;
}

/* ---- by element ---- */

/* All elements of E_V1 = the one that the fields name. */
static void element(struct trans *t, unsigned sz, unsigned h, unsigned l, unsigned m_rm)
{
	e_vdup(t, 2 + sz, E_V1, m_rm, sz ? h : h << 1 | l);
}

#define ELEMENT(t, i) element(t, (i)->sz, (i)->h, (i)->l, (i)->m << 4 | (i)->rm)

bool trans_FMUL_e(struct trans *t, const struct a64_FMUL_e *i)
{
	struct e_exact exact = EXACT(FMUL_e, i);

	if (!arm_can_compute(t))
		return false;
	ELEMENT(t, i);
	finish(t, i->q, E_V1);
	e_f(t, E_FMUL, kind_of(i->s, i->sz), i->rd, harmless(t, i->q, i->rn, E_V0), E_V1, &exact);
	return true;
}

static bool multiply_element(struct trans *t, const struct a64_FMLA_e *i, bool sub,
			     const struct e_exact *exact)
{
	struct e_fma op = { .kind = kind_of(i->s, i->sz),
			    .d = i->rd,
			    .a = i->rn,
			    .b = E_V1,
			    .c = i->rd,
			    .neg_product = sub };

	if (!arm_can_compute(t) || !i->q)
		return false;
	ELEMENT(t, i);
	e_fma(t, &op, exact);
	return true;
}

bool trans_FMLA_e(struct trans *t, const struct a64_FMLA_e *i)
{
	struct e_exact exact = EXACT(FMLA_e, i);

	return multiply_element(t, i, false, &exact);
}

bool trans_FMLS_e(struct trans *t, const struct a64_FMLS_e *i)
{
	struct e_exact exact = EXACT(FMLS_e, i);
	struct a64_FMLA_e same = { i->q, i->s, i->sz, i->l, i->m, i->rm, i->h, i->rn, i->rd };

	return multiply_element(t, &same, true, &exact);
}

/* ---- sums of neighbours ---- */

bool trans_FADDP_v(struct trans *t, const struct a64_FADDP_v *i)
{
	struct e_exact exact = EXACT(FADDP_v, i);

	if (!arm_can_compute(t))
		return false;
	if (i->q) {
		e_v(t, E_VUZP1, 2 + i->sz, E_V0, i->rn, i->rm);
		e_v(t, E_VUZP2, 2 + i->sz, E_V1, i->rn, i->rm);
	} else {
		e_v(t, E_VLOWS, 3, E_V0, i->rn, i->rm);
		e_vnarrow(t, 2, E_V1, E_V0);
		e_vshifti(t, E_SHR, 3, E_V0, E_V0, 32);
		e_vnarrow(t, 2, E_V0, E_V0);
	}
	e_f(t, E_FADD, vector_kind(i->sz), i->rd, E_V0, E_V1, &exact);
	return true;
}

bool trans_FADDP_s(struct trans *t, const struct a64_FADDP_s *i)
{
	struct e_exact exact = EXACT(FADDP_s, i);

	if (!arm_can_compute(t))
		return false;
	e_vdup(t, 2 + i->sz, E_V1, i->rn, 1);
	e_f(t, E_FADD, kind_of(1, i->sz), i->rd, i->rn, E_V1, &exact);
	return true;
}

/* ---- one operand ---- */

bool trans_FABS_v(struct trans *t, const struct a64_FABS_v *i)
{
	if (!e_has_vectors())
		return false;
	e_fabs(t, vector_kind(i->sz), i->rd, i->rn);
	finish(t, i->q, i->rd);
	return true;
}

bool trans_FNEG_v(struct trans *t, const struct a64_FNEG_v *i)
{
	if (!e_has_vectors())
		return false;
	e_fneg(t, vector_kind(i->sz), i->rd, i->rn);
	finish(t, i->q, i->rd);
	return true;
}

bool trans_FSQRT_v(struct trans *t, const struct a64_FSQRT_v *i)
{
	struct e_exact exact = EXACT(FSQRT_v, i);

	if (!arm_can_compute(t))
		return false;
	e_fsqrt(t, vector_kind(i->sz), i->rd, harmless(t, i->q, i->rn, E_V0), &exact);
	return true;
}

bool trans_FRINT_v(struct trans *t, const struct a64_FRINT_v *i)
{
	static const u8 modes[] = { E_ROUND_NEAREST, E_ROUND_UP, E_ROUND_DOWN,    E_ROUND_ZERO,
				    E_ROUND_AWAY,    0xff,       E_ROUND_CURRENT, E_ROUND_CURRENT };
	unsigned mode = i->u << 2 | i->lo << 1 | i->hi;
	struct e_exact exact = EXACT(FRINT_v, i);

	if (!arm_can_compute(t) || modes[mode] == 0xff)
		return false;
	e_fround(t, (enum e_fround)modes[mode], mode == 6, vector_kind(i->sz), i->rd,
		 harmless(t, i->q, i->rn, E_V0), &exact);
	return true;
}

/* Only signed words, truncated. */
bool trans_FCVT_v(struct trans *t, const struct a64_FCVT_v *i)
{
	struct e_exact exact = EXACT(FCVT_v, i);

	if (!arm_can_compute(t) || i->sz || i->s || i->u || !(i->lo && i->hi))
		return false;
	e_ftoiv(t, i->rd, harmless(t, i->q, i->rn, E_V0), &exact);
	return true;
}

bool trans_CVTF_v(struct trans *t, const struct a64_CVTF_v *i)
{
	if (!arm_can_compute(t) || i->sz || i->s || i->u)
		return false;
	e_itofv(t, i->rd, harmless(t, i->q, i->rn, E_V0));
	return true;
}

bool trans_FCVTL_v(struct trans *t, const struct a64_FCVTL_v *i)
{
	struct e_exact exact = EXACT(FCVTL_v, i);
	unsigned from = i->rn;

	if (!arm_can_compute(t) || !i->sz)
		return false;
	if (i->q) {
		e_vext(t, E_V0, i->rn, i->rn, 8);
		from = E_V0;
	}
	e_fwiden(t, i->rd, from, &exact);
	return true;
}

bool trans_FCVTN_v(struct trans *t, const struct a64_FCVTN_v *i)
{
	struct e_exact exact = EXACT(FCVTN_v, i);

	if (!arm_can_compute(t) || !i->sz || i->q)
		return false;
	e_fnarrow(t, i->rd, i->rn, &exact);
	return true;
}

/* ---- comparison ---- */

#define COMPARE(name, op, magnitude)                                                               \
	bool trans_##name(struct trans *t, const struct a64_##name *i)                             \
	{                                                                                          \
		unsigned whole = i->q || i->s;                                                     \
                                                                                                   \
		if (!arm_can_compute(t))                                                           \
			return false;                                                              \
		e_fcmpv(t, op, magnitude, kind_of(i->s, i->sz), i->rd,                             \
			harmless(t, whole, i->rn, E_V0), harmless(t, whole, i->rm, E_V1));         \
		finish(t, i->q, i->rd);                                                            \
		return true;                                                                       \
	}

COMPARE(FCMEQ_v, E_FEQ, false)
COMPARE(FCMGE_v, E_FGE, false)
COMPARE(FCMGT_v, E_FGT, false)
COMPARE(FACGE_v, E_FGE, true)
COMPARE(FACGT_v, E_FGT, true)

/* GT, GE, EQ, LE and LT of zero. */
bool trans_FCMZ_v(struct trans *t, const struct a64_FCMZ_v *i)
{
	static const u8 op[] = { E_FGT, E_FGE, E_FEQ, E_FGE, E_FGT };
	unsigned which = i->op << 1 | i->u, n;
	bool swap = which >= 3;

	if (!arm_can_compute(t))
		return false;
	n = harmless(t, i->q || i->s, i->rn, E_V0);
	e_vmovi(t, E_V1, 0, 0);
	e_fcmpv(t, (enum e_fcmp)op[which], false, kind_of(i->s, i->sz), i->rd, swap ? E_V1 : n,
		swap ? n : E_V1);
	finish(t, i->q, i->rd);
	return true;
}

/* target/arm/trans_vec.c - translation rules of AdvSIMD integer operations. */
#include "target/arm/trans_vec.h"

/* Results of 8 bytes and scalar ones leave zeros above. */
static bool done(struct trans *t, unsigned q, unsigned s, unsigned d)
{
	finish(t, q && !s, d);
	return true;
}

/* ---- three registers of the same type ---- */

#define SAME(name, op, s)                                                                          \
	bool trans_##name(struct trans *t, const struct a64_##name *i)                             \
	{                                                                                          \
		return e_has_vectors() && e_v(t, op, i->size, i->rd, i->rn, i->rm) &&              \
		       done(t, i->q, s, i->rd);                                                    \
	}

SAME(ADD_v, E_VADD, i->s)
SAME(SUB_v, E_VSUB, i->s)
SAME(CMTST_v, E_VTST, i->s)
SAME(CMEQ_v, E_VEQ, i->s)
SAME(CMGT_v, i->u ? E_VGTU : E_VGT, i->s)
SAME(CMGE_v, i->u ? E_VGEU : E_VGE, i->s)
SAME(MAX_v, i->u ? E_VMAXU : E_VMAX, 0)
SAME(MIN_v, i->u ? E_VMINU : E_VMIN, 0)
SAME(ABD_v, i->u ? E_VABDU : E_VABD, 0)
SAME(MUL_v, E_VMUL, 0)
SAME(SHL_v, i->u ? E_VSHLVU : E_VSHLV, i->s)

/* Half the sum: what both have, and half of what one of them has. */
bool trans_HADD_v(struct trans *t, const struct a64_HADD_v *i)
{
	if (!e_has_vectors())
		return false;
	e_v(t, E_VXOR, 0, E_V0, i->rn, i->rm);
	e_vshifti(t, i->u ? E_SHR : E_SAR, i->size, E_V0, E_V0, 1);
	e_v(t, E_VAND, 0, E_V1, i->rn, i->rm);
	return e_v(t, E_VADD, i->size, i->rd, E_V0, E_V1) && done(t, i->q, 0, i->rd);
}

/* Half of what one of them has, less what only the second has. */
bool trans_HSUB_v(struct trans *t, const struct a64_HSUB_v *i)
{
	if (!e_has_vectors())
		return false;
	e_v(t, E_VXOR, 0, E_V0, i->rn, i->rm);
	e_vshifti(t, i->u ? E_SHR : E_SAR, i->size, E_V0, E_V0, 1);
	e_v(t, E_VANDN, 0, E_V1, i->rn, i->rm);
	return e_v(t, E_VSUB, i->size, i->rd, E_V0, E_V1) && done(t, i->q, 0, i->rd);
}

/* What any has, less half of what only one has. */
bool trans_RHADD_v(struct trans *t, const struct a64_RHADD_v *i)
{
	if (!e_has_vectors())
		return false;
	if (i->u && e_v(t, E_VAVGU, i->size, i->rd, i->rn, i->rm))
		return done(t, i->q, 0, i->rd);
	e_v(t, E_VXOR, 0, E_V0, i->rn, i->rm);
	e_vshifti(t, i->u ? E_SHR : E_SAR, i->size, E_V0, E_V0, 1);
	e_v(t, E_VOR, 0, E_V1, i->rn, i->rm);
	return e_v(t, E_VSUB, i->size, i->rd, E_V1, E_V0) && done(t, i->q, 0, i->rd);
}

/* d = d op2 (n op m) */
static bool accumulate(struct trans *t, enum e_vop op, unsigned lg, unsigned n, unsigned m,
		       unsigned d, enum e_vop op2)
{
	return e_v(t, op, lg, E_V0, n, m) && e_v(t, op2, lg, d, d, E_V0);
}

bool trans_MLA_v(struct trans *t, const struct a64_MLA_v *i)
{
	return e_has_vectors() && accumulate(t, E_VMUL, i->size, i->rn, i->rm, i->rd, E_VADD) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_MLS_v(struct trans *t, const struct a64_MLS_v *i)
{
	return e_has_vectors() && accumulate(t, E_VMUL, i->size, i->rn, i->rm, i->rd, E_VSUB) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_ABA_v(struct trans *t, const struct a64_ABA_v *i)
{
	return e_has_vectors() &&
	       accumulate(t, i->u ? E_VABDU : E_VABD, i->size, i->rn, i->rm, i->rd, E_VADD) &&
	       done(t, i->q, 0, i->rd);
}

/* BSL, BIT and BIF: base ^ ((base ^ other) & mask), or & ~mask. */
static void select_bits(struct trans *t, const struct a64_LOGIC_v *i)
{
	unsigned base = i->opc == 1 ? i->rm : i->rd, mask = i->opc == 1 ? i->rd : i->rm;

	e_v(t, E_VXOR, 0, E_V0, base, i->rn);
	if (i->opc == 3)
		e_v(t, E_VANDN, 0, E_V0, mask, E_V0);
	else
		e_v(t, E_VAND, 0, E_V0, E_V0, mask);
	e_v(t, E_VXOR, 0, i->rd, base, E_V0);
}

/* BIC and ORN have their own opc; EOR, BSL, BIT and BIF have u. */
bool trans_LOGIC_v(struct trans *t, const struct a64_LOGIC_v *i)
{
	if (!e_has_vectors())
		return false;
	switch (i->u << 2 | i->opc) {
	case 0: e_v(t, E_VAND, 0, i->rd, i->rn, i->rm); break;
	case 1: e_v(t, E_VANDN, 0, i->rd, i->rm, i->rn); break;
	case 2:
		if (i->rn == i->rm)
			e_vmov(t, i->rd, i->rn);
		else
			e_v(t, E_VOR, 0, i->rd, i->rn, i->rm);
		break;
	case 3:
		e_v1(t, E_VNOT, 0, E_V0, i->rm);
		e_v(t, E_VOR, 0, i->rd, i->rn, E_V0);
		break;
	case 4: e_v(t, E_VXOR, 0, i->rd, i->rn, i->rm); break;
	default: select_bits(t, i); break;
	}
	return done(t, i->q, 0, i->rd);
}

/* Neighbours: even elements of both operands op odd ones. */
static bool pairs(struct trans *t, enum e_vop op, const struct a64_ADDP_v *i)
{
	unsigned n = i->rn, m = i->rm;

	if (!e_has_vectors() || i->size == 3)
		return false;
	if (!i->q) {
		e_v(t, E_VLOWS, 0, E_V1, i->rn, i->rm);
		n = m = E_V1;
	}
	e_v(t, E_VUZP1, i->size, E_V0, n, m);
	e_v(t, E_VUZP2, i->size, E_V1, n, m);
	return e_v(t, op, i->size, i->rd, E_V0, E_V1) && done(t, i->q, 0, i->rd);
}

bool trans_ADDP_v(struct trans *t, const struct a64_ADDP_v *i)
{
	return pairs(t, E_VADD, i);
}

bool trans_MAXP_v(struct trans *t, const struct a64_MAXP_v *i)
{
	struct a64_ADDP_v same = { i->q, i->size, i->rm, i->rn, i->rd };

	return pairs(t, i->u ? E_VMAXU : E_VMAX, &same);
}

bool trans_MINP_v(struct trans *t, const struct a64_MINP_v *i)
{
	struct a64_ADDP_v same = { i->q, i->size, i->rm, i->rn, i->rd };

	return pairs(t, i->u ? E_VMINU : E_VMIN, &same);
}

bool trans_ADDP_s(struct trans *t, const struct a64_ADDP_s *i)
{
	if (!e_has_vectors())
		return false;
	e_vdup(t, 3, E_V0, i->rn, 1);
	return e_v(t, E_VADD, 3, i->rd, i->rn, E_V0) && done(t, 0, 0, i->rd);
}

/* ---- two registers ---- */

bool trans_REV64_v(struct trans *t, const struct a64_REV64_v *i)
{
	return e_has_vectors() && e_v1(t, E_VREV64, i->size, i->rd, i->rn) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_REV32_v(struct trans *t, const struct a64_REV32_v *i)
{
	return e_has_vectors() && e_v1(t, E_VREV32, i->size, i->rd, i->rn) &&
	       done(t, i->q, 0, i->rd);
}

#define ONE(name, op, lg, s)                                                                       \
	bool trans_##name(struct trans *t, const struct a64_##name *i)                             \
	{                                                                                          \
		return e_has_vectors() && e_v1(t, op, lg, i->rd, i->rn) &&                         \
		       done(t, i->q, s, i->rd);                                                    \
	}

ONE(REV16_v, E_VREV16, 0, 0)
ONE(CNT_v, E_VCNT, 0, 0)
ONE(NOT_v, E_VNOT, 0, 0)
ONE(RBIT_v, E_VRBIT, 0, 0)
ONE(ABS_v, E_VABS, i->size, i->s)

bool trans_NEG_v(struct trans *t, const struct a64_NEG_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vmovi(t, E_V0, 0, 0);
	return e_v(t, E_VSUB, i->size, i->rd, E_V0, i->rn) && done(t, i->q, i->s, i->rd);
}

/* GT, GE, EQ, LE and LT of zero. */
bool trans_CMZ_v(struct trans *t, const struct a64_CMZ_v *i)
{
	static const u8 op[] = { E_VGT, E_VGE, E_VEQ, E_VGE, E_VGT };
	unsigned which = i->op << 1 | i->u;
	bool swap = which >= 3;

	if (!e_has_vectors())
		return false;
	e_vmovi(t, E_V0, 0, 0);
	return e_v(t, (enum e_vop)op[which], i->size, i->rd, swap ? E_V0 : i->rn,
		   swap ? i->rn : E_V0) &&
	       done(t, i->q, i->s, i->rd);
}

bool trans_ADDLP_v(struct trans *t, const struct a64_ADDLP_v *i)
{
	return e_has_vectors() && e_vaddlp(t, !i->u, i->size, i->rd, i->rn) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_ADALP_v(struct trans *t, const struct a64_ADALP_v *i)
{
	return e_has_vectors() && e_vaddlp(t, !i->u, i->size, E_V0, i->rn) &&
	       e_v(t, E_VADD, i->size + 1, i->rd, i->rd, E_V0) && done(t, i->q, 0, i->rd);
}

/* ---- across the elements ---- */

/* Fold the vector in halves until one element is left; 8 bytes count twice, which is no matter. */
static bool fold(struct trans *t, enum e_vop op, unsigned q, unsigned lg, unsigned d, unsigned n)
{
	if (q)
		e_vmov(t, E_V0, n);
	else
		e_v(t, E_VLOWS, 0, E_V0, n, n);
	for (unsigned bytes = q ? 8 : 4; bytes >= 1u << lg; bytes /= 2) {
		e_vext(t, E_V1, E_V0, E_V0, bytes);
		e_v(t, op, lg, E_V0, E_V0, E_V1);
	}
	e_vfirst(t, lg, d, E_V0);
	return true;
}

bool trans_MAXV_v(struct trans *t, const struct a64_MAXV_v *i)
{
	return e_has_vectors() && fold(t, i->u ? E_VMAXU : E_VMAX, i->q, i->size, i->rd, i->rn);
}

bool trans_MINV_v(struct trans *t, const struct a64_MINV_v *i)
{
	return e_has_vectors() && fold(t, i->u ? E_VMINU : E_VMIN, i->q, i->size, i->rd, i->rn);
}

bool trans_ADDV_v(struct trans *t, const struct a64_ADDV_v *i)
{
	if (!e_has_vectors())
		return false;
	if (i->size)
		return fold(t, E_VADD, i->q, i->size, i->rd, i->rn);
	e_vsum8(t, E_V0, harmless(t, i->q, i->rn, E_V0));
	e_vfirst(t, 0, i->rd, E_V0);
	return true;
}

bool trans_ADDLV_v(struct trans *t, const struct a64_ADDLV_v *i)
{
	if (!e_has_vectors() || (!i->u && i->size == 0))
		return false;
	if (i->size == 0) {
		e_vsum8(t, i->rd, harmless(t, i->q, i->rn, E_V0));
		return true;
	}
	e_vaddlp(t, !i->u, i->size, E_V0, harmless(t, i->q, i->rn, E_V0));
	return fold(t, E_VADD, 1, i->size + 1, i->rd, E_V0);
}

/* ---- shift by a constant ---- */

void vec_shift_right(struct trans *t, bool sign, bool round, unsigned lg, unsigned d, unsigned a,
		     unsigned n)
{
	unsigned bits = 8u << lg;

	if (round) {
		e_vshifti(t, E_SHL, lg, E_V0, a, bits - n);
		e_vshifti(t, E_SHR, lg, E_V0, E_V0, bits - 1);
	}
	e_vshifti(t, sign ? E_SAR : E_SHR, lg, d, a, n);
	if (round)
		e_v(t, E_VADD, lg, d, d, E_V0);
}

bool trans_SHR_i(struct trans *t, const struct a64_SHR_i *i)
{
	if (!e_has_vectors())
		return false;
	vec_shift_right(t, !i->u, false, vec_imm_size(i->imm), i->rd, i->rn, vec_imm_right(i->imm));
	return done(t, i->q, i->s, i->rd);
}

bool trans_RSHR_i(struct trans *t, const struct a64_RSHR_i *i)
{
	if (!e_has_vectors())
		return false;
	vec_shift_right(t, !i->u, true, vec_imm_size(i->imm), i->rd, i->rn, vec_imm_right(i->imm));
	return done(t, i->q, i->s, i->rd);
}

static bool shift_add(struct trans *t, const struct a64_SHR_i *i, bool round)
{
	unsigned lg = vec_imm_size(i->imm);

	if (!e_has_vectors())
		return false;
	vec_shift_right(t, !i->u, round, lg, E_V1, i->rn, vec_imm_right(i->imm));
	return e_v(t, E_VADD, lg, i->rd, i->rd, E_V1) && done(t, i->q, i->s, i->rd);
}

bool trans_SRA_i(struct trans *t, const struct a64_SRA_i *i)
{
	struct a64_SHR_i same = { i->q, i->u, i->s, i->imm, i->rn, i->rd };

	return shift_add(t, &same, false);
}

bool trans_RSRA_i(struct trans *t, const struct a64_RSRA_i *i)
{
	struct a64_SHR_i same = { i->q, i->u, i->s, i->imm, i->rn, i->rd };

	return shift_add(t, &same, true);
}

bool trans_SHL_i(struct trans *t, const struct a64_SHL_i *i)
{
	if (!e_has_vectors())
		return false;
	e_vshifti(t, E_SHL, vec_imm_size(i->imm), i->rd, i->rn, vec_imm_left(i->imm));
	return done(t, i->q, i->s, i->rd);
}

/* The lower n bits of d stay. */
bool trans_SLI_i(struct trans *t, const struct a64_SLI_i *i)
{
	unsigned lg = vec_imm_size(i->imm), n = vec_imm_left(i->imm), bits = 8u << lg;

	if (!e_has_vectors())
		return false;
	e_vshifti(t, E_SHL, lg, E_V1, i->rd, bits - n);
	e_vshifti(t, E_SHR, lg, E_V1, E_V1, bits - n);
	e_vshifti(t, E_SHL, lg, E_V0, i->rn, n);
	return e_v(t, E_VOR, 0, i->rd, E_V0, E_V1) && done(t, i->q, i->s, i->rd);
}

/* The upper n bits of d stay. */
bool trans_SRI_i(struct trans *t, const struct a64_SRI_i *i)
{
	unsigned lg = vec_imm_size(i->imm), n = vec_imm_right(i->imm), bits = 8u << lg;

	if (!e_has_vectors())
		return false;
	e_vshifti(t, E_SHR, lg, E_V1, i->rd, bits - n);
	e_vshifti(t, E_SHL, lg, E_V1, E_V1, bits - n);
	e_vshifti(t, E_SHR, lg, E_V0, i->rn, n);
	return e_v(t, E_VOR, 0, i->rd, E_V0, E_V1) && done(t, i->q, i->s, i->rd);
}

/* ---- narrowing and widening ---- */

bool vec_put_narrow(struct trans *t, unsigned q, unsigned d)
{
	if (q)
		e_v(t, E_VLOWS, 0, d, d, E_V0);
	else
		e_vmov(t, d, E_V0);
	return true;
}

bool trans_XTN_v(struct trans *t, const struct a64_XTN_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vnarrow(t, i->size, i->q ? E_V0 : i->rd, i->rn);
	return !i->q || vec_put_narrow(t, i->q, i->rd);
}

bool trans_SHRN_i(struct trans *t, const struct a64_SHRN_i *i)
{
	unsigned lg = vec_imm_size(i->imm);

	if (!e_has_vectors())
		return false;
	vec_shift_right(t, false, i->r, lg + 1, E_V1, i->rn, vec_imm_right(i->imm));
	e_vnarrow(t, lg, E_V0, E_V1);
	return vec_put_narrow(t, i->q, i->rd);
}

bool trans_SHLL_i(struct trans *t, const struct a64_SHLL_i *i)
{
	unsigned lg = vec_imm_size(i->imm), n = vec_imm_left(i->imm);

	if (!e_has_vectors())
		return false;
	e_vwiden(t, !i->u, lg, i->rd, i->rn, i->q);
	if (n)
		e_vshifti(t, E_SHL, lg + 1, i->rd, i->rd, n);
	return true;
}

bool trans_SHLL_v(struct trans *t, const struct a64_SHLL_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vwiden(t, false, i->size, i->rd, i->rn, i->q);
	e_vshifti(t, E_SHL, i->size + 1, i->rd, i->rd, 8u << i->size);
	return true;
}

/* E_V0, E_V1 = both operands at twice the size */
static void widen_both(struct trans *t, const struct a64_ADDL_v *i)
{
	e_vwiden(t, !i->u, i->size, E_V0, i->rn, i->q);
	e_vwiden(t, !i->u, i->size, E_V1, i->rm, i->q);
}

bool trans_ADDL_v(struct trans *t, const struct a64_ADDL_v *i)
{
	if (!e_has_vectors())
		return false;
	widen_both(t, i);
	return e_v(t, E_VADD, i->size + 1, i->rd, E_V0, E_V1);
}

bool trans_SUBL_v(struct trans *t, const struct a64_SUBL_v *i)
{
	if (!e_has_vectors())
		return false;
	widen_both(t, &(struct a64_ADDL_v){ i->q, i->u, i->size, i->rm, i->rn, i->rd });
	return e_v(t, E_VSUB, i->size + 1, i->rd, E_V0, E_V1);
}

bool trans_ADDW_v(struct trans *t, const struct a64_ADDW_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vwiden(t, !i->u, i->size, E_V1, i->rm, i->q);
	return e_v(t, E_VADD, i->size + 1, i->rd, i->rn, E_V1);
}

bool trans_SUBW_v(struct trans *t, const struct a64_SUBW_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vwiden(t, !i->u, i->size, E_V1, i->rm, i->q);
	return e_v(t, E_VSUB, i->size + 1, i->rd, i->rn, E_V1);
}

/* Differences of what was narrower are exact at twice the size, read as signed. */
static bool difference_long(struct trans *t, const struct a64_ADDL_v *i, bool add)
{
	if (!e_has_vectors())
		return false;
	widen_both(t, i);
	e_v(t, E_VSUB, i->size + 1, E_V0, E_V0, E_V1);
	e_v1(t, E_VABS, i->size + 1, add ? E_V0 : i->rd, E_V0);
	return !add || e_v(t, E_VADD, i->size + 1, i->rd, i->rd, E_V0);
}

bool trans_ABDL_v(struct trans *t, const struct a64_ABDL_v *i)
{
	struct a64_ADDL_v same = { i->q, i->u, i->size, i->rm, i->rn, i->rd };

	return difference_long(t, &same, false);
}

bool trans_ABAL_v(struct trans *t, const struct a64_ABAL_v *i)
{
	struct a64_ADDL_v same = { i->q, i->u, i->size, i->rm, i->rn, i->rd };

	return difference_long(t, &same, true);
}

/* E_V0 = products at twice the size of the widened operands E_V0 and E_V1 */
static void multiply_wide(struct trans *t, bool sign, unsigned lg)
{
	if (lg == 2) /* words in doublewords */
		e_v(t, sign ? E_VMULL : E_VMULLU, 2, E_V0, E_V0, E_V1);
	else
		e_v(t, E_VMUL, lg + 1, E_V0, E_V0, E_V1);
}

void vec_element(struct trans *t, unsigned size, unsigned hlm, unsigned rm)
{
	if (size == 1)
		e_vdup(t, 1, E_V1, rm, hlm);
	else
		e_vdup(t, 2, E_V1, rm | (hlm & 1) << 4, hlm >> 1);
}

enum product { PRODUCT_SET, PRODUCT_ADD, PRODUCT_SUB };

static bool put_product(struct trans *t, enum product how, unsigned lg, unsigned d)
{
	if (how == PRODUCT_SET)
		e_vmov(t, d, E_V0);
	else
		e_v(t, how == PRODUCT_ADD ? E_VADD : E_VSUB, lg, d, d, E_V0);
	return true;
}

#define MULTIPLY_LONG(name, how)                                                                   \
	bool trans_##name##_v(struct trans *t, const struct a64_##name##_v *i)                     \
	{                                                                                          \
		struct a64_ADDL_v same = { i->q, i->u, i->size, i->rm, i->rn, i->rd };             \
                                                                                                   \
		if (!e_has_vectors())                                                              \
			return false;                                                              \
		widen_both(t, &same);                                                              \
		multiply_wide(t, !i->u, i->size);                                                  \
		return put_product(t, how, i->size + 1, i->rd);                                    \
	}                                                                                          \
	bool trans_##name##_e(struct trans *t, const struct a64_##name##_e *i)                     \
	{                                                                                          \
		if (!e_has_vectors())                                                              \
			return false;                                                              \
		VEC_ELEMENT(t, i);                                                                 \
		e_vwiden(t, !i->u, i->size, E_V0, i->rn, i->q);                                    \
		e_vwiden(t, !i->u, i->size, E_V1, E_V1, 0);                                        \
		multiply_wide(t, !i->u, i->size);                                                  \
		return put_product(t, how, i->size + 1, i->rd);                                    \
	}

MULTIPLY_LONG(MULL, PRODUCT_SET)
MULTIPLY_LONG(MLAL, PRODUCT_ADD)
MULTIPLY_LONG(MLSL, PRODUCT_SUB)

/* ADDHN, SUBHN: upper halves, rounded if u. */
static bool high_half(struct trans *t, const struct a64_ADDL_v *i, enum e_vop op)
{
	unsigned lg = i->size;

	if (!e_has_vectors())
		return false;
	e_v(t, op, lg + 1, E_V1, i->rn, i->rm);
	vec_shift_right(t, false, i->u, lg + 1, E_V1, E_V1, 8u << lg);
	e_vnarrow(t, lg, E_V0, E_V1);
	return vec_put_narrow(t, i->q, i->rd);
}

bool trans_ADDHN_v(struct trans *t, const struct a64_ADDHN_v *i)
{
	struct a64_ADDL_v same = { i->q, i->u, i->size, i->rm, i->rn, i->rd };

	return high_half(t, &same, E_VADD);
}

bool trans_SUBHN_v(struct trans *t, const struct a64_SUBHN_v *i)
{
	struct a64_ADDL_v same = { i->q, i->u, i->size, i->rm, i->rn, i->rd };

	return high_half(t, &same, E_VSUB);
}

/* ---- products by element, dot products ---- */

bool trans_MUL_e(struct trans *t, const struct a64_MUL_e *i)
{
	if (!e_has_vectors())
		return false;
	VEC_ELEMENT(t, i);
	return e_v(t, E_VMUL, i->size, i->rd, i->rn, E_V1) && done(t, i->q, 0, i->rd);
}

bool trans_MLA_e(struct trans *t, const struct a64_MLA_e *i)
{
	if (!e_has_vectors())
		return false;
	VEC_ELEMENT(t, i);
	return accumulate(t, E_VMUL, i->size, i->rn, E_V1, i->rd, E_VADD) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_MLS_e(struct trans *t, const struct a64_MLS_e *i)
{
	if (!e_has_vectors())
		return false;
	VEC_ELEMENT(t, i);
	return accumulate(t, E_VMUL, i->size, i->rn, E_V1, i->rd, E_VSUB) &&
	       done(t, i->q, 0, i->rd);
}

bool trans_DOT_v(struct trans *t, const struct a64_DOT_v *i)
{
	if (!e_has_vectors())
		return false;
	e_vdot(t, !i->u, i->rd, i->rn, i->rm);
	return done(t, i->q, 0, i->rd);
}

bool trans_DOT_e(struct trans *t, const struct a64_DOT_e *i)
{
	if (!e_has_vectors())
		return false;
	vec_element(t, 2, i->h << 2 | i->l << 1 | i->m, i->rm);
	e_vdot(t, !i->u, i->rd, i->rn, E_V1);
	return done(t, i->q, 0, i->rd);
}

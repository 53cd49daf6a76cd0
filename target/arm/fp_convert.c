/*
 * target/arm/fp_convert.c - FP conversions: between formats, to and from integers and fixed-point
 * numbers, to integral values (Arm DDI 0487, J1.1: FPConvert(), FPToFixed(), FixedToFP(),
 * FPRoundInt(), FPRoundIntN(), FPToFixedJS(), BFDotAdd()).
 */
#include "target/arm/fp-internal.h"

/* ---- formats ---- */

/* The payload keeps its upper bits. */
static u64 convert_nan(struct fp_env *env, unsigned from, unsigned to, u64 a,
		       const struct fp_num *n)
{
	const struct fp_format *in = &fp_formats[from], *out = &fp_formats[to];
	u64 payload;

	if (n->class == FP_CLASS_SNAN || to == FP_ALT_HALF)
		env->fpsr |= FPSR_IOC;
	if (to == FP_ALT_HALF)
		return fp_zero(to, n->sign);
	if (env->fpcr & FPCR_DN)
		return fp_default_nan(to);
	payload = (a & (((u64)1 << in->frac_bits) - 1)) << (63 - in->frac_bits);
	return fp_infinity(to, n->sign) | (u64)1 << (out->frac_bits - 1) |
	       payload >> (63 - out->frac_bits);
}

u64 fp_convert(struct fp_env *env, unsigned from, unsigned to, u64 a, enum fp_rounding mode)
{
	struct fp_env local = { env->fpcr & ~FPCR_FZ16, 0 };
	struct fp_num n;
	u64 r;

	if (env->fpcr & FPCR_AHP) {
		from = from == FP_HALF ? FP_ALT_HALF : from;
		to = to == FP_HALF ? FP_ALT_HALF : to;
	}
	n = fp_unpack(&local, from, a);
	switch (n.class) {
	case FP_CLASS_ZERO: r = fp_zero(to, n.sign); break;
	case FP_CLASS_FINITE: r = fp_pack(&local, to, &n, mode); break;
	case FP_CLASS_INF:
		if (to == FP_ALT_HALF)
			local.fpsr |= FPSR_IOC;
		r = to == FP_ALT_HALF ? fp_zero(to, n.sign) | 0x7fff : fp_infinity(to, n.sign);
		break;
	default: r = convert_nan(&local, from, to, a, &n); break;
	}
	env->fpsr |= local.fpsr;
	return r;
}

/* ---- integers ---- */

/* |n| * 2^@shift rounded to an integer below 2^64; @rest: some of it was cut off. */
static u64 magnitude(const struct fp_num *n, int shift, enum fp_rounding mode, bool *rest)
{
	int e = n->exp + shift;
	u64 whole = e < 0 ? 0 : n->frac >> (63 - e);
	u64 part = e < 0 ? fp_jam(n->frac, -1 - e) : e < 63 ? n->frac << (e + 1) : 0;
	const u64 half = (u64)1 << 63;

	*rest = part != 0;
	switch (mode) {
	case FP_NEAREST: return whole + (part > half || (part == half && whole & 1));
	case FP_AWAY: return whole + (part >= half);
	case FP_UP: return whole + (part && !n->sign);
	case FP_DOWN: return whole + (part && n->sign);
	default: return whole;
	}
}

static u64 width_mask(unsigned bits)
{
	return ~(u64)0 >> (64 - bits);
}

/* What lies nearest to a number out of range. */
static u64 saturated(struct fp_env *env, bool sign, struct fp_fixed fixed)
{
	u64 top = (u64)1 << (fixed.bits - 1);

	env->fpsr |= FPSR_IOC;
	if (fixed.unsign)
		return sign ? 0 : width_mask(fixed.bits);
	return sign ? top : top - 1;
}

u64 fp_to_fixed(struct fp_env *env, unsigned lg, u64 a, struct fp_fixed fixed,
		enum fp_rounding mode)
{
	struct fp_num n = fp_unpack(env, lg, a);
	u64 limit, v;
	bool rest;

	if (fp_is_nan(&n)) {
		env->fpsr |= FPSR_IOC;
		return 0;
	}
	if (n.class == FP_CLASS_ZERO)
		return 0;
	if (n.class == FP_CLASS_INF || n.exp + fixed.fraction > 63)
		return saturated(env, n.sign, fixed);
	v = magnitude(&n, fixed.fraction, mode, &rest);
	if (fixed.unsign)
		limit = n.sign ? 0 : width_mask(fixed.bits);
	else
		limit = ((u64)1 << (fixed.bits - 1)) - !n.sign;
	if (v > limit)
		return saturated(env, n.sign, fixed);
	if (rest)
		env->fpsr |= FPSR_IXC;
	return (n.sign ? -v : v) & width_mask(fixed.bits);
}

u64 fp_from_fixed(struct fp_env *env, unsigned lg, u64 v, struct fp_fixed fixed)
{
	struct fp_num n = { .class = FP_CLASS_FINITE };
	unsigned shift;

	v &= width_mask(fixed.bits);
	if (!fixed.unsign && v >> (fixed.bits - 1)) {
		n.sign = true;
		v = -v & width_mask(fixed.bits);
	}
	if (!v)
		return 0;
	shift = __builtin_clzll(v);
	n.frac = v << shift;
	n.exp = 63 - (s32)shift - fixed.fraction;
	return fp_pack(env, lg, &n, fp_rmode(env));
}

/* ---- integral values ---- */

/* @v * 2^0 as an FP number; exact by construction. */
static u64 from_magnitude(struct fp_env *env, unsigned lg, u64 v, bool sign)
{
	struct fp_num n = { FP_CLASS_FINITE, sign, 0, 0 };
	unsigned shift;

	if (!v)
		return fp_zero(lg, sign);
	shift = __builtin_clzll(v);
	n.frac = v << shift;
	n.exp = 63 - (s32)shift;
	return fp_pack(env, lg, &n, FP_NEAREST);
}

u64 fp_round_int(struct fp_env *env, unsigned lg, u64 a, enum fp_rounding mode, bool exact)
{
	struct fp_num n = fp_unpack(env, lg, a);
	bool rest;
	u64 v;

	if (fp_is_nan(&n))
		return fp_quiet(env, lg, n.class, a);
	if (n.class == FP_CLASS_ZERO)
		return fp_zero(lg, n.sign);
	if (n.class == FP_CLASS_INF || n.exp >= fp_formats[lg].frac_bits)
		return a;
	v = magnitude(&n, 0, mode, &rest);
	if (rest && exact)
		env->fpsr |= FPSR_IXC;
	return from_magnitude(env, lg, v, n.sign);
}

u64 fp_round_int_n(struct fp_env *env, unsigned lg, u64 a, enum fp_rounding mode, unsigned bits)
{
	struct fp_num n = fp_unpack(env, lg, a);
	u64 limit = ((u64)1 << (bits - 1)) - !n.sign, v;
	bool rest;

	if (n.class == FP_CLASS_ZERO)
		return fp_zero(lg, n.sign);
	if (n.class == FP_CLASS_FINITE && n.exp < 64) {
		v = magnitude(&n, 0, mode, &rest);
		if (v <= limit) {
			if (rest)
				env->fpsr |= FPSR_IXC;
			return from_magnitude(env, lg, v, n.sign);
		}
	}
	env->fpsr |= FPSR_IOC;
	return from_magnitude(env, lg, (u64)1 << (bits - 1), true);
}

u32 fp_to_js(struct fp_env *env, u64 a, bool *exact)
{
	struct fp_num n = fp_unpack(env, FP_DOUBLE, a);
	bool rest = false;
	u64 v = 0;

	*exact = false;
	if (n.class == FP_CLASS_ZERO) {
		*exact = !n.sign;
		return 0;
	}
	if (n.class != FP_CLASS_FINITE) {
		env->fpsr |= FPSR_IOC;
		return 0;
	}
	if (n.exp < 64)
		v = magnitude(&n, 0, FP_ZERO_MODE, &rest);
	else if (n.exp < 64 + 32)
		v = n.frac << (n.exp - 63);
	if (n.exp >= 64 || v > ((u64)1 << 31) - !n.sign)
		env->fpsr |= FPSR_IOC;
	else if (rest)
		env->fpsr |= FPSR_IXC;
	else
		*exact = true;
	return n.sign ? -v : v;
}

/* ---- bfloat16 dot products: their own mode, and no exceptions ---- */

/* @op rounded to odd: truncated, and the lowest bit set if that lost something. What is too large
 * becomes infinity all the same. */
static u32 round_to_odd(fp_binary *op, u32 a, u32 b)
{
	struct fp_env env = { FPCR_DN | FPCR_FZ | (u32)FP_ZERO_MODE << FPCR_RMODE_SHIFT, 0 };
	u32 r = op(&env, FP_SINGLE, a, b);

	if (env.fpsr & FPSR_OFC)
		return r + 1;
	return r | !!(env.fpsr & FPSR_IXC);
}

u32 fp_bfdot(u32 addend, u32 a, u32 b)
{
	u32 low = round_to_odd(fp_mul, a << 16, b << 16);
	u32 high = round_to_odd(fp_mul, a & 0xffff0000, b & 0xffff0000);

	return round_to_odd(fp_add, addend, round_to_odd(fp_add, low, high));
}

/*
 * target/arm/fp_estimate.c - reciprocal and square root estimates and their Newton-Raphson steps
 * (Arm DDI 0487, J1.1: FPRecipEstimate(), FPRSqrtEstimate(), FPRecpX(), FPRecipStepFused(),
 * FPRSqrtStepFused(), UnsignedRecipEstimate()).
 */
#include "target/arm/fp-internal.h"

/* RecipEstimate(): @a is 256 to 511 and means 0.5 to 1.0. */
static unsigned recip_estimate(unsigned a)
{
	unsigned b = (1u << 19) / (2 * a + 1);

	return (b + 1) / 2;
}

/* RecipSqrtEstimate(): @a is 128 to 511 and means 0.25 to 1.0. */
static unsigned rsqrt_estimate(unsigned a)
{
	unsigned b = 512;

	a = a < 256 ? 2 * a + 1 : (a | 1) * 2;
	while ((u64)a * (b + 1) * (b + 1) < (1u << 28))
		b++;
	return (b + 1) / 2;
}

u32 fp_recpe_int(u32 a)
{
	return a >> 31 ? recip_estimate(a >> 23) << 23 : ~0u;
}

u32 fp_rsqrte_int(u32 a)
{
	return a >> 30 ? rsqrt_estimate(a >> 23) << 23 : ~0u;
}

/* 1/x is too large for the format. */
static u64 recip_overflow(struct fp_env *env, unsigned lg, bool sign)
{
	enum fp_rounding mode = fp_rmode(env);
	bool to_inf = mode == FP_NEAREST || mode == (sign ? FP_DOWN : FP_UP);

	env->fpsr |= FPSR_OFC | FPSR_IXC;
	return fp_infinity(lg, sign) - !to_inf;
}

u64 fp_recpe(struct fp_env *env, unsigned lg, u64 a)
{
	const struct fp_format *f = &fp_formats[lg];
	struct fp_num n = fp_unpack(env, lg, a);
	s32 exp;
	u64 frac;

	if (fp_is_nan(&n))
		return fp_quiet(env, lg, n.class, a);
	if (n.class == FP_CLASS_INF)
		return fp_zero(lg, n.sign);
	if (n.class == FP_CLASS_ZERO) {
		env->fpsr |= FPSR_DZC;
		return fp_infinity(lg, n.sign);
	}
	if (n.exp < -f->bias - 1)
		return recip_overflow(env, lg, n.sign);
	if (env->fpcr & f->flush && n.exp >= f->bias - 1) {
		env->fpsr |= FPSR_UFC;
		return fp_zero(lg, n.sign);
	}
	/* fraction of the result with its leading 1 in bit 63 */
	frac = (u64)recip_estimate(n.frac >> 55) << 55;
	exp = f->bias - 1 - n.exp; /* biased */
	if (exp < 1)
		frac >>= 1 - exp;
	frac = frac >> (63 - f->frac_bits) & (((u64)1 << f->frac_bits) - 1);
	return fp_zero(lg, n.sign) | (u64)MAX(exp, 0) << f->frac_bits | frac;
}

u64 fp_rsqrte(struct fp_env *env, unsigned lg, u64 a)
{
	const struct fp_format *f = &fp_formats[lg];
	struct fp_num n = fp_unpack(env, lg, a);
	unsigned odd;
	u64 estimate;

	if (fp_is_nan(&n))
		return fp_quiet(env, lg, n.class, a);
	if (n.class == FP_CLASS_ZERO) {
		env->fpsr |= FPSR_DZC;
		return fp_infinity(lg, n.sign);
	}
	if (n.sign)
		return fp_invalid(env, lg);
	if (n.class == FP_CLASS_INF)
		return 0;
	/* biases are odd: an odd exponent is an even biased one */
	odd = n.exp & 1;
	estimate = rsqrt_estimate(odd ? n.frac >> 55 : n.frac >> 56);
	return (u64)(f->bias - 1 - (n.exp - (s32)odd) / 2) << f->frac_bits |
	       (estimate & 0xff) << (f->frac_bits - 8);
}

u64 fp_recpx(struct fp_env *env, unsigned lg, u64 a)
{
	const struct fp_format *f = &fp_formats[lg];
	struct fp_num n = fp_unpack(env, lg, a);
	u64 exp = a >> f->frac_bits & f->max_exp;

	if (fp_is_nan(&n))
		return fp_quiet(env, lg, n.class, a);
	exp = exp ? ~exp & f->max_exp : (u64)f->max_exp - 1;
	return fp_zero(lg, n.sign) | exp << f->frac_bits;
}

/* base - a * b, the latter halved if @halve; infinity times zero counts as zero. */
static u64 step(struct fp_env *env, unsigned lg, u64 a, u64 b, unsigned base)
{
	static const u64 two[] = { 0, 0x4000, 0x40000000, 0x4000000000000000 };
	static const u64 three[] = { 0, 0x4200, 0x40400000, 0x4008000000000000 };
	static const u64 one_and_half[] = { 0, 0x3e00, 0x3fc00000, 0x3ff8000000000000 };
	u64 addend = base == 2 ? two[lg] : three[lg];
	struct fp_num na = fp_unpack(env, lg, a), nb = fp_unpack(env, lg, b);
	bool zero = na.class == FP_CLASS_ZERO || nb.class == FP_CLASS_ZERO;
	bool numbers = !fp_is_nan(&na) && !fp_is_nan(&nb);

	if (numbers && zero)
		return base == 2 ? two[lg] : one_and_half[lg];
	if (numbers && na.class == FP_CLASS_FINITE && nb.class == FP_CLASS_FINITE) {
		struct fp_product p = { fp_unpack(env, lg, addend), na, nb, base == 3 };

		p.a.sign ^= 1;
		return fp_fused(env, lg, &p);
	}
	return fp_muladd(env, lg, addend, fp_neg(lg, a), b); /* infinite or a NaN */
}

u64 fp_recps(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return step(env, lg, a, b, 2);
}

u64 fp_rsqrts(struct fp_env *env, unsigned lg, u64 a, u64 b)
{
	return step(env, lg, a, b, 3);
}

/*
 * target/arm/fp-internal.h - numbers taken apart, shared by the files of the FP arithmetic.
 */
#ifndef TARGET_ARM_FP_INTERNAL_H
#define TARGET_ARM_FP_INTERNAL_H

#include "target/arm/fp.h"

enum fp_class { FP_CLASS_ZERO, FP_CLASS_FINITE, FP_CLASS_INF, FP_CLASS_QNAN, FP_CLASS_SNAN };

struct fp_num {
	enum fp_class class;
	bool sign;
	s32 exp;  /* finite: the value is frac * 2^(exp - 63) */
	u64 frac; /* finite: bit 63 is set */
};

struct fp_format {
	u8 bits, frac_bits;
	s16 bias;
	s16 max_exp; /* biased; the one of infinities and NaNs */
	u32 flush;   /* bit of FPCR that flushes denormals */
};

extern const struct fp_format fp_formats[];

static inline bool fp_is_nan(const struct fp_num *n)
{
	return n->class >= FP_CLASS_QNAN;
}

/* Shift right; bits lost set the lowest one. */
static inline u64 fp_jam(u64 v, unsigned n)
{
	if (n > 63)
		return v != 0;
	return n ? v >> n | (v << (64 - n) != 0) : v;
}

static inline u64 fp_zero(unsigned fmt, bool sign)
{
	return (u64)sign << (fp_formats[fmt].bits - 1);
}

static inline u64 fp_infinity(unsigned fmt, bool sign)
{
	const struct fp_format *f = &fp_formats[fmt];

	return fp_zero(fmt, sign) | (u64)f->max_exp << f->frac_bits;
}

static inline u64 fp_default_nan(unsigned fmt)
{
	const struct fp_format *f = &fp_formats[fmt];

	return fp_infinity(fmt, false) | (u64)1 << (f->frac_bits - 1);
}

static inline u64 fp_invalid(struct fp_env *env, unsigned fmt)
{
	env->fpsr |= FPSR_IOC;
	return fp_default_nan(fmt);
}

/* FPUnpack(): denormals become zero if FPCR says so. */
struct fp_num fp_unpack(struct fp_env *env, unsigned fmt, u64 bits);

/*
 * fp_pack() - FPRound().
 * @n:    finite; the lowest bit of frac stands for any bits below it.
 * @mode: rounding.
 */
u64 fp_pack(struct fp_env *env, unsigned fmt, const struct fp_num *n, enum fp_rounding mode);

/* FPProcessNaN(): @bits is a NaN of class @class. */
u64 fp_quiet(struct fp_env *env, unsigned fmt, enum fp_class class, u64 bits);

/* a * b / 2^@halve + addend, exact before rounding; signs already as they enter the sum. */
struct fp_product {
	struct fp_num addend, a, b;
	bool halve;
};

/* Addition of a product in infinite precision, all three finite or zero and a, b not zero. */
u64 fp_fused(struct fp_env *env, unsigned lg, const struct fp_product *p);

#endif

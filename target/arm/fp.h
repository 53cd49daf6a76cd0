/*
 * target/arm/fp.h - the arithmetic of the floating-point instructions (Arm DDI 0487, A1.5 and the
 * FP functions of J1.1), without the registers.
 *
 * Values are bit patterns in the lower bits of a u64; unused upper bits are 0. All functions
 * round, flush and propagate NaNs as env->fpcr says and add their exceptions to env->fpsr.
 */
#ifndef TARGET_ARM_FP_H
#define TARGET_ARM_FP_H

#include "util/base.h"

#define FPCR_FZ16        (1u << 19)
#define FPCR_RMODE_SHIFT 22
#define FPCR_FZ          (1u << 24)
#define FPCR_DN          (1u << 25)
#define FPCR_AHP         (1u << 26)

#define FPSR_IOC (1u << 0)
#define FPSR_DZC (1u << 1)
#define FPSR_OFC (1u << 2)
#define FPSR_UFC (1u << 3)
#define FPSR_IXC (1u << 4)
#define FPSR_IDC (1u << 7)
#define FPSR_QC  (1u << 27)

/* The first four in the order of FPCR.RMode. */
enum fp_rounding { FP_NEAREST, FP_UP, FP_DOWN, FP_ZERO_MODE, FP_AWAY, FP_ODD };

/* Formats; the middle three are the base-2 logarithm of the size in bytes. */
enum fp_format_id { FP_ALT_HALF, FP_HALF, FP_SINGLE, FP_DOUBLE, FP_BFLOAT };

struct fp_env {
	u32 fpcr, fpsr;
};

static inline enum fp_rounding fp_rmode(const struct fp_env *env)
{
	return env->fpcr >> FPCR_RMODE_SHIFT & 3;
}

typedef u64 fp_unary(struct fp_env *env, unsigned lg, u64 a);
typedef u64 fp_binary(struct fp_env *env, unsigned lg, u64 a, u64 b);
typedef u64 fp_ternary(struct fp_env *env, unsigned lg, u64 addend, u64 a, u64 b);

/* @lg is FP_HALF, FP_SINGLE or FP_DOUBLE in all that follows. */
fp_binary fp_add, fp_sub, fp_mul, fp_nmul, fp_mulx, fp_div, fp_max, fp_min, fp_maxnm, fp_minnm;
fp_binary fp_abd, fp_recps, fp_rsqrts;
fp_unary fp_sqrt, fp_recpe, fp_rsqrte, fp_recpx;
fp_ternary fp_muladd, fp_mulsub; /* addend + a * b, addend + (-a) * b */

/* Comparisons for vectors: all ones or 0. */
fp_binary fp_cmeq, fp_cmge, fp_cmgt, fp_acge, fp_acgt;

static inline u64 fp_sign_bit(unsigned lg)
{
	return (u64)1 << ((8u << lg) - 1);
}

static inline u64 fp_neg(unsigned lg, u64 a)
{
	return a ^ fp_sign_bit(lg);
}

static inline u64 fp_abs(unsigned lg, u64 a)
{
	return a & (fp_sign_bit(lg) - 1);
}

/*
 * fp_compare() - FCMP and FCMPE.
 * @signalling: quiet NaNs are invalid operands too.
 *
 * Return: NZCV, N = 8 to V = 1.
 */
unsigned fp_compare(struct fp_env *env, unsigned lg, u64 a, u64 b, bool signalling);

/*
 * fp_convert() - from one format to another; FZ16 does not apply.
 * @from, @to: enum fp_format_id; for half precision FPCR.AHP chooses the format.
 * @mode: rounding.
 */
u64 fp_convert(struct fp_env *env, unsigned from, unsigned to, u64 a, enum fp_rounding mode);

/* How fp_to_fixed() and fp_from_fixed() see the integer. */
struct fp_fixed {
	u8 bits;     /* 16, 32 or 64 */
	u8 fraction; /* bits behind the binary point */
	bool unsign;
};

/* fp_to_fixed() - round to a fixed-point number, saturated; the result has fixed.bits bits. */
u64 fp_to_fixed(struct fp_env *env, unsigned lg, u64 a, struct fp_fixed fixed,
		enum fp_rounding mode);
u64 fp_from_fixed(struct fp_env *env, unsigned lg, u64 v, struct fp_fixed fixed);

/* fp_round_int() - round to an integral value; @exact: tell by IXC if that changed it. */
u64 fp_round_int(struct fp_env *env, unsigned lg, u64 a, enum fp_rounding mode, bool exact);

/* fp_round_int_n() - FRINT32x and FRINT64x; @bits is 32 or 64. */
u64 fp_round_int_n(struct fp_env *env, unsigned lg, u64 a, enum fp_rounding mode, unsigned bits);

/* fp_to_js() - FJCVTZS: modulo 2^32; @exact becomes the Z flag. */
u32 fp_to_js(struct fp_env *env, u64 a, bool *exact);

/* URECPE and URSQRTE. */
u32 fp_recpe_int(u32 a);
u32 fp_rsqrte_int(u32 a);

/* fp_bfdot() - addend + a0 * b0 + a1 * b1 of the pairs of bfloat16 in @a and @b, as BFDOT. */
u32 fp_bfdot(u32 addend, u32 a, u32 b);

#endif

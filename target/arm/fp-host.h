/*
 * target/arm/fp-host.h - the part of the FP arithmetic that the host's FPU does as it is.
 *
 * In round-to-nearest mode and without flushing a result of the host is right if it is finite
 * and normal: then no exception but inexact can have occurred, and that one is of no interest
 * once FPSR.IXC is set. NaNs, infinities and zeros as results are left to the exact functions.
 * The host must be in its default mode.
 */
#ifndef TARGET_ARM_FP_HOST_H
#define TARGET_ARM_FP_HOST_H

#include <math.h>

#include "target/arm/fp.h"

typedef float fp_vec_single __attribute__((vector_size(16)));
typedef double fp_vec_double __attribute__((vector_size(16)));

static inline bool fp_host_usable(u32 fpcr, u32 fpsr)
{
	return !(fpcr & (3u << FPCR_RMODE_SHIFT | FPCR_FZ)) && fpsr & FPSR_IXC;
}

static inline double fp_as_double(u64 bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline float fp_as_single(u64 bits)
{
	u32 low = bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

static inline u64 fp_of_double(double d)
{
	u64 bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

static inline u64 fp_of_single(float f)
{
	u32 bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* Finite, and so large that it cannot have been tiny before rounding. */
static inline bool fp_host_certain(unsigned lg, u64 bits)
{
	if (lg == FP_DOUBLE)
		return (bits >> 52 & 0x7ff) - 2 < 0x7fd;
	return (bits >> 23 & 0xff) - 2 < 0xfd;
}

/* Result of the host's operation @op on @a and @b if that is certainly right. */
#define FP_HOST_BINARY(name, op)                                                                   \
	static inline bool name(u32 fpcr, u32 fpsr, unsigned lg, u64 a, u64 b, u64 *result)        \
	{                                                                                          \
		if (lg < FP_SINGLE || !fp_host_usable(fpcr, fpsr))                                 \
			return false;                                                              \
		if (lg == FP_DOUBLE)                                                               \
			*result = fp_of_double(fp_as_double(a) op fp_as_double(b));                \
		else                                                                               \
			*result = fp_of_single(fp_as_single(a) op fp_as_single(b));                \
		return fp_host_certain(lg, *result);                                               \
	}

FP_HOST_BINARY(fp_host_add, +)
FP_HOST_BINARY(fp_host_sub, -)
FP_HOST_BINARY(fp_host_mul, *)
FP_HOST_BINARY(fp_host_div, /)

static inline bool fp_host_sqrt(u32 fpcr, u32 fpsr, unsigned lg, u64 a, u64 *result)
{
	if (lg < FP_SINGLE || !fp_host_usable(fpcr, fpsr) || a & fp_sign_bit(lg))
		return false;
	*result = lg == FP_DOUBLE ? fp_of_double(sqrt(fp_as_double(a)))
				  : fp_of_single(sqrtf(fp_as_single(a)));
	return fp_host_certain(lg, *result);
}

static inline bool fp_host_muladd(u32 fpcr, u32 fpsr, unsigned lg, u64 addend, u64 a, u64 b,
				  u64 *result)
{
	if (lg < FP_SINGLE || !fp_host_usable(fpcr, fpsr))
		return false;
	if (lg == FP_DOUBLE)
		*result = fp_of_double(fma(fp_as_double(a), fp_as_double(b), fp_as_double(addend)));
	else
		*result =
			fp_of_single(fmaf(fp_as_single(a), fp_as_single(b), fp_as_single(addend)));
	return fp_host_certain(lg, *result);
}

/* NZCV of a comparison that raises nothing: no NaNs, and no flushing. */
static inline bool fp_host_compare(u32 fpcr, unsigned lg, u64 a, u64 b, unsigned *nzcv)
{
	bool less, equal;

	if (lg < FP_SINGLE || fpcr & FPCR_FZ)
		return false;
	if (lg == FP_DOUBLE) {
		double x = fp_as_double(a), y = fp_as_double(b);

		if (isunordered(x, y))
			return false;
		less = x < y;
		equal = x == y;
	} else {
		float x = fp_as_single(a), y = fp_as_single(b);

		if (isunordered(x, y))
			return false;
		less = x < y;
		equal = x == y;
	}
	*nzcv = less ? 8 : equal ? 6 : 2;
	return true;
}

/* fp_host_certain() for all elements; clears the upper half if not @q. */
static inline bool fp_host_certain_vector(unsigned lg, bool q, u64 result[2])
{
	bool certain = fp_host_certain(lg, result[0]) && fp_host_certain(lg, result[1]);

	if (lg == FP_SINGLE)
		certain = certain && fp_host_certain(lg, result[0] >> 32) &&
			  fp_host_certain(lg, result[1] >> 32);
	if (!q)
		result[1] = 0;
	return certain;
}

/* The same for whole vectors; in one of 8 bytes the upper elements are made harmless. */
#define FP_HOST_VECTOR(name, op)                                                                   \
	static inline bool name(u32 fpcr, u32 fpsr, unsigned lg, bool q, const u64 n[2],           \
				const u64 m[2], u64 result[2])                                     \
	{                                                                                          \
		u64 a[2] = { n[0], n[1] }, b[2] = { m[0], m[1] };                                  \
                                                                                                   \
		if (lg < FP_SINGLE || !fp_host_usable(fpcr, fpsr))                                 \
			return false;                                                              \
		if (!q) {                                                                          \
			a[1] = 0x4000000040000000; /* 2.0 */                                       \
			b[1] = 0x3f8000003f800000; /* 1.0 */                                       \
		}                                                                                  \
		if (lg == FP_DOUBLE) {                                                             \
			fp_vec_double x, y;                                                        \
                                                                                                   \
			memcpy(&x, a, sizeof(x));                                                  \
			memcpy(&y, b, sizeof(y));                                                  \
			x = x op y;                                                                \
			memcpy(result, &x, sizeof(x));                                             \
		} else {                                                                           \
			fp_vec_single x, y;                                                        \
                                                                                                   \
			memcpy(&x, a, sizeof(x));                                                  \
			memcpy(&y, b, sizeof(y));                                                  \
			x = x op y;                                                                \
			memcpy(result, &x, sizeof(x));                                             \
		}                                                                                  \
		return fp_host_certain_vector(lg, q, result);                                      \
	}

FP_HOST_VECTOR(fp_host_add_vector, +)
FP_HOST_VECTOR(fp_host_sub_vector, -)
FP_HOST_VECTOR(fp_host_mul_vector, *)
FP_HOST_VECTOR(fp_host_div_vector, /)

#endif

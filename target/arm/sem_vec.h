/*
 * target/arm/sem_vec.h - loops over vector elements for the AdvSIMD reference functions.
 *
 * Elements are addressed in the host's memory, so the host must be little endian like tcg_vreg.
 */
#ifndef TARGET_ARM_SEM_VEC_H
#define TARGET_ARM_SEM_VEC_H

#include "target/arm/sem.h"
#include "target/arm/sem_fp.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vector elements lie in host memory");

#define VEC_INLINE static inline __attribute__((always_inline))

typedef __int128 s128;
typedef unsigned __int128 u128;

/* Element @e of 1 << @lg bytes. */
VEC_INLINE u64 vget(const struct tcg_vreg *v, unsigned lg, unsigned e)
{
	u64 val = 0;

	memcpy(&val, (const u8 *)v + (e << lg), 1u << lg);
	return val;
}

VEC_INLINE void vset(struct tcg_vreg *v, unsigned lg, unsigned e, u64 val)
{
	memcpy((u8 *)v + (e << lg), &val, 1u << lg);
}

/* Sign extension of an element. */
VEC_INLINE s64 sx(u64 v, unsigned lg)
{
	unsigned unused = 64 - (8u << lg);

	return (s64)(v << unused) >> unused;
}

VEC_INLINE u64 element_mask(unsigned lg)
{
	return ~(u64)0 >> (64 - (8u << lg));
}

/* Saturate to a signed or unsigned element; QC tells. */
VEC_INLINE u64 sat_s(struct arm_cpu *cpu, s128 v, unsigned lg)
{
	s64 max = element_mask(lg) >> 1;

	if (v > max || v < -(s128)max - 1) {
		cpu->fpsr |= FPSR_QC;
		return v < 0 ? ~max : max;
	}
	return v;
}

VEC_INLINE u64 sat_u(struct arm_cpu *cpu, s128 v, unsigned lg)
{
	u64 max = element_mask(lg);

	if (v < 0 || v > max) {
		cpu->fpsr |= FPSR_QC;
		return v < 0 ? 0 : max;
	}
	return v;
}

/*
 * One element of a result: @d is the old one, @a and @b those of the operands, zero extended.
 * Bits of the result above the element are ignored.
 */
typedef u64 vec_fn(struct arm_cpu *cpu, u64 d, u64 a, u64 b, unsigned lg);
#define VEC_OP(name) VEC_INLINE u64 name(struct arm_cpu *cpu, u64 d, u64 a, u64 b, unsigned lg)

/* Which elements: all of 8 or 16 bytes, or the lowest one. */
struct vec_shape {
	u8 q, scalar;
};

/* Call @fn with a constant for @lg, so that the compiler makes a loop for each size. */
#define VEC_BY_SIZE(lg, call)                                                                      \
	do {                                                                                       \
		switch (lg) {                                                                      \
		case 0: call(0); break;                                                            \
		case 1: call(1); break;                                                            \
		case 2: call(2); break;                                                            \
		default: call(3); break;                                                           \
		}                                                                                  \
	} while (0)

/* The same for elements that a register also holds at twice their size. */
#define VEC_BY_HALF_SIZE(lg, call)                                                                 \
	do {                                                                                       \
		switch (lg) {                                                                      \
		case 0: call(0); break;                                                            \
		case 1: call(1); break;                                                            \
		default: call(2); break;                                                           \
		}                                                                                  \
	} while (0)

VEC_INLINE void vec_loop(struct arm_cpu *cpu, struct vec_shape shape, unsigned rd,
			 const struct tcg_vreg *n, const struct tcg_vreg *m, unsigned lg,
			 vec_fn *fn)
{
	unsigned count = shape.scalar ? 1 : (8u << shape.q) >> lg;
	struct tcg_vreg r = { { 0, 0 } }, old = *cpu_v(cpu, rd);

	for (unsigned e = 0; e < count; e++)
		vset(&r, lg, e, fn(cpu, vget(&old, lg, e), vget(n, lg, e), vget(m, lg, e), lg));
	*cpu_v(cpu, rd) = r;
}

/* All elements have one size. */
VEC_INLINE void vec_map(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			const struct tcg_vreg *n, const struct tcg_vreg *m, vec_fn *fn)
{
#define CALL(k) vec_loop(cpu, shape, rd, n, m, k, fn)
	VEC_BY_SIZE(lg, CALL);
#undef CALL
}

VEC_INLINE void vec_long_loop(struct arm_cpu *cpu, struct vec_shape shape, unsigned rd,
			      const struct tcg_vreg *n, const struct tcg_vreg *m, unsigned lg,
			      vec_fn *fn)
{
	unsigned count = shape.scalar ? 1 : 8u >> lg;
	unsigned from = shape.q && !shape.scalar ? count : 0;
	struct tcg_vreg r = { { 0, 0 } }, old = *cpu_v(cpu, rd);

	for (unsigned e = 0; e < count; e++)
		vset(&r, lg + 1, e,
		     fn(cpu, vget(&old, lg + 1, e), vget(n, lg, from + e), vget(m, lg, from + e),
			lg));
	*cpu_v(cpu, rd) = r;
}

/* The result's elements are twice as wide as the operands', which are in the upper half if q. */
VEC_INLINE void vec_long(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			 const struct tcg_vreg *n, const struct tcg_vreg *m, vec_fn *fn)
{
#define CALL(k) vec_long_loop(cpu, shape, rd, n, m, k, fn)
	VEC_BY_HALF_SIZE(lg, CALL);
#undef CALL
}

VEC_INLINE void vec_narrow_loop(struct arm_cpu *cpu, struct vec_shape shape, unsigned rd,
				const struct tcg_vreg *n, const struct tcg_vreg *m, unsigned lg,
				vec_fn *fn)
{
	unsigned count = shape.scalar ? 1 : 8u >> lg;
	bool upper = shape.q && !shape.scalar;
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < count; e++)
		vset(&r, lg, e, fn(cpu, 0, vget(n, lg + 1, e), vget(m, lg + 1, e), lg));
	if (upper)
		cpu_v(cpu, rd)->d[1] = r.d[0];
	else
		*cpu_v(cpu, rd) = r;
}

/* The operands' elements are twice as wide as the result's (@lg), which go to the upper half and
 * leave the lower one alone if q. */
VEC_INLINE void vec_narrow(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			   const struct tcg_vreg *n, const struct tcg_vreg *m, vec_fn *fn)
{
#define CALL(k) vec_narrow_loop(cpu, shape, rd, n, m, k, fn)
	VEC_BY_HALF_SIZE(lg, CALL);
#undef CALL
}

/* All elements of the result are @val. */
static inline struct tcg_vreg vec_splat(unsigned lg, u64 val)
{
	u64 ones = ~(u64)0 / element_mask(lg);

	val = (val & element_mask(lg)) * ones;
	return (struct tcg_vreg){ { val, val } };
}

/* A shift by a constant as the second operand of vec_map(). */
static inline struct tcg_vreg vec_shift(int shift)
{
	return vec_splat(0, shift);
}

/* The element that an instruction "by element" names; @size is 1 or 2. */
static inline struct tcg_vreg vec_by_element(struct arm_cpu *cpu, unsigned size, unsigned index,
					     unsigned rm)
{
	unsigned hl = index >> 1; /* index is H:L:M; M belongs to the register for words */

	if (size == 1)
		return vec_splat(1, vget(cpu_v(cpu, rm), 1, index));
	return vec_splat(2, vget(cpu_v(cpu, rm | (index & 1) << 4), 2, hl));
}

/* The value of an AdvSIMD immediate, inverted where the instruction does that; true for ORR and
 * BIC. */
u64 movi_value(const struct a64_MOVI_v *i);
bool movi_is_logic(const struct a64_MOVI_v *i);

/* Operations that several groups of instructions use. */
VEC_OP(op_sqdmulh)
{
	return sat_s(cpu, (s128)2 * sx(a, lg) * sx(b, lg) >> (8u << lg), lg);
}

VEC_OP(op_sqrdmulh)
{
	unsigned bits = 8u << lg;

	return sat_s(cpu, ((s128)2 * sx(a, lg) * sx(b, lg) + ((s128)1 << (bits - 1))) >> bits, lg);
}

VEC_INLINE u64 rdml(struct arm_cpu *cpu, u64 d, s128 product, unsigned lg)
{
	unsigned bits = 8u << lg;
	s128 sum = (s128)sx(d, lg) * ((s128)1 << bits) + 2 * product;

	return sat_s(cpu, (sum + ((s128)1 << (bits - 1))) >> bits, lg);
}

VEC_OP(op_sqrdmlah)
{
	return rdml(cpu, d, (s128)sx(a, lg) * sx(b, lg), lg);
}

VEC_OP(op_sqrdmlsh)
{
	return rdml(cpu, d, -(s128)sx(a, lg) * sx(b, lg), lg);
}

VEC_OP(op_mul)
{
	return a * b;
}

VEC_OP(op_mla)
{
	return d + a * b;
}

VEC_OP(op_mls)
{
	return d - a * b;
}

/*
 * Shift left by @shift, right if it is negative, as SSHL and its like do.
 * @round: add one half before shifting right. @sat: saturate, see sat_s() and sat_u().
 */
struct vec_shl {
	bool is_signed, round, sat, sat_unsigned;
};

VEC_INLINE u64 shift_by(struct arm_cpu *cpu, u64 a, int shift, unsigned lg, struct vec_shl how)
{
	int bits = 8 << lg;
	s128 v = how.is_signed ? (s128)sx(a, lg) : (s128)a;

	if (shift >= 0) {
		if (shift < bits)
			v = (s128)((u128)v << shift);
		else if (how.sat && v) /* far out of range */
			v = v < 0 ? -((s128)1 << 100) : (s128)1 << 100;
		else
			v = 0;
	} else if (-shift > bits) {
		v = !how.round && v < 0 ? -1 : 0;
	} else {
		v = (v + (how.round ? (s128)1 << (-shift - 1) : 0)) >> -shift;
	}
	if (!how.sat)
		return v;
	return how.sat_unsigned ? sat_u(cpu, v, lg) : sat_s(cpu, v, lg);
}

/* The shape that the fields q and s of a row mean: of vectors, and of rows with a scalar form. */
#define SHAPE_V(i) ((struct vec_shape){ .q = (i)->q })
#define SHAPE_S(i) ((struct vec_shape){ .q = (i)->q, .scalar = (i)->s })

/* Product of two bytes as polynomials over {0,1}, 15 bits; the lower 8 are PMUL's. */
static inline u64 carryless_product(u64 a, u64 b)
{
	u64 r = 0;

	for (unsigned bit = 0; bit < 8; bit++)
		r ^= b >> bit & 1 ? a << bit : 0;
	return r;
}

#endif

/*
 * accel/tcg/emit-vec.h - what translation rules may emit for vectors and floating point.
 *
 * Operands are guest vectors 0..31 or the scratch vectors E_V0 and E_V1, which only loads, stores
 * and calls destroy. Elements have 1 << lg bytes. Operations work on all 16 bytes: a rule for 8
 * bytes calls e_vlow() at the end, and sees to it that floating point does not raise anything for
 * the upper half. Functions that return bool emit nothing and return false if the host has no way.
 *
 * Only after e_use_vectors() may any of them be used.
 */
#ifndef ACCEL_TCG_EMIT_VEC_H
#define ACCEL_TCG_EMIT_VEC_H

#include "accel/tcg/emit.h"

enum { E_V0 = 32, E_V1 };

/* True if the host can do the operations below. */
bool e_has_vectors(void);

/* The region has vector operations; before its first instruction. */
void e_use_vectors(struct trans *t);

/* The target's reference function is about to be called: nothing is known of vectors any more. */
void e_vectors_changed(struct trans *t);

/* d = a op b, element by element where size matters. */
enum e_vop {
	E_VAND,
	E_VOR,
	E_VXOR,
	E_VANDN, /* ~a & b */
	E_VADD,
	E_VSUB,
	E_VMUL,
	E_VEQ, /* all ones if true */
	E_VGT,
	E_VGE,
	E_VGTU,
	E_VGEU,
	E_VTST, /* a & b is not 0 */
	E_VMAX,
	E_VMIN,
	E_VMAXU,
	E_VMINU,
	E_VABD,
	E_VABDU,
	E_VAVGU,  /* (a + b + 1) >> 1 without overflow */
	E_VSQADD, /* saturating; remembered in tcg_cpu.v_saturated; E_V0, E_V1 are destroyed, and a
		   * is not E_V1, b not E_V0 */
	E_VSQSUB,
	E_VUQADD,
	E_VUQSUB,
	E_VZIP1,
	E_VZIP2,
	E_VUZP1,
	E_VUZP2,
	E_VTRN1,
	E_VTRN2,
	E_VMULL,  /* products of the even elements, at twice the size */
	E_VMULLU, /* lg = 2 only */
	E_VSHLV,  /* shift by b: left if positive, else right; signed, unsigned */
	E_VSHLVU,
	E_VLOWS,  /* lower half of a, lower half of b above it */
	E_VHIGHS, /* upper half of a, upper half of b above it */
};
bool e_v(struct trans *t, enum e_vop op, unsigned lg, unsigned d, unsigned a, unsigned b);

enum e_vop1 { E_VNOT, E_VABS, E_VREV16, E_VREV32, E_VREV64, E_VCNT, E_VRBIT };
bool e_v1(struct trans *t, enum e_vop1 op, unsigned lg, unsigned d, unsigned a);

/* Shift all elements by n, 0 <= n <= their width; op is not E_ROR. */
void e_vshifti(struct trans *t, enum e_shift op, unsigned lg, unsigned d, unsigned a, unsigned n);

void e_vmov(struct trans *t, unsigned d, unsigned a);
void e_vmovi(struct trans *t, unsigned d, u64 low, u64 high);
/* Clear the upper half. */
void e_vlow(struct trans *t, unsigned d);
/* d = lowest element of a, the rest 0 */
void e_vfirst(struct trans *t, unsigned lg, unsigned d, unsigned a);
/* d = 16 bytes from byte n on of lo and then hi */
void e_vext(struct trans *t, unsigned d, unsigned lo, unsigned hi, unsigned n);
/* The elements of a's lower or upper half at twice their size. */
void e_vwiden(struct trans *t, bool sign, unsigned lg, unsigned d, unsigned a, bool upper);
/* The lower halves of elements of twice the size lg, side by side; upper half 0. */
void e_vnarrow(struct trans *t, unsigned lg, unsigned d, unsigned a);
/* Sums of neighbours at twice the size; false for what is not simple. */
bool e_vaddlp(struct trans *t, bool sign, unsigned lg, unsigned d, unsigned a);
/* Sum of all bytes, unsigned, in the lowest doubleword. */
void e_vsum8(struct trans *t, unsigned d, unsigned a);
/* Sums of the products of four neighbouring bytes each, added to d. */
void e_vdot(struct trans *t, bool sign, unsigned d, unsigned a, unsigned b);
/* Bytes of the n tables from @first on that b indexes, else 0, or if @keep what is in d. */
void e_vtable(struct trans *t, bool keep, unsigned d, unsigned first, unsigned n, unsigned b);
/* Of three vectors from @first on, 48 bytes of memory: part @k of what is stored for them as
 * structures (@join), or what structures loaded into them have as member @k. */
void e_vmix3(struct trans *t, bool join, unsigned lg, unsigned k, unsigned d, unsigned first);

/* The elements of twice the size lg saturated to it, in the lower half; upper half 0. E_V0 is
 * destroyed. */
enum e_vnarrow { E_NARROW_SIGNED, E_NARROW_UNSIGNED, E_NARROW_TO_UNSIGNED };
bool e_vqnarrow(struct trans *t, enum e_vnarrow how, unsigned lg, unsigned d, unsigned a);
/* Upper halves of doubled products, saturated; lg is 1 or 2. E_V0 and E_V1 are destroyed; a is not
 * E_V1, b not E_V0. */
void e_vqdmulh(struct trans *t, bool round, unsigned lg, unsigned d, unsigned a, unsigned b);

/* Element @index of a to a general register (@w with @sign: extend to 64 bits), and back. */
void e_vget(struct trans *t, bool sign, unsigned w, unsigned lg, unsigned d, unsigned a,
	    unsigned index);
void e_vset(struct trans *t, unsigned lg, unsigned d, unsigned index, unsigned a);
void e_vdup(struct trans *t, unsigned lg, unsigned d, unsigned a, unsigned index);
void e_vdup_reg(struct trans *t, unsigned lg, unsigned d, unsigned a);
/* d = low element from a general register, the rest 0 */
void e_vfrom(struct trans *t, unsigned lg, unsigned d, unsigned a);

/* Bits of a general register in reverse order; vectors need not be in use. */
bool e_rbit(struct trans *t, unsigned w, unsigned d, unsigned a);

/* AES rounds as the host has them: key is all of the last operand. */
enum e_aes { E_AES_ENC, E_AES_DEC, E_AES_MIX, E_AES_UNMIX };
bool e_aes(struct trans *t, enum e_aes op, unsigned d, unsigned a);
/* Product of two polynomials of 64 bits, of the upper halves if @upper. */
bool e_pmull(struct trans *t, bool upper, unsigned d, unsigned a, unsigned b);
/* Four rounds of SHA-1 on the variables a to d in the words of @d; @e: the fifth, its first word;
 * @w: four words of the message with the rounds' constant added. */
enum e_sha1 { E_SHA1_CHOOSE, E_SHA1_PARITY, E_SHA1_MAJORITY };
bool e_sha1(struct trans *t, enum e_sha1 op, unsigned d, unsigned e, unsigned w);
/* Four rounds of SHA-256 on a to d and e to h, in @d and @n or, if @second, in @n and @d; @d gets
 * its four. @w: message and constants. */
bool e_sha256(struct trans *t, bool second, unsigned d, unsigned n, unsigned w);
/* The first and the second half of computing four new words of SHA-256's message: @d holds the
 * oldest words, @n those that follow; then @n and @m hold the newest ones. */
bool e_sha256_first(struct trans *t, unsigned d, unsigned n);
bool e_sha256_second(struct trans *t, unsigned d, unsigned n, unsigned m);
/* Doublewords: d = a + (b rotated right by n[0] ^ b rotated by n[1] ^ b >> n[2]) */
void e_sha512_sigma(struct trans *t, unsigned d, unsigned a, unsigned b, const u8 n[3]);
/* Rotate doublewords right by 0 to 63. */
void e_vror64(struct trans *t, unsigned d, unsigned a, unsigned n);
/* d = CRC-32 or CRC-32C of the 1 << lg bytes in b, from a on; vectors need not be in use */
bool e_crc32(struct trans *t, bool castagnoli, unsigned lg, unsigned d, unsigned a, unsigned b);

/* ---- floating point ---- */

/*
 * What to call instead where the host may differ from the guest (NaNs, ranges): as e_call(), from
 * the state before the instruction. The host's exception flags are kept in any case.
 */
struct e_exact {
	void (*fn)(void);
	const void *args;
	unsigned size;
};

/* One float or double with the rest of the result 0, or all elements of a vector. */
enum e_fkind { E_F32, E_F64, E_F32V, E_F64V };

/* With E_FMAX and E_FMIN +0 is above -0. E_FNMUL: the product negated. */
enum e_fop { E_FADD, E_FSUB, E_FMUL, E_FDIV, E_FMAX, E_FMIN, E_FABD, E_FNMUL };
void e_f(struct trans *t, enum e_fop op, enum e_fkind k, unsigned d, unsigned a, unsigned b,
	 const struct e_exact *exact);
void e_fsqrt(struct trans *t, enum e_fkind k, unsigned d, unsigned a, const struct e_exact *exact);
/* d = +-c +- a * b, rounded once */
struct e_fma {
	enum e_fkind kind;
	u8 d, a, b, c;
	bool neg_product, neg_c;
};
void e_fma(struct trans *t, const struct e_fma *op, const struct e_exact *exact);
void e_fneg(struct trans *t, enum e_fkind k, unsigned d, unsigned a);
void e_fabs(struct trans *t, enum e_fkind k, unsigned d, unsigned a);
void e_fmov(struct trans *t, enum e_fkind k, unsigned d, unsigned a);

/* E_ROUND_AWAY: to the nearest, halves away from zero. */
enum e_fround {
	E_ROUND_NEAREST,
	E_ROUND_DOWN,
	E_ROUND_UP,
	E_ROUND_ZERO,
	E_ROUND_CURRENT,
	E_ROUND_AWAY
};
/* Round to an integral value; @inexact: say so. E_V0 and E_V1 are destroyed; a is not E_V1. */
void e_fround(struct trans *t, enum e_fround mode, bool inexact, enum e_fkind k, unsigned d,
	      unsigned a, const struct e_exact *exact);

/* Single to double and back. */
void e_fcvt(struct trans *t, bool to_double, unsigned d, unsigned a, const struct e_exact *exact);
/* The two singles in the lower half to doubles, and back; the result's upper half is 0. */
void e_fwiden(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact);
void e_fnarrow(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact);

/* General register @d of @w = float or double @a rounded by @mode. Scratch vectors are destroyed.
 */
struct e_ftoi {
	enum e_fkind kind;
	enum e_fround mode;
	bool sign;
	u8 w, d, a;
};
void e_ftoi(struct trans *t, const struct e_ftoi *op, const struct e_exact *exact);
/* The same of the number times 2^fbits, truncated; op->mode is E_ROUND_ZERO. */
void e_ftofixed(struct trans *t, const struct e_ftoi *op, unsigned fbits,
		const struct e_exact *exact);
/* d = general register a as a number, divided by 2^fbits */
void e_itof(struct trans *t, bool sign, unsigned w, unsigned fbits, enum e_fkind k, unsigned d,
	    unsigned a, const struct e_exact *exact);
/* Signed words to singles and back (truncating), four at a time. */
void e_itofv(struct trans *t, unsigned d, unsigned a);
void e_ftoiv(struct trans *t, unsigned d, unsigned a, const struct e_exact *exact);

/* d = all ones where the comparison of elements holds; @magnitude: of absolute values. */
enum e_fcmp { E_FEQ, E_FGE, E_FGT };
void e_fcmpv(struct trans *t, enum e_fcmp op, bool magnitude, enum e_fkind k, unsigned d,
	     unsigned a, unsigned b);

/* NZCV = comparison of a and b; the host flags are those of it when the next instruction runs.
 * @zero: with 0 instead of b. @signalling: quiet NaNs are invalid. @soon: the next instruction
 * reads the flags. */
struct e_fcompare {
	enum e_fkind kind;
	u8 a, b;
	bool zero, signalling;
};
void e_fcompare(struct trans *t, const struct e_fcompare *c, bool soon);
/* if (cond) e_fcompare() else NZCV = @nzcv */
void e_fccmp(struct trans *t, enum e_cond cond, const struct e_fcompare *c, u32 nzcv);
/* d = cond ? a : b; @live: the flags may be read afterwards. */
void e_fcsel(struct trans *t, enum e_fkind k, unsigned d, enum e_cond cond, unsigned a, unsigned b,
	     bool live);

#endif

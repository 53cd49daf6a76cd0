/*
 * accel/tcg/x86/vec.h - where guest vectors live on an x86-64 host, shared by the emitters for
 * vectors and floating point.
 *
 *   xmm0 to xmm11   guest v0 to v7 and v16 to v19 while tcg_cpu.v_loaded is set, else those of the
 *                   host's C code
 *   xmm12 xmm13     E_V0, E_V1
 *   xmm14 xmm15     scratch of the emitters
 *
 * Code that uses vectors runs with v_loaded set and the guest's MXCSR; e_use_vectors() sees to
 * that at the start of a region, and calls to C store and load everything.
 */
#ifndef ACCEL_TCG_X86_VEC_H
#define ACCEL_TCG_X86_VEC_H

#include "accel/tcg/emit-vec.h"
#include "accel/tcg/x86/host.h"
#include "accel/tcg/x86/vex.h"

#define X_T0 14
#define X_T1 15

#define MXCSR_DEFAULT 0x1f80u /* all exceptions masked, round to nearest */

extern bool host_vectors; /* the host has AVX2, FMA and F16C, and translated code uses them */

static const s8 pinned_v[32] = {
	[0] = 0,   [1] = 1,   [2] = 2,   [3] = 3,   [4] = 4,   [5] = 5,   [6] = 6,   [7] = 7,
	[8] = -1,  [9] = -1,  [10] = -1, [11] = -1, [12] = -1, [13] = -1, [14] = -1, [15] = -1,
	[16] = 8,  [17] = 9,  [18] = 10, [19] = 11, [20] = -1, [21] = -1, [22] = -1, [23] = -1,
	[24] = -1, [25] = -1, [26] = -1, [27] = -1, [28] = -1, [29] = -1, [30] = -1, [31] = -1,
};

/* Host register of a vector operand, -1 if it lies in memory. */
static inline int host_vreg(unsigned v)
{
	if (v < 32)
		return host_vectors ? pinned_v[v] : -1;
	return 12 + (v - E_V0);
}

static inline s32 vreg_disp(unsigned v, unsigned half)
{
	return CPU_FIELD(v) + (s32)(v * sizeof(struct tcg_vreg) + half * 8);
}

/* The operand in a host register: its own, or @spare loaded with it. */
unsigned xv_use(struct trans *t, unsigned v, unsigned spare);

/* Host register to compute a destination in: its own, or @spare. */
static inline unsigned xv_dest(unsigned v, unsigned spare)
{
	int h = host_vreg(v);

	return h >= 0 ? (unsigned)h : spare;
}

/* Write host register @reg to a destination; nothing is known of its upper half then. */
void xv_put(struct trans *t, unsigned v, unsigned reg);

/* The operand is written: nothing is known of its upper parts. */
void xv_changed(struct trans *t, unsigned v);

/* Remember that the bits from 64 or from 32 on are zero. */
static inline void xv_set_zero(struct trans *t, unsigned v, bool above64, bool above32)
{
	if (v < 32) {
		t->v_zero64 |= (u32)above64 << v;
		t->v_zero32 |= (u32)above32 << v;
	}
}

/* op reg, a, operand */
void xv_op(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned v);

/* d = op a, b as one instruction */
void xv_op3(struct trans *t, u32 op, unsigned d, unsigned a, unsigned b);

/* X_T1 = a op b, one of E_VSQADD to E_VUQSUB; what has been saturated is remembered. */
void xv_saturating(struct trans *t, enum e_vop op, unsigned lg, unsigned a, unsigned b);

/* Constants of 16 bytes in code memory; the masks are indexed by a number of bits. */
enum host_const {
	K_ONES_8,  /* 1 in each byte */
	K_ONES_16, /* 1 in each halfword */
	K_LOW_8,   /* 0x00ff */
	K_LOW_16,  /* 0x0000ffff */
	K_LOW_32,  /* 0x00000000ffffffff */
	K_SIGN_8,  /* 0x80 */
	K_SIGN_16, /* 0x8000 */
	K_SIGN_32, /* 0x80000000 */
	K_SIGN_64, /* 1 << 63 */
	K_NIBBLE,  /* 0x0f */
	K_COUNT,   /* set bits of 0 to 15 */
	K_FLIP,    /* bits of 0 to 15 reversed, as the upper nibble */
	K_TABLE,   /* 0x70: makes indices from 16 on select zero */
	K_SIXTEEN, /* 0x10 */
	K_EVEN_8,  /* shuffles: even bytes to the lower half, zero above */
	K_EVEN_16,
	K_EVEN_32,
	K_ODD_8,
	K_ODD_16,
	K_ODD_32,
	K_REV16_8, /* bytes reversed in halfwords */
	K_REV32_8,
	K_REV64_8,
	K_REV32_16, /* halfwords reversed in words */
	K_REV64_16,
	K_NEG_F32, /* sign of the lowest element only */
	K_NEG_F64,
	K_ABS_F32, /* all but the sign of the lowest element only */
	K_ABS_F64,
	K_ABS_V32, /* ... of all elements */
	K_ABS_V64,
	K_SHR_8, /* 0xff >> n, n = 0 to 7 */
	K_SHL_8 = K_SHR_8 + 8,
	K_TOP_8 = K_SHL_8 + 8, /* 0x80 >> n */
	K_MXCSR = K_TOP_8 + 8, /* the default MXCSR */
	K_CRC32,               /* t^96 / P, and P of CRC-32, reflected */
	K_SHA1,                /* the constants of the first three kinds of rounds */
	K_BIT_30 = K_SHA1 + 3, /* 1 << 30 in each doubleword */
	K_TABLES,              /* 16 * n in each byte, n = 1 to 4 */
	/* Shuffles by size, result and operand: three vectors as one every third element of which
	 * is from the same vector, and back. */
	K_JOIN3 = K_TABLES + 4,
	K_SPLIT3 = K_JOIN3 + 36,
	HOST_CONSTS = K_SPLIT3 + 36
};
extern const u8 *host_consts; /* in code memory, writable address */

static inline const u8 *xv_const(unsigned k)
{
	return host_consts + 16 * k;
}

/* op reg, a, constant */
static inline void xv_k(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned k)
{
	x_vrip(t, op, reg, a, xv_const(k));
}

#endif

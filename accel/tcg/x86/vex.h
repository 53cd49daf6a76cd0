/*
 * accel/tcg/x86/vex.h - encoder of the AVX instructions that the translator uses, in their 128-bit
 * forms (Intel SDM volume 2: chapter 2.3 for the prefix, 5 for opcodes).
 *
 * The 128-bit forms clear what lies above bit 127, so that no transition to legacy SSE costs time.
 */
#ifndef ACCEL_TCG_X86_VEX_H
#define ACCEL_TCG_X86_VEX_H

#include "accel/tcg/x86/asm.h"

/* Opcode map (1: 0F, 2: 0F38, 3: 0F3A), mandatory prefix (0, 1: 66, 2: F3, 3: F2) and opcode. */
#define V_OP(map, pp, op) ((map) << 12 | (pp) << 8 | (op))
#define V_W               0x10000

#define V_MOVUPS_LOAD  V_OP(1, 0, 0x10)
#define V_MOVUPS_STORE V_OP(1, 0, 0x11)
#define V_MOVAPS       V_OP(1, 0, 0x28)
#define V_MOVSS_LOAD   V_OP(1, 2, 0x10) /* clears the rest */
#define V_MOVSD_LOAD   V_OP(1, 3, 0x10)
#define V_MOVSS_STORE  V_OP(1, 2, 0x11)
#define V_MOVSD_STORE  V_OP(1, 3, 0x11)
#define V_MOVQ         V_OP(1, 2, 0x7e) /* low half, clears the upper one */
#define V_MOVD_IN      V_OP(1, 1, 0x6e) /* from a general register; W: 64 bits */
#define V_MOVD_OUT     V_OP(1, 1, 0x7e)
#define V_PAND         V_OP(1, 1, 0xdb)
#define V_PANDN        V_OP(1, 1, 0xdf)
#define V_POR          V_OP(1, 1, 0xeb)
#define V_PXOR         V_OP(1, 1, 0xef)
#define V_PTEST        V_OP(2, 1, 0x17)
#define V_PSHUFB       V_OP(2, 1, 0x00)
#define V_PSHUFD       V_OP(1, 1, 0x70) /* imm8 */
#define V_SHUFPS       V_OP(1, 0, 0xc6) /* imm8 */
#define V_PALIGNR      V_OP(3, 1, 0x0f) /* imm8 */
#define V_PUNPCKLQDQ   V_OP(1, 1, 0x6c)
#define V_PUNPCKHQDQ   V_OP(1, 1, 0x6d)
#define V_INSERTPS     V_OP(3, 1, 0x21) /* imm8 */
#define V_PCMPEQD      V_OP(1, 1, 0x76)

/* Prefix and opcode; @a is the first source, 0 if there is none. */
static inline void x_vex(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned index,
			 unsigned rm)
{
	unsigned map = op >> 12 & 3, pp = op >> 8 & 3, w = op >> 16 & 1;

	if (map == 1 && !w && index < 8 && rm < 8) {
		x_byte(t, 0xc5);
		x_byte(t, (reg < 8) << 7 | (~a & 15) << 3 | pp);
	} else {
		x_byte(t, 0xc4);
		x_byte(t, (reg < 8) << 7 | (index < 8) << 6 | (rm < 8) << 5 | map);
		x_byte(t, w << 7 | (~a & 15) << 3 | pp);
	}
	x_byte(t, op);
}

/* op reg, a, rm: registers */
static inline void x_v(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned rm)
{
	x_vex(t, op, reg, a, 0, rm);
	x_byte(t, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static inline void x_vi(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned rm, u8 imm)
{
	x_v(t, op, reg, a, rm);
	x_byte(t, imm);
}

/* op reg, a, [base + disp] */
static inline void x_vm(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned base, s32 disp)
{
	unsigned mode = x_disp_mode(base, disp);

	x_vex(t, op, reg, a, 0, base);
	x_byte(t, mode << 6 | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		x_byte(t, 0x24);
	x_disp(t, mode, disp);
}

/* op reg, a, [base + index + disp] */
static inline void x_vmx(struct trans *t, u32 op, unsigned reg, unsigned base, unsigned index,
			 s32 disp)
{
	unsigned mode = x_disp_mode(base, disp);

	x_vex(t, op, reg, 0, index, base);
	x_byte(t, mode << 6 | (reg & 7) << 3 | 4);
	x_byte(t, (index & 7) << 3 | (base & 7));
	x_disp(t, mode, disp);
}

/* op reg, a, [rip + distance to @target], which lies in code memory (writable address) */
static inline void x_vrip(struct trans *t, u32 op, unsigned reg, unsigned a, const u8 *target)
{
	x_vex(t, op, reg, a, 0, 0);
	x_byte(t, (reg & 7) << 3 | 5);
	x_u32(t, target - (t->p + 4));
}

#endif

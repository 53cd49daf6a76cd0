/*
 * accel/tcg/x86/asm.h - encoder of the x86-64 instructions that the translator uses
 * (Intel SDM volume 2: chapter 2 for formats, 3 to 5 for opcodes).
 */
#ifndef ACCEL_TCG_X86_ASM_H
#define ACCEL_TCG_X86_ASM_H

#include "accel/tcg/emit.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Condition codes; xor 1 inverts. */
enum {
	CC_O = 0,
	CC_B = 2,
	CC_AE = 3,
	CC_E = 4,
	CC_NE = 5,
	CC_BE = 6,
	CC_A = 7,
	CC_S = 8,
	CC_P = 10,
	CC_GE = 13,
	CC_G = 15
};

/* Opcode bytes with the prefixes and maps they need. */
#define OP_0F   0x100
#define OP_66   0x200
#define OP_F3   0x400
#define OP_BYTE 0x800 /* 8-bit registers: rsi, rdi and rbp need a REX prefix */
#define OP_0F38 0x1000
#define OP_F2   0x2000
#define OP_0F3A 0x4000

#define OP_ADD       0x03
#define OP_OR        0x0b
#define OP_AND       0x23
#define OP_SUB       0x2b
#define OP_XOR       0x33
#define OP_CMP       0x3b
#define OP_TEST      0x85
#define OP_LOAD      0x8b
#define OP_STORE     0x89
#define OP_STORE8    (0x88 | OP_BYTE)
#define OP_STORE16   (0x89 | OP_66)
#define OP_LEA       0x8d
#define OP_MOVZX8    (0xb6 | OP_0F | OP_BYTE)
#define OP_MOVZX16   (0xb7 | OP_0F)
#define OP_MOVSX8    (0xbe | OP_0F | OP_BYTE)
#define OP_MOVSX16   (0xbf | OP_0F)
#define OP_MOVSXD    0x63
#define OP_IMUL      (0xaf | OP_0F)
#define OP_XCHG      0x87
#define OP_LZCNT     (0xbd | OP_0F | OP_F3)
#define OP_TZCNT     (0xbc | OP_0F | OP_F3)
#define OP_CMOV(cc)  (0x40 | (cc) | OP_0F)
#define OP_SETCC(cc) (0x90 | (cc) | OP_0F | OP_BYTE)

static inline void x_byte(struct trans *t, u8 b)
{
	*t->p++ = b;
}

static inline void x_u32(struct trans *t, u32 v)
{
	memcpy(t->p, &v, 4);
	t->p += 4;
}

static inline void x_u64(struct trans *t, u64 v)
{
	memcpy(t->p, &v, 8);
	t->p += 8;
}

static inline void x_opcode(struct trans *t, unsigned w, unsigned op, unsigned reg, unsigned index,
			    unsigned rm)
{
	unsigned rex = w << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | rm >> 3;

	if (op & OP_66)
		x_byte(t, 0x66);
	if (op & OP_F3)
		x_byte(t, 0xf3);
	if (op & OP_F2)
		x_byte(t, 0xf2);
	if (rex || op & OP_BYTE)
		x_byte(t, 0x40 | rex);
	if (op & (OP_0F | OP_0F38 | OP_0F3A))
		x_byte(t, 0x0f);
	if (op & OP_0F38)
		x_byte(t, 0x38);
	if (op & OP_0F3A)
		x_byte(t, 0x3a);
	x_byte(t, op);
}

/* op reg, rm: both registers. */
static inline void x_rr(struct trans *t, unsigned w, unsigned op, unsigned reg, unsigned rm)
{
	x_opcode(t, w, op, reg, 0, rm);
	x_byte(t, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static inline void x_disp(struct trans *t, unsigned mode, s32 disp)
{
	if (mode == 1)
		x_byte(t, disp);
	else if (mode == 2)
		x_u32(t, disp);
}

/* How many displacement bytes: 0, 1 (mode 1) or 4 (mode 2). */
static inline unsigned x_disp_mode(unsigned base, s32 disp)
{
	if (disp == 0 && (base & 7) != RBP)
		return 0;
	return disp == (s8)disp ? 1 : 2;
}

/* op reg, [base + disp] */
static inline void x_rm(struct trans *t, unsigned w, unsigned op, unsigned reg, unsigned base,
			s32 disp)
{
	unsigned mode = x_disp_mode(base, disp);

	x_opcode(t, w, op, reg, 0, base);
	x_byte(t, mode << 6 | (reg & 7) << 3 | (base & 7));
	if ((base & 7) == RSP)
		x_byte(t, 0x24);
	x_disp(t, mode, disp);
}

/* op reg, [base + index << shift + disp]; index is not rsp */
static inline void x_rmx(struct trans *t, unsigned w, unsigned op, unsigned reg, unsigned base,
			 unsigned index, unsigned shift, s32 disp)
{
	unsigned mode = x_disp_mode(base, disp);

	x_opcode(t, w, op, reg, index, base);
	x_byte(t, mode << 6 | (reg & 7) << 3 | 4);
	x_byte(t, shift << 6 | (index & 7) << 3 | (base & 7));
	x_disp(t, mode, disp);
}

/* op reg, [rip + distance to @target]; @tail: bytes of immediate that follow */
static inline void x_rip(struct trans *t, unsigned w, unsigned op, unsigned reg, const u8 *target)
{
	x_opcode(t, w, op, reg, 0, 0);
	x_byte(t, (reg & 7) << 3 | 5);
	x_u32(t, target - (t->p + 4));
}

/* Group 1 with immediate: n = 0 add, 1 or, 4 and, 5 sub, 6 xor, 7 cmp. */
static inline void x_ri(struct trans *t, unsigned w, unsigned n, unsigned rm, s32 imm)
{
	bool small = imm == (s8)imm;

	x_rr(t, w, small ? 0x83 : 0x81, n, rm);
	if (small)
		x_byte(t, imm);
	else
		x_u32(t, imm);
}

static inline void x_mi(struct trans *t, unsigned w, unsigned n, unsigned base, s32 disp, s32 imm)
{
	bool small = imm == (s8)imm;

	x_rm(t, w, small ? 0x83 : 0x81, n, base, disp);
	if (small)
		x_byte(t, imm);
	else
		x_u32(t, imm);
}

/* mov reg, imm without touching flags */
static inline void x_movi(struct trans *t, unsigned reg, u64 imm)
{
	if (imm == (u32)imm) {
		x_opcode(t, 0, 0xb8 | (reg & 7), 0, 0, reg);
		x_u32(t, imm);
	} else if (imm == (u64)(s64)(s32)imm) {
		x_rr(t, 1, 0xc7, 0, reg);
		x_u32(t, imm);
	} else {
		x_opcode(t, 1, 0xb8 | (reg & 7), 0, 0, reg);
		x_u64(t, imm);
	}
}

/* mov dword [base + disp], imm */
static inline void x_mov_mi(struct trans *t, unsigned w, unsigned base, s32 disp, s32 imm)
{
	x_rm(t, w, 0xc7, 0, base, disp);
	x_u32(t, imm);
}

/* Shift group: n = 0 rol, 1 ror, 4 shl, 5 shr, 7 sar. */
static inline void x_shift(struct trans *t, unsigned w, unsigned n, unsigned reg, unsigned count)
{
	x_rr(t, w, 0xc1, n, reg);
	x_byte(t, count);
}

/* BMI2: pp = 1 shlx, 2 sarx, 3 shrx: reg = rm shifted by count. */
static inline void x_shiftx(struct trans *t, unsigned w, unsigned pp, unsigned reg, unsigned rm,
			    unsigned count)
{
	x_byte(t, 0xc4);
	x_byte(t, (reg < 8) << 7 | 1 << 6 | (rm < 8) << 5 | 2);
	x_byte(t, w << 7 | (~count & 15) << 3 | pp);
	x_byte(t, 0xf7);
	x_byte(t, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* BMI2 rorx reg, rm, count: no flags */
static inline void x_rorx(struct trans *t, unsigned w, unsigned reg, unsigned rm, unsigned count)
{
	x_byte(t, 0xc4);
	x_byte(t, (reg < 8) << 7 | 1 << 6 | (rm < 8) << 5 | 3);
	x_byte(t, w << 7 | 15 << 3 | 3);
	x_byte(t, 0xf0);
	x_byte(t, 0xc0 | (reg & 7) << 3 | (rm & 7));
	x_byte(t, count);
}

/* BMI1 andn reg, a, b: reg = ~a & b */
static inline void x_andn(struct trans *t, unsigned w, unsigned reg, unsigned a, unsigned b)
{
	x_byte(t, 0xc4);
	x_byte(t, (reg < 8) << 7 | 1 << 6 | (b < 8) << 5 | 2);
	x_byte(t, w << 7 | (~a & 15) << 3);
	x_byte(t, 0xf2);
	x_byte(t, 0xc0 | (reg & 7) << 3 | (b & 7));
}

/* Short forward jump; x_here8() sets its target. */
static inline u8 *x_jcc8(struct trans *t, unsigned cc)
{
	x_byte(t, 0x70 | cc);
	x_byte(t, 0);
	return t->p;
}

static inline u8 *x_jmp8(struct trans *t)
{
	x_byte(t, 0xeb);
	x_byte(t, 0);
	return t->p;
}

static inline void x_here8(struct trans *t, u8 *from)
{
	from[-1] = t->p - from;
}

/* Long jumps: return the end of the instruction, whose last 4 bytes are the displacement. */
static inline u8 *x_jcc32(struct trans *t, unsigned cc)
{
	x_byte(t, 0x0f);
	x_byte(t, 0x80 | cc);
	x_u32(t, 0);
	return t->p;
}

static inline u8 *x_jmp32(struct trans *t)
{
	x_byte(t, 0xe9);
	x_u32(t, 0);
	return t->p;
}

static inline void x_set32(u8 *from, const u8 *target)
{
	s32 rel = target - from;

	memcpy(from - 4, &rel, 4);
}

/* Pad so that the displacement of a jump of @opcode_bytes + 4 bytes is aligned: it can then be
 * replaced by one store while other threads run the code. */
static inline void x_align_jump(struct trans *t, unsigned opcode_bytes)
{
	while (((uintptr_t)t->p + opcode_bytes) & 3)
		x_byte(t, 0x90);
}

#endif

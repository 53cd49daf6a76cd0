/* accel/tcg/x86/emit-vec.c - integer operations on vectors (accel/tcg/emit-vec.h) with AVX. */
#include "accel/tcg/x86/vec.h"

bool host_vectors;

bool e_has_vectors(void)
{
	return host_vectors;
}

unsigned xv_use(struct trans *t, unsigned v, unsigned spare)
{
	int h = host_vreg(v);

	if (h >= 0)
		return h;
	x_vm(t, V_MOVUPS_LOAD, spare, 0, RBP, vreg_disp(v, 0));
	return spare;
}

void xv_changed(struct trans *t, unsigned v)
{
	if (v < 32) {
		t->v_zero64 &= ~(1u << v);
		t->v_zero32 &= ~(1u << v);
	}
}

void xv_put(struct trans *t, unsigned v, unsigned reg)
{
	int h = host_vreg(v);

	xv_changed(t, v);
	if (h == (int)reg)
		return;
	if (h >= 0)
		x_v(t, V_MOVAPS, h, 0, reg);
	else
		x_vm(t, V_MOVUPS_STORE, reg, 0, RBP, vreg_disp(v, 0));
}

void xv_op(struct trans *t, u32 op, unsigned reg, unsigned a, unsigned v)
{
	int h = host_vreg(v);

	if (h >= 0)
		x_v(t, op, reg, a, h);
	else
		x_vm(t, op, reg, a, RBP, vreg_disp(v, 0));
}

void xv_op3(struct trans *t, u32 op, unsigned d, unsigned a, unsigned b)
{
	unsigned ra = xv_use(t, a, X_T1), rd = xv_dest(d, X_T1);

	xv_op(t, op, rd, ra, b);
	xv_put(t, d, rd);
}

/* ---- operations that the host has as they are ---- */

#define I(op)  V_OP(1, 1, op)
#define II(op) V_OP(2, 1, op)
#define ALL(op)                                                                                    \
	{                                                                                          \
		I(op), I(op), I(op), I(op)                                                         \
	}

static const u32 simple[][4] = {
	[E_VAND] = ALL(0xdb),
	[E_VOR] = ALL(0xeb),
	[E_VXOR] = ALL(0xef),
	[E_VANDN] = ALL(0xdf),
	[E_VADD] = { I(0xfc), I(0xfd), I(0xfe), I(0xd4) },
	[E_VSUB] = { I(0xf8), I(0xf9), I(0xfa), I(0xfb) },
	[E_VMUL] = { 0, I(0xd5), II(0x40) },
	[E_VEQ] = { I(0x74), I(0x75), I(0x76), II(0x29) },
	[E_VGT] = { I(0x64), I(0x65), I(0x66), II(0x37) },
	[E_VMAX] = { II(0x3c), I(0xee), II(0x3d) },
	[E_VMIN] = { II(0x38), I(0xea), II(0x39) },
	[E_VMAXU] = { I(0xde), II(0x3e), II(0x3f) },
	[E_VMINU] = { I(0xda), II(0x3a), II(0x3b) },
	[E_VAVGU] = { I(0xe0), I(0xe3) },
	[E_VZIP1] = { I(0x60), I(0x61), I(0x62), I(0x6c) },
	[E_VZIP2] = { I(0x68), I(0x69), I(0x6a), I(0x6d) },
	[E_VUZP1] = { 0, 0, 0, I(0x6c) },
	[E_VUZP2] = { 0, 0, 0, I(0x6d) },
	[E_VTRN1] = { 0, 0, 0, I(0x6c) },
	[E_VTRN2] = { 0, 0, 0, I(0x6d) },
	[E_VMULL] = { 0, 0, II(0x28) },
	[E_VMULLU] = { 0, 0, I(0xf4) },
	[E_VLOWS] = ALL(0x6c),
	[E_VHIGHS] = ALL(0x6d),
};

static bool commutes(enum e_vop op)
{
	return op == E_VAND || op == E_VOR || op == E_VXOR || op == E_VADD || op == E_VMUL ||
	       op == E_VEQ || (op >= E_VMAX && op <= E_VMINU) || op == E_VAVGU;
}

/* ---- shifts ---- */

enum { SHIFT_RIGHT = 2, SHIFT_RIGHT_BYTES = 3, SHIFT_SIGNED = 4, SHIFT_LEFT = 6 };

/* Shift by a constant; elements of 2 to 8 bytes. */
static void shift(struct trans *t, unsigned kind, unsigned lg, unsigned d, unsigned a, unsigned n)
{
	x_vi(t, I(0x70 + lg), kind, d, a, n);
}

static void shift_bytes(struct trans *t, enum e_shift op, unsigned d, unsigned a, unsigned n)
{
	if (n >= 8 && op != E_SAR) {
		x_v(t, V_PXOR, d, d, d);
		return;
	}
	n = MIN(n, 7);
	shift(t, op == E_SHL ? SHIFT_LEFT : SHIFT_RIGHT, 1, d, a, n);
	xv_k(t, V_PAND, d, d, (op == E_SHL ? K_SHL_8 : K_SHR_8) + n);
	if (op == E_SAR) {
		xv_k(t, V_PXOR, d, d, K_TOP_8 + n);
		xv_k(t, I(0xf8), d, d, K_TOP_8 + n);
	}
}

/* There is no arithmetic shift of doublewords. */
static void shift_signed64(struct trans *t, unsigned a, unsigned n)
{
	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	x_v(t, II(0x37), X_T0, X_T0, a); /* all ones if negative */
	if (n >= 64) {
		x_v(t, V_MOVAPS, X_T1, 0, X_T0);
		return;
	}
	shift(t, SHIFT_LEFT, 3, X_T0, X_T0, 64 - n);
	shift(t, SHIFT_RIGHT, 3, X_T1, a, n);
	x_v(t, V_POR, X_T1, X_T1, X_T0);
}

void e_vshifti(struct trans *t, enum e_shift op, unsigned lg, unsigned d, unsigned a, unsigned n)
{
	static const u8 kind[] = { SHIFT_LEFT, SHIFT_RIGHT, SHIFT_SIGNED };
	unsigned ra;

	if (n == 0) {
		e_vmov(t, d, a);
		return;
	}
	ra = xv_use(t, a, X_T1);
	if (lg == 3 && op == E_SAR) {
		shift_signed64(t, ra, n);
		xv_put(t, d, X_T1);
	} else if (lg == 0) {
		shift_bytes(t, op, X_T1, ra, n);
		xv_put(t, d, X_T1);
	} else {
		unsigned rd = xv_dest(d, X_T1);

		shift(t, kind[op], lg, rd, ra, n);
		xv_put(t, d, rd);
	}
}

/* The lowest byte of each element of b is the count; both scratch vectors are used. */
static bool shift_variable(struct trans *t, bool sign, unsigned lg, unsigned d, unsigned a,
			   unsigned b)
{
	const unsigned v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);
	unsigned ra;
	u32 w = lg == 3 ? V_W : 0;

	if (lg < 2 || (sign && lg == 3))
		return false;
	shift(t, SHIFT_LEFT, 2, X_T0, xv_use(t, b, X_T0), 24);
	shift(t, SHIFT_SIGNED, 2, X_T0, X_T0, 24);
	if (lg == 3)
		xv_k(t, V_PAND, X_T0, X_T0, K_LOW_32);
	ra = xv_use(t, a, v0);
	x_v(t, V_PXOR, X_T1, X_T1, X_T1);
	x_v(t, I(0xfa), X_T1, X_T1, X_T0);  /* count to the right */
	x_v(t, II(0x47) | w, v1, ra, X_T0); /* 0 for a count that is negative */
	x_v(t, sign ? II(0x46) : II(0x45) | w, X_T1, ra, X_T1);
	if (sign)
		x_vi(t, V_OP(3, 1, 0x4a), X_T1, v1, X_T1, X_T0 << 4); /* by the count's sign */
	else
		x_v(t, V_POR, X_T1, X_T1, v1);
	xv_put(t, d, X_T1);
	return true;
}

/* ---- operations of several instructions; the result goes through X_T1 ---- */

static void invert(struct trans *t, unsigned reg)
{
	x_v(t, V_PCMPEQD, X_T0, X_T0, X_T0);
	x_v(t, V_PXOR, reg, reg, X_T0);
}

static void greater(struct trans *t, enum e_vop op, unsigned lg, unsigned a, unsigned b)
{
	bool uns = op == E_VGTU || op == E_VGEU;
	unsigned ra = xv_use(t, a, X_T0);

	if (lg < 3) { /* a >= b if a is the greater one; a > b unless b is that */
		xv_op(t, simple[uns ? E_VMAXU : E_VMAX][lg], X_T1, ra, b);
		if (op == E_VGTU) {
			xv_op(t, simple[E_VEQ][lg], X_T1, X_T1, b);
			invert(t, X_T1);
		} else {
			x_v(t, simple[E_VEQ][lg], X_T1, X_T1, ra);
		}
		return;
	}
	if (uns) {
		unsigned rb = xv_use(t, b, X_T1);

		xv_k(t, V_PXOR, X_T0, ra, K_SIGN_64);
		xv_k(t, V_PXOR, X_T1, rb, K_SIGN_64);
		ra = X_T0;
	} else {
		unsigned rb = xv_use(t, b, X_T1);

		if (rb != X_T1)
			x_v(t, V_MOVAPS, X_T1, 0, rb);
	}
	if (op == E_VGTU) {
		x_v(t, II(0x37), X_T1, ra, X_T1);
	} else {
		x_v(t, II(0x37), X_T1, X_T1, ra);
		invert(t, X_T1);
	}
}

static void test_bits(struct trans *t, unsigned lg, unsigned a, unsigned b)
{
	xv_op(t, V_PAND, X_T1, xv_use(t, a, X_T1), b);
	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	x_v(t, simple[E_VEQ][lg], X_T1, X_T1, X_T0);
	invert(t, X_T1);
}

static void difference(struct trans *t, bool uns, unsigned lg, unsigned a, unsigned b)
{
	unsigned ra = xv_use(t, a, X_T0);

	xv_op(t, simple[uns ? E_VMAXU : E_VMAX][lg], X_T1, ra, b);
	xv_op(t, simple[uns ? E_VMINU : E_VMIN][lg], X_T0, ra, b);
	x_v(t, simple[E_VSUB][lg], X_T1, X_T1, X_T0);
}

/* Even and odd bytes as halfwords. */
static void multiply_bytes(struct trans *t, unsigned a, unsigned b)
{
	shift(t, SHIFT_RIGHT, 1, X_T1, xv_use(t, a, X_T1), 8);
	shift(t, SHIFT_RIGHT, 1, X_T0, xv_use(t, b, X_T0), 8);
	x_v(t, I(0xd5), X_T1, X_T1, X_T0);
	shift(t, SHIFT_LEFT, 1, X_T1, X_T1, 8);
	xv_op(t, I(0xd5), X_T0, xv_use(t, a, X_T0), b);
	xv_k(t, V_PAND, X_T0, X_T0, K_LOW_8);
	x_v(t, V_POR, X_T1, X_T1, X_T0);
}

static void unzip(struct trans *t, bool odd, unsigned lg, unsigned a, unsigned b)
{
	if (lg == 2) {
		xv_op(t, V_SHUFPS, X_T1, xv_use(t, a, X_T1), b);
		x_byte(t, odd ? 0xdd : 0x88);
		return;
	}
	xv_k(t, V_PSHUFB, X_T1, xv_use(t, a, X_T1), (odd ? K_ODD_8 : K_EVEN_8) + lg);
	xv_k(t, V_PSHUFB, X_T0, xv_use(t, b, X_T0), (odd ? K_ODD_8 : K_EVEN_8) + lg);
	x_v(t, V_PUNPCKLQDQ, X_T1, X_T1, X_T0);
}

static void transpose(struct trans *t, bool odd, unsigned lg, unsigned a, unsigned b)
{
	if (odd) {
		shift(t, SHIFT_RIGHT, lg + 1, X_T1, xv_use(t, a, X_T1), 8u << lg);
		x_vrip(t, V_MOVUPS_LOAD, X_T0, 0, xv_const(K_LOW_8 + lg));
		xv_op(t, V_PANDN, X_T0, X_T0, b);
	} else {
		shift(t, SHIFT_LEFT, lg + 1, X_T1, xv_use(t, b, X_T1), 8u << lg);
		xv_k(t, V_PAND, X_T0, xv_use(t, a, X_T0), K_LOW_8 + lg);
	}
	x_v(t, V_POR, X_T1, X_T1, X_T0);
}

static bool compose(struct trans *t, enum e_vop op, unsigned lg, unsigned a, unsigned b)
{
	switch (op) {
	case E_VGE:
	case E_VGTU:
	case E_VGEU: greater(t, op, lg, a, b); return true;
	case E_VTST: test_bits(t, lg, a, b); return true;
	case E_VABD:
	case E_VABDU:
		if (lg < 3)
			difference(t, op == E_VABDU, lg, a, b);
		return lg < 3;
	case E_VMUL:
		if (lg == 0)
			multiply_bytes(t, a, b);
		return lg == 0;
	case E_VSQADD:
	case E_VSQSUB:
	case E_VUQADD:
	case E_VUQSUB: xv_saturating(t, op, lg, a, b); return true;
	case E_VUZP1:
	case E_VUZP2: unzip(t, op == E_VUZP2, lg, a, b); return true;
	case E_VTRN1:
	case E_VTRN2: transpose(t, op == E_VTRN2, lg, a, b); return true;
	default: return false;
	}
}

bool e_v(struct trans *t, enum e_vop op, unsigned lg, unsigned d, unsigned a, unsigned b)
{
	u32 host = op < ARRAY_SIZE(simple) ? simple[op][lg] : 0;

	if (op == E_VSHLV || op == E_VSHLVU)
		return shift_variable(t, op == E_VSHLV, lg, d, a, b);
	if (host) {
		bool swap = commutes(op) && host_vreg(a) < 0;

		xv_op3(t, host, d, swap ? b : a, swap ? a : b);
		return true;
	}
	if (!compose(t, op, lg, a, b))
		return false;
	xv_put(t, d, X_T1);
	return true;
}

/* ---- one operand ---- */

static void absolute64(struct trans *t, unsigned a)
{
	unsigned ra = xv_use(t, a, X_T1);

	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	x_v(t, II(0x37), X_T0, X_T0, ra);
	x_v(t, V_PXOR, X_T1, ra, X_T0);
	x_v(t, I(0xfb), X_T1, X_T1, X_T0);
}

/* Look both halves of each byte up in a table. */
static void by_nibble(struct trans *t, unsigned table, unsigned a)
{
	const unsigned v1 = host_vreg(E_V1);
	unsigned ra = xv_use(t, a, X_T1);

	xv_k(t, V_PAND, X_T0, ra, K_NIBBLE);
	shift(t, SHIFT_RIGHT, 1, X_T1, ra, 4);
	xv_k(t, V_PAND, X_T1, X_T1, K_NIBBLE);
	x_vrip(t, V_MOVUPS_LOAD, v1, 0, xv_const(table));
	x_v(t, V_PSHUFB, X_T0, v1, X_T0);
	x_v(t, V_PSHUFB, X_T1, v1, X_T1);
}

static void reverse(struct trans *t, enum e_vop1 op, unsigned lg, unsigned a)
{
	unsigned ra = xv_use(t, a, X_T1);

	if (lg == 2)
		x_vi(t, V_PSHUFD, X_T1, 0, ra, 0xb1);
	else if (lg == 1)
		xv_k(t, V_PSHUFB, X_T1, ra, op == E_VREV32 ? K_REV32_16 : K_REV64_16);
	else
		xv_k(t, V_PSHUFB, X_T1, ra, K_REV16_8 + (op - E_VREV16));
}

bool e_v1(struct trans *t, enum e_vop1 op, unsigned lg, unsigned d, unsigned a)
{
	static const u32 abs_op[] = { II(0x1c), II(0x1d), II(0x1e) };

	switch (op) {
	case E_VNOT:
		x_v(t, V_PCMPEQD, X_T1, X_T1, X_T1);
		xv_op(t, V_PXOR, X_T1, X_T1, a);
		break;
	case E_VABS:
		if (lg == 3)
			absolute64(t, a);
		else
			xv_op(t, abs_op[lg], X_T1, 0, a);
		break;
	case E_VCNT:
		by_nibble(t, K_COUNT, a);
		x_v(t, I(0xfc), X_T1, X_T1, X_T0);
		break;
	case E_VRBIT:
		by_nibble(t, K_FLIP, a);
		shift(t, SHIFT_RIGHT, 1, X_T1, X_T1, 4);
		x_v(t, V_POR, X_T1, X_T1, X_T0);
		break;
	default: reverse(t, op, lg, a); break;
	}
	xv_put(t, d, X_T1);
	return true;
}

/* ---- sums and products of neighbours ---- */

bool e_vaddlp(struct trans *t, bool sign, unsigned lg, unsigned d, unsigned a)
{
	unsigned ra = lg == 0 && sign ? X_T0 : xv_use(t, a, X_T1);

	switch (lg) {
	case 0: /* pmaddubsw: the first factor is unsigned */
		if (sign) {
			x_vrip(t, V_MOVUPS_LOAD, X_T0, 0, xv_const(K_ONES_8));
			xv_op(t, II(0x04), X_T1, ra, a);
		} else {
			xv_k(t, II(0x04), X_T1, ra, K_ONES_8);
		}
		break;
	case 1:
		if (sign) {
			xv_k(t, I(0xf5), X_T1, ra, K_ONES_16);
			break;
		}
		xv_k(t, V_PAND, X_T0, ra, K_LOW_16);
		shift(t, SHIFT_RIGHT, 2, X_T1, ra, 16);
		x_v(t, I(0xfe), X_T1, X_T1, X_T0);
		break;
	default:
		if (sign) {
			x_vi(t, V_PSHUFD, X_T0, 0, ra, 0x08);
			x_vi(t, V_PSHUFD, X_T1, 0, ra, 0x0d);
			x_v(t, II(0x25), X_T0, 0, X_T0);
			x_v(t, II(0x25), X_T1, 0, X_T1);
		} else {
			xv_k(t, V_PAND, X_T0, ra, K_LOW_32);
			shift(t, SHIFT_RIGHT, 3, X_T1, ra, 32);
		}
		x_v(t, I(0xd4), X_T1, X_T1, X_T0);
		break;
	}
	xv_put(t, d, X_T1);
	return true;
}

void e_vsum8(struct trans *t, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);

	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	xv_op(t, I(0xf6), X_T1, X_T0, a);
	x_vi(t, V_PSHUFD, X_T0, 0, X_T1, 0xee);
	x_v(t, I(0xd4), X_T1, X_T1, X_T0);
	x_v(t, V_MOVQ, rd, 0, X_T1);
	xv_put(t, d, rd);
}

/* Even bytes, or odd ones, extended to halfwords. */
static void bytes_of(struct trans *t, bool odd, bool sign, unsigned d, unsigned a)
{
	unsigned ra = xv_use(t, a, d);

	if (odd) {
		shift(t, sign ? SHIFT_SIGNED : SHIFT_RIGHT, 1, d, ra, 8);
	} else if (sign) {
		shift(t, SHIFT_LEFT, 1, d, ra, 8);
		shift(t, SHIFT_SIGNED, 1, d, d, 8);
	} else {
		xv_k(t, V_PAND, d, ra, K_LOW_8);
	}
}

void e_vdot(struct trans *t, bool sign, unsigned d, unsigned a, unsigned b)
{
	const unsigned v0 = host_vreg(E_V0);
	unsigned rd = xv_dest(d, X_T1);

	bytes_of(t, true, sign, X_T1, a);
	bytes_of(t, true, sign, X_T0, b);
	x_v(t, I(0xf5), X_T1, X_T1, X_T0);
	bytes_of(t, false, sign, X_T0, a);
	bytes_of(t, false, sign, v0, b);
	x_v(t, I(0xf5), X_T0, X_T0, v0);
	x_v(t, I(0xfe), X_T1, X_T1, X_T0);
	xv_op(t, I(0xfe), rd, X_T1, d);
	xv_put(t, d, rd);
}

void e_vtable(struct trans *t, bool keep, unsigned d, unsigned first, unsigned n, unsigned b)
{
	const unsigned v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);
	unsigned index = xv_use(t, b, v0);

	for (unsigned k = 0; k < n; k++) {
		unsigned r = k ? X_T0 : X_T1;

		xv_k(t, I(0xdc), r, index, K_TABLE);
		x_v(t, V_PSHUFB, r, xv_use(t, (first + k) & 31, v1), r);
		if (k)
			x_v(t, V_POR, X_T1, X_T1, X_T0);
		if (k + 1 < n)
			xv_k(t, I(0xf8), v0, index, K_SIXTEEN);
		index = v0;
	}
	if (keep) { /* where the index is not less than 16 * n */
		index = xv_use(t, b, v0);
		xv_k(t, simple[E_VMAXU][0], X_T0, index, K_TABLES + n - 1);
		x_v(t, simple[E_VEQ][0], X_T0, X_T0, index);
		xv_op(t, V_PAND, X_T0, X_T0, d);
		x_v(t, V_POR, X_T1, X_T1, X_T0);
	}
	xv_put(t, d, X_T1);
}

void e_vmix3(struct trans *t, bool join, unsigned lg, unsigned k, unsigned d, unsigned first)
{
	unsigned mask = (join ? K_JOIN3 : K_SPLIT3) + (lg * 3 + k) * 3;

	for (unsigned j = 0; j < 3; j++) {
		unsigned r = j ? X_T0 : X_T1;

		xv_k(t, V_PSHUFB, r, xv_use(t, (first + j) & 31, r), mask + j);
		if (j)
			x_v(t, V_POR, X_T1, X_T1, X_T0);
	}
	xv_put(t, d, X_T1);
}

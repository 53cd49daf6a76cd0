/* accel/tcg/x86/emit-vecsat.c - saturating operations on vectors (accel/tcg/emit-vec.h) with AVX.
 * What has been saturated is left in tcg_cpu.v_saturated. */
#include "accel/tcg/x86/vec.h"

#define I(op)   V_OP(1, 1, op)
#define II(op)  V_OP(2, 1, op)
#define III(op) V_OP(3, 1, op)

#define V_PCMPGTQ II(0x37)

enum { SHIFT_RIGHT = 2, SHIFT_SIGNED = 4, SHIFT_LEFT = 6 };

static const u32 add_op[] = { I(0xfc), I(0xfd), I(0xfe), I(0xd4) };
static const u32 sub_op[] = { I(0xf8), I(0xf9), I(0xfa), I(0xfb) };

static bool is_add(enum e_vop op)
{
	return op == E_VSQADD || op == E_VUQADD;
}

/* X_T0 is not 0 where something has been saturated. */
static void remember(struct trans *t)
{
	x_vm(t, V_POR, X_T0, X_T0, RBP, CPU_FIELD(v_saturated));
	x_vm(t, V_MOVUPS_STORE, X_T0, 0, RBP, CPU_FIELD(v_saturated));
}

/* ---- addition and subtraction: the result in X_T1, the difference that it makes in X_T0 ---- */

/* Bytes and halfwords: the host has it. */
static void narrow_sum(struct trans *t, enum e_vop op, unsigned lg, unsigned a, unsigned b)
{
	static const u32 host[][2] = {
		[E_VSQADD] = { I(0xec), I(0xed) },
		[E_VSQSUB] = { I(0xe8), I(0xe9) },
		[E_VUQADD] = { I(0xdc), I(0xdd) },
		[E_VUQSUB] = { I(0xd8), I(0xd9) },
	};
	unsigned ra = xv_use(t, a, X_T0);

	xv_op(t, host[op][lg], X_T1, ra, b);
	xv_op(t, (is_add(op) ? add_op : sub_op)[lg], X_T0, ra, b);
	x_v(t, V_PXOR, X_T0, X_T0, X_T1);
}

/* A sum overflows if its sign is neither operand's, a difference if it is not that of @ra, and
 * @rb's is not either. */
static void signed_sum(struct trans *t, bool add, unsigned lg, unsigned ra, unsigned rb)
{
	const unsigned v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);

	x_v(t, (add ? add_op : sub_op)[lg], X_T1, ra, rb);
	x_v(t, V_PXOR, X_T0, X_T1, ra);
	x_v(t, V_PXOR, v1, add ? X_T1 : ra, rb);
	x_v(t, V_PAND, X_T0, X_T0, v1);
	if (lg == 2) {
		x_vi(t, I(0x72), SHIFT_SIGNED, v0, ra, 31);
	} else {
		x_v(t, V_PXOR, v1, v1, v1);
		x_v(t, V_PCMPGTQ, v0, v1, ra);
	}
	xv_k(t, V_PXOR, v0, v0, lg == 2 ? K_ABS_V32 : K_ABS_V64); /* the border on its side */
	x_vi(t, lg == 2 ? III(0x4a) : III(0x4b), X_T1, X_T1, v0, X_T0 << 4);
	xv_k(t, V_PAND, X_T0, X_T0, K_SIGN_8 + lg);
}

/* min(a, ~b) + b and max(a, b) - b */
static void unsigned_sum32(struct trans *t, bool add, unsigned ra, unsigned rb)
{
	if (add) {
		x_v(t, V_PCMPEQD, X_T0, X_T0, X_T0);
		x_v(t, V_PXOR, X_T0, X_T0, rb);
		x_v(t, II(0x3b), X_T0, X_T0, ra);
		x_v(t, add_op[2], X_T1, X_T0, rb);
	} else {
		x_v(t, II(0x3f), X_T0, ra, rb);
		x_v(t, sub_op[2], X_T1, X_T0, rb);
	}
	x_v(t, (add ? add_op : sub_op)[2], X_T0, ra, rb);
	x_v(t, V_PXOR, X_T0, X_T0, X_T1);
}

/* There is a carry if the sum is less than a, a borrow if a is less than b. */
static void unsigned_sum64(struct trans *t, bool add, unsigned ra, unsigned rb)
{
	const unsigned v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);

	x_v(t, (add ? add_op : sub_op)[3], X_T1, ra, rb);
	xv_k(t, V_PXOR, X_T0, add ? X_T1 : ra, K_SIGN_64);
	xv_k(t, V_PXOR, v0, add ? ra : rb, K_SIGN_64);
	x_v(t, V_PCMPGTQ, X_T0, v0, X_T0);
	if (add) {
		x_v(t, V_POR, X_T1, X_T1, X_T0);
	} else {
		x_v(t, V_MOVAPS, v1, 0, X_T0);
		x_v(t, V_PANDN, X_T1, v1, X_T1);
	}
}

void xv_saturating(struct trans *t, enum e_vop op, unsigned lg, unsigned a, unsigned b)
{
	if (lg < 2) {
		narrow_sum(t, op, lg, a, b);
	} else {
		unsigned ra = xv_use(t, a, host_vreg(E_V0)), rb = xv_use(t, b, host_vreg(E_V1));

		if (op == E_VSQADD || op == E_VSQSUB)
			signed_sum(t, is_add(op), lg, ra, rb);
		else if (lg == 2)
			unsigned_sum32(t, is_add(op), ra, rb);
		else
			unsigned_sum64(t, is_add(op), ra, rb);
	}
	remember(t);
}

/* ---- narrowing ---- */

bool e_vqnarrow(struct trans *t, enum e_vnarrow how, unsigned lg, unsigned d, unsigned a)
{
	static const u32 pack[][2] = {
		[E_NARROW_SIGNED] = { I(0x63), I(0x6b) },
		[E_NARROW_UNSIGNED] = { I(0x67), II(0x2b) },
		[E_NARROW_TO_UNSIGNED] = { I(0x67), II(0x2b) },
	};
	static const u32 min_unsigned[] = { II(0x3a), II(0x3b) };
	unsigned ra;

	if (lg > 1)
		return false;
	ra = xv_use(t, a, host_vreg(E_V0));
	if (how == E_NARROW_UNSIGNED) { /* the host takes the source for signed */
		xv_k(t, min_unsigned[lg], X_T0, ra, K_LOW_8 + lg);
		x_v(t, pack[how][lg], X_T1, X_T0, X_T0);
	} else {
		x_v(t, pack[how][lg], X_T1, ra, ra);
		x_v(t, II((lg ? 0x23 : 0x20) + (how == E_NARROW_SIGNED ? 0 : 0x10)), X_T0, 0, X_T1);
	}
	x_v(t, V_PXOR, X_T0, X_T0, ra);
	remember(t);
	x_v(t, V_MOVQ, X_T1, 0, X_T1);
	xv_put(t, d, X_T1);
	xv_set_zero(t, d, true, false);
	return true;
}

/* ---- products ---- */

/* Doubled products of words, upper halves: even ones in X_T1, odd ones in X_T0. */
static void double_words(struct trans *t, bool round, unsigned ra, unsigned rb)
{
	const unsigned v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);

	x_v(t, II(0x28), X_T1, ra, rb);
	x_vi(t, I(0x73), SHIFT_RIGHT, v0, ra, 32);
	x_vi(t, I(0x73), SHIFT_RIGHT, v1, rb, 32);
	x_v(t, II(0x28), X_T0, v0, v1);
	if (round) {
		xv_k(t, add_op[3], X_T1, X_T1, K_BIT_30);
		xv_k(t, add_op[3], X_T0, X_T0, K_BIT_30);
	}
	x_vi(t, I(0x73), SHIFT_RIGHT, X_T1, X_T1, 31);
	x_vi(t, I(0x73), SHIFT_LEFT, X_T0, X_T0, 1);
	x_vi(t, III(0x02), X_T1, X_T1, X_T0, 10);
}

static void double_halfwords(struct trans *t, bool round, unsigned ra, unsigned rb)
{
	if (round) {
		x_v(t, II(0x0b), X_T1, ra, rb);
		return;
	}
	x_v(t, I(0xe5), X_T1, ra, rb);
	x_v(t, I(0xd5), X_T0, ra, rb);
	x_vi(t, I(0x71), SHIFT_LEFT, X_T1, X_T1, 1);
	x_vi(t, I(0x71), SHIFT_RIGHT, X_T0, X_T0, 15);
	x_v(t, V_POR, X_T1, X_T1, X_T0);
}

/* Only the square of the lowest number overflows, to itself. */
void e_vqdmulh(struct trans *t, bool round, unsigned lg, unsigned d, unsigned a, unsigned b)
{
	unsigned ra = xv_use(t, a, host_vreg(E_V0)), rb = xv_use(t, b, host_vreg(E_V1));

	if (lg == 1)
		double_halfwords(t, round, ra, rb);
	else
		double_words(t, round, ra, rb);
	xv_k(t, lg == 1 ? I(0x75) : V_PCMPEQD, X_T0, X_T1, K_SIGN_8 + lg);
	x_v(t, V_PXOR, X_T1, X_T1, X_T0);
	remember(t);
	xv_put(t, d, X_T1);
}

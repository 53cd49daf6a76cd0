/* accel/tcg/x86/emit-crypto.c - cryptography and checksums on x86-64 (accel/tcg/emit-vec.h). */
#include <cpuid.h>

#include "accel/tcg/x86/vec.h"

#define I(op)   V_OP(1, 1, op)
#define II(op)  V_OP(2, 1, op)
#define III(op) V_OP(3, 1, op)

#define V_PSUBD I(0xfa)
#define V_PADDD I(0xfe)
#define V_PADDQ I(0xd4)

/* ---- AES and polynomials ---- */

bool e_aes(struct trans *t, enum e_aes op, unsigned d, unsigned a)
{
	unsigned ra;

	if (!__builtin_cpu_supports("aes"))
		return false;
	ra = xv_use(t, a, X_T1);
	x_v(t, V_PXOR, X_T0, X_T0, X_T0);
	switch (op) {
	case E_AES_ENC:
		xv_op(t, V_PXOR, X_T1, ra, d);
		x_v(t, II(0xdd), X_T1, X_T1, X_T0);
		break;
	case E_AES_DEC:
		xv_op(t, V_PXOR, X_T1, ra, d);
		x_v(t, II(0xdf), X_T1, X_T1, X_T0);
		break;
	case E_AES_MIX: /* a decryption's last round and an encryption's round, but for the columns
			 */
		x_v(t, II(0xdf), X_T1, ra, X_T0);
		x_v(t, II(0xdc), X_T1, X_T1, X_T0);
		break;
	default: x_v(t, II(0xdb), X_T1, 0, ra); break;
	}
	xv_put(t, d, X_T1);
	return true;
}

bool e_pmull(struct trans *t, bool upper, unsigned d, unsigned a, unsigned b)
{
	if (!__builtin_cpu_supports("pclmul"))
		return false;
	xv_op(t, III(0x44), X_T1, xv_use(t, a, X_T1), b);
	x_byte(t, upper ? 0x11 : 0);
	xv_put(t, d, X_T1);
	return true;
}

/* ---- SHA-1 and SHA-256: not VEX encoded, the first register is also a source ---- */

#define OP_SHA1RNDS4   (0xcc | OP_0F3A)
#define OP_SHA256RNDS2 (0xcb | OP_0F38) /* xmm0 holds two sums of message and constant */
#define OP_SHA256MSG1  (0xcc | OP_0F38)
#define OP_SHA256MSG2  (0xcd | OP_0F38)

#define REVERSED 0x1b /* pshufd: all four words in the other order */

/* Asked once: cpuid takes long in a virtual machine. Translation is one at a time. */
static bool has_sha(void)
{
	static int known = -1;
	unsigned a, b, c, d;

	if (known < 0)
		known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
	return known && host_vectors;
}

/* The host wants the first word on top, the fifth variable added to the first word of the message,
 * and adds the round constant itself. */
bool e_sha1(struct trans *t, enum e_sha1 op, unsigned d, unsigned e, unsigned w)
{
	unsigned re;

	if (!has_sha())
		return false;
	xv_k(t, V_PSUBD, X_T0, xv_use(t, w, X_T0), K_SHA1 + op);
	re = xv_use(t, e, X_T1);
	x_vi(t, V_INSERTPS, X_T1, re, re, 0x0e); /* the first word alone */
	x_v(t, V_PADDD, X_T0, X_T0, X_T1);
	x_vi(t, V_PSHUFD, X_T0, 0, X_T0, REVERSED);
	x_vi(t, V_PSHUFD, X_T1, 0, xv_use(t, d, X_T1), REVERSED);
	x_rr(t, 0, OP_SHA1RNDS4, X_T1, X_T0);
	x_byte(t, op);
	x_vi(t, V_PSHUFD, X_T1, 0, X_T1, REVERSED);
	xv_put(t, d, X_T1);
	return true;
}

/* The host has the variables as F E B A and H G D C, from the lowest word on. */
bool e_sha256(struct trans *t, bool second, unsigned d, unsigned n, unsigned w)
{
	const unsigned xmm0 = 0, v0 = host_vreg(E_V0), v1 = host_vreg(E_V1);
	unsigned abcd = second ? n : d, efgh = second ? d : n, ry;

	if (!has_sha())
		return false;
	ry = xv_use(t, efgh, v0);
	xv_op(t, V_SHUFPS, X_T0, ry, abcd);
	x_byte(t, 0x11);
	xv_op(t, V_SHUFPS, X_T1, ry, abcd);
	x_byte(t, 0xbb);
	x_v(t, V_MOVAPS, v1, 0, xmm0);
	if (host_vreg(w) != (int)xmm0)
		x_v(t, V_MOVAPS, xmm0, 0, xv_use(t, w, v0));
	x_rr(t, 0, OP_SHA256RNDS2, X_T1, X_T0);
	x_vi(t, V_PSHUFD, xmm0, 0, xmm0, 0x0e);
	x_rr(t, 0, OP_SHA256RNDS2, X_T0, X_T1);
	x_v(t, V_MOVAPS, xmm0, 0, v1);
	x_vi(t, V_SHUFPS, X_T1, X_T0, X_T1, second ? 0x11 : 0xbb);
	xv_put(t, d, X_T1);
	return true;
}

bool e_sha256_first(struct trans *t, unsigned d, unsigned n)
{
	unsigned rn;

	if (!has_sha())
		return false;
	rn = xv_use(t, n, X_T0);
	x_v(t, V_MOVAPS, X_T1, 0, xv_use(t, d, X_T1));
	x_rr(t, 0, OP_SHA256MSG1, X_T1, rn);
	xv_put(t, d, X_T1);
	return true;
}

bool e_sha256_second(struct trans *t, unsigned d, unsigned n, unsigned m)
{
	const unsigned v0 = host_vreg(E_V0);
	unsigned rm;

	if (!has_sha())
		return false;
	rm = xv_use(t, m, v0);
	x_vi(t, V_PALIGNR, X_T1, rm, xv_use(t, n, X_T0), 4);
	xv_op(t, V_PADDD, X_T1, X_T1, d);
	x_rr(t, 0, OP_SHA256MSG2, X_T1, rm);
	xv_put(t, d, X_T1);
	return true;
}

/* ---- SHA-512 and SHA-3 ---- */

enum { SHIFT_RIGHT = 2, SHIFT_LEFT = 6 };

/* X_T1 ^= reg rotated right */
static void xor_rotated(struct trans *t, unsigned reg, unsigned n)
{
	x_vi(t, I(0x73), SHIFT_RIGHT, X_T0, reg, n);
	x_v(t, V_PXOR, X_T1, X_T1, X_T0);
	x_vi(t, I(0x73), SHIFT_LEFT, X_T0, reg, 64 - n);
	x_v(t, V_PXOR, X_T1, X_T1, X_T0);
}

void e_sha512_sigma(struct trans *t, unsigned d, unsigned a, unsigned b, const u8 n[3])
{
	unsigned rb = xv_use(t, b, host_vreg(E_V0));

	x_vi(t, I(0x73), SHIFT_RIGHT, X_T1, rb, n[2]);
	xor_rotated(t, rb, n[0]);
	xor_rotated(t, rb, n[1]);
	xv_op(t, V_PADDQ, X_T1, X_T1, a);
	xv_put(t, d, X_T1);
}

void e_vror64(struct trans *t, unsigned d, unsigned a, unsigned n)
{
	unsigned ra = xv_use(t, a, X_T1);

	if (n == 0) {
		e_vmov(t, d, a);
		return;
	}
	x_vi(t, I(0x73), SHIFT_RIGHT, X_T0, ra, n);
	x_vi(t, I(0x73), SHIFT_LEFT, X_T1, ra, 64 - n);
	x_v(t, V_POR, X_T1, X_T1, X_T0);
	xv_put(t, d, X_T1);
}

/* ---- checksums ---- */

static bool crc32c(struct trans *t, unsigned lg, unsigned d, unsigned a, unsigned b)
{
	unsigned rb;

	if (!__builtin_cpu_supports("sse4.2"))
		return false;
	rb = x_use(t, lg == 3, b, RDX);
	x_get(t, 0, RAX, a);
	x_rr(t, lg == 3, (lg ? 0xf1 : 0xf0 | OP_BYTE) | OP_0F38 | OP_F2 | (lg == 1 ? OP_66 : 0),
	     RAX, rb);
	x_put(t, d, RAX);
	return true;
}

/*
 * The remainder of n bits x at the top of a doubleword, all bits reflected: the quotient is the
 * lower half of x times t^96 / P, the remainder the upper half of the quotient times P. No flags
 * and vectors of the guest are touched, so that the region need not use vectors.
 */
bool e_crc32(struct trans *t, bool castagnoli, unsigned lg, unsigned d, unsigned a, unsigned b)
{
	unsigned bits = 8u << lg;

	if (castagnoli)
		return crc32c(t, lg, d, a, b);
	if (!host_vectors || !__builtin_cpu_supports("pclmul"))
		return false;
	x_get(t, 0, RAX, a);
	x_get(t, lg == 3, RCX, b);
	x_rr(t, lg == 3, OP_XOR, RCX, RAX);
	if (lg < 3)
		x_shift(t, 1, 4, RCX, 64 - bits);
	x_v(t, V_MOVD_IN | V_W, X_T1, 0, RCX);
	x_vrip(t, V_MOVUPS_LOAD, X_T0, 0, xv_const(K_CRC32));
	x_vi(t, III(0x44), X_T1, X_T1, X_T0, 0x00);
	x_vi(t, III(0x44), X_T1, X_T1, X_T0, 0x10);
	x_vi(t, III(0x16), X_T1, 0, RCX, 2);
	if (lg < 2) {
		x_shift(t, 0, 5, RAX, bits);
		x_rr(t, 0, OP_XOR, RCX, RAX);
	}
	x_put(t, d, RCX);
	return true;
}

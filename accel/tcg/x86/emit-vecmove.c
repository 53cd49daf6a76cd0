/* accel/tcg/x86/emit-vecmove.c - moves of vectors and of their elements on x86-64
 * (accel/tcg/emit-vec.h). */
#include "accel/tcg/x86/vec.h"

#define I(op)   V_OP(1, 1, op)
#define II(op)  V_OP(2, 1, op)
#define III(op) V_OP(3, 1, op)

void e_vmov(struct trans *t, unsigned d, unsigned a)
{
	bool zero64 = a < 32 && t->v_zero64 >> a & 1, zero32 = a < 32 && t->v_zero32 >> a & 1;

	if (d == a)
		return;
	xv_put(t, d, xv_use(t, a, xv_dest(d, X_T1)));
	xv_set_zero(t, d, zero64, zero32);
}

void e_vmovi(struct trans *t, unsigned d, u64 low, u64 high)
{
	unsigned rd = xv_dest(d, X_T1);

	if (!low && !high) {
		x_v(t, V_PXOR, rd, rd, rd);
	} else if (!~low && !~high) {
		x_v(t, V_PCMPEQD, rd, rd, rd);
	} else {
		x_movi(t, RAX, low);
		x_v(t, V_MOVD_IN | V_W, rd, 0, RAX);
		if (high == low) {
			x_v(t, V_PUNPCKLQDQ, rd, rd, rd);
		} else if (high) {
			x_movi(t, RAX, high);
			x_vi(t, III(0x22) | V_W, rd, rd, RAX, 1);
		}
	}
	xv_put(t, d, rd);
	xv_set_zero(t, d, !high, !high && !(low >> 32));
}

void e_vlow(struct trans *t, unsigned d)
{
	int h = host_vreg(d);

	if (d < 32 && t->v_zero64 >> d & 1)
		return;
	if (h >= 0)
		x_v(t, V_MOVQ, h, 0, h);
	else
		x_mov_mi(t, 1, RBP, vreg_disp(d, 1), 0);
	xv_set_zero(t, d, true, false);
}

void e_vfirst(struct trans *t, unsigned lg, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1), ra;
	int ha = host_vreg(a);

	if (lg >= 2 && ha < 0) {
		x_vm(t, lg == 3 ? V_MOVSD_LOAD : V_MOVSS_LOAD, rd, 0, RBP, vreg_disp(a, 0));
	} else if (lg == 3) {
		x_v(t, V_MOVQ, rd, 0, ha);
	} else if (lg == 2) {
		x_vi(t, V_INSERTPS, rd, ha, ha, 0x0e);
	} else {
		ra = xv_use(t, a, X_T1);
		x_vi(t, lg ? III(0x15) : III(0x14), ra, 0, RAX, 0);
		x_v(t, V_MOVD_IN, rd, 0, RAX);
	}
	xv_put(t, d, rd);
	xv_set_zero(t, d, true, lg < 3);
}

void e_vext(struct trans *t, unsigned d, unsigned lo, unsigned hi, unsigned n)
{
	unsigned rd = xv_dest(d, X_T1);
	unsigned rl = xv_use(t, lo, X_T0);

	x_vi(t, V_PALIGNR, rd, xv_use(t, hi, X_T1), rl, n);
	xv_put(t, d, rd);
}

void e_vwiden(struct trans *t, bool sign, unsigned lg, unsigned d, unsigned a, bool upper)
{
	static const u8 op[] = { 0x20, 0x23, 0x25 };
	unsigned rd = xv_dest(d, X_T1);
	u32 host = II(op[lg] + (sign ? 0 : 0x10));
	int ha = host_vreg(a);

	if (ha < 0) {
		x_vm(t, host, rd, 0, RBP, vreg_disp(a, upper));
	} else if (upper) {
		x_vi(t, V_PSHUFD, X_T1, 0, ha, 0xee);
		x_v(t, host, rd, 0, X_T1);
	} else {
		x_v(t, host, rd, 0, ha);
	}
	xv_put(t, d, rd);
}

void e_vnarrow(struct trans *t, unsigned lg, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);

	xv_k(t, V_PSHUFB, rd, xv_use(t, a, X_T1), K_EVEN_8 + lg);
	xv_put(t, d, rd);
	xv_set_zero(t, d, true, false);
}

/* ---- elements and general registers ---- */

void e_vget(struct trans *t, bool sign, unsigned w, unsigned lg, unsigned d, unsigned a,
	    unsigned index)
{
	static const u32 extract[] = { III(0x14), III(0x15), III(0x16), III(0x16) | V_W };
	static const u16 load[2][4] = { { OP_MOVZX8, OP_MOVZX16, OP_LOAD, OP_LOAD },
					{ OP_MOVSX8, OP_MOVSX16, OP_MOVSXD, OP_LOAD } };
	unsigned r = x_dest(d, RAX), wide = lg == 3 || (sign && w);
	int ha = host_vreg(a);

	if (ha < 0) {
		x_rm(t, wide, load[sign][lg], r, RBP, vreg_disp(a, 0) + (s32)(index << lg));
	} else {
		if (index || lg < 2)
			x_vi(t, extract[lg], ha, 0, r, index);
		else
			x_v(t, V_MOVD_OUT | (lg == 3 ? V_W : 0), ha, 0, r);
		if (sign && lg < 3)
			x_rr(t, w, load[1][lg], r, r);
	}
	x_put(t, d, r);
}

void e_vset(struct trans *t, unsigned lg, unsigned d, unsigned index, unsigned a)
{
	static const u32 insert[] = { III(0x20), I(0xc4), III(0x22), III(0x22) | V_W };
	static const u16 store[] = { OP_STORE8, OP_STORE16, OP_STORE, OP_STORE };
	unsigned ra = x_use(t, lg == 3, a, RAX);
	int hd = host_vreg(d);

	if (hd >= 0)
		x_vi(t, insert[lg], hd, hd, ra, index);
	else
		x_rm(t, lg == 3, store[lg], ra, RBP, vreg_disp(d, 0) + (s32)(index << lg));
	xv_changed(t, d);
}

static const u32 broadcast[] = { II(0x78), II(0x79), II(0x58), II(0x59) };

void e_vdup(struct trans *t, unsigned lg, unsigned d, unsigned a, unsigned index)
{
	unsigned rd = xv_dest(d, X_T1);
	int ha = host_vreg(a);

	if (ha < 0) {
		x_vm(t, broadcast[lg], rd, 0, RBP, vreg_disp(a, 0) + (s32)(index << lg));
	} else if (lg == 3) {
		x_v(t, index ? V_PUNPCKHQDQ : V_PUNPCKLQDQ, rd, ha, ha);
	} else if (lg == 2) {
		x_vi(t, V_PSHUFD, rd, 0, ha, index * 0x55);
	} else if (index) {
		x_vi(t, I(0x73), 3, X_T1, ha, index << lg); /* shift right by bytes */
		x_v(t, broadcast[lg], rd, 0, X_T1);
	} else {
		x_v(t, broadcast[lg], rd, 0, ha);
	}
	xv_put(t, d, rd);
}

void e_vdup_reg(struct trans *t, unsigned lg, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1);

	x_v(t, V_MOVD_IN | (lg == 3 ? V_W : 0), X_T1, 0, x_use(t, lg == 3, a, RAX));
	x_v(t, broadcast[lg], rd, 0, X_T1);
	xv_put(t, d, rd);
}

void e_vfrom(struct trans *t, unsigned lg, unsigned d, unsigned a)
{
	unsigned rd = xv_dest(d, X_T1), r;

	if (lg < 2) {
		e_extend(t, lg ? E_U16 : E_U8, 0, E_T0, a);
		r = RAX;
	} else {
		r = x_use(t, lg == 3, a, RAX);
	}
	x_v(t, V_MOVD_IN | (lg == 3 ? V_W : 0), rd, 0, r);
	xv_put(t, d, rd);
	xv_set_zero(t, d, true, lg < 3);
}

bool e_rbit(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	const unsigned v0 = host_vreg(E_V0);
	u32 wide = w ? V_W : 0;

	if (!host_vectors)
		return false;
	e_bswap(t, w, E_T0, a);
	x_v(t, V_MOVD_IN | wide, v0, 0, RAX);
	e_v1(t, E_VRBIT, 0, E_V0, E_V0);
	x_v(t, V_MOVD_OUT | wide, v0, 0, RAX);
	x_put(t, d, RAX);
	return true;
}

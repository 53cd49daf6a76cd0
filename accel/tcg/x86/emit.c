/* accel/tcg/x86/emit.c - integer operations of accel/tcg/emit.h on x86-64. */
#include "accel/tcg/x86/host.h"

void x_get(struct trans *t, unsigned w, unsigned reg, unsigned g)
{
	int h = host_reg(g);

	if (g == E_ZERO)
		x_movi(t, reg, 0);
	else if (h < 0)
		x_rm(t, w, OP_LOAD, reg, RBP, guest_disp(g));
	else if (h != (int)reg || !w)
		x_rr(t, w, OP_LOAD, reg, h);
}

unsigned x_use(struct trans *t, unsigned w, unsigned g, unsigned spare)
{
	int h = host_reg(g);

	if (h >= 0)
		return h;
	x_get(t, w, spare, g);
	return spare;
}

void x_put(struct trans *t, unsigned g, unsigned reg)
{
	int h = host_reg(g);

	if (g == E_ZERO || h == (int)reg)
		return;
	if (h >= 0)
		x_rr(t, 1, OP_LOAD, h, reg);
	else
		x_rm(t, 1, OP_STORE, reg, RBP, guest_disp(g));
}

void e_mov(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	if (d == E_ZERO || (d == a && w))
		return;
	if (w && host_reg(a) >= 0) {
		x_put(t, d, host_reg(a));
		return;
	}
	x_get(t, w, r, a);
	x_put(t, d, r);
}

void e_movi(struct trans *t, unsigned d, u64 imm)
{
	unsigned r = x_dest(d, RAX);

	if (d == E_ZERO)
		return;
	if (host_reg(d) < 0 && imm == (u64)(s64)(s32)imm) {
		x_mov_mi(t, 1, RBP, guest_disp(d), imm);
		return;
	}
	x_movi(t, r, imm);
	x_put(t, d, r);
}

static const u8 alu_opcode[] = { OP_ADD, OP_SUB, OP_AND, OP_OR, OP_XOR };
static const u8 alu_group[] = { 0, 5, 4, 1, 6 };

void e_alu(struct trans *t, enum e_alu op, unsigned w, unsigned d, unsigned a, unsigned b)
{
	int ha, hb;
	unsigned r;

	if (op != E_SUB && (b == d || a == E_ZERO)) {
		unsigned swap = a;

		a = b;
		b = swap;
	}
	ha = host_reg(a);
	hb = host_reg(b);
	r = x_dest(d, RAX);
	if (hb == (int)r && a != d) /* loading a would destroy b */
		r = hb == RAX ? RDX : RAX;
	if (ha != (int)r)
		x_get(t, w, r, a);
	if (b == E_ZERO)
		x_ri(t, w, alu_group[op], r, 0);
	else
		x_rg(t, w, alu_opcode[op], r, b);
	x_put(t, d, r);
}

void e_alui(struct trans *t, enum e_alu op, unsigned w, unsigned d, unsigned a, s64 imm)
{
	unsigned r = x_dest(d, RAX);

	if (!w)
		imm = (s32)imm;
	if (imm != (s32)imm) {
		x_movi(t, RCX, imm);
		e_alu(t, op, w, d, a, E_T1);
		return;
	}
	if (w && d == a && host_reg(d) < 0 && d != E_ZERO) {
		x_mi(t, w, alu_group[op], RBP, guest_disp(d), imm);
		return;
	}
	if (host_reg(a) != (int)r)
		x_get(t, w, r, a);
	x_ri(t, w, alu_group[op], r, imm);
	x_put(t, d, r);
}

void e_addi(struct trans *t, unsigned w, unsigned d, unsigned a, s64 imm)
{
	int ha = host_reg(a);
	unsigned r = x_dest(d, RAX);

	if (imm != (s32)imm || ha < 0 || ha == (int)r || imm == 0) {
		if (imm == 0)
			e_mov(t, w, d, a);
		else
			e_alui(t, E_ADD, w, d, a, imm);
		return;
	}
	x_rm(t, w, OP_LEA, r, ha, imm);
	x_put(t, d, r);
}

void e_add_shifted(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b, unsigned n)
{
	unsigned r = x_dest(d, RAX);
	unsigned ra, rb;

	if (b == E_ZERO) {
		e_mov(t, w, d, a);
		return;
	}
	ra = x_use(t, w, a, RAX);
	rb = x_use(t, w, b, RDX);
	x_rmx(t, w, OP_LEA, r, ra, rb, n, 0);
	x_put(t, d, r);
}

void e_andn(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b)
{
	unsigned r = x_dest(d, RAX);
	unsigned ra = x_use(t, w, a, RAX), rb = x_use(t, w, b, RCX);

	x_andn(t, w, r, ra, rb);
	x_put(t, d, r);
}

void e_not(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	if (host_reg(a) != (int)r)
		x_get(t, w, r, a);
	x_rr(t, w, 0xf7, 2, r);
	x_put(t, d, r);
}

void e_shifti(struct trans *t, enum e_shift op, unsigned w, unsigned d, unsigned a, unsigned n)
{
	static const u8 group[] = { 4, 5, 7, 1 };
	unsigned r = x_dest(d, RAX);

	if (op == E_ROR && n) {
		x_rorx(t, w, r, x_use(t, w, a, RAX), n);
	} else {
		if (host_reg(a) != (int)r || !n)
			x_get(t, w, r, a);
		if (n)
			x_shift(t, w, group[op], r, n);
	}
	x_put(t, d, r);
}

void e_shift(struct trans *t, enum e_shift op, unsigned w, unsigned d, unsigned a, unsigned b)
{
	static const u8 pp[] = { 1, 3, 2 };
	unsigned r = x_dest(d, RAX);

	if (op == E_ROR) { /* counts in cl */
		x_get(t, w, RCX, b);
		x_get(t, w, RAX, a);
		x_rr(t, w, 0xd3, 1, RAX);
		x_put(t, d, RAX);
		return;
	}
	{
		unsigned ra = x_use(t, w, a, RAX), rb = x_use(t, w, b, RCX);

		x_shiftx(t, w, pp[op], r, ra, rb);
	}
	x_put(t, d, r);
}

static const u16 extend_opcode[] = { OP_MOVZX8, OP_MOVZX16, OP_LOAD,  OP_LOAD,
				     OP_MOVSX8, OP_MOVSX16, OP_MOVSXD };

void e_extend(struct trans *t, enum e_ext kind, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	if (kind == E_U64 || a == E_ZERO)
		x_get(t, w, r, a);
	else
		x_rg(t, kind < E_S8 ? 0 : w, extend_opcode[kind], r, a);
	x_put(t, d, r);
}

void e_extract(struct trans *t, unsigned w, unsigned d, unsigned hi, unsigned lo, unsigned n)
{
	unsigned rh = x_use(t, w, hi, RDX);

	x_get(t, w, RAX, lo);
	x_rr(t, w, 0xac | OP_0F, rh, RAX); /* shrd rax, rh, n */
	x_byte(t, n);
	x_put(t, d, RAX);
}

void e_mul(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b)
{
	unsigned r = x_dest(d, RAX);

	if (host_reg(b) == (int)r && host_reg(a) != (int)r) {
		unsigned swap = a;

		a = b;
		b = swap;
	}
	if (a == E_ZERO || b == E_ZERO) {
		e_movi(t, d, 0);
		return;
	}
	if (host_reg(a) != (int)r)
		x_get(t, w, r, a);
	x_rg(t, w, OP_IMUL, r, b);
	x_put(t, d, r);
}

void e_mulh(struct trans *t, bool sign, unsigned d, unsigned a, unsigned b)
{
	x_get(t, 1, RAX, a);
	if (b == E_ZERO)
		x_movi(t, RCX, 0);
	x_rg(t, 1, 0xf7, sign ? 5 : 4, b == E_ZERO ? E_T1 : b);
	x_put(t, d, RDX);
}

void e_div(struct trans *t, bool sign, unsigned w, unsigned d, unsigned a, unsigned b)
{
	u8 *zero, *minus = NULL, *end = NULL;

	x_get(t, w, RCX, b);
	x_rr(t, 0, OP_XOR, RAX, RAX);
	x_rr(t, w, OP_TEST, RCX, RCX);
	zero = x_jcc8(t, CC_E);
	x_get(t, w, RAX, a);
	if (sign) {
		x_ri(t, w, 7, RCX, -1); /* the most negative value would overflow */
		minus = x_jcc8(t, CC_E);
		x_opcode(t, w, 0x99, 0, 0, 0);
		x_rr(t, w, 0xf7, 7, RCX);
		end = x_jmp8(t);
		x_here8(t, minus);
		x_rr(t, w, 0xf7, 3, RAX);
		x_here8(t, end);
	} else {
		x_rr(t, 0, OP_XOR, RDX, RDX);
		x_rr(t, w, 0xf7, 6, RCX);
	}
	x_here8(t, zero);
	x_put(t, d, RAX);
}

void e_clz(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	x_rr(t, w, OP_LZCNT, r, x_use(t, w, a, RAX));
	x_put(t, d, r);
}

void e_ctz(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	x_rr(t, w, OP_TZCNT, r, x_use(t, w, a, RAX));
	x_put(t, d, r);
}

void e_bswap(struct trans *t, unsigned w, unsigned d, unsigned a)
{
	unsigned r = x_dest(d, RAX);

	if (host_reg(a) != (int)r)
		x_get(t, w, r, a);
	x_opcode(t, w, 0xc8 | (r & 7) | OP_0F, 0, 0, r);
	x_put(t, d, r);
}

void e_pc(struct trans *t, unsigned d, s64 offset)
{
	unsigned r = x_dest(d, RAX);

	if (d == E_ZERO)
		return;
	x_rm(t, 1, OP_LOAD, r, RBP, CPU_FIELD(pc_page));
	if (offset == (s32)offset) {
		x_rm(t, 1, OP_LEA, r, r, offset);
	} else {
		x_movi(t, RCX, offset);
		x_rmx(t, 1, OP_LEA, r, r, RCX, 0, 0);
	}
	x_put(t, d, r);
}

void e_ld_field(struct trans *t, unsigned w, unsigned d, unsigned field)
{
	unsigned r = x_dest(d, RAX);

	x_rm(t, w, OP_LOAD, r, RBP, (s32)field - CPU_BIAS);
	x_put(t, d, r);
}

void e_st_field(struct trans *t, unsigned w, unsigned field, unsigned a)
{
	x_rm(t, w, OP_STORE, x_use(t, w, a, RAX), RBP, (s32)field - CPU_BIAS);
}

void e_fence(struct trans *t)
{
	x_byte(t, 0xf0); /* lock or dword [rsp - 8], 0: a tenth of the cost of mfence */
	x_rm(t, 0, 0x83, 1, RSP, -8);
	x_byte(t, 0);
}

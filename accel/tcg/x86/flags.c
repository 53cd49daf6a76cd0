/*
 * accel/tcg/x86/flags.c - guest NZCV in host flags, in memory, or as a comparison to be made.
 *
 * Stored flags have the layout of lahf and seto: see TCG_FLAG_N and its like.
 */
#include "accel/tcg/x86/host.h"

void flags_result(struct trans *t, const struct flags_state *how)
{
	t->flags = *how;
	t->flags.where = FLAGS_HOST;
}

void flags_compare(struct trans *t, enum flags_redo redo, unsigned w, unsigned a, unsigned b,
		   s32 imm)
{
	t->flags = (struct flags_state){
		.where = FLAGS_PENDING, .redo = redo, .w = w, .a = a, .b = b, .imm = imm
	};
}

/* cmp or test with E_ZERO allowed as either operand. */
static void compare_regs(struct trans *t, unsigned w, unsigned op, unsigned a, unsigned b)
{
	unsigned ra = x_use(t, w, a, RAX);

	if (b == E_ZERO && op == OP_CMP)
		x_ri(t, w, 7, ra, 0);
	else if (b == E_ZERO) {
		x_movi(t, RAX, 0);
		x_rr(t, w, OP_TEST, RAX, RAX);
	} else {
		x_rg(t, w, op, ra, b);
	}
}

/* Emit the comparison; only rax is used. Return: true if the carry is inverted. */
static bool redo(struct trans *t, const struct flags_state *f)
{
	switch (f->redo) {
	case REDO_CMP: compare_regs(t, f->w, OP_CMP, f->a, f->b); return true;
	case REDO_CMPI:
		if (f->a < 32 && host_reg(f->a) < 0)
			x_mi(t, f->w, 7, RBP, guest_disp(f->a), f->imm);
		else
			x_ri(t, f->w, 7, x_use(t, f->w, f->a, RAX), f->imm);
		return true;
	case REDO_CMN:
		x_get(t, f->w, RAX, f->a);
		if (f->b == E_ZERO)
			x_ri(t, f->w, 0, RAX, 0);
		else
			x_rg(t, f->w, OP_ADD, RAX, f->b);
		return false;
	case REDO_CMNI:
		x_get(t, f->w, RAX, f->a);
		x_ri(t, f->w, 0, RAX, f->imm);
		return false;
	case REDO_TEST: compare_regs(t, f->w, OP_TEST, f->a, f->b); return false;
	case REDO_TESTI:
		x_rr(t, f->w, 0xf7, 0, x_use(t, f->w, f->a, RAX));
		x_u32(t, f->imm);
		return false;
	case REDO_SUBSI:
		x_get(t, f->w, RAX, f->a);
		x_rm(t, f->w, OP_LEA, RAX, RAX, f->imm);
		x_ri(t, f->w, 7, RAX, f->imm);
		return true;
	case REDO_ADDSI:
		x_get(t, f->w, RAX, f->a);
		x_rm(t, f->w, OP_LEA, RAX, RAX, -f->imm);
		x_ri(t, f->w, 0, RAX, f->imm);
		return false;
	default: g_assert_not_reached();
	}
}

static void store_host_flags(struct trans *t, bool borrow)
{
	if (borrow)
		x_byte(t, 0xf5); /* cmc */
	x_byte(t, 0x9f);         /* lahf */
	x_rr(t, 0, OP_SETCC(CC_O), 0, RAX);
	x_rm(t, 0, OP_STORE, RAX, RBP, CPU_FIELD(nzcv));
}

void x_store_flags(struct trans *t, const struct flags_state *f)
{
	if (f->where == FLAGS_HOST)
		store_host_flags(t, f->borrow);
	else if (f->where == FLAGS_PENDING && f->redo == REDO_FCMP)
		x_store_fcmp(t, f);
	else if (f->where == FLAGS_PENDING)
		store_host_flags(t, redo(t, f));
}

void flags_sync(struct trans *t)
{
	if (t->flags_live)
		x_store_flags(t, &t->flags);
	t->flags = (struct flags_state){ .where = FLAGS_STORED };
}

void flags_clobber(struct trans *t)
{
	if (t->flags.where != FLAGS_HOST)
		return;
	if (t->flags.redo != REDO_NONE)
		t->flags.where = FLAGS_PENDING;
	else
		flags_sync(t);
}

static bool depends_on(const struct flags_state *f, u32 mask)
{
	u32 used = 0;

	if (f->redo == REDO_NONE || f->redo == REDO_FCMP)
		return false;
	if (f->a < 32)
		used |= 1u << f->a;
	if ((f->redo == REDO_CMP || f->redo == REDO_CMN || f->redo == REDO_TEST) && f->b < 32)
		used |= 1u << f->b;
	return used & mask;
}

void flags_protect(struct trans *t, u32 mask)
{
	if (t->flags.where != FLAGS_STORED && depends_on(&t->flags, mask))
		flags_sync(t);
}

void flags_protect_vectors(struct trans *t)
{
	if (t->flags.where == FLAGS_PENDING && t->flags.redo == REDO_FCMP)
		flags_sync(t);
}

/* Host condition for @cond when the host flags hold NZCV with the given carry. */
static unsigned host_cond(struct trans *t, enum e_cond cond)
{
	static const u8 plain[] = {
		CC_E,     CC_NE, CC_B,     CC_AE, CC_S,      CC_S ^ 1, CC_O,
		CC_O ^ 1, CC_A,  CC_A ^ 1, CC_GE, CC_GE ^ 1, CC_G,     CC_G ^ 1
	};

	if ((cond == E_CS || cond == E_CC) && t->flags.borrow)
		return plain[cond] ^ 1;
	if ((cond == E_HI || cond == E_LS) && !t->flags.borrow) {
		x_byte(t, 0xf5); /* cmc: "above" wants the borrow */
		t->flags.borrow = true;
	}
	return plain[cond];
}

unsigned flags_use(struct trans *t, enum e_cond cond)
{
	/* byte of cpu->nzcv and bit in it, for conditions that test one flag */
	static const u8 byte[] = { 1, 1, 1, 0 }, bit[] = { 0x40, 1, 0x80, 1 };

	if (t->flags.where == FLAGS_STORED && cond < E_HI) {
		x_rm(t, 0, 0xf6, 0, RBP, CPU_FIELD(nzcv) + byte[cond / 2]);
		x_byte(t, bit[cond / 2]);
		return cond & 1 ? CC_E : CC_NE;
	}
	if (t->flags.where == FLAGS_STORED) {
		x_rm(t, 0, OP_LOAD, RAX, RBP, CPU_FIELD(nzcv));
		x_byte(t, 0x04); /* add al, 127: overflows if V */
		x_byte(t, 127);
		x_byte(t, 0x9e);                    /* sahf */
		if (cond == E_HI || cond == E_LS) { /* memory stays the only copy */
			x_byte(t, 0xf5);
			return cond == E_HI ? CC_A : CC_A ^ 1;
		}
		return host_cond(t, cond);
	}
	if (t->flags.where == FLAGS_PENDING && t->flags.redo == REDO_FCMP)
		return x_use_fcmp(t, &t->flags, cond); /* may have to be made again for another */
	if (t->flags.where == FLAGS_PENDING) {
		t->flags.borrow = redo(t, &t->flags);
		t->flags.where = FLAGS_HOST;
	}
	return host_cond(t, cond);
}

void e_csel(struct trans *t, unsigned w, unsigned d, enum e_cond cond, unsigned a, unsigned b,
	    bool inv, bool inc)
{
	unsigned cc = flags_use(t, cond);

	if (a == E_ZERO && b == E_ZERO && inv != inc) { /* cset, csetm */
		x_rr(t, 0, OP_SETCC(cc ^ 1), 0, RDX);
		x_rr(t, 0, OP_MOVZX8, RDX, RDX);
		if (inv) {
			x_rm(t, w, OP_LEA, RDX, RDX, -1);
			x_rr(t, w, 0xf7, 2, RDX); /* not(x - 1) = -x */
		}
		x_put(t, d, RDX);
		return;
	}
	x_get(t, w, RDX, b);
	if (inv)
		x_rr(t, w, 0xf7, 2, RDX);
	if (inc)
		x_rm(t, w, OP_LEA, RDX, RDX, 1);
	if (a == E_ZERO) {
		x_movi(t, RCX, 0);
		a = E_T1;
	}
	x_rg(t, w, OP_CMOV(cc), RDX, a);
	x_put(t, d, RDX);
}

void e_ccmp(struct trans *t, enum e_cond cond, const struct flags_state *cmp, u32 nzcv)
{
	u8 *otherwise, *end;
	unsigned cc = flags_use(t, cond);

	otherwise = x_jcc8(t, cc ^ 1);
	store_host_flags(t, redo(t, cmp));
	end = x_jmp8(t);
	x_here8(t, otherwise);
	x_mov_mi(t, 0, RBP, CPU_FIELD(nzcv), nzcv);
	x_here8(t, end);
	t->flags = (struct flags_state){ .where = FLAGS_STORED };
}

void e_adc(struct trans *t, bool sub, bool set, unsigned w, unsigned d, unsigned a, unsigned b)
{
	/* bring C into the host carry: as it is to add, inverted to subtract */
	unsigned cc = flags_use(t, E_CS);

	x_rr(t, 0, OP_SETCC(cc), 0, RDX);
	x_rr(t, 0, OP_MOVZX8, RDX, RDX);
	if (!set)
		flags_clobber(t);
	x_get(t, w, RAX, a);
	x_get(t, w, RCX, b);
	if (sub) {
		x_ri(t, 0, 7, RDX, 1); /* carry if C is clear */
		x_rr(t, w, 0x1b, RAX, RCX);
	} else {
		x_ri(t, 0, 0, RDX, -1); /* carry if C is set */
		x_rr(t, w, 0x13, RAX, RCX);
	}
	x_put(t, d, RAX);
	if (set)
		flags_result(t, &(struct flags_state){ .borrow = sub });
}

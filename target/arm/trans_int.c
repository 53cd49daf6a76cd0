/* target/arm/trans_int.c - translation rules of integer data processing. */
#include "accel/tcg/emit-vec.h"
#include "target/arm/trans.h"

bool trans_ADR(struct trans *t, const struct a64_ADR *i)
{
	s64 imm = (s64)i->immhi * 4 + i->immlo;

	e_pc(t, gx(i->rd), i->op ? imm * 4096 : t->off + imm);
	return true;
}

/* Flags of d = a op b or a op imm that can be made again unless operands are overwritten. */
static void result_imm(struct trans *t, bool sub, unsigned w, unsigned d, unsigned a, s32 imm)
{
	struct flags_state f = { .borrow = sub, .w = w, .a = a, .imm = imm };

	if (d != a) {
		f.redo = sub ? REDO_CMPI : REDO_CMNI;
	} else {
		f.redo = sub ? REDO_SUBSI : REDO_ADDSI;
		f.a = d;
	}
	flags_result(t, &f);
}

static void result_reg(struct trans *t, bool sub, unsigned w, unsigned d, unsigned a, unsigned b)
{
	struct flags_state f = { .borrow = sub, .w = w, .a = a, .b = b };

	if (d != a && d != b && (b < 32 || b == E_ZERO))
		f.redo = sub ? REDO_CMP : REDO_CMN;
	flags_result(t, &f);
}

bool trans_ADDSUB_i(struct trans *t, const struct a64_ADDSUB_i *i)
{
	s32 imm = (s32)i->imm << (i->sh ? 12 : 0);

	if (!i->s) {
		e_addi(t, i->sf, i->rd, i->rn, i->sub ? -imm : imm);
	} else if (i->rd == 31) {
		flags_compare(t, i->sub ? REDO_CMPI : REDO_CMNI, i->sf, i->rn, 0, imm);
	} else {
		e_alui(t, i->sub ? E_SUB : E_ADD, i->sf, i->rd, i->rn, imm);
		result_imm(t, i->sub, i->sf, i->rd, i->rn, imm);
	}
	return true;
}

bool trans_ADDSUB_r(struct trans *t, const struct a64_ADDSUB_r *i)
{
	unsigned a = gx(i->rn), b = gx(i->rm), d = gx(i->rd);

	if (!i->s && !i->sub && i->sh == 0 && i->imm <= 3) {
		e_add_shifted(t, i->sf, d, a, b, i->imm);
		return true;
	}
	if (i->imm) {
		e_shifti(t, (enum e_shift)i->sh, i->sf, E_T2, b, i->imm);
		b = E_T2;
	}
	if (i->s && d == E_ZERO && b != E_T2) {
		flags_compare(t, i->sub ? REDO_CMP : REDO_CMN, i->sf, a, b, 0);
		return true;
	}
	e_alu(t, i->sub ? E_SUB : E_ADD, i->sf, d, a, b);
	if (i->s)
		result_reg(t, i->sub, i->sf, d, a, b);
	return true;
}

bool trans_ADDSUB_x(struct trans *t, const struct a64_ADDSUB_x *i)
{
	static const u8 kind[] = { E_U8, E_U16, E_U32, E_U64, E_S8, E_S16, E_S32, E_U64 };
	unsigned d = i->s ? gx(i->rd) : i->rd;

	e_extend(t, (enum e_ext)kind[i->opt], i->sf, E_T2, gx(i->rm));
	if (!i->s && !i->sub && i->imm <= 3) {
		e_add_shifted(t, i->sf, d, i->rn, E_T2, i->imm);
		return true;
	}
	if (i->imm)
		e_shifti(t, E_SHL, i->sf, E_T2, E_T2, i->imm);
	e_alu(t, i->sub ? E_SUB : E_ADD, i->sf, d, i->rn, E_T2);
	if (i->s)
		result_reg(t, i->sub, i->sf, d, i->rn, E_T2);
	return true;
}

static const u8 logic_op[] = { E_AND, E_OR, E_XOR, E_AND };

/* N and Z of a logical result that register d holds. */
static void result_logic(struct trans *t, unsigned w, unsigned d)
{
	struct flags_state f = { .w = w, .a = d, .b = d };

	if (d != E_ZERO)
		f.redo = REDO_TEST;
	flags_result(t, &f);
}

bool trans_LOGIC_i(struct trans *t, const struct a64_LOGIC_i *i)
{
	u64 mask = a64_bitmask(i->n, i->immr, i->imms);
	unsigned a = gx(i->rn), d = i->opc == 3 ? gx(i->rd) : i->rd;

	if (!i->sf)
		mask = (u64)(s64)(s32)mask;
	if (i->opc == 1 && a == E_ZERO) {
		e_movi(t, d, i->sf ? mask : (u32)mask);
		return true;
	}
	if (i->opc == 3 && d == E_ZERO && a != E_ZERO && (s64)mask == (s32)mask) {
		flags_compare(t, REDO_TESTI, i->sf, a, 0, (s32)mask);
		return true;
	}
	e_alui(t, (enum e_alu)logic_op[i->opc], i->sf, d, a, mask);
	if (i->opc == 3)
		result_logic(t, i->sf, d);
	return true;
}

bool trans_LOGIC_r(struct trans *t, const struct a64_LOGIC_r *i)
{
	unsigned a = gx(i->rn), b = gx(i->rm), d = gx(i->rd);

	if (i->imm) {
		e_shifti(t, (enum e_shift)i->sh, i->sf, E_T2, b, i->imm);
		b = E_T2;
	}
	if (i->opc == 1 && a == E_ZERO) { /* MOV and MVN */
		if (i->n)
			e_not(t, i->sf, d, b);
		else
			e_mov(t, i->sf, d, b);
		return true;
	}
	if (i->opc == 3 && !i->n && d == E_ZERO && b != E_T2) {
		flags_compare(t, REDO_TEST, i->sf, a, b, 0);
		return true;
	}
	if (i->n && (i->opc == 0 || i->opc == 3)) {
		e_andn(t, i->sf, d, b, a);
	} else {
		if (i->n) {
			e_not(t, i->sf, E_T2, b);
			b = E_T2;
		}
		e_alu(t, (enum e_alu)logic_op[i->opc], i->sf, d, a, b);
	}
	if (i->opc == 3)
		result_logic(t, i->sf, d);
	return true;
}

bool trans_MOVW(struct trans *t, const struct a64_MOVW *i)
{
	struct arm_region *r = region_of(t);
	u64 imm = (u64)i->imm << (16 * i->hw), field = (u64)0xffff << (16 * i->hw);
	u64 value;

	if (i->opc == 3 && (r->known_reg != i->rd || i->rd == 31)) {
		flags_clobber(t);
		e_alui(t, E_AND, 1, E_T2, gx(i->rd), ~field);
		e_alui(t, E_OR, i->sf, gx(i->rd), E_T2, imm);
		r->known_reg = 31;
		return true;
	}
	if (i->opc == 3)
		value = (r->known_value & ~field) | imm;
	else
		value = i->opc == 0 ? ~imm : imm;
	if (!i->sf)
		value = (u32)value;
	e_movi(t, gx(i->rd), value);
	r->known_reg = i->rd;
	r->known_value = value;
	return true;
}

/* UBFM and SBFM: shift the field to the top, then down to its place. */
static void move_field(struct trans *t, const struct a64_BFM *i, unsigned d)
{
	unsigned width = i->sf ? 64 : 32, a = gx(i->rn);
	bool sign = i->opc == 0, extract = i->imms >= i->immr;
	unsigned up = width - 1 - i->imms, down = extract ? up + i->immr : up - (width - i->immr);

	if (!extract && i->imms + 1 == i->immr) { /* LSL: nothing remains above the field */
		e_shifti(t, E_SHL, i->sf, d, a, up);
		return;
	}
	if (i->immr == 0 && (i->imms == 7 || i->imms == 15 || (i->imms == 31 && i->sf))) {
		static const u8 kind[2][3] = { { E_U8, E_U16, E_U32 }, { E_S8, E_S16, E_S32 } };

		e_extend(t, (enum e_ext)kind[sign][i->imms / 15], i->sf, d, a);
		return;
	}
	if (extract && !sign && up && i->imms - i->immr + 1 <= 31) {
		e_shifti(t, E_SHR, i->sf, d, a, i->immr);
		if (d != E_ZERO)
			e_alui(t, E_AND, i->sf, d, d, (1 << (i->imms - i->immr + 1)) - 1);
		return;
	}
	if (!up) {
		e_shifti(t, sign ? E_SAR : E_SHR, i->sf, d, a, down);
		return;
	}
	e_shifti(t, E_SHL, i->sf, E_T2, a, up);
	e_shifti(t, sign ? E_SAR : E_SHR, i->sf, d, E_T2, down);
}

bool trans_BFM(struct trans *t, const struct a64_BFM *i)
{
	bool extract = i->imms >= i->immr;
	unsigned width = i->sf ? 64 : 32, d = gx(i->rd);
	unsigned len = extract ? i->imms - i->immr + 1 : i->imms + 1u;
	unsigned pos = extract ? 0 : width - i->immr;
	u64 mask = (len == 64 ? ~(u64)0 : ((u64)1 << len) - 1) << pos;
	struct a64_BFM unsigned_form = *i;

	if (i->opc != 1) {
		move_field(t, i, d);
		return true;
	}
	if (d == E_ZERO)
		return true;
	unsigned_form.opc = 2;
	move_field(t, &unsigned_form, E_T2);
	e_alui(t, E_AND, i->sf, d, d, i->sf ? ~mask : (u64)(s64)(s32)~mask);
	e_alu(t, E_OR, i->sf, d, d, E_T2);
	return true;
}

bool trans_EXTR(struct trans *t, const struct a64_EXTR *i)
{
	if (i->rn == i->rm)
		e_shifti(t, E_ROR, i->sf, gx(i->rd), gx(i->rn), i->imms);
	else if (!i->imms)
		e_mov(t, i->sf, gx(i->rd), gx(i->rm));
	else
		e_extract(t, i->sf, gx(i->rd), gx(i->rn), gx(i->rm), i->imms);
	return true;
}

bool trans_ADC(struct trans *t, const struct a64_ADC *i)
{
	e_adc(t, i->sub, i->s, i->sf, gx(i->rd), gx(i->rn), gx(i->rm));
	return true;
}

bool trans_CCMP(struct trans *t, const struct a64_CCMP *i)
{
	struct flags_state cmp = { .where = FLAGS_PENDING, .w = i->sf, .a = gx(i->rn) };
	u32 nzcv = (i->nzcv & 0xc) << 12 | (i->nzcv & 2) << 7 | (i->nzcv & 1);

	if (i->imm) {
		cmp.redo = i->sub ? REDO_CMPI : REDO_CMNI;
		cmp.imm = i->rm;
	} else {
		cmp.redo = i->sub ? REDO_CMP : REDO_CMN;
		cmp.b = gx(i->rm);
	}
	if (i->cond >= 14)
		t->flags = cmp;
	else
		e_ccmp(t, (enum e_cond)i->cond, &cmp, nzcv);
	return true;
}

bool trans_CSEL(struct trans *t, const struct a64_CSEL *i)
{
	if (i->cond >= 14) {
		flags_clobber(t);
		e_mov(t, i->sf, gx(i->rd), gx(i->rn));
	} else {
		e_csel(t, i->sf, gx(i->rd), (enum e_cond)i->cond, gx(i->rn), gx(i->rm), i->op,
		       i->o2);
	}
	return true;
}

bool trans_UDIV(struct trans *t, const struct a64_UDIV *i)
{
	e_div(t, false, i->sf, gx(i->rd), gx(i->rn), gx(i->rm));
	return true;
}

bool trans_SDIV(struct trans *t, const struct a64_SDIV *i)
{
	e_div(t, true, i->sf, gx(i->rd), gx(i->rn), gx(i->rm));
	return true;
}

bool trans_SHIFTV(struct trans *t, const struct a64_SHIFTV *i)
{
	e_shift(t, (enum e_shift)i->op, i->sf, gx(i->rd), gx(i->rn), gx(i->rm));
	return true;
}

bool trans_REV(struct trans *t, const struct a64_REV *i)
{
	e_bswap(t, i->sf, i->sf && !i->x ? E_T2 : gx(i->rd), gx(i->rn));
	if (i->sf && !i->x)
		e_shifti(t, E_ROR, 1, gx(i->rd), E_T2, 32);
	return true;
}

/* Bytes in halfwords. */
bool trans_REV16(struct trans *t, const struct a64_REV16 *i)
{
	const u64 low = 0x00ff00ff00ff00ff;

	if (!i->sf) {
		e_bswap(t, 0, E_T2, gx(i->rn));
		e_shifti(t, E_ROR, 0, gx(i->rd), E_T2, 16);
		return true;
	}
	e_shifti(t, E_SHR, 1, E_T2, gx(i->rn), 8);
	e_alui(t, E_AND, 1, E_T2, E_T2, low);
	e_alui(t, E_AND, 1, E_T0, gx(i->rn), low);
	e_shifti(t, E_SHL, 1, E_T0, E_T0, 8);
	e_alu(t, E_OR, 1, gx(i->rd), E_T2, E_T0);
	return true;
}

/* RBIT whose result is nothing but the operand of the CLZ behind it: CLZ does both, as trailing
 * zeros. */
static bool counts_trailing(const struct a64_insn *first, const struct a64_insn *second)
{
	const struct a64_RBIT *rbit = &first->args.RBIT;
	const struct a64_CLZ *clz = &second->args.CLZ;

	return first->op == A64_RBIT && second->op == A64_CLZ && rbit->sf == clz->sf &&
	       rbit->rd == clz->rn && rbit->rd == clz->rd && rbit->rd != 31;
}

bool trans_RBIT(struct trans *t, const struct a64_RBIT *i)
{
	const struct a64_insn *next = arm_next_insn(t);

	if (next && counts_trailing(next - 1, next))
		return true;
	return e_rbit(t, i->sf, gx(i->rd), gx(i->rn));
}

bool trans_CLZ(struct trans *t, const struct a64_CLZ *i)
{
	const struct a64_insn *previous = arm_previous_insn(t);

	if (previous && counts_trailing(previous, previous + 1))
		e_ctz(t, i->sf, gx(i->rd), gx(previous->args.RBIT.rn));
	else
		e_clz(t, i->sf, gx(i->rd), gx(i->rn));
	return true;
}

/* Zeros at the top of what is one where a bit differs from the one above it. */
bool trans_CLS(struct trans *t, const struct a64_CLS *i)
{
	e_shifti(t, E_SAR, i->sf, E_T2, gx(i->rn), 1);
	e_alu(t, E_XOR, i->sf, E_T2, E_T2, gx(i->rn));
	e_clz(t, i->sf, E_T2, E_T2);
	e_addi(t, i->sf, gx(i->rd), E_T2, -1);
	return true;
}

static void accumulate(struct trans *t, bool sub, unsigned w, unsigned d, unsigned a)
{
	e_alu(t, sub ? E_SUB : E_ADD, w, d, a, E_T2);
}

bool trans_MADD(struct trans *t, const struct a64_MADD *i)
{
	if (i->ra == 31 && !i->sub) {
		e_mul(t, i->sf, gx(i->rd), gx(i->rn), gx(i->rm));
		return true;
	}
	e_mul(t, i->sf, E_T2, gx(i->rn), gx(i->rm));
	accumulate(t, i->sub, i->sf, gx(i->rd), gx(i->ra));
	return true;
}

bool trans_MADDL(struct trans *t, const struct a64_MADDL *i)
{
	enum e_ext kind = i->u ? E_U32 : E_S32;

	e_extend(t, kind, 1, E_T1, gx(i->rn));
	e_extend(t, kind, 1, E_T2, gx(i->rm));
	e_mul(t, 1, E_T2, E_T1, E_T2);
	accumulate(t, i->sub, 1, gx(i->rd), gx(i->ra));
	return true;
}

bool trans_MULH(struct trans *t, const struct a64_MULH *i)
{
	e_mulh(t, !i->u, gx(i->rd), gx(i->rn), gx(i->rm));
	return true;
}

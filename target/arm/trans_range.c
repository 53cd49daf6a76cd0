/*
 * target/arm/trans_range.c - runs of accesses off one base register that share a single check.
 *
 * Prologues, epilogues and field accesses: as long as the base changes only by constants and
 * nothing in between can branch or fault, one check covers them all. If it fails the run is done
 * by a second copy of its instructions, out of line, with a check each.
 */
#include "target/arm/sem.h"
#include "target/arm/trans.h"

/* One instruction as seen by the search for runs. */
struct step {
	bool access, load, store;
	s32 lo, hi; /* bytes accessed, from the base before the instruction */
	s32 change; /* of the base */
	bool last;  /* the base is unknown afterwards */
};

static void set_access(struct step *s, bool load, s32 offset, unsigned size)
{
	s->access = true;
	s->load = load;
	s->store = !load;
	s->lo = offset;
	s->hi = offset + (s32)size;
}

static bool step_imm(const struct a64_LDST_i *i, struct step *s)
{
	if (i->mode == 2 || (i->size == 3 && i->opc == 2) || (i->mode & 1 && i->rt == i->rn))
		return false;
	set_access(s, i->opc != 0, i->mode == 1 ? 0 : i->imm, 1u << i->size);
	s->change = i->mode & 1 ? i->imm : 0;
	s->last = i->opc && i->rt == i->rn;
	return true;
}

static bool step_pair(const struct a64_LDSTP *i, struct step *s)
{
	s32 size = i->opc == 2 ? 8 : 4;
	bool loads_base = i->l && (i->rt == i->rn || i->rt2 == i->rn) && i->rn != 31;

	if (loads_base && i->mode & 1)
		return false;
	set_access(s, i->l, i->mode == 1 ? 0 : i->imm * size, 2 * size);
	s->change = i->mode & 1 ? i->imm * size : 0;
	s->last = loads_base;
	return true;
}

static void step_vector(struct step *s, bool load, unsigned mode, s32 imm, unsigned size)
{
	set_access(s, load, mode == 1 ? 0 : imm, size);
	s->change = mode & 1 ? imm : 0;
}

/* Base register of an access with an immediate offset, 32 for anything else. */
static unsigned base_of(const struct a64_insn *insn)
{
	switch (insn->op) {
	case A64_LDST_u:
	case A64_LDST_i:
	case A64_LDSTP:
	case A64_LDST_uv:
	case A64_LDST_iv:
	case A64_LDSTP_v: return insn->raw >> 5 & 31;
	default: return 32;
	}
}

static bool step_access(const struct arm_region *r, const struct a64_insn *insn, struct step *s)
{
	const union a64_args *a = &insn->args;
	bool fp = arm_fp_enabled(r->cpu);

	switch (insn->op) {
	case A64_LDST_u:
		if (a->LDST_u.size == 3 && a->LDST_u.opc == 2)
			return false;
		set_access(s, a->LDST_u.opc, (s32)a->LDST_u.imm << a->LDST_u.size,
			   1u << a->LDST_u.size);
		s->last = a->LDST_u.opc && a->LDST_u.rt == a->LDST_u.rn && a->LDST_u.rn != 31;
		return true;
	case A64_LDST_i: return step_imm(&a->LDST_i, s);
	case A64_LDSTP: return step_pair(&a->LDSTP, s);
	case A64_LDST_uv: {
		unsigned lg = a->LDST_uv.big ? 4 : a->LDST_uv.size;

		step_vector(s, a->LDST_uv.l, 2, (s32)a->LDST_uv.imm << lg, 1u << lg);
		return fp;
	}
	case A64_LDST_iv:
		step_vector(s, a->LDST_iv.l, a->LDST_iv.mode, a->LDST_iv.imm,
			    1u << (a->LDST_iv.big ? 4 : a->LDST_iv.size));
		return fp;
	default: { /* A64_LDSTP_v */
		s32 size = 4 << a->LDSTP_v.opc;

		step_vector(s, a->LDSTP_v.l, a->LDSTP_v.mode, a->LDSTP_v.imm * size, 2 * size);
		return fp;
	}
	}
}

/* Operations whose rules neither branch nor access memory. */
static bool is_plain(unsigned op)
{
	switch (op) {
	case A64_ADR:
	case A64_ADDSUB_i:
	case A64_ADDSUB_r:
	case A64_ADDSUB_x:
	case A64_LOGIC_i:
	case A64_LOGIC_r:
	case A64_MOVW:
	case A64_BFM:
	case A64_EXTR:
	case A64_CSEL:
	case A64_SHIFTV:
	case A64_MADD:
	case A64_MADDL:
	case A64_HINT: return true;
	case A64_LDST_uv:
	case A64_LDST_iv:
	case A64_LDST_rv:
	case A64_LDR_litv:
	case A64_LDSTP_v:
	case A64_LDST_multi:
	case A64_LDST_lane: return false;
	default: return a64_rules[op].fp; /* at most a call that returns */
	}
}

/* What @insn does to a run off @base. Return: false if the run must end before it. */
static bool classify(const struct arm_region *r, const struct a64_insn *insn, unsigned base,
		     struct step *s)
{
	*s = (struct step){ 0 };
	if (base_of(insn) == base)
		return step_access(r, insn, s);
	if (!is_plain(insn->op) || (a64_rules[insn->op].fp && !arm_fp_enabled(r->cpu)))
		return false;
	if (insn->op == A64_ADDSUB_i && insn->args.ADDSUB_i.rd == base &&
	    insn->args.ADDSUB_i.rn == base && !insn->args.ADDSUB_i.s && insn->args.ADDSUB_i.sf) {
		s32 imm = (s32)insn->args.ADDSUB_i.imm << (insn->args.ADDSUB_i.sh ? 12 : 0);

		s->change = insn->args.ADDSUB_i.sub ? -imm : imm;
		return true;
	}
	return !(arm_written(insn) >> base & 1);
}

static bool no_multiple_of_16(bool writes_sp, s32 imm)
{
	return writes_sp && imm & 15;
}

bool arm_may_misalign_sp(const struct a64_insn *insn)
{
	const union a64_args *a = &insn->args;
	bool rd = (insn->raw & 31) == 31, rn = (insn->raw >> 5 & 31) == 31;

	switch (insn->op) {
	case A64_ADDSUB_i:
		return rd && !a->ADDSUB_i.s && !(rn && (a->ADDSUB_i.sh || !(a->ADDSUB_i.imm & 15)));
	case A64_ADDSUB_x: return rd && !a->ADDSUB_x.s;
	case A64_LOGIC_i:
		return rd && a->LOGIC_i.opc != 3 &&
		       (a->LOGIC_i.opc != 0 ||
			a64_bitmask(a->LOGIC_i.n, a->LOGIC_i.immr, a->LOGIC_i.imms) & 15);
	case A64_LDST_i: return no_multiple_of_16(rn && a->LDST_i.mode & 1, a->LDST_i.imm);
	case A64_LDST_iv: return no_multiple_of_16(rn && a->LDST_iv.mode & 1, a->LDST_iv.imm);
	case A64_LDSTP:
		return no_multiple_of_16(rn && a->LDSTP.mode & 1,
					 (s32)a->LDSTP.imm * (a->LDSTP.opc == 2 ? 8 : 4));
	case A64_LDSTP_v:
		return no_multiple_of_16(rn && a->LDSTP_v.mode & 1,
					 (s32)a->LDSTP_v.imm * (4 << a->LDSTP_v.opc));
	case A64_LDST_multi: return rn && a->LDST_multi.post;
	case A64_LDST_lane: return rn && a->LDST_lane.post;
	case A64_LDRA: return rn && a->LDRA.w;
	default: return false;
	}
}

bool arm_find_range(const struct arm_region *r, unsigned first, struct arm_range *range)
{
	unsigned base = base_of(&r->insn[first]), accesses = 0;
	s32 moved = 0, hi = 0;
	struct step s;

	if (base == 32 || !arm_hint_for(r, base) || r->cpu->tcg.state_key & ARM_KEY_ALIGN)
		return false;
	*range = (struct arm_range){ .first = first, .base = base };
	for (unsigned i = first; i < r->n && (i == first || !r->target[i]); i++) {
		s32 lo = range->lo, top = hi;

		if (!classify(r, &r->insn[i], base, &s) || arm_may_misalign_sp(&r->insn[i]))
			break;
		if (s.access) {
			lo = accesses ? MIN(lo, moved + s.lo) : moved + s.lo;
			top = accesses ? MAX(hi, moved + s.hi) : moved + s.hi;
			if (top - lo > (s32)E_RANGE_BYTES)
				break;
			range->lo = lo;
			hi = top;
			range->last = i;
			range->reads |= s.load;
			range->writes |= s.store;
			accesses++;
		}
		moved += s.change;
		if (s.last)
			break;
	}
	return accesses > 1u + (range->reads && range->writes);
}

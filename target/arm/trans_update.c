/*
 * target/arm/trans_update.c - loops of an exclusive load and store as one atomic operation.
 *
 * What compilers make of an atomic operation for CPUs without FEAT_LSE:
 *
 *	1: LDXR old, [base]; op new, old, operand; STXR status, new, [base]; CBNZ status, 1b
 *
 * or the same without op, where new is another register. The host does it in one piece, which never
 * fails. If the address is not plain memory, or not aligned, the four instructions are executed one
 * by one by a second copy, out of line.
 */
#include "target/arm/sem.h"
#include "target/arm/trans.h"

static bool is_simple_alu(const struct a64_insn *insn)
{
	const union a64_args *a = &insn->args;

	switch (insn->op) {
	case A64_ADDSUB_i: return !a->ADDSUB_i.s;
	case A64_ADDSUB_r: return !a->ADDSUB_r.s && a->ADDSUB_r.imm == 0;
	case A64_LOGIC_i: return a->LOGIC_i.opc != 3;
	case A64_LOGIC_r:
		return a->LOGIC_r.opc != 3 && a->LOGIC_r.imm == 0 &&
		       (!a->LOGIC_r.n || a->LOGIC_r.opc == 0);
	default: return false;
	}
}

static enum e_atomic logic_op(unsigned opc, bool inverted)
{
	static const u8 op[] = { E_ATOMIC_AND, E_ATOMIC_OR, E_ATOMIC_EOR };

	return inverted ? E_ATOMIC_CLR : (enum e_atomic)op[opc];
}

static void set_operation(struct e_update *how, const struct a64_insn *insn)
{
	const union a64_args *a = &insn->args;

	how->v = E_ZERO;
	switch (insn->op) {
	case A64_ADDSUB_i:
		how->op = E_ATOMIC_ADD;
		how->imm = (u64)a->ADDSUB_i.imm << (a->ADDSUB_i.sh ? 12 : 0);
		how->negate = a->ADDSUB_i.sub;
		break;
	case A64_ADDSUB_r:
		how->op = E_ATOMIC_ADD;
		how->v = gx(a->ADDSUB_r.rm);
		how->negate = a->ADDSUB_r.sub;
		break;
	case A64_LOGIC_i:
		how->op = logic_op(a->LOGIC_i.opc, false);
		how->imm = a64_bitmask(a->LOGIC_i.n, a->LOGIC_i.immr, a->LOGIC_i.imms);
		break;
	default: /* A64_LOGIC_r */
		how->op = logic_op(a->LOGIC_r.opc, a->LOGIC_r.n);
		how->v = gx(a->LOGIC_r.rm);
		break;
	}
}

/* @insn makes what is stored of what was loaded: register fields as all such instructions have
 * them. */
static bool set_alu(struct e_update *how, const struct a64_insn *insn)
{
	unsigned rd = insn->raw & 31, rn = insn->raw >> 5 & 31;

	if (!is_simple_alu(insn) || insn->raw >> 31 != (how->size == 8) || rn != how->old ||
	    rd != how->new)
		return false;
	set_operation(how, insn);
	return how->v != how->old;
}

static bool is_fused(const struct arm_region *r, unsigned first, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		if (first + i >= r->n || r->target[first + i])
			return false;
	return true;
}

/* The store and the branch back, which must belong to the load. */
static bool set_store(struct arm_update *u, const struct arm_region *r,
		      const struct a64_LDSTX *load)
{
	const struct a64_insn *store = &r->insn[u->last - 1], *branch = &r->insn[u->last];
	const struct a64_LDSTX *s = &store->args.LDSTX;

	if (store->op != A64_LDSTX || s->l || s->size != load->size || s->rn != load->rn ||
	    branch->op != A64_CBZ || !branch->args.CBZ.nz || branch->args.CBZ.rt != s->rs ||
	    branch->args.CBZ.imm != -(s64)(u->last - u->first))
		return false;
	u->status = s->rs;
	u->how.new = s->rt;
	return s->rs != 31 && s->rt != 31 && s->rs != s->rn && s->rs != s->rt && s->rt != s->rn;
}

bool arm_find_update(const struct arm_region *r, unsigned first, struct arm_update *u)
{
	const struct a64_LDSTX *load = &r->insn[first].args.LDSTX;

	if (r->insn[first].op != A64_LDSTX || !load->l || load->size < 2 || load->rt == 31 ||
	    load->rt == load->rn || r->cpu->tcg.counted || r->cpu->tcg.state_key & ARM_KEY_ALIGN)
		return false;
	*u = (struct arm_update){
		.first = first,
		.last = first + 3,
		.how = { .size = 1u << load->size, .base = load->rn, .old = load->rt },
	};
	if (is_fused(r, first, 4) && set_store(u, r, load))
		return set_alu(&u->how, &r->insn[first + 1]);
	u->last = first + 2;
	if (!is_fused(r, first, 3) || !set_store(u, r, load))
		return false;
	u->how.op = E_ATOMIC_SWAP;
	u->how.v = u->how.new;
	u->how.new = E_ZERO;
	return u->how.v != u->how.old;
}

u8 *arm_emit_update(struct trans *t, const struct arm_update *u)
{
	u8 *from = e_update(t, &u->how);

	e_movi(t, u->status, 0);
	return from;
}

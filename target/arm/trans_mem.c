/* target/arm/trans_mem.c - translation rules of loads and stores. */
#include "target/arm/sem.h"
#include "target/arm/trans.h"

static struct e_address address_imm(struct trans *t, unsigned rn, s32 imm)
{
	return (struct e_address){ .base = rn, .imm = imm, .hint = arm_hint_for(region_of(t), rn) };
}

static void load_store(struct trans *t, unsigned size, unsigned opc, unsigned rt,
		       const struct e_address *at)
{
	if (opc == 0)
		e_store(t, 1u << size, gx(rt), at);
	else if (opc == 1)
		e_load(t, (enum e_ext)(E_U8 + size), 0, gx(rt), at);
	else if (size != 3) /* else a prefetch */
		e_load(t, (enum e_ext)(E_S8 + size), opc == 2, gx(rt), at);
}

bool trans_LDST_u(struct trans *t, const struct a64_LDST_u *i)
{
	struct e_address at = address_imm(t, i->rn, (s32)i->imm << i->size);

	load_store(t, i->size, i->opc, i->rt, &at);
	return true;
}

bool trans_LDST_i(struct trans *t, const struct a64_LDST_i *i)
{
	struct e_address at = address_imm(t, i->rn, i->mode == 1 ? 0 : i->imm);

	if (i->mode & 1 && i->rt == i->rn && i->rt != 31)
		return false;
	if (i->mode == 2 && cpu_el(region_of(t)->cpu)) {
		at.hint = false;
		at.data_view = true;
		at.slow = (void (*)(void))exec_LDST_i;
		at.args = i;
		at.args_size = sizeof(*i);
	}
	load_store(t, i->size, i->opc, i->rt, &at);
	if (i->mode & 1)
		e_addi(t, 1, i->rn, i->rn, i->imm);
	return true;
}

static struct e_address address_reg(struct trans *t, unsigned rn, unsigned rm, unsigned opt,
				    unsigned shift)
{
	static const u8 kind[] = { [2] = E_U32, [3] = E_U64, [6] = E_S32, [7] = E_U64 };
	const struct arm_region *r = region_of(t);

	return (struct e_address){ .base = rn,
				   .indexed = true,
				   .index = gx(rm),
				   .ext = kind[opt],
				   .shift = shift,
				   .hint = arm_hint_for(r, rn) && arm_hint_for(r, rm) };
}

bool trans_LDST_r(struct trans *t, const struct a64_LDST_r *i)
{
	struct e_address at = address_reg(t, i->rn, i->rm, i->opt, i->s ? i->size : 0);

	load_store(t, i->size, i->opc, i->rt, &at);
	return true;
}

bool trans_LDR_lit(struct trans *t, const struct a64_LDR_lit *i)
{
	static const u8 kind[] = { E_U32, E_U64, E_S32 };
	struct e_address at = { .base = E_T0 };

	if (i->opc == 3)
		return true;
	e_pc(t, E_T0, t->off + (s64)i->imm * 4);
	e_load(t, (enum e_ext)kind[i->opc], 1, gx(i->rt), &at);
	return true;
}

bool trans_LDSTP(struct trans *t, const struct a64_LDSTP *i)
{
	unsigned size = i->opc == 2 ? 8 : 4;
	s32 imm = (s32)i->imm * (s32)size;
	struct e_address at = address_imm(t, i->rn, i->mode == 1 ? 0 : imm);

	if (i->l && i->mode & 1 && (i->rt == i->rn || i->rt2 == i->rn) && i->rn != 31)
		return false;
	if (i->l)
		e_load_pair(t,
			    i->opc == 2 ? E_U64
			    : i->opc    ? E_S32
					: E_U32,
			    gx(i->rt), gx(i->rt2), &at);
	else
		e_store_pair(t, size, gx(i->rt), gx(i->rt2), &at);
	if (i->mode & 1)
		e_addi(t, 1, i->rn, i->rn, imm);
	return true;
}

static void load_store_vector(struct trans *t, unsigned lg, bool load, unsigned vt,
			      const struct e_address *at)
{
	u8 v[] = { vt };

	if (load)
		e_load_vector(t, 1u << lg, v, 1, at);
	else
		e_store_vector(t, 1u << lg, v, 1, at);
}

bool trans_LDST_uv(struct trans *t, const struct a64_LDST_uv *i)
{
	unsigned lg = i->big ? 4 : i->size;
	struct e_address at = address_imm(t, i->rn, (s32)i->imm << lg);

	load_store_vector(t, lg, i->l, i->rt, &at);
	return true;
}

bool trans_LDST_iv(struct trans *t, const struct a64_LDST_iv *i)
{
	struct e_address at = address_imm(t, i->rn, i->mode == 1 ? 0 : i->imm);

	load_store_vector(t, i->big ? 4 : i->size, i->l, i->rt, &at);
	if (i->mode & 1)
		e_addi(t, 1, i->rn, i->rn, i->imm);
	return true;
}

bool trans_LDST_rv(struct trans *t, const struct a64_LDST_rv *i)
{
	unsigned lg = i->big ? 4 : i->size;
	struct e_address at = address_reg(t, i->rn, i->rm, i->opt, i->s ? lg : 0);

	load_store_vector(t, lg, i->l, i->rt, &at);
	return true;
}

bool trans_LDR_litv(struct trans *t, const struct a64_LDR_litv *i)
{
	struct e_address at = { .base = E_T0 };

	e_pc(t, E_T0, t->off + (s64)i->imm * 4);
	load_store_vector(t, i->opc + 2, true, i->rt, &at);
	return true;
}

bool trans_LDSTP_v(struct trans *t, const struct a64_LDSTP_v *i)
{
	unsigned lg = i->opc + 2;
	s32 imm = (s32)i->imm * (1 << lg);
	struct e_address at = address_imm(t, i->rn, i->mode == 1 ? 0 : imm);
	u8 v[] = { i->rt, i->rt2 };

	if (i->l)
		e_load_vector(t, 1u << lg, v, 2, &at);
	else
		e_store_vector(t, 1u << lg, v, 2, &at);
	if (i->mode & 1)
		e_addi(t, 1, i->rn, i->rn, imm);
	return true;
}

/* Acquire and release: what is not naturally aligned is left to the reference function. */
static struct e_address address_ordered(unsigned rn, s32 imm, void (*exec)(void), const void *args,
					unsigned size)
{
	return (struct e_address){ .base = rn,
				   .imm = imm,
				   .aligned = true,
				   .slow = exec,
				   .args = args,
				   .args_size = size };
}

bool trans_LDST_ord(struct trans *t, const struct a64_LDST_ord *i)
{
	struct e_address at =
		address_ordered(i->rn, 0, (void (*)(void))exec_LDST_ord, i, sizeof(*i));

	load_store(t, i->size, i->l, i->rt, &at);
	if (!i->l)
		e_fence(t);
	return true;
}

bool trans_LDAPR(struct trans *t, const struct a64_LDAPR *i)
{
	struct e_address at = address_ordered(i->rn, 0, (void (*)(void))exec_LDAPR, i, sizeof(*i));

	load_store(t, i->size, 1, i->rt, &at);
	return true;
}

bool trans_LDAPUR(struct trans *t, const struct a64_LDAPUR *i)
{
	struct e_address at =
		address_ordered(i->rn, i->imm, (void (*)(void))exec_LDAPUR, i, sizeof(*i));

	load_store(t, i->size, i->opc, i->rt, &at);
	if (i->opc == 0)
		e_fence(t);
	return true;
}

bool trans_ATOMIC(struct trans *t, const struct a64_ATOMIC *i)
{
	struct e_address at = address_ordered(i->rn, 0, (void (*)(void))exec_ATOMIC, i, sizeof(*i));

	if (!i->o3 && i->opc > 3) /* minimum and maximum */
		return false;
	e_atomic(t, i->o3 ? E_ATOMIC_SWAP : (enum e_atomic)i->opc, 1u << i->size, gx(i->rt),
		 gx(i->rs), &at);
	return true;
}

bool trans_CAS(struct trans *t, const struct a64_CAS *i)
{
	struct e_address at = address_ordered(i->rn, 0, (void (*)(void))exec_CAS, i, sizeof(*i));

	e_compare_swap(t, 1u << i->size, gx(i->rs), gx(i->rt), &at);
	return true;
}

bool trans_LDSTX(struct trans *t, const struct a64_LDSTX *i)
{
	struct e_address at = address_ordered(i->rn, 0, (void (*)(void))exec_LDSTX, i, sizeof(*i));

	if (i->l)
		e_load_exclusive(t, 1u << i->size, gx(i->rt), &at);
	else
		e_store_exclusive(t, 1u << i->size, gx(i->rs), gx(i->rt), &at);
	return true;
}

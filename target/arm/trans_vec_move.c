/* target/arm/trans_vec_move.c - translation rules of AdvSIMD moves, permutations and
 * immediates. */
#include "target/arm/sem_vec.h"
#include "target/arm/trans_vec.h"

static bool done(struct trans *t, unsigned q, unsigned d)
{
	finish(t, q, d);
	return true;
}

/* ---- copies; the lowest set bit of imm is the size, what is above it the index ---- */

static unsigned copy_size(unsigned imm)
{
	return __builtin_ctz(imm);
}

static unsigned copy_index(unsigned imm)
{
	return imm >> (copy_size(imm) + 1);
}

bool trans_DUP_e(struct trans *t, const struct a64_DUP_e *i)
{
	unsigned lg = copy_size(i->imm);

	if (!e_has_vectors())
		return false;
	if (i->s) {
		e_vdup(t, lg, E_V0, i->rn, copy_index(i->imm));
		e_vfirst(t, lg, i->rd, E_V0);
		return true;
	}
	e_vdup(t, lg, i->rd, i->rn, copy_index(i->imm));
	return done(t, i->q, i->rd);
}

bool trans_DUP_g(struct trans *t, const struct a64_DUP_g *i)
{
	if (!e_has_vectors())
		return false;
	e_vdup_reg(t, copy_size(i->imm), i->rd, gx(i->rn));
	return done(t, i->q, i->rd);
}

bool trans_INS_g(struct trans *t, const struct a64_INS_g *i)
{
	if (!e_has_vectors())
		return false;
	e_vset(t, copy_size(i->imm), i->rd, copy_index(i->imm), gx(i->rn));
	return true;
}

bool trans_INS_e(struct trans *t, const struct a64_INS_e *i)
{
	unsigned lg = copy_size(i->imm);

	if (!e_has_vectors())
		return false;
	e_vget(t, false, 0, lg, E_T0, i->rn, i->imm4 >> lg);
	e_vset(t, lg, i->rd, copy_index(i->imm), E_T0);
	return true;
}

bool trans_SMOV(struct trans *t, const struct a64_SMOV *i)
{
	if (!e_has_vectors())
		return false;
	e_vget(t, true, i->q, copy_size(i->imm), gx(i->rd), i->rn, copy_index(i->imm));
	return true;
}

bool trans_UMOV(struct trans *t, const struct a64_UMOV *i)
{
	if (!e_has_vectors())
		return false;
	e_vget(t, false, 0, copy_size(i->imm), gx(i->rd), i->rn, copy_index(i->imm));
	return true;
}

/* ---- permutations ---- */

/* 8 bytes: what a permutation of both lower halves in one vector gives. */
static bool permute_half(struct trans *t, const struct a64_PERM_v *i)
{
	unsigned lg = i->size;

	if (i->zip == 2) /* stays in place */
		return e_v(t, i->two ? E_VTRN2 : E_VTRN1, lg, i->rd, i->rn, i->rm) &&
		       done(t, 0, i->rd);
	if (i->zip == 1) {
		e_v(t, E_VLOWS, 0, E_V0, i->rn, i->rm);
		return e_v(t, i->two ? E_VUZP2 : E_VUZP1, lg, i->rd, E_V0, E_V0) &&
		       done(t, 0, i->rd);
	}
	e_v(t, E_VZIP1, lg, i->rd, i->rn, i->rm);
	if (i->two)
		e_vext(t, i->rd, i->rd, i->rd, 8);
	return done(t, 0, i->rd);
}

bool trans_PERM_v(struct trans *t, const struct a64_PERM_v *i)
{
	static const u8 op[] = { 0, E_VUZP1, E_VTRN1, E_VZIP1 };

	if (!e_has_vectors())
		return false;
	if (!i->q)
		return permute_half(t, i);
	return e_v(t, (enum e_vop)(op[i->zip] + i->two), i->size, i->rd, i->rn, i->rm);
}

bool trans_EXT_v(struct trans *t, const struct a64_EXT_v *i)
{
	if (!e_has_vectors())
		return false;
	if (i->q) {
		e_vext(t, i->rd, i->rn, i->rm, i->imm);
		return true;
	}
	e_v(t, E_VLOWS, 0, E_V0, i->rn, i->rm);
	e_vext(t, i->rd, E_V0, E_V0, i->imm);
	return done(t, 0, i->rd);
}

bool trans_TBL(struct trans *t, const struct a64_TBL *i)
{
	if (!e_has_vectors())
		return false;
	e_vtable(t, i->x, i->rd, i->rn, i->len + 1u, i->rm);
	return done(t, i->q, i->rd);
}

/* ---- immediates ---- */

/* MOVI, MVNI, FMOV, ORR and BIC. */
bool trans_MOVI_v(struct trans *t, const struct a64_MOVI_v *i)
{
	u64 val = movi_value(i);
	bool logic = movi_is_logic(i);

	if (!e_has_vectors() || i->half)
		return false;
	if (!logic) {
		e_vmovi(t, i->rd, val, i->q ? val : 0);
		return true;
	}
	e_vmovi(t, E_V0, val, val);
	if (i->op) /* BIC; the value is inverted already */
		e_v(t, E_VAND, 0, i->rd, i->rd, E_V0);
	else
		e_v(t, E_VOR, 0, i->rd, i->rd, E_V0);
	return done(t, i->q, i->rd);
}

/*
 * target/arm/trans_fp.c - translation rules of scalar floating point.
 *
 * The host's FPU rounds as FPCR.RMode says. Half precision and flushing of denormals (FPCR.FZ,
 * which is part of the state key) are left to the reference functions.
 */
#include "target/arm/sem_fp.h"
#include "target/arm/trans_vec.h"

/* Single or double, and no flushing. */
static bool usable(struct trans *t, unsigned ftype)
{
	return ftype <= 1 && arm_can_compute(t);
}

static enum e_fkind kind_of(unsigned ftype)
{
	return ftype ? E_F64 : E_F32;
}

/* ---- moves ---- */

bool trans_FMOV_r(struct trans *t, const struct a64_FMOV_r *i)
{
	if (!e_has_vectors() || i->ftype > 1)
		return false;
	e_fmov(t, kind_of(i->ftype), i->rd, i->rn);
	return true;
}

bool trans_FABS_s(struct trans *t, const struct a64_FABS_s *i)
{
	if (!e_has_vectors() || i->ftype > 1)
		return false;
	e_fabs(t, kind_of(i->ftype), i->rd, i->rn);
	return true;
}

bool trans_FNEG_s(struct trans *t, const struct a64_FNEG_s *i)
{
	if (!e_has_vectors() || i->ftype > 1)
		return false;
	e_fneg(t, kind_of(i->ftype), i->rd, i->rn);
	return true;
}

bool trans_FMOV_i(struct trans *t, const struct a64_FMOV_i *i)
{
	if (!e_has_vectors() || i->ftype > 1)
		return false;
	e_vmovi(t, i->rd, fp_expand_imm(FP_SINGLE + i->ftype, i->imm), 0);
	return true;
}

bool trans_FMOV_g(struct trans *t, const struct a64_FMOV_g *i)
{
	unsigned lg = i->ftype == 3 ? 1 : 2 + i->ftype;

	if (!e_has_vectors() || i->ftype == 3)
		return false;
	if (i->in)
		e_vfrom(t, lg, i->rd, gx(i->rn));
	else
		e_vget(t, false, 0, lg, gx(i->rd), i->rn, 0);
	return true;
}

bool trans_FMOV_top(struct trans *t, const struct a64_FMOV_top *i)
{
	if (!e_has_vectors())
		return false;
	if (i->in)
		e_vset(t, 3, i->rd, 1, gx(i->rn));
	else
		e_vget(t, false, 0, 3, gx(i->rd), i->rn, 1);
	return true;
}

bool trans_FCSEL(struct trans *t, const struct a64_FCSEL *i)
{
	if (!e_has_vectors() || i->ftype > 1)
		return false;
	if (i->cond >= 14)
		e_fmov(t, kind_of(i->ftype), i->rd, i->rn);
	else
		e_fcsel(t, kind_of(i->ftype), i->rd, (enum e_cond)i->cond, i->rn, i->rm,
			arm_flags_live_after(t));
	return true;
}

/* ---- comparison ---- */

bool trans_FCMP(struct trans *t, const struct a64_FCMP *i)
{
	struct e_fcompare c = { kind_of(i->ftype), i->rn, i->rm, i->z, i->e };

	if (!usable(t, i->ftype))
		return false;
	e_fcompare(t, &c, arm_next_reads_flags(t));
	return true;
}

bool trans_FCCMP(struct trans *t, const struct a64_FCCMP *i)
{
	static const u16 c_and_v[] = { 0, TCG_FLAG_V, TCG_FLAG_C, TCG_FLAG_C | TCG_FLAG_V };
	struct e_fcompare c = { kind_of(i->ftype), i->rn, i->rm, false, i->e };

	if (!usable(t, i->ftype) || i->cond >= 14)
		return false;
	e_fccmp(t, (enum e_cond)i->cond, &c, (u32)(i->nzcv & 0xc) << 12 | c_and_v[i->nzcv & 3]);
	return true;
}

/* ---- arithmetic ---- */

#define BINARY(name, op)                                                                           \
	bool trans_##name(struct trans *t, const struct a64_##name *i)                             \
	{                                                                                          \
		struct e_exact exact = EXACT(name, i);                                             \
                                                                                                   \
		if (!usable(t, i->ftype))                                                          \
			return false;                                                              \
		e_f(t, op, kind_of(i->ftype), i->rd, i->rn, i->rm, &exact);                        \
		return true;                                                                       \
	}

BINARY(FADD_s, E_FADD)
BINARY(FSUB_s, E_FSUB)
BINARY(FMUL_s, E_FMUL)
BINARY(FDIV_s, E_FDIV)
BINARY(FNMUL_s, E_FNMUL)
BINARY(FMAX_s, E_FMAX)
BINARY(FMIN_s, E_FMIN)
BINARY(FMAXNM_s, E_FMAX)
BINARY(FMINNM_s, E_FMIN)

bool trans_FSQRT_s(struct trans *t, const struct a64_FSQRT_s *i)
{
	struct e_exact exact = EXACT(FSQRT_s, i);

	if (!usable(t, i->ftype))
		return false;
	e_fsqrt(t, kind_of(i->ftype), i->rd, i->rn, &exact);
	return true;
}

/* FMADD a+nm, FMSUB a-nm, FNMADD -a-nm, FNMSUB -a+nm. */
bool trans_FMADD(struct trans *t, const struct a64_FMADD *i)
{
	struct e_exact exact = EXACT(FMADD, i);
	struct e_fma op = {
		.kind = kind_of(i->ftype),
		.d = i->rd,
		.a = i->rn,
		.b = i->rm,
		.c = i->ra,
		.neg_product = i->o0 != i->o1,
		.neg_c = i->o1,
	};

	if (!usable(t, i->ftype))
		return false;
	e_fma(t, &op, &exact);
	return true;
}

/* ---- conversions ---- */

bool trans_FCVT(struct trans *t, const struct a64_FCVT *i)
{
	struct e_exact exact = EXACT(FCVT, i);

	if (!usable(t, i->ftype) || i->opc > 1)
		return false;
	e_fcvt(t, i->opc, i->rd, i->rn, &exact);
	return true;
}

/* Rounding in the order of the instructions' fields: N P M Z, then A, -, X and I. */
static const u8 modes[] = { E_ROUND_NEAREST, E_ROUND_UP, E_ROUND_DOWN,    E_ROUND_ZERO,
			    E_ROUND_AWAY,    0xff,       E_ROUND_CURRENT, E_ROUND_CURRENT };

bool trans_FRINT(struct trans *t, const struct a64_FRINT *i)
{
	struct e_exact exact = EXACT(FRINT, i);

	if (!usable(t, i->ftype) || modes[i->mode] == 0xff)
		return false;
	e_fround(t, (enum e_fround)modes[i->mode], i->mode == 6, kind_of(i->ftype), i->rd, i->rn,
		 &exact);
	return true;
}

static struct e_ftoi to_general(enum e_fround mode, unsigned ftype, unsigned u, unsigned sf,
				unsigned rd, unsigned rn)
{
	return (struct e_ftoi){
		.kind = kind_of(ftype),
		.mode = mode,
		.sign = !u,
		.w = sf,
		.d = gx(rd),
		.a = rn,
	};
}

bool trans_FCVT_g(struct trans *t, const struct a64_FCVT_g *i)
{
	struct e_exact exact = EXACT(FCVT_g, i);
	struct e_ftoi op =
		to_general((enum e_fround)modes[i->mode], i->ftype, i->u, i->sf, i->rd, i->rn);

	if (!usable(t, i->ftype))
		return false;
	e_ftoi(t, &op, &exact);
	return true;
}

bool trans_FCVTA_g(struct trans *t, const struct a64_FCVTA_g *i)
{
	struct e_exact exact = EXACT(FCVTA_g, i);
	struct e_ftoi op = to_general(E_ROUND_AWAY, i->ftype, i->u, i->sf, i->rd, i->rn);

	if (!usable(t, i->ftype))
		return false;
	e_ftoi(t, &op, &exact);
	return true;
}

bool trans_FCVTZ_gf(struct trans *t, const struct a64_FCVTZ_gf *i)
{
	struct e_exact exact = EXACT(FCVTZ_gf, i);
	struct e_ftoi op = to_general(E_ROUND_ZERO, i->ftype, i->u, i->sf, i->rd, i->rn);

	if (!usable(t, i->ftype))
		return false;
	e_ftofixed(t, &op, 64 - i->scale, &exact);
	return true;
}

bool trans_CVTF_g(struct trans *t, const struct a64_CVTF_g *i)
{
	struct e_exact exact = EXACT(CVTF_g, i);

	if (!usable(t, i->ftype))
		return false;
	e_itof(t, !i->u, i->sf, 0, kind_of(i->ftype), i->rd, gx(i->rn), &exact);
	return true;
}

bool trans_CVTF_gf(struct trans *t, const struct a64_CVTF_gf *i)
{
	struct e_exact exact = EXACT(CVTF_gf, i);

	if (!usable(t, i->ftype))
		return false;
	e_itof(t, !i->u, i->sf, 64 - i->scale, kind_of(i->ftype), i->rd, gx(i->rn), &exact);
	return true;
}

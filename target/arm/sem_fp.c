/* target/arm/sem_fp.c - scalar floating-point instructions (Arm DDI 0487, C7.2). */
#include "target/arm/fp-host.h"
#include "target/arm/sem.h"
#include "target/arm/sem_fp.h"

/* The size that a ftype field means. */
static unsigned size_of(struct arm_cpu *cpu, unsigned ftype)
{
	if (ftype != 3)
		return FP_SINGLE + ftype;
	if (!cpu_has(cpu, ARM_FEAT_FP16))
		arm_undefined(cpu);
	return FP_HALF;
}

static u64 source(struct arm_cpu *cpu, unsigned n, unsigned lg)
{
	return cpu_v(cpu, n)->d[0] & (fp_sign_bit(lg) | (fp_sign_bit(lg) - 1));
}

static void set_scalar(struct arm_cpu *cpu, unsigned n, u64 val)
{
	*cpu_v(cpu, n) = (struct tcg_vreg){ { val, 0 } };
}

/* ---- moves ---- */

void exec_FMOV_r(struct arm_cpu *cpu, const struct a64_FMOV_r *i)
{
	set_scalar(cpu, i->rd, source(cpu, i->rn, size_of(cpu, i->ftype)));
}

void exec_FABS_s(struct arm_cpu *cpu, const struct a64_FABS_s *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	set_scalar(cpu, i->rd, fp_abs(lg, source(cpu, i->rn, lg)));
}

void exec_FNEG_s(struct arm_cpu *cpu, const struct a64_FNEG_s *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	set_scalar(cpu, i->rd, fp_neg(lg, source(cpu, i->rn, lg)));
}

u64 fp_expand_imm(unsigned lg, unsigned imm8)
{
	unsigned exp_bits = lg == FP_HALF ? 5 : lg == FP_SINGLE ? 8 : 11;
	unsigned frac_bits = (8u << lg) - 1 - exp_bits;
	u64 ones = (((u64)1 << (exp_bits - 3)) - 1) << 2;
	u64 exp = imm8 & 0x40 ? ones : (u64)1 << (exp_bits - 1);

	exp |= imm8 >> 4 & 3;
	return (u64)(imm8 >> 7) << ((8u << lg) - 1) | exp << frac_bits |
	       (u64)(imm8 & 15) << (frac_bits - 4);
}

void exec_FMOV_i(struct arm_cpu *cpu, const struct a64_FMOV_i *i)
{
	set_scalar(cpu, i->rd, fp_expand_imm(size_of(cpu, i->ftype), i->imm));
}

void exec_FMOV_g(struct arm_cpu *cpu, const struct a64_FMOV_g *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	if (!i->in)
		cpu_set_x(cpu, i->rd, source(cpu, i->rn, lg));
	else
		set_scalar(cpu, i->rd,
			   cpu_x(cpu, i->rn) & (fp_sign_bit(lg) | (fp_sign_bit(lg) - 1)));
}

void exec_FMOV_top(struct arm_cpu *cpu, const struct a64_FMOV_top *i)
{
	if (i->in)
		cpu_v(cpu, i->rd)->d[1] = cpu_x(cpu, i->rn);
	else
		cpu_set_x(cpu, i->rd, cpu_v(cpu, i->rn)->d[1]);
}

void exec_FCSEL(struct arm_cpu *cpu, const struct a64_FCSEL *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	set_scalar(cpu, i->rd, source(cpu, cond_holds(cpu, i->cond) ? i->rn : i->rm, lg));
}

/* ---- comparison ---- */

static void compare(struct arm_cpu *cpu, unsigned lg, u64 a, u64 b, bool signalling)
{
	struct fp_env env = fp_begin(cpu);
	unsigned nzcv;

	if (!fp_host_compare(env.fpcr, lg, a, b, &nzcv))
		nzcv = fp_compare(&env, lg, a, b, signalling);
	cpu_set_nzcv(cpu, nzcv);
	fp_end(cpu, &env);
}

void exec_FCMP(struct arm_cpu *cpu, const struct a64_FCMP *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	compare(cpu, lg, source(cpu, i->rn, lg), i->z ? 0 : source(cpu, i->rm, lg), i->e);
}

void exec_FCCMP(struct arm_cpu *cpu, const struct a64_FCCMP *i)
{
	unsigned lg = size_of(cpu, i->ftype);

	if (cond_holds(cpu, i->cond))
		compare(cpu, lg, source(cpu, i->rn, lg), source(cpu, i->rm, lg), i->e);
	else
		cpu_set_nzcv(cpu, i->nzcv);
}

/* ---- arithmetic ---- */

static void binary(struct arm_cpu *cpu, unsigned ftype, unsigned rd, unsigned rn, unsigned rm,
		   fp_binary *fn)
{
	unsigned lg = size_of(cpu, ftype);
	struct fp_env env = fp_begin(cpu);

	set_scalar(cpu, rd, fn(&env, lg, source(cpu, rn, lg), source(cpu, rm, lg)));
	fp_end(cpu, &env);
}

/* With a way round all calls for what the host can do. */
#define BINARY_HOST(name, fn, host)                                                                \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		u64 n = cpu_v(cpu, i->rn)->d[0], m = cpu_v(cpu, i->rm)->d[0], r;                   \
                                                                                                   \
		if (i->ftype <= 1 && host(cpu->fpcr, cpu->fpsr, FP_SINGLE + i->ftype, n, m, &r))   \
			set_scalar(cpu, i->rd, r);                                                 \
		else                                                                               \
			binary(cpu, i->ftype, i->rd, i->rn, i->rm, fn);                            \
	}

#define BINARY(name, fn)                                                                           \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		binary(cpu, i->ftype, i->rd, i->rn, i->rm, fn);                                    \
	}

BINARY_HOST(FMUL_s, fp_mul, fp_host_mul)
BINARY_HOST(FDIV_s, fp_div, fp_host_div)
BINARY_HOST(FADD_s, fp_add, fp_host_add)
BINARY_HOST(FSUB_s, fp_sub, fp_host_sub)
BINARY(FMAX_s, fp_max)
BINARY(FMIN_s, fp_min)
BINARY(FMAXNM_s, fp_maxnm)
BINARY(FMINNM_s, fp_minnm)
BINARY(FNMUL_s, fp_nmul)

void exec_FSQRT_s(struct arm_cpu *cpu, const struct a64_FSQRT_s *i)
{
	unsigned lg = size_of(cpu, i->ftype);
	struct fp_env env = fp_begin(cpu);

	set_scalar(cpu, i->rd, fp_sqrt(&env, lg, source(cpu, i->rn, lg)));
	fp_end(cpu, &env);
}

/* FMADD a+nm, FMSUB a-nm, FNMADD -a-nm, FNMSUB -a+nm. */
void exec_FMADD(struct arm_cpu *cpu, const struct a64_FMADD *i)
{
	unsigned lg = size_of(cpu, i->ftype);
	struct fp_env env = fp_begin(cpu);
	u64 addend = source(cpu, i->ra, lg), n = source(cpu, i->rn, lg);

	if (i->o1)
		addend = fp_neg(lg, addend);
	if (i->o0 != i->o1)
		n = fp_neg(lg, n);
	set_scalar(cpu, i->rd, fp_muladd(&env, lg, addend, n, source(cpu, i->rm, lg)));
	fp_end(cpu, &env);
}

/* ---- conversions ---- */

/* FCVT exists without FEAT_FP16 for half precision too. */
void exec_FCVT(struct arm_cpu *cpu, const struct a64_FCVT *i)
{
	static const u8 sizes[] = { FP_SINGLE, FP_DOUBLE, 0, FP_HALF };
	unsigned from = sizes[i->ftype], to = sizes[i->opc];
	struct fp_env env = fp_begin(cpu);

	set_scalar(cpu, i->rd,
		   fp_convert(&env, from, to, source(cpu, i->rn, from), fp_rmode(&env)));
	fp_end(cpu, &env);
}

void exec_BFCVT(struct arm_cpu *cpu, const struct a64_BFCVT *i)
{
	struct fp_env env = fp_begin(cpu);

	set_scalar(cpu, i->rd,
		   fp_convert(&env, FP_SINGLE, FP_BFLOAT, source(cpu, i->rn, FP_SINGLE),
			      fp_rmode(&env)));
	fp_end(cpu, &env);
}

void exec_FRINT(struct arm_cpu *cpu, const struct a64_FRINT *i)
{
	unsigned lg = size_of(cpu, i->ftype);
	struct fp_env env = fp_begin(cpu);
	enum fp_rounding mode = i->mode >= 6 ? fp_rmode(&env) : i->mode;

	set_scalar(cpu, i->rd, fp_round_int(&env, lg, source(cpu, i->rn, lg), mode, i->mode == 6));
	fp_end(cpu, &env);
}

void exec_FRINT_n(struct arm_cpu *cpu, const struct a64_FRINT_n *i)
{
	struct fp_env env = fp_begin(cpu);
	unsigned lg = FP_SINGLE + i->sz;
	enum fp_rounding mode = i->x ? fp_rmode(&env) : FP_ZERO_MODE;

	set_scalar(cpu, i->rd,
		   fp_round_int_n(&env, lg, source(cpu, i->rn, lg), mode, i->big ? 64 : 32));
	fp_end(cpu, &env);
}

static struct fp_fixed fixed_of(unsigned sf, unsigned unsign, unsigned fraction)
{
	return (struct fp_fixed){ .bits = sf ? 64 : 32, .fraction = fraction, .unsign = unsign };
}

static void to_general(struct arm_cpu *cpu, unsigned lg, unsigned rd, unsigned rn,
		       struct fp_fixed fixed, enum fp_rounding mode)
{
	struct fp_env env = fp_begin(cpu);

	cpu_set_x(cpu, rd, fp_to_fixed(&env, lg, source(cpu, rn, lg), fixed, mode));
	fp_end(cpu, &env);
}

static void from_general(struct arm_cpu *cpu, unsigned lg, unsigned rd, unsigned rn,
			 struct fp_fixed fixed)
{
	struct fp_env env = fp_begin(cpu);

	set_scalar(cpu, rd, fp_from_fixed(&env, lg, cpu_x(cpu, rn), fixed));
	fp_end(cpu, &env);
}

void exec_FCVT_g(struct arm_cpu *cpu, const struct a64_FCVT_g *i)
{
	to_general(cpu, size_of(cpu, i->ftype), i->rd, i->rn, fixed_of(i->sf, i->u, 0), i->mode);
}

void exec_FCVTA_g(struct arm_cpu *cpu, const struct a64_FCVTA_g *i)
{
	to_general(cpu, size_of(cpu, i->ftype), i->rd, i->rn, fixed_of(i->sf, i->u, 0), FP_AWAY);
}

void exec_FCVTZ_gf(struct arm_cpu *cpu, const struct a64_FCVTZ_gf *i)
{
	to_general(cpu, size_of(cpu, i->ftype), i->rd, i->rn, fixed_of(i->sf, i->u, 64 - i->scale),
		   FP_ZERO_MODE);
}

void exec_CVTF_g(struct arm_cpu *cpu, const struct a64_CVTF_g *i)
{
	from_general(cpu, size_of(cpu, i->ftype), i->rd, i->rn, fixed_of(i->sf, i->u, 0));
}

void exec_CVTF_gf(struct arm_cpu *cpu, const struct a64_CVTF_gf *i)
{
	from_general(cpu, size_of(cpu, i->ftype), i->rd, i->rn,
		     fixed_of(i->sf, i->u, 64 - i->scale));
}

void exec_FJCVTZS(struct arm_cpu *cpu, const struct a64_FJCVTZS *i)
{
	struct fp_env env = fp_begin(cpu);
	bool exact;

	cpu_set_x(cpu, i->rd, fp_to_js(&env, cpu_v(cpu, i->rn)->d[0], &exact));
	cpu_set_nzcv(cpu, exact ? 4 : 0);
	fp_end(cpu, &env);
}

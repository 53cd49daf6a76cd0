/* target/arm/sem_vec_fp_long.c - AdvSIMD floating point between formats, on complex numbers and
 * on bfloat16 (Arm DDI 0487, C7.2). */
#include "target/arm/sem_vec.h"

#define INDEX(i) ((i)->h << 2 | (i)->l << 1 | (i)->m)

/* ---- between formats ---- */

/* @count elements from the size @from to @to, into the upper half of the result if @upper. */
static void narrow(struct arm_cpu *cpu, unsigned from, unsigned to, struct vec_shape shape,
		   unsigned rd, unsigned rn, bool odd)
{
	struct fp_env env = fp_begin(cpu);
	enum fp_rounding mode = odd ? FP_ODD : fp_rmode(&env);
	struct tcg_vreg r = { { 0, 0 } };
	unsigned lg = from == FP_DOUBLE ? 2 : 1; /* of the result */

	for (unsigned e = 0; e < (shape.scalar ? 1 : 8u >> lg); e++)
		vset(&r, lg, e, fp_convert(&env, from, to, vget(cpu_v(cpu, rn), lg + 1, e), mode));
	if (shape.q && !shape.scalar)
		cpu_v(cpu, rd)->d[1] = r.d[0];
	else
		*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

void exec_FCVTN_v(struct arm_cpu *cpu, const struct a64_FCVTN_v *i)
{
	narrow(cpu, FP_SINGLE + i->sz, FP_HALF + i->sz, (struct vec_shape){ .q = i->q }, i->rd,
	       i->rn, false);
}

void exec_FCVTXN_v(struct arm_cpu *cpu, const struct a64_FCVTXN_v *i)
{
	narrow(cpu, FP_DOUBLE, FP_SINGLE, (struct vec_shape){ i->q, i->s }, i->rd, i->rn, true);
}

void exec_BFCVTN(struct arm_cpu *cpu, const struct a64_BFCVTN *i)
{
	narrow(cpu, FP_SINGLE, FP_BFLOAT, (struct vec_shape){ .q = i->q }, i->rd, i->rn, false);
}

void exec_FCVTL_v(struct arm_cpu *cpu, const struct a64_FCVTL_v *i)
{
	struct fp_env env = fp_begin(cpu);
	unsigned lg = FP_HALF + i->sz, count = 8u >> lg;
	struct tcg_vreg r;

	for (unsigned e = 0; e < count; e++) {
		u64 a = vget(cpu_v(cpu, i->rn), lg, e + (i->q ? count : 0));

		vset(&r, lg + 1, e, fp_convert(&env, lg, lg + 1, a, fp_rmode(&env)));
	}
	*cpu_v(cpu, i->rd) = r;
	fp_end(cpu, &env);
}

/* ---- half precision products added to singles ---- */

/* The same number, NaNs included; exact, and flushed without a trace under FZ16. */
static u32 widen_half(const struct fp_env *env, u64 a)
{
	u32 sign = (a & 0x8000) << 16, frac = a & 0x3ff;
	int e = a >> 10 & 0x1f;

	if (e == 0x1f)
		return sign | 0x7f800000 | frac << 13;
	if (e == 0) {
		if (!frac || env->fpcr & FPCR_FZ16)
			return sign;
		e = 1;
		while (!(frac & 0x400)) {
			frac <<= 1;
			e--;
		}
	}
	return sign | (u32)(e + 127 - 15) << 23 | (frac & 0x3ff) << 13;
}

/* @sub: negate the first operand; @from: its first element, and that of m. */
static void muladd_long(struct arm_cpu *cpu, unsigned q, bool sub, unsigned from, unsigned rd,
			unsigned rn, const struct tcg_vreg *m)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < 2u << q; e++) {
		u64 a = vget(cpu_v(cpu, rn), 1, from + e), b = vget(m, 1, from + e);

		if (sub)
			a ^= 0x8000;
		vset(&r, 2, e,
		     fp_muladd(&env, FP_SINGLE, vget(cpu_v(cpu, rd), 2, e), widen_half(&env, a),
			       widen_half(&env, b)));
	}
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

void exec_FMLAL_v(struct arm_cpu *cpu, const struct a64_FMLAL_v *i)
{
	muladd_long(cpu, i->q, i->sub, 0, i->rd, i->rn, cpu_v(cpu, i->rm));
}

void exec_FMLAL2_v(struct arm_cpu *cpu, const struct a64_FMLAL2_v *i)
{
	muladd_long(cpu, i->q, i->sub, 2u << i->q, i->rd, i->rn, cpu_v(cpu, i->rm));
}

void exec_FMLAL_e(struct arm_cpu *cpu, const struct a64_FMLAL_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 1, INDEX(i), i->rm);

	muladd_long(cpu, i->q, i->sub, 0, i->rd, i->rn, &m);
}

void exec_FMLAL2_e(struct arm_cpu *cpu, const struct a64_FMLAL2_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 1, INDEX(i), i->rm);

	muladd_long(cpu, i->q, i->sub, 2u << i->q, i->rd, i->rn, &m);
}

/* ---- complex numbers: real part in the even element ---- */

static void check_half(struct arm_cpu *cpu, unsigned lg)
{
	if (lg == FP_HALF && !cpu_has(cpu, ARM_FEAT_FP16))
		arm_undefined(cpu);
}

/* d + n * m turned by @rot * 90 degrees, where only the real (rot even) or the imaginary part of
 * n takes part. */
static void complex_muladd(struct arm_cpu *cpu, unsigned q, unsigned lg, unsigned rot, unsigned rd,
			   unsigned rn, const struct tcg_vreg *m)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < (8u << q) >> lg; e += 2) {
		const struct tcg_vreg *d = cpu_v(cpu, rd);
		u64 n = vget(cpu_v(cpu, rn), lg, e + (rot & 1));
		u64 re = vget(m, lg, e + (rot & 1)), im = vget(m, lg, e + !(rot & 1));

		if (rot == 1 || rot == 2)
			re = fp_neg(lg, re);
		if (rot >= 2)
			im = fp_neg(lg, im);
		vset(&r, lg, e, fp_muladd(&env, lg, vget(d, lg, e), n, re));
		vset(&r, lg, e + 1, fp_muladd(&env, lg, vget(d, lg, e + 1), n, im));
	}
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

void exec_FCMLA_v(struct arm_cpu *cpu, const struct a64_FCMLA_v *i)
{
	check_half(cpu, i->size);
	complex_muladd(cpu, i->q, i->size, i->rot, i->rd, i->rn, cpu_v(cpu, i->rm));
}

void exec_FCMLA_e(struct arm_cpu *cpu, const struct a64_FCMLA_e *i)
{
	unsigned index = i->size == 1 ? i->h << 1 | i->l : i->h;
	u64 pair = vget(cpu_v(cpu, i->m << 4 | i->rm), i->size + 1, index);
	struct tcg_vreg m = vec_splat(i->size + 1, pair);

	check_half(cpu, i->size);
	complex_muladd(cpu, i->q, i->size, i->rot, i->rd, i->rn, &m);
}

/* n + m turned by 90 or 270 degrees. */
void exec_FCADD_v(struct arm_cpu *cpu, const struct a64_FCADD_v *i)
{
	struct fp_env env = fp_begin(cpu);
	unsigned lg = i->size;
	struct tcg_vreg r = { { 0, 0 } };

	check_half(cpu, lg);
	for (unsigned e = 0; e < (8u << i->q) >> lg; e += 2) {
		const struct tcg_vreg *n = cpu_v(cpu, i->rn);
		u64 re = vget(cpu_v(cpu, i->rm), lg, e + 1), im = vget(cpu_v(cpu, i->rm), lg, e);

		if (i->rot)
			im = fp_neg(lg, im);
		else
			re = fp_neg(lg, re);
		vset(&r, lg, e, fp_add(&env, lg, vget(n, lg, e), re));
		vset(&r, lg, e + 1, fp_add(&env, lg, vget(n, lg, e + 1), im));
	}
	*cpu_v(cpu, i->rd) = r;
	fp_end(cpu, &env);
}

/* ---- bfloat16 ---- */

static void bf_dot(struct arm_cpu *cpu, unsigned q, unsigned rd, unsigned rn,
		   const struct tcg_vreg *m)
{
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < 2u << q; e++)
		vset(&r, 2, e,
		     fp_bfdot(vget(cpu_v(cpu, rd), 2, e), vget(cpu_v(cpu, rn), 2, e),
			      vget(m, 2, e)));
	*cpu_v(cpu, rd) = r;
}

void exec_BFDOT_v(struct arm_cpu *cpu, const struct a64_BFDOT_v *i)
{
	bf_dot(cpu, i->q, i->rd, i->rn, cpu_v(cpu, i->rm));
}

void exec_BFDOT_e(struct arm_cpu *cpu, const struct a64_BFDOT_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 2, INDEX(i), i->rm);

	bf_dot(cpu, i->q, i->rd, i->rn, &m);
}

/* Two rows of four times the same transposed. */
void exec_BFMMLA(struct arm_cpu *cpu, const struct a64_BFMMLA *i)
{
	const struct tcg_vreg *n = cpu_v(cpu, i->rn), *m = cpu_v(cpu, i->rm);
	struct tcg_vreg r;

	for (unsigned e = 0; e < 4; e++) {
		u32 sum = vget(cpu_v(cpu, i->rd), 2, e);

		for (unsigned k = 0; k < 2; k++)
			sum = fp_bfdot(sum, vget(n, 2, e / 2 * 2 + k), vget(m, 2, e % 2 * 2 + k));
		vset(&r, 2, e, sum);
	}
	*cpu_v(cpu, i->rd) = r;
}

/* BFMLALB and BFMLALT: even or odd elements; these follow FPCR. */
static void bf_muladd(struct arm_cpu *cpu, unsigned odd, unsigned rd, unsigned rn,
		      const struct tcg_vreg *m)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r;

	for (unsigned e = 0; e < 4; e++)
		vset(&r, 2, e,
		     fp_muladd(&env, FP_SINGLE, vget(cpu_v(cpu, rd), 2, e),
			       vget(cpu_v(cpu, rn), 1, 2 * e + odd) << 16,
			       vget(m, 1, 2 * e + odd) << 16));
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

void exec_BFMLAL_v(struct arm_cpu *cpu, const struct a64_BFMLAL_v *i)
{
	bf_muladd(cpu, i->q, i->rd, i->rn, cpu_v(cpu, i->rm));
}

void exec_BFMLAL_e(struct arm_cpu *cpu, const struct a64_BFMLAL_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 1, INDEX(i), i->rm);

	bf_muladd(cpu, i->q, i->rd, i->rn, &m);
}

/* target/arm/sem_vec_fp.c - AdvSIMD floating point on elements of one size (Arm DDI 0487, C7.2). */
#include "target/arm/fp-host.h"
#include "target/arm/sem_vec.h"

#define FULL(i) (FP_SINGLE + (i)->sz)
#define HALF(i) FP_HALF

static unsigned count_of(struct vec_shape shape, unsigned lg)
{
	return shape.scalar ? 1 : (8u << shape.q) >> lg;
}

/* ---- three registers ---- */

static void map_binary(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
		       const struct tcg_vreg *n, const struct tcg_vreg *m, fp_binary *fn)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < count_of(shape, lg); e++)
		vset(&r, lg, e, fn(&env, lg, vget(n, lg, e), vget(m, lg, e)));
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

/* The result's old value is the addend. */
static void map_ternary(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			const struct tcg_vreg *n, const struct tcg_vreg *m, fp_ternary *fn)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < count_of(shape, lg); e++)
		vset(&r, lg, e,
		     fn(&env, lg, vget(cpu_v(cpu, rd), lg, e), vget(n, lg, e), vget(m, lg, e)));
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

/* Neighbours of the operands one after the other. */
static void map_pairs(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
		      const struct tcg_vreg *n, const struct tcg_vreg *m, fp_binary *fn)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };
	unsigned half = count_of(shape, lg) / 2;

	for (unsigned e = 0; e < 2 * half; e++) {
		const struct tcg_vreg *v = e < half ? n : m;
		unsigned from = 2 * (e % half);

		vset(&r, lg, e, fn(&env, lg, vget(v, lg, from), vget(v, lg, from + 1)));
	}
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

#ifdef __x86_64__
#define WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define WITH_FMA
#endif

/* d + n * m by the host; false if that may be wrong. */
WITH_FMA static bool host_muladd(unsigned lg, bool q, const struct tcg_vreg *d,
				 const struct tcg_vreg *n, const struct tcg_vreg *m,
				 struct tcg_vreg *r)
{
	if (lg == FP_DOUBLE) {
		for (unsigned e = 0; e < 2; e++)
			r->d[e] = fp_of_double(fma(fp_as_double(n->d[e]), fp_as_double(m->d[e]),
						   fp_as_double(d->d[e])));
	} else {
		float a[4], b[4], c[4];

		memcpy(a, n, sizeof(a));
		memcpy(b, m, sizeof(b));
		memcpy(c, d, sizeof(c));
		for (unsigned e = 0; e < 4; e++)
			c[e] = fmaf(a[e], b[e], c[e]);
		memcpy(r, c, sizeof(c));
	}
	if (!q)
		r->d[1] = 0x3f8000003f800000; /* 1.0, as good as any */
	return fp_host_certain_vector(lg, q, r->d);
}

static void muladd_vector(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			  const struct tcg_vreg *n, const struct tcg_vreg *m, fp_ternary *fn)
{
	struct tcg_vreg a = *n, r;
	const struct tcg_vreg sign = vec_splat(lg, fn == fp_mulsub ? fp_sign_bit(lg) : 0);

	for (unsigned half = 0; half < 2; half++)
		a.d[half] ^= sign.d[half];
	if (lg >= FP_SINGLE && !shape.scalar && fp_host_usable(cpu->fpcr, cpu->fpsr) &&
	    host_muladd(lg, shape.q, cpu_v(cpu, rd), &a, m, &r))
		*cpu_v(cpu, rd) = r;
	else
		map_ternary(cpu, shape, lg, rd, n, m, fn);
}

#define DEFINE(name, size, shape, map, fn)                                                         \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		map(cpu, shape(i), size(i), i->rd, cpu_v(cpu, i->rn), cpu_v(cpu, i->rm), fn);      \
	}

/* With a short cut for what the host can do with the whole vector. */
#define THREE_HOST(name, fn, host)                                                                 \
	void exec_##name##_v(struct arm_cpu *cpu, const struct a64_##name##_v *i)                  \
	{                                                                                          \
		const struct tcg_vreg *n = cpu_v(cpu, i->rn), *m = cpu_v(cpu, i->rm);              \
		struct tcg_vreg r;                                                                 \
                                                                                                   \
		if (host(cpu->fpcr, cpu->fpsr, FULL(i), i->q, n->d, m->d, r.d))                    \
			*cpu_v(cpu, i->rd) = r;                                                    \
		else                                                                               \
			map_binary(cpu, SHAPE_V(i), FULL(i), i->rd, n, m, fn);                     \
	}                                                                                          \
	DEFINE(name##_vh, HALF, SHAPE_V, map_binary, fn)

#define THREE(name, shape, map, fn)                                                                \
	DEFINE(name##_v, FULL, shape, map, fn)                                                     \
	DEFINE(name##_vh, HALF, shape, map, fn)

THREE_HOST(FADD, fp_add, fp_host_add_vector)
THREE_HOST(FSUB, fp_sub, fp_host_sub_vector)
THREE_HOST(FMUL, fp_mul, fp_host_mul_vector)
THREE_HOST(FDIV, fp_div, fp_host_div_vector)
THREE(FMAX, SHAPE_V, map_binary, fp_max)
THREE(FMIN, SHAPE_V, map_binary, fp_min)
THREE(FMAXNM, SHAPE_V, map_binary, fp_maxnm)
THREE(FMINNM, SHAPE_V, map_binary, fp_minnm)
THREE(FMULX, SHAPE_S, map_binary, fp_mulx)
THREE(FABD, SHAPE_S, map_binary, fp_abd)
THREE(FRECPS, SHAPE_S, map_binary, fp_recps)
THREE(FRSQRTS, SHAPE_S, map_binary, fp_rsqrts)
THREE(FCMEQ, SHAPE_S, map_binary, fp_cmeq)
THREE(FCMGE, SHAPE_S, map_binary, fp_cmge)
THREE(FCMGT, SHAPE_S, map_binary, fp_cmgt)
THREE(FACGE, SHAPE_S, map_binary, fp_acge)
THREE(FACGT, SHAPE_S, map_binary, fp_acgt)
THREE(FMLA, SHAPE_V, muladd_vector, fp_muladd)
THREE(FMLS, SHAPE_V, muladd_vector, fp_mulsub)
THREE(FADDP, SHAPE_V, map_pairs, fp_add)
THREE(FMAXP, SHAPE_V, map_pairs, fp_max)
THREE(FMINP, SHAPE_V, map_pairs, fp_min)
THREE(FMAXNMP, SHAPE_V, map_pairs, fp_maxnm)
THREE(FMINNMP, SHAPE_V, map_pairs, fp_minnm)

/* ---- by element ---- */

/* The element as a vector; the index is H:L:M, H:L or H, and M belongs to wide elements' register.
 */
#define ELEMENT(cpu, i, lg) vec_fp_element(cpu, lg, (i)->h << 2 | (i)->l << 1 | (i)->m, (i)->rm)

static struct tcg_vreg vec_fp_element(struct arm_cpu *cpu, unsigned lg, unsigned index, unsigned rm)
{
	if (lg == FP_DOUBLE)
		return vec_splat(3, vget(cpu_v(cpu, rm | (index & 1) << 4), 3, index >> 2));
	return vec_by_element(cpu, lg, index, rm);
}

#define DEFINE_E(name, size, map, fn)                                                              \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		struct tcg_vreg m = ELEMENT(cpu, i, size(i));                                      \
                                                                                                   \
		map(cpu, SHAPE_S(i), size(i), i->rd, cpu_v(cpu, i->rn), &m, fn);                   \
	}

#define BY_ELEMENT(name, map, fn)                                                                  \
	DEFINE_E(name##_e, FULL, map, fn)                                                          \
	DEFINE_E(name##_eh, HALF, map, fn)

BY_ELEMENT(FMUL, map_binary, fp_mul)
BY_ELEMENT(FMULX, map_binary, fp_mulx)
BY_ELEMENT(FMLA, muladd_vector, fp_muladd)
BY_ELEMENT(FMLS, muladd_vector, fp_mulsub)

/* ---- across the elements ---- */

/* Reduce(): halves first, so that it is determined which NaN wins. */
static u64 reduce(struct fp_env *env, unsigned lg, const struct tcg_vreg *v, unsigned first,
		  unsigned count, fp_binary *fn)
{
	u64 low;

	if (count == 1)
		return vget(v, lg, first);
	low = reduce(env, lg, v, first, count / 2, fn);
	return fn(env, lg, low, reduce(env, lg, v, first + count / 2, count / 2, fn));
}

static void across(struct arm_cpu *cpu, unsigned lg, unsigned count, unsigned rd, unsigned rn,
		   fp_binary *fn)
{
	struct fp_env env = fp_begin(cpu);
	u64 r = reduce(&env, lg, cpu_v(cpu, rn), 0, count, fn);

	*cpu_v(cpu, rd) = (struct tcg_vreg){ { r, 0 } };
	fp_end(cpu, &env);
}

static fp_binary *extreme_of(unsigned min, unsigned op)
{
	if (op == 0)
		return min ? fp_minnm : fp_maxnm;
	return min ? fp_min : fp_max;
}

void exec_FMAXV_v(struct arm_cpu *cpu, const struct a64_FMAXV_v *i)
{
	across(cpu, FP_SINGLE, 4, i->rd, i->rn, extreme_of(i->min, i->op));
}

void exec_FMAXV_vh(struct arm_cpu *cpu, const struct a64_FMAXV_vh *i)
{
	across(cpu, FP_HALF, 4u << i->q, i->rd, i->rn, extreme_of(i->min, i->op));
}

void exec_FMAXP_s(struct arm_cpu *cpu, const struct a64_FMAXP_s *i)
{
	across(cpu, FULL(i), 2, i->rd, i->rn, extreme_of(i->min, i->op));
}

void exec_FMAXP_sh(struct arm_cpu *cpu, const struct a64_FMAXP_sh *i)
{
	across(cpu, FP_HALF, 2, i->rd, i->rn, extreme_of(i->min, i->op));
}

void exec_FADDP_s(struct arm_cpu *cpu, const struct a64_FADDP_s *i)
{
	across(cpu, FULL(i), 2, i->rd, i->rn, fp_add);
}

void exec_FADDP_sh(struct arm_cpu *cpu, const struct a64_FADDP_sh *i)
{
	across(cpu, FP_HALF, 2, i->rd, i->rn, fp_add);
}

/* ---- two registers ---- */

/* What map_unary() does to each element. */
struct unary {
	fp_unary *fn; /* NULL: as @kind says */
	enum { UNARY_ROUND, UNARY_ROUND_N, UNARY_TO_INT, UNARY_FROM_INT } kind;
	enum fp_rounding mode;
	bool exact;            /* UNARY_ROUND */
	u8 bits;               /* UNARY_ROUND_N */
	struct fp_fixed fixed; /* UNARY_TO_INT, UNARY_FROM_INT */
};

static u64 apply(struct fp_env *env, unsigned lg, u64 a, const struct unary *op)
{
	if (op->fn)
		return op->fn(env, lg, a);
	switch (op->kind) {
	case UNARY_ROUND: return fp_round_int(env, lg, a, op->mode, op->exact);
	case UNARY_ROUND_N: return fp_round_int_n(env, lg, a, op->mode, op->bits);
	case UNARY_TO_INT: return fp_to_fixed(env, lg, a, op->fixed, op->mode);
	default: return fp_from_fixed(env, lg, a, op->fixed);
	}
}

static void map_unary(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
		      unsigned rn, const struct unary *op)
{
	struct fp_env env = fp_begin(cpu);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < count_of(shape, lg); e++)
		vset(&r, lg, e, apply(&env, lg, vget(cpu_v(cpu, rn), lg, e), op));
	*cpu_v(cpu, rd) = r;
	fp_end(cpu, &env);
}

static u64 absolute(struct fp_env *env, unsigned lg, u64 a)
{
	return fp_abs(lg, a);
}

static u64 negated(struct fp_env *env, unsigned lg, u64 a)
{
	return fp_neg(lg, a);
}

#define DEFINE_U(name, size, shape, ...)                                                           \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		const unsigned lg = size(i);                                                       \
		struct unary op = { __VA_ARGS__ };                                                 \
                                                                                                   \
		map_unary(cpu, shape, lg, i->rd, i->rn, &op);                                      \
	}

#define TWO(name, shape, ...)                                                                      \
	DEFINE_U(name##_v, FULL, shape(i), __VA_ARGS__)                                            \
	DEFINE_U(name##_vh, HALF, shape(i), __VA_ARGS__)

TWO(FABS, SHAPE_V, .fn = absolute)
TWO(FNEG, SHAPE_V, .fn = negated)
TWO(FSQRT, SHAPE_V, .fn = fp_sqrt)
TWO(FRECPE, SHAPE_S, .fn = fp_recpe)
TWO(FRSQRTE, SHAPE_S, .fn = fp_rsqrte)
DEFINE_U(FRECPX_v, FULL, (struct vec_shape){ .scalar = true }, .fn = fp_recpx)
DEFINE_U(FRECPX_vh, HALF, (struct vec_shape){ .scalar = true }, .fn = fp_recpx)

static struct unary round_op(const struct arm_cpu *cpu, unsigned u, unsigned lo, unsigned hi)
{
	unsigned mode = u << 2 | lo << 1 | hi;
	struct fp_env env = fp_begin(cpu);

	return (struct unary){ .kind = UNARY_ROUND,
			       .mode = mode >= 6 ? fp_rmode(&env) : mode,
			       .exact = mode == 6 };
}

void exec_FRINT_v(struct arm_cpu *cpu, const struct a64_FRINT_v *i)
{
	struct unary op = round_op(cpu, i->u, i->lo, i->hi);

	map_unary(cpu, SHAPE_V(i), FULL(i), i->rd, i->rn, &op);
}

void exec_FRINT_vh(struct arm_cpu *cpu, const struct a64_FRINT_vh *i)
{
	struct unary op = round_op(cpu, i->u, i->lo, i->hi);

	map_unary(cpu, SHAPE_V(i), FP_HALF, i->rd, i->rn, &op);
}

void exec_FRINTN_v(struct arm_cpu *cpu, const struct a64_FRINTN_v *i)
{
	struct fp_env env = fp_begin(cpu);
	struct unary op = { .kind = UNARY_ROUND_N,
			    .mode = i->x ? fp_rmode(&env) : FP_ZERO_MODE,
			    .bits = i->big ? 64 : 32 };

	map_unary(cpu, SHAPE_V(i), FULL(i), i->rd, i->rn, &op);
}

#define FIXED(lg, u, fraction_bits)                                                                \
	((struct fp_fixed){ .bits = 8u << (lg), .fraction = (fraction_bits), .unsign = (u) })

TWO(FCVT, SHAPE_S, .kind = UNARY_TO_INT, .mode = i->lo << 1 | i->hi, .fixed = FIXED(lg, i->u, 0))
TWO(FCVTA, SHAPE_S, .kind = UNARY_TO_INT, .mode = FP_AWAY, .fixed = FIXED(lg, i->u, 0))
TWO(CVTF, SHAPE_S, .kind = UNARY_FROM_INT, .fixed = FIXED(lg, i->u, 0))

/* Size, and bits behind the binary point, that immh:immb encodes. */
static unsigned fixed_size(struct arm_cpu *cpu, unsigned imm)
{
	unsigned lg = 28 - __builtin_clz(imm);

	if (lg == FP_HALF && !cpu_has(cpu, ARM_FEAT_FP16))
		arm_undefined(cpu);
	return lg;
}

void exec_CVTF_vf(struct arm_cpu *cpu, const struct a64_CVTF_vf *i)
{
	unsigned lg = fixed_size(cpu, i->imm);
	struct unary op = { .kind = UNARY_FROM_INT,
			    .fixed = FIXED(lg, i->u, (16u << lg) - i->imm) };

	map_unary(cpu, SHAPE_S(i), lg, i->rd, i->rn, &op);
}

void exec_FCVTZ_vf(struct arm_cpu *cpu, const struct a64_FCVTZ_vf *i)
{
	unsigned lg = fixed_size(cpu, i->imm);
	struct unary op = { .kind = UNARY_TO_INT,
			    .mode = FP_ZERO_MODE,
			    .fixed = FIXED(lg, i->u, (16u << lg) - i->imm) };

	map_unary(cpu, SHAPE_S(i), lg, i->rd, i->rn, &op);
}

/* ---- comparison with zero ---- */

static void compare_zero(struct arm_cpu *cpu, struct vec_shape shape, unsigned lg, unsigned rd,
			 unsigned rn, unsigned op_u)
{
	static const struct tcg_vreg zero;
	static fp_binary *const fns[] = { fp_cmgt, fp_cmge, fp_cmeq, fp_cmge, fp_cmgt };
	const struct tcg_vreg *n = cpu_v(cpu, rn);
	bool swap = op_u >= 3; /* LE and LT */

	map_binary(cpu, shape, lg, rd, swap ? &zero : n, swap ? n : &zero, fns[op_u]);
}

void exec_FCMZ_v(struct arm_cpu *cpu, const struct a64_FCMZ_v *i)
{
	compare_zero(cpu, SHAPE_S(i), FULL(i), i->rd, i->rn, i->op << 1 | i->u);
}

void exec_FCMZ_vh(struct arm_cpu *cpu, const struct a64_FCMZ_vh *i)
{
	compare_zero(cpu, SHAPE_S(i), FP_HALF, i->rd, i->rn, i->op << 1 | i->u);
}

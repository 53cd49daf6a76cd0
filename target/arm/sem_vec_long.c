/* target/arm/sem_vec_long.c - AdvSIMD operations that widen or narrow, products by element and
 * dot products (Arm DDI 0487, C7.2). */
#include "target/arm/sem_vec.h"

/* ---- elements: a and b have the size lg, d and the result twice that ---- */

VEC_OP(op_saddl)
{
	return sx(a, lg) + sx(b, lg);
}

VEC_OP(op_uaddl)
{
	return a + b;
}

VEC_OP(op_ssubl)
{
	return sx(a, lg) - sx(b, lg);
}

VEC_OP(op_usubl)
{
	return a - b;
}

VEC_OP(op_sabdl)
{
	s64 diff = sx(a, lg) - sx(b, lg);

	return diff < 0 ? -diff : diff;
}

VEC_OP(op_uabdl)
{
	return a > b ? a - b : b - a;
}

VEC_OP(op_sabal)
{
	return d + op_sabdl(cpu, d, a, b, lg);
}

VEC_OP(op_uabal)
{
	return d + op_uabdl(cpu, d, a, b, lg);
}

VEC_OP(op_smull)
{
	return sx(a, lg) * sx(b, lg);
}

VEC_OP(op_smlal)
{
	return d + sx(a, lg) * sx(b, lg);
}

VEC_OP(op_smlsl)
{
	return d - sx(a, lg) * sx(b, lg);
}

VEC_OP(op_sqdmull)
{
	return sat_s(cpu, (s128)2 * sx(a, lg) * sx(b, lg), lg + 1);
}

VEC_OP(op_sqdmlal)
{
	u64 product = op_sqdmull(cpu, d, a, b, lg);

	return sat_s(cpu, (s128)sx(d, lg + 1) + sx(product, lg + 1), lg + 1);
}

VEC_OP(op_sqdmlsl)
{
	u64 product = op_sqdmull(cpu, d, a, b, lg);

	return sat_s(cpu, (s128)sx(d, lg + 1) - sx(product, lg + 1), lg + 1);
}

VEC_OP(op_pmull)
{
	return carryless_product(a, b);
}

/* ---- three registers ---- */

#define LONG(name, shape, size, fn)                                                                \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		vec_long(cpu, shape(i), size, i->rd, cpu_v(cpu, i->rn), cpu_v(cpu, i->rm), fn);    \
	}

#define LONG_SU(name, fn_s, fn_u) LONG(name, SHAPE_V, i->size, i->u ? fn_u : fn_s)

LONG_SU(ADDL_v, op_saddl, op_uaddl)
LONG_SU(SUBL_v, op_ssubl, op_usubl)
LONG_SU(ABAL_v, op_sabal, op_uabal)
LONG_SU(ABDL_v, op_sabdl, op_uabdl)
LONG_SU(MLAL_v, op_smlal, op_mla)
LONG_SU(MLSL_v, op_smlsl, op_mls)
LONG_SU(MULL_v, op_smull, op_mul)
LONG(SQDMLAL_v, SHAPE_S, i->size, op_sqdmlal)
LONG(SQDMLSL_v, SHAPE_S, i->size, op_sqdmlsl)
LONG(SQDMULL_v, SHAPE_S, i->size, op_sqdmull)
LONG(PMULL_v, SHAPE_V, 0, op_pmull)

void exec_PMULL_q(struct arm_cpu *cpu, const struct a64_PMULL_q *i)
{
	u64 a = cpu_v(cpu, i->rn)->d[i->q], b = cpu_v(cpu, i->rm)->d[i->q];
	u128 r = 0;

	for (unsigned bit = 0; bit < 64; bit++)
		r ^= b >> bit & 1 ? (u128)a << bit : 0;
	*cpu_v(cpu, i->rd) = (struct tcg_vreg){ { r, r >> 64 } };
}

/* ADDW, SUBW: the first operand is wide already. */
static void add_wide(struct arm_cpu *cpu, const struct a64_ADDW_v *i, bool sub)
{
	unsigned lg = i->size, count = 8u >> lg;
	struct tcg_vreg r;

	for (unsigned e = 0; e < count; e++) {
		u64 a = vget(cpu_v(cpu, i->rn), lg + 1, e);
		u64 b = vget(cpu_v(cpu, i->rm), lg, e + (i->q ? count : 0));

		b = i->u ? b : (u64)sx(b, lg);
		vset(&r, lg + 1, e, sub ? a - b : a + b);
	}
	*cpu_v(cpu, i->rd) = r;
}

void exec_ADDW_v(struct arm_cpu *cpu, const struct a64_ADDW_v *i)
{
	add_wide(cpu, i, false);
}

void exec_SUBW_v(struct arm_cpu *cpu, const struct a64_SUBW_v *i)
{
	add_wide(cpu, &(struct a64_ADDW_v){ i->q, i->u, i->size, i->rm, i->rn, i->rd }, true);
}

/* ADDHN, SUBHN: the upper half of each result; a and b have twice the size lg. */
VEC_OP(op_addhn)
{
	return (a + b) >> (8u << lg);
}

VEC_OP(op_raddhn)
{
	return (a + b + ((u64)1 << ((8u << lg) - 1))) >> (8u << lg);
}

VEC_OP(op_subhn)
{
	return (a - b) >> (8u << lg);
}

VEC_OP(op_rsubhn)
{
	return (a - b + ((u64)1 << ((8u << lg) - 1))) >> (8u << lg);
}

void exec_ADDHN_v(struct arm_cpu *cpu, const struct a64_ADDHN_v *i)
{
	vec_narrow(cpu, SHAPE_V(i), i->size, i->rd, cpu_v(cpu, i->rn), cpu_v(cpu, i->rm),
		   i->u ? op_raddhn : op_addhn);
}

void exec_SUBHN_v(struct arm_cpu *cpu, const struct a64_SUBHN_v *i)
{
	vec_narrow(cpu, SHAPE_V(i), i->size, i->rd, cpu_v(cpu, i->rn), cpu_v(cpu, i->rm),
		   i->u ? op_rsubhn : op_subhn);
}

/* ---- by element ---- */

#define ELEMENT(cpu, i) vec_by_element(cpu, (i)->size, (i)->h << 2 | (i)->l << 1 | (i)->m, (i)->rm)

#define BY_ELEMENT(name, map, shape, fn)                                                           \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		struct tcg_vreg m = ELEMENT(cpu, i);                                               \
                                                                                                   \
		map(cpu, shape(i), i->size, i->rd, cpu_v(cpu, i->rn), &m, fn);                     \
	}

BY_ELEMENT(MUL_e, vec_map, SHAPE_V, op_mul)
BY_ELEMENT(MLA_e, vec_map, SHAPE_V, op_mla)
BY_ELEMENT(MLS_e, vec_map, SHAPE_V, op_mls)
BY_ELEMENT(SQDMULH_e, vec_map, SHAPE_S, op_sqdmulh)
BY_ELEMENT(SQRDMULH_e, vec_map, SHAPE_S, op_sqrdmulh)
BY_ELEMENT(SQRDMLAH_e, vec_map, SHAPE_S, op_sqrdmlah)
BY_ELEMENT(SQRDMLSH_e, vec_map, SHAPE_S, op_sqrdmlsh)
BY_ELEMENT(MLAL_e, vec_long, SHAPE_V, i->u ? op_mla : op_smlal)
BY_ELEMENT(MLSL_e, vec_long, SHAPE_V, i->u ? op_mls : op_smlsl)
BY_ELEMENT(MULL_e, vec_long, SHAPE_V, i->u ? op_mul : op_smull)
BY_ELEMENT(SQDMLAL_e, vec_long, SHAPE_S, op_sqdmlal)
BY_ELEMENT(SQDMLSL_e, vec_long, SHAPE_S, op_sqdmlsl)
BY_ELEMENT(SQDMULL_e, vec_long, SHAPE_S, op_sqdmull)

/* ---- dot products and matrices ---- */

/* Sum of the products of @count bytes from @n and @m on. */
static u32 dot(const struct tcg_vreg *n, const struct tcg_vreg *m, unsigned at_n, unsigned at_m,
	       unsigned count, bool n_unsigned, bool m_unsigned)
{
	u32 sum = 0;

	for (unsigned k = 0; k < count; k++) {
		u64 a = vget(n, 0, at_n + k), b = vget(m, 0, at_m + k);

		sum += (u32)(n_unsigned ? a : (u64)sx(a, 0)) *
		       (u32)(m_unsigned ? b : (u64)sx(b, 0));
	}
	return sum;
}

static void dot_vector(struct arm_cpu *cpu, unsigned q, unsigned rd, unsigned rn,
		       const struct tcg_vreg *m, bool n_unsigned, bool m_unsigned)
{
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < 2u << q; e++)
		vset(&r, 2, e,
		     vget(cpu_v(cpu, rd), 2, e) +
			     dot(cpu_v(cpu, rn), m, 4 * e, 4 * e, 4, n_unsigned, m_unsigned));
	*cpu_v(cpu, rd) = r;
}

void exec_DOT_v(struct arm_cpu *cpu, const struct a64_DOT_v *i)
{
	dot_vector(cpu, i->q, i->rd, i->rn, cpu_v(cpu, i->rm), i->u, i->u);
}

void exec_USDOT_v(struct arm_cpu *cpu, const struct a64_USDOT_v *i)
{
	dot_vector(cpu, i->q, i->rd, i->rn, cpu_v(cpu, i->rm), true, false);
}

void exec_DOT_e(struct arm_cpu *cpu, const struct a64_DOT_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 2, i->h << 2 | i->l << 1 | i->m, i->rm);

	dot_vector(cpu, i->q, i->rd, i->rn, &m, i->u, i->u);
}

void exec_USDOT_e(struct arm_cpu *cpu, const struct a64_USDOT_e *i)
{
	struct tcg_vreg m = vec_by_element(cpu, 2, i->h << 2 | i->l << 1 | i->m, i->rm);

	dot_vector(cpu, i->q, i->rd, i->rn, &m, i->us, !i->us);
}

/* Two rows of eight bytes times the same transposed. */
static void matrix(struct arm_cpu *cpu, unsigned rd, unsigned rn, unsigned rm, bool n_unsigned,
		   bool m_unsigned)
{
	struct tcg_vreg r;

	for (unsigned e = 0; e < 4; e++)
		vset(&r, 2, e,
		     vget(cpu_v(cpu, rd), 2, e) + dot(cpu_v(cpu, rn), cpu_v(cpu, rm), 8 * (e / 2),
						      8 * (e % 2), 8, n_unsigned, m_unsigned));
	*cpu_v(cpu, rd) = r;
}

void exec_MMLA_v(struct arm_cpu *cpu, const struct a64_MMLA_v *i)
{
	matrix(cpu, i->rd, i->rn, i->rm, i->u, i->u);
}

void exec_USMMLA_v(struct arm_cpu *cpu, const struct a64_USMMLA_v *i)
{
	matrix(cpu, i->rd, i->rn, i->rm, true, false);
}

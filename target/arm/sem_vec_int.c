/* target/arm/sem_vec_int.c - AdvSIMD integer operations on elements of one size (Arm DDI 0487,
 * C7.2). */
#include "target/arm/sem_vec.h"

/* ---- elements ---- */

VEC_OP(op_shadd)
{
	return (sx(a, lg) + sx(b, lg)) >> 1;
}

VEC_OP(op_uhadd)
{
	return (a + b) >> 1;
}

VEC_OP(op_srhadd)
{
	return (sx(a, lg) + sx(b, lg) + 1) >> 1;
}

VEC_OP(op_urhadd)
{
	return (a + b + 1) >> 1;
}

VEC_OP(op_shsub)
{
	return (sx(a, lg) - sx(b, lg)) >> 1;
}

VEC_OP(op_uhsub)
{
	return (a - b) >> 1; /* elements have 32 bits at most */
}

VEC_OP(op_sqadd)
{
	return sat_s(cpu, (s128)sx(a, lg) + sx(b, lg), lg);
}

VEC_OP(op_uqadd)
{
	return sat_u(cpu, (s128)a + b, lg);
}

VEC_OP(op_sqsub)
{
	return sat_s(cpu, (s128)sx(a, lg) - sx(b, lg), lg);
}

VEC_OP(op_uqsub)
{
	return sat_u(cpu, (s128)a - b, lg);
}

VEC_OP(op_cmgt)
{
	return -(u64)(sx(a, lg) > sx(b, lg));
}

VEC_OP(op_cmhi)
{
	return -(u64)(a > b);
}

VEC_OP(op_cmge)
{
	return -(u64)(sx(a, lg) >= sx(b, lg));
}

VEC_OP(op_cmhs)
{
	return -(u64)(a >= b);
}

VEC_OP(op_cmtst)
{
	return -(u64)((a & b) != 0);
}

VEC_OP(op_cmeq)
{
	return -(u64)(a == b);
}

VEC_OP(op_smax)
{
	return sx(a, lg) > sx(b, lg) ? a : b;
}

VEC_OP(op_umax)
{
	return a > b ? a : b;
}

VEC_OP(op_smin)
{
	return sx(a, lg) < sx(b, lg) ? a : b;
}

VEC_OP(op_umin)
{
	return a < b ? a : b;
}

VEC_OP(op_sabd)
{
	return sx(a, lg) > sx(b, lg) ? a - b : b - a;
}

VEC_OP(op_uabd)
{
	return a > b ? a - b : b - a;
}

VEC_OP(op_saba)
{
	return d + op_sabd(cpu, d, a, b, lg);
}

VEC_OP(op_uaba)
{
	return d + op_uabd(cpu, d, a, b, lg);
}

VEC_OP(op_add)
{
	return a + b;
}

VEC_OP(op_sub)
{
	return a - b;
}

VEC_OP(op_pmul)
{
	return carryless_product(a, b);
}

/* ---- three registers ---- */

#define THREE(name, shape, size, fn)                                                               \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		vec_map(cpu, shape(i), size, i->rd, cpu_v(cpu, i->rn), cpu_v(cpu, i->rm), fn);     \
	}

#define THREE_SU(name, shape, fn_s, fn_u)                                                          \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		const struct tcg_vreg *n = cpu_v(cpu, i->rn), *m = cpu_v(cpu, i->rm);              \
                                                                                                   \
		if (i->u)                                                                          \
			vec_map(cpu, shape(i), i->size, i->rd, n, m, fn_u);                        \
		else                                                                               \
			vec_map(cpu, shape(i), i->size, i->rd, n, m, fn_s);                        \
	}

THREE_SU(HADD_v, SHAPE_V, op_shadd, op_uhadd)
THREE_SU(RHADD_v, SHAPE_V, op_srhadd, op_urhadd)
THREE_SU(HSUB_v, SHAPE_V, op_shsub, op_uhsub)
THREE_SU(QADD_v, SHAPE_S, op_sqadd, op_uqadd)
THREE_SU(QSUB_v, SHAPE_S, op_sqsub, op_uqsub)
THREE_SU(CMGT_v, SHAPE_S, op_cmgt, op_cmhi)
THREE_SU(CMGE_v, SHAPE_S, op_cmge, op_cmhs)
THREE_SU(MAX_v, SHAPE_V, op_smax, op_umax)
THREE_SU(MIN_v, SHAPE_V, op_smin, op_umin)
THREE_SU(ABD_v, SHAPE_V, op_sabd, op_uabd)
THREE_SU(ABA_v, SHAPE_V, op_saba, op_uaba)
THREE(ADD_v, SHAPE_S, i->size, op_add)
THREE(SUB_v, SHAPE_S, i->size, op_sub)
THREE(CMTST_v, SHAPE_S, i->size, op_cmtst)
THREE(CMEQ_v, SHAPE_S, i->size, op_cmeq)
THREE(MLA_v, SHAPE_V, i->size, op_mla)
THREE(MLS_v, SHAPE_V, i->size, op_mls)
THREE(MUL_v, SHAPE_V, i->size, op_mul)
THREE(PMUL_v, SHAPE_V, 0, op_pmul)
THREE(SQDMULH_v, SHAPE_S, i->size, op_sqdmulh)
THREE(SQRDMULH_v, SHAPE_S, i->size, op_sqrdmulh)
THREE(SQRDMLAH_v, SHAPE_S, i->size, op_sqrdmlah)
THREE(SQRDMLSH_v, SHAPE_S, i->size, op_sqrdmlsh)

/* BIC and ORN have their own opc; EOR, BSL, BIT and BIF have u. */
void exec_LOGIC_v(struct arm_cpu *cpu, const struct a64_LOGIC_v *i)
{
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned half = 0; half <= i->q; half++) {
		u64 n = cpu_v(cpu, i->rn)->d[half], m = cpu_v(cpu, i->rm)->d[half];
		u64 d = cpu_v(cpu, i->rd)->d[half];

		switch (i->u << 2 | i->opc) {
		case 0: r.d[half] = n & m; break;
		case 1: r.d[half] = n & ~m; break;
		case 2: r.d[half] = n | m; break;
		case 3: r.d[half] = n | ~m; break;
		case 4: r.d[half] = n ^ m; break;
		case 5: r.d[half] = m ^ ((m ^ n) & d); break;
		case 6: r.d[half] = d ^ ((d ^ n) & m); break;
		default: r.d[half] = d ^ ((d ^ n) & ~m); break;
		}
	}
	*cpu_v(cpu, i->rd) = r;
}

/* ---- pairs, and all elements ---- */

/* Neighbours of the operands one after the other. */
VEC_INLINE void pairwise(struct arm_cpu *cpu, unsigned q, unsigned lg, unsigned rd, unsigned rn,
			 unsigned rm, vec_fn *fn)
{
	unsigned half = (4u << q) >> lg;
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < 2 * half; e++) {
		const struct tcg_vreg *v = cpu_v(cpu, e < half ? rn : rm);
		unsigned from = 2 * (e < half ? e : e - half);

		vset(&r, lg, e, fn(cpu, 0, vget(v, lg, from), vget(v, lg, from + 1), lg));
	}
	*cpu_v(cpu, rd) = r;
}

void exec_MAXP_v(struct arm_cpu *cpu, const struct a64_MAXP_v *i)
{
	pairwise(cpu, i->q, i->size, i->rd, i->rn, i->rm, i->u ? op_umax : op_smax);
}

void exec_MINP_v(struct arm_cpu *cpu, const struct a64_MINP_v *i)
{
	pairwise(cpu, i->q, i->size, i->rd, i->rn, i->rm, i->u ? op_umin : op_smin);
}

void exec_ADDP_v(struct arm_cpu *cpu, const struct a64_ADDP_v *i)
{
	pairwise(cpu, i->q, i->size, i->rd, i->rn, i->rm, op_add);
}

static void set_low(struct arm_cpu *cpu, unsigned rd, u64 val)
{
	*cpu_v(cpu, rd) = (struct tcg_vreg){ { val, 0 } };
}

void exec_ADDP_s(struct arm_cpu *cpu, const struct a64_ADDP_s *i)
{
	const struct tcg_vreg *n = cpu_v(cpu, i->rn);

	set_low(cpu, i->rd, n->d[0] + n->d[1]);
}

VEC_INLINE void across(struct arm_cpu *cpu, unsigned q, unsigned lg, unsigned rd, unsigned rn,
		       vec_fn *fn)
{
	const struct tcg_vreg *n = cpu_v(cpu, rn);
	u64 r = vget(n, lg, 0);

	for (unsigned e = 1; e < (8u << q) >> lg; e++)
		r = fn(cpu, 0, r, vget(n, lg, e), lg);
	set_low(cpu, rd, r & element_mask(lg));
}

void exec_MAXV_v(struct arm_cpu *cpu, const struct a64_MAXV_v *i)
{
	across(cpu, i->q, i->size, i->rd, i->rn, i->u ? op_umax : op_smax);
}

void exec_MINV_v(struct arm_cpu *cpu, const struct a64_MINV_v *i)
{
	across(cpu, i->q, i->size, i->rd, i->rn, i->u ? op_umin : op_smin);
}

void exec_ADDV_v(struct arm_cpu *cpu, const struct a64_ADDV_v *i)
{
	across(cpu, i->q, i->size, i->rd, i->rn, op_add);
}

void exec_ADDLV_v(struct arm_cpu *cpu, const struct a64_ADDLV_v *i)
{
	const struct tcg_vreg *n = cpu_v(cpu, i->rn);
	u64 sum = 0;

	for (unsigned e = 0; e < (8u << i->q) >> i->size; e++) {
		u64 v = vget(n, i->size, e);

		sum += i->u ? v : (u64)sx(v, i->size);
	}
	set_low(cpu, i->rd, sum & element_mask(i->size + 1));
}

/* ADDLP and ADALP: neighbours added to elements of twice the size. */
static void add_long_pairs(struct arm_cpu *cpu, const struct a64_ADDLP_v *i, bool accumulate)
{
	const struct tcg_vreg *n = cpu_v(cpu, i->rn);
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < (4u << i->q) >> i->size; e++) {
		u64 a = vget(n, i->size, 2 * e), b = vget(n, i->size, 2 * e + 1);
		u64 sum = accumulate ? vget(cpu_v(cpu, i->rd), i->size + 1, e) : 0;

		sum += i->u ? a + b : (u64)(sx(a, i->size) + sx(b, i->size));
		vset(&r, i->size + 1, e, sum);
	}
	*cpu_v(cpu, i->rd) = r;
}

void exec_ADDLP_v(struct arm_cpu *cpu, const struct a64_ADDLP_v *i)
{
	add_long_pairs(cpu, i, false);
}

void exec_ADALP_v(struct arm_cpu *cpu, const struct a64_ADALP_v *i)
{
	add_long_pairs(cpu, &(struct a64_ADDLP_v){ i->q, i->u, i->size, i->rn, i->rd }, true);
}

/* ---- two registers; b is a ---- */

VEC_OP(op_suqadd)
{
	return sat_s(cpu, (s128)sx(d, lg) + a, lg);
}

VEC_OP(op_usqadd)
{
	return sat_u(cpu, (s128)d + sx(a, lg), lg);
}

VEC_OP(op_clz)
{
	return a ? (u64)__builtin_clzll(a) - (64 - (8u << lg)) : 8u << lg;
}

VEC_OP(op_cls)
{
	return op_clz(cpu, d, (a ^ a << 1) & element_mask(lg), b, lg) -
	       ((a ^ a << 1) & element_mask(lg) ? 0 : 1);
}

VEC_OP(op_cnt)
{
	return __builtin_popcountll(a);
}

VEC_OP(op_not)
{
	return ~a;
}

VEC_OP(op_rbit)
{
	u64 r = 0;

	for (unsigned bit = 0; bit < 8; bit++)
		r |= (a >> bit & 1) << (7 - bit);
	return r;
}

VEC_OP(op_abs)
{
	return sx(a, lg) < 0 ? -a : a;
}

VEC_OP(op_neg)
{
	return -a;
}

VEC_OP(op_sqabs)
{
	s128 v = sx(a, lg);

	return sat_s(cpu, v < 0 ? -v : v, lg);
}

VEC_OP(op_sqneg)
{
	return sat_s(cpu, -(s128)sx(a, lg), lg);
}

VEC_OP(op_urecpe)
{
	return fp_recpe_int(a);
}

VEC_OP(op_ursqrte)
{
	return fp_rsqrte_int(a);
}

#define TWO(name, shape, size, fn)                                                                 \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		const struct tcg_vreg *n = cpu_v(cpu, i->rn);                                      \
                                                                                                   \
		vec_map(cpu, shape(i), size, i->rd, n, n, fn);                                     \
	}

TWO(CLS_v, SHAPE_V, i->size, op_cls)
TWO(CLZ_v, SHAPE_V, i->size, op_clz)
TWO(CNT_v, SHAPE_V, 0, op_cnt)
TWO(NOT_v, SHAPE_V, 0, op_not)
TWO(RBIT_v, SHAPE_V, 0, op_rbit)
TWO(ABS_v, SHAPE_S, i->size, op_abs)
TWO(NEG_v, SHAPE_S, i->size, op_neg)
TWO(SQABS_v, SHAPE_S, i->size, op_sqabs)
TWO(SQNEG_v, SHAPE_S, i->size, op_sqneg)
TWO(URECPE_v, SHAPE_V, 2, op_urecpe)
TWO(URSQRTE_v, SHAPE_V, 2, op_ursqrte)

void exec_SUQADD_v(struct arm_cpu *cpu, const struct a64_SUQADD_v *i)
{
	const struct tcg_vreg *n = cpu_v(cpu, i->rn);

	if (i->u)
		vec_map(cpu, SHAPE_S(i), i->size, i->rd, n, n, op_usqadd);
	else
		vec_map(cpu, SHAPE_S(i), i->size, i->rd, n, n, op_suqadd);
}

void exec_CMZ_v(struct arm_cpu *cpu, const struct a64_CMZ_v *i)
{
	static const struct tcg_vreg zero;
	const struct tcg_vreg *n = cpu_v(cpu, i->rn);
	struct vec_shape shape = SHAPE_S(i);

	switch (i->op << 1 | i->u) {
	case 0: vec_map(cpu, shape, i->size, i->rd, n, &zero, op_cmgt); break;
	case 1: vec_map(cpu, shape, i->size, i->rd, n, &zero, op_cmge); break;
	case 2: vec_map(cpu, shape, i->size, i->rd, n, &zero, op_cmeq); break;
	case 3: vec_map(cpu, shape, i->size, i->rd, &zero, n, op_cmge); break;
	default: vec_map(cpu, shape, i->size, i->rd, &zero, n, op_cmgt); break;
	}
}

/* Elements of 1 << @lg bytes in reverse order within containers of 1 << @container bytes. */
static void reverse(struct arm_cpu *cpu, unsigned q, unsigned lg, unsigned container, unsigned rd,
		    unsigned rn)
{
	unsigned flip = (1u << (container - lg)) - 1;
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < (8u << q) >> lg; e++)
		vset(&r, lg, e, vget(cpu_v(cpu, rn), lg, e ^ flip));
	*cpu_v(cpu, rd) = r;
}

void exec_REV64_v(struct arm_cpu *cpu, const struct a64_REV64_v *i)
{
	reverse(cpu, i->q, i->size, 3, i->rd, i->rn);
}

void exec_REV32_v(struct arm_cpu *cpu, const struct a64_REV32_v *i)
{
	reverse(cpu, i->q, i->size, 2, i->rd, i->rn);
}

void exec_REV16_v(struct arm_cpu *cpu, const struct a64_REV16_v *i)
{
	reverse(cpu, i->q, i->size, 1, i->rd, i->rn);
}

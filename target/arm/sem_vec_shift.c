/* target/arm/sem_vec_shift.c - AdvSIMD shifts and narrowing (Arm DDI 0487, C7.2). */
#include "target/arm/sem_vec.h"

/* ---- shifts by a register: the lowest byte of each element, negative to the right ---- */

#define SHIFT_OP(name, ...)                                                                        \
	VEC_OP(name)                                                                               \
	{                                                                                          \
		return shift_by(cpu, a, (s8)b, lg, (struct vec_shl){ __VA_ARGS__ });               \
	}

SHIFT_OP(op_sshl, .is_signed = true)
SHIFT_OP(op_ushl, .is_signed = false)
SHIFT_OP(op_srshl, .is_signed = true, .round = true)
SHIFT_OP(op_urshl, .round = true)
SHIFT_OP(op_sqshl, .is_signed = true, .sat = true)
SHIFT_OP(op_uqshl, .sat = true, .sat_unsigned = true)
SHIFT_OP(op_sqrshl, .is_signed = true, .round = true, .sat = true)
SHIFT_OP(op_uqrshl, .round = true, .sat = true, .sat_unsigned = true)
SHIFT_OP(op_sqshlu, .is_signed = true, .sat = true, .sat_unsigned = true)

#define SHIFT_V(name, fn_s, fn_u)                                                                  \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		struct vec_shape shape = { .q = i->q, .scalar = i->s };                            \
		const struct tcg_vreg *n = cpu_v(cpu, i->rn), *m = cpu_v(cpu, i->rm);              \
                                                                                                   \
		if (i->u)                                                                          \
			vec_map(cpu, shape, i->size, i->rd, n, m, fn_u);                           \
		else                                                                               \
			vec_map(cpu, shape, i->size, i->rd, n, m, fn_s);                           \
	}

SHIFT_V(SHL_v, op_sshl, op_ushl)
SHIFT_V(QSHL_v, op_sqshl, op_uqshl)
SHIFT_V(RSHL_v, op_srshl, op_urshl)
SHIFT_V(QRSHL_v, op_sqrshl, op_uqrshl)

/* ---- shifts by a constant ---- */

VEC_OP(op_ssra)
{
	return d + op_sshl(cpu, d, a, b, lg);
}

VEC_OP(op_usra)
{
	return d + op_ushl(cpu, d, a, b, lg);
}

VEC_OP(op_srsra)
{
	return d + op_srshl(cpu, d, a, b, lg);
}

VEC_OP(op_ursra)
{
	return d + op_urshl(cpu, d, a, b, lg);
}

/* SLI and SRI keep the bits of the result that are not shifted into. */
VEC_OP(op_insert)
{
	u64 into = op_ushl(cpu, d, element_mask(lg), b, lg);

	return op_ushl(cpu, d, a, b, lg) | (d & ~into);
}

/* Size and shifts that immh:immb encodes. */
static unsigned imm_size(unsigned imm)
{
	return 28 - __builtin_clz(imm);
}

static int imm_left(unsigned imm)
{
	return (int)imm - (8 << imm_size(imm));
}

static int imm_right(unsigned imm)
{
	return (int)imm - (16 << imm_size(imm)); /* negative */
}

#define SHIFT_I(name, direction, fn_s, fn_u, is_u)                                                 \
	void exec_##name(struct arm_cpu *cpu, const struct a64_##name *i)                          \
	{                                                                                          \
		struct vec_shape shape = { .q = i->q, .scalar = i->s };                            \
		struct tcg_vreg shift = vec_shift(direction(i->imm));                              \
		const struct tcg_vreg *n = cpu_v(cpu, i->rn);                                      \
                                                                                                   \
		if (is_u)                                                                          \
			vec_map(cpu, shape, imm_size(i->imm), i->rd, n, &shift, fn_u);             \
		else                                                                               \
			vec_map(cpu, shape, imm_size(i->imm), i->rd, n, &shift, fn_s);             \
	}

SHIFT_I(SHR_i, imm_right, op_sshl, op_ushl, i->u)
SHIFT_I(SRA_i, imm_right, op_ssra, op_usra, i->u)
SHIFT_I(RSHR_i, imm_right, op_srshl, op_urshl, i->u)
SHIFT_I(RSRA_i, imm_right, op_srsra, op_ursra, i->u)
SHIFT_I(SRI_i, imm_right, op_insert, op_insert, 0)
SHIFT_I(SLI_i, imm_left, op_insert, op_insert, 0)
SHIFT_I(SHL_i, imm_left, op_ushl, op_ushl, 0)
SHIFT_I(SQSHLU_i, imm_left, op_sqshlu, op_sqshlu, 0)
SHIFT_I(QSHL_i, imm_left, op_sqshl, op_uqshl, i->u)

/* ---- narrowing: a has twice the size of the result, lg; b is a right shift as for SSHL ---- */

VEC_OP(op_xtn)
{
	return shift_by(cpu, a, (s8)b, lg + 1, (struct vec_shl){ .is_signed = false });
}

VEC_OP(op_rxtn)
{
	return shift_by(cpu, a, (s8)b, lg + 1, (struct vec_shl){ .round = true });
}

/* The shifted value before it is saturated; one bit more than the element may be needed. */
VEC_INLINE s128 shifted(u64 a, u64 b, unsigned lg, bool is_signed, bool round)
{
	s128 v = is_signed ? (s128)sx(a, lg + 1) : (s128)a;
	int n = -(s8)b;

	return n ? (v + (round ? (s128)1 << (n - 1) : 0)) >> n : v;
}

VEC_OP(op_sqxtn)
{
	return sat_s(cpu, shifted(a, b, lg, true, false), lg);
}

VEC_OP(op_sqrxtn)
{
	return sat_s(cpu, shifted(a, b, lg, true, true), lg);
}

VEC_OP(op_uqxtn)
{
	return sat_u(cpu, shifted(a, b, lg, false, false), lg);
}

VEC_OP(op_uqrxtn)
{
	return sat_u(cpu, shifted(a, b, lg, false, true), lg);
}

VEC_OP(op_sqxtun)
{
	return sat_u(cpu, shifted(a, b, lg, true, false), lg);
}

VEC_OP(op_sqrxtun)
{
	return sat_u(cpu, shifted(a, b, lg, true, true), lg);
}

static const struct tcg_vreg no_shift;

void exec_XTN_v(struct arm_cpu *cpu, const struct a64_XTN_v *i)
{
	vec_narrow(cpu, (struct vec_shape){ .q = i->q }, i->size, i->rd, cpu_v(cpu, i->rn),
		   &no_shift, op_xtn);
}

void exec_SQXTUN_v(struct arm_cpu *cpu, const struct a64_SQXTUN_v *i)
{
	vec_narrow(cpu, (struct vec_shape){ i->q, i->s }, i->size, i->rd, cpu_v(cpu, i->rn),
		   &no_shift, op_sqxtun);
}

void exec_QXTN_v(struct arm_cpu *cpu, const struct a64_QXTN_v *i)
{
	vec_narrow(cpu, (struct vec_shape){ i->q, i->s }, i->size, i->rd, cpu_v(cpu, i->rn),
		   &no_shift, i->u ? op_uqxtn : op_sqxtn);
}

/* @imm encodes the size of the result and a right shift. */
static void narrow_shift(struct arm_cpu *cpu, struct vec_shape shape, unsigned imm, unsigned rd,
			 unsigned rn, vec_fn *fn)
{
	struct tcg_vreg shift = vec_shift(imm_right(imm));

	vec_narrow(cpu, shape, imm_size(imm), rd, cpu_v(cpu, rn), &shift, fn);
}

void exec_SHRN_i(struct arm_cpu *cpu, const struct a64_SHRN_i *i)
{
	narrow_shift(cpu, (struct vec_shape){ .q = i->q }, i->imm, i->rd, i->rn,
		     i->r ? op_rxtn : op_xtn);
}

void exec_SQSHRUN_i(struct arm_cpu *cpu, const struct a64_SQSHRUN_i *i)
{
	narrow_shift(cpu, (struct vec_shape){ i->q, i->s }, i->imm, i->rd, i->rn,
		     i->r ? op_sqrxtun : op_sqxtun);
}

void exec_QSHRN_i(struct arm_cpu *cpu, const struct a64_QSHRN_i *i)
{
	struct vec_shape shape = { i->q, i->s };

	if (i->u)
		narrow_shift(cpu, shape, i->imm, i->rd, i->rn, i->r ? op_uqrxtn : op_uqxtn);
	else
		narrow_shift(cpu, shape, i->imm, i->rd, i->rn, i->r ? op_sqrxtn : op_sqxtn);
}

/* ---- widening ---- */

VEC_OP(op_sshll)
{
	return (u64)sx(a, lg) << (b & 63);
}

VEC_OP(op_ushll)
{
	return a << (b & 63);
}

void exec_SHLL_i(struct arm_cpu *cpu, const struct a64_SHLL_i *i)
{
	struct tcg_vreg shift = vec_shift(imm_left(i->imm));

	vec_long(cpu, (struct vec_shape){ .q = i->q }, imm_size(i->imm), i->rd, cpu_v(cpu, i->rn),
		 &shift, i->u ? op_ushll : op_sshll);
}

void exec_SHLL_v(struct arm_cpu *cpu, const struct a64_SHLL_v *i)
{
	struct tcg_vreg shift = vec_shift(8 << i->size);

	vec_long(cpu, (struct vec_shape){ .q = i->q }, i->size, i->rd, cpu_v(cpu, i->rn), &shift,
		 op_ushll);
}

/* target/arm/sem_vec_move.c - AdvSIMD copies, permutations, table lookup and immediates (Arm DDI
 * 0487, C7.2). */
#include "target/arm/sem_vec.h"

/* ---- copies; the lowest set bit of imm5 is the size, what is above it the index ---- */

static unsigned copy_size(unsigned imm)
{
	return __builtin_ctz(imm);
}

static unsigned copy_index(unsigned imm)
{
	return imm >> (copy_size(imm) + 1);
}

static void replicate(struct arm_cpu *cpu, unsigned q, unsigned lg, unsigned rd, u64 val)
{
	struct tcg_vreg r = vec_splat(lg, val);

	if (!q)
		r.d[1] = 0;
	*cpu_v(cpu, rd) = r;
}

void exec_DUP_e(struct arm_cpu *cpu, const struct a64_DUP_e *i)
{
	unsigned lg = copy_size(i->imm);
	u64 val = vget(cpu_v(cpu, i->rn), lg, copy_index(i->imm));

	if (i->s)
		*cpu_v(cpu, i->rd) = (struct tcg_vreg){ { val, 0 } };
	else
		replicate(cpu, i->q, lg, i->rd, val);
}

void exec_DUP_g(struct arm_cpu *cpu, const struct a64_DUP_g *i)
{
	replicate(cpu, i->q, copy_size(i->imm), i->rd, cpu_x(cpu, i->rn));
}

void exec_INS_g(struct arm_cpu *cpu, const struct a64_INS_g *i)
{
	vset(cpu_v(cpu, i->rd), copy_size(i->imm), copy_index(i->imm), cpu_x(cpu, i->rn));
}

void exec_INS_e(struct arm_cpu *cpu, const struct a64_INS_e *i)
{
	unsigned lg = copy_size(i->imm);
	u64 val = vget(cpu_v(cpu, i->rn), lg, i->imm4 >> lg);

	vset(cpu_v(cpu, i->rd), lg, copy_index(i->imm), val);
}

void exec_SMOV(struct arm_cpu *cpu, const struct a64_SMOV *i)
{
	unsigned lg = copy_size(i->imm);
	s64 val = sx(vget(cpu_v(cpu, i->rn), lg, copy_index(i->imm)), lg);

	cpu_set_x(cpu, i->rd, i->q ? (u64)val : (u32)val);
}

void exec_UMOV(struct arm_cpu *cpu, const struct a64_UMOV *i)
{
	unsigned lg = copy_size(i->imm);

	cpu_set_x(cpu, i->rd, vget(cpu_v(cpu, i->rn), lg, copy_index(i->imm)));
}

/* ---- permutations ---- */

void exec_PERM_v(struct arm_cpu *cpu, const struct a64_PERM_v *i)
{
	unsigned lg = i->size, count = (8u << i->q) >> lg;
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < count; e++) {
		unsigned from; /* in the 2 * count elements of n and m */

		switch (i->zip) {
		case 1: from = 2 * e + i->two; break;
		case 2: from = (e & ~1u) + i->two + (e & 1 ? count : 0); break;
		default: from = e / 2 + (i->two ? count / 2 : 0) + (e & 1 ? count : 0); break;
		}
		vset(&r, lg, e,
		     from < count ? vget(cpu_v(cpu, i->rn), lg, from)
				  : vget(cpu_v(cpu, i->rm), lg, from - count));
	}
	*cpu_v(cpu, i->rd) = r;
}

void exec_EXT_v(struct arm_cpu *cpu, const struct a64_EXT_v *i)
{
	unsigned bytes = 8u << i->q;
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < bytes; e++) {
		unsigned from = e + i->imm;

		vset(&r, 0, e,
		     from < bytes ? vget(cpu_v(cpu, i->rn), 0, from)
				  : vget(cpu_v(cpu, i->rm), 0, from - bytes));
	}
	*cpu_v(cpu, i->rd) = r;
}

void exec_TBL(struct arm_cpu *cpu, const struct a64_TBL *i)
{
	struct tcg_vreg r = { { 0, 0 } };

	for (unsigned e = 0; e < 8u << i->q; e++) {
		unsigned from = vget(cpu_v(cpu, i->rm), 0, e);
		u64 val = i->x ? vget(cpu_v(cpu, i->rd), 0, e) : 0;

		if (from < 16u * (i->len + 1u))
			val = vget(cpu_v(cpu, (i->rn + from / 16) & 31), 0, from % 16);
		vset(&r, 0, e, val);
	}
	*cpu_v(cpu, i->rd) = r;
}

/* ---- immediates ---- */

/* AdvSIMDExpandImm() without the inversion. */
static u64 expand_imm(const struct a64_MOVI_v *i, unsigned imm8)
{
	u64 r = 0;

	if (i->half)
		return vec_splat(1, fp_expand_imm(FP_HALF, imm8)).d[0];
	switch (i->cmode >> 1) {
	case 0:
	case 1:
	case 2:
	case 3: return vec_splat(2, (u64)imm8 << (i->cmode >> 1) * 8).d[0];
	case 4: return vec_splat(1, imm8).d[0];
	case 5: return vec_splat(1, (u64)imm8 << 8).d[0];
	case 6: /* ones are shifted in */
		return vec_splat(2, i->cmode & 1 ? (u64)imm8 << 16 | 0xffff : imm8 << 8 | 0xff)
			.d[0];
	default: break;
	}
	if (i->cmode & 1)
		return i->op ? fp_expand_imm(FP_DOUBLE, imm8)
			     : vec_splat(2, fp_expand_imm(FP_SINGLE, imm8)).d[0];
	if (!i->op)
		return vec_splat(0, imm8).d[0];
	for (unsigned bit = 0; bit < 8; bit++)
		r |= imm8 >> bit & 1 ? (u64)0xff << 8 * bit : 0;
	return r;
}

bool movi_is_logic(const struct a64_MOVI_v *i)
{
	return i->cmode < 12 && i->cmode & 1;
}

u64 movi_value(const struct a64_MOVI_v *i)
{
	u64 imm = expand_imm(i, i->abc << 5 | i->defgh);

	return i->op && i->cmode < 14 ? ~imm : imm;
}

/* MOVI, MVNI, ORR, BIC and FMOV. */
void exec_MOVI_v(struct arm_cpu *cpu, const struct a64_MOVI_v *i)
{
	struct tcg_vreg r = { { 0, 0 } };
	u64 imm;

	if (i->half && !cpu_has(cpu, ARM_FEAT_FP16))
		arm_undefined(cpu);
	imm = movi_value(i);
	for (unsigned half = 0; half <= i->q; half++) {
		u64 old = cpu_v(cpu, i->rd)->d[half];

		if (movi_is_logic(i))
			r.d[half] = i->op ? old & imm : old | imm;
		else
			r.d[half] = imm;
	}
	*cpu_v(cpu, i->rd) = r;
}

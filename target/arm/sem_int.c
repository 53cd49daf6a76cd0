/* target/arm/sem_int.c - integer data processing (Arm DDI 0487, C6.2). */
#include "target/arm/sem.h"

void exec_ADR(struct arm_cpu *cpu, const struct a64_ADR *i)
{
	s64 imm = (s64)i->immhi * 4 + i->immlo;
	u64 pc = cpu_pc(cpu);

	cpu_set_x(cpu, i->rd, i->op ? (pc & ~(u64)0xfff) + imm * 4096 : pc + imm);
}

/* Add or subtract; register 31 as result is SP. */
static void add_sub(struct arm_cpu *cpu, unsigned sf, unsigned sub, bool s, u64 a, u64 b,
		    unsigned rd)
{
	u64 r = add_with_carry(cpu, sf, a, sub ? ~b : b, sub, s);

	cpu_set_xsp(cpu, rd, r);
}

void exec_ADDSUB_i(struct arm_cpu *cpu, const struct a64_ADDSUB_i *i)
{
	u64 a = cpu_xsp(cpu, i->rn);
	u64 b = (u64)i->imm << (i->sh ? 12 : 0);

	if (i->s && i->rd == 31)
		add_with_carry(cpu, i->sf, a, i->sub ? ~b : b, i->sub, true);
	else
		add_sub(cpu, i->sf, i->sub, i->s, a, b, i->rd);
}

void exec_ADDSUB_x(struct arm_cpu *cpu, const struct a64_ADDSUB_x *i)
{
	u64 a = cpu_xsp(cpu, i->rn);
	u64 b = extend_value(cpu_x(cpu, i->rm), i->opt, i->imm);

	if (i->s && i->rd == 31)
		add_with_carry(cpu, i->sf, a, i->sub ? ~b : b, i->sub, true);
	else
		add_sub(cpu, i->sf, i->sub, i->s, a, b, i->rd);
}

void exec_ADDSUB_r(struct arm_cpu *cpu, const struct a64_ADDSUB_r *i)
{
	u64 b = shift_value(i->sf, cpu_x(cpu, i->rm), i->sh, i->imm);
	u64 r = add_with_carry(cpu, i->sf, cpu_x(cpu, i->rn), i->sub ? ~b : b, i->sub, i->s);

	cpu_set_x(cpu, i->rd, r);
}

void exec_ADC(struct arm_cpu *cpu, const struct a64_ADC *i)
{
	u64 b = cpu_x(cpu, i->rm);
	unsigned carry = !!(cpu->tcg.nzcv & TCG_FLAG_C);
	u64 r = add_with_carry(cpu, i->sf, cpu_x(cpu, i->rn), i->sub ? ~b : b, carry, i->s);

	cpu_set_x(cpu, i->rd, r);
}

static u64 logic(struct arm_cpu *cpu, unsigned sf, unsigned opc, u64 a, u64 b)
{
	u64 r;

	switch (opc) {
	case 1: r = a | b; break;
	case 2: r = a ^ b; break;
	default: r = a & b; break;
	}
	if (!sf)
		r = (u32)r;
	if (opc == 3)
		set_nz(cpu, sf, r);
	return r;
}

void exec_LOGIC_i(struct arm_cpu *cpu, const struct a64_LOGIC_i *i)
{
	u64 mask = a64_bitmask(i->n, i->immr, i->imms);
	u64 r = logic(cpu, i->sf, i->opc, cpu_x(cpu, i->rn), mask);

	if (i->opc == 3)
		cpu_set_x(cpu, i->rd, r);
	else
		cpu_set_xsp(cpu, i->rd, r);
}

void exec_LOGIC_r(struct arm_cpu *cpu, const struct a64_LOGIC_r *i)
{
	u64 b = shift_value(i->sf, cpu_x(cpu, i->rm), i->sh, i->imm);

	cpu_set_x(cpu, i->rd, logic(cpu, i->sf, i->opc, cpu_x(cpu, i->rn), i->n ? ~b : b));
}

void exec_MOVW(struct arm_cpu *cpu, const struct a64_MOVW *i)
{
	unsigned shift = i->hw * 16;
	u64 imm = (u64)i->imm << shift;
	u64 r;

	switch (i->opc) {
	case 0: r = ~imm; break;
	case 2: r = imm; break;
	default: r = (cpu_x(cpu, i->rd) & ~((u64)0xffff << shift)) | imm; break;
	}
	cpu_set_x(cpu, i->rd, i->sf ? r : (u32)r);
}

void exec_BFM(struct arm_cpu *cpu, const struct a64_BFM *i)
{
	unsigned width = i->sf ? 64 : 32;
	u64 src = cpu_x(cpu, i->rn);
	unsigned len, pos;
	u64 field, mask, r;

	if (!i->sf)
		src = (u32)src;
	if (i->imms >= i->immr) {
		len = i->imms - i->immr + 1;
		pos = 0;
		src >>= i->immr;
	} else {
		len = i->imms + 1;
		pos = width - i->immr;
	}
	mask = len == 64 ? ~(u64)0 : ((u64)1 << len) - 1;
	field = src & mask;
	if (i->opc == 0 && field >> (len - 1) & 1)
		field |= ~mask;
	r = field << pos;
	if (i->opc == 1)
		r |= cpu_x(cpu, i->rd) & ~(mask << pos);
	cpu_set_x(cpu, i->rd, i->sf ? r : (u32)r);
}

void exec_EXTR(struct arm_cpu *cpu, const struct a64_EXTR *i)
{
	u64 hi = cpu_x(cpu, i->rn), lo = cpu_x(cpu, i->rm);
	u64 r;

	if (!i->sf)
		r = (u32)(((hi << 32) | (u32)lo) >> i->imms);
	else
		r = i->imms ? lo >> i->imms | hi << (64 - i->imms) : lo;
	cpu_set_x(cpu, i->rd, r);
}

bool cond_holds(const struct arm_cpu *cpu, unsigned cond)
{
	u32 f = cpu->tcg.nzcv;
	bool n = f & TCG_FLAG_N, z = f & TCG_FLAG_Z, c = f & TCG_FLAG_C, v = f & TCG_FLAG_V;
	bool r;

	switch (cond >> 1) {
	case 0: r = z; break;
	case 1: r = c; break;
	case 2: r = n; break;
	case 3: r = v; break;
	case 4: r = c && !z; break;
	case 5: r = n == v; break;
	case 6: r = n == v && !z; break;
	default: return true;
	}
	return r != (cond & 1);
}

void exec_CCMP(struct arm_cpu *cpu, const struct a64_CCMP *i)
{
	u64 b = i->imm ? i->rm : cpu_x(cpu, i->rm);

	if (cond_holds(cpu, i->cond))
		add_with_carry(cpu, i->sf, cpu_x(cpu, i->rn), i->sub ? ~b : b, i->sub, true);
	else
		cpu_set_nzcv(cpu, i->nzcv);
}

void exec_CSEL(struct arm_cpu *cpu, const struct a64_CSEL *i)
{
	u64 r;

	if (cond_holds(cpu, i->cond)) {
		r = cpu_x(cpu, i->rn);
	} else {
		r = cpu_x(cpu, i->rm);
		if (i->op)
			r = ~r;
		r += i->o2;
	}
	cpu_set_x(cpu, i->rd, i->sf ? r : (u32)r);
}

void exec_UDIV(struct arm_cpu *cpu, const struct a64_UDIV *i)
{
	u64 a = cpu_x(cpu, i->rn), b = cpu_x(cpu, i->rm);

	if (!i->sf)
		a = (u32)a, b = (u32)b;
	cpu_set_x(cpu, i->rd, b ? a / b : 0);
}

void exec_SDIV(struct arm_cpu *cpu, const struct a64_SDIV *i)
{
	s64 a = cpu_x(cpu, i->rn), b = cpu_x(cpu, i->rm);
	u64 r;

	if (!i->sf)
		a = (s32)a, b = (s32)b;
	if (b == 0)
		r = 0;
	else if (b == -1)
		r = -(u64)a;
	else
		r = a / b;
	cpu_set_x(cpu, i->rd, i->sf ? r : (u32)r);
}

void exec_SHIFTV(struct arm_cpu *cpu, const struct a64_SHIFTV *i)
{
	unsigned n = cpu_x(cpu, i->rm) & (i->sf ? 63 : 31);

	cpu_set_x(cpu, i->rd, shift_value(i->sf, cpu_x(cpu, i->rn), i->op, n));
}

void exec_CRC32(struct arm_cpu *cpu, const struct a64_CRC32 *i)
{
	u32 poly = i->c ? 0x82f63b78 : 0xedb88320; /* reflected Castagnoli, IEEE 802.3 */
	u32 crc = cpu_x(cpu, i->rn);
	u64 data = cpu_x(cpu, i->rm);

	for (unsigned bit = 0; bit < 8u << i->sz; bit++, data >>= 1)
		crc = crc >> 1 ^ ((crc ^ (u32)data) & 1 ? poly : 0);
	cpu_set_x(cpu, i->rd, crc);
}

void exec_RBIT(struct arm_cpu *cpu, const struct a64_RBIT *i)
{
	u64 v = __builtin_bswap64(cpu_x(cpu, i->rn));

	v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
	v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
	v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
	cpu_set_x(cpu, i->rd, i->sf ? v : v >> 32);
}

void exec_REV16(struct arm_cpu *cpu, const struct a64_REV16 *i)
{
	u64 v = cpu_x(cpu, i->rn);

	v = (v >> 8 & 0x00ff00ff00ff00ff) | (v & 0x00ff00ff00ff00ff) << 8;
	cpu_set_x(cpu, i->rd, i->sf ? v : (u32)v);
}

void exec_REV(struct arm_cpu *cpu, const struct a64_REV *i)
{
	u64 v = __builtin_bswap64(cpu_x(cpu, i->rn));

	if (!i->sf)
		v >>= 32;
	else if (!i->x)
		v = v >> 32 | v << 32;
	cpu_set_x(cpu, i->rd, v);
}

static unsigned count_zeros(unsigned sf, u64 v)
{
	if (!sf)
		return (u32)v ? __builtin_clz((u32)v) : 32;
	return v ? __builtin_clzll(v) : 64;
}

void exec_CLZ(struct arm_cpu *cpu, const struct a64_CLZ *i)
{
	cpu_set_x(cpu, i->rd, count_zeros(i->sf, cpu_x(cpu, i->rn)));
}

void exec_CLS(struct arm_cpu *cpu, const struct a64_CLS *i)
{
	u64 v = cpu_x(cpu, i->rn);

	v = i->sf ? v ^ (u64)((s64)v >> 1) : (u32)(v ^ (u64)((s32)v >> 1));
	cpu_set_x(cpu, i->rd, count_zeros(i->sf, v) - 1);
}

void exec_CTZ(struct arm_cpu *cpu, const struct a64_CTZ *i)
{
	u64 v = cpu_x(cpu, i->rn);

	if (!i->sf)
		v |= (u64)1 << 32;
	cpu_set_x(cpu, i->rd, v ? __builtin_ctzll(v) : 64);
}

void exec_CNT_r(struct arm_cpu *cpu, const struct a64_CNT_r *i)
{
	u64 v = cpu_x(cpu, i->rn);

	cpu_set_x(cpu, i->rd, __builtin_popcountll(i->sf ? v : (u32)v));
}

void exec_ABS_r(struct arm_cpu *cpu, const struct a64_ABS_r *i)
{
	u64 v = cpu_x(cpu, i->rn);
	bool negative = i->sf ? v >> 63 : v >> 31 & 1;

	v = negative ? -v : v;
	cpu_set_x(cpu, i->rd, i->sf ? v : (u32)v);
}

static u64 min_max(unsigned sf, bool is_unsigned, bool low, u64 a, u64 b)
{
	bool less;

	if (!sf) {
		a = is_unsigned ? (u32)a : (u64)(s64)(s32)a;
		b = is_unsigned ? (u32)b : (u64)(s64)(s32)b;
	}
	less = is_unsigned ? a < b : (s64)a < (s64)b;
	a = less == low ? a : b;
	return sf ? a : (u32)a;
}

void exec_MINMAX_r(struct arm_cpu *cpu, const struct a64_MINMAX_r *i)
{
	u64 r = min_max(i->sf, i->u, i->low, cpu_x(cpu, i->rn), cpu_x(cpu, i->rm));

	cpu_set_x(cpu, i->rd, r);
}

void exec_MINMAX_i(struct arm_cpu *cpu, const struct a64_MINMAX_i *i)
{
	u64 imm = i->u ? i->imm : (u64)(s64)(s8)i->imm;

	cpu_set_x(cpu, i->rd, min_max(i->sf, i->u, i->low, cpu_x(cpu, i->rn), imm));
}

void exec_MADD(struct arm_cpu *cpu, const struct a64_MADD *i)
{
	u64 prod = cpu_x(cpu, i->rn) * cpu_x(cpu, i->rm);
	u64 r = cpu_x(cpu, i->ra) + (i->sub ? -prod : prod);

	cpu_set_x(cpu, i->rd, i->sf ? r : (u32)r);
}

void exec_MADDL(struct arm_cpu *cpu, const struct a64_MADDL *i)
{
	u64 a = cpu_x(cpu, i->rn), b = cpu_x(cpu, i->rm);
	u64 prod = i->u ? (u64)(u32)a * (u32)b : (u64)((s64)(s32)a * (s32)b);

	cpu_set_x(cpu, i->rd, cpu_x(cpu, i->ra) + (i->sub ? -prod : prod));
}

void exec_MULH(struct arm_cpu *cpu, const struct a64_MULH *i)
{
	u64 a = cpu_x(cpu, i->rn), b = cpu_x(cpu, i->rm);
	u64 r;

	if (i->u)
		r = (unsigned __int128)a * b >> 64;
	else
		r = (unsigned __int128)((__int128)(s64)a * (s64)b) >> 64;
	cpu_set_x(cpu, i->rd, r);
}

void exec_RMIF(struct arm_cpu *cpu, const struct a64_RMIF *i)
{
	unsigned bits = shift_value(1, cpu_x(cpu, i->rn), 3, i->imm);

	cpu_set_nzcv(cpu, (cpu_nzcv(cpu) & ~i->mask) | (bits & i->mask));
}

void exec_SETF(struct arm_cpu *cpu, const struct a64_SETF *i)
{
	unsigned top = i->sz ? 15 : 7;
	u64 v = cpu_x(cpu, i->rn);
	bool n = v >> top & 1, z = !(v & (((u64)2 << top) - 1)),
	     over = (v >> (top + 1) ^ v >> top) & 1;

	cpu_set_nzcv(cpu, n << 3 | z << 2 | (cpu_nzcv(cpu) & 2) | over);
}

void exec_CFINV(struct arm_cpu *cpu, const struct a64_CFINV *i)
{
	cpu->tcg.nzcv ^= TCG_FLAG_C;
}

void exec_XAFLAG(struct arm_cpu *cpu, const struct a64_XAFLAG *i)
{
	unsigned f = cpu_nzcv(cpu);
	bool z = f & 4, c = f & 2;

	cpu_set_nzcv(cpu, (!c && !z) << 3 | (z && c) << 2 | (c || z) << 1 | (!c && z));
}

void exec_AXFLAG(struct arm_cpu *cpu, const struct a64_AXFLAG *i)
{
	unsigned f = cpu_nzcv(cpu);
	bool z = f & 4, c = f & 2, v = f & 1;

	cpu_set_nzcv(cpu, (z || v) << 2 | (c && !v) << 1);
}

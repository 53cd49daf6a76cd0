/* target/arm/sem_mem.c - loads and stores of general and vector registers (Arm DDI 0487, C6.2, B2).
 */
#include "accel/tcg/mem.h"
#include "target/arm/mmu.h"
#include "target/arm/sem.h"
#include "target/arm/el2.h"
#include "target/arm/sem_mem.h"

_Noreturn void arm_align_fault(struct arm_cpu *cpu, u64 va, bool write)
{
	arm_raise(cpu, EC_DABORT, 0x21 | (write ? 1u << 6 : 0), va);
}

/* Not aligned, and not excused by FEAT_LSE2. */
static bool leaves_granule(const struct arm_cpu *cpu, u64 va, unsigned size)
{
	return va & (size - 1) && (!cpu_has(cpu, ARM_FEAT_LSE2) || (va & 15) + size > 16);
}

void check_ordered_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write)
{
	bool any = cpu_has(cpu, ARM_FEAT_LSE2) && cpu->sctlr_el[arm_control_el(cpu)] & SCTLR_nAA;

	check_align(cpu, va, size, write);
	if (leaves_granule(cpu, va, size) && !any)
		arm_align_fault(cpu, va, write);
}

void check_atomic_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write)
{
	check_align(cpu, va, size, write);
	if (leaves_granule(cpu, va, size))
		arm_align_fault(cpu, va, write);
}

/* Sign extension of a load: opc 2 to 64 bits, 3 to 32. */
static u64 load_extended(struct arm_cpu *cpu, u64 va, unsigned size, unsigned opc)
{
	u64 v = tcg_load(&cpu->tcg, va, 1u << size);
	unsigned unused = 64 - (8u << size);

	if (opc >= 2)
		v = (u64)((s64)(v << unused) >> unused);
	return opc == 3 ? (u32)v : v;
}

static void load_store(struct arm_cpu *cpu, u64 va, unsigned size, unsigned opc, unsigned rt)
{
	if (size == 3 && opc == 2) /* a prefetch */
		return;
	check_align(cpu, va, 1u << size, opc == 0);
	if (opc == 0)
		tcg_store(&cpu->tcg, va, cpu_x(cpu, rt), 1u << size);
	else
		cpu_set_x(cpu, rt, load_extended(cpu, va, size, opc));
}

void exec_LDST_u(struct arm_cpu *cpu, const struct a64_LDST_u *i)
{
	load_store(cpu, cpu_xsp(cpu, i->rn) + ((u64)i->imm << i->size), i->size, i->opc, i->rt);
}

/* LDTR and STTR act with the rights of EL0, unless PSTATE.UAO says otherwise. */
static void begin_unpriv(struct arm_cpu *cpu)
{
	if (cpu->mmu && cpu_el(cpu) && !(cpu->pstate & PSTATE_UAO))
		arm_mmu_begin_unpriv(cpu);
}

void exec_LDST_i(struct arm_cpu *cpu, const struct a64_LDST_i *i)
{
	u64 base = cpu_xsp(cpu, i->rn);
	u64 va = i->mode == 1 ? base : base + i->imm;

	if (i->mode == 2)
		begin_unpriv(cpu);
	load_store(cpu, va, i->size, i->opc, i->rt);
	if (i->mode == 2)
		arm_mmu_end_unpriv(cpu);
	if (i->mode & 1 && !(i->rt == i->rn && i->opc && i->rn != 31))
		cpu_set_xsp(cpu, i->rn, base + i->imm);
}

void exec_LDST_r(struct arm_cpu *cpu, const struct a64_LDST_r *i)
{
	u64 offset = extend_value(cpu_x(cpu, i->rm), i->opt, i->s ? i->size : 0);

	load_store(cpu, cpu_xsp(cpu, i->rn) + offset, i->size, i->opc, i->rt);
}

void exec_LDR_lit(struct arm_cpu *cpu, const struct a64_LDR_lit *i)
{
	u64 va = cpu_pc(cpu) + (s64)i->imm * 4;

	switch (i->opc) {
	case 0: cpu_set_x(cpu, i->rt, tcg_load(&cpu->tcg, va, 4)); break;
	case 1: cpu_set_x(cpu, i->rt, tcg_load(&cpu->tcg, va, 8)); break;
	case 2: cpu_set_x(cpu, i->rt, (s64)(s32)tcg_load(&cpu->tcg, va, 4)); break;
	default: break; /* prefetch */
	}
}

/* Two stores of @size bytes of which neither happens if one faults. */
static void store_pair(struct arm_cpu *cpu, u64 va, u64 v0, u64 v1, unsigned size)
{
	if (((va ^ (va + 2 * size - 1)) & TCG_PAGE_MASK) != 0)
		tcg_probe(&cpu->tcg, va, 2 * size, TCG_WRITE);
	tcg_store(&cpu->tcg, va, v0, size);
	tcg_store(&cpu->tcg, va + size, v1, size);
}

void exec_LDSTP(struct arm_cpu *cpu, const struct a64_LDSTP *i)
{
	unsigned size = i->opc == 2 ? 8 : 4;
	u64 base = cpu_xsp(cpu, i->rn);
	u64 next = base + (s64)i->imm * size;
	u64 va = i->mode == 1 ? base : next;

	check_align(cpu, va, size, !i->l);
	if (i->l) {
		u64 v0 = tcg_load(&cpu->tcg, va, size);
		u64 v1 = tcg_load(&cpu->tcg, va + size, size);

		if (i->opc == 1) {
			v0 = (s64)(s32)v0;
			v1 = (s64)(s32)v1;
		}
		if (i->mode & 1)
			cpu_set_xsp(cpu, i->rn, next);
		cpu_set_x(cpu, i->rt, v0);
		cpu_set_x(cpu, i->rt2, v1);
	} else {
		store_pair(cpu, va, cpu_x(cpu, i->rt), cpu_x(cpu, i->rt2), size);
		if (i->mode & 1)
			cpu_set_xsp(cpu, i->rn, next);
	}
}

/* Vector register access of 1 << @lg bytes; a load clears the rest of the register. */
static struct tcg_vreg load_vector(struct arm_cpu *cpu, u64 va, unsigned lg)
{
	struct tcg_vreg v = { { 0, 0 } };

	v.d[0] = tcg_load(&cpu->tcg, va, lg == 4 ? 8 : 1u << lg);
	if (lg == 4)
		v.d[1] = tcg_load(&cpu->tcg, va + 8, 8);
	return v;
}

static void store_vector(struct arm_cpu *cpu, u64 va, const struct tcg_vreg *v, unsigned lg)
{
	if (lg == 4)
		store_pair(cpu, va, v->d[0], v->d[1], 8);
	else
		tcg_store(&cpu->tcg, va, v->d[0], 1u << lg);
}

static void load_store_vector(struct arm_cpu *cpu, u64 va, unsigned lg, bool load, unsigned rt)
{
	check_align(cpu, va, 1u << lg, !load);
	if (load)
		*cpu_v(cpu, rt) = load_vector(cpu, va, lg);
	else
		store_vector(cpu, va, cpu_v(cpu, rt), lg);
}

void exec_LDST_uv(struct arm_cpu *cpu, const struct a64_LDST_uv *i)
{
	unsigned lg = i->big ? 4 : i->size;

	load_store_vector(cpu, cpu_xsp(cpu, i->rn) + ((u64)i->imm << lg), lg, i->l, i->rt);
}

void exec_LDST_iv(struct arm_cpu *cpu, const struct a64_LDST_iv *i)
{
	u64 base = cpu_xsp(cpu, i->rn);
	u64 va = i->mode == 1 ? base : base + i->imm;

	load_store_vector(cpu, va, i->big ? 4 : i->size, i->l, i->rt);
	if (i->mode & 1)
		cpu_set_xsp(cpu, i->rn, base + i->imm);
}

void exec_LDST_rv(struct arm_cpu *cpu, const struct a64_LDST_rv *i)
{
	unsigned lg = i->big ? 4 : i->size;
	u64 offset = extend_value(cpu_x(cpu, i->rm), i->opt, i->s ? lg : 0);

	load_store_vector(cpu, cpu_xsp(cpu, i->rn) + offset, lg, i->l, i->rt);
}

void exec_LDR_litv(struct arm_cpu *cpu, const struct a64_LDR_litv *i)
{
	load_store_vector(cpu, cpu_pc(cpu) + (s64)i->imm * 4, i->opc + 2, true, i->rt);
}

void exec_LDSTP_v(struct arm_cpu *cpu, const struct a64_LDSTP_v *i)
{
	unsigned lg = i->opc + 2, size = 1u << lg;
	u64 base = cpu_xsp(cpu, i->rn);
	u64 next = base + (s64)i->imm * size;
	u64 va = i->mode == 1 ? base : next;

	check_align(cpu, va, size, !i->l);
	if (i->l) {
		struct tcg_vreg v0 = load_vector(cpu, va, lg);
		struct tcg_vreg v1 = load_vector(cpu, va + size, lg);

		*cpu_v(cpu, i->rt) = v0;
		*cpu_v(cpu, i->rt2) = v1;
	} else {
		if (((va ^ (va + 2 * size - 1)) & TCG_PAGE_MASK) != 0)
			tcg_probe(&cpu->tcg, va, 2 * size, TCG_WRITE);
		store_vector(cpu, va, cpu_v(cpu, i->rt), lg);
		store_vector(cpu, va + size, cpu_v(cpu, i->rt2), lg);
	}
	if (i->mode & 1)
		cpu_set_xsp(cpu, i->rn, next);
}

/* LDAR, STLR and the limited-ordering forms: sequentially consistent here. */
void exec_LDST_ord(struct arm_cpu *cpu, const struct a64_LDST_ord *i)
{
	u64 va = cpu_xsp(cpu, i->rn);
	unsigned size = 1u << i->size;

	check_ordered_align(cpu, va, size, !i->l);
	if (i->l) {
		cpu_set_x(cpu, i->rt, tcg_load(&cpu->tcg, va, size));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} else {
		__atomic_thread_fence(__ATOMIC_RELEASE);
		tcg_store(&cpu->tcg, va, cpu_x(cpu, i->rt), size);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
}

void exec_LDAPR(struct arm_cpu *cpu, const struct a64_LDAPR *i)
{
	u64 va = cpu_xsp(cpu, i->rn);

	check_ordered_align(cpu, va, 1u << i->size, false);
	cpu_set_x(cpu, i->rt, tcg_load(&cpu->tcg, va, 1u << i->size));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void exec_LDAPUR(struct arm_cpu *cpu, const struct a64_LDAPUR *i)
{
	u64 va = cpu_xsp(cpu, i->rn) + i->imm;

	check_ordered_align(cpu, va, 1u << i->size, i->opc == 0);
	if (i->opc == 0)
		__atomic_thread_fence(__ATOMIC_RELEASE);
	load_store(cpu, va, i->size, i->opc, i->rt);
	__atomic_thread_fence(i->opc == 0 ? __ATOMIC_SEQ_CST : __ATOMIC_ACQUIRE);
}

void exec_LDRA(struct arm_cpu *cpu, const struct a64_LDRA *i)
{
	s64 offset = ((i->s ? -512 : 0) + (s64)i->imm) * 8;
	u64 base = pac_auth(cpu, cpu_xsp(cpu, i->rn), 0, i->b ? PAC_DB : PAC_DA);
	u64 val;

	check_align(cpu, base + offset, 8, false);
	val = tcg_load(&cpu->tcg, base + offset, 8);
	if (i->w)
		cpu_set_xsp(cpu, i->rn, base + offset);
	cpu_set_x(cpu, i->rt, val);
}

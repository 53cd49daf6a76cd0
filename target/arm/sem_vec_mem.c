/* target/arm/sem_vec_mem.c - AdvSIMD loads and stores of structures (Arm DDI 0487, C7.2: LD1 to
 * LD4, LD1R to LD4R, ST1 to ST4). */
#include "accel/tcg/mem.h"
#include "target/arm/sem_mem.h"
#include "target/arm/sem_vec.h"

static void post_index(struct arm_cpu *cpu, unsigned rn, unsigned rm, u64 base, unsigned bytes)
{
	cpu_set_xsp(cpu, rn, base + (rm == 31 ? bytes : cpu_x(cpu, rm)));
}

/* Registers and structure elements that an opcode of LDST_multi means. */
static void multi_layout(unsigned opc, unsigned *rpt, unsigned *selem)
{
	static const u8 repeats[16] = { [2] = 4, [6] = 3, [7] = 1, [10] = 2 };
	static const u8 elements[16] = { [0] = 4, [4] = 3, [8] = 2 };

	*rpt = repeats[opc] ? repeats[opc] : 1;
	*selem = elements[opc] ? elements[opc] : 1;
}

/* Registers are written only when no access can fault any more. */
static void load_multi(struct arm_cpu *cpu, const struct a64_LDST_multi *i, u64 va)
{
	unsigned rpt, selem, count = (8u << i->q) >> i->size;
	struct tcg_vreg r[4] = { 0 };

	multi_layout(i->opc, &rpt, &selem);
	for (unsigned reg = 0; reg < rpt; reg++) {
		for (unsigned e = 0; e < count; e++) {
			for (unsigned s = 0; s < selem; s++) {
				vset(&r[reg + s], i->size, e,
				     tcg_load(&cpu->tcg, va, 1u << i->size));
				va += 1u << i->size;
			}
		}
	}
	for (unsigned reg = 0; reg < MAX(rpt, selem); reg++)
		*cpu_v(cpu, (i->rt + reg) & 31) = r[reg];
}

static void store_multi(struct arm_cpu *cpu, const struct a64_LDST_multi *i, u64 va)
{
	unsigned rpt, selem, count = (8u << i->q) >> i->size;

	multi_layout(i->opc, &rpt, &selem);
	for (unsigned reg = 0; reg < rpt; reg++) {
		for (unsigned e = 0; e < count; e++) {
			for (unsigned s = 0; s < selem; s++) {
				const struct tcg_vreg *v = cpu_v(cpu, (i->rt + reg + s) & 31);

				tcg_store(&cpu->tcg, va, vget(v, i->size, e), 1u << i->size);
				va += 1u << i->size;
			}
		}
	}
}

void exec_LDST_multi(struct arm_cpu *cpu, const struct a64_LDST_multi *i)
{
	u64 base = cpu_xsp(cpu, i->rn);
	unsigned rpt, selem, bytes;

	multi_layout(i->opc, &rpt, &selem);
	bytes = rpt * selem * (8u << i->q);
	check_align(cpu, base, 1u << i->size, !i->l);
	if (i->l) {
		load_multi(cpu, i, base);
	} else {
		tcg_probe(&cpu->tcg, base, bytes, TCG_WRITE);
		store_multi(cpu, i, base);
	}
	if (i->post)
		post_index(cpu, i->rn, i->rm, base, bytes);
}

/* One element of each register, or all elements if @replicate. */
static void lane(struct arm_cpu *cpu, const struct a64_LDST_lane *i, unsigned lg, unsigned index,
		 bool replicate)
{
	unsigned count = (i->opc & 1) * 2 + i->r + 1;
	u64 base = cpu_xsp(cpu, i->rn), val[4];

	check_align(cpu, base, 1u << lg, !i->l);
	for (unsigned n = 0; n < count && i->l; n++)
		val[n] = tcg_load(&cpu->tcg, base + (n << lg), 1u << lg);
	if (!i->l)
		tcg_probe(&cpu->tcg, base, count << lg, TCG_WRITE);
	for (unsigned n = 0; n < count; n++) {
		struct tcg_vreg *v = cpu_v(cpu, (i->rt + n) & 31);

		if (!i->l) {
			tcg_store(&cpu->tcg, base + (n << lg), vget(v, lg, index), 1u << lg);
		} else if (replicate) {
			*v = vec_splat(lg, val[n]);
			if (!i->q)
				v->d[1] = 0;
		} else {
			vset(v, lg, index, val[n]);
		}
	}
	if (i->post)
		post_index(cpu, i->rn, i->rm, base, count << lg);
}

void exec_LDST_lane(struct arm_cpu *cpu, const struct a64_LDST_lane *i)
{
	unsigned qs = i->q << 1 | i->s;

	switch (i->opc >> 1) {
	case 0: lane(cpu, i, 0, qs << 2 | i->size, false); break;
	case 1: lane(cpu, i, 1, qs << 1 | i->size >> 1, false); break;
	case 2:
		if (i->size & 1)
			lane(cpu, i, 3, i->q, false);
		else
			lane(cpu, i, 2, qs, false);
		break;
	default: lane(cpu, i, i->size, 0, true); break;
	}
}

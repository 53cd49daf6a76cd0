/*
 * target/arm/tlbi.c - TLB maintenance and address translation instructions (Arm DDI 0487, C5.4,
 * C5.5, D8.17).
 *
 * More than asked for is always invalidated where that is simpler.
 */
#include "accel/tcg/work.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/sem.h"
#include "target/arm/sysreg.h"

#define TCR_AS (1ull << 36)

/* What one instruction does, packed for another CPU: regime, VMID (all: 0x1ffff), ASID (same), VA.
 */
struct request {
	unsigned el;
	int vmid, asid;
	u64 va;
};

static void apply(struct tcg_cpu *tcg, u64 packed, u64 va)
{
	int vmid = packed >> 20 & 0x1ffff, asid = packed & 0x1ffff;

	arm_mmu_flush_matching(arm_cpu_of(tcg), packed >> 40, vmid == 0x1ffff ? -1 : vmid,
			       asid == 0x1ffff ? -1 : asid, va);
}

static void invalidate(struct arm_cpu *cpu, bool broadcast, const struct request *q)
{
	u64 packed = (u64)q->el << 40 | (u64)(q->vmid & 0x1ffff) << 20 | (q->asid & 0x1ffff);

	apply(&cpu->tcg, packed, q->va);
	if (broadcast || (cpu_el(cpu) == 1 && arm_hcr(cpu) & HCR_FB))
		tcg_run_on_others(&cpu->tcg, apply, packed, q->va);
}

static u64 operand_va(u64 val)
{
	return (u64)((s64)(val << 20) >> 20) << 12; /* sign from VA[55] */
}

/* TLBI *E1*: op2 0 all, 2 by ASID, others by address; CRm 3 and 1 are broadcast. */
static void tlbi_el1(struct arm_cpu *cpu, const struct arm_sysreg *op, u64 val)
{
	bool el2 = cpu_el(cpu) == 2 && arm_el0_in_host(cpu);
	unsigned crm = op->key >> 3 & 15, op2 = op->key & 7;
	struct request q = { .el = el2 ? 2 : 1, .asid = -1, .va = ~(u64)0 };

	q.vmid = !el2 && cpu->has_el2 ? (int)arm_vmid(cpu) : 0;
	if (op2 == 1 || op2 == 2 || op2 == 5) /* the others are for all address spaces */
		q.asid = cpu->tcr_el[q.el] & TCR_AS ? val >> 48 : val >> 48 & 0xff;
	if (op2 != 0 && op2 != 2 && (crm == 1 || crm == 3 || crm == 7))
		q.va = operand_va(val);
	else if (op2 != 2) /* ranges: global translations are in them, too */
		q.asid = -1;
	invalidate(cpu, crm != 7 && crm != 6, &q);
	if (!el2 && op2 == 0)
		arm_dirty_tlbi(cpu, &(struct arm_dirty_tlbi){ .stages = ARM_TLBI_STAGE1,
							      .vmid = q.vmid,
							      .last = ~(u64)0,
							      .broadcast = crm != 7 });
}

/* TLBI *E2: op2 0 all of EL2, 1 and 5 by address. */
static void tlbi_el2(struct arm_cpu *cpu, const struct arm_sysreg *op, u64 val)
{
	unsigned crm = op->key >> 3 & 15, op2 = op->key & 7;
	struct request q = { .el = 2, .vmid = -1, .asid = -1, .va = ~(u64)0 };

	if (op2 != 0 && (crm == 1 || crm == 3 || crm == 7))
		q.va = operand_va(val);
	invalidate(cpu, crm != 7 && crm != 6, &q);
}

/* CRm 4 of stage 2 has the local and the outer shareable forms. */
static bool is_local_stage2(unsigned crm, unsigned op2)
{
	static const u8 outer = 1 << 0 | 1 << 3 | 1 << 4 | 1 << 7;

	return crm == 7 || (crm == 4 && !(outer >> op2 & 1));
}

/* Tell the checker what exactly was named. */
static void note_stage2(struct arm_cpu *cpu, const struct arm_sysreg *op, u64 val,
			struct arm_dirty_tlbi *t)
{
	static const u8 granule_bits[] = { 12, 12, 14, 16 };
	unsigned crm = op->key >> 3 & 15, op2 = op->key & 7;
	bool range = op2 == 2 || op2 == 6 || (crm == 4 && (op2 == 3 || op2 == 7));
	struct arm_stage2_leaf leaf;

	if (!engines_watched(cpu))
		return;
	t->stages = crm == 0 || crm == 4 ? ARM_TLBI_STAGE2 : ARM_TLBI_BOTH;
	if (t->stages == ARM_TLBI_BOTH) {
		t->last = ~(u64)0;
	} else if (range) {
		unsigned bits = granule_bits[val >> 46 & 3];

		/* With FEAT_LPA2 the first address is a multiple of 64 KiB. */
		t->first = (val & 0x1fffffffff) << (arm_stage2_is_wide(cpu) ? 16 : bits);
		t->last =
			t->first + (((val >> 39 & 31) + 1) << (5 * (val >> 44 & 3) + 1 + bits)) - 1;
	} else {
		t->first = (val & 0xffffffffff) << 12;
		t->last = t->first + 0xfff;
		if (arm_stage2_find(cpu, t->first, &leaf)) {
			t->first &= ~(leaf.size - 1);
			t->last = t->first + leaf.size - 1;
		}
	}
	arm_dirty_tlbi(cpu, t);
}

/* TLBI ALLE1, VMALLS12E1 and by intermediate address: combined entries know no such address, so
 * everything of the guest goes (ALLE1: of all guests). */
static void tlbi_stage2(struct arm_cpu *cpu, const struct arm_sysreg *op, u64 val)
{
	unsigned crm = op->key >> 3 & 15, op2 = op->key & 7;
	bool all_guests = op2 == 4 && crm != 0 && crm != 4;
	bool broadcast = !is_local_stage2(crm, op2);
	struct request q = { .el = 1, .asid = -1, .va = ~(u64)0 };

	q.vmid = all_guests ? -1 : (int)arm_vmid(cpu);
	invalidate(cpu, broadcast, &q);
	note_stage2(cpu, op, val,
		    &(struct arm_dirty_tlbi){ .vmid = q.vmid, .broadcast = broadcast });
}

/* A fault of stage 2 on stage 1's tables is EL2's, not EL1's to see. */
static void raise_for_el2(struct arm_cpu *cpu, u64 va, const struct arm_translation *t)
{
	u32 iss = t->fsc | 1u << 6 | 1u << 7 | 1u << 8; /* WnR, S1PTW, CM */

	cpu->hpfar_el2 = (t->ipa & 0x000ffffffffff000) >> 8;
	cpu->excp.target_el = 2;
	cpu->excp.iss2 = t->hdbssf ? ESR_ISS2_HDBSSF : 0;
	arm_raise(cpu, EC_DABORT, iss, va);
}

/* PAR_EL1 of AT: address and attributes, or the fault. */
static void translate_to_par(struct arm_cpu *cpu, const struct arm_regime *r, u64 va, bool write)
{
	struct arm_translation t = { 0 };

	if (arm_translate_address(cpu, r, va, write ? TCG_WRITE : TCG_READ, &t)) {
		cpu->par_el1 = (t.phys & 0x000ffffffffff000) | 1u << 11 |
			       (t.device ? 2u << 7 : 3u << 7 | 0xffull << 56); /* SH, ATTR */
		return;
	}
	if (t.stage2 && cpu_el(cpu) == 1)
		raise_for_el2(cpu, va, &t);
	cpu->par_el1 = 1 | (u64)t.fsc << 1 | (u64)t.s1ptw << 8 | (u64)t.stage2 << 9 | 1u << 11;
}

/* AT: op1 4 with op2 4 to 7 is S12E*, op2 0 and 1 is S1E2; op1 0 is S1E1 and S1E0, and with CRm 9
 * S1E1 under PSTATE.PAN. */
static void address_translate(struct arm_cpu *cpu, const struct arm_sysreg *op, u64 val)
{
	unsigned op1 = op->key >> 11 & 7, op2 = op->key & 7, crm = op->key >> 3 & 15;
	struct arm_regime r = { .el = arm_el0_in_host(cpu) && cpu_el(cpu) == 2 ? 2 : 1 };

	if (op1 == 4 && op2 < 2)
		r.el = 2;
	r.user = op1 == 4 ? op2 >= 6 : crm == 8 && op2 >= 2;
	r.pan = crm == 9 && cpu->pstate & PSTATE_PAN;
	r.stage2 = r.el == 1 && arm_hcr(cpu) & HCR_VM;
	r.only_stage1 = op1 == 0;
	r.purpose = ARM_FOR_AT;
	translate_to_par(cpu, &r, val, op2 & 1);
}

static struct arm_sysreg maintenance[192];
static unsigned nmaintenance;

static void add(unsigned op1, unsigned crn, unsigned crm, unsigned op2, unsigned el,
		void (*fn)(struct arm_cpu *, const struct arm_sysreg *, u64))
{
	g_assert(nmaintenance < ARRAY_SIZE(maintenance));
	maintenance[nmaintenance++] = (struct arm_sysreg){
		.key = SYSREG(1, op1, crn, crm, op2),
		.read_el = SYSREG_NONE,
		.write_el = el,
		.name = "TLBI",
		.write = fn,
	};
}

static void build_table(void)
{
	/* outer shareable, inner shareable, local; then their forms for ranges of addresses */
	static const u8 plain[] = { 1, 3, 7 }, range[] = { 5, 2, 6 };
	static const u8 el1_ops[] = { 0, 1, 2, 3, 5, 7 }, range_ops[] = { 1, 3, 5, 7 };

	for (unsigned crn = 8; crn <= 9; crn++) { /* 9: the forms of FEAT_XS */
		for (unsigned k = 0; k < 3; k++) {
			for (unsigned i = 0; i < ARRAY_SIZE(el1_ops); i++)
				add(0, crn, plain[k], el1_ops[i], 1, tlbi_el1);
			for (unsigned i = 0; i < ARRAY_SIZE(range_ops); i++)
				add(0, crn, range[k], range_ops[i], 1, tlbi_el1);
			add(4, crn, plain[k], 0, 2, tlbi_el2);
			add(4, crn, plain[k], 1, 2, tlbi_el2);
			add(4, crn, plain[k], 5, 2, tlbi_el2);
			add(4, crn, plain[k], 4, 2, tlbi_stage2);
			add(4, crn, plain[k], 6, 2, tlbi_stage2);
			add(4, crn, range[k], 1, 2, tlbi_el2);
			add(4, crn, range[k], 5, 2, tlbi_el2);
		}
		for (unsigned op2 = 0; op2 < 8; op2++) {
			add(4, crn, 0, op2, 2, tlbi_stage2);
			add(4, crn, 4, op2, 2, tlbi_stage2);
		}
	}
	for (unsigned op2 = 0; op2 < 4; op2++)
		add(0, 7, 8, op2, 1, address_translate);
	add(0, 7, 9, 0, 1, address_translate);
	add(0, 7, 9, 1, 1, address_translate);
	for (unsigned op2 = 0; op2 < 8; op2++)
		if (op2 < 2 || op2 > 3)
			add(4, 7, 8, op2, 2, address_translate);
}

void arm_tlbi_init(struct arm_cpu *cpu)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		build_table();
		g_once_init_leave(&once, 1);
	}
	arm_sysreg_add(cpu, maintenance, nmaintenance);
}

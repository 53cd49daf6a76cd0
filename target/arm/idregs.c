/*
 * target/arm/idregs.c - reset, and the ID registers that tell what the CPU has (Arm DDI 0487,
 * D24.2, D1.5).
 */
#include "target/arm/cpu-features.h"
#include "target/arm/engines.h"
#include "target/arm/excp.h"
#include "target/arm/mmu.h"
#include "target/arm/pmu.h"
#include "target/arm/self_debug.h"
#include "target/arm/timer.h"
#include "target/arm/sysreg.h"

#define SCTLR_RES1_EL1 0x30d00800ull
#define SCTLR_RES1_EL2 0x30c50830ull

/* One field: @value in bits @shift and up of ID register CRm, op2, if the feature is there. */
struct id_field {
	u8 crm, op2, shift, value;
	u8 feature; /* ARM_FEAT_NONE: always */
};

static const struct id_field id_fields[] = {
	/* ID_AA64PFR0_EL1: EL0 and EL1 in AArch64 only; FP and AdvSIMD, with half precision */
	{ 4, 0, 0, 1, ARM_FEAT_NONE },
	{ 4, 0, 4, 1, ARM_FEAT_NONE },
	{ 4, 0, 16, 1, ARM_FEAT_FP16 },
	{ 4, 0, 20, 1, ARM_FEAT_FP16 },
	{ 4, 0, 28, 1, ARM_FEAT_RAS },
	{ 4, 0, 48, 1, ARM_FEAT_DIT },
	{ 4, 0, 56, 2, ARM_FEAT_CSV2_2 },
	{ 4, 0, 60, 1, ARM_FEAT_CSV2_2 },
	/* ID_AA64PFR1_EL1 */
	{ 4, 1, 0, 1, ARM_FEAT_BTI },
	{ 4, 1, 4, 2, ARM_FEAT_SSBS },
	/* ID_AA64DFR0_EL1: debug architecture 8 or 8.2, breakpoints, watchpoints, contexts; no
	 * double lock with 8.2 */
	{ 5, 0, 0, 6, ARM_FEAT_NONE },
	{ 5, 0, 0, 8, ARM_FEAT_INHERENT },
	{ 5, 0, 12, ARM_BREAKPOINTS - 1, ARM_FEAT_NONE },
	{ 5, 0, 20, ARM_WATCHPOINTS - 1, ARM_FEAT_NONE },
	{ 5, 0, 28, 1, ARM_FEAT_NONE },
	{ 5, 0, 36, 15, ARM_FEAT_INHERENT },
	/* ID_AA64ISAR0_EL1; PMULL comes with AES, and SHA-512 with SHA-256 */
	{ 6, 0, 4, 1, ARM_FEAT_AES },
	{ 6, 0, 4, 2, ARM_FEAT_PMULL },
	{ 6, 0, 8, 1, ARM_FEAT_SHA1 },
	{ 6, 0, 12, 1, ARM_FEAT_SHA256 },
	{ 6, 0, 12, 2, ARM_FEAT_SHA512 },
	{ 6, 0, 16, 1, ARM_FEAT_CRC32 },
	{ 6, 0, 20, 2, ARM_FEAT_LSE },
	{ 6, 0, 28, 1, ARM_FEAT_RDM },
	{ 6, 0, 32, 1, ARM_FEAT_SHA3 },
	{ 6, 0, 36, 1, ARM_FEAT_SM3 },
	{ 6, 0, 40, 1, ARM_FEAT_SM4 },
	{ 6, 0, 44, 1, ARM_FEAT_DOTPROD },
	{ 6, 0, 48, 1, ARM_FEAT_FHM },
	{ 6, 0, 52, 1, ARM_FEAT_FLAGM },
	{ 6, 0, 52, 2, ARM_FEAT_FLAGM2 },
	{ 6, 0, 56, 2, ARM_FEAT_TLBIOS }, /* and by range */
	{ 6, 0, 60, 1, ARM_FEAT_RNG },
	/* ID_AA64ISAR1_EL1 */
	{ 6, 1, 0, 1, ARM_FEAT_DPB },
	{ 6, 1, 0, 2, ARM_FEAT_DPB2 },
	{ 6, 1, 4, 1, ARM_FEAT_QARMA5 },  /* APA; else API, an algorithm of our own, see below */
	{ 6, 1, 24, 1, ARM_FEAT_QARMA5 }, /* GPA */
	{ 6, 1, 12, 1, ARM_FEAT_JSCVT },
	{ 6, 1, 16, 1, ARM_FEAT_FCMA },
	{ 6, 1, 20, 1, ARM_FEAT_RCPC },
	{ 6, 1, 20, 2, ARM_FEAT_RCPC2 },
	{ 6, 1, 32, 1, ARM_FEAT_FRINTTS },
	{ 6, 1, 36, 1, ARM_FEAT_SB },
	{ 6, 1, 40, 1, ARM_FEAT_SPECRES },
	{ 6, 1, 44, 1, ARM_FEAT_BF16 },
	{ 6, 1, 48, 1, ARM_FEAT_INHERENT }, /* DGH */
	{ 6, 1, 52, 1, ARM_FEAT_I8MM },
	{ 6, 1, 56, 1, ARM_FEAT_XS },
	/* ID_AA64ISAR2_EL1 */
	{ 6, 2, 0, 2, ARM_FEAT_WFXT },
	{ 6, 2, 16, 1, ARM_FEAT_MOPS },
	{ 6, 2, 20, 1, ARM_FEAT_HBC },
	{ 6, 2, 28, 1, ARM_FEAT_INHERENT }, /* CLRBHB */
	{ 6, 2, 48, 1, ARM_FEAT_INHERENT }, /* RPRFM */
	{ 6, 2, 52, 1, ARM_FEAT_CSSC },
	/* ID_AA64MMFR0_EL1: 16-bit ASIDs; 4 and 64 KiB are told by zeroes; stage 2 as stage 1 */
	{ 7, 0, 4, 2, ARM_FEAT_NONE },
	{ 7, 0, 20, 1, ARM_FEAT_TGRAN16 },
	{ 7, 0, 32, 2, ARM_FEAT_TGRAN16 },
	{ 7, 0, 36, 2, ARM_FEAT_TGRAN16 },
	{ 7, 0, 40, 2, ARM_FEAT_TGRAN16 },
	{ 7, 0, 20, 2, ARM_FEAT_LPA2 },
	{ 7, 0, 28, 1, ARM_FEAT_LPA2 },
	{ 7, 0, 32, 3, ARM_FEAT_LPA2 },
	{ 7, 0, 40, 3, ARM_FEAT_LPA2 },
	{ 7, 0, 60, 2, ARM_FEAT_ECV },
	/* ID_AA64MMFR1_EL1 */
	{ 7, 1, 0, 2, ARM_FEAT_HAFDBS },
	{ 7, 1, 0, 3, ARM_FEAT_HAFT },
	{ 7, 1, 0, 4, ARM_FEAT_HDBSS },
	{ 7, 1, 4, 2, ARM_FEAT_VMID16 },
	{ 7, 1, 12, 1, ARM_FEAT_HPDS },
	{ 7, 1, 12, 2, ARM_FEAT_INHERENT }, /* HPDS2: the bits for hardware are ignored */
	{ 7, 1, 20, 1, ARM_FEAT_PAN },
	{ 7, 1, 20, 3, ARM_FEAT_PAN3 },
	{ 7, 1, 36, 2, ARM_FEAT_INHERENT }, /* ETS2 */
	{ 7, 1, 48, 1, ARM_FEAT_INHERENT }, /* nTLBPA */
	{ 7, 1, 60, 1, ARM_FEAT_INHERENT }, /* ECBHB */
	/* ID_AA64MMFR2_EL1 */
	{ 7, 2, 0, 1, ARM_FEAT_INHERENT }, /* CnP */
	{ 7, 2, 4, 1, ARM_FEAT_UAO },
	{ 7, 2, 12, 1, ARM_FEAT_RAS },      /* IESB */
	{ 7, 2, 28, 1, ARM_FEAT_INHERENT }, /* ST: small tables */
	{ 7, 2, 32, 1, ARM_FEAT_LSE2 },
	{ 7, 2, 36, 1, ARM_FEAT_IDST },
	{ 7, 2, 48, 1, ARM_FEAT_INHERENT }, /* TTL */
	{ 7, 2, 52, 2, ARM_FEAT_INHERENT }, /* BBM */
	{ 7, 2, 60, 1, ARM_FEAT_E0PD },
	/* ID_AA64MMFR3_EL1: TCR2_ELx, which FEAT_HAFT needs */
	{ 7, 3, 0, 1, ARM_FEAT_HAFT },
	/* ID_AA64MMFR4_EL1 */
	{ 7, 4, 12, 1, ARM_FEAT_HACDBS },
};

/* What EL2 is needed for. */
static void fill_el2_fields(struct arm_cpu *cpu)
{
	if (!cpu->has_el2)
		return;
	cpu->id[4][0] |= 1u << 8;
	if (cpu_has(cpu, ARM_FEAT_VHE))
		cpu->id[7][1] |= 1ull << 8;
	if (cpu_has(cpu, ARM_FEAT_XNX))
		cpu->id[7][1] |= 1ull << 28;
	if (cpu_has(cpu, ARM_FEAT_HCX))
		cpu->id[7][1] |= 1ull << 40;
	if (cpu_has(cpu, ARM_FEAT_FWB))
		cpu->id[7][2] |= 1ull << 40;
	if (cpu_has(cpu, ARM_FEAT_EVT))
		cpu->id[7][2] |= 2ull << 56;
}

static void fill_id_registers(struct arm_cpu *cpu)
{
	memset(cpu->id, 0, sizeof(cpu->id));
	for (unsigned i = 0; i < ARRAY_SIZE(id_fields); i++) {
		const struct id_field *f = &id_fields[i];
		u64 *reg = &cpu->id[f->crm][f->op2];

		if (f->feature && !cpu_has(cpu, f->feature))
			continue;
		*reg = (*reg & ~(15ull << f->shift)) | (u64)f->value << f->shift;
	}
	if (cpu_has(cpu, ARM_FEAT_PAUTH) && !cpu_has(cpu, ARM_FEAT_QARMA5))
		cpu->id[6][1] |= 1ull << 8 | 1ull << 28; /* API, GPI */
	cpu->id[7][0] |= cpu->pa_range;
	if (cpu->pa_range >= PARANGE_52)
		cpu->id[7][2] |= 1u << 16; /* VARange */
	cpu->id[5][0] |= (u64)cpu->pmu_version << 8;
	fill_el2_fields(cpu);
	if (cpu->icc)
		cpu->id[4][0] |= 1u << 24;
	if (cpu->has_el3)
		cpu->id[4][0] |= 1u << 12;
	if (!cpu_has(cpu, ARM_FEAT_AES)) /* the value for PMULL includes AES */
		cpu->id[6][0] &= ~(15ull << 4);
	if (!cpu_has(cpu, ARM_FEAT_FP)) /* 15 says that there is none */
		cpu->id[4][0] |= 0xffull << 16;
}

void arm_cpu_reset(struct arm_cpu *cpu, u64 entry)
{
	unsigned el = cpu->has_el3 ? 3 : cpu->has_el2 ? 2 : 1;

	memset(cpu->tcg.r, 0, sizeof(cpu->tcg.r));
	memset(cpu->tcg.v, 0, sizeof(cpu->tcg.v));
	cpu->tcg.nzcv = 0;
	cpu->tcg.excl_addr = ~(u64)0;
	memset(&cpu->sp_el, 0, offsetof(struct arm_cpu, midr) - offsetof(struct arm_cpu, sp_el));
	cpu->pstate = PSTATE_SPSEL | el << PSTATE_EL_SHIFT | PSTATE_DAIF;
	cpu->sctlr_el[1] = SCTLR_RES1_EL1;
	cpu->sctlr_el[2] = cpu->sctlr_el[3] = SCTLR_RES1_EL2;
	cpu->hcr_el2 = cpu->has_el2 ? HCR_RW : 0; /* there is no AArch32 */
	cpu->oslsr_el1 = ARM_OSLSR_OSLK;
	cpu->stepped = 0;
	cpu->tcg.hw_points = 0;
	cpu->vpidr_el2 = cpu->midr;
	cpu->vmpidr_el2 = cpu->mpidr;
	memset(cpu->pac_key, 0, sizeof(cpu->pac_key));
	cpu->excp = (struct arm_exception){ 0 };
	cpu->waiting = ARM_WAIT_NONE;
	cpu->btype = 0;
	cpu->bti_seen = false;
	cpu->bti_on = cpu_has(cpu, ARM_FEAT_BTI) && !cpu->tcg.use_jit;
	fill_id_registers(cpu);
	if (cpu->timers)
		arm_timers_reset(cpu);
	arm_pmu_reset(cpu);
	if (cpu->engines)
		arm_engines_reset(cpu);
	if (cpu->icc_reset)
		cpu->icc_reset(cpu);
	arm_set_fpsr(cpu, 0);
	arm_set_fpcr(cpu, 0);
	if (cpu->mmu)
		arm_mmu_flush(cpu);
	tcg_set_pc(&cpu->tcg, entry);
	arm_state_changed(cpu);
}

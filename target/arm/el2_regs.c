/*
 * target/arm/el2_regs.c - registers of EL2 that are more than a value (Arm DDI 0487, D24.2).
 */
#include "target/arm/cpu-features.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/irq.h"
#include "target/arm/mmu.h"
#include "target/arm/sysreg.h"

/* Bits of HCR_EL2 that exist on every CPU with EL2. */
#define HCR_BASE                                                                                   \
	(HCR_VM | HCR_SWIO | HCR_PTW | HCR_FMO | HCR_IMO | HCR_AMO | HCR_VIRTUAL | HCR_FB |        \
	 HCR_BSU | HCR_DC | HCR_TWI | HCR_TWE | HCR_TID0 | HCR_TID1 | HCR_TID2 | HCR_TID3 |        \
	 HCR_TSC | HCR_TIDCP | HCR_TACR | HCR_TSW | HCR_TPCP | HCR_TPU | HCR_TTLB | HCR_TVM |      \
	 HCR_TGE | HCR_TDZ | HCR_HCD | HCR_TRVM | HCR_CD | HCR_ID | HCR_TERR | HCR_TEA)
/* What of them the regimes of EL1 and EL2 depend on. */
#define HCR_REGIME (HCR_VM | HCR_PTW | HCR_DC | HCR_TGE | HCR_E2H | HCR_FWB)

static u64 hcr_bits(const struct arm_cpu *cpu)
{
	u64 bits = HCR_BASE;

	if (cpu_has(cpu, ARM_FEAT_VHE))
		bits |= HCR_E2H | HCR_TLOR; /* LORegions are as old */
	if (cpu_has(cpu, ARM_FEAT_PAUTH))
		bits |= HCR_API | HCR_APK;
	if (cpu_has(cpu, ARM_FEAT_FWB))
		bits |= HCR_FWB;
	if (cpu_has(cpu, ARM_FEAT_EVT))
		bits |= HCR_TID4 | HCR_TICAB | HCR_TOCU | HCR_TTLBIS | HCR_TTLBOS;
	return bits;
}

static void write_hcr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	u64 old = cpu->hcr_el2;

	cpu->hcr_el2 = (val & hcr_bits(cpu)) | HCR_RW; /* there is no AArch32 */
	if ((old ^ cpu->hcr_el2) & HCR_REGIME)
		arm_mmu_controls_changed(cpu);
	engines_controls_changed(cpu);
	arm_state_changed(cpu);
	arm_unmasked(cpu);
}

static u64 hcrx_bits(const struct arm_cpu *cpu)
{
	u64 bits = cpu_has(cpu, ARM_FEAT_XS) ? HCRX_FNXS : 0;

	if (cpu_has(cpu, ARM_FEAT_HAFT))
		bits |= HCRX_TCR2EN;
	return cpu_has(cpu, ARM_FEAT_MOPS) ? bits | HCRX_MSCEN | HCRX_MCE2 : bits;
}

u64 arm_hcrx(const struct arm_cpu *cpu)
{
	if (!cpu->has_el2 || !cpu_has(cpu, ARM_FEAT_HCX) || arm_el0_in_host(cpu))
		return HCRX_MSCEN | HCRX_TCR2EN;
	return cpu->hcrx_el2;
}

static void write_hcrx(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->hcrx_el2 = val & hcrx_bits(cpu);
}

static unsigned trap_hcrx(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu_has(cpu, ARM_FEAT_HCX) ? 0 : SYSREG_UNDEF;
}

static unsigned trap_ras(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return cpu_has(cpu, ARM_FEAT_RAS) ? 0 : SYSREG_UNDEF;
}

/* Auxiliary registers, and those for AArch32: nothing is in them. */
static u64 read_zero(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return 0;
}

static void write_nothing(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
}

static u64 read_isr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return arm_irq_pending(cpu);
}

#define AT(field) offsetof(struct arm_cpu, field)
#define NOTHING(crn, crm, op2, name)                                                               \
	{                                                                                          \
		SYSREG(3, 4, crn, crm, op2), 2, 2, 0, name, read_zero, write_nothing, NULL, NULL   \
	}

static const struct arm_sysreg el1_regs[] = {
	{ SYSREG(3, 0, 12, 1, 0), 1, SYSREG_NONE, 0, "ISR_EL1", read_isr, NULL, NULL, NULL },
};

static const struct arm_sysreg el2_regs[] = {
	{ SYSREG(3, 4, 1, 1, 0), 2, 2, AT(hcr_el2), "HCR_EL2", NULL, write_hcr, NULL, NULL },
	{ SYSREG(3, 4, 1, 2, 2), 2, 2, AT(hcrx_el2), "HCRX_EL2", NULL, write_hcrx, NULL,
	  trap_hcrx },
	{ SYSREG(3, 4, 1, 1, 3), 2, 2, AT(hstr_el2), "HSTR_EL2", NULL, NULL, NULL, NULL },
	{ SYSREG(3, 4, 5, 2, 3), 2, 2, AT(vsesr_el2), "VSESR_EL2", NULL, NULL, NULL, trap_ras },
	{ SYSREG(3, 4, 12, 1, 1), 2, 2, AT(vdisr_el2), "VDISR_EL2", NULL, NULL, NULL, trap_ras },
	NOTHING(1, 0, 1, "ACTLR_EL2"),
	NOTHING(1, 1, 7, "HACR_EL2"),
	NOTHING(5, 1, 0, "AFSR0_EL2"),
	NOTHING(5, 1, 1, "AFSR1_EL2"),
	NOTHING(10, 3, 0, "AMAIR_EL2"),
};

void arm_el2_registers_add(struct arm_cpu *cpu)
{
	arm_sysreg_add(cpu, el1_regs, ARRAY_SIZE(el1_regs));
	if (cpu->has_el2)
		arm_sysreg_add(cpu, el2_regs, ARRAY_SIZE(el2_regs));
}

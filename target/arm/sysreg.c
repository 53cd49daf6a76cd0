/* target/arm/sysreg.c - system registers that are plain state of the CPU (Arm DDI 0487, D24.2). */
#include "target/arm/sysreg.h"
#include "target/arm/cpu-features.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/mmu.h"
#include "target/arm/pmu.h"
#include "target/arm/self_debug.h"
#include "target/arm/sem.h"

#define SCTLR_UMA   (1ull << 9)
#define SCTLR_DZE   (1ull << 14)
#define SCTLR_UCT   (1ull << 15)
#define SCTLR_TSCXT (1ull << 20)
#define SCTLR_E0E   (1ull << 24)
#define SCTLR_EE    (1ull << 25)

#define AT(field) offsetof(struct arm_cpu, field)
#define PLAIN(op0, op1, crn, crm, op2, el, name, field)                                            \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), el, el, AT(field), name, NULL, NULL, NULL         \
	}
#define CONST(op0, op1, crn, crm, op2, el, name, field)                                            \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), el, SYSREG_NONE, AT(field), name, NULL, NULL,     \
			NULL                                                                       \
	}
#define GUARDED(op0, op1, crn, crm, op2, rel, wel, name, rd, wr, check)                            \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), rel, wel, 0, name, rd, wr, NULL, check            \
	}
#define FUNC(op0, op1, crn, crm, op2, rel, wel, name, rd, wr)                                      \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), rel, wel, 0, name, rd, wr, NULL                   \
	}
#define HOOK(op0, op1, crn, crm, op2, el, name, field, wr)                                         \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), el, el, AT(field), name, NULL, wr, NULL           \
	}

static u64 *field_of(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return (u64 *)((char *)cpu + reg->offset);
}

/* Registers that select an address space. */
static void write_table(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	*field_of(cpu, reg) = val;
	arm_state_changed(cpu);
}

/* Registers that change what translations mean. */
static void write_translation(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	if (*field_of(cpu, reg) != val)
		arm_mmu_controls_changed(cpu);
	*field_of(cpu, reg) = val;
	arm_state_changed(cpu);
	engines_controls_changed(cpu);
}

/* Data is little-endian at every level, as ID_AA64MMFR0_EL1.BigEnd says: EE and E0E are RES0. */
static void write_sctlr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	write_translation(cpu, reg, val & ~(u64)(SCTLR_EE | SCTLR_E0E));
}

static void write_mdcr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	arm_pmu_sync(cpu);
	write_table(cpu, reg, val);
	arm_pmu_update(cpu);
}

static u64 read_nzcv(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return (u64)cpu_nzcv(cpu) << 28;
}

static void write_nzcv(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu_set_nzcv(cpu, val >> 28 & 0xf);
}

static u64 read_daif(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->pstate & PSTATE_DAIF;
}

static void write_daif(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	cpu->pstate = (cpu->pstate & ~PSTATE_DAIF) | (val & PSTATE_DAIF);
	arm_unmasked(cpu);
	arm_daif_changed(cpu);
}

static u64 read_fpcr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	check_fp_access(cpu);
	return cpu->fpcr;
}

static void write_fpcr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	check_fp_access(cpu);
	arm_set_fpcr(cpu, val);
}

static u64 read_fpsr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	check_fp_access(cpu);
	return arm_get_fpsr(cpu);
}

static void write_fpsr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	check_fp_access(cpu);
	arm_set_fpsr(cpu, val);
}

static u64 read_current_el(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->pstate & 3u << PSTATE_EL_SHIFT;
}

static u64 read_spsel(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->pstate & PSTATE_SPSEL;
}

static void write_spsel(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	unsigned el = cpu_el(cpu);

	cpu->sp_el[cpu->pstate & PSTATE_SPSEL ? el : 0] = cpu->tcg.r[31];
	cpu->pstate = (cpu->pstate & ~PSTATE_SPSEL) | (val & PSTATE_SPSEL);
	cpu->tcg.r[31] = cpu->sp_el[cpu->pstate & PSTATE_SPSEL ? el : 0];
	arm_state_changed(cpu);
}

/* SP_EL0 is reachable by name only while another stack pointer is selected. */
static void check_sp_el0(struct arm_cpu *cpu)
{
	if (!(cpu->pstate & PSTATE_SPSEL))
		arm_undefined(cpu);
}

static u64 read_sp_el0(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	check_sp_el0(cpu);
	return cpu->sp_el[0];
}

static void write_sp_el0(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	check_sp_el0(cpu);
	cpu->sp_el[0] = val;
}

/* Single bits of PSTATE that MRS and MSR reach as registers. */
#define PSTATE_BIT(lower, bit)                                                                     \
	static u64 read_##lower(struct arm_cpu *cpu, const struct arm_sysreg *reg)                 \
	{                                                                                          \
		return cpu->pstate & (bit);                                                        \
	}                                                                                          \
	static void write_##lower(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)      \
	{                                                                                          \
		cpu->pstate = (cpu->pstate & ~(bit)) | (val & (bit));                              \
		arm_state_changed(cpu);                                                            \
	}

PSTATE_BIT(pan, PSTATE_PAN)
PSTATE_BIT(uao, PSTATE_UAO)
PSTATE_BIT(dit, PSTATE_DIT)
PSTATE_BIT(ssbs, PSTATE_SSBS)

static u64 read_midr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu_el(cpu) == 1 && cpu->has_el2 ? cpu->vpidr_el2 : cpu->midr;
}

static u64 read_mpidr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu_el(cpu) == 1 && cpu->has_el2 ? cpu->vmpidr_el2 : cpu->mpidr;
}

static u64 read_zero(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return 0;
}

/* Auxiliary registers, whose content is ours to choose: there is none. */
static void write_nothing(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
}

/* 64-byte lines. Data caches need no cleaning for instructions (IDC), but instruction caches are to
 * be told of them (no DIC). */
#define CTR_IDC (1u << 28)

static u64 read_ctr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return 0x80038003u | 4 << 16 | 4 << 24 | 4 << 20 | CTR_IDC;
}

static u64 read_dczid(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	bool refused = (cpu_el(cpu) == 0 && !(cpu->sctlr_el[arm_control_el(cpu)] & SCTLR_DZE)) ||
		       (cpu_el(cpu) < 2 && arm_hcr(cpu) & HCR_TDZ);

	return 4 | refused << 4; /* DC ZVA clears 64 bytes */
}

/* EL0 may read or write what SCTLR_EL1.@bit says, or (@inverse) what it does not say. */
static unsigned el0_trap(const struct arm_cpu *cpu, u64 bit, bool inverse)
{
	bool set = cpu->sctlr_el[arm_control_el(cpu)] & bit;

	if (cpu_el(cpu) || set != inverse)
		return 0;
	return cpu->has_el2 && cpu->hcr_el2 & HCR_TGE ? 2 : 1;
}

static unsigned trap_scxtnum(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	if (!cpu_has(cpu, ARM_FEAT_CSV2_2))
		return SYSREG_UNDEF;
	return reg->offset == offsetof(struct arm_cpu, scxtnum_el[0])
		       ? el0_trap(cpu, SCTLR_TSCXT, true)
		       : 0;
}

static unsigned trap_ctr(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return el0_trap(cpu, SCTLR_UCT, false);
}

static unsigned trap_daif(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return el0_trap(cpu, SCTLR_UMA, false);
}

/* A bit of PSTATE that only CPUs with the feature have. */
#define PSTATE_TRAP(name, feature)                                                                 \
	static unsigned trap_##name(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write) \
	{                                                                                          \
		return cpu_has(cpu, feature) ? 0 : SYSREG_UNDEF;                                   \
	}
PSTATE_TRAP(pan, ARM_FEAT_PAN)
PSTATE_TRAP(uao, ARM_FEAT_UAO)
PSTATE_TRAP(dit, ARM_FEAT_DIT)
PSTATE_TRAP(ssbs, ARM_FEAT_SSBS)
PSTATE_TRAP(ras, ARM_FEAT_RAS)

static const struct arm_sysreg builtin[] = {
	FUNC(3, 0, 0, 0, 0, 1, SYSREG_NONE, "MIDR_EL1", read_midr, NULL),
	FUNC(3, 0, 0, 0, 5, 1, SYSREG_NONE, "MPIDR_EL1", read_mpidr, NULL),
	FUNC(3, 0, 0, 0, 6, 1, SYSREG_NONE, "REVIDR_EL1", read_zero, NULL),
	FUNC(3, 1, 0, 0, 7, 1, SYSREG_NONE, "AIDR_EL1", read_zero, NULL),
	GUARDED(3, 3, 0, 0, 1, 0, SYSREG_NONE, "CTR_EL0", read_ctr, NULL, trap_ctr),
	FUNC(3, 3, 0, 0, 7, 0, SYSREG_NONE, "DCZID_EL0", read_dczid, NULL),

	/* No cache has a size; maintenance does nothing but where code is concerned. */
	FUNC(3, 1, 0, 0, 0, 1, SYSREG_NONE, "CCSIDR_EL1", read_zero, NULL),
	FUNC(3, 1, 0, 0, 1, 1, SYSREG_NONE, "CLIDR_EL1", read_zero, NULL),
	PLAIN(3, 2, 0, 0, 0, 1, "CSSELR_EL1", csselr_el1),
	FUNC(3, 0, 1, 0, 1, 1, 1, "ACTLR_EL1", read_zero, write_nothing),
	FUNC(3, 0, 5, 1, 0, 1, 1, "AFSR0_EL1", read_zero, write_nothing),
	FUNC(3, 0, 5, 1, 1, 1, 1, "AFSR1_EL1", read_zero, write_nothing),
	FUNC(3, 0, 10, 3, 0, 1, 1, "AMAIR_EL1", read_zero, write_nothing),

	FUNC(2, 3, 0, 1, 0, 0, SYSREG_NONE, "MDCCSR_EL0", read_zero, NULL),
	/* Nobody is at the other end of the debug communications channel. */
	FUNC(2, 0, 0, 0, 2, 1, 1, "OSDTRRX_EL1", read_zero, write_nothing),
	FUNC(2, 0, 0, 2, 0, 1, 1, "MDCCINT_EL1", read_zero, write_nothing),
	FUNC(2, 0, 0, 3, 2, 1, 1, "OSDTRTX_EL1", read_zero, write_nothing),
	FUNC(2, 0, 0, 6, 2, 1, 1, "OSECCR_EL1", read_zero, write_nothing),
	FUNC(2, 3, 0, 4, 0, 0, 0, "DBGDTR_EL0", read_zero, write_nothing),
	FUNC(2, 3, 0, 5, 0, 0, 0, "DBGDTRTX_EL0", read_zero, write_nothing),
	FUNC(2, 0, 1, 0, 0, 1, SYSREG_NONE, "MDRAR_EL1", read_zero, NULL),
	FUNC(2, 0, 1, 4, 4, 1, 1, "DBGPRCR_EL1", read_zero, write_nothing),
	FUNC(2, 0, 7, 14, 6, 1, SYSREG_NONE, "DBGAUTHSTATUS_EL1", read_zero, NULL),

	FUNC(3, 3, 4, 2, 0, 0, 0, "NZCV", read_nzcv, write_nzcv),
	GUARDED(3, 3, 4, 2, 1, 0, 0, "DAIF", read_daif, write_daif, trap_daif),
	GUARDED(3, 3, 4, 2, 5, 0, 0, "DIT", read_dit, write_dit, trap_dit),
	GUARDED(3, 3, 4, 2, 6, 0, 0, "SSBS", read_ssbs, write_ssbs, trap_ssbs),
	FUNC(3, 3, 4, 4, 0, 0, 0, "FPCR", read_fpcr, write_fpcr),
	FUNC(3, 3, 4, 4, 1, 0, 0, "FPSR", read_fpsr, write_fpsr),
	FUNC(3, 0, 4, 2, 0, 1, 1, "SPSel", read_spsel, write_spsel),
	FUNC(3, 0, 4, 2, 2, 1, SYSREG_NONE, "CurrentEL", read_current_el, NULL),
	GUARDED(3, 0, 4, 2, 3, 1, 1, "PAN", read_pan, write_pan, trap_pan),
	GUARDED(3, 0, 4, 2, 4, 1, 1, "UAO", read_uao, write_uao, trap_uao),

	/* No error record; an SError is never deferred. */
	GUARDED(3, 0, 5, 3, 0, 1, SYSREG_NONE, "ERRIDR_EL1", read_zero, NULL, trap_ras),
	GUARDED(3, 0, 5, 3, 1, 1, 1, "ERRSELR_EL1", read_zero, write_nothing, trap_ras),
	GUARDED(3, 0, 12, 1, 1, 1, 1, "DISR_EL1", read_zero, write_nothing, trap_ras),

	FUNC(3, 0, 4, 1, 0, 1, 1, "SP_EL0", read_sp_el0, write_sp_el0),
	PLAIN(3, 4, 4, 1, 0, 2, "SP_EL1", sp_el[1]),
	PLAIN(3, 6, 4, 1, 0, 3, "SP_EL2", sp_el[2]),
	PLAIN(3, 0, 4, 0, 0, 1, "SPSR_EL1", spsr_el[1]),
	PLAIN(3, 4, 4, 0, 0, 2, "SPSR_EL2", spsr_el[2]),
	PLAIN(3, 6, 4, 0, 0, 3, "SPSR_EL3", spsr_el[3]),
	PLAIN(3, 0, 4, 0, 1, 1, "ELR_EL1", elr_el[1]),
	PLAIN(3, 4, 4, 0, 1, 2, "ELR_EL2", elr_el[2]),
	PLAIN(3, 6, 4, 0, 1, 3, "ELR_EL3", elr_el[3]),
	PLAIN(3, 0, 5, 2, 0, 1, "ESR_EL1", esr_el[1]),
	PLAIN(3, 4, 5, 2, 0, 2, "ESR_EL2", esr_el[2]),
	PLAIN(3, 6, 5, 2, 0, 3, "ESR_EL3", esr_el[3]),
	PLAIN(3, 0, 6, 0, 0, 1, "FAR_EL1", far_el[1]),
	PLAIN(3, 4, 6, 0, 0, 2, "FAR_EL2", far_el[2]),
	PLAIN(3, 6, 6, 0, 0, 3, "FAR_EL3", far_el[3]),
	PLAIN(3, 4, 6, 0, 4, 2, "HPFAR_EL2", hpfar_el2),
	PLAIN(3, 0, 7, 4, 0, 1, "PAR_EL1", par_el1),
	PLAIN(3, 0, 12, 0, 0, 1, "VBAR_EL1", vbar_el[1]),
	PLAIN(3, 4, 12, 0, 0, 2, "VBAR_EL2", vbar_el[2]),
	PLAIN(3, 6, 12, 0, 0, 3, "VBAR_EL3", vbar_el[3]),

	HOOK(3, 0, 1, 0, 0, 1, "SCTLR_EL1", sctlr_el[1], write_sctlr),
	HOOK(3, 4, 1, 0, 0, 2, "SCTLR_EL2", sctlr_el[2], write_sctlr),
	HOOK(3, 6, 1, 0, 0, 3, "SCTLR_EL3", sctlr_el[3], write_sctlr),
	HOOK(3, 0, 1, 0, 2, 1, "CPACR_EL1", cpacr_el1, write_table),
	HOOK(3, 4, 1, 1, 2, 2, "CPTR_EL2", cptr_el2, write_table),
	HOOK(3, 6, 1, 1, 0, 3, "SCR_EL3", scr_el3, write_translation),
	HOOK(3, 4, 1, 1, 1, 2, "MDCR_EL2", mdcr_el2, write_mdcr),
	HOOK(3, 0, 2, 0, 0, 1, "TTBR0_EL1", ttbr0_el[1], write_table),
	HOOK(3, 0, 2, 0, 1, 1, "TTBR1_EL1", ttbr1_el[1], write_table),
	HOOK(3, 0, 2, 0, 2, 1, "TCR_EL1", tcr_el[1], write_translation),
	HOOK(3, 0, 2, 0, 3, 1, "TCR2_EL1", tcr2_el[1], write_translation),
	HOOK(3, 4, 2, 0, 3, 2, "TCR2_EL2", tcr2_el[2], write_translation),
	HOOK(3, 4, 2, 0, 0, 2, "TTBR0_EL2", ttbr0_el[2], write_table),
	HOOK(3, 4, 2, 0, 1, 2, "TTBR1_EL2", ttbr1_el[2], write_table),
	HOOK(3, 4, 2, 0, 2, 2, "TCR_EL2", tcr_el[2], write_translation),
	HOOK(3, 4, 2, 1, 0, 2, "VTTBR_EL2", vttbr_el2, write_table),
	HOOK(3, 4, 2, 1, 2, 2, "VTCR_EL2", vtcr_el2, write_translation),
	HOOK(3, 0, 10, 2, 0, 1, "MAIR_EL1", mair_el[1], write_translation),
	HOOK(3, 4, 10, 2, 0, 2, "MAIR_EL2", mair_el[2], write_translation),

	{ SYSREG(3, 3, 13, 0, 7), 0, 0, AT(scxtnum_el[0]), "SCXTNUM_EL0", NULL, NULL, NULL,
	  trap_scxtnum },
	{ SYSREG(3, 0, 13, 0, 7), 1, 1, AT(scxtnum_el[1]), "SCXTNUM_EL1", NULL, NULL, NULL,
	  trap_scxtnum },
	{ SYSREG(3, 4, 13, 0, 7), 2, 2, AT(scxtnum_el[2]), "SCXTNUM_EL2", NULL, NULL, NULL,
	  trap_scxtnum },
	PLAIN(3, 3, 13, 0, 2, 0, "TPIDR_EL0", tpidr_el[0]),
	{ SYSREG(3, 3, 13, 0, 3), 0, 1, AT(tpidrro_el0), "TPIDRRO_EL0", NULL, NULL, NULL },
	PLAIN(3, 0, 13, 0, 4, 1, "TPIDR_EL1", tpidr_el[1]),
	PLAIN(3, 4, 13, 0, 2, 2, "TPIDR_EL2", tpidr_el[2]),
	PLAIN(3, 0, 13, 0, 1, 1, "CONTEXTIDR_EL1", contextidr_el[1]),
	PLAIN(3, 4, 13, 0, 1, 2, "CONTEXTIDR_EL2", contextidr_el[2]),
	PLAIN(3, 4, 0, 0, 0, 2, "VPIDR_EL2", vpidr_el2),
	PLAIN(3, 4, 0, 0, 5, 2, "VMPIDR_EL2", vmpidr_el2),

	PLAIN(3, 0, 2, 1, 0, 1, "APIAKeyLo_EL1", pac_key[PAC_IA][0]),
	PLAIN(3, 0, 2, 1, 1, 1, "APIAKeyHi_EL1", pac_key[PAC_IA][1]),
	PLAIN(3, 0, 2, 1, 2, 1, "APIBKeyLo_EL1", pac_key[PAC_IB][0]),
	PLAIN(3, 0, 2, 1, 3, 1, "APIBKeyHi_EL1", pac_key[PAC_IB][1]),
	PLAIN(3, 0, 2, 2, 0, 1, "APDAKeyLo_EL1", pac_key[PAC_DA][0]),
	PLAIN(3, 0, 2, 2, 1, 1, "APDAKeyHi_EL1", pac_key[PAC_DA][1]),
	PLAIN(3, 0, 2, 2, 2, 1, "APDBKeyLo_EL1", pac_key[PAC_DB][0]),
	PLAIN(3, 0, 2, 2, 3, 1, "APDBKeyHi_EL1", pac_key[PAC_DB][1]),
	PLAIN(3, 0, 2, 3, 0, 1, "APGAKeyLo_EL1", pac_key[PAC_GA][0]),
	PLAIN(3, 0, 2, 3, 1, 1, "APGAKeyHi_EL1", pac_key[PAC_GA][1]),
};

static struct arm_sysreg id_regs[8][8]; /* op0=3 op1=0 CRn=0, by CRm and op2 */
static GHashTable *builtin_table;

static void build_table(void)
{
	builtin_table = g_hash_table_new(NULL, NULL);
	for (unsigned crm = 1; crm < 8; crm++) {
		for (unsigned op2 = 0; op2 < 8; op2++) {
			struct arm_sysreg *reg = &id_regs[crm][op2];

			*reg = (struct arm_sysreg)CONST(3, 0, 0, crm, op2, 1, "ID", id[crm][op2]);
			g_hash_table_insert(builtin_table, GUINT_TO_POINTER(reg->key), reg);
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(builtin); i++)
		g_hash_table_insert(builtin_table, GUINT_TO_POINTER(builtin[i].key),
				    (void *)&builtin[i]);
}

static GHashTable *builtins(void)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		build_table();
		g_once_init_leave(&once, 1);
	}
	return builtin_table;
}

static const struct arm_sysreg *look_up(struct arm_cpu *cpu, unsigned key)
{
	const struct arm_sysreg *reg = NULL;

	if (cpu->sysregs)
		reg = g_hash_table_lookup(cpu->sysregs, GUINT_TO_POINTER(key));
	return reg ? reg : g_hash_table_lookup(builtins(), GUINT_TO_POINTER(key));
}

/* How often registers have been added to any CPU. */
static unsigned added;

/* A register that one region reads again and again, or that is not there (DC ZVA), is looked up
 * once: this thread's last answers. */
const struct arm_sysreg *arm_sysreg_find(struct arm_cpu *cpu, unsigned key)
{
	static __thread struct {
		const struct arm_cpu *cpu;
		const GHashTable *sysregs;
		const struct arm_sysreg *reg;
		unsigned key, added;
	} answer[64], *a;
	unsigned now = __atomic_load_n(&added, __ATOMIC_RELAXED);

	a = &answer[(key ^ key >> 5 ^ key >> 10) % ARRAY_SIZE(answer)];
	if (a->cpu != cpu || a->key != key || a->added != now || a->sysregs != cpu->sysregs) {
		a->reg = look_up(cpu, key);
		a->cpu = cpu;
		a->sysregs = cpu->sysregs;
		a->key = key;
		a->added = now;
	}
	return a->reg;
}

void arm_sysreg_foreach(struct arm_cpu *cpu, void (*fn)(const struct arm_sysreg *reg, void *opaque),
			void *opaque)
{
	GHashTableIter it;
	gpointer key, value;

	g_hash_table_iter_init(&it, builtins());
	while (g_hash_table_iter_next(&it, &key, &value))
		if (!cpu->sysregs || !g_hash_table_contains(cpu->sysregs, key))
			fn(value, opaque);
	if (!cpu->sysregs)
		return;
	g_hash_table_iter_init(&it, cpu->sysregs);
	while (g_hash_table_iter_next(&it, &key, &value))
		fn(value, opaque);
}

void arm_sysreg_add(struct arm_cpu *cpu, const struct arm_sysreg *regs, unsigned n)
{
	if (!cpu->sysregs)
		cpu->sysregs = g_hash_table_new(NULL, NULL);
	for (unsigned i = 0; i < n; i++)
		g_hash_table_insert(cpu->sysregs, GUINT_TO_POINTER(regs[i].key), (void *)&regs[i]);
	__atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
}

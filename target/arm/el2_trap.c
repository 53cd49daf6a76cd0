/*
 * target/arm/el2_trap.c - which accesses of EL1 and EL0 EL2 traps (Arm DDI 0487, D24.2: HCR_EL2,
 * MDCR_EL2, CPTR_EL2, HCRX_EL2), and what EL1's names mean at EL2 (D8.1, FEAT_VHE).
 */
#include "target/arm/cpu-features.h"
#include "target/arm/el2.h"
#include "target/arm/sysreg.h"

/* Which register holds the bits of a rule. */
enum control { IN_HCR, IN_HCRX, IN_MDCR, IN_CPTR };

enum { READ = 1, WRITE = 2, BOTH = 3 };

/* Registers or instructions with key & mask == match are trapped if any of @bits is set. */
struct rule {
	u16 match, mask;
	u8 access; /* READ, WRITE */
	u8 control;
	u64 bits;
};

#define ALL    0xffff
#define NO_OP2 0xfff8 /* any op2 */
#define NO_CRM 0xff80 /* any CRm and op2 */

#define ONE(op0, op1, crn, crm, op2, access, control, bits)                                        \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, op2), ALL, access, control, bits                        \
	}
#define ANY_OP2(op0, op1, crn, crm, access, control, bits)                                         \
	{                                                                                          \
		SYSREG(op0, op1, crn, crm, 0), NO_OP2, access, control, bits                       \
	}
#define ANY_CRM(op0, op1, crn, access, control, bits)                                              \
	{                                                                                          \
		SYSREG(op0, op1, crn, 0, 0), NO_CRM, access, control, bits                         \
	}
/* A register of EL1's translation: TVM for writes, TRVM for reads. */
#define VM_REG(crn, crm, op2)                                                                      \
	ONE(3, 0, crn, crm, op2, WRITE, IN_HCR, HCR_TVM),                                          \
		ONE(3, 0, crn, crm, op2, READ, IN_HCR, HCR_TRVM)
#define INSN(op1, crm, op2, bits) ONE(1, op1, 7, crm, op2, BOTH, IN_HCR, bits)
/* TLB maintenance at EL1, of the kinds with and without XS. */
#define TLBI(crm, bits)                                                                            \
	ANY_OP2(1, 0, 8, crm, BOTH, IN_HCR, bits), ANY_OP2(1, 0, 9, crm, BOTH, IN_HCR, bits)

/* An access may have several rules. */
static const struct rule rules[] = {
	/* Identification. The whole of CRm 1 to 7 belongs to TID3, what does not exist included. */
	ONE(3, 0, 0, 0, 6, READ, IN_HCR, HCR_TID1),            /* REVIDR_EL1 */
	ONE(3, 1, 0, 0, 7, READ, IN_HCR, HCR_TID1),            /* AIDR_EL1 */
	ONE(3, 1, 0, 0, 6, READ, IN_HCR, HCR_TID1),            /* SMIDR_EL1 */
	ONE(3, 3, 0, 0, 1, READ, IN_HCR, HCR_TID2),            /* CTR_EL0 */
	ONE(3, 1, 0, 0, 0, READ, IN_HCR, HCR_TID2 | HCR_TID4), /* CCSIDR_EL1 */
	ONE(3, 1, 0, 0, 1, READ, IN_HCR, HCR_TID2 | HCR_TID4), /* CLIDR_EL1 */
	ONE(3, 1, 0, 0, 2, READ, IN_HCR, HCR_TID2 | HCR_TID4), /* CCSIDR2_EL1 */
	ONE(3, 2, 0, 0, 0, BOTH, IN_HCR, HCR_TID2 | HCR_TID4), /* CSSELR_EL1 */
	ANY_OP2(3, 0, 0, 1, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 2, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 3, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 4, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 5, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 6, READ, IN_HCR, HCR_TID3),
	ANY_OP2(3, 0, 0, 7, READ, IN_HCR, HCR_TID3),

	/* Virtual memory. */
	VM_REG(1, 0, 0), /* SCTLR_EL1 */
	VM_REG(1, 0, 3), /* SCTLR2_EL1 */
	VM_REG(2, 0, 0), /* TTBR0_EL1 */
	VM_REG(2, 0, 1), /* TTBR1_EL1 */
	VM_REG(2, 0, 2), /* TCR_EL1 */
	VM_REG(2, 0, 3), /* TCR2_EL1 */
	ONE(3, 0, 2, 0, 3, BOTH, IN_HCRX, HCRX_TCR2EN),
	VM_REG(5, 1, 0),  /* AFSR0_EL1 */
	VM_REG(5, 1, 1),  /* AFSR1_EL1 */
	VM_REG(5, 2, 0),  /* ESR_EL1 */
	VM_REG(6, 0, 0),  /* FAR_EL1 */
	VM_REG(10, 2, 0), /* MAIR_EL1 */
	VM_REG(10, 2, 2), /* PIRE0_EL1 */
	VM_REG(10, 2, 3), /* PIR_EL1 */
	VM_REG(10, 3, 0), /* AMAIR_EL1 */
	VM_REG(13, 0, 1), /* CONTEXTIDR_EL1 */
	TLBI(1, HCR_TTLB | HCR_TTLBOS),
	TLBI(3, HCR_TTLB | HCR_TTLBIS),
	TLBI(7, HCR_TTLB),
	TLBI(5, HCR_TTLB | HCR_TTLBOS),
	TLBI(2, HCR_TTLB | HCR_TTLBIS),
	TLBI(6, HCR_TTLB),

	/* Caches. */
	INSN(0, 6, 2, HCR_TSW),             /* DC ISW */
	INSN(0, 10, 2, HCR_TSW),            /* DC CSW */
	INSN(0, 14, 2, HCR_TSW),            /* DC CISW */
	INSN(0, 6, 1, HCR_TPCP),            /* DC IVAC */
	INSN(3, 10, 1, HCR_TPCP),           /* DC CVAC */
	INSN(3, 12, 1, HCR_TPCP),           /* DC CVAP */
	INSN(3, 13, 1, HCR_TPCP),           /* DC CVADP */
	INSN(3, 14, 1, HCR_TPCP),           /* DC CIVAC */
	INSN(3, 11, 1, HCR_TPU | HCR_TOCU), /* DC CVAU */
	INSN(3, 5, 1, HCR_TPU | HCR_TOCU),  /* IC IVAU */
	INSN(0, 5, 0, HCR_TPU | HCR_TOCU),  /* IC IALLU */
	INSN(0, 1, 0, HCR_TPU | HCR_TICAB), /* IC IALLUIS */
	INSN(3, 4, 1, HCR_TDZ),             /* DC ZVA */

	/* Others of HCR_EL2. */
	ONE(3, 0, 1, 0, 1, BOTH, IN_HCR, HCR_TACR),   /* ACTLR_EL1 */
	ANY_OP2(3, 0, 10, 4, BOTH, IN_HCR, HCR_TLOR), /* LORSA_EL1 ... */
	ANY_OP2(3, 0, 5, 3, BOTH, IN_HCR, HCR_TERR),  /* ERRIDR_EL1 ... */
	ANY_OP2(3, 0, 5, 4, BOTH, IN_HCR, HCR_TERR),  /* ERXFR_EL1 ... */
	ANY_OP2(3, 0, 2, 1, BOTH, IN_HCR, HCR_APK),   /* keys of FEAT_PAuth; the bit allows */
	ANY_OP2(3, 0, 2, 2, BOTH, IN_HCR, HCR_APK),
	ANY_OP2(3, 0, 2, 3, BOTH, IN_HCR, HCR_APK),
	ONE(3, 0, 1, 0, 2, BOTH, IN_CPTR, CPTR_TCPAC), /* CPACR_EL1 */

	/* Performance monitors. */
	ONE(3, 3, 9, 12, 0, BOTH, IN_MDCR, MDCR_TPM | MDCR_TPMCR), /* PMCR_EL0 */
	ANY_OP2(3, 3, 9, 12, BOTH, IN_MDCR, MDCR_TPM),
	ANY_OP2(3, 3, 9, 13, BOTH, IN_MDCR, MDCR_TPM),
	ANY_OP2(3, 3, 9, 14, BOTH, IN_MDCR, MDCR_TPM),
	ANY_OP2(3, 0, 9, 14, BOTH, IN_MDCR, MDCR_TPM),
	{ SYSREG(3, 3, 14, 8, 0), 0xffc0, BOTH, IN_MDCR, MDCR_TPM }, /* PMEVCNTR<n>, PMEVTYPER<n> */

	/* Debug: power and lock, addresses of ROM tables, all others. */
	ONE(2, 0, 1, 0, 4, BOTH, IN_MDCR, MDCR_TDOSA), /* OSLAR_EL1 */
	ONE(2, 0, 1, 1, 4, BOTH, IN_MDCR, MDCR_TDOSA), /* OSLSR_EL1 */
	ONE(2, 0, 1, 3, 4, BOTH, IN_MDCR, MDCR_TDOSA), /* OSDLR_EL1 */
	ONE(2, 0, 1, 4, 4, BOTH, IN_MDCR, MDCR_TDOSA), /* DBGPRCR_EL1 */
	ONE(2, 0, 1, 0, 0, BOTH, IN_MDCR, MDCR_TDRA),  /* MDRAR_EL1 */
	ANY_CRM(2, 0, 0, BOTH, IN_MDCR, MDCR_TDA),     /* MDSCR_EL1, DBGBVR<n>_EL1, ... */
	ANY_CRM(2, 3, 0, BOTH, IN_MDCR, MDCR_TDA),     /* MDCCSR_EL0, DBGDTR_EL0 */
	ANY_CRM(2, 0, 7, BOTH, IN_MDCR, MDCR_TDA),     /* DBGCLAIMSET_EL1, DBGAUTHSTATUS_EL1 */
};

/* All bits that trap now; those that allow are turned round. */
static u64 traps_in(const struct arm_cpu *cpu, enum control control)
{
	u64 hcr = arm_hcr(cpu);

	switch (control) {
	case IN_HCR: return hcr ^ HCR_APK;
	case IN_HCRX: return ~arm_hcrx(cpu);
	case IN_CPTR: return cpu->cptr_el2;
	case IN_MDCR: break;
	}
	if (cpu->mdcr_el2 & MDCR_TDE || hcr & HCR_TGE)
		return cpu->mdcr_el2 | MDCR_TDA | MDCR_TDOSA | MDCR_TDRA;
	return cpu->mdcr_el2;
}

unsigned arm_el2_trap(const struct arm_cpu *cpu, unsigned key, bool write)
{
	if (!cpu->has_el2 || cpu_el(cpu) > 1)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];

		if ((key & r->mask) == r->match && r->access & (write ? WRITE : READ) &&
		    traps_in(cpu, r->control) & r->bits)
			return 2;
	}
	return 0;
}

bool arm_el2_may_trap(unsigned key, bool write)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++)
		if ((key & rules[i].mask) == rules[i].match &&
		    rules[i].access & (write ? WRITE : READ))
			return true;
	return false;
}

/* Registers of EL1 that have one of EL2 of the same CRn, CRm, op2 to take their place. CNTKCTL_EL1
 * and the timers see to it by themselves (timer_regs.c). */
static bool is_redirected(unsigned key)
{
	switch (key) {
	case SYSREG(3, 0, 1, 0, 0):  /* SCTLR */
	case SYSREG(3, 0, 1, 0, 3):  /* SCTLR2 */
	case SYSREG(3, 0, 2, 0, 0):  /* TTBR0 */
	case SYSREG(3, 0, 2, 0, 1):  /* TTBR1 */
	case SYSREG(3, 0, 2, 0, 2):  /* TCR */
	case SYSREG(3, 0, 2, 0, 3):  /* TCR2 */
	case SYSREG(3, 0, 4, 0, 0):  /* SPSR */
	case SYSREG(3, 0, 4, 0, 1):  /* ELR */
	case SYSREG(3, 0, 5, 1, 0):  /* AFSR0 */
	case SYSREG(3, 0, 5, 1, 1):  /* AFSR1 */
	case SYSREG(3, 0, 5, 2, 0):  /* ESR */
	case SYSREG(3, 0, 6, 0, 0):  /* FAR */
	case SYSREG(3, 0, 10, 2, 0): /* MAIR */
	case SYSREG(3, 0, 10, 2, 2): /* PIRE0 */
	case SYSREG(3, 0, 10, 2, 3): /* PIR */
	case SYSREG(3, 0, 10, 3, 0): /* AMAIR */
	case SYSREG(3, 0, 12, 0, 0): /* VBAR */
	case SYSREG(3, 0, 13, 0, 1): /* CONTEXTIDR */ return true;
	default: return false;
	}
}

#define OP1_EL2  (4u << 11)
#define OP1_EL12 (5u << 11)
#define OP1_MASK (7u << 11)

unsigned arm_vhe_key(const struct arm_cpu *cpu, unsigned key)
{
	unsigned el1 = key & ~OP1_MASK;

	if (!arm_is_host(cpu) || cpu_el(cpu) < 2)
		return key;
	if ((key & OP1_MASK) == OP1_EL12 && (is_redirected(el1) || el1 == SYSREG(3, 0, 1, 0, 2)))
		return el1;
	if (cpu_el(cpu) != 2)
		return key;
	if (key == SYSREG(3, 0, 1, 0, 2))
		return SYSREG(3, 4, 1, 1, 2); /* CPACR: CPTR */
	return is_redirected(key) ? key | OP1_EL2 : key;
}

/*
 * target/arm/el2.h - controls of EL2 and what they amount to (Arm DDI 0487, D24.2: HCR_EL2,
 * HCRX_EL2, MDCR_EL2, CPTR_EL2).
 */
#ifndef TARGET_ARM_EL2_H
#define TARGET_ARM_EL2_H

#include "target/arm/cpu.h"

#define HCR_VM      (1ull << 0)
#define HCR_SWIO    (1ull << 1)
#define HCR_PTW     (1ull << 2)
#define HCR_FMO     (1ull << 3)
#define HCR_IMO     (1ull << 4)
#define HCR_AMO     (1ull << 5)
#define HCR_VF      (1ull << 6)
#define HCR_VI      (1ull << 7)
#define HCR_VSE     (1ull << 8)
#define HCR_VIRTUAL (HCR_VF | HCR_VI | HCR_VSE)
#define HCR_FB      (1ull << 9)
#define HCR_BSU     (3ull << 10)
#define HCR_DC      (1ull << 12)
#define HCR_TWI     (1ull << 13)
#define HCR_TWE     (1ull << 14)
#define HCR_TID0    (1ull << 15)
#define HCR_TID1    (1ull << 16)
#define HCR_TID2    (1ull << 17)
#define HCR_TID3    (1ull << 18)
#define HCR_TSC     (1ull << 19)
#define HCR_TIDCP   (1ull << 20)
#define HCR_TACR    (1ull << 21)
#define HCR_TSW     (1ull << 22)
#define HCR_TPCP    (1ull << 23)
#define HCR_TPU     (1ull << 24)
#define HCR_TTLB    (1ull << 25)
#define HCR_TVM     (1ull << 26)
#define HCR_TGE     (1ull << 27)
#define HCR_TDZ     (1ull << 28)
#define HCR_HCD     (1ull << 29)
#define HCR_TRVM    (1ull << 30)
#define HCR_RW      (1ull << 31)
#define HCR_CD      (1ull << 32)
#define HCR_ID      (1ull << 33)
#define HCR_E2H     (1ull << 34)
#define HCR_TLOR    (1ull << 35)
#define HCR_TERR    (1ull << 36)
#define HCR_TEA     (1ull << 37)
#define HCR_APK     (1ull << 40)
#define HCR_API     (1ull << 41)
#define HCR_FWB     (1ull << 46)
#define HCR_TID4    (1ull << 49)
#define HCR_TICAB   (1ull << 50)
#define HCR_TOCU    (1ull << 52)
#define HCR_TTLBIS  (1ull << 54)
#define HCR_TTLBOS  (1ull << 55)

/* What acts on a guest only: behaves as 0 while EL0 belongs to a host at EL2. */
#define HCR_GUEST_ONLY                                                                             \
	(HCR_VM | HCR_SWIO | HCR_PTW | HCR_FMO | HCR_IMO | HCR_AMO | HCR_VIRTUAL | HCR_FB |        \
	 HCR_BSU | HCR_DC | HCR_TWI | HCR_TWE | HCR_TID0 | HCR_TID1 | HCR_TID2 | HCR_TID3 |        \
	 HCR_TSC | HCR_TIDCP | HCR_TACR | HCR_TSW | HCR_TPCP | HCR_TPU | HCR_TTLB | HCR_TVM |      \
	 HCR_TDZ | HCR_TRVM | HCR_TLOR | HCR_TERR | HCR_FWB | HCR_TID4 | HCR_TICAB | HCR_TOCU |    \
	 HCR_TTLBIS | HCR_TTLBOS | HCR_CD | HCR_ID | HCR_HCD)

#define HCRX_FNXS   (1ull << 3)
#define HCRX_MCE2   (1ull << 10)
#define HCRX_MSCEN  (1ull << 11)
#define HCRX_TCR2EN (1ull << 14)

#define MDCR_HPMN  0x1full
#define MDCR_TPMCR (1ull << 5)
#define MDCR_TPM   (1ull << 6)
#define MDCR_HPME  (1ull << 7)
#define MDCR_TDE   (1ull << 8)
#define MDCR_TDA   (1ull << 9)
#define MDCR_TDOSA (1ull << 10)
#define MDCR_TDRA  (1ull << 11)
#define MDCR_HPMD  (1ull << 17)
#define MDCR_HCCD  (1ull << 23)
#define MDCR_HLP   (1ull << 26)

#define CPTR_TFP        (1ull << 10) /* with E2H clear; set, it has the layout of CPACR_EL1 */
#define CPTR_TCPAC      (1ull << 31)
#define CPTR_FPEN_SHIFT 20 /* in CPACR_EL1 too */

/* arm_is_host() - EL2 is a host's (FEAT_VHE). arm_el0_in_host() - and EL0 is the host's too. */
static inline bool arm_is_host(const struct arm_cpu *cpu)
{
	return cpu->hcr_el2 & HCR_E2H;
}

static inline bool arm_el0_in_host(const struct arm_cpu *cpu)
{
	return (cpu->hcr_el2 & (HCR_E2H | HCR_TGE)) == (HCR_E2H | HCR_TGE);
}

/* arm_hcr() - the effective value of HCR_EL2 for EL1 and EL0; 0 without EL2. */
static inline u64 arm_hcr(const struct arm_cpu *cpu)
{
	u64 hcr = cpu->hcr_el2;

	if (arm_el0_in_host(cpu))
		return (hcr & ~HCR_GUEST_ONLY) | HCR_API | HCR_APK;
	if (hcr & HCR_TGE)
		hcr = (hcr & ~HCR_VIRTUAL) | HCR_FMO | HCR_IMO | HCR_AMO;
	return hcr & HCR_DC ? hcr | HCR_VM : hcr;
}

/* arm_control_el() - level whose SCTLR_ELx and TCR_ELx are in force. */
static inline unsigned arm_control_el(const struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);

	return el ? el : arm_el0_in_host(cpu) ? 2 : 1;
}

/* arm_hcrx() - the effective value of HCRX_EL2 for EL1 and EL0: what allows is set without it. */
u64 arm_hcrx(const struct arm_cpu *cpu);

/*
 * arm_el2_trap() - does EL2 trap an access of EL1 or EL0 to a system register or instruction?
 * @key: SYSREG(); @write: MSR or SYS.
 *
 * Return: 2 if so (EC 0x18), else 0. Accesses that are UNDEFINED or trapped to EL1 come first.
 */
unsigned arm_el2_trap(const struct arm_cpu *cpu, unsigned key, bool write);

/* arm_el2_may_trap() - whether some setting of EL2 would trap it: not to be translated inline. */
bool arm_el2_may_trap(unsigned key, bool write);

/* arm_el2_registers_add() - registers of EL2 that are more than a value, and ISR_EL1. */
void arm_el2_registers_add(struct arm_cpu *cpu);

/*
 * arm_vhe_key() - what an access at the current level to @key reaches: with E2H set, EL1's names
 * mean EL2's registers at EL2, and the names for EL12 mean EL1's.
 *
 * Return: SYSREG() of the register.
 */
unsigned arm_vhe_key(const struct arm_cpu *cpu, unsigned key);

#endif

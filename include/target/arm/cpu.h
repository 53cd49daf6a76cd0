/*
 * target/arm/cpu.h - state of one Arm CPU in AArch64 state (Arm DDI 0487, B1.2, D1, D24).
 */
#ifndef TARGET_ARM_CPU_H
#define TARGET_ARM_CPU_H

#include "accel/tcg/cpu.h"
#include "util/base.h"

/* Exception classes, ESR_ELx.EC (D24.2.40). */
enum arm_ec {
	EC_UNKNOWN = 0x00,
	EC_WFX = 0x01,
	EC_FP_ACCESS = 0x07,
	EC_PAUTH = 0x09,
	EC_BTI = 0x0d,
	EC_ILLEGAL_STATE = 0x0e,
	EC_SVC64 = 0x15,
	EC_HVC64 = 0x16,
	EC_SMC64 = 0x17,
	EC_SYSREG = 0x18,
	EC_ERET = 0x1a,
	EC_IABORT_LOWER = 0x20,
	EC_IABORT = 0x21,
	EC_PC_ALIGN = 0x22,
	EC_DABORT_LOWER = 0x24,
	EC_DABORT = 0x25,
	EC_SP_ALIGN = 0x26,
	EC_MOPS = 0x27,
	EC_SERROR = 0x2f,
	EC_BREAKPOINT_LOWER = 0x30,
	EC_BREAKPOINT = 0x31,
	EC_STEP_LOWER = 0x32,
	EC_STEP = 0x33,
	EC_WATCHPOINT_LOWER = 0x34,
	EC_WATCHPOINT = 0x35,
	EC_BRK64 = 0x3c,
};

/* Bits of PSTATE as they lie in SPSR_ELx (C5.2.19). */
#define SCTLR_DSSBS (1ull << 44)

#define PSTATE_SPSEL       (1u << 0)
#define PSTATE_EL_SHIFT    2
#define PSTATE_nRW         (1u << 4)
#define PSTATE_F           (1u << 6)
#define PSTATE_I           (1u << 7)
#define PSTATE_A           (1u << 8)
#define PSTATE_D           (1u << 9)
#define PSTATE_DAIF        (PSTATE_D | PSTATE_A | PSTATE_I | PSTATE_F)
#define PSTATE_BTYPE_SHIFT 10
#define PSTATE_SSBS        (1u << 12)
#define PSTATE_IL          (1u << 20)
#define PSTATE_SS          (1u << 21)
#define PSTATE_PAN         (1u << 22)
#define PSTATE_UAO         (1u << 23)
#define PSTATE_DIT         (1u << 24)
#define PSTATE_NZCV        (0xfu << 28)

/* Keys of FEAT_PAuth, in the order of their registers. */
enum arm_pac_key { PAC_IA, PAC_IB, PAC_DA, PAC_DB, PAC_GA, PAC_KEYS };

/* Who answers PSCI calls: the machine, by trapping this instruction. */
enum arm_conduit { ARM_CONDUIT_NONE, ARM_CONDUIT_HVC, ARM_CONDUIT_SMC };

/* Generic timers (D12.2), in the order in which their outputs are numbered. */
enum arm_timer {
	ARM_TIMER_PHYS,     /* CNTP: EL1 physical */
	ARM_TIMER_VIRT,     /* CNTV: EL1 virtual */
	ARM_TIMER_HYP,      /* CNTHP: EL2 physical */
	ARM_TIMER_SEC,      /* CNTPS: secure EL1 physical */
	ARM_TIMER_HYP_VIRT, /* CNTHV: EL2 virtual */
	ARM_TIMERS
};

struct arm_timer_regs {
	u64 ctl; /* ENABLE and IMASK; ISTATUS is computed */
	u64 cval;
};

enum arm_wait { ARM_WAIT_NONE, ARM_WAIT_INTERRUPT, ARM_WAIT_EVENT };

/* A synchronous exception that an instruction raised and ops->service has to take. */
struct arm_exception {
	u32 ec;       /* enum arm_ec */
	u32 iss;      /* ESR_ELx.ISS without IL */
	u32 iss2;     /* ESR_ELx.ISS2, set before arm_raise() */
	u64 far;      /* FAR_ELx where the class has one */
	u8 target_el; /* 0 = the usual routing */
	bool pending;
};

/* Bits of tcg.state_key, besides those of arm_state_key() alone. */
#define ARM_KEY_SP_ODD   (1u << 8)  /* the stack pointer is no multiple of 16 */
#define ARM_KEY_SP_CHECK (1u << 9)  /* ... and then it must not be a base (SCTLR_ELx.SA, SA0) */
#define ARM_KEY_ALIGN    (1u << 10) /* accesses must be aligned (SCTLR_ELx.A) */

#define ARM_BREAKPOINTS 6 /* the last two can compare contexts */
#define ARM_WATCHPOINTS 4

#define ARM_PMU_COUNTERS 6 /* event counters of the performance monitors */

struct arm_cpu {
	struct tcg_cpu tcg;

	u32 pstate; /* PSTATE_x without NZCV (which is tcg.nzcv) */
	/* PSTATE.BTYPE: how the current instruction was branched to. Kept only while bti_on, which
	 * is set once code of a guarded page has been executed. */
	u32 btype;
	bool bti_on, bti_seen;
	u32 fpcr, fpsr; /* use arm_set_fpcr(), arm_get_fpsr() and arm_set_fpsr() */
	u64 features;   /* bit n = enum arm_feature n */
	u64 sp_el[4];   /* banked stack pointers; the current one is tcg.r[31] */
	u64 elr_el[4], spsr_el[4], esr_el[4], far_el[4], vbar_el[4];
	u64 sctlr_el[4], tcr_el[4], ttbr0_el[4], ttbr1_el[4], mair_el[4];
	u64 tpidr_el[4], tpidrro_el0;
	u64 hcr_el2, hcrx_el2, hstr_el2, scr_el3, cpacr_el1, cptr_el2, mdcr_el2;
	u64 vttbr_el2, vtcr_el2, vsesr_el2, vdisr_el2;
	u64 scxtnum_el[4]; /* for software; no prediction depends on it */
	u64 contextidr_el[4], par_el1, cntkctl_el1, mdscr_el1, hpfar_el2;
	u64 vmpidr_el2, vpidr_el2, tcr2_el[4];
	u64 hdbssbr_el2, hdbssprod_el2;          /* FEAT_HDBSS; see target/arm/engines.h */
	u64 hacdbsbr_el2, hacdbscons_el2;        /* FEAT_HACDBS */
	struct arm_timer_regs timer[ARM_TIMERS]; /* after a change: arm_timers_update() */
	u64 cntvoff_el2, cntpoff_el2, cnthctl_el2, cntfrq_el0;
	u64 csselr_el1, oslsr_el1;
	/* Performance monitors; before and after a change: see target/arm/pmu.h */
	u64 pmcr_el0, pmselr_el0, pmuserenr_el0; /* PMCR without what is constant */
	u64 pmcnten_el0, pminten_el1, pmovs_el0;
	u64 pmccntr_el0, pmccfiltr_el0;
	u64 pmevcntr_el0[ARM_PMU_COUNTERS], pmevtyper_el0[ARM_PMU_COUNTERS];
	u64 dbgbvr[ARM_BREAKPOINTS], dbgbcr[ARM_BREAKPOINTS]; /* see target/arm/self_debug.h */
	u64 dbgwvr[ARM_WATCHPOINTS], dbgwcr[ARM_WATCHPOINTS];
	u64 midr, mpidr;
	u64 pac_key[PAC_KEYS][2]; /* low, high half */
	u32 irq_lines;            /* bits of enum arm_irq_line; atomic */
	GHashTable *sysregs;      /* registers of this CPU only, see target/arm/sysreg.h */
	u32 sp_low; /* for translated code: low bits of a stack pointer that was just written */
	u8 stepped; /* ARM_STEPPED_x: what the last software step executed */
	enum arm_wait waiting; /* set by WFI and WFE together with tcg.exit_request */
	bool has_el2, has_el3;
	bool pmu_by_level; /* a counter starts or stops when the exception level changes */
	u8 pa_range;       /* ID_AA64MMFR0_EL1.PARange */
	u8 pmu_version;    /* ID_AA64DFR0_EL1.PMUVer */
	u16 pmu_id;        /* PMCR_EL0.IMP and IDCODE */
	enum arm_conduit conduit;
	/* Selects tcg.mmu and tcg.state_key for the new PSTATE and system registers; may be
	 * NULL where neither changes (tests). */
	void (*state_changed)(struct arm_cpu *cpu);
	struct arm_exception excp;
	struct tcg_mmu *mmu_saved; /* tcg.mmu while such an access runs, else NULL */
	/* CPU interface of a GICv3, reached by system registers, and its reset with the CPU; NULL
	 * without one. ID_AA64PFR0_EL1.GIC tells the guest. */
	struct gicv3_cpu *icc;
	void (*icc_reset)(struct arm_cpu *cpu);
	struct arm_timers *timers;   /* NULL without arm_timers_create() */
	struct arm_pmu *pmu;         /* NULL without arm_pmu_create() */
	struct arm_mmu *mmu;         /* translation contexts, NULL without arm_mmu_create() */
	struct arm_engines *engines; /* dirty-state engines, NULL without arm_engines_create() */
	u64 id[8][8];                /* ID registers op0=3 op1=0 CRn=0, by CRm and op2 */
};

static inline struct arm_cpu *arm_cpu_of(struct tcg_cpu *cpu)
{
	return container_of(cpu, struct arm_cpu, tcg);
}

static inline unsigned cpu_el(const struct arm_cpu *cpu)
{
	return (cpu->pstate >> PSTATE_EL_SHIFT) & 3;
}

static inline bool cpu_has(const struct arm_cpu *cpu, unsigned feature)
{
	return cpu->features >> feature & 1;
}

/* Register n, 31 = zero. */
static inline u64 cpu_x(const struct arm_cpu *cpu, unsigned n)
{
	return n == 31 ? 0 : cpu->tcg.r[n];
}

/* Register n, 31 = stack pointer. */
static inline u64 cpu_xsp(const struct arm_cpu *cpu, unsigned n)
{
	return cpu->tcg.r[n];
}

static inline void cpu_set_x(struct arm_cpu *cpu, unsigned n, u64 val)
{
	if (n != 31)
		cpu->tcg.r[n] = val;
}

static inline void cpu_set_xsp(struct arm_cpu *cpu, unsigned n, u64 val)
{
	cpu->tcg.r[n] = val;
}

/* NZCV as four bits, N = 8 to V = 1. */
static inline unsigned cpu_nzcv(const struct arm_cpu *cpu)
{
	u32 f = cpu->tcg.nzcv;

	return (f >> 12 & 0xc) | (f >> 7 & 2) | (f & 1);
}

static inline void cpu_set_nzcv(struct arm_cpu *cpu, unsigned nzcv)
{
	cpu->tcg.nzcv = (nzcv & 0xc) << 12 | (nzcv & 2) << 7 | (nzcv & 1);
}

static inline struct tcg_vreg *cpu_v(struct arm_cpu *cpu, unsigned n)
{
	return &cpu->tcg.v[n];
}

/*
 * arm_get_fpsr(), arm_set_fpsr(), arm_set_fpcr() - floating-point status and control.
 *
 * Translated code keeps exception flags and rounding in the host's form: nobody else may look at
 * cpu->fpsr or change cpu->fpcr. Bits that do not exist are dropped; arm_state_changed() is called.
 * Context: the vCPU's thread outside of translated code, or the CPU does not run.
 */
u32 arm_get_fpsr(struct arm_cpu *cpu);
void arm_set_fpsr(struct arm_cpu *cpu, u32 val);
void arm_set_fpcr(struct arm_cpu *cpu, u32 val);

/*
 * arm_raise() - raise a synchronous exception at the current instruction.
 * @ec:  enum arm_ec.
 * @iss: syndrome bits 24:0.
 * @far: fault address, 0 if the class has none.
 */
_Noreturn void arm_raise(struct arm_cpu *cpu, unsigned ec, u32 iss, u64 far);

/* The current instruction is UNDEFINED. */
_Noreturn void arm_undefined(struct arm_cpu *cpu);

/* PSTATE or a system register that decides about translation has changed. */
static inline void arm_state_changed(struct arm_cpu *cpu)
{
	if (cpu->state_changed)
		cpu->state_changed(cpu);
}

/*
 * arm_step() - execute the instruction at the current pc with the reference functions.
 *
 * Context: below tcg_run(); raises exceptions with tcg_raise().
 */
void arm_step(struct tcg_cpu *cpu);

/* tcg_ops.translate: translate the region at the current pc. */
void arm_translate(struct tcg_cpu *cpu, struct trans *t);

/* The state that arm_translate() depends on, as the key for tcg_select(). */
u32 arm_state_key(const struct arm_cpu *cpu);

/* Features of the CPU model "max", one bit each. */
u64 arm_features_max(void);

/*
 * arm_cpu_reset() - state after a cold reset, at the highest exception level (D1.5).
 * @entry: where execution starts.
 *
 * Keeps features, has_el2, has_el3, pa_range, pmu_version, conduit, midr and mpidr, which the
 * creator sets, and fills the ID registers from them.
 */
void arm_cpu_reset(struct arm_cpu *cpu, u64 entry);

#endif

/*
 * target/arm/cpu-features.h - optional features that decide whether an instruction is defined
 * (Arm DDI 0487, A2.2 and the ID registers of D24.2).
 */
#ifndef TARGET_ARM_CPU_FEATURES_H
#define TARGET_ARM_CPU_FEATURES_H

enum arm_feature {
	ARM_FEAT_NONE,
	ARM_FEAT_CRC32,
	ARM_FEAT_LSE,
	ARM_FEAT_RCPC,
	ARM_FEAT_RCPC2,
	ARM_FEAT_LSE2,
	ARM_FEAT_FLAGM,
	ARM_FEAT_FLAGM2,
	ARM_FEAT_PAUTH,
	ARM_FEAT_MOPS,
	ARM_FEAT_WFXT,
	ARM_FEAT_XS,
	ARM_FEAT_SB,
	ARM_FEAT_RNG,
	ARM_FEAT_PAN,
	ARM_FEAT_UAO,
	ARM_FEAT_DIT,
	ARM_FEAT_SSBS,
	ARM_FEAT_FP, /* FP and AdvSIMD */
	ARM_FEAT_FP16,
	ARM_FEAT_DOTPROD,
	ARM_FEAT_RDM,
	ARM_FEAT_JSCVT,
	ARM_FEAT_FCMA,
	ARM_FEAT_FHM,
	ARM_FEAT_FRINTTS,
	ARM_FEAT_BF16,
	ARM_FEAT_I8MM,
	ARM_FEAT_AES,
	ARM_FEAT_PMULL,
	ARM_FEAT_SHA1,
	ARM_FEAT_SHA256,
	ARM_FEAT_SHA512,
	ARM_FEAT_SHA3,
	ARM_FEAT_SM3,
	ARM_FEAT_SM4,
	ARM_FEAT_CSSC,
	ARM_FEAT_HBC,
	/* Not about single instructions. */
	ARM_FEAT_DPB,     /* DC CVAP */
	ARM_FEAT_DPB2,    /* DC CVADP */
	ARM_FEAT_TLBIOS,  /* outer shareable TLB maintenance */
	ARM_FEAT_HAFDBS,  /* access flag and dirty state by hardware */
	ARM_FEAT_HPDS,    /* hierarchical permissions can be switched off */
	ARM_FEAT_VMID16,  /* VMIDs of 16 bits */
	ARM_FEAT_TGRAN16, /* granule of 16 KiB */
	ARM_FEAT_LPA2,    /* addresses of 52 bits in pages of 4 and 16 KiB */
	ARM_FEAT_XNX,     /* stage 2 tells execution at EL1 from EL0 */
	ARM_FEAT_FWB,     /* stage 2 forces write-back */
	ARM_FEAT_HCX,     /* HCRX_EL2 */
	ARM_FEAT_EVT,     /* more traps in HCR_EL2 */
	ARM_FEAT_ECV,     /* offset of the physical counter, traps of the virtual one */
	ARM_FEAT_VHE,     /* hosts at EL2 */
	ARM_FEAT_HAFT,    /* access flag of tables by hardware, with FEAT_TCR2 */
	ARM_FEAT_HDBSS,   /* list of pages that become dirty; with EL2 only */
	ARM_FEAT_HACDBS,  /* cleaning of listed pages; with EL2 only */
	ARM_FEAT_SPECRES, /* CFP, DVP and CPP RCTX */
	ARM_FEAT_CSV2_2,  /* SCXTNUM_ELx */
	ARM_FEAT_IDST,    /* reads of ID registers at EL0 are trapped, not UNDEFINED */
	ARM_FEAT_E0PD,    /* half of the address space can be closed to EL0 */
	ARM_FEAT_PAN3,    /* PAN counts for pages that EL0 may only execute */
	ARM_FEAT_QARMA5,  /* the algorithm of FEAT_PAuth; else it is our own */
	ARM_FEAT_BTI,     /* branch targets in guarded pages */
	ARM_FEAT_RAS,     /* ESB and error records, of which there is none */
	/* What follows from how this CPU is made, and is only told: CnP, TTL, small tables, block
	 * sizes that change, no leaks between contexts, hints that do nothing. */
	ARM_FEAT_INHERENT,
	ARM_FEAT_COUNT
};

/* arm_cpu.pa_range with FEAT_LPA, and here with FEAT_LVA: 52 bits in pages of 64 KiB. */
#define PARANGE_52 6

#endif

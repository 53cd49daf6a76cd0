/*
 * target/arm/mmu.h - address translation, TLB maintenance, and the boundary to physical memory.
 */
#ifndef TARGET_ARM_MMU_H
#define TARGET_ARM_MMU_H

#include "target/arm/cpu.h"

/* One page of physical memory as the machine has it. */
struct arm_bus_page {
	u8 *host;      /* 4 KiB, NULL: not RAM, use read and write */
	bool writable; /* false: stores go to write (ROM) */
	bool track;    /* stores must be told to dirty() first */
};

/* Physical memory of a machine. All functions run on the vCPU's thread. */
struct arm_bus {
	/* Look up the page at @phys (4 KiB aligned). */
	void (*page)(void *opaque, u64 phys, struct arm_bus_page *page);
	/* Access of 1, 2, 4 or 8 bytes to what is not RAM. Return: false for an external abort. */
	bool (*read)(void *opaque, u64 phys, unsigned size, u64 *val);
	bool (*write)(void *opaque, u64 phys, unsigned size, u64 val);
	/* The page at @phys is about to be written; page() has said track. */
	void (*dirty)(void *opaque, u64 phys);
	void *opaque;
};

/*
 * arm_mmu_create() - give the CPU its translation state.
 * @bus: physical memory; must outlive the CPU.
 *
 * Sets cpu->mmu, cpu->state_changed and the TLB maintenance registers, and selects the context for
 * the current state. tcg_cpu_register() must have been called.
 */
void arm_mmu_create(struct arm_cpu *cpu, const struct arm_bus *bus);
void arm_mmu_destroy(struct arm_cpu *cpu);

/* tcg_ops.fill, io_read, io_write and first_store of a CPU with arm_mmu_create(). */
void arm_mmu_fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		  struct tcg_page *page);
u64 arm_mmu_io_read(struct tcg_cpu *cpu, u64 phys, unsigned size);
void arm_mmu_io_write(struct tcg_cpu *cpu, u64 phys, u64 val, unsigned size);
void arm_mmu_first_store(struct tcg_cpu *cpu, const struct tcg_page *page);

/* arm_mmu_flush() - forget all cached translations. Own thread, or the CPU does not run. */
void arm_mmu_flush(struct arm_cpu *cpu);

/*
 * arm_mmu_controls_changed() - a register that changes what translations mean has been written
 * (SCTLR, TCR, MAIR, HCR_EL2, VTCR_EL2). Nothing is flushed: the old translations are found again
 * with the old controls. arm_state_changed() must follow.
 */
void arm_mmu_controls_changed(struct arm_cpu *cpu);

/* arm_mmu_rearm() - make all stores report to dirty() again. Own thread, or not running. */
void arm_mmu_rearm(struct arm_cpu *cpu);

/*
 * arm_mmu_begin_unpriv() - make accesses count as those of EL0; arm_mmu_end_unpriv() - no more.
 * An exception in between ends it too.
 */
void arm_mmu_begin_unpriv(struct arm_cpu *cpu);
void arm_mmu_end_unpriv(struct arm_cpu *cpu);

/* Outcome of a translation. */
struct arm_translation {
	u64 phys;               /* of the byte asked for */
	u64 size;               /* bytes that the descriptors map alike */
	bool read, write, exec; /* what the same privilege may do with the page */
	bool device;            /* Device memory: no unaligned accesses */
	bool not_global;        /* only for the ASID: nG, or not of the upper range */
	bool normal;            /* of stage 2: Normal memory, whatever stage 1 says */
	bool guarded;           /* indirect branches into the page must hit a BTI */
	/* If it failed: */
	bool fault;
	u8 fsc;         /* ISS.DFSC or IFSC; 0 is the address size fault of level 0 */
	bool stage2;    /* fault at stage 2: goes to EL2 */
	bool s1ptw;     /* ... on a stage-1 table */
	bool hw_update; /* ... that was to be written, for its access flag or dirty state */
	bool hdbssf;    /* because the page could not be logged as dirty (ESR_EL2.ISS2.HDBSSF) */
	u64 ipa;        /* faulting intermediate address, for HPFAR_EL2 */
};

/* What for: who only looks changes no descriptor, and is stopped by no access flag that hardware
 * would set; AT sets access flags, and makes no page dirty. */
enum arm_purpose { ARM_FOR_ACCESS, ARM_FOR_AT, ARM_FOR_LOOK };

/* Whose translation is asked for. */
struct arm_regime {
	u8 el;            /* exception level whose registers are used, 1 to 3 */
	bool user;        /* with the rights of EL0 */
	bool pan;         /* privileged accesses to user pages are refused */
	bool stage2;      /* stage 2 follows */
	bool only_stage1; /* for AT S1E*: ignore stage 2 for the result */
	u8 purpose;       /* enum arm_purpose */
};

/* The regime of the CPU's current state, or of its unprivileged accesses with @user. */
struct arm_regime arm_regime_current(const struct arm_cpu *cpu, bool user);

/*
 * arm_translate_address() - walk the tables.
 * @access: what is attempted; TCG_WRITE also updates the dirty state of descriptors.
 *
 * Return: true on success; on failure @out says why. Raises nothing.
 * Source: Arm DDI 0487, D8.2 to D8.5 (VMSAv8-64, all three granules).
 */
bool arm_translate_address(struct arm_cpu *cpu, const struct arm_regime *regime, u64 va,
			   enum tcg_access access, struct arm_translation *out);

#endif

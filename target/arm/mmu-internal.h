/*
 * target/arm/mmu-internal.h - translation contexts of one CPU.
 */
#ifndef TARGET_ARM_MMU_INTERNAL_H
#define TARGET_ARM_MMU_INTERNAL_H

#include "accel/tcg/mem.h"
#include "target/arm/mmu.h"

#define ARM_CONTEXTS 32
#define ARM_CONTROLS 16
#define BUS_CACHE    64
#define ARM_OWN      8

/* Soft TLB of one address space and privilege. */
struct arm_context {
	struct tcg_mmu *tlb; /* NULL until first used */
	u64 used;            /* for least recently used */
	/* Ranges that cover all blocks of more than 4 KiB of which pages are cached: an address in
	 * them invalidates everything. */
	struct {
		u64 start, last;
	} blocks[8];
	unsigned nblocks;
	bool has_global; /* of what is cached, something holds for every ASID */
	/* With shared: the context is for all address spaces. What belongs only to @asid are these
	 * pages; more than ARM_OWN: too many to name. */
	bool shared;
	unsigned asid, nown;
	u64 own[ARM_OWN];
	/* The same with the other PAN, and what its unprivileged accesses go to, once they are
	 * known; void if the stamp is not that of struct arm_mmu. */
	struct arm_context *pan_peer, *user_peer;
	u32 peers_stamp;
};

/* What, beside address space and privilege, decides about the translations of a regime. */
struct arm_controls {
	u64 sctlr, tcr, mair, hcr, vtcr;
};

struct arm_mmu {
	const struct arm_bus *bus;
	/* Recent sets of controls; contexts have the number of theirs in the key. So a world switch
	 * finds what it left. */
	struct arm_controls controls[ARM_CONTROLS];
	u64 controls_used[ARM_CONTROLS]; /* for least recently used; 0 = free */
	u8 controls_of[4];               /* number of the set in force for EL n */
	u8 controls_known;               /* bit n: controls_of[n] is up to date */
	u64 keys[ARM_CONTEXTS];          /* context_key() of each, ~0 = free */
	u8 recent[16];                   /* number of the last one by KEY_KIND of the key */
	struct arm_context contexts[ARM_CONTEXTS];
	bool split;      /* no shared contexts any more */
	unsigned floods; /* changes of ASID that flushed a shared context, net of those that did not
			  */
	u32 peers_stamp; /* changes when a context is given another key */
	u64 clock;
	/* Recent answers of bus->page for table walks. */
	struct {
		u64 phys; /* ~0 = none */
		struct arm_bus_page page;
	} cache[BUS_CACHE];
};

/* bus->page through a small cache. @phys: 4 KiB aligned. */
void arm_bus_lookup(struct arm_cpu *cpu, u64 phys, struct arm_bus_page *page);

/* arm_smallest_txsz() - the smallest TCR_ELx.T0SZ or (@high) T1SZ that level @el may have: of the
 * largest address space, which has 48 or 52 bits. */
unsigned arm_smallest_txsz(const struct arm_cpu *cpu, unsigned el, bool high);

/* VMID of the current guest, of 8 or 16 bits as VTCR_EL2.VS says. */
unsigned arm_vmid(const struct arm_cpu *cpu);

/* A leaf of the stage-2 tables that VTTBR_EL2 names. */
struct arm_stage2_leaf {
	u64 desc;
	u64 where; /* physical address of the descriptor */
	u64 phys;  /* that it maps @ipa to, from the start of its range */
	u64 size;  /* bytes that it maps */
	int level;
};

/* arm_stage2_find() - walk stage 2 for @ipa without looking at permissions or access flags and
 * without changing anything. Return: false for any fault. */
bool arm_stage2_find(struct arm_cpu *cpu, u64 ipa, struct arm_stage2_leaf *found);

/* arm_stage2_is_wide() - VTCR_EL2.DS is in force: addresses of 52 bits in 4 and 16 KiB pages. */
bool arm_stage2_is_wide(const struct arm_cpu *cpu);

/* Register TLB maintenance and address translation instructions. */
void arm_tlbi_init(struct arm_cpu *cpu);

/* Flush what matches; @va = ~0: all addresses; @asid < 0: all, @vmid < 0: all. With @va and @asid
 * global translations match, too. */
void arm_mmu_flush_matching(struct arm_cpu *cpu, unsigned el, int vmid, int asid, u64 va);

#endif

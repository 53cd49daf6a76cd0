/*
 * accel/tcg/mem.h - soft TLB and guest memory accesses by virtual address.
 *
 * Only accesses that hit a fast entry are inline; all others go through tcg_load_slow() and
 * tcg_store_slow(), which call tcg_ops.fill and may not return (tcg_raise()).
 */
#ifndef ACCEL_TCG_MEM_H
#define ACCEL_TCG_MEM_H

#include "accel/tcg/cpu.h"

#define TLB_BITS 10
#define TLB_SIZE (1u << TLB_BITS)
#define JC_BITS  14
#define JC_SIZE  (1u << JC_BITS)

/* Reasons, in the low bits of a write tag, why a store must not take the fast path. */
#define TLB_TRACK 1u /* first_store not called yet */
#define TLB_CODE  2u /* page holds translated code */
#define TLB_EMPTY (~(u64)0)

#define TLB_VOTES_ENOUGH 8u /* votes from which on loads are translated to expect an addend */
#define TLB_VOTES_MAX    64u

struct tlb_entry {
	u64 tag;    /* virtual page | reasons; TLB_EMPTY = none */
	u64 addend; /* host address - virtual address */
};

struct page_hint {
	u64 page;   /* virtual */
	u64 addend; /* host address - virtual address */
	u64 limit;  /* first offset in the page that the hint does not cover; 0 = no hint */
	u64 range;  /* the same for a range of accesses, see e_range_begin() */
};

struct jc_entry {
	u64 pc;     /* virtual address; odd = empty */
	void *host; /* entry of the region in the code cache */
};

#define TLB2_SETS 2048u
#define TLB2_WAYS 4u
#define IO_SIZE   16u
#define EXEC_SIZE 256u

/* Second level: what ops->fill said of a page of RAM. */
struct tlb2_entry {
	u64 page; /* virtual | TLB2_x; TLB_EMPTY = none */
	u64 phys;
	u8 *host;
	u32 gen;       /* of tcg_mmu when it was filled */
	u32 write_gen; /* the same; another one: not writable without asking again */
};

/* Pages for one kind of access: I/O, or instructions. */
struct tlb_special {
	u64 page; /* virtual | enum tcg_access */
	u64 phys;
	u8 *host;
	u32 gen;
	bool guarded;
};

/* Soft TLB and jump cache of one translation regime, address space and privilege. */
struct tcg_mmu {
	struct page_hint hint_r[32], hint_w[32]; /* last page used with base register n */
	/* What every change of context looks at, in one cache line. */
	void *owner;   /* the target's */
	u32 code_gen;  /* number of code pages ever when w[] was last cleared for them */
	u32 flush_gen; /* how often all translations had been dropped when jc[] was cleared */
	u32 jc_key;    /* state_key that jc[] was filled under */
	/* The addend that most entries of r[] get, and by how many votes; see note_addend(). */
	u32 votes;
	u64 expected;
	struct tlb_entry r[TLB_SIZE], w[TLB_SIZE];
	struct jc_entry jc[JC_SIZE];
	/* Bit n: the n-th 64th of the array may hold entries; a flush need not touch the rest. */
	u64 r_used, w_used, jc_used;
	u64 phys[TLB_SIZE]; /* of w[], for first_store and code pages */
	u32 hints_used;     /* bit n: hint_r[n] or hint_w[n] may hold something */
	u32 gen, write_gen; /* entries below that have others are void; gen is never 0 */
	u32 victim;         /* way to be replaced next */
	struct tlb2_entry second[TLB2_SETS][TLB2_WAYS];
	struct tlb_special io[IO_SIZE], exec[EXEC_SIZE];
	u64 exec_seen[64]; /* hashed: pages that exec[] and jc[] may be about */
};

static inline unsigned tlb_index(u64 va)
{
	return (va >> TCG_PAGE_BITS) & (TLB_SIZE - 1);
}

/*
 * tcg_mmu_create() - allocate an empty soft TLB.
 *
 * Return: owned by the caller, to be freed with tcg_mmu_destroy().
 */
struct tcg_mmu *tcg_mmu_create(void);
void tcg_mmu_destroy(struct tcg_mmu *mmu);

/* Forget all translations, or those of one page, whatever the topmost byte of the address. Context:
 * the vCPU's thread. */
void tcg_mmu_flush(struct tcg_mmu *mmu);
void tcg_mmu_flush_page(struct tcg_mmu *mmu, u64 va);

/* Forget only where translated code is. */
void tcg_mmu_flush_code(struct tcg_mmu *mmu);

/* Make every store look again whether its page holds code. */
void tcg_mmu_flush_stores(struct tcg_mmu *mmu);

/* Make every store slow again, so that first_store is called anew. */
void tcg_mmu_rearm(struct tcg_mmu *mmu);

/*
 * tcg_invalidate() - somebody other than a vCPU wrote memory: discard translations of it.
 * @phys, @size: bytes.
 *
 * Context: any thread. Devices, loaders and incoming migration must call it for writes to memory
 * that may hold code.
 */
void tcg_invalidate(u64 phys, u64 size);

/* tcg_invalidate_host() - the same by the host address of guest memory. */
void tcg_invalidate_host(const void *host, u64 size);

/*
 * tcg_load_slow() - load that missed the fast path.
 * @va:   any alignment; may cross a page.
 * @size: 1, 2, 4 or 8 bytes.
 *
 * Return: the value, zero extended.
 */
u64 tcg_load_slow(struct tcg_cpu *cpu, u64 va, unsigned size);
void tcg_store_slow(struct tcg_cpu *cpu, u64 va, u64 val, unsigned size);

/* The same for translated code: @size is bytes | count << 8, values in cpu->transfer[2 * n]. */
void tcg_slow_load(struct tcg_cpu *cpu, u64 va, unsigned size);
void tcg_slow_store(struct tcg_cpu *cpu, u64 va, unsigned size);
void tcg_slow_store8(struct tcg_cpu *cpu, u64 va, u64 val);
void tcg_slow_store16(struct tcg_cpu *cpu, u64 va, u64 val);
void tcg_slow_store32(struct tcg_cpu *cpu, u64 va, u64 val);
void tcg_slow_store64(struct tcg_cpu *cpu, u64 va, u64 val);

/*
 * tcg_host() - host address of a naturally aligned or in-page access, for atomics.
 * @access: TCG_READ or TCG_WRITE (which also implies readable).
 * @size:   1 to 16 bytes, must not cross a page.
 *
 * Return: the address; NULL if the page is not memory. Raises like an access.
 */
void *tcg_host(struct tcg_cpu *cpu, u64 va, unsigned size, enum tcg_access access);

/* tcg_probe() - raise what an access of @size bytes at @va would raise, page by page. */
void tcg_probe(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access);

/* tcg_exec_page() - page to fetch instructions at @va from, see tcg_ops.fill. May raise. */
void tcg_exec_page(struct tcg_cpu *cpu, u64 va, struct tcg_page *page);

/* Instruction word at @va. */
u32 tcg_fetch(struct tcg_cpu *cpu, u64 va);

static inline u64 tcg_load(struct tcg_cpu *cpu, u64 va, unsigned size)
{
	const struct tlb_entry *e = &cpu->mmu->r[tlb_index(va)];
	const void *host = (const void *)(uintptr_t)(va + e->addend);

	if (unlikely(e->tag != ((va + size - 1) & TCG_PAGE_MASK)))
		return tcg_load_slow(cpu, va, size);

	switch (size) {
	case 1: return *(const u8 *)host;
	case 2: {
		u16 v;

		memcpy(&v, host, sizeof(v));
		return v;
	}
	case 4: {
		u32 v;

		memcpy(&v, host, sizeof(v));
		return v;
	}
	default: {
		u64 v;

		memcpy(&v, host, sizeof(v));
		return v;
	}
	}
}

static inline void tcg_store(struct tcg_cpu *cpu, u64 va, u64 val, unsigned size)
{
	const struct tlb_entry *e = &cpu->mmu->w[tlb_index(va)];

	if (unlikely(e->tag != ((va + size - 1) & TCG_PAGE_MASK)))
		tcg_store_slow(cpu, va, val, size);
	else
		memcpy((void *)(uintptr_t)(va + e->addend), &val, size);
}

#endif

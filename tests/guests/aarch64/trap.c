/* trap.c - test guests on arm64: noting exceptions, tables of all granules (Arm DDI 0487, D8). */
#include "trap.h"
#include "layout.h"

#define POOL     (RAM_BASE + (64ul << 20)) /* tables and pages, identity mapped */
#define POOL_END (RAM_BASE + (100ul << 20))

void trap_taken(u64 *x);

volatile struct trap trap;
volatile u64 trap_resume, trap_spsr_set;

static u64 pool = POOL;
static unsigned granule;
static u64 high_root;

void trap_taken(u64 *x)
{
	trap.count++;
	trap.esr = mrs("esr_el1");
	trap.elr = mrs("elr_el1");
	trap.far = mrs("far_el1");
	trap.spsr = mrs("spsr_el1");
	if (!x) /* from EL0 */
		return;
	msr("elr_el1", trap_resume ? trap_resume : trap.elr + 4);
	msr("spsr_el1", trap.spsr | trap_spsr_set);
	trap_resume = trap_spsr_set = 0;
}

static u64 take(u64 size)
{
	u64 at = (pool + size - 1) & -size;

	pool = at + size;
	if (pool > POOL_END)
		die("no memory left for tables");
	for (u64 i = 0; i < size; i += 8)
		*(volatile u64 *)(at + i) = 0;
	return at;
}

u64 page_alloc(u64 value)
{
	u64 at = take(1ul << 16);

	for (u64 i = 0; i < 1ul << 16; i += 8)
		*(volatile u64 *)(at + i) = value;
	return at;
}

u64 map_root(void)
{
	return take(1ul << granule);
}

void map_begin(unsigned lg)
{
	/* 39, 36 and 42 bits: whole tables at level 1 or 2. */
	u64 txsz = lg == 12 ? 25 : lg == 14 ? 28 : 22, tg1 = lg == 12 ? 2 : lg == 14 ? 1 : 3;

	granule = lg;
	pool = POOL;
	high_root = map_root();
	msr("ttbr1_el1", high_root);
	msr("tcr_el1",
	    (TCR & ~(1ul << 23)) | txsz << 16 | tg1 << 30 | 3ul << 28 | 1ul << 26 | 1ul << 24);
	tlbi_all();
}

volatile u64 *map_entry(u64 root, u64 va)
{
	unsigned stride = granule - 3;
	volatile u64 *table = (u64 *)(root ? root : high_root);
	int level = granule == 12 ? 1 : 2;

	for (;; level++) {
		unsigned shift = granule + stride * (3 - level);
		volatile u64 *entry = &table[va >> shift & ((1ul << stride) - 1)];

		if (level == 3)
			return entry;
		if (!*entry)
			*entry = take(1ul << granule) | 3;
		table = (u64 *)(*entry & 0xfffffffff000);
	}
}

void map_page(u64 va, u64 pa, u64 attributes)
{
	*map_entry(0, va) = pa | attributes | PTE_VALID;
	asm volatile("dsb ishst; isb" : : : "memory");
}

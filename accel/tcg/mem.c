/* accel/tcg/mem.c - soft TLB: fills, slow accesses and flushes (no architecture is named here). */
#include "accel/tcg/mem.h"
#include "accel/tcg/code.h"
#include "accel/tcg/debug.h"

#define TLB2_READABLE 1u
#define TLB2_WRITABLE 2u
#define TLB2_TRACK    4u  /* first_store not called yet */
#define TLB2_EXEC     8u  /* instructions may be fetched... */
#define TLB2_GUARDED  16u /* ... and this is tcg_page.guarded */

struct tcg_mmu *tcg_mmu_create(void)
{
	struct tcg_mmu *mmu = g_new0(struct tcg_mmu, 1);

	mmu->r_used = mmu->w_used = mmu->jc_used = ~(u64)0;
	tcg_mmu_flush(mmu);
	return mmu;
}

void tcg_mmu_destroy(struct tcg_mmu *mmu)
{
	g_free(mmu);
}

/* Empty the 64ths of an array of @size bytes that @used names. */
static void clear_used(void *array, size_t size, u64 *used)
{
	size_t part = size / 64;

	for (u64 left = *used; left; left &= left - 1)
		memset((u8 *)array + __builtin_ctzll(left) * part, 0xff, part);
	*used = 0;
}

static void forget_hints(struct tcg_mmu *mmu)
{
	if (mmu->hints_used)
		memset(mmu->hint_r, 0, sizeof(mmu->hint_r) + sizeof(mmu->hint_w));
	mmu->hints_used = 0;
}

/* Targets may ignore the topmost byte of an address when they access memory, and each value of it
 * has entries of its own. */
static bool is_same_page(u64 a, u64 b)
{
	return ((a ^ b) & TCG_PAGE_MASK) << 8 == 0;
}

static void forget_hints_for(struct tcg_mmu *mmu, u64 va)
{
	for (u32 left = mmu->hints_used; left; left &= left - 1) {
		unsigned i = __builtin_ctz(left);

		if (is_same_page(mmu->hint_r[i].page, va))
			mmu->hint_r[i] = (struct page_hint){ 0 };
		if (is_same_page(mmu->hint_w[i].page, va))
			mmu->hint_w[i] = (struct page_hint){ 0 };
	}
}

/* The second level is emptied by counting on: it is large. */
static void next_generation(struct tcg_mmu *mmu)
{
	if (++mmu->gen)
		return;
	memset(mmu->second, 0, sizeof(mmu->second));
	memset(mmu->io, 0, sizeof(mmu->io));
	memset(mmu->exec, 0, sizeof(mmu->exec));
	mmu->gen = 1;
}

void tcg_mmu_flush(struct tcg_mmu *mmu)
{
	forget_hints(mmu);
	next_generation(mmu);
	clear_used(mmu->r, sizeof(mmu->r), &mmu->r_used);
	clear_used(mmu->w, sizeof(mmu->w), &mmu->w_used);
	clear_used(mmu->jc, sizeof(mmu->jc), &mmu->jc_used);
	memset(mmu->exec_seen, 0, sizeof(mmu->exec_seen));
}

void tcg_mmu_flush_stores(struct tcg_mmu *mmu)
{
	memset(mmu->hint_w, 0, sizeof(mmu->hint_w));
	clear_used(mmu->w, sizeof(mmu->w), &mmu->w_used);
}

void tcg_mmu_rearm(struct tcg_mmu *mmu)
{
	tcg_mmu_flush_stores(mmu);
	mmu->write_gen++;
}

void tcg_mmu_flush_code(struct tcg_mmu *mmu)
{
	clear_used(mmu->jc, sizeof(mmu->jc), &mmu->jc_used);
}

static struct tlb2_entry *second_set(struct tcg_mmu *mmu, u64 va)
{
	return mmu->second[(va >> TCG_PAGE_BITS) % TLB2_SETS];
}

static struct tlb_special *special_slot(struct tlb_special *array, unsigned size, u64 va)
{
	return &array[(va >> TCG_PAGE_BITS) % size];
}

static unsigned exec_index(u64 va)
{
	return (va >> TCG_PAGE_BITS) % (64 * ARRAY_SIZE(((struct tcg_mmu *)NULL)->exec_seen));
}

/* Drop from the jump cache what lies in the page, if code of it (or of one like it) has run. */
static void forget_jumps(struct tcg_mmu *mmu, u64 va)
{
	unsigned slots = TCG_PAGE_SIZE >> 2; /* of one page */
	unsigned first = (va >> 2) & (JC_SIZE - 1) & ~(slots - 1), bit = exec_index(va);

	if (!(mmu->exec_seen[bit / 64] >> bit % 64 & 1))
		return;
	for (unsigned i = first; i < first + slots; i++)
		if ((mmu->jc[i].pc & TCG_PAGE_MASK) == (va & TCG_PAGE_MASK))
			mmu->jc[i].pc = ~(u64)0;
}

void tcg_mmu_flush_page(struct tcg_mmu *mmu, u64 va)
{
	unsigned index = tlb_index(va);

	forget_hints_for(mmu, va);
	for (unsigned way = 0; way < TLB2_WAYS; way++)
		if (is_same_page(second_set(mmu, va)[way].page, va))
			second_set(mmu, va)[way].gen = 0;
	special_slot(mmu->io, IO_SIZE, va)->gen = 0;
	special_slot(mmu->exec, EXEC_SIZE, va)->gen = 0;
	mmu->r[index].tag = TLB_EMPTY;
	mmu->w[index].tag = TLB_EMPTY;
	forget_jumps(mmu, va);
}

/* ---- second level ---- */

static struct tlb2_entry *second_find(struct tcg_mmu *mmu, u64 va)
{
	struct tlb2_entry *set = second_set(mmu, va);

	for (unsigned way = 0; way < TLB2_WAYS; way++)
		if ((set[way].page & TCG_PAGE_MASK) == (va & TCG_PAGE_MASK) &&
		    set[way].gen == mmu->gen)
			return &set[way];
	return NULL;
}

/* Is the access known to be allowed, without asking the target? */
static bool second_level(struct tcg_mmu *mmu, u64 va, enum tcg_access access, struct tcg_page *page)
{
	const struct tlb2_entry *e = second_find(mmu, va);

	if (!e)
		return false;
	*page = (struct tcg_page){
		.phys = e->phys,
		.host = e->host,
		.readable = e->page & TLB2_READABLE,
		.writable = e->page & TLB2_WRITABLE && e->write_gen == mmu->write_gen,
		.track = e->page & TLB2_TRACK,
	};
	return access == TCG_READ ? page->readable : page->writable;
}

/* A place for @va, which has none: a void one, or each in turn. */
static struct tlb2_entry *second_place(struct tcg_mmu *mmu, u64 va)
{
	struct tlb2_entry *e = NULL, *set = second_set(mmu, va);

	for (unsigned way = 0; !e && way < TLB2_WAYS; way++)
		if (set[way].gen != mmu->gen)
			e = &set[way];
	return e ? e : &set[mmu->victim++ % TLB2_WAYS];
}

static void second_put(struct tcg_mmu *mmu, u64 va, const struct tcg_page *page)
{
	struct tlb2_entry *known = second_find(mmu, va), *e = known ? known : second_place(mmu, va);
	u64 exec = known ? known->page & (TLB2_EXEC | TLB2_GUARDED) : 0;

	*e = (struct tlb2_entry){
		.page = (va & TCG_PAGE_MASK) | (page->readable ? TLB2_READABLE : 0) |
			(page->writable ? TLB2_WRITABLE : 0) | (page->track ? TLB2_TRACK : 0) |
			exec,
		.phys = page->phys,
		.host = page->host,
		.gen = mmu->gen,
		.write_gen = mmu->write_gen,
	};
}

/* The same for instructions. */
static bool second_exec(struct tcg_mmu *mmu, u64 va, struct tcg_page *page)
{
	const struct tlb2_entry *e = second_find(mmu, va);

	if (!e || !(e->page & TLB2_EXEC))
		return false;
	*page = (struct tcg_page){ .phys = e->phys,
				   .host = e->host,
				   .guarded = e->page & TLB2_GUARDED };
	return true;
}

static void second_put_exec(struct tcg_mmu *mmu, u64 va, const struct tcg_page *page)
{
	struct tlb2_entry *e = second_find(mmu, va);

	if (!e) {
		e = second_place(mmu, va);
		*e = (struct tlb2_entry){ .page = va & TCG_PAGE_MASK,
					  .phys = page->phys,
					  .host = page->host,
					  .gen = mmu->gen };
	}
	e->page |= TLB2_EXEC | (page->guarded ? TLB2_GUARDED : 0);
}

static bool special_find(const struct tcg_mmu *mmu, const struct tlb_special *e, u64 va,
			 enum tcg_access access, struct tcg_page *page)
{
	if (e->gen != mmu->gen || e->page != ((va & TCG_PAGE_MASK) | access))
		return false;
	*page = (struct tcg_page){ .phys = e->phys, .host = e->host, .guarded = e->guarded };
	return true;
}

static void special_put(const struct tcg_mmu *mmu, struct tlb_special *e, u64 va,
			enum tcg_access access, const struct tcg_page *page)
{
	*e = (struct tlb_special){ (va & TCG_PAGE_MASK) | access, page->phys, page->host, mmu->gen,
				   page->guarded };
}

void tcg_exec_page(struct tcg_cpu *cpu, u64 va, struct tcg_page *page)
{
	struct tcg_mmu *mmu = cpu->mmu;
	struct tlb_special *e = special_slot(mmu->exec, EXEC_SIZE, va);

	if (special_find(mmu, e, va, TCG_EXEC, page))
		return;
	if (!second_exec(mmu, va, page)) {
		cpu->ops->fill(cpu, va, TCG_EXEC, 4, page);
		if (!page->host)
			return;
		second_put_exec(mmu, va, page);
		mmu->exec_seen[exec_index(va) / 64] |= (u64)1 << exec_index(va) % 64;
	}
	special_put(mmu, e, va, TCG_EXEC, page);
}

/* ---- first level ---- */

/* Majority vote: what is left over when every two different ones cancel out. */
static void note_addend(struct tcg_mmu *mmu, u64 addend)
{
	if (addend == mmu->expected) {
		mmu->votes += mmu->votes < TLB_VOTES_MAX;
	} else if (mmu->votes) {
		mmu->votes--;
	} else {
		mmu->expected = addend;
		mmu->votes = 1;
	}
}

static void first_put(struct tcg_mmu *mmu, u64 va, const struct tcg_page *page)
{
	unsigned index = tlb_index(va);
	u64 tag = va & TCG_PAGE_MASK;
	u64 addend = (u64)(uintptr_t)page->host - tag;

	if (page->readable) {
		mmu->r_used |= (u64)1 << (index / (TLB_SIZE / 64));
		mmu->r[index].tag = tag;
		mmu->r[index].addend = addend;
		note_addend(mmu, addend);
	}
	if (page->writable) {
		u64 reasons = (page->track ? TLB_TRACK : 0) |
			      (tcg_code_in_page(page->phys) ? TLB_CODE : 0);

		mmu->w_used |= (u64)1 << (index / (TLB_SIZE / 64));
		mmu->w[index].tag = tag | reasons;
		mmu->w[index].addend = addend;
		mmu->phys[index] = page->phys;
	}
}

static bool is_watched(struct tcg_cpu *cpu, u64 va)
{
	return (cpu->debug && tcg_debug_watched(cpu->debug, va)) ||
	       (cpu->hw_points & TCG_HW_WATCH && cpu->ops->watched(cpu, va));
}

/* A slow access, whose translation has raised nothing: the guest's watchpoints come after that. */
static void look_for_watch(struct tcg_cpu *cpu, u64 va, unsigned size, enum tcg_access access)
{
	if (unlikely(cpu->hw_points & TCG_HW_WATCH))
		cpu->ops->watch(cpu, va, size, access);
}

/* What the target says of one data page; remembered where it may be. */
static void fill(struct tcg_cpu *cpu, u64 va, unsigned size, enum tcg_access access,
		 struct tcg_page *page)
{
	struct tcg_mmu *mmu = cpu->mmu;
	struct tlb_special *io = special_slot(mmu->io, IO_SIZE, va);
	bool fast = !is_watched(cpu, va);

	if (second_level(mmu, va, access, page)) {
		if (fast)
			first_put(mmu, va, page);
		return;
	}
	if (!(va & (size - 1)) && special_find(mmu, io, va, access, page))
		return;
	cpu->ops->fill(cpu, va, access, size, page);
	if (!page->host) {
		special_put(mmu, io, va, access, page);
	} else if (!page->strict) {
		second_put(mmu, va, page);
		if (fast)
			first_put(mmu, va, page);
	}
}

static bool is_entry_of(const struct tlb_entry *e, u64 va)
{
	return e->tag != TLB_EMPTY && (e->tag & TCG_PAGE_MASK) == (va & TCG_PAGE_MASK);
}

/* A reason to be slow is gone. The page may have no entry, and its place be another's. */
static void allow(struct tlb_entry *e, u64 va, u64 reason)
{
	if (is_entry_of(e, va))
		e->tag &= ~reason;
}

/* Host address for a store of @size bytes inside one page, after tracking; NULL: I/O. */
static u8 *store_address(struct tcg_cpu *cpu, u64 va, unsigned size, u64 *phys)
{
	struct tcg_mmu *mmu = cpu->mmu;
	unsigned index = tlb_index(va);
	struct tlb_entry *e = &mmu->w[index];
	struct tcg_page page;

	if (!is_entry_of(e, va)) {
		fill(cpu, va, size, TCG_WRITE, &page);
	} else {
		page.phys = mmu->phys[index];
		page.host = (u8 *)(uintptr_t)((va & TCG_PAGE_MASK) + e->addend);
		page.track = e->tag & TLB_TRACK;
	}
	*phys = page.phys | (va & ~TCG_PAGE_MASK);
	if (!page.host)
		return NULL;
	if (page.track) {
		struct tlb2_entry *second = second_find(mmu, va);

		cpu->ops->first_store(cpu, &page);
		allow(e, va, TLB_TRACK);
		if (second)
			second->page &= ~(u64)TLB2_TRACK;
	}
	if (!tcg_code_in_page(page.phys))
		allow(e, va, TLB_CODE);
	else
		tcg_code_written(page.phys | (va & ~TCG_PAGE_MASK), size);
	return page.host + (va & ~TCG_PAGE_MASK);
}

static const u8 *load_address(struct tcg_cpu *cpu, u64 va, unsigned size, u64 *phys)
{
	const struct tlb_entry *e = &cpu->mmu->r[tlb_index(va)];
	struct tcg_page page;

	if (e->tag == (va & TCG_PAGE_MASK))
		return (const u8 *)(uintptr_t)(va + e->addend);
	fill(cpu, va, size, TCG_READ, &page);
	*phys = page.phys | (va & ~TCG_PAGE_MASK);
	return page.host ? page.host + (va & ~TCG_PAGE_MASK) : NULL;
}

static bool crosses_page(u64 va, unsigned size)
{
	return (va ^ (va + size - 1)) & TCG_PAGE_MASK;
}

/* For the syndrome, should nobody answer. */
static void note_io(struct tcg_cpu *cpu, u64 va, enum tcg_access access)
{
	cpu->io_va = va;
	cpu->io_access = access;
}

/*
 * What a device does at an access (interrupts, timers) must take effect before the next
 * instruction if instructions are counted: not in the middle of a region.
 */
static void retry_exactly(struct tcg_cpu *cpu)
{
	if (likely(!cpu->counted) || tcg_cpu_refund(cpu) <= 1)
		return;
	cpu->retry = true;
	tcg_raise(cpu);
}

u64 tcg_load_slow(struct tcg_cpu *cpu, u64 va, unsigned size)
{
	const u8 *host;
	u64 val = 0, phys;

	if (cpu->debug)
		tcg_debug_access(cpu, va, size, TCG_READ);
	if (crosses_page(va, size)) {
		for (unsigned i = 0; i < size; i++)
			val |= tcg_load(cpu, va + i, 1) << (8 * i);
		return val;
	}
	host = load_address(cpu, va, size, &phys);
	look_for_watch(cpu, va, size, TCG_READ);
	if (!host) {
		retry_exactly(cpu);
		note_io(cpu, va, TCG_READ);
		return cpu->ops->io_read(cpu, phys, size);
	}
	memcpy(&val, host, size);
	return val;
}

void tcg_store_slow(struct tcg_cpu *cpu, u64 va, u64 val, unsigned size)
{
	u8 *host;
	u64 phys;

	if (cpu->debug)
		tcg_debug_access(cpu, va, size, TCG_WRITE);
	if (crosses_page(va, size)) {
		tcg_probe(cpu, va, size, TCG_WRITE);
		look_for_watch(cpu, va, size, TCG_WRITE);
		for (unsigned i = 0; i < size; i++)
			tcg_store(cpu, va + i, val >> (8 * i), 1);
		return;
	}
	host = store_address(cpu, va, size, &phys);
	look_for_watch(cpu, va, size, TCG_WRITE);
	if (host) {
		memcpy(host, &val, size);
		return;
	}
	retry_exactly(cpu);
	note_io(cpu, va, TCG_WRITE);
	cpu->ops->io_write(cpu, phys, val, size);
}

void *tcg_host(struct tcg_cpu *cpu, u64 va, unsigned size, enum tcg_access access)
{
	void *host;
	u64 phys;

	if (cpu->debug)
		tcg_debug_access(cpu, va, size, access);
	if (access == TCG_READ)
		host = (void *)load_address(cpu, va, size, &phys);
	else
		host = store_address(cpu, va, size, &phys);
	look_for_watch(cpu, va, size, access);
	return host;
}

void tcg_probe(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access)
{
	u64 last = (va + size - 1) & TCG_PAGE_MASK;
	struct tcg_page page;

	for (u64 at = va;; at = (at & TCG_PAGE_MASK) + TCG_PAGE_SIZE) {
		const struct tlb_entry *e = access == TCG_READ ? &cpu->mmu->r[tlb_index(at)]
							       : &cpu->mmu->w[tlb_index(at)];

		if (!is_entry_of(e, at))
			fill(cpu, at, 1, access, &page);
		if ((at & TCG_PAGE_MASK) == last)
			return;
	}
}

u32 tcg_fetch(struct tcg_cpu *cpu, u64 va)
{
	struct tcg_page page;
	u32 word;

	tcg_exec_page(cpu, va, &page);
	if (!page.host) {
		note_io(cpu, va, TCG_EXEC);
		return cpu->ops->io_read(cpu, page.phys | (va & ~TCG_PAGE_MASK), 4);
	}
	memcpy(&word, page.host + (va & ~TCG_PAGE_MASK), sizeof(word));
	return word;
}

void tcg_slow_load(struct tcg_cpu *cpu, u64 va, unsigned desc)
{
	unsigned size = desc & 0xff, n = desc >> 8;
	u64 v[4] = { 0 };

	if (n == 1 && size <= 8) {
		cpu->transfer[0] = tcg_load_slow(cpu, va, size);
		cpu->transfer[1] = 0;
		return;
	}
	for (unsigned i = 0; i < n; i++, va += size) {
		v[2 * i] = tcg_load(cpu, va, size == 16 ? 8 : size);
		if (size == 16)
			v[2 * i + 1] = tcg_load(cpu, va + 8, 8);
	}
	memcpy(cpu->transfer, v, sizeof(v));
}

void tcg_slow_store(struct tcg_cpu *cpu, u64 va, unsigned desc)
{
	unsigned size = desc & 0xff, n = desc >> 8;

	if (crosses_page(va, n * size))
		tcg_probe(cpu, va, n * size, TCG_WRITE);
	for (unsigned i = 0; i < n; i++, va += size) {
		tcg_store(cpu, va, cpu->transfer[2 * i], size == 16 ? 8 : size);
		if (size == 16)
			tcg_store(cpu, va + 8, cpu->transfer[2 * i + 1], 8);
	}
}

void tcg_slow_store8(struct tcg_cpu *cpu, u64 va, u64 val)
{
	tcg_store_slow(cpu, va, val, 1);
}

void tcg_slow_store16(struct tcg_cpu *cpu, u64 va, u64 val)
{
	tcg_store_slow(cpu, va, val, 2);
}

void tcg_slow_store32(struct tcg_cpu *cpu, u64 va, u64 val)
{
	tcg_store_slow(cpu, va, val, 4);
}

void tcg_slow_store64(struct tcg_cpu *cpu, u64 va, u64 val)
{
	tcg_store_slow(cpu, va, val, 8);
}

void tcg_invalidate(u64 phys, u64 size)
{
	while (size) {
		u64 chunk = MIN(size, TCG_PAGE_SIZE - (phys & ~TCG_PAGE_MASK));

		if (tcg_code_in_page(phys & TCG_PAGE_MASK))
			tcg_code_written(phys, chunk);
		phys += chunk;
		size -= chunk;
	}
}

/*
 * accel/tcg/region.c - translated regions: code memory, lookup, chaining, invalidation.
 *
 * One mutex guards everything here; running translated code takes no lock. A discarded region
 * keeps its memory until everything is thrown away at once, when no vCPU is in translated code.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "accel/tcg/code.h"
#include "accel/tcg/mem.h"
#include "accel/tcg/region.h"
#include "accel/tcg/trace.h"
#include "util/log.h"
#include "accel/tcg/work.h"

#define CODE_DEFAULT (64 * MiB)
#define CODE_RESERVE (128 * KiB) /* more than any one region needs */
#define CODE_MIN     MiB
#define CODE_MAX     (1024 * MiB) /* jumps reach 2 GiB */
#define FILTER_BITS  16
#define FOUND_BITS   16

/* Regions that start in one physical page. */
struct code_page {
	u64 phys;
	const u8 *host;
	struct code_page *host_next; /* another one with the same host page */
	struct tcg_region *regions;
	u64 lines; /* bit n: bytes 64n to 64n + 63 have been translated */
};

struct site {
	u8 *at;
	s32 original; /* displacement to its own exit */
};

static GMutex lock;
static GCond idle, flushed;
static int flush_wanted; /* vCPUs must stay out of translated code */
static u32 flush_gen;
static struct tcg_cpu *all_cpus;
static u8 *code_rw, *code_next;
static u64 code_size = CODE_DEFAULT;
static s64 code_rx;            /* executable - writable address */
static GHashTable *pages;      /* phys -> struct code_page */
static GHashTable *host_pages; /* host -> the first struct code_page there */
static GPtrArray *all_regions;
/* Regions by hash of address and key, the last one of each; read without the lock. What it points
 * to lives until everything is thrown away. */
static struct tcg_region *found[1u << FOUND_BITS];
/* Numbers of code pages by hash of their addresses, read without the lock. */
static u16 filter[1u << FILTER_BITS], host_filter[1u << FILTER_BITS];
static u32 code_gen;
static struct tcg_stats stats;

static unsigned filter_index(u64 phys)
{
	return (phys >> TCG_PAGE_BITS) * 0x9e3779b97f4a7c15ull >> (64 - FILTER_BITS);
}

bool tcg_code_in_page(u64 phys)
{
	return __atomic_load_n(&filter[filter_index(phys)], __ATOMIC_RELAXED);
}

static u16 *host_filter_at(const void *host)
{
	return &host_filter[filter_index((uintptr_t)host)];
}

static guint page_hash(gconstpointer key)
{
	return (*(const u64 *)key >> TCG_PAGE_BITS) * 0x9e3779b9u;
}

/* Code memory is mapped twice, so that no page is ever writable and executable at one address. */
static bool code_map(void)
{
	int fd = memfd_create("tcg-code", MFD_CLOEXEC);
	u8 *rx;

	if (fd < 0 || ftruncate(fd, code_size)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	code_rw = mmap(NULL, code_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rx = mmap(NULL, code_size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (code_rw == MAP_FAILED || rx == MAP_FAILED)
		return false;
	code_rx = rx - code_rw;
	return true;
}

static u8 *code_first; /* behind the entry code */

static bool init_locked(void)
{
	static bool tried, works;
	struct trans t = { 0 };

	if (tried)
		return works;
	tried = true;
	works = host_supported() && code_map();
	if (!works)
		return false;
	t.p = code_rw;
	t.rx = code_rx;
	host_make_entry(&t);
	code_first = code_next = t.p;
	pages = g_hash_table_new_full(page_hash, g_int64_equal, NULL, g_free);
	host_pages = g_hash_table_new(NULL, NULL);
	all_regions = g_ptr_array_new();
	return true;
}

static bool one_insn;

void tcg_set_one_insn(bool on)
{
	one_insn = on;
}

int tcg_set_code_size(u64 size)
{
	int ret = size < CODE_MIN || size > CODE_MAX ? -ERANGE : 0;

	g_mutex_lock(&lock);
	if (!ret && code_rw)
		ret = -EBUSY;
	if (!ret)
		code_size = ROUND_UP(size, (u64)MiB);
	g_mutex_unlock(&lock);
	return ret;
}

bool tcg_cpu_register(struct tcg_cpu *cpu, bool jit)
{
	g_mutex_lock(&lock);
	cpu->use_jit = jit && cpu->ops->translate && init_locked();
	cpu->v_loaded = 0;
	cpu->region_end = 0;
	cpu->step_pc = ~(u64)0;
	tcg_fp_set(cpu, TCG_ROUND_NEAREST);
	cpu->next = all_cpus;
	all_cpus = cpu;
	g_mutex_unlock(&lock);
	work_add_cpu(cpu);
	return cpu->use_jit;
}

void tcg_cpu_unregister(struct tcg_cpu *cpu)
{
	struct tcg_cpu **p;

	g_mutex_lock(&lock);
	for (p = &all_cpus; *p && *p != cpu; p = &(*p)->next)
		;
	if (*p)
		*p = cpu->next;
	g_mutex_unlock(&lock);
	work_remove_cpu(cpu);
}

/* Bring a soft TLB that was not current up to date with what happened meanwhile, as far as data is
 * concerned. */
static void catch_up_data(struct tcg_mmu *mmu)
{
	u32 gen = __atomic_load_n(&code_gen, __ATOMIC_ACQUIRE);

	if (mmu->code_gen != gen) {
		tcg_mmu_flush_stores(mmu);
		mmu->code_gen = gen;
	}
}

static void catch_up(struct tcg_cpu *cpu, struct tcg_mmu *mmu)
{
	catch_up_data(mmu);
	if (mmu->jc_key != cpu->state_key || mmu->flush_gen != flush_gen) {
		tcg_mmu_flush_code(mmu);
		mmu->jc_key = cpu->state_key;
		mmu->flush_gen = flush_gen;
	}
}

static void catch_up_views(struct tcg_cpu *cpu)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpu->views); i++)
		if (cpu->views[i] && cpu->views[i] != cpu->mmu)
			catch_up(cpu, cpu->views[i]);
	if (cpu->data_view)
		catch_up_data(cpu->data_view);
}

/* All that translated code may turn to. */
static void catch_up_all(struct tcg_cpu *cpu)
{
	catch_up(cpu, cpu->mmu);
	catch_up_views(cpu);
}

void tcg_select(struct tcg_cpu *cpu, struct tcg_mmu *mmu, u32 key)
{
	cpu->mmu = mmu;
	cpu->state_key = key;
	catch_up(cpu, mmu);
}

void tcg_set_views(struct tcg_cpu *cpu, struct tcg_mmu *const views[2], struct tcg_mmu *data)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cpu->views); i++)
		cpu->views[i] = views[i];
	cpu->data_view = data;
	catch_up_views(cpu);
}

void tcg_select_data(struct tcg_cpu *cpu, struct tcg_mmu *mmu)
{
	cpu->mmu = mmu;
	catch_up_data(mmu);
}

/* With the lock: give way to a vCPU that throws all translations away. */
static void yield_to_flush_locked(struct tcg_cpu *cpu)
{
	while (flush_wanted) {
		cpu->in_code = 0;
		g_cond_broadcast(&idle);
		g_cond_wait(&flushed, &lock);
	}
	cpu->in_code = 1;
	if (__atomic_load_n(&cpu->work_pending, __ATOMIC_SEQ_CST)) /* not in the next region */
		cpu->exit_request = 1;
}

void region_enter(struct tcg_cpu *cpu)
{
	if (__atomic_load_n(&flush_wanted, __ATOMIC_SEQ_CST)) {
		g_mutex_lock(&lock);
		yield_to_flush_locked(cpu);
		g_mutex_unlock(&lock);
	}
	catch_up_all(cpu);
}

void region_leave(struct tcg_cpu *cpu)
{
	if (__atomic_load_n(&flush_wanted, __ATOMIC_SEQ_CST)) {
		g_mutex_lock(&lock);
		g_cond_broadcast(&idle);
		g_mutex_unlock(&lock);
	}
}

/* ---- discarding ---- */

static void discard_locked(struct tcg_region *r)
{
	stats.discarded++;
	__atomic_store_n(&r->discarded, true, __ATOMIC_RELAXED);
	host_redirect(r->entry, r->dead);
	for (unsigned i = 0; i < r->sites->len; i++) {
		struct site *s = &g_array_index(r->sites, struct site, i);

		host_link(s->at, s->at + 4 + s->original);
	}
	g_array_set_size(r->sites, 0);
}

static bool overlaps(const struct tcg_region *r, u64 phys, unsigned size)
{
	return phys < r->phys + 4 * r->ninsns && r->phys < phys + size;
}

static void page_remove_locked(struct code_page *page)
{
	struct code_page *first = g_hash_table_lookup(host_pages, page->host);

	if (first != page) {
		while (first->host_next != page)
			first = first->host_next;
		first->host_next = page->host_next;
	} else if (page->host_next) {
		g_hash_table_insert(host_pages, (void *)page->host, page->host_next);
	} else {
		g_hash_table_remove(host_pages, page->host);
	}
	__atomic_fetch_sub(host_filter_at(page->host), 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&filter[filter_index(page->phys)], 1, __ATOMIC_RELAXED);
	g_hash_table_remove(pages, &page->phys);
}

/* Discard what was translated from @size bytes at @phys, which lie in @page; NULL: nothing. */
static void page_written_locked(struct code_page *page, u64 phys, unsigned size)
{
	u64 base = phys & TCG_PAGE_MASK;
	unsigned first = (phys & ~TCG_PAGE_MASK) / 64, last = (phys + size - 1 - base) / 64;
	u64 hit = (~(u64)0 << first) & (~(u64)0 >> (63 - last));
	struct tcg_region **p;

	if (page && page->lines & hit) {
		for (p = &page->regions; *p;) {
			struct tcg_region *r = *p;

			if (overlaps(r, phys, size)) {
				*p = r->next;
				discard_locked(r);
			} else {
				p = &r->next;
			}
		}
	}
	if (page && !page->regions)
		page_remove_locked(page);
}

void tcg_code_written(u64 phys, unsigned size)
{
	u64 base = phys & TCG_PAGE_MASK;

	g_mutex_lock(&lock);
	page_written_locked(pages ? g_hash_table_lookup(pages, &base) : NULL, phys, size);
	g_mutex_unlock(&lock);
}

/* The same memory may appear at several guest addresses. */
static void host_page_written(const u8 *base, unsigned off, unsigned size)
{
	struct code_page *next;

	g_mutex_lock(&lock);
	for (struct code_page *p = g_hash_table_lookup(host_pages, base); p; p = next) {
		next = p->host_next;
		page_written_locked(p, p->phys + off, size);
	}
	g_mutex_unlock(&lock);
}

void tcg_invalidate_host(const void *host, u64 size)
{
	uintptr_t at = (uintptr_t)host;

	/* The write comes before the look at the filter, as page_add_locked() comes before its
	 * page is translated. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (size) {
		unsigned off = at & ~TCG_PAGE_MASK;
		const u8 *base = (const u8 *)(at - off);
		u64 chunk = MIN(size, TCG_PAGE_SIZE - off);

		if (__atomic_load_n(host_filter_at(base), __ATOMIC_RELAXED))
			host_page_written(base, off, chunk);
		at += chunk;
		size -= chunk;
	}
}

static bool others_in_code(const struct tcg_cpu *self)
{
	bool any = false;

	for (struct tcg_cpu *cpu = all_cpus; cpu; cpu = cpu->next) {
		if (cpu == self || !__atomic_load_n(&cpu->in_code, __ATOMIC_SEQ_CST))
			continue;
		__atomic_store_n(&cpu->exit_request, 1, __ATOMIC_RELAXED);
		any = true;
	}
	return any;
}

/* Throw all translations away, once every other vCPU has left translated code. */
static void flush_all_locked(struct tcg_cpu *self)
{
	flush_wanted = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	tcg_wait_begin(self);
	while (others_in_code(self))
		g_cond_wait(&idle, &lock);
	tcg_wait_end(self);

	for (unsigned i = 0; i < all_regions->len; i++) {
		struct tcg_region *r = g_ptr_array_index(all_regions, i);

		g_array_free(r->sites, TRUE);
		g_free(r);
	}
	g_ptr_array_set_size(all_regions, 0);
	g_hash_table_remove_all(pages);
	g_hash_table_remove_all(host_pages);
	memset(filter, 0, sizeof(filter));
	memset(host_filter, 0, sizeof(host_filter));
	memset(found, 0, sizeof(found));
	code_next = code_first;
	flush_gen++;
	stats.flushes++;
	flush_wanted = 0;
	g_cond_broadcast(&flushed);
	catch_up_all(self);
}

/* ---- translating and finding ---- */

/* A page gets its first translation: stores to it must be noticed from now on. */
static struct code_page *page_add_locked(struct tcg_cpu *cpu, const struct tcg_page *guest)
{
	struct code_page *page = g_new0(struct code_page, 1);

	page->phys = guest->phys;
	page->host = guest->host;
	page->host_next = g_hash_table_lookup(host_pages, page->host);
	g_hash_table_insert(pages, &page->phys, page);
	g_hash_table_insert(host_pages, (void *)page->host, page);
	__atomic_fetch_add(host_filter_at(page->host), 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&filter[filter_index(page->phys)], 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&code_gen, 1, __ATOMIC_SEQ_CST);
	for (struct tcg_cpu *other = all_cpus; other; other = other->next)
		if (other != cpu)
			__atomic_store_n(&other->exit_request, 1, __ATOMIC_RELAXED);
	catch_up_all(cpu);
	return page;
}

static struct tcg_region *translate_locked(struct tcg_cpu *cpu, struct code_page *page,
					   const struct tcg_page *guest)
{
	struct tcg_region *r = g_new0(struct tcg_region, 1);
	struct slow_path *slow = host_slow_paths();
	struct trans t = {
		.p = code_next,
		.rx = code_rx,
		.cpu = cpu,
		.start = tcg_pc(cpu),
		.off = cpu->pc_off,
		.slow = slow,
		.flags_live = true,
		.range_base = E_ZERO,
	};
	unsigned first, last;

	t.words = (const u32 *)(guest->host + cpu->pc_off);
	t.max_insns = one_insn ? 1 : MIN(TCG_MAX_INSNS, (TCG_PAGE_SIZE - cpu->pc_off) / 4);
	e_begin(&t);
	cpu->ops->translate(cpu, &t);
	e_end(&t);
	tcg_trace_region(&t, code_next + code_rx, t.p - code_next);
	code_next = t.p;

	r->phys = page->phys | cpu->pc_off;
	r->key = cpu->state_key;
	r->ninsns = t.ninsns;
	r->entry = t.entry;
	r->dead = t.dead;
	r->sites = g_array_new(FALSE, FALSE, sizeof(struct site));
	r->next = page->regions;
	page->regions = r;
	first = cpu->pc_off / 64;
	last = (cpu->pc_off + 4 * r->ninsns - 1) / 64;
	page->lines |= (~(u64)0 << first) & (~(u64)0 >> (63 - last));
	g_ptr_array_add(all_regions, r);
	stats.regions++;
	return r;
}

static struct tcg_region **found_at(u64 phys, u32 key)
{
	u64 hash = (phys >> 2 ^ key * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;

	return &found[hash >> (64 - FOUND_BITS)];
}

/* Region at physical address @phys if it is easily found; any vCPU in code, no lock needed. */
static struct tcg_region *find_fast(u64 phys, u32 key)
{
	struct tcg_region *r = __atomic_load_n(found_at(phys, key), __ATOMIC_ACQUIRE);

	if (r && r->phys == phys && r->key == key &&
	    !__atomic_load_n(&r->discarded, __ATOMIC_RELAXED))
		return r;
	return NULL;
}

/* The region at the current pc, in the page @guest; translated if need be. */
static struct tcg_region *lookup_locked(struct tcg_cpu *cpu, const struct tcg_page *guest)
{
	u64 phys = guest->phys | cpu->pc_off;
	struct code_page *page;
	struct tcg_region *r;

	yield_to_flush_locked(cpu);
	r = find_fast(phys, cpu->state_key);
	if (r)
		return r;
	page = g_hash_table_lookup(pages, &guest->phys);
	for (r = page ? page->regions : NULL; r; r = r->next)
		if (r->phys == phys && r->key == cpu->state_key)
			goto out;
	if (code_next + CODE_RESERVE > code_rw + code_size) {
		flush_all_locked(cpu);
		page = NULL;
	}
	if (!page)
		page = page_add_locked(cpu, guest);
	r = translate_locked(cpu, page, guest);
out:
	__atomic_store_n(found_at(phys, cpu->state_key), r, __ATOMIC_RELEASE);
	return r;
}

const void *region_find(struct tcg_cpu *cpu)
{
	u64 pc = tcg_pc(cpu);
	struct jc_entry *jc = &cpu->mmu->jc[(pc >> 2) & (JC_SIZE - 1)];
	struct tcg_page guest;
	struct tcg_region *r;

	if (pc & 3)
		return NULL;
	if (jc->pc == pc && host_is_live(jc->host))
		return jc->host;
	tcg_exec_page(cpu, pc, &guest); /* may raise */
	if (!guest.host)
		return NULL;
	r = find_fast(guest.phys | cpu->pc_off, cpu->state_key);
	if (!r) {
		g_mutex_lock(&lock);
		r = lookup_locked(cpu, &guest);
		g_mutex_unlock(&lock);
	}
	if (log_enabled(LOG_NOCHAIN)) /* translated code would find it there */
		return r->entry + code_rx;
	cpu->mmu->jc_used |= (u64)1 << ((jc - cpu->mmu->jc) / (JC_SIZE / 64));
	jc->host = r->entry + code_rx;
	jc->pc = pc;
	return jc->host;
}

void region_chain(struct tcg_cpu *cpu, u64 site)
{
	struct site s = { .at = (u8 *)(uintptr_t)(site - code_rx) };
	struct tcg_page guest;
	struct tcg_region *r;
	u32 gen = flush_gen;

	tcg_exec_page(cpu, tcg_pc(cpu), &guest); /* may raise */
	if (!guest.host)
		return;
	g_mutex_lock(&lock);
	r = lookup_locked(cpu, &guest);
	if (gen == flush_gen) {
		memcpy(&s.original, s.at, sizeof(s.original));
		g_array_append_val(r->sites, s);
		host_link(s.at, r->entry);
	}
	g_mutex_unlock(&lock);
}

void tcg_stats_get(struct tcg_stats *out)
{
	g_mutex_lock(&lock);
	*out = stats;
	out->code_bytes = code_next - code_first;
	g_mutex_unlock(&lock);
}

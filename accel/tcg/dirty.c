/*
 * accel/tcg/dirty.c - dirty tracking of translated stores.
 *
 * A page that is clean for some client has no fast entry for stores in any soft TLB. The first
 * store to it sets the bits (tcg_mark_dirty()) before it writes; from then on stores are fast and
 * cost nothing. So nothing has to be fetched at a sync, and to re-arm any number of pages costs
 * each vCPU one flush of its store entries, which it makes before it executes another guest
 * instruction.
 *
 * That gives the order that the map needs. The client takes bits, clear() returns when every vCPU
 * has flushed, and only then is a page read: what a vCPU wrote in between set no bit, but is in
 * what is read, and what it writes later sets the bit again.
 */
#include "accel/tcg.h"
#include "accel/tcg/accel.h"
#include "accel/tcg/work.h"
#include "util/timer.h"

/* A flush costs the same for any number of pages; this bounds how old a page is when it is read. */
#define BATCH_PAGES (1u << 15)

#define stat_add(tcg, field, n) __atomic_fetch_add(&(tcg)->stats.field, (u64)(n), __ATOMIC_RELAXED)

static void rearm(struct tcg_cpu *cpu, u64 a, u64 b)
{
	cpu->ops->rearm(cpu);
}

/* Return: nanoseconds that it took. */
static u64 rearm_all(void)
{
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);

	tcg_run_on_others(NULL, rearm, 0, 0);
	return clock_ns(CLOCK_TYPE_REALTIME) - start;
}

static int start(void *backend, struct ramblock *block, bool *all_dirty, GError **err)
{
	struct tcg_accel *tcg = backend;

	stat_add(tcg, start_ns, rearm_all());
	stat_add(tcg, starts, 1);
	return 0;
}

static void stop(void *backend, struct ramblock *block)
{
	/* Pages become fast again one by one: no client is there that would want to know. */
}

static int sync_map(void *backend, struct ramblock *block, GError **err)
{
	struct tcg_accel *tcg = backend;

	stat_add(tcg, syncs, 1);
	return 0;
}

static int clear(void *backend, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		 GError **err)
{
	struct tcg_accel *tcg = backend;
	u64 ns = rearm_all();
	u64 longest = __atomic_load_n(&tcg->stats.clear_max_ns, __ATOMIC_RELAXED);

	stat_add(tcg, clear_calls, 1);
	stat_add(tcg, clear_pages, n);
	stat_add(tcg, clear_ns, ns);
	while (ns > longest &&
	       !__atomic_compare_exchange_n(&tcg->stats.clear_max_ns, &longest, ns, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return 0;
}

static u64 batch_pages(void *backend, const struct ramblock *block)
{
	return BATCH_PAGES;
}

static void stats(void *backend, struct dirty_log_stats *out)
{
	const struct tcg_accel *tcg = backend;

	out->starts = __atomic_load_n(&tcg->stats.starts, __ATOMIC_RELAXED);
	out->start_ns = __atomic_load_n(&tcg->stats.start_ns, __ATOMIC_RELAXED);
	out->syncs = __atomic_load_n(&tcg->stats.syncs, __ATOMIC_RELAXED);
	out->pages_reported = __atomic_load_n(&tcg->stats.pages_reported, __ATOMIC_RELAXED);
	out->clear_calls = __atomic_load_n(&tcg->stats.clear_calls, __ATOMIC_RELAXED);
	out->clear_ns = __atomic_load_n(&tcg->stats.clear_ns, __ATOMIC_RELAXED);
	out->clear_pages = __atomic_load_n(&tcg->stats.clear_pages, __ATOMIC_RELAXED);
	out->clear_max_ns = __atomic_load_n(&tcg->stats.clear_max_ns, __ATOMIC_RELAXED);
}

static const char *mode(void *backend)
{
	return "tcg";
}

void tcg_mark_dirty(struct accel *a, struct ramblock *block, u64 page)
{
	dirty_map_set(&block->dirty, page, 1, DIRTY_ALL);
	stat_add(tcg_accel_of(a), pages_reported, 1);
}

const struct dirty_log_ops tcg_dirty_ops = {
	.name = "tcg",
	.start = start,
	.stop = stop,
	.sync = sync_map,
	.clear = clear,
	.batch_pages = batch_pages,
	.stats = stats,
	.mode = mode,
};

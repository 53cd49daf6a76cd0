/*
 * migration/ram-source.h - sending RAM: passes over the dirty pages of all blocks.
 */
#ifndef MIGRATION_RAM_SOURCE_H
#define MIGRATION_RAM_SOURCE_H

#include "memory/dirty-log.h"
#include "migration/page-counts.h"
#include "migration/pages.h"
#include "migration/send-queue.h"
#include "migration/settings.h"
#include "migration/xbzrle.h"

/* Written by the migration thread, read by anyone with relaxed atomics. */
struct ram_stats {
	u64 total;            /* bytes of RAM that migrate */
	u64 dirty_pages;      /* known and not yet sent */
	u64 normal;           /* pages sent as they are */
	u64 duplicate;        /* zero pages */
	u64 passes;           /* dirty-sync-count */
	u64 dirty_pages_rate; /* pages per second, of the last pass */
	u64 xbzrle_pages, xbzrle_bytes, xbzrle_misses, xbzrle_overflows;
	u64 sync_ns, last_sync_ns;
	u64 pages_sent; /* all kinds */
};

#define STAT_SET(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)
#define STAT_ADD(field, v) __atomic_fetch_add(&(field), (v), __ATOMIC_RELAXED)
#define STAT_GET(field)    __atomic_load_n(&(field), __ATOMIC_RELAXED)

struct ram_source_block {
	struct ramblock *ram;
	u64 npages;     /* when the migration began */
	bool ignored;   /* x-ignore-shared: the receiver maps the same memory */
	u16 *last_pass; /* x-verify: pass in which each page was last sent; else NULL */
	u16 *sent;      /* x-page-counts: counters of page_counts_sent(); else NULL */
	u64 key;        /* xbzrle: number of its first page among all blocks */
};

struct ram_source {
	struct vm *vm;
	struct send_queue *q;
	struct settings settings;
	struct ram_stats *stats;
	GArray *blocks; /* of struct ram_source_block */
	bool tracking;
	bool final; /* vCPUs are stopped: nothing needs re-arming */
	bool runs;  /* the receiver takes pages in runs */
	struct page_probe probe;
	struct ram_source_block *last; /* named last in this section part */
	u64 part_pages;                /* pages in the open section part */
	u64 *dirty, *absent;           /* scratch of one batch */
	u64 batch_max;
	struct xbzrle_cache *cache;
	u8 *scratch;      /* xbzrle: a stable copy of the page */
	s64 last_sync_ns; /* when, monotonic */
};

void ram_source_init(struct ram_source *rs, struct vm *vm, struct send_queue *q,
		     const struct settings *settings, struct ram_stats *stats);
/* ram_source_count_pages() - let @counts, which the caller owns, learn of every page sent. */
void ram_source_count_pages(struct ram_source *rs, struct page_counts *counts);
/* ram_source_finish() - stops tracking. */
void ram_source_finish(struct ram_source *rs);

/* ram_source_setup() - start tracking and send the list of blocks. */
int ram_source_setup(struct ram_source *rs, GError **err);

/* ram_source_pass() - send every page that is dirty now; complete section parts. */
int ram_source_pass(struct ram_source *rs, GError **err);

/* ram_source_sync() - learn what was written since; counts a pass. */
int ram_source_sync(struct ram_source *rs, GError **err);

/*
 * ram_source_complete() - with the vCPUs stopped and after a last sync: send the rest in the
 * section's end, until nothing is dirty.
 */
int ram_source_complete(struct ram_source *rs, GError **err);

/* ram_guest_address() - where the guest sees the start of a block; 0 if nowhere. */
u64 ram_guest_address(struct vm *vm, const struct ramblock *block);

static inline u64 ram_source_remaining(const struct ram_stats *stats)
{
	return STAT_GET(stats->dirty_pages) << DIRTY_PAGE_BITS;
}

#endif

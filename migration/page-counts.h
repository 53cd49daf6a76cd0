/*
 * migration/page-counts.h - capability x-page-counts: how often the sender sent each page.
 *
 * Costs two bytes a page of guest RAM, and only migrations with the capability have it.
 */
#ifndef MIGRATION_PAGE_COUNTS_H
#define MIGRATION_PAGE_COUNTS_H

#include "util/base.h"

#include <json-glib/json-glib.h>

#define PAGE_COUNTS_BUCKETS_MAX 65536u

struct page_counts;

struct page_counts *page_counts_create(void);
/* page_counts_destroy() - nobody counts any more; NULL is fine. */
void page_counts_destroy(struct page_counts *counts);

/*
 * page_counts_add_block() - count the pages of one more RAM block.
 * @id:     name of the block, copied.
 * @npages: its size.
 *
 * Return: the counters, one a page, owned by @counts; for page_counts_sent().
 * Context: before counting and querying begin.
 */
u16 *page_counts_add_block(struct page_counts *counts, const char *id, u64 npages);

/*
 * page_counts_query() - what x-query-migration-pages returns (qapi/migration.json).
 * @buckets: into how many runs of equal length a block is divided, 1 to PAGE_COUNTS_BUCKETS_MAX.
 *
 * Return: a new object.
 * Context: any thread, also while pages are being sent.
 */
JsonObject *page_counts_query(const struct page_counts *counts, u64 buckets);

/* page_counts_sent() - page number @page is sent once more. One thread at a time. */
static inline void page_counts_sent(u16 *counters, u64 page)
{
	if (counters[page] < UINT16_MAX)
		__atomic_store_n(&counters[page], counters[page] + 1, __ATOMIC_RELAXED);
}

#endif

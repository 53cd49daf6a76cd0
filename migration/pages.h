/*
 * migration/pages.h - what can be known about pages without or before copying them.
 */
#ifndef MIGRATION_PAGES_H
#define MIGRATION_PAGES_H

#include "memory/ram.h"

/* page_is_zero() - whether the 4 KiB at @page (64-byte aligned) hold only zero bytes. */
bool page_is_zero(const void *page);

/* The host's page tables of this process. */
struct page_probe {
	int pagemap_fd; /* -1: not readable, every page counts as present */
	u64 *entries;   /* scratch */
};

void page_probe_init(struct page_probe *p);
void page_probe_finish(struct page_probe *p);

#define PAGE_PROBE_MAX 4096u /* pages asked for at a time */

/*
 * page_probe_absent() - which pages were never populated, so that they read as zero and reading
 * them would only cost memory.
 * @first: multiple of 64. @n: pages, at most PAGE_PROBE_MAX.
 * @absent: out: BITMAP_WORDS(n) words, a bit per page; clear where nothing is known.
 *
 * Return: whether any bit is set.
 */
bool page_probe_absent(struct page_probe *p, const struct ramblock *block, u64 first, u64 n,
		       u64 *absent);

#endif

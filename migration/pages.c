/*
 * migration/pages.c - zero pages and pages that were never populated.
 *
 * Sources: Linux Documentation/admin-guide/mm/pagemap.rst; lseek(2), SEEK_DATA.
 */
#include "migration/pages.h"

#include "util/bitmap.h"

#include <fcntl.h>
#include <unistd.h>

#define PAGEMAP_PRESENT ((u64)1 << 63)
#define PAGEMAP_SWAPPED ((u64)1 << 62)

typedef u64 vec __attribute__((vector_size(32)));

/* Non-zero pages mostly differ early, so a short look comes before the long one. The clones for
 * wider registers are chosen when the program is loaded. */
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
static bool
range_is_zero(const vec *v, size_t n)
{
	for (size_t i = 0; i < n; i += 4) {
		vec any = v[i] | v[i + 1] | v[i + 2] | v[i + 3];

		if (any[0] | any[1] | any[2] | any[3])
			return false;
	}
	return true;
}

bool page_is_zero(const void *page)
{
	const u64 *words = page;

	/* The ends and the middle settle most pages for three cache lines. */
	if (words[0] | words[255] | words[511])
		return false;
	return range_is_zero(page, DIRTY_PAGE_SIZE / sizeof(vec));
}

void page_probe_init(struct page_probe *p)
{
	p->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	p->entries = g_new(u64, PAGE_PROBE_MAX);
}

void page_probe_finish(struct page_probe *p)
{
	if (p->pagemap_fd >= 0)
		close(p->pagemap_fd);
	g_clear_pointer(&p->entries, g_free);
}

static bool probe_pagemap(struct page_probe *p, const struct ramblock *block, u64 first, u64 n,
			  u64 *absent)
{
	u64 at = ((uintptr_t)block->host >> DIRTY_PAGE_BITS) + first;
	ssize_t want = n * sizeof(u64);
	u64 any = 0;

	if (p->pagemap_fd < 0 || pread(p->pagemap_fd, p->entries, want, at * sizeof(u64)) != want)
		return false;
	for (u64 w = 0; w < BITMAP_WORDS(n); w++) {
		u64 bits = 0, left = MIN(n - w * BITS_PER_WORD, BITS_PER_WORD);

		for (u64 i = 0; i < left; i++)
			bits |= (u64) !(p->entries[w * BITS_PER_WORD + i] &
					(PAGEMAP_PRESENT | PAGEMAP_SWAPPED))
				<< i;
		absent[w] = bits;
		any |= bits;
	}
	return any;
}

/* Holes of a shared file; whatever mapping wrote it, data is data. */
static bool probe_holes(const struct ramblock *block, u64 first, u64 n, u64 *absent)
{
	off_t start = block->fd_offset + (first << DIRTY_PAGE_BITS);
	off_t end = start + (n << DIRTY_PAGE_BITS), at = start;
	bool any = false;

	while (at < end) {
		off_t data = lseek(block->fd, at, SEEK_DATA);
		u64 from, to;

		if (data < 0 && errno != ENXIO) /* ENXIO: nothing but a hole up to the end */
			return any;
		data = data < 0 ? end : MIN(data, end);
		from = DIV_ROUND_UP(at - start, DIRTY_PAGE_SIZE);
		to = (data - start) >> DIRTY_PAGE_BITS;
		if (to > from) {
			bitmap_set(absent, from, to - from);
			any = true;
		}
		if (data == end)
			break;
		at = lseek(block->fd, data, SEEK_HOLE);
		if (at < 0)
			break;
	}
	return any;
}

bool page_probe_absent(struct page_probe *p, const struct ramblock *block, u64 first, u64 n,
		       u64 *absent)
{
	g_assert(n <= PAGE_PROBE_MAX);
	memset(absent, 0, BITMAP_WORDS(n) * sizeof(u64));
	if (block->fd < 0 && !(block->flags & RAM_SHARED))
		return probe_pagemap(p, block, first, n, absent);
	if (block->fd >= 0 && (block->flags & RAM_SHARED))
		return probe_holes(block, first, n, absent);
	return false; /* another mapping may hold what this one has not touched */
}

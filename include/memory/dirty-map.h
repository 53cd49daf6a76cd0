/*
 * memory/dirty-map.h - which pages of a RAM block have been written, per client.
 *
 * One bit per 4 KiB page and client. A page is dirty for a client until that client takes it.
 * Sources (KVM's log or ring, TCG stores, devices) only ever add bits; only take removes them.
 */
#ifndef MEMORY_DIRTY_MAP_H
#define MEMORY_DIRTY_MAP_H

#include "util/base.h"

#define DIRTY_PAGE_BITS 12
#define DIRTY_PAGE_SIZE ((u64)1 << DIRTY_PAGE_BITS)

enum dirty_client {
	DIRTY_MIGRATION,
	DIRTY_DISPLAY,
	DIRTY_RATE, /* dirty-rate measurement */
	DIRTY_CLIENTS,
};

#define DIRTY_BIT(client) (1u << (client))
#define DIRTY_ALL         ((1u << DIRTY_CLIENTS) - 1)

struct dirty_map {
	u64 npages;
	u64 *bits[DIRTY_CLIENTS]; /* NULL until the client first starts; then kept */
	u32 active;               /* clients that are tracking; atomic */
};

/*
 * dirty_map_init(), dirty_map_finish() - set up for @npages pages with no client active.
 *
 * Context: owner of the block; no other user yet or any more.
 */
void dirty_map_init(struct dirty_map *map, u64 npages);
void dirty_map_finish(struct dirty_map *map);

/*
 * dirty_map_client_start() - a client begins to track.
 * @all_dirty: initial state of its bits.
 *
 * Context: no other thread starts or stops the same client; sources may run.
 */
void dirty_map_client_start(struct dirty_map *map, enum dirty_client client, bool all_dirty);
void dirty_map_client_stop(struct dirty_map *map, enum dirty_client client);

static inline bool dirty_map_client_active(const struct dirty_map *map, enum dirty_client client)
{
	return __atomic_load_n(&map->active, __ATOMIC_ACQUIRE) & DIRTY_BIT(client);
}

/*
 * dirty_map_set() - pages were written.
 * @first, @n: pages; the range must lie in the map.
 * @clients:   mask of DIRTY_BIT(); inactive ones are skipped.
 *
 * Ordered after the caller's own write of the page (sequentially consistent OR), so that whoever
 * takes the bit and then reads the page sees that write.
 * Context: any thread, no locks.
 */
void dirty_map_set(struct dirty_map *map, u64 first, u64 n, u32 clients);

/*
 * dirty_map_or() - merge a log: bit i of @words stands for page @first + i.
 * @first: a multiple of 64.
 * @n:     pages; bits of @words at and beyond @n are ignored.
 *
 * Return: pages that the log reported (set bits), whether or not they were dirty before.
 * Context: as dirty_map_set().
 */
u64 dirty_map_or(struct dirty_map *map, u64 first, u64 n, const u64 *words, u32 clients);

/*
 * dirty_map_take() - move a client's bits of a range into the caller's hands.
 * @first: a multiple of 64. @n: pages.
 * @out:   BITMAP_WORDS(n) words; receives the bits; may be NULL.
 *
 * The taker must re-arm tracking of the taken pages (dirty_tracker_clear()) before it reads them:
 * take, then clear, then copy.
 * Return: number of pages taken.
 * Context: one taker per client; sources may run.
 */
u64 dirty_map_take(struct dirty_map *map, enum dirty_client client, u64 first, u64 n, u64 *out);

/*
 * dirty_map_put_back() - return pages that were taken but not handled.
 *
 * @first, @n, @words as for dirty_map_or().
 */
void dirty_map_put_back(struct dirty_map *map, enum dirty_client client, u64 first, u64 n,
			const u64 *words);

/* dirty_map_next() - first page at or after @from that is dirty for @client; npages if none. */
u64 dirty_map_next(const struct dirty_map *map, enum dirty_client client, u64 from);

/* dirty_map_count() - dirty pages of @client. A snapshot while sources run. */
u64 dirty_map_count(const struct dirty_map *map, enum dirty_client client);

/* dirty_map_all_dirty() - whether every client that tracks has the page dirty, so that a further
 * write would tell nobody anything. */
static inline bool dirty_map_all_dirty(const struct dirty_map *map, u64 page)
{
	for (u32 left = __atomic_load_n(&map->active, __ATOMIC_ACQUIRE); left; left &= left - 1) {
		const u64 *bits = map->bits[__builtin_ctz(left)];

		if (!(__atomic_load_n(&bits[page / 64], __ATOMIC_RELAXED) >> (page % 64) & 1))
			return false;
	}
	return true;
}

bool dirty_map_test(const struct dirty_map *map, enum dirty_client client, u64 page);

#endif

/* memory/dirty-map.c - which pages have been written, per client. */
#include "memory/dirty-map.h"

#include "util/bitmap.h"

#include <assert.h>

void dirty_map_init(struct dirty_map *map, u64 npages)
{
	*map = (struct dirty_map){ .npages = npages };
}

void dirty_map_finish(struct dirty_map *map)
{
	for (int c = 0; c < DIRTY_CLIENTS; c++)
		bitmap_free(map->bits[c], map->npages);
	*map = (struct dirty_map){ 0 };
}

void dirty_map_client_start(struct dirty_map *map, enum dirty_client client, bool all_dirty)
{
	assert(!dirty_map_client_active(map, client));
	if (!map->bits[client])
		map->bits[client] = bitmap_new(map->npages);
	else
		bitmap_clear(map->bits[client], 0, map->npages);
	if (all_dirty)
		bitmap_set(map->bits[client], 0, map->npages);
	/* Sources may set bits from here on: the initial state must be in place before. */
	__atomic_fetch_or(&map->active, DIRTY_BIT(client), __ATOMIC_SEQ_CST);
}

void dirty_map_client_stop(struct dirty_map *map, enum dirty_client client)
{
	/* The bits stay allocated: a source may just be setting one. */
	__atomic_fetch_and(&map->active, ~DIRTY_BIT(client), __ATOMIC_SEQ_CST);
}

/* Clients of @clients that track now. The caller has written the page; dirty_tracker_start() makes
 * that write visible before a client reads pages (process_barrier()). */
static u32 active_of(const struct dirty_map *map, u32 clients)
{
	return __atomic_load_n(&map->active, __ATOMIC_SEQ_CST) & clients;
}

void dirty_map_set(struct dirty_map *map, u64 first, u64 n, u32 clients)
{
	assert(first + n <= map->npages && first + n >= first);
	for (u32 left = active_of(map, clients); left; left &= left - 1)
		bitmap_set_atomic(map->bits[__builtin_ctz(left)], first, n);
}

u64 dirty_map_or(struct dirty_map *map, u64 first, u64 n, const u64 *words, u32 clients)
{
	u32 active = active_of(map, clients);
	u64 nwords = BITMAP_WORDS(n), count = 0;

	assert(IS_ALIGNED(first, BITS_PER_WORD) && first + n <= map->npages);
	for (u64 i = 0; i < nwords; i++) {
		u64 bits = words[i];

		if (!bits)
			continue;
		if (i == nwords - 1 && n % BITS_PER_WORD)
			bits &= word_mask(0, n % BITS_PER_WORD);
		count += __builtin_popcountll(bits);
		for (u32 left = active; left; left &= left - 1)
			bitmap_or_word_atomic(map->bits[__builtin_ctz(left)],
					      first / BITS_PER_WORD + i, bits);
	}
	return count;
}

u64 dirty_map_take(struct dirty_map *map, enum dirty_client client, u64 first, u64 n, u64 *out)
{
	u64 *bits = map->bits[client];
	u64 nwords = BITMAP_WORDS(n), count = 0;

	assert(IS_ALIGNED(first, BITS_PER_WORD) && first + n <= map->npages);
	for (u64 i = 0; i < nwords; i++) {
		u64 word = first / BITS_PER_WORD + i;
		u64 mask = i == nwords - 1 && n % BITS_PER_WORD ? word_mask(0, n % BITS_PER_WORD)
								: ~0ull;
		u64 taken = 0;

		/* A plain look first: most words are clean, and an atomic costs ten times more. */
		if (__atomic_load_n(&bits[word], __ATOMIC_RELAXED) & mask)
			taken = bitmap_take_word_atomic(bits, word, mask);
		if (out)
			out[i] = taken;
		count += __builtin_popcountll(taken);
	}
	return count;
}

void dirty_map_put_back(struct dirty_map *map, enum dirty_client client, u64 first, u64 n,
			const u64 *words)
{
	dirty_map_or(map, first, n, words, DIRTY_BIT(client));
}

u64 dirty_map_next(const struct dirty_map *map, enum dirty_client client, u64 from)
{
	return bitmap_next_set(map->bits[client], map->npages, from);
}

u64 dirty_map_count(const struct dirty_map *map, enum dirty_client client)
{
	return map->bits[client] ? bitmap_count(map->bits[client], 0, map->npages) : 0;
}

bool dirty_map_test(const struct dirty_map *map, enum dirty_client client, u64 page)
{
	assert(page < map->npages);
	return map->bits[client] && bitmap_test(map->bits[client], page);
}

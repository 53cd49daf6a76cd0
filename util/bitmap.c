/* util/bitmap.c - bitmaps of 64-bit words. */
#include "util/bitmap.h"

#include <sys/mman.h>

static size_t map_bytes(u64 nbits)
{
	return ROUND_UP(BITMAP_WORDS(nbits) * 8, (size_t)4096);
}

u64 *bitmap_new(u64 nbits)
{
	void *p = mmap(NULL, MAX(map_bytes(nbits), 4096), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		g_error("bitmap of %" PRIu64 " bits: %s", nbits, g_strerror(errno));
	return p;
}

void bitmap_free(u64 *map, u64 nbits)
{
	if (map)
		munmap(map, MAX(map_bytes(nbits), 4096));
}

/* Calls OP(word, mask) for each word that the bits [first, first + n) touch. */
#define FOR_WORDS(first, n, word, mask)                                                            \
	for (u64 at_ = (first), end_ = (first) + (n), word, mask;                                  \
	     at_ < end_ &&                                                                         \
	     (word = at_ / 64, mask = word_mask(at_ % 64, MIN(64, end_ - word * 64)), true);       \
	     at_ = (word + 1) * 64)

void bitmap_set(u64 *map, u64 first, u64 n)
{
	FOR_WORDS(first, n, word, mask)
	map[word] |= mask;
}

void bitmap_clear(u64 *map, u64 first, u64 n)
{
	FOR_WORDS(first, n, word, mask)
	map[word] &= ~mask;
}

void bitmap_set_atomic(u64 *map, u64 first, u64 n)
{
	FOR_WORDS(first, n, word, mask)
	bitmap_or_word_atomic(map, word, mask);
}

u64 bitmap_count(const u64 *map, u64 first, u64 n)
{
	u64 count = 0;

	FOR_WORDS(first, n, word, mask)
	count += __builtin_popcountll(map[word] & mask);
	return count;
}

bool bitmap_is_empty(const u64 *map, u64 nbits)
{
	return bitmap_next_set(map, nbits, 0) == nbits;
}

/* First bit at or after @from for which (word ^ @flip) is set. */
static u64 next_bit(const u64 *map, u64 nbits, u64 from, u64 flip)
{
	u64 word, bits;

	if (from >= nbits)
		return nbits;
	word = from / 64;
	bits = (map[word] ^ flip) & (~0ull << (from % 64));
	while (!bits) {
		if (++word * 64 >= nbits)
			return nbits;
		bits = map[word] ^ flip;
	}
	return MIN(word * 64 + __builtin_ctzll(bits), nbits);
}

u64 bitmap_next_set(const u64 *map, u64 nbits, u64 from)
{
	return next_bit(map, nbits, from, 0);
}

u64 bitmap_next_clear(const u64 *map, u64 nbits, u64 from)
{
	return next_bit(map, nbits, from, ~0ull);
}

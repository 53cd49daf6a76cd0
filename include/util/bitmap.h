/*
 * util/bitmap.h - bitmaps of 64-bit words, bit n in word n / 64, least significant first.
 *
 * The layout is what KVM's dirty log uses (Linux Documentation/virt/kvm/api.rst,
 * KVM_GET_DIRTY_LOG) on a little-endian host.
 */
#ifndef UTIL_BITMAP_H
#define UTIL_BITMAP_H

#include "util/base.h"

#define BITS_PER_WORD       64
#define BITMAP_WORDS(nbits) DIV_ROUND_UP((u64)(nbits), BITS_PER_WORD)

/* bitmap_new() - a zeroed bitmap of @nbits; free with bitmap_free(). Page-aligned, lazily backed.
 */
u64 *bitmap_new(u64 nbits);
void bitmap_free(u64 *map, u64 nbits);

/* Plain accesses: the caller owns the map. */
void bitmap_set(u64 *map, u64 first, u64 n);
void bitmap_clear(u64 *map, u64 first, u64 n);
u64 bitmap_count(const u64 *map, u64 first, u64 n);
bool bitmap_is_empty(const u64 *map, u64 nbits);

/* bitmap_next_set(), bitmap_next_clear() - first such bit at or after @from, @nbits if none. */
u64 bitmap_next_set(const u64 *map, u64 nbits, u64 from);
u64 bitmap_next_clear(const u64 *map, u64 nbits, u64 from);

static inline bool bitmap_test(const u64 *map, u64 bit)
{
	return map[bit / BITS_PER_WORD] >> (bit % BITS_PER_WORD) & 1;
}

/* Atomic accesses: any thread. The OR is ordered before what the caller does next (release),
 * the exchange after what others did before their OR (acquire). */
void bitmap_set_atomic(u64 *map, u64 first, u64 n);
static inline void bitmap_or_word_atomic(u64 *map, u64 word, u64 bits)
{
	__atomic_fetch_or(&map[word], bits, __ATOMIC_SEQ_CST);
}
static inline u64 bitmap_take_word_atomic(u64 *map, u64 word, u64 mask)
{
	return __atomic_fetch_and(&map[word], ~mask, __ATOMIC_SEQ_CST) & mask;
}

/* Bits [lo, hi) of one word, 0 <= lo < hi <= 64. */
static inline u64 word_mask(unsigned lo, unsigned hi)
{
	return (hi == 64 ? ~0ull : (1ull << hi) - 1) & ~((1ull << lo) - 1);
}

#endif

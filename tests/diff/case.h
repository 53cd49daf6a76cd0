/*
 * tests/diff/case.h - file formats between diff-a64 (host) and oracle.c (arm64 user program).
 *
 * Input: struct diff_file, then ncases of struct diff_case. Output: ncases of struct diff_state.
 */
#ifndef TESTS_DIFF_CASE_H
#define TESTS_DIFF_CASE_H

#include <stdint.h>

#define DIFF_MAX_WORDS  31            /* and one BRK that ends the block */
#define DIFF_CODE_VA    0x20000000ull /* case n at DIFF_CODE_VA + n * DIFF_CODE_STEP */
#define DIFF_CODE_STEP  128u
#define DIFF_ARENA_VA   0x10001000ull /* data that blocks may touch; the pages around fault */
#define DIFF_ARENA_SIZE 8192u

enum diff_stop { DIFF_BRK = 1, DIFF_UNDEFINED, DIFF_FAULT, DIFF_OTHER };

struct diff_state {
	uint64_t x[31], sp, pc;
	uint64_t nzcv; /* in bits 31:28 */
	uint64_t v[32][2];
	uint32_t fpcr, fpsr;
	uint64_t stop;   /* output: enum diff_stop */
	uint64_t memory; /* input: seed of the arena's contents; output: hash of them */
};

struct diff_case {
	struct diff_state in;
	uint32_t nwords;
	uint32_t words[DIFF_MAX_WORDS];
};

struct diff_file {
	uint64_t ncases;
};

/* Both sides fill and hash the arena with these. */
static inline void diff_arena_fill(uint64_t *arena, uint64_t seed)
{
	for (unsigned i = 0; i < DIFF_ARENA_SIZE / 8; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		arena[i] = seed ^ seed >> 29;
	}
}

static inline uint64_t diff_arena_hash(const uint64_t *arena)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < DIFF_ARENA_SIZE / 8; i++)
		hash = (hash ^ arena[i]) * 0x9e3779b97f4a7c15ull + (hash >> 31);
	return hash;
}

#endif

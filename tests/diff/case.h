/*
 * tests/diff/case.h - what diff-a64 (host) and oracle.c (arm64 user program) share.
 *
 * Both map one file, struct diff_shared. The oracle reads the number of cases from its standard
 * input, runs them, and writes one byte when their results are there; and so on until the input
 * ends.
 */
#ifndef TESTS_DIFF_CASE_H
#define TESTS_DIFF_CASE_H

#include <stdint.h>
#include <string.h>

#define DIFF_BATCH      2048u         /* most cases at a time */
#define DIFF_CODE_VA    0x20000000ull /* case n at DIFF_CODE_VA + n * DIFF_SLOT_SIZE */
#define DIFF_END_VA     0x1fff0000ull /* where blocks branch to at their end */
#define DIFF_ARENA_VA   0x10001000ull /* data that blocks may touch; the pages around fault */
#define DIFF_ARENA_SIZE 8192u
#define DIFF_LINE_WORDS 8u /* doublewords of the arena that are compared at a time */

/* A case's code: an instruction that loads x0 from the last doubleword (the oracle came by a branch
 * to x0), the block, and a branch to DIFF_END_VA. */
#define DIFF_SLOT_SIZE  128u
#define DIFF_SLOT_WORDS (DIFF_SLOT_SIZE / 4)
#define DIFF_SLOT_X0    (DIFF_SLOT_WORDS - 2)
#define DIFF_MAX_WORDS  (DIFF_SLOT_X0 - 2)

enum diff_stop { DIFF_END, DIFF_UNDEFINED, DIFF_FAULT, DIFF_OTHER };

/* The oracle's assembler code knows the offsets. */
struct diff_state {
	uint64_t x[31], sp;
	uint64_t v[32][2];
	uint64_t pc;
	uint64_t nzcv; /* in bits 31:28 */
	uint64_t fpcr, fpsr;
	uint64_t stop;   /* output: enum diff_stop */
	uint64_t memory; /* input: seed of the arena's contents; output: hash of what has changed */
};

struct diff_case {
	struct diff_state in;
	uint32_t nwords;
	uint32_t words[DIFF_MAX_WORDS];
};

struct diff_shared {
	uint64_t memory; /* the blocks access the arena: results have the hash of its changes */
	struct diff_case cases[DIFF_BATCH];
	struct diff_state results[DIFF_BATCH];
};

/* ---- what both sides do alike ---- */

static inline uint64_t diff_pc(unsigned n)
{
	return DIFF_CODE_VA + (uint64_t)n * DIFF_SLOT_SIZE + 4;
}

/* Fill the slot of case @n. */
static inline void diff_slot_fill(uint32_t *slot, unsigned n, const struct diff_case *c)
{
	int64_t distance = (int64_t)(DIFF_END_VA - diff_pc(n)) / 4 - c->nwords;

	memset(slot, 0, DIFF_SLOT_SIZE);
	slot[0] = 0x58000000 | DIFF_SLOT_X0 << 5;
	memcpy(slot + 1, c->words, c->nwords * 4);
	slot[1 + c->nwords] = 0x14000000 | (distance & 0x3ffffff);
	memcpy(slot + DIFF_SLOT_X0, &c->in.x[0], 8);
}

static inline void diff_arena_fill(uint64_t *arena, uint64_t seed)
{
	for (unsigned i = 0; i < DIFF_ARENA_SIZE / 8; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		arena[i] = seed ^ seed >> 29;
	}
}

/* Hash of where and how the arena differs from what it was filled with; 0 if it does not. It is
 * put right again. */
static inline uint64_t diff_arena_settle(uint64_t *arena, const uint64_t *filled)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < DIFF_ARENA_SIZE / 8; i += DIFF_LINE_WORDS) {
		uint64_t differ = 0;

		for (unsigned k = 0; k < DIFF_LINE_WORDS; k++)
			differ |= arena[i + k] ^ filled[i + k];
		if (!differ)
			continue;
		hash += i + 1;
		for (unsigned k = 0; k < DIFF_LINE_WORDS; k++)
			hash = (hash ^ arena[i + k]) * 0x9e3779b97f4a7c15ull + (hash >> 31);
		memcpy(arena + i, filled + i, DIFF_LINE_WORDS * 8);
	}
	return hash;
}

#endif

/*
 * tests/diff/generate.h - random instruction blocks of one class of decode rows.
 */
#ifndef TESTS_DIFF_GENERATE_H
#define TESTS_DIFF_GENERATE_H

#include <glib.h>

#include "tests/diff/case.h"
#include "util/base.h"

/* The class of words without a row, in the encodings of FP and SIMD. */
#define DIFF_UNALLOCATED "unallocated"

/* The rows of the decode files that have one class= name. */
struct diff_class {
	const char *name;
	GPtrArray *rows; /* struct a64_pattern; empty: words without a row */
	bool memory;     /* accesses the arena, in one of these ways */
	bool vectors, pair, register_offset, literal;
	bool ordered, exclusive, atomic; /* must be aligned: the oracle's rules are outdated */
	bool branch;
	bool floating;
};

/* The classes in the order of the decode files, and at last DIFF_UNALLOCATED. */
const GPtrArray *diff_classes(void);

/* Any state is a good seed. */
struct diff_random {
	u64 state;
};

/*
 * diff_generate() - fill one case but for the seed of the arena and the pc.
 * @c:      receives registers and instruction words.
 * @class:  one of diff_classes().
 * @length: most instructions in the block, 1..DIFF_MAX_WORDS.
 */
void diff_generate(struct diff_random *rnd, const struct diff_class *class, unsigned length,
		   struct diff_case *c);

#endif

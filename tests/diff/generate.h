/*
 * tests/diff/generate.h - random instruction blocks of one class of decode rows.
 */
#ifndef TESTS_DIFF_GENERATE_H
#define TESTS_DIFF_GENERATE_H

#include <glib.h>

#include "tests/diff/case.h"

/* The class of words without a row, in the encodings of FP and SIMD. */
#define DIFF_UNALLOCATED "unallocated"

/* Names of the classes in the decode files, each once, and DIFF_UNALLOCATED; NULL terminated. */
const char **diff_classes(void);

/*
 * diff_generate() - fill one case.
 * @c:      receives registers and instruction words; in.pc is set by the caller.
 * @class:  one of diff_classes().
 * @length: most instructions in the block, 1..DIFF_MAX_WORDS.
 */
void diff_generate(GRand *rnd, const char *class, unsigned length, struct diff_case *c);

#endif

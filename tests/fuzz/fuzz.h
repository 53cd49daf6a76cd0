/*
 * tests/fuzz/fuzz.h - what every fuzz target defines: the entry that libFuzzer calls.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "util/base.h"

/* LLVMFuzzerTestOneInput() - must survive any @data; returns 0. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#endif

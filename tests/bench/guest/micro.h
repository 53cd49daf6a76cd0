/*
 * tests/bench/guest/micro.h - system operations one at a time, on arm64 at EL1.
 */
#ifndef TESTS_BENCH_GUEST_MICRO_H
#define TESTS_BENCH_GUEST_MICRO_H

#include "../a64/kernels.h"

/* Each does its operation @rounds times. Call micro_init() before the first. */
extern const struct kernel micro[]; /* the last one has no name */
void micro_init(void);

#endif

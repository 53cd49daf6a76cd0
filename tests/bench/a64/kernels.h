/*
 * tests/bench/a64/kernels.h - load programs that each stress one cost of a binary translator.
 *
 * They need no library and run natively, as a Linux program (user.c), or in a bare-metal guest
 * (tests/bench/guest).
 */
#ifndef TESTS_BENCH_A64_KERNELS_H
#define TESTS_BENCH_A64_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* Do the work @rounds times. Return: a checksum, the same everywhere. */
typedef u64 kernel_fn(u64 rounds);

struct kernel {
	const char *name;
	kernel_fn *run;
};

extern const struct kernel kernels[]; /* the last one has no name */

kernel_fn run_nbody, run_mandel, run_single, run_saxpy, run_daxpy, run_dot, run_sdot;
kernel_fn run_bytes, run_vint;
kernel_fn run_mix, run_interp, run_memory, run_bytewise, run_lse, run_llsc, run_chase_big;

/* Pseudo-random numbers, the same sequence in every program. */
u32 random32(void);

int text_same(const char *a, const char *b);

#endif

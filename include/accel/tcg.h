/*
 * accel/tcg.h - what an architecture's vCPUs need of the TCG accelerator beside accel/tcg/.
 */
#ifndef ACCEL_TCG_H
#define ACCEL_TCG_H

#include "accel/accel.h"
#include "memory/ram.h"

struct tcg_cpu;

/* accel_is_tcg() - whether the functions below may be used. */
bool accel_is_tcg(const struct accel *a);

/* tcg_accel_jit() - whether guest code is translated (else interpreted). */
bool tcg_accel_jit(const struct accel *a);

/* tcg_perf_map_open() - tell perf of translated code from now on. 0, or -errno with @err. Main
 * thread, before there is a CPU. */
int tcg_perf_map_open(GError **err);

/* tcg_stepping() - whether a debugger executes one instruction: interrupts are to wait, and the CPU
 * not to. */
bool tcg_stepping(const struct tcg_cpu *cpu);

/* tcg_must_track() - whether a store to the page must be reported first: tcg_page.track. */
static inline bool tcg_must_track(const struct ramblock *block, u64 page)
{
	return !dirty_map_all_dirty(&block->dirty, page);
}

/*
 * tcg_mark_dirty() - the calling vCPU is about to write the page; see tcg_ops.first_store.
 * @page: of @block.
 */
void tcg_mark_dirty(struct accel *a, struct ramblock *block, u64 page);

#endif

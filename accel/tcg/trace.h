/*
 * accel/tcg/trace.h - what translation and execution tell of themselves: -d, -dfilter, -perfmap.
 */
#ifndef ACCEL_TCG_TRACE_H
#define ACCEL_TCG_TRACE_H

#include "accel/tcg/emit.h"

/*
 * tcg_trace_region() - a region has been translated: -d in_asm, -d out_asm, -perfmap.
 * @code, @size: its host code, executable address.
 *
 * Context: one at a time.
 */
void tcg_trace_region(const struct trans *t, const u8 *code, size_t size);

/* tcg_trace_exec() - the region at the pc is about to be entered: -d exec, -d cpu. */
void tcg_trace_exec(struct tcg_cpu *cpu, const void *code);

#endif

/*
 * accel/tcg/icount-turn.h - what the vCPUs' thread (single.c) tells the counter of instructions.
 */
#ifndef ACCEL_TCG_ICOUNT_TURN_H
#define ACCEL_TCG_ICOUNT_TURN_H

#include "accel/tcg/cpu.h"
#include "accel/tcg/single.h"

/* Whether tcg_icount_configure() was called. */
bool icount_configured(void);

/* The virtual clock follows instructions from now on, or host time again. Main thread. */
void icount_attach(struct tcg_single *s);
void icount_detach(void);

/* All that follow: the vCPUs' thread. */
void icount_thread_init(void);

/* icount_turn_begin() - fire what is due, and give @cpu a budget. @shared: others want a turn too.
 */
void icount_turn_begin(struct tcg_cpu *cpu, bool shared);
void icount_turn_end(struct tcg_cpu *cpu);

/* icount_idle() - every vCPU waits: go on to the next timer. @seen: of tcg_single_seen(). */
void icount_idle(struct tcg_single *s, u32 seen);

#endif

/*
 * accel/tcg/single.h - all vCPUs on one thread, in turns (thread=single).
 */
#ifndef ACCEL_TCG_SINGLE_H
#define ACCEL_TCG_SINGLE_H

#include "accel/accel.h"

struct tcg_cpu;
struct tcg_single;

/*
 * tcg_single_create() - prepare; the thread starts with the first vCPU.
 * @counted: turns end after a number of instructions, and the virtual clock follows them
 *           (accel/tcg/icount.h).
 */
struct tcg_single *tcg_single_create(struct vm *vm, bool counted);
void tcg_single_destroy(struct tcg_single *s); /* all vCPUs are gone */

/* tcg_single_add() - take on a vCPU, whose accel_data is set. Main thread, machine lock held. */
void tcg_single_add(struct tcg_single *s, struct vcpu *cpu);

/* tcg_single_join() - wait until a vCPU that is unplugged is no longer run. Machine lock not held.
 */
void tcg_single_join(struct tcg_single *s, struct vcpu *cpu);

/* tcg_single_wake() - have the thread look at its vCPUs anew. Any thread, takes no locks. */
void tcg_single_wake(struct tcg_single *s);

/* tcg_single_end_turn() - end the turn of the vCPU that runs now, if any. Any thread, no locks. */
void tcg_single_end_turn(struct tcg_single *s);

/* tcg_single_others_ready() - whether a vCPU other than @self would run if it got a turn. */
bool tcg_single_others_ready(struct tcg_single *s, const struct tcg_cpu *self);

/* tcg_single_wait() - sleep until tcg_single_wake(), unless that has been called since @seen was
 * read by tcg_single_seen(). @ns: at most so long; -1: no limit. Its own thread. */
u32 tcg_single_seen(const struct tcg_single *s);
void tcg_single_wait(struct tcg_single *s, u32 seen, s64 ns);

#endif

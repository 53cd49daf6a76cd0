/*
 * accel/tcg/work.h - have other vCPUs do something before they go on with guest code.
 */
#ifndef ACCEL_TCG_WORK_H
#define ACCEL_TCG_WORK_H

#include "accel/tcg/cpu.h"

typedef void tcg_work_fn(struct tcg_cpu *cpu, u64 a, u64 b);

/*
 * tcg_run_on_others() - run fn(cpu, a, b) for every other registered CPU, on its own thread.
 *
 * On return no CPU executes guest code that has not done it yet: those that are outside of
 * tcg_run()'s code do it before they enter. @self may itself do work of others meanwhile. What a
 * CPU has not done when too much has come together is replaced by ops->flush(), if there is one:
 * @fn must do nothing that does not cover. Context: @self's thread in a helper of translated code
 * or of ops->step; @self may be NULL on any other thread (migration, main). No lock may be held
 * that @fn takes, or that vCPUs wait for outside of tcg_wait_begin() and tcg_wait_end().
 */
void tcg_run_on_others(struct tcg_cpu *self, tcg_work_fn *fn, u64 a, u64 b);

/*
 * tcg_wait_begin(), tcg_wait_end() - the CPU waits for a lock or an event inside a helper.
 *
 * In between nobody waits for it; work for it is done at the end. Guest memory must not be accessed
 * through the soft TLB meanwhile.
 */
void tcg_wait_begin(struct tcg_cpu *cpu);
void tcg_wait_end(struct tcg_cpu *cpu);

#endif

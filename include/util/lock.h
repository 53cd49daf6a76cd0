/*
 * util/lock.h - the one machine lock.
 *
 * Taken for device emulation and run-state changes; never held across a blocking system call or
 * a RAM pass. The main thread holds it whenever it runs a callback and drops it while it polls
 * (main_loop_run()); vCPU threads take it for MMIO exits.
 */
#ifndef UTIL_LOCK_H
#define UTIL_LOCK_H

#include <stdbool.h>

/*
 * machine_lock() - take the machine lock. Not recursive: taking it twice asserts.
 *
 * Context: any thread that does not hold it.
 */
void machine_lock(void);

/*
 * machine_unlock() - release the machine lock.
 *
 * Context: the thread that holds it.
 */
void machine_unlock(void);

/*
 * machine_lock_held() - whether the calling thread holds the machine lock.
 */
bool machine_lock_held(void);

#endif

/*
 * accel/tcg/icount.h - a virtual clock that counts instructions (-icount).
 *
 * All vCPUs run in turns on one thread. The virtual clock stands still but for two things: each
 * instruction that any vCPU executes adds 2^shift ns, and so does what tcg_icount_advance_ns() is
 * told. Its timers fire on that thread between two instructions, at exactly the count at which
 * they are due; nothing about a run depends on the host but what comes in from outside.
 *
 * An instruction that faults does not count; one that is an exception (SVC, HVC) does.
 */
#ifndef ACCEL_TCG_ICOUNT_H
#define ACCEL_TCG_ICOUNT_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct tcg_cpu;

#define TCG_ICOUNT_SHIFT_MAX 10

/*
 * tcg_icount_configure() - take the options of -icount: shift=N|auto, sleep=on|off, align=on|off.
 * @opts: taken members are removed.
 *
 * The next TCG accelerator that is created counts. Return: 0 or -EINVAL with @err.
 * Context: main thread, before the accelerator is created.
 */
int tcg_icount_configure(JsonObject *opts, GError **err);

/* tcg_icount_enabled() - whether instructions are counted. Any thread. */
bool tcg_icount_enabled(void);

/* tcg_icount_read() - instructions that all vCPUs have executed since the machine was created. Any
 * thread; exact on the vCPUs' thread and while the VM is stopped, else of a little while ago. */
u64 tcg_icount_read(void);

/* tcg_icount_cpu_read() - those of them that @cpu has executed; 0 if instructions are not counted.
 * The vCPU's thread, or while it is parked. */
u64 tcg_icount_cpu_read(const struct tcg_cpu *cpu);

/* tcg_icount_to_ns() - guest time that @insns instructions take, as things are now; INT64_MAX if
 * that is later than the clock can show. */
s64 tcg_icount_to_ns(u64 insns);

/*
 * tcg_icount_advance_ns() - let guest time pass for work that is not instructions: a device or an
 * engine whose cost is modelled.
 * @ns: 0 or more.
 *
 * The clock jumps; timers that become due fire after the current instruction. Return: false, and
 * nothing happens, if instructions are not counted.
 * Context: a helper of translated code or of ops->step, on the vCPUs' thread; any locks.
 */
bool tcg_icount_advance_ns(s64 ns);

#endif

/*
 * accel/tcg/debug.h - a debugger's points as the execution loop and the soft TLB look at them.
 *
 * tcg_cpu.debug is NULL unless there is something to look for. Pages with breakpoints are
 * interpreted and pages with watchpoints get no fast entries; all other code runs translated.
 */
#ifndef ACCEL_TCG_DEBUG_H
#define ACCEL_TCG_DEBUG_H

#include "accel/debug.h"
#include "accel/tcg/cpu.h"

struct tcg_debug {
	struct vcpu *vcpu;
	struct debug_point *points; /* a copy; those of the VM change only while vCPUs are parked */
	unsigned npoints;
	bool step;      /* execute one instruction */
	bool stepped;   /* ... and it has been */
	bool hold;      /* do not run: another vCPU steps alone */
	bool abandoned; /* tcg_raise() was for a watchpoint, not for an exception */
};

/* Whether code of the page must be interpreted. */
bool tcg_debug_in_page(const struct tcg_debug *d, u64 pc_page);

/*
 * tcg_debug_before_insn() - look for a breakpoint at the pc, or the end of a single step.
 *
 * Return: true if it was reported and exit_request is set: nothing may be executed.
 */
bool tcg_debug_before_insn(struct tcg_cpu *cpu);

/* tcg_debug_watched() - whether the page may have no fast entries. */
bool tcg_debug_watched(const struct tcg_debug *d, u64 va);

/* tcg_debug_access() - before a slow access: does not return if it is watched. */
void tcg_debug_access(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access);

/* accel_ops.debug_changed. */
void tcg_debug_changed(struct accel *a);

/* Free what tcg_debug_changed() made for a vCPU. */
void tcg_debug_free(struct vcpu *cpu);

#endif

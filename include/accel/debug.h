/*
 * accel/debug.h - breakpoints, watchpoints and single steps, for a debugger of the guest.
 *
 * The debugger changes things while every vCPU is parked and the machine lock is held; a vCPU that
 * comes upon something reports it and the VM stops with RUN_STATE_DEBUG.
 */
#ifndef ACCEL_DEBUG_H
#define ACCEL_DEBUG_H

#include "accel/vcpu.h"

enum debug_kind {
	DEBUG_NONE,
	DEBUG_STEP,        /* the instruction of a single step has been executed */
	DEBUG_BREAK,       /* before the instruction at the address */
	DEBUG_WATCH_WRITE, /* before the access to the address */
	DEBUG_WATCH_READ,
	DEBUG_WATCH_ACCESS,
};

struct debug_point {
	enum debug_kind kind; /* DEBUG_BREAK or DEBUG_WATCH_x */
	u64 addr, len;        /* guest virtual, bytes */
};

/* What a vCPU came upon. */
struct debug_event {
	enum debug_kind kind;
	u64 addr;
	int cpu; /* index */
};

struct vm_debug {
	GArray *points; /* struct debug_point */
	int step_cpu;   /* index of the vCPU that is to execute one instruction; -1: none */
	bool only_step; /* ... while all others wait */
	struct debug_event event; /* under vm->cpu_lock; the first one counts */
};

/* vm_debug_supported() - whether the accelerator can do any of this. */
bool vm_debug_supported(const struct vm *vm);

/*
 * vm_debug_insert(), vm_debug_remove() - set or delete a point.
 *
 * Return: 0; -ENOENT if there is none like it. Setting one twice is one. Context: see above.
 */
int vm_debug_insert(struct vm *vm, const struct debug_point *p);
int vm_debug_remove(struct vm *vm, const struct debug_point *p);

/* vm_debug_active() - whether there is any point, or a step has been asked for. */
bool vm_debug_active(const struct vm *vm);

/* vm_debug_clear() - delete all points and steps. */
void vm_debug_clear(struct vm *vm);

/*
 * vm_debug_step() - from the next vm_start() until the VM stops: one instruction of a vCPU.
 * @index: vCPU; -1: none.
 * @alone: the others do not run meanwhile.
 *
 * Interrupts are not taken by the vCPU that steps.
 */
void vm_debug_step(struct vm *vm, int index, bool alone);

/* vm_debug_active() - whether there is any point, or a step is asked for. Machine lock held. */
bool vm_debug_active(const struct vm *vm);

/* vm_debug_take_event() - what stopped the VM; kind DEBUG_NONE if nothing did since last asked. */
struct debug_event vm_debug_take_event(struct vm *vm);

/* vm_debug_report() - by an accelerator, on the vCPU's thread: stop the VM. */
void vm_debug_report(struct vcpu *cpu, enum debug_kind kind, u64 addr);

/* One register as a debugger sees it. */
struct debug_reg {
	const char *name;
	const char *type;  /* of the target description: "int", "code_ptr", ...; NULL: integer */
	const char *group; /* "general", "float", "vector", "system" */
	unsigned bits;
};

/* Registers that belong together, with the name that GDB knows them by (GDB manual, G.5). */
struct debug_feature {
	const char *name;  /* "org.gnu.gdb.aarch64.core" */
	const char *types; /* XML of types that regs[].type names; NULL: none */
	const struct debug_reg *regs;
	unsigned nregs;
};

/* The architecture of a vCPU for a debugger; in cpu_ops. vCPU parked, machine lock held. */
struct cpu_debug_ops {
	const char *arch; /* "aarch64" */
	const struct debug_feature *features;
	unsigned nfeatures;
	/* Register @n, counted through all features: @val in guest byte order. Return: false if it
	 * cannot be written. */
	void (*read_reg)(struct vcpu *cpu, unsigned n, u8 *val);
	bool (*write_reg)(struct vcpu *cpu, unsigned n, const u8 *val);
	void (*set_pc)(struct vcpu *cpu, u64 pc);
	/* Guest physical address of @va as the vCPU would translate it now. Return: false if it
	 * is not mapped. */
	bool (*translate)(struct vcpu *cpu, u64 va, u64 *phys);
};

#endif

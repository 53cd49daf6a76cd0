/*
 * accel/vm.h - the part of a machine that executes: memory, vCPUs, accelerator, run state.
 */
#ifndef ACCEL_VM_H
#define ACCEL_VM_H

#include "accel/runstate.h"
#include "memory/address-space.h"
#include "memory/dirty-log.h"

struct accel;
struct vcpu;

/* What the owner of the process (system/) does on requests; called in the main thread with the
 * machine lock held. */
struct vm_owner {
	void (*shutdown)(void *opaque, enum shutdown_cause cause, int exit_code);
	void (*reset)(void *opaque, enum shutdown_cause cause);
	void (*powerdown)(void *opaque);
	void (*stopped)(void *opaque, enum run_state state); /* for events; may be NULL */
	void *opaque;
};

struct vm {
	struct ram_list *ram;
	struct address_space *memory;
	struct address_space *io; /* x86 ports; NULL elsewhere */
	struct accel *accel;
	struct dirty_tracker *tracker;
	struct vcpu **cpus;
	int ncpus;
	enum run_state state;
	struct notifier_list state_notifiers; /* data: struct run_state_change */
	struct vm_owner owner;
};

/*
 * vm_create() - memory and run state, without accelerator or vCPUs. State: prelaunch.
 * @with_io: create the port address space.
 */
struct vm *vm_create(bool with_io, const struct vm_owner *owner);
void vm_destroy(struct vm *vm);

#endif

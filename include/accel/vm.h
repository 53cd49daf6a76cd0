/*
 * accel/vm.h - the part of a machine that executes: memory, vCPUs, accelerator, run state.
 */
#ifndef ACCEL_VM_H
#define ACCEL_VM_H

#include "accel/runstate.h"
#include "memory/address-space.h"
#include "memory/dirty-log.h"

#include <json-glib/json-glib.h>

struct accel;
struct accel_ops;
struct vcpu;
struct vm_debug;

/* What the owner of the process (system/) does on requests; called in the main thread with the
 * machine lock held. */
struct vm_owner {
	/* shutdown(): stop with vm_stop(), or end the process. */
	void (*shutdown)(void *opaque, enum shutdown_cause cause, int exit_code);
	/* reset(): the vCPUs are parked; they resume afterwards if the VM still runs. */
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
	struct vm_debug *debug; /* accel/debug.h; NULL until a debugger comes */

	/* accel/vcpu-control.c. cpu_lock is a leaf: nothing else is taken while it is held. */
	GMutex cpu_lock;
	GCond cpu_cond;           /* broadcast at every change of what it guards */
	bool changing;            /* a start, stop or reset is under way */
	GThread *throttle_thread; /* NULL until first needed */
	bool throttle_quit;

	/* accel/runstate.c; atomics. */
	gatomicrefcount refs; /* the owner's, and one per queued request */
	bool destroyed;
	int requests_pending; /* bits of requests that are queued for the main thread */
	enum shutdown_cause reset_on_start; /* machine lock; SHUTDOWN_NONE: none */
};

/*
 * vm_create() - memory and run state, without accelerator or vCPUs. State: prelaunch.
 * @with_io: create the port address space.
 */
struct vm *vm_create(bool with_io, const struct vm_owner *owner);

/*
 * vm_destroy() - stop, end all vCPU threads, close the accelerator, free memory.
 *
 * Context: main thread, machine lock held; devices are gone and nothing is mapped any more.
 */
void vm_destroy(struct vm *vm);

/*
 * vm_attach_accel() - open an accelerator for the VM and create its dirty tracker.
 * @props: as accel_ops.create().
 *
 * Return: 0, or -ENODEV with @err; the VM then has no accelerator and another may be tried.
 * Context: main thread, machine lock held, before any vCPU.
 */
int vm_attach_accel(struct vm *vm, const struct accel_ops *ops, JsonObject *props, GError **err);

#endif

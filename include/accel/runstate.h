/*
 * accel/runstate.h - whether the vCPUs run, and why not.
 *
 * Names are QMP's RunState (query-status), which also travel in the "globalstate" section.
 */
#ifndef ACCEL_RUNSTATE_H
#define ACCEL_RUNSTATE_H

#include "util/notify.h"

enum run_state {
	RUN_STATE_DEBUG,
	RUN_STATE_INMIGRATE,
	RUN_STATE_INTERNAL_ERROR,
	RUN_STATE_IO_ERROR,
	RUN_STATE_PAUSED,
	RUN_STATE_POSTMIGRATE,
	RUN_STATE_PRELAUNCH,
	RUN_STATE_FINISH_MIGRATE,
	RUN_STATE_RESTORE_VM,
	RUN_STATE_RUNNING,
	RUN_STATE_SAVE_VM,
	RUN_STATE_SHUTDOWN,
	RUN_STATE_SUSPENDED,
	RUN_STATE_WATCHDOG,
	RUN_STATE_GUEST_PANICKED,
	RUN_STATES,
};

struct vm;

/* run_state_name() - "running", "finish-migrate", ... run_state_from_name(): -1 if unknown. */
const char *run_state_name(enum run_state s);
int run_state_from_name(const char *name);

/*
 * vm_start() - let the vCPUs and the virtual clock run; state becomes running.
 *
 * Context: machine lock held. No effect if running already.
 */
void vm_start(struct vm *vm);

/*
 * vm_stop() - stop the virtual clock and all vCPUs; on return none of them executes guest code.
 * @state: why; replaces the current state if the VM was running, otherwise only if the new
 *         state is a later stage (paused -> finish-migrate -> postmigrate).
 *
 * Context: machine lock held (dropped while waiting for vCPU threads); not from a vCPU thread,
 * which uses vm_request_stop().
 */
void vm_stop(struct vm *vm, enum run_state state);

/* vm_request_stop() - have the main thread call vm_stop(@state) soon. Any thread. */
void vm_request_stop(struct vm *vm, enum run_state state);

bool vm_running(const struct vm *vm);
enum run_state vm_run_state(const struct vm *vm);

/* vm_set_run_state() - change the reason while stopped. Machine lock held. */
void vm_set_run_state(struct vm *vm, enum run_state state);

/* What notifiers of vm->state_notifiers get. Called with the machine lock held: after the vCPUs
 * stopped, before they start. */
struct run_state_change {
	bool running;
	enum run_state state;
};

/* Requests by devices or monitors; handled in the main thread. Any thread. */
enum shutdown_cause {
	SHUTDOWN_NONE,
	SHUTDOWN_HOST_ERROR,
	SHUTDOWN_HOST_QMP_QUIT,
	SHUTDOWN_HOST_QMP_RESET,
	SHUTDOWN_HOST_SIGNAL,
	SHUTDOWN_HOST_UI,
	SHUTDOWN_GUEST_SHUTDOWN,
	SHUTDOWN_GUEST_RESET,
	SHUTDOWN_GUEST_PANIC,
	SHUTDOWN_SNAPSHOT_LOAD,
	SHUTDOWN_CAUSES,
};
const char *shutdown_cause_name(enum shutdown_cause c); /* QMP's ShutdownCause */
void vm_request_shutdown(struct vm *vm, enum shutdown_cause cause);
void vm_request_shutdown_code(struct vm *vm, enum shutdown_cause cause, int exit_code);
void vm_request_reset(struct vm *vm, enum shutdown_cause cause);
void vm_request_powerdown(struct vm *vm);

#endif

/* accel/runstate.c - start, stop, and what devices and monitors request of the main thread. */
#include "accel/runstate.h"

#include "accel/accel.h"
#include "accel/internal.h"
#include "accel/vcpu.h"
#include "util/lock.h"
#include "util/main-loop.h"
#include "util/timer.h"

#include <assert.h>

static const char *const state_names[RUN_STATES] = {
	[RUN_STATE_DEBUG] = "debug",
	[RUN_STATE_INMIGRATE] = "inmigrate",
	[RUN_STATE_INTERNAL_ERROR] = "internal-error",
	[RUN_STATE_IO_ERROR] = "io-error",
	[RUN_STATE_PAUSED] = "paused",
	[RUN_STATE_POSTMIGRATE] = "postmigrate",
	[RUN_STATE_PRELAUNCH] = "prelaunch",
	[RUN_STATE_FINISH_MIGRATE] = "finish-migrate",
	[RUN_STATE_RESTORE_VM] = "restore-vm",
	[RUN_STATE_RUNNING] = "running",
	[RUN_STATE_SAVE_VM] = "save-vm",
	[RUN_STATE_SHUTDOWN] = "shutdown",
	[RUN_STATE_SUSPENDED] = "suspended",
	[RUN_STATE_WATCHDOG] = "watchdog",
	[RUN_STATE_GUEST_PANICKED] = "guest-panicked",
};

static const char *const cause_names[SHUTDOWN_CAUSES] = {
	[SHUTDOWN_NONE] = "none",
	[SHUTDOWN_HOST_ERROR] = "host-error",
	[SHUTDOWN_HOST_QMP_QUIT] = "host-qmp-quit",
	[SHUTDOWN_HOST_QMP_RESET] = "host-qmp-system-reset",
	[SHUTDOWN_HOST_SIGNAL] = "host-signal",
	[SHUTDOWN_HOST_UI] = "host-ui",
	[SHUTDOWN_GUEST_SHUTDOWN] = "guest-shutdown",
	[SHUTDOWN_GUEST_RESET] = "guest-reset",
	[SHUTDOWN_GUEST_PANIC] = "guest-panic",
	[SHUTDOWN_SNAPSHOT_LOAD] = "snapshot-load",
};

const char *run_state_name(enum run_state s)
{
	assert(s < RUN_STATES);
	return state_names[s];
}

int run_state_from_name(const char *name)
{
	for (int i = 0; i < RUN_STATES; i++)
		if (!strcmp(state_names[i], name))
			return i;
	return -1;
}

const char *shutdown_cause_name(enum shutdown_cause c)
{
	assert(c < SHUTDOWN_CAUSES);
	return cause_names[c];
}

enum run_state vm_run_state(const struct vm *vm)
{
	return __atomic_load_n(&vm->state, __ATOMIC_RELAXED);
}

bool vm_running(const struct vm *vm)
{
	return vm_run_state(vm) == RUN_STATE_RUNNING;
}

void vm_set_run_state(struct vm *vm, enum run_state state)
{
	assert(machine_lock_held() && !vm_running(vm) && state != RUN_STATE_RUNNING);
	__atomic_store_n(&vm->state, state, __ATOMIC_RELAXED);
}

static void tell(struct vm *vm, bool running, enum run_state state)
{
	struct run_state_change change = { .running = running, .state = state };

	__atomic_store_n(&vm->state, state, __ATOMIC_RELAXED);
	notifier_call(&vm->state_notifiers, &change);
}

void vm_start(struct vm *vm)
{
	enum shutdown_cause reset;

	vm_change_begin(vm);
	reset = vm->reset_on_start;
	vm->reset_on_start = SHUTDOWN_NONE;
	if (!vm_running(vm)) {
		tell(vm, true, RUN_STATE_RUNNING);
		if (vm->accel && vm->accel->ops->vm_state_changed)
			vm->accel->ops->vm_state_changed(vm->accel, true);
		clock_virtual_run(true);
		vcpu_resume_all(vm);
	}
	vm_change_end(vm);
	if (reset)
		vm_request_reset(vm, reset);
}

/* How far a stopped VM is on its way out: a stop for an earlier stage changes nothing. */
static int stop_stage(enum run_state state)
{
	switch (state) {
	case RUN_STATE_FINISH_MIGRATE: return 1;
	case RUN_STATE_POSTMIGRATE: return 2;
	case RUN_STATE_SHUTDOWN: return 3;
	default: return 0;
	}
}

void vm_stop(struct vm *vm, enum run_state state)
{
	bool was_running;

	assert(state != RUN_STATE_RUNNING);
	vm_change_begin(vm);
	was_running = vm_running(vm);
	if (was_running) {
		clock_virtual_run(false);
		vcpu_stop_all(vm);
		if (vm->accel && vm->accel->ops->vm_state_changed)
			vm->accel->ops->vm_state_changed(vm->accel, false);
		tell(vm, false, state);
	} else if (stop_stage(state) > stop_stage(vm->state)) {
		vm_set_run_state(vm, state);
	}
	vm_change_end(vm);
	if (was_running && vm->owner.stopped)
		vm->owner.stopped(vm->owner.opaque, state);
}

/* A request on its way to the main thread. It holds a reference to the VM. */
struct request {
	struct vm *vm;
	void (*run)(struct request *r);
	int bit; /* in vm->requests_pending; 0: every request counts */
	enum run_state state;
	enum shutdown_cause cause;
	int exit_code;
};

static void request_arrived(void *opaque)
{
	struct request *r = opaque;
	struct vm *vm = r->vm;

	if (!vm->destroyed) {
		__atomic_fetch_and(&vm->requests_pending, ~r->bit, __ATOMIC_SEQ_CST);
		r->run(r);
	}
	vm_unref(vm);
	g_free(r);
}

/* Requests with a bit are dropped while one of their kind is on its way. */
static void request(struct vm *vm, struct request req)
{
	vcpu_park_self();
	if (req.bit &&
	    __atomic_fetch_or(&vm->requests_pending, req.bit, __ATOMIC_SEQ_CST) & req.bit)
		return;
	g_atomic_ref_count_inc(&vm->refs);
	req.vm = vm;
	main_loop_call(request_arrived, g_memdup2(&req, sizeof(req)));
}

/* A vCPU that asked for something is parked; let it go on unless the VM has stopped meanwhile. */
static void resume_if_running(struct vm *vm)
{
	vm_change_begin(vm);
	if (vm_running(vm))
		vcpu_resume_all(vm);
	vm_change_end(vm);
}

static void run_stop(struct request *r)
{
	vm_stop(r->vm, r->state);
}

void vm_request_stop(struct vm *vm, enum run_state state)
{
	request(vm, (struct request){ .run = run_stop, .state = state });
}

static void run_shutdown(struct request *r)
{
	r->vm->owner.shutdown(r->vm->owner.opaque, r->cause, r->exit_code);
	resume_if_running(r->vm);
}

void vm_request_shutdown_code(struct vm *vm, enum shutdown_cause cause, int exit_code)
{
	request(vm, (struct request){ .run = run_shutdown,
				      .bit = 1 << 0,
				      .cause = cause,
				      .exit_code = exit_code });
}

void vm_request_shutdown(struct vm *vm, enum shutdown_cause cause)
{
	vm_request_shutdown_code(vm, cause, 0);
}

static void run_reset(struct request *r)
{
	struct vm *vm = r->vm;

	vm_change_begin(vm);
	if (vm->state == RUN_STATE_FINISH_MIGRATE) {
		/* RAM has been sent: nothing may change it, unless the VM goes on here after all.
		 */
		vm->reset_on_start = r->cause;
		vm_change_end(vm);
		return;
	}
	if (vm_running(vm))
		vcpu_stop_all(vm);
	vm_change_end(vm);
	vm->owner.reset(vm->owner.opaque, r->cause);
	resume_if_running(vm);
}

void vm_request_reset(struct vm *vm, enum shutdown_cause cause)
{
	request(vm, (struct request){ .run = run_reset, .bit = 1 << 1, .cause = cause });
}

static void run_powerdown(struct request *r)
{
	r->vm->owner.powerdown(r->vm->owner.opaque);
	resume_if_running(r->vm);
}

void vm_request_powerdown(struct vm *vm)
{
	request(vm, (struct request){ .run = run_powerdown, .bit = 1 << 2 });
}

/* system/run.c - what happens on shutdown, reset, power button, panic and signals. */
#include "emulator.h"

#include "accel/vcpu.h"
#include "monitor/monitor.h"
#include "qapi/gen/run-state.h"
#include "util/error.h"
#include "util/log.h"
#include "util/main-loop.h"

#include <glib-unix.h>
#include <signal.h>

static bool guest_caused(enum shutdown_cause cause)
{
	return cause == SHUTDOWN_GUEST_SHUTDOWN || cause == SHUTDOWN_GUEST_RESET ||
	       cause == SHUTDOWN_GUEST_PANIC;
}

static enum qapi_shutdown_cause qapi_cause(enum shutdown_cause cause)
{
	enum qapi_shutdown_cause q = QAPI_SHUTDOWN_CAUSE_NONE;

	qapi_shutdown_cause_parse(shutdown_cause_name(cause), &q);
	return q;
}

static void handle_shutdown(void *opaque, enum shutdown_cause cause, int exit_code)
{
	struct emulator *e = opaque;

	if (e->ending) /* the guest went on for a while; its first word counts */
		return;
	struct qapi_shutdown_event data = { .guest = guest_caused(cause),
					    .reason = qapi_cause(cause) };

	qapi_event_send_shutdown(e->events, &data);
	if (cause == SHUTDOWN_GUEST_PANIC && e->on_panic == PANIC_EXIT_FAILURE)
		exit_code = 1;
	if (e->shutdown_pauses && cause != SHUTDOWN_HOST_QMP_QUIT &&
	    cause != SHUTDOWN_HOST_SIGNAL && cause != SHUTDOWN_HOST_UI) {
		vm_stop(e->vm, RUN_STATE_SHUTDOWN);
		return;
	}
	e->exit_code = exit_code;
	e->ending = true;
	main_loop_quit();
}

void emulator_reset(struct emulator *e, enum shutdown_cause cause)
{
	struct qapi_reset_event data = { .guest = guest_caused(cause),
					 .reason = qapi_cause(cause) };
	bool running = vm_running(e->vm);

	g_autoptr(GError) err = NULL;

	vcpu_stop_all(e->vm);
	if (machine_reset(e->machine, &err)) {
		log_warn("reset failed: %s", err->message);
		vm_set_run_state(e->vm, RUN_STATE_INTERNAL_ERROR);
		return;
	}
	if (cause != SHUTDOWN_NONE && cause != SHUTDOWN_SNAPSHOT_LOAD)
		qapi_event_send_reset(e->events, &data);
	if (running)
		vcpu_resume_all(e->vm);
	else if (vm_run_state(e->vm) == RUN_STATE_SHUTDOWN ||
		 vm_run_state(e->vm) == RUN_STATE_INTERNAL_ERROR ||
		 vm_run_state(e->vm) == RUN_STATE_GUEST_PANICKED)
		vm_set_run_state(e->vm, RUN_STATE_PAUSED);
}

static void handle_reset(void *opaque, enum shutdown_cause cause)
{
	struct emulator *e = opaque;

	if (e->reboot_exits && cause == SHUTDOWN_GUEST_RESET)
		handle_shutdown(e, cause, 0);
	else
		emulator_reset(e, cause);
}

static void handle_powerdown(void *opaque)
{
	struct emulator *e = opaque;

	qapi_event_send_powerdown(e->events);
	if (!machine_powerdown(e->machine))
		log_warn("machine %s has no power button: the guest is not told",
			 e->machine->type->name);
}

const struct vm_owner emulator_vm_owner = {
	.shutdown = handle_shutdown,
	.reset = handle_reset,
	.powerdown = handle_powerdown,
	.stopped = emulator_stopped,
};

void emulator_guest_panicked(void *opaque, unsigned events)
{
	struct emulator *e = opaque;
	struct qapi_guest_panicked_event data = { .action = QAPI_GUEST_PANIC_ACTION_RUN };

	if (!(events & PVPANIC_PANICKED)) {
		struct qapi_guest_crashloaded_event crash = { .action = data.action };

		qapi_event_send_guest_crashloaded(e->events, &crash);
		return;
	}
	if (e->on_panic != PANIC_NONE)
		data.action = e->on_panic == PANIC_PAUSE || e->shutdown_pauses
				      ? QAPI_GUEST_PANIC_ACTION_PAUSE
				      : QAPI_GUEST_PANIC_ACTION_POWEROFF;
	qapi_event_send_guest_panicked(e->events, &data);
	if (data.action == QAPI_GUEST_PANIC_ACTION_RUN)
		return;
	vm_request_stop(e->vm, RUN_STATE_GUEST_PANICKED);
	if (data.action == QAPI_GUEST_PANIC_ACTION_POWEROFF)
		vm_request_shutdown(e->vm, SHUTDOWN_GUEST_PANIC);
}

int emulator_set_action(struct emulator *e, const char *reboot, const char *shutdown,
			const char *panic, GError **err)
{
	static const char *const panics[] = { "pause", "shutdown", "exit-failure", "none", NULL };

	if (reboot && strcmp(reboot, "reset") && strcmp(reboot, "shutdown")) {
		error_set(err, "action 'reboot=%s': expected reset or shutdown", reboot);
		return -EINVAL;
	}
	if (shutdown && strcmp(shutdown, "poweroff") && strcmp(shutdown, "pause")) {
		error_set(err, "action 'shutdown=%s': expected poweroff or pause", shutdown);
		return -EINVAL;
	}
	if (panic && !g_strv_contains(panics, panic)) {
		error_set(err, "action 'panic=%s': expected pause, shutdown, exit-failure or none",
			  panic);
		return -EINVAL;
	}
	if (reboot)
		e->reboot_exits = !strcmp(reboot, "shutdown");
	if (shutdown)
		e->shutdown_pauses = !strcmp(shutdown, "pause");
	for (int i = 0; panic && panics[i]; i++)
		if (!strcmp(panic, panics[i]))
			e->on_panic = i;
	return 0;
}

static gboolean on_signal(gpointer data)
{
	struct emulator *e = data;

	vm_request_shutdown(e->vm, SHUTDOWN_HOST_SIGNAL);
	return G_SOURCE_CONTINUE;
}

void emulator_handle_signals(struct emulator *e)
{
	g_unix_signal_add(SIGTERM, on_signal, e);
	g_unix_signal_add(SIGINT, on_signal, e);
	g_unix_signal_add(SIGHUP, on_signal, e);
	/* Writing then fails, and whoever writes deals with it. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

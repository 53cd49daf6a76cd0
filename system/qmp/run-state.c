/* system/qmp/run-state.c - commands that run, stop, reset and end the machine. */
#include "qapi/gen/run-state.h"

#include "block/block.h"
#include "migration/migration.h"
#include "system/dump.h"
#include "system/emulator.h"
#include "util/error.h"

struct qapi_status_info *qmp_query_status(struct machine *m, GError **err)
{
	struct qapi_status_info *info = g_new0(struct qapi_status_info, 1);

	info->running = vm_running(m->vm);
	qapi_run_state_parse(run_state_name(vm_run_state(m->vm)), &info->status);
	return info;
}

void qmp_stop(struct machine *m, GError **err)
{
	struct emulator *e = emulator_of(m);

	if (migration_incoming_waiting(e->migration))
		migration_set_autostart(e->migration, false);
	else
		vm_stop(m->vm, RUN_STATE_PAUSED);
	/* So that a copy that is made of an image now is a good one. */
	block_flush_all();
}

void qmp_cont(struct machine *m, GError **err)
{
	struct emulator *e = emulator_of(m);

	if (migration_incoming_waiting(e->migration)) {
		migration_set_autostart(e->migration, true);
		return;
	}
	if (dump_query(e, NULL, NULL) == DUMP_ACTIVE) {
		error_set(err, "There is a dump in process, please wait.");
		return;
	}
	switch (vm_run_state(m->vm)) {
	case RUN_STATE_RUNNING: return;
	case RUN_STATE_INTERNAL_ERROR:
	case RUN_STATE_SHUTDOWN:
	case RUN_STATE_GUEST_PANICKED:
		error_set(err, "Resetting the Virtual Machine is required");
		return;
	case RUN_STATE_FINISH_MIGRATE:
		error_set(err, "the migration is about to complete: the guest cannot run here");
		return;
	default: break;
	}
	if (!emulator_activate(e, err))
		vm_start(m->vm);
}

void qmp_system_reset(struct machine *m, GError **err)
{
	vm_request_reset(m->vm, SHUTDOWN_HOST_QMP_RESET);
}

void qmp_system_powerdown(struct machine *m, GError **err)
{
	vm_request_powerdown(m->vm);
}

void qmp_system_wakeup(struct machine *m, GError **err)
{
	/* No machine here can be suspended, so none can be woken. */
	error_set(err, "Unable to wake up: guest is not in suspended state");
}

void qmp_quit(struct machine *m, GError **err)
{
	vm_request_shutdown(m->vm, SHUTDOWN_HOST_QMP_QUIT);
}

struct qapi_name_info *qmp_query_name(struct machine *m, GError **err)
{
	struct qapi_name_info *info = g_new0(struct qapi_name_info, 1);

	info->name = g_strdup(m->opt.name);
	return info;
}

struct qapi_uuid_info *qmp_query_uuid(struct machine *m, GError **err)
{
	struct qapi_uuid_info *info = g_new0(struct qapi_uuid_info, 1);
	GString *s = g_string_new(NULL);

	for (int i = 0; i < 16; i++)
		g_string_append_printf(s, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       m->opt.uuid[i]);
	info->UUID = g_string_free(s, FALSE);
	return info;
}

void qmp_set_action(struct machine *m, const struct qapi_set_action_args *args, GError **err)
{
	if (args->has_watchdog) {
		error_set(err, "action 'watchdog' is not supported: this machine has no watchdog");
		return;
	}
	emulator_set_action(emulator_of(m),
			    args->has_reboot ? qapi_reboot_action_str(args->reboot) : NULL,
			    args->has_shutdown ? qapi_shutdown_action_str(args->shutdown) : NULL,
			    args->has_panic ? qapi_panic_action_str(args->panic) : NULL, err);
}

void qmp_watchdog_set_action(struct machine *m, const struct qapi_watchdog_set_action_args *args,
			     GError **err)
{
	error_set(err, "action '%s' is not supported: this machine has no watchdog",
		  qapi_watchdog_action_str(args->action));
}

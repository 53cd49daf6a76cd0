/* system/events.c - what rooms report, on its way to the monitors as events. */
#include "emulator.h"

#include "block/block.h"
#include "chardev/char.h"
#include "hw/virtio/balloon.h"
#include "qapi/gen/block.h"
#include "qapi/gen/char.h"
#include "qapi/gen/guest-memory.h"
#include "qapi/gen/machine.h"
#include "qapi/gen/net.h"
#include "qapi/gen/run-state.h"

/* vCPUs run only after RESUME; the state is the new one already. */
static void run_state_changed(struct notifier *n, void *data)
{
	struct emulator *e = container_of(n, struct emulator, run_state_notifier);
	const struct run_state_change *change = data;

	if (change->running)
		qapi_event_send_resume(e->events);
}

/* When STOP is seen no vCPU runs, and devices have finished what they had begun. */
void emulator_stopped(void *opaque, enum run_state state)
{
	struct emulator *e = opaque;

	qapi_event_send_stop(e->events);
}

static void disk_failed(void *opaque, struct block_backend *b, bool is_read, int errnum,
			enum block_error_action action)
{
	static const enum qapi_block_error_action actions[] = {
		[BLOCK_ERROR_IGNORE] = QAPI_BLOCK_ERROR_ACTION_IGNORE,
		[BLOCK_ERROR_REPORT] = QAPI_BLOCK_ERROR_ACTION_REPORT,
		[BLOCK_ERROR_STOP] = QAPI_BLOCK_ERROR_ACTION_STOP,
	};
	struct qapi_block_io_error_event data = {
		.qom_path = (char *)block_qdev(b),
		.device = (char *)block_id(b),
		.node_name = (char *)block_node_name(b),
		.operation = is_read ? QAPI_IO_OPERATION_TYPE_READ : QAPI_IO_OPERATION_TYPE_WRITE,
		.action = actions[action],
		.has_nospace = action == BLOCK_ERROR_STOP,
		.nospace = errnum == ENOSPC,
		.reason = (char *)g_strerror(errnum),
	};
	struct emulator *e = opaque;

	qapi_event_send_block_io_error(e->events, &data);
}

static void balloon_changed(struct machine *m, u64 actual, void *opaque)
{
	struct qapi_balloon_change_event data = { .actual = (s64)actual };
	struct emulator *e = opaque;

	qapi_event_send_balloon_change(e->events, &data);
}

void emulator_rtc_changed(void *opaque, s64 offset_s, const char *path)
{
	struct qapi_rtc_change_event data = { .offset = offset_s, .qom_path = (char *)path };
	struct emulator *e = opaque;

	qapi_event_send_rtc_change(e->events, &data);
}

void emulator_serial_port_changed(void *opaque, const char *id, bool open)
{
	struct qapi_vserport_change_event data = { .id = (char *)id, .open = open };
	struct emulator *e = opaque;

	qapi_event_send_vserport_change(e->events, &data);
}

void emulator_rx_filter_changed(void *opaque, const char *id, const char *path)
{
	struct qapi_nic_rx_filter_changed_event data = { .name = (char *)id, .path = (char *)path };
	struct emulator *e = opaque;

	qapi_event_send_nic_rx_filter_changed(e->events, &data);
}

/* Ctrl-a x on the terminal, or the test device's exit, whose status is never 0. */
static void quit(void *opaque, int exit_code)
{
	struct emulator *e = opaque;

	vm_request_shutdown_code(e->vm, exit_code ? SHUTDOWN_GUEST_SHUTDOWN : SHUTDOWN_HOST_UI,
				 exit_code);
}

void emulator_connect_events(struct emulator *e)
{
	const struct chardev_hooks hooks = {
		.quit = quit,
		.opaque = e,
		.mux_escape = e->cfg->escape_char,
		.stdio_no_signal = e->cfg->nographic,
	};

	chardev_set_hooks(&hooks);
	e->run_state_notifier.fn = run_state_changed;
	notifier_add(&e->vm->state_notifiers, &e->run_state_notifier);
	block_error_notify(disk_failed, e);
	balloon_on_change(balloon_changed, e);
}

void emulator_disconnect_events(struct emulator *e)
{
	e->events = NULL; /* the end of the process is no STOP */
	notifier_remove(&e->vm->state_notifiers, &e->run_state_notifier);
	block_error_notify(NULL, NULL);
	balloon_on_change(NULL, NULL);
}

/* system/setup.c - creating the machine and everything around it, and taking it down. */
#include "emulator.h"

#include <stdio.h>

#include "accel/vcpu.h"
#include "accel-help.h"
#include "block/block.h"
#include "daemon.h"
#include "dump.h"
#include "help.h"
#include "incoming.h"
#include "migration/migration.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "net-state.h"
#include "objects.h"
#include "qapi/gen/qom.h"
#include "qapi/gen/run-state.h"
#include "chardev/char.h"
#include "gdb/gdb.h"
#include "qtest.h"
#include "sandbox.h"
#include "semihosting.h"
#include "ui/display.h"
#include "ui/vnc.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

static struct chardev *find_chardev(void *opaque, const char *id)
{
	return chardev_find(id);
}

static struct net_client *find_netdev(void *opaque, const char *id)
{
	return net_find(id);
}

static struct block_backend *find_drive(void *opaque, const char *id)
{
	return block_find(id);
}

static void *find_object(void *opaque, const char *id, const char *type)
{
	return objects_find(((struct emulator *)opaque)->objects, id, type);
}

static void device_deleted(void *opaque, const char *id, const char *path)
{
	struct emulator *e = opaque;
	struct qapi_device_deleted_event data = { .device = (char *)id, .path = (char *)path };

	qapi_event_send_device_deleted(e->events, &data);
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "?");
}

/* Help that needs the target's tables but no machine. Return 1 if it was printed. */
static int print_help(struct emulator *e, GError **err)
{
	const struct hw_target *hw = target_desc.hw;
	struct config *c = e->cfg;
	const char *type = keyval_str(c->machine, "type");

	if (type && is_help(type)) {
		help_print(machine_types_help(hw));
		return 1;
	}
	if (c->cpu && is_help(c->cpu)) {
		help_print(target_desc.cpu_help());
		return 1;
	}
	for (guint i = 0; i < c->accels->len; i++) {
		struct config_item *item = g_ptr_array_index(c->accels, i);

		if (item->opts && keyval_wants_help(item->opts)) {
			help_print(accels_help(keyval_str(item->opts, "accel")));
			return 1;
		}
	}
	for (guint i = 0; i < c->devices->len; i++) {
		struct config_item *item = g_ptr_array_index(c->devices, i);
		const char *driver = keyval_str(item->opts, "driver");

		if (driver && is_help(driver)) {
			help_print(device_types_help(hw));
			return 1;
		}
		if (driver && (json_object_has_member(item->opts, "help") ||
			       json_object_has_member(item->opts, "?"))) {
			char *text = device_type_help(hw, driver, err);

			if (!text)
				return -EINVAL;
			help_print(text);
			return 1;
		}
	}
	for (guint i = 0; i < c->nets->len; i++) {
		const char *net =
			keyval_str(((struct config_item *)c->nets->pdata[i])->opts, "type");

		if (net && is_help(net)) {
			help_print(net_types_help());
			return 1;
		}
	}
	for (guint i = 0; i < c->objects->len; i++) {
		struct config_item *item = g_ptr_array_index(c->objects, i);

		const char *name = keyval_str(item->opts, "qom-type");
		char *text;

		if (!keyval_wants_help(item->opts))
			continue;
		text = !name || is_help(name) ? objects_help() : object_type_help(name, err);
		if (!text)
			return -EINVAL;
		help_print(text);
		return 1;
	}
	if (type && (json_object_has_member(c->machine, "help") ||
		     json_object_has_member(c->machine, "?"))) {
		const struct machine_type *t = machine_type_find(hw, type);

		if (t) {
			help_print(machine_type_help(t));
			return 1;
		}
	}
	return 0;
}

static const struct machine_type *choose_type(struct emulator *e, GError **err)
{
	const char *name = keyval_str(e->cfg->machine, "type");
	const struct machine_type *t;

	if (!name)
		name = target_desc.hw->default_machine;
	if (!name) {
		error_set(err, "no machine given: use -machine NAME (-machine help lists them)");
		return NULL;
	}
	t = machine_type_find(target_desc.hw, name);
	if (!t) {
		g_autofree char *relatives = machine_type_relatives(target_desc.hw, name);

		error_set(err, "unsupported machine type '%s': %s%s", name,
			  relatives ? "there are " : "use -machine help to list the supported ones",
			  relatives ?: "");
	}
	return t;
}

static int setup_objects(struct emulator *e, GError **err)
{
	for (guint i = 0; i < e->cfg->objects->len; i++) {
		struct config_item *item = g_ptr_array_index(e->cfg->objects, i);

		if (objects_add(e->objects, item->opts, err)) {
			g_prefix_error(err, "-object %s: ", item->text);
			return -EINVAL;
		}
	}
	return 0;
}

static int setup_actions(struct emulator *e, GError **err)
{
	struct config *c = e->cfg;

	e->reboot_exits = c->no_reboot;
	e->shutdown_pauses = c->no_shutdown;
	if (!c->action)
		return 0;
	g_autofree char *reboot = keyval_take_str(c->action, "reboot");
	g_autofree char *shutdown = keyval_take_str(c->action, "shutdown");
	g_autofree char *panic = keyval_take_str(c->action, "panic");

	if (emulator_set_action(e, reboot, shutdown, panic, err))
		return -EINVAL;
	return keyval_reject_rest(c->action, "-action", err);
}

int emulator_setup(struct emulator *e, GError **err)
{
	const struct machine_type *type;
	struct vm_owner owner = emulator_vm_owner;
	int ret = print_help(e, err);

	if (ret)
		return ret;
	type = choose_type(e, err);
	if (!type)
		return -EINVAL;
	e->host = (struct machine_host){
		.chardev = find_chardev,
		.netdev = find_netdev,
		.drive = find_drive,
		.object = find_object,
		.device_deleted = device_deleted,
		.guest_panicked = emulator_guest_panicked,
		.rtc_changed = emulator_rtc_changed,
		.serial_port_changed = emulator_serial_port_changed,
		.rx_filter_changed = emulator_rx_filter_changed,
		.display = display_create(),
		.opaque = e,
	};
	owner.opaque = e;
	e->autostart = !e->cfg->stopped;
	e->on_panic = PANIC_SHUTDOWN;
	e->objects = objects_create(e);
	e->vm = vm_create(type->has_io, &owner);
	e->registry = state_registry_create();
	e->machine = machine_create(target_desc.hw, type, e->vm, e->registry, &e->host);
	e->monitors = monitor_server_create(e->machine, &qapi_interface);
	e->events = monitor_server_sink(e->monitors);
	emulator_connect_events(e);
	if (setup_actions(e, err) || setup_chardevs(e, err) || setup_objects(e, err) ||
	    setup_monitors(e, err))
		return -EINVAL;
	ret = setup_backends(e, err);
	if (ret)
		return ret;
	if (setup_machine(e, err))
		return -EINVAL;
	ret = setup_machine_devices(e, err);
	if (ret)
		return ret;
	net_state_update(e);
	if (setup_vnc(e, err) || setup_semihosting(e, err) || setup_migration(e, err))
		return -EINVAL;
	if (e->cfg->qtest) {
		e->qtest = qtest_create(e->machine, e->cfg->qtest, e->cfg->qtest_log, err);
		if (!e->qtest)
			return -EINVAL;
	}
	if (e->cfg->gdb && strcmp(e->cfg->gdb, "none")) {
		e->gdb = gdb_server_create(e, e->cfg->gdb, err);
		if (!e->gdb)
			return -EINVAL;
	}
	if (machine_reset(e->machine, err))
		return -EINVAL;
	if ((e->cfg->pidfile && pidfile_write(e->cfg->pidfile, err)) ||
	    process_confine(e->cfg, err) ||
	    (e->cfg->sandbox && sandbox_enter(e->cfg->sandbox, err)))
		return -EINVAL;
	return 0;
}

int emulator_activate(struct emulator *e, GError **err)
{
	return block_activate_all(err);
}

int emulator_start(struct emulator *e, GError **err)
{
	if (e->cfg->incoming)
		return start_incoming(e, err);
	if (e->autostart && strcmp(e->machine->type->name, "none"))
		vm_start(e->vm);
	return 0;
}

void emulator_teardown(struct emulator *e)
{
	if (!e->vm)
		return;
	emulator_disconnect_events(e);
	if (e->vm->accel)
		vm_stop(e->vm, RUN_STATE_SHUTDOWN);
	dump_finish(e);
	teardown_migration(e);
	if (e->qtest)
		qtest_destroy(e->qtest);
	gdb_server_destroy(e->gdb, true);
	block_flush_all();
	/* Before the serial ports, whose terminal they would get. */
	objects_drop_monitors(e->objects);
	monitor_server_destroy(e->monitors);
	vnc_destroy_all();
	machine_destroy(e->machine);
	display_destroy(e->host.display);
	net_cleanup();
	vm_destroy(e->vm);
	teardown_semihosting();
	state_registry_destroy(e->registry);
	objects_destroy(e->objects);
	chardev_cleanup();
	pidfile_remove();
}

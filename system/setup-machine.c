/* system/setup-machine.c - from the configuration to a machine with its devices. */
#include "emulator.h"

#include <stdlib.h>

#include "accel/tcg.h"
#include "accel/tcg/icount.h"
#include "accel/vcpu.h"
#include "block/block.h"
#include "chardev/char.h"
#include "help.h"
#include "memory/backend.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "objects.h"
#include "options.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

static int take_count(JsonObject *o, const char *key, unsigned *out, GError **err)
{
	u64 v = 1;
	int ret = keyval_take_u64(o, key, &v, err);

	if (ret == -ENOENT)
		return 0;
	if (!v || v > UINT16_MAX) {
		error_set(err, "'%s=%" PRIu64 "' is not between 1 and %d", key, v, UINT16_MAX);
		ret = -EINVAL;
	}
	if (ret == -EINVAL) {
		g_prefix_error(err, "-smp: ");
		return ret;
	}
	*out = v;
	return 0;
}

static int apply_smp(struct machine_options *opt, JsonObject *smp, GError **err)
{
	if (take_count(smp, "cpus", &opt->cpus, err) ||
	    take_count(smp, "maxcpus", &opt->max_cpus, err) ||
	    take_count(smp, "sockets", &opt->sockets, err) ||
	    take_count(smp, "dies", &opt->dies, err) ||
	    take_count(smp, "cores", &opt->cores, err) ||
	    take_count(smp, "threads", &opt->threads, err) || keyval_reject_rest(smp, "-smp", err))
		return -EINVAL;
	return 0;
}

static int apply_memory(struct machine_options *opt, JsonObject *m, GError **err)
{
	u64 slots = 0;

	if (keyval_take_size(m, "size", 'M', &opt->ram_size, err) == -EINVAL ||
	    keyval_take_size(m, "maxmem", 'M', &opt->max_ram_size, err) == -EINVAL ||
	    keyval_take_u64(m, "slots", &slots, err) == -EINVAL) {
		g_prefix_error(err, "-m: ");
		return -EINVAL;
	}
	opt->ram_slots = slots;
	return keyval_reject_rest(m, "-m", err);
}

static int parse_uuid(const char *text, u8 uuid[16], GError **err)
{
	static const u8 dash_before[] = { 4, 6, 8, 10 };
	const char *p = text;

	for (unsigned i = 0, d = 0; i < 16; i++) {
		if (d < ARRAY_SIZE(dash_before) && i == dash_before[d] && ++d && *p++ != '-')
			goto bad;
		if (!g_ascii_isxdigit(p[0]) || !g_ascii_isxdigit(p[1]))
			goto bad;
		uuid[i] = g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]);
		p += 2;
	}
	if (!*p)
		return 0;
bad:
	error_set(err, "-uuid %s: expected the form 01234567-89ab-cdef-0123-456789abcdef", text);
	return -EINVAL;
}

/* -rtc base: "utc", "localtime" or a date; what the guest's clock shows less the host's UTC. */
static int apply_rtc(struct machine_options *opt, JsonObject *rtc, GError **err)
{
	g_autofree char *base = keyval_take_str(rtc, "base");
	g_autofree char *clock = keyval_take_str(rtc, "clock");
	g_autofree char *drift = keyval_take_str(rtc, "driftfix");
	s64 now = clock_ns(CLOCK_TYPE_HOST) / NS_PER_S;

	opt->rtc_clock = CLOCK_TYPE_HOST;
	if (clock && !strcmp(clock, "rt"))
		opt->rtc_clock = CLOCK_TYPE_REALTIME;
	else if (clock && !strcmp(clock, "vm"))
		opt->rtc_clock = CLOCK_TYPE_VIRTUAL;
	else if (clock && strcmp(clock, "host")) {
		error_set(err, "-rtc clock=%s: expected host, rt or vm", clock);
		return -EINVAL;
	}
	if (drift && strcmp(drift, "none") && strcmp(drift, "slew")) {
		error_set(err, "-rtc driftfix=%s: expected none or slew", drift);
		return -EINVAL;
	}
	if (base && !strcmp(base, "localtime")) {
		g_autoptr(GDateTime) local = g_date_time_new_now_local();

		opt->rtc_offset_s = g_date_time_get_utc_offset(local) / G_TIME_SPAN_SECOND;
	} else if (base && strcmp(base, "utc")) {
		g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
		g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(base, utc);

		if (!date) {
			error_set(err,
				  "-rtc base=%s: expected utc, localtime or a date such as "
				  "2006-06-17T16:01:21",
				  base);
			return -EINVAL;
		}
		opt->rtc_offset_s = g_date_time_to_unix(date) - now;
	}
	return keyval_reject_rest(rtc, "-rtc", err);
}

static int apply_fw_cfg(struct machine_options *opt, const struct config_item *item, GError **err)
{
	g_autofree char *name = keyval_take_str(item->opts, "name");
	g_autofree char *file = keyval_take_str(item->opts, "file");
	g_autofree char *text = keyval_take_str(item->opts, "string");
	struct fw_cfg_option *o;
	gsize len;

	if (!name || !file == !text) {
		error_set(err, "-fw_cfg %s: needs name= and one of file= and string=", item->text);
		return -EINVAL;
	}
	if (keyval_reject_rest(item->opts, "-fw_cfg", err))
		return -EINVAL;
	if (file) {
		g_autoptr(GError) why = NULL;

		if (!g_file_get_contents(file, &text, &len, &why)) {
			error_set(err, "-fw_cfg name=%s: %s", name, why->message);
			return -EINVAL;
		}
	} else {
		len = strlen(text);
	}
	if (!opt->fw_cfg)
		opt->fw_cfg = g_ptr_array_new();
	o = g_new0(struct fw_cfg_option, 1);
	o->name = g_steal_pointer(&name);
	o->data = g_bytes_new_take(g_steal_pointer(&text), len);
	g_ptr_array_add(opt->fw_cfg, o);
	return 0;
}

/* -name guest=,process=,debug-threads=: the last two are about the process. */
static int apply_name(struct machine_options *opt, JsonObject *name, GError **err)
{
	g_autofree char *process = keyval_take_str(name, "process");
	bool debug_threads = false;

	opt->name = keyval_take_str(name, "guest");
	if (process)
		g_set_prgname(process);
	if (keyval_take_bool(name, "debug-threads", &debug_threads, err) == -EINVAL)
		return -EINVAL;
	return keyval_reject_rest(name, "-name", err);
}

static int apply_boot(struct machine_options *opt, JsonObject *boot, GError **err)
{
	static const char *const firmware_only[] = { "menu",           "splash", "splash-time",
						     "reboot-timeout", "strict", "once" };

	opt->boot_order = keyval_take_str(boot, "order");
	for (unsigned i = 0; i < ARRAY_SIZE(firmware_only); i++) {
		g_autofree char *value = keyval_take_str(boot, firmware_only[i]);

		if (value && strcmp(firmware_only[i], "strict"))
			log_warn("-boot %s=%s has no effect: no firmware of this machine reads it",
				 firmware_only[i], value);
	}
	return keyval_reject_rest(boot, "-boot", err);
}

static int apply_options(struct emulator *e, GError **err)
{
	struct machine_options *opt = &e->machine->opt;
	struct config *c = e->cfg;

	opt->kernel = g_strdup(c->kernel);
	opt->initrd = g_strdup(c->initrd);
	opt->append = g_strdup(c->append);
	opt->bios = g_strdup(c->bios);
	opt->dtb = g_strdup(c->dtb);
	opt->cpu_model = g_strdup(c->cpu);
	opt->no_defaults = c->no_defaults;
	opt->incoming = c->incoming != NULL;
	opt->stopped = c->stopped;
	if (c->bios && c->data_dir && !strchr(c->bios, '/')) {
		g_autofree char *in_dir = g_build_filename(c->data_dir, c->bios, NULL);

		if (g_file_test(in_dir, G_FILE_TEST_EXISTS)) {
			g_free(opt->bios);
			opt->bios = g_steal_pointer(&in_dir);
		}
	}
	if ((c->smp && apply_smp(opt, c->smp, err)) ||
	    (c->memory && apply_memory(opt, c->memory, err)) ||
	    (c->rtc && apply_rtc(opt, c->rtc, err)) || (c->name && apply_name(opt, c->name, err)) ||
	    (c->boot && apply_boot(opt, c->boot, err)))
		return -EINVAL;
	if (c->uuid) {
		if (parse_uuid(c->uuid, opt->uuid, err))
			return -EINVAL;
		opt->has_uuid = true;
	}
	for (guint i = 0; i < c->fw_cfg->len; i++)
		if (apply_fw_cfg(opt, g_ptr_array_index(c->fw_cfg, i), err))
			return -EINVAL;
	return 0;
}

/* The accelerators to try, in order: every -accel, or -machine accel=a:b, or the target's list. */
static GPtrArray *accel_candidates(struct emulator *e, JsonObject *machine)
{
	GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
	g_autofree char *names = keyval_take_str(machine, "accel");
	GPtrArray *accels = e->cfg->accels;

	for (guint i = 0; i < accels->len; i++) {
		struct config_item *item = g_ptr_array_index(accels, i);

		g_ptr_array_add(list, json_object_ref(item->opts));
	}
	if (!list->len && names) {
		g_auto(GStrv) split = g_strsplit(names, ":", -1);

		for (char **n = split; *n; n++) {
			JsonObject *o = json_object_new();

			json_object_set_string_member(o, "accel", *n);
			g_ptr_array_add(list, o);
		}
	}
	for (unsigned i = 0; !list->len && target_desc.accels[i]; i++) {
		JsonObject *o = json_object_new();

		json_object_set_string_member(o, "accel", target_desc.accels[i]->name);
		g_ptr_array_add(list, o);
		break;
	}
	return list;
}

static const struct accel_ops *accel_find(const char *name)
{
	for (const struct accel_ops *const *a = target_desc.accels; *a; a++)
		if (!strcmp((*a)->name, name))
			return *a;
	return NULL;
}

/* Return: 0; -ENODEV if another one may be tried; -EINVAL if the options are wrong. The error does
 * not name the option. */
static int accel_try(struct emulator *e, JsonObject *opts, JsonObject *machine, GError **err)
{
	g_autofree char *name = g_strdup(keyval_str(opts, "accel"));
	const struct accel_ops *ops = name ? accel_find(name) : NULL;
	JsonObject *props;
	int ret = -ENODEV;

	if (!ops) {
		g_autoptr(GString) known = g_string_new(NULL);

		for (const struct accel_ops *const *a = target_desc.accels; *a; a++)
			g_string_append_printf(known, "%s%s", known->len ? ", " : "", (*a)->name);
		error_set(err, "invalid accelerator %s: qemu-system-%s has %s%s", name ? name : "",
			  target_desc.hw->name, known->str,
			  name && !strcmp(name, "kvm")
				  ? " (guests of kvm need a host of their own architecture)"
				  : "");
		return -ENODEV;
	}
	if (e->cfg->icount && ops != &tcg_accel_ops) {
		error_set(err,
			  "-icount counts the instructions of translated code; use -accel tcg");
		return -ENODEV;
	}
	if ((e->cfg->perf_map || e->cfg->one_insn) && ops != &tcg_accel_ops) {
		error_set(err, "-%s is about translated code; use -accel tcg",
			  e->cfg->perf_map ? "perfmap" : "one-insn-per-tb");
		return -ENODEV;
	}
	props = json_object_new();
	keyval_merge(props, opts);
	json_object_remove_member(props, "accel");
	if (e->cfg->one_insn)
		json_object_set_string_member(props, "one-insn-per-tb", "on");
	/* Older command lines give these to the machine. */
	for (const char *const *k =
		     (const char *const[]){ "kernel-irqchip", "kernel_irqchip", NULL };
	     *k; k++) {
		const char *value = keyval_str(machine, *k);

		if (value && !strcmp(name, "kvm"))
			json_object_set_string_member(props, "kernel-irqchip", value);
	}
	if (!vm_attach_accel(e->vm, ops, props, err))
		ret = keyval_reject_rest(props, "accelerator", err);
	json_object_unref(props);
	return ret;
}

static int setup_accel(struct emulator *e, JsonObject *machine, GError **err)
{
	g_autoptr(GPtrArray) list = accel_candidates(e, machine);

	if (e->cfg->icount && (tcg_icount_configure(e->cfg->icount, err) ||
			       keyval_reject_rest(e->cfg->icount, "-icount", err))) {
		g_prefix_error(err, "-icount ");
		return -EINVAL;
	}
	for (guint i = 0; i < list->len; i++) {
		JsonObject *opts = g_ptr_array_index(list, i);
		const char *name = keyval_str(opts, "accel");
		g_autoptr(GError) why = NULL;
		int ret = accel_try(e, opts, machine, &why);

		if (!ret) {
			if (i)
				log_warn("falling back to %s", name);
			break;
		}
		if (ret != -ENODEV || i + 1 == list->len) {
			error_set(err, "-accel %s: %s", name ? name : "", why->message);
			return -EINVAL;
		}
		log_warn("-accel %s: %s", name ? name : "", why->message);
	}
	json_object_remove_member(machine, "kernel-irqchip");
	json_object_remove_member(machine, "kernel_irqchip");
	return e->cfg->perf_map ? tcg_perf_map_open(err) : 0;
}

/* The memory back end of the main RAM: -machine memory-backend=, -numa node,memdev=, -mem-path. */
static int choose_ram(struct emulator *e, JsonObject *machine, GError **err)
{
	struct machine_options *opt = &e->machine->opt;
	g_autofree char *id = keyval_take_str(machine, "memory-backend");
	struct config *c = e->cfg;
	struct memory_backend *b;

	for (guint i = 0; i < c->numa->len; i++) {
		struct config_item *item = g_ptr_array_index(c->numa, i);
		const char *type = keyval_str(item->opts, "type");

		if (i || !type || strcmp(type, "node")) {
			error_set(err, "-numa %s is not supported: one 'node' with memdev= is",
				  item->text);
			return -EINVAL;
		}
		if (!id)
			id = g_strdup(keyval_str(item->opts, "memdev"));
	}
	if (!id && (c->mem_path || c->mem_prealloc)) {
		JsonObject *o = json_object_new();

		id = g_strdup(e->machine->type->default_ram_id);
		json_object_set_string_member(
			o, "qom-type", c->mem_path ? "memory-backend-file" : "memory-backend-ram");
		json_object_set_string_member(o, "id", id);
		if (c->mem_path)
			json_object_set_string_member(o, "mem-path", c->mem_path);
		json_object_set_boolean_member(o, "prealloc", c->mem_prealloc);
		json_object_set_int_member(o, "size",
					   opt->ram_size ? opt->ram_size
							 : e->machine->type->default_ram_size);
		int ret = objects_add(e->objects, o, err);

		json_object_unref(o);
		if (ret)
			return ret;
	}
	if (!id)
		return 0;
	b = objects_find(e->objects, id, "memory-backend");
	if (!b) {
		error_set(err,
			  "memory-backend '%s' not found: give -object memory-backend-ram,"
			  "id=%s,size=...",
			  id, id);
		return -EINVAL;
	}
	if (opt->ram_size && opt->ram_size != b->spec.size) {
		error_set(err,
			  "-m %" PRIu64 "M differs from the size of memory back end '%s' "
			  "(%" PRIu64 "M)",
			  opt->ram_size / MiB, id, b->spec.size / MiB);
		return -EINVAL;
	}
	opt->ram_size = b->spec.size;
	opt->ram = memory_backend_use(b, e->vm->ram, NULL, err);
	return opt->ram ? 0 : -EINVAL;
}

/*
 * -nographic: the terminal carries serial port and monitor, unless they are given.
 * @muxed: out: which ports share their device with a monitor.
 */
static int setup_serials(struct emulator *e, bool muxed[MACHINE_SERIALS], GError **err)
{
	struct machine_options *opt = &e->machine->opt;
	struct config *c = e->cfg;

	if (!c->serials->len && c->nographic && !c->no_defaults)
		option_add_item(c->serials, "serial", NULL, "mon:stdio");
	for (guint i = 0; i < c->serials->len; i++) {
		struct config_item *item = g_ptr_array_index(c->serials, i);
		g_autofree char *id = g_strdup_printf("serial%u", i);
		g_autoptr(GError) why = NULL;

		if (i == MACHINE_SERIALS) {
			error_set(err, "-serial %s: there are only %d serial ports", item->text,
				  MACHINE_SERIALS);
			return -EINVAL;
		}
		opt->serial[i] = chardev_create_shorthand(id, item->text, &muxed[i], &why);
		if (why) {
			error_set(err, "-serial %s: %s", item->text, why->message);
			return -EINVAL;
		}
	}
	opt->nserials = c->serials->len;
	return 0;
}

/* Only when the machine has its serial ports: the first on a terminal has the input. */
static int attach_serial_monitors(struct emulator *e, const bool muxed[MACHINE_SERIALS],
				  GError **err)
{
	for (unsigned i = 0; i < MACHINE_SERIALS; i++)
		if (muxed[i] &&
		    !monitor_attach(e->monitors, e->machine->opt.serial[i], MONITOR_HMP, err))
			return -EINVAL;
	return 0;
}

int setup_machine(struct emulator *e, GError **err)
{
	bool muxed[MACHINE_SERIALS] = { false };
	JsonObject *machine = e->cfg->machine;
	struct config *c = e->cfg;

	json_object_remove_member(machine, "type");
	/* libvirt gives the option to every guest without ACPI, whatever the machine. */
	if (c->no_acpi && machine_find_prop(e->machine, "acpi") &&
	    !json_object_has_member(machine, "acpi"))
		json_object_set_string_member(machine, "acpi", "off");
	if (setup_accel(e, machine, err) || apply_options(e, err) || choose_ram(e, machine, err) ||
	    machine_set_props(e->machine, machine, err))
		return -EINVAL;
	for (guint i = 0; i < c->globals->len; i++) {
		JsonObject *o = ((struct config_item *)g_ptr_array_index(c->globals, i))->opts;

		if (!strcmp(keyval_str(o, "driver"), "migration"))
			continue; /* setup_migration() takes these */
		if (machine_add_global(e->machine, keyval_str(o, "driver"),
				       keyval_str(o, "property"), keyval_str(o, "value"), err))
			return -EINVAL;
	}
	if (setup_serials(e, muxed, err) || machine_init(e->machine, err))
		return -EINVAL;
	return attach_serial_monitors(e, muxed, err);
}

static int add_device(struct emulator *e, JsonObject *opts, const char *text, GError **err)
{
	if (!device_add(e->machine, opts, err)) {
		g_prefix_error(err, "-device %s: ", text);
		return -EINVAL;
	}
	return 0;
}

/* Disks given with if=virtio, and cards of -nic and -net nic, become devices on the machine's bus.
 */
static int add_implied_devices(struct emulator *e, GError **err)
{
	struct block_drive *drive;
	GPtrArray *nics = net_nics();

	while ((drive = block_drive_next(BLOCK_IF_VIRTIO))) {
		JsonObject *o = json_object_new();
		int ret;

		drive->claimed = true;
		json_object_set_string_member(o, "driver", "virtio-blk");
		json_object_set_string_member(o, "drive", block_id(drive->backend));
		ret = add_device(e, o, "virtio-blk", err);
		json_object_unref(o);
		if (ret)
			return ret;
	}
	drive = block_drive_unclaimed();
	if (drive) {
		error_set(err,
			  "machine type %s has no place for -drive if=%s,index=%d; use if=virtio",
			  e->machine->type->name, block_interface_name(drive->interface),
			  drive->index);
		return -EINVAL;
	}
	for (guint i = 0; i < nics->len; i++) {
		struct nic_info *nic = g_ptr_array_index(nics, i);
		g_autofree char *mac = NULL;
		JsonObject *o;
		int ret;

		if (nic->claimed)
			continue;
		nic->claimed = true;
		o = json_object_new();
		json_object_set_string_member(
			o, "driver",
			nic->model && strcmp(nic->model, "virtio") ? nic->model : "virtio-net");
		if (nic->netdev)
			json_object_set_string_member(o, "netdev", nic->netdev);
		if (nic->name)
			json_object_set_string_member(o, "id", nic->name);
		if (nic->has_mac) {
			mac = mac_text(nic->mac);
			json_object_set_string_member(o, "mac", mac);
		}
		ret = add_device(e, o, "virtio-net", err);
		json_object_unref(o);
		if (ret)
			return ret;
	}
	return 0;
}

static void warn_global(const char *driver, const char *prop, void *opaque)
{
	log_warn("-global %s.%s was not used by any device", driver, prop);
}

int setup_machine_devices(struct emulator *e, GError **err)
{
	struct config *c = e->cfg;

	for (guint i = 0; i < c->devices->len; i++) {
		struct config_item *item = g_ptr_array_index(c->devices, i);

		if (add_device(e, item->opts, item->text, err))
			return -EINVAL;
	}
	if (add_implied_devices(e, err))
		return -EINVAL;
	machine_unused_globals(e->machine, warn_global, NULL);
	return machine_done(e->machine, err);
}

/*
 * monitor/hmp-commands.c - the commands and `info` topics of the human monitor, as tables.
 *
 * Names and arguments: QEMU's manual, "QEMU Monitor". A line whose QMP command the server does
 * not have is neither listed nor found.
 */
#include "monitor/hmp.h"
#include "qapi/gen/net.h"
#include "qapi/gen/qom.h"
#include "util/error.h"

/* Options as text, given the types that the schema says. */
static void run_typed(struct hmp_call *call, const struct qapi_type *type)
{
	g_autofree void *value = g_malloc0(type->size);
	g_autoptr(JsonNode) result = NULL;
	GError *error = NULL;

	if (!qapi_struct_read_text(type, call->args, value, &error)) {
		hmp_fail(call, error);
		return;
	}
	result = hmp_query(call, NULL, qapi_struct_write(type, value));
	qapi_struct_clear(type, value);
}

static void run_object_add(struct hmp_call *call)
{
	run_typed(call, &qapi_object_options_type);
}

static void run_netdev_add(struct hmp_call *call)
{
	run_typed(call, &qapi_netdev_type);
}

/* The value may be written as JSON. */
static void run_qom_set(struct hmp_call *call)
{
	const char *text = json_object_get_string_member(call->args, "value");
	JsonNode *value = json_from_string(text, NULL);

	if (value) /* a number, a boolean, a list; everything else is a string */
		json_object_set_member(call->args, "value", value);
	hmp_plain(call);
}

static void print_json(struct hmp_call *call)
{
	g_autoptr(JsonNode) result = hmp_query(call, NULL, json_object_ref(call->args));
	g_autofree char *text = result ? json_to_string(result, TRUE) : NULL;

	if (text)
		hmp_printf(call, "%s\n", text);
}

static void run_qom_list(struct hmp_call *call)
{
	g_autoptr(JsonNode) result = NULL;
	JsonArray *list;

	if (!json_object_has_member(call->args, "path"))
		json_object_set_string_member(call->args, "path", "/");
	result = hmp_query(call, NULL, json_object_ref(call->args));
	list = result ? json_node_get_array(result) : NULL;
	for (unsigned i = 0; list && i < json_array_get_length(list); i++) {
		JsonObject *one = json_array_get_object_element(list, i);

		hmp_printf(call, "%s (%s)\n", json_object_get_string_member(one, "name"),
			   json_object_get_string_member(one, "type"));
	}
}

/* The network may be left out, as it stands in front. */
static void run_hostfwd(struct hmp_call *call)
{
	g_auto(GStrv) words = g_strsplit(json_object_get_string_member(call->args, "text"), " ", 2);
	JsonObject *args = json_object_new();

	if (words[1])
		json_object_set_string_member(args, "id", words[0]);
	json_object_set_string_member(args, "rule", words[words[1] ? 1 : 0]);
	json_object_set_boolean_member(args, "add",
				       g_str_equal(call->command->name, "hostfwd_add"));
	g_clear_pointer(&call->args, json_object_unref);
	call->args = args;
	hmp_plain(call);
}

static void run_memsave(struct hmp_call *call)
{
	int cpu = monitor_scope_cpu();

	if (cpu >= 0)
		json_object_set_int_member(call->args, "cpu-index", cpu);
	hmp_plain(call);
}

static void run_dump(struct hmp_call *call)
{
	const char *path = json_object_get_string_member(call->args, "filename");
	g_autofree char *protocol = g_strconcat("file:", path, NULL);

	json_object_set_boolean_member(call->args, "paging",
				       json_object_has_member(call->args, "-p"));
	json_object_set_boolean_member(call->args, "detach",
				       json_object_has_member(call->args, "-d"));
	json_object_set_string_member(call->args, "protocol", protocol);
	json_object_remove_member(call->args, "-p");
	json_object_remove_member(call->args, "-d");
	json_object_remove_member(call->args, "filename");
	hmp_plain(call);
}

const struct hmp_command hmp_commands[] = {
	{ "announce_self", "?interfaces:s ?id:s", "[interfaces] [id]",
	  "tell the network where the guest's addresses are now", "announce-self",
	  hmp_announce_self },
	{ "balloon", "value:M", "target", "ask the guest to shrink or grow to that many MiB",
	  "balloon", hmp_plain },
	{ "block_resize", "device:s size:M", "device size",
	  "give a disk another size, in MiB or with a suffix", "block_resize", hmp_plain },
	{ "block_set_io_throttle", "device:s bps:i bps_rd:i bps_wr:i iops:i iops_rd:i iops_wr:i",
	  "device bps bps_rd bps_wr iops iops_rd iops_wr",
	  "limit bytes and requests a second of a disk; all 0: no limits", "block_set_io_throttle",
	  hmp_plain },
	{ "calc_dirty_rate", "-r -b second:i ?sample_pages_per_GB:i",
	  "[-r] [-b] second [sample_pages_per_GB]",
	  "measure how fast memory is written (-r: dirty ring, -b: dirty bitmap)",
	  "calc-dirty-rate", hmp_calc_dirty_rate },
	{ "cancel_vcpu_dirty_limit", "?cpu-index:i", "[cpu_index]",
	  "lift the dirty rate limit of a vCPU, or of all", "cancel-vcpu-dirty-limit", hmp_plain },
	{ "change", "device:s target:s value:s", "vnc password TEXT",
	  "change the password of the VNC server", "change-vnc-password", hmp_change },
	{ "chardev-remove", "id:s", "id", "remove a character device", "chardev-remove",
	  hmp_plain },
	{ "chardev-send-break", "id:s", "id", "send a break on a character device",
	  "chardev-send-break", hmp_plain },
	{ "closefd", "fdname:s", "name", "close a descriptor passed by name", "closefd",
	  hmp_plain },
	{ "cont|c", "", "", "let the guest run", "cont", hmp_plain },
	{ "cpu", "", "index", "choose the CPU that other commands are about", NULL, NULL },
	{ "device_add", "options:k=driver", "driver[,prop=value][,...]", "add a device",
	  "device_add", hmp_plain },
	{ "device_del", "id:s", "device", "remove a device", "device_del", hmp_plain },
	{ "dump-guest-memory", "-p -d filename:s ?begin:i ?length:i",
	  "[-p] [-d] filename [begin length]",
	  "write guest memory and registers to a core file (-p: by virtual address, -d: do not "
	  "wait)",
	  "dump-guest-memory", run_dump },
	{ "expire_password", "protocol:s time:s ?display:s", "vnc time [id]",
	  "let the VNC password be valid until a time: now, never, +seconds, seconds since 1970",
	  "expire_password", hmp_plain },
	{ "gdbserver", "?device:S", "[device|none]",
	  "serve GDB's remote protocol on a device (tcp::1234), or no more", "x-gdbserver",
	  hmp_plain },
	{ "getfd", "fdname:s", "name", "name a descriptor that came with the line", "getfd",
	  hmp_plain },
	{ "help|?", "", "[cmd]", "show the help", NULL, NULL },
	{ "info", "", "[subcommand]", "show information about the machine", NULL, NULL },
	{ "hostfwd_add", "text:S", "[netdev] [tcp|udp]:[addr]:port-[addr]:port",
	  "forward a port of this host into a user network", "x-hostfwd", run_hostfwd },
	{ "hostfwd_remove", "text:S", "[netdev] [tcp|udp]:[addr]:port",
	  "do not forward a port any more", "x-hostfwd", run_hostfwd },
	{ "memsave", "val:i size:i filename:s", "addr size file",
	  "save guest memory, by virtual address, to a file", "memsave", run_memsave },
	{ "migrate", "-d -r uri:s", "[-d] [-r] uri",
	  "migrate to uri (-d: do not wait for the end, -r: resume a paused postcopy migration)",
	  "migrate", hmp_migrate },
	{ "migrate_cancel", "", "", "cancel the migration that is running", "migrate_cancel",
	  hmp_plain },
	{ "migrate_continue", "state:s", "state", "go on with a migration that paused in a state",
	  "migrate-continue", hmp_plain },
	{ "migrate_incoming", "uri:s", "uri", "go on with -incoming defer", "migrate-incoming",
	  hmp_plain },
	{ "migrate_pause", "", "", "pause a postcopy migration", "migrate-pause", hmp_plain },
	{ "migrate_recover", "uri:s", "uri", "go on with a paused incoming postcopy migration",
	  "migrate-recover", hmp_plain },
	{ "migrate_set_capability", "capability:s state:b", "capability state",
	  "switch a migration capability on or off", "migrate-set-capabilities",
	  hmp_migrate_set_capability },
	{ "migrate_set_parameter", "parameter:s value:s", "parameter value",
	  "set a migration parameter", "migrate-set-parameters", hmp_migrate_set_parameter },
	{ "migrate_start_postcopy", "", "", "switch the running migration to postcopy",
	  "migrate-start-postcopy", hmp_plain },
	{ "netdev_add", "options:k=type",
	  "[user|tap|bridge|socket|stream|dgram|hubport],id=str[,...]", "add a network back end",
	  "netdev_add", run_netdev_add },
	{ "netdev_del", "id:s", "id", "remove a network back end", "netdev_del", hmp_plain },
	{ "nmi", "", "", "inject an NMI", "inject-nmi", hmp_plain },
	{ "object_add", "options:k=qom-type", "type,id=str[,prop=value][,...]", "create an object",
	  "object-add", run_object_add },
	{ "object_del", "id:s", "id", "remove an object", "object-del", hmp_plain },
	{ "pmemsave", "val:i size:i filename:s", "addr size file",
	  "save guest memory, by physical address, to a file", "pmemsave", hmp_plain },
	{ "qom-get", "path:s property:s", "path property", "show a property of an object",
	  "qom-get", print_json },
	{ "qom-list", "?path:s", "path", "list what an object has", "qom-list", run_qom_list },
	{ "qom-set", "path:s property:s value:S", "path property value",
	  "set a property of an object", "qom-set", run_qom_set },
	{ "quit|q", "", "", "end the emulator", "quit", hmp_plain },
	{ "ringbuf_read", "device:s size:i", "device size",
	  "read from a ring buffer character device", "ringbuf-read", hmp_plain },
	{ "ringbuf_write", "device:s data:S", "device data",
	  "write to a ring buffer character device", "ringbuf-write", hmp_plain },
	{ "set_password", "protocol:s password:s ?connected:s ?display:s",
	  "vnc password [keep] [id]", "set the VNC password", "set_password", hmp_plain },
	{ "screendump", "filename:s ?device:s ?head:i", "filename [device [head]]",
	  "save the picture that the guest shows, as PPM", "screendump", hmp_plain },
	{ "sendkey", "keys:s ?hold-time:i", "keys [hold_ms]",
	  "press keys together: names with - between, as in ctrl-alt-f1", "send-key", hmp_sendkey },
	{ "set_link", "name:s up:b", "name on|off", "plug or pull a network cable", "set_link",
	  hmp_plain },
	{ "set_vcpu_dirty_limit", "dirty-rate:i ?cpu-index:i", "dirty_rate [cpu_index]",
	  "limit, in MB/s, how fast a vCPU, or each of them, may write memory",
	  "set-vcpu-dirty-limit", hmp_plain },
	{ "stop|s", "", "", "stop the guest", "stop", hmp_plain },
	{ "system_powerdown", "", "", "press the power button", "system_powerdown", hmp_plain },
	{ "system_reset", "", "", "reset the machine", "system_reset", hmp_plain },
	{ "system_wakeup", "", "", "wake the guest from suspend", "system_wakeup", hmp_plain },
	{ "watchdog_action", "action:s", "[reset|shutdown|poweroff|pause|debug|none|inject-nmi]",
	  "choose what happens when the watchdog fires", "watchdog-set-action", hmp_plain },
	{ "x", "text:S", "/FMT ADDR", "show guest memory, by virtual address", "x-show-memory",
	  hmp_show_memory },
	{ "xp", "text:S", "/FMT ADDR", "show guest memory, by physical address", "x-show-memory",
	  hmp_show_memory },
	{ .name = NULL },
};

const struct hmp_command hmp_info_commands[] = {
	{ "accel", "", "", "counters of the accelerator", "x-accel-stats", hmp_info_text },
	{ "balloon", "", "", "size that the guest shrank or grew to", "query-balloon",
	  hmp_info_balloon },
	{ "block", "", "", "disk images and who uses them", "query-block", hmp_info_block },
	{ "blockstats", "", "", "counters of disk images", "query-blockstats",
	  hmp_info_blockstats },
	{ "chardev", "", "", "character devices", "query-chardev", hmp_info_chardev },
	{ "cpus", "", "", "vCPUs and their threads", "query-cpus-fast", hmp_info_cpus },
	{ "dirty-tracking|dirty_tracking", "", "",
	  "how writes to guest memory are noticed, and what that costs", "query-dirty-tracking",
	  hmp_info_dirty_tracking },
	{ "dirty_rate", "", "", "result of calc_dirty_rate", "query-dirty-rate",
	  hmp_info_dirty_rate },
	{ "hacdbs", "", "", "engines that make listed pages clean", "query-dirty-state-engines",
	  hmp_info_hacdbs },
	{ "hdbss", "", "", "lists of pages that became dirty", "query-dirty-state-engines",
	  hmp_info_hdbss },
	{ "hotpluggable-cpus", "", "", "CPUs that could be plugged", "query-hotpluggable-cpus",
	  hmp_info_hotpluggable_cpus },
	{ "iothreads", "", "", "I/O threads", "query-iothreads", hmp_info_iothreads },
	{ "jit", "", "", "counters of the translator", "x-query-jit", hmp_info_text },
	{ "kvm", "", "", "whether KVM is in use", "query-kvm", hmp_info_kvm },
	{ "memdev", "", "", "memory back ends", "query-memdev", hmp_info_memdev },
	{ "memory_size_summary", "", "", "size of guest memory", "query-memory-size-summary",
	  hmp_info_memory_size_summary },
	{ "migrate", "-a", "[-a]", "state of migration (-a: with everything known)",
	  "query-migrate", hmp_info_migrate },
	{ "migrate_capabilities", "", "", "migration capabilities", "query-migrate-capabilities",
	  hmp_info_migrate_capabilities },
	{ "migrate_parameters", "", "", "migration parameters", "query-migrate-parameters",
	  hmp_info_migrate_parameters },
	{ "mtree", "-f", "[-f]", "the address spaces (-f: as the CPUs see them)", "x-query-mtree",
	  hmp_info_text },
	{ "name", "", "", "name of the guest", "query-name", hmp_info_name },
	{ "network", "", "", "network back ends and cards", "x-query-network", hmp_info_text },
	{ "pci", "", "", "functions on the PCI buses", "x-query-pci", hmp_info_text },
	{ "qtree", "", "", "the tree of devices", "x-query-qtree", hmp_info_text },
	{ "ramblock", "", "", "blocks of guest memory", "x-query-ramblock", hmp_info_text },
	{ "registers", "", "", "registers of the chosen CPU", "x-query-registers", hmp_info_text },
	{ "status", "", "", "whether the guest runs", "query-status", hmp_info_status },
	{ "usernet", "", "", "connections of user networks", "x-query-usernet", hmp_info_text },
	{ "uuid", "", "", "UUID of the guest", "query-uuid", hmp_info_uuid },
	{ "vcpu_dirty_limit", "", "", "dirty rate limits of vCPUs", "query-vcpu-dirty-limit",
	  hmp_info_vcpu_dirty_limit },
	{ "vnc", "", "", "VNC servers and their viewers", "query-vnc-servers", hmp_info_vnc },
	{ "version", "", "", "version of the emulator", "query-version", hmp_info_version },
	{ .name = NULL },
};

/* system/options-machine.c - Table: options that describe the guest's machine. */
#include "options.h"

#include "help.h"
#include "semihosting.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

#define TO(field) .offset = offsetof(struct config, field)

static int parse_accel_flag(struct config *c, const struct option_desc *o, const char *arg,
			    GError **err)
{
	JsonObject *opts = json_object_new();

	json_object_set_string_member(opts, "accel", "kvm");
	option_add_item(c->accels, "enable-kvm", opts, "kvm");
	return 0;
}

/* -hda FILE and friends: the n-th disk of the machine's default interface. */
static int parse_disk(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	bool cdrom = !strcmp(o->name, "cdrom");
	JsonObject *opts = json_object_new();
	char index[2] = { cdrom ? '2' : o->name[2] - 'a' + '0', '\0' };

	json_object_set_string_member(opts, "file", arg);
	json_object_set_string_member(opts, "index", index);
	json_object_set_string_member(opts, "media", cdrom ? "cdrom" : "disk");
	option_add_item(c->drives, o->name, opts, arg);
	return 0;
}

/* -pflash FILE: a drive of the flash interface. */
static int parse_pflash(struct config *c, const struct option_desc *o, const char *arg,
			GError **err)
{
	JsonObject *opts = json_object_new();

	json_object_set_string_member(opts, "file", arg);
	json_object_set_string_member(opts, "if", "pflash");
	json_object_set_string_member(opts, "format", "raw");
	option_add_item(c->drives, o->name, opts, arg);
	return 0;
}

/* -global DRIVER.PROP=VALUE or driver=,property=,value=. */
static int parse_global(struct config *c, const struct option_desc *o, const char *arg,
			GError **err)
{
	const char *eq = strchr(arg, '='), *dot = strchr(arg, '.');
	JsonObject *opts;

	if (eq && dot && dot < eq) {
		g_autofree char *driver = g_strndup(arg, dot - arg);
		g_autofree char *prop = g_strndup(dot + 1, eq - dot - 1);

		opts = json_object_new();
		json_object_set_string_member(opts, "driver", driver);
		json_object_set_string_member(opts, "property", prop);
		json_object_set_string_member(opts, "value", eq + 1);
	} else {
		opts = keyval_parse(arg, NULL, err);
		if (!opts)
			return -EINVAL;
		if (!keyval_str(opts, "driver") || !keyval_str(opts, "property") ||
		    !keyval_str(opts, "value")) {
			error_set(err, "-global %s: expected DRIVER.PROPERTY=VALUE", arg);
			json_object_unref(opts);
			return -EINVAL;
		}
	}
	option_add_item(c->globals, o->name, opts, arg);
	return 0;
}

/* No device of that kind exists; what asks for none is granted. */
static int parse_none_only(struct config *c, const struct option_desc *o, const char *arg,
			   GError **err)
{
	g_autoptr(JsonObject) opts = keyval_parse(arg, "driver", err);
	const char *driver;

	if (!opts)
		return -EINVAL;
	driver = keyval_str(opts, json_object_has_member(opts, "type") ? "type" : "driver");
	if (driver && (!strcmp(driver, "help") || !strcmp(driver, "?"))) {
		help_print(g_strdup_printf("Available for -%s:\nnone\n", o->name));
		return 1;
	}
	if (driver && (!strcmp(driver, "none") || !strcmp(driver, "off")))
		return 0;
	error_set(err, "-%s %s is not supported: %s", o->name, arg, o->help);
	return -EINVAL;
}

/* -display vnc=ADDRESS,... is -vnc ADDRESS,...; windows on the host's own screen do not exist. */
static int parse_display(struct config *c, const struct option_desc *o, const char *arg,
			 GError **err)
{
	g_autoptr(JsonObject) opts = keyval_parse(arg, "type", err);
	g_autofree char *type = NULL;

	if (!opts)
		return -EINVAL;
	if (json_object_has_member(opts, "vnc")) {
		option_add_item(c->vncs, o->name, json_object_ref(opts), arg);
		return 0;
	}
	type = keyval_take_str(opts, "type");
	if (type && (!strcmp(type, "help") || !strcmp(type, "?"))) {
		help_print(g_strdup("Available for -display:\nnone\nvnc\n"));
		return 1;
	}
	if (type && !strcmp(type, "none"))
		return 0;
	error_set(err, "-display %s is not supported: use -display none, or -vnc :0 and a viewer",
		  arg);
	return -EINVAL;
}

const struct option_desc options_machine[] = {
	{ "machine", "[type=]NAME[,prop=value...]", "machine type; 'help' lists them", option_merge,
	  TO(machine) },
	{ "M", "[type=]NAME[,prop=value...]", "the same", option_merge, TO(machine) },
	{ "cpu", "MODEL[,+FLAG,-FLAG,prop=value...]", "CPU model; 'help' lists them",
	  option_set_text, TO(cpu) },
	{ "accel", "[accel=]NAME[,prop=value...]",
	  "accelerator; repeated: the first that works is used", option_append, TO(accels) },
	{ "icount", "[shift=]N|auto[,sleep=on|off][,align=on|off]",
	  "with TCG: guest time is the number of instructions, times 2^N ns", option_merge,
	  TO(icount) },
	{ "semihosting", NULL, "as -semihosting-config enable=on", semihosting_parse },
	{ "semihosting-config",
	  "[enable=]on|off[,target=native|auto][,chardev=ID][,userspace=on|off][,arg=TEXT...]",
	  "arm64: calls of the guest to the host's files and console", semihosting_parse },
	{ "enable-kvm", NULL, "as -accel kvm", parse_accel_flag },
	{ "smp", "[cpus=]N[,maxcpus=N,sockets=N,dies=N,cores=N,threads=N]", "number of vCPUs",
	  option_merge, TO(smp) },
	{ "m", "[size=]SIZE[,slots=N,maxmem=SIZE]", "guest RAM; a bare number is in MiB",
	  option_merge, TO(memory) },
	{ "mem-path", "PATH", "guest RAM comes from a file, or a file in that directory",
	  option_set_text, TO(mem_path) },
	{ "mem-prealloc", NULL, "populate guest RAM at start", option_set_flag, TO(mem_prealloc) },
	{ "numa", "node[,memdev=ID,nodeid=0]", "one node, to name the memory back end",
	  option_append, TO(numa) },
	{ "object", "TYPE,id=ID[,prop=value...]", "back-end object; 'help' lists the types",
	  option_append, TO(objects) },
	{ "device", "DRIVER[,prop=value...]", "device; 'help' and 'DRIVER,help'", option_append,
	  TO(devices) },
	{ "global", "DRIVER.PROP=VALUE", "default of a device property", parse_global },
	{ "name", "[guest=]NAME[,process=NAME,debug-threads=on|off]", "name of the guest",
	  option_merge, TO(name) },
	{ "uuid", "UUID", "UUID of the guest", option_set_text, TO(uuid) },
	{ "boot", "[order=]DRIVES[,strict=on|off...]", "boot order for firmware", option_merge,
	  TO(boot) },
	{ "kernel", "FILE", "kernel to boot directly", option_set_text, TO(kernel) },
	{ "initrd", "FILE", "its initial RAM disk", option_set_text, TO(initrd) },
	{ "append", "TEXT", "its command line", option_set_text, TO(append) },
	{ "dtb", "FILE", "device tree blob", option_set_text, TO(dtb) },
	{ "bios", "FILE", "firmware image", option_set_text, TO(bios) },
	{ "L", "DIR", "where to look for -bios files", option_set_text, TO(data_dir) },
	{ "fw_cfg", "[name=]NAME,file=FILE|string=TEXT", "add a firmware configuration item",
	  option_append, TO(fw_cfg) },
	{ "rtc", "[base=utc|localtime|DATE][,clock=host|rt|vm][,driftfix=none|slew]",
	  "real-time clock", option_merge, TO(rtc) },
	{ "drive", "file=FILE[,format=raw,if=TYPE,id=ID...]", "disk image, and where to plug it",
	  option_append, TO(drives) },
	{ "blockdev", "driver=DRIVER[,node-name=NAME...]", "block node", option_append,
	  TO(blockdevs) },
	{ "hda", "FILE", "first disk", parse_disk },
	{ "hdb", "FILE", "second disk", parse_disk },
	{ "hdc", "FILE", "third disk", parse_disk },
	{ "hdd", "FILE", "fourth disk", parse_disk },
	{ "cdrom", "FILE", "CD image", parse_disk },
	{ "pflash", "FILE", "flash image", parse_pflash },
	{ "snapshot", NULL, "writes to disks are lost at exit", option_set_flag, TO(snapshot) },
	{ "netdev", "TYPE,id=ID[,prop=value...]", "network back end; 'help' lists the types",
	  option_append, TO(nets) },
	{ "nic", "TYPE[,model=NAME,mac=MAC...]", "network back end and card; 'none': neither",
	  option_append, TO(nets) },
	{ "net", "nic|TYPE[,...]", "the old form of the above", option_append, TO(nets) },
	{ "nodefaults", NULL, "no default devices", option_set_flag, TO(no_defaults) },
	{ "no-acpi", NULL, "the old form of -machine acpi=off", option_set_flag, TO(no_acpi) },
	{ "vga", "none", "use -vga none, and -device virtio-gpu-pci or ramfb", parse_none_only },
	{ "display", "none|vnc=ADDRESS[,prop=value...]", "where the guest's picture is shown",
	  parse_display },
	{ "vnc",
	  "none|[HOST]:N|unix:PATH[,to=N][,id=ID][,password=on|off][,password-secret=ID]"
	  "[,share=allow-exclusive|ignore][,ipv4=on|off][,ipv6=on|off][,audiodev=ID]",
	  "show it to VNC viewers: on TCP port 5900+N of HOST (127.0.0.1), or at a socket",
	  option_append, TO(vncs) },
	{ "audio", "none", "no sound exists; use -audio none", parse_none_only },
	{ "audiodev", "none,id=ID", "no sound exists; use -audiodev none,id=ID", parse_none_only },
	{ "parallel", "none", "no parallel port exists; use -parallel none", parse_none_only },

	{ "smbios", "...", "machines of this version have no SMBIOS tables; leave it out", NULL },
	{ "acpitable", "...", "leave it out; tables come from the machine", NULL },
	{ "option-rom", "FILE", "no machine here runs option ROMs; leave it out", NULL },
	{ "tpmdev", "...", "no TPM exists; leave it out", NULL },
	{ "fsdev", "...", "no 9p exists; use a virtio-blk disk", NULL },
	{ "virtfs", "...", "no 9p exists; use a virtio-blk disk", NULL },
	{ "loadvm", "NAME", "no snapshots exist; use -incoming file:PATH", NULL },
	{ "usbdevice", "...", "no USB exists; leave it out", NULL },
	{ "usb", NULL, "no machine here has USB", option_no_meaning },
	{ "no-hpet", NULL, "machines here have no HPET", option_no_meaning },
	{ "no-fd-bootchk", NULL, "there is no floppy", option_no_meaning },
	{ "win2k-hack", NULL, "there is no IDE disk", option_no_meaning },
	{ "soundhw", "NAME", "no sound exists", option_no_meaning },
	{ "realtime", "...", "use -overcommit mem-lock=on", option_no_meaning },
	{ "localtime", NULL, "use -rtc base=localtime", option_no_meaning },
	{ "k", "LANG", "there is no keyboard", option_no_meaning },
	{ .name = NULL },
};

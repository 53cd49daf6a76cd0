/* system/options-host.c - Table: options about the process and its monitors. */
#include "options.h"

#include "chardev/char.h"
#include "help.h"
#include "net/net.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

#define TO(field) .offset = offsetof(struct config, field)

static int show_help(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	help_usage();
	return 1;
}

static int show_version(struct config *c, const struct option_desc *o, const char *arg,
			GError **err)
{
	help_version();
	return 1;
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "help") || !strcmp(arg, "?");
}

static int parse_chardev(struct config *c, const struct option_desc *o, const char *arg,
			 GError **err)
{
	if (is_help(arg)) {
		help_print(chardev_types_help());
		return 1;
	}
	return option_append(c, o, arg, err);
}

static int parse_log_mask(struct config *c, const struct option_desc *o, const char *arg,
			  GError **err)
{
	if (is_help(arg)) {
		help_print(log_categories_help());
		return 1;
	}
	return option_set_text(c, o, arg, err);
}

static int parse_msg(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	JsonObject *opts = keyval_parse(arg, "timestamp", err);
	bool guest_name = false;
	int ret = -EINVAL;

	if (!opts)
		return -EINVAL;
	if (keyval_take_bool(opts, "timestamp", &c->timestamp, err) == -EINVAL ||
	    keyval_take_bool(opts, "guest-name", &guest_name, err) == -EINVAL ||
	    keyval_reject_rest(opts, "-msg", err))
		goto out;
	if (guest_name) {
		error_set(err, "-msg guest-name=on is not supported: use -msg timestamp=on alone");
		goto out;
	}
	ret = 0;
out:
	json_object_unref(opts);
	return ret;
}

static int parse_echr(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	char *end;
	unsigned long v = strtoul(arg, &end, 0);

	if (end == arg || *end || v > 255) {
		error_set(err, "-echr %s: expected the code of a character", arg);
		return -EINVAL;
	}
	c->escape_char = v;
	return 0;
}

static int parse_action_flag(struct config *c, const struct option_desc *o, const char *arg,
			     GError **err)
{
	if (!strcmp(o->name, "no-reboot"))
		c->no_reboot = true;
	else
		c->no_shutdown = true;
	return 0;
}

static int parse_s(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	g_free(c->gdb);
	c->gdb = g_strdup("tcp::1234");
	return 0;
}

/* A second -incoming gives the channel for in-place updates: not supported, so refuse clearly. */
static int parse_incoming(struct config *c, const struct option_desc *o, const char *arg,
			  GError **err)
{
	if (c->incoming) {
		error_set(err, "-incoming %s: only one incoming channel is supported", arg);
		return -EINVAL;
	}
	c->incoming = g_strdup(arg);
	return 0;
}

const struct option_desc options_host[] = {
	{ "h", NULL, "this text", show_help },
	{ "help", NULL, "this text", show_help },
	{ "version", NULL, "version", show_version },
	{ "chardev", "TYPE,id=ID[,prop=value...]", "character device; 'help' lists the types",
	  parse_chardev, TO(chardevs) },
	{ "serial", "DEV", "serial port: stdio, mon:stdio, file:PATH, unix:PATH, chardev:ID, none",
	  option_append_text, TO(serials) },
	{ "monitor", "DEV", "human monitor on a character device", option_append_text,
	  TO(monitors) },
	{ "qmp", "DEV", "QMP monitor on a character device", option_append_text, TO(monitors) },
	{ "qmp-pretty", "DEV", "the same with indented answers", option_append_text, TO(monitors) },
	{ "mon", "[chardev=]ID[,mode=control|readline,pretty=on|off]", "monitor on a -chardev",
	  option_append, TO(mons) },
	{ "nographic", NULL, "serial port and monitor share the terminal", option_set_flag,
	  TO(nographic) },
	{ "S", NULL, "do not start the vCPUs", option_set_flag, TO(stopped) },
	{ "no-reboot", NULL, "exit instead of rebooting", parse_action_flag },
	{ "no-shutdown", NULL, "stop instead of exiting when the guest powers off",
	  parse_action_flag },
	{ "action", "reboot=reset|shutdown,shutdown=poweroff|pause,panic=pause|shutdown|none",
	  "what to do when the guest does something", option_merge, TO(action) },
	{ "incoming", "URI|defer",
	  "wait for a migration: tcp:, unix:, fd:, exec:, file:", parse_incoming },
	{ "only-migratable", NULL, "refuse devices that cannot be migrated", option_set_flag,
	  TO(only_migratable) },
	{ "daemonize", NULL, "go to the background once everything is set up", option_set_flag,
	  TO(daemonize) },
	{ "pidfile", "FILE", "write the process id there", option_set_text, TO(pidfile) },
	{ "runas", "USER", "run as that user once everything is open", option_set_text, TO(runas) },
	{ "chroot", "DIR", "change the root directory once everything is open", option_set_text,
	  TO(chroot) },
	{ "run-with", "[chroot=DIR][,user=NAME|UID:GID][,exit-with-parent=on]",
	  "the same, and more", option_merge, TO(run_with) },
	{ "sandbox", "on|off[,...]", "system call filter", option_set_text, TO(sandbox) },
	{ "overcommit", "[mem-lock=on|off][,cpu-pm=off]", "lock guest RAM into memory",
	  option_merge, TO(overcommit) },
	{ "add-fd", "fd=N,set=N[,opaque=TEXT]", "put a descriptor into a set", option_append,
	  TO(add_fds) },
	{ "d", "CATEGORY,...", "log; 'help' lists the categories", parse_log_mask, TO(log_mask) },
	{ "dfilter", "RANGE,...",
	  "limit in_asm, out_asm, exec and cpu to code at FIRST..LAST, FIRST+SIZE or LAST-SIZE",
	  option_set_text, TO(log_filter) },
	{ "perfmap", NULL, "with TCG: tell perf of translated code in /tmp/perf-PID.map",
	  option_set_flag, TO(perf_map) },
	{ "jitdump", NULL, "use -perfmap", NULL },
	{ "one-insn-per-tb", NULL, "as -accel tcg,one-insn-per-tb=on", option_set_flag,
	  TO(one_insn) },
	{ "D", "FILE", "where the log goes", option_set_text, TO(log_file) },
	{ "msg", "timestamp=on|off", "put the time before messages", parse_msg },
	{ "echr", "CODE", "escape character of multiplexed terminals (1: Ctrl-a)", parse_echr },
	{ "gdb", "DEV", "serve a debugger of the guest: tcp:HOST:PORT, unix:PATH, none (TCG)",
	  option_set_text, TO(gdb) },
	{ "s", NULL, "the same as -gdb tcp::1234", parse_s },
	{ "qtest", "DEV", "serve the qtest protocol", option_set_text, TO(qtest) },
	{ "qtest-log", "FILE", "log of the qtest protocol", option_set_text, TO(qtest_log) },

	{ "trace", "...", "use -d", NULL },
	{ "plugin", "...", "leave it out", NULL },
	{ "spice", "...", "use -serial and -monitor", NULL },
	{ "curses", NULL, "use -nographic", NULL },
	{ "readconfig", "FILE", "give the options on the command line", NULL },
	{ "writeconfig", "FILE", "leave it out", NULL },
	{ "set", "...", "give the property with the option it belongs to", NULL },
	{ "preconfig", NULL, "give the options on the command line, and -S", NULL },
	{ "xen-domid", "ID", "Xen is not supported", NULL },
	{ "no-user-config", NULL, "there are no configuration files", option_set_flag,
	  TO(no_user_config) },
	{ "compat", "...", "there is nothing deprecated to choose", option_no_meaning },
	{ "seed", "N", "nothing draws random numbers from it", option_no_meaning },
	{ "full-screen", NULL, "there is no display", option_no_meaning },
	{ .name = NULL },
};

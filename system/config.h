/*
 * system/config.h - what the command line said, before anything is created.
 *
 * Only syntax has been checked here; the rooms check values when they get them.
 */
#ifndef SYSTEM_CONFIG_H
#define SYSTEM_CONFIG_H

#include "util/base.h"

#include <json-glib/json-glib.h>

/* One occurrence of an option whose order matters, or that may be repeated. */
struct config_item {
	const char *option; /* canonical name, for messages */
	JsonObject *opts;   /* parsed argument; NULL if @text is used */
	char *text;         /* argument as it was */
};

struct config {
	JsonObject *machine; /* all -machine merged; "type" is the name */
	JsonObject *smp;     /* all -smp merged; NULL: not given */
	JsonObject *memory;  /* -m; NULL: not given */
	JsonObject *boot;
	JsonObject *rtc;
	JsonObject *name;
	JsonObject *action;
	JsonObject *run_with;
	JsonObject *overcommit;
	JsonObject *icount;
	JsonObject *semihosting; /* without arg=; NULL: not given */
	GPtrArray *accels;       /* of config_item */
	GPtrArray *objects, *devices, *chardevs, *mons, *drives, *blockdevs, *nets, *globals;
	GPtrArray *fw_cfg, *add_fds, *numa;
	GPtrArray *serials;  /* of config_item with text; likewise: */
	GPtrArray *monitors; /* -monitor, -qmp, -qmp-pretty */
	GPtrArray *vncs;     /* of config_item with opts: -vnc, -display vnc= */

	char *cpu, *kernel, *initrd, *append, *dtb, *bios, *uuid, *incoming;
	char *pidfile, *log_mask, *log_file, *mem_path, *qtest, *qtest_log, *gdb, *data_dir, *runas;
	char *chroot, *sandbox, *log_filter;
	char *semihosting_args; /* those of arg=, with spaces between */

	bool mem_prealloc;
	bool snapshot;
	bool perf_map; /* -perfmap */
	bool one_insn; /* -one-insn-per-tb */
	bool stopped;  /* -S */
	bool no_reboot, no_shutdown;
	bool daemonize;
	bool no_acpi;
	bool no_defaults;
	bool nographic;
	bool only_migratable;
	bool timestamp;      /* -msg timestamp=on */
	bool no_user_config; /* always so: there are no configuration files */
	int escape_char;     /* -echr */
};

struct config *config_new(void);
void config_free(struct config *c);

/*
 * config_parse() - read the command line.
 *
 * Help texts that need no machine (-h, --version, -chardev help, ...) are printed here.
 * Return: 0; 1 if a help text was printed and the program should end with status 0; -EINVAL with
 * @err naming option and value.
 */
int config_parse(struct config *c, int argc, char **argv, GError **err);

#endif

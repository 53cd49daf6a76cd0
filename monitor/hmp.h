/*
 * monitor/hmp.h - commands of the human monitor: how they are described and what they may use.
 */
#ifndef MONITOR_HMP_H
#define MONITOR_HMP_H

#include "monitor/internal.h"

/* One line being executed. */
struct hmp_call {
	struct monitor_server *server;
	struct hmp_session *session; /* NULL: human-monitor-command, nobody sits there */
	const struct hmp_command *command;
	JsonObject *args; /* by the names of the command's argument list */
	GString *out;     /* what is shown */
};

struct hmp_command {
	const char *name; /* "quit|q": alternatives */
	/*
	 * Arguments in order, separated by spaces. "-x": flag, a boolean member "-x".
	 * "name:T": T is s word, S rest of the line, i integer, M size in MiB if without suffix,
	 * b on|off, k options key=value merged into the arguments (":k=KEY": KEY is implied).
	 * A "?" in front: may be left out.
	 */
	const char *args;
	const char *params; /* as help shows the arguments */
	const char *help;
	const char *qmp; /* needs this QMP command; without it the line does not exist */
	void (*run)(struct hmp_call *call);
};

extern const struct hmp_command hmp_commands[], hmp_info_commands[]; /* end: name NULL */

void hmp_printf(struct hmp_call *call, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* hmp_fail() - show an error and free it. */
void hmp_fail(struct hmp_call *call, GError *error);

/*
 * hmp_query() - run the QMP command that the line stands for, or another one.
 * @command: NULL: call->command->qmp. @args: taken over; NULL: none.
 *
 * Return: its result; NULL after the error has been shown.
 */
JsonNode *hmp_query(struct hmp_call *call, const char *command, JsonObject *args);

/* hmp_plain() - for .run: pass the arguments on as they are; show a text if there is one. */
void hmp_plain(struct hmp_call *call);

/* hmp_available() - whether the server has what the line needs. */
bool hmp_available(const struct monitor_server *server, const struct hmp_command *command);

/* hmp_parse_args() - NULL with @err: what is wrong with the line. */
JsonObject *hmp_parse_args(const struct hmp_command *command, const char *text, GError **err);

/* hmp_find() - by one of its names; NULL: unknown or not available. */
const struct hmp_command *hmp_find(const struct monitor_server *server,
				   const struct hmp_command *table, const char *name);

/* hmp_wait() - keep the session from reading on until @done says so; polled every 100 ms. */
void hmp_wait(struct hmp_call *call, bool (*done)(struct hmp_call *call));

/* Texts of `info migrate` and what belongs to it (monitor/hmp-migration.c). */
void hmp_migrate(struct hmp_call *call);
void hmp_migrate_set_capability(struct hmp_call *call);
void hmp_migrate_set_parameter(struct hmp_call *call);
void hmp_calc_dirty_rate(struct hmp_call *call);
void hmp_announce_self(struct hmp_call *call);
void hmp_info_migrate(struct hmp_call *call);
void hmp_info_migrate_capabilities(struct hmp_call *call);
void hmp_info_migrate_parameters(struct hmp_call *call);
void hmp_info_dirty_rate(struct hmp_call *call);
void hmp_info_vcpu_dirty_limit(struct hmp_call *call);
void hmp_info_dirty_tracking(struct hmp_call *call);

/* Other `info` topics (monitor/hmp-info.c). */
void hmp_info_version(struct hmp_call *call);
void hmp_info_status(struct hmp_call *call);
void hmp_info_name(struct hmp_call *call);
void hmp_info_uuid(struct hmp_call *call);
void hmp_info_kvm(struct hmp_call *call);
void hmp_info_cpus(struct hmp_call *call);
void hmp_info_chardev(struct hmp_call *call);
void hmp_info_block(struct hmp_call *call);
void hmp_info_blockstats(struct hmp_call *call);
void hmp_info_balloon(struct hmp_call *call);
void hmp_info_memdev(struct hmp_call *call);
void hmp_info_memory_size_summary(struct hmp_call *call);
void hmp_info_iothreads(struct hmp_call *call);
void hmp_info_hotpluggable_cpus(struct hmp_call *call);
void hmp_info_text(struct hmp_call *call);

/* x and xp (monitor/hmp-memory.c). */
void hmp_show_memory(struct hmp_call *call);

/* Displays (monitor/hmp-display.c). */
void hmp_info_vnc(struct hmp_call *call);
void hmp_change(struct hmp_call *call);
void hmp_sendkey(struct hmp_call *call);

/* Dirty-state engines (monitor/hmp-engines.c). */
void hmp_info_hdbss(struct hmp_call *call);
void hmp_info_hacdbs(struct hmp_call *call);

#endif

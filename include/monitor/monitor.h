/*
 * monitor/monitor.h - monitors: QMP for programs, HMP for people.
 *
 * A server has the commands and the events of one machine and any number of monitors, each on a
 * character device. Ordinary QMP commands run one after the other from the main loop; a handler
 * that must wait may call main_loop_iterate(), and meanwhile out-of-band commands (exec-oob) run
 * as soon as they arrive. Protocol: QEMU's QMP specification (qmp-spec).
 * Unless stated: main thread, machine lock held.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "qapi/command.h"

struct chardev;
struct monitor;
struct monitor_server;

enum monitor_mode {
	MONITOR_QMP,
	MONITOR_QMP_PRETTY, /* answers indented over several lines */
	MONITOR_HMP,
};

/*
 * monitor_server_create() - a server without monitors.
 * @m:         handed to every command handler; may be NULL in tests.
 * @interface: normally &qapi_interface.
 */
struct monitor_server *monitor_server_create(struct machine *m,
					     const struct qapi_interface *interface);
void monitor_server_destroy(struct monitor_server *server); /* no command running */

/* monitor_server_set_preconfig() - while set, only commands marked allow-preconfig run. */
void monitor_server_set_preconfig(struct monitor_server *server, bool preconfig);

/*
 * monitor_server_sink() - where to send events so that all QMP monitors get them.
 *
 * Context: the sink takes events from any thread and never blocks.
 */
struct qapi_event_sink *monitor_server_sink(struct monitor_server *server);

/*
 * monitor_attach() - open a monitor on a character device.
 *
 * Return: the monitor; NULL with @err if the device is in use.
 */
struct monitor *monitor_attach(struct monitor_server *server, struct chardev *c,
			       enum monitor_mode mode, GError **err);
void monitor_detach(struct monitor *mon); /* not from a command of that monitor */

/*
 * monitor_current() - the monitor whose command is running; NULL outside of command handlers.
 */
struct monitor *monitor_current(void);

/* monitor_current_server() - the server of the command that is running. */
struct monitor_server *monitor_current_server(void);

/*
 * monitor_hmp() - run one line of the human monitor.
 * @cpu_index: CPU that commands about "the" CPU mean; -1: the first.
 *
 * Return: what it prints, possibly "", with CR and LF at the end of each line. Errors are part of
 * the text, as a person would see them.
 */
char *monitor_hmp(struct monitor_server *server, const char *line, int cpu_index);

#endif

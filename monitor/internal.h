/*
 * monitor/internal.h - what the files of the monitor room share.
 */
#ifndef MONITOR_INTERNAL_H
#define MONITOR_INTERNAL_H

#include "monitor/monitor.h"

/* The byte pipe below a monitor; a character device, or a test. */
struct monitor_transport {
	void (*write)(void *opaque, const char *bytes, size_t len); /* any thread; never blocks */
	size_t (*queued)(void *opaque);     /* bytes written that the peer has not taken yet */
	void (*accept_input)(void *opaque); /* monitor_can_receive() may have grown */
	int (*take_fds)(void *opaque, int *fds, int max); /* of the bytes being received */
	void (*close)(void *opaque);
};

struct qmp_session;
struct hmp_session;

struct monitor {
	struct monitor_server *server;
	const struct monitor_transport *transport;
	void *opaque; /* the transport's */
	enum monitor_mode mode;
	GArray *command_fds;     /* int: came with the command that is running; NULL: none */
	struct qmp_session *qmp; /* NULL for HMP */
	struct hmp_session *hmp; /* NULL for QMP */
	guint drain_timer;       /* polls a peer that does not read */
};

struct monitor_server {
	struct qapi_event_sink sink;
	struct machine *machine;
	const struct qapi_interface *interface;
	bool preconfig;
	GRecMutex lock; /* guards monitors and limits: events come from any thread */
	GPtrArray *monitors;
	GHashTable *limits; /* rate limits in force, by event and source */
	/*
	 * The one source that runs ordinary commands, of all monitors; 0: nothing to run. GLib does
	 * not dispatch a source inside itself, so while a command waits no other one begins.
	 */
	guint dispatcher;
};

/* Input stops while this much output waits for a peer; events are dropped beyond the second. */
#define MONITOR_OUTPUT_HIGH (1 * MiB)
#define MONITOR_OUTPUT_MAX  (64 * MiB)

/* monitor_create(), monitor_destroy() - a monitor on any transport; destroy closes it. */
struct monitor *monitor_create(struct monitor_server *server, enum monitor_mode mode,
			       const struct monitor_transport *transport, void *opaque);
void monitor_destroy(struct monitor *mon);

/* From the transport: the peer came or went, bytes arrived, how many would be taken. */
void monitor_opened(struct monitor *mon);
void monitor_focused(struct monitor *mon); /* opened before, and now has the terminal again */
void monitor_closed(struct monitor *mon);
void monitor_receive(struct monitor *mon, const void *bytes, size_t len);
size_t monitor_can_receive(struct monitor *mon);

/* monitor_schedule() - a monitor has something to run. */
void monitor_schedule(struct monitor_server *server);

/* monitor_write() - any thread. */
void monitor_write(struct monitor *mon, const char *bytes, size_t len);

/* monitor_enter() - @mon's command starts to run; returns what monitor_leave() puts back. */
struct monitor_scope {
	struct monitor_server *server;
	struct monitor *mon;
	int cpu_index;
};
struct monitor_scope monitor_enter(struct monitor_server *server, struct monitor *mon);
void monitor_leave(struct monitor_scope outer);
int monitor_scope_cpu(void); /* CPU chosen by human-monitor-command or "cpu"; -1: none */
void monitor_scope_set_cpu(int cpu_index);

/* QMP. */
struct qmp_session *qmp_session_create(struct monitor *mon);
void qmp_session_destroy(struct qmp_session *qmp);
void qmp_session_opened(struct qmp_session *qmp);
void qmp_session_closed(struct qmp_session *qmp);
void qmp_session_receive(struct qmp_session *qmp, const void *bytes, size_t len);
bool qmp_session_wants_input(const struct qmp_session *qmp);
/* Runs the oldest request; returns whether there are more. */
bool qmp_session_run(struct qmp_session *qmp);
/* Takes events since capabilities negotiation. Server's lock held. */
bool qmp_session_takes_events(const struct qmp_session *qmp);
void qmp_session_send(struct qmp_session *qmp, JsonObject *message);
/* The negotiation command. Return false with @err if it has been done. */
bool qmp_session_negotiate(struct qmp_session *qmp, bool oob, GError **err);

/* qmp_error_reply() - {"error": {"class", "desc"}}. */
JsonObject *qmp_error_reply(const GError *error);
JsonNode *qmp_version(void);

/* qmp_call() - run a command of the server's table, as HMP does. @args: taken over; NULL. */
JsonNode *qmp_call(struct monitor_server *server, const char *command, JsonObject *args,
		   GError **err);

/* monitor_emit() - the sink of the server. */
void monitor_emit(struct qapi_event_sink *sink, const struct qapi_event *event, JsonObject *data);
void monitor_limits_destroy(struct monitor_server *server);

/* HMP. */
struct hmp_session *hmp_session_create(struct monitor *mon);
void hmp_session_destroy(struct hmp_session *hmp);
void hmp_session_opened(struct hmp_session *hmp);
void hmp_session_focused(struct hmp_session *hmp); /* on a mux: show the prompt again */
void hmp_session_receive(struct hmp_session *hmp, const void *bytes, size_t len);
bool hmp_session_wants_input(const struct hmp_session *hmp);
/* Takes what was typed up to the end of a line and runs it; returns whether there is more. */
bool hmp_session_run(struct hmp_session *hmp);

#endif

/*
 * monitor/monitor.c - the server, its monitors, and whose command is running.
 */
#include <assert.h>

#include "monitor/internal.h"

/* Command handlers run in the main thread only, so one variable is enough. */
static struct monitor_scope scope = { .cpu_index = -1 };

struct monitor_scope monitor_enter(struct monitor_server *server, struct monitor *mon)
{
	struct monitor_scope outer = scope;

	scope.server = server;
	if (mon)
		scope.mon = mon;
	return outer;
}

void monitor_leave(struct monitor_scope outer)
{
	scope = outer;
}

int monitor_scope_cpu(void)
{
	return scope.cpu_index;
}

void monitor_scope_set_cpu(int cpu_index)
{
	scope.cpu_index = cpu_index;
}

struct monitor *monitor_current(void)
{
	return scope.mon;
}

struct monitor_server *monitor_current_server(void)
{
	return scope.server;
}

struct monitor_server *monitor_server_create(struct machine *m,
					     const struct qapi_interface *interface)
{
	struct monitor_server *server = g_new0(struct monitor_server, 1);

	server->sink.emit = monitor_emit;
	server->machine = m;
	server->interface = interface;
	g_rec_mutex_init(&server->lock);
	server->monitors = g_ptr_array_new();
	return server;
}

void monitor_server_destroy(struct monitor_server *server)
{
	while (server->monitors->len)
		monitor_destroy(g_ptr_array_index(server->monitors, 0));
	g_ptr_array_unref(server->monitors);
	if (server->dispatcher)
		g_source_remove(server->dispatcher);
	monitor_limits_destroy(server);
	g_rec_mutex_clear(&server->lock);
	g_free(server);
}

void monitor_server_set_preconfig(struct monitor_server *server, bool preconfig)
{
	server->preconfig = preconfig;
}

struct qapi_event_sink *monitor_server_sink(struct monitor_server *server)
{
	return &server->sink;
}

struct monitor *monitor_create(struct monitor_server *server, enum monitor_mode mode,
			       const struct monitor_transport *transport, void *opaque)
{
	struct monitor *mon = g_new0(struct monitor, 1);

	mon->server = server;
	mon->transport = transport;
	mon->opaque = opaque;
	mon->mode = mode;
	if (mode == MONITOR_HMP)
		mon->hmp = hmp_session_create(mon);
	else
		mon->qmp = qmp_session_create(mon);

	g_rec_mutex_lock(&server->lock);
	g_ptr_array_add(server->monitors, mon);
	g_rec_mutex_unlock(&server->lock);
	return mon;
}

void monitor_destroy(struct monitor *mon)
{
	struct monitor_server *server = mon->server;

	assert(scope.mon != mon);
	g_rec_mutex_lock(&server->lock);
	g_ptr_array_remove(server->monitors, mon);
	g_rec_mutex_unlock(&server->lock);

	mon->transport->close(mon->opaque);
	if (mon->hmp)
		hmp_session_destroy(mon->hmp);
	else
		qmp_session_destroy(mon->qmp);
	if (mon->drain_timer)
		g_source_remove(mon->drain_timer);
	g_free(mon);
}

/* Runs at most one command of each monitor. */
static gboolean dispatch(gpointer data)
{
	struct monitor_server *server = data;
	g_autoptr(GPtrArray) monitors = g_ptr_array_copy(server->monitors, NULL, NULL);
	bool more = false;

	for (unsigned i = 0; i < monitors->len; i++) {
		struct monitor *mon = g_ptr_array_index(monitors, i);

		/* One monitor's command may have removed another. */
		if (!g_ptr_array_find(server->monitors, mon, NULL))
			continue;
		more |= mon->qmp ? qmp_session_run(mon->qmp) : hmp_session_run(mon->hmp);
	}
	if (!more)
		server->dispatcher = 0;
	return more;
}

void monitor_schedule(struct monitor_server *server)
{
	if (!server->dispatcher)
		server->dispatcher = g_idle_add_full(G_PRIORITY_DEFAULT, dispatch, server, NULL);
}

void monitor_opened(struct monitor *mon)
{
	if (mon->hmp)
		hmp_session_opened(mon->hmp);
	else
		qmp_session_opened(mon->qmp);
}

void monitor_focused(struct monitor *mon)
{
	if (mon->hmp)
		hmp_session_focused(mon->hmp);
}

void monitor_closed(struct monitor *mon)
{
	if (mon->qmp)
		qmp_session_closed(mon->qmp);
}

void monitor_receive(struct monitor *mon, const void *bytes, size_t len)
{
	if (mon->hmp)
		hmp_session_receive(mon->hmp, bytes, len);
	else
		qmp_session_receive(mon->qmp, bytes, len);
}

void monitor_write(struct monitor *mon, const char *bytes, size_t len)
{
	mon->transport->write(mon->opaque, bytes, len);
}

static gboolean drain(gpointer data)
{
	struct monitor *mon = data;

	if (mon->transport->queued(mon->opaque) > MONITOR_OUTPUT_HIGH)
		return G_SOURCE_CONTINUE;
	mon->drain_timer = 0;
	mon->transport->accept_input(mon->opaque);
	return G_SOURCE_REMOVE;
}

size_t monitor_can_receive(struct monitor *mon)
{
	if (mon->transport->queued(mon->opaque) > MONITOR_OUTPUT_HIGH) {
		/* Nothing tells when the peer has read; 50 ms is soon enough for one that lags. */
		if (!mon->drain_timer)
			mon->drain_timer = g_timeout_add(50, drain, mon);
		return 0;
	}
	return (mon->qmp ? qmp_session_wants_input(mon->qmp) : hmp_session_wants_input(mon->hmp))
		       ? 4096
		       : 0;
}

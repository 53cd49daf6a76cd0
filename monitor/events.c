/*
 * monitor/events.c - events to all QMP monitors, with rate limits.
 *
 * The first event of a kind goes out at once; while its period lasts only the latest further one
 * is kept, and sent at the end of the period (QEMU's QMP reference names the limited events).
 */
#include "monitor/internal.h"
#include "util/log.h"

struct limit {
	struct monitor_server *server;
	char *key;        /* event, and source if there is one; owned by the table */
	JsonObject *held; /* whole message that waits for the end of the period; NULL */
	guint timer;
};

static JsonObject *event_message(const struct qapi_event *event, JsonObject *data)
{
	JsonObject *message = json_object_new(), *stamp = json_object_new();
	s64 now_us = g_get_real_time();

	json_object_set_int_member(stamp, "seconds", now_us / G_USEC_PER_SEC);
	json_object_set_int_member(stamp, "microseconds", now_us % G_USEC_PER_SEC);
	json_object_set_object_member(message, "timestamp", stamp);
	json_object_set_string_member(message, "event", event->name);
	if (data)
		json_object_set_object_member(message, "data", json_object_ref(data));
	return message;
}

/* Server's lock held. */
static void broadcast(struct monitor_server *server, JsonObject *message)
{
	for (unsigned i = 0; i < server->monitors->len; i++) {
		struct monitor *mon = g_ptr_array_index(server->monitors, i);

		if (!mon->qmp || !qmp_session_takes_events(mon->qmp))
			continue;
		if (mon->transport->queued(mon->opaque) > MONITOR_OUTPUT_MAX) {
			log_warn_once("a QMP client does not read its monitor: events are lost");
			continue;
		}
		qmp_session_send(mon->qmp, message);
	}
}

static void limit_free(gpointer data)
{
	struct limit *limit = data;

	if (limit->held)
		json_object_unref(limit->held);
	g_free(limit->key);
	g_free(limit);
}

static gboolean period_over(gpointer data)
{
	struct limit *limit = data;
	struct monitor_server *server = limit->server;
	bool again;

	g_rec_mutex_lock(&server->lock);
	again = limit->held;
	if (again) {
		broadcast(server, limit->held);
		g_clear_pointer(&limit->held, json_object_unref);
	} else {
		g_hash_table_remove(server->limits, limit->key);
	}
	g_rec_mutex_unlock(&server->lock);
	return again;
}

/* The limit in force for this event, NULL if there is none. Server's lock held. */
static struct limit *find_limit(struct monitor_server *server, const char *key)
{
	if (!server->limits)
		server->limits = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, limit_free);
	return g_hash_table_lookup(server->limits, key);
}

static char *limit_key(const struct qapi_event *event, JsonObject *data)
{
	const char *source = NULL;

	if (event->rate_limit_by && data)
		source = json_object_get_string_member_with_default(data, event->rate_limit_by,
								    NULL);
	return g_strconcat(event->name, " ", source, NULL);
}

/* Whether the event may go out now; if not, @message is held back. Server's lock held. */
static bool pass_limit(struct monitor_server *server, const struct qapi_event *event,
		       JsonObject *data, JsonObject *message)
{
	g_autofree char *key = limit_key(event, data);
	struct limit *limit = find_limit(server, key);

	if (limit) {
		if (limit->held)
			json_object_unref(limit->held);
		limit->held = json_object_ref(message);
		return false;
	}
	limit = g_new0(struct limit, 1);
	*limit = (struct limit){ .server = server, .key = g_steal_pointer(&key) };
	g_hash_table_insert(server->limits, limit->key, limit);
	limit->timer = g_timeout_add(event->rate_limit_ms, period_over, limit);
	return true;
}

void monitor_emit(struct qapi_event_sink *sink, const struct qapi_event *event, JsonObject *data)
{
	struct monitor_server *server = container_of(sink, struct monitor_server, sink);
	g_autoptr(JsonObject) message = event_message(event, data);

	g_rec_mutex_lock(&server->lock);
	if (!event->rate_limit_ms || pass_limit(server, event, data, message))
		broadcast(server, message);
	g_rec_mutex_unlock(&server->lock);
}

void monitor_limits_destroy(struct monitor_server *server)
{
	GHashTableIter iter;
	struct limit *limit;

	if (!server->limits)
		return;
	g_hash_table_iter_init(&iter, server->limits);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&limit))
		g_source_remove(limit->timer);
	g_hash_table_unref(server->limits);
}

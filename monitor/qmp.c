/*
 * monitor/qmp.c - one QMP session: negotiation, requests in order and out of band, answers.
 *
 * Source: QEMU's QMP specification (docs/interop/qmp-spec): greeting, exec-oob, error classes.
 */
#include <unistd.h>

#include "monitor/internal.h"
#include "monitor/json.h"
#include "monitor/version.h"
#include "util/error.h"

/* With out-of-band execution a client may have this many ordinary commands under way. */
#define QMP_QUEUE_MAX 8

struct qmp_request {
	JsonObject *message; /* NULL: what came was no JSON object */
	GError *error;       /* why message is NULL */
	JsonNode *id;
	GArray *fds; /* int; came with the request */
};

struct qmp_session {
	struct monitor *mon;
	struct json_split split;
	bool open, negotiated; /* guarded by the server's lock */
	bool oob;
	unsigned generation; /* counts peers, so that an answer never reaches the next one */
	GQueue requests;     /* struct qmp_request, ordinary ones only */
	GArray *fds;         /* int; came, and belong to the next request */
};

struct qmp_session *qmp_session_create(struct monitor *mon)
{
	struct qmp_session *qmp = g_new0(struct qmp_session, 1);

	qmp->mon = mon;
	g_queue_init(&qmp->requests);
	return qmp;
}

static void close_fds(GArray **fds)
{
	if (!*fds)
		return;
	for (unsigned i = 0; i < (*fds)->len; i++)
		close(g_array_index(*fds, int, i));
	g_clear_pointer(fds, g_array_unref);
}

static void request_free(struct qmp_request *request)
{
	g_clear_pointer(&request->message, json_object_unref);
	g_clear_error(&request->error);
	g_clear_pointer(&request->id, json_node_unref);
	close_fds(&request->fds);
	g_free(request);
}

void qmp_session_closed(struct qmp_session *qmp)
{
	struct qmp_request *request;

	g_rec_mutex_lock(&qmp->mon->server->lock);
	qmp->open = qmp->negotiated = qmp->oob = false;
	g_rec_mutex_unlock(&qmp->mon->server->lock);
	qmp->generation++;
	json_split_reset(&qmp->split);
	while ((request = g_queue_pop_head(&qmp->requests)))
		request_free(request);
	close_fds(&qmp->fds);
}

void qmp_session_destroy(struct qmp_session *qmp)
{
	qmp_session_closed(qmp);
	g_free(qmp);
}

bool qmp_session_takes_events(const struct qmp_session *qmp)
{
	return qmp->open && qmp->negotiated;
}

void qmp_session_send(struct qmp_session *qmp, JsonObject *message)
{
	struct monitor *mon = qmp->mon;
	g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), message);
	GString *text = g_string_new(NULL);

	json_write(text, node, mon->mode == MONITOR_QMP_PRETTY);
	g_string_append(text, "\r\n");
	monitor_write(mon, text->str, text->len);
	g_string_free(text, TRUE);
}

JsonNode *qmp_version(void)
{
	return json_parse(QMP_VERSION_JSON, strlen(QMP_VERSION_JSON), NULL);
}

void qmp_session_opened(struct qmp_session *qmp)
{
	g_autoptr(JsonObject) message = json_object_new();
	JsonObject *greeting = json_object_new();
	JsonArray *capabilities = json_array_new();

	qmp_session_closed(qmp); /* a peer that came without the last one's leaving being noticed */
	g_rec_mutex_lock(&qmp->mon->server->lock);
	qmp->open = true;
	g_rec_mutex_unlock(&qmp->mon->server->lock);
	json_array_add_string_element(capabilities, "oob");
	json_object_set_member(greeting, "version", qmp_version());
	json_object_set_array_member(greeting, "capabilities", capabilities);
	json_object_set_object_member(message, "QMP", greeting);
	qmp_session_send(qmp, message);
}

bool qmp_session_negotiate(struct qmp_session *qmp, bool oob, GError **err)
{
	if (qmp->negotiated) {
		g_set_error(err, MACHINE_ERROR, ERROR_COMMAND_NOT_FOUND,
			    "Capabilities negotiation is already complete, command ignored");
		return false;
	}
	g_rec_mutex_lock(&qmp->mon->server->lock);
	qmp->negotiated = true;
	qmp->oob = oob;
	g_rec_mutex_unlock(&qmp->mon->server->lock);
	return true;
}

JsonObject *qmp_error_reply(const GError *error)
{
	static const char *const classes[] = {
		[ERROR_GENERIC] = "GenericError",
		[ERROR_COMMAND_NOT_FOUND] = "CommandNotFound",
		[ERROR_DEVICE_NOT_FOUND] = "DeviceNotFound",
		[ERROR_DEVICE_NOT_ACTIVE] = "DeviceNotActive",
		[ERROR_KVM_MISSING_CAP] = "KVMMissingCap",
	};
	bool ours = error->domain == MACHINE_ERROR && error->code < (int)ARRAY_SIZE(classes);
	JsonObject *reply = json_object_new(), *body = json_object_new();

	json_object_set_string_member(body, "class", classes[ours ? error->code : ERROR_GENERIC]);
	json_object_set_string_member(body, "desc", error->message);
	json_object_set_object_member(reply, "error", body);
	return reply;
}

/* What a request asks for. */
struct call {
	const char *command;
	bool oob;
	JsonObject *args;
};

static bool take_command(struct call *call, const char *key, JsonNode *value, GError **err)
{
	bool oob = !strcmp(key, "exec-oob");

	if (json_node_get_value_type(value) != G_TYPE_STRING) {
		error_set(err, "QMP input member '%s' must be a string", key);
		return false;
	}
	if (call->command) {
		error_set(err, "QMP input member '%s' clashes with '%s'", key,
			  call->oob ? "exec-oob" : "execute");
		return false;
	}
	call->command = json_node_get_string(value);
	call->oob = oob;
	return true;
}

static bool read_call(const struct qmp_session *qmp, JsonObject *message, struct call *call,
		      GError **err)
{
	JsonObjectIter iter;
	const char *key;
	JsonNode *value;

	json_object_iter_init_ordered(&iter, message);
	while (json_object_iter_next_ordered(&iter, &key, &value)) {
		if (!strcmp(key, "execute") || (!strcmp(key, "exec-oob") && qmp->oob)) {
			if (!take_command(call, key, value, err))
				return false;
		} else if (!strcmp(key, "arguments")) {
			if (!JSON_NODE_HOLDS_OBJECT(value)) {
				error_set(err, "QMP input member 'arguments' must be an object");
				return false;
			}
			call->args = json_node_get_object(value);
		} else if (strcmp(key, "id")) {
			error_set(err, "QMP input member '%s' is unexpected", key);
			return false;
		}
	}
	if (!call->command)
		error_set(err, "QMP input lacks member 'execute'");
	return call->command;
}

static bool may_run(const struct qmp_session *qmp, const struct call *call,
		    const struct qapi_command *command, GError **err)
{
	if (!qmp->negotiated && strcmp(call->command, "qmp_capabilities")) {
		g_set_error(err, MACHINE_ERROR, ERROR_COMMAND_NOT_FOUND,
			    "Expecting capabilities negotiation with 'qmp_capabilities'");
		return false;
	}
	if (!command) {
		g_set_error(err, MACHINE_ERROR, ERROR_COMMAND_NOT_FOUND,
			    "The command %s has not been found", call->command);
		return false;
	}
	if (call->oob && !(command->flags & QAPI_COMMAND_OOB)) {
		error_set(err, "The command %s does not support OOB", call->command);
		return false;
	}
	if (qmp->mon->server->preconfig && !(command->flags & QAPI_COMMAND_PRECONFIG)) {
		error_set(err,
			  "The command '%s' is permitted only after machine initialization has "
			  "completed",
			  call->command);
		return false;
	}
	return true;
}

static bool run_call(struct qmp_session *qmp, struct qmp_request *request, JsonNode **result,
		     GError **err)
{
	struct monitor *mon = qmp->mon;
	g_autoptr(JsonObject) none = json_object_new();
	const struct qapi_command *command;
	struct monitor_scope outer;
	struct call call = { .args = none };
	GArray *outer_fds;
	bool ok;

	if (!read_call(qmp, request->message, &call, err))
		return false;
	command = qapi_command_find(mon->server->interface, call.command);
	if (!may_run(qmp, &call, command, err))
		return false;

	outer = monitor_enter(mon->server, mon);
	outer_fds = mon->command_fds;
	mon->command_fds = request->fds;
	ok = command->run(mon->server->machine, call.args, result, err);
	mon->command_fds = outer_fds;
	monitor_leave(outer);
	return ok;
}

static void run_request(struct qmp_session *qmp, struct qmp_request *request)
{
	unsigned generation = qmp->generation;
	g_autoptr(JsonObject) reply = NULL;
	JsonNode *result = NULL;

	if (request->message && run_call(qmp, request, &result, &request->error)) {
		reply = json_object_new();
		json_object_set_member(reply, "return", result);
	} else {
		reply = qmp_error_reply(request->error);
	}
	if (request->id)
		json_object_set_member(reply, "id", g_steal_pointer(&request->id));
	if (generation == qmp->generation)
		qmp_session_send(qmp, reply);
	request_free(request);
}

bool qmp_session_run(struct qmp_session *qmp)
{
	struct qmp_request *request = g_queue_pop_head(&qmp->requests);

	if (!request)
		return false;
	run_request(qmp, request);
	qmp->mon->transport->accept_input(qmp->mon->opaque);
	return !g_queue_is_empty(&qmp->requests);
}

static void found_value(void *opaque, const char *text, size_t len, const char *problem)
{
	struct qmp_session *qmp = opaque;
	struct qmp_request *request = g_new0(struct qmp_request, 1);
	g_autoptr(JsonNode) node = NULL;

	if (problem)
		error_set(&request->error, "JSON parse error, %s", problem);
	else
		node = json_parse(text, len, &request->error);
	if (node && !JSON_NODE_HOLDS_OBJECT(node)) {
		error_set(&request->error, "QMP input must be a JSON object");
	} else if (node) {
		request->message = json_object_ref(json_node_get_object(node));
		request->id = json_object_dup_member(request->message, "id");
	}
	request->fds = g_steal_pointer(&qmp->fds);

	if (request->message && qmp->oob && json_object_has_member(request->message, "exec-oob")) {
		run_request(qmp, request);
		return;
	}
	g_queue_push_tail(&qmp->requests, request);
	monitor_schedule(qmp->mon->server);
}

void qmp_session_receive(struct qmp_session *qmp, const void *bytes, size_t len)
{
	int fds[16], n = qmp->mon->transport->take_fds(qmp->mon->opaque, fds, ARRAY_SIZE(fds));

	if (n > 0) {
		if (!qmp->fds)
			qmp->fds = g_array_new(FALSE, FALSE, sizeof(int));
		g_array_append_vals(qmp->fds, fds, n);
	}
	json_split_feed(&qmp->split, bytes, len, found_value, qmp);
}

bool qmp_session_wants_input(const struct qmp_session *qmp)
{
	return g_queue_get_length((GQueue *)&qmp->requests) < (qmp->oob ? QMP_QUEUE_MAX : 1);
}

JsonNode *qmp_call(struct monitor_server *server, const char *command, JsonObject *args,
		   GError **err)
{
	const struct qapi_command *found = qapi_command_find(server->interface, command);
	g_autoptr(JsonObject) owned = args ?: json_object_new();
	struct monitor_scope outer;
	JsonNode *result = NULL;

	if (!found) {
		g_set_error(err, MACHINE_ERROR, ERROR_COMMAND_NOT_FOUND,
			    "The command %s has not been found", command);
		return NULL;
	}
	outer = monitor_enter(server, NULL);
	found->run(server->machine, owned, &result, err);
	monitor_leave(outer);
	return result;
}

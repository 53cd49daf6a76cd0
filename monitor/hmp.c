/*
 * monitor/hmp.c - the human monitor: sessions, lines to commands, help and completion.
 */
#include <assert.h>

#include "monitor/hmp.h"
#include "monitor/readline.h"
#include "monitor/version.h"
#include "util/error.h"

/* Typed ahead of a command that waits, a terminal's worth of input is kept; more stays outside. */
#define HMP_AHEAD_MAX 4096

struct hmp_session {
	struct monitor *mon;
	struct readline edit;
	int cpu_index;                          /* chosen by "cpu"; -1: the first */
	GString *ahead;                         /* typed and not looked at yet */
	bool ran;                               /* a line has just been run */
	bool (*waiting)(struct hmp_call *call); /* a command that is not done yet; NULL */
	guint poll;
};

void hmp_printf(struct hmp_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	g_string_append_vprintf(call->out, fmt, ap);
	va_end(ap);
}

void hmp_fail(struct hmp_call *call, GError *error)
{
	hmp_printf(call, "Error: %s\n", error->message);
	g_error_free(error);
}

JsonNode *hmp_query(struct hmp_call *call, const char *command, JsonObject *args)
{
	GError *error = NULL;
	JsonNode *result = qmp_call(call->server, command ?: call->command->qmp, args, &error);

	if (error)
		hmp_fail(call, error);
	return result;
}

#define TEXT_MEMBER "human-readable-text"

void hmp_plain(struct hmp_call *call)
{
	g_autoptr(JsonNode) result = hmp_query(call, NULL, json_object_ref(call->args));

	if (!result)
		return;
	if (json_node_get_value_type(result) == G_TYPE_STRING)
		hmp_printf(call, "%s\n", json_node_get_string(result));
	else if (JSON_NODE_HOLDS_OBJECT(result) &&
		 json_object_has_member(json_node_get_object(result), TEXT_MEMBER))
		hmp_printf(
			call, "%s",
			json_object_get_string_member(json_node_get_object(result), TEXT_MEMBER));
}

bool hmp_available(const struct monitor_server *server, const struct hmp_command *command)
{
	return !command->qmp || qapi_command_find(server->interface, command->qmp);
}

static bool has_name(const struct hmp_command *command, const char *name)
{
	g_auto(GStrv) names = g_strsplit(command->name, "|", -1);

	return g_strv_contains((const char *const *)names, name);
}

const struct hmp_command *hmp_find(const struct monitor_server *server,
				   const struct hmp_command *table, const char *name)
{
	for (; table->name; table++) {
		if (has_name(table, name) && hmp_available(server, table))
			return table;
	}
	return NULL;
}

static void describe(GString *out, const struct hmp_command *command, const char *before)
{
	g_string_append_printf(out, "%s%s%s%s -- %s\n", before, command->name,
			       *command->params ? " " : "", command->params, command->help);
}

static void describe_all(struct hmp_call *call, const struct hmp_command *table, const char *before)
{
	for (; table->name; table++) {
		if (hmp_available(call->server, table))
			describe(call->out, table, before);
	}
}

static void run_help(struct hmp_call *call, const char *rest)
{
	g_auto(GStrv) words = g_strsplit(rest, " ", 2);
	const struct hmp_command *found;

	if (!words[0]) {
		describe_all(call, hmp_commands, "");
		return;
	}
	found = hmp_find(call->server, hmp_commands, words[0]);
	if (found && !strcmp(found->name, "info")) {
		if (words[1])
			found = hmp_find(call->server, hmp_info_commands, words[1]);
		if (!words[1]) {
			describe_all(call, hmp_info_commands, "info ");
			return;
		}
		if (found)
			describe(call->out, found, "info ");
	} else if (found) {
		describe(call->out, found, "");
	}
	if (!found)
		hmp_printf(call, "no help for '%s'\n", rest);
}

static void run_command(struct hmp_call *call, const char *rest)
{
	int len = strcspn(call->command->name, "|");
	GError *error = NULL;

	call->args = hmp_parse_args(call->command, rest, &error);
	if (!call->args) {
		hmp_printf(call, "%.*s: %s\nTry \"help %.*s\" for more information\n", len,
			   call->command->name, error->message, len, call->command->name);
		g_error_free(error);
		return;
	}
	call->command->run(call);
	g_clear_pointer(&call->args, json_object_unref);
}

/* Splits off the first word of a line; both parts are trimmed. */
static char *first_word(const char *line, const char **rest)
{
	const char *end;

	while (g_ascii_isspace(*line))
		line++;
	/* "x/4xw 0x1000" is "x" with "/4xw 0x1000". */
	for (end = line; *end && !g_ascii_isspace(*end) && (*end != '/' || end == line); end++)
		;
	*rest = end;
	while (g_ascii_isspace(**rest))
		(*rest)++;
	return g_strndup(line, end - line);
}

static void run_info(struct hmp_call *call, const char *rest)
{
	const char *args;
	g_autofree char *topic = first_word(rest, &args);

	if (!*topic) {
		describe_all(call, hmp_info_commands, "info ");
		return;
	}
	call->command = hmp_find(call->server, hmp_info_commands, topic);
	if (call->command)
		run_command(call, args);
	else
		hmp_printf(call, "unknown command: 'info %s'\n", topic);
}

static void run_cpu(struct hmp_call *call, const char *rest)
{
	char *end;
	s64 index = g_ascii_strtoll(rest, &end, 0);

	if (!*rest || *end || index < 0 || index > INT_MAX)
		hmp_printf(call, "cpu: '%s' is not the number of a CPU\n", rest);
	else if (call->session) /* a single line has no next one to choose for */
		call->session->cpu_index = index;
}

static void run_line(struct hmp_call *call, const char *line)
{
	const char *rest;
	g_autofree char *name = first_word(line, &rest);
	g_autofree char *trimmed = g_strchomp(g_strdup(rest));

	if (!*name || *name == '#')
		return;
	call->command = hmp_find(call->server, hmp_commands, name);
	if (!call->command)
		hmp_printf(call, "unknown command: '%s'\n", name);
	else if (call->command->run)
		run_command(call, trimmed);
	else if (!strcmp(call->command->name, "info"))
		run_info(call, trimmed);
	else if (!strcmp(call->command->name, "cpu"))
		run_cpu(call, trimmed);
	else
		run_help(call, trimmed);
}

/* As a terminal wants them, which is what all who read a monitor get. */
static char *with_line_ends(const GString *text)
{
	g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);

	return g_strjoinv("\r\n", lines);
}

char *monitor_hmp(struct monitor_server *server, const char *line, int cpu_index)
{
	struct hmp_call call = { .server = server, .out = g_string_new(NULL) };
	struct monitor_scope outer = monitor_enter(server, NULL);
	char *text;

	monitor_scope_set_cpu(cpu_index);
	run_line(&call, line);
	monitor_leave(outer);
	text = with_line_ends(call.out);
	g_string_free(call.out, TRUE);
	return text;
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static void session_print(void *opaque, const char *text)
{
	struct hmp_session *hmp = opaque;

	monitor_write(hmp->mon, text, strlen(text));
}

static void print_lines(struct hmp_session *hmp, const GString *text)
{
	g_autofree char *joined = with_line_ends(text);

	session_print(hmp, joined);
}

static void session_line(void *opaque, const char *line)
{
	struct hmp_session *hmp = opaque;
	struct hmp_call call = { .server = hmp->mon->server, .session = hmp };
	struct monitor_scope outer = monitor_enter(hmp->mon->server, hmp->mon);

	hmp->ran = true;
	call.out = g_string_new(NULL);
	monitor_scope_set_cpu(hmp->cpu_index);
	run_line(&call, line);
	monitor_leave(outer);
	print_lines(hmp, call.out);
	g_string_free(call.out, TRUE);
	if (!hmp->waiting)
		readline_start(&hmp->edit);
}

static void add_matching(struct hmp_session *hmp, const struct hmp_command *table,
			 const char *start, GPtrArray *found)
{
	for (; table->name; table++) {
		g_auto(GStrv) names = g_strsplit(table->name, "|", -1);

		if (!hmp_available(hmp->mon->server, table))
			continue;
		for (int i = 0; names[i]; i++) {
			if (g_str_has_prefix(names[i], start))
				g_ptr_array_add(found, g_strdup(names[i]));
		}
	}
}

static void session_complete(void *opaque, const char *line, size_t word, GPtrArray *found)
{
	g_autofree char *before = g_strstrip(g_strndup(line, word));

	if (!*before || !strcmp(before, "help"))
		add_matching(opaque, hmp_commands, line + word, found);
	else if (!strcmp(before, "info") || !strcmp(before, "help info"))
		add_matching(opaque, hmp_info_commands, line + word, found);
}

static const struct readline_ops session_ops = {
	.print = session_print,
	.line = session_line,
	.complete = session_complete,
};

struct hmp_session *hmp_session_create(struct monitor *mon)
{
	struct hmp_session *hmp = g_new0(struct hmp_session, 1);

	hmp->mon = mon;
	hmp->cpu_index = -1;
	hmp->ahead = g_string_new(NULL);
	readline_init(&hmp->edit, &session_ops, hmp, "(qemu) ");
	return hmp;
}

void hmp_session_destroy(struct hmp_session *hmp)
{
	if (hmp->poll)
		g_source_remove(hmp->poll);
	readline_finish(&hmp->edit);
	g_string_free(hmp->ahead, TRUE);
	g_free(hmp);
}

void hmp_session_opened(struct hmp_session *hmp)
{
	g_string_truncate(hmp->ahead, 0);
	session_print(hmp, "QEMU " QMP_COMPAT_VERSION " monitor - type 'help' for more information "
			   "(tidemark " TIDEMARK_VERSION ")\r\n");
	if (!hmp->waiting)
		readline_start(&hmp->edit);
}

void hmp_session_focused(struct hmp_session *hmp)
{
	if (!hmp->waiting)
		readline_redraw(&hmp->edit);
}

void hmp_session_receive(struct hmp_session *hmp, const void *bytes, size_t len)
{
	g_string_append_len(hmp->ahead, bytes, len);
	monitor_schedule(hmp->mon->server);
}

bool hmp_session_wants_input(const struct hmp_session *hmp)
{
	return hmp->ahead->len < HMP_AHEAD_MAX;
}

bool hmp_session_run(struct hmp_session *hmp)
{
	size_t used = 0;

	hmp->ran = false;
	while (used < hmp->ahead->len && !hmp->waiting && !hmp->ran)
		readline_feed(&hmp->edit, hmp->ahead->str[used++]);
	g_string_erase(hmp->ahead, 0, used);
	hmp->mon->transport->accept_input(hmp->mon->opaque);
	return hmp->ahead->len && !hmp->waiting;
}

static gboolean poll_waiting(gpointer data)
{
	struct hmp_session *hmp = data;
	struct hmp_call call = { .server = hmp->mon->server, .session = hmp };
	bool done;

	call.out = g_string_new(NULL);
	done = hmp->waiting(&call);
	print_lines(hmp, call.out);
	g_string_free(call.out, TRUE);
	if (!done)
		return G_SOURCE_CONTINUE;

	hmp->waiting = NULL;
	hmp->poll = 0;
	readline_start(&hmp->edit);
	monitor_schedule(hmp->mon->server);
	return G_SOURCE_REMOVE;
}

void hmp_wait(struct hmp_call *call, bool (*done)(struct hmp_call *call))
{
	assert(call->session && !call->session->waiting);
	call->session->waiting = done;
	call->session->poll = g_timeout_add(100, poll_waiting, call->session);
}

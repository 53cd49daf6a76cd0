/*
 * tests/unit/monitor/test-qmp.c - QMP sessions: negotiation, order, errors, events, descriptors.
 */
#include <fcntl.h>
#include <unistd.h>

#include "monitor/json.h"
#include "tests/unit/monitor/pipe.h"
#include "tests/unit/qapi/gen/sample.h"
#include "tests/unit/qapi/sample-handlers.h"
#include "util/error.h"

#define GENERIC(text)  "{\"error\": {\"class\": \"GenericError\", \"desc\": \"" text "\"}}\r\n"
#define NOTFOUND(text) "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"" text "\"}}\r\n"

struct fixture {
	struct monitor_server *server;
	struct pipe_end *p;
};

static void set_up(struct fixture *f, gconstpointer mode)
{
	memset(&sample_state, 0, sizeof(sample_state));
	f->server = monitor_server_create(NULL, &sample_interface);
	f->p = pipe_open(f->server, MONITOR_QMP);
	if (mode) { /* negotiated, "oob" or "" */
		g_autofree char *text = NULL;

		text = pipe_run(f->p, strcmp(mode, "oob")
					      ? "{\"execute\": \"qmp_capabilities\"}"
					      : "{\"execute\": \"qmp_capabilities\", "
						"\"arguments\": {\"enable\": [\"oob\"]}}");
		g_assert_true(g_str_has_suffix(text, "{\"return\": {}}\r\n"));
	}
}

static void tear_down(struct fixture *f, gconstpointer mode)
{
	pipe_close(f->p);
	monitor_server_destroy(f->server);
}

static void check(struct fixture *f, const char *in, const char *out)
{
	g_autofree char *text = pipe_run(f->p, in);

	g_assert_cmpstr(text, ==, out);
}

static void test_greeting(struct fixture *f, gconstpointer mode)
{
	g_autofree char *text = pipe_take(f->p);

	g_assert_true(g_str_has_prefix(
		text,
		"{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 3, \"minor\": 1, \"major\": 11}, "
		"\"package\": \"tidemark "));
	g_assert_true(g_str_has_suffix(text, "\"}, \"capabilities\": [\"oob\"]}}\r\n"));
}

static void test_negotiation(struct fixture *f, gconstpointer mode)
{
	g_free(pipe_take(f->p));
	check(f, "{\"execute\": \"count\"}",
	      NOTFOUND("Expecting capabilities negotiation with 'qmp_capabilities'"));
	check(f, "{\"execute\": \"nonsense\"}",
	      NOTFOUND("Expecting capabilities negotiation with 'qmp_capabilities'"));
	check(f, "{\"execute\": \"qmp_capabilities\", \"arguments\": {\"enable\": [\"x\"]}}",
	      GENERIC("Parameter 'enable[0]' does not accept value 'x'"));
	check(f, "{\"execute\": \"qmp_capabilities\", \"arguments\": {\"enable\": 1}}",
	      GENERIC("Invalid parameter type for 'enable', expected: array"));
	check(f, "{\"execute\": \"qmp_capabilities\", \"arguments\": {\"enable\": []}}",
	      "{\"return\": {}}\r\n");
	check(f, "{\"execute\": \"qmp_capabilities\"}",
	      NOTFOUND("Capabilities negotiation is already complete, command ignored"));
	check(f, "{\"execute\": \"count\"}", "{\"return\": 1}\r\n");

	/* The next peer starts from the beginning. */
	monitor_closed(f->p->mon);
	monitor_opened(f->p->mon);
	g_free(pipe_take(f->p));
	check(f, "{\"execute\": \"count\"}",
	      NOTFOUND("Expecting capabilities negotiation with 'qmp_capabilities'"));
}

struct exchange {
	const char *in, *out;
};

static const struct exchange exchanges[] = {
	{ "{\"execute\": \"count\", \"id\": 7}", "{\"return\": 1, \"id\": 7}\r\n" },
	{ "{\"id\": {\"a\": [1, null]}, \"execute\": \"count\"}",
	  "{\"return\": 1, \"id\": {\"a\": [1, null]}}\r\n" },
	{ "{\"execute\": \"x\", \"id\": \"i\"}",
	  "{\"error\": {\"class\": \"CommandNotFound\", "
	  "\"desc\": \"The command x has not been found\"}, \"id\": \"i\"}\r\n" },
	{ "{'execute': 'echo', 'arguments': {'value': 'it\\'s'}}", "{\"return\": \"it's\"}\r\n" },
	{ "{\"execute\": \"count\", \"arguments\": {}}", "{\"return\": 1}\r\n" },
	{ "{\"execute\": \"fail\", \"arguments\": {\"class\": 0}}", GENERIC("failed as asked") },
	{ "{\"execute\": \"fail\", \"arguments\": {\"class\": 2}}",
	  "{\"error\": {\"class\": \"DeviceNotFound\", \"desc\": \"failed as asked\"}}\r\n" },
	{ "{\"execute\": \"fail\", \"arguments\": {\"class\": 3}}",
	  "{\"error\": {\"class\": \"DeviceNotActive\", \"desc\": \"failed as asked\"}}\r\n" },
	{ "{\"execute\": \"fail\", \"arguments\": {\"class\": 4}}",
	  "{\"error\": {\"class\": \"KVMMissingCap\", \"desc\": \"failed as asked\"}}\r\n" },

	{ "[1]", GENERIC("QMP input must be a JSON object") },
	{ "null ", GENERIC("QMP input must be a JSON object") },
	{ "{}", GENERIC("QMP input lacks member 'execute'") },
	{ "{\"execute\": 1}", GENERIC("QMP input member 'execute' must be a string") },
	{ "{\"execute\": \"count\", \"extra\": 1}",
	  GENERIC("QMP input member 'extra' is unexpected") },
	{ "{\"exec-oob\": \"wake\"}", GENERIC("QMP input member 'exec-oob' is unexpected") },
	{ "{\"execute\": \"count\", \"arguments\": []}",
	  GENERIC("QMP input member 'arguments' must be an object") },
	{ "{\"execute\": \"count\", \"arguments\": {\"x\": 1}}",
	  GENERIC("Parameter 'x' is unexpected") },
	{ "{\"execute\": }", GENERIC("JSON parse error, value expected") },
	{ "{]", GENERIC("JSON parse error, a closing bracket has no opening one") },
	{ "{\"execute\": \"count\"}{\"execute\":\n\"count\"}\n",
	  "{\"return\": 1}\r\n{\"return\": 2}\r\n" },
};

static void test_exchange(struct fixture *f, gconstpointer mode)
{
	for (unsigned i = 0; i < ARRAY_SIZE(exchanges); i++) {
		sample_state.count = 0;
		check(f, exchanges[i].in, exchanges[i].out);
	}
}

static void test_byte_by_byte(struct fixture *f, gconstpointer mode)
{
	static const char in[] = "{\"execute\": \"count\", \"id\": \"\303\251\"}\r\n";

	for (size_t i = 0; in[i]; i++)
		monitor_receive(f->p->mon, &in[i], 1);
	check(f, "", "{\"return\": 1, \"id\": \"\\u00e9\"}\r\n");
}

static void test_garbage(struct fixture *f, gconstpointer mode)
{
	GRand *rand = g_rand_new_with_seed(1);

	for (int i = 0; i < 2000; i++) {
		char noise[16];

		for (unsigned j = 0; j < sizeof(noise); j++)
			noise[j] = g_rand_boolean(rand)
					   ? "{}[]\"':,\\u0 \n"[g_rand_int_range(rand, 0, 13)]
					   : g_rand_int_range(rand, 0, 256);
		monitor_receive(f->p->mon, noise, sizeof(noise));
		g_free(pipe_run(f->p, ""));
	}
	g_rand_free(rand);
	g_free(pipe_run(f->p, "\377"));
	check(f, "{\"execute\": \"count\"}", "{\"return\": 1}\r\n");
}

static void test_oob_errors(struct fixture *f, gconstpointer mode)
{
	check(f, "{\"exec-oob\": \"count\", \"id\": 1}",
	      "{\"error\": {\"class\": \"GenericError\", "
	      "\"desc\": \"The command count does not support OOB\"}, \"id\": 1}\r\n");
	check(f, "{\"exec-oob\": \"wake\", \"execute\": \"count\"}",
	      GENERIC("QMP input member 'execute' clashes with 'exec-oob'"));
	check(f, "{\"exec-oob\": \"x\"}", NOTFOUND("The command x has not been found"));
	check(f, "{\"execute\": \"wake\"}", "{\"return\": {}}\r\n");
}

static gboolean send_oob(gpointer p)
{
	pipe_send(p, "{\"execute\": \"count\", \"id\": \"queued\"}"
		     "{\"exec-oob\": \"wake\", \"id\": \"oob\"}");
	return G_SOURCE_REMOVE;
}

static void test_oob_order(struct fixture *f, gconstpointer mode)
{
	/* "wait" blocks until "wake" ran; "count" stays behind it although it came before. */
	g_timeout_add(20, send_oob, f->p);
	check(f, "{\"execute\": \"wait\", \"id\": \"wait\"}",
	      "{\"return\": {}, \"id\": \"oob\"}\r\n"
	      "{\"return\": 1, \"id\": \"wait\"}\r\n"
	      "{\"return\": 2, \"id\": \"queued\"}\r\n");
}

struct others {
	struct pipe_end *program, *human;
};

static gboolean send_from_others(gpointer data)
{
	struct others *others = data;

	pipe_send(others->program, "{\"execute\": \"count\", \"id\": \"other\"}");
	pipe_send(others->human, "help help\n");
	return G_SOURCE_REMOVE;
}

static gboolean wake_up(gpointer data)
{
	struct others *others = data;

	g_assert_cmpuint(others->program->out->len, ==, 0);
	g_assert_cmpuint(others->human->out->len, ==, 0);
	sample_state.woken = true;
	return G_SOURCE_REMOVE;
}

/* While a command waits, no other monitor's command begins, be it a program's or a person's. */
static void test_one_at_a_time(struct fixture *f, gconstpointer mode)
{
	struct others others = {
		.program = pipe_open(f->server, MONITOR_QMP),
		.human = pipe_open(f->server, MONITOR_HMP),
	};
	g_autofree char *text = NULL, *help = NULL;

	g_free(pipe_run(others.program, "{\"execute\": \"qmp_capabilities\"}"));
	g_free(pipe_take(others.human));
	g_timeout_add(10, send_from_others, &others);
	g_timeout_add(60, wake_up, &others);
	check(f, "{\"execute\": \"wait\"}", "{\"return\": 1}\r\n");
	text = pipe_run(others.program, "");
	help = pipe_run(others.human, "");
	g_assert_cmpstr(text, ==, "{\"return\": 2, \"id\": \"other\"}\r\n");
	g_assert_nonnull(strstr(help, "show the help"));
	pipe_close(others.program);
	pipe_close(others.human);
}

static gboolean reconnect(gpointer data)
{
	struct pipe_end *p = data;

	monitor_closed(p->mon);
	monitor_opened(p->mon);
	sample_state.woken = true;
	return G_SOURCE_REMOVE;
}

static void test_answer_to_the_gone(struct fixture *f, gconstpointer mode)
{
	g_autofree char *text = NULL;

	g_timeout_add(20, reconnect, f->p);
	text = pipe_run(f->p, "{\"execute\": \"wait\"}{\"execute\": \"count\"}");
	g_assert_nonnull(strstr(text, "\"QMP\""));
	g_assert_null(strstr(text, "return"));
	g_assert_cmpint(sample_state.count, ==, 1); /* what had not begun never ran */
}

static void test_flow_control(struct fixture *f, gconstpointer mode)
{
	unsigned limit = g_str_equal(mode, "oob") ? 8 : 1;
	unsigned accepts;

	for (unsigned i = 0; i < limit; i++) {
		g_assert_cmpuint(monitor_can_receive(f->p->mon), >, 0);
		pipe_send(f->p, "{\"execute\": \"count\"}");
	}
	g_assert_cmpuint(monitor_can_receive(f->p->mon), ==, 0);
	accepts = f->p->accepts;
	g_free(pipe_run(f->p, ""));
	g_assert_cmpuint(f->p->accepts, >, accepts);
	g_assert_cmpuint(monitor_can_receive(f->p->mon), >, 0);

	/* A peer that does not read is not read from, until it does. */
	f->p->extra_queued = MONITOR_OUTPUT_HIGH + 1;
	g_assert_cmpuint(monitor_can_receive(f->p->mon), ==, 0);
	accepts = f->p->accepts;
	f->p->extra_queued = 0;
	while (f->p->accepts == accepts)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpuint(monitor_can_receive(f->p->mon), >, 0);
}

/* The name and data of each event in @text, without the timestamps, which are checked. */
static char *events_of(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);
	GString *out = g_string_new(NULL);

	for (int i = 0; lines[i] && *lines[i]; i++) {
		g_autoptr(JsonNode) node = json_parse(lines[i], strlen(lines[i]), NULL);
		JsonObject *event = json_node_get_object(node);
		JsonObject *stamp = json_object_get_object_member(event, "timestamp");

		g_assert_cmpint(ABS(json_object_get_int_member(stamp, "seconds") -
				    g_get_real_time() / G_USEC_PER_SEC),
				<=, 5);
		g_assert_cmpint(json_object_get_int_member(stamp, "microseconds"), <, 1000000);
		json_object_remove_member(event, "timestamp");
		json_write(out, node, false);
	}
	return g_string_free(out, FALSE);
}

static void check_events(struct fixture *f, const char *expected)
{
	g_autofree char *text = pipe_take(f->p), *events = events_of(text);

	g_assert_cmpstr(events, ==, expected);
}

static void test_events(struct fixture *f, gconstpointer mode)
{
	struct qapi_event_sink *sink = monitor_server_sink(f->server);
	struct pipe_end *other = pipe_open(f->server, MONITOR_QMP);
	struct pipe_end *human = pipe_open(f->server, MONITOR_HMP);

	g_free(pipe_take(other));
	g_free(pipe_take(human));
	qapi_event_send_with_data(sink, &(struct qapi_with_data_event){ .has_n = true, .n = 5 });
	check_events(f, "{\"event\": \"WITH_DATA\", \"data\": {\"colour\": \"red\", \"n\": 5}}");
	g_assert_cmpuint(other->out->len, ==, 0); /* has not negotiated */
	g_assert_cmpuint(human->out->len, ==, 0);

	g_free(pipe_run(other, "{\"execute\": \"qmp_capabilities\"}"));
	qapi_event_send_plain(sink);
	check_events(f, "{\"event\": \"PLAIN\"}");
	g_assert_cmpuint(other->out->len, >, 0);

	/* A client that does not read loses events, not our memory. */
	g_free(pipe_take(other));
	other->extra_queued = MONITOR_OUTPUT_MAX + 1;
	qapi_event_send_plain(sink);
	g_assert_cmpuint(other->out->len, ==, 0);
	check_events(f, "{\"event\": \"PLAIN\"}");
	pipe_close(other);
	pipe_close(human);
}

static void send_limited(struct fixture *f, const char *id, int n)
{
	qapi_event_send_limited(monitor_server_sink(f->server),
				&(struct qapi_limited_event){ .id = (char *)id, .n = n });
}

static gboolean stop_waiting(gpointer done)
{
	*(bool *)done = true;
	return G_SOURCE_REMOVE;
}

static void wait_ms(unsigned ms)
{
	bool done = false;

	g_timeout_add(ms, stop_waiting, &done);
	while (!done)
		g_main_context_iteration(NULL, TRUE);
}

#define LIMITED(id, n) "{\"event\": \"LIMITED\", \"data\": {\"id\": \"" id "\", \"n\": " n "}}"

static void test_rate_limit(struct fixture *f, gconstpointer mode)
{
	send_limited(f, "a", 1);
	send_limited(f, "a", 2);
	send_limited(f, "b", 3);
	send_limited(f, "a", 4);
	check_events(f, LIMITED("a", "1") LIMITED("b", "3"));
	wait_ms(100);
	check_events(f, LIMITED("a", "4")); /* only the last of those held back */
	send_limited(f, "a", 5);
	check_events(f, ""); /* its sending began a new period */
	wait_ms(200);
	check_events(f, LIMITED("a", "5"));
	send_limited(f, "a", 6);
	check_events(f, LIMITED("a", "6"));
	send_limited(f, "a", 7); /* held back when the server goes */
}

static gpointer emit_many(gpointer sink)
{
	for (int i = 0; i < 500; i++)
		qapi_event_send_plain(sink);
	return NULL;
}

static void test_events_from_threads(struct fixture *f, gconstpointer mode)
{
	struct qapi_event_sink *sink = monitor_server_sink(f->server);
	GThread *threads[4];
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	for (int i = 0; i < 4; i++)
		threads[i] = g_thread_new("emit", emit_many, sink);
	for (int i = 0; i < 50; i++) {
		pipe_send(f->p, "{\"execute\": \"count\"}");
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
	for (int i = 0; i < 4; i++)
		g_thread_join(threads[i]);
	text = pipe_take(f->p);
	lines = g_strsplit(text, "\r\n", -1);
	g_assert_cmpuint(g_strv_length(lines), ==, 4 * 500 + 50 + 1);
}

/* A descriptor that can be told from others by its content. */
static int make_fd(const char *content)
{
	int ends[2];

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	g_assert_cmpint(write(ends[1], content, 1), ==, 1);
	close(ends[1]);
	return ends[0];
}

static void pass_fd(struct fixture *f, int fd)
{
	f->p->fds[f->p->nfds++] = fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_getfd(struct fixture *f, gconstpointer mode)
{
	int first = make_fd("1"), second = make_fd("2"), extra = make_fd("3");

	check(f, "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"n\"}}",
	      GENERIC("No file descriptor supplied via SCM_RIGHTS"));
	pass_fd(f, first);
	pass_fd(f, extra);
	check(f, "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"n\"}}",
	      "{\"return\": {}}\r\n");
	g_assert_true(is_open(first));
	g_assert_false(is_open(extra)); /* one command takes one */

	/* The descriptor may come with an earlier byte than the command's first one. */
	pass_fd(f, second);
	pipe_send(f->p, " ");
	check(f, "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"n\"}}",
	      "{\"return\": {}}\r\n");
	g_assert_false(is_open(first)); /* replaced */
	g_assert_true(is_open(second));
	check(f, "{\"execute\": \"closefd\", \"arguments\": {\"fdname\": \"n\"}}",
	      "{\"return\": {}}\r\n");
	g_assert_false(is_open(second));
	check(f, "{\"execute\": \"closefd\", \"arguments\": {\"fdname\": \"n\"}}",
	      GENERIC("File descriptor named 'n' not found"));

	pass_fd(f, make_fd("4"));
	check(f, "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"0n\"}}",
	      GENERIC("Parameter 'fdname' expects a name not starting with a digit"));
	pass_fd(f, first = make_fd("5"));
	check(f, "{\"execute\": \"count\"}", "{\"return\": 1}\r\n");
	g_assert_false(is_open(first)); /* nobody wanted it */
	pass_fd(f, first = make_fd("6"));
	pipe_send(f->p, "{");
	monitor_closed(f->p->mon);
	g_assert_false(is_open(first));
}

static void test_fdset(struct fixture *f, gconstpointer mode)
{
	int fd = make_fd("1");
	g_autofree char *added =
		g_strdup_printf("{\"return\": {\"fdset-id\": 3, \"fd\": %d}}\r\n", fd);
	g_autofree char *sets = g_strdup_printf("{\"return\": [{\"fdset-id\": 3, \"fds\": "
						"[{\"fd\": %d, \"opaque\": \"o\"}]}]}\r\n",
						fd);

	check(f, "{\"execute\": \"add-fd\"}",
	      GENERIC("No file descriptor supplied via SCM_RIGHTS"));
	pass_fd(f, fd);
	check(f, "{\"execute\": \"add-fd\", \"arguments\": {\"fdset-id\": 3, \"opaque\": \"o\"}}",
	      added);
	check(f, "{\"execute\": \"query-fdsets\"}", sets);
	check(f, "{\"execute\": \"remove-fd\", \"arguments\": {\"fdset-id\": 3}}",
	      "{\"return\": {}}\r\n");
	g_assert_false(is_open(fd));
	check(f, "{\"execute\": \"query-fdsets\"}", "{\"return\": []}\r\n");
	check(f, "{\"execute\": \"add-fd\", \"arguments\": {\"fdset-id\": -1}}",
	      GENERIC("Parameter 'fdset-id' expects a non-negative value"));
}

static void test_control(struct fixture *f, gconstpointer mode)
{
	g_autofree char *version = pipe_run(f->p, "{\"execute\": \"query-version\"}");
	g_autofree char *commands = pipe_run(f->p, "{\"execute\": \"query-commands\"}");
	g_autofree char *schema = pipe_run(f->p, "{\"execute\": \"query-qmp-schema\"}");

	g_assert_nonnull(strstr(version, "\"major\": 11"));
	g_assert_nonnull(strstr(version, "\"package\": \"tidemark"));
	g_assert_nonnull(strstr(commands, "{\"name\": \"count\"}"));
	g_assert_nonnull(strstr(commands, "{\"name\": \"qmp_capabilities\"}"));
	g_assert_nonnull(strstr(schema, "\"name\": \"wake\", \"meta-type\": \"command\""));
	check(f, "{\"execute\": \"query-qmp-schema\", \"arguments\": {\"a\": 1}}",
	      GENERIC("Parameter 'a' is unexpected"));
	check(f,
	      "{\"execute\": \"human-monitor-command\", \"arguments\": "
	      "{\"command-line\": \"nonsense\"}}",
	      "{\"return\": \"unknown command: 'nonsense'\\r\\n\"}\r\n");
}

static void test_preconfig(struct fixture *f, gconstpointer mode)
{
	monitor_server_set_preconfig(f->server, true);
	check(f, "{\"execute\": \"count\"}", "{\"return\": 1}\r\n");
	check(f, "{\"execute\": \"names\"}",
	      GENERIC("The command 'names' is permitted only after machine initialization has "
		      "completed"));
	monitor_server_set_preconfig(f->server, false);
	check(f, "{\"execute\": \"names\"}", "{\"return\": []}\r\n");
}

static void test_pretty(void)
{
	struct monitor_server *server = monitor_server_create(NULL, &sample_interface);
	struct pipe_end *p = pipe_open(server, MONITOR_QMP_PRETTY);
	g_autofree char *text = NULL;

	g_free(pipe_take(p));
	text = pipe_run(p, "{\"execute\": \"qmp_capabilities\", \"id\": 1}");
	g_assert_cmpstr(text, ==, "{\n    \"return\": {},\n    \"id\": 1\n}\r\n");
	pipe_close(p);
	monitor_server_destroy(server);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(path, mode, fn) g_test_add(path, struct fixture, mode, set_up, fn, tear_down)
	ADD("/qmp/greeting", NULL, test_greeting);
	ADD("/qmp/negotiation", NULL, test_negotiation);
	ADD("/qmp/exchange", "", test_exchange);
	ADD("/qmp/byte-by-byte", "", test_byte_by_byte);
	ADD("/qmp/garbage", "", test_garbage);
	ADD("/qmp/garbage-oob", "oob", test_garbage);
	ADD("/qmp/oob-errors", "oob", test_oob_errors);
	ADD("/qmp/oob-order", "oob", test_oob_order);
	ADD("/qmp/one-at-a-time", "", test_one_at_a_time);
	ADD("/qmp/answer-to-the-gone", "", test_answer_to_the_gone);
	ADD("/qmp/flow-control", "", test_flow_control);
	ADD("/qmp/flow-control-oob", "oob", test_flow_control);
	ADD("/qmp/events", "", test_events);
	ADD("/qmp/rate-limit", "", test_rate_limit);
	ADD("/qmp/events-from-threads", "", test_events_from_threads);
	ADD("/qmp/getfd", "", test_getfd);
	ADD("/qmp/fdset", "", test_fdset);
	ADD("/qmp/control", "", test_control);
	ADD("/qmp/preconfig", "", test_preconfig);
	g_test_add_func("/qmp/pretty", test_pretty);
	return g_test_run();
}

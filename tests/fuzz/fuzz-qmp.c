/*
 * tests/fuzz/fuzz-qmp.c - whatever a client sends, a QMP session answers and goes on.
 *
 * The first byte of the input is the size of the portions that the rest arrives in.
 */
#include <assert.h>

#include "monitor/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/monitor/pipe.h"
#include "tests/unit/qapi/sample-handlers.h"

/* The sample interface without the command that waits for another one. */
static const struct qapi_interface *patient_interface(void)
{
	static struct qapi_command commands[64];
	static struct qapi_interface interface;

	if (interface.commands)
		return &interface;
	interface = sample_interface;
	interface.commands = commands;
	interface.ncommands = 0;
	assert(sample_interface.ncommands <= ARRAY_SIZE(commands));
	for (size_t i = 0; i < sample_interface.ncommands; i++) {
		if (strcmp(sample_interface.commands[i].name, "wait"))
			commands[interface.ncommands++] = sample_interface.commands[i];
	}
	return &interface;
}

static void count_answer(void *opaque, const char *text, size_t len, const char *problem)
{
	unsigned *answers = opaque;
	JsonNode *node;

	assert(!problem);
	node = json_parse(text, len, NULL);
	assert(node && JSON_NODE_HOLDS_OBJECT(node));
	json_node_unref(node);
	(*answers)++;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct monitor_server *server = monitor_server_create(NULL, patient_interface());
	struct pipe_end *p = pipe_open(server, MONITOR_QMP);
	size_t portion = len && data[0] ? data[0] : 1;
	struct json_split split = { 0 };
	g_autofree char *text = NULL;
	unsigned answers = 0;

	for (size_t at = 1; at < len; at += portion) {
		monitor_receive(p->mon, data + at, MIN(portion, len - at));
		while (g_main_context_iteration(NULL, FALSE))
			;
	}

	/* All that came out is well-formed, and what follows the noise is understood. */
	monitor_closed(p->mon);
	text = pipe_take(p);
	json_split_feed(&split, text, strlen(text), count_answer, &answers);
	assert(answers >= 1 && !split.text);
	json_split_reset(&split);
	monitor_opened(p->mon);
	g_free(pipe_take(p));
	g_free(g_steal_pointer(&text));
	text = pipe_run(p, "{\"execute\": \"qmp_capabilities\"}");
	assert(!strcmp(text, "{\"return\": {}}\r\n"));
	pipe_close(p);
	monitor_server_destroy(server);
	return 0;
}

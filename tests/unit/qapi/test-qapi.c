/*
 * tests/unit/qapi/test-qapi.c - generated types and commands: conversion, error texts,
 * introspection.
 */
#include <json-glib/json-glib.h>

#include "tests/unit/qapi/gen/sample.h"
#include "tests/unit/qapi/sample-handlers.h"

static JsonNode *parse(const char *text)
{
	GError *error = NULL;
	JsonNode *node = json_from_string(text, &error);

	g_assert_no_error(error);
	return node;
}

/* Runs a command of the sample schema; returns its result as text, or the error's text. */
static char *run(const char *name, const char *args)
{
	const struct qapi_command *command = qapi_command_find(&sample_interface, name);
	g_autoptr(JsonNode) in = args ? parse(args) : NULL, out = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_nonnull(command);
	if (!command->run(NULL, in ? json_node_get_object(in) : NULL, &out, &error)) {
		g_assert_nonnull(error);
		return g_strdup(error->message);
	}
	g_assert_no_error(error);
	return json_to_string(out, FALSE);
}

#define TREE "\"name\":\"oak\",\"colour\":\"red\""

struct io {
	const char *command, *in, *out;
};

static const struct io cases[] = {
	{ "grow", "{\"tree\":{" TREE "}}", "{" TREE "}" },
	{ "grow",
	  "{\"tree\":{\"name\":\"oak\",\"weight\":1.5,\"colour\":\"x-green\",\"flag\":false,"
	  "\"numbers\":{\"i8\":-128,\"u8\":255,\"i16\":-32768,\"u16\":65535,"
	  "\"i32\":-2147483648,\"u32\":4294967295,\"i64\":-9223372036854775808,"
	  "\"u64\":9223372036854775807,\"size\":0},"
	  "\"left\":{\"name\":\"twig\",\"colour\":\"red\",\"static\":true},"
	  "\"children\":[{\"name\":\"a\"},{\"name\":\"b\",\"weight\":-2.5}],\"ids\":[1,65535],"
	  "\"words\":[\"x\",\"\"],\"shades\":[\"red\",\"x-green\"],\"extra\":{\"k\":[1,null]}}}",
	  NULL },
	{ "grow", "{\"tree\":{" TREE ",\"weight\":3}}",
	  "{\"name\":\"oak\",\"weight\":3.0,\"colour\":\"red\"}" },
	{ "grow", "{\"tree\":{" TREE ",\"children\":[],\"ids\":[]}}",
	  "{" TREE ",\"children\":[],\"ids\":[]}" },
	{ "draw", "{\"shape\":\"dot\"}", "[{\"shape\":\"dot\"}]" },
	{ "draw", "{\"shape\":\"box\",\"id\":\"b\",\"width\":4,\"label\":\"l\"}",
	  "[{\"shape\":\"box\",\"id\":\"b\",\"width\":4,\"label\":\"l\"}]" },
	{ "draw", "{\"length\":4,\"shape\":\"line\"}", "[{\"shape\":\"line\",\"length\":4}]" },
	{ "echo", "{\"value\":null}", "null" },
	{ "echo", "{\"value\":[{\"a\":true}]}", "[{\"a\":true}]" },
	{ "raw", "{\"listed\":1,\"unlisted\":[]}", "{\"listed\":1,\"unlisted\":[]}" },
	{ "checked", "{\"shape\":\"line\",\"length\":1}", "{}" },
	{ "names", NULL, "[]" },
	{ "fail", "{\"class\":0}", "failed as asked" },

	/* Error texts that clients compare. */
	{ "grow", NULL, "Parameter 'tree' is missing" },
	{ "grow", "{\"tree\":{\"colour\":\"red\"}}", "Parameter 'tree.name' is missing" },
	{ "grow", "{\"tree\":1}", "Invalid parameter type for 'tree', expected: object" },
	{ "grow", "{\"tree\":{\"name\":1,\"colour\":\"red\"}}",
	  "Invalid parameter type for 'tree.name', expected: string" },
	{ "grow", "{\"tree\":{\"name\":\"\",\"colour\":\"blue\"}}",
	  "Parameter 'tree.colour' does not accept value 'blue'" },
	{ "grow", "{\"tree\":{\"name\":\"\",\"colour\":7}}",
	  "Invalid parameter type for 'tree.colour', expected: string" },
	{ "grow", "{\"tree\":{" TREE ",\"flag\":\"on\"}}",
	  "Invalid parameter type for 'tree.flag', expected: boolean" },
	{ "grow", "{\"tree\":{" TREE ",\"weight\":\"1\"}}",
	  "Invalid parameter type for 'tree.weight', expected: number" },
	{ "grow", "{\"tree\":{" TREE ",\"ids\":{}}}",
	  "Invalid parameter type for 'tree.ids', expected: array" },
	{ "grow", "{\"tree\":{" TREE ",\"ids\":[1,\"x\"]}}",
	  "Invalid parameter type for 'tree.ids[1]', expected: integer" },
	{ "grow", "{\"tree\":{" TREE ",\"ids\":[1.0]}}",
	  "Invalid parameter type for 'tree.ids[0]', expected: integer" },
	{ "grow", "{\"tree\":{" TREE ",\"ids\":[65536]}}",
	  "Parameter 'tree.ids[0]' expects uint16_t" },
	{ "grow", "{\"tree\":{" TREE ",\"numbers\":{\"i8\":128}}}",
	  "Parameter 'tree.numbers.i8' expects int8_t" },
	{ "grow", "{\"tree\":{" TREE ",\"numbers\":{\"u8\":-1}}}",
	  "Parameter 'tree.numbers.u8' expects uint8_t" },
	{ "grow", "{\"tree\":{" TREE ",\"numbers\":{\"u32\":4294967296}}}",
	  "Parameter 'tree.numbers.u32' expects uint32_t" },
	{ "grow", "{\"tree\":{" TREE ",\"children\":[{\"name\":\"a\"},{}]}}",
	  "Parameter 'tree.children[1].name' is missing" },
	{ "grow", "{\"tree\":{" TREE ",\"what\":1}}", "Parameter 'tree.what' is unexpected" },
	{ "grow", "{\"tree\":{" TREE "},\"choice\":1.5}",
	  "Invalid parameter type for 'choice', expected: Choice" },
	{ "grow", "{\"tree\":{" TREE "},\"choice\":{}}", "Parameter 'choice.name' is missing" },
	{ "draw", "{}", "Parameter 'shape' is missing" },
	{ "draw", "{\"shape\":\"cone\"}", "Parameter 'shape' does not accept value 'cone'" },
	{ "draw", "{\"shape\":\"box\"}", "Parameter 'width' is missing" },
	{ "draw", "{\"shape\":\"dot\",\"width\":1}", "Parameter 'width' is unexpected" },
	{ "checked", "{\"shape\":\"line\"}", "Parameter 'length' is missing" },
	{ "count", "{\"x\":1}", "Parameter 'x' is unexpected" },
};

static void test_io(gconstpointer data)
{
	const struct io *io = data;
	g_autofree char *out = run(io->command, io->in);
	g_autofree char *same = NULL;

	if (io->out) {
		g_assert_cmpstr(out, ==, io->out);
	} else { /* comes back as it went in, one level down */
		same = g_strdup_printf("{\"tree\":%s}", out);
		g_assert_cmpstr(same, ==, io->in);
	}
}

static void test_unsigned(void)
{
	/* json-glib reads 2^64-1 as -1; both must reach the handler as all ones. */
	g_autoptr(JsonNode) node = parse("{\"u64\":-1}"), back = NULL;
	struct qapi_numbers *numbers = qapi_numbers_from_json(node, NULL);

	g_assert_nonnull(numbers);
	g_assert_true(numbers->has_u64);
	g_assert_cmpuint(numbers->u64, ==, UINT64_MAX);
	back = qapi_numbers_to_json(numbers);
	g_assert_cmpfloat(json_object_get_double_member(json_node_get_object(back), "u64"), ==,
			  0x1p64);
	qapi_numbers_free(numbers);
}

/* Options as text, and what they read as. */
static const struct io text_cases[] = {
	{ "", "{'name':'n','colour':'red','weight':'1.5','flag':'on','static':'no'}",
	  "{'name':'n','weight':1.5,'colour':'red','flag':true,'static':false}" },
	{ "", "{'name':'7','colour':'red','ids':'9','words':'w'}",
	  "{'name':'7','colour':'red','ids':[9],'words':['w']}" },
	{ "", "{'name':'n','colour':'red','ids':['1','0x10'],'shades':'x-green'}",
	  "{'name':'n','colour':'red','ids':[1,16],'shades':['x-green']}" },
	{ "", "{'name':'n','colour':'red','numbers':{'i8':'-5','size':'1.5G','u64':'010'}}",
	  "{'name':'n','colour':'red','numbers':{'i8':-5,'u64':8,'size':1610612736}}" },
	{ "", "{'name':'n','colour':'red','flag':true,'ids':[3]}",
	  "{'name':'n','colour':'red','flag':true,'ids':[3]}" },
	{ "", "{'name':'n','colour':'red','flag':'maybe'}",
	  "Invalid parameter type for 'flag', expected: boolean" },
	{ "", "{'name':'n','colour':'red','weight':''}",
	  "Invalid parameter type for 'weight', expected: number" },
	{ "", "{'name':'n','colour':'red','numbers':{'u8':'300'}}",
	  "Parameter 'numbers.u8' expects uint8_t" },
	{ "", "{'name':'n','colour':'red','numbers':{'u64':'1k'}}",
	  "Invalid parameter type for 'numbers.u64', expected: integer" },
	{ "", "{'name':'n','colour':'red','children':'x'}",
	  "Invalid parameter type for 'children[0]', expected: object" },
};

static void test_text(gconstpointer data)
{
	const struct io *io = data;
	g_autoptr(JsonNode) in = parse(io->in), out = NULL;
	g_autoptr(GError) error = NULL;
	struct qapi_tree tree = { 0 };
	g_autofree char *text = NULL;

	if (!qapi_struct_read_text(&qapi_tree_type, json_node_get_object(in), &tree, &error)) {
		g_assert_cmpstr(error->message, ==, io->out);
		return;
	}
	out = json_node_alloc();
	json_node_init(out, JSON_NODE_OBJECT);
	json_node_take_object(out, qapi_struct_write(&qapi_tree_type, &tree));
	qapi_struct_clear(&qapi_tree_type, &tree);
	text = g_strdelimit(json_to_string(out, FALSE), "\"", '\'');
	g_assert_cmpstr(text, ==, io->out);
}

static void test_text_wrapper(void)
{
	g_autoptr(JsonNode) in = parse("{'shape':'line','length':'5'}");
	struct qapi_figure figure = { 0 };

	g_assert_true(
		qapi_struct_read_text(&qapi_figure_type, json_node_get_object(in), &figure, NULL));
	g_assert_cmpint(figure.u.line.length, ==, 5);
	qapi_struct_clear(&qapi_figure_type, &figure);
}

static void test_choice(void)
{
	static const struct {
		const char *json;
		enum qapi_choice_branch branch;
	} choices[] = {
		{ "\"t\"", QAPI_CHOICE_BRANCH_TEXT },
		{ "3", QAPI_CHOICE_BRANCH_COUNT },
		{ "null", QAPI_CHOICE_BRANCH_NONE },
		{ "{\"name\":\"n\"}", QAPI_CHOICE_BRANCH_LEAF },
		{ "[1,2]", QAPI_CHOICE_BRANCH_LIST },
		{ "true", QAPI_CHOICE_BRANCH_FLAG },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(choices); i++) {
		g_autoptr(JsonNode) node = parse(choices[i].json), back = NULL;
		struct qapi_choice *choice = qapi_choice_from_json(node, NULL);
		g_autofree char *text = NULL;

		g_assert_nonnull(choice);
		g_assert_cmpint(choice->branch, ==, choices[i].branch);
		back = qapi_choice_to_json(choice);
		text = json_to_string(back, FALSE);
		g_assert_cmpstr(text, ==, choices[i].json);
		qapi_choice_free(choice);
	}
}

static void test_enum(void)
{
	enum qapi_colour colour = QAPI_COLOUR_RED;

	g_assert_cmpint(QAPI_COLOUR__COUNT, ==, 2);
	g_assert_cmpstr(qapi_colour_str(QAPI_COLOUR_X_GREEN), ==, "x-green");
	g_assert_true(qapi_colour_parse("x-green", &colour));
	g_assert_cmpint(colour, ==, QAPI_COLOUR_X_GREEN);
	g_assert_false(qapi_colour_parse("green", &colour));
	g_assert_cmpint(colour, ==, QAPI_COLOUR_X_GREEN);
}

struct test_sink {
	struct qapi_event_sink sink;
	char *last;
};

static void take_event(struct qapi_event_sink *sink, const struct qapi_event *event,
		       JsonObject *data)
{
	struct test_sink *test = container_of(sink, struct test_sink, sink);
	g_autoptr(JsonNode) node = data ? json_node_init_object(json_node_alloc(), data)
					: json_node_init_null(json_node_alloc());
	g_autofree char *text = json_to_string(node, FALSE);

	g_free(test->last);
	test->last = g_strdup_printf("%s %s", event->name, text);
}

static void test_event(void)
{
	struct test_sink test = { .sink.emit = take_event };

	qapi_event_send_plain(&test.sink);
	g_assert_cmpstr(test.last, ==, "PLAIN null");
	qapi_event_send_with_data(&test.sink,
				  &(struct qapi_with_data_event){ .colour = QAPI_COLOUR_X_GREEN });
	g_assert_cmpstr(test.last, ==, "WITH_DATA {\"colour\":\"x-green\"}");
	qapi_event_send_with_data(&test.sink,
				  &(struct qapi_with_data_event){ .has_n = true, .n = -3 });
	g_assert_cmpstr(test.last, ==, "WITH_DATA {\"colour\":\"red\",\"n\":-3}");
	qapi_event_send_plain(NULL);
	g_free(test.last);
}

static void test_missing_result(void)
{
	if (g_test_subprocess()) {
		struct qapi_leaf leaf = { 0 };

		qapi_leaf_to_json(&leaf);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*name of Leaf is not set*");
}

static JsonObject *entry(GHashTable *by_name, const char *name)
{
	JsonObject *found = g_hash_table_lookup(by_name, name);

	if (!found)
		g_error("introspection lacks %s", name);
	return found;
}

static void check_types(GHashTable *by_name, JsonObject *of, const char *list, const char *key)
{
	JsonArray *array = json_object_get_array_member(of, list);

	for (unsigned i = 0; i < json_array_get_length(array); i++)
		entry(by_name,
		      json_object_get_string_member(json_array_get_object_element(array, i), key));
}

static void check_entry(GHashTable *by_name, JsonObject *of)
{
	const char *meta = json_object_get_string_member(of, "meta-type");

	if (!strcmp(meta, "command"))
		entry(by_name, json_object_get_string_member(of, "ret-type"));
	if (!strcmp(meta, "command") || !strcmp(meta, "event"))
		entry(by_name, json_object_get_string_member(of, "arg-type"));
	if (!strcmp(meta, "array"))
		entry(by_name, json_object_get_string_member(of, "element-type"));
	if (!strcmp(meta, "object") || !strcmp(meta, "alternate"))
		check_types(by_name, of, "members", "type");
	if (json_object_has_member(of, "variants"))
		check_types(by_name, of, "variants", "type");
	if (!strcmp(meta, "builtin"))
		g_assert_nonnull(json_object_get_string_member(of, "json-type"));
}

/* Every type that is referred to exists, and every name is there once. */
static void check_introspection(const struct qapi_interface *interface)
{
	g_autoptr(JsonNode) node = parse(interface->introspection);
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
	JsonArray *all = json_node_get_array(node);

	for (unsigned i = 0; i < json_array_get_length(all); i++) {
		JsonObject *one = json_array_get_object_element(all, i);
		const char *name = json_object_get_string_member(one, "name");

		g_assert_true(g_hash_table_insert(by_name, (gpointer)name, one));
	}
	for (unsigned i = 0; i < json_array_get_length(all); i++)
		check_entry(by_name, json_array_get_object_element(all, i));
	for (size_t i = 0; i < interface->ncommands; i++) {
		JsonObject *one = entry(by_name, interface->commands[i].name);

		g_assert_cmpint(json_object_has_member(one, "allow-oob"), ==,
				!!(interface->commands[i].flags & QAPI_COMMAND_OOB));
	}
	for (size_t i = 0; i < interface->nevents; i++)
		entry(by_name, interface->events[i]->name);
}

static void test_introspection(void)
{
	g_autoptr(JsonNode) node = parse(sample_interface.introspection);
	g_autofree char *text = json_to_string(node, FALSE);

	check_introspection(&sample_interface);
	g_assert_nonnull(strstr(text, "{\"name\":\"x-green\",\"features\":[\"unstable\"]}"));
	g_assert_nonnull(strstr(text, "\"default\":null,\"features\":[\"deprecated\"]"));
	g_assert_nonnull(strstr(text, "\"tag\":\"shape\",\"variants\":[{\"case\":\"dot\""));
	g_assert_nonnull(strstr(text, "\"features\":[\"json-cli\"]"));
	g_assert_nonnull(strstr(text, "\"values\":[\"red\",\"x-green\"],\"features\":[\"fancy\"]"));
	g_assert_null(strstr(text, "Tree")); /* types go by numbers */
}

static void test_table(void)
{
	g_assert_null(qapi_command_find(&sample_interface, ""));
	g_assert_null(qapi_command_find(&sample_interface, "zzz"));
	for (size_t i = 0; i < sample_interface.ncommands; i++)
		g_assert_true(
			qapi_command_find(&sample_interface, sample_interface.commands[i].name) ==
			&sample_interface.commands[i]);
	g_assert_cmpint(qapi_command_find(&sample_interface, "count")->flags, ==,
			QAPI_COMMAND_PRECONFIG);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		g_autofree char *path = g_strdup_printf("/qapi/io/%02u-%s", i, cases[i].command);

		g_test_add_data_func(path, &cases[i], test_io);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(text_cases); i++) {
		g_autofree char *path = g_strdup_printf("/qapi/text/%02u", i);

		g_test_add_data_func(path, &text_cases[i], test_text);
	}
	g_test_add_func("/qapi/text/union", test_text_wrapper);
	g_test_add_func("/qapi/unsigned", test_unsigned);
	g_test_add_func("/qapi/alternate", test_choice);
	g_test_add_func("/qapi/enum", test_enum);
	g_test_add_func("/qapi/event", test_event);
	g_test_add_func("/qapi/missing-result", test_missing_result);
	g_test_add_func("/qapi/introspection", test_introspection);
	g_test_add_func("/qapi/table", test_table);
	return g_test_run();
}

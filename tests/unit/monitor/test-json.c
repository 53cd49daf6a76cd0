/*
 * tests/unit/monitor/test-json.c - cutting, parsing and writing JSON.
 */
#include "monitor/json.h"

struct text_case {
	const char *in, *out; /* out: written again, or the error without its prefix */
};

static const struct text_case texts[] = {
	{ "{}", "{}" },
	{ " [ ] ", "[]" },
	{ "{'a': 'it\\'s', \"b\": \"\\\"\"}", "{\"a\": \"it's\", \"b\": \"\\\"\"}" },
	{ "[0, -0, -1, 1.5, 1e3, 2E-1]", "[0, 0, -1, 1.5, 1000, 0.20000000000000001]" },
	{ "[9223372036854775807, -9223372036854775808]",
	  "[9223372036854775807, -9223372036854775808]" },
	{ "18446744073709551615", "-1" }, /* same bits, see json.h */
	{ "[true, false, null]", "[true, false, null]" },
	{ "\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"\\u00e9\\ud83d\\ude00\\n/\"" },
	{ "\"\303\251\"", "\"\\u00e9\"" },
	{ "\"\177\"", "\"\\u007f\"" },
	{ "{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\": 3, \"b\": 2}" },
	{ "{\"a\": {\"b\": [[], {}]}}", "{\"a\": {\"b\": [[], {}]}}" },

	{ "", "value expected" },
	{ "[1,]", "value expected" },
	{ "[1 2]", "expected separator in list" },
	{ "{\"a\": 1 \"b\": 2}", "expected separator in dict" },
	{ "{\"a\" 1}", "missing : in object pair" },
	{ "{a: 1}", "key is not a string in object" },
	{ "{1: 1}", "key is not a string in object" },
	{ "{\"a\": 1,}", "key is not a string in object" },
	{ "[1", "expected separator in list" },
	{ "\"abc", "a string does not end" },
	{ "\"\\x\"", "invalid escape '\\x\"'" },
	{ "\"\\ud800\"", "invalid escape '\\ud800'" },
	{ "\"\\udc00\"", "invalid escape '\\udc00'" },
	{ "\"\\u0000\"", "invalid escape '\\u0000'" },
	{ "\"\\u12g4\"", "invalid escape '\\u12g4'" },
	{ "\"a\tb\"", "control character in a string" },
	{ "\"\377\"", "invalid UTF-8" },
	{ "01", "invalid number" },
	{ "1.", "invalid number" },
	{ "-", "invalid number" },
	{ "1e", "invalid number" },
	{ "0x10", "invalid number" },
	{ "1e400", "number out of range" },
	{ "nan", "invalid keyword 'nan'" },
	{ "True", "invalid keyword 'True'" },
	{ "1 2", "something follows the value" },
};

static void test_text(gconstpointer data)
{
	const struct text_case *c = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonNode) node = json_parse(c->in, strlen(c->in), &error);
	g_autoptr(GString) out = g_string_new(NULL);

	if (node)
		json_write(out, node, false);
	else if (g_str_has_prefix(error->message, "JSON parse error, "))
		g_string_append(out, error->message + strlen("JSON parse error, "));
	g_assert_cmpstr(out->str, ==, c->out);
}

static void test_pretty(void)
{
	static const char in[] = "{\"a\": [1, {\"b\": {}}], \"c\": []}";
	g_autoptr(JsonNode) node = json_parse(in, strlen(in), NULL);
	g_autoptr(GString) out = g_string_new(NULL);

	json_write(out, node, true);
	g_assert_cmpstr(out->str, ==,
			"{\n    \"a\": [\n        1,\n        {\n            \"b\": {}\n"
			"        }\n    ],\n    \"c\": []\n}");
}

static void test_doubles(void)
{
	static const struct {
		double value;
		const char *text;
	} doubles[] = {
		{ 0x1p64, "18446744073709551615" },
		{ 0x1p63, "9223372036854775808" },
		{ 0.5, "0.5" },
		{ G_MAXDOUBLE * 10, "null" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(doubles); i++) {
		g_autoptr(JsonNode) node =
			json_node_init_double(json_node_alloc(), doubles[i].value);
		g_autoptr(GString) out = g_string_new(NULL);

		json_write(out, node, false);
		g_assert_cmpstr(out->str, ==, doubles[i].text);
	}
}

static void test_foreign_bytes(void)
{
	g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), "a\377b");
	g_autoptr(GString) out = g_string_new(NULL);

	json_write(out, node, false);
	g_assert_cmpstr(out->str, ==, "\"a\\ufffdb\"");
}

/* ---- The splitter -------------------------------------------------------------------------- */

static void note(void *opaque, const char *text, size_t len, const char *problem)
{
	GString *log = opaque;

	if (problem)
		g_string_append_printf(log, "!%s|", problem);
	else
		g_string_append_printf(log, "%s|", text);
}

static const struct text_case streams[] = {
	{ "{}", "{}|" },
	{ " {\"a\":\"}\"} \n[1,{}] ", "{\"a\":\"}\"}|[1,{}]|" },
	{ "{}{}[]", "{}|{}|[]|" },
	{ "{'a':'\\'}'}", "{'a':'\\'}'}|" },
	{ "{\"a\":\"\\\\\"}{}", "{\"a\":\"\\\\\"}|{}|" },
	{ "null\n12.5e+3 true{}", "null|12.5e+3|true|{}|" },
	{ "\"s\"{}", "\"s\"|{}|" },
	{ "{]\n{}", "!a closing bracket has no opening one|{}|" },
	{ "}{}", "!a closing bracket has no opening one|{}|" },
	{ "{\"a\":\n\001{}", "!invalid byte|{}|" },
	{ "{'bad \377{}", "!invalid byte in a string|{}|" },
	{ "{'id':'\n{}", "!invalid byte in a string|{}|" },
	{ "%p{}", "!stray character|{}|" },
	{ "{\377{}", "!invalid byte|{}|" },
	{ "garbage here: {}", "garbage|here|!stray character|{}|" },
};

static void test_split(gconstpointer data)
{
	const struct text_case *c = data;
	struct json_split split = { 0 };
	size_t len = strlen(c->in);

	/* In every portion size from byte by byte to all at once. */
	for (size_t portion = 1; portion <= len; portion++) {
		g_autoptr(GString) log = g_string_new(NULL);

		for (size_t at = 0; at < len; at += portion)
			json_split_feed(&split, c->in + at, MIN(portion, len - at), note, log);
		g_assert_cmpstr(log->str, ==, c->out);
		g_assert_null(split.text);
		split.recovering = false;
	}
	json_split_reset(&split);
}

static void test_depth(void)
{
	struct json_split split = { 0 };
	g_autoptr(GString) log = g_string_new(NULL), in = g_string_new(NULL);

	for (int i = 0; i < JSON_MAX_DEPTH; i++)
		g_string_append_c(in, '[');
	for (int i = 0; i < JSON_MAX_DEPTH; i++)
		g_string_append_c(in, ']');
	json_split_feed(&split, in->str, in->len, note, log);
	g_assert_cmpuint(log->len, ==, in->len + 1);
	g_assert_nonnull(json_parse(in->str, in->len, NULL));

	g_string_truncate(log, 0);
	g_string_prepend_c(in, '[');
	json_split_feed(&split, in->str, JSON_MAX_DEPTH + 1, note, log);
	g_assert_cmpstr(log->str, ==, "!nesting is too deep|");
	g_assert_null(json_parse(in->str, in->len, NULL));
	json_split_feed(&split, "\n{}", 3, note, log);
	g_assert_cmpstr(log->str, ==, "!nesting is too deep|{}|");
	json_split_reset(&split);
}

static void test_length(void)
{
	struct json_split split = { 0 };
	g_autoptr(GString) log = g_string_new(NULL);
	g_autofree char *blanks = g_strnfill(1 << 20, ' ');

	json_split_feed(&split, "[", 1, note, log);
	for (unsigned i = 0; i < JSON_MAX_BYTES >> 20; i++)
		json_split_feed(&split, blanks, 1 << 20, note, log);
	g_assert_cmpstr(log->str, ==, "!the value is too long|");
	json_split_feed(&split, "{}", 2, note, log);
	g_assert_cmpstr(log->str, ==, "!the value is too long|{}|");
	json_split_reset(&split);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		g_autofree char *path = g_strdup_printf("/json/text/%02u", i);

		g_test_add_data_func(path, &texts[i], test_text);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(streams); i++) {
		g_autofree char *path = g_strdup_printf("/json/split/%02u", i);

		g_test_add_data_func(path, &streams[i], test_split);
	}
	g_test_add_func("/json/pretty", test_pretty);
	g_test_add_func("/json/doubles", test_doubles);
	g_test_add_func("/json/foreign-bytes", test_foreign_bytes);
	g_test_add_func("/json/depth", test_depth);
	g_test_add_func("/json/length", test_length);
	return g_test_run();
}

/*
 * monitor/json-write.c - JSON text in pure ASCII, spaced as QMP clients are used to see it.
 */
#include <math.h>

#include "monitor/json.h"

struct writer {
	GString *out;
	bool pretty;
	unsigned depth;
};

static void write_node(struct writer *w, JsonNode *node);

static void write_string(GString *out, const char *text)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";

	g_string_append_c(out, '"');
	while (*text) {
		gunichar c = g_utf8_get_char_validated(text, -1);
		const char *escape;

		if (c >= (gunichar)-2) { /* a host's name for something may be in any encoding */
			g_string_append(out, "\\ufffd");
			text++;
			continue;
		}
		escape = c < 0x80 ? strchr(from, c) : NULL;
		if (escape)
			g_string_append_printf(out, "\\%c", to[escape - from]);
		else if (c >= 0x20 && c < 0x7f)
			g_string_append_c(out, c);
		else if (c < 0x10000)
			g_string_append_printf(out, "\\u%04x", c);
		else
			g_string_append_printf(out, "\\u%04x\\u%04x",
					       0xd800 + ((c - 0x10000) >> 10),
					       0xdc00 + ((c - 0x10000) & 0x3ff));
		text = g_utf8_next_char(text);
	}
	g_string_append_c(out, '"');
}

static void write_double(GString *out, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	/* Unsigned 64-bit numbers above 2^63 are held as double (qapi/write.c); the greatest one
	 * has become 2^64, which no client could read back. */
	if (value >= 0x1p63 && value <= 0x1p64)
		g_string_append_printf(out, "%" PRIu64, value == 0x1p64 ? UINT64_MAX : (u64)value);
	else if (isfinite(value))
		g_string_append(out, g_ascii_dtostr(text, sizeof(text), value));
	else
		g_string_append(out, "null"); /* JSON has no infinity */
}

static void write_value(GString *out, JsonNode *node)
{
	switch (json_node_get_value_type(node)) {
	case G_TYPE_INT64: g_string_append_printf(out, "%" PRId64, json_node_get_int(node)); break;
	case G_TYPE_DOUBLE: write_double(out, json_node_get_double(node)); break;
	case G_TYPE_BOOLEAN:
		g_string_append(out, json_node_get_boolean(node) ? "true" : "false");
		break;
	default: write_string(out, json_node_get_string(node));
	}
}

static void write_break(struct writer *w)
{
	if (w->pretty)
		g_string_append_printf(w->out, "\n%*s", (int)w->depth * 4, "");
}

static void write_separator(struct writer *w, bool first)
{
	if (!first)
		g_string_append(w->out, w->pretty ? "," : ", ");
	write_break(w);
}

static void write_object(struct writer *w, JsonObject *object)
{
	JsonObjectIter iter;
	const char *name;
	JsonNode *node;
	bool first = true;

	g_string_append_c(w->out, '{');
	w->depth++;
	json_object_iter_init_ordered(&iter, object);
	while (json_object_iter_next_ordered(&iter, &name, &node)) {
		write_separator(w, first);
		write_string(w->out, name);
		g_string_append(w->out, ": ");
		write_node(w, node);
		first = false;
	}
	w->depth--;
	if (!first)
		write_break(w);
	g_string_append_c(w->out, '}');
}

static void write_array(struct writer *w, JsonArray *array)
{
	unsigned n = json_array_get_length(array);

	g_string_append_c(w->out, '[');
	w->depth++;
	for (unsigned i = 0; i < n; i++) {
		write_separator(w, i == 0);
		write_node(w, json_array_get_element(array, i));
	}
	w->depth--;
	if (n)
		write_break(w);
	g_string_append_c(w->out, ']');
}

static void write_node(struct writer *w, JsonNode *node)
{
	switch (json_node_get_node_type(node)) {
	case JSON_NODE_OBJECT: write_object(w, json_node_get_object(node)); break;
	case JSON_NODE_ARRAY: write_array(w, json_node_get_array(node)); break;
	case JSON_NODE_VALUE: write_value(w->out, node); break;
	case JSON_NODE_NULL: g_string_append(w->out, "null"); break;
	}
}

void json_write(GString *out, JsonNode *node, bool pretty)
{
	struct writer w = { .out = out, .pretty = pretty };

	write_node(&w, node);
}

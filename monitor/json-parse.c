/*
 * monitor/json-parse.c - a strict JSON parser (RFC 8259).
 *
 * json-glib's own parser silently changes values that a management tool may send by mistake
 * (numbers out of range, "\u0000", hexadecimal), so monitors do not use it.
 */
#include <stdlib.h>

#include "monitor/json.h"
#include "util/error.h"

struct parser {
	const char *at, *end;
	unsigned depth;
	GError **err;
};

static JsonNode *parse_value(struct parser *p);

static void *fail(struct parser *p, const char *problem)
{
	error_set(p->err, "JSON parse error, %s", problem);
	return NULL;
}

static void skip_space(struct parser *p)
{
	while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at)
		p->at++;
}

static bool take(struct parser *p, char c)
{
	skip_space(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

/* Four hexadecimal digits, or -1. */
static int parse_hex4(struct parser *p)
{
	int value = 0;

	if (p->end - p->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = g_ascii_xdigit_value(*p->at++);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static bool parse_unicode(struct parser *p, GString *out)
{
	int unit = parse_hex4(p), low;

	if (unit >= 0xd800 && unit < 0xdc00) {
		if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
			return false;
		p->at += 2;
		low = parse_hex4(p);
		if (low < 0xdc00 || low >= 0xe000)
			return false;
		unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	} else if (unit >= 0xdc00 && unit < 0xe000) {
		return false;
	}
	if (unit <= 0)
		return false;
	g_string_append_unichar(out, unit);
	return true;
}

static bool parse_escape(struct parser *p, GString *out)
{
	static const char from[] = "\"'\\/bfnrt", to[] = "\"'\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (p->at == p->end)
		return false;
	c = *p->at++;
	if (c == 'u')
		return parse_unicode(p, out);
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return false;
	g_string_append_c(out, to[found - from]);
	return true;
}

/* The string at the opening quote; NULL with the error set. */
static char *parse_string(struct parser *p)
{
	GString *out = g_string_new(NULL);
	char quote = *p->at++;

	while (p->at < p->end && *p->at != quote) {
		const char *escape = p->at;

		if ((u8)*p->at < 0x20) {
			g_string_free(out, TRUE);
			return fail(p, "control character in a string");
		}
		if (*p->at != '\\') {
			g_string_append_c(out, *p->at++);
			continue;
		}
		p->at++;
		if (!parse_escape(p, out)) {
			error_set(p->err, "JSON parse error, invalid escape '%.*s'",
				  (int)MIN(p->end - escape, 6), escape);
			g_string_free(out, TRUE);
			return NULL;
		}
	}
	if (p->at == p->end) {
		g_string_free(out, TRUE);
		return fail(p, "a string does not end");
	}
	p->at++;
	return g_string_free(out, FALSE);
}

static bool skip_digits(struct parser *p)
{
	const char *first = p->at;

	while (p->at < p->end && g_ascii_isdigit(*p->at))
		p->at++;
	return p->at > first;
}

/* Checks the form of a number and finds its end. Return false if it is malformed. */
static bool scan_number(struct parser *p, bool *integer)
{
	const char *digits;

	*integer = true;
	if (*p->at == '-')
		p->at++;
	digits = p->at;
	if (!skip_digits(p) || (*digits == '0' && p->at - digits > 1))
		return false;
	if (p->at < p->end && *p->at == '.') {
		*integer = false;
		p->at++;
		if (!skip_digits(p))
			return false;
	}
	if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
		*integer = false;
		p->at++;
		if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
			p->at++;
		if (!skip_digits(p))
			return false;
	}
	return p->at == p->end || !(g_ascii_isalnum(*p->at) || *p->at == '.');
}

static JsonNode *parse_number(struct parser *p)
{
	const char *first = p->at;
	g_autofree char *text = NULL;
	bool integer;
	double value;

	if (!scan_number(p, &integer))
		return fail(p, "invalid number");
	text = g_strndup(first, p->at - first);

	if (integer) {
		errno = 0;
		if (*text == '-') {
			s64 negative = g_ascii_strtoll(text, NULL, 10);

			if (!errno)
				return json_node_init_int(json_node_alloc(), negative);
		} else {
			u64 positive = g_ascii_strtoull(text, NULL, 10);

			if (!errno)
				return json_node_init_int(json_node_alloc(), (s64)positive);
		}
	}

	/* An integer that 64 bits cannot hold is a number all the same, just no integer. */
	value = g_ascii_strtod(text, NULL);
	if (value > G_MAXDOUBLE || value < -G_MAXDOUBLE)
		return fail(p, "number out of range");
	return json_node_init_double(json_node_alloc(), value);
}

static JsonNode *parse_keyword(struct parser *p)
{
	const char *first = p->at;
	size_t len;

	while (p->at < p->end && g_ascii_isalnum(*p->at))
		p->at++;
	len = p->at - first;
	if (len == 4 && !memcmp(first, "true", 4))
		return json_node_init_boolean(json_node_alloc(), TRUE);
	if (len == 5 && !memcmp(first, "false", 5))
		return json_node_init_boolean(json_node_alloc(), FALSE);
	if (len == 4 && !memcmp(first, "null", 4))
		return json_node_init_null(json_node_alloc());

	if (!len)
		return fail(p, "value expected");
	error_set(p->err, "JSON parse error, invalid keyword '%.*s'", (int)MIN(len, 40), first);
	return NULL;
}

static bool parse_member(struct parser *p, JsonObject *object)
{
	g_autofree char *key = NULL;
	JsonNode *value;

	skip_space(p);
	if (p->at == p->end || (*p->at != '"' && *p->at != '\''))
		return fail(p, "key is not a string in object");
	key = parse_string(p);
	if (!key)
		return false;
	if (!take(p, ':'))
		return fail(p, "missing : in object pair");
	value = parse_value(p);
	if (!value)
		return false;
	json_object_set_member(object, key, value);
	return true;
}

static JsonNode *parse_object(struct parser *p)
{
	g_autoptr(JsonObject) object = json_object_new();

	if (!take(p, '}')) {
		do {
			if (!parse_member(p, object))
				return NULL;
		} while (take(p, ','));
		if (!take(p, '}'))
			return fail(p, "expected separator in dict");
	}
	return json_node_init_object(json_node_alloc(), object);
}

static JsonNode *parse_array(struct parser *p)
{
	g_autoptr(JsonArray) array = json_array_new();

	if (!take(p, ']')) {
		do {
			JsonNode *element = parse_value(p);

			if (!element)
				return NULL;
			json_array_add_element(array, element);
		} while (take(p, ','));
		if (!take(p, ']'))
			return fail(p, "expected separator in list");
	}
	return json_node_init_array(json_node_alloc(), array);
}

static JsonNode *parse_value(struct parser *p)
{
	g_autofree char *text = NULL;
	JsonNode *node;

	skip_space(p);
	if (p->at == p->end)
		return fail(p, "value expected");
	if (*p->at == '"' || *p->at == '\'') {
		text = parse_string(p);
		return text ? json_node_init_string(json_node_alloc(), text) : NULL;
	}
	if (*p->at == '-' || g_ascii_isdigit(*p->at))
		return parse_number(p);
	if (*p->at != '{' && *p->at != '[')
		return parse_keyword(p);

	if (p->depth == JSON_MAX_DEPTH)
		return fail(p, "nesting is too deep");
	p->depth++;
	node = *p->at++ == '{' ? parse_object(p) : parse_array(p);
	p->depth--;
	return node;
}

JsonNode *json_parse(const char *text, size_t len, GError **err)
{
	struct parser p = { .at = text, .end = text + len, .err = err };
	JsonNode *node;

	if (!g_utf8_validate_len(text, len, NULL))
		return fail(&p, "invalid UTF-8");
	node = parse_value(&p);
	if (!node)
		return NULL;
	skip_space(&p);
	if (p.at != p.end) {
		json_node_unref(node);
		return fail(&p, "something follows the value");
	}
	return node;
}

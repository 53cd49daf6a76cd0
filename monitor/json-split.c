/*
 * monitor/json-split.c - find where each JSON value of a byte stream ends.
 */
#include "monitor/json.h"

static bool is_space(u8 c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Inside a value these can only be an error: controls, and bytes that UTF-8 never has. */
static bool is_impossible(u8 c)
{
	return (c < 0x20 && !is_space(c)) || c >= 0xfe;
}

void json_split_reset(struct json_split *s)
{
	if (s->text)
		g_string_free(s->text, TRUE);
	memset(s, 0, sizeof(*s));
}

static void fail(struct json_split *s, const char *problem, json_split_fn *found, void *opaque)
{
	json_split_reset(s);
	s->recovering = true;
	found(opaque, NULL, 0, problem);
}

static void finish(struct json_split *s, json_split_fn *found, void *opaque)
{
	g_autoptr(GString) text = g_steal_pointer(&s->text);

	json_split_reset(s);
	found(opaque, text->str, text->len, NULL);
}

static void append(struct json_split *s, u8 c)
{
	if (!s->text)
		s->text = g_string_sized_new(256);
	g_string_append_c(s->text, c);
}

static void in_string(struct json_split *s, u8 c, json_split_fn *found, void *opaque)
{
	if (c < 0x20 || c >= 0xfe) {
		fail(s, "invalid byte in a string", found, opaque);
		return;
	}
	append(s, c);
	if (s->escaped) {
		s->escaped = false;
	} else if (c == '\\') {
		s->escaped = true;
	} else if (c == s->quote) {
		s->quote = 0;
		if (!s->depth)
			finish(s, found, opaque);
	}
}

static void open_bracket(struct json_split *s, u8 c, json_split_fn *found, void *opaque)
{
	if (s->depth == JSON_MAX_DEPTH) {
		fail(s, "nesting is too deep", found, opaque);
		return;
	}
	append(s, c);
	s->stack[s->depth++] = c == '{' ? '}' : ']';
}

static void close_bracket(struct json_split *s, u8 c, json_split_fn *found, void *opaque)
{
	if (!s->depth || s->stack[s->depth - 1] != c) {
		fail(s, "a closing bracket has no opening one", found, opaque);
		return;
	}
	append(s, c);
	if (!--s->depth)
		finish(s, found, opaque);
}

static void outside_string(struct json_split *s, u8 c, json_split_fn *found, void *opaque)
{
	switch (c) {
	case '{':
	case '[': open_bracket(s, c, found, opaque); return;
	case '}':
	case ']': close_bracket(s, c, found, opaque); return;
	case '"':
	case '\'':
		append(s, c);
		s->quote = c;
		return;
	}

	if (is_impossible(c)) {
		fail(s, "invalid byte", found, opaque);
	} else if (s->depth) {
		append(s, c);
	} else if (g_ascii_isalnum(c) || c == '-') {
		append(s, c);
		s->word = true;
	} else if (!is_space(c)) {
		fail(s, "stray character", found, opaque);
	}
}

static bool continues_word(u8 c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '+' || c == '.' || c == '_';
}

void json_split_feed(struct json_split *s, const void *bytes, size_t len, json_split_fn *found,
		     void *opaque)
{
	const u8 *next = bytes;

	for (; len; len--, next++) {
		u8 c = *next;

		if (s->recovering && c >= 0x20 && c != '{' && c != '[' && c < 0xfe)
			continue;
		s->recovering = false;

		if (s->word && continues_word(c)) {
			append(s, c);
		} else {
			if (s->word)
				finish(s, found, opaque);
			if (s->quote)
				in_string(s, c, found, opaque);
			else
				outside_string(s, c, found, opaque);
		}
		if (s->text && s->text->len > JSON_MAX_BYTES)
			fail(s, "the value is too long", found, opaque);
	}
}

/*
 * monitor/json.h - JSON as it crosses a monitor: cut out of a byte stream, parsed, written.
 *
 * RFC 8259 and what QMP adds to it: strings may stand in single quotes, and integers up to
 * 2^64 - 1 keep their value (those above 2^63 - 1 as the negative number with the same bits).
 */
#ifndef MONITOR_JSON_H
#define MONITOR_JSON_H

#include <json-glib/json-glib.h>

#include "util/base.h"

#define JSON_MAX_DEPTH 1024
#define JSON_MAX_BYTES (64 * MiB)

/* Cuts a stream of bytes into top-level values. Zeroed it is ready for use. */
struct json_split {
	GString *text;              /* of the value being collected */
	char stack[JSON_MAX_DEPTH]; /* closing brackets that are due, outermost first */
	unsigned depth;
	char quote;      /* inside a string: its delimiter */
	bool escaped;    /* the byte before was a backslash inside a string */
	bool word;       /* collecting a number or keyword outside any bracket */
	bool recovering; /* after garbage: skip to where a value may start */
};

/*
 * What json_split_feed() found: the text of one value, or a problem (text NULL).
 * @text: borrowed, NUL-terminated.
 */
typedef void json_split_fn(void *opaque, const char *text, size_t len, const char *problem);

/*
 * json_split_feed() - take the next bytes of the stream, in any portions.
 *
 * After a problem the stream goes on with the next value.
 * Context: @found must not feed the same splitter.
 */
void json_split_feed(struct json_split *s, const void *bytes, size_t len, json_split_fn *found,
		     void *opaque);
void json_split_reset(struct json_split *s); /* forget a value begun; also frees */

/*
 * json_parse() - parse one complete value, strictly.
 *
 * Of a repeated key the last value counts. Depth is bounded by JSON_MAX_DEPTH.
 * Return: new node; NULL with @err "JSON parse error, ...".
 */
JsonNode *json_parse(const char *text, size_t len, GError **err);

/*
 * json_write() - append the text of @node, in ASCII, on one line or indented by 4 if @pretty.
 */
void json_write(GString *out, JsonNode *node, bool pretty);

#endif

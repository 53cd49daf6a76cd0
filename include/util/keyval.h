/*
 * util/keyval.h - option arguments: "key=value,flag,..." or a JSON object, as one tree.
 *
 * Every option argument becomes a JsonObject. From key=value text all leaves are strings, "a.b=c"
 * nests, ",," is a comma, a bare word is "on" (and "noword" is word=off where the caller asks for
 * it); from JSON the leaves keep their types. The getters accept both.
 * Source: the option grammar of QEMU's manual (invocation), and its JSON forms.
 */
#ifndef UTIL_KEYVAL_H
#define UTIL_KEYVAL_H

#include "util/base.h"

#include <json-glib/json-glib.h>

/*
 * keyval_parse() - parse an option argument.
 * @text:    as given on the command line; a text that starts with '{' is JSON.
 * @implied: key of a first bare word ("driver", "type", ...); NULL: none.
 *
 * A repeated key keeps all its values: the member is then an array (hostfwd=...,hostfwd=...).
 * Return: a new object (json_object_unref()), or NULL with @err.
 */
JsonObject *keyval_parse(const char *text, const char *implied, GError **err);

/* keyval_merge() - copy every member of @from into @into; the later value wins. */
void keyval_merge(JsonObject *into, JsonObject *from);

/* keyval_str() - a string member, NULL if absent; numbers and booleans from JSON as text.
 * Of a repeated key the last value. Owned by @o. */
const char *keyval_str(JsonObject *o, const char *key);

/*
 * keyval_bool(), keyval_u64(), keyval_size() - typed members.
 * @out: left alone when the member is absent.
 *
 * Booleans: on/off, yes/no, true/false. Sizes: bytes with suffix B K M G T P E (powers of 1024),
 * fractions allowed ("1.5G"); @default_suffix multiplies a bare number ('M' for -m; 'B' else).
 * Return: 0, -ENOENT when absent, -EINVAL with @err naming key and value.
 */
int keyval_bool(JsonObject *o, const char *key, bool *out, GError **err);
int keyval_u64(JsonObject *o, const char *key, u64 *out, GError **err);
int keyval_size(JsonObject *o, const char *key, char default_suffix, u64 *out, GError **err);

/* keyval_take_*(): as above, and the member is removed, so that what is left was not understood. */
char *keyval_take_str(JsonObject *o, const char *key);
int keyval_take_bool(JsonObject *o, const char *key, bool *out, GError **err);
int keyval_take_u64(JsonObject *o, const char *key, u64 *out, GError **err);
int keyval_take_size(JsonObject *o, const char *key, char default_suffix, u64 *out, GError **err);

/*
 * keyval_reject_rest() - refuse members that nobody took.
 * @what: what the options belong to, for the message ("-netdev user").
 *
 * Return: 0, or -EINVAL with @err "WHAT: unknown option 'KEY=VALUE'".
 */
int keyval_reject_rest(JsonObject *o, const char *what, GError **err);

/* size_parse() - one size as in keyval_size(). Return 0 or -EINVAL/-ERANGE. */
int size_parse(const char *text, char default_suffix, u64 *out);

/* keyval_wants_help() - whether the argument is "help" or "?", alone or as a member. */
bool keyval_wants_help(JsonObject *o);

#endif

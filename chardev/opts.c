/*
 * chardev/opts.c - other ways to name a character device: the short forms of -serial and the like,
 * and QMP's chardev-add.
 *
 * Source: QEMU's manual (invocation, -serial) and its QMP reference (ChardevBackend).
 */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"

/* ---- Short forms ---- */

static JsonObject *backend(const char *name)
{
	JsonObject *o = json_object_new();

	json_object_set_string_member(o, "backend", name);
	return o;
}

/* "path:FIRST,key=value,..." where @key names the first item. */
static JsonObject *with_first(const char *name, const char *key, const char *text, GError **err)
{
	g_autoptr(JsonObject) o = backend(name);
	g_autoptr(JsonObject) rest = NULL;
	g_autofree char *named = g_strdup_printf("%s=%s", key, text);

	rest = keyval_parse(named, NULL, err);
	if (!rest)
		return NULL;
	keyval_merge(o, rest);
	return json_object_ref(o);
}

/* One value that is taken as it stands, commas included. */
static JsonObject *with_value(const char *name, const char *key, const char *value)
{
	JsonObject *o = backend(name);

	json_object_set_string_member(o, key, value);
	return o;
}

/* "HOST:PORT" into two members. */
static int set_host_port(JsonObject *o, const char *text, const char *host_key,
			 const char *port_key, GError **err)
{
	const char *colon = strrchr(text, ':');
	bool v6 = text[0] == '[' && colon && colon[-1] == ']';
	g_autofree char *host = NULL;

	if (!colon || !colon[1]) {
		error_set(err, "'%s': expected HOST:PORT", text);
		return -EINVAL;
	}
	host = v6 ? g_strndup(text + 1, colon - text - 2) : g_strndup(text, colon - text);
	json_object_set_string_member(o, host_key, host);
	json_object_set_string_member(o, port_key, colon + 1);
	return 0;
}

static JsonObject *parse_tcp(const char *text, bool telnet, GError **err)
{
	JsonObject *o;
	g_autofree char *first = NULL;

	if (g_str_has_prefix(text, "fd="))
		return with_first("socket", "fd", text + 3, err);
	o = with_first("socket", "host", text, err);
	if (!o)
		return NULL;
	first = keyval_take_str(o, "host");
	if (set_host_port(o, first, "host", "port", err)) {
		json_object_unref(o);
		return NULL;
	}
	if (telnet)
		json_object_set_string_member(o, "telnet", "on");
	return o;
}

/* "[HOST]:PORT[@[LOCAL]:LOCALPORT]" */
static JsonObject *parse_udp(const char *text, GError **err)
{
	g_autoptr(JsonObject) o = backend("udp");
	g_auto(GStrv) ends = g_strsplit(text, "@", 2);

	if (set_host_port(o, ends[0] ? ends[0] : "", "host", "port", err))
		return NULL;
	if (ends[0] && ends[1] && set_host_port(o, ends[1], "localaddr", "localport", err))
		return NULL;
	return json_object_ref(o);
}

static JsonObject *parse_unix(const char *text, GError **err)
{
	if (g_str_has_prefix(text, "fd="))
		return with_first("socket", "fd", text + 3, err);
	return with_first("socket", "path", text, err);
}

/* Return: whether @text starts with @prefix; @rest: what follows it. */
static bool starts(const char *text, const char *prefix, const char **rest)
{
	if (!g_str_has_prefix(text, prefix))
		return false;
	*rest = text + strlen(prefix);
	return true;
}

static JsonObject *parse_shorthand(const char *text, GError **err)
{
	static const char *const plain[] = { "null", "pty", "stdio", "vc", "ringbuf", "testdev" };
	const char *rest;

	for (unsigned i = 0; i < ARRAY_SIZE(plain); i++) {
		/* "vc:80Cx24C" gives a size that is of no use without a display. */
		if (starts(text, plain[i], &rest) &&
		    (!*rest || (*rest == ':' && plain[i][0] == 'v')))
			return backend(plain[i]);
	}
	if (starts(text, "file:", &rest))
		return with_value("file", "path", rest);
	if (starts(text, "pipe:", &rest))
		return with_value("pipe", "path", rest);
	if (starts(text, "fd:", &rest))
		return with_value("fd", "fd", rest);
	if (starts(text, "unix:", &rest))
		return parse_unix(rest, err);
	if (starts(text, "tcp:", &rest))
		return parse_tcp(rest, false, err);
	if (starts(text, "telnet:", &rest))
		return parse_tcp(rest, true, err);
	if (starts(text, "udp:", &rest))
		return parse_udp(rest, err);
	if (starts(text, "stdio,", &rest) || starts(text, "pty,", &rest) ||
	    starts(text, "ringbuf,", &rest))
		return keyval_parse(text, "backend", err);
	if (starts(text, "/dev/parport", &rest) || starts(text, "/dev/ppi", &rest)) {
		error_set(err, "'%s': parallel ports of the host are not supported", text);
		return NULL;
	}
	if (text[0] == '/')
		return with_value("serial", "path", text);
	error_set(err,
		  "'%s' names no character device; there are stdio, null, none, pty, "
		  "file:PATH, pipe:PATH, fd:N, unix:PATH, tcp:HOST:PORT, telnet:HOST:PORT, "
		  "udp:HOST:PORT, chardev:ID, mon:..., vc, ringbuf and /dev/...",
		  text);
	return NULL;
}

static bool names_member(JsonObject *o, const char *key, const char *value)
{
	const char *v = keyval_str(o, key);

	return v && !strcmp(v, value);
}

struct chardev *chardev_create_shorthand(const char *id, const char *text, bool *is_mon_mux,
					 GError **err)
{
	g_autoptr(JsonObject) o = NULL;
	const char *rest = text;
	struct chardev *c;
	bool mon = starts(text, "mon:", &rest);

	if (is_mon_mux)
		*is_mon_mux = mon;
	if (!strcmp(rest, "none"))
		return NULL;
	if (starts(rest, "chardev:", &rest)) {
		c = chardev_find(rest);
		if (!c)
			error_set(err, "there is no chardev '%s'", rest);
		return c;
	}
	o = parse_shorthand(rest, err);
	if (!o)
		return NULL;
	if (mon) {
		json_object_set_string_member(o, "mux", "on");
		/* With the monitor at hand Ctrl-C is the guest's. */
		if (names_member(o, "backend", "stdio") && !json_object_has_member(o, "signal"))
			json_object_set_string_member(o, "signal", "off");
	}
	c = chardev_create(id, o, err);
	if (!c)
		g_prefix_error(err, "'%s': ", text);
	return c;
}

/* ---- QMP ---- */

static void rename_member(JsonObject *o, const char *from, const char *to)
{
	JsonNode *n = json_object_get_member(o, from);

	if (!n)
		return;
	json_object_set_member(o, to, json_node_copy(n));
	json_object_remove_member(o, from);
}

/* udp's "remote" and "local" are addresses of type inet. */
static int flatten_udp(JsonObject *o, const char *member, const char *host, const char *port,
		       GError **err)
{
	JsonNode *n = json_object_get_member(o, member);
	g_autoptr(JsonObject) addr = NULL;

	if (!n)
		return 0;
	if (!JSON_NODE_HOLDS_OBJECT(n) || !names_member(json_node_get_object(n), "type", "inet")) {
		error_set(err, "udp's '%s' must be an address of type inet", member);
		return -EINVAL;
	}
	addr = json_object_ref(json_node_get_object(n));
	json_object_remove_member(o, member);
	n = json_object_get_member(addr, "data");

	JsonObject *data = n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : addr;

	json_object_set_string_member(o, host,
				      keyval_str(data, "host") ? keyval_str(data, "host") : "");
	json_object_set_string_member(o, port,
				      keyval_str(data, "port") ? keyval_str(data, "port") : "");
	return 0;
}

struct chardev *chardev_create_qmp(const char *id, JsonObject *qmp, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	JsonNode *data = json_object_get_member(qmp, "data");
	const char *type = keyval_str(qmp, "type");

	if (!type) {
		error_set(err, "chardev '%s': backend has no type", id);
		return NULL;
	}
	if (data && JSON_NODE_HOLDS_OBJECT(data))
		keyval_merge(o, json_node_get_object(data));
	json_object_set_string_member(o, "backend", type);
	if (!strcmp(type, "file")) {
		rename_member(o, "out", "path");
		rename_member(o, "in", "input-path");
	} else if (!strcmp(type, "udp")) {
		if (flatten_udp(o, "remote", "host", "port", err) ||
		    flatten_udp(o, "local", "localaddr", "localport", err))
			return NULL;
	} else if (!strcmp(type, "socket")) {
		/* Unlike -chardev, chardev-add makes servers by default and does not wait. */
		if (!json_object_has_member(o, "server"))
			json_object_set_boolean_member(o, "server", TRUE);
		if (!json_object_has_member(o, "wait"))
			json_object_set_boolean_member(o, "wait", FALSE);
	} else {
		rename_member(o, "device", "path");
	}
	return chardev_create(id, o, err);
}

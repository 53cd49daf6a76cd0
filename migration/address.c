/*
 * migration/address.c - where to migrate to or from: URIs and QMP's list of channels.
 */
#include "migration/channel.h"

#include "util/error.h"
#include "util/keyval.h"
#include "util/socket.h"

void migration_address_free(struct migration_address *a)
{
	if (!a)
		return;
	socket_address_free(a->socket);
	g_free(a->fd);
	g_strfreev(a->argv);
	g_free(a->path);
	g_free(a);
}

static int parse_offset(const char *text, u64 *offset, GError **err)
{
	if (size_parse(text, 'B', offset) || *offset > INT64_MAX) {
		error_set(err, "file: 'offset=%s' is not a size in bytes", text);
		return -EINVAL;
	}
	return 0;
}

static int parse_file(struct migration_address *a, const char *rest, GError **err)
{
	const char *option = g_strrstr(rest, ",offset=");

	a->transport = TRANSPORT_FILE;
	a->path = option ? g_strndup(rest, option - rest) : g_strdup(rest);
	if (!a->path[0]) {
		error_set(err, "file: needs a path");
		return -EINVAL;
	}
	return option ? parse_offset(option + strlen(",offset="), &a->offset, err) : 0;
}

static int parse_tcp(struct migration_address *a, const char *rest, GError **err)
{
	g_autoptr(JsonObject) opts = NULL;
	g_autofree char *target = NULL;
	struct socket_address *place;
	const char *comma = strchr(rest, ',');

	a->transport = TRANSPORT_SOCKET;
	target = comma ? g_strndup(rest, comma - rest) : g_strdup(rest);
	place = socket_address_parse(target, err);
	if (!place)
		return -EINVAL;
	opts = comma ? keyval_parse(comma + 1, NULL, err) : json_object_new();
	if (opts) {
		json_object_set_string_member(opts, "host", place->host);
		json_object_set_string_member(opts, "port", place->port);
		a->socket = socket_address_take(opts, err);
	}
	socket_address_free(place);
	return a->socket && !keyval_reject_rest(opts, "tcp:", err) ? 0 : -EINVAL;
}

static int parse_unix(struct migration_address *a, const char *rest, GError **err)
{
	g_autoptr(JsonObject) opts = json_object_new();

	a->transport = TRANSPORT_SOCKET;
	json_object_set_string_member(opts, "path", rest);
	a->socket = socket_address_take(opts, err);
	return a->socket ? 0 : -EINVAL;
}

static int parse_fd(struct migration_address *a, const char *rest, GError **err)
{
	a->transport = TRANSPORT_FD;
	a->fd = g_strdup(rest);
	if (rest[0])
		return 0;
	error_set(err, "fd: needs a number or a name given by getfd");
	return -EINVAL;
}

static int parse_exec(struct migration_address *a, const char *rest, GError **err)
{
	const char *argv[] = { "/bin/sh", "-c", rest, NULL };

	a->transport = TRANSPORT_EXEC;
	a->argv = g_strdupv((char **)argv);
	return 0;
}

static int refuse_transport(const char *target, GError **err)
{
	error_set(err, "'%s': unsupported protocol; tcp:, unix:, fd:, exec: and file: are known",
		  target);
	return -EINVAL;
}

struct migration_address *migration_address_parse(const char *uri, GError **err)
{
	static const struct {
		const char *prefix;
		int (*parse)(struct migration_address *a, const char *rest, GError **err);
	} forms[] = {
		{ "tcp:", parse_tcp },   { "unix:", parse_unix }, { "fd:", parse_fd },
		{ "exec:", parse_exec }, { "file:", parse_file },
	};
	struct migration_address *a = g_new0(struct migration_address, 1);
	unsigned i = 0;

	while (i < ARRAY_SIZE(forms) && !g_str_has_prefix(uri, forms[i].prefix))
		i++;
	if (i < ARRAY_SIZE(forms) ? !forms[i].parse(a, uri + strlen(forms[i].prefix), err)
				  : !refuse_transport(uri, err))
		return a;
	migration_address_free(a);
	return NULL;
}

static int take_exec(struct migration_address *a, JsonObject *addr, GError **err)
{
	JsonNode *node = json_object_get_member(addr, "args");
	JsonArray *args = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
	guint n = args ? json_array_get_length(args) : 0;

	if (!n) {
		error_set(err, "transport exec needs 'args', a list with the command");
		return -EINVAL;
	}
	a->transport = TRANSPORT_EXEC;
	a->argv = g_new0(char *, n + 1);
	for (guint i = 0; i < n; i++)
		a->argv[i] = g_strdup(json_array_get_string_element(args, i));
	json_object_remove_member(addr, "args");
	return 0;
}

static int take_file(struct migration_address *a, JsonObject *addr, GError **err)
{
	a->transport = TRANSPORT_FILE;
	a->path = keyval_take_str(addr, "filename");
	if (!a->path) {
		error_set(err, "transport file needs 'filename'");
		return -EINVAL;
	}
	return keyval_take_u64(addr, "offset", &a->offset, err) == -EINVAL ? -EINVAL : 0;
}

static int take_socket(struct migration_address *a, JsonObject *addr, GError **err)
{
	g_autoptr(JsonObject) opts = json_object_new();
	g_autoptr(JsonObject) copy = json_object_new();

	keyval_merge(copy, addr);
	json_object_set_object_member(opts, "addr", json_object_ref(copy));
	a->transport = TRANSPORT_SOCKET;
	a->socket = socket_address_take(opts, err);
	if (!a->socket)
		return -EINVAL;
	if (a->socket->type == SOCKET_FD) {
		a->transport = TRANSPORT_FD;
		a->fd = g_strdup(a->socket->fd);
	}
	return 0;
}

static int take_address(struct migration_address *a, JsonObject *addr, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	g_autofree char *transport = NULL;
	int ret;

	keyval_merge(o, addr);
	transport = keyval_take_str(o, "transport");
	if (!transport) {
		error_set(err, "a channel's 'addr' needs 'transport'");
		return -EINVAL;
	}
	if (g_str_equal(transport, "socket"))
		return take_socket(a, o, err);
	if (g_str_equal(transport, "exec"))
		ret = take_exec(a, o, err);
	else if (g_str_equal(transport, "file"))
		ret = take_file(a, o, err);
	else
		return refuse_transport(transport, err);
	return ret ? ret : keyval_reject_rest(o, "addr", err);
}

struct migration_address *migration_address_from_channels(JsonArray *channels, GError **err)
{
	struct migration_address *a;
	JsonNode *node =
		json_array_get_length(channels) == 1 ? json_array_get_element(channels, 0) : NULL;
	JsonObject *channel, *addr = NULL;

	if (!node || !JSON_NODE_HOLDS_OBJECT(node)) {
		error_set(err, "'channels' must hold one channel, got %u",
			  json_array_get_length(channels));
		return NULL;
	}
	channel = json_node_get_object(node);
	if (g_strcmp0(keyval_str(channel, "channel-type"), "main")) {
		error_set(err, "channel-type '%s' is not supported: main is",
			  keyval_str(channel, "channel-type"));
		return NULL;
	}
	node = json_object_get_member(channel, "addr");
	if (node && JSON_NODE_HOLDS_OBJECT(node))
		addr = json_node_get_object(node);
	if (!addr) {
		error_set(err, "a channel needs 'addr'");
		return NULL;
	}
	a = g_new0(struct migration_address, 1);
	if (!take_address(a, addr, err))
		return a;
	migration_address_free(a);
	return NULL;
}

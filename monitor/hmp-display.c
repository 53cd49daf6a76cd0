/* monitor/hmp-display.c - lines about displays and their viewers. */
#include "monitor/hmp.h"
#include "qapi/gen/vnc.h"
#include "util/error.h"

static void print_end(struct hmp_call *call, const char *what, const char *host,
		      const char *service, enum qapi_network_address_family family)
{
	hmp_printf(call, "  %s: %s%s%s (%s", what, host, *host ? ":" : "", service,
		   qapi_network_address_family_str(family));
}

static void print_server(struct hmp_call *call, const struct qapi_vnc_info2 *info)
{
	hmp_printf(call, "%s:\n", info->id);
	for (guint i = 0; i < info->server->len; i++) {
		const struct qapi_vnc_server_info2 *s = g_ptr_array_index(info->server, i);

		print_end(call, "Server", s->host, s->service, s->family);
		hmp_printf(call, ", auth %s)\n", qapi_vnc_primary_auth_str(s->auth));
	}
	for (guint i = 0; i < info->clients->len; i++) {
		const struct qapi_vnc_client_info *c = g_ptr_array_index(info->clients, i);

		print_end(call, "Client", c->host, c->service, c->family);
		hmp_printf(call, ")\n");
	}
}

void hmp_info_vnc(struct hmp_call *call)
{
	g_autoptr(JsonNode) node = hmp_query(call, NULL, NULL);
	GPtrArray *list = NULL;
	GError *error = NULL;

	if (!node)
		return;
	if (!qapi_value_read(&qapi_vnc_info2_list_type, node, &list, &error)) {
		hmp_fail(call, error);
		return;
	}
	if (!list->len)
		hmp_printf(call, "VNC is disabled\n");
	for (guint i = 0; i < list->len; i++)
		print_server(call, g_ptr_array_index(list, i));
	g_ptr_array_unref(list);
}

void hmp_change(struct hmp_call *call)
{
	const char *device = json_object_get_string_member(call->args, "device");
	const char *target = json_object_get_string_member(call->args, "target");
	g_autoptr(JsonNode) result = NULL;
	JsonObject *args;
	GError *error = NULL;

	if (strcmp(device, "vnc") || (strcmp(target, "password") && strcmp(target, "passwd"))) {
		error_set(&error, "change %s %s: only 'change vnc password TEXT' exists", device,
			  target);
		hmp_fail(call, error);
		return;
	}
	args = json_object_new();
	json_object_set_string_member(args, "password",
				      json_object_get_string_member(call->args, "value"));
	result = hmp_query(call, NULL, args); /* nothing, or the error has been shown */
}

/* A key is a name, or the hexadecimal number that PC keyboards have for it. */
void hmp_sendkey(struct hmp_call *call)
{
	const char *text = json_object_get_string_member(call->args, "keys");
	g_auto(GStrv) names = g_strsplit(text, "-", -1);
	g_autoptr(JsonNode) result = NULL;
	JsonObject *args = json_object_new();
	JsonArray *keys = json_array_new();

	for (char **n = names; *n; n++) {
		JsonObject *key = json_object_new();
		bool number = g_str_has_prefix(*n, "0x");

		json_object_set_string_member(key, "type", number ? "number" : "qcode");
		if (number)
			json_object_set_int_member(key, "data", g_ascii_strtoll(*n, NULL, 16));
		else
			json_object_set_string_member(key, "data", *n);
		json_array_add_object_element(keys, key);
	}
	json_object_set_array_member(args, "keys", keys);
	if (json_object_has_member(call->args, "hold-time"))
		json_object_set_int_member(args, "hold-time",
					   json_object_get_int_member(call->args, "hold-time"));
	result = hmp_query(call, NULL, args); /* nothing, or the error has been shown */
}

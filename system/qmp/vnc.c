/* system/qmp/vnc.c - commands about VNC servers. */
#include "qapi/gen/vnc.h"

#include "system/emulator.h"
#include "ui/vnc.h"
#include "util/error.h"

static enum qapi_network_address_family family_of(const struct vnc_address *a)
{
	if (a->is_unix)
		return QAPI_NETWORK_ADDRESS_FAMILY_UNIX;
	return a->ipv6 ? QAPI_NETWORK_ADDRESS_FAMILY_IPV6 : QAPI_NETWORK_ADDRESS_FAMILY_IPV4;
}

static enum qapi_vnc_primary_auth auth_of(const struct vnc_server *s)
{
	return vnc_has_password(s) ? QAPI_VNC_PRIMARY_AUTH_VNC : QAPI_VNC_PRIMARY_AUTH_NONE;
}

static GPtrArray *clients_of(struct vnc_server *s)
{
	g_autoptr(GPtrArray) from = vnc_clients(s);
	GPtrArray *list = qapi_vnc_client_info_list_new();

	for (guint i = 0; i < from->len; i++) {
		const struct vnc_address *a = g_ptr_array_index(from, i);
		struct qapi_vnc_client_info *c = g_new0(struct qapi_vnc_client_info, 1);

		c->host = g_strdup(a->host);
		c->service = g_strdup(a->service);
		c->family = family_of(a);
		g_ptr_array_add(list, c);
	}
	return list;
}

struct qapi_vnc_info *qmp_query_vnc(struct machine *m, GError **err)
{
	struct qapi_vnc_info *info = g_new0(struct qapi_vnc_info, 1);
	struct vnc_server *s = vnc_find(NULL);
	const struct vnc_address *a;

	info->enabled = s != NULL;
	if (!s)
		return info;
	vnc_listeners(s, &a);
	info->host = g_strdup(a->host);
	info->service = g_strdup(a->service);
	info->has_family = true;
	info->family = family_of(a);
	info->auth = g_strdup(qapi_vnc_primary_auth_str(auth_of(s)));
	info->clients = clients_of(s);
	return info;
}

static void add_server(struct vnc_server *s, void *opaque)
{
	struct qapi_vnc_info2 *info = g_new0(struct qapi_vnc_info2, 1);
	const struct vnc_address *a;
	unsigned n = vnc_listeners(s, &a);

	info->id = g_strdup(vnc_id(s));
	info->auth = auth_of(s);
	info->clients = clients_of(s);
	info->server = qapi_vnc_server_info2_list_new();
	for (unsigned i = 0; i < n; i++) {
		struct qapi_vnc_server_info2 *one = g_new0(struct qapi_vnc_server_info2, 1);

		one->host = g_strdup(a[i].host);
		one->service = g_strdup(a[i].service);
		one->family = family_of(&a[i]);
		one->auth = auth_of(s);
		g_ptr_array_add(info->server, one);
	}
	g_ptr_array_add(opaque, info);
}

GPtrArray *qmp_query_vnc_servers(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_vnc_info2_list_new();

	vnc_foreach(add_server, list);
	return list;
}

static struct vnc_server *find(const char *id, GError **err)
{
	struct vnc_server *s = vnc_find(id);

	if (s)
		return s;
	if (id)
		error_set(err, "there is no VNC server '%s', query-vnc-servers lists them", id);
	else
		error_set(err, "there is no VNC server: start with -vnc ADDRESS,password=on");
	return NULL;
}

void qmp_change_vnc_password(struct machine *m, const struct qapi_change_vnc_password_args *args,
			     GError **err)
{
	struct vnc_server *s = find(NULL, err);

	if (s)
		vnc_set_password(s, args->password, err);
}

void qmp_set_password(struct machine *m, const struct qapi_set_password_options *args, GError **err)
{
	struct vnc_server *s = find(args->u.vnc.display, err);

	if (s)
		vnc_set_password(s, args->password, err);
}

/* "now", "never", "+SECONDS" from now, or seconds since 1970. */
static int parse_time(const char *text, s64 *when, GError **err)
{
	s64 now = g_get_real_time() / G_USEC_PER_SEC;
	bool relative = *text == '+';
	u64 n;
	char *end;

	*when = !strcmp(text, "now") ? 0 : -1;
	if (!strcmp(text, "now") || !strcmp(text, "never"))
		return 0;
	errno = 0;
	n = g_ascii_strtoull(text + relative, &end, 10);
	if (errno || *end || !g_ascii_isdigit(text[relative]) || n > INT64_MAX - now) {
		error_set(err, "time '%s' is not now, never, +SECONDS or seconds since 1970", text);
		return -EINVAL;
	}
	*when = relative ? now + (s64)n : (s64)n;
	return 0;
}

void qmp_expire_password(struct machine *m, const struct qapi_expire_password_options *args,
			 GError **err)
{
	struct vnc_server *s;
	s64 when;

	if (parse_time(args->time, &when, err))
		return;
	s = find(args->u.vnc.display, err);
	if (s)
		vnc_expire_password(s, when, err);
}

void qmp_client_migrate_info(struct machine *m, const struct qapi_client_migrate_info_args *args,
			     GError **err)
{
	if (!strcmp(args->protocol, "spice"))
		error_set(err, "SPICE is not in use");
	else
		error_set(err,
			  "protocol '%s': viewers of VNC cannot be told of another host, they "
			  "connect anew to where the guest runs",
			  args->protocol);
}

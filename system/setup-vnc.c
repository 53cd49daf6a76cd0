/* system/setup-vnc.c - VNC servers of the command line, and what they report. */
#include "emulator.h"

#include "objects.h"
#include "qapi/gen/vnc.h"
#include "ui/vnc.h"
#include "util/error.h"
#include "util/keyval.h"

static enum qapi_network_address_family family_of(const struct vnc_address *a)
{
	if (a->is_unix)
		return QAPI_NETWORK_ADDRESS_FAMILY_UNIX;
	return a->ipv6 ? QAPI_NETWORK_ADDRESS_FAMILY_IPV6 : QAPI_NETWORK_ADDRESS_FAMILY_IPV4;
}

static void client_changed(void *opaque, struct vnc_server *s, const struct vnc_address *addr,
			   enum vnc_client_change change)
{
	const struct vnc_address *own;
	struct emulator *e = opaque;

	if (!e->events || !vnc_listeners(s, &own))
		return;
	struct qapi_vnc_server_info server = {
		.host = own->host,
		.service = own->service,
		.family = family_of(own),
		.auth = vnc_has_password(s) ? "vnc" : "none",
	};
	struct qapi_vnc_client_info client = {
		.host = addr->host,
		.service = addr->service,
		.family = family_of(addr),
	};
	struct qapi_vnc_basic_info basic = {
		.host = addr->host,
		.service = addr->service,
		.family = family_of(addr),
	};
	struct qapi_vnc_connected_event connected = { .server = &server, .client = &basic };
	struct qapi_vnc_initialized_event initialized = { .server = &server, .client = &client };
	struct qapi_vnc_disconnected_event gone = { .server = &server, .client = &client };

	switch (change) {
	case VNC_CLIENT_CONNECTED: qapi_event_send_vnc_connected(e->events, &connected); break;
	case VNC_CLIENT_INITIALIZED:
		qapi_event_send_vnc_initialized(e->events, &initialized);
		break;
	case VNC_CLIENT_DISCONNECTED: qapi_event_send_vnc_disconnected(e->events, &gone); break;
	}
}

/* NULL: none is named; NULL with @err. Free with g_free(). */
static char *read_secret(struct emulator *e, JsonObject *opts, GError **err)
{
	const char *id = keyval_str(opts, "password-secret");
	GBytes *bytes = id ? objects_find(e->objects, id, "secret-common") : NULL;
	gsize len;

	if (id && !bytes)
		error_set(err, "password-secret=%s: no such object, give -object secret,id=%s,...",
			  id, id);
	if (!bytes)
		return NULL;
	const char *data = g_bytes_get_data(bytes, &len);

	return g_strndup(data, len);
}

static int add_vnc(struct emulator *e, const struct config_item *item, GError **err)
{
	const char *name = e->machine->opt.name;
	g_autofree char *title =
		name ? g_strdup_printf("Tidemark (%s)", name) : g_strdup("Tidemark");
	const struct vnc_hooks hooks = { .client = client_changed, .opaque = e };
	g_autoptr(GError) why = NULL;
	g_autofree char *secret = read_secret(e, item->opts, &why);

	if (!why)
		vnc_create(e->host.display, item->opts, title, secret, &hooks, &why);
	if (!why)
		return 0;
	error_set(err, "-%s %s: %s", item->option, item->text, why->message);
	return -EINVAL;
}

int setup_vnc(struct emulator *e, GError **err)
{
	for (guint i = 0; i < e->cfg->vncs->len; i++)
		if (add_vnc(e, g_ptr_array_index(e->cfg->vncs, i), err))
			return -EINVAL;
	return 0;
}

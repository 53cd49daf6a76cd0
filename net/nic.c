/* net/nic.c - the device's end of a link, and the options that ask for NICs: -nic, -net. */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/keyval.h"

#include <stdio.h>

static GPtrArray *nics;   /* of struct nic_info */
static bool option_given; /* -nic, -net or -netdev: no default NIC */

/* ---- Addresses ---- */

int mac_parse(const char *text, u8 mac[6])
{
	unsigned byte[6];
	int end = 0;

	if (strspn(text, "0123456789abcdefABCDEF:-") != strlen(text) ||
	    (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3],
		    &byte[4], &byte[5], &end) != 6 &&
	     sscanf(text, "%2x-%2x-%2x-%2x-%2x-%2x%n", &byte[0], &byte[1], &byte[2], &byte[3],
		    &byte[4], &byte[5], &end) != 6) ||
	    text[end])
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		mac[i] = byte[i];
	return 0;
}

char *mac_text(const u8 mac[6])
{
	return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
			       mac[4], mac[5]);
}

struct mac_search {
	const u8 *mac;
	bool found;
};

static void compare_mac(struct net_client *nc, void *opaque)
{
	struct mac_search *s = opaque;

	s->found |= nc->is_nic && !memcmp(nc->mac, s->mac, 6);
}

static bool mac_used(const u8 mac[6])
{
	struct mac_search s = { .mac = mac };

	net_foreach(compare_mac, &s);
	for (guint i = 0; nics && i < nics->len; i++) {
		const struct nic_info *nic = nics->pdata[i];

		s.found |= nic->has_mac && !memcmp(nic->mac, mac, 6);
	}
	return s.found;
}

static void default_mac(u8 mac[6])
{
	static const u8 first[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

	memcpy(mac, first, sizeof(first));
	while (mac_used(mac))
		mac[5]++;
}

/* ---- The device's end ---- */

struct net_client *net_nic_create(const struct net_client_ops *ops,
				  const struct net_nic_names *names, u8 mac[6], void *opaque,
				  GError **err)
{
	static const u8 none[6];
	const char *netdev = names->netdev;
	struct net_client *peer = NULL, *nc;
	g_autofree char *id = NULL, *address = NULL;

	if (netdev) {
		peer = net_find(netdev);
		if (!peer || peer->is_nic) {
			error_set(err, "there is no netdev '%s'", netdev);
			return NULL;
		}
		if (peer->peer) {
			error_set(err, "netdev '%s' is in use by '%s' already", netdev,
				  peer->peer->name);
			return NULL;
		}
	}
	if (names->id && !net_find(names->id))
		id = g_strdup(names->id);
	else
		id = net_unused_name(names->id ? names->id : names->model);
	if (!memcmp(mac, none, 6))
		default_mac(mac);
	nc = net_client_new(ops, id, opaque);
	nc->is_nic = true;
	memcpy(nc->mac, mac, 6);
	address = mac_text(mac);
	net_set_info(nc, g_strdup_printf("model=%s,macaddr=%s", names->model, address));
	if (peer) {
		net_connect(nc, peer);
		nc->link_down = peer->link_down;
		/* What could not be sent while nobody was there. */
		net_receive_ready(nc);
	}
	return nc;
}

/* A request for the address of our own hardware address (RFC 903), for switches to learn from. */
static void announce(struct net_client *nc, void *unused)
{
	u8 f[60] = { 0 };
	static const u8 head[] = {
		0x80, 0x35,       /* RARP */
		0x00, 0x01,       /* Ethernet */
		0x08, 0x00, 6, 4, /* IPv4 */
		0x00, 0x03,       /* request reverse */
	};

	if (!nc->is_nic || nc->link_down)
		return;
	memset(f, 0xff, 6);
	memcpy(f + 6, nc->mac, 6);
	memcpy(f + 12, head, sizeof(head));
	memcpy(f + 22, nc->mac, 6);
	memcpy(f + 32, nc->mac, 6);
	net_send(nc, f, sizeof(f));
}

void net_announce_self(void)
{
	net_foreach(announce, NULL);
}

/* ---- Options ---- */

static void nic_free(void *opaque)
{
	struct nic_info *nic = opaque;

	g_free(nic->model);
	g_free(nic->netdev);
	g_free(nic->name);
	g_free(nic->addr);
	g_free(nic);
}

GPtrArray *net_nics(void)
{
	if (!nics)
		nics = g_ptr_array_new_with_free_func(nic_free);
	return nics;
}

/* What describes the device in -nic and -net nic; removed from @o. */
static struct nic_info *take_nic(JsonObject *o, GError **err)
{
	struct nic_info *nic = g_new0(struct nic_info, 1);
	g_autofree char *mac = keyval_take_str(o, "macaddr");
	u64 vectors;
	int ret;

	nic->model = keyval_take_str(o, "model");
	nic->addr = keyval_take_str(o, "addr");
	nic->nvectors = -1;
	if (!mac)
		mac = keyval_take_str(o, "mac");
	ret = keyval_take_u64(o, "vectors", &vectors, err);
	if (ret == -EINVAL)
		goto fail;
	if (!ret)
		nic->nvectors = MIN(vectors, 0x10000);
	if (mac) {
		if (mac_parse(mac, nic->mac)) {
			error_set(err, "'mac=%s': expected six bytes such as 52:54:00:12:34:56",
				  mac);
			goto fail;
		}
		if (nic->mac[0] & 1) {
			error_set(err, "'mac=%s' is a multicast address", mac);
			goto fail;
		}
		nic->has_mac = true;
	}
	return nic;
fail:
	nic_free(nic);
	return NULL;
}

static char *take_type(JsonObject *o, const char *fallback)
{
	char *type = keyval_take_str(o, "type");

	return type ? type : g_strdup(fallback);
}

/* The back end of a NIC option, from what is left of its members. NULL with @err. */
static struct net_client *make_netdev(JsonObject *o, const char *type, GError **err)
{
	struct net_client *nc;
	g_autofree char *id = keyval_take_str(o, "id");

	if (!id)
		id = keyval_take_str(o, "name"); /* the old spelling */
	if (!id)
		id = net_unused_name(type);
	json_object_set_string_member(o, "type", type);
	json_object_set_string_member(o, "id", id);
	nc = net_netdev_create(o, err);
	return nc;
}

int net_nic_option(JsonObject *given, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	g_autofree char *type = NULL;
	struct net_client *nc;
	struct nic_info *nic;

	keyval_merge(o, given);
	option_given = true;
	type = take_type(o, "user");
	if (!strcmp(type, "none"))
		return keyval_reject_rest(o, "-nic none", err);
	nic = take_nic(o, err);
	if (!nic)
		return -EINVAL;
	nc = make_netdev(o, type, err);
	if (!nc) {
		nic_free(nic);
		return -EINVAL;
	}
	nic->netdev = g_strdup(nc->name);
	g_ptr_array_add(net_nics(), nic);
	return 0;
}

static int legacy_nic(JsonObject *o, GError **err)
{
	struct nic_info *nic = take_nic(o, err);

	if (!nic)
		return -EINVAL;
	nic->netdev = keyval_take_str(o, "netdev");
	nic->name = keyval_take_str(o, "id");
	if (!nic->name)
		nic->name = keyval_take_str(o, "name");
	if (keyval_reject_rest(o, "-net nic", err)) {
		nic_free(nic);
		return -EINVAL;
	}
	if (!nic->netdev) {
		g_autofree char *name = net_unused_name("hub0port");

		nic->netdev = g_strdup(hub_port(0, name)->name);
	}
	g_ptr_array_add(net_nics(), nic);
	return 0;
}

int net_legacy_option(JsonObject *given, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	g_autofree char *type = NULL, *name = NULL;
	struct net_client *nc;

	keyval_merge(o, given);
	option_given = true;
	type = take_type(o, "nic");
	if (!strcmp(type, "none"))
		return keyval_reject_rest(o, "-net none", err);
	if (!strcmp(type, "nic"))
		return legacy_nic(o, err);
	nc = make_netdev(o, type, err);
	if (!nc)
		return -EINVAL;
	name = net_unused_name("hub0port");
	net_connect(nc, hub_port(0, name));
	return 0;
}

static void seen(struct net_client *nc, void *any)
{
	*(bool *)any = true;
}

int net_options_done(bool defaults, GError **err)
{
	g_autoptr(JsonObject) o = NULL;
	bool any = option_given;

	net_foreach(seen, &any);
	if (any || !defaults)
		return 0;
	o = json_object_new();
	json_object_set_string_member(o, "type", "user");
	return net_nic_option(o, err);
}

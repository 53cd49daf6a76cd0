/* system/qmp/net.c - commands about networks. */
#include "qapi/gen/net.h"

#include "net/net.h"
#include "system/emulator.h"
#include "system/net-state.h"
#include "util/error.h"

void qmp_set_link(struct machine *m, const struct qapi_set_link_args *args, GError **err)
{
	net_set_link(args->name, args->up, err);
}

void qmp_netdev_add(struct machine *m, JsonObject *args, GError **err)
{
	if (net_netdev_create(args, err))
		net_state_update(emulator_of(m));
}

void qmp_netdev_del(struct machine *m, const struct qapi_netdev_del_args *args, GError **err)
{
	net_netdev_remove(args->id, err);
}

static enum qapi_rx_state rx_state(enum net_rx_mode mode)
{
	static const enum qapi_rx_state map[] = {
		[NET_RX_NORMAL] = QAPI_RX_STATE_NORMAL,
		[NET_RX_NONE] = QAPI_RX_STATE_NONE,
		[NET_RX_ALL] = QAPI_RX_STATE_ALL,
	};

	return map[mode];
}

static GPtrArray *mac_texts(const u8 (*macs)[6], unsigned n)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (unsigned i = 0; i < n; i++)
		g_ptr_array_add(list, mac_text(macs[i]));
	return list;
}

static GArray *vlan_numbers(const struct net_rx_filter *f)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(s64));

	for (s64 id = 0; f->vlan == NET_RX_NORMAL && id < 4096; id++)
		if (f->vlans[id / 8] >> (id % 8) & 1)
			g_array_append_val(list, id);
	return list;
}

static struct qapi_rx_filter_info *rx_filter_info(struct net_client *nc)
{
	struct qapi_rx_filter_info *info = g_new0(struct qapi_rx_filter_info, 1);
	struct net_rx_filter f;

	nc->ops->rx_filter(nc, &f);
	info->name = g_strdup(nc->name);
	info->promiscuous = f.promiscuous;
	info->multicast = rx_state(f.multicast);
	info->unicast = rx_state(f.unicast);
	info->vlan = rx_state(f.vlan);
	info->broadcast_allowed = f.broadcast;
	info->multicast_overflow = f.multicast_overflow;
	info->unicast_overflow = f.unicast_overflow;
	info->main_mac = mac_text(nc->mac);
	info->vlan_table = vlan_numbers(&f);
	info->unicast_table = mac_texts(f.unicast_macs, f.nunicast);
	info->multicast_table = mac_texts(f.multicast_macs, f.nmulticast);
	return info;
}

static void add_rx_filter(struct net_client *nc, void *opaque)
{
	if (nc->ops->rx_filter)
		g_ptr_array_add(opaque, rx_filter_info(nc));
}

GPtrArray *qmp_query_rx_filter(struct machine *m, const struct qapi_query_rx_filter_args *args,
			       GError **err)
{
	struct net_client *nc = args->name ? net_find(args->name) : NULL;
	GPtrArray *list;

	if (args->name && (!nc || !nc->ops->rx_filter)) {
		error_set(err,
			  nc ? "'%s' is no network card that filters"
			     : "there is no network card '%s'",
			  args->name);
		return NULL;
	}
	list = qapi_rx_filter_info_list_new();
	if (nc)
		add_rx_filter(nc, list);
	else
		net_foreach(add_rx_filter, list);
	return list;
}

static struct qapi_human_readable_text *text_result(char *text)
{
	struct qapi_human_readable_text *r = g_new0(struct qapi_human_readable_text, 1);

	r->human_readable_text = text;
	return r;
}

struct qapi_human_readable_text *qmp_x_query_network(struct machine *m, GError **err)
{
	return text_result(net_info_text());
}

void qmp_x_hostfwd(struct machine *m, const struct qapi_x_hostfwd_args *args, GError **err)
{
	net_hostfwd(args->id, args->rule, args->add, err);
}

struct qapi_human_readable_text *qmp_x_query_usernet(struct machine *m, GError **err)
{
	return text_result(net_usernet_text());
}

/* net/hub.c - hubs: what comes in at one port goes out at all others. */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/keyval.h"

struct port {
	struct net_client *nc;
	u64 hub;
};

static GList *ports; /* of all hubs */

static bool hub_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct port *from = nc->opaque;

	/* A port whose peer is slow queues for itself; the others do not wait. */
	for (GList *l = ports; l; l = l->next) {
		struct port *p = l->data;

		if (p != from && p->hub == from->hub)
			net_sendv(p->nc, iov, niov);
	}
	return true;
}

static void hub_destroy(struct net_client *nc)
{
	ports = g_list_remove(ports, nc->opaque);
	g_free(nc->opaque);
}

static const struct net_client_ops hub_ops = {
	.type = "hubport",
	.receive = hub_receive,
	.destroy = hub_destroy,
};

struct net_client *hub_port(u64 hub, const char *name)
{
	struct port *p = g_new0(struct port, 1);

	p->hub = hub;
	p->nc = net_client_new(&hub_ops, name, p);
	net_set_info(p->nc, g_strdup_printf("hubid=%" PRIu64, hub));
	ports = g_list_append(ports, p);
	return p->nc;
}

static struct net_client *hubport_create(const char *id, JsonObject *o, GError **err)
{
	g_autofree char *netdev = keyval_take_str(o, "netdev");
	struct net_client *peer = NULL, *nc;
	u64 hub;
	int ret = keyval_take_u64(o, "hubid", &hub, err);

	if (ret == -ENOENT)
		error_set(err, "a hubport needs hubid=");
	if (ret)
		return NULL;
	if (netdev) {
		peer = net_find(netdev);
		if (!peer || peer->is_nic || peer->peer) {
			error_set(err, "'netdev=%s' %s", netdev,
				  peer ? "is in use already" : "does not exist");
			return NULL;
		}
	}
	nc = hub_port(hub, id);
	if (peer)
		net_connect(nc, peer);
	return nc;
}

const struct netdev_type netdev_hubport = { .name = "hubport", .create = hubport_create };

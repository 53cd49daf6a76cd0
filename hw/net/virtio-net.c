/*
 * hw/net/virtio-net.c - virtio network device.
 *
 * Source: Virtio 1.2, 5.1. Layouts are those of <linux/virtio_net.h>. No off-loads are offered:
 * frames are complete, with checksums.
 */
#include "hw/net/virtio-net.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>

#define CTRL_QUEUE_SIZE 64
#define TX_BURST        256 /* frames sent before the main loop gets its turn */
#define MIN_MTU         68  /* bytes; 5.1.4.1 */
#define MIN_FRAME       14  /* bytes: an Ethernet header */

_Static_assert(sizeof(struct virtio_net_hdr_mrg_rxbuf) == 12, "5.1.6");
_Static_assert(offsetof(struct virtio_net_config, mtu) == 10, "5.1.4");

/* Before version 1 the header had num_buffers only with the feature that uses it. */
static unsigned header_len(const struct virtio_device *vdev)
{
	return virtio_has_feature(vdev, VIRTIO_F_VERSION_1) ||
			       virtio_has_feature(vdev, VIRTIO_NET_F_MRG_RXBUF)
		       ? sizeof(struct virtio_net_hdr_mrg_rxbuf)
		       : sizeof(struct virtio_net_hdr);
}

/* ---- Transmission --------------------------------------------------------------------------- */

/* Return: false if the back end wants no more for now; it has taken this frame all the same. */
static bool send_elem(struct virtio_net *net, const struct virtqueue_elem *elem)
{
	unsigned skip = header_len(&net->vdev);
	struct iovec iov[VIRTQUEUE_MAX_SIZE];
	u64 len = elem->out_len - skip;
	unsigned n;

	if (len < MIN_FRAME || len > NET_MAX_FRAME) {
		log_guest("virtio-net: frame of %" PRIu64 " bytes", len);
		return true;
	}
	n = virtq_iov_slice(elem->out, elem->out_num, skip, len, iov);
	return net_sendv(net->nc, iov, n);
}

/* Return: false if frames may be left. */
static bool send_burst(struct virtio_net *net)
{
	struct virtqueue_elem *elem;
	bool go_on = true;

	for (unsigned i = 0; go_on && i < TX_BURST; i++) {
		elem = virtqueue_pop(net->tx);
		if (!elem)
			return true;
		if (elem->out_len < header_len(&net->vdev)) {
			virtio_error(&net->vdev, "frame without a header: %" PRIu64 " bytes",
				     elem->out_len);
			virtqueue_detach(net->tx, elem);
			return true;
		}
		go_on = send_elem(net, elem);
		virtqueue_push(net->tx, elem, 0);
	}
	net->tx_waiting = 1;
	net->tx_blocked = !go_on;
	if (go_on)
		timer_mod(&net->tx_timer, clock_ns(CLOCK_TYPE_REALTIME));
	return false;
}

static void handle_tx(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtio_net *net = virtio_net_of(vdev);
	bool all;

	if (net->tx_blocked) {
		net->tx_waiting = 1;
		return;
	}
	net->tx_waiting = 0;
	do {
		virtqueue_notify_off(vq);
		all = send_burst(net);
		virtio_notify(vq);
	} while (all && !virtqueue_notify_on(vq));
}

static void tx_continue(void *opaque)
{
	struct virtio_net *net = opaque;

	if (net->tx_waiting)
		virtio_kick(&net->vdev, net->tx->index);
}

static void peer_ready(struct net_client *nc)
{
	struct virtio_net *net = nc->opaque;

	net->tx_blocked = false;
	tx_continue(net);
}

/* ---- Reception ------------------------------------------------------------------------------ */

static bool can_receive(struct net_client *nc)
{
	struct virtio_net *net = nc->opaque;

	return virtio_live(&net->vdev) && net->rx->ready;
}

/* Take chains until @len bytes fit; NULL-terminated list in @elems. */
static unsigned take_buffers(struct virtio_net *net, u64 len, struct virtqueue_elem **elems,
			     unsigned max)
{
	unsigned n = 0;
	u64 room = 0;

	while (room < len && n < max) {
		elems[n] = virtqueue_pop(net->rx);
		if (!elems[n])
			break;
		room += elems[n++]->in_len;
	}
	if (room >= len)
		return n;
	while (n)
		virtqueue_unpop(net->rx, elems[--n]);
	return 0;
}

static void put_frame(struct virtio_net *net, const u8 *frame, size_t len,
		      struct virtqueue_elem **elems, unsigned n)
{
	struct virtio_net_hdr_mrg_rxbuf hdr = { .num_buffers = GUINT16_TO_LE(n) };
	unsigned hlen = header_len(&net->vdev);
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		u64 skip = i ? 0 : virtq_elem_write(elems[i], 0, &hdr, hlen);
		u64 done = virtq_elem_write(elems[i], skip, frame + at, len - at);

		at += done;
		virtqueue_fill(net->rx, elems[i], skip + done, i);
	}
	virtqueue_flush(net->rx, n);
	virtio_notify(net->rx);
}

/* Too small a buffer for a frame, where a frame must fit into one. */
static void drop_for_buffer(struct virtio_net *net, u64 len)
{
	struct virtqueue_elem *elem = virtqueue_pop(net->rx);

	if (!elem)
		return;
	log_guest("virtio-net: buffer of %" PRIu64 " bytes, %" PRIu64 " needed", elem->in_len, len);
	virtqueue_unpop(net->rx, elem);
}

static bool receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct virtio_net *net = nc->opaque;
	bool merge = virtio_has_feature(&net->vdev, VIRTIO_NET_F_MRG_RXBUF);
	struct virtqueue_elem *elems[VIRTQUEUE_MAX_SIZE];
	const u8 *frame = iov[0].iov_base;
	size_t len = 0;
	u64 need;
	unsigned n;

	for (int i = 0; i < niov; i++)
		len += iov[i].iov_len;
	if (!can_receive(nc))
		return false;
	if (len < MIN_FRAME || len > NET_MAX_FRAME)
		return true;
	if (niov > 1) {
		for (size_t i = 0, at = 0; i < niov; at += iov[i++].iov_len)
			memcpy(net->frame + at, iov[i].iov_base, iov[i].iov_len);
		frame = net->frame;
	}
	if (!virtio_net_wants(net, frame, len))
		return true;
	need = len + header_len(&net->vdev);
	/* The second time with kicks on: what the driver adds after that look is announced. */
	for (int attempt = 0; attempt < 2; attempt++) {
		n = take_buffers(net, need, elems, merge ? net->rx->num : 1);
		if (n) {
			put_frame(net, frame, len, elems, n);
			return true;
		}
		if (!merge && !virtqueue_empty(net->rx)) {
			drop_for_buffer(net, need);
			return true;
		}
		virtqueue_notify_on(net->rx);
	}
	return false;
}

static void handle_rx(struct virtio_device *vdev, struct virtqueue *vq)
{
	net_receive_ready(virtio_net_of(vdev)->nc);
}

static void link_changed(struct net_client *nc)
{
	struct virtio_net *net = nc->opaque;
	u16 status = net->status & ~VIRTIO_NET_S_LINK_UP;

	if (!nc->link_down)
		status |= VIRTIO_NET_S_LINK_UP;
	if (status == net->status)
		return;
	net->status = status;
	virtio_config_changed(&net->vdev);
}

static const struct net_client_ops nic_ops = {
	.type = "nic",
	.receive = receive,
	.can_receive = can_receive,
	.link_changed = link_changed,
	.peer_ready = peer_ready,
	.rx_filter = virtio_net_rx_filter,
};

/* ---- Device --------------------------------------------------------------------------------- */

static u64 net_features(struct virtio_device *vdev)
{
	const struct virtio_net *net = virtio_net_of(vdev);
	u64 f = 1u << VIRTIO_NET_F_MAC;

	f |= net->opt_mrg_rxbuf ? 1u << VIRTIO_NET_F_MRG_RXBUF : 0;
	f |= net->opt_status ? 1u << VIRTIO_NET_F_STATUS : 0;
	f |= net->opt_host_mtu ? 1u << VIRTIO_NET_F_MTU : 0;
	if (!net->opt_ctrl_vq)
		return f;
	f |= 1u << VIRTIO_NET_F_CTRL_VQ;
	f |= net->opt_ctrl_rx ? 1u << VIRTIO_NET_F_CTRL_RX : 0;
	f |= net->opt_ctrl_vlan ? 1u << VIRTIO_NET_F_CTRL_VLAN : 0;
	f |= net->opt_ctrl_rx_extra ? 1u << VIRTIO_NET_F_CTRL_RX_EXTRA : 0;
	f |= net->opt_ctrl_mac_addr ? 1u << VIRTIO_NET_F_CTRL_MAC_ADDR : 0;
	f |= net->opt_guest_announce && net->opt_status ? 1u << VIRTIO_NET_F_GUEST_ANNOUNCE : 0;
	return f;
}

static bool net_features_ok(struct virtio_device *vdev)
{
	/* From now on the driver names the VLANs that it wants. */
	if (virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VLAN))
		memset(virtio_net_of(vdev)->filter.vlans, 0, NET_VLAN_BYTES);
	return true;
}

static void net_config_get(struct virtio_device *vdev, u8 *config)
{
	const struct virtio_net *net = virtio_net_of(vdev);
	struct virtio_net_config c = {
		.status = GUINT16_TO_LE(net->status),
		.max_virtqueue_pairs = GUINT16_TO_LE(1),
		.mtu = GUINT16_TO_LE(net->opt_host_mtu),
	};

	memcpy(c.mac, net->mac, 6);
	memcpy(config, &c, vdev->config_size);
}

/* A driver without the command for it writes its address into the configuration (5.1.4.2). */
static void net_config_set(struct virtio_device *vdev, const u8 *config)
{
	struct virtio_net *net = virtio_net_of(vdev);

	if (virtio_has_feature(vdev, VIRTIO_F_VERSION_1) ||
	    virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_MAC_ADDR))
		return;
	memcpy(net->mac, config, 6);
	memcpy(net->nc->mac, config, 6);
}

static void net_reset(struct virtio_device *vdev)
{
	struct virtio_net *net = virtio_net_of(vdev);

	timer_del(&net->tx_timer);
	net->tx_waiting = 0;
	net->tx_blocked = false;
	net->announce = false;
	net->status &= ~VIRTIO_NET_S_ANNOUNCE;
	net_purge(net->nc);
	memcpy(net->mac, net->opt_mac, 6);
	memcpy(net->nc->mac, net->opt_mac, 6);
	virtio_net_reset_filter(net);
}

/* After a migration switches must learn where the address is now: the guest knows best. */
static void net_run(struct virtio_device *vdev, bool running)
{
	struct virtio_net *net = virtio_net_of(vdev);

	if (!running || !net->announce)
		return;
	net->announce = false;
	if (!virtio_has_feature(vdev, VIRTIO_NET_F_GUEST_ANNOUNCE) ||
	    !virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VQ))
		return;
	net->status |= VIRTIO_NET_S_ANNOUNCE;
	virtio_config_changed(vdev);
}

static int net_load_done(struct virtio_device *vdev, GError **err)
{
	struct virtio_net *net = virtio_net_of(vdev);

	memcpy(net->nc->mac, net->mac, 6);
	net->announce = vdev->status & VIRTIO_CONFIG_S_DRIVER_OK;
	net->status &= ~VIRTIO_NET_S_LINK_UP;
	if (!net->nc->link_down)
		net->status |= VIRTIO_NET_S_LINK_UP;
	return 0;
}

static const struct virtio_class net_class = {
	.id = VIRTIO_ID_NET,
	.config_size = offsetof(struct virtio_net_config, speed),
	.features = net_features,
	.features_ok = net_features_ok,
	.config_get = net_config_get,
	.config_set = net_config_set,
	.reset = net_reset,
	.run = net_run,
	.save = virtio_net_save,
	.load = virtio_net_load,
	.load_done = net_load_done,
};

static int check_queue_size(const char *name, u16 size, GError **err)
{
	if (IS_POW2(size) && size >= 256 && size <= VIRTQUEUE_MAX_SIZE)
		return 0;
	error_set(err, "%s=%u is not a power of two between 256 and %u", name, size,
		  VIRTQUEUE_MAX_SIZE);
	return -EINVAL;
}

static int check_offloads(const struct virtio_net *net, GError **err)
{
	const struct {
		const char *name;
		bool on;
	} refused[] = {
		{ "mq", net->opt_mq },
		{ "csum", net->opt_csum },
		{ "gso", net->opt_gso },
		{ "guest_csum", net->opt_guest_csum },
		{ "guest_tso4", net->opt_guest_tso4 },
		{ "guest_tso6", net->opt_guest_tso6 },
		{ "guest_ecn", net->opt_guest_ecn },
		{ "guest_ufo", net->opt_guest_ufo },
		{ "host_tso4", net->opt_host_tso4 },
		{ "host_tso6", net->opt_host_tso6 },
		{ "host_ecn", net->opt_host_ecn },
		{ "host_ufo", net->opt_host_ufo },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		if (!refused[i].on)
			continue;
		error_set(err, "%s=on is not supported; use %s=off", refused[i].name,
			  refused[i].name);
		return -EINVAL;
	}
	return 0;
}

static int check_options(const struct virtio_net *net, GError **err)
{
	int ret = check_queue_size("rx_queue_size", net->opt_rx_queue_size, err) ?:
		  check_queue_size("tx_queue_size", net->opt_tx_queue_size, err) ?:
		  check_offloads(net, err);

	if (ret)
		return ret;
	if (net->opt_host_mtu && net->opt_host_mtu < MIN_MTU) {
		error_set(err, "host_mtu=%u is less than %u", net->opt_host_mtu, MIN_MTU);
		return -EINVAL;
	}
	if (net->opt_mac[0] & 1) {
		error_set(err, "mac=%02x:%02x:...: a multicast address", net->opt_mac[0],
			  net->opt_mac[1]);
		return -EINVAL;
	}
	return 0;
}

static int net_realize(struct device *dev, GError **err)
{
	struct virtio_net *net = container_of(dev, struct virtio_net, vdev.dev);
	struct virtio_device *vdev = &net->vdev;
	const struct net_nic_names names = {
		.id = device_user_id(dev),
		.model = (dev->outer ?: dev)->type->name,
		.netdev = net->opt_netdev ? net->opt_netdev->name : NULL,
	};
	int ret = check_options(net, err);

	if (ret)
		return ret;
	net->nc = net_nic_create(&nic_ops, &names, net->opt_mac, net, err);
	if (!net->nc)
		return -EINVAL;
	ret = virtio_device_init(vdev, &net_class, 3, err);
	if (ret) {
		net_client_free(net->nc);
		return ret;
	}
	/* Fields of features that are not offered do not exist at the end. */
	if (!net->opt_host_mtu)
		vdev->config_size = offsetof(struct virtio_net_config, max_virtqueue_pairs);
	net->rx = virtio_add_queue(vdev, net->opt_rx_queue_size, handle_rx);
	net->tx = virtio_add_queue(vdev, net->opt_tx_queue_size, handle_tx);
	if (net->opt_ctrl_vq)
		net->ctrl = virtio_add_queue(vdev, CTRL_QUEUE_SIZE, virtio_net_handle_ctrl);
	net->frame = g_malloc(NET_MAX_FRAME);
	net->status = net->nc->link_down ? 0 : VIRTIO_NET_S_LINK_UP;
	timer_init(&net->tx_timer, CLOCK_TYPE_REALTIME, tx_continue, net);
	memcpy(net->mac, net->opt_mac, 6);
	virtio_net_reset_filter(net);
	return 0;
}

static void net_unrealize(struct device *dev)
{
	struct virtio_net *net = container_of(dev, struct virtio_net, vdev.dev);

	virtio_device_finish(&net->vdev);
	net_client_free(net->nc);
	g_free(net->frame);
}

#define NET_FLAG(name, field, def, help) PROP(struct virtio_net, field, name, BOOL, def, help)
#define NET_OFF(name, field)             NET_FLAG(name, field, "off", "only off")

static const struct property net_props[] = {
	VIRTIO_PROPS(struct virtio_net),
	PROP(struct virtio_net, opt_netdev, "netdev", NETDEV, NULL, "id of the back end"),
	PROP(struct virtio_net, opt_mac, "mac", MACADDR, NULL, "station address"),
	PROP(struct virtio_net, opt_rx_queue_size, "rx_queue_size", U16, "256", "entries"),
	PROP(struct virtio_net, opt_tx_queue_size, "tx_queue_size", U16, "256", "entries"),
	PROP(struct virtio_net, opt_host_mtu, "host_mtu", U16, "0", "bytes; 0: not told"),
	PROP(struct virtio_net, opt_bootindex, "bootindex", S32, "-1", "order of booting"),
	NET_FLAG("mrg_rxbuf", opt_mrg_rxbuf, "on", "frames may span receive buffers"),
	NET_FLAG("status", opt_status, "on", "tell the state of the link"),
	NET_FLAG("ctrl_vq", opt_ctrl_vq, "on", "offer the control queue"),
	NET_FLAG("ctrl_rx", opt_ctrl_rx, "on", "offer receive modes"),
	NET_FLAG("ctrl_vlan", opt_ctrl_vlan, "on", "offer a VLAN filter"),
	NET_FLAG("ctrl_rx_extra", opt_ctrl_rx_extra, "on", "offer more receive modes"),
	NET_FLAG("ctrl_mac_addr", opt_ctrl_mac_addr, "on", "let the driver change the address"),
	NET_FLAG("guest_announce", opt_guest_announce, "on", "have the driver announce itself"),
	NET_OFF("mq", opt_mq),
	NET_OFF("csum", opt_csum),
	NET_OFF("gso", opt_gso),
	NET_OFF("guest_csum", opt_guest_csum),
	NET_OFF("guest_tso4", opt_guest_tso4),
	NET_OFF("guest_tso6", opt_guest_tso6),
	NET_OFF("guest_ecn", opt_guest_ecn),
	NET_OFF("guest_ufo", opt_guest_ufo),
	NET_OFF("host_tso4", opt_host_tso4),
	NET_OFF("host_tso6", opt_host_tso6),
	NET_OFF("host_ecn", opt_host_ecn),
	NET_OFF("host_ufo", opt_host_ufo),
	PROP_END
};

static const struct state_desc net_state = {
	.name = "virtio-net",
	.version = 11,
	.min_version = 11,
	.fields = virtio_state_fields,
};

const struct device_type virtio_net_type = {
	.name = "virtio-net-device",
	.alias = "virtio-net",
	.desc = "virtio network device",
	.category = DEVICE_NETWORK,
	.bus = "virtio-bus",
	.instance_size = sizeof(struct virtio_net),
	.props = net_props,
	.user_creatable = true,
	.realize = net_realize,
	.unrealize = net_unrealize,
	.reset = virtio_device_reset,
	.state = &net_state,
};

/*
 * hw/net/virtio-net-control.c - the control queue of the virtio network device, and the filter of
 * incoming frames that it governs.
 *
 * Source: Virtio 1.2, 5.1.6.5 (control virtqueue).
 */
#include "hw/net/virtio-net.h"

#include "hw/machine.h"

#include <linux/if_ether.h>

#define VLAN_ID_MASK 0xfff

static const u8 broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

void virtio_net_reset_filter(struct virtio_net *net)
{
	net->filter = (struct net_filter){ .promisc = 1 };
	/* Until the driver says that it filters VLANs, all of them pass. */
	memset(net->filter.vlans, 0xff, sizeof(net->filter.vlans));
}

static bool in_table(const struct net_filter *f, u32 from, u32 to, const u8 *mac)
{
	for (u32 i = from; i < to; i++)
		if (!memcmp(f->macs[i], mac, 6))
			return true;
	return false;
}

static bool wants_vlan(const struct net_filter *f, const u8 *frame, size_t len)
{
	u16 id;

	if (len < ETH_HLEN + 2 || (frame[12] << 8 | frame[13]) != ETH_P_8021Q)
		return true;
	id = (frame[14] << 8 | frame[15]) & VLAN_ID_MASK;
	return f->vlans[id / 8] >> (id % 8) & 1;
}

bool virtio_net_wants(const struct virtio_net *net, const u8 *frame, size_t len)
{
	const struct net_filter *f = &net->filter;

	if (f->promisc)
		return true;
	if (!wants_vlan(f, frame, len))
		return false;
	if (frame[0] & 1) {
		if (!memcmp(frame, broadcast, 6))
			return !f->nobcast;
		if (f->nomulti)
			return false;
		return f->allmulti || f->multi_overflow ||
		       in_table(f, f->first_multi, f->in_use, frame);
	}
	if (f->nouni)
		return false;
	return f->alluni || f->uni_overflow || !memcmp(frame, net->mac, 6) ||
	       in_table(f, 0, f->first_multi, frame);
}

void virtio_net_rx_filter(struct net_client *nc, struct net_rx_filter *out)
{
	struct virtio_net *net = nc->opaque;
	const struct net_filter *f = &net->filter;

	*out = (struct net_rx_filter){
		.promiscuous = f->promisc,
		.broadcast = !f->nobcast,
		.unicast_overflow = f->uni_overflow,
		.multicast_overflow = f->multi_overflow,
		.unicast = f->nouni    ? NET_RX_NONE
			   : f->alluni ? NET_RX_ALL
				       : NET_RX_NORMAL,
		.multicast = f->nomulti    ? NET_RX_NONE
			     : f->allmulti ? NET_RX_ALL
					   : NET_RX_NORMAL,
		.vlan = virtio_has_feature(&net->vdev, VIRTIO_NET_F_CTRL_VLAN) ? NET_RX_NORMAL
									       : NET_RX_ALL,
		.unicast_macs = f->macs,
		.nunicast = f->first_multi,
		.multicast_macs = f->macs + f->first_multi,
		.nmulticast = f->in_use - f->first_multi,
		.vlans = f->vlans,
	};
	net->filter_told = false;
}

static void filter_changed(struct virtio_net *net)
{
	struct device *dev = &net->vdev.dev;
	const struct machine_host *host = dev->machine->host;
	g_autofree char *path = NULL;

	if (net->filter_told || !host || !host->rx_filter_changed)
		return;
	net->filter_told = true;
	path = device_path(dev);
	host->rx_filter_changed(host->opaque, device_user_id(dev), path);
}

/* Data that follow class and command; short ones are the driver's fault. */
static bool get_data(const struct virtqueue_elem *elem, u64 *at, void *buf, u64 len)
{
	u64 n = virtq_elem_read(elem, *at, buf, len);

	*at += n;
	return n == len;
}

static bool control_rx(struct virtio_net *net, u8 cmd, const struct virtqueue_elem *elem, u64 at)
{
	struct net_filter *f = &net->filter;
	u8 *const flags[] = {
		[VIRTIO_NET_CTRL_RX_PROMISC] = &f->promisc,
		[VIRTIO_NET_CTRL_RX_ALLMULTI] = &f->allmulti,
		[VIRTIO_NET_CTRL_RX_ALLUNI] = &f->alluni,
		[VIRTIO_NET_CTRL_RX_NOMULTI] = &f->nomulti,
		[VIRTIO_NET_CTRL_RX_NOUNI] = &f->nouni,
		[VIRTIO_NET_CTRL_RX_NOBCAST] = &f->nobcast,
	};
	unsigned feature = cmd <= VIRTIO_NET_CTRL_RX_ALLMULTI ? VIRTIO_NET_F_CTRL_RX
							      : VIRTIO_NET_F_CTRL_RX_EXTRA;
	u8 on;

	if (cmd >= ARRAY_SIZE(flags) || !virtio_has_feature(&net->vdev, feature) ||
	    !get_data(elem, &at, &on, 1))
		return false;
	*flags[cmd] = !!on;
	return true;
}

/* One of the two lists of TABLE_SET: a count and as many addresses. */
static bool get_list(struct net_filter *f, const struct virtqueue_elem *elem, u64 *at, u8 *overflow)
{
	__virtio32 le;
	u32 n;

	if (!get_data(elem, at, &le, sizeof(le)))
		return false;
	n = GUINT32_FROM_LE(le);
	if (n > (elem->out_len - *at) / 6)
		return false;
	*overflow = n > NET_MAC_ENTRIES - f->in_use;
	if (!*overflow) {
		get_data(elem, at, f->macs[f->in_use], n * 6ull);
		f->in_use += n;
	} else {
		*at += n * 6ull;
	}
	return true;
}

static bool control_mac(struct virtio_net *net, u8 cmd, const struct virtqueue_elem *elem, u64 at)
{
	struct net_filter f = net->filter;
	u8 mac[6];

	switch (cmd) {
	case VIRTIO_NET_CTRL_MAC_ADDR_SET:
		if (!virtio_has_feature(&net->vdev, VIRTIO_NET_F_CTRL_MAC_ADDR) ||
		    !get_data(elem, &at, mac, 6))
			return false;
		memcpy(net->mac, mac, 6);
		memcpy(net->nc->mac, mac, 6);
		return true;
	case VIRTIO_NET_CTRL_MAC_TABLE_SET:
		f.in_use = 0;
		if (!get_list(&f, elem, &at, &f.uni_overflow))
			return false;
		f.first_multi = f.in_use;
		if (!get_list(&f, elem, &at, &f.multi_overflow))
			return false;
		net->filter = f;
		return true;
	default: return false;
	}
}

static bool control_vlan(struct virtio_net *net, u8 cmd, const struct virtqueue_elem *elem, u64 at)
{
	__virtio16 le;
	u16 id;

	if (!virtio_has_feature(&net->vdev, VIRTIO_NET_F_CTRL_VLAN) ||
	    !get_data(elem, &at, &le, sizeof(le)))
		return false;
	id = GUINT16_FROM_LE(le);
	if (id > VLAN_ID_MASK || cmd > VIRTIO_NET_CTRL_VLAN_DEL)
		return false;
	if (cmd == VIRTIO_NET_CTRL_VLAN_ADD)
		net->filter.vlans[id / 8] |= 1u << (id % 8);
	else
		net->filter.vlans[id / 8] &= ~(1u << (id % 8));
	return true;
}

static bool control_announce(struct virtio_net *net, u8 cmd)
{
	if (cmd != VIRTIO_NET_CTRL_ANNOUNCE_ACK || !(net->status & VIRTIO_NET_S_ANNOUNCE))
		return false;
	net->status &= ~VIRTIO_NET_S_ANNOUNCE;
	return true;
}

static bool control(struct virtio_net *net, const struct virtqueue_elem *elem)
{
	struct virtio_net_ctrl_hdr hdr;
	bool done;
	u64 at = 0;

	if (!get_data(elem, &at, &hdr, sizeof(hdr)))
		return false;
	switch (hdr.class) {
	case VIRTIO_NET_CTRL_RX: done = control_rx(net, hdr.cmd, elem, at); break;
	case VIRTIO_NET_CTRL_MAC: done = control_mac(net, hdr.cmd, elem, at); break;
	case VIRTIO_NET_CTRL_VLAN: done = control_vlan(net, hdr.cmd, elem, at); break;
	case VIRTIO_NET_CTRL_ANNOUNCE: return control_announce(net, hdr.cmd);
	default: return false;
	}
	if (done)
		filter_changed(net);
	return done;
}

void virtio_net_handle_ctrl(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq))) {
			virtio_net_ctrl_ack ack;

			if (elem->in_len < sizeof(ack)) {
				virtio_error(vdev, "control command without room for the answer");
				virtqueue_detach(vq, elem);
				return;
			}
			ack = control(virtio_net_of(vdev), elem) ? VIRTIO_NET_OK : VIRTIO_NET_ERR;
			virtq_elem_write(elem, 0, &ack, sizeof(ack));
			virtqueue_push(vq, elem, sizeof(ack));
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

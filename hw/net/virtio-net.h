/*
 * hw/net/virtio-net.h - what the files of the virtio network device share.
 */
#ifndef HW_NET_VIRTIO_NET_H
#define HW_NET_VIRTIO_NET_H

#include "hw/virtio/virtio.h"
#include "net/net.h"
#include "util/timer.h"

#include <linux/virtio_net.h>

#define NET_MAC_ENTRIES 64         /* addresses in the filter table */
#define NET_VLAN_BYTES  (4096 / 8) /* one bit for each VLAN */

/* What the driver set through the control queue: which frames it wants. Migrates. */
struct net_filter {
	u8 promisc, allmulti, alluni, nomulti, nouni, nobcast;
	u8 multi_overflow, uni_overflow; /* more addresses than the table takes: pass all */
	u32 in_use;                      /* addresses in the table */
	u32 first_multi;                 /* the multicast ones begin here */
	u8 macs[NET_MAC_ENTRIES][6];
	u8 vlans[NET_VLAN_BYTES];
};

struct virtio_net {
	struct virtio_device vdev;
	struct net_client *nc;
	struct virtqueue *rx, *tx, *ctrl;
	u8 mac[6];      /* in use; migrates, likewise those below */
	u16 status;     /* VIRTIO_NET_S_* */
	u32 tx_waiting; /* chains may be left: see tx_blocked and tx_timer */
	struct net_filter filter;
	bool filter_told;      /* rx_filter_changed() was called, and nobody has asked since */
	bool tx_blocked;       /* a frame waits for the back end; until peer_ready() */
	bool announce;         /* came by migration: tell the driver when the VM runs */
	struct timer tx_timer; /* goes on after a burst */
	u8 *frame;             /* NET_MAX_FRAME bytes, to join the pieces of a frame */

	/* Properties. */
	struct net_client *opt_netdev;
	u8 opt_mac[6];
	u16 opt_rx_queue_size, opt_tx_queue_size, opt_host_mtu;
	bool opt_mrg_rxbuf, opt_status, opt_ctrl_vq, opt_ctrl_rx, opt_ctrl_vlan, opt_ctrl_rx_extra;
	bool opt_ctrl_mac_addr, opt_guest_announce;
	bool opt_mq, opt_csum, opt_gso, opt_guest_csum, opt_guest_tso4, opt_guest_tso6;
	bool opt_guest_ecn, opt_guest_ufo, opt_host_tso4, opt_host_tso6, opt_host_ecn;
	bool opt_host_ufo;
	s32 opt_bootindex;
};

static inline struct virtio_net *virtio_net_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_net, vdev);
}

/* hw/net/virtio-net-control.c: the control queue and what it governs. */
void virtio_net_handle_ctrl(struct virtio_device *vdev, struct virtqueue *vq);
bool virtio_net_wants(const struct virtio_net *net, const u8 *frame, size_t len);
void virtio_net_reset_filter(struct virtio_net *net);
void virtio_net_rx_filter(struct net_client *nc, struct net_rx_filter *f); /* of net_client_ops */

/* hw/net/virtio-net-state.c */
int virtio_net_save(struct virtio_device *vdev, struct state_writer *w, GError **err);
int virtio_net_load(struct virtio_device *vdev, struct state_reader *r, int version, GError **err);

#endif

/*
 * net/net.h - packets: the two ends of a link, network back ends, NIC options.
 *
 * A client is one end of a link: the device's side (a NIC) or the host's side (-netdev).
 * Option names: QEMU's manual (invocation, -netdev, -nic, -net).
 * All functions: main thread or a vCPU thread, machine lock held.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "util/base.h"

#include <json-glib/json-glib.h>
#include <sys/uio.h>

#define NET_MAX_FRAME 65550 /* bytes: 64 KiB of payload and an Ethernet header with VLAN tag */

struct net_client;

/* Which frames of a kind a NIC takes: those of its table, none, all. */
enum net_rx_mode { NET_RX_NORMAL, NET_RX_NONE, NET_RX_ALL };

/* The frames that the guest's driver wants. The tables belong to the NIC. */
struct net_rx_filter {
	bool promiscuous, broadcast;
	bool unicast_overflow, multicast_overflow; /* more addresses than the table takes */
	enum net_rx_mode unicast, multicast, vlan;
	const u8 (*unicast_macs)[6], (*multicast_macs)[6];
	unsigned nunicast, nmulticast;
	const u8 *vlans; /* bit per VLAN, 512 bytes */
};

struct net_client_ops {
	const char *type; /* "user", "tap", "nic", ... */

	/*
	 * receive() - a frame from the peer, without FCS.
	 *
	 * Return: true if it was taken or dropped for good; false if there is no room: the frame
	 * is kept in the queue, and the client calls net_receive_ready() when it has room again.
	 */
	bool (*receive)(struct net_client *nc, const struct iovec *iov, int niov);

	/* can_receive() - cheap test before receive(); NULL: always. */
	bool (*can_receive)(struct net_client *nc);

	void (*link_changed)(struct net_client *nc); /* nc->link_down changed; may be NULL */
	/* peer_ready() - frames that were queued for the peer went out: send more; may be NULL. */
	void (*peer_ready)(struct net_client *nc);
	/* rx_filter() - fill in @f; the next change is reported again. NULL: no NIC with one. */
	void (*rx_filter)(struct net_client *nc, struct net_rx_filter *f);
	void (*destroy)(struct net_client *nc);
};

struct net_client {
	const struct net_client_ops *ops;
	char *name;              /* id; unique among clients */
	char *info;              /* for "info network"; may be NULL */
	struct net_client *peer; /* NULL: not connected; frames are dropped */
	void *opaque;            /* the owner's */
	bool is_nic;
	bool link_down;
	u8 mac[6];    /* of a NIC: for announcements and "info network" */
	GQueue queue; /* frames that came for this client and wait; private */
	u64 queue_bytes;
	bool delivering; /* private: receive() is running */
};

/*
 * net_send() - a frame from @nc to its peer; dropped if there is none or a link is down.
 *
 * Return: true if it was delivered or dropped, false if it was queued (a copy): the sender should
 * stop until its peer_ready(). A sender that cannot stop loses frames once the queue holds
 * 10000 of them.
 */
bool net_send(struct net_client *nc, const void *frame, size_t len);
bool net_sendv(struct net_client *nc, const struct iovec *iov, int niov);

/* net_receive_ready() - @nc can take frames again: deliver its queue. */
void net_receive_ready(struct net_client *nc);

/* net_peer_can_receive() - whether net_send() would deliver at once. */
bool net_peer_can_receive(const struct net_client *nc);

/* net_purge() - drop what is queued for @nc (device reset). */
void net_purge(struct net_client *nc);

/* ---- NICs ---------------------------------------------------------------------------------- */

struct net_nic_names {
	const char *id;     /* of the device; NULL: MODEL.N becomes the client's name */
	const char *model;  /* device type, for "info network" */
	const char *netdev; /* id of the back end; NULL: not connected */
};

/*
 * net_nic_create() - the device's end of a link.
 * @ops: type should be "nic".
 * @mac: station address. All zero: the next of 52:54:00:12:34:56 + n is stored there.
 *
 * Return: the client; free with net_client_free(). NULL with @err: no such netdev, in use.
 */
struct net_client *net_nic_create(const struct net_client_ops *ops,
				  const struct net_nic_names *names, u8 mac[6], void *opaque,
				  GError **err);
void net_client_free(struct net_client *nc); /* disconnects the peer, drops the queue */

/* mac_parse() - "52:54:00:12:34:56" (or with '-'). Return 0 or -EINVAL. */
int mac_parse(const char *text, u8 mac[6]);
char *mac_text(const u8 mac[6]); /* with ':'; g_free() */

/* What -nic and -net nic ask the machine for. */
struct nic_info {
	char *model;  /* NULL: the machine's default; "virtio" means virtio-net on its bus */
	char *netdev; /* id of the back end or hub port; NULL: not connected */
	char *name;   /* id for the device; NULL */
	char *addr;   /* addr= (PCI); NULL */
	u8 mac[6];
	bool has_mac;
	s64 nvectors; /* -1: not given */
	bool claimed; /* set by the machine when a device was made */
};
GPtrArray *net_nics(void); /* of struct nic_info *, in the order given; owned by net/ */

/* ---- Back ends and options ------------------------------------------------------------------ */

/*
 * net_netdev_create() - -netdev and netdev_add: "type", "id" and the type's options.
 * Return: the client, registered; NULL with @err.
 */
struct net_client *net_netdev_create(JsonObject *opts, GError **err);

/* net_netdev_remove() - netdev_del; a NIC that used it stays, unconnected. -ENOENT with @err. */
int net_netdev_remove(const char *id, GError **err);

/* net_nic_option(), net_legacy_option() - -nic and -net; implied first keys "type".
 * "none" means no default NIC. Return 0 or -errno with @err. */
int net_nic_option(JsonObject *opts, GError **err);
int net_legacy_option(JsonObject *opts, GError **err);

/*
 * net_options_done() - after all options: connects "-net" clients to hub 0, and if there was no
 * -nic, -net nor -netdev option and @defaults, asks for one NIC on a user network.
 */
int net_options_done(bool defaults, GError **err);

struct net_client *net_find(const char *name);             /* back ends and NICs */
int net_set_link(const char *name, bool up, GError **err); /* set_link; both ends */
void net_foreach(void (*fn)(struct net_client *nc, void *opaque), void *opaque);
char *net_types_help(void);   /* -netdev help */
char *net_info_text(void);    /* info network */
char *net_usernet_text(void); /* info usernet */

/*
 * net_hostfwd() - hostfwd_add and hostfwd_remove.
 * @id:   of a user network; NULL: the first.
 * @text: "tcp:ADDR:PORT-ADDR:PORT"; for removal without the guest's half.
 *
 * Return: 0 or -errno with @err.
 */
int net_hostfwd(const char *id, const char *text, bool add, GError **err);

/*
 * State of user networks, in the format of libslirp.
 *
 * net_user_load(): @read fills the buffer from what net_user_save() gave.
 * Return: 0; -EINVAL: not what libslirp takes.
 */
bool net_is_user(const struct net_client *nc);
int net_user_state_version(void);
void net_user_save(struct net_client *nc, GByteArray *out);
int net_user_load(struct net_client *nc, int version,
		  void (*read)(void *buf, size_t len, void *opaque), void *opaque);

/* net_announce_self() - every NIC whose link is up sends a RARP frame, so that switches learn
 * where its address is now; one round. */
void net_announce_self(void);

/* net_cleanup() - close back ends (runs downscripts) at exit. */
void net_cleanup(void);

#endif

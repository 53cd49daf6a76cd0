/*
 * net/net-priv.h - what the back ends of networks share.
 */
#ifndef NET_NET_PRIV_H
#define NET_NET_PRIV_H

#include "net/net.h"

#define NET_QUEUE_FRAMES 10000 /* waiting for one client; more are dropped */
#define NET_QUEUE_BYTES  (64 * MiB)

struct netdev_type {
	const char *name;
	/* Takes the options it knows from @opts; the caller refuses the rest. NULL with @err. */
	struct net_client *(*create)(const char *id, JsonObject *opts, GError **err);
};

extern const struct netdev_type netdev_user, netdev_tap, netdev_bridge, netdev_socket,
	netdev_stream, netdev_dgram, netdev_hubport;

/* net_client_new() - an unconnected client, registered under @name. */
struct net_client *net_client_new(const struct net_client_ops *ops, const char *name, void *opaque);
void net_connect(struct net_client *a, struct net_client *b);
void net_disconnect(struct net_client *nc);
void net_set_info(struct net_client *nc, char *info); /* takes it */
/* net_check_id() - a name that may be a new client's. 0 or -EINVAL with @err. */
int net_check_id(const char *id, GError **err);
/* net_unused_name() - PREFIX.N. */
char *net_unused_name(const char *prefix);

/* Options that hold text, several texts, or QMP's list of {"str": text}. Removed from @o.
 * Return: NULL-terminated, to be freed with g_strfreev(). */
char **net_take_list(JsonObject *o, const char *key);

/* net_iov_flat() - the frame in one piece: in place, or copied to @buf of NET_MAX_FRAME bytes.
 * NULL if it is longer. */
const u8 *net_iov_flat(const struct iovec *iov, int niov, u8 *buf, size_t *len);

/* ---- fd.c ---- */
#define NET_FD_HEADER_MAX 24

/* A descriptor that gives and takes whole frames; not blocking. */
struct net_fd {
	struct net_client *nc;
	int fd;     /* -1: not open yet */
	int header; /* bytes before each frame, at most NET_FD_HEADER_MAX */
	GSource *in, *out;
};

/* net_fd_read() - give what arrives to the client's peer, from now on; stops by itself when the
 * peer has no room: to be called again from peer_ready(). */
void net_fd_read(struct net_fd *f);
/*
 * net_fd_sent() - what became of a frame.
 * @ret: of the call that wrote it; errno is as it left it.
 *
 * Return: for receive(): false if the descriptor had no room; net_receive_ready() is called when
 * it has. Any other error loses the frame, as a cable does.
 */
bool net_fd_sent(struct net_fd *f, ssize_t ret);
void net_fd_close(struct net_fd *f);

/* ---- hub.c ---- */
/* hub_port() - a new port of hub @id, registered. */
struct net_client *hub_port(u64 id, const char *name);

/* ---- user.c ---- */
char *user_connections(struct net_client *nc);
bool is_user(const struct net_client *nc);
int user_forward(struct net_client *nc, const char *text, bool add, GError **err);

/* ---- user-opts.c ---- */
struct user_opts {
	bool ipv4, ipv6, restricted;
	u32 net, mask, host, dhcp, dns; /* host byte order */
	u8 prefix6[16], host6[16], dns6[16];
	u64 prefix6_len;
	char *hostname, *tftp, *tftp_server_name, *bootfile, *domainname;
	char **dnssearch; /* NULL-terminated */
	char **hostfwd;
};
int user_opts_take(JsonObject *o, struct user_opts *u, GError **err);
void user_opts_clear(struct user_opts *u);

struct user_forward {
	bool udp;
	u32 host_addr, guest_addr; /* host byte order; guest 0: the first DHCP address */
	u16 host_port, guest_port;
};
/* "[tcp|udp]:[HOSTADDR]:HOSTPORT[-[GUESTADDR]:GUESTPORT]"; the guest's half is absent when
 * @removal. */
int user_forward_parse(const char *text, bool removal, struct user_forward *f, GError **err);

#endif

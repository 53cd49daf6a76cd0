/*
 * net/dgram.c - a frame a datagram: -netdev dgram, and the mcast=, udp= and fd= forms of
 * -netdev socket, whose stream forms are passed on.
 */
#include "net/stream.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/iov.h"
#include "util/keyval.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

struct dgram {
	struct net_fd sock;
	struct sockaddr_storage peer;
	socklen_t peer_len; /* 0: the socket is connected */
};

static void dgram_peer_ready(struct net_client *nc)
{
	net_fd_read(&((struct dgram *)nc->opaque)->sock);
}

static bool dgram_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct dgram *d = nc->opaque;
	struct msghdr msg = {
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = MIN(niov, IOV_MAX),
		.msg_name = d->peer_len ? &d->peer : NULL,
		.msg_namelen = d->peer_len,
	};

	return net_fd_sent(&d->sock, sendmsg(d->sock.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
}

static void dgram_destroy(struct net_client *nc)
{
	struct dgram *d = nc->opaque;

	net_fd_close(&d->sock);
	g_free(d);
}

static const struct net_client_ops dgram_ops = {
	.type = "dgram",
	.receive = dgram_receive,
	.peer_ready = dgram_peer_ready,
	.destroy = dgram_destroy,
};

struct net_client *dgram_open(const char *id, int fd, const struct sockaddr_storage *peer,
			      socklen_t peer_len, char *info)
{
	struct dgram *d = g_new0(struct dgram, 1);

	d->sock.fd = fd;
	d->peer_len = peer ? peer_len : 0;
	if (peer)
		d->peer = *peer;
	d->sock.nc = net_client_new(&dgram_ops, id, d);
	net_set_info(d->sock.nc, info);
	net_fd_read(&d->sock);
	return d->sock.nc;
}

/* ---- Addresses ---- */

struct endpoint {
	struct sockaddr_storage ss;
	socklen_t len;
};

static int resolve(const char *host, const char *port, struct endpoint *e, GError **err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_family = AF_INET };
	struct addrinfo *list;
	int ret;

	if (strchr(host, ':'))
		hints.ai_family = AF_INET6;
	if (!host[0])
		hints.ai_flags = AI_PASSIVE;
	ret = getaddrinfo(host[0] ? host : NULL, port, &hints, &list);
	if (ret) {
		error_set(err, "cannot resolve udp:%s:%s: %s", host, port, gai_strerror(ret));
		return -EINVAL;
	}
	memcpy(&e->ss, list->ai_addr, list->ai_addrlen);
	e->len = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

static int resolve_text(const char *text, struct endpoint *e, GError **err)
{
	struct socket_address *a = socket_address_parse(text, err);
	int ret = a ? resolve(a->host, a->port, e, err) : -EINVAL;

	socket_address_free(a);
	return ret;
}

static int unix_endpoint(const char *path, struct endpoint *e, GError **err)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&e->ss;

	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(un->sun_path)) {
		error_set(err, "unix socket path '%s' is longer than %zu bytes", path,
			  sizeof(un->sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(un->sun_path, path, strlen(path));
	e->len = sizeof(*un);
	return 0;
}

static bool is_multicast(const struct endpoint *e)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&e->ss;

	return in->sin_family == AF_INET && IN_MULTICAST(ntohl(in->sin_addr.s_addr));
}

/* @shared: others may bind the same address (members of a multicast group on one host). */
static int bound_socket(const struct endpoint *local, const char *what, bool shared, GError **err)
{
	int fd = socket(local->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = shared;
	const struct sockaddr_un *un = (const struct sockaddr_un *)&local->ss;

	if (fd < 0) {
		error_set_errno(err, errno, "cannot make a socket for '%s'", what);
		return -EIO;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (local->ss.ss_family == AF_UNIX)
		unlink(un->sun_path);
	if (bind(fd, (const struct sockaddr *)&local->ss, local->len)) {
		error_set_errno(err, errno, "cannot bind to '%s'", what);
		close(fd);
		return -EIO;
	}
	return fd;
}

/* Everybody in the group gets every frame, we too: a sender hears itself, as with any hub of
 * this kind. The loop is what connects emulators on one host. */
static int multicast_socket(const struct endpoint *group, const char *text, const char *local,
			    GError **err)
{
	struct ip_mreq mreq = {
		.imr_multiaddr = ((const struct sockaddr_in *)&group->ss)->sin_addr,
		.imr_interface.s_addr = htonl(INADDR_ANY),
	};
	int fd, on = 1;

	if (local && inet_pton(AF_INET, local, &mreq.imr_interface) != 1) {
		error_set(err, "'localaddr=%s': expected an IPv4 address", local);
		return -EINVAL;
	}
	fd = bound_socket(group, text, true, err);
	if (fd < 0)
		return fd;
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &on, sizeof(on)) ||
	    (local && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &mreq.imr_interface,
				 sizeof(mreq.imr_interface)))) {
		error_set_errno(err, errno, "cannot join multicast group '%s'", text);
		close(fd);
		return -EIO;
	}
	return fd;
}

/* ---- -netdev socket ---- */

static struct net_client *open_mcast(const char *id, const char *text, const char *local,
				     GError **err)
{
	struct endpoint group;
	int fd;

	if (resolve_text(text, &group, err))
		return NULL;
	if (!is_multicast(&group)) {
		error_set(err,
			  "'mcast=%s' is no IPv4 multicast address (224.0.0.0 to "
			  "239.255.255.255)",
			  text);
		return NULL;
	}
	fd = multicast_socket(&group, text, local, err);
	if (fd < 0)
		return NULL;
	return dgram_open(id, fd, &group.ss, group.len, g_strdup_printf("mcast=%s", text));
}

static struct net_client *open_udp(const char *id, const char *text, const char *local,
				   GError **err)
{
	struct endpoint peer, own;
	int fd;

	if (!local) {
		error_set(err, "'udp=%s' needs localaddr=HOST:PORT", text);
		return NULL;
	}
	if (resolve_text(text, &peer, err) || resolve_text(local, &own, err))
		return NULL;
	fd = bound_socket(&own, local, false, err);
	if (fd < 0)
		return NULL;
	return dgram_open(id, fd, &peer.ss, peer.len,
			  g_strdup_printf("udp=%s,localaddr=%s", text, local));
}

static struct net_client *open_fd(const char *id, const char *text, GError **err)
{
	struct socket_address *addr;
	int fd = fd_take(text, err), type = 0;
	socklen_t len = sizeof(type);

	if (fd < 0)
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    (type != SOCK_STREAM && type != SOCK_DGRAM)) {
		error_set(err, "'fd=%s' is neither a stream nor a datagram socket", text);
		close(fd);
		return NULL;
	}
	if (type == SOCK_DGRAM) {
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		return dgram_open(id, fd, NULL, 0, g_strdup_printf("fd=%s", text));
	}
	addr = g_new0(struct socket_address, 1);
	addr->type = SOCKET_FD;
	addr->fd = g_strdup_printf("%d", fd);
	return stream_open(id, addr, false, 0, err);
}

static struct net_client *open_stream(const char *id, const char *text, bool server, GError **err)
{
	struct socket_address *addr = socket_address_parse(text, err);

	return addr ? stream_open(id, addr, server, 0, err) : NULL;
}

static struct net_client *socket_create(const char *id, JsonObject *o, GError **err)
{
	static const char *const forms[] = { "fd", "listen", "connect", "mcast", "udp" };
	g_autofree char *local = keyval_take_str(o, "localaddr");
	g_autofree char *text = NULL;
	int form = -1;

	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!json_object_has_member(o, forms[i]))
			continue;
		if (form >= 0) {
			error_set(err, "%s= and %s= exclude each other", forms[form], forms[i]);
			return NULL;
		}
		form = i;
	}
	if (form < 0) {
		error_set(err, "a socket needs one of fd=, listen=, connect=, mcast=, udp=");
		return NULL;
	}
	if (local && form < 3) {
		error_set(err, "'localaddr=%s' is for mcast= and udp=", local);
		return NULL;
	}
	text = keyval_take_str(o, forms[form]);
	switch (form) {
	case 0: return open_fd(id, text, err);
	case 1: return open_stream(id, text, true, err);
	case 2: return open_stream(id, text, false, err);
	case 3: return open_mcast(id, text, local, err);
	default: return open_udp(id, text, local, err);
	}
}

/* ---- -netdev dgram ---- */

/* "local" or "remote": an address of type inet, unix or fd. Return: 0, -ENOENT if absent. */
static int take_endpoint(JsonObject *o, const char *key, struct endpoint *e, char **fd, char **text,
			 GError **err)
{
	g_autoptr(JsonObject) holder = json_object_new();
	JsonNode *n = json_object_get_member(o, key);
	struct socket_address *a;
	int ret;

	if (!n)
		return -ENOENT;
	json_object_set_member(holder, "addr", json_node_copy(n));
	json_object_remove_member(o, key);
	a = socket_address_take(holder, err);
	if (!a)
		return -EINVAL;
	*text = socket_address_text(a);
	if (a->type == SOCKET_FD)
		*fd = g_strdup(a->fd);
	ret = a->type == SOCKET_FD     ? 0
	      : a->type == SOCKET_UNIX ? unix_endpoint(a->path, e, err)
				       : resolve(a->host, a->port, e, err);
	socket_address_free(a);
	return ret ? -EINVAL : 0;
}

static struct net_client *dgram_pair(const char *id, const struct endpoint *own,
				     const struct endpoint *peer, const char *own_text,
				     const char *peer_text, GError **err)
{
	int fd = bound_socket(own, own_text, false, err);

	if (fd < 0)
		return NULL;
	return dgram_open(id, fd, &peer->ss, peer->len,
			  g_strdup_printf("local=%s,remote=%s", own_text, peer_text));
}

static struct net_client *dgram_create(const char *id, JsonObject *o, GError **err)
{
	struct endpoint own, peer;
	g_autofree char *own_fd = NULL, *peer_fd = NULL, *own_text = NULL, *peer_text = NULL;
	g_autofree char *number = NULL;
	int has_own = take_endpoint(o, "local", &own, &own_fd, &own_text, err), has_peer, fd;

	if (has_own == -EINVAL)
		return NULL;
	has_peer = take_endpoint(o, "remote", &peer, &peer_fd, &peer_text, err);
	if (has_peer == -EINVAL)
		return NULL;
	if (peer_fd || (own_fd && !has_peer)) {
		error_set(err, "an address of type fd is a whole connection: only local= has it");
		return NULL;
	}
	if (own_fd)
		return open_fd(id, own_fd, err);
	if (!has_peer && is_multicast(&peer)) {
		fd = multicast_socket(&peer, peer_text, NULL, err);
		return fd < 0 ? NULL
			      : dgram_open(id, fd, &peer.ss, peer.len,
					   g_strdup_printf("mcast=%s", peer_text));
	}
	if (has_own || has_peer) {
		error_set(err,
			  "dgram needs local= and remote=, a multicast remote=, or a local= of "
			  "type fd");
		return NULL;
	}
	return dgram_pair(id, &own, &peer, own_text, peer_text, err);
}

const struct netdev_type netdev_socket = { .name = "socket", .create = socket_create };
const struct netdev_type netdev_dgram = { .name = "dgram", .create = dgram_create };

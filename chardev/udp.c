/* chardev/udp.c - datagrams to and from one UDP peer: host=, port=, localaddr=, localport=. */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

struct char_udp {
	struct chardev c;
	struct char_stream stream;
};

static struct char_udp *udp_of(struct chardev *c)
{
	return container_of(c, struct char_udp, c);
}

static struct addrinfo *resolve(const char *host, const char *port, int family, bool passive,
				GError **err)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = passive ? AI_PASSIVE : 0,
	};
	struct addrinfo *list;
	int ret = getaddrinfo(host && host[0] ? host : NULL, port, &hints, &list);

	if (!ret)
		return list;
	error_set(err, "cannot resolve udp:%s:%s: %s", host ? host : "", port, gai_strerror(ret));
	return NULL;
}

struct udp_names {
	char *host, *port, *localaddr, *localport;
};

static int udp_socket(const struct udp_names *n, GError **err)
{
	const char *host = n->host && n->host[0] ? n->host : "localhost";
	struct addrinfo *peer = resolve(host, n->port, AF_UNSPEC, false, err), *local = NULL;
	int fd = -1, ret = -EADDRNOTAVAIL;

	if (!peer)
		return ret;
	if (n->localaddr || n->localport) {
		local = resolve(n->localaddr, n->localport ? n->localport : "0", peer->ai_family,
				true, err);
		if (!local)
			goto out;
	}
	fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (local && bind(fd, local->ai_addr, local->ai_addrlen)) ||
	    connect(fd, peer->ai_addr, peer->ai_addrlen)) {
		ret = -errno;
		error_set_errno(err, -ret, "cannot use udp:%s:%s@%s:%s", host, n->port,
				n->localaddr ? n->localaddr : "", n->localport ? n->localport : "");
		if (fd >= 0)
			close(fd);
	} else {
		ret = fd;
	}
	if (local)
		freeaddrinfo(local);
out:
	freeaddrinfo(peer);
	return ret;
}

static int udp_open(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *host = keyval_take_str(opts, "host");
	g_autofree char *port = keyval_take_str(opts, "port");
	g_autofree char *localaddr = keyval_take_str(opts, "localaddr");
	g_autofree char *localport = keyval_take_str(opts, "localport");
	const struct udp_names names = { host, port, localaddr, localport };
	struct char_stream *s = &udp_of(c)->stream;
	int fd;

	if (!port) {
		error_set(err, "udp needs port=");
		return -EINVAL;
	}
	fd = udp_socket(&names, err);
	if (fd < 0)
		return fd;
	chardev_set_filename(c, g_strdup("udp"));
	char_stream_init(s, c);
	s->is_socket = s->is_dgram = true;
	char_stream_start(s, fd, fd);
	c->open = true;
	return 0;
}

static void udp_close(struct chardev *c)
{
	char_stream_stop(&udp_of(c)->stream);
}

static size_t udp_write(struct chardev *c, const u8 *buf, size_t len)
{
	return char_stream_write(&udp_of(c)->stream, buf, len);
}

static size_t udp_queued(struct chardev *c)
{
	return char_stream_queued(&udp_of(c)->stream);
}

static void udp_update_input(struct chardev *c)
{
	char_stream_update_input(&udp_of(c)->stream);
}

const struct chardev_type char_type_udp = {
	.name = "udp",
	.size = sizeof(struct char_udp),
	.open = udp_open,
	.close = udp_close,
	.write = udp_write,
	.queued = udp_queued,
	.update_input = udp_update_input,
};

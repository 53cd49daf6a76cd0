/*
 * net/stream.c - frames over a stream socket, each behind its length (32 bits, big endian):
 * -netdev stream, and the listen=, connect= and fd= forms of -netdev socket.
 */
#include "net/stream.h"

#include "util/error.h"
#include "util/iov.h"
#include "util/keyval.h"
#include "util/source.h"

#include <sys/socket.h>
#include <unistd.h>

#define LENGTH_BYTES 4

struct stream {
	struct net_client *nc;
	struct socket_address *addr;
	u64 reconnect_ms;
	int listen_fd, fd; /* -1: none */
	GSource *listen, *in, *out, *timer;
	struct socket_connecting *connecting;
	GByteArray *unsent; /* what the socket did not take of the last frame */
	u8 *buf;            /* received bytes that are no whole frame yet */
	size_t fill;
};

static void watch(struct stream *s, GSource **source, int fd, GIOCondition cond,
		  GUnixFDSourceFunc fn)
{
	if (!*source)
		*source = source_watch_fd(fd, cond, fn, s);
}

static void describe(struct stream *s)
{
	g_autofree char *text = socket_address_text(s->addr);

	net_set_info(s->nc, g_strdup_printf("%s%s%s", s->listen_fd >= 0 ? "listening on " : "",
					    text, s->fd >= 0 ? ",connected" : ""));
}

static void start_connect(struct stream *s);

static gboolean retry(gpointer opaque)
{
	struct stream *s = opaque;

	source_drop(&s->timer);
	start_connect(s);
	return G_SOURCE_REMOVE;
}

static void retry_later(struct stream *s)
{
	if (s->reconnect_ms && !s->timer)
		s->timer = source_after_ms(s->reconnect_ms, retry, s);
}

static gboolean acceptable(gint fd, GIOCondition cond, gpointer opaque);

static void hang_up(struct stream *s)
{
	source_drop(&s->in);
	source_drop(&s->out);
	close(s->fd);
	s->fd = -1;
	s->fill = 0;
	g_byte_array_set_size(s->unsent, 0);
	describe(s);
	if (s->listen_fd >= 0)
		watch(s, &s->listen, s->listen_fd, G_IO_IN, acceptable);
	retry_later(s);
	net_receive_ready(s->nc); /* what was queued is lost, and the guest goes on */
}

/* ---- Receiving ---- */

static u32 frame_length(const u8 *p)
{
	return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* Hands on the whole frames in the buffer. Return: 0, -EAGAIN (the NIC is full), -EPROTO. */
static int deliver(struct stream *s)
{
	size_t at = 0;
	int ret = 0;

	while (s->fill - at >= LENGTH_BYTES && !ret) {
		u32 len = frame_length(s->buf + at);

		if (len > NET_MAX_FRAME) {
			ret = -EPROTO;
			break;
		}
		if (s->fill - at < LENGTH_BYTES + len)
			break;
		if (!net_send(s->nc, s->buf + at + LENGTH_BYTES, len))
			ret = -EAGAIN;
		at += LENGTH_BYTES + len;
	}
	memmove(s->buf, s->buf + at, s->fill - at);
	s->fill -= at;
	return ret;
}

static gboolean readable(gint fd, GIOCondition cond, gpointer opaque)
{
	struct stream *s = opaque;
	ssize_t n =
		recv(s->fd, s->buf + s->fill, LENGTH_BYTES + NET_MAX_FRAME - s->fill, MSG_DONTWAIT);
	int ret;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	if (n <= 0) {
		hang_up(s);
		return G_SOURCE_REMOVE;
	}
	s->fill += n;
	ret = deliver(s);
	if (!ret)
		return G_SOURCE_CONTINUE;
	if (ret == -EPROTO)
		hang_up(s);
	else
		source_drop(&s->in); /* until peer_ready() */
	return G_SOURCE_REMOVE;
}

static void stream_peer_ready(struct net_client *nc)
{
	struct stream *s = nc->opaque;

	if (s->fd < 0 || s->in)
		return;
	if (!deliver(s))
		watch(s, &s->in, s->fd, G_IO_IN, readable);
}

/* ---- Sending ---- */

static gboolean writable(gint fd, GIOCondition cond, gpointer opaque)
{
	struct stream *s = opaque;
	ssize_t n = send(s->fd, s->unsent->data, s->unsent->len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	if (n < 0) {
		hang_up(s);
		return G_SOURCE_REMOVE;
	}
	g_byte_array_remove_range(s->unsent, 0, n);
	if (s->unsent->len)
		return G_SOURCE_CONTINUE;
	source_drop(&s->out);
	net_receive_ready(s->nc);
	return G_SOURCE_REMOVE;
}

static bool stream_can_receive(struct net_client *nc)
{
	struct stream *s = nc->opaque;

	return !s->unsent->len;
}

static bool stream_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct stream *s = nc->opaque;
	size_t len = iov_size(iov, niov), done = 0;
	u32 be = GUINT32_TO_BE((u32)len);
	g_autofree u8 *frame = NULL;
	ssize_t n;

	if (s->fd < 0 || len > NET_MAX_FRAME)
		return true;
	frame = g_malloc(LENGTH_BYTES + len);
	memcpy(frame, &be, LENGTH_BYTES);
	iov_to_buf(iov, niov, 0, frame + LENGTH_BYTES, len);
	len += LENGTH_BYTES;
	n = send(s->fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		done = n;
	/* A broken connection is noticed by the reader, which is in the main thread. */
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return true;
	if (done < len) {
		g_byte_array_append(s->unsent, frame + done, len - done);
		watch(s, &s->out, s->fd, G_IO_OUT, writable);
	}
	return true;
}

/* ---- Connecting ---- */

static void use_connection(struct stream *s, int fd)
{
	s->fd = fd;
	socket_set_nodelay(fd, true);
	source_drop(&s->listen);
	watch(s, &s->in, fd, G_IO_IN, readable);
	describe(s);
}

static gboolean acceptable(gint listen_fd, GIOCondition cond, gpointer opaque)
{
	int fd = socket_accept(listen_fd);

	if (fd < 0)
		return G_SOURCE_CONTINUE;
	use_connection(opaque, fd);
	return G_SOURCE_REMOVE;
}

static void connected(void *opaque, int fd)
{
	struct stream *s = opaque;

	s->connecting = NULL;
	if (fd >= 0)
		use_connection(s, fd);
	else
		retry_later(s);
}

static void start_connect(struct stream *s)
{
	s->connecting = socket_connect_start(s->addr, connected, s);
}

static void stream_destroy(struct net_client *nc)
{
	struct stream *s = nc->opaque;

	source_drop(&s->listen);
	source_drop(&s->in);
	source_drop(&s->out);
	source_drop(&s->timer);
	socket_connect_cancel(s->connecting);
	if (s->fd >= 0)
		close(s->fd);
	if (s->listen_fd >= 0) {
		close(s->listen_fd);
		if (s->addr->type == SOCKET_UNIX && !s->addr->abstract)
			unlink(s->addr->path);
	}
	socket_address_free(s->addr);
	g_byte_array_unref(s->unsent);
	g_free(s->buf);
	g_free(s);
}

static const struct net_client_ops stream_ops = {
	.type = "stream",
	.receive = stream_receive,
	.can_receive = stream_can_receive,
	.peer_ready = stream_peer_ready,
	.destroy = stream_destroy,
};

struct net_client *stream_open(const char *id, struct socket_address *addr, bool server,
			       u64 reconnect_ms, GError **err)
{
	struct stream *s = g_new0(struct stream, 1);
	int fd;

	s->addr = addr;
	s->fd = s->listen_fd = -1;
	s->reconnect_ms = reconnect_ms;
	s->unsent = g_byte_array_new();
	s->buf = g_malloc(LENGTH_BYTES + NET_MAX_FRAME);
	s->nc = net_client_new(&stream_ops, id, s);
	if (reconnect_ms) {
		describe(s);
		start_connect(s);
		return s->nc;
	}
	fd = server ? socket_listen(addr, err) : socket_connect(addr, err);
	if (fd < 0) {
		net_client_free(s->nc);
		return NULL;
	}
	if (server) {
		s->listen_fd = fd;
		watch(s, &s->listen, fd, G_IO_IN, acceptable);
		describe(s);
	} else {
		use_connection(s, fd);
	}
	return s->nc;
}

static struct net_client *stream_create(const char *id, JsonObject *o, GError **err)
{
	struct socket_address *addr = socket_address_take(o, err);
	bool server = false;
	u64 ms = 0, seconds = 0;

	if (!addr)
		return NULL;
	if (keyval_take_bool(o, "server", &server, err) == -EINVAL ||
	    keyval_take_u64(o, "reconnect-ms", &ms, err) == -EINVAL ||
	    keyval_take_u64(o, "reconnect", &seconds, err) == -EINVAL)
		goto fail;
	if (!ms)
		ms = seconds * 1000;
	if (ms && (server || addr->type == SOCKET_FD)) {
		error_set(err, "reconnect-ms= is for clients with an address of type inet or unix");
		goto fail;
	}
	if (ms > G_MAXINT) {
		error_set(err, "the reconnect time is longer than %d ms", G_MAXINT);
		goto fail;
	}
	return stream_open(id, addr, server, ms, err);
fail:
	socket_address_free(addr);
	return NULL;
}

const struct netdev_type netdev_stream = { .name = "stream", .create = stream_create };

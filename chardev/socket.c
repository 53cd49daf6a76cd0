/* chardev/socket.c - stream sockets: server or client, unix, tcp, inherited; optionally telnet. */
#include "chardev/char-priv.h"
#include "chardev/telnet.h"

#include "util/error.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/socket.h"
#include "util/source.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct char_socket {
	struct chardev c;
	struct char_stream stream;
	struct socket_address *addr;
	bool server, nodelay, telnet;
	u64 reconnect_ms; /* 0: a lost client connection stays lost */
	int listen_fd;    /* -1: a client */
	GSource *listen;
	GSource *reconnect;
	struct socket_connecting *connecting;
	enum telnet_state telnet_state;
	ino_t socket_ino; /* of the socket file that we made; 0: none */
};

static struct char_socket *socket_of(struct chardev *c)
{
	return container_of(c, struct char_socket, c);
}

static bool is_unix(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX;
}

static void describe(struct char_socket *s)
{
	bool unix_ = s->addr->type == SOCKET_UNIX;
	int fd = s->listen_fd >= 0 ? s->listen_fd : s->stream.in_fd;
	g_autofree char *own = fd >= 0 ? socket_name_text(fd, s->listen_fd < 0) : NULL;
	g_autofree char *peer =
		s->c.open && !unix_ ? socket_name_text(s->stream.in_fd, true) : NULL;
	g_autofree char *asked = socket_address_text(s->addr);
	g_autofree char *text = NULL;
	const char *kind = s->telnet ? "telnet" : "tcp";

	if (unix_)
		text = g_strdup_printf("unix:%s", s->addr->path);
	else if (own && own[0] && is_unix(fd))
		text = g_strdup_printf("unix:%s", own);
	else if (own && own[0])
		text = g_strdup_printf("%s:%s", kind, own);
	else
		text = g_strdup(asked);
	chardev_set_filename(&s->c,
			     g_strdup_printf("%s%s%s%s%s", s->c.open ? "" : "disconnected:", text,
					     s->server ? ",server=on" : "",
					     peer && peer[0] ? " <-> " : "", peer ? peer : ""));
}

static gboolean accept_ready(gint fd, GIOCondition cond, gpointer opaque);
static void start_connect(struct char_socket *s);

static void watch_listener(struct char_socket *s)
{
	if (s->listen_fd >= 0 && !s->listen)
		s->listen = source_watch_fd(s->listen_fd, G_IO_IN, accept_ready, s);
}

static gboolean reconnect_dispatch(gpointer opaque)
{
	struct char_socket *s = opaque;

	source_drop(&s->reconnect);
	start_connect(s);
	return G_SOURCE_REMOVE;
}

static void reconnect_later(struct char_socket *s)
{
	if (s->reconnect_ms && !s->reconnect)
		s->reconnect = source_after_ms(s->reconnect_ms, reconnect_dispatch, s);
}

static void disconnect(struct char_socket *s)
{
	char_stream_stop(&s->stream);
	if (s->c.open) {
		chardev_set_open(&s->c, false);
		describe(s);
	}
}

static void on_hangup(struct char_stream *stream)
{
	struct char_socket *s = container_of(stream, struct char_socket, stream);

	disconnect(s);
	watch_listener(s);
	reconnect_later(s);
}

/* The peer left bytes that nobody reads. They are kept until the next peer comes. */
static void on_stuck_hup(struct char_stream *stream)
{
	watch_listener(container_of(stream, struct char_socket, stream));
}

static size_t on_filter(struct char_stream *stream, u8 *buf, size_t len)
{
	struct char_socket *s = container_of(stream, struct char_socket, stream);
	bool brk = false;

	len = telnet_filter(&s->telnet_state, buf, len, &brk);
	if (brk)
		chardev_send_break(&s->c);
	return len;
}

static void use_connection(struct char_socket *s, int fd)
{
	if (s->nodelay)
		socket_set_nodelay(fd, true);
	source_drop(&s->listen);
	s->telnet_state = TELNET_DATA;
	char_stream_start(&s->stream, fd, fd);
	if (s->telnet && s->server) {
		g_mutex_lock(&s->c.lock);
		char_stream_write(&s->stream, telnet_greeting, sizeof(telnet_greeting));
		g_mutex_unlock(&s->c.lock);
	}
	chardev_set_open(&s->c, true);
	describe(s);
	char_stream_update_input(&s->stream);
}

static gboolean accept_ready(gint listen_fd, GIOCondition cond, gpointer opaque)
{
	struct char_socket *s = opaque;
	int fd = socket_accept(listen_fd);

	/* The peer may have given up between poll and accept. */
	if (fd < 0)
		return G_SOURCE_CONTINUE;
	disconnect(s);
	use_connection(s, fd);
	return G_SOURCE_REMOVE;
}

/* ---- Client ---- */

static void connected(void *opaque, int fd)
{
	struct char_socket *s = opaque;

	s->connecting = NULL;
	if (fd >= 0)
		use_connection(s, fd);
	else
		reconnect_later(s);
}

static void start_connect(struct char_socket *s)
{
	s->connecting = socket_connect_start(s->addr, connected, s);
}

static int open_client(struct char_socket *s, GError **err)
{
	bool relock = machine_lock_held() && s->addr->type == SOCKET_INET;
	int fd;

	if (s->reconnect_ms) {
		start_connect(s);
		return 0;
	}
	if (relock)
		machine_unlock();
	fd = socket_connect(s->addr, err);
	if (relock)
		machine_lock();
	if (fd < 0)
		return fd;
	use_connection(s, fd);
	return 0;
}

/* ---- Server ---- */

static void wait_for_peer(struct char_socket *s)
{
	struct pollfd p = { .fd = s->listen_fd, .events = POLLIN };
	int fd;

	log_warn("chardev '%s': waiting for a connection on %s (wait=off does not wait)", s->c.id,
		 s->c.filename + strlen("disconnected:"));
	machine_unlock();
	do {
		poll(&p, 1, -1);
		fd = socket_accept(s->listen_fd);
	} while (fd < 0);
	machine_lock();
	use_connection(s, fd);
}

static int open_server(struct char_socket *s, bool wait, GError **err)
{
	struct stat st;

	s->listen_fd = socket_listen(s->addr, err);
	if (s->listen_fd < 0)
		return s->listen_fd;
	if (s->addr->type == SOCKET_UNIX && !s->addr->abstract && !stat(s->addr->path, &st))
		s->socket_ino = st.st_ino;
	describe(s);
	if (wait)
		wait_for_peer(s);
	else
		watch_listener(s);
	return 0;
}

/* ---- Options ---- */

static int refuse_unsupported(JsonObject *opts, GError **err)
{
	static const char *const names[] = { "websocket", "tn3270", "tls-creds", "tls-authz" };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		g_autofree char *value = keyval_take_str(opts, names[i]);

		if (value && strcmp(value, "off") && strcmp(value, "no") && value[0]) {
			error_set(err, "'%s=%s' is not supported; a plain or telnet socket is",
				  names[i], value);
			return -EINVAL;
		}
	}
	return 0;
}

static int take_reconnect(struct char_socket *s, JsonObject *opts, GError **err)
{
	u64 seconds = 0;
	int has_s = keyval_take_u64(opts, "reconnect", &seconds, err);
	int has_ms = has_s == -EINVAL
			     ? -EINVAL
			     : keyval_take_u64(opts, "reconnect-ms", &s->reconnect_ms, err);

	if (has_ms == -EINVAL)
		return -EINVAL;
	if (!has_s && !has_ms) {
		error_set(err, "reconnect= and reconnect-ms= exclude each other");
		return -EINVAL;
	}
	if (seconds > G_MAXINT / 1000 || s->reconnect_ms > G_MAXINT) {
		error_set(err, "the reconnect time is longer than %d ms", G_MAXINT);
		return -EINVAL;
	}
	if (!has_s)
		s->reconnect_ms = seconds * 1000;
	if (s->reconnect_ms && (s->server || s->addr->type == SOCKET_FD)) {
		error_set(err, "reconnect-ms= is for clients with path= or host= and port=");
		return -EINVAL;
	}
	return 0;
}

static int take_options(struct char_socket *s, JsonObject *opts, bool *wait, GError **err)
{
	int has_wait;

	if (refuse_unsupported(opts, err) ||
	    keyval_take_bool(opts, "server", &s->server, err) == -EINVAL ||
	    keyval_take_bool(opts, "nodelay", &s->nodelay, err) == -EINVAL ||
	    keyval_take_bool(opts, "telnet", &s->telnet, err) == -EINVAL)
		return -EINVAL;
	/* "delay" is the old spelling of nodelay=off, which is the default. */
	if (json_object_has_member(opts, "delay"))
		json_object_remove_member(opts, "delay");
	has_wait = keyval_take_bool(opts, "wait", wait, err);
	if (has_wait == -EINVAL)
		return -EINVAL;
	if (has_wait == -ENOENT)
		*wait = s->server;
	/* "nowait" of a client is pasted often and says what happens anyway. */
	if (!s->server && *wait) {
		error_set(err, "wait=on is for server=on");
		return -EINVAL;
	}
	return 0;
}

static void free_members(struct char_socket *s)
{
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	socket_address_free(s->addr);
}

static int socket_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_socket *s = socket_of(c);
	bool wait = false;
	int ret;

	s->listen_fd = -1;
	char_stream_init(&s->stream, c);
	s->stream.is_socket = true;
	s->stream.hangup = on_hangup;
	s->stream.stuck_hup = on_stuck_hup;
	s->addr = socket_address_take(opts, err);
	if (!s->addr)
		return -EINVAL;
	if (take_options(s, opts, &wait, err) || take_reconnect(s, opts, err) ||
	    keyval_reject_rest(opts, "-chardev socket", err)) {
		free_members(s);
		return -EINVAL;
	}
	if (s->telnet)
		s->stream.filter = on_filter;
	describe(s);
	ret = s->server ? open_server(s, wait, err) : open_client(s, err);
	if (ret)
		free_members(s);
	return ret;
}

static void socket_close(struct chardev *c)
{
	struct char_socket *s = socket_of(c);
	struct stat st;

	char_stream_flush(&s->stream, 1000);
	char_stream_stop(&s->stream);
	source_drop(&s->listen);
	source_drop(&s->reconnect);
	socket_connect_cancel(s->connecting);
	if (s->socket_ino && !stat(s->addr->path, &st) && st.st_ino == s->socket_ino)
		unlink(s->addr->path);
	free_members(s);
}

static size_t socket_write(struct chardev *c, const u8 *buf, size_t len)
{
	struct char_socket *s = socket_of(c);
	g_autoptr(GByteArray) escaped = s->telnet ? telnet_escape(buf, len) : NULL;

	if (!escaped)
		return char_stream_write(&s->stream, buf, len);
	return char_stream_write(&s->stream, escaped->data, escaped->len) ? len : 0;
}

static size_t socket_queued(struct chardev *c)
{
	return char_stream_queued(&socket_of(c)->stream);
}

static void socket_update_input(struct chardev *c)
{
	char_stream_update_input(&socket_of(c)->stream);
}

static int socket_take_fds(struct chardev *c, int *fds, int max)
{
	return char_stream_take_fds(&socket_of(c)->stream, fds, max);
}

const struct chardev_type char_type_socket = {
	.name = "socket",
	.size = sizeof(struct char_socket),
	.open = socket_open,
	.close = socket_close,
	.write = socket_write,
	.queued = socket_queued,
	.update_input = socket_update_input,
	.take_fds = socket_take_fds,
};

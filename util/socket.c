/* util/socket.c - stream socket addresses as options name them: listening and connecting. */
#include "util/socket.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 16

void socket_address_free(struct socket_address *a)
{
	if (!a)
		return;
	g_free(a->host);
	g_free(a->port);
	g_free(a->path);
	g_free(a->fd);
	g_free(a);
}

struct socket_address *socket_address_copy(const struct socket_address *a)
{
	struct socket_address *n = g_new(struct socket_address, 1);

	*n = *a;
	n->host = g_strdup(a->host);
	n->port = g_strdup(a->port);
	n->path = g_strdup(a->path);
	n->fd = g_strdup(a->fd);
	return n;
}

static struct socket_address *address_new(enum socket_type type)
{
	struct socket_address *a = g_new0(struct socket_address, 1);

	a->type = type;
	a->ipv4 = a->ipv6 = a->tight = true;
	return a;
}

/* ipv4=on alone means only IPv4, ipv4=off means IPv6; likewise the other way. */
static int take_families(JsonObject *o, struct socket_address *a, GError **err)
{
	bool v4 = false, v6 = false;
	int has4 = keyval_take_bool(o, "ipv4", &v4, err);
	int has6 = has4 == -EINVAL ? -EINVAL : keyval_take_bool(o, "ipv6", &v6, err);

	if (has6 == -EINVAL)
		return -EINVAL;
	if (!has4 && !has6) {
		a->ipv4 = v4;
		a->ipv6 = v6;
	} else if (!has4) {
		a->ipv4 = v4;
		a->ipv6 = !v4;
	} else if (!has6) {
		a->ipv6 = v6;
		a->ipv4 = !v6;
	}
	if (!a->ipv4 && !a->ipv6) {
		error_set(err, "ipv4=off and ipv6=off leave no address family");
		return -EINVAL;
	}
	return 0;
}

static int take_inet(JsonObject *o, struct socket_address *a, GError **err)
{
	bool ignored = false;
	u64 to = 0;

	a->host = keyval_take_str(o, "host");
	a->port = keyval_take_str(o, "port");
	if (!a->host)
		a->host = g_strdup("");
	if (!a->port) {
		error_set(err, "a socket needs path=, fd= or port=");
		return -EINVAL;
	}
	if (keyval_take_u64(o, "to", &to, err) == -EINVAL)
		return -EINVAL;
	if (to > UINT16_MAX) {
		error_set(err, "'to=%" PRIu64 "': a port is at most 65535", to);
		return -EINVAL;
	}
	a->to = to;
	if (take_families(o, a, err) ||
	    keyval_take_bool(o, "keep-alive", &a->keep_alive, err) == -EINVAL)
		return -EINVAL;
	/* Only says how the host text was made; it is resolved either way. */
	if (keyval_take_bool(o, "numeric", &ignored, err) == -EINVAL)
		return -EINVAL;
	return 0;
}

static int take_members(JsonObject *o, struct socket_address *a, GError **err)
{
	switch (a->type) {
	case SOCKET_UNIX:
		a->path = keyval_take_str(o, "path");
		if (!a->path || !a->path[0]) {
			error_set(err, "a unix socket needs a path");
			return -EINVAL;
		}
		if (keyval_take_bool(o, "abstract", &a->abstract, err) == -EINVAL ||
		    keyval_take_bool(o, "tight", &a->tight, err) == -EINVAL)
			return -EINVAL;
		return 0;
	case SOCKET_FD:
		a->fd = keyval_take_str(o, "fd");
		if (!a->fd)
			a->fd = keyval_take_str(o, "str");
		if (a->fd)
			return 0;
		error_set(err, "a socket of type fd needs its descriptor");
		return -EINVAL;
	default: return take_inet(o, a, err);
	}
}

/* QMP's SocketAddress: members beside "type", or in "data" as the legacy form has it. */
static struct socket_address *take_qmp(JsonObject *addr, GError **err)
{
	static const char *const names[] = { "inet", "unix", "fd" };
	g_autoptr(JsonObject) flat = json_object_new();
	g_autofree char *type = NULL;
	JsonNode *data = json_object_get_member(addr, "data");

	keyval_merge(flat,
		     data && JSON_NODE_HOLDS_OBJECT(data) ? json_node_get_object(data) : addr);
	type = g_strdup(keyval_str(addr, "type"));
	if (json_object_has_member(flat, "type"))
		json_object_remove_member(flat, "type");
	for (unsigned i = 0; type && i < ARRAY_SIZE(names); i++) {
		struct socket_address *a;

		if (strcmp(type, names[i]))
			continue;
		a = address_new(i);
		if (!take_members(flat, a, err) && !keyval_reject_rest(flat, "addr", err))
			return a;
		socket_address_free(a);
		return NULL;
	}
	error_set(err, "address type '%s' is not supported: inet, unix and fd are",
		  type ? type : "");
	return NULL;
}

struct socket_address *socket_address_take(JsonObject *opts, GError **err)
{
	JsonNode *addr = json_object_get_member(opts, "addr");
	struct socket_address *a;
	bool unix_, fd;

	if (addr && JSON_NODE_HOLDS_OBJECT(addr)) {
		g_autoptr(JsonObject) o = json_object_ref(json_node_get_object(addr));

		json_object_remove_member(opts, "addr");
		return take_qmp(o, err);
	}
	unix_ = json_object_has_member(opts, "path");
	fd = json_object_has_member(opts, "fd");
	if (unix_ + fd + json_object_has_member(opts, "port") > 1) {
		error_set(err, "only one of path=, fd= and port= names a socket");
		return NULL;
	}
	a = address_new(unix_ ? SOCKET_UNIX : fd ? SOCKET_FD : SOCKET_INET);
	if (!take_members(opts, a, err))
		return a;
	socket_address_free(a);
	return NULL;
}

struct socket_address *socket_address_parse(const char *text, GError **err)
{
	const char *colon = strrchr(text, ':');
	struct socket_address *a;

	if (!colon || !colon[1] ||
	    (text[0] == '[' ? colon[-1] != ']' : memchr(text, ':', colon - text) != NULL)) {
		error_set(err, "'%s': expected HOST:PORT, an IPv6 address in brackets", text);
		return NULL;
	}
	a = address_new(SOCKET_INET);
	a->host = text[0] == '[' ? g_strndup(text + 1, colon - text - 2)
				 : g_strndup(text, colon - text);
	a->port = g_strdup(colon + 1);
	return a;
}

char *socket_address_text(const struct socket_address *a)
{
	switch (a->type) {
	case SOCKET_UNIX: return g_strdup_printf("unix:%s", a->path);
	case SOCKET_FD: return g_strdup_printf("fd:%s", a->fd);
	default:
		return g_strdup_printf(strchr(a->host, ':') ? "tcp:[%s]:%s" : "tcp:%s:%s", a->host,
				       a->port);
	}
}

static int fail(const struct socket_address *a, const char *what, int errnum, GError **err)
{
	g_autofree char *text = socket_address_text(a);

	error_set_errno(err, errnum, "cannot %s %s", what, text);
	return -errnum;
}

static void set_flags(int fd)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* ---- unix ---- */

static int fill_unix(const struct socket_address *a, struct sockaddr_un *un, socklen_t *len,
		     GError **err)
{
	size_t n = strlen(a->path), skip = a->abstract ? 1 : 0;

	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n + skip > sizeof(un->sun_path) - (a->abstract ? 0 : 1)) {
		error_set(err, "unix socket path '%s' is longer than %zu bytes", a->path,
			  sizeof(un->sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(un->sun_path + skip, a->path, n);
	*len = a->abstract && a->tight ? offsetof(struct sockaddr_un, sun_path) + 1 + n
				       : sizeof(*un);
	return 0;
}

static int unix_open(const struct socket_address *a, bool listening, GError **err)
{
	const char *what = listening ? "listen on" : "connect to";
	struct sockaddr_un un;
	struct stat st;
	socklen_t len;
	int fd, ret = fill_unix(a, &un, &len, err);

	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(a, what, errno, err);
	if (listening) {
		if (!a->abstract && !lstat(a->path, &st) && S_ISSOCK(st.st_mode))
			unlink(a->path);
		ret = bind(fd, (struct sockaddr *)&un, len);
		if (!ret)
			ret = listen(fd, LISTEN_BACKLOG);
	} else {
		ret = connect(fd, (struct sockaddr *)&un, len);
	}
	if (ret) {
		ret = fail(a, what, errno, err);
		close(fd);
		return ret;
	}
	set_flags(fd);
	return fd;
}

/* ---- inet ---- */

static struct addrinfo *resolve(const struct socket_address *a, bool listening, GError **err)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = listening ? AI_PASSIVE : 0,
		.ai_family = a->ipv4 && a->ipv6 ? AF_UNSPEC
			     : a->ipv4          ? AF_INET
						: AF_INET6,
	};
	const char *host = a->host[0] ? a->host : listening ? NULL : "localhost";
	struct addrinfo *list;
	int ret = getaddrinfo(host, a->port, &hints, &list);

	if (ret) {
		g_autofree char *text = socket_address_text(a);

		error_set(err, "cannot resolve %s: %s", text,
			  ret == EAI_SYSTEM ? g_strerror(errno) : gai_strerror(ret));
		return NULL;
	}
	return list;
}

static void set_port(struct sockaddr *sa, u16 port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

static u16 get_port(const struct sockaddr *sa)
{
	return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port
					       : ((const struct sockaddr_in *)sa)->sin_port);
}

/* Return: descriptor or -errno. */
static int inet_bind(const struct socket_address *a, struct addrinfo *ai)
{
	int on = 1, only6 = !a->ipv4;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only6, sizeof(only6));
	/* Two sockets with SO_REUSEADDR may both bind a port; the second listen() then fails. */
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, LISTEN_BACKLOG))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int inet_listen(const struct socket_address *a, GError **err)
{
	struct addrinfo *list = resolve(a, true, err);
	int ret = -EADDRNOTAVAIL;

	if (!list)
		return -EADDRNOTAVAIL;
	/* An IPv6 wildcard serves both families, so it goes first. */
	for (int pass = 0; pass < 2 && ret < 0 && ret != -EADDRINUSE; pass++) {
		for (struct addrinfo *ai = list; ai && ret < 0; ai = ai->ai_next) {
			u32 port = get_port(ai->ai_addr), last = MAX(port, a->to);

			if ((ai->ai_family == AF_INET6) != (pass == (a->host[0] ? 1 : 0)))
				continue;
			do {
				set_port(ai->ai_addr, port);
				ret = inet_bind(a, ai);
			} while (ret == -EADDRINUSE && ++port <= last);
			if (ret == -EADDRINUSE)
				break;
		}
	}
	freeaddrinfo(list);
	if (ret < 0)
		return fail(a, "listen on", -ret, err);
	set_flags(ret);
	return ret;
}

static int inet_connect(const struct socket_address *a, GError **err)
{
	struct addrinfo *list = resolve(a, false, err);
	int fd = -1, on = 1, errnum = EADDRNOTAVAIL;

	if (!list)
		return -EADDRNOTAVAIL;
	for (struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen))
			break;
		errnum = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		return fail(a, "connect to", errnum, err);
	if (a->keep_alive)
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	set_flags(fd);
	return fd;
}

/* ---- fd ---- */

static int fd_open(const struct socket_address *a, bool listening, GError **err)
{
	int fd = fd_take(a->fd, err), accepts = 0;
	socklen_t len = sizeof(accepts);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len)) {
		error_set_errno(err, errno, "'fd=%s' is no socket", a->fd);
		return -EINVAL;
	}
	if (listening && !accepts && listen(fd, LISTEN_BACKLOG))
		return fail(a, "listen on", errno, err);
	if (!listening && accepts) {
		error_set(err, "'fd=%s' is a listening socket: use it with server=on", a->fd);
		return -EINVAL;
	}
	set_flags(fd);
	return fd;
}

int socket_listen(const struct socket_address *a, GError **err)
{
	return a->type == SOCKET_UNIX ? unix_open(a, true, err)
	       : a->type == SOCKET_FD ? fd_open(a, true, err)
				      : inet_listen(a, err);
}

int socket_connect(const struct socket_address *a, GError **err)
{
	return a->type == SOCKET_UNIX ? unix_open(a, false, err)
	       : a->type == SOCKET_FD ? fd_open(a, false, err)
				      : inet_connect(a, err);
}

struct socket_connecting {
	struct socket_address *addr;
	void (*done)(void *opaque, int fd); /* NULL: cancelled; main thread only */
	void *opaque;
	int fd;
};

static gboolean connect_done(gpointer opaque)
{
	struct socket_connecting *c = opaque;

	if (c->done)
		c->done(c->opaque, c->fd);
	else if (c->fd >= 0)
		close(c->fd);
	socket_address_free(c->addr);
	g_free(c);
	return G_SOURCE_REMOVE;
}

static gpointer connect_thread(gpointer opaque)
{
	struct socket_connecting *c = opaque;

	c->fd = socket_connect(c->addr, NULL);
	g_idle_add_full(G_PRIORITY_DEFAULT, connect_done, c, NULL);
	return NULL;
}

struct socket_connecting *socket_connect_start(const struct socket_address *a,
					       void (*done)(void *opaque, int fd), void *opaque)
{
	struct socket_connecting *c = g_new0(struct socket_connecting, 1);

	c->addr = socket_address_copy(a);
	c->done = done;
	c->opaque = opaque;
	g_thread_unref(g_thread_new("connect", connect_thread, c));
	return c;
}

void socket_connect_cancel(struct socket_connecting *c)
{
	if (c)
		c->done = NULL;
}

int socket_accept(int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

char *socket_name_text(int fd, bool peer)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int ret = peer ? getpeername(fd, (struct sockaddr *)&ss, &len)
		       : getsockname(fd, (struct sockaddr *)&ss, &len);

	if (ret)
		return g_strdup("");
	if (ss.ss_family == AF_UNIX) {
		const struct sockaddr_un *un = (void *)&ss;
		size_t off = offsetof(struct sockaddr_un, sun_path);

		if (len <= off)
			return g_strdup("");
		return un->sun_path[0] ? g_strndup(un->sun_path, len - off)
				       : g_strndup(un->sun_path + 1, len - off - 1);
	}
	if (getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return g_strdup("");
	return g_strdup_printf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

void socket_set_nodelay(int fd, bool on)
{
	int value = on;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
}

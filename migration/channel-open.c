/*
 * migration/channel-open.c - opening channels: descriptors, commands, files, sockets.
 */
#include "migration/channel.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The default of 208 KiB makes the two sides take turns; with much more the data of pages that are
 * copied leaves the processor's cache, which costs more than the wake-ups. Measured. */
#define UNIX_BUFFER_BYTES (1 * MiB)

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void channel_adopt_socket(struct channel *ch, int fd)
{
	int size = UNIX_BUFFER_BYTES, domain = 0;
	socklen_t len = sizeof(domain);

	set_nonblocking(fd);
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	/* TCP sizes its buffers itself. The forced form needs privilege and passes over the
	 * system's limit. */
	if (domain == AF_UNIX && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (domain != AF_UNIX)
		socket_set_nodelay(fd, true);
	ch->rfd = ch->wfd = fd;
	ch->is_socket = true;
}

static int open_fd(struct channel *ch, const struct migration_address *a, bool write, GError **err)
{
	int fd = fd_take(a->fd, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		int e = errno;

		error_set_errno(err, e, "fd:%s: cannot use descriptor %d", a->fd, fd);
		close(fd);
		return -e;
	}
	if (S_ISSOCK(st.st_mode)) {
		channel_adopt_socket(ch, fd);
		return 0;
	}
	/* libvirt hands over a saved image like this, placed behind its own header. */
	if (S_ISREG(st.st_mode) && !write) {
		ch->rfd = fd;
		return 0;
	}
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
		error_set(err,
			  "fd:%s: a descriptor of a file cannot be migrated to, use file: instead",
			  a->fd);
		close(fd);
		return -EINVAL;
	}
	set_nonblocking(fd);
	*(write ? &ch->wfd : &ch->rfd) = fd;
	return 0;
}

static int open_exec(struct channel *ch, const struct migration_address *a, bool write,
		     GError **err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2];
	GPid pid;
	gboolean ok;

	if (null < 0 || pipe2(ends, O_CLOEXEC)) {
		int e = errno;

		error_set_errno(err, e, "exec: cannot make a pipe");
		if (null >= 0)
			close(null);
		return -e;
	}
	/* The parent's end of the pipe is ends[write]. */
	ok = g_spawn_async_with_fds(NULL, a->argv, NULL,
				    G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, NULL, NULL,
				    &pid, write ? ends[0] : null, write ? null : ends[1], 2, err);
	close(null);
	close(ends[!write]);
	if (!ok) {
		close(ends[write]);
		g_prefix_error(err, "exec: ");
		return -ENOENT;
	}
	ch->child = pid;
	set_nonblocking(ends[write]);
	*(write ? &ch->wfd : &ch->rfd) = ends[write];
	return 0;
}

static int open_file(struct channel *ch, const struct migration_address *a, bool write,
		     GError **err)
{
	int fd = file_open(a->path, write ? O_CREAT | O_WRONLY : O_RDONLY, 0660);
	struct stat st;
	int e;

	if (fd < 0) {
		error_set_errno(err, -fd, "file:%s: cannot open", a->path);
		return fd;
	}
	if (fstat(fd, &st))
		goto fail;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		/* What lies before the offset is not ours. */
		if (write && S_ISREG(st.st_mode) && ftruncate(fd, a->offset))
			goto fail;
		if (lseek(fd, a->offset, SEEK_SET) < 0)
			goto fail;
	} else if (a->offset) {
		errno = ESPIPE;
		goto fail;
	}
	*(write ? &ch->wfd : &ch->rfd) = fd;
	return 0;
fail:
	e = errno;
	error_set_errno(err, e, "file:%s: cannot start at offset %" PRIu64, a->path, a->offset);
	close(fd);
	return -e;
}

int channel_open(struct channel *ch, const struct migration_address *a, bool write, GError **err)
{
	switch (a->transport) {
	case TRANSPORT_FD: return open_fd(ch, a, write, err);
	case TRANSPORT_EXEC: return open_exec(ch, a, write, err);
	case TRANSPORT_FILE: return open_file(ch, a, write, err);
	case TRANSPORT_SOCKET: return 1;
	}
	g_assert_not_reached();
}

/* ---- connecting ---- */

static int port_number(const char *text, u16 *port)
{
	gint64 value;
	struct servent *service;

	if (g_ascii_string_to_signed(text, 10, 0, 65535, &value, NULL)) {
		*port = value;
		return 0;
	}
	service = getservbyname(text, "tcp");
	if (!service)
		return -EINVAL;
	*port = ntohs(service->s_port);
	return 0;
}

/* Waits for a non-blocking connect(). Return: 0 or -errno. */
static int finish_connect(struct channel *ch, int fd)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLOUT },
			       { .fd = ch->cancel_fd, .events = POLLIN } };
	int error = 0;
	socklen_t len = sizeof(error);

	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	if (p[1].revents)
		return -ECANCELED;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return -error;
}

/* Return: a connected socket or -errno. */
static int connect_one(struct channel *ch, GInetAddress *host, u16 port)
{
	g_autoptr(GSocketAddress) address = g_inet_socket_address_new(host, port);
	struct sockaddr_storage sa;
	gssize len = g_socket_address_get_native_size(address);
	int fd, ret;

	if (!g_socket_address_to_native(address, &sa, sizeof(sa), NULL))
		return -EINVAL;
	fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	ret = connect(fd, (struct sockaddr *)&sa, len) ? -errno : 0;
	if (ret == -EINPROGRESS)
		ret = finish_connect(ch, fd);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

static bool family_allowed(const struct socket_address *a, GInetAddress *host)
{
	return g_inet_address_get_family(host) == G_SOCKET_FAMILY_IPV6 ? a->ipv6 : a->ipv4;
}

static GList *resolve(struct channel *ch, const struct socket_address *a, GError **err)
{
	const char *host = a->host[0] ? a->host : "localhost";
	GInetAddress *literal = g_inet_address_new_from_string(host);
	g_autoptr(GResolver) resolver = NULL;
	g_autoptr(GError) why = NULL;
	GList *list;

	if (literal)
		return g_list_append(NULL, literal);
	resolver = g_resolver_get_default();
	list = g_resolver_lookup_by_name(resolver, host, ch->cancellable, &why);
	if (!list)
		error_set(err, "cannot resolve host '%s' of tcp:%s:%s: %s", host, a->host, a->port,
			  why->message);
	return list;
}

static int connect_inet(struct channel *ch, const struct socket_address *a, GError **err)
{
	g_autofree char *text = socket_address_text(a);
	GList *hosts;
	int ret = -EADDRNOTAVAIL;
	u16 port;

	if (port_number(a->port, &port)) {
		error_set(err, "cannot connect to %s: '%s' is no port", text, a->port);
		return -EINVAL;
	}
	hosts = resolve(ch, a, err);
	if (!hosts)
		return -EHOSTUNREACH;
	for (GList *l = hosts; l && ret < 0 && ret != -ECANCELED; l = l->next)
		if (family_allowed(a, l->data))
			ret = connect_one(ch, l->data, port);
	g_resolver_free_addresses(hosts);
	if (ret < 0) {
		error_set_errno(err, -ret, "cannot connect to %s", text);
		return ret;
	}
	if (a->keep_alive) {
		int on = 1;

		setsockopt(ret, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	channel_adopt_socket(ch, ret);
	return 0;
}

int channel_connect(struct channel *ch, const struct socket_address *a, GError **err)
{
	int fd;

	if (a->type == SOCKET_INET)
		return connect_inet(ch, a, err);
	fd = socket_connect(a, err);
	if (fd < 0)
		return fd;
	channel_adopt_socket(ch, fd);
	return 0;
}

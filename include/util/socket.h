/*
 * util/socket.h - stream socket addresses as options name them: listening and connecting.
 */
#ifndef UTIL_SOCKET_H
#define UTIL_SOCKET_H

#include "util/base.h"

#include <json-glib/json-glib.h>

enum socket_type { SOCKET_INET, SOCKET_UNIX, SOCKET_FD };

struct socket_address {
	enum socket_type type;
	char *host, *port; /* inet; an empty host listens everywhere, connects to localhost */
	char *path;        /* unix */
	char *fd;          /* number, or name given by getfd */
	u16 to;            /* inet, listening: highest port to try; 0: only @port */
	bool ipv4, ipv6;   /* families allowed */
	bool keep_alive;
	bool abstract, tight; /* unix: Linux's abstract names, with or without padding */
};

/*
 * socket_address_take() - from the options path=, abstract=, tight=; fd=; host=, port=, to=,
 * ipv4=, ipv6=, keep-alive=; or from an "addr" member as in QMP's SocketAddress.
 * @opts: what is understood is removed.
 *
 * Return: an address for socket_address_free(), NULL with @err.
 */
struct socket_address *socket_address_take(JsonObject *opts, GError **err);

/* socket_address_parse() - "HOST:PORT", "[V6]:PORT", ":PORT" into an inet address; NULL with
 * @err. */
struct socket_address *socket_address_parse(const char *text, GError **err);
void socket_address_free(struct socket_address *a);
struct socket_address *socket_address_copy(const struct socket_address *a);

/* socket_address_text() - "tcp:HOST:PORT", "unix:PATH", "fd:N". */
char *socket_address_text(const struct socket_address *a);

/*
 * socket_listen() - a listening socket, non-blocking and close-on-exec.
 * A stale socket file is replaced. Of an fd address: the descriptor, which must be listening.
 *
 * Return: descriptor, or -errno with @err that names address and errno.
 */
int socket_listen(const struct socket_address *a, GError **err);

/*
 * socket_connect() - a connected socket, non-blocking and close-on-exec.
 *
 * Return: descriptor, or -errno with @err that names address and errno.
 * Context: any thread, no locks needed; may block for name service and network.
 */
int socket_connect(const struct socket_address *a, GError **err);

/*
 * socket_connect_start() - connect in a thread of its own.
 * @done: runs in the main thread under the machine lock, once, with what socket_connect()
 *        returned; not after socket_connect_cancel().
 *
 * Return: a handle that is valid until @done is called or the attempt is cancelled.
 * Context: main thread. Addresses of type fd are not for this.
 */
struct socket_connecting;
struct socket_connecting *socket_connect_start(const struct socket_address *a,
					       void (*done)(void *opaque, int fd), void *opaque);
void socket_connect_cancel(struct socket_connecting *c); /* NULL: nothing to do */

/* socket_accept() - the next connection, non-blocking and close-on-exec; -errno. */
int socket_accept(int listen_fd);

/* socket_name_text() - our own or the peer's address of a socket, "127.0.0.1:80", "[::1]:80", a
 * path, or "". */
char *socket_name_text(int fd, bool peer);

void socket_set_nodelay(int fd, bool on);

#endif

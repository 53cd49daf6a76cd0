/*
 * net/stream.h - opening the back ends that sit on sockets; -netdev socket chooses among them.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "net/net-priv.h"
#include "util/socket.h"

#include <sys/socket.h>

/* stream_open() - takes @addr, also when it fails. NULL with @err. */
struct net_client *stream_open(const char *id, struct socket_address *addr, bool server,
			       u64 reconnect_ms, GError **err);

/*
 * dgram_open() - a frame a datagram.
 * @fd:   a datagram socket, taken also when it fails.
 * @peer: where to send; NULL: the socket is connected.
 */
struct net_client *dgram_open(const char *id, int fd, const struct sockaddr_storage *peer,
			      socklen_t peer_len, char *info);

#endif

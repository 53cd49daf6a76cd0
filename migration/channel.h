/*
 * migration/channel.h - a byte connection to the other side: socket, pipe, command or file.
 *
 * Reads and writes wait until they are complete, but channel_cancel() ends any wait at once.
 */
#ifndef MIGRATION_CHANNEL_H
#define MIGRATION_CHANNEL_H

#include "util/base.h"

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <sys/uio.h>

struct socket_address;

enum transport { TRANSPORT_SOCKET, TRANSPORT_FD, TRANSPORT_EXEC, TRANSPORT_FILE };

struct migration_address {
	enum transport transport;
	struct socket_address *socket;
	char *fd;    /* number, or name given by getfd */
	char **argv; /* exec */
	char *path;  /* file */
	u64 offset;  /* file: where the stream begins, bytes */
};

/*
 * migration_address_parse() - from the URI form. migration_address_from_channels() - from QMP's
 * list of channels.
 *
 * Return: an address for migration_address_free(); NULL with @err: unknown or unsupported
 * transport, malformed part, named with its value.
 */
struct migration_address *migration_address_parse(const char *uri, GError **err);
struct migration_address *migration_address_from_channels(JsonArray *channels, GError **err);
void migration_address_free(struct migration_address *a);

struct channel {
	int rfd, wfd; /* -1: that direction is not there; equal for sockets */
	bool is_socket;
	pid_t child;               /* exec: the command; 0: none */
	int cancel_fd;             /* eventfd; readable once cancelled */
	bool cancelled;            /* atomic */
	GCancellable *cancellable; /* for name resolution */
	u64 written;               /* bytes so far; atomic */

	/* A pipe that pages go through by reference; -1: none yet. */
	int pipe[2];
	size_t piped;   /* bytes in it: the next of those being written */
	bool no_splice; /* this channel or system does not take them */
};

struct channel *channel_create(void);
/* channel_destroy() - closes what is open; an unfinished command is left to end by itself. */
void channel_destroy(struct channel *ch);

/*
 * channel_open() - open what needs no waiting: fd, exec and file.
 * @write: we are the sender.
 *
 * Return: 0; 1 for a socket address, which channel_connect() or a listener must open; -errno with
 * @err. Context: main thread, machine lock held.
 */
int channel_open(struct channel *ch, const struct migration_address *a, bool write, GError **err);

/* channel_connect() - connect a socket; blocks, ends early when cancelled. No locks. */
int channel_connect(struct channel *ch, const struct socket_address *a, GError **err);

/* channel_adopt_socket() - use a connected stream socket. */
void channel_adopt_socket(struct channel *ch, int fd);

/*
 * channel_writev() - write everything; @iov is used up (changed).
 *
 * Return: 0, -ECANCELED, or -errno with @err. One writer at a time.
 */
int channel_writev(struct channel *ch, struct iovec *iov, int n, GError **err);
int channel_write(struct channel *ch, const void *buf, size_t len, GError **err);

/*
 * channel_write_pages() - as channel_write(), but a socket may take the memory by reference and
 * read it later, when the receiver does: what is written to it meanwhile must not matter. It may
 * be unmapped after the return.
 */
int channel_write_pages(struct channel *ch, const void *buf, size_t len, GError **err);

/*
 * channel_read() - read at least one byte and at most @len.
 *
 * Return: bytes; 0 at the end of the stream; -errno with @err. One reader at a time.
 */
ssize_t channel_read(struct channel *ch, void *buf, size_t len, GError **err);

/* channel_cancel() - every present and future operation fails with -ECANCELED. Any thread. */
void channel_cancel(struct channel *ch);

/* channel_end_write() - tell the peer that no more bytes come; reading goes on. */
void channel_end_write(struct channel *ch);

/*
 * channel_drain() - read and drop until the peer closes, at most @ms milliseconds.
 *
 * Return: 0; -errno: a socket's peer closed with bytes of ours unread (-ECONNRESET).
 */
int channel_drain(struct channel *ch, unsigned ms);

/*
 * channel_close() - close both directions and, for a command, wait for its end.
 *
 * Return: 0; -errno with @err: data could not be written out, or the command failed (its status
 * is named).
 */
int channel_close(struct channel *ch, GError **err);

static inline bool channel_bidirectional(const struct channel *ch)
{
	return ch->is_socket;
}

#endif

/* net/fd.c - back ends whose descriptor gives and takes whole frames. */
#include "net/net-priv.h"

#include "util/source.h"

#include <unistd.h>

#define READ_BATCH 64 /* frames a dispatch */

static gboolean readable(gint fd, GIOCondition cond, gpointer opaque)
{
	struct net_fd *f = opaque;
	u8 buf[NET_MAX_FRAME + NET_FD_HEADER_MAX];

	for (int i = 0; i < READ_BATCH; i++) {
		ssize_t n = read(f->fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		/* On a socket an error is the answer to an earlier frame, not an end. */
		if (n < 0)
			break;
		if (n > f->header && !net_send(f->nc, buf + f->header, n - f->header)) {
			source_drop(&f->in); /* until net_fd_read() */
			return G_SOURCE_REMOVE;
		}
	}
	return G_SOURCE_CONTINUE;
}

void net_fd_read(struct net_fd *f)
{
	if (!f->in)
		f->in = source_watch_fd(f->fd, G_IO_IN, readable, f);
}

static gboolean writable(gint fd, GIOCondition cond, gpointer opaque)
{
	struct net_fd *f = opaque;

	source_drop(&f->out);
	net_receive_ready(f->nc);
	return G_SOURCE_REMOVE;
}

bool net_fd_sent(struct net_fd *f, ssize_t ret)
{
	if (ret >= 0 || errno != EAGAIN)
		return true;
	if (!f->out)
		f->out = source_watch_fd(f->fd, G_IO_OUT, writable, f);
	return false;
}

void net_fd_close(struct net_fd *f)
{
	source_drop(&f->in);
	source_drop(&f->out);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

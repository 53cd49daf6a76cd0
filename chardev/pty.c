/* chardev/pty.c - a pseudo-terminal whose other end the user opens. See pty(7). */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"
#include "util/source.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

/* While nobody has the other end open, the kernel has no event to wait for. */
#define POLL_INTERVAL_MS 500

struct char_pty {
	struct chardev c;
	struct char_stream stream;
	int master;
	GSource *poll;
	char *link; /* path=: symbolic link to the terminal; NULL */
};

static struct char_pty *pty_of(struct chardev *c)
{
	return container_of(c, struct char_pty, c);
}

static bool other_end_open(const struct char_pty *p)
{
	struct pollfd pfd = { .fd = p->master, .events = POLLOUT };

	return poll(&pfd, 1, 0) >= 0 && !(pfd.revents & POLLHUP);
}

static void wait_for_open(struct char_pty *p);

static void pty_hangup(struct char_stream *s)
{
	struct char_pty *p = container_of(s, struct char_pty, stream);

	if (!p->c.open)
		return;
	s->keep_open = true; /* the master stays for the next user */
	char_stream_stop(s);
	chardev_set_open(&p->c, false);
	wait_for_open(p);
}

static gboolean poll_dispatch(gpointer opaque)
{
	struct char_pty *p = opaque;

	if (!other_end_open(p))
		return G_SOURCE_CONTINUE;
	source_drop(&p->poll);
	char_stream_start(&p->stream, p->master, p->master);
	chardev_set_open(&p->c, true);
	char_stream_update_input(&p->stream);
	return G_SOURCE_REMOVE;
}

static void wait_for_open(struct char_pty *p)
{
	p->poll = source_after_ms(POLL_INTERVAL_MS, poll_dispatch, p);
}

/* Return: the name of the other end, NULL with @err. */
static char *open_pair(struct char_pty *p, GError **err)
{
	struct termios raw;
	char name[64];
	int slave;

	if (openpty(&p->master, &slave, NULL, NULL, NULL)) {
		error_set_errno(err, errno, "cannot open a pseudo-terminal");
		return NULL;
	}
	if (ttyname_r(slave, name, sizeof(name))) {
		error_set_errno(err, errno, "a pseudo-terminal has no name");
		close(slave);
		close(p->master);
		return NULL;
	}
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSAFLUSH, &raw);
	close(slave);
	fcntl(p->master, F_SETFD, FD_CLOEXEC);
	fcntl(p->master, F_SETFL, O_RDWR | O_NONBLOCK);
	return g_strdup(name);
}

static int pty_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_pty *p = pty_of(c);
	g_autofree char *link = keyval_take_str(opts, "path");
	g_autofree char *name = open_pair(p, err);

	if (!name)
		return -EIO;
	if (link && symlink(name, link)) {
		error_set_errno(err, errno, "cannot link '%s' to %s", link, name);
		close(p->master);
		return -EIO;
	}
	p->link = g_steal_pointer(&link);
	chardev_set_filename(c, g_strdup_printf("pty:%s", name));
	char_stream_init(&p->stream, c);
	p->stream.hangup = pty_hangup;
	wait_for_open(p);
	return 0;
}

static void pty_close(struct chardev *c)
{
	struct char_pty *p = pty_of(c);

	source_drop(&p->poll);
	char_stream_flush(&p->stream, 100);
	p->stream.keep_open = true;
	char_stream_stop(&p->stream);
	close(p->master);
	if (p->link)
		unlink(p->link);
	g_free(p->link);
}

static size_t pty_write(struct chardev *c, const u8 *buf, size_t len)
{
	struct char_pty *p = pty_of(c);

	if (c->open)
		return char_stream_write(&p->stream, buf, len);
	/* Somebody opened the terminal and the poll has not seen it yet: the terminal's buffer
	 * keeps what fits. */
	if (!other_end_open(p))
		return 0;
	ssize_t n = write(p->master, buf, len);

	return MAX(n, 0);
}

static size_t pty_queued(struct chardev *c)
{
	return char_stream_queued(&pty_of(c)->stream);
}

static void pty_update_input(struct chardev *c)
{
	if (c->open)
		char_stream_update_input(&pty_of(c)->stream);
}

const struct chardev_type char_type_pty = {
	.name = "pty",
	.size = sizeof(struct char_pty),
	.open = pty_open,
	.close = pty_close,
	.write = pty_write,
	.queued = pty_queued,
	.update_input = pty_update_input,
};

/* chardev/stream.c - descriptors behind a character device: output queue, input source. */
#include "chardev/char-priv.h"

#include "util/log.h"
#include "util/source.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DGRAM_MAX  65536
#define READ_CHUNK 4096 /* bytes a dispatch, so that one source does not starve the others */
/* What a terminal or pipe that polls writable takes without blocking; pipe(7): at least PIPE_BUF,
 * terminals: 256 characters. */
#define SHARED_CHUNK 256

void char_stream_init(struct char_stream *s, struct chardev *c)
{
	*s = (struct char_stream){ .c = c, .in_fd = -1, .out_fd = -1 };
}

/* write(2) to a pipe without a reader is to fail, not to end the process. */
static void ignore_sigpipe(void)
{
	struct sigaction now;

	if (!sigaction(SIGPIPE, NULL, &now) && now.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
}

void char_stream_start(struct char_stream *s, int in_fd, int out_fd)
{
	ignore_sigpipe();
	g_mutex_lock(&s->c->lock);
	s->in_fd = in_fd;
	s->out_fd = out_fd;
	s->ended = false;
	s->queue = g_byte_array_new();
	s->rest = g_byte_array_new();
	g_mutex_unlock(&s->c->lock);
}

void char_stream_stop(struct char_stream *s)
{
	g_mutex_lock(&s->c->lock);
	source_drop(&s->in);
	source_drop(&s->out);
	source_drop(&s->hup);
	source_drop(&s->rest_later);
	s->in_cond = 0;
	if (s->in_fd >= 0 && !s->keep_open)
		close(s->in_fd);
	if (s->out_fd >= 0 && s->out_fd != s->in_fd && !s->keep_open)
		close(s->out_fd);
	s->in_fd = s->out_fd = -1;
	g_clear_pointer(&s->queue, g_byte_array_unref);
	g_clear_pointer(&s->rest, g_byte_array_unref);
	for (int i = 0; i < s->nfds; i++)
		close(s->fds[i]);
	s->nfds = 0;
	g_mutex_unlock(&s->c->lock);
}

/* ---- Output ---- */

/* Return: bytes the kernel took, or -errno. */
static ssize_t write_once(struct char_stream *s, const u8 *buf, size_t len)
{
	ssize_t n;

	if (s->is_socket) {
		n = send(s->out_fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		if (s->ask_first) {
			struct pollfd p = { .fd = s->out_fd, .events = POLLOUT };

			if (poll(&p, 1, 0) == 0)
				return -EAGAIN;
			len = MIN(len, SHARED_CHUNK);
		}
		n = write(s->out_fd, buf, len);
	}
	return n < 0 ? -errno : n;
}

static gboolean hup_dispatch(gpointer opaque)
{
	struct char_stream *s = opaque;

	source_drop(&s->hup);
	if (s->hangup)
		s->hangup(s);
	return G_SOURCE_REMOVE;
}

/* From any thread, lock held: the hangup itself is the main thread's. */
static void schedule_hangup(struct char_stream *s)
{
	if (!s->hup)
		s->hup = source_after_ms(0, hup_dispatch, s);
}

/* Writes what goes. Return: bytes written; -errno if the peer is gone. Lock held. */
static ssize_t write_some(struct char_stream *s, const u8 *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write_once(s, buf + done, len - done);

		if (n == -EINTR)
			continue;
		if (n == -EAGAIN)
			break;
		if (n < 0 && s->is_dgram)
			return len; /* nobody listens: lost, as datagrams are */
		if (n < 0)
			return n;
		done += n;
	}
	return done;
}

static gboolean out_ready(gint fd, GIOCondition cond, gpointer opaque)
{
	struct char_stream *s = opaque;
	gboolean again = G_SOURCE_CONTINUE;
	ssize_t n;

	g_mutex_lock(&s->c->lock);
	n = write_some(s, s->queue->data, s->queue->len);
	if (n < 0) {
		g_byte_array_set_size(s->queue, 0);
		schedule_hangup(s);
	} else if (n) {
		g_byte_array_remove_range(s->queue, 0, n);
	}
	if (!s->queue->len) {
		source_drop(&s->out);
		again = G_SOURCE_REMOVE;
	}
	g_mutex_unlock(&s->c->lock);
	return again;
}

static void enqueue(struct char_stream *s, const u8 *buf, size_t len)
{
	if (s->queue->len + len > CHARDEV_QUEUE_MAX) {
		if (!s->c->dropped)
			log_warn("chardev %s: the reader does not keep up, output is dropped",
				 s->c->id);
		s->c->dropped += len;
		return;
	}
	g_byte_array_append(s->queue, buf, len);
	if (!s->out)
		s->out = source_watch_fd(s->out_fd, G_IO_OUT, out_ready, s);
}

size_t char_stream_write(struct char_stream *s, const u8 *buf, size_t len)
{
	ssize_t n = 0;

	if (s->out_fd < 0)
		return 0;
	if (!s->queue->len)
		n = write_some(s, buf, len);
	if (n < 0)
		schedule_hangup(s);
	else if (n < len)
		enqueue(s, buf + n, len - n);
	return len;
}

size_t char_stream_queued(const struct char_stream *s)
{
	return s->queue ? s->queue->len : 0;
}

void char_stream_flush(struct char_stream *s, int ms)
{
	s64 end = g_get_monotonic_time() + ms * 1000LL;

	g_mutex_lock(&s->c->lock);
	while (s->queue && s->queue->len) {
		struct pollfd p = { .fd = s->out_fd, .events = POLLOUT };
		s64 left = end - g_get_monotonic_time();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, left / 1000 + 1) <= 0)
			break;
		n = write_some(s, s->queue->data, s->queue->len);
		if (n < 0)
			break;
		g_byte_array_remove_range(s->queue, 0, n);
	}
	g_mutex_unlock(&s->c->lock);
}

/* ---- Input ---- */

static void keep_fds(struct char_stream *s, struct msghdr *msg)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		int n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		const int *fds = (const int *)CMSG_DATA(h);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		/* Those of earlier bytes that nobody took are gone. */
		for (int i = 0; i < s->nfds; i++)
			close(s->fds[i]);
		s->nfds = 0;
		for (int i = 0; i < n; i++) {
			if (s->nfds < ARRAY_SIZE(s->fds))
				s->fds[s->nfds++] = fds[i];
			else
				close(fds[i]);
		}
	}
}

static ssize_t read_socket(struct char_stream *s, u8 *buf, size_t len)
{
	struct iovec iov = { buf, len };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * ARRAY_SIZE(((struct char_stream *)0)->fds))];
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(s->in_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	keep_fds(s, &msg);
	return n;
}

/* Nobody takes input now. Return: whether to look at the descriptor all the same. */
static bool read_while_paused(struct char_stream *s, GIOCondition cond)
{
	int unread = 0;

	if (!(cond & (G_IO_HUP | G_IO_ERR))) {
		char_stream_update_input(s);
		return false;
	}
	if (!s->is_socket || ioctl(s->in_fd, FIONREAD, &unread) || !unread)
		return true;
	source_drop(&s->in);
	if (s->stuck_hup)
		s->stuck_hup(s);
	return false;
}

static void deliver_rest(struct char_stream *s)
{
	while (s->rest && s->rest->len) {
		size_t n = MIN(chardev_room(s->c), s->rest->len);
		g_autofree u8 *bytes = n ? g_memdup2(s->rest->data, n) : NULL;

		if (!n)
			break;
		g_byte_array_remove_range(s->rest, 0, n);
		chardev_deliver(s->c, bytes, n);
	}
}

static gboolean rest_dispatch(gpointer opaque)
{
	struct char_stream *s = opaque;

	source_drop(&s->rest_later);
	deliver_rest(s);
	char_stream_update_input(s);
	return G_SOURCE_REMOVE;
}

static ssize_t read_dgram(struct char_stream *s)
{
	g_autofree u8 *buf = g_malloc(DGRAM_MAX);
	ssize_t n = recv(s->in_fd, buf, DGRAM_MAX, MSG_DONTWAIT);

	if (n > 0) {
		g_byte_array_append(s->rest, buf, n);
		deliver_rest(s);
	}
	return 1; /* neither an error nor an empty one is the end */
}

/* Reads once and delivers. Return: as read(2), errors as -errno. */
static ssize_t read_stream(struct char_stream *s, size_t room)
{
	u8 buf[READ_CHUNK];
	size_t want = MIN(MAX(room, 1), sizeof(buf)), len;
	ssize_t n;

	if (s->is_dgram)
		return read_dgram(s);
	n = s->is_socket ? read_socket(s, buf, want) : read(s->in_fd, buf, want);
	if (n < 0 && !s->is_socket)
		n = -errno;
	len = n > 0 && s->filter ? s->filter(s, buf, n) : MAX(n, 0);
	if (len)
		chardev_deliver(s->c, buf, len);
	return n;
}

static gboolean in_ready(gint fd, GIOCondition cond, gpointer opaque)
{
	struct char_stream *s = opaque;
	GSource *self = s->in;
	size_t room = chardev_room(s->c);
	ssize_t n;

	if (!room && !read_while_paused(s, cond))
		return s->in == self ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
	n = read_stream(s, room);
	/* The front end may have stopped or replaced us meanwhile. */
	if (s->in != self)
		return G_SOURCE_REMOVE;
	if (n == -EAGAIN || n == -EINTR)
		return G_SOURCE_CONTINUE;
	if (n <= 0) {
		source_drop(&s->in);
		s->ended = true;
		if (s->hangup)
			s->hangup(s);
		return G_SOURCE_REMOVE;
	}
	char_stream_update_input(s);
	return s->in == self ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

void char_stream_update_input(struct char_stream *s)
{
	bool want;
	int cond;

	if (s->ended)
		return;
	want = s->in_fd >= 0 && chardev_room(s->c);
	/* The rest goes first, but not to a device that may be in the middle of something. */
	if (want && s->rest->len) {
		if (!s->rest_later)
			s->rest_later = source_after_ms(0, rest_dispatch, s);
		want = false;
	}
	/* A socket's hang-up is seen while it is paused too. */
	cond = want ? G_IO_IN : s->is_socket && !s->is_dgram && s->in_fd >= 0 ? G_IO_HUP : 0;

	if (cond == s->in_cond && (s->in || !cond))
		return;
	source_drop(&s->in);
	s->in_cond = cond;
	if (cond)
		s->in = source_watch_fd(s->in_fd, cond, in_ready, s);
}

int char_stream_take_fds(struct char_stream *s, int *fds, int max)
{
	int n = MIN(max, s->nfds);

	memcpy(fds, s->fds, n * sizeof(fds[0]));
	for (int i = n; i < s->nfds; i++)
		close(s->fds[i]);
	s->nfds = 0;
	return n;
}

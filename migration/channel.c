/*
 * migration/channel.c - reading and writing with cancellation.
 */
#include "migration/channel.h"

#include "util/error.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_BYTES (1 * MiB)

struct channel *channel_create(void)
{
	struct channel *ch = g_new0(struct channel, 1);

	ch->rfd = ch->wfd = ch->pipe[0] = ch->pipe[1] = -1;
	ch->cancel_fd = eventfd(0, EFD_CLOEXEC);
	g_assert(ch->cancel_fd >= 0);
	ch->cancellable = g_cancellable_new();
	return ch;
}

static void close_pipe(struct channel *ch)
{
	for (unsigned i = 0; i < 2; i++) {
		if (ch->pipe[i] >= 0)
			close(ch->pipe[i]);
		ch->pipe[i] = -1;
	}
	ch->piped = 0;
}

static void close_fds(struct channel *ch)
{
	close_pipe(ch);
	if (ch->wfd >= 0)
		close(ch->wfd);
	if (ch->rfd >= 0 && ch->rfd != ch->wfd)
		close(ch->rfd);
	ch->rfd = ch->wfd = -1;
}

void channel_destroy(struct channel *ch)
{
	if (!ch)
		return;
	close_fds(ch);
	close(ch->cancel_fd);
	g_object_unref(ch->cancellable);
	g_free(ch);
}

void channel_cancel(struct channel *ch)
{
	u64 one = 1;

	__atomic_store_n(&ch->cancelled, true, __ATOMIC_SEQ_CST);
	if (write(ch->cancel_fd, &one, sizeof(one)) != sizeof(one))
		g_assert_not_reached(); /* an eventfd takes one always */
	g_cancellable_cancel(ch->cancellable);
}

static bool cancelled(struct channel *ch)
{
	return __atomic_load_n(&ch->cancelled, __ATOMIC_RELAXED);
}

static int fail(int errnum, const char *what, GError **err)
{
	if (errnum == ECANCELED)
		error_set(err, "cancelled");
	else if (errnum == EPIPE || errnum == ECONNRESET)
		error_set_errno(err, errnum,
				"the other side closed the connection, its own log says why");
	else
		error_set_errno(err, errnum, "cannot %s the migration channel", what);
	return -errnum;
}

/* Waits until @fd is ready. Return: 0, -ECANCELED, -ETIMEDOUT. */
static int wait_ready(struct channel *ch, int fd, short events, int timeout_ms)
{
	struct pollfd p[2] = { { .fd = fd, .events = events },
			       { .fd = ch->cancel_fd, .events = POLLIN } };
	int n;

	do
		n = poll(p, 2, timeout_ms);
	while (n < 0 && errno == EINTR);
	if (p[1].revents)
		return -ECANCELED;
	return n ? 0 : -ETIMEDOUT;
}

static ssize_t write_some(struct channel *ch, struct iovec *iov, int n)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n };

	return ch->is_socket ? sendmsg(ch->wfd, &msg, MSG_NOSIGNAL) : writev(ch->wfd, iov, n);
}

/*
 * What write_some() or splice_some() returned as @done, with errno: counts it, or waits.
 *
 * Return: bytes, 0 to try again, -errno with @err.
 */
static ssize_t after_write(struct channel *ch, ssize_t done, GError **err)
{
	int ret = 0;

	if (done >= 0) {
		__atomic_fetch_add(&ch->written, done, __ATOMIC_RELAXED);
		return done;
	}
	if (errno == EAGAIN)
		ret = wait_ready(ch, ch->wfd, POLLOUT, -1);
	else if (errno != EINTR)
		ret = -errno;
	return ret ? fail(-ret, "write to", err) : 0;
}

int channel_writev(struct channel *ch, struct iovec *iov, int n, GError **err)
{
	if (ch->wfd < 0)
		return fail(EBADF, "write to", err);
	while (n) {
		ssize_t done;

		if (cancelled(ch))
			return fail(ECANCELED, "write to", err);
		done = after_write(ch, write_some(ch, iov, MIN(n, IOV_MAX)), err);
		if (done < 0)
			return done;
		while (n && (size_t)done >= iov->iov_len) {
			done -= iov->iov_len;
			iov++;
			n--;
		}
		if (done) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= done;
		}
	}
	return 0;
}

int channel_write(struct channel *ch, const void *buf, size_t len, GError **err)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return channel_writev(ch, &iov, 1, err);
}

/* Whether the channel has a pipe that pages can go through. */
static bool can_splice(struct channel *ch)
{
	if (!ch->is_socket || ch->no_splice)
		return false;
	if (ch->pipe[0] >= 0)
		return true;
	if (pipe2(ch->pipe, O_CLOEXEC | O_NONBLOCK)) {
		ch->no_splice = true;
		return false;
	}
	/* The default holds 16 pages; if it may not grow, more calls do it. */
	fcntl(ch->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

/* Return: bytes that went from @buf to the socket by reference; -1 with errno. */
static ssize_t splice_some(struct channel *ch, const void *buf, size_t len)
{
	ssize_t n;

	if (!ch->piped) {
		struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

		n = vmsplice(ch->pipe[1], &iov, 1, SPLICE_F_NONBLOCK);
		if (n < 0)
			return n;
		ch->piped = n;
	}
	n = splice(ch->pipe[0], NULL, ch->wfd, NULL, ch->piped, SPLICE_F_NONBLOCK | SPLICE_F_MORE);
	if (n > 0)
		ch->piped -= n;
	return n;
}

int channel_write_pages(struct channel *ch, const void *buf, size_t len, GError **err)
{
	const u8 *at = buf;

	while (len && can_splice(ch)) {
		ssize_t done;

		if (cancelled(ch))
			return fail(ECANCELED, "write to", err);
		done = splice_some(ch, at, len);
		/* Refused: nothing of what is in the pipe has been taken. */
		if (done < 0 && (errno == EINVAL || errno == ENOSYS || errno == EFAULT)) {
			ch->no_splice = true;
			close_pipe(ch);
			break;
		}
		done = after_write(ch, done, err);
		if (done < 0)
			return done;
		at += done;
		len -= done;
	}
	return len ? channel_write(ch, at, len, err) : 0;
}

ssize_t channel_read(struct channel *ch, void *buf, size_t len, GError **err)
{
	if (ch->rfd < 0)
		return fail(EBADF, "read from", err);
	for (;;) {
		ssize_t n;
		int ret = 0;

		if (cancelled(ch))
			return fail(ECANCELED, "read from", err);
		n = read(ch->rfd, buf, len);
		if (n >= 0)
			return n;
		if (errno == EAGAIN)
			ret = wait_ready(ch, ch->rfd, POLLIN, -1);
		else if (errno != EINTR)
			ret = -errno;
		if (ret)
			return fail(-ret, "read from", err);
	}
}

void channel_end_write(struct channel *ch)
{
	if (ch->is_socket)
		shutdown(ch->wfd, SHUT_WR);
}

int channel_drain(struct channel *ch, unsigned ms)
{
	s64 end = g_get_monotonic_time() + ms * 1000LL;
	g_autofree u8 *waste = g_malloc(256 * KiB);

	while (ch->rfd >= 0 && !cancelled(ch)) {
		s64 left = (end - g_get_monotonic_time()) / 1000;
		ssize_t n = read(ch->rfd, waste, 256 * KiB);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!n || left <= 0 || (n < 0 && wait_ready(ch, ch->rfd, POLLIN, left)))
			break;
	}
	return 0;
}

/* Waits for the command unless cancelled. Return: 0, or -errno with @err. */
static int reap_child(struct channel *ch, GError **err)
{
	int pidfd = syscall(SYS_pidfd_open, ch->child, 0);
	int status, ret = 0;

	if (pidfd >= 0) {
		ret = wait_ready(ch, pidfd, POLLIN, -1);
		close(pidfd);
	}
	if (ret) /* the command stays; it sees the end of its input */
		return fail(-ret, "wait for the command of", err);
	if (waitpid(ch->child, &status, 0) != ch->child)
		return fail(errno, "wait for the command of", err);
	ch->child = 0;
	if (WIFSIGNALED(status))
		error_set(err, "the migration command was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		error_set(err, "the migration command ended with exit status %d",
			  WEXITSTATUS(status));
	else
		return 0;
	return -EIO;
}

int channel_close(struct channel *ch, GError **err)
{
	int ret = 0;

	/* Errors of deferred writes (quota, network file systems) show at close. */
	if (ch->wfd >= 0 && !ch->is_socket) {
		if (close(ch->wfd))
			ret = fail(errno, "close", err);
		if (ch->rfd == ch->wfd)
			ch->rfd = -1;
		ch->wfd = -1;
	}
	close_fds(ch);
	if (ch->child && !ret)
		ret = reap_child(ch, err);
	return ret;
}

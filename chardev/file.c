/* chardev/file.c - output to a file; named pipes; descriptors that we were given. */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct char_file {
	struct chardev c;
	struct char_stream stream;
};

static struct char_file *file_of(struct chardev *c)
{
	return container_of(c, struct char_file, c);
}

static int open_path(const char *path, int flags, GError **err)
{
	int fd = file_open(path, flags, 0666);

	if (fd < 0)
		error_set_errno(err, -fd, "cannot open '%s'", path);
	return fd;
}

static void start(struct chardev *c, int in_fd, int out_fd)
{
	struct char_stream *s = &file_of(c)->stream;

	char_stream_init(s, c);
	char_stream_start(s, in_fd, out_fd);
	c->open = true;
}

static int file_open_(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *path = keyval_take_str(opts, "path");
	g_autofree char *input = keyval_take_str(opts, "input-path");
	bool append = false;
	struct stat st;
	int in_fd = -1, out_fd;

	if (keyval_take_bool(opts, "append", &append, err) == -EINVAL)
		return -EINVAL;
	if (!path) {
		error_set(err, "a file needs path=");
		return -EINVAL;
	}
	if (input) {
		in_fd = open_path(input, O_RDONLY | O_NONBLOCK, err);
		if (in_fd < 0)
			return in_fd;
	}
	/* A set's descriptor is used as it was opened, O_TRUNC and O_APPEND included. */
	out_fd = open_path(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), err);
	if (out_fd < 0) {
		if (in_fd >= 0)
			close(in_fd);
		return out_fd;
	}
	start(c, in_fd, out_fd);
	/* A pipe or terminal (file:/dev/stdout, an fd set) must not block us. */
	file_of(c)->stream.ask_first = fstat(out_fd, &st) || !S_ISREG(st.st_mode);
	return 0;
}

static bool exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

/* PATH.in and PATH.out if they are there, else PATH for both directions. */
static int pipe_open(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *path = keyval_take_str(opts, "path");
	g_autofree char *in = path ? g_strdup_printf("%s.in", path) : NULL;
	g_autofree char *out = path ? g_strdup_printf("%s.out", path) : NULL;
	int in_fd, out_fd;

	if (!path) {
		error_set(err, "a pipe needs path=");
		return -EINVAL;
	}
	/* Opened for both directions, a FIFO neither blocks nor ends when the other side leaves. */
	if (!exists(in) || !exists(out)) {
		in_fd = open_path(path, O_RDWR | O_NONBLOCK, err);
		if (in_fd < 0)
			return in_fd;
		start(c, in_fd, in_fd);
		return 0;
	}
	in_fd = open_path(in, O_RDWR | O_NONBLOCK, err);
	if (in_fd < 0)
		return in_fd;
	out_fd = open_path(out, O_RDWR | O_NONBLOCK, err);
	if (out_fd < 0) {
		close(in_fd);
		return out_fd;
	}
	start(c, in_fd, out_fd);
	return 0;
}

static int fd_open(struct chardev *c, JsonObject *opts, GError **err)
{
	g_autofree char *text = keyval_take_str(opts, "fd");
	struct stat st;
	int fd, flags;

	if (!text) {
		error_set(err, "an fd needs fd=N");
		return -EINVAL;
	}
	fd = fd_take(text, err);
	if (fd < 0)
		return fd;
	flags = fcntl(fd, F_GETFL);
	start(c, (flags & O_ACCMODE) != O_WRONLY ? fd : -1,
	      (flags & O_ACCMODE) != O_RDONLY ? fd : -1);
	file_of(c)->stream.is_socket = !fstat(fd, &st) && S_ISSOCK(st.st_mode);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return 0;
}

static void file_close(struct chardev *c)
{
	struct char_stream *s = &file_of(c)->stream;

	char_stream_flush(s, 1000);
	char_stream_stop(s);
}

static size_t file_write(struct chardev *c, const u8 *buf, size_t len)
{
	return char_stream_write(&file_of(c)->stream, buf, len);
}

static size_t file_queued(struct chardev *c)
{
	return char_stream_queued(&file_of(c)->stream);
}

static void file_update_input(struct chardev *c)
{
	char_stream_update_input(&file_of(c)->stream);
}

#define FILE_OPS                                                                                   \
	.size = sizeof(struct char_file), .close = file_close, .write = file_write,                \
	.queued = file_queued, .update_input = file_update_input

const struct chardev_type char_type_file = { .name = "file", .open = file_open_, FILE_OPS };
const struct chardev_type char_type_pipe = { .name = "pipe", .open = pipe_open, FILE_OPS };
const struct chardev_type char_type_fd = { .name = "fd", .open = fd_open, FILE_OPS };

/* chardev/serial.c - a serial port or terminal of the host (type serial, old name tty). */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

struct char_serial {
	struct chardev c;
	struct char_stream stream;
	struct termios old;
};

static struct char_serial *serial_of(struct chardev *c)
{
	return container_of(c, struct char_serial, c);
}

static int serial_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_serial *p = serial_of(c);
	g_autofree char *path = keyval_take_str(opts, "path");
	struct termios raw;
	int fd;

	if (!path) {
		error_set(err, "a serial port needs path=");
		return -EINVAL;
	}
	fd = file_open(path, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0) {
		error_set_errno(err, -fd, "cannot open '%s'", path);
		return fd;
	}
	if (tcgetattr(fd, &p->old)) {
		error_set_errno(err, errno, "'%s' is no terminal", path);
		close(fd);
		return -ENOTTY;
	}
	/* Speed and format stay as the user set them (stty); a guest's change does not reach it. */
	raw = p->old;
	cfmakeraw(&raw);
	raw.c_cflag |= CLOCAL | CREAD;
	raw.c_cflag = (raw.c_cflag & ~(CSIZE | PARENB)) | (p->old.c_cflag & (CSIZE | PARENB));
	tcsetattr(fd, TCSANOW, &raw);
	char_stream_init(&p->stream, c);
	char_stream_start(&p->stream, fd, fd);
	c->open = true;
	return 0;
}

static void serial_close(struct chardev *c)
{
	struct char_serial *p = serial_of(c);

	char_stream_flush(&p->stream, 1000);
	tcsetattr(p->stream.in_fd, TCSANOW, &p->old);
	char_stream_stop(&p->stream);
}

static size_t serial_write(struct chardev *c, const u8 *buf, size_t len)
{
	return char_stream_write(&serial_of(c)->stream, buf, len);
}

static size_t serial_queued(struct chardev *c)
{
	return char_stream_queued(&serial_of(c)->stream);
}

static void serial_update_input(struct chardev *c)
{
	char_stream_update_input(&serial_of(c)->stream);
}

const struct chardev_type char_type_serial = {
	.name = "serial",
	.size = sizeof(struct char_serial),
	.open = serial_open,
	.close = serial_close,
	.write = serial_write,
	.queued = serial_queued,
	.update_input = serial_update_input,
};

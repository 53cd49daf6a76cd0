/* tests/unit/hw/fake-chardev.c - a character device that records output and takes input. */
#include "tests/unit/hw/fake-chardev.h"

#include "util/error.h"

GString *fake_output;
size_t fake_backlog;

static struct chardev_frontend front;
static bool attached;

struct chardev *fake_chardev(void *opaque, const char *id)
{
	return (struct chardev *)&front;
}

struct chardev_fe *chardev_attach(struct chardev *c, const struct chardev_frontend *fe,
				  GError **err)
{
	if (attached) {
		error_set(err, "chardev 'fake' is already in use");
		return NULL;
	}
	attached = true;
	front = *fe;
	fake_output = fake_output ?: g_string_new(NULL);
	g_string_truncate(fake_output, 0);
	return (struct chardev_fe *)&front;
}

void chardev_detach(struct chardev_fe *fe)
{
	attached = false;
}

size_t chardev_write(struct chardev_fe *fe, const void *buf, size_t len)
{
	g_string_append_len(fake_output, buf, len);
	return len;
}

size_t chardev_queued(struct chardev_fe *fe)
{
	return fake_backlog;
}

void chardev_accept_input(struct chardev_fe *fe)
{
}

const char *chardev_id(const struct chardev *c)
{
	return "fake";
}

size_t fake_input(const char *bytes, size_t len)
{
	size_t room = front.can_receive(front.opaque), n = MIN(room, len);

	if (n)
		front.receive(front.opaque, (const u8 *)bytes, n);
	return n;
}

void fake_break(void)
{
	front.event(front.opaque, CHARDEV_BREAK);
}

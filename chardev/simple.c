/* chardev/simple.c - character devices without a host side: null, vc, testdev. */
#include "chardev/char-priv.h"

#include "util/keyval.h"
#include "util/log.h"

struct char_testdev {
	struct chardev c;
	char number[12]; /* digits of the packet so far */
	unsigned len;
};

static int null_open(struct chardev *c, JsonObject *opts, GError **err)
{
	c->open = true;
	return 0;
}

static int vc_open(struct chardev *c, JsonObject *opts, GError **err)
{
	static const char *const sizes[] = { "width", "height", "cols", "rows", "encoding" };

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		g_free(keyval_take_str(opts, sizes[i]));
	log_warn("chardev '%s': there are no virtual consoles, its output is dropped; stdio, pty "
		 "and socket show it",
		 c->id);
	c->open = true;
	return 0;
}

static void null_close(struct chardev *c)
{
}

static size_t null_write(struct chardev *c, const u8 *buf, size_t len)
{
	return len;
}

/*
 * The protocol of kvm-unit-tests' lib/chr-testdev.c: an optional decimal number, then a command;
 * 'q' ends the emulator with exit status (number << 1) | 1.
 */
static size_t testdev_write(struct chardev *c, const u8 *buf, size_t len)
{
	struct char_testdev *t = container_of(c, struct char_testdev, c);

	for (size_t i = 0; i < len; i++) {
		if (g_ascii_isdigit(buf[i]) && t->len < sizeof(t->number) - 1) {
			t->number[t->len++] = buf[i];
			continue;
		}
		t->number[t->len] = '\0';
		t->len = 0;
		if (buf[i] == 'q' && chardev_hooks.quit)
			chardev_hooks.quit(chardev_hooks.opaque,
					   (int)(g_ascii_strtoull(t->number, NULL, 10) << 1 | 1));
	}
	return len;
}

const struct chardev_type char_type_null = {
	.name = "null",
	.size = sizeof(struct chardev),
	.open = null_open,
	.close = null_close,
	.write = null_write,
};

const struct chardev_type char_type_vc = {
	.name = "vc",
	.size = sizeof(struct chardev),
	.open = vc_open,
	.close = null_close,
	.write = null_write,
};

const struct chardev_type char_type_testdev = {
	.name = "testdev",
	.size = sizeof(struct char_testdev),
	.open = null_open,
	.close = null_close,
	.write = testdev_write,
};

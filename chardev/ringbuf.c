/* chardev/ringbuf.c - keeps the newest output in memory, for ringbuf-read. */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"

#define DEFAULT_SIZE 65536

struct char_ringbuf {
	struct chardev c;
	u8 *data;
	u64 size;    /* a power of two */
	u64 in, out; /* bytes ever written and read or overwritten */
};

static struct char_ringbuf *ringbuf_of(struct chardev *c)
{
	return container_of(c, struct char_ringbuf, c);
}

static int ringbuf_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_ringbuf *r = ringbuf_of(c);

	r->size = DEFAULT_SIZE;
	if (keyval_take_size(opts, "size", 'B', &r->size, err) == -EINVAL)
		return -EINVAL;
	if (!IS_POW2(r->size) || r->size > GiB) {
		error_set(err, "'size=%" PRIu64 "': a ringbuf's size is a power of two, at most 1G",
			  r->size);
		return -EINVAL;
	}
	r->data = g_malloc(r->size);
	c->open = true;
	return 0;
}

static void ringbuf_close(struct chardev *c)
{
	g_free(ringbuf_of(c)->data);
}

static size_t ringbuf_put(struct chardev *c, const u8 *buf, size_t len)
{
	struct char_ringbuf *r = ringbuf_of(c);

	for (size_t i = 0; i < len; i++)
		r->data[r->in++ & (r->size - 1)] = buf[i];
	if (r->in - r->out > r->size)
		r->out = r->in - r->size;
	return len;
}

static struct char_ringbuf *ringbuf_check(struct chardev *c, GError **err)
{
	if (c->type == &char_type_ringbuf)
		return ringbuf_of(c);
	error_set(err, "chardev '%s' is a %s, not a ringbuf", c->id, c->type->name);
	return NULL;
}

GByteArray *chardev_ringbuf_read(struct chardev *c, size_t max, GError **err)
{
	struct char_ringbuf *r = ringbuf_check(c, err);
	GByteArray *bytes;

	if (!r)
		return NULL;
	bytes = g_byte_array_new();
	g_mutex_lock(&c->lock);
	while (r->out < r->in && bytes->len < max)
		g_byte_array_append(bytes, &r->data[r->out++ & (r->size - 1)], 1);
	g_mutex_unlock(&c->lock);
	return bytes;
}

int chardev_ringbuf_write(struct chardev *c, const void *buf, size_t len, GError **err)
{
	if (!ringbuf_check(c, err))
		return -EINVAL;
	g_mutex_lock(&c->lock);
	ringbuf_put(c, buf, len);
	g_mutex_unlock(&c->lock);
	return 0;
}

const struct chardev_type char_type_ringbuf = {
	.name = "ringbuf",
	.size = sizeof(struct char_ringbuf),
	.open = ringbuf_open,
	.close = ringbuf_close,
	.write = ringbuf_put,
};

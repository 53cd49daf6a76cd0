/*
 * migration/stream.c - big-endian byte streams: a writer into memory, a reader from a channel.
 */
#include "migration/stream.h"

#include "migration/channel.h"
#include "util/error.h"
#include "util/lock.h"

void state_writer_init(struct state_writer *w)
{
	w->buf = g_byte_array_new();
}

void state_writer_finish(struct state_writer *w)
{
	g_clear_pointer(&w->buf, g_byte_array_unref);
}

void state_put_buffer(struct state_writer *w, const void *buf, size_t len)
{
	g_byte_array_append(w->buf, buf, len);
}

void state_put_u8(struct state_writer *w, u8 v)
{
	state_put_buffer(w, &v, 1);
}

void state_put_be16(struct state_writer *w, u16 v)
{
	v = GUINT16_TO_BE(v);
	state_put_buffer(w, &v, sizeof(v));
}

void state_put_be32(struct state_writer *w, u32 v)
{
	v = GUINT32_TO_BE(v);
	state_put_buffer(w, &v, sizeof(v));
}

void state_put_be64(struct state_writer *w, u64 v)
{
	v = GUINT64_TO_BE(v);
	state_put_buffer(w, &v, sizeof(v));
}

void state_put_cstr8(struct state_writer *w, const char *text)
{
	size_t len = MIN(strlen(text), 255);

	state_put_u8(w, len);
	state_put_buffer(w, text, len);
}

void state_reader_init(struct state_reader *r, struct channel *channel, size_t capacity)
{
	*r = (struct state_reader){ .channel = channel, .capacity = capacity };
	r->buf = g_malloc(capacity);
}

void state_reader_init_memory(struct state_reader *r, const void *data, size_t len)
{
	*r = (struct state_reader){ .buf = (u8 *)data, .end = len };
}

void state_reader_finish(struct state_reader *r)
{
	if (r->capacity)
		g_free(r->buf);
	r->buf = NULL;
	g_clear_error(&r->error);
}

void state_reader_fail(struct state_reader *r, const char *fmt, ...)
{
	g_autofree char *text = NULL;
	va_list ap;

	if (r->error)
		return;
	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	error_set(&r->error, "%s", text);
}

/* Moves the unread bytes to the front when the rest of the buffer is too small for @n. */
static void make_room(struct state_reader *r, size_t n)
{
	if (r->pos == r->end) {
		r->base += r->pos;
		r->pos = r->end = 0;
	} else if (r->pos + n > r->capacity) {
		memmove(r->buf, r->buf + r->pos, r->end - r->pos);
		r->base += r->pos;
		r->end -= r->pos;
		r->pos = 0;
	}
}

size_t state_peek(struct state_reader *r, size_t n)
{
	if (r->end - r->pos >= n)
		return n;
	if (r->error)
		return 0;
	if (!r->channel)
		return r->end - r->pos;

	g_assert(n <= r->capacity);
	make_room(r, n);
	if (r->drop_lock)
		machine_unlock();
	while (r->end - r->pos < n) {
		size_t most = r->capacity - r->end;
		ssize_t got;

		if (r->ahead)
			most = MIN(most, r->pos + n - r->end + r->ahead);
		got = channel_read(r->channel, r->buf + r->end, most, &r->error);

		if (got <= 0)
			break;
		r->end += got;
	}
	if (r->drop_lock)
		machine_lock();
	return MIN(n, r->end - r->pos);
}

bool state_fill(struct state_reader *r, size_t n)
{
	if (likely(r->end - r->pos >= n && !r->error))
		return true;
	if (!r->error && state_peek(r, n) == n)
		return true;
	if (!r->error)
		state_reader_fail(r, "stream ends at byte %" PRIu64 " in the middle of an element",
				  r->base + r->end);
	return false;
}

bool state_fill_into(struct state_reader *r, void *buf, size_t len)
{
	size_t n = MIN(len, r->end - r->pos);
	u8 *out = buf;

	memcpy(out, r->buf + r->pos, n);
	r->pos += n;
	while (n < len && r->channel && !r->error) {
		ssize_t got = channel_read(r->channel, out + n, len - n, &r->error);

		if (got <= 0)
			break;
		n += got;
		r->base += got;
	}
	if (n < len && !r->error)
		state_reader_fail(r, "stream ends at byte %" PRIu64 " in the middle of an element",
				  state_position(r));
	return n == len;
}

bool state_at_eof(struct state_reader *r)
{
	return state_peek(r, 1) == 0;
}

u8 state_get_u8(struct state_reader *r)
{
	return state_fill(r, 1) ? r->buf[r->pos++] : 0;
}

u16 state_get_be16(struct state_reader *r)
{
	u16 v = 0;

	state_get_buffer(r, &v, sizeof(v));
	return GUINT16_FROM_BE(v);
}

u32 state_get_be32(struct state_reader *r)
{
	u32 v = 0;

	state_get_buffer(r, &v, sizeof(v));
	return GUINT32_FROM_BE(v);
}

u64 state_get_be64(struct state_reader *r)
{
	u64 v = 0;

	state_get_buffer(r, &v, sizeof(v));
	return GUINT64_FROM_BE(v);
}

void state_get_buffer(struct state_reader *r, void *buf, size_t len)
{
	u8 *out = buf;

	while (len) {
		size_t n = MIN(len, r->end - r->pos);

		if (!n || r->error) {
			if (state_fill(r, 1))
				continue;
			memset(out, 0, len);
			return;
		}
		memcpy(out, r->buf + r->pos, n);
		r->pos += n;
		out += n;
		len -= n;
	}
}

void state_skip(struct state_reader *r, u64 n)
{
	while (n && state_fill(r, 1)) {
		size_t step = MIN(n, r->end - r->pos);

		r->pos += step;
		n -= step;
	}
}

char *state_get_text(struct state_reader *r, size_t len)
{
	g_autofree char *text = g_malloc0(len + 1);

	state_get_buffer(r, text, len);
	return g_utf8_make_valid(text, -1);
}

void state_get_cstr8(struct state_reader *r, char *out)
{
	u8 len = state_get_u8(r);

	state_get_buffer(r, out, len);
	out[len] = 0;
	if (!r->error && strlen(out) != len) {
		state_reader_fail(r, "name of %u bytes at byte %" PRIu64 " holds a zero byte", len,
				  state_position(r) - len);
		out[0] = 0;
	}
}

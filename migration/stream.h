/*
 * migration/stream.h - big-endian byte streams: a writer into memory, a reader from a channel.
 *
 * Device states are written into memory under the machine lock and sent afterwards, so that the
 * lock is never held across a blocking write.
 */
#ifndef MIGRATION_STREAM_H
#define MIGRATION_STREAM_H

#include "migration/state.h"

struct channel;

struct state_writer {
	GByteArray *buf;
};

void state_writer_init(struct state_writer *w);
void state_writer_finish(struct state_writer *w);

/* state_put_cstr8() - one length byte and at most 255 bytes of @text, without terminator. */
void state_put_cstr8(struct state_writer *w, const char *text);

struct state_reader {
	struct channel *channel; /* NULL: the buffer holds everything there is */
	u8 *buf;
	size_t capacity; /* of buf; 0 when it is borrowed */
	size_t pos, end; /* unread bytes: buf[pos .. end) */
	u64 base;        /* stream position of buf[0] */
	GError *error;   /* first failure; sticks */
	size_t ahead;    /* most bytes to read beyond those asked for; 0: as many as fit */
	bool drop_lock;  /* the machine lock is held: release it around waits for data */
};

/* state_reader_init() - read from @channel with a buffer of @capacity bytes. */
void state_reader_init(struct state_reader *r, struct channel *channel, size_t capacity);
/* state_reader_init_memory() - read from @data, which must outlive the reader. */
void state_reader_init_memory(struct state_reader *r, const void *data, size_t len);
void state_reader_finish(struct state_reader *r);

/*
 * state_fill() - have at least @n unread bytes at buf + pos.
 * @n: at most the capacity.
 *
 * Return: false after an error or if the stream ends before; the error is set then.
 */
bool state_fill(struct state_reader *r, size_t n);

/*
 * state_fill_into() - read the next @len bytes straight to @buf.
 *
 * Return: as state_fill(). Without the machine lock.
 */
bool state_fill_into(struct state_reader *r, void *buf, size_t len);

/* state_peek() - as state_fill(), but a short stream is no error. Return: bytes there, <= @n. */
size_t state_peek(struct state_reader *r, size_t n);

/* state_get_text() - @len bytes as valid UTF-8. Return: to be freed by the caller. */
char *state_get_text(struct state_reader *r, size_t len);

/* state_get_cstr8() - a counted string; embedded NUL bytes are refused. @out: 256 bytes. */
void state_get_cstr8(struct state_reader *r, char *out);

/* state_skip() - pass over @n bytes. */
void state_skip(struct state_reader *r, u64 n);

/* state_at_eof() - whether the stream ends here; reads ahead. */
bool state_at_eof(struct state_reader *r);

/* state_reader_fail() - set the sticky error unless there is one. */
void state_reader_fail(struct state_reader *r, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

static inline u64 state_position(const struct state_reader *r)
{
	return r->base + r->pos;
}

static inline u64 load_be64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return GUINT64_FROM_BE(v);
}

static inline u32 load_be32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return GUINT32_FROM_BE(v);
}

static inline void store_be64(void *p, u64 v)
{
	v = GUINT64_TO_BE(v);
	memcpy(p, &v, sizeof(v));
}

#endif

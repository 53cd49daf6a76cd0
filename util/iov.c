/* util/iov.c - scattered buffers. */
#include "util/iov.h"

size_t iov_size(const struct iovec *iov, int niov)
{
	size_t n = 0;

	for (int i = 0; i < niov; i++)
		n += iov[i].iov_len;
	return n;
}

/* Calls @fn for each piece of [offset, offset + len). Return: bytes visited. */
static size_t each(const struct iovec *iov, int niov, size_t offset, size_t len,
		   void (*fn)(u8 *piece, size_t n, size_t done, void *arg), void *arg)
{
	size_t done = 0;

	for (int i = 0; i < niov && done < len; i++) {
		size_t n;

		if (offset >= iov[i].iov_len) {
			offset -= iov[i].iov_len;
			continue;
		}
		n = MIN(iov[i].iov_len - offset, len - done);
		fn((u8 *)iov[i].iov_base + offset, n, done, arg);
		done += n;
		offset = 0;
	}
	return done;
}

static void copy_out(u8 *piece, size_t n, size_t done, void *buf)
{
	memcpy((u8 *)buf + done, piece, n);
}

static void copy_in(u8 *piece, size_t n, size_t done, void *buf)
{
	memcpy(piece, (const u8 *)buf + done, n);
}

static void fill(u8 *piece, size_t n, size_t done, void *byte)
{
	memset(piece, *(u8 *)byte, n);
}

size_t iov_to_buf(const struct iovec *iov, int niov, size_t offset, void *buf, size_t len)
{
	return each(iov, niov, offset, len, copy_out, buf);
}

size_t iov_from_buf(const struct iovec *iov, int niov, size_t offset, const void *buf, size_t len)
{
	return each(iov, niov, offset, len, copy_in, (void *)buf);
}

size_t iov_set(const struct iovec *iov, int niov, size_t offset, u8 byte, size_t len)
{
	return each(iov, niov, offset, len, fill, &byte);
}

struct slice {
	struct iovec *out;
	int n;
};

static void add_piece(u8 *piece, size_t n, size_t done, void *opaque)
{
	struct slice *s = opaque;

	s->out[s->n++] = (struct iovec){ piece, n };
}

int iov_slice(const struct iovec *iov, int niov, size_t offset, size_t len, struct iovec *out)
{
	struct slice s = { .out = out };

	each(iov, niov, offset, len, add_piece, &s);
	return s.n;
}

bool iov_is_zero(const struct iovec *iov, int niov)
{
	for (int i = 0; i < niov; i++) {
		const u8 *p = iov[i].iov_base;
		size_t n = iov[i].iov_len;

		/* A buffer is zero if its first byte is and it equals itself one byte on. */
		if (n && (p[0] || memcmp(p, p + 1, n - 1)))
			return false;
	}
	return true;
}

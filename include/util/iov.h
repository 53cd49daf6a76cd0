/*
 * util/iov.h - scattered buffers.
 */
#ifndef UTIL_IOV_H
#define UTIL_IOV_H

#include "util/base.h"

#include <sys/uio.h>

/* iov_size() - bytes in all. */
size_t iov_size(const struct iovec *iov, int niov);

/*
 * iov_to_buf(), iov_from_buf() - copy between a plain buffer and the vector.
 * @offset: where in the vector to begin, bytes.
 *
 * Return: bytes copied; less than @len where the vector ends.
 */
size_t iov_to_buf(const struct iovec *iov, int niov, size_t offset, void *buf, size_t len);
size_t iov_from_buf(const struct iovec *iov, int niov, size_t offset, const void *buf, size_t len);

/* iov_set() - fill [offset, offset + len) with @byte; bytes set. */
size_t iov_set(const struct iovec *iov, int niov, size_t offset, u8 byte, size_t len);

/*
 * iov_slice() - the part [offset, offset + len) as a vector of its own.
 * @out: room for @niov elements.
 *
 * Return: elements used.
 */
int iov_slice(const struct iovec *iov, int niov, size_t offset, size_t len, struct iovec *out);

/* iov_is_zero() - whether every byte is 0. */
bool iov_is_zero(const struct iovec *iov, int niov);

#endif

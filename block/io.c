/* block/io.c - the work on an image's file: blocking, in any thread. */
#include "block/block-priv.h"

#include "util/iov.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOUNCE_MAX MiB /* bytes of a bounce buffer */

/* ---- Plain transfers ---- */

static ssize_t transfer(int fd, bool write, u64 offset, const struct iovec *iov, int niov,
			unsigned flags)
{
	int rwf = flags & BLOCK_FUA ? RWF_DSYNC : 0;

	niov = MIN(niov, IOV_MAX);
	return write ? pwritev2(fd, iov, niov, offset, rwf) : preadv2(fd, iov, niov, offset, 0);
}

/* All of it. Reads beyond the end of the file give zeroes. */
static int transfer_all(int fd, bool write, u64 offset, const struct iovec *iov, int niov,
			unsigned flags)
{
	g_autofree struct iovec *rest = g_memdup2(iov, niov * sizeof(*iov));
	struct iovec *v = rest;

	while (niov) {
		ssize_t n;

		if (!v->iov_len) {
			v++;
			niov--;
			continue;
		}
		n = transfer(fd, write, offset, v, niov, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n && write)
			return -ENOSPC;
		if (!n) {
			iov_set(v, niov, 0, 0, SIZE_MAX);
			return 0;
		}
		offset += n;
		while (n) {
			size_t used = MIN(n, v->iov_len);

			v->iov_base = (u8 *)v->iov_base + used;
			v->iov_len -= used;
			n -= used;
			if (!v->iov_len) {
				v++;
				niov--;
			}
		}
	}
	return 0;
}

/* ---- O_DIRECT with buffers or ranges that the host does not take ---- */

static bool is_aligned(const struct image *img, const struct io *io)
{
	if (img->align == 1)
		return true;
	if (!IS_ALIGNED(io->offset | io->bytes, img->align))
		return false;
	for (int i = 0; i < io->niov; i++) {
		if ((uintptr_t)io->iov[i].iov_base % img->mem_align ||
		    io->iov[i].iov_len % img->align)
			return false;
	}
	return true;
}

static int plain(struct image *img, bool write, u64 offset, void *buf, size_t len, unsigned flags)
{
	struct iovec v = { buf, len };

	return transfer_all(img->fd, write, offset, &v, 1, flags);
}

/* A write of whole units may have grown a file whose size is no multiple of the unit. */
static int trim(struct image *img, u64 end)
{
	struct stat st;

	if (img->growing || end <= img->size)
		return 0;
	if (fstat(img->fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) && st.st_size > img->size && ftruncate(img->fd, img->size))
		return -errno;
	return 0;
}

/* One window of whole units, [start, start + len), of which [from, to) is written. */
static int write_window(struct image *img, u64 start, size_t len, u8 *buf, const u64 range[2],
			unsigned flags)
{
	g_autofree u8 *keep = NULL;
	int ret = 0;

	if (range[0] == start && range[1] == start + len)
		return plain(img, true, start, buf, len, flags);
	/* The new bytes are aside while the old ones around them are read. */
	keep = g_memdup2(buf + (range[0] - start), range[1] - range[0]);
	g_mutex_lock(&img->rmw);
	ret = plain(img, false, start, buf, len, 0);
	if (!ret) {
		memcpy(buf + (range[0] - start), keep, range[1] - range[0]);
		ret = plain(img, true, start, buf, len, flags);
	}
	if (!ret)
		ret = trim(img, start + len);
	g_mutex_unlock(&img->rmw);
	return ret;
}

static int bounce(struct image *img, const struct io *io)
{
	u64 pos = io->offset, end = io->offset + io->bytes;
	void *mem = NULL;
	u8 *buf;
	int ret = 0;

	if (posix_memalign(&mem, MAX(img->mem_align, 4096), BOUNCE_MAX))
		return -ENOMEM;
	buf = mem;
	while (pos < end && !ret) {
		u64 start = ROUND_DOWN(pos, img->align);
		size_t len = MIN(BOUNCE_MAX, ROUND_UP(end, img->align) - start);
		const u64 range[2] = { pos, MIN(end, start + len) };
		size_t n = range[1] - pos, at = pos - io->offset;
		u8 *part = buf + (pos - start);

		if (io->op == IO_WRITE) {
			iov_to_buf(io->iov, io->niov, at, part, n);
			ret = write_window(img, start, len, buf, range, io->flags);
		} else {
			ret = plain(img, false, start, buf, len, 0);
			if (!ret)
				iov_from_buf(io->iov, io->niov, at, part, n);
		}
		pos += n;
	}
	free(mem);
	return ret;
}

static int file_rw(struct image *img, const struct io *io)
{
	if (is_aligned(img, io))
		return transfer_all(img->fd, io->op == IO_WRITE, io->offset, io->iov, io->niov,
				    io->flags);
	return bounce(img, io);
}

/* ---- Giving space back, zeroes ---- */

static bool is_unsupported(int ret)
{
	return ret == -EOPNOTSUPP || ret == -ENOSYS || ret == -ENOTTY || ret == -EINVAL;
}

static int device_range(struct image *img, unsigned long request, u64 offset, u64 bytes)
{
	u64 range[2] = { offset, bytes };

	return ioctl(img->fd, request, range) ? -errno : 0;
}

static int punch(struct image *img, u64 offset, u64 bytes)
{
	return fallocate(img->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes)
		       ? -errno
		       : 0;
}

static int file_discard(struct image *img, u64 offset, u64 bytes)
{
	int ret = img->o.kind == IMAGE_HOST_DEVICE ? device_range(img, BLKDISCARD, offset, bytes)
						   : punch(img, offset, bytes);

	/* A discard is a hint: a file system that cannot is no error. */
	return is_unsupported(ret) ? 0 : ret;
}

static int write_zero_bytes(struct image *img, u64 offset, u64 bytes)
{
	size_t chunk = MIN(bytes, BOUNCE_MAX);
	g_autofree void *zero = g_malloc0(chunk);
	int ret = 0;

	while (bytes && !ret) {
		struct iovec v = { zero, MIN(bytes, chunk) };

		ret = file_rw(img, &(struct io){ .op = IO_WRITE,
						 .offset = offset,
						 .bytes = v.iov_len,
						 .iov = &v,
						 .niov = 1 });
		offset += v.iov_len;
		bytes -= v.iov_len;
	}
	return ret;
}

static int zero_range(struct image *img, u64 offset, u64 bytes, unsigned flags)
{
	int ret = -EOPNOTSUPP;

	if (img->o.kind == IMAGE_HOST_DEVICE)
		return device_range(img, BLKZEROOUT, offset, bytes);
	if (flags & BLOCK_MAY_UNMAP)
		ret = punch(img, offset, bytes);
	if (is_unsupported(ret))
		ret = fallocate(img->fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, offset, bytes)
			      ? -errno
			      : 0;
	return ret;
}

static int file_zeroes(struct image *img, u64 offset, u64 bytes, unsigned flags)
{
	/* A write of a part of the same O_DIRECT unit must not bring back what it read before. */
	bool partial = !IS_ALIGNED(offset | bytes, img->align);
	int ret;

	if (partial)
		g_mutex_lock(&img->rmw);
	ret = zero_range(img, offset, bytes, flags);
	if (partial)
		g_mutex_unlock(&img->rmw);
	if (is_unsupported(ret))
		ret = write_zero_bytes(img, offset, bytes);
	if (!ret && flags & BLOCK_FUA && fdatasync(img->fd))
		ret = -errno;
	return ret;
}

/* ---- All kinds ---- */

static int null_io(const struct io *io)
{
	if (io->op == IO_READ)
		iov_set(io->iov, io->niov, 0, 0, SIZE_MAX);
	return 0;
}

static void note_highest(struct image *img, u64 end)
{
	u64 was = __atomic_load_n(&img->highest, __ATOMIC_RELAXED);

	while (end > was && !__atomic_compare_exchange_n(&img->highest, &was, end, true,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

int image_io(struct image *img, const struct io *given)
{
	struct io io = *given;

	if (img->fd < 0)
		return null_io(&io);
	if (img->o.no_flush)
		io.flags &= ~BLOCK_FUA;
	if (!img->o.unmap)
		io.flags &= ~BLOCK_MAY_UNMAP;
	if (img->growing && io.op == IO_WRITE)
		note_highest(img, io.offset + io.bytes);
	switch (io.op) {
	case IO_READ:
	case IO_WRITE: return file_rw(img, &io);
	case IO_DISCARD: return img->o.unmap ? file_discard(img, io.offset, io.bytes) : 0;
	case IO_ZEROES: return file_zeroes(img, io.offset, io.bytes, io.flags);
	default: break;
	}
	if (img->o.no_flush || !img->writable)
		return 0;
	return fdatasync(img->fd) ? -errno : 0;
}

/* ---- Nodes ---- */

int node_base_io(struct block_backend *b, const struct io *io)
{
	struct io in_image = *io;

	if (b->fmt)
		return b->fmt->loaded ? b->fmt->ops->io(b->fmt, io) : -ENOMEDIUM;
	in_image.offset += b->base;
	return image_io(b->img, &in_image);
}

int node_io(struct block_backend *b, const struct io *io)
{
	if (!b->overlay)
		return node_base_io(b, io);
	switch (io->op) {
	case IO_READ: return overlay_read(b, io->offset, io->iov, io->niov);
	case IO_WRITE: return overlay_write(b, io->offset, io->iov, io->niov);
	case IO_ZEROES: return overlay_zeroes(b, io->offset, io->bytes);
	default: return 0; /* what is thrown away at exit needs no flush */
	}
}

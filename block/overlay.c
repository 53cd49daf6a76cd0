/*
 * block/overlay.c - snapshot=on: what the guest writes goes to an unlinked temporary file.
 *
 * A bit per sector says where its content is. The guest's requests are whole sectors, so nothing
 * is ever copied up.
 */
#include "block/block-priv.h"

#include "util/bitmap.h"
#include "util/error.h"
#include "util/iov.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

struct overlay {
	int fd;
	u64 sectors;
	u64 *written;   /* bit a sector: its content is in fd; set after the write, atomically */
	GMutex partial; /* serialises writes of parts of sectors (flash) */
};

static int open_temp(GError **err)
{
	/* /tmp is often in memory, and an overlay may become as large as the disk. */
	const char *dir = g_getenv("TMPDIR") ? g_getenv("TMPDIR") : "/var/tmp";
	g_autofree char *name = g_build_filename(dir, "overlay-XXXXXX", NULL);
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	else
		error_set_errno(err, errno,
				"snapshot=on: cannot make a temporary file in '%s' "
				"(TMPDIR names another place)",
				dir);
	return fd;
}

struct overlay *overlay_create(u64 size, GError **err)
{
	int fd = open_temp(err);
	struct overlay *ov;

	if (fd < 0)
		return NULL;
	ov = g_new0(struct overlay, 1);
	ov->fd = fd;
	ov->sectors = size / BLOCK_SECTOR;
	ov->written = bitmap_new(ov->sectors);
	g_mutex_init(&ov->partial);
	return ov;
}

void overlay_free(struct overlay *ov)
{
	if (!ov)
		return;
	close(ov->fd);
	bitmap_free(ov->written, ov->sectors);
	g_mutex_clear(&ov->partial);
	g_free(ov);
}

/* The overlay seen as an image of its own, so that transfers are the same. */
static int overlay_file_io(struct overlay *ov, enum io_op op, u64 offset, const struct iovec *iov,
			   int niov)
{
	struct image plain = { .fd = ov->fd, .align = 1, .writable = true };

	return image_io(&plain, &(struct io){ op, offset, iov_size(iov, niov), iov, niov, 0 });
}

static int base_read(struct block_backend *b, u64 offset, const struct iovec *iov, int niov)
{
	return node_base_io(b, &(struct io){ IO_READ, offset, iov_size(iov, niov), iov, niov, 0 });
}

int overlay_read(struct block_backend *b, u64 offset, const struct iovec *iov, int niov)
{
	struct overlay *ov = b->overlay;
	g_autofree struct iovec *part = g_new(struct iovec, niov + 1);
	u64 pos = offset, end = offset + iov_size(iov, niov);
	int ret = 0;

	while (pos < end && !ret) {
		u64 sector = pos / BLOCK_SECTOR;
		bool here = bitmap_test(ov->written, sector);
		u64 next = here ? bitmap_next_clear(ov->written, ov->sectors, sector)
				: bitmap_next_set(ov->written, ov->sectors, sector);
		u64 stop = MIN(end, next * BLOCK_SECTOR);
		int n = iov_slice(iov, niov, pos - offset, stop - pos, part);

		ret = here ? overlay_file_io(ov, IO_READ, pos, part, n)
			   : base_read(b, pos, part, n);
		pos = stop;
	}
	return ret;
}

/* Parts of sectors at the ends are completed from what is there. */
static int write_partial(struct block_backend *b, u64 offset, const struct iovec *iov, int niov)
{
	struct overlay *ov = b->overlay;
	size_t len = iov_size(iov, niov);
	u64 start = ROUND_DOWN(offset, BLOCK_SECTOR), end = ROUND_UP(offset + len, BLOCK_SECTOR);
	g_autofree u8 *buf = g_malloc(end - start);
	struct iovec whole = { buf, end - start };
	int ret;

	g_mutex_lock(&ov->partial);
	ret = overlay_read(b, start, &whole, 1);
	if (!ret) {
		iov_to_buf(iov, niov, 0, buf + (offset - start), len);
		ret = overlay_write(b, start, &whole, 1);
	}
	g_mutex_unlock(&ov->partial);
	return ret;
}

int overlay_write(struct block_backend *b, u64 offset, const struct iovec *iov, int niov)
{
	struct overlay *ov = b->overlay;
	u64 len = iov_size(iov, niov);
	int ret;

	if (!IS_ALIGNED(offset | len, BLOCK_SECTOR))
		return write_partial(b, offset, iov, niov);
	ret = overlay_file_io(ov, IO_WRITE, offset, iov, niov);
	if (!ret)
		bitmap_set_atomic(ov->written, offset / BLOCK_SECTOR, len / BLOCK_SECTOR);
	return ret;
}

int overlay_zeroes(struct block_backend *b, u64 offset, u64 bytes)
{
	struct overlay *ov = b->overlay;
	size_t chunk = MIN(bytes, MiB);
	g_autofree void *zero = NULL;
	int ret = 0;

	/* A hole reads as zeroes, and so does what lies beyond the end of the file. */
	if (IS_ALIGNED(offset | bytes, BLOCK_SECTOR) &&
	    !fallocate(ov->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes)) {
		bitmap_set_atomic(ov->written, offset / BLOCK_SECTOR, bytes / BLOCK_SECTOR);
		return 0;
	}
	zero = g_malloc0(chunk);
	while (bytes && !ret) {
		struct iovec v = { zero, MIN(bytes, chunk) };

		ret = overlay_write(b, offset, &v, 1);
		offset += v.iov_len;
		bytes -= v.iov_len;
	}
	return ret;
}

/* block/image.c - open files and host devices: access mode, size, alignment, activation. */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/log.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECT_ALIGN_MAX 4096 /* the largest unit that host disks use */

void image_opts_clear(struct image_opts *o)
{
	g_clear_pointer(&o->filename, g_free);
}

static int open_file(const struct image *img, bool writable)
{
	int flags = writable ? O_RDWR : O_RDONLY;

	if (img->o.direct)
		flags |= O_DIRECT;
	return file_open(img->o.filename, flags, 0);
}

static bool is_permission(int ret)
{
	return ret == -EACCES || ret == -EPERM || ret == -EROFS;
}

static int check_kind(const struct image *img, GError **err)
{
	struct stat st;

	if (fstat(img->fd, &st)) {
		error_set_errno(err, errno, "cannot examine '%s'", img->o.filename);
		return -errno;
	}
	if (S_ISDIR(st.st_mode)) {
		error_set(err, "'%s' is a directory, not a disk image", img->o.filename);
		return -EISDIR;
	}
	if (img->o.kind == IMAGE_FILE && !S_ISREG(st.st_mode)) {
		error_set(err, "'%s' is no regular file; driver=host_device opens devices",
			  img->o.filename);
		return -EINVAL;
	}
	if (img->o.kind == IMAGE_HOST_DEVICE && !S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode)) {
		error_set(err, "'%s' is no device; driver=file opens regular files",
			  img->o.filename);
		return -EINVAL;
	}
	return 0;
}

static u64 device_size(int fd)
{
	u64 bytes;
	off_t end;

	if (!ioctl(fd, BLKGETSIZE64, &bytes))
		return bytes;
	end = lseek(fd, 0, SEEK_END);
	return end > 0 ? end : 0;
}

static int read_size(struct image *img, GError **err)
{
	struct stat st;

	if (img->fd < 0)
		return 0;
	if (fstat(img->fd, &st)) {
		error_set_errno(err, errno, "cannot read the size of '%s'", img->o.filename);
		return -errno;
	}
	img->size = S_ISREG(st.st_mode) ? st.st_size : device_size(img->fd);
	img->size = ROUND_UP(img->size, BLOCK_SECTOR);
	return 0;
}

/* Whether O_DIRECT takes reads of @align bytes; end of file counts as taken. */
static bool direct_takes(int fd, unsigned align)
{
	void *buf = NULL;
	bool ok;

	if (posix_memalign(&buf, DIRECT_ALIGN_MAX, DIRECT_ALIGN_MAX))
		return false;
	ok = pread(fd, buf, align, align < DIRECT_ALIGN_MAX ? align : 0) >= 0 || errno != EINVAL;
	free(buf);
	return ok;
}

/* statx(2), STATX_DIOALIGN, where kernel and file system know it; else by trying. */
static void find_alignment(struct image *img)
{
	int sector = 0;

	img->align = img->mem_align = 1;
	if (!img->o.direct || img->fd < 0)
		return;
	img->align = img->mem_align = DIRECT_ALIGN_MAX;
#ifdef STATX_DIOALIGN
	struct statx sx;

	if (!statx(img->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) &&
	    (sx.stx_mask & STATX_DIOALIGN) && sx.stx_dio_offset_align) {
		img->align = sx.stx_dio_offset_align;
		img->mem_align = MAX(sx.stx_dio_mem_align, 1);
		return;
	}
#endif
	if (!ioctl(img->fd, BLKSSZGET, &sector) && sector > 0)
		img->align = img->mem_align = sector;
	else if (direct_takes(img->fd, BLOCK_SECTOR))
		img->align = img->mem_align = BLOCK_SECTOR;
}

static void choose_engine(struct image *img)
{
	bool wanted = img->o.aio != AIO_THREADS;

	img->uring = wanted && img->fd >= 0 && uring_available();
	if (wanted && img->o.aio != AIO_AUTO && !img->uring && img->fd >= 0)
		log_warn("image '%s': this host has no io_uring, threads do its I/O",
			 img->o.filename);
}

static int open_now(struct image *img, GError **err)
{
	bool writable = !img->o.read_only && !img->o.auto_read_only;
	int fd;

	if (img->o.kind == IMAGE_NULL) {
		img->writable = !img->o.read_only;
		img->size = ROUND_UP(img->o.null_size, BLOCK_SECTOR);
		return 0;
	}
	fd = open_file(img, writable);
	if (fd == -EINVAL && img->o.direct) {
		error_set(err,
			  "'%s': its file system has no O_DIRECT; use cache=writeback or "
			  "cache.direct=off",
			  img->o.filename);
		return fd;
	}
	if (fd < 0) {
		error_set_errno(err, -fd, "cannot open '%s'", img->o.filename);
		if (is_permission(fd) && writable)
			g_prefix_error(err,
				       "%s: ", "no permission to write (read-only=on needs none)");
		return fd;
	}
	img->fd = fd;
	img->writable = writable;
	return check_kind(img, err);
}

struct image *image_open(const struct image_opts *o, bool inactive, GError **err)
{
	struct image *img = g_new0(struct image, 1);

	img->o = *o;
	img->o.filename = g_strdup(o->filename);
	img->refs = 1;
	img->fd = -1;
	img->active = !inactive;
	g_mutex_init(&img->rmw);
	if (open_now(img, err) || (img->o.kind != IMAGE_NULL && read_size(img, err))) {
		image_unref(img);
		return NULL;
	}
	find_alignment(img);
	choose_engine(img);
	return img;
}

struct image *image_ref(struct image *img)
{
	img->refs++;
	return img;
}

void image_unref(struct image *img)
{
	if (--img->refs)
		return;
	if (img->fd >= 0)
		close(img->fd); /* its locks go with it */
	g_mutex_clear(&img->rmw);
	image_opts_clear(&img->o);
	g_free(img);
}

/* auto-read-only: the first user that writes turns the file into a writable one. */
static int make_writable(struct image *img, GError **err)
{
	int fd;

	if (img->writable)
		return 0;
	if (img->o.read_only) {
		error_set(err, "image '%s' was opened with read-only=on", img->o.filename);
		return -EROFS;
	}
	fd = open_file(img, true);
	if (fd < 0) {
		error_set_errno(err, -fd, "cannot open '%s' for writing", img->o.filename);
		return fd;
	}
	close(img->fd);
	img->fd = fd;
	img->held = IMAGE_UNUSED;
	img->writable = true;
	return 0;
}

int image_require(struct image *img, enum image_use want, GError **err)
{
	int ret;

	if (want == IMAGE_WRITE) {
		ret = make_writable(img, err);
		if (ret)
			return ret;
	}
	if (want > img->want)
		img->want = want;
	if (!img->active)
		return 0;
	return image_lock_set(img, img->want, err);
}

void image_release(struct image *img, enum image_use want)
{
	img->want = want;
	if (img->active)
		image_lock_set(img, want, NULL);
}

int image_activate(struct image *img, GError **err)
{
	int ret;

	if (img->active)
		return 0;
	ret = image_lock_set(img, img->want, err);
	if (ret)
		return ret;
	img->active = true;
	return img->o.kind == IMAGE_NULL ? 0 : read_size(img, err);
}

int image_inactivate(struct image *img, GError **err)
{
	int ret;

	if (!img->active)
		return 0;
	if (img->fd >= 0 && img->writable && !img->o.no_flush && fdatasync(img->fd)) {
		ret = -errno;
		error_set_errno(err, -ret, "cannot flush image '%s'", img->o.filename);
		return ret;
	}
	img->active = false;
	return image_lock_set(img, IMAGE_UNUSED, NULL);
}

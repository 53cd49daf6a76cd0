/* block/resize.c - block_resize: another size for a disk that may be in use. */
#include "block/block-priv.h"

#include "util/error.h"

#include <sys/stat.h>
#include <unistd.h>

static int resize_raw(struct block_backend *b, u64 size, GError **err)
{
	struct image *img = b->img;
	struct stat st;

	if (b->base || b->limit) {
		error_set(err,
			  "disk '%s' is a part of its file (offset=, size=) and keeps its "
			  "size",
			  block_name(b));
		return -ENOTSUP;
	}
	if (img->fd < 0 || fstat(img->fd, &st) || !S_ISREG(st.st_mode)) {
		error_set(err, "disk '%s' is no regular file and keeps its size", block_name(b));
		return -ENOTSUP;
	}
	if (ftruncate(img->fd, size)) {
		error_set_errno(err, errno, "cannot resize '%s'", img->o.filename);
		return -errno;
	}
	img->size = size;
	return 0;
}

static int check(struct block_backend *b, u64 size, GError **err)
{
	const char *why = NULL;

	if (!b->img)
		why = "has no medium";
	else if (b->read_only)
		why = "is read-only";
	else if (!b->img->active)
		why = "belongs to another process until the migration ends";
	else if (b->overlay)
		why = "was opened with snapshot=on";
	else if (b->fmt ? !b->fmt->loaded : !b->img->writable)
		why = "is used by no device, so its file is not open for writing";
	if (why) {
		error_set(err, "disk '%s' %s", block_name(b), why);
		return -EACCES;
	}
	if (!IS_ALIGNED(size, BLOCK_SECTOR) || size > G_MAXINT64) {
		error_set(err, "size %" PRIu64 " is no multiple of %u", size, BLOCK_SECTOR);
		return -EINVAL;
	}
	return 0;
}

int block_resize(struct block_backend *b, u64 size, GError **err)
{
	int ret = check(b, size, err);

	if (ret)
		return ret;
	block_drain(b);
	ret = b->fmt ? b->fmt->ops->resize(b->fmt, size, err) : resize_raw(b, size, err);
	node_tell_size(b);
	return ret;
}

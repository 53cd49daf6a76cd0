/*
 * block/lock.c - who may use an image: shared locks on single bytes of it, by open file
 * description (fcntl(2), "Open file description locks").
 *
 * The bytes are those that QEMU's tools use, so that they and we see each other: byte 100 + n says
 * "I do n", byte 200 + n says "I bear nobody who does n", n being 0 read, 1 write, 3 resize.
 */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/log.h"

#include <fcntl.h>
#include <unistd.h>

enum { DOES = 100, FORBIDS = 200 };
enum { ACT_READ = 0, ACT_WRITE = 1, ACT_RESIZE = 3 };

/* Which bytes a state of the lock holds. */
static bool holds(enum image_use state, int byte)
{
	if (state == IMAGE_UNUSED)
		return false;
	return byte == DOES + ACT_READ || byte == FORBIDS + ACT_WRITE ||
	       byte == FORBIDS + ACT_RESIZE || (state == IMAGE_WRITE && byte == DOES + ACT_WRITE);
}

static const int all_bytes[] = { DOES + ACT_READ, DOES + ACT_WRITE, FORBIDS + ACT_WRITE,
				 FORBIDS + ACT_RESIZE };

static int set_byte(int fd, int byte, short type)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &fl) ? -errno : 0;
}

/* Whether another open file description has the byte; -errno. */
static int other_has(int fd, int byte)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &fl) ? -errno : fl.l_type != F_UNLCK;
}

static int set_state(int fd, enum image_use from, enum image_use to)
{
	int ret = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(all_bytes); i++) {
		int byte = all_bytes[i], one;

		if (holds(from, byte) == holds(to, byte))
			continue;
		one = set_byte(fd, byte, holds(to, byte) ? F_RDLCK : F_UNLCK);
		if (one && !ret)
			ret = one;
	}
	return ret;
}

/* Return: 0, 1 if others stand against @state, -errno. */
static int conflict(int fd, enum image_use state)
{
	for (unsigned i = 0; i < ARRAY_SIZE(all_bytes); i++) {
		int byte = all_bytes[i], against, ret;

		if (!holds(state, byte))
			continue;
		against = byte >= FORBIDS ? byte - FORBIDS + DOES : byte - DOES + FORBIDS;
		ret = other_has(fd, against);
		if (ret)
			return ret;
	}
	return 0;
}

static bool cannot_lock(int ret)
{
	return ret == -EINVAL || ret == -ENOLCK || ret == -EOPNOTSUPP || ret == -ENOSYS;
}

static int refuse(struct image *img, enum image_use want, GError **err)
{
	error_set(err,
		  "image '%s' is %s by another process or drive: end that one, open the image "
		  "with read-only=on on both sides, or take the risk with locking=off",
		  img->o.filename, want == IMAGE_WRITE ? "in use" : "being written");
	return -EBUSY;
}

int image_lock_set(struct image *img, enum image_use want, GError **err)
{
	int ret;

	if (img->fd < 0 || img->o.locking == LOCKING_OFF || img->o.force_share)
		return 0;
	ret = set_state(img->fd, img->held, MAX(want, img->held));
	if (!ret)
		ret = conflict(img->fd, want);
	if (ret) {
		set_state(img->fd, MAX(want, img->held), img->held);
		if (ret > 0)
			return refuse(img, want, err);
		if (cannot_lock(ret) && img->o.locking == LOCKING_AUTO) {
			log_warn("image '%s' cannot be locked (%s): nothing keeps another process "
				 "from using it",
				 img->o.filename, g_strerror(-ret));
			img->o.locking = LOCKING_OFF;
			return 0;
		}
		error_set_errno(err, -ret, "cannot lock image '%s'; locking=off goes without",
				img->o.filename);
		return ret;
	}
	set_state(img->fd, MAX(want, img->held), want);
	img->held = want;
	return 0;
}

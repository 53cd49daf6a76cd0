/* hw/virtio/rng-backend.c - sources of randomness for devices. */
#include "hw/rng-backend.h"

#include "util/error.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#define DEFAULT_FILE "/dev/urandom"

struct rng_backend {
	int fd; /* -1: getrandom() */
};

bool rng_backend_is_type(const char *type)
{
	return !strcmp(type, "rng-builtin") || !strcmp(type, "rng-random");
}

struct rng_backend *rng_backend_create(const char *type, JsonObject *opts, GError **err)
{
	bool file = !strcmp(type, "rng-random");
	g_autofree char *name = file && opts ? keyval_take_str(opts, "filename") : NULL;
	struct rng_backend *b;
	int fd = -1;

	if (opts && keyval_reject_rest(opts, type, err))
		return NULL;
	if (file) {
		fd = open(name ?: DEFAULT_FILE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0) {
			error_set_errno(err, errno, "could not open '%s'", name ?: DEFAULT_FILE);
			return NULL;
		}
	}
	b = g_new0(struct rng_backend, 1);
	b->fd = fd;
	return b;
}

void rng_backend_destroy(struct rng_backend *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	g_free(b);
}

ssize_t rng_backend_read(struct rng_backend *b, void *buf, size_t len)
{
	ssize_t n = b->fd < 0 ? getrandom(buf, len, GRND_NONBLOCK) : read(b->fd, buf, len);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n ?: -ENODATA; /* end of file */
}

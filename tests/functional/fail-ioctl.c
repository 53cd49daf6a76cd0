/*
 * fail-ioctl.c - preloaded library that makes one call of a KVM dirty-tracking ioctl fail.
 *
 * Environment: FAIL_IOCTL is the name (KVM_GET_DIRTY_LOG, KVM_CLEAR_DIRTY_LOG,
 * KVM_RESET_DIRTY_RINGS), FAIL_CALL the number of the call counted from 1, FAIL_ERRNO the number to
 * fail with, FAIL_LOG a file that is created when it has happened.
 *
 * Request numbers: Linux uapi, linux/kvm.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As libc declares it; not taken from sys/ioctl.h, whose attributes differ between versions. */
int ioctl(int fd, unsigned long request, ...);

static unsigned long watched_request(void)
{
	static const struct {
		const char *name;
		unsigned long request;
	} known[] = {
		{ "KVM_GET_DIRTY_LOG", KVM_GET_DIRTY_LOG },
		{ "KVM_CLEAR_DIRTY_LOG", KVM_CLEAR_DIRTY_LOG },
		{ "KVM_RESET_DIRTY_RINGS", KVM_RESET_DIRTY_RINGS },
	};
	const char *name = getenv("FAIL_IOCTL");

	for (size_t i = 0; name && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			return known[i].request;
	return 0;
}

static int number_from(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static void leave_mark(void)
{
	const char *path = getenv("FAIL_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT, 0600) : -1;

	if (fd >= 0)
		close(fd);
}

int ioctl(int fd, unsigned long request, ...)
{
	static atomic_int calls;
	int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == watched_request() &&
	    atomic_fetch_add(&calls, 1) + 1 == number_from("FAIL_CALL")) {
		leave_mark();
		errno = number_from("FAIL_ERRNO");
		return -1;
	}
	return next(fd, request, arg);
}

/*
 * count-ioctl.c - preloaded library that counts and times the dirty-tracking ioctls of a process.
 *
 * Environment: COUNT_IOCTL_FILE is a file of at least COUNTERS * sizeof(struct counter) zero bytes;
 * it is mapped, so that its reader sees the counters while the process runs. COUNT_IOCTL_PROTECT is
 * a mask that KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 is cut down to: 0 makes an emulator that has no
 * option for it use the legacy protocol.
 *
 * Request numbers and structures: Linux uapi, linux/kvm.h.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The order is known to tests/bench/kit/process.py. */
enum { GET, CLEAR, RESET, SET_REGION, LOG_ON, COUNTERS };

/* Read by another process; LOG_ON: regions set with the log switched on, also in SET_REGION. */
struct counter {
	_Atomic uint64_t calls, ns, max_ns;
	_Atomic uint64_t pages; /* CLEAR: in the ranges; RESET: entries; others: of the region */
};

_Static_assert(sizeof(struct counter) == 32, "as the reader unpacks it");

/* From Linux 6.8 on; older headers lack it. */
#ifndef KVM_SET_USER_MEMORY_REGION2
#define KVM_SET_USER_MEMORY_REGION2 _IOW(KVMIO, 0x49, char[160])
#endif

/* As libc declares it; not taken from sys/ioctl.h, whose attributes differ between versions. */
int ioctl(int fd, unsigned long request, ...);

static struct counter *counters;
static long protect_mask = -1;

__attribute__((constructor)) static void set_up(void)
{
	const char *path = getenv("COUNT_IOCTL_FILE"), *mask = getenv("COUNT_IOCTL_PROTECT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	if (mask)
		protect_mask = strtol(mask, NULL, 0);
	if (fd < 0)
		return;
	map = mmap(NULL, COUNTERS * sizeof(struct counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	close(fd);
	if (map != MAP_FAILED)
		counters = map;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void note(int which, uint64_t ns, uint64_t pages)
{
	struct counter *c = &counters[which];
	uint64_t old = c->max_ns;

	c->calls++;
	c->ns += ns;
	c->pages += pages;
	while (ns > old && !atomic_compare_exchange_weak(&c->max_ns, &old, ns))
		;
}

/* Both forms of the call begin with these members. */
static void note_region(const struct kvm_userspace_memory_region *region, uint64_t ns)
{
	note(SET_REGION, ns, region->memory_size >> 12);
	if (region->flags & KVM_MEM_LOG_DIRTY_PAGES)
		note(LOG_ON, ns, region->memory_size >> 12);
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	uint64_t start, ns;
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!next)
		next = dlsym(RTLD_NEXT, "ioctl");
	start = now_ns();
	ret = next(fd, request, arg);
	if (request == KVM_CHECK_EXTENSION && (uintptr_t)arg == KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 &&
	    ret > 0)
		return ret & protect_mask;
	if (!counters)
		return ret;
	ns = now_ns() - start;
	switch ((unsigned int)request) { /* some callers extend the sign */
	case KVM_GET_DIRTY_LOG: note(GET, ns, 0); break;
	case KVM_CLEAR_DIRTY_LOG:
		note(CLEAR, ns, ((struct kvm_clear_dirty_log *)arg)->num_pages);
		break;
	case KVM_RESET_DIRTY_RINGS: note(RESET, ns, ret > 0 ? ret : 0); break;
	case KVM_SET_USER_MEMORY_REGION:
	case KVM_SET_USER_MEMORY_REGION2: note_region(arg, ns); break;
	}
	return ret;
}

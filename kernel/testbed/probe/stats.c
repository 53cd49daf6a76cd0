/* KVM's binary statistics (Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD). */
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef void visit(const char *name, uint64_t value, void *opaque);

/* The counters that tell what a guest's writes and their logging took. */
static bool wanted(const char *name)
{
	return !strcmp(name, "exits") || !strncmp(name, "hdbss_", 6) ||
	       !strncmp(name, "hacdbs_", 7) || !strncmp(name, "recover", 7);
}

static void read_at(int fd, void *to, size_t size, off_t offset)
{
	if (pread(fd, to, size, offset) != (ssize_t)size)
		fail("KVM's statistics");
}

static void for_each(int owner, visit *fn, void *opaque)
{
	int fd = ioctl(owner, KVM_GET_STATS_FD, NULL);
	struct kvm_stats_header h;
	struct kvm_stats_desc *d;
	uint64_t value;
	size_t size;

	if (fd < 0)
		fail("KVM_GET_STATS_FD");
	read_at(fd, &h, sizeof(h), 0);
	size = sizeof(*d) + h.name_size;
	d = malloc(size);
	for (uint32_t i = 0; i < h.num_desc; i++) {
		read_at(fd, d, size, h.desc_offset + i * size);
		read_at(fd, &value, sizeof(value), h.data_offset + d->offset);
		fn(d->name, value, opaque);
	}
	free(d);
	close(fd);
}

static void print(const char *name, uint64_t value, void *opaque)
{
	(void)opaque;
	if (wanted(name))
		printf("stat %s %llu\n", name, (unsigned long long)value);
}

struct sought {
	const char *name;
	uint64_t value;
};

static void keep(const char *name, uint64_t value, void *opaque)
{
	struct sought *s = opaque;

	if (!strcmp(name, s->name))
		s->value = value;
}

uint64_t vm_stat(const struct probe_vm *p, const char *name)
{
	struct sought s = { .name = name };

	for_each(p->vcpu, keep, &s);
	return s.value;
}

void vm_print_stats(const struct probe_vm *p)
{
	for_each(p->vm, print, NULL);
	for_each(p->vcpu, print, NULL);
}

/* KVM's binary statistics (Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD). */
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The counters that tell what a guest's writes and their logging took. */
static bool wanted(const char *name)
{
	return !strcmp(name, "exits") || !strncmp(name, "hdbss_", 6) ||
	       !strncmp(name, "hacdbs_", 7);
}

static void read_at(int fd, void *to, size_t size, off_t offset)
{
	if (pread(fd, to, size, offset) != (ssize_t)size)
		fail("KVM's statistics");
}

static void print_one(int fd, const struct kvm_stats_header *h, const struct kvm_stats_desc *d)
{
	uint64_t value;

	if (!wanted(d->name))
		return;
	read_at(fd, &value, sizeof(value), h->data_offset + d->offset);
	printf("stat %s %llu\n", d->name, (unsigned long long)value);
}

static void print_all(int owner)
{
	int fd = ioctl(owner, KVM_GET_STATS_FD, NULL);
	struct kvm_stats_header h;
	struct kvm_stats_desc *d;
	size_t size;

	if (fd < 0)
		fail("KVM_GET_STATS_FD");
	read_at(fd, &h, sizeof(h), 0);
	size = sizeof(*d) + h.name_size;
	d = malloc(size);
	for (uint32_t i = 0; i < h.num_desc; i++) {
		read_at(fd, d, size, h.desc_offset + i * size);
		print_one(fd, &h, d);
	}
	free(d);
	close(fd);
}

void vm_print_stats(const struct probe_vm *p)
{
	print_all(p->vm);
	print_all(p->vcpu);
}

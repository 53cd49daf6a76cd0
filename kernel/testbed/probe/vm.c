/* See vm.h. */
#include "vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCK (2ul << 20)

void fail(const char *what)
{
	printf("dirty-probe: %s: %s\n", what, strerror(errno));
	exit(2);
}

uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void enable(struct probe_vm *p, uint32_t cap, uint64_t argument, const char *what)
{
	struct kvm_enable_cap c = { .cap = cap, .args = { argument } };

	if (argument && ioctl(p->vm, KVM_ENABLE_CAP, &c))
		fail(what);
}

static uint8_t *map(size_t size, int flags)
{
	uint8_t *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			  -1, 0);

	if (m == MAP_FAILED)
		fail("mmap");
	return m;
}

/* Aligned to blocks and present, so that stage 2 alone decides what a run costs. */
static uint8_t *map_ram(size_t size, enum backing backing)
{
	uint8_t *m;

	if (backing == BACKING_HUGETLB) {
		m = map(size, MAP_HUGETLB);
	} else {
		m = map(size + BLOCK, 0);
		m = (uint8_t *)(((uintptr_t)m + BLOCK - 1) & ~(BLOCK - 1));
		if (madvise(m, size, backing == BACKING_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
			fail("madvise");
	}
	memset(m, 1, size);
	return m;
}

static void set_slot(struct probe_vm *p, uint32_t slot, uint64_t gpa, uint8_t *memory, size_t size,
		     uint32_t flags)
{
	struct kvm_userspace_memory_region r = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = gpa,
		.memory_size = size,
		.userspace_addr = (uintptr_t)memory,
	};

	if (ioctl(p->vm, KVM_SET_USER_MEMORY_REGION, &r))
		fail("KVM_SET_USER_MEMORY_REGION");
}

static void map_vcpu(struct probe_vm *p)
{
	int size = ioctl(p->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	size_t ring = p->options->ring_entries * sizeof(struct kvm_dirty_gfn);

	p->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->vcpu, 0);
	if (p->run == MAP_FAILED)
		fail("mmap of the vCPU");
	if (!ring)
		return;
	p->ring = mmap(NULL, ring, PROT_READ | PROT_WRITE, MAP_SHARED, p->vcpu,
		       KVM_DIRTY_LOG_PAGE_OFFSET * PROBE_PAGE);
	if (p->ring == MAP_FAILED)
		fail("mmap of the ring");
}

void vm_create(struct probe_vm *p, const struct probe_options *o)
{
	uint8_t *code = map(2 * PROBE_PAGE, 0);

	*p = (struct probe_vm){ .options = o, .pages = (o->mib << 20) / PROBE_PAGE };
	p->written = p->pages / o->stride;
	if (o->bad_entries)
		p->pages /= 2;
	p->kvm = open("/dev/kvm", O_RDWR);
	if (p->kvm < 0)
		fail("/dev/kvm");
	p->vm = ioctl(p->kvm, KVM_CREATE_VM, 0);
	if (p->vm < 0)
		fail("KVM_CREATE_VM");
	enable(p, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, o->manual_caps, "MANUAL_DIRTY_LOG_PROTECT2");
	enable(p, KVM_CAP_ARM_EAGER_SPLIT_CHUNK_SIZE, o->split_chunk, "EAGER_SPLIT_CHUNK_SIZE");
	enable(p, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, o->ring_entries * sizeof(struct kvm_dirty_gfn),
	       "DIRTY_LOG_RING_ACQ_REL");

	p->tables = code + PROBE_PAGE;
	memcpy(code, guest_code, guest_code_end - guest_code);
	set_slot(p, 0, PROBE_CODE_GPA, code, 2 * PROBE_PAGE, 0);
	p->ram = map_ram(o->mib << 20, o->backing);
	vm_log(p, false);
	if (o->bad_entries)
		set_slot(p, PROBE_SLOT2, PROBE_RAM_GPA + p->pages * PROBE_PAGE,
			 p->ram + p->pages * PROBE_PAGE, p->pages * PROBE_PAGE, 0);
	p->vcpu = ioctl(p->vm, KVM_CREATE_VCPU, 0);
	if (p->vcpu < 0)
		fail("KVM_CREATE_VCPU");
	map_vcpu(p);
	guest_setup(p);
}

void vm_log(struct probe_vm *p, bool on)
{
	set_slot(p, PROBE_SLOT, PROBE_RAM_GPA, p->ram, p->pages * PROBE_PAGE,
		 on ? KVM_MEM_LOG_DIRTY_PAGES : 0);
}

bool vm_run_within(struct probe_vm *p, uint64_t limit)
{
	uint64_t start = vm_stat(p, "exits");

	while (ioctl(p->vcpu, KVM_RUN, 0)) {
		if (errno != EINTR)
			fail("KVM_RUN");
		if (vm_stat(p, "exits") - start > limit)
			return false;
	}
	return true;
}

bool vm_run(struct probe_vm *p)
{
	while (ioctl(p->vcpu, KVM_RUN, 0))
		if (errno != EINTR)
			fail("KVM_RUN");
	return p->run->exit_reason == KVM_EXIT_DIRTY_RING_FULL;
}

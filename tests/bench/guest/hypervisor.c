/*
 * tests/bench/guest/hypervisor.c - loads of KVM on arm64: what a guest's exits and faults cost.
 *
 * First process of a Linux that runs at EL2. Reads lines "NAME ROUNDS" and answers "loads: done" or
 * "loads: failed" to each; it begins with "loads: ready". One VM with two vCPUs serves all loads;
 * its guest (hypervisor-guest.S) runs with the MMU off. The load dirty-log starts KVM's own
 * dirty_log_perf_test.
 *
 * Sources: Linux, Documentation/virt/kvm/api.rst and devices/arm-vgic-v3.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hypervisor.h"

#define NCPUS     2
#define PAGE      4096ul
#define RAM_BYTES (16ul << 20)
#define SPIS      64

#define REG(name) (KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(name))

struct vcpu {
	int fd;
	struct kvm_run *run;
	pthread_t thread;
	int result;
};

static int vm;
static struct vcpu vcpus[NCPUS];
static char *ram;

extern const char guest_code[], guest_code_end[];
extern const char guest_hvc[], guest_mmio[], guest_vgic[], guest_sgi[], guest_ipi[],
	guest_ipi_back[], guest_fault[];

static int check(int result, const char *what)
{
	if (result < 0)
		printf("%s: %s\n", what, strerror(errno));
	return result;
}

static int set_slot(unsigned slot, uint64_t gpa, void *memory, size_t size)
{
	struct kvm_userspace_memory_region r = { .slot = slot,
						 .guest_phys_addr = gpa,
						 .memory_size = size,
						 .userspace_addr = (uintptr_t)memory };

	return check(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &r), "KVM_SET_USER_MEMORY_REGION");
}

static int set_register(struct vcpu *v, uint64_t id, uint64_t value)
{
	struct kvm_one_reg r = { .id = id, .addr = (uintptr_t)&value };

	return check(ioctl(v->fd, KVM_SET_ONE_REG, &r), "KVM_SET_ONE_REG");
}

static int create_vcpu(struct vcpu *v, int index, int run_size)
{
	struct kvm_vcpu_init init = { 0 };

	v->fd = check(ioctl(vm, KVM_CREATE_VCPU, index), "KVM_CREATE_VCPU");
	if (v->fd < 0 ||
	    check(ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init), "KVM_ARM_PREFERRED_TARGET"))
		return -1;
	init.features[0] |= 1u << KVM_ARM_VCPU_PSCI_0_2;
	if (check(ioctl(v->fd, KVM_ARM_VCPU_INIT, &init), "KVM_ARM_VCPU_INIT"))
		return -1;
	v->run = mmap(NULL, run_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (v->run == MAP_FAILED)
		return check(-1, "mmap of a vCPU");
	return set_register(v, REG(regs.pc), GUEST_CODE);
}

static int set_gic(int gic, unsigned group, unsigned attr, uint64_t value)
{
	struct kvm_device_attr a = { .group = group, .attr = attr, .addr = (uintptr_t)&value };

	return check(ioctl(gic, KVM_SET_DEVICE_ATTR, &a), "KVM_SET_DEVICE_ATTR");
}

static int create_gic(void)
{
	struct kvm_create_device d = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct kvm_device_attr init = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL,
					.attr = KVM_DEV_ARM_VGIC_CTRL_INIT };
	uint32_t nirqs = SPIS;
	struct kvm_device_attr irqs = { .group = KVM_DEV_ARM_VGIC_GRP_NR_IRQS,
					.addr = (uintptr_t)&nirqs };

	if (check(ioctl(vm, KVM_CREATE_DEVICE, &d), "KVM_CREATE_DEVICE of a GICv3") ||
	    set_gic(d.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, GUEST_GICD) ||
	    set_gic(d.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, GUEST_GICR))
		return -1;
	if (check(ioctl(d.fd, KVM_SET_DEVICE_ATTR, &irqs), "number of interrupts"))
		return -1;
	return check(ioctl(d.fd, KVM_SET_DEVICE_ATTR, &init), "start of the GICv3");
}

static int create_vm(void)
{
	int kvm = check(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm"), run_size;
	char *code;

	if (kvm < 0)
		return -1;
	run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	vm = check(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	if (vm < 0)
		return -1;
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || ram == MAP_FAILED)
		return check(-1, "mmap");
	madvise(ram, RAM_BYTES, MADV_NOHUGEPAGE);
	memcpy(code, guest_code, guest_code_end - guest_code);
	if (set_slot(0, GUEST_CODE, code, PAGE) || set_slot(1, GUEST_RAM, ram, RAM_BYTES))
		return -1;
	for (int i = 0; i < NCPUS; i++)
		if (create_vcpu(&vcpus[i], i, run_size))
			return -1;
	return create_gic();
}

/* Until the guest writes to GUEST_EXIT; a write to GUEST_MMIO costs nothing more than the exit. */
static void *run(void *opaque)
{
	struct vcpu *v = opaque;

	v->result = -1;
	for (;;) {
		if (ioctl(v->fd, KVM_RUN, 0)) {
			if (errno == EINTR)
				continue;
			check(-1, "KVM_RUN");
			return NULL;
		}
		if (v->run->exit_reason != KVM_EXIT_MMIO) {
			printf("exit %u\n", v->run->exit_reason);
			return NULL;
		}
		if (v->run->mmio.phys_addr == GUEST_EXIT)
			break;
	}
	v->result = 0;
	return NULL;
}

static int set_start(struct vcpu *v, const char *entry, uint64_t rounds)
{
	return set_register(v, REG(regs.regs[0]), rounds) ||
	       set_register(v, REG(regs.regs[20]), GUEST_CODE + (entry - guest_code));
}

static int run_guest(const char *entry, const char *second, uint64_t rounds)
{
	if (set_start(&vcpus[0], entry, rounds) || (second && set_start(&vcpus[1], second, rounds)))
		return -1;
	if (second && pthread_create(&vcpus[1].thread, NULL, run, &vcpus[1]))
		return -1;
	run(&vcpus[0]);
	if (second)
		pthread_join(vcpus[1].thread, NULL);
	return vcpus[0].result || (second && vcpus[1].result);
}

/* Each page is mapped anew by the host and at stage 2. */
static int run_faults(uint64_t rounds)
{
	while (rounds) {
		uint64_t pages = rounds < RAM_BYTES / PAGE ? rounds : RAM_BYTES / PAGE;

		if (check(madvise(ram, RAM_BYTES, MADV_DONTNEED), "madvise") ||
		    run_guest(guest_fault, NULL, pages))
			return -1;
		rounds -= pages;
	}
	return 0;
}

/* Rounds are passes over memory that a vCPU writes; guest mode 3: 48 bits, pages of 4 KiB. */
static int run_dirty_log(uint64_t rounds)
{
	char count[32];
	int status = -1;
	pid_t child = fork();

	snprintf(count, sizeof(count), "%lu", (unsigned long)rounds);
	if (!child) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		execl("/dirty_log_perf_test", "dirty_log_perf_test", "-i", count, "-m", "3", "-b",
		      "32M", NULL);
		_exit(1);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status ? -1 : 0;
}

static const struct {
	const char *name, *entry, *second;
} guest_loads[] = {
	{ "hvc", guest_hvc, NULL },           { "mmio", guest_mmio, NULL },
	{ "vgic", guest_vgic, NULL },         { "sgi", guest_sgi, NULL },
	{ "ipi", guest_ipi, guest_ipi_back },
};

static int run_load(const char *name, uint64_t rounds)
{
	for (size_t i = 0; i < sizeof(guest_loads) / sizeof(guest_loads[0]); i++)
		if (!strcmp(name, guest_loads[i].name))
			return run_guest(guest_loads[i].entry, guest_loads[i].second, rounds);
	if (!strcmp(name, "fault"))
		return run_faults(rounds);
	if (!strcmp(name, "dirty-log"))
		return run_dirty_log(rounds);
	printf("no load is called %s\n", name);
	return -1;
}

static void mount_all(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("none", "/proc", "proc", 0, NULL);
	mount("none", "/sys", "sysfs", 0, NULL);
	mount("none", "/dev", "devtmpfs", 0, NULL);
}

/* The selftests map more than there is. */
static void overcommit(void)
{
	int fd = open("/proc/sys/vm/overcommit_memory", O_WRONLY);

	if (check(fd, "/proc/sys/vm/overcommit_memory") >= 0 && write(fd, "1", 1) != 1)
		check(-1, "overcommit");
	close(fd);
}

int main(void)
{
	char name[32];
	unsigned long rounds;

	mount_all();
	for (int fd = 0; fd < 3; fd++)
		dup2(open("/dev/console", O_RDWR), fd);
	setvbuf(stdout, NULL, _IOLBF, 0);
	overcommit();
	puts("shell: ready");
	if (create_vm()) {
		puts("loads: failed");
		pause();
	}
	if (getchar() == EOF)
		pause();
	puts("loads: ready");
	while (scanf("%31s %lu", name, &rounds) == 2)
		puts(run_load(name, rounds) ? "loads: failed" : "loads: done");
	pause();
}

/* accel/kvm/run.c - vCPU threads: enter the guest, serve its exits. */
#include "accel/kvm/kvm.h"
#include "util/error.h"
#include "util/lock.h"
#include "util/log.h"

#include <assert.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define KICK_SIGNAL SIGUSR1 /* vcpu_thread_init() leaves it unblocked */

static void kick_arrived(int signo)
{
	/* Its only purpose is to interrupt KVM_RUN. */
}

void kvm_kick_init(void)
{
	struct sigaction act = { .sa_handler = kick_arrived };

	sigemptyset(&act.sa_mask);
	sigaction(KICK_SIGNAL, &act, NULL);
}

/*
 * The signal interrupts a KVM_RUN that is under way; immediate_exit makes one that is about to
 * begin return at once. So the kick is not lost wherever the thread is.
 */
void kvm_vcpu_kick(struct accel *a, struct vcpu *cpu)
{
	struct kvm_vcpu *kv = kvm_vcpu_of(cpu);

	__atomic_store_n(&kv->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
	pthread_kill(kv->pthread, KICK_SIGNAL);
}

/* Stops the VM for something that neither guest nor user can repair. */
static void fatal(struct kvm_vcpu *kv, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
static void fatal(struct kvm_vcpu *kv, const char *fmt, ...)
{
	struct vcpu *cpu = kv->cpu;
	g_autofree char *what = NULL, *regs = NULL;
	g_autoptr(GError) err = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	if (vcpu_get_state(cpu, &err))
		regs = g_strdup(err->message);
	else if (cpu->ops->describe)
		regs = cpu->ops->describe(cpu);
	log_warn("vCPU %d stopped: %s\n%s", cpu->index, what, regs ? regs : "");
	vm_request_stop(cpu->vm, RUN_STATE_INTERNAL_ERROR);
}

static void port_access(struct kvm_vcpu *kv)
{
	struct kvm_run *run = kv->run;
	struct address_space *io = kv->cpu->vm->io;
	u8 *data = (u8 *)run + run->io.data_offset;

	machine_lock();
	for (u32 i = 0; i < run->io.count; i++, data += run->io.size) {
		if (run->io.direction == KVM_EXIT_IO_OUT)
			address_space_write(io, run->io.port, data, run->io.size);
		else
			address_space_read(io, run->io.port, data, run->io.size);
	}
	machine_unlock();
}

static void mmio_access(struct kvm_vcpu *kv)
{
	struct kvm_run *run = kv->run;
	struct address_space *as = kv->cpu->vm->memory;

	machine_lock();
	if (run->mmio.is_write)
		address_space_write(as, run->mmio.phys_addr, run->mmio.data, run->mmio.len);
	else
		address_space_read(as, run->mmio.phys_addr, run->mmio.data, run->mmio.len);
	machine_unlock();
}

static void system_event(struct kvm_vcpu *kv)
{
	struct vm *vm = kv->cpu->vm;

	switch (kv->run->system_event.type) {
	case KVM_SYSTEM_EVENT_SHUTDOWN: vm_request_shutdown(vm, SHUTDOWN_GUEST_SHUTDOWN); break;
	case KVM_SYSTEM_EVENT_RESET: vm_request_reset(vm, SHUTDOWN_GUEST_RESET); break;
	case KVM_SYSTEM_EVENT_CRASH:
		log_warn("vCPU %d: the guest reported a crash", kv->cpu->index);
		vm_request_stop(vm, RUN_STATE_GUEST_PANICKED);
		break;
	default: fatal(kv, "unknown system event %u", kv->run->system_event.type);
	}
}

static void internal_error(struct kvm_vcpu *kv)
{
	struct kvm_run *run = kv->run;
	u32 n = MIN(run->internal.ndata, ARRAY_SIZE(run->internal.data));
	g_autoptr(GString) data = g_string_new(NULL);

	for (u32 i = 0; i < n; i++)
		g_string_append_printf(data, " %016llx", (unsigned long long)run->internal.data[i]);
	fatal(kv, "KVM internal error, suberror %u%s%s%s", run->internal.suberror,
	      run->internal.suberror == KVM_INTERNAL_ERROR_EMULATION ? " (emulation failed)" : "",
	      n ? ", data" : "", data->str);
}

/* Return: whether the guest may be entered again at once. */
static bool serve_exit(struct kvm_vcpu *kv)
{
	struct kvm_run *run = kv->run;
	g_autoptr(GError) err = NULL;

	switch (run->exit_reason) {
	case KVM_EXIT_IO: port_access(kv); return true;
	case KVM_EXIT_MMIO: mmio_access(kv); return true;
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN: return true;
	case KVM_EXIT_DIRTY_RING_FULL:
		if (!kvm_ring_full(kv, &err))
			return true;
		fatal(kv, "%s", err->message);
		return false;
	case KVM_EXIT_SHUTDOWN:
		/* Triple fault: a PC's chipset resets. */
		vm_request_reset(kv->cpu->vm, SHUTDOWN_GUEST_RESET);
		return false;
	case KVM_EXIT_SYSTEM_EVENT: system_event(kv); return false;
	case KVM_EXIT_INTERNAL_ERROR: internal_error(kv); return false;
	case KVM_EXIT_FAIL_ENTRY:
		fatal(kv, "entry to the guest failed, hardware reason 0x%llx",
		      (unsigned long long)run->fail_entry.hardware_entry_failure_reason);
		return false;
	default:
		if (kv->cpu->ops->kvm_exit && !kv->cpu->ops->kvm_exit(kv->cpu, run))
			return true;
		fatal(kv, "unknown exit reason %u", run->exit_reason);
		return false;
	}
}

/*
 * Runs the guest until it must look whether to park. It parks only after KVM_RUN returned -EINTR:
 * by then KVM has completed the access of the exit before, and the registers are consistent
 * (api.rst, "5. The kvm_run structure", note on KVM_EXIT_IO).
 */
static void run_guest(struct kvm_vcpu *kv)
{
	struct kvm_accel *kvm = kv->kvm;
	int ret;

	do {
		kvm_run_enter(kv);
		ret = kvm->ioctl(kv->fd, KVM_RUN, NULL);
		kvm_run_leave(kv);
		if (ret == -EINTR || ret == -EAGAIN) {
			/* Before the checks of the caller: a kick that comes after them sets it
			 * again. */
			__atomic_store_n(&kv->run->immediate_exit, 0, __ATOMIC_SEQ_CST);
			return;
		}
		if (ret < 0) {
			fatal(kv, "KVM_RUN: %s", g_strerror(-ret));
			return;
		}
		if (kv->ring.gfns)
			kvm_ring_check(kv);
	} while (serve_exit(kv));
}

static gpointer vcpu_thread(gpointer opaque)
{
	struct kvm_vcpu *kv = opaque;
	struct vcpu *cpu = kv->cpu;

	vcpu_thread_init(cpu);
	g_mutex_lock(&cpu->vm->cpu_lock);
	kv->pthread = pthread_self();
	kv->started = true;
	g_cond_broadcast(&cpu->vm->cpu_cond);
	g_mutex_unlock(&cpu->vm->cpu_lock);
	while (vcpu_wait_runnable(cpu))
		run_guest(kv);
	return NULL;
}

static int open_vcpu(struct kvm_vcpu *kv, GError **err)
{
	struct kvm_accel *kvm = kv->kvm;
	struct vcpu *cpu = kv->cpu;
	int ret;

	kv->fd = kvm_vm_ioctl(kvm, KVM_CREATE_VCPU, (void *)(uintptr_t)cpu->index);
	if (kv->fd < 0) {
		error_set_errno(err, -kv->fd, "KVM_CREATE_VCPU %d", cpu->index);
		return kv->fd;
	}
	kv->run = mmap(NULL, kvm->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, kv->fd, 0);
	if (kv->run == MAP_FAILED) {
		ret = -errno;
		kv->run = NULL;
		error_set_errno(err, -ret, "cannot map the run area of vCPU %d", cpu->index);
		return ret;
	}
	ret = kvm_ring_map(kv, err);
	if (ret)
		return ret;
	return cpu->ops->kvm_init_vcpu ? cpu->ops->kvm_init_vcpu(cpu, kv->fd, err) : 0;
}

static void close_vcpu(struct kvm_vcpu *kv)
{
	kvm_ring_unmap(kv);
	if (kv->run)
		munmap(kv->run, kv->kvm->run_size);
	if (kv->fd >= 0)
		close(kv->fd);
	kv->cpu->accel_data = NULL;
	g_free(kv);
}

int kvm_vcpu_create(struct accel *a, struct vcpu *cpu, GError **err)
{
	struct kvm_accel *kvm = kvm_of(a);
	struct kvm_vcpu *kv;
	int ret;

	if (kvm->slot_error) {
		g_propagate_error(err, g_error_copy(kvm->slot_error));
		return -ENOMEM;
	}
	if (cpu->index >= kvm->max_vcpus) {
		error_set(err, "vCPU %d: this kernel's KVM allows %d", cpu->index, kvm->max_vcpus);
		return -EINVAL;
	}
	if (!kvm->arch_ready && cpu->ops->kvm_init_vm) {
		ret = cpu->ops->kvm_init_vm(kvm->vm_fd, a->vm, err);
		if (ret)
			return ret;
	}
	kvm->arch_ready = true;
	kv = g_new0(struct kvm_vcpu, 1);
	kv->cpu = cpu;
	kv->kvm = kvm;
	kv->fd = -1;
	cpu->accel_data = kv;
	ret = open_vcpu(kv, err);
	if (ret) {
		close_vcpu(kv);
		return ret;
	}
	cpu->thread = g_thread_new("vcpu", vcpu_thread, kv);
	g_mutex_lock(&a->vm->cpu_lock);
	while (!kv->started)
		g_cond_wait(&a->vm->cpu_cond, &a->vm->cpu_lock);
	g_mutex_unlock(&a->vm->cpu_lock);
	kvm->vcpus[cpu->index] = kv;
	__atomic_store_n(&kvm->nvcpus, cpu->index + 1, __ATOMIC_RELEASE);
	return 0;
}

void kvm_vcpu_destroy(struct accel *a, struct vcpu *cpu)
{
	struct kvm_accel *kvm = kvm_of(a);
	struct kvm_vcpu *kv = kvm_vcpu_of(cpu);

	/* Whoever looks at the vCPUs of a running VM holds one of these. */
	g_mutex_lock(&kvm->ring_lock);
	g_mutex_lock(&kvm->pause_lock);
	assert(kvm->nvcpus == cpu->index + 1);
	__atomic_store_n(&kvm->nvcpus, cpu->index, __ATOMIC_RELEASE);
	kvm->vcpus[cpu->index] = NULL;
	g_mutex_unlock(&kvm->pause_lock);
	g_mutex_unlock(&kvm->ring_lock);
	close_vcpu(kv);
}

/* accel/kvm/kvm.c - the KVM accelerator: the VM's descriptor and the table of operations. */
#include "accel/kvm/kvm.h"
#include "util/error.h"
#include "util/fdset.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KVM_DEVICE "/dev/kvm"

static int real_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

int kvm_call(int fd, unsigned long request, void *arg, const char *name, GError **err)
{
	int ret = real_ioctl(fd, request, arg);

	if (ret < 0)
		error_set_errno(err, -ret, "%s", name);
	return ret;
}

bool accel_is_kvm(const struct accel *a)
{
	return a && a->ops == &kvm_accel_ops;
}

int kvm_fd_of_system(struct accel *a)
{
	return kvm_of(a)->sys_fd;
}

int kvm_fd_of_vm(struct accel *a)
{
	return kvm_of(a)->vm_fd;
}

int kvm_fd_of_vcpu(struct vcpu *cpu)
{
	return kvm_vcpu_of(cpu)->fd;
}

int kvm_check_extension(struct accel *a, int cap)
{
	int ret = kvm_vm_ioctl(kvm_of(a), KVM_CHECK_EXTENSION, (void *)(uintptr_t)cap);

	return MAX(ret, 0);
}

static int check_required(struct kvm_accel *kvm, GError **err)
{
	static const struct {
		int cap;
		const char *name;
	} required[] = {
		{ KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY" },
		{ KVM_CAP_DESTROY_MEMORY_REGION_WORKS, "KVM_CAP_DESTROY_MEMORY_REGION_WORKS" },
		{ KVM_CAP_JOIN_MEMORY_REGIONS_WORKS, "KVM_CAP_JOIN_MEMORY_REGIONS_WORKS" },
		{ KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT" },
		{ KVM_CAP_READONLY_MEM, "KVM_CAP_READONLY_MEM" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(required); i++) {
		if (!kvm_check_extension(&kvm->base, required[i].cap)) {
			g_set_error(err, MACHINE_ERROR, ERROR_KVM_MISSING_CAP,
				    "accelerator kvm: the kernel lacks %s", required[i].name);
			return -ENOTSUP;
		}
	}
	return 0;
}

/* Argument of KVM_CREATE_VM. */
static int vm_type(struct kvm_accel *kvm)
{
#if defined(__aarch64__)
	/* Bits of guest physical addresses: all that there are, since a machine's devices lie above
	 * the 40 bits that are meant by 0. 0 also where the kernel offers no choice. */
	return KVM_VM_TYPE_ARM_IPA_SIZE(MAX(
		kvm->ioctl(kvm->sys_fd, KVM_CHECK_EXTENSION, (void *)KVM_CAP_ARM_VM_IPA_SIZE), 0));
#else
	return 0;
#endif
}

static int open_vm(struct kvm_accel *kvm, GError **err)
{
	const char *path = kvm->opt.device ? kvm->opt.device : KVM_DEVICE;
	int version;

	kvm->sys_fd = file_open(path, O_RDWR, 0);
	if (kvm->sys_fd < 0) {
		error_set_errno(err, -kvm->sys_fd, "cannot open KVM device '%s'", path);
		return kvm->sys_fd;
	}
	version = kvm->ioctl(kvm->sys_fd, KVM_GET_API_VERSION, NULL);
	if (version != KVM_API_VERSION) {
		error_set(err, "'%s' is not a KVM device of API version %d", path, KVM_API_VERSION);
		return -ENODEV;
	}
	do
		kvm->vm_fd =
			kvm->ioctl(kvm->sys_fd, KVM_CREATE_VM, (void *)(uintptr_t)vm_type(kvm));
	while (kvm->vm_fd == -EINTR);
	if (kvm->vm_fd < 0) {
		error_set_errno(err, -kvm->vm_fd, "KVM_CREATE_VM");
		return kvm->vm_fd;
	}
	kvm->run_size = kvm->ioctl(kvm->sys_fd, KVM_GET_VCPU_MMAP_SIZE, NULL);
	if (kvm->run_size < (int)sizeof(struct kvm_run)) {
		error_set(err, "KVM_GET_VCPU_MMAP_SIZE returned %d", kvm->run_size);
		return -ENODEV;
	}
	return check_required(kvm, err);
}

static void kvm_destroy(struct accel *a)
{
	struct kvm_accel *kvm = kvm_of(a);

	assert(!kvm->nvcpus);
	kvm_ring_finish(kvm);
	kvm_slots_finish(kvm);
	kvm_irq_finish(kvm);
	if (kvm->vm_fd >= 0)
		close(kvm->vm_fd);
	if (kvm->sys_fd >= 0)
		close(kvm->sys_fd);
	kvm_options_finish(&kvm->opt);
	g_mutex_clear(&kvm->pause_lock);
	g_cond_clear(&kvm->pause_cond);
	g_mutex_clear(&kvm->ring_lock);
	g_mutex_clear(&kvm->reaper_lock);
	g_cond_clear(&kvm->reaper_cond);
	g_free(kvm->vcpus);
	g_free(kvm);
}

static struct accel *kvm_create(struct vm *vm, JsonObject *props, GError **err)
{
	struct kvm_accel *kvm = g_new0(struct kvm_accel, 1);

	kvm->base.ops = &kvm_accel_ops;
	kvm->base.vm = vm;
	kvm->ioctl = real_ioctl;
	kvm->sys_fd = kvm->vm_fd = -1;
	g_mutex_init(&kvm->pause_lock);
	g_cond_init(&kvm->pause_cond);
	g_mutex_init(&kvm->ring_lock);
	g_mutex_init(&kvm->reaper_lock);
	g_cond_init(&kvm->reaper_cond);
	if (kvm_options_parse(&kvm->opt, props, err) || open_vm(kvm, err) ||
	    kvm_dirty_init(kvm, err) || kvm_irq_init(kvm, err)) {
		kvm_destroy(&kvm->base);
		return NULL;
	}
	kvm->max_vcpus = MAX(kvm_check_extension(&kvm->base, KVM_CAP_MAX_VCPUS), 1);
	kvm->vcpus = g_new0(struct kvm_vcpu *, kvm->max_vcpus);
	kvm_kick_init();
	kvm_slots_init(kvm);
	return &kvm->base;
}

static const struct dirty_log_ops *kvm_dirty_log(struct accel *a, void **backend)
{
	struct kvm_accel *kvm = kvm_of(a);

	*backend = kvm;
	return kvm->dirty_mode == KVM_DIRTY_RING ? &kvm_ring_ops : &kvm_log_ops;
}

static int kvm_get_state(struct accel *a, struct vcpu *cpu, GError **err)
{
	return cpu->ops->kvm_get(cpu, kvm_vcpu_of(cpu)->fd, err);
}

static int kvm_put_state(struct accel *a, struct vcpu *cpu, GError **err)
{
	return cpu->ops->kvm_put(cpu, kvm_vcpu_of(cpu)->fd, err);
}

const struct accel_ops kvm_accel_ops = {
	.name = "kvm",
	.desc = "Linux KVM",
	.props_help = kvm_props_help,
	.create = kvm_create,
	.destroy = kvm_destroy,
	.dirty_log = kvm_dirty_log,
	.vcpu_create = kvm_vcpu_create,
	.vcpu_destroy = kvm_vcpu_destroy,
	.vcpu_kick = kvm_vcpu_kick,
	.vcpu_get_state = kvm_get_state,
	.vcpu_put_state = kvm_put_state,
	.gsi_set = kvm_gsi_set,
	.msi_send = kvm_msi_send,
	.msi_route_add = kvm_msi_route_add,
	.msi_route_change = kvm_msi_route_change,
	.msi_route_del = kvm_msi_route_del,
	.irqfd_add = kvm_irqfd_add,
	.irqfd_del = kvm_irqfd_del,
	.ioeventfd_add = kvm_ioeventfd_add,
	.ioeventfd_del = kvm_ioeventfd_del,
};

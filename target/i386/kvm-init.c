/* target/i386/kvm-init.c - a vCPU as it is made: CPUID, machine checks, clock rate. */
#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "target/i386/model.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/kvm.h>

/* Bits of MCG_CAP beside the number of banks (Intel SDM volume 3, 16.3.1.1). */
#define MCG_CTL_P ((u64)1 << 8)
#define MCG_SER_P ((u64)1 << 24)

/* Three pages for task switches in real mode on hosts that need them, below the firmware, where a
 * PC has no memory. */
#define IDENTITY_MAP_ADDR 0xfeffc000ull
#define TSS_ADDR          (IDENTITY_MAP_ADDR + 0x1000)

int x86_kvm_init_vm(int vm_fd, struct vm *vm, GError **err)
{
	u64 identity = IDENTITY_MAP_ADDR;

	if (KVM_CALL(vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity, err) < 0)
		return -EINVAL;
	if (KVM_CALL(vm_fd, KVM_SET_TSS_ADDR, (void *)(uintptr_t)TSS_ADDR, err) < 0)
		return -EINVAL;
	return 0;
}

static int init_mce(struct x86_cpu *cpu, int fd, GError **err)
{
	u64 cap = 0;
	int ret = KVM_CALL(kvm_fd_of_system(cpu->vcpu->vm->accel), KVM_X86_GET_MCE_CAP_SUPPORTED,
			   &cap, err);

	if (ret < 0)
		return ret;
	cap = (cap & (MCG_CTL_P | MCG_SER_P)) | X86_MCE_BANKS;
	ret = KVM_CALL(fd, KVM_X86_SETUP_MCE, &cap, err);
	if (ret >= 0)
		cpu->env.mcg_cap = cap;
	return MIN(ret, 0);
}

static int init_tsc(struct x86_cpu *cpu, int fd, GError **err)
{
	int khz;

	if (cpu->model_tsc_khz) {
		int ret = KVM_CALL(fd, KVM_SET_TSC_KHZ, (void *)(uintptr_t)cpu->model_tsc_khz, err);

		if (ret < 0) {
			g_prefix_error(err,
				       "tsc-frequency of %" PRIu64 " kHz: ", cpu->model_tsc_khz);
			return ret;
		}
	}
	khz = kvm_call(fd, KVM_GET_TSC_KHZ, NULL, "KVM_GET_TSC_KHZ", NULL);
	cpu->env.tsc_khz = MAX(khz, 0);
	return 0;
}

int x86_kvm_init_vcpu(struct vcpu *vcpu, int fd, GError **err)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);
	u32 edx = x86_cpuid_reg(cpu->cpuid, 1, 0, REG_EDX);
	int ret;

	cpu->vcpu = vcpu;
	ret = KVM_CALL(fd, KVM_SET_CPUID2, cpu->cpuid, err);
	if (ret < 0)
		return ret;
	if ((edx & (BIT_1_EDX_MCE | BIT_1_EDX_MCA)) == (BIT_1_EDX_MCE | BIT_1_EDX_MCA)) {
		ret = init_mce(cpu, fd, err);
		if (ret)
			return ret;
	}
	return init_tsc(cpu, fd, err);
}

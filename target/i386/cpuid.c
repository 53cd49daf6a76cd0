/* target/i386/cpuid.c - what CPUID tells the guest. */
#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "util/error.h"

#include <linux/kvm.h>

#define CPUID_ENTRIES_MAX 256

enum {
	CPUID_1_EDX_MCE = 1 << 7,
	CPUID_1_EDX_MTRR = 1 << 12,
	CPUID_1_EDX_MCA = 1 << 14,
	CPUID_1_ECX_XSAVE = 1 << 26,
};

static int get_supported(struct vm *vm, struct kvm_cpuid2 **out, GError **err)
{
	struct kvm_cpuid2 *c = g_malloc0(sizeof(*c) + CPUID_ENTRIES_MAX * sizeof(c->entries[0]));
	int ret;

	c->nent = CPUID_ENTRIES_MAX;
	ret = KVM_CALL(kvm_fd_of_system(vm->accel), KVM_GET_SUPPORTED_CPUID, c, err);
	if (ret < 0)
		g_free(c);
	else
		*out = c;
	return ret;
}

static struct kvm_cpuid_entry2 *find(struct kvm_cpuid2 *c, u32 function, u32 index)
{
	for (u32 i = 0; i < c->nent; i++)
		if (c->entries[i].function == function && c->entries[i].index == index)
			return &c->entries[i];
	return NULL;
}

int x86_kvm_init_vcpu(struct vcpu *vcpu, int fd, GError **err)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);
	struct kvm_cpuid_entry2 *e;
	int ret = get_supported(vcpu->vm, &cpu->cpuid, err);

	if (ret < 0)
		return ret;
	e = find(cpu->cpuid, 1, 0);
	cpu->cpuid_version = e->eax;
	e->ebx = (e->ebx & 0x00ffffff) | cpu->apic_id << 24;
	cpu->has_mtrr = e->edx & CPUID_1_EDX_MTRR;
	cpu->xcr0_mask = e->ecx & CPUID_1_ECX_XSAVE ? find(cpu->cpuid, 0xd, 0)->eax : 0;
	return MIN(KVM_CALL(fd, KVM_SET_CPUID2, cpu->cpuid, err), 0);
}

/*
 * target/arm/kvm.h - an arm64 vCPU under KVM; without KVM for arm64 (ARM_KVM) there is none.
 *
 * Source: Linux Documentation/virt/kvm/api.rst, KVM_ARM_VCPU_INIT to KVM_GET_REG_LIST.
 */
#ifndef TARGET_ARM_KVM_H
#define TARGET_ARM_KVM_H

#include "target/arm/vcpu.h"

/* Registers that KVM names and that have no other place in the state of a vCPU: all but the
 * general and vector registers and those of exceptions (KVM_REG_ARM_CORE). */
struct arm_kvm_cpu {
	unsigned n;
	u64 *index; /* KVM's numbers, ascending */
	u64 *value; /* as of the last arm_kvm_get(), or loaded */
	/* The registers were reset here, and KVM's are to be: arm_kvm_put() lets KVM do it. */
	bool reset_wanted;
	/* A virtual SError that waits (KVM_GET_VCPU_EVENTS). */
	u8 serror_pending, serror_has_esr;
	u64 serror_esr;
};

#ifdef ARM_KVM

/* arm_kvm_used() - whether the VM's vCPUs run under KVM; arm_kvm_has_pauth() - whether they can
 * have pointer authentication. */
bool arm_kvm_used(const struct vm *vm);
bool arm_kvm_has_pauth(const struct vm *vm);

extern const struct cpu_ops arm_kvm_cpu_ops;

/* arm_kvm_by_index() - order of arm_kvm_cpu.index, for qsort() and bsearch(). */
int arm_kvm_by_index(const void *a, const void *b);

/* arm_kvm_free() - what arm_kvm_cpu_ops.kvm_init_vcpu() has allocated. */
void arm_kvm_free(struct arm_vcpu *v);

#else

static const struct cpu_ops arm_kvm_cpu_ops;

static inline bool arm_kvm_used(const struct vm *vm)
{
	return false;
}

static inline bool arm_kvm_has_pauth(const struct vm *vm)
{
	return false;
}

static inline int arm_kvm_by_index(const void *a, const void *b)
{
	return 0;
}

static inline void arm_kvm_free(struct arm_vcpu *v)
{
}

#endif
#endif

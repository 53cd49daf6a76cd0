/*
 * target/i386/model.h - a CPU model: what -cpu asked for, less what the kernel cannot give.
 */
#ifndef TARGET_I386_MODEL_H
#define TARGET_I386_MODEL_H

#include "target/i386.h"
#include "target/i386/feature-words.h"

struct kvm_cpuid2;

struct x86_cpu_model {
	const char *name;
	struct x86_topology topo;
	bool passthrough; /* leaves that are not features come from the host */
	char vendor[13];
	char model_id[49];
	u32 family, model, stepping;
	u32 level, xlevel; /* highest standard and extended leaf */
	u32 phys_bits;
	bool expose_kvm;
	u64 tsc_khz; /* 0: the host's */
	u32 words[FEAT_WORDS];
	u32 unavailable[FEAT_WORDS];

	/* KVM_GET_SUPPORTED_CPUID; NULL without KVM, where nothing is filtered. */
	struct kvm_cpuid2 *supported;
};

/* cpuid.c */
/* x86_cpuid_supported() - what KVM can give; free with g_free(). NULL with @err. */
struct kvm_cpuid2 *x86_cpuid_supported(struct vm *vm, GError **err);
/* x86_cpuid_reg() - a register of a leaf; 0 if there is none. */
u32 x86_cpuid_reg(const struct kvm_cpuid2 *c, u32 function, u32 index, enum x86_reg reg);
/* x86_cpuid_build() - the leaves of one vCPU. Free with g_free(). */
struct kvm_cpuid2 *x86_cpuid_build(const struct x86_cpu_model *m, u32 apic_id);

#endif

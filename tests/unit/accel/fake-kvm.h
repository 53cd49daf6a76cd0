/*
 * tests/unit/accel/fake-kvm.h - a KVM without a kernel: slots, bitmaps and rings as api.rst has
 * them, for tests of the code that drives them.
 */
#ifndef TESTS_UNIT_ACCEL_FAKE_KVM_H
#define TESTS_UNIT_ACCEL_FAKE_KVM_H

#include "accel/kvm/kvm.h"

#define FAKE_SLOTS 4
#define FAKE_CPUS  2

struct fake_kvm {
	struct kvm_accel kvm;
	struct vm vm;
	struct ramblock block;

	/* The kernel's side. */
	u64 *bitmap[FAKE_SLOTS];
	u64 npages[FAKE_SLOTS];
	u32 flags[FAKE_SLOTS];
	bool get_clears; /* legacy mode */
	struct vcpu cpus[FAKE_CPUS];
	struct kvm_vcpu kvcpus[FAKE_CPUS];
	struct kvm_vcpu *vcpus[FAKE_CPUS];
	u32 push[FAKE_CPUS], reset[FAKE_CPUS];
	u64 protects; /* pages re-protected by resets */

	/* What was called. */
	unsigned gets, clears, resets, toggles;
	struct kvm_clear_dirty_log last_clear;
	u64 largest_clear; /* pages */
	/* The call with this request fails with fail_errno, if that is not 0. */
	unsigned long fail_request;
	int fail_errno;
	/* If set: the vCPUs run while the rings are reset. Called before each entry, unless paused.
	 */
	void (*run)(struct fake_kvm *f);
	/* If set: pages are protected from here on. */
	void (*protect)(struct fake_kvm *f, u32 slot, u64 offset, u64 n);
	void *opaque;
};

/* fake_kvm_create() - a block of @npages, no slots, @ncpus vCPUs with rings of @entries. */
struct fake_kvm *fake_kvm_create(u64 npages, int ncpus, u32 entries);
void fake_kvm_destroy(struct fake_kvm *f);

/* fake_kvm_slot() - add slot @id at block page @block_page, logged. */
void fake_kvm_slot(struct fake_kvm *f, u32 id, u64 block_page, u64 npages);

/* fake_kvm_push() - the guest writes page @offset of @slot; overwrites what is there, as a kernel
 * that overflows does. */
void fake_kvm_push(struct fake_kvm *f, int cpu, u32 slot, u64 offset);

/* fake_kvm_used() - entries that the kernel believes to be in use. */
u32 fake_kvm_used(const struct fake_kvm *f, int cpu);

#endif

/*
 * accel/kvm/ring.h - one vCPU's dirty ring, for the code that harvests and that repairs it.
 *
 * All of it under ring_lock. Positions count on without wrapping; the ring has entries of them.
 */
#ifndef ACCEL_KVM_RING_H
#define ACCEL_KVM_RING_H

#include "accel/kvm/kvm.h"

static inline struct kvm_dirty_gfn *ring_entry(const struct kvm_ring *ring, u32 pos)
{
	return &ring->gfns[pos & (ring->entries - 1)];
}

static inline u32 ring_flags(const struct kvm_ring *ring, u32 pos)
{
	return __atomic_load_n(&ring_entry(ring, pos)->flags, __ATOMIC_ACQUIRE);
}

static inline void ring_set_flags(struct kvm_ring *ring, u32 pos, u32 flags)
{
	__atomic_store_n(&ring_entry(ring, pos)->flags, flags, __ATOMIC_RELEASE);
}

/* ring_harvest_entry() - the page of an entry counts as written; the entry may be reset.
 * slots_lock held for reading. */
void ring_harvest_entry(struct kvm_accel *kvm, struct kvm_ring *ring, u32 pos);

/* ring_all_dirty() - whether every entry waits to be harvested, which no sound kernel allows. */
bool ring_all_dirty(const struct kvm_ring *ring);

/* ring_has_dirty() - whether any entry waits to be harvested. */
bool ring_has_dirty(const struct kvm_ring *ring);

/* ring_has_harvested() - whether any entry was harvested and not reset. */
bool ring_has_harvested(const struct kvm_ring *ring);

/* ring_has_gap() - whether entries were pushed behind one that was not. A ring that is being filled
 * never shows that. */
bool ring_has_gap(const struct kvm_ring *ring);

/*
 * kvm_ring_reset() - KVM_RESET_DIRTY_RINGS: re-protect the pages of harvested entries.
 * @harvested: how many there are, in all rings.
 *
 * Return: entries of all rings that were reset, or a negative errno.
 */
s64 kvm_ring_reset(struct kvm_accel *kvm, u64 harvested);

/*
 * kvm_ring_repair() - bring our index and the kernel's together again, and make good what is lost.
 * @full: the kernel calls the ring full.
 *
 * Pauses the vCPUs. Without slots_lock.
 * Return: 0, or a negative errno and @err.
 */
int kvm_ring_repair(struct kvm_vcpu *kv, bool full, GError **err);

#endif

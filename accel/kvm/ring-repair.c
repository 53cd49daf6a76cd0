/*
 * accel/kvm/ring-repair.c - dirty rings that a kernel has overflowed.
 *
 * A kernel must make room for the entries that come after it has noticed that the ring is full, but
 * some push more than that and overwrite what was not harvested, or not reset. Then pages are lost:
 * those of overwritten entries, and those that were harvested and never protected again. Every
 * overwriting shows, at the latest when the vCPUs stand still: either all entries are dirty, or a
 * reset passes fewer entries than were harvested.
 *
 * The kernel then counts more entries in use than there are. What exceeds the ring stays, after a
 * reset of all, between its reset index and its push index as a gap of entries that were never
 * handed out: nothing is found at our fetch index, and behind the gap entries are dirty. They have
 * to be harvested over the gap, and the gap handed back with them. Until there surely is no gap
 * that is done with the vCPUs paused, and of all entries at once: else the front could be harvested
 * while entries behind the gap are overwritten, and the ring would never be seen full of dirty
 * entries.
 *
 * The kernel takes whatever is marked as harvested at its reset index, beyond its push index too,
 * after which it calls the ring full for ever. So no more may be marked than is surely in use.
 */
#include "accel/kvm/ring.h"
#include "util/error.h"
#include "util/log.h"
#include "util/timer.h"

/* What the kernel may keep free when it calls a ring full: 64 entries, and the 512 of a hardware
 * buffer (KVM_DIRTY_RING_RSVD_ENTRIES, PML; Linux virt/kvm, arch/x86). */
#define RING_RESERVED 576

void ring_harvest_entry(struct kvm_accel *kvm, struct kvm_ring *ring, u32 pos)
{
	const struct kvm_dirty_gfn *e = ring_entry(ring, pos);
	const struct kvm_slot *s = kvm_slot_find(kvm, e->slot & 0xffff);

	if (s && e->offset < s->npages)
		dirty_map_set(&s->block->dirty, s->block_page + e->offset, 1, DIRTY_ALL);
	ring_set_flags(ring, pos, KVM_DIRTY_GFN_F_RESET);
}

static u32 count(const struct kvm_ring *ring, u32 flag)
{
	u32 n = 0;

	for (u32 i = 0; i < ring->entries; i++)
		n += !!(ring_flags(ring, i) & flag);
	return n;
}

bool ring_all_dirty(const struct kvm_ring *ring)
{
	return count(ring, KVM_DIRTY_GFN_F_DIRTY) == ring->entries;
}

bool ring_has_dirty(const struct kvm_ring *ring)
{
	return count(ring, KVM_DIRTY_GFN_F_DIRTY);
}

bool ring_has_harvested(const struct kvm_ring *ring)
{
	return count(ring, KVM_DIRTY_GFN_F_RESET);
}

/* It is looked at again from the front, as entries may have come meanwhile. */
bool ring_has_gap(const struct kvm_ring *ring)
{
	for (u32 i = 1; i < ring->entries; i++) {
		if (!(ring_flags(ring, ring->fetch + i) & KVM_DIRTY_GFN_F_DIRTY))
			continue;
		return !(ring_flags(ring, ring->fetch) & KVM_DIRTY_GFN_F_DIRTY);
	}
	return false;
}

s64 kvm_ring_reset(struct kvm_accel *kvm, u64 harvested)
{
	s64 start = clock_ns(CLOCK_TYPE_REALTIME), passed = 0;
	int ret;

	/* A signal may end it early; what it did until then counts. */
	do {
		ret = kvm_vm_ioctl(kvm, KVM_RESET_DIRTY_RINGS, NULL);
		passed += MAX(ret, 0);
	} while (ret == -EINTR || (ret > 0 && (u64)passed < harvested));
	stat_add(kvm, reset_calls, 1);
	stat_add(kvm, reset_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	return ret < 0 ? ret : passed;
}

/* Marks @n entries from @from on as harvested and has them reset. They are in use. */
static int hand_back(struct kvm_accel *kvm, struct kvm_ring *ring, u32 from, u32 n)
{
	for (u32 i = 0; i < n; i++)
		ring_set_flags(ring, from + i, KVM_DIRTY_GFN_F_RESET);
	return MIN(kvm_ring_reset(kvm, n), 0);
}

/*
 * All entries are in use, and no other is marked as harvested: one that the kernel takes when it
 * is marked alone was at its reset index. Return: 0 and @at, the kernel's index now.
 */
static int find_reset_index(struct kvm_accel *kvm, struct kvm_ring *ring, u32 *at)
{
	for (u32 i = 0; i < ring->entries; i++) {
		int ret = hand_back(kvm, ring, ring->reset + i, 1);

		if (ret)
			return ret;
		if (!ring_flags(ring, ring->reset + i)) {
			*at = ring->reset + i + 1;
			return 0;
		}
		ring_set_flags(ring, ring->reset + i, 0);
	}
	return -EIO;
}

/* Entries were overwritten that the kernel was to reset, so all are in use; where its index is, is
 * not known. */
static int repair_stuck(struct kvm_accel *kvm, struct kvm_ring *ring)
{
	u32 at = 0;
	int ret;

	for (u32 i = 0; i < ring->entries; i++)
		ring_set_flags(ring, i, 0);
	ret = find_reset_index(kvm, ring, &at);
	if (!ret)
		ret = hand_back(kvm, ring, at, ring->entries - 1);
	if (!ret)
		ring->reset = at + ring->entries - 1;
	return ret;
}

/* The kernel's index is known, and up to the last entry that was pushed all are in use. Where that
 * is the ring's last one, the kernel may have gone on at the front. */
static int repair_gap(struct kvm_accel *kvm, struct kvm_ring *ring, bool *excess)
{
	u32 n = ring->entries;
	int ret;

	while (n && ring_flags(ring, ring->reset + n - 1) != KVM_DIRTY_GFN_F_RESET)
		n--;
	ret = hand_back(kvm, ring, ring->reset, n);
	if (!ret)
		ring->reset += n;
	*excess = n == ring->entries;
	return ret;
}

/* At least so many are in use that the kernel calls it full. */
static int repair_full(struct kvm_accel *kvm, struct kvm_ring *ring)
{
	u32 n = ring->entries > RING_RESERVED ? ring->entries - RING_RESERVED : 0;
	int ret = hand_back(kvm, ring, ring->reset, n);

	if (!ret)
		ring->reset += n;
	return ret;
}

/*
 * Pages of overwritten entries are unknown, and may be written without any further entry. So every
 * logged slot is protected anew, by turning its log off and on, and all of it counts as written.
 * vCPUs are paused.
 */
static int rearm_everything(struct kvm_accel *kvm, GError **err)
{
	int ret = 0;

	g_rw_lock_writer_lock(&kvm->slots_lock);
	for (unsigned i = 0; i < kvm->slots->len; i++) {
		struct kvm_slot *s = g_ptr_array_index(kvm->slots, i);

		if (!s->logging)
			continue;
		if (!ret)
			ret = kvm_slot_set(kvm, s, s->npages, false, err);
		if (!ret)
			ret = kvm_slot_set(kvm, s, s->npages, true, err);
		dirty_map_set(&s->block->dirty, s->block_page, s->npages, DIRTY_ALL);
	}
	g_rw_lock_writer_unlock(&kvm->slots_lock);
	return ret;
}

/* vCPUs are paused. Return: entries harvested. */
static u32 harvest_all(struct kvm_vcpu *kv)
{
	u32 n = 0;

	g_rw_lock_reader_lock(&kv->kvm->slots_lock);
	for (u32 i = 0; i < kv->ring.entries; i++)
		if (ring_flags(&kv->ring, i) & KVM_DIRTY_GFN_F_DIRTY) {
			ring_harvest_entry(kv->kvm, &kv->ring, i);
			n++;
		}
	g_rw_lock_reader_unlock(&kv->kvm->slots_lock);
	return n;
}

/* vCPUs are paused. */
static int repair(struct kvm_vcpu *kv, bool full, bool *lost)
{
	struct kvm_ring *ring = &kv->ring;
	u32 found = harvest_all(kv);
	bool excess = true;
	int ret;

	/* What a known overflow left behind has been accounted for. */
	*lost = ring->overflowed || found == ring->entries || !ring->excess;
	if (ring->stuck)
		ret = repair_stuck(kv->kvm, ring);
	else if (full && !found)
		ret = repair_full(kv->kvm, ring);
	else
		ret = repair_gap(kv->kvm, ring, &excess);
	if (ret)
		return ret;
	__atomic_store_n(&ring->fetch, ring->reset, __ATOMIC_RELAXED);
	ring->excess = excess || ring->overflowed;
	ring->overflowed = ring->stuck = false;
	return 0;
}

int kvm_ring_repair(struct kvm_vcpu *kv, bool full, GError **err)
{
	struct kvm_accel *kvm = kv->kvm;
	bool lost;
	int ret;

	kvm_pause(kvm);
	ret = repair(kv, full, &lost);
	if (ret)
		error_set_errno(err, -ret, "KVM_RESET_DIRTY_RINGS");
	if (!ret && lost && kvm->logging)
		ret = rearm_everything(kvm, err);
	kvm_unpause(kvm);
	if (lost) {
		stat_add(kvm, ring_overflows, 1);
		log_warn_once(
			"this kernel overflows dirty rings of %u entries; what is lost counts "
			"as written, which is slow: dirty-tracking=log suits this host better",
			kv->ring.entries);
	}
	return ret;
}

/*
 * accel/kvm/dirty-ring.c - dirty tracking by KVM's per-vCPU rings.
 *
 * Source: Linux Documentation/virt/kvm/api.rst, KVM_CAP_DIRTY_LOG_RING and KVM_RESET_DIRTY_RINGS;
 * include/uapi/linux/kvm.h, struct kvm_dirty_gfn.
 *
 * The kernel pushes an entry when a protected page is written and lets the page be written from
 * then on. We harvest entries in order into the dirty maps and mark them; KVM_RESET_DIRTY_RINGS
 * re-protects the pages of marked entries and frees them. Harvest and reset are one step under
 * ring_lock, and clear(), which a client calls before it reads pages, waits for that lock: so no
 * page is read between its harvest and its re-protection ("take, then clear, then copy").
 *
 * Rings are harvested when a client syncs, when a vCPU finds its ring full, and before that by a
 * reaper, which sleeps until it expects the fullest ring to be half full.
 *
 * What happens when a kernel pushes more than there is room for: ring-repair.c.
 */
#include "accel/kvm/ring.h"
#include "util/error.h"
#include "util/timer.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#define REAPER_MIN_US 1000
#define REAPER_MAX_US 500000

/* A reset that fails this often in a row at ring-full exits stops the VM. */
#define RESET_TRIES   100
#define RESET_WAIT_US 1000

/*
 * Whether the host's hardware notes writes in a buffer that KVM empties into the ring only when the
 * vCPU leaves the guest: Intel's page-modification logging may, AMD has none.
 */
static bool host_buffers_writes(void)
{
#if defined(__x86_64__)
	u32 eax, ebx, ecx, edx;

	if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx))
		return true;
	return ebx != signature_AMD_ebx || ecx != signature_AMD_ecx;
#else
	return true;
#endif
}

/*
 * Where interrupt controllers write tables to memory, the kernel wants pages that no vCPU writes
 * noted in a bitmap (api.rst, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP).
 */
static int enable_bitmap(struct kvm_accel *kvm, GError **err)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP };
	int ret;

	if (!kvm_check_extension(&kvm->base, cap.cap))
		return 0;
	ret = kvm_vm_ioctl(kvm, KVM_ENABLE_CAP, &cap);
	if (ret < 0)
		error_set_errno(err, -ret, "KVM_ENABLE_CAP KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP");
	else
		kvm->ring_and_bitmap = true;
	return ret;
}

int kvm_ring_enable(struct kvm_accel *kvm, u64 entries, GError **err)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_DIRTY_LOG_RING_ACQ_REL,
		.args = { entries * sizeof(struct kvm_dirty_gfn) },
	};
	u64 max = kvm_check_extension(&kvm->base, cap.cap);
	int ret;

#if defined(__x86_64__)
	/* The older capability promises the same order only where the hardware does. */
	if (!max) {
		cap.cap = KVM_CAP_DIRTY_LOG_RING;
		max = kvm_check_extension(&kvm->base, cap.cap);
	}
#endif
	if (!max) {
		g_set_error(err, MACHINE_ERROR, ERROR_KVM_MISSING_CAP,
			    "dirty-ring-size=%" PRIu64 ": the kernel has no dirty ring", entries);
		return -ENOTSUP;
	}
	if (cap.args[0] > max) {
		error_set(err, "dirty-ring-size=%" PRIu64 ": the kernel allows %" PRIu64, entries,
			  max / sizeof(struct kvm_dirty_gfn));
		return -EINVAL;
	}
	ret = kvm_vm_ioctl(kvm, KVM_ENABLE_CAP, &cap);
	kvm->flush_before_harvest = host_buffers_writes();
	if (ret < 0)
		error_set_errno(err, -ret, "KVM_ENABLE_CAP of a dirty ring of %" PRIu64 " entries",
				entries);
	return ret < 0 ? ret : enable_bitmap(kvm, err);
}

int kvm_ring_map(struct kvm_vcpu *kv, GError **err)
{
	u32 entries = kv->kvm->opt.ring_entries;
	off_t offset = (off_t)KVM_DIRTY_LOG_PAGE_OFFSET * sysconf(_SC_PAGESIZE);
	void *p;
	int ret;

	if (!entries)
		return 0;
	p = mmap(NULL, entries * sizeof(struct kvm_dirty_gfn), PROT_READ | PROT_WRITE, MAP_SHARED,
		 kv->fd, offset);
	if (p == MAP_FAILED) {
		ret = -errno;
		error_set_errno(err, -ret, "cannot map the dirty ring of vCPU %d", kv->cpu->index);
		return ret;
	}
	kv->ring = (struct kvm_ring){ .gfns = p, .entries = entries };
	return 0;
}

void kvm_ring_unmap(struct kvm_vcpu *kv)
{
	if (kv->ring.gfns)
		munmap(kv->ring.gfns, kv->ring.entries * sizeof(struct kvm_dirty_gfn));
	kv->ring.gfns = NULL;
}

/* In order, up to what the kernel can have pushed without overflow. ring_lock and slots_lock held.
 * Return: entries harvested. */
static u32 harvest(struct kvm_vcpu *kv)
{
	struct kvm_ring *ring = &kv->ring;
	u32 n = 0;

	while (ring->fetch - ring->reset < ring->entries &&
	       ring_flags(ring, ring->fetch) & KVM_DIRTY_GFN_F_DIRTY) {
		ring_harvest_entry(kv->kvm, ring, ring->fetch);
		__atomic_store_n(&ring->fetch, ring->fetch + 1, __ATOMIC_RELAXED);
		n++;
	}
	__atomic_fetch_add(&kv->cpu->ring_pages, n, __ATOMIC_RELAXED);
	stat_add(kv->kvm, pages_reported, n);
	return n;
}

/*
 * At a ring-full exit that found nothing to harvest. The reaper may just have been here: then the
 * next entry succeeds. If the kernel calls the ring full again though nobody harvested anything in
 * between, it counts entries that do not exist.
 */
static bool full_of_nothing(struct kvm_vcpu *kv)
{
	bool again = kv->empty_full && kv->empty_full_at == kv->ring.fetch;

	kv->empty_full = !again;
	kv->empty_full_at = kv->ring.fetch;
	return again;
}

/* Entries of all rings that the kernel has not been asked to reset yet. */
static u64 harvested_entries(struct kvm_accel *kvm)
{
	u64 n = 0;

	for (int i = 0; i < kvm->nvcpus; i++)
		n += kvm->vcpus[i]->ring.fetch - kvm->vcpus[i]->ring.reset;
	return n;
}

/* Follows the kernel's reset indices. @all: it has passed whatever was harvested; if not, entries
 * of some ring were overwritten before their reset. */
static void note_reset(struct kvm_accel *kvm, bool all)
{
	for (int i = 0; i < kvm->nvcpus; i++) {
		struct kvm_ring *ring = &kvm->vcpus[i]->ring;

		if (ring->fetch == ring->reset)
			continue;
		if (!all && (ring_has_harvested(ring) || ring_all_dirty(ring))) {
			ring->overflowed = ring->stuck = true;
			continue;
		}
		stat_add(kvm, reset_entries, ring->fetch - ring->reset);
		ring->reset = ring->fetch;
	}
}

/*
 * A ring all of whose entries were dirty: how many more the kernel has pushed, and so where it
 * overwrites next, is not known. It is repaired before anything is reset, when all are in use.
 */
static int repair_overflows(struct kvm_accel *kvm, int first, int n, GError **err)
{
	int ret = 0;

	for (int i = first; i < first + n && !ret; i++) {
		struct kvm_vcpu *kv = kvm->vcpus[i];

		kv->ring.overflowed |= kv->ring.fetch - kv->ring.reset == kv->ring.entries;
		if (kv->ring.overflowed)
			ret = kvm_ring_repair(kv, false, err);
	}
	return ret;
}

/* Harvests the rings of vCPUs @first.., @n of them, resets, repairs. @full: at a ring-full exit of
 * the one vCPU. ring_lock held. */
static int harvest_and_reset(struct kvm_accel *kvm, int first, int n, bool full, GError **err)
{
	u64 found = 0, harvested;
	s64 passed = 0;
	int ret = 0;

	g_rw_lock_reader_lock(&kvm->slots_lock);
	/* Where there may be a gap, entries are not in the order in which they were pushed. */
	for (int i = first; i < first + n; i++)
		if (!kvm->vcpus[i]->ring.excess)
			found += harvest(kvm->vcpus[i]);
	g_rw_lock_reader_unlock(&kvm->slots_lock);
	ret = repair_overflows(kvm, first, n, err);
	if (ret)
		return ret;
	harvested = harvested_entries(kvm);
	if (harvested || full)
		passed = kvm_ring_reset(kvm, harvested);
	if (passed < 0) {
		error_set_errno(err, -passed, "KVM_RESET_DIRTY_RINGS");
		return passed;
	}
	note_reset(kvm, (u64)passed == harvested);
	for (int i = 0; i < kvm->nvcpus && !ret; i++) {
		struct kvm_vcpu *kv = kvm->vcpus[i];
		bool here = i >= first && i < first + n, empty = here && full && !found;

		if (kv->ring.overflowed || (here && kv->ring.excess && ring_has_dirty(&kv->ring)) ||
		    (empty && ring_has_gap(&kv->ring)))
			ret = kvm_ring_repair(kv, false, err);
		else if (empty && full_of_nothing(kv))
			ret = kvm_ring_repair(kv, true, err);
	}
	return ret;
}

int kvm_ring_sync_all(struct kvm_accel *kvm, GError **err)
{
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);
	int ret;

	if (kvm->flush_before_harvest)
		kvm_flush_vcpus(kvm);
	g_mutex_lock(&kvm->ring_lock);
	ret = harvest_and_reset(kvm, 0, kvm->nvcpus, false, err);
	if (!ret && kvm->ring_errno) {
		error_set_errno(err, kvm->ring_errno, "KVM_RESET_DIRTY_RINGS at a ring-full exit");
		ret = -kvm->ring_errno;
		kvm->ring_errno = 0;
	}
	g_mutex_unlock(&kvm->ring_lock);
	stat_add(kvm, syncs, 1);
	stat_add(kvm, sync_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	return ret;
}

/*
 * A reset that fails is the migration's error, told at its next sync, not the guest's: it is tried
 * again. Only where that does not help either can the guest not go on.
 */
int kvm_ring_full(struct kvm_vcpu *kv, GError **err)
{
	struct kvm_accel *kvm = kv->kvm;
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);
	int ret;

	g_mutex_lock(&kvm->ring_lock);
	ret = harvest_and_reset(kvm, kv->cpu->index, 1, true, err);
	if (ret)
		kvm->ring_errno = -ret;
	g_mutex_unlock(&kvm->ring_lock);
	stat_add(kvm, ring_full_exits, 1);
	kv->reset_failures = ret ? kv->reset_failures + 1 : 0;
	if (ret && kv->reset_failures < RESET_TRIES) {
		g_clear_error(err);
		g_usleep(RESET_WAIT_US);
		ret = 0;
	}
	stat_add(kvm, ring_full_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	return ret;
}

/* Entries that wait to be harvested; they are contiguous from the fetch index. */
static u32 ring_fill(const struct kvm_ring *ring)
{
	u32 fetch = __atomic_load_n(&ring->fetch, __ATOMIC_RELAXED);
	u32 lo = 0, hi = ring->entries;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (ring_flags(ring, fetch + mid) & KVM_DIRTY_GFN_F_DIRTY)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void wake_reaper(struct kvm_accel *kvm)
{
	if (__atomic_exchange_n(&kvm->reaper_wanted, true, __ATOMIC_SEQ_CST))
		return;
	g_mutex_lock(&kvm->reaper_lock);
	g_cond_signal(&kvm->reaper_cond);
	g_mutex_unlock(&kvm->reaper_lock);
}

void kvm_ring_check(struct kvm_vcpu *kv)
{
	u32 fetch = __atomic_load_n(&kv->ring.fetch, __ATOMIC_RELAXED);

	if (ring_flags(&kv->ring, fetch + kv->ring.entries / 2) & KVM_DIRTY_GFN_F_DIRTY)
		wake_reaper(kv->kvm);
}

/* Reaps if a ring is half full. Return: microseconds until one may be, at the rate seen in the
 * last @elapsed_us. */
static s64 reap(struct kvm_accel *kvm, s64 elapsed_us, s64 slept_us)
{
	u32 limit = kvm->opt.ring_entries / 2, fill = 0;
	s64 next = REAPER_MAX_US;

	g_mutex_lock(&kvm->ring_lock);
	for (int i = 0; i < kvm->nvcpus; i++)
		fill = MAX(fill, ring_fill(&kvm->vcpus[i]->ring));
	if (fill >= limit) {
		g_autoptr(GError) err = NULL;
		int ret = harvest_and_reset(kvm, 0, kvm->nvcpus, false, &err);

		if (ret)
			kvm->ring_errno = -ret;
	}
	g_mutex_unlock(&kvm->ring_lock);
	if (fill >= limit)
		next = elapsed_us * limit / fill;
	else if (fill)
		next = elapsed_us * (limit - fill) / fill;
	else
		next = slept_us * 2;
	return CLAMP(next, REAPER_MIN_US, REAPER_MAX_US);
}

static gpointer reaper_thread(gpointer opaque)
{
	struct kvm_accel *kvm = opaque;
	s64 last = g_get_monotonic_time(), sleep = REAPER_MIN_US;

	g_mutex_lock(&kvm->reaper_lock);
	while (!kvm->reaper_quit) {
		s64 now;

		if (!__atomic_load_n(&kvm->logging, __ATOMIC_RELAXED)) {
			g_cond_wait(&kvm->reaper_cond, &kvm->reaper_lock);
			last = g_get_monotonic_time();
			sleep = REAPER_MIN_US;
			continue;
		}
		if (!__atomic_load_n(&kvm->reaper_wanted, __ATOMIC_SEQ_CST))
			g_cond_wait_until(&kvm->reaper_cond, &kvm->reaper_lock,
					  g_get_monotonic_time() + sleep);
		__atomic_store_n(&kvm->reaper_wanted, false, __ATOMIC_SEQ_CST);
		g_mutex_unlock(&kvm->reaper_lock);
		now = g_get_monotonic_time();
		sleep = reap(kvm, now - last, sleep);
		last = now;
		g_mutex_lock(&kvm->reaper_lock);
	}
	g_mutex_unlock(&kvm->reaper_lock);
	return NULL;
}

/* Entries from before the log was off, or just until it was. */
static void drain(struct kvm_accel *kvm)
{
	g_mutex_lock(&kvm->ring_lock);
	harvest_and_reset(kvm, 0, kvm->nvcpus, false, NULL);
	kvm->ring_errno = 0;
	g_mutex_unlock(&kvm->ring_lock);
}

static int ring_start(void *backend, struct ramblock *block, bool *all_dirty, GError **err)
{
	struct kvm_accel *kvm = backend;
	int ret;

	drain(kvm);
	ret = kvm_log_start(kvm, block, all_dirty, err);
	if (ret)
		return ret;
	g_mutex_lock(&kvm->reaper_lock);
	if (!kvm->reaper)
		kvm->reaper = g_thread_new("ring reaper", reaper_thread, kvm);
	g_cond_signal(&kvm->reaper_cond);
	g_mutex_unlock(&kvm->reaper_lock);
	return 0;
}

static void ring_stop(void *backend, struct ramblock *block)
{
	kvm_log_stop(backend, block);
	drain(backend);
}

static int ring_sync(void *backend, struct ramblock *block, GError **err)
{
	struct kvm_accel *kvm = backend;
	int ret = kvm_ring_sync_all(kvm, err);

	/* Such tables are written when the VM is stopped. */
	if (!ret && kvm->ring_and_bitmap && !vm_running(kvm->base.vm))
		ret = kvm_log_sync(kvm, block, err);
	return ret;
}

static int ring_clear(void *backend, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		      GError **err)
{
	struct kvm_accel *kvm = backend;

	/* Pages that the caller took come from a harvest; its reset is over once we get the lock.
	 */
	g_mutex_lock(&kvm->ring_lock);
	g_mutex_unlock(&kvm->ring_lock);
	return 0;
}

void kvm_ring_finish(struct kvm_accel *kvm)
{
	if (!kvm->reaper)
		return;
	g_mutex_lock(&kvm->reaper_lock);
	kvm->reaper_quit = true;
	g_cond_signal(&kvm->reaper_cond);
	g_mutex_unlock(&kvm->reaper_lock);
	g_thread_join(kvm->reaper);
}

const struct dirty_log_ops kvm_ring_ops = {
	.name = "kvm-ring",
	.start = ring_start,
	.stop = ring_stop,
	.sync = ring_sync,
	.clear = ring_clear,
	.stats = kvm_log_stats,
	.mode = kvm_log_mode,
};

/*
 * accel/kvm/dirty-log.c - dirty tracking by KVM's per-slot bitmap.
 *
 * Source: Linux Documentation/virt/kvm/api.rst, KVM_GET_DIRTY_LOG, KVM_CLEAR_DIRTY_LOG and
 * KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2.
 *
 * With manual protect sync() reads the bitmap and leaves it as it is; clear() re-protects, in
 * batches that are large, since each call flushes TLBs and takes the MMU lock, but not so large
 * that vCPUs stall behind that lock: the batch follows the measured time of the calls.
 *
 * In legacy mode KVM_GET_DIRTY_LOG re-protects what it reports, so clear() has nothing to do, and
 * "take, then clear, then copy" still holds: a page was re-protected before its bit reached the
 * dirty map, hence before anybody could take it, and a write after that is in the next report.
 */
#include "accel/kvm/kvm.h"
#include "util/bitmap.h"
#include "util/error.h"
#include "util/timer.h"

#include <assert.h>
#include <time.h>

/* Bounds of the adaptive batch. A call should hold the MMU lock for at most CLEAR_TARGET_NS. */
#define BATCH_START     ((u64)1 << 16)
#define BATCH_MIN       ((u64)1 << 10)
#define BATCH_MAX       ((u64)1 << 18)
#define CLEAR_TARGET_NS (5 * NS_PER_MS)

static const u64 protect_caps[] = {
	[KVM_DIRTY_LEGACY] = 0,
	[KVM_DIRTY_MANUAL] = KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE,
	[KVM_DIRTY_MANUAL_INITIALLY_SET] =
		KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE | KVM_DIRTY_LOG_INITIALLY_SET,
};

/* Chooses the protect mode, and enables it. */
static int init_log(struct kvm_accel *kvm, GError **err)
{
	u64 have = kvm_check_extension(&kvm->base, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2);
	struct kvm_enable_cap cap = { .cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 };
	int ret;

	kvm->dirty_mode = kvm->opt.dirty_mode;
	if (kvm->opt.dirty_mode_auto) {
		kvm->dirty_mode = KVM_DIRTY_MANUAL_INITIALLY_SET;
		while (protect_caps[kvm->dirty_mode] & ~have)
			kvm->dirty_mode--;
	}
	cap.args[0] = protect_caps[kvm->dirty_mode];
	if (cap.args[0] & ~have) {
		g_set_error(err, MACHINE_ERROR, ERROR_KVM_MISSING_CAP,
			    "dirty-log-protect=%s: the kernel offers only 0x%" PRIx64 " of "
			    "KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2",
			    kvm_dirty_mode_name(kvm->dirty_mode), have);
		return -ENOTSUP;
	}
	if (!cap.args[0])
		return 0;
	ret = kvm_vm_ioctl(kvm, KVM_ENABLE_CAP, &cap);
	if (ret < 0)
		error_set_errno(err, -ret,
				"KVM_ENABLE_CAP KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 0x%llx",
				(unsigned long long)cap.args[0]);
	return ret;
}

int kvm_dirty_init(struct kvm_accel *kvm, GError **err)
{
	kvm->batch_pages = kvm->opt.batch_pages ? kvm->opt.batch_pages : BATCH_START;
	if (!kvm->opt.ring_entries)
		return init_log(kvm, err);
	/* Never together with initially-all-set: the kernel would not report writes to pages that
	 * it has not yet protected. */
	kvm->dirty_mode = KVM_DIRTY_RING;
	return kvm_ring_enable(kvm, kvm->opt.ring_entries, err);
}

/* ORs @n bits of @src from bit @from into @dst at bit @to; @src NULL: ones. */
static void copy_bits(u64 *dst, u64 to, const u64 *src, u64 from, u64 n)
{
	while (n) {
		unsigned d = to % BITS_PER_WORD, s = from % BITS_PER_WORD;
		unsigned take = MIN(n, BITS_PER_WORD - MAX(d, s));
		u64 bits = src ? src[from / BITS_PER_WORD] >> s : ~0ull;

		dst[to / BITS_PER_WORD] |= (bits & word_mask(0, take)) << d;
		to += take;
		from += take;
		n -= take;
	}
}

int kvm_log_slot_sync(struct kvm_accel *kvm, const struct kvm_slot *slot, GError **err)
{
	g_autofree u64 *words = g_malloc0(BITMAP_WORDS(slot->npages) * sizeof(u64));
	struct kvm_dirty_log log = { .slot = slot->id, .dirty_bitmap = words };
	u64 shift = slot->block_page % BITS_PER_WORD;
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);
	int ret = kvm_vm_ioctl(kvm, KVM_GET_DIRTY_LOG, &log);

	stat_add(kvm, get_calls, 1);
	stat_add(kvm, get_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	if (ret < 0) {
		error_set_errno(err, -ret,
				"KVM_GET_DIRTY_LOG slot %u (0x%" PRIx64 ", %" PRIu64
				" pages of '%s')",
				slot->id, slot->gpa, slot->npages, slot->block->id);
		return ret;
	}
	if (shift) {
		u64 *moved = g_malloc0(BITMAP_WORDS(slot->npages + shift) * sizeof(u64));

		copy_bits(moved, shift, words, 0, slot->npages);
		g_free(words);
		words = moved;
	}
	stat_add(kvm, pages_reported,
		 dirty_map_or(&slot->block->dirty, slot->block_page - shift, slot->npages + shift,
			      words, DIRTY_ALL));
	return 0;
}

int kvm_log_sync(struct kvm_accel *kvm, struct ramblock *block, GError **err)
{
	int ret = 0;

	g_rw_lock_reader_lock(&kvm->slots_lock);
	for (unsigned i = 0; i < kvm->slots->len && !ret; i++) {
		const struct kvm_slot *s = g_ptr_array_index(kvm->slots, i);

		if (s->logging && (!block || s->block == block))
			ret = kvm_log_slot_sync(kvm, s, err);
	}
	g_rw_lock_reader_unlock(&kvm->slots_lock);
	return ret;
}

static int log_sync(void *backend, struct ramblock *block, GError **err)
{
	struct kvm_accel *kvm = backend;
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);
	int ret = kvm_log_sync(kvm, block, err);

	stat_add(kvm, syncs, 1);
	stat_add(kvm, sync_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	return ret;
}

static s64 thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* A longest call seen; readers and writers are unordered. */
static void note_max(u64 *max, u64 ns)
{
	u64 old = __atomic_load_n(max, __ATOMIC_RELAXED);

	while (ns > old && !__atomic_compare_exchange_n(max, &old, ns, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

/*
 * The MMU lock is held for about the CPU time of the call; its wall time also has what the thread
 * waited on a busy host. That cost goes with the pages to re-protect, and a call for few of them
 * says little about what a whole batch would cost.
 */
static void adapt_batch(struct kvm_accel *kvm, u64 dirty, u64 cpu_ns)
{
	u64 batch = __atomic_load_n(&kvm->batch_pages, __ATOMIC_RELAXED);
	u64 fits = dirty * CLEAR_TARGET_NS / MAX(cpu_ns, 1);

	if (kvm->opt.batch_pages || dirty < batch / 4)
		return;
	batch = BATCH_MAX;
	while (batch > BATCH_MIN && batch > fits)
		batch /= 2;
	__atomic_store_n(&kvm->batch_pages, batch, __ATOMIC_RELAXED);
}

/* One call for pages @first.. of the slot, whose bits are in @words. */
static int clear_call(struct kvm_accel *kvm, const struct kvm_slot *slot, u64 first, u64 npages,
		      u64 *words, GError **err)
{
	struct kvm_clear_dirty_log log = {
		.slot = slot->id,
		.num_pages = npages,
		.first_page = first,
		.dirty_bitmap = words,
	};
	u64 dirty = bitmap_count(words, 0, npages);
	s64 start = clock_ns(CLOCK_TYPE_REALTIME), cpu = thread_cpu_ns();
	int ret = kvm_vm_ioctl(kvm, KVM_CLEAR_DIRTY_LOG, &log);
	u64 ns = clock_ns(CLOCK_TYPE_REALTIME) - start;

	adapt_batch(kvm, dirty, thread_cpu_ns() - cpu);
	stat_add(kvm, clear_calls, 1);
	stat_add(kvm, clear_ns, ns);
	stat_add(kvm, clear_pages, npages);
	note_max(&kvm->stats.clear_max_ns, ns);
	if (ret < 0)
		error_set_errno(err, -ret,
				"KVM_CLEAR_DIRTY_LOG slot %u (pages %" PRIu64 " to %" PRIu64
				" at 0x%" PRIx64 ", '%s')",
				slot->id, first, first + npages - 1, slot->gpa, slot->block->id);
	return ret;
}

/*
 * Clears pages [@lo, @hi) of the slot; @bits as in dirty_log_ops.clear(), @skew the bit of slot
 * page @lo in it. KVM wants first_page to be a multiple of 64, and num_pages too unless the range
 * ends with the slot; what the rounding adds has no bit set and is left alone.
 */
static int clear_slot(struct kvm_accel *kvm, const struct kvm_slot *slot, u64 lo, u64 hi,
		      const u64 *bits, u64 skew, GError **err)
{
	u64 end = MIN(ROUND_UP(hi, BITS_PER_WORD), slot->npages);
	u64 at = ROUND_DOWN(lo, BITS_PER_WORD);
	g_autofree u64 *words = NULL;
	int ret = 0;

	while (at < end && !ret) {
		u64 batch = __atomic_load_n(&kvm->batch_pages, __ATOMIC_RELAXED);
		u64 stop = MIN(at + batch, end);
		u64 from = MAX(at, lo), to = MIN(stop, hi);
		u64 head = 0, tail = BITMAP_WORDS(stop - at);

		words = g_realloc(words, tail * sizeof(u64));
		memset(words, 0, tail * sizeof(u64));
		copy_bits(words, from - at, bits, skew + from - lo, to - from);
		while (head < tail && !words[head])
			head++;
		while (tail > head && !words[tail - 1])
			tail--;
		if (head < tail) {
			u64 first = at + head * BITS_PER_WORD;

			ret = clear_call(kvm, slot, first,
					 MIN(at + tail * BITS_PER_WORD, slot->npages) - first,
					 words + head, err);
		}
		at = stop;
	}
	return MIN(ret, 0);
}

static int log_clear(void *backend, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		     GError **err)
{
	struct kvm_accel *kvm = backend;
	int ret = 0;

	assert(IS_ALIGNED(first, BITS_PER_WORD));
	if (kvm->dirty_mode == KVM_DIRTY_LEGACY)
		return 0;
	g_rw_lock_reader_lock(&kvm->slots_lock);
	for (unsigned i = 0; i < kvm->slots->len && !ret; i++) {
		const struct kvm_slot *s = g_ptr_array_index(kvm->slots, i);
		u64 lo = MAX(first, s->block_page);
		u64 hi = MIN(first + n, s->block_page + s->npages);

		if (s->logging && s->block == block && lo < hi)
			ret = clear_slot(kvm, s, lo - s->block_page, hi - s->block_page, bits,
					 lo - first, err);
	}
	g_rw_lock_reader_unlock(&kvm->slots_lock);
	return ret;
}

/* slots_lock held for writing. */
static int set_logging(struct kvm_accel *kvm, struct ramblock *block, bool on, GError **err)
{
	for (unsigned i = 0; i < kvm->slots->len; i++) {
		struct kvm_slot *s = g_ptr_array_index(kvm->slots, i);
		int ret;

		/* The guest cannot write a read-only slot. */
		if (s->logging == on || s->readonly || (block && s->block != block))
			continue;
		ret = kvm_slot_set(kvm, s, s->npages, on, err);
		if (ret < 0)
			return ret;
		s->logging = on;
	}
	return 0;
}

int kvm_log_start(void *backend, struct ramblock *block, bool *all_dirty, GError **err)
{
	struct kvm_accel *kvm = backend;
	s64 start = clock_ns(CLOCK_TYPE_REALTIME);
	int ret;

	g_rw_lock_writer_lock(&kvm->slots_lock);
	ret = set_logging(kvm, block, true, err);
	if (ret)
		set_logging(kvm, block, false, NULL);
	else if (!block)
		kvm->logging = true;
	g_rw_lock_writer_unlock(&kvm->slots_lock);
	*all_dirty = kvm->dirty_mode == KVM_DIRTY_MANUAL_INITIALLY_SET;
	stat_add(kvm, starts, 1);
	stat_add(kvm, start_ns, clock_ns(CLOCK_TYPE_REALTIME) - start);
	return ret;
}

void kvm_log_stop(void *backend, struct ramblock *block)
{
	struct kvm_accel *kvm = backend;

	g_rw_lock_writer_lock(&kvm->slots_lock);
	if (!block)
		kvm->logging = false;
	/* A slot that stays logged costs the guest write faults, nothing else. */
	set_logging(kvm, block, false, NULL);
	g_rw_lock_writer_unlock(&kvm->slots_lock);
}

static u64 log_batch_pages(void *backend, const struct ramblock *block)
{
	struct kvm_accel *kvm = backend;

	return __atomic_load_n(&kvm->batch_pages, __ATOMIC_RELAXED);
}

void kvm_log_stats(void *backend, struct dirty_log_stats *out)
{
	struct kvm_accel *kvm = backend;
	const u64 *from = (const u64 *)&kvm->stats;
	u64 *to = (u64 *)out;

	_Static_assert(sizeof(*out) % sizeof(u64) == 0, "counters are u64");
	for (size_t i = 0; i < sizeof(*out) / sizeof(u64); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

const char *kvm_log_mode(void *backend)
{
	struct kvm_accel *kvm = backend;

	return kvm_dirty_mode_name(kvm->dirty_mode);
}

const struct dirty_log_ops kvm_log_ops = {
	.name = "kvm-log",
	.start = kvm_log_start,
	.stop = kvm_log_stop,
	.sync = log_sync,
	.clear = log_clear,
	.batch_pages = log_batch_pages,
	.stats = kvm_log_stats,
	.mode = kvm_log_mode,
};

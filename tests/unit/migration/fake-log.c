/* tests/unit/migration/fake-log.c - a tracking back end in software. */
#include "fake-log.h"

#include "util/bitmap.h"
#include "util/error.h"

static unsigned index_of(struct fake_log *f, const struct ramblock *b)
{
	for (unsigned i = 0; i < f->ram->blocks->len; i++)
		if (g_ptr_array_index(f->ram->blocks, i) == b)
			return i;
	g_assert_not_reached();
}

void fake_log_init(struct fake_log *f, struct ram_list *ram, bool initially_set)
{
	*f = (struct fake_log){ .ram = ram, .initially_set = initially_set };
	g_mutex_init(&f->lock);
	g_assert(ram->blocks->len <= FAKE_BLOCKS);
	for (unsigned i = 0; i < ram->blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(ram->blocks, i);

		f->armed[i] = bitmap_new(b->dirty.npages);
		f->noted[i] = bitmap_new(b->dirty.npages);
	}
}

void fake_log_finish(struct fake_log *f)
{
	for (unsigned i = 0; i < f->ram->blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(f->ram->blocks, i);

		bitmap_free(f->armed[i], b->dirty.npages);
		bitmap_free(f->noted[i], b->dirty.npages);
	}
	g_mutex_clear(&f->lock);
}

void fake_log_write(struct fake_log *f, struct ramblock *b, u64 offset, u64 value)
{
	unsigned i = index_of(f, b);
	u64 page = offset >> DIRTY_PAGE_BITS;

	g_mutex_lock(&f->lock);
	if (f->active && bitmap_test(f->armed[i], page)) {
		f->noted_writes++;
		if (!f->drop_every || f->noted_writes % f->drop_every)
			bitmap_set(f->noted[i], page, 1);
		bitmap_clear(f->armed[i], page, 1);
	}
	memcpy(b->host + offset, &value, sizeof(value));
	g_mutex_unlock(&f->lock);
}

static int fake_start(void *backend, struct ramblock *block, bool *all_dirty, GError **err)
{
	struct fake_log *f = backend;

	g_mutex_lock(&f->lock);
	for (unsigned i = 0; i < f->ram->blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(f->ram->blocks, i);

		/* Initially set: noted and not armed; else everything is protected now. */
		bitmap_clear(f->armed[i], 0, b->dirty.npages);
		bitmap_clear(f->noted[i], 0, b->dirty.npages);
		bitmap_set(f->initially_set ? f->noted[i] : f->armed[i], 0, b->dirty.npages);
	}
	f->active = true;
	f->stats.starts++;
	*all_dirty = f->initially_set;
	g_mutex_unlock(&f->lock);
	return 0;
}

static void fake_stop(void *backend, struct ramblock *block)
{
	struct fake_log *f = backend;

	g_mutex_lock(&f->lock);
	f->active = false;
	g_mutex_unlock(&f->lock);
}

static int fake_sync(void *backend, struct ramblock *block, GError **err)
{
	struct fake_log *f = backend;

	g_mutex_lock(&f->lock);
	if (++f->stats.syncs == f->fail_sync_at) {
		g_mutex_unlock(&f->lock);
		error_set_errno(err, ENOMEM, "KVM_GET_DIRTY_LOG of slot 3");
		return -ENOMEM;
	}
	for (unsigned i = 0; i < f->ram->blocks->len; i++) {
		struct ramblock *b = g_ptr_array_index(f->ram->blocks, i);

		dirty_map_or(&b->dirty, 0, b->dirty.npages, f->noted[i], DIRTY_ALL);
	}
	g_mutex_unlock(&f->lock);
	return 0;
}

static int fake_clear(void *backend, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		      GError **err)
{
	struct fake_log *f = backend;
	unsigned i = index_of(f, block);

	g_mutex_lock(&f->lock);
	if (++f->stats.clear_calls == f->fail_clear_at) {
		g_mutex_unlock(&f->lock);
		error_set_errno(err, EFAULT, "KVM_CLEAR_DIRTY_LOG of slot 3");
		return -EFAULT;
	}
	for (u64 k = 0; k < n; k++) {
		if (bits && !bitmap_test(bits, k))
			continue;
		bitmap_clear(f->noted[i], first + k, 1);
		bitmap_set(f->armed[i], first + k, 1);
	}
	f->stats.clear_pages += n;
	g_mutex_unlock(&f->lock);
	return 0;
}

static u64 fake_batch(void *backend, const struct ramblock *block)
{
	return 512;
}

static void fake_stats(void *backend, struct dirty_log_stats *out)
{
	struct fake_log *f = backend;

	g_mutex_lock(&f->lock);
	*out = f->stats;
	g_mutex_unlock(&f->lock);
}

static const char *fake_mode(void *backend)
{
	return ((struct fake_log *)backend)->initially_set ? "manual-initially-set" : "manual";
}

const struct dirty_log_ops fake_log_ops = {
	.name = "fake",
	.start = fake_start,
	.stop = fake_stop,
	.sync = fake_sync,
	.clear = fake_clear,
	.batch_pages = fake_batch,
	.stats = fake_stats,
	.mode = fake_mode,
};

/*
 * tests/unit/accel/test-kvm-dirty.c - no write is lost, in every tracking mode, under real KVM.
 *
 * Each test is a migration in one process: pages are taken, cleared and copied to a second memory
 * while the guest writes; after the last pass, with the guest stopped, both must be equal.
 */
#include "tests/unit/accel/guest.h"

#include "accel/kvm/kvm.h"
#include "util/bitmap.h"
#include "util/lock.h"
#include "util/main-loop.h"
#include "util/timer.h"

#define RAM_SIZE (32 * MiB)
#define WINDOW   (8 * MiB) /* of each vCPU */
#define FIRST    (8 * MiB)
#define PASSES   6

struct mode {
	const char *props;
	const char *name;
	int ncpus;
	unsigned cpl;
	bool no_reaper; /* harvest at syncs and full exits only: this host's rings overflow then */
};

/* Takes, clears and copies everything that is dirty. Return: pages. */
static u64 copy_pass(struct guest *g, u8 *copy)
{
	struct dirty_tracker *t = g->vm->tracker;
	struct ramblock *b = g->ram;
	u64 total = 0, npages = ram_pages(b);
	g_autoptr(GError) err = NULL;

	dirty_tracker_sync(t, &err);
	g_assert_no_error(err);
	for (u64 at = 0; at < npages;) {
		u64 n = MIN(dirty_tracker_batch_pages(t, b), npages - at);
		g_autofree u64 *bits = g_new0(u64, BITMAP_WORDS(n));
		u64 got = dirty_map_take(&b->dirty, DIRTY_MIGRATION, at, n, bits);

		total += got;
		if (got)
			dirty_tracker_clear(t, DIRTY_MIGRATION, b, at, n, bits, &err);
		g_assert_no_error(err);
		for (u64 p = bitmap_next_set(bits, n, 0); p < n;
		     p = bitmap_next_set(bits, n, p + 1))
			memcpy(copy + (at + p) * DIRTY_PAGE_SIZE,
			       b->host + (at + p) * DIRTY_PAGE_SIZE, DIRTY_PAGE_SIZE);
		at += n;
	}
	return total;
}

static u64 count_differences(struct guest *g, const u8 *copy)
{
	u64 n = 0;

	for (u64 p = 0; p < ram_pages(g->ram); p++) {
		if (!memcmp(copy + p * DIRTY_PAGE_SIZE, g->ram->host + p * DIRTY_PAGE_SIZE,
			    DIRTY_PAGE_SIZE))
			continue;
		if (n++ < 5)
			g_test_message("page %" PRIu64 " differs", p);
	}
	return n;
}

static void report(struct guest *g, const struct mode *m)
{
	struct dirty_log_stats s;

	dirty_tracker_stats(g->vm->tracker, &s);
	g_test_message("%s: words %u, start %.1f ms, syncs %" PRIu64 " (%.1f ms), get %" PRIu64
		       " (%.2f ms), clear %" PRIu64 " (%.1f ms, max %.2f ms, %" PRIu64 " pages)",
		       m->name, g->words, s.start_ns / 1e6, s.syncs, s.sync_ns / 1e6, s.get_calls,
		       s.get_ns / 1e6, s.clear_calls, s.clear_ns / 1e6, s.clear_max_ns / 1e6,
		       s.clear_pages);
	g_test_message("  reset %" PRIu64 " (%.1f ms, %" PRIu64 " entries), full exits %" PRIu64
		       " (%.1f ms), overflows %" PRIu64,
		       s.reset_calls, s.reset_ns / 1e6, s.reset_entries, s.ring_full_exits,
		       s.ring_full_ns / 1e6, s.ring_overflows);
}

static void end_reaper(struct guest *g)
{
	struct kvm_accel *kvm = kvm_of(g->vm->accel);

	g_mutex_lock(&kvm->reaper_lock);
	kvm->reaper_quit = true;
	g_cond_signal(&kvm->reaper_cond);
	g_mutex_unlock(&kvm->reaper_lock);
}

static void test_copy(gconstpointer data)
{
	const struct mode *m = data;
	g_autoptr(GError) err = NULL;
	struct dirty_log_stats s;
	struct guest *g;
	u64 in_last = 0;
	u8 *copy;

	if (guest_skip())
		return;
	copy = g_malloc0(RAM_SIZE);
	g = guest_create(m->props, RAM_SIZE, m->ncpus, NULL, 0);
	for (int i = 0; i < m->ncpus; i++) {
		guest_long_mode(g, i, m->cpl);
		guest_write_loop(g, i, FIRST + i * WINDOW, FIRST + (i + 1) * WINDOW);
	}
	vm_start(g->vm);
	guest_wait_words(g, 2);
	dirty_tracker_start(g->vm->tracker, DIRTY_MIGRATION, true, &err);
	g_assert_no_error(err);
	if (m->no_reaper)
		end_reaper(g);
	for (int i = 0; i < PASSES; i++) {
		machine_unlock();
		copy_pass(g, copy);
		machine_lock();
		guest_wait_words(g, 1);
	}
	vm_stop(g->vm, RUN_STATE_FINISH_MIGRATE);
	in_last = copy_pass(g, copy);
	report(g, m);
	g_assert_cmpuint(in_last, >, 0);
	g_assert_cmpuint(count_differences(g, copy), ==, 0);
	/* Nothing is left once the guest stands still. */
	g_assert_cmpuint(copy_pass(g, copy), ==, 0);
	dirty_tracker_stats(g->vm->tracker, &s);
	if (m->no_reaper)
		g_assert_cmpuint(s.ring_full_exits, >, 0);
	dirty_tracker_stop(g->vm->tracker, DIRTY_MIGRATION);
	guest_destroy(g);
	g_free(copy);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "dirty-log-protect=legacy", "legacy", 1, 3, false },
		{ "dirty-log-protect=manual", "manual", 1, 3, false },
		{ "dirty-log-protect=manual-initially-set", "initially-set", 1, 3, false },
		{ "dirty-log-batch=64", "batch-64", 1, 3, false },
		{ "", "auto-2", 2, 3, false },
		{ "dirty-log-protect=legacy", "legacy-2", 2, 3, false },
		{ "dirty-ring-size=1024", "ring-1024", 1, 3, false },
		{ "dirty-ring-size=1024", "ring-1024-2", 2, 3, false },
		{ "dirty-ring-size=4096", "ring-4096", 1, 3, false },
		{ "dirty-ring-size=65536", "ring-65536", 1, 3, false },
		{ "dirty-tracking=ring", "ring-2", 2, 3, false },
		{ "dirty-ring-size=1024", "ring-kernel", 1, 0, false },
		{ "dirty-ring-size=1024", "ring-kernel-unreaped", 1, 0, true },
		{ "dirty-ring-size=1024", "ring-kernel-unreaped-2", 2, 0, true },
		{ "dirty-ring-size=1024", "ring-unreaped", 1, 3, true },
		{ "dirty-ring-size=1024", "ring-unreaped-2", 2, 3, true },
	};

	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		g_autofree char *path = g_strdup_printf("/kvm/dirty/%s", modes[i].name);

		g_test_add_data_func(path, &modes[i], test_copy);
	}
	return g_test_run();
}

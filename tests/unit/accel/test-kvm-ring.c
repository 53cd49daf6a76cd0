/* tests/unit/accel/test-kvm-ring.c - harvest, wrap, overflow and repair of dirty rings. */
#include "tests/unit/accel/fake-kvm.h"

#include "util/bitmap.h"

#define NPAGES  4096
#define ENTRIES 1024
#define FULL_AT (ENTRIES - 64)

static struct fake_kvm *create(int ncpus)
{
	struct fake_kvm *f = fake_kvm_create(NPAGES, ncpus, ENTRIES);

	f->kvm.dirty_mode = KVM_DIRTY_RING;
	f->kvm.opt.ring_entries = ENTRIES;
	fake_kvm_slot(f, 0, 0, 1000);
	fake_kvm_slot(f, 1, 1000, NPAGES - 1000);
	return f;
}

static void sync_ok(struct fake_kvm *f)
{
	g_autoptr(GError) err = NULL;

	g_assert_cmpint(kvm_ring_ops.sync(&f->kvm, NULL, &err), ==, 0);
	g_assert_no_error(err);
}

static void full_ok(struct fake_kvm *f, int cpu)
{
	g_autoptr(GError) err = NULL;

	g_assert_cmpint(kvm_ring_full(&f->kvcpus[cpu], &err), ==, 0);
	g_assert_no_error(err);
}

static bool dirty(struct fake_kvm *f, u64 page)
{
	return dirty_map_test(&f->block.dirty, DIRTY_MIGRATION, page);
}

static u64 take_all(struct fake_kvm *f)
{
	return dirty_map_take(&f->block.dirty, DIRTY_MIGRATION, 0, NPAGES, NULL);
}

/* Many laps; each entry lands on its page, is re-protected, and nothing stays in use. */
static void test_laps(void)
{
	struct fake_kvm *f = create(2);

	for (int lap = 0; lap < 50; lap++) {
		u32 n = g_test_rand_int_range(1, FULL_AT);
		u64 before = f->protects;

		for (u32 i = 0; i < n; i++) {
			fake_kvm_push(f, 0, 1, i * 3);
			fake_kvm_push(f, 1, 0, i % 1000);
		}
		sync_ok(f);
		for (u32 i = 0; i < n; i++) {
			g_assert_true(dirty(f, 1000 + i * 3));
			g_assert_true(dirty(f, i % 1000));
		}
		g_assert_cmpuint(take_all(f), ==, n + MIN(n, 1000));
		g_assert_cmpuint(f->protects - before, ==, 2 * n);
		g_assert_cmpuint(fake_kvm_used(f, 0) + fake_kvm_used(f, 1), ==, 0);
	}
	g_assert_cmpuint(f->kvm.stats.ring_overflows, ==, 0);
	g_assert_cmpuint(f->cpus[0].ring_pages, ==, f->cpus[1].ring_pages);
	fake_kvm_destroy(f);
}

/* A full ring is emptied by its own vCPU; the other's is left to its own time. */
static void test_full(void)
{
	struct fake_kvm *f = create(2);

	for (u32 i = 0; i < FULL_AT; i++)
		fake_kvm_push(f, 0, 0, i);
	fake_kvm_push(f, 1, 1, 7);
	full_ok(f, 0);
	g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
	g_assert_cmpuint(fake_kvm_used(f, 1), ==, 1);
	g_assert_cmpuint(take_all(f), ==, FULL_AT);
	sync_ok(f);
	g_assert_cmpuint(take_all(f), ==, 1);
	g_assert_cmpuint(f->kvm.stats.ring_full_exits, ==, 1);
	fake_kvm_destroy(f);
}

/* An exit that lost the race with the reaper finds nothing: no repair, no harm. */
static void test_full_but_reaped(void)
{
	struct fake_kvm *f = create(1);

	for (int round = 0; round < 5; round++) {
		for (u32 i = 0; i < FULL_AT; i++)
			fake_kvm_push(f, 0, 1, i);
		sync_ok(f);
		full_ok(f, 0);
	}
	g_assert_cmpuint(f->kvm.stats.ring_overflows, ==, 0);
	g_assert_cmpuint(f->toggles, ==, 0);
	g_assert_cmpuint(f->reset[0], ==, f->push[0]);
	fake_kvm_destroy(f);
}

/*
 * @excess entries more than the ring has: the oldest are lost. Everything counts as written, every
 * slot is protected anew, and the ring goes on working, without loss, in every lap after that.
 */
static void overflow(u32 excess, bool by_sync)
{
	struct fake_kvm *f = create(1);

	for (u32 i = 0; i < ENTRIES + excess; i++)
		fake_kvm_push(f, 0, 1, i);
	if (by_sync)
		sync_ok(f);
	else
		full_ok(f, 0);
	g_assert_cmpuint(f->kvm.stats.ring_overflows, ==, 1);
	g_assert_cmpuint(f->toggles, ==, 4); /* two slots, off and on */
	g_assert_cmpuint(f->flags[0] & f->flags[1], ==, KVM_MEM_LOG_DIRTY_PAGES);
	g_assert_cmpuint(take_all(f), ==, NPAGES);
	for (int lap = 0; lap < 4; lap++) {
		u32 n = FULL_AT - fake_kvm_used(f, 0);

		for (u32 i = 0; i < n; i++)
			fake_kvm_push(f, 0, 1, i);
		if (lap & 1)
			sync_ok(f);
		else
			full_ok(f, 0);
		g_assert_cmpuint(take_all(f), ==, n);
		g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
		g_assert_cmpuint(f->reset[0], ==, f->push[0]);
	}
	g_assert_cmpuint(f->kvm.stats.ring_overflows, ==, 1);
	fake_kvm_destroy(f);
}

static void test_overflow(void)
{
	for (u32 excess = 1; excess < 400; excess += 57) {
		overflow(excess, false);
		overflow(excess, true);
	}
}

/* So many lost that the kernel calls the ring full though all that it has was handed back. */
static void test_overflow_by_a_lap(void)
{
	struct fake_kvm *f = create(1);

	for (u32 i = 0; i < 2 * ENTRIES - 10; i++)
		fake_kvm_push(f, 0, 1, i % 2000);
	for (int tries = 0; fake_kvm_used(f, 0) >= FULL_AT; tries++) {
		g_assert_cmpint(tries, <, 6);
		full_ok(f, 0);
	}
	g_assert_cmpuint(take_all(f), ==, NPAGES);
	for (int lap = 0; lap < 4; lap++) {
		u32 n = FULL_AT - fake_kvm_used(f, 0);

		for (u32 i = 0; i < n; i++)
			fake_kvm_push(f, 0, 1, i);
		full_ok(f, 0);
		for (u32 i = 0; i < n; i++)
			g_assert_true(dirty(f, 1000 + i));
		take_all(f);
	}
	g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
	fake_kvm_destroy(f);
}

/* The kernel overwrites entries that were harvested but not yet reset. */
static void test_overwritten_while_harvested(void)
{
	struct fake_kvm *f = create(1);
	struct kvm_ring *r = &f->kvcpus[0].ring;

	for (u32 i = 0; i < ENTRIES; i++)
		fake_kvm_push(f, 0, 1, i);
	for (u32 i = 0; i < ENTRIES; i++)
		r->gfns[i].flags = KVM_DIRTY_GFN_F_RESET;
	r->fetch = ENTRIES;
	for (u32 i = 0; i < 30; i++)
		fake_kvm_push(f, 0, 1, 2000 + i);
	sync_ok(f);
	for (u32 i = 0; i < 30; i++)
		g_assert_true(dirty(f, 3000 + i));
	take_all(f);
	for (u32 i = 0; i < 100; i++)
		fake_kvm_push(f, 0, 0, i);
	sync_ok(f);
	for (u32 i = 0; i < 100; i++)
		g_assert_true(dirty(f, i));
	g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
	fake_kvm_destroy(f);
}

/*
 * A guest that writes at random, also while rings are harvested and reset, under a kernel that lets
 * it push @beyond entries more than there is room for. A page that is written is in the next copy,
 * whatever was lost: checked each time that the guest stands still.
 */
struct model {
	u32 written[NPAGES], copied[NPAGES];
	bool protected[NPAGES];
	u32 beyond;
	int budget; /* writes left for while the rings are reset */
};

static void model_protect(struct fake_kvm *f, u32 slot, u64 offset, u64 n)
{
	struct model *m = f->opaque;

	for (u64 i = 0; i < n; i++)
		m->protected[(slot ? 1000 : 0) + offset + i] = true;
}

static void model_write(struct fake_kvm *f, int cpu)
{
	struct model *m = f->opaque;
	u32 page = g_test_rand_int_range(0, NPAGES);

	m->written[page]++;
	if (!m->protected[page])
		return;
	m->protected[page] = false;
	fake_kvm_push(f, cpu, page >= 1000, page >= 1000 ? page - 1000 : page);
}

/* A vCPU that is called full leaves the guest, but late. */
static bool may_run(struct fake_kvm *f, int cpu)
{
	struct model *m = f->opaque;

	return fake_kvm_used(f, cpu) < FULL_AT + m->beyond;
}

static void model_run(struct fake_kvm *f)
{
	struct model *m = f->opaque;

	if (m->budget <= 0 || g_test_rand_int_range(0, 8))
		return;
	for (int n = g_test_rand_int_range(0, 400); n && m->budget > 0; n--, m->budget--)
		for (int cpu = 0; cpu < f->kvm.nvcpus; cpu++)
			if (may_run(f, cpu))
				model_write(f, cpu);
}

static void model_copy(struct fake_kvm *f)
{
	struct model *m = f->opaque;
	u64 taken[BITMAP_WORDS(NPAGES)] = { 0 };

	m->budget = g_test_rand_int_range(0, 2000);
	sync_ok(f);
	m->budget = 0;
	dirty_map_take(&f->block.dirty, DIRTY_MIGRATION, 0, NPAGES, taken);
	for (u32 page = 0; page < NPAGES; page++) {
		if (!bitmap_test(taken, page))
			continue;
		m->copied[page] = m->written[page];
		/* A page that was copied and not protected is lost with the next write. */
		for (int cpu = 0; cpu < f->kvm.nvcpus; cpu++)
			if (!g_test_rand_int_range(0, 4) && may_run(f, cpu))
				model_write(f, cpu);
	}
}

static void test_model(gconstpointer beyond)
{
	struct model *m = g_new0(struct model, 1);
	struct fake_kvm *f = create(2);

	f->opaque = m;
	f->run = model_run;
	f->protect = model_protect;
	m->beyond = GPOINTER_TO_UINT(beyond);
	memset(m->protected, true, sizeof(m->protected));
	for (int round = 0; round < 400; round++) {
		int writes = g_test_rand_int_range(0, 3000), cpu = round & 1;

		for (; writes && may_run(f, cpu); writes--)
			model_write(f, cpu);
		for (int c = 0; c < 2; c++)
			for (int tries = 0; fake_kvm_used(f, c) >= FULL_AT; tries++) {
				g_assert_cmpuint(fake_kvm_used(f, c), <, 8 * ENTRIES);
				g_assert_cmpint(tries, <, 20);
				m->budget = tries ? 0 : g_test_rand_int_range(0, 1000);
				full_ok(f, c);
			}
		model_copy(f);
		if (round % 5)
			continue;
		f->run = NULL;
		sync_ok(f);
		for (u32 page = 0; page < NPAGES; page++)
			if (!dirty(f, page))
				g_assert_cmpuint(m->copied[page], ==, m->written[page]);
		f->run = model_run;
	}
	if (!beyond)
		g_assert_cmpuint(f->kvm.stats.ring_overflows, ==, 0);
	fake_kvm_destroy(f);
	g_free(m);
}

/* A failing reset is told to the client that syncs, by name; bits stay; the guest goes on. */
static void test_failures(void)
{
	struct fake_kvm *f = create(1);
	GError *err = NULL;

	f->fail_request = KVM_RESET_DIRTY_RINGS;
	f->fail_errno = EFAULT;
	fake_kvm_push(f, 0, 0, 1);
	g_assert_cmpint(kvm_ring_ops.sync(&f->kvm, NULL, &err), ==, -EFAULT);
	g_assert_nonnull(strstr(err->message, "KVM_RESET_DIRTY_RINGS"));
	g_assert_nonnull(strstr(err->message, g_strerror(EFAULT)));
	g_clear_error(&err);
	g_assert_cmpuint(take_all(f), ==, 1);

	fake_kvm_push(f, 0, 0, 2);
	full_ok(f, 0);
	f->fail_errno = 0;
	full_ok(f, 0);
	g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
	g_assert_cmpint(kvm_ring_ops.sync(&f->kvm, NULL, &err), ==, -EFAULT);
	g_assert_nonnull(strstr(err->message, "ring-full exit"));
	g_clear_error(&err);
	g_assert_cmpuint(take_all(f), ==, 1);
	sync_ok(f);
	fake_kvm_destroy(f);
}

/* Entries of slots that are gone, or beyond their end, are dropped and reset. */
static void test_stale(void)
{
	struct fake_kvm *f = create(1);

	fake_kvm_push(f, 0, 3, 0);
	fake_kvm_push(f, 0, 0, 1000);
	fake_kvm_push(f, 0, 0, 999);
	sync_ok(f);
	g_assert_true(dirty(f, 999));
	g_assert_cmpuint(take_all(f), ==, 1);
	g_assert_cmpuint(fake_kvm_used(f, 0), ==, 0);
	fake_kvm_destroy(f);
}

/* What the kernel writes itself is in the slots' bitmaps, and is there when the VM is stopped. */
static void test_bitmap_beside(void)
{
	struct fake_kvm *f = create(1);

	f->kvm.ring_and_bitmap = true;
	f->get_clears = true;
	f->vm.state = RUN_STATE_RUNNING;
	bitmap_set(f->bitmap[1], 7, 1);
	sync_ok(f);
	g_assert_cmpuint(f->gets, ==, 0);
	f->vm.state = RUN_STATE_FINISH_MIGRATE;
	fake_kvm_push(f, 0, 0, 5);
	sync_ok(f);
	g_assert_true(dirty(f, 1007));
	g_assert_cmpuint(take_all(f), ==, 2);
	sync_ok(f);
	g_assert_cmpuint(take_all(f), ==, 0);
	fake_kvm_destroy(f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	/* Overflows warn; that must not end the test. */
	g_test_add_func("/kvm/ring/laps", test_laps);
	g_test_add_func("/kvm/ring/full", test_full);
	g_test_add_func("/kvm/ring/full-but-reaped", test_full_but_reaped);
	g_test_add_func("/kvm/ring/overflow", test_overflow);
	g_test_add_func("/kvm/ring/overflow-by-a-lap", test_overflow_by_a_lap);
	g_test_add_func("/kvm/ring/overwritten", test_overwritten_while_harvested);
	g_test_add_data_func("/kvm/ring/model/no-overflow", GUINT_TO_POINTER(0), test_model);
	g_test_add_data_func("/kvm/ring/model/by-a-few", GUINT_TO_POINTER(300), test_model);
	g_test_add_data_func("/kvm/ring/model/by-a-lap", GUINT_TO_POINTER(1200), test_model);
	g_test_add_func("/kvm/ring/failures", test_failures);
	g_test_add_func("/kvm/ring/bitmap-beside", test_bitmap_beside);
	g_test_add_func("/kvm/ring/stale", test_stale);
	return g_test_run();
}

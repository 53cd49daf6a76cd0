/* tests/unit/accel/test-kvm-log.c - rounding, splitting and exactness of the bitmap's calls. */
#include "tests/unit/accel/fake-kvm.h"

#include "util/bitmap.h"

#define NPAGES 1000

struct range {
	u64 first, n, want_first, want_pages;
};

static int clear(struct fake_kvm *f, u64 first, u64 n, const u64 *bits, GError **err)
{
	return kvm_log_ops.clear(&f->kvm, &f->block, first, n, bits, err);
}

static void test_rounding(gconstpointer data)
{
	const struct range *r = data;
	struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);

	fake_kvm_slot(f, 1, 0, NPAGES);
	g_assert_cmpint(clear(f, r->first, r->n, NULL, NULL), ==, 0);
	g_assert_cmpuint(f->clears, ==, 1);
	g_assert_cmpuint(f->last_clear.first_page, ==, r->want_first);
	g_assert_cmpuint(f->last_clear.num_pages, ==, r->want_pages);
	fake_kvm_destroy(f);
}

/* Words without a bit at either end are not sent, and nothing is called for no bit. */
static void test_trim(void)
{
	struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);
	u64 bits[BITMAP_WORDS(NPAGES)] = { 0 };

	fake_kvm_slot(f, 0, 0, NPAGES);
	g_assert_cmpint(clear(f, 0, NPAGES, bits, NULL), ==, 0);
	g_assert_cmpuint(f->clears, ==, 0);
	bitmap_set(bits, 200, 1);
	bitmap_set(bits, 450, 3);
	g_assert_cmpint(clear(f, 0, NPAGES, bits, NULL), ==, 0);
	g_assert_cmpuint(f->clears, ==, 1);
	g_assert_cmpuint(f->last_clear.first_page, ==, 192);
	g_assert_cmpuint(f->last_clear.num_pages, ==, 512 - 192);
	fake_kvm_destroy(f);
}

static void test_batches(void)
{
	struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);

	fake_kvm_slot(f, 0, 0, NPAGES);
	f->kvm.opt.batch_pages = f->kvm.batch_pages = 128;
	g_assert_cmpint(clear(f, 0, NPAGES, NULL, NULL), ==, 0);
	g_assert_cmpuint(f->clears, ==, 8);
	g_assert_cmpuint(f->largest_clear, ==, 128);
	g_assert_cmpuint(kvm_log_ops.batch_pages(&f->kvm, &f->block), ==, 128);
	fake_kvm_destroy(f);
}

/* Calls that cost little soon cover as much as a call may, from a careful first one on. */
static void test_batches_grow(void)
{
	const u64 npages = 1 << 20;
	struct fake_kvm *f = fake_kvm_create(npages, 0, 0);

	fake_kvm_slot(f, 0, 0, npages);
	f->kvm.batch_pages = 1 << 16;
	g_assert_cmpint(clear(f, 0, npages, NULL, NULL), ==, 0);
	g_assert_cmpuint(f->largest_clear, ==, 1 << 18);
	g_assert_cmpuint(f->clears, ==, 1 + 3 + 1);
	fake_kvm_destroy(f);
}

static u64 random_word(void)
{
	return (u64)g_test_rand_int() << 32 | (u32)g_test_rand_int();
}

/* Whether the kernel has page @p of the block dirty, by any slot. */
static bool kernel_dirty(const struct fake_kvm *f, u64 p)
{
	for (unsigned i = 0; i < f->kvm.slots->len; i++) {
		const struct kvm_slot *s = g_ptr_array_index(f->kvm.slots, i);

		if (p >= s->block_page && p < s->block_page + s->npages &&
		    bitmap_test(f->bitmap[s->id], p - s->block_page))
			return true;
	}
	return false;
}

/* Against a model: exactly the given bits are cleared, in slots that lie anywhere in the block. */
static void test_exact(void)
{
	for (int round = 0; round < 200; round++) {
		struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);
		u64 cut = g_test_rand_int_range(1, NPAGES - 1);
		u64 first = g_test_rand_int_range(0, NPAGES / 64) * 64;
		u64 n = g_test_rand_int_range(1, NPAGES - first + 1);
		u64 bits[BITMAP_WORDS(NPAGES)];
		bool was[NPAGES];

		fake_kvm_slot(f, 0, 0, cut);
		fake_kvm_slot(f, 1, cut, NPAGES - cut);
		fake_kvm_slot(f, 2, 300, 100); /* a second place of the same pages */
		f->kvm.opt.batch_pages = f->kvm.batch_pages = 64 << round % 4;
		for (u64 i = 0; i < BITMAP_WORDS(NPAGES); i++) {
			bits[i] = round % 3 ? random_word() & random_word() : ~0ull;
			for (int s = 0; s < 3; s++)
				if (i < BITMAP_WORDS(f->npages[s]))
					f->bitmap[s][i] = random_word();
		}
		for (u64 p = 0; p < NPAGES; p++)
			was[p] = kernel_dirty(f, p);
		g_assert_cmpint(clear(f, first, n, round % 3 ? bits : NULL, NULL), ==, 0);
		for (u64 p = 0; p < NPAGES; p++) {
			bool given = p >= first && p < first + n && bitmap_test(bits, p - first);

			g_assert_cmpint(kernel_dirty(f, p), ==, was[p] && !given);
		}
		fake_kvm_destroy(f);
	}
}

static void test_sync(void)
{
	for (int round = 0; round < 100; round++) {
		struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);
		u64 cut = g_test_rand_int_range(1, NPAGES - 1);
		struct dirty_map *map = &f->block.dirty;

		fake_kvm_slot(f, 0, 0, cut);
		fake_kvm_slot(f, 1, cut, NPAGES - cut);
		f->get_clears = round & 1;
		for (u64 p = 0; p < NPAGES; p++)
			if (g_test_rand_bit())
				bitmap_set(p < cut ? f->bitmap[0] : f->bitmap[1],
					   p < cut ? p : p - cut, 1);
		dirty_map_set(map, 77, 1, DIRTY_ALL);
		for (u64 p = 0; p < NPAGES; p++)
			f->cpus[0].index += kernel_dirty(f, p) && p != 77;
		g_assert_cmpint(kvm_log_ops.sync(&f->kvm, NULL, NULL), ==, 0);
		g_assert_cmpuint(dirty_map_count(map, DIRTY_MIGRATION), ==, f->cpus[0].index + 1);
		for (u64 p = 0; p < NPAGES && !f->get_clears; p++)
			g_assert_cmpint(dirty_map_test(map, DIRTY_MIGRATION, p), ==,
					p == 77 || kernel_dirty(f, p));
		fake_kvm_destroy(f);
	}
}

/* The message names ioctl, slot and errno, and bits that were set stay. */
static void test_failures(void)
{
	struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);
	GError *err = NULL;

	fake_kvm_slot(f, 3, 0, NPAGES);
	dirty_map_set(&f->block.dirty, 5, 3, DIRTY_ALL);
	f->fail_errno = ENOMEM;
	f->fail_request = KVM_GET_DIRTY_LOG;
	g_assert_cmpint(kvm_log_ops.sync(&f->kvm, NULL, &err), ==, -ENOMEM);
	g_assert_nonnull(strstr(err->message, "KVM_GET_DIRTY_LOG slot 3"));
	g_assert_nonnull(strstr(err->message, g_strerror(ENOMEM)));
	g_clear_error(&err);
	f->fail_errno = ENXIO;
	f->fail_request = KVM_CLEAR_DIRTY_LOG;
	g_assert_cmpint(clear(f, 0, 128, NULL, &err), ==, -ENXIO);
	g_assert_nonnull(strstr(err->message, "KVM_CLEAR_DIRTY_LOG slot 3"));
	g_assert_nonnull(strstr(err->message, g_strerror(ENXIO)));
	g_clear_error(&err);
	g_assert_cmpuint(dirty_map_count(&f->block.dirty, DIRTY_MIGRATION), ==, 3);
	fake_kvm_destroy(f);
}

/* In legacy mode the report re-protects; clear() must not call what the kernel would refuse. */
static void test_legacy(void)
{
	struct fake_kvm *f = fake_kvm_create(NPAGES, 0, 0);

	fake_kvm_slot(f, 0, 0, NPAGES);
	f->kvm.dirty_mode = KVM_DIRTY_LEGACY;
	g_assert_cmpint(clear(f, 0, NPAGES, NULL, NULL), ==, 0);
	g_assert_cmpuint(f->clears, ==, 0);
	fake_kvm_destroy(f);
}

int main(int argc, char **argv)
{
	static const struct range ranges[] = {
		{ 0, 64, 0, 64 },         { 64, 1, 64, 64 },    { 128, 65, 128, 128 },
		{ 0, NPAGES, 0, NPAGES }, { 960, 40, 960, 40 }, { 960, 1, 960, 40 },
	};

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++) {
		g_autofree char *path = g_strdup_printf("/kvm/log/rounding/%u", i);

		g_test_add_data_func(path, &ranges[i], test_rounding);
	}
	g_test_add_func("/kvm/log/trim", test_trim);
	g_test_add_func("/kvm/log/batches", test_batches);
	g_test_add_func("/kvm/log/batches-grow", test_batches_grow);
	g_test_add_func("/kvm/log/exact", test_exact);
	g_test_add_func("/kvm/log/sync", test_sync);
	g_test_add_func("/kvm/log/failures", test_failures);
	g_test_add_func("/kvm/log/legacy", test_legacy);
	return g_test_run();
}

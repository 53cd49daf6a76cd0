/* The tracker: one back end for all clients, errors undo the start, nobody is told too little. */
#include "memory/dirty-log.h"

#include "util/bitmap.h"
#include "util/error.h"

struct fake {
	int starts, stops, clears;
	u64 cleared_pages;
	bool all_dirty;
	int fail_start, fail_clear;
};

static int fake_start(void *opaque, struct ramblock *block, bool *all_dirty, GError **err)
{
	struct fake *f = opaque;

	if (f->fail_start) {
		error_set(err, "start fails");
		return f->fail_start;
	}
	f->starts++;
	*all_dirty = f->all_dirty;
	return 0;
}

static void fake_stop(void *opaque, struct ramblock *block)
{
	((struct fake *)opaque)->stops++;
}

static int fake_sync(void *opaque, struct ramblock *block, GError **err)
{
	return 0;
}

static int fake_clear(void *opaque, struct ramblock *block, u64 first, u64 n, const u64 *bits,
		      GError **err)
{
	struct fake *f = opaque;

	if (f->fail_clear) {
		error_set(err, "clear fails");
		return f->fail_clear;
	}
	f->clears++;
	f->cleared_pages += bits ? bitmap_count(bits, 0, n) : n;
	return 0;
}

static const struct dirty_log_ops fake_ops = {
	.name = "fake",
	.start = fake_start,
	.stop = fake_stop,
	.sync = fake_sync,
	.clear = fake_clear,
};

struct fixture {
	struct ram_list *ram;
	struct ramblock *block;
	struct fake fake;
	struct dirty_tracker *t;
};

static void setup(struct fixture *f, gconstpointer data)
{
	struct ram_spec spec = { .id = "ram", .size = 1 * MiB, .fd = -1 };

	f->ram = ram_list_create();
	f->block = ram_create(f->ram, &spec, NULL);
	f->t = dirty_tracker_create(f->ram, &fake_ops, &f->fake);
}

static void teardown(struct fixture *f, gconstpointer data)
{
	dirty_tracker_destroy(f->t);
	ram_list_destroy(f->ram);
}

static void test_shared(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_MIGRATION, true, NULL), ==, 0);
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_RATE, false, NULL), ==, 0);
	g_assert_cmpint(f->fake.starts, ==, 1);
	dirty_tracker_stop(f->t, DIRTY_MIGRATION);
	g_assert_cmpint(f->fake.stops, ==, 0);
	dirty_tracker_stop(f->t, DIRTY_RATE);
	g_assert_cmpint(f->fake.stops, ==, 1);
}

static void test_initially_set(struct fixture *f, gconstpointer data)
{
	f->fake.all_dirty = true;
	/* A client that wants everything needs no clear; one that starts clean needs all armed. */
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_MIGRATION, true, NULL), ==, 0);
	g_assert_cmpint(f->fake.clears, ==, 0);
	dirty_tracker_stop(f->t, DIRTY_MIGRATION);
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_RATE, false, NULL), ==, 0);
	g_assert_cmpuint(f->fake.cleared_pages, ==, 256);
	dirty_tracker_stop(f->t, DIRTY_RATE);
}

static void test_failures(struct fixture *f, gconstpointer data)
{
	g_autoptr(GError) err = NULL;

	f->fake.fail_start = -ENOMEM;
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_MIGRATION, true, &err), ==, -ENOMEM);
	g_assert_cmpstr(err->message, ==, "start fails");
	g_assert_false(dirty_map_client_active(&f->block->dirty, DIRTY_MIGRATION));
	g_clear_error(&err);

	f->fake.fail_start = 0;
	f->fake.all_dirty = true;
	f->fake.fail_clear = -EFAULT;
	g_assert_cmpint(dirty_tracker_start(f->t, DIRTY_RATE, false, &err), ==, -EFAULT);
	g_assert_cmpint(f->fake.stops, ==, 1);
	g_assert_false(dirty_map_client_active(&f->block->dirty, DIRTY_RATE));
}

/* One client's clear may wipe out what the back end noted meanwhile: the others hear of it. */
static void test_clear_tells_others(struct fixture *f, gconstpointer data)
{
	u64 bits[1] = { 0x5 };

	dirty_tracker_start(f->t, DIRTY_MIGRATION, true, NULL);
	dirty_tracker_start(f->t, DIRTY_RATE, false, NULL);
	g_assert_cmpint(dirty_tracker_clear(f->t, DIRTY_MIGRATION, f->block, 64, 64, bits, NULL),
			==, 0);
	g_assert_cmpuint(dirty_map_count(&f->block->dirty, DIRTY_RATE), ==, 2);
	g_assert_true(dirty_map_test(&f->block->dirty, DIRTY_RATE, 66));
	dirty_tracker_stop(f->t, DIRTY_MIGRATION);
	dirty_tracker_stop(f->t, DIRTY_RATE);
}

static void test_device_writes(struct fixture *f, gconstpointer data)
{
	dirty_tracker_start(f->t, DIRTY_MIGRATION, false, NULL);
	memory_mark_dirty(f->block, 4095, 2);
	g_assert_cmpuint(dirty_map_count(&f->block->dirty, DIRTY_MIGRATION), ==, 2);
	memory_mark_dirty(f->block, 8192, 0);
	g_assert_cmpuint(dirty_map_count(&f->block->dirty, DIRTY_MIGRATION), ==, 2);
	memory_mark_dirty(f->block, 1 * MiB - 1, 1);
	g_assert_true(dirty_map_test(&f->block->dirty, DIRTY_MIGRATION, 255));
	dirty_tracker_stop(f->t, DIRTY_MIGRATION);
}

#define ADD(path, fn) g_test_add(path, struct fixture, NULL, setup, fn, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/dirty-tracker/shared", test_shared);
	ADD("/dirty-tracker/initially-set", test_initially_set);
	ADD("/dirty-tracker/failures", test_failures);
	ADD("/dirty-tracker/clear-tells-others", test_clear_tells_others);
	ADD("/dirty-tracker/device-writes", test_device_writes);
	return g_test_run();
}

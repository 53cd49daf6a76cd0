/* tests/unit/migration/test-page-counts.c - capability x-page-counts. */
#include "pair.h"

#include "migration/page-counts.h"
#include "util/main-loop.h"

static JsonObject *block_at(JsonObject *o, guint i)
{
	return json_array_get_object_element(json_object_get_array_member(o, "blocks"), i);
}

static s64 element(JsonObject *o, const char *list, guint i)
{
	return json_array_get_int_element(json_object_get_array_member(o, list), i);
}

static guint length(JsonObject *o, const char *list)
{
	return json_array_get_length(json_object_get_array_member(o, list));
}

static s64 sum(JsonObject *o, const char *list)
{
	s64 n = 0;

	for (guint i = 0; i < length(o, list); i++)
		n += element(o, list, i);
	return n;
}

static void test_buckets(void)
{
	struct page_counts *counts = page_counts_create();
	u16 *a = page_counts_add_block(counts, "a", 10), *b = page_counts_add_block(counts, "b", 2);
	g_autoptr(JsonObject) o = NULL;

	for (unsigned i = 0; i < 3; i++)
		page_counts_sent(a, 4);
	page_counts_sent(a, 5);
	page_counts_sent(a, 9);
	for (unsigned i = 0; i < UINT16_MAX + 2u; i++)
		page_counts_sent(b, 1);
	o = page_counts_query(counts, 4);
	/* Ten pages in four runs: 3, 3, 3, 1. */
	g_assert_cmpstr(json_object_get_string_member(block_at(o, 0), "name"), ==, "a");
	g_assert_cmpint(json_object_get_int_member(block_at(o, 0), "pages"), ==, 10);
	g_assert_cmpint(json_object_get_int_member(block_at(o, 0), "bucket-pages"), ==, 3);
	g_assert_cmpint(length(block_at(o, 0), "sent"), ==, 4);
	g_assert_cmpint(element(block_at(o, 0), "sent", 0), ==, 0);
	g_assert_cmpint(element(block_at(o, 0), "sent", 1), ==, 4);
	g_assert_cmpint(element(block_at(o, 0), "max", 1), ==, 3);
	g_assert_cmpint(element(block_at(o, 0), "sent", 3), ==, 1);
	/* More buckets than pages: one page each; a counter does not wrap. */
	g_assert_cmpint(length(block_at(o, 1), "max"), ==, 2);
	g_assert_cmpint(element(block_at(o, 1), "max", 1), ==, UINT16_MAX);
	g_assert_cmpint(element(o, "times", 0), ==, 7 + 1);
	g_assert_cmpint(element(o, "times", 1), ==, 2);
	g_assert_cmpint(element(o, "times", 3), ==, 1);
	g_assert_cmpint(element(o, "times", 31), ==, 1);
	page_counts_destroy(counts);
	page_counts_destroy(NULL);
}

static void expect_refusal(struct fake_vm *v, u64 buckets, const char *text)
{
	GError *err = NULL;

	g_assert_null(migration_query_pages(v->m, buckets, &err));
	g_assert_nonnull(strstr(err->message, text));
	g_error_free(err);
}

static void start(struct fake_vm *a, struct fake_vm *b)
{
	g_autofree char *uri = fake_vm_listen(b);
	GError *err = NULL;

	migration_start(a->m, uri, NULL, false, &err);
	g_assert_no_error(err);
}

static void finish(struct fake_vm *a, struct fake_vm *b)
{
	pump_until(a, "completed");
	pump_incoming(b, "completed");
}

static void test_migration(void)
{
	static const struct fake_vm_spec spec = { 0 };
	struct fake_vm *a = fake_vm_create(&spec), *b = fake_vm_create(&spec);
	GError *err = NULL;
	g_autoptr(JsonObject) o = NULL;

	expect_refusal(a, 16, "'x-page-counts' must be on");
	expect_refusal(a, 0, "buckets=0: must be from 1 to 65536");
	fake_vm_cap(a, "x-page-counts", true);
	fake_vm_fill(a, 2000, 1);
	vm_start(a->vm);
	fake_vm_param(a, "max-bandwidth", 2 * MiB);
	start(a, b);
	pump_until(a, "active");
	while (query_int(a, "ram", "normal") < 10)
		pump_ms(2);
	/* These have been sent, so they go once more. */
	memory_mark_dirty(a->ram, 0, 10 * DIRTY_PAGE_SIZE);
	fake_vm_param(a, "max-bandwidth", 0);
	finish(a, b);
	o = migration_query_pages(a->m, 16, &err);
	g_assert_no_error(err);
	g_assert_cmpint(element(o, "times", 0), ==, 0);
	g_assert_cmpint(element(o, "times", 1), ==, (8 * MiB + 64 * KiB) / 4096 - 10);
	g_assert_cmpint(element(o, "times", 2), ==, 10);
	g_assert_cmpint(sum(block_at(o, 0), "sent") + sum(block_at(o, 1), "sent"), ==,
			query_int(a, "ram", "normal") + query_int(a, "ram", "duplicate"));
	g_assert_cmpint(element(block_at(o, 0), "sent", 0), ==, 128 + 10);
	g_assert_cmpint(element(block_at(o, 0), "max", 0), ==, 2);
	g_assert_cmpint(element(block_at(o, 0), "sent", 15), ==, 128);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Nothing is counted, or kept from before, unless asked for. */
static void test_off(void)
{
	static const struct fake_vm_spec spec = { 0 };
	struct fake_vm *a = fake_vm_create(&spec), *b = fake_vm_create(&spec);

	start(a, b);
	finish(a, b);
	expect_refusal(a, 16, "'x-page-counts' must be on");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/page-counts/buckets", test_buckets);
	g_test_add_func("/page-counts/migration", test_migration);
	g_test_add_func("/page-counts/off", test_off);
	return g_test_run();
}

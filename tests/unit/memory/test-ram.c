/* RAM blocks: allocation, bounds, discard. */
#include "memory/ram.h"

#include <sys/mman.h>
#include <unistd.h>

static void test_create(void)
{
	struct ram_list *list = ram_list_create();
	struct ram_spec spec = { .id = "a", .size = 4 * MiB, .fd = -1, .flags = RAM_MIGRATABLE };
	g_autoptr(GError) err = NULL;
	struct ramblock *a = ram_create(list, &spec, NULL);
	u64 offset;

	g_assert_nonnull(a);
	g_assert_cmpuint((uintptr_t)a->host % (2 * MiB), ==, 0);
	g_assert_cmpuint(ram_pages(a), ==, 1024);
	g_assert_true(ram_find(list, "a") == a);
	g_assert_true(ram_from_host(list, a->host + 5000, &offset) == a);
	g_assert_cmpuint(offset, ==, 5000);
	g_assert_cmpuint(ram_total(list), ==, 4 * MiB);

	g_assert_null(ram_create(list, &spec, &err));
	g_assert_cmpstr(err->message, ==, "a RAM block 'a' exists already");
	g_clear_error(&err);
	spec.id = "b";
	spec.size = 100;
	g_assert_null(ram_create(list, &spec, &err));
	g_clear_error(&err);
	spec.size = (u64)1 << 60; /* more than the host's address space */
	g_assert_null(ram_create(list, &spec, &err));
	g_assert_true(g_str_has_prefix(err->message, "cannot map 1152921504606846976 bytes"));
	ram_list_destroy(list);
}

static void test_resize(void)
{
	struct ram_list *list = ram_list_create();
	struct ram_spec fixed = { .id = "fixed", .size = MiB, .fd = -1 };
	struct ram_spec grow = {
		.id = "grow", .size = 4096, .max_size = 8192, .fd = -1, .flags = RAM_RESIZEABLE
	};
	struct ramblock *f = ram_create(list, &fixed, NULL), *g = ram_create(list, &grow, NULL);
	g_autoptr(GError) err = NULL;

	g_assert_cmpint(ram_resize(f, MiB, NULL), ==, 0);
	g_assert_cmpint(ram_resize(f, 2 * MiB, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "1048576"));
	g_assert_nonnull(strstr(err->message, "2097152"));
	g_clear_error(&err);
	g_assert_cmpint(ram_resize(g, 8192, NULL), ==, 0);
	g_assert_cmpint(ram_resize(g, 12288, &err), ==, -EINVAL);
	ram_list_destroy(list);
}

/* Anonymous private, anonymous shared and memfd memory all read as zero after a discard. */
static void test_discard(void)
{
	for (int kind = 0; kind < 3; kind++) {
		struct ram_list *list = ram_list_create();
		struct ram_spec spec = {
			.id = "x", .size = 64 * KiB, .fd = -1, .flags = kind ? RAM_SHARED : 0
		};
		struct ramblock *b;

		if (kind == 2) {
			spec.fd = memfd_create("x", 0);
			g_assert_cmpint(ftruncate(spec.fd, spec.size), ==, 0);
		}
		b = ram_create(list, &spec, NULL);
		memset(b->host, 0x55, spec.size);
		dirty_map_client_start(&b->dirty, DIRTY_MIGRATION, false);
		g_assert_cmpint(ram_discard(b, 100, 3 * 4096), ==, 0);
		g_assert_cmpuint(b->host[99], ==, 0x55);
		for (int i = 100; i < 100 + 3 * 4096; i++)
			g_assert_cmpuint(b->host[i], ==, 0);
		g_assert_cmpuint(b->host[100 + 3 * 4096], ==, 0x55);
		g_assert_cmpuint(dirty_map_count(&b->dirty, DIRTY_MIGRATION), ==, 4);
		ram_list_destroy(list);
	}
}

static void test_prealloc(void)
{
	struct ram_list *list = ram_list_create();
	struct ram_spec spec = {
		.id = "p", .size = 8 * MiB, .fd = -1, .flags = RAM_PREALLOC, .prealloc_threads = 2
	};
	struct ramblock *b = ram_create(list, &spec, NULL);
	unsigned char resident[2048];

	g_assert_cmpint(mincore(b->host, 8 * MiB, resident), ==, 0);
	for (int i = 0; i < 2048; i++)
		g_assert_true(resident[i] & 1);
	ram_list_destroy(list);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ram/create", test_create);
	g_test_add_func("/ram/resize", test_resize);
	g_test_add_func("/ram/discard", test_discard);
	g_test_add_func("/ram/prealloc", test_prealloc);
	return g_test_run();
}

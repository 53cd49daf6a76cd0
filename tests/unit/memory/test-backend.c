/* Memory back ends: options as users write them. */
#include "memory/backend.h"

#include "util/keyval.h"

#include <glib/gstdio.h>

static struct memory_backend *make(const char *type, const char *text, GError **err)
{
	JsonObject *o = keyval_parse(text, NULL, NULL);
	struct memory_backend *b = memory_backend_create(type, "mem", o, err);

	json_object_unref(o);
	return b;
}

static void use(const char *type, const char *text, bool shared)
{
	struct ram_list *list = ram_list_create();
	g_autoptr(GError) err = NULL;
	struct memory_backend *b = make(type, text, &err);
	struct ramblock *block;

	g_assert_no_error(err);
	block = memory_backend_use(b, list, NULL, &err);
	g_assert_no_error(err);
	g_assert_cmpstr(block->id, ==, "mem");
	g_assert_cmpint(!!(block->flags & RAM_SHARED), ==, shared);
	block->host[block->used_size - 1] = 1;
	g_assert_null(memory_backend_use(b, list, "again", &err));
	g_assert_nonnull(strstr(err->message, "in use"));
	ram_list_destroy(list);
	memory_backend_destroy(b);
}

static void test_types(void)
{
	g_autofree char *dir = g_dir_make_tmp("mem-XXXXXX", NULL);
	g_autofree char *file = g_strdup_printf("size=1M,mem-path=%s/f,share=on", dir);
	g_autofree char *in_dir = g_strdup_printf("size=1M,mem-path=%s", dir);
	g_autofree char *path = g_strdup_printf("%s/f", dir);

	use("memory-backend-ram", "size=1M", false);
	use("memory-backend-ram", "size=1M,share=on,prealloc=on,dump=off,merge=on", true);
	use("memory-backend-memfd", "size=1M", true);
	use("memory-backend-memfd", "size=1M,share=off,seal=off", false);
	use("memory-backend-file", file, true);
	use("memory-backend-file", in_dir, false);
	g_remove(path);
	g_rmdir(dir);
}

static void test_refused(void)
{
	static const struct {
		const char *type, *text, *want;
	} rows[] = {
		{ "memory-backend-ram", "share=on", "'size=0' must be a positive multiple" },
		{ "memory-backend-ram", "size=5000", "'size=5000' must be" },
		{ "memory-backend-ram", "size=1M,share=perhaps", "'share=perhaps'" },
		{ "memory-backend-ram", "size=1M,mem-path=/x", "unknown option 'mem-path=/x'" },
		{ "memory-backend-file", "size=1M", "needs 'mem-path'" },
		{ "memory-backend-file", "size=1M,mem-path=/nonexistent/f", "'/nonexistent/f'" },
		{ "memory-backend-file", "size=1M,mem-path=/tmp,pmem=on", "'pmem=on'" },
		{ "memory-backend-memfd", "size=1M,hugetlbsize=2M", "needs hugetlb=on" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		g_autoptr(GError) err = NULL;

		g_assert_null(make(rows[i].type, rows[i].text, &err));
		g_assert_nonnull(err);
		g_assert_nonnull(strstr(err->message, rows[i].want));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory-backend/types", test_types);
	g_test_add_func("/memory-backend/refused", test_refused);
	return g_test_run();
}

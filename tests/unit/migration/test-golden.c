/*
 * tests/unit/migration/test-golden.c - the stream of a fixed machine, byte for byte.
 *
 * usage: test-golden STORED; with GOLDEN_OUT=FILE in the environment the stream is kept there.
 */
#include "pair.h"

#include "util/main-loop.h"

#include <unistd.h>

static const struct fake_vm_spec spec = { .ram_bytes = 1 * MiB };
static const char *stored_path;

static struct fake_vm *golden_machine(void)
{
	struct fake_vm *v = fake_vm_create(&spec);

	v->dev = (struct fake_device){
		.id = 0x11223344,
		.wide = 0x5566778899aabbccull,
		.flag = true,
		.words = { 1, 2, 3 },
		.count = 2,
		.counted = { 9, 8 },
		.extra = 77,
		.has_extra = true,
	};
	memset(v->ram->host + 2 * DIRTY_PAGE_SIZE, 'a', 2 * DIRTY_PAGE_SIZE);
	v->rom->host[0] = 0xee;
	return v;
}

static void test_save(void)
{
	struct fake_vm *a = golden_machine();
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-golden-XXXXXX", NULL);
	g_autofree char *uri = NULL, *got = NULL, *want = NULL;
	const char *keep = g_getenv("GOLDEN_OUT");
	GError *err = NULL;
	gsize ngot, nwant;

	close(g_mkstemp(path));
	uri = g_strdup_printf("file:%s", path);
	migration_start(a->m, uri, NULL, false, &err);
	g_assert_no_error(err);
	pump_until(a, "completed");
	g_assert_true(g_file_get_contents(path, &got, &ngot, NULL));
	unlink(path);
	if (keep)
		g_assert_true(g_file_set_contents(keep, got, ngot, NULL));
	g_assert_true(g_file_get_contents(stored_path, &want, &nwant, NULL));
	g_assert_cmpmem(got, ngot, want, nwant);
	fake_vm_destroy(a);
}

static void test_load(void)
{
	struct fake_vm *a = golden_machine(), *b = fake_vm_create(&spec);
	g_autofree char *uri = g_strdup_printf("file:%s", stored_path);
	GError *err = NULL;

	migration_incoming_prepare(b->m, uri, false, &err);
	g_assert_no_error(err);
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	g_assert_cmpuint(b->dev.wide, ==, a->dev.wide);
	g_assert_cmpuint(b->dev.extra, ==, 77);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	stored_path = argv[1];
	main_loop_init();
	g_test_add_func("/golden/save", test_save);
	g_test_add_func("/golden/load", test_load);
	return g_test_run();
}

/* tests/unit/migration/test-migration.c - whole migrations between two machines of this process. */
#include "pair.h"

#include "migration/pages.h"
#include "util/bitmap.h"
#include "util/main-loop.h"

#include <sys/mman.h>

static void test_idle(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_set_device(a);
	fake_vm_fill(a, 700, 1);
	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_cmpstr(a->events->str, ==, "setup active device completed ");
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_check_device(a, b);
	g_assert_cmpint(vm_run_state(a->vm), ==, RUN_STATE_POSTMIGRATE);
	g_assert_true(vm_running(b->vm));
	g_assert_cmpint(query_int(a, "ram", "normal"), ==, 700 + 8);
	g_assert_cmpint(query_int(a, "ram", "duplicate"), ==, 2048 - 700 + 8);
	/* Pages travel in runs: the records beside them take little. */
	g_assert_cmpint(query_int(a, "ram", "transferred"), <, 708 * 4096 + 8 * KiB);
	g_assert_cmpint(query_int(a, "ram", "remaining"), ==, 0);
	g_assert_cmpint(query_int(a, "ram", "total"), ==, 8 * MiB + 64 * KiB);
	g_assert_false(a->log.active);
	/* The file of the socket is gone once the sender is there. */
	g_assert_cmpint(access(uri + 5, F_OK), ==, -1);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void run_busy(const struct fake_vm_spec *spec, const char *cap)
{
	struct fake_vm *a = fake_vm_create(spec), *b = fake_vm_create(spec);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_fill(a, 1500, 2);
	vm_start(a->vm);
	fake_vm_write(a, 1200, 300);
	fake_vm_param(a, "max-bandwidth", 100 * MiB);
	fake_vm_param(a, "downtime-limit", 20);
	if (cap)
		fake_vm_cap(a, cap, true);
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	g_assert_cmpint(query_int(a, "ram", "dirty-sync-count"), >=, 2);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_busy(void)
{
	run_busy(NULL, NULL);
}

static void test_busy_initially_set(void)
{
	static const struct fake_vm_spec spec = { .initially_set = true };

	run_busy(&spec, NULL);
}

static void test_busy_xbzrle(void)
{
	run_busy(NULL, "xbzrle");
}

static void test_busy_verify(void)
{
	run_busy(NULL, "x-verify");
}

static void test_zero_pages_stay_absent(void)
{
	static const struct fake_vm_spec spec = { .ram_bytes = 64 * MiB };
	struct fake_vm *a = fake_vm_create(&spec), *b = fake_vm_create(&spec);
	g_autofree char *uri = fake_vm_listen(b);
	u64 absent[BITMAP_WORDS(PAGE_PROBE_MAX)], present = 0;
	struct page_probe probe;

	/* As a guest without huge pages would: 512 pages in a row, then one in each MiB. */
	madvise(a->ram->host, a->ram->max_size, MADV_NOHUGEPAGE);
	fake_vm_fill(a, 512, 18);
	for (u64 at = 4 * MiB; at < 64 * MiB; at += MiB)
		a->ram->host[at] = 1;
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	page_probe_init(&probe);
	for (u64 at = 0; at < ram_pages(b->ram); at += PAGE_PROBE_MAX) {
		page_probe_absent(&probe, b->ram, at, PAGE_PROBE_MAX, absent);
		present += PAGE_PROBE_MAX - bitmap_count(absent, 0, PAGE_PROBE_MAX);
	}
	page_probe_finish(&probe);
	g_assert_cmpuint(present, ==, 512 + 60);
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/migration/idle", test_idle);
	g_test_add_func("/migration/busy", test_busy);
	g_test_add_func("/migration/busy-initially-set", test_busy_initially_set);
	g_test_add_func("/migration/busy-xbzrle", test_busy_xbzrle);
	g_test_add_func("/migration/busy-verify", test_busy_verify);
	g_test_add_func("/memory/zero-pages-stay-absent", test_zero_pages_stay_absent);
	return g_test_run();
}

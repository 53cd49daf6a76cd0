/* tests/unit/migration/test-migration.c - whole migrations between two machines. */
#include "pair.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct fake_vm_spec plain_spec = { 0 };

static void set_device(struct fake_vm *v)
{
	v->dev = (struct fake_device){
		.id = 0x11223344,
		.wide = 0x5566778899aabbccull,
		.flag = true,
		.words = { 1, 2, 3 },
		.count = 5,
		.counted = { 9, 8, 7, 6, 5 },
		.extra = 77,
		.has_extra = true,
	};
	memset(v->dev.bytes, 0xa5, sizeof(v->dev.bytes));
}

static void check_device(const struct fake_vm *a, const struct fake_vm *b)
{
	g_assert_cmpuint(b->dev.id, ==, a->dev.id);
	g_assert_cmpuint(b->dev.wide, ==, a->dev.wide);
	g_assert_true(b->dev.flag == a->dev.flag);
	g_assert_cmpmem(b->dev.bytes, 16, a->dev.bytes, 16);
	g_assert_cmpmem(b->dev.words, 6, a->dev.words, 6);
	g_assert_cmpmem(b->dev.counted, 8, a->dev.counted, 8);
	g_assert_cmpuint(b->dev.extra, ==, a->dev.extra);
	g_assert_cmpuint(b->dev.loads, ==, 1);
}

static void start(struct fake_vm *v, const char *uri)
{
	GError *err = NULL;

	migration_start(v->m, uri, NULL, false, &err);
	g_assert_no_error(err);
}

static void test_idle(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);

	set_device(a);
	fake_vm_fill(a, 700, 1);
	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	start(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_cmpstr(a->events->str, ==, "setup active device completed ");
	g_assert_true(fake_vm_equal(a, b));
	check_device(a, b);
	g_assert_cmpint(vm_run_state(a->vm), ==, RUN_STATE_POSTMIGRATE);
	g_assert_true(vm_running(b->vm));
	g_assert_cmpint(query_int(a, "ram", "normal"), ==, 700 + 8);
	g_assert_cmpint(query_int(a, "ram", "duplicate"), ==, 2048 - 700 + 8);
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
	start(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	g_assert_cmpint(query_int(a, "ram", "dirty-sync-count"), >=, 2);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_busy(void)
{
	run_busy(&plain_spec, NULL);
}

static void test_busy_initially_set(void)
{
	static const struct fake_vm_spec spec = { .initially_set = true };

	run_busy(&spec, NULL);
}

static void test_busy_xbzrle(void)
{
	run_busy(&plain_spec, "xbzrle");
}

static void test_busy_verify(void)
{
	run_busy(&plain_spec, "x-verify");
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
	return g_test_run();
}

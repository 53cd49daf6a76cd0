/* tests/unit/migration/test-control.c - cancelling, pausing, and what is refused meanwhile. */
#include "pair.h"

#include "util/fdset.h"
#include "util/main-loop.h"

#include <sys/socket.h>
#include <unistd.h>

static unsigned open_fds(void)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned n = 0;

	while (g_dir_read_name(dir))
		n++;
	g_dir_close(dir);
	return n;
}

static void test_cancel_often(void)
{
	struct fake_vm *a = fake_vm_create(NULL);
	unsigned before = 0;

	fake_vm_fill(a, 2048, 6);
	fake_vm_param(a, "max-bandwidth", 20 * MiB);
	vm_start(a->vm);
	fake_vm_write(a, 512, 200);
	for (unsigned i = 0; i < 50; i++) {
		struct fake_vm *b = fake_vm_create(NULL);
		g_autofree char *uri = fake_vm_listen(b);

		if (i == 1)
			before = open_fds();
		fake_vm_migrate(a, uri);
		pump_ms(g_random_int_range(0, 40));
		migration_cancel(a->m);
		pump_until(a, "cancelled");
		g_assert_true(vm_running(a->vm));
		g_assert_false(a->log.active);
		fake_vm_destroy(b);
	}
	g_assert_cmpuint(open_fds(), <=, before + 3);
	fake_vm_param(a, "max-bandwidth", 0);
	{
		struct fake_vm *b = fake_vm_create(NULL);
		g_autofree char *uri = fake_vm_listen(b);

		fake_vm_migrate(a, uri);
		pump_until(a, "completed");
		pump_incoming(b, "completed");
		g_assert_true(fake_vm_equal(a, b));
		fake_vm_destroy(b);
	}
	fake_vm_destroy(a);
}

/* Nobody answers: cancelling must not wait for the network. */
static void test_cancel_setup(void)
{
	struct fake_vm *a = fake_vm_create(NULL);
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	g_assert_cmpint(fd_named_add("mig", ends[0], NULL), ==, 0);
	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	fake_vm_migrate(a, "fd:mig");
	pump_ms(20);
	g_assert_cmpstr(migration_status(a->m), ==, "setup");
	migration_cancel(a->m);
	pump_until(a, "cancelled");
	g_assert_cmpstr(a->events->str, ==, "setup cancelling cancelled ");
	close(ends[1]);
	fake_vm_destroy(a);
}

static void test_pause_before_switchover(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	GError *err = NULL;

	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	fake_vm_cap(a, "pause-before-switchover", true);
	g_assert_cmpint(migration_continue(a->m, "pre-switchover", &err), <, 0);
	g_clear_error(&err);
	fake_vm_migrate(a, uri);
	pump_until(a, "pre-switchover");
	g_assert_false(vm_running(a->vm));
	g_assert_cmpint(migration_continue(a->m, "active", &err), <, 0);
	g_clear_error(&err);
	pump_ms(30);
	g_assert_cmpstr(migration_status(a->m), ==, "pre-switchover");
	g_assert_cmpint(migration_continue(a->m, "pre-switchover", &err), ==, 0);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_cmpstr(a->events->str, ==, "setup active pre-switchover device completed ");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_cancel_before_switchover(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);

	vm_start(a->vm);
	fake_vm_cap(a, "pause-before-switchover", true);
	fake_vm_migrate(a, uri);
	pump_until(a, "pre-switchover");
	migration_cancel(a->m);
	pump_until(a, "cancelled");
	g_assert_true(vm_running(a->vm));
	pump_incoming(b, "failed");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_paused_twice(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	struct fake_vm *c = fake_vm_create(NULL);
	g_autofree char *to_b = fake_vm_listen(b), *to_c = NULL;
	GError *err = NULL;

	fake_vm_set_device(a);
	fake_vm_fill(a, 50, 7);
	vm_start(a->vm);
	vm_stop(a->vm, RUN_STATE_PAUSED);
	fake_vm_migrate(a, to_b);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_cmpint(vm_run_state(b->vm), ==, RUN_STATE_PAUSED);
	to_c = fake_vm_listen(c);
	fake_vm_migrate(b, to_c);
	pump_until(b, "completed");
	pump_incoming(c, "completed");
	g_assert_cmpint(vm_run_state(c->vm), ==, RUN_STATE_PAUSED);
	g_assert_true(fake_vm_equal(a, c));
	fake_vm_check_device(a, c);
	g_assert_cmpint(migration_start(c->m, "zzz", NULL, false, &err), <, 0);
	g_error_free(err);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
	fake_vm_destroy(c);
}

static void test_refusals(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	JsonArray *none = json_array_new();
	GError *err = NULL;

	expect_failure(migration_start(b->m, uri, NULL, false, &err), &err,
		       "waiting for an incoming");
	expect_failure(migration_incoming(b->m, uri, NULL, false, &err), &err, "started already");
	expect_failure(migration_incoming(a->m, uri, NULL, false, &err), &err, "-incoming defer");
	expect_failure(migration_start(a->m, NULL, NULL, false, &err), &err, "exactly one");
	expect_failure(migration_start(a->m, uri, none, false, &err), &err, "exactly one");
	expect_failure(migration_start(a->m, uri, NULL, true, &err), &err, "postcopy-paused");
	expect_failure(migration_pause(a->m, &err), &err, "postcopy-active");
	expect_failure(migration_recover(b->m, uri, &err), &err, "postcopy-paused");
	expect_failure(migration_start_postcopy(a->m, &err), &err, "postcopy-ram");
	expect_failure(migration_start(a->m, "file:/tmp/x,offset=0x20M", NULL, false, &err), &err,
		       "offset=0x20M");
	g_assert_cmpint(migration_add_blocker(a->m, "disk x says no", &err), ==, 0);
	expect_failure(migration_start(a->m, uri, NULL, false, &err), &err, "disk x says no");
	migration_del_blocker(a->m, "disk x says no");
	json_array_unref(none);

	fake_vm_param(a, "max-bandwidth", 1 * MiB);
	fake_vm_fill(a, 2048, 8);
	fake_vm_migrate(a, uri);
	pump_until(a, "active");
	expect_failure(migration_start(a->m, uri, NULL, false, &err), &err, "in progress already");
	expect_failure(migration_add_blocker(a->m, "late", &err), &err, "late");
	migration_cancel(a->m);
	pump_until(a, "cancelled");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Sparse memory stays sparse; a full huge page may come as one. */

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/control/cancel-often", test_cancel_often);
	g_test_add_func("/control/cancel-setup", test_cancel_setup);
	g_test_add_func("/control/pause-before-switchover", test_pause_before_switchover);
	g_test_add_func("/control/cancel-before-switchover", test_cancel_before_switchover);
	g_test_add_func("/control/paused-twice", test_paused_twice);
	g_test_add_func("/control/refusals", test_refusals);
	return g_test_run();
}

/* tests/unit/migration/test-failures.c - migrations that must fail, and say why. */
#include "pair.h"

#include "util/main-loop.h"

/* A migration that must fail with @text in the sender's error, the guest unharmed. */
static void run_failing(struct fake_vm *a, const char *uri, const char *text)
{
	g_autofree char *error = NULL;

	vm_start(a->vm);
	fake_vm_migrate(a, uri);
	pump_until(a, "failed");
	error = query_error(a);
	if (!strstr(error, text))
		g_error("'%s' is not in '%s'", text, error);
	g_assert_true(vm_running(a->vm));
	g_assert_false(a->log.active);
}

static void test_unreachable(void)
{
	struct fake_vm *a = fake_vm_create(NULL);
	GError *err = NULL;

	run_failing(a, "tcp:127.0.0.1:1", "tcp:127.0.0.1:1: Connection refused");
	run_failing(a, "tcp:no-such-host.invalid:1234", "no-such-host.invalid");
	run_failing(a, "unix:/nonexistent/socket", "unix:/nonexistent/socket: No such file");
	g_assert_cmpint(migration_start(a->m, "zzz:1", NULL, false, &err), <, 0);
	g_assert_nonnull(strstr(err->message, "zzz:1"));
	g_error_free(err);
	fake_vm_destroy(a);
}

static void test_ram_size(void)
{
	static const struct fake_vm_spec large = { .ram_bytes = 16 * MiB };
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(&large);
	g_autofree char *uri = fake_vm_listen(b);

	run_failing(a, uri, "'fake.ram' has size 8388608 here, but 16777216 at the receiver");
	/* Found before anything was tracked or sent. */
	g_assert_cmpuint(a->log.stats.starts, ==, 0);
	pump_incoming(b, "failed");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Without the return path only the receiver knows. */
static void test_ram_size_one_way(void)
{
	static const struct fake_vm_spec large = { .ram_bytes = 16 * MiB };
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(&large);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_cap(a, "return-path", false);
	fake_vm_fill(a, 2048, 14); /* more than a receiver reads at a time */
	run_failing(a, uri, "closed the connection");
	pump_incoming(b, "failed");
	g_assert_nonnull(strstr(b->incoming_error,
				"'fake.ram' has size 8388608 at the sender, but 16777216 here"));
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_machine_type(void)
{
	static const struct fake_vm_spec other = { .machine = "fake-2.0" };
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(&other);
	g_autofree char *uri = fake_vm_listen(b);

	run_failing(a, uri, "machine type is 'fake-1.0', this one's is 'fake-2.0'");
	pump_incoming(b, "failed");
	g_assert_cmpint(vm_run_state(b->vm), ==, RUN_STATE_INMIGRATE);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_missing_device(void)
{
	static const struct fake_vm_spec bare = { .no_device = true };
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(&bare);
	g_autofree char *uri = fake_vm_listen(b);

	run_failing(a, uri, "the receiver has no device '0000:00:01.0/fake' instance 0");
	pump_incoming(b, "failed");
	g_assert_cmpstr(b->incoming_error, ==,
			"the sender gave up: the receiver has no device '0000:00:01.0/fake' "
			"instance 0");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_refusing_device(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_set_device(a);
	b->dev.refuse = true;
	run_failing(a, uri,
		    "section '0000:00:01.0/fake' instance 0: 'fake': wide "
		    "6153737369425722316 is not to this device's taste");
	pump_incoming(b, "failed");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Rule 2: a failing back end fails the migration, names its call, and loses no bit. */
static void test_failing_backend(void)
{
	for (int n = 1; n <= 3; n++) {
		for (int sync = 0; sync < 2; sync++) {
			struct fake_vm *a = fake_vm_create(NULL);
			struct fake_vm *b = fake_vm_create(NULL);
			g_autofree char *uri = fake_vm_listen(b);

			*(sync ? &a->log.fail_sync_at : &a->log.fail_clear_at) =
				sync ? n / 2 + 1 : n;
			run_failing(a, uri,
				    sync ? "KVM_GET_DIRTY_LOG of slot 3: Cannot allocate"
					 : "KVM_CLEAR_DIRTY_LOG of slot 3: Bad address");
			if (!sync)
				g_assert_cmpuint(dirty_map_count(&a->ram->dirty, DIRTY_MIGRATION),
						 ==, 2048 - (n - 1) * 512);
			pump_incoming(b, "failed");
			fake_vm_destroy(a);
			fake_vm_destroy(b);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/failure/unreachable", test_unreachable);
	g_test_add_func("/failure/ram-size", test_ram_size);
	g_test_add_func("/failure/ram-size-one-way", test_ram_size_one_way);
	g_test_add_func("/failure/machine-type", test_machine_type);
	g_test_add_func("/failure/missing-device", test_missing_device);
	g_test_add_func("/failure/refusing-device", test_refusing_device);
	g_test_add_func("/failure/backend", test_failing_backend);
	return g_test_run();
}

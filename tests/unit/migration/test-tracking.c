/* tests/unit/migration/test-tracking.c - what a migration asks of dirty tracking. */
#include "pair.h"

#include "util/main-loop.h"

/* Rule 4: a clean first pass re-arms each batch with one call. */
static void test_clears_are_batched(void)
{
	static const struct fake_vm_spec spec = { .initially_set = true };
	struct fake_vm *a = fake_vm_create(&spec), *b = fake_vm_create(&spec);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	/* 2048 pages in batches of 512, and the small block. */
	g_assert_cmpuint(a->log.stats.clear_calls, ==, 4 + 1);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Rule 5: what a device writes goes no way but memory_mark_dirty(). */
static void test_device_writes(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_fill(a, 2048, 9);
	fake_vm_param(a, "max-bandwidth", 40 * MiB);
	vm_start(a->vm);
	fake_vm_migrate(a, uri);
	pump_until(a, "active");
	while (query_int(a, "ram", "transferred") < 4 * (s64)MiB)
		pump_ms(1);
	memset(a->ram->host + 5 * DIRTY_PAGE_SIZE, 0x77, 100);
	memory_mark_dirty(a->ram, 5 * DIRTY_PAGE_SIZE, 100);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Rule 6: writes after the last sync, while states are being saved, are still sent. */
static struct fake_vm *late_vm;

static void late_write(void *obj)
{
	memset(late_vm->ram->host + 3 * DIRTY_PAGE_SIZE, 0x99, 64);
	memory_mark_dirty(late_vm->ram, 3 * DIRTY_PAGE_SIZE, 64);
}

static void test_late_writes(void)
{
	static const struct state_field none[] = { FIELD_END };
	static const struct state_desc late = { .name = "late",
						.version = 1,
						.min_version = 1,
						.fields = none,
						.pre_save = late_write };
	static const struct state_desc quiet = {
		.name = "late", .version = 1, .min_version = 1, .fields = none
	};
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);

	late_vm = a;
	state_register(a->states, "late", -1, &late, a);
	state_register(b->states, "late", -1, &quiet, b);
	fake_vm_fill(a, 100, 10);
	vm_start(a->vm);
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	state_unregister(a->states, &late, a);
	state_unregister(b->states, &quiet, b);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* A back end that loses writes is found out. */
static void test_verify_finds_loss(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b), *error = NULL;

	fake_vm_fill(a, 2048, 11);
	fake_vm_cap(a, "x-verify", true);
	fake_vm_param(a, "max-bandwidth", 40 * MiB);
	fake_vm_param(a, "downtime-limit", 1000);
	a->log.drop_every = 10;
	vm_start(a->vm);
	fake_vm_write(a, 2000, 0);
	fake_vm_migrate(a, uri);
	pump_until(a, "failed");
	error = query_error(a);
	g_assert_nonnull(strstr(error, "verification failed"));
	g_assert_nonnull(strstr(error, "RAM block 'fake.ram' differ"));
	g_assert_nonnull(strstr(error, "tracking: fake, mode manual"));
	g_assert_true(vm_running(a->vm));
	pump_incoming(b, "failed");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/tracking/clears-are-batched", test_clears_are_batched);
	g_test_add_func("/tracking/device-writes", test_device_writes);
	g_test_add_func("/tracking/late-writes", test_late_writes);
	g_test_add_func("/tracking/verify-finds-loss", test_verify_finds_loss);
	return g_test_run();
}

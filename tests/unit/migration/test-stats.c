/* tests/unit/migration/test-stats.c - query-migrate and calc-dirty-rate. */
#include "pair.h"

#include "util/main-loop.h"

static void test_stats_are_sane(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	s64 last_sent = 0, last_sync = 0, begin, total;
	unsigned polls = 0;

	fake_vm_fill(a, 2048, 12);
	fake_vm_param(a, "max-bandwidth", 30 * MiB);
	fake_vm_param(a, "downtime-limit", 50);
	vm_start(a->vm);
	fake_vm_write(a, 700, 3000);
	begin = g_get_monotonic_time();
	fake_vm_migrate(a, uri);
	while (migration_active(a->m)) {
		g_autoptr(JsonObject) o = migration_query(a->m);
		JsonObject *ram;
		s64 sent, sync;

		main_loop_iterate(false);
		if (strcmp(json_object_get_string_member(o, "status"), "active"))
			continue;
		polls++;
		ram = json_object_get_object_member(o, "ram");
		sent = json_object_get_int_member(ram, "transferred");
		sync = json_object_get_int_member(ram, "dirty-sync-count");
		g_assert_cmpint(json_object_get_int_member(ram, "total"), ==, 8 * MiB + 64 * KiB);
		g_assert_cmpint(json_object_get_int_member(ram, "remaining"), <=,
				json_object_get_int_member(ram, "total"));
		g_assert_cmpint(sent, >=, last_sent);
		g_assert_cmpint(sync, >=, last_sync);
		last_sent = sent;
		last_sync = sync;
	}
	total = (g_get_monotonic_time() - begin) / 1000;
	g_assert_cmpstr(migration_status(a->m), ==, "completed");
	g_assert_cmpuint(polls, >, 5);
	g_assert_cmpint(query_int(a, "ram", "remaining"), ==, 0);
	g_assert_cmpint(ABS(query_int(a, NULL, "total-time") - total), <=, total / 20 + 5);
	pump_incoming(b, "completed");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* A guest that outruns the wire: told so, and slowed only when asked. */
static void test_divergence(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	const char *verdict = "";

	fake_vm_fill(a, 2048, 13);
	fake_vm_param(a, "max-bandwidth", 16 * MiB);
	fake_vm_param(a, "downtime-limit", 1);
	vm_start(a->vm);
	fake_vm_write(a, 1024, 0);
	fake_vm_migrate(a, uri);
	for (unsigned i = 0; i < 200 && strcmp(verdict, "will-not-converge"); i++) {
		g_autoptr(JsonObject) o = NULL;

		pump_ms(10);
		o = migration_query(a->m);
		verdict = g_intern_string(
			json_object_get_string_member_with_default(o, "x-verdict", ""));
		if (g_str_equal(verdict, "will-not-converge"))
			g_assert_false(json_object_has_member(o, "x-eta-ms"));
	}
	g_assert_cmpstr(verdict, ==, "will-not-converge");
	g_assert_cmpstr(migration_status(a->m), ==, "active");
	/* More bandwidth takes effect at once. */
	fake_vm_param(a, "max-bandwidth", 0);
	fake_vm_param(a, "downtime-limit", 2000);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_auto_converge(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	s64 highest = 0;

	fake_vm_fill(a, 2048, 15);
	fake_vm_cap(a, "auto-converge", true);
	fake_vm_param(a, "max-bandwidth", 20 * MiB);
	fake_vm_param(a, "downtime-limit", 0);
	fake_vm_param(a, "cpu-throttle-initial", 5);
	fake_vm_param(a, "cpu-throttle-increment", 25);
	fake_vm_param(a, "max-cpu-throttle", 95);
	vm_start(a->vm);
	fake_vm_write(a, 1024, 0);
	fake_vm_migrate(a, uri);
	for (unsigned i = 0; i < 1000 && highest < 30; i++) {
		pump_ms(5);
		highest = MAX(highest, query_int(a, NULL, "cpu-throttle-percentage"));
	}
	g_assert_cmpint(highest, ==, 30);
	migration_cancel(a->m);
	pump_until(a, "cancelled");
	g_assert_cmpint(query_int(a, NULL, "cpu-throttle-percentage"), ==, -1);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* The causes add up to the downtime. */
static void test_downtime_adds_up(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *uri = fake_vm_listen(b);
	s64 sum = 0, total;
	static const char *const parts[] = { "stop", "last-sync", "ram", "device-state", "resume" };

	fake_vm_fill(a, 2048, 16);
	vm_start(a->vm);
	fake_vm_write(a, 300, 100);
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
		g_assert_cmpint(query_int(a, "x-downtime", parts[i]), >=, 0);
		sum += query_int(a, "x-downtime", parts[i]);
	}
	total = query_int(a, "x-downtime", "total");
	g_assert_cmpint(total, >, 0);
	g_assert_cmpint(ABS(sum - total), <=, total / 20 + NS_PER_MS);
	g_assert_cmpint(total / NS_PER_MS, ==, query_int(a, NULL, "downtime"));
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* ---- dirty rate ---- */

static int calc_rate(struct fake_vm *v, const char *json, GError **err)
{
	g_autoptr(JsonNode) node = json_from_string(json, NULL);

	return migration_calc_dirty_rate(v->m, json_node_get_object(node), err);
}

static s64 wait_rate(struct fake_vm *v)
{
	for (;;) {
		g_autoptr(JsonObject) o = migration_query_dirty_rate(v->m, "millisecond");

		if (g_str_equal(json_object_get_string_member(o, "status"), "measured"))
			return json_object_get_int_member(o, "dirty-rate");
		pump_ms(5);
	}
}

static void test_dirty_rate(void)
{
	struct fake_vm *a = fake_vm_create(NULL);
	GError *err = NULL;
	s64 rate;

	expect_failure(calc_rate(a, "{'calc-time': 0}", &err), &err, "out of range");
	expect_failure(calc_rate(a, "{'calc-time': 61}", &err), &err, "out of range");
	expect_failure(calc_rate(a, "{'calc-time': 1, 'mode': 'dirty-ring'}", &err), &err,
		       "dirty-ring-size=N");
	expect_failure(calc_rate(a, "{'calc-time': 1, 'sample-pages': 5}", &err), &err,
		       "128 to 16384");
	fake_vm_fill(a, 2048, 17);
	vm_start(a->vm);
	fake_vm_write(a, 512, 0);
	/* 512 pages, each written many times: 2 MiB in 0.2 s. */
	g_assert_cmpint(calc_rate(a,
				  "{'calc-time': 200, 'calc-time-unit': 'millisecond', "
				  "'mode': 'dirty-bitmap'}",
				  &err),
			==, 0);
	expect_failure(calc_rate(a, "{'calc-time': 1}", &err), &err, "running already");
	rate = wait_rate(a);
	g_assert_cmpint(rate, >=, 5);
	g_assert_cmpint(rate, <=, 10);
	g_assert_false(a->log.active);
	/* A quarter of 8 MiB in 0.2 s, from 128 samples of 2048 pages. */
	g_assert_cmpint(calc_rate(a,
				  "{'calc-time': 200, 'calc-time-unit': 'millisecond', "
				  "'sample-pages': 16384}",
				  &err),
			==, 0);
	rate = wait_rate(a);
	g_assert_cmpint(rate, >=, 4);
	g_assert_cmpint(rate, <=, 20);
	fake_vm_destroy(a);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/stats/sane", test_stats_are_sane);
	g_test_add_func("/stats/divergence", test_divergence);
	g_test_add_func("/stats/auto-converge", test_auto_converge);
	g_test_add_func("/stats/downtime-adds-up", test_downtime_adds_up);
	g_test_add_func("/stats/dirty-rate", test_dirty_rate);
	return g_test_run();
}

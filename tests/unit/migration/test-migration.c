/* tests/unit/migration/test-migration.c - whole migrations between two machines. */
#include "pair.h"

#include "migration/pages.h"
#include "util/bitmap.h"
#include "util/fdset.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <fcntl.h>
#include <sys/mman.h>
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

/* ---- transports ---- */

/* Moves a small idle machine over @to, received on @from, and checks that it arrived. */
static void run_over(struct fake_vm *a, struct fake_vm *b, const char *to)
{
	set_device(a);
	fake_vm_fill(a, 100, 3);
	start(a, to);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	check_device(a, b);
}

static void test_tcp(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = NULL;
	g_autoptr(JsonObject) o = NULL;
	JsonObject *address;
	GError *err = NULL;

	migration_incoming_prepare(b->m, "tcp:127.0.0.1:0", true, &err);
	g_assert_no_error(err);
	o = migration_query(b->m);
	address =
		json_array_get_object_element(json_object_get_array_member(o, "socket-address"), 0);
	g_assert_cmpstr(json_object_get_string_member(address, "type"), ==, "inet");
	g_assert_cmpstr(json_object_get_string_member(address, "host"), ==, "127.0.0.1");
	uri = g_strdup_printf("tcp:localhost:%s,ipv4=on",
			      json_object_get_string_member(address, "port"));
	run_over(a, b, uri);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_fd(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	GError *err = NULL;
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	g_assert_cmpint(fd_named_add("mig", ends[0], &err), ==, 0);
	g_assert_cmpint(fd_named_add("in", ends[1], &err), ==, 0);
	migration_incoming_prepare(b->m, "fd:in", true, &err);
	g_assert_no_error(err);
	run_over(a, b, "fd:mig");
	g_assert_cmpint(fd_named_remove("mig", NULL), ==, -ENOENT);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_pipe(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	GError *err = NULL;
	int ends[2];

	g_assert_cmpint(pipe(ends), ==, 0);
	g_assert_cmpint(fd_named_add("in", ends[0], &err), ==, 0);
	g_assert_cmpint(fd_named_add("mig", ends[1], &err), ==, 0);
	migration_incoming_prepare(b->m, "fd:in", true, &err);
	g_assert_no_error(err);
	run_over(a, b, "fd:mig");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_fd_of_file(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec);
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-fd-XXXXXX", NULL);
	GError *err = NULL;
	int fd = g_mkstemp(path);

	g_assert_cmpint(fd_named_add("mig", fd, &err), ==, 0);
	g_assert_cmpint(migration_start(a->m, "fd:mig", NULL, false, &err), <, 0);
	g_assert_nonnull(strstr(err->message, "file: instead"));
	g_error_free(err);
	unlink(path);
	fake_vm_destroy(a);
}

static void test_file(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-file-XXXXXX", NULL);
	g_autofree char *uri = g_strdup_printf("file:%s,offset=4096", path);
	g_autofree char *data = NULL;
	char before[4096];
	GError *err = NULL;
	gsize len;
	int fd = g_mkstemp(path);

	g_free(uri);
	uri = g_strdup_printf("file:%s,offset=4096", path);
	memset(before, 'x', sizeof(before));
	g_assert_cmpint(write(fd, before, sizeof(before)), ==, sizeof(before));
	close(fd);
	set_device(a);
	fake_vm_fill(a, 100, 4);
	start(a, uri);
	pump_until(a, "completed");
	g_assert_true(g_file_get_contents(path, &data, &len, NULL));
	g_assert_cmpmem(data, 4096, before, 4096);
	g_assert_cmpmem(data + 4096, 8, "QEVM\0\0\0\3", 8);
	migration_incoming_prepare(b->m, uri, true, &err);
	g_assert_no_error(err);
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	check_device(a, b);
	unlink(path);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_exec(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-exec-XXXXXX", NULL);
	g_autofree char *in = NULL, *out = NULL, *error = NULL;
	GError *err = NULL;

	close(g_mkstemp(path));
	out = g_strdup_printf("exec:cat > %s", path);
	in = g_strdup_printf("exec:cat %s", path);
	vm_start(a->vm);
	start(a, "exec:cat > /dev/null; exit 3");
	pump_until(a, "failed");
	error = query_error(a);
	g_assert_nonnull(strstr(error, "exit status 3"));
	g_assert_true(vm_running(a->vm));

	set_device(a);
	fake_vm_fill(a, 100, 5);
	start(a, out);
	pump_until(a, "completed");
	migration_incoming_prepare(b->m, in, false, &err);
	g_assert_no_error(err);
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	g_assert_cmpint(vm_run_state(b->vm), ==, RUN_STATE_PAUSED); /* -S */
	unlink(path);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* ---- failures ---- */

/* A migration that must fail with @text in the sender's error, the guest unharmed. */
static void run_failing(struct fake_vm *a, const char *uri, const char *text)
{
	g_autofree char *error = NULL;

	vm_start(a->vm);
	start(a, uri);
	pump_until(a, "failed");
	error = query_error(a);
	if (!strstr(error, text))
		g_error("'%s' is not in '%s'", text, error);
	g_assert_true(vm_running(a->vm));
	g_assert_false(a->log.active);
}

static void test_unreachable(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&large);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&large);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&other);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&bare);
	g_autofree char *uri = fake_vm_listen(b);

	run_failing(a, uri, "the receiver has no device '0000:00:01.0/fake' instance 0");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_refusing_device(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);

	set_device(a);
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
			struct fake_vm *a = fake_vm_create(&plain_spec);
			struct fake_vm *b = fake_vm_create(&plain_spec);
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

/* ---- control ---- */

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
	struct fake_vm *a = fake_vm_create(&plain_spec);
	unsigned before = 0;

	fake_vm_fill(a, 2048, 6);
	fake_vm_param(a, "max-bandwidth", 20 * MiB);
	vm_start(a->vm);
	fake_vm_write(a, 512, 200);
	for (unsigned i = 0; i < 50; i++) {
		struct fake_vm *b = fake_vm_create(&plain_spec);
		g_autofree char *uri = fake_vm_listen(b);

		if (i == 1)
			before = open_fds();
		start(a, uri);
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
		struct fake_vm *b = fake_vm_create(&plain_spec);
		g_autofree char *uri = fake_vm_listen(b);

		start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec);
	int ends[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	g_assert_cmpint(fd_named_add("mig", ends[0], NULL), ==, 0);
	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	start(a, "fd:mig");
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);
	GError *err = NULL;

	vm_start(a->vm);
	fake_vm_cap(a, "events", true);
	fake_vm_cap(a, "pause-before-switchover", true);
	g_assert_cmpint(migration_continue(a->m, "pre-switchover", &err), <, 0);
	g_clear_error(&err);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);

	vm_start(a->vm);
	fake_vm_cap(a, "pause-before-switchover", true);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	struct fake_vm *c = fake_vm_create(&plain_spec);
	g_autofree char *to_b = fake_vm_listen(b), *to_c = NULL;
	GError *err = NULL;

	set_device(a);
	fake_vm_fill(a, 50, 7);
	vm_start(a->vm);
	vm_stop(a->vm, RUN_STATE_PAUSED);
	start(a, to_b);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_cmpint(vm_run_state(b->vm), ==, RUN_STATE_PAUSED);
	to_c = fake_vm_listen(c);
	start(b, to_c);
	pump_until(b, "completed");
	pump_incoming(c, "completed");
	g_assert_cmpint(vm_run_state(c->vm), ==, RUN_STATE_PAUSED);
	g_assert_true(fake_vm_equal(a, c));
	check_device(a, c);
	g_assert_cmpint(migration_start(c->m, "zzz", NULL, false, &err), <, 0);
	g_error_free(err);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
	fake_vm_destroy(c);
}

static void expect_refusal(int ret, GError **err, const char *text)
{
	g_assert_cmpint(ret, <, 0);
	if (!strstr((*err)->message, text))
		g_error("'%s' is not in '%s'", text, (*err)->message);
	g_clear_error(err);
}

static void test_refusals(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);
	JsonArray *none = json_array_new();
	GError *err = NULL;

	expect_refusal(migration_start(b->m, uri, NULL, false, &err), &err,
		       "waiting for an incoming");
	expect_refusal(migration_incoming(b->m, uri, NULL, false, &err), &err, "started already");
	expect_refusal(migration_incoming(a->m, uri, NULL, false, &err), &err, "-incoming defer");
	expect_refusal(migration_start(a->m, NULL, NULL, false, &err), &err, "exactly one");
	expect_refusal(migration_start(a->m, uri, none, false, &err), &err, "exactly one");
	expect_refusal(migration_start(a->m, uri, NULL, true, &err), &err, "postcopy-paused");
	expect_refusal(migration_pause(a->m, &err), &err, "postcopy-active");
	expect_refusal(migration_recover(b->m, uri, &err), &err, "postcopy-paused");
	expect_refusal(migration_start_postcopy(a->m, &err), &err, "postcopy-ram");
	expect_refusal(migration_start(a->m, "file:/tmp/x,offset=0x20M", NULL, false, &err), &err,
		       "offset=0x20M");
	g_assert_cmpint(migration_add_blocker(a->m, "disk x says no", &err), ==, 0);
	expect_refusal(migration_start(a->m, uri, NULL, false, &err), &err, "disk x says no");
	migration_del_blocker(a->m, "disk x says no");
	json_array_unref(none);

	fake_vm_param(a, "max-bandwidth", 1 * MiB);
	fake_vm_fill(a, 2048, 8);
	start(a, uri);
	pump_until(a, "active");
	expect_refusal(migration_start(a->m, uri, NULL, false, &err), &err, "in progress already");
	expect_refusal(migration_add_blocker(a->m, "late", &err), &err, "late");
	migration_cancel(a->m);
	pump_until(a, "cancelled");
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Sparse memory stays sparse; a full huge page may come as one. */
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
	start(a, uri);
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

/* ---- tracking ---- */

/* Rule 4: a clean first pass re-arms each batch with one call. */
static void test_clears_are_batched(void)
{
	static const struct fake_vm_spec spec = { .initially_set = true };
	struct fake_vm *a = fake_vm_create(&spec), *b = fake_vm_create(&spec);
	g_autofree char *uri = fake_vm_listen(b);

	start(a, uri);
	pump_until(a, "completed");
	/* 2048 pages in batches of 512, and the small block. */
	g_assert_cmpuint(a->log.stats.clear_calls, ==, 4 + 1);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

/* Rule 5: what a device writes goes no way but memory_mark_dirty(). */
static void test_device_writes(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);

	fake_vm_fill(a, 2048, 9);
	fake_vm_param(a, "max-bandwidth", 40 * MiB);
	vm_start(a->vm);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);

	late_vm = a;
	state_register(a->states, "late", -1, &late, a);
	state_register(b->states, "late", -1, &quiet, b);
	fake_vm_fill(a, 100, 10);
	vm_start(a->vm);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b), *error = NULL;

	fake_vm_fill(a, 2048, 11);
	fake_vm_cap(a, "x-verify", true);
	fake_vm_param(a, "max-bandwidth", 40 * MiB);
	fake_vm_param(a, "downtime-limit", 1000);
	a->log.drop_every = 10;
	vm_start(a->vm);
	fake_vm_write(a, 2000, 0);
	start(a, uri);
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

/* ---- statistics ---- */

static void test_stats_are_sane(void)
{
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);
	s64 last_sent = 0, last_sync = 0, begin, total;
	unsigned polls = 0;

	fake_vm_fill(a, 2048, 12);
	fake_vm_param(a, "max-bandwidth", 30 * MiB);
	fake_vm_param(a, "downtime-limit", 50);
	vm_start(a->vm);
	fake_vm_write(a, 700, 3000);
	begin = g_get_monotonic_time();
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);
	const char *verdict = "";

	fake_vm_fill(a, 2048, 13);
	fake_vm_param(a, "max-bandwidth", 16 * MiB);
	fake_vm_param(a, "downtime-limit", 1);
	vm_start(a->vm);
	fake_vm_write(a, 1024, 0);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
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
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec), *b = fake_vm_create(&plain_spec);
	g_autofree char *uri = fake_vm_listen(b);
	s64 sum = 0, total;
	static const char *const parts[] = { "stop", "last-sync", "ram", "device-state", "resume" };

	fake_vm_fill(a, 2048, 16);
	vm_start(a->vm);
	fake_vm_write(a, 300, 100);
	start(a, uri);
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
	struct fake_vm *a = fake_vm_create(&plain_spec);
	GError *err = NULL;
	s64 rate;

	expect_refusal(calc_rate(a, "{'calc-time': 0}", &err), &err, "out of range");
	expect_refusal(calc_rate(a, "{'calc-time': 61}", &err), &err, "out of range");
	expect_refusal(calc_rate(a, "{'calc-time': 1, 'mode': 'dirty-ring'}", &err), &err,
		       "dirty-ring-size=N");
	expect_refusal(calc_rate(a, "{'calc-time': 1, 'sample-pages': 5}", &err), &err,
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
	expect_refusal(calc_rate(a, "{'calc-time': 1}", &err), &err, "running already");
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
	g_test_add_func("/migration/idle", test_idle);
	g_test_add_func("/migration/busy", test_busy);
	g_test_add_func("/migration/busy-initially-set", test_busy_initially_set);
	g_test_add_func("/migration/busy-xbzrle", test_busy_xbzrle);
	g_test_add_func("/migration/busy-verify", test_busy_verify);
	g_test_add_func("/transport/tcp", test_tcp);
	g_test_add_func("/transport/fd", test_fd);
	g_test_add_func("/transport/pipe", test_pipe);
	g_test_add_func("/transport/fd-of-file", test_fd_of_file);
	g_test_add_func("/transport/file", test_file);
	g_test_add_func("/transport/exec", test_exec);
	g_test_add_func("/failure/unreachable", test_unreachable);
	g_test_add_func("/failure/ram-size", test_ram_size);
	g_test_add_func("/failure/ram-size-one-way", test_ram_size_one_way);
	g_test_add_func("/failure/machine-type", test_machine_type);
	g_test_add_func("/failure/missing-device", test_missing_device);
	g_test_add_func("/failure/refusing-device", test_refusing_device);
	g_test_add_func("/failure/backend", test_failing_backend);
	g_test_add_func("/control/cancel-often", test_cancel_often);
	g_test_add_func("/control/cancel-setup", test_cancel_setup);
	g_test_add_func("/control/pause-before-switchover", test_pause_before_switchover);
	g_test_add_func("/control/cancel-before-switchover", test_cancel_before_switchover);
	g_test_add_func("/control/paused-twice", test_paused_twice);
	g_test_add_func("/control/refusals", test_refusals);
	g_test_add_func("/memory/zero-pages-stay-absent", test_zero_pages_stay_absent);
	g_test_add_func("/tracking/clears-are-batched", test_clears_are_batched);
	g_test_add_func("/tracking/device-writes", test_device_writes);
	g_test_add_func("/tracking/late-writes", test_late_writes);
	g_test_add_func("/tracking/verify-finds-loss", test_verify_finds_loss);
	g_test_add_func("/stats/sane", test_stats_are_sane);
	g_test_add_func("/stats/divergence", test_divergence);
	g_test_add_func("/stats/auto-converge", test_auto_converge);
	g_test_add_func("/stats/downtime-adds-up", test_downtime_adds_up);
	g_test_add_func("/stats/dirty-rate", test_dirty_rate);
	return g_test_run();
}

/* tests/unit/migration/test-transports.c - migrations over every kind of address. */
#include "pair.h"

#include "util/fdset.h"
#include "util/main-loop.h"

#include <sys/socket.h>
#include <unistd.h>

/* Moves a small idle machine over @to, received on @from, and checks that it arrived. */
static void run_over(struct fake_vm *a, struct fake_vm *b, const char *to)
{
	fake_vm_set_device(a);
	fake_vm_fill(a, 100, 3);
	fake_vm_migrate(a, to);
	pump_until(a, "completed");
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_check_device(a, b);
}

static void test_tcp(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
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
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
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
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
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
	struct fake_vm *a = fake_vm_create(NULL);
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
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
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
	fake_vm_set_device(a);
	fake_vm_fill(a, 100, 4);
	fake_vm_migrate(a, uri);
	pump_until(a, "completed");
	g_assert_true(g_file_get_contents(path, &data, &len, NULL));
	g_assert_cmpmem(data, 4096, before, 4096);
	g_assert_cmpmem(data + 4096, 8, "QEVM\0\0\0\3", 8);
	migration_incoming_prepare(b->m, uri, true, &err);
	g_assert_no_error(err);
	pump_incoming(b, "completed");
	g_assert_true(fake_vm_equal(a, b));
	fake_vm_check_device(a, b);
	unlink(path);
	fake_vm_destroy(a);
	fake_vm_destroy(b);
}

static void test_exec(void)
{
	struct fake_vm *a = fake_vm_create(NULL), *b = fake_vm_create(NULL);
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-exec-XXXXXX", NULL);
	g_autofree char *in = NULL, *out = NULL, *error = NULL;
	GError *err = NULL;

	close(g_mkstemp(path));
	out = g_strdup_printf("exec:cat > %s", path);
	in = g_strdup_printf("exec:cat %s", path);
	vm_start(a->vm);
	fake_vm_migrate(a, "exec:cat > /dev/null; exit 3");
	pump_until(a, "failed");
	error = query_error(a);
	g_assert_nonnull(strstr(error, "exit status 3"));
	g_assert_true(vm_running(a->vm));

	fake_vm_set_device(a);
	fake_vm_fill(a, 100, 5);
	fake_vm_migrate(a, out);
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/transport/tcp", test_tcp);
	g_test_add_func("/transport/fd", test_fd);
	g_test_add_func("/transport/pipe", test_pipe);
	g_test_add_func("/transport/fd-of-file", test_fd_of_file);
	g_test_add_func("/transport/file", test_file);
	g_test_add_func("/transport/exec", test_exec);
	return g_test_run();
}

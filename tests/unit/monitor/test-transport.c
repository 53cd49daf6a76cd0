/*
 * tests/unit/monitor/test-transport.c - monitors on real character devices.
 */
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "chardev/char.h"
#include "monitor/monitor.h"
#include "tests/unit/qapi/sample-handlers.h"
#include "util/fdset.h"
#include "util/keyval.h"

struct fixture {
	struct monitor_server *server;
	struct chardev *c;
	struct monitor *mon;
	char *path;
	int peer;
};

static struct chardev *make_chardev(const char *id, const char *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonObject) opts = keyval_parse(options, "backend", &error);
	struct chardev *c;

	g_assert_no_error(error);
	c = chardev_create(id, opts, &error);
	g_assert_no_error(error);
	return c;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

static void set_up(struct fixture *f, gconstpointer mode)
{
	g_autofree char *folder = g_dir_make_tmp("monitor-XXXXXX", NULL);
	g_autofree char *options = NULL;

	f->path = g_build_filename(folder, "s", NULL);
	options = g_strdup_printf("socket,path=%s,server=on,wait=off", f->path);
	f->server = monitor_server_create(NULL, &sample_interface);
	f->c = make_chardev("mon0", options);
	f->mon = monitor_attach(f->server, f->c, GPOINTER_TO_INT(mode), NULL);
	g_assert_nonnull(f->mon);
	f->peer = connect_to(f->path);
}

static void tear_down(struct fixture *f, gconstpointer mode)
{
	g_autofree char *folder = g_path_get_dirname(f->path);

	if (f->peer >= 0)
		close(f->peer);
	monitor_server_destroy(f->server);
	chardev_remove(f->c);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_unlink(f->path);
	g_rmdir(folder);
	g_free(f->path);
}

/* Dispatches the main loop until the peer has read a text that ends with @end. */
static char *read_until(struct fixture *f, const char *end)
{
	GString *text = g_string_new(NULL);

	for (s64 limit = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;
	     !g_str_has_suffix(text->str, end);) {
		char part[4096];
		ssize_t n;

		g_main_context_iteration(NULL, FALSE);
		n = read(f->peer, part, sizeof(part));
		if (n > 0)
			g_string_append_len(text, part, n);
		if (g_get_monotonic_time() > limit)
			g_error("no \"%s\" in \"%s\"", end, text->str);
	}
	return g_string_free(text, FALSE);
}

static void send_text(struct fixture *f, const char *text, int fd)
{
	struct iovec iov = { .iov_base = (char *)text, .iov_len = strlen(text) };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(int));
	}
	g_assert_cmpint(sendmsg(f->peer, &message, 0), ==, iov.iov_len);
}

static void test_qmp(struct fixture *f, gconstpointer mode)
{
	g_autofree char *greeting = read_until(f, "\r\n");
	g_autofree char *reply = NULL;

	g_assert_true(g_str_has_prefix(greeting, "{\"QMP\": "));
	send_text(f, "{\"execute\": \"qmp_capabilities\"}\n", -1);
	reply = read_until(f, "\r\n");
	g_assert_cmpstr(reply, ==, "{\"return\": {}}\r\n");
}

static void test_reconnect(struct fixture *f, gconstpointer mode)
{
	g_autofree char *text = read_until(f, "\r\n");

	send_text(f, "{\"execute\": \"qmp_capabilities\"}{\"exec", -1);
	g_free(g_steal_pointer(&text));
	text = read_until(f, "\r\n");
	close(f->peer);
	f->peer = connect_to(f->path);
	g_free(g_steal_pointer(&text));
	text = read_until(f, "\r\n");
	g_assert_true(g_str_has_prefix(text, "{\"QMP\": "));
	send_text(f, "{\"execute\": \"count\"}", -1);
	g_free(g_steal_pointer(&text));
	text = read_until(f, "\r\n");
	g_assert_nonnull(strstr(text, "Expecting capabilities negotiation"));
}

static void test_pass_fd(struct fixture *f, gconstpointer mode)
{
	int ends[2], got;
	char byte = 0;

	g_assert_cmpint(pipe(ends), ==, 0);
	g_free(read_until(f, "\r\n"));
	send_text(f, "{\"execute\": \"qmp_capabilities\"}", -1);
	g_free(read_until(f, "{\"return\": {}}\r\n"));
	send_text(f, "{\"execute\": \"getfd\", \"arguments\": {\"fdname\": \"t\"}}", ends[0]);
	g_free(read_until(f, "{\"return\": {}}\r\n"));

	got = fd_take("t", NULL);
	g_assert_cmpint(got, >=, 0);
	g_assert_cmpint(write(ends[1], "z", 1), ==, 1);
	g_assert_cmpint(read(got, &byte, 1), ==, 1);
	g_assert_cmpint(byte, ==, 'z');
	close(got);
	close(ends[0]);
	close(ends[1]);
}

/* Many requests at once, larger in sum than any buffer between: all are answered, in order. */
static void test_pipelined(struct fixture *f, gconstpointer mode)
{
	g_autoptr(GString) all = g_string_new(NULL);
	g_autofree char *text = NULL;

	sample_state.count = 0;
	g_free(read_until(f, "\r\n"));
	g_string_append(all, "{\"execute\": \"qmp_capabilities\"}");
	for (int i = 0; i < 1000; i++)
		g_string_append(all, "{\"execute\": \"count\"}\n");
	send_text(f, all->str, -1);
	text = read_until(f, "{\"return\": 1000}\r\n");
	g_assert_nonnull(strstr(text, "{\"return\": 499}\r\n{\"return\": 500}\r\n"));
}

static void test_hmp(struct fixture *f, gconstpointer mode)
{
	g_autofree char *text = read_until(f, "(qemu) ");

	g_assert_true(g_str_has_prefix(text, "QEMU "));
	send_text(f, "info version\n", -1);
	g_free(g_steal_pointer(&text));
	text = read_until(f, "(qemu) ");
	g_assert_nonnull(strstr(text, "11.1.3 ("));
}

static size_t take_all(void *opaque)
{
	return 100;
}

static void ignore(void *opaque, const u8 *buf, size_t len)
{
}

/* On a mux the banner waits until the monitor gets the terminal. */
static void test_mux(void)
{
	const struct chardev_frontend serial = { .can_receive = take_all, .receive = ignore };
	g_autofree char *folder = g_dir_make_tmp("monitor-XXXXXX", NULL);
	struct fixture f = { .path = g_build_filename(folder, "s", NULL) };
	g_autofree char *options =
		g_strdup_printf("socket,path=%s,server=on,wait=off,mux=on", f.path);
	struct chardev_fe *fe;
	char byte;

	f.server = monitor_server_create(NULL, &sample_interface);
	f.c = make_chardev("mux0", options);
	fe = chardev_attach(f.c, &serial, NULL);
	f.mon = monitor_attach(f.server, f.c, MONITOR_HMP, NULL);
	f.peer = connect_to(f.path);
	for (int i = 0; i < 20; i++) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
	g_assert_cmpint(read(f.peer, &byte, 1), ==, -1);
	send_text(&f, "\001c", -1);
	g_free(read_until(&f, "(qemu) "));

	close(f.peer);
	monitor_server_destroy(f.server);
	chardev_detach(fe);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_unlink(f.path);
	g_rmdir(folder);
	g_free(f.path);
}

static void test_busy(struct fixture *f, gconstpointer mode)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(monitor_attach(f->server, f->c, MONITOR_QMP, &error));
	g_assert_nonnull(error);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(path, mode, fn)                                                                        \
	g_test_add(path, struct fixture, GINT_TO_POINTER(mode), set_up, fn, tear_down)
	ADD("/transport/qmp", MONITOR_QMP, test_qmp);
	ADD("/transport/reconnect", MONITOR_QMP, test_reconnect);
	ADD("/transport/pass-fd", MONITOR_QMP, test_pass_fd);
	ADD("/transport/pipelined", MONITOR_QMP, test_pipelined);
	ADD("/transport/hmp", MONITOR_HMP, test_hmp);
	ADD("/transport/busy", MONITOR_QMP, test_busy);
	g_test_add_func("/transport/mux", test_mux);
	return g_test_run();
}

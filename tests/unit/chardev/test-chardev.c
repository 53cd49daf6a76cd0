/* Character devices without a peer process: options, files, logs, mux, ringbuf, pty. */
#include "tests/unit/chardev/helper.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "util/fdset.h"

static char *dir;
static int quit_code = -1;
static bool committed;

static char *in_dir(const char *name)
{
	return g_build_filename(dir, name, NULL);
}

static char *contents(const char *path)
{
	char *text;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

static void test_refusals(void)
{
	expect_refused("nosuch", "'nosuch' is not supported");
	expect_refused("null,frob=1", "frob=1");
	expect_refused("file", "path=");
	expect_refused("file,path=/nonexistent/x", "/nonexistent/x");
	expect_refused("file,path=/nonexistent/x", "No such file");
	expect_refused("serial,path=/dev/null", "is no terminal");
	expect_refused("ringbuf,size=1000", "power of two");
	expect_refused("null,logfile=/nonexistent/x", "log file '/nonexistent/x'");
	expect_refused("stdio,signal=perhaps", "signal=perhaps");
	expect_refused("socket,path=/x,websocket=on", "websocket=on");
	expect_refused("socket,path=/x,tls-creds=t0", "tls-creds=t0");
	expect_refused("socket,path=/x,port=1", "only one of");
	expect_refused("socket,host=a", "port=");
	expect_refused("socket,path=/x,wait=on", "server=on");
	expect_refused("socket,path=/x,server=on,reconnect-ms=5", "reconnect-ms=");
	expect_refused("socket,path=/x,reconnect=1,reconnect-ms=5", "exclude");
	expect_refused("socket,path=/x,ipv9=1,server=on,wait=off", "ipv9=1");
	expect_refused("mux,chardev=nobody", "nobody");
	expect_refused("fd,fd=999", "fd=999");
	expect_refused("udp", "port=");
}

static void test_ids(void)
{
	g_autoptr(GError) err = NULL;
	struct chardev *c = make_ok("a.b-c_1", "null");

	g_assert_true(chardev_find("a.b-c_1") == c);
	g_assert_null(make("a.b-c_1", "null", &err));
	g_assert_nonnull(strstr(err->message, "exists already"));
	g_clear_error(&err);
	g_assert_null(make("1x", "null", &err));
	g_assert_nonnull(strstr(err->message, "1x"));
	chardev_remove(c);
	g_assert_null(chardev_find("a.b-c_1"));
}

static void test_busy(void)
{
	struct chardev *c = make_ok("n", "null");
	struct recorder *r = recorder_new(c, 1);
	const struct chardev_frontend fe = { .can_receive = recorder_room };
	g_autoptr(GError) err = NULL;

	g_assert_null(chardev_attach(c, &fe, &err));
	g_assert_nonnull(strstr(err->message, "mux=on"));
	/* The event comes after the attachment returned. */
	g_assert_cmpstr(r->events->str, ==, "");
	pump();
	g_assert_cmpstr(r->events->str, ==, "O");
	g_assert_cmpuint(chardev_write(r->fe, "x", 1), ==, 1);
	recorder_free(r);
	chardev_remove(c);
}

static void test_file(void)
{
	g_autofree char *path = in_dir("out"), *in = in_dir("in"), *log = in_dir("log");
	g_autofree char *opts =
		g_strdup_printf("file,path=%s,input-path=%s,logfile=%s", path, in, log);
	g_autofree char *again =
		g_strdup_printf("file,path=%s,append=on,logfile=%s,logappend=on", path, log);
	struct chardev *c;
	struct recorder *r;

	g_assert_true(g_file_set_contents(in, "from the host", -1, NULL));
	c = make_ok("f", opts);
	r = recorder_new(c, 5);
	chardev_write(r->fe, "hello ", 6);
	pump_until(r->got->len == 13);
	g_assert_cmpstr(r->got->str, ==, "from the host");
	recorder_free(r);
	chardev_remove(c);

	c = make_ok("f", again);
	r = recorder_new(c, 0);
	chardev_write(r->fe, "again", 5);
	recorder_free(r);
	chardev_remove(c);
	g_autofree char *text = contents(path), *logged = contents(log);

	g_assert_cmpstr(text, ==, "hello again");
	g_assert_cmpstr(logged, ==, "hello again");
}

/* What libvirt does: a pipe in a set, opened as a file for appending. */
static void test_file_fdset(void)
{
	g_autoptr(GError) err = NULL;
	struct chardev *c;
	struct recorder *r;
	char buf[8] = "";
	int p[2];

	g_assert_cmpint(pipe(p), ==, 0);
	g_assert_cmpint(fdset_add(7, p[1], "serial0-source", &err), ==, 7);
	c = make_ok("f", "file,path=/dev/fdset/7,append=on");
	r = recorder_new(c, 0);
	chardev_write(r->fe, "abc", 3);
	g_assert_cmpint(read(p[0], buf, sizeof(buf)), ==, 3);
	g_assert_cmpstr(buf, ==, "abc");
	recorder_free(r);
	chardev_remove(c);
	g_assert_cmpint(fdset_remove(7, -1, &err), ==, 0);
	g_assert_cmpint(read(p[0], buf, sizeof(buf)), ==, 0);
	close(p[0]);
	expect_refused("file,path=/dev/fdset/7", "/dev/fdset/7");
}

/* A reader that does not read: nothing blocks, the rest is queued and goes out later. */
static void test_pipe_backpressure(void)
{
	g_autofree char *path = in_dir("fifo"), *opts = g_strdup_printf("pipe,path=%s", path);
	g_autofree char *in = g_strdup_printf("%s.in", path);
	g_autofree char *out = g_strdup_printf("%s.out", path);
	const size_t total = 300000;
	g_autofree char *big = g_malloc(total), *back = g_malloc(total);
	struct chardev *c;
	struct recorder *r;
	size_t done = 0;
	int fd;

	g_assert_cmpint(mkfifo(in, 0600), ==, 0);
	g_assert_cmpint(mkfifo(out, 0600), ==, 0);
	for (size_t i = 0; i < total; i++)
		big[i] = i * 31 >> 3;
	c = make_ok("p", opts);
	r = recorder_new(c, 3);
	g_assert_cmpuint(chardev_write(r->fe, big, total), ==, total);
	g_assert_cmpuint(chardev_queued(r->fe), >, 0);
	fd = open(out, O_RDONLY | O_NONBLOCK);
	while (done < total) {
		ssize_t n = read(fd, back + done, total - done);

		if (n > 0)
			done += n;
		main_loop_iterate(false);
	}
	g_assert_cmpmem(big, total, back, total);
	g_assert_cmpuint(chardev_queued(r->fe), ==, 0);
	close(fd);
	fd = open(in, O_WRONLY | O_NONBLOCK);
	g_assert_cmpint(write(fd, "0123456789", 10), ==, 10);
	close(fd);
	pump_until(r->got->len == 10);
	recorder_free(r);
	chardev_remove(c);
}

/* "| head" took what it wanted: the emulator goes on. */
static void test_reader_gone(void)
{
	g_autofree char *opts = NULL;
	struct chardev *c;
	struct recorder *r;
	int p[2];

	g_assert_cmpint(pipe(p), ==, 0);
	opts = g_strdup_printf("fd,fd=%d", p[1]);
	c = make_ok("p", opts);
	r = recorder_new(c, 0);
	close(p[0]);
	chardev_write(r->fe, "a", 1);
	pump();
	chardev_write(r->fe, "b", 1);
	pump();
	recorder_free(r);
	chardev_remove(c);
}

static void test_ringbuf(void)
{
	g_autoptr(GError) err = NULL;
	struct chardev *c = make_ok("r", "ringbuf,size=8"), *null = make_ok("n", "null");
	struct recorder *r = recorder_new(c, 0);
	GByteArray *b;

	chardev_write(r->fe, "0123456789", 10);
	b = chardev_ringbuf_read(c, 3, &err);
	g_assert_cmpmem(b->data, b->len, "234", 3);
	g_byte_array_unref(b);
	g_assert_cmpint(chardev_ringbuf_write(c, "ab", 2, &err), ==, 0);
	b = chardev_ringbuf_read(c, 100, &err);
	g_assert_cmpmem(b->data, b->len, "56789ab", 7);
	g_byte_array_unref(b);
	g_assert_null(chardev_ringbuf_read(null, 1, &err));
	g_assert_nonnull(strstr(err->message, "not a ringbuf"));
	recorder_free(r);
	chardev_remove(c);
	chardev_remove(null);
}

/* ---- Mux ---- */

static void feed(int fd, const char *text)
{
	g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
	pump();
}

struct mux_case {
	struct chardev *c;
	struct recorder *serial, *monitor;
	int fd; /* the host's side */
};

static void mux_setup(struct mux_case *m)
{
	g_autofree char *opts = NULL;
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	opts = g_strdup_printf("socket,fd=%d,mux=on", fds[1]);
	m->fd = fds[0];
	m->c = make_ok("m", opts);
	m->serial = recorder_new(m->c, 100);
	m->monitor = g_new0(struct recorder, 1);
	m->monitor->got = g_string_new(NULL);
	m->monitor->events = g_string_new(NULL);
	m->monitor->room = 100;
	const struct chardev_frontend fe = {
		.can_receive = recorder_room,
		.receive = recorder_receive,
		.event = recorder_event,
		.opaque = m->monitor,
		.background = true,
	};

	m->monitor->fe = chardev_attach(m->c, &fe, NULL);
	pump();
}

static void mux_teardown(struct mux_case *m)
{
	recorder_free(m->serial);
	recorder_free(m->monitor);
	chardev_remove(m->c);
	g_assert_null(chardev_find("m-base"));
	close(m->fd);
	pump();
}

static char *take_output(int fd)
{
	char buf[4096];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	return g_strndup(buf, MAX(n, 0));
}

static void test_mux_focus(void)
{
	struct mux_case m;

	mux_setup(&m);
	g_assert_true(chardev_find("m-base") != NULL);
	g_assert_cmpstr(m.serial->events->str, ==, "OI");
	g_assert_cmpstr(m.monitor->events->str, ==, "OU");
	feed(m.fd, "to serial");
	g_assert_cmpstr(m.serial->got->str, ==, "to serial");
	feed(m.fd, "\001c");
	feed(m.fd, "to monitor");
	g_assert_cmpstr(m.monitor->got->str, ==, "to monitor");
	g_assert_cmpstr(m.serial->got->str, ==, "to serial");
	g_assert_cmpstr(m.serial->events->str, ==, "OIU");
	g_assert_cmpstr(m.monitor->events->str, ==, "OUI");
	/* Twice the escape is one of it; an unknown letter is swallowed. */
	feed(m.fd, "\001\001\001z.");
	g_assert_cmpstr(m.monitor->got->str, ==, "to monitor\001.");
	feed(m.fd, "\001");
	feed(m.fd, "b");
	g_assert_cmpstr(m.monitor->events->str, ==, "OUIB");
	mux_teardown(&m);
}

static void test_mux_commands(void)
{
	struct mux_case m;
	g_autofree char *help = NULL, *stamped = NULL, *bye = NULL;

	mux_setup(&m);
	feed(m.fd, "\001h");
	help = take_output(m.fd);
	g_assert_nonnull(strstr(help, "C-a x"));
	feed(m.fd, "\001t");
	chardev_write(m.serial->fe, "one\ntwo", 7);
	chardev_write(m.monitor->fe, "more\n", 5);
	stamped = take_output(m.fd);
	g_assert_true(g_regex_match_simple("^\\[00:00:00\\.000\\] one\n\\[[0-9:.]+\\] twomore\n$",
					   stamped, 0, 0));
	feed(m.fd, "\001t\001s");
	g_assert_true(committed);
	feed(m.fd, "\001x");
	g_assert_cmpint(quit_code, ==, 0);
	bye = take_output(m.fd);
	g_assert_nonnull(strstr(bye, "terminated"));
	mux_teardown(&m);
}

/* The escapes work although the guest takes nothing; what was typed reaches it later. */
static void test_mux_hung_guest(void)
{
	struct mux_case m;

	mux_setup(&m);
	m.serial->room = 0;
	feed(m.fd, "typed ahead");
	g_assert_cmpstr(m.serial->got->str, ==, "");
	quit_code = -1;
	feed(m.fd, "\001x");
	g_assert_cmpint(quit_code, ==, 0);
	m.serial->room = 4;
	chardev_accept_input(m.serial->fe);
	/* Not from within the call, which a device makes while it is read. */
	g_assert_cmpstr(m.serial->got->str, ==, "");
	pump();
	g_assert_cmpstr(m.serial->got->str, ==, "typed ahead");
	mux_teardown(&m);
}

static void test_testdev(void)
{
	struct chardev *c = make_ok("t", "testdev");
	struct recorder *r = recorder_new(c, 0);

	quit_code = -1;
	chardev_write(r->fe, "12", 2);
	g_assert_cmpint(quit_code, ==, -1);
	chardev_write(r->fe, "3q", 2);
	g_assert_cmpint(quit_code, ==, 123 << 1 | 1);
	recorder_free(r);
	chardev_remove(c);
}

/* ---- Terminals ---- */

static void test_pty(void)
{
	g_autofree char *link = in_dir("tty"), *opts = g_strdup_printf("pty,path=%s", link);
	struct chardev *c = make_ok("p", opts);
	struct recorder *r = recorder_new(c, 2);
	const char *name = chardev_filename(c);
	char buf[8] = "";
	int fd;

	g_assert_true(g_str_has_prefix(name, "pty:/dev/pts/"));
	pump();
	g_assert_cmpuint(chardev_write(r->fe, "lost", 4), ==, 0);
	for (int i = 0; i < 2; i++) {
		fd = open(link, O_RDWR | O_NOCTTY);
		g_assert_cmpint(fd, >=, 0);
		pump_until(chardev_connected(r->fe));
		g_assert_cmpint(write(fd, "abcde", 5), ==, 5);
		pump_until(r->got->len == 5);
		g_assert_cmpuint(chardev_write(r->fe, "xyz", 3), ==, 3);
		g_assert_cmpint(read(fd, buf, sizeof(buf)), ==, 3);
		g_assert_cmpstr(buf, ==, "xyz");
		close(fd);
		pump_until(!chardev_connected(r->fe));
		g_string_truncate(r->got, 0);
	}
	g_assert_cmpstr(r->events->str, ==, "OCOC");
	recorder_free(r);
	chardev_remove(c);
	g_assert_false(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}

static void expect_shorthand(const char *text, const char *filename, bool mon)
{
	g_autoptr(GError) err = NULL;
	bool is_mon = !mon;
	struct chardev *c = chardev_create_shorthand("s", text, &is_mon, &err);

	g_assert_no_error(err);
	g_assert_cmpstr(chardev_filename(c), ==, filename);
	g_assert_true(is_mon == mon);
	chardev_remove(c);
}

static void test_shorthand(void)
{
	g_autofree char *path = in_dir("s,h"), *file = g_strdup_printf("file:%s", path);
	g_autofree char *sock = in_dir("sock"),
			*unix_ = g_strdup_printf("unix:%s,server,nowait", sock);
	g_autofree char *want = g_strdup_printf("disconnected:unix:%s,server=on", sock);
	g_autoptr(GError) err = NULL;
	struct chardev *c;

	expect_shorthand("null", "null", false);
	expect_shorthand("mon:null", "mux", true);
	expect_shorthand("ringbuf", "ringbuf", false);
	expect_shorthand(file, "file", false);
	g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
	expect_shorthand(unix_, want, false);
	g_assert_false(g_file_test(sock, G_FILE_TEST_EXISTS));
	g_assert_null(chardev_create_shorthand("s", "none", NULL, &err));
	g_assert_no_error(err);
	c = make_ok("other", "null");
	g_assert_true(chardev_create_shorthand("s", "chardev:other", NULL, &err) == c);
	chardev_remove(c);
	g_assert_null(chardev_create_shorthand("s", "chardev:other", NULL, &err));
	g_assert_nonnull(strstr(err->message, "'other'"));
	g_clear_error(&err);
	g_assert_null(chardev_create_shorthand("s", "frob", NULL, &err));
	g_assert_nonnull(strstr(err->message, "frob"));
	g_clear_error(&err);
	g_assert_null(chardev_create_shorthand("s", "tcp:nohost", NULL, &err));
	g_assert_nonnull(strstr(err->message, "HOST:PORT"));
}

static void test_qmp(void)
{
	g_autofree char *path = in_dir("q");
	g_autofree char *json = g_strdup_printf(
		"{\"type\":\"file\",\"data\":{\"out\":\"%s\",\"append\":true}}", path);
	g_autoptr(GError) err = NULL;
	g_autoptr(JsonObject) o = keyval_parse(json, NULL, &err);
	struct chardev *c = chardev_create_qmp("q", o, &err);

	g_assert_no_error(err);
	chardev_remove(c);
	json_object_unref(o);
	o = keyval_parse("{\"type\":\"socket\",\"data\":{\"addr\":{\"type\":\"inet\",\"data\":"
			 "{\"host\":\"127.0.0.1\",\"port\":\"0\"}}}}",
			 NULL, &err);
	c = chardev_create_qmp("q", o, &err);
	g_assert_no_error(err);
	g_assert_true(g_str_has_prefix(chardev_filename(c), "disconnected:tcp:127.0.0.1:"));
	chardev_remove(c);
	json_object_unref(o);
	o = keyval_parse("{\"type\":\"socket\",\"data\":{\"addr\":{\"type\":\"vsock\",\"data\":"
			 "{\"cid\":\"1\",\"port\":\"0\"}}}}",
			 NULL, &err);
	g_assert_null(chardev_create_qmp("q", o, &err));
	g_assert_nonnull(strstr(err->message, "vsock"));
}

static void on_quit(void *opaque, int code)
{
	quit_code = code;
}

static void on_commit(void *opaque)
{
	committed = true;
}

int main(int argc, char **argv)
{
	const struct chardev_hooks hooks = { .quit = on_quit, .commit = on_commit };
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("chardev-XXXXXX", NULL);
	main_loop_init();
	chardev_set_hooks(&hooks);
	g_test_add_func("/chardev/refusals", test_refusals);
	g_test_add_func("/chardev/ids", test_ids);
	g_test_add_func("/chardev/busy", test_busy);
	g_test_add_func("/chardev/file", test_file);
	g_test_add_func("/chardev/file-fdset", test_file_fdset);
	g_test_add_func("/chardev/pipe-backpressure", test_pipe_backpressure);
	g_test_add_func("/chardev/reader-gone", test_reader_gone);
	g_test_add_func("/chardev/ringbuf", test_ringbuf);
	g_test_add_func("/chardev/mux-focus", test_mux_focus);
	g_test_add_func("/chardev/mux-commands", test_mux_commands);
	g_test_add_func("/chardev/mux-hung-guest", test_mux_hung_guest);
	g_test_add_func("/chardev/testdev", test_testdev);
	g_test_add_func("/chardev/pty", test_pty);
	g_test_add_func("/chardev/shorthand", test_shorthand);
	g_test_add_func("/chardev/qmp", test_qmp);
	ret = g_test_run();
	chardev_cleanup();
	g_autofree char *rm = g_strdup_printf("rm -r '%s'", dir);

	return g_spawn_command_line_sync(rm, NULL, NULL, NULL, NULL) ? ret : 1;
}

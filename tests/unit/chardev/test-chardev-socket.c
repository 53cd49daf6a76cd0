/* Socket chardevs: both roles, reconnecting, descriptors, partial writes, telnet. */
#include "tests/unit/chardev/helper.h"

#include "util/socket.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char *dir, *path;

/* Talks to the chardev as another program would; never blocks for long. */
static int client(void)
{
	struct socket_address a = { .type = SOCKET_UNIX, .path = path };
	g_autoptr(GError) err = NULL;
	int fd = socket_connect(&a, &err);

	g_assert_no_error(err);
	return fd;
}

static struct chardev *server(const char *more)
{
	g_autofree char *opts = g_strdup_printf("socket,path=%s,server=on,wait=off%s", path, more);

	return make_ok("s", opts);
}

static char *read_all(int fd)
{
	char buf[256];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	return g_strndup(buf, MAX(n, 0));
}

static void test_server(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 3);
	g_autofree char *text = NULL;
	int fd;

	pump();
	g_assert_cmpuint(chardev_write(r->fe, "lost", 4), ==, 0);
	g_assert_cmpstr(r->events->str, ==, "");
	for (int i = 0; i < 2; i++) {
		fd = client();
		g_assert_cmpint(write(fd, "hello", 5), ==, 5);
		pump_until(r->got->len == 5);
		g_assert_true(g_str_has_prefix(chardev_filename(c), "unix:/"));
		g_string_truncate(r->got, 0);
		chardev_write(r->fe, "reply", 5);
		text = read_all(fd);
		g_assert_cmpstr(text, ==, "reply");
		g_clear_pointer(&text, g_free);
		close(fd);
		pump_until(!chardev_connected(r->fe));
		g_assert_true(g_str_has_prefix(chardev_filename(c), "disconnected:unix:/"));
	}
	g_assert_cmpstr(r->events->str, ==, "OCOC");
	recorder_free(r);
	chardev_remove(c);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* A guest that does not read must not keep the next client out for ever. */
static void test_peer_gone_while_paused(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 0);
	int fd = client(), fd2;

	pump_until(chardev_connected(r->fe));
	close(fd);
	pump_until(!chardev_connected(r->fe)); /* nothing unread: seen at once */
	fd = client();
	pump_until(chardev_connected(r->fe));
	g_assert_cmpint(write(fd, "old", 3), ==, 3);
	close(fd);
	pump();
	g_assert_true(chardev_connected(r->fe)); /* kept, the guest may read it yet */
	fd2 = client();
	g_assert_cmpint(write(fd2, "new", 3), ==, 3);
	pump_until(r->events->len == 5);
	g_assert_cmpstr(r->events->str, ==, "OCOCO");
	r->room = 10;
	chardev_accept_input(r->fe);
	pump_until(r->got->len == 3);
	g_assert_cmpstr(r->got->str, ==, "new");
	close(fd2);
	recorder_free(r);
	chardev_remove(c);
}

/* Bytes sent before the peer closed arrive when the guest reads. */
static void test_late_reader(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 0);
	int fd = client();

	g_assert_cmpint(write(fd, "late", 4), ==, 4);
	close(fd);
	pump_until(chardev_connected(r->fe));
	pump();
	r->room = 10;
	chardev_accept_input(r->fe);
	pump_until(!chardev_connected(r->fe));
	g_assert_cmpstr(r->got->str, ==, "late");
	recorder_free(r);
	chardev_remove(c);
}

static void send_with_fds(int sock, const char *text, int *fds, int n)
{
	struct iovec iov = { (void *)text, strlen(text) };
	char control[CMSG_SPACE(sizeof(int) * 4)] = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * n),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(h), fds, sizeof(int) * n);
	g_assert_cmpint(sendmsg(sock, &msg, 0), ==, strlen(text));
}

static void test_fds(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 100);
	int fd = client(), p[2], got[4] = { -1, -1, -1, -1 };
	char byte = 0;

	g_assert_cmpint(pipe(p), ==, 0);
	send_with_fds(fd, "take this", (int[]){ p[1], p[1] }, 2);
	close(p[1]);
	pump_until(r->got->len == 9);
	g_assert_cmpint(chardev_take_fds(r->fe, got, 1), ==, 1); /* the second is closed */
	g_assert_cmpint(chardev_take_fds(r->fe, got + 1, 1), ==, 0);
	g_assert_cmpint(fcntl(got[0], F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	g_assert_cmpint(write(got[0], "x", 1), ==, 1);
	g_assert_cmpint(read(p[0], &byte, 1), ==, 1);
	g_assert_cmpint(byte, ==, 'x');
	close(got[0]);
	g_assert_cmpint(read(p[0], &byte, 1), ==, 0); /* no copy is left open */
	close(p[0]);
	close(fd);
	recorder_free(r);
	chardev_remove(c);
}

static gpointer writer(gpointer opaque)
{
	struct recorder *r = opaque;

	for (int i = 0; i < 1000; i++)
		chardev_write(r->fe, "0123456789abcdef", 16);
	return NULL;
}

/* Two threads write more than the socket takes; nothing is lost or torn. */
static void test_partial_writes(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 0);
	int fd = client(), small = 4096;
	size_t done = 0;
	char buf[16];

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	pump_until(chardev_connected(r->fe));
	GThread *a = g_thread_new("a", writer, r), *b = g_thread_new("b", writer, r);

	while (done < 2 * 16000) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_PEEK);

		if (n == sizeof(buf)) {
			g_assert_cmpint(read(fd, buf, sizeof(buf)), ==, 16);
			g_assert_cmpmem(buf, 16, "0123456789abcdef", 16);
			done += n;
		}
		main_loop_iterate(false);
	}
	g_thread_join(a);
	g_thread_join(b);
	g_assert_cmpuint(chardev_queued(r->fe), ==, 0);
	close(fd);
	recorder_free(r);
	chardev_remove(c);
}

/* A write to a peer that is gone closes the connection although nothing is read. */
static void test_broken_pipe(void)
{
	struct chardev *c = server("");
	struct recorder *r = recorder_new(c, 0);
	int fd = client();

	g_assert_cmpint(write(fd, "unread", 6), ==, 6);
	pump_until(chardev_connected(r->fe));
	close(fd);
	chardev_write(r->fe, "a", 1);
	chardev_write(r->fe, "b", 1);
	pump_until(!chardev_connected(r->fe));
	recorder_free(r);
	chardev_remove(c);
}

static void test_reconnect(void)
{
	g_autofree char *opts = g_strdup_printf("socket,path=%s,reconnect-ms=20", path);
	struct chardev *c = make_ok("c", opts), *s;
	struct recorder *r = recorder_new(c, 100), *peer;

	for (int i = 0; i < 2; i++) {
		s = server("");
		peer = recorder_new(s, 100);
		pump_until(chardev_connected(r->fe) && chardev_connected(peer->fe));
		chardev_write(peer->fe, "ping", 4);
		pump_until(r->got->len == 4 * (i + 1));
		recorder_free(peer);
		chardev_remove(s);
		pump_until(!chardev_connected(r->fe));
	}
	g_assert_cmpstr(r->events->str, ==, "OCOC");
	recorder_free(r);
	chardev_remove(c);
}

static void test_tcp(void)
{
	struct chardev *s = make_ok("s", "socket,host=127.0.0.1,port=0,server,nowait,nodelay");
	const char *port = strrchr(chardev_filename(s), ':') + 1;
	g_autofree char *number = g_strndup(port, strspn(port, "0123456789"));
	g_autofree char *opts = g_strdup_printf("socket,host=127.0.0.1,port=%s", number);
	g_autofree char *clash = g_strdup_printf("%s,server=on,wait=off", opts);
	g_autofree char *to = g_strdup_printf("%s,to=%d", clash, atoi(number) + 20);
	struct chardev *c = make_ok("c", opts), *t;
	struct recorder *a = recorder_new(s, 10), *b = recorder_new(c, 10);

	chardev_write(b->fe, "up", 2);
	pump_until(a->got->len == 2);
	chardev_write(a->fe, "down", 4);
	pump_until(b->got->len == 4);
	g_assert_nonnull(strstr(chardev_filename(s), ",server=on <-> 127.0.0.1:"));
	/* Errors name address and reason; to= goes on to the next port. */
	expect_refused(clash, number);
	expect_refused(clash, "Address already in use");
	t = make_ok("t", to);
	chardev_remove(t);
	recorder_free(a);
	recorder_free(b);
	chardev_remove(c);
	chardev_remove(s);
	expect_refused(opts, "Connection refused");
	expect_refused("socket,path=/nonexistent/s", "unix:/nonexistent/s");
	expect_refused("socket,path=/nonexistent/s,server=on,wait=off", "No such file");
	expect_refused("socket,host=127.0.0.1,port=1,ipv4=off,server=on,wait=off", "resolve");
}

/* As libvirt does it: a listening socket is inherited. */
static void test_listening_fd(void)
{
	struct socket_address a = { .type = SOCKET_UNIX, .path = path };
	g_autofree char *opts = NULL, *wrong = NULL;
	struct chardev *c;
	struct recorder *r;
	int fd = socket_listen(&a, NULL), peer = client();

	wrong = g_strdup_printf("socket,fd=%d", fd);
	expect_refused(wrong, "server=on");
	opts = g_strdup_printf("socket,fd=%d,server=on,wait=off", fd);
	c = make_ok("c", opts);
	r = recorder_new(c, 10);
	g_assert_cmpint(write(peer, "hi", 2), ==, 2);
	pump_until(r->got->len == 2);
	close(peer);
	recorder_free(r);
	chardev_remove(c);
	/* Whoever made the socket file removes it. */
	g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
	g_unlink(path);
}

static void test_abstract(void)
{
	g_autofree char *name = g_strdup_printf("tidemark-test-%d", (int)getpid());
	g_autofree char *s_opts =
		g_strdup_printf("socket,path=%s,abstract=on,server=on,wait=off", name);
	g_autofree char *c_opts = g_strdup_printf("socket,path=%s,abstract=on", name);
	struct chardev *s = make_ok("s", s_opts), *c = make_ok("c", c_opts);
	struct recorder *r = recorder_new(s, 10);

	pump_until(chardev_connected(r->fe));
	recorder_free(r);
	chardev_remove(c);
	chardev_remove(s);
}

static gpointer connect_soon(gpointer unused)
{
	g_usleep(20000);
	return GINT_TO_POINTER(client());
}

/* wait=on: the chardev is connected when its creation returns. */
static void test_wait(void)
{
	g_autofree char *opts = g_strdup_printf("socket,path=%s,server=on", path);
	GThread *t;
	struct chardev *c;
	struct recorder *r;

	t = g_thread_new("client", connect_soon, NULL);
	c = make_ok("c", opts);
	r = recorder_new(c, 1);
	g_assert_true(chardev_connected(r->fe));
	close(GPOINTER_TO_INT(g_thread_join(t)));
	recorder_free(r);
	chardev_remove(c);
}

static void test_telnet(void)
{
	static const u8 in[] = { 'a', 255, 251, 31,  'b',  255, 255, 255, 250,
				 24,  1,   255, 240, '\r', 0,   255, 243, 'c' };
	static const u8 want[] = { 'a', 'b', 255, '\r', 'c' };
	struct chardev *c = server(",telnet=on");
	struct recorder *r = recorder_new(c, 100);
	int fd = client();
	u8 buf[32];

	pump_until(chardev_connected(r->fe));
	g_assert_cmpint(recv(fd, buf, sizeof(buf), 0), ==, 12);
	g_assert_cmpmem(buf, 3, "\377\373\001", 3); /* IAC WILL ECHO */
	/* Commands may be cut anywhere. */
	for (unsigned i = 0; i < sizeof(in); i++) {
		g_assert_cmpint(write(fd, &in[i], 1), ==, 1);
		pump();
	}
	pump_until(r->got->len == sizeof(want));
	g_assert_cmpmem(r->got->str, r->got->len, want, sizeof(want));
	g_assert_cmpstr(r->events->str, ==, "OB");
	chardev_write(r->fe, "x\377y", 3);
	g_assert_cmpint(recv(fd, buf, sizeof(buf), 0), ==, 4);
	g_assert_cmpmem(buf, 4, "x\377\377y", 4);
	close(fd);
	recorder_free(r);
	chardev_remove(c);
}

static void test_udp(void)
{
	struct sockaddr_in peer = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in us;
	socklen_t len = sizeof(peer);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	g_autofree char *opts = NULL;
	struct chardev *c;
	struct recorder *r;
	char buf[8] = "";

	g_assert_cmpint(bind(fd, (struct sockaddr *)&peer, len), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&peer, &len), ==, 0);
	opts = g_strdup_printf("udp,host=127.0.0.1,port=%d,localaddr=127.0.0.1,localport=0",
			       ntohs(peer.sin_port));
	c = make_ok("u", opts);
	r = recorder_new(c, 2);
	pump();
	chardev_write(r->fe, "out", 3);
	len = sizeof(us);
	g_assert_cmpint(recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&us, &len), ==, 3);
	/* A datagram longer than the front end's room is not cut. */
	g_assert_cmpint(sendto(fd, "longer", 6, 0, (struct sockaddr *)&us, len), ==, 6);
	pump_until(r->got->len == 6);
	g_assert_cmpstr(r->got->str, ==, "longer");
	close(fd);
	/* Nobody listens any more: the error comes back and is no end. */
	for (int i = 0; i < 3; i++) {
		g_assert_cmpuint(chardev_write(r->fe, "x", 1), ==, 1);
		pump();
	}
	g_assert_true(chardev_connected(r->fe));
	recorder_free(r);
	chardev_remove(c);
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("chardev-XXXXXX", NULL);
	path = g_build_filename(dir, "socket", NULL);
	main_loop_init();
	g_test_add_func("/socket/server", test_server);
	g_test_add_func("/socket/peer-gone-while-paused", test_peer_gone_while_paused);
	g_test_add_func("/socket/late-reader", test_late_reader);
	g_test_add_func("/socket/fds", test_fds);
	g_test_add_func("/socket/partial-writes", test_partial_writes);
	g_test_add_func("/socket/broken-pipe", test_broken_pipe);
	g_test_add_func("/socket/reconnect", test_reconnect);
	g_test_add_func("/socket/tcp", test_tcp);
	g_test_add_func("/socket/listening-fd", test_listening_fd);
	g_test_add_func("/socket/abstract", test_abstract);
	g_test_add_func("/socket/wait", test_wait);
	g_test_add_func("/socket/telnet", test_telnet);
	g_test_add_func("/socket/udp", test_udp);
	ret = g_test_run();
	chardev_cleanup();
	g_rmdir(dir);
	return ret;
}

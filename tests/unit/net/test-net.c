/* Links, queues, sockets and NIC options. */
#include "tests/unit/net/helper.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static char *dir;

static void pump(void)
{
	while (g_main_context_pending(NULL))
		main_loop_iterate(false);
}

/* ---- Links ---- */

/* Two NICs, each on a port of hub 7. */
static void hub_setup(struct nic **a, struct nic **b)
{
	netdev_ok("hubport,id=p0,hubid=7");
	netdev_ok("hubport,id=p1,hubid=7");
	*a = nic_new("p0");
	*b = nic_new("p1");
}

static void hub_teardown(struct nic *a, struct nic *b)
{
	nic_free(a);
	nic_free(b);
	netdev_drop("p0");
	netdev_drop("p1");
}

static void test_hub(void)
{
	struct nic *a, *b, *c;

	hub_setup(&a, &b);
	netdev_ok("hubport,id=other,hubid=8");
	c = nic_new("other");
	g_assert_true(net_send(a->nc, "from a", 6));
	g_assert_true(net_send(b->nc, "b", 1));
	expect_frame(b, 0, "from a", 6);
	expect_frame(a, 0, "b", 1);
	g_assert_cmpuint(a->frames->len, ==, 1);
	g_assert_cmpuint(c->frames->len, ==, 0);
	nic_free(c);
	netdev_drop("other");
	hub_teardown(a, b);
}

/* What a NIC cannot take now waits, in order, and the sender hears when it is gone. */
static void test_back_pressure(void)
{
	int fds[2];
	g_autofree char *opts = NULL;
	struct nic *n;
	char byte;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), ==, 0);
	opts = g_strdup_printf("socket,id=d,fd=%d", fds[1]);
	netdev_ok(opts);
	n = nic_new("d");
	n->full = true;
	for (byte = 'a'; byte < 'f'; byte++)
		g_assert_cmpint(send(fds[0], &byte, 1, 0), ==, 1);
	pump();
	g_assert_cmpuint(n->frames->len, ==, 0);
	/* One frame was taken from the socket; the others wait there. */
	g_assert_cmpuint(n->nc->queue.length, ==, 1);
	n->full = false;
	net_receive_ready(n->nc);
	pump_until(n->frames->len == 5);
	for (int i = 0; i < 5; i++)
		expect_frame(n, i, &(char){ 'a' + i }, 1);
	nic_free(n);
	netdev_drop("d");
	close(fds[0]);
}

static void test_queue_limit(void)
{
	struct nic *a, *b;

	hub_setup(&a, &b);
	b->full = true;
	for (int i = 0; i < 12000; i++)
		net_send(a->nc, "x", 1);
	g_assert_cmpuint(b->nc->queue.length, ==, 10000);
	b->full = false;
	net_purge(b->nc);
	g_assert_cmpuint(b->nc->queue.length, ==, 0);
	g_assert_cmpuint(b->nc->queue_bytes, ==, 0);
	net_send(a->nc, "y", 1);
	expect_frame(b, 0, "y", 1);
	hub_teardown(a, b);
}

static void test_link(void)
{
	g_autoptr(GError) err = NULL;
	struct nic *a, *b;
	g_autofree char *text = NULL;

	hub_setup(&a, &b);
	/* Naming the back end takes the NIC's link down too. */
	g_assert_cmpint(net_set_link("p1", false, &err), ==, 0);
	g_assert_true(b->nc->link_down);
	g_assert_cmpint(b->link_changes, ==, 1);
	g_assert_true(net_send(a->nc, "lost", 4));
	g_assert_cmpuint(b->frames->len, ==, 0);
	text = net_info_text();
	g_assert_nonnull(strstr(text, "link=down"));
	g_assert_cmpint(net_set_link(b->nc->name, true, &err), ==, 0);
	g_assert_cmpint(b->link_changes, ==, 2);
	net_send(a->nc, "back", 4);
	expect_frame(b, 0, "back", 4);
	g_assert_cmpint(net_set_link("nobody", true, &err), ==, -ENOENT);
	expect_error(err, "nobody");
	hub_teardown(a, b);
}

static void test_nic_and_netdev(void)
{
	static const struct net_nic_names used = { .model = "x", .netdev = "p0" };
	static const struct net_nic_names absent = { .model = "x", .netdev = "p9" };
	g_autoptr(GError) err = NULL;
	u8 mac[6] = { 0 };
	struct nic *a, *b;

	hub_setup(&a, &b);
	/* Default addresses count up from 52:54:00:12:34:56. */
	g_assert_cmpmem(a->nc->mac, 6, "\x52\x54\x00\x12\x34\x56", 6);
	g_assert_cmpmem(b->nc->mac, 6, "\x52\x54\x00\x12\x34\x57", 6);
	g_assert_null(net_nic_create(&nic_test_ops, &used, mac, NULL, &err));
	expect_error(err, "in use");
	g_clear_error(&err);
	g_assert_null(net_nic_create(&nic_test_ops, &absent, mac, NULL, &err));
	expect_error(err, "p9");
	/* The back end may go while the NIC stays. */
	netdev_drop("p1");
	g_assert_null(b->nc->peer);
	g_assert_true(net_send(b->nc, "to nobody", 9));
	netdev_ok("hubport,id=p1,hubid=7");
	hub_teardown(a, b);
}

static void test_announce(void)
{
	struct nic *a, *b;
	size_t len;
	const u8 *f;

	hub_setup(&a, &b);
	net_announce_self();
	f = nic_frame(b, 0, &len);
	g_assert_cmpuint(len, ==, 60);
	g_assert_cmpmem(f, 6, "\xff\xff\xff\xff\xff\xff", 6);
	g_assert_cmpmem(f + 6, 6, a->nc->mac, 6);
	g_assert_cmpmem(f + 12, 10, "\x80\x35\x00\x01\x08\x00\x06\x04\x00\x03", 10);
	g_assert_cmpmem(f + 22, 6, a->nc->mac, 6);
	g_assert_cmpmem(f + 32, 6, a->nc->mac, 6);
	g_assert_cmpuint(a->frames->len, ==, 1);
	hub_teardown(a, b);
}

/* ---- Sockets ---- */

static void exchange(struct nic *a, struct nic *b)
{
	g_autofree u8 *big = g_malloc(9000);

	for (int i = 0; i < 9000; i++)
		big[i] = i * 13 >> 2;
	net_send(a->nc, "hello", 5);
	net_send(a->nc, big, 9000);
	net_send(b->nc, big, 1);
	pump_until(b->frames->len == 2 && a->frames->len == 1);
	expect_frame(b, 0, "hello", 5);
	expect_frame(b, 1, big, 9000);
	expect_frame(a, 0, big, 1);
}

static char *connected_info(struct nic *n)
{
	return strstr(n->nc->peer->info, ",connected");
}

static void test_stream_pair(void)
{
	g_autofree char *srv =
		g_strdup_printf("stream,id=s,server=on,addr.type=unix,addr.path=%s/s", dir);
	g_autofree char *cli = g_strdup_printf("stream,id=c,addr.type=unix,addr.path=%s/s", dir);
	struct nic *a, *b;

	netdev_ok(srv);
	netdev_ok(cli);
	a = nic_new("s");
	b = nic_new("c");
	pump_until(connected_info(a));
	exchange(a, b);
	/* The client goes and another comes. */
	nic_free(b);
	netdev_drop("c");
	pump_until(!connected_info(a));
	net_send(a->nc, "to nobody", 9);
	netdev_ok(cli);
	b = nic_new("c");
	pump_until(connected_info(a));
	g_ptr_array_set_size(a->frames, 0);
	exchange(a, b);
	nic_free(a);
	nic_free(b);
	netdev_drop("s");
	netdev_drop("c");
	refuse_netdev("stream,id=r,addr.type=unix,addr.path=/nonexistent/s", "/nonexistent/s");
}

static void test_stream_reconnect(void)
{
	g_autofree char *srv =
		g_strdup_printf("stream,id=s,server=on,addr.type=unix,addr.path=%s/r", dir);
	g_autofree char *cli =
		g_strdup_printf("stream,id=c,reconnect-ms=10,addr.type=unix,addr.path=%s/r", dir);
	struct nic *a, *b;

	netdev_ok(cli);
	b = nic_new("c");
	pump();
	netdev_ok(srv);
	a = nic_new("s");
	pump_until(connected_info(a) && connected_info(b));
	exchange(a, b);
	nic_free(a);
	nic_free(b);
	netdev_drop("s");
	netdev_drop("c");
}

/* A peer that does not read: frames wait, none is torn; a peer that talks rubbish is cut off. */
static void test_stream_slow_and_bad_peer(void)
{
	g_autofree char *opts = NULL;
	g_autofree u8 *big = g_malloc0(60000), *back = g_malloc(60004);
	struct nic *n;
	int fds[2], sent = 0;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	opts = g_strdup_printf("socket,id=f,fd=%d", fds[1]);
	netdev_ok(opts);
	n = nic_new("f");
	while (net_send(n->nc, big, 60000))
		sent++;
	sent++;
	g_assert_cmpint(sent, >, 1);
	for (int i = 0; i < sent; i++) {
		size_t got = 0;

		while (got < 60004) {
			ssize_t len = recv(fds[0], back + got, 60004 - got, MSG_DONTWAIT);

			got += MAX(len, 0);
			main_loop_iterate(false);
		}
		g_assert_cmpmem(back, 4, "\x00\x00\xea\x60", 4);
	}
	g_assert_cmpint(n->ready, >, 0);
	/* A frame in pieces, then one of 4 GiB. */
	g_assert_cmpint(send(fds[0], "\0\0", 2, 0), ==, 2);
	pump();
	g_assert_cmpint(send(fds[0], "\0\3abc\0\0\0\1d\xff\xff\xff\xff", 14, 0), ==, 14);
	pump_until(n->frames->len == 2);
	expect_frame(n, 0, "abc", 3);
	expect_frame(n, 1, "d", 1);
	pump_until(!connected_info(n));
	nic_free(n);
	netdev_drop("f");
	close(fds[0]);
}

static int free_udp_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&in, len), ==, 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	close(fd);
	return ntohs(in.sin_port);
}

static void test_udp(void)
{
	int p = free_udp_port(), q = free_udp_port();
	g_autofree char *one =
		g_strdup_printf("socket,id=a,udp=127.0.0.1:%d,localaddr=127.0.0.1:%d", p, q);
	g_autofree char *two =
		g_strdup_printf("dgram,id=b,remote.type=inet,remote.host=127.0.0.1,remote.port=%d,"
				"local.type=inet,local.host=127.0.0.1,local.port=%d",
				q, p);
	g_autofree char *clash =
		g_strdup_printf("socket,id=r,udp=127.0.0.1:%d,localaddr=127.0.0.1:%d", p, q);
	struct nic *a, *b;

	netdev_ok(one);
	netdev_ok(two);
	refuse_netdev(clash, "Address already in use");
	a = nic_new("a");
	b = nic_new("b");
	exchange(a, b);
	nic_free(a);
	nic_free(b);
	netdev_drop("a");
	netdev_drop("b");
}

/* ---- Options ---- */

static void test_refusals(void)
{
	refuse_netdev("vde,id=r", "'vde' is not supported");
	refuse_netdev("hubport", "id=");
	refuse_netdev("hubport,id=r", "hubid=");
	refuse_netdev("hubport,id=r,hubid=0,netdev=nobody", "netdev=nobody");
	refuse_netdev("hubport,id=r,hubid=0,frob=1", "frob=1");
	refuse_netdev("hubport,id=9,hubid=0", "'9'");
	refuse_netdev("socket,id=r", "one of fd=");
	refuse_netdev("socket,id=r,listen=:1,connect=:2", "exclude");
	refuse_netdev("socket,id=r,connect=nocolon", "HOST:PORT");
	refuse_netdev("socket,id=r,mcast=127.0.0.1:1", "multicast");
	refuse_netdev("socket,id=r,udp=127.0.0.1:1", "localaddr=");
	refuse_netdev("socket,id=r,fd=77", "fd=77");
	refuse_netdev("dgram,id=r", "remote=");
	refuse_netdev("stream,id=r,addr.type=vsock,addr.cid=1,addr.port=1", "vsock");
	refuse_netdev("tap,id=r,queues=4", "queues=4");
	refuse_netdev("tap,id=r,fds=3:4", "fds=3:4");
	refuse_netdev("tap,id=r,vhostforce=on", "vhostforce=on");
	refuse_netdev("tap,id=r,fd=0,ifname=x", "fd=");
	refuse_netdev("tap,id=r,ifname=averyveryverylongname,script=no", "15 bytes");
	refuse_netdev("bridge,id=r,helper=/nonexistent/h", "/nonexistent/h");
}

static void nic_option(const char *text)
{
	g_autoptr(GError) err = NULL;
	g_autoptr(JsonObject) o = keyval_parse(text, "type", &err);

	net_nic_option(o, &err);
	g_assert_no_error(err);
}

static void legacy_option(const char *text)
{
	g_autoptr(GError) err = NULL;
	g_autoptr(JsonObject) o = keyval_parse(text, "type", &err);

	net_legacy_option(o, &err);
	g_assert_no_error(err);
}

static const struct nic_info *last_nic(void)
{
	return net_nics()->pdata[net_nics()->len - 1];
}

static void test_nic_options(void)
{
	g_autoptr(GError) err = NULL;
	g_autoptr(JsonObject) bad = keyval_parse("user,mac=1:2", "type", NULL);
	guint before = net_nics()->len;
	struct nic *user;

	nic_option("none");
	g_assert_cmpuint(net_nics()->len, ==, before);
	nic_option("user,model=virtio-net-pci,mac=52:54:00:aa:bb:cc,id=n0,restrict=on");
	g_assert_cmpstr(last_nic()->model, ==, "virtio-net-pci");
	g_assert_cmpstr(last_nic()->netdev, ==, "n0");
	g_assert_true(last_nic()->has_mac);
	g_assert_cmpmem(last_nic()->mac, 6, "\x52\x54\x00\xaa\xbb\xcc", 6);
	g_assert_nonnull(net_find("n0"));
	nic_option("user");
	g_assert_null(last_nic()->model);
	g_assert_cmpstr(last_nic()->netdev, ==, "user.0");
	g_assert_cmpint(net_nic_option(bad, &err), ==, -EINVAL);
	expect_error(err, "mac=1:2");

	/* "-net nic,model=virtio -net user": both on hub 0. */
	legacy_option("nic,model=virtio,vectors=3");
	g_assert_cmpstr(last_nic()->model, ==, "virtio");
	g_assert_cmpint(last_nic()->nvectors, ==, 3);
	user = nic_new(last_nic()->netdev);
	legacy_option("user");
	g_assert_nonnull(net_find("user.1"));
	g_assert_cmpstr(net_find("user.1")->peer->ops->type, ==, "hubport");
	legacy_option("none");
	legacy_option("nic,netdev=n0,macaddr=52-54-00-00-00-01,id=dev0,addr=5");
	g_assert_cmpstr(last_nic()->netdev, ==, "n0");
	g_assert_cmpstr(last_nic()->name, ==, "dev0");
	g_assert_cmpstr(last_nic()->addr, ==, "5");
	/* No default where something was given. */
	before = net_nics()->len;
	g_clear_error(&err);
	g_assert_cmpint(net_options_done(true, &err), ==, 0);
	g_assert_cmpuint(net_nics()->len, ==, before);
	nic_free(user);
	net_cleanup();
}

static void test_default_nic(void)
{
	g_autoptr(GError) err = NULL;

	g_assert_cmpint(net_options_done(false, &err), ==, 0);
	g_assert_cmpuint(net_nics()->len, ==, 0);
	g_assert_cmpint(net_options_done(true, &err), ==, 0);
	g_assert_cmpuint(net_nics()->len, ==, 1);
	g_assert_cmpstr(net_find(last_nic()->netdev)->ops->type, ==, "user");
	net_cleanup();
}

static void test_mac(void)
{
	static const char *const bad[] = { "",
					   "52",
					   "52:54:00:12:34",
					   "52:54:00:12:34:5g",
					   "52:54:00:12:34:56:78",
					   "52:54:00:12:34:56 " };
	u8 mac[6];

	for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_cmpint(mac_parse(bad[i], mac), ==, -EINVAL);
	g_assert_cmpint(mac_parse("52:54:0:12:34:FE", mac), ==, 0);
	g_assert_cmpmem(mac, 6, "\x52\x54\x00\x12\x34\xfe", 6);
}

/* Needs the right to make interfaces; elsewhere the refusal is what is tested. */
static void test_tap(void)
{
	g_autoptr(GError) err = NULL;
	struct net_client *nc = netdev_try("tap,id=t,script=no,downscript=no,vnet_hdr=on", &err);
	struct nic *n;

	if (!nc) {
		g_assert_true(strstr(err->message, "/dev/net/tun") ||
			      strstr(err->message, "TAP interface"));
		g_test_skip("no right to make a TAP interface");
		return;
	}
	g_assert_true(g_str_has_prefix(nc->info, "ifname=tap"));
	n = nic_new("t");
	/* The interface is down: frames are lost, as with a pulled cable. */
	g_assert_true(net_send(n->nc, "0123456789abcdef", 16));
	nic_free(n);
	netdev_drop("t");
	/* A script that fails takes the back end with it. */
	g_assert_null(netdev_try("tap,id=t,script=/bin/false,downscript=no", &err));
	expect_error(err, "/bin/false");
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("net-XXXXXX", NULL);
	main_loop_init();
	g_test_add_func("/net/default-nic", test_default_nic);
	g_test_add_func("/net/hub", test_hub);
	g_test_add_func("/net/back-pressure", test_back_pressure);
	g_test_add_func("/net/queue-limit", test_queue_limit);
	g_test_add_func("/net/link", test_link);
	g_test_add_func("/net/nic-and-netdev", test_nic_and_netdev);
	g_test_add_func("/net/announce", test_announce);
	g_test_add_func("/net/stream-pair", test_stream_pair);
	g_test_add_func("/net/stream-reconnect", test_stream_reconnect);
	g_test_add_func("/net/stream-slow-and-bad-peer", test_stream_slow_and_bad_peer);
	g_test_add_func("/net/udp", test_udp);
	g_test_add_func("/net/refusals", test_refusals);
	g_test_add_func("/net/nic-options", test_nic_options);
	g_test_add_func("/net/mac", test_mac);
	g_test_add_func("/net/tap", test_tap);
	ret = g_test_run();
	net_cleanup();
	g_autofree char *rm = g_strdup_printf("rm -r '%s'", dir);

	return g_spawn_command_line_sync(rm, NULL, NULL, NULL, NULL) ? ret : 1;
}

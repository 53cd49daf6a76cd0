/* The user network: options, and a guest of hand-built frames that gets an address and a port. */
#include "tests/unit/net/helper.h"

#include "util/timer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static const u8 guest_mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

static void put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(u8 *p, u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static u16 get16(const u8 *p)
{
	return p[0] << 8 | p[1];
}

static u32 get32(const u8 *p)
{
	return (u32)get16(p) << 16 | get16(p + 2);
}

static void ethernet(u8 *f, u16 type)
{
	memset(f, 0xff, 6);
	memcpy(f + 6, guest_mac, 6);
	put16(f + 12, type);
}

/* RFC 1071 */
static u16 checksum(const u8 *p, size_t len, u32 sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += get16(p + i);
	if (len & 1)
		sum += p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void ipv4(u8 *ip, u8 proto, u32 src, u32 dst, size_t payload)
{
	memset(ip, 0, 20);
	ip[0] = 0x45;
	put16(ip + 2, 20 + payload);
	ip[8] = 64;
	ip[9] = proto;
	put32(ip + 12, src);
	put32(ip + 16, dst);
	put16(ip + 10, checksum(ip, 20, 0));
}

/* The first frame that came with this Ethernet type (and, for IPv4, protocol). */
static const u8 *find_frame(struct nic *n, u16 type, int proto)
{
	for (guint i = 0; i < n->frames->len; i++) {
		size_t len;
		const u8 *f = nic_frame(n, i, &len);

		if (len > 34 && get16(f + 12) == type && (proto < 0 || f[14 + 9] == proto))
			return f;
	}
	return NULL;
}

static void send_arp(struct nic *n, u16 op, u32 sender, u32 target)
{
	u8 f[60] = { 0 };

	ethernet(f, 0x0806);
	memcpy(f + 14, "\x00\x01\x08\x00\x06\x04", 6);
	put16(f + 20, op);
	memcpy(f + 22, guest_mac, 6);
	put32(f + 28, sender);
	put32(f + 38, target);
	net_send(n->nc, f, sizeof(f));
}

static void test_arp(void)
{
	struct nic *n;
	const u8 *f;

	netdev_ok("user,id=u,net=192.168.5.0/24,host=192.168.5.9");
	n = nic_new("u");
	send_arp(n, 1, 0xc0a80564, 0xc0a80509);
	pump_until(find_frame(n, 0x0806, -1));
	f = find_frame(n, 0x0806, -1);
	g_assert_cmpuint(get16(f + 20), ==, 2); /* reply */
	g_assert_cmphex(get32(f + 28), ==, 0xc0a80509);
	nic_free(n);
	netdev_drop("u");
}

static void send_dhcp_discover(struct nic *n)
{
	u8 f[14 + 20 + 8 + 300] = { 0 }, *ip = f + 14, *udp = ip + 20, *b = udp + 8;

	ethernet(f, 0x0800);
	ipv4(ip, 17, 0, 0xffffffff, 308);
	put16(udp, 68);
	put16(udp + 2, 67);
	put16(udp + 4, 308);
	memcpy(b, "\x01\x01\x06\x00\x12\x34\x56\x78", 8);
	memcpy(b + 28, guest_mac, 6);
	memcpy(b + 236, "\x63\x82\x53\x63\x35\x01\x01\xff", 8); /* cookie; DISCOVER; end */
	net_send(n->nc, f, sizeof(f));
}

static const u8 *dhcp_option(const u8 *bootp, u8 code)
{
	const u8 *o = bootp + 240;

	while (*o != 0xff && *o != code)
		o += *o ? 2 + o[1] : 1;
	return *o == code ? o : NULL;
}

static void test_dhcp(void)
{
	struct nic *n;
	const u8 *b, *o;

	netdev_ok("user,id=u,net=10.1.0.0/16,dhcpstart=10.1.0.77,dns=10.1.0.5,hostname=guest1,"
		  "domainname=example.org,bootfile=pxe.0,tftp=/tmp");
	n = nic_new("u");
	send_dhcp_discover(n);
	pump_until(find_frame(n, 0x0800, 17));
	b = find_frame(n, 0x0800, 17) + 14 + 20 + 8;
	g_assert_cmphex(get32(b + 16), ==, 0x0a01004d); /* yiaddr */
	o = dhcp_option(b, 53);
	g_assert_cmpuint(o[2], ==, 2); /* OFFER */
	g_assert_cmphex(get32(dhcp_option(b, 1) + 2), ==, 0xffff0000);
	g_assert_cmphex(get32(dhcp_option(b, 3) + 2), ==, 0x0a010002);
	g_assert_cmphex(get32(dhcp_option(b, 6) + 2), ==, 0x0a010005);
	o = dhcp_option(b, 12);
	g_assert_cmpmem(o + 2, o[1], "guest1", 6);
	g_assert_cmpstr((const char *)b + 108, ==, "pxe.0");
	nic_free(n);
	netdev_drop("u");
}

static u16 free_tcp_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&in, len), ==, 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	close(fd);
	return ntohs(in.sin_port);
}

static bool can_connect(u16 port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	/* The host's kernel completes or refuses it at once. */
	bool ok = !connect(fd, (struct sockaddr *)&in, sizeof(in));

	close(fd);
	return ok;
}

/* A connection to the host's port becomes a SYN at the guest's. */
static void test_hostfwd(void)
{
	u16 port = free_tcp_port(), second = free_tcp_port();
	g_autofree char *opts = g_strdup_printf(
		"user,id=u,hostfwd=tcp:127.0.0.1:%u-:22,hostfwd=udp:127.0.0.1:%u-10.0.2.99:53",
		port, second);
	g_autofree char *clash = g_strdup_printf("user,id=r,hostfwd=tcp:127.0.0.1:%u-:22", port);
	g_autofree char *rule = g_strdup_printf("tcp:127.0.0.1:%u", port);
	g_autofree char *text = NULL;
	g_autoptr(GError) err = NULL;
	struct nic *n;
	const u8 *f;

	netdev_ok(opts);
	n = nic_new("u");
	refuse_netdev(clash, "Address already in use");
	refuse_netdev(clash, rule + 4);
	send_arp(n, 1, 0x0a00020f, 0x0a000202); /* the stack learns where the guest is */
	g_assert_true(can_connect(port));
	pump_until(find_frame(n, 0x0800, 6));
	f = find_frame(n, 0x0800, 6);
	g_assert_cmphex(get32(f + 14 + 16), ==, 0x0a00020f);
	g_assert_cmpuint(get16(f + 14 + 20 + 2), ==, 22);
	g_assert_cmpuint(f[14 + 20 + 13] & 0x3f, ==, 2); /* SYN alone */
	text = net_usernet_text();
	g_assert_nonnull(strstr(text, "HOST_FORWARD"));
	g_assert_cmpint(net_hostfwd("u", rule, false, &err), ==, 0);
	g_assert_cmpint(net_hostfwd("u", rule, false, &err), ==, -ENOENT);
	expect_error(err, rule);
	nic_free(n);
	netdev_drop("u");
}

/* As libvirt and QMP send it: lists of objects. */
static void test_json(void)
{
	u16 port = free_tcp_port();
	g_autofree char *opts = g_strdup_printf(
		"{\"type\":\"user\",\"id\":\"u\",\"hostfwd\":[{\"str\":\"tcp:127.0.0.1:%u-:80\"}],"
		"\"dnssearch\":[{\"str\":\"a.org\"},{\"str\":\"b.org\"}],\"ipv6\":false}",
		port);

	netdev_ok(opts);
	g_assert_true(can_connect(port));
	netdev_drop("u");
	g_assert_false(can_connect(port));
}

static void test_refusals(void)
{
	refuse_netdev("user,id=r,net=1.2.3", "net=1.2.3");
	refuse_netdev("user,id=r,net=10.0.0.0/33", "4 to 30 bits");
	refuse_netdev("user,id=r,host=10.9.9.9", "'host=10.9.9.9' is not in the network 10.0.2.0");
	refuse_netdev("user,id=r,dhcpstart=x", "dhcpstart=x");
	refuse_netdev("user,id=r,dns=10.0.2.2", "the same");
	refuse_netdev("user,id=r,ipv4=off,ipv6=off", "no network");
	refuse_netdev("user,id=r,ipv6-prefix=zz", "ipv6-prefix=zz");
	refuse_netdev("user,id=r,restrict=perhaps", "restrict=perhaps");
	refuse_netdev("user,id=r,guestfwd=tcp:10.0.2.4:1-cmd:x", "guestfwd=tcp:10.0.2.4:1-cmd:x");
	refuse_netdev("user,id=r,smb=/tmp", "smb=/tmp");
	refuse_netdev("user,id=r,tftp=/nonexistent/t", "/nonexistent/t");
	refuse_netdev("user,id=r,hostfwd=sctp::1-:2", "tcp or udp");
	refuse_netdev("user,id=r,hostfwd=tcp::1", "GUESTPORT");
	refuse_netdev("user,id=r,hostfwd=tcp::x-:2", "'x' is no port");
	refuse_netdev("user,id=r,hostfwd=tcp:a:1-:2", "'a:1'");
	refuse_netdev("user,id=r,hostfwd=tcp::1-:0", "not 0");
	refuse_netdev("user,id=r,hostfwd=tcp::1-:70000", "'70000'");
	refuse_netdev("user,id=r,frob=1", "frob=1");
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	clock_virtual_run(true);
	g_test_add_func("/net-user/arp", test_arp);
	g_test_add_func("/net-user/dhcp", test_dhcp);
	g_test_add_func("/net-user/hostfwd", test_hostfwd);
	g_test_add_func("/net-user/json", test_json);
	g_test_add_func("/net-user/refusals", test_refusals);
	ret = g_test_run();
	net_cleanup();
	return ret;
}

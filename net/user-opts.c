/*
 * net/user-opts.c - options of the user network: addresses, names, forwarded ports.
 *
 * Source: QEMU's manual (invocation, -netdev user).
 */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/keyval.h"

#include <arpa/inet.h>

/* Defaults of the network and of its members' last numbers. */
#define DEFAULT_NET  0x0a000200u /* 10.0.2.0 */
#define DEFAULT_MASK 0xffffff00u
#define LAST_HOST    2
#define LAST_DNS     3
#define LAST_DHCP    15

static int parse_ip(const char *key, const char *text, u32 *out, GError **err)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1) {
		error_set(err, "'%s=%s': expected an IPv4 address", key, text);
		return -EINVAL;
	}
	*out = ntohl(a.s_addr);
	return 0;
}

/* Masks of the old classes, for a net= that gives none. */
static u32 class_mask(u32 net)
{
	return net >> 31 == 0 ? 0xff000000u : net >> 30 == 2 ? 0xffff0000u : 0xffffff00u;
}

/* "10.0.2.0", "10.0.2.0/24", "10.0.2.0/255.255.255.0" */
static int parse_net(const char *text, struct user_opts *u, GError **err)
{
	g_auto(GStrv) part = g_strsplit(text, "/", 2);
	char *end;
	u64 bits;

	if (parse_ip("net", part[0] ? part[0] : "", &u->net, err))
		return -EINVAL;
	if (!part[1]) {
		u->mask = class_mask(u->net);
	} else if (strchr(part[1], '.')) {
		if (parse_ip("net", part[1], &u->mask, err))
			return -EINVAL;
	} else {
		bits = g_ascii_strtoull(part[1], &end, 10);
		if (end == part[1] || *end || bits < 4 || bits > 30) {
			error_set(err, "'net=%s': a prefix has 4 to 30 bits", text);
			return -EINVAL;
		}
		u->mask = ~0u << (32 - bits);
	}
	u->net &= u->mask;
	return 0;
}

/* A member of the network: given, or its usual place. */
static int take_member(JsonObject *o, const char *key, const struct user_opts *u, u32 last,
		       u32 *out, GError **err)
{
	g_autofree char *text = keyval_take_str(o, key);

	*out = u->net | last;
	if (!text)
		return 0;
	if (parse_ip(key, text, out, err))
		return -EINVAL;
	if ((*out & u->mask) == u->net)
		return 0;
	error_set(err, "'%s=%s' is not in the network %u.%u.%u.%u", key, text, u->net >> 24,
		  u->net >> 16 & 255, u->net >> 8 & 255, u->net & 255);
	return -EINVAL;
}

static int take_ipv4(JsonObject *o, struct user_opts *u, GError **err)
{
	g_autofree char *net = keyval_take_str(o, "net");

	if (!net)
		net = keyval_take_str(o, "ip"); /* the oldest spelling */
	u->net = DEFAULT_NET;
	u->mask = DEFAULT_MASK;
	if ((net && parse_net(net, u, err)) ||
	    take_member(o, "host", u, LAST_HOST, &u->host, err) ||
	    take_member(o, "dhcpstart", u, LAST_DHCP, &u->dhcp, err) ||
	    take_member(o, "dns", u, LAST_DNS, &u->dns, err))
		return -EINVAL;
	if (u->host == u->dns || u->host == u->dhcp) {
		error_set(err, "the network's own address and its dns= or dhcpstart= are the same");
		return -EINVAL;
	}
	return 0;
}

static int take_ip6(JsonObject *o, const char *key, const u8 *prefix, u8 last, u8 out[16],
		    GError **err)
{
	g_autofree char *text = keyval_take_str(o, key);

	memcpy(out, prefix, 16);
	out[15] |= last;
	if (!text || inet_pton(AF_INET6, text, out) == 1)
		return 0;
	error_set(err, "'%s=%s': expected an IPv6 address", key, text);
	return -EINVAL;
}

static int take_ipv6(JsonObject *o, struct user_opts *u, GError **err)
{
	static const u8 site_local[16] = { 0xfe, 0xc0 };

	u->prefix6_len = 64;
	if (take_ip6(o, "ipv6-prefix", site_local, 0, u->prefix6, err) ||
	    keyval_take_u64(o, "ipv6-prefixlen", &u->prefix6_len, err) == -EINVAL ||
	    take_ip6(o, "ipv6-host", u->prefix6, LAST_HOST, u->host6, err) ||
	    take_ip6(o, "ipv6-dns", u->prefix6, LAST_DNS, u->dns6, err))
		return -EINVAL;
	if (u->prefix6_len <= 126)
		return 0;
	error_set(err, "'ipv6-prefixlen=%" PRIu64 "': at most 126", u->prefix6_len);
	return -EINVAL;
}

static int take_families(JsonObject *o, struct user_opts *u, GError **err)
{
	int has4, has6;

	u->ipv4 = u->ipv6 = true;
	has4 = keyval_take_bool(o, "ipv4", &u->ipv4, err);
	has6 = has4 == -EINVAL ? has4 : keyval_take_bool(o, "ipv6", &u->ipv6, err);
	if (has6 == -EINVAL)
		return -EINVAL;
	/* One that is asked for by name excludes the other. */
	if (!has4 && u->ipv4 && has6 == -ENOENT)
		u->ipv6 = false;
	if (!has6 && u->ipv6 && has4 == -ENOENT)
		u->ipv4 = false;
	if (u->ipv4 || u->ipv6)
		return 0;
	error_set(err, "ipv4=off and ipv6=off leave no network");
	return -EINVAL;
}

static int refuse_unsupported(JsonObject *o, GError **err)
{
	static const char *const names[] = { "guestfwd", "smb", "smbserver" };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		g_auto(GStrv) list = net_take_list(o, names[i]);

		if (list[0]) {
			error_set(err,
				  "'%s=%s' is not supported; hostfwd= leads into the guest, and "
				  "the guest reaches the host at its gateway's address",
				  names[i], list[0]);
			return -EINVAL;
		}
	}
	return 0;
}

int user_opts_take(JsonObject *o, struct user_opts *u, GError **err)
{
	if (refuse_unsupported(o, err) || take_families(o, u, err) || take_ipv4(o, u, err) ||
	    take_ipv6(o, u, err) || keyval_take_bool(o, "restrict", &u->restricted, err) == -EINVAL)
		return -EINVAL;
	u->hostname = keyval_take_str(o, "hostname");
	u->tftp = keyval_take_str(o, "tftp");
	u->tftp_server_name = keyval_take_str(o, "tftp-server-name");
	u->bootfile = keyval_take_str(o, "bootfile");
	u->domainname = keyval_take_str(o, "domainname");
	u->dnssearch = net_take_list(o, "dnssearch");
	u->hostfwd = net_take_list(o, "hostfwd");
	if (u->hostfwd[0] && !u->ipv4) {
		error_set(err, "'hostfwd=%s' needs ipv4=on", u->hostfwd[0]);
		return -EINVAL;
	}
	if (u->tftp && !g_file_test(u->tftp, G_FILE_TEST_IS_DIR)) {
		error_set(err, "'tftp=%s' is no directory", u->tftp);
		return -EINVAL;
	}
	if (u->tftp_server_name && strlen(u->tftp_server_name) > 255) {
		error_set(err, "tftp-server-name= is longer than 255 bytes");
		return -EINVAL;
	}
	return 0;
}

void user_opts_clear(struct user_opts *u)
{
	g_free(u->hostname);
	g_free(u->tftp);
	g_free(u->tftp_server_name);
	g_free(u->bootfile);
	g_free(u->domainname);
	g_strfreev(u->dnssearch);
	g_strfreev(u->hostfwd);
}

/* ---- Forwarded ports ---- */

/* "[ADDR]:PORT" */
static int parse_end(const char *whole, const char *text, u32 *addr, u16 *port, GError **err)
{
	const char *colon = strrchr(text, ':');
	g_autofree char *ip = colon ? g_strndup(text, colon - text) : NULL;
	struct in_addr a = { 0 };
	char *end;
	u64 n;

	if (!colon || (ip[0] && inet_pton(AF_INET, ip, &a) != 1)) {
		error_set(err, "'hostfwd=%s': '%s' is not [IPV4ADDR]:PORT", whole, text);
		return -EINVAL;
	}
	n = g_ascii_strtoull(colon + 1, &end, 10);
	if (end == colon + 1 || *end || n > UINT16_MAX) {
		error_set(err, "'hostfwd=%s': '%s' is no port", whole, colon + 1);
		return -EINVAL;
	}
	*addr = ntohl(a.s_addr);
	*port = n;
	return 0;
}

int user_forward_parse(const char *text, bool removal, struct user_forward *f, GError **err)
{
	const char *rest = strchr(text, ':'), *dash;
	g_autofree char *proto = rest ? g_strndup(text, rest - text) : NULL;
	g_autofree char *host = NULL;

	*f = (struct user_forward){ 0 };
	if (!proto || (strcmp(proto, "tcp") && strcmp(proto, "udp") && proto[0])) {
		error_set(err, "'hostfwd=%s': expected tcp or udp first", text);
		return -EINVAL;
	}
	f->udp = !strcmp(proto, "udp");
	dash = strchr(++rest, '-');
	if (!dash && !removal) {
		error_set(err, "'hostfwd=%s': expected HOSTADDR:HOSTPORT-GUESTADDR:GUESTPORT",
			  text);
		return -EINVAL;
	}
	host = dash ? g_strndup(rest, dash - rest) : g_strdup(rest);
	if (parse_end(text, host, &f->host_addr, &f->host_port, err))
		return -EINVAL;
	if (dash && parse_end(text, dash + 1, &f->guest_addr, &f->guest_port, err))
		return -EINVAL;
	if (dash && !f->guest_port) {
		error_set(err, "'hostfwd=%s': the guest's port is not 0", text);
		return -EINVAL;
	}
	return 0;
}

/*
 * net/tap.c - Linux TAP interfaces: made by us, by a bridge helper, or inherited.
 *
 * Source: Linux Documentation/networking/tuntap.rst.
 */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/fdset.h"
#include "util/iov.h"
#include "util/keyval.h"
#include "util/log.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_SCRIPT     "/etc/qemu-ifup"
#define DEFAULT_DOWNSCRIPT "/etc/qemu-ifdown"
#define DEFAULT_HELPER     "/usr/lib/qemu/qemu-bridge-helper"
#define DEFAULT_BRIDGE     "br0"

struct tap {
	struct net_fd iface; /* its header is the virtio-net header before each frame */
	char *ifname;
	char *downscript; /* NULL: none */
};

static void tap_peer_ready(struct net_client *nc)
{
	net_fd_read(&((struct tap *)nc->opaque)->iface);
}

static bool tap_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct tap *t = nc->opaque;
	u8 hdr[NET_FD_HEADER_MAX] = { 0 }; /* no checksum to fill in, no segments */
	g_autofree struct iovec *v = g_new(struct iovec, niov + 1);

	v[0] = (struct iovec){ hdr, t->iface.header };
	memcpy(v + 1, iov, niov * sizeof(*iov));
	return net_fd_sent(&t->iface, writev(t->iface.fd, v, MIN(niov + 1, IOV_MAX)));
}

/* ---- Scripts ---- */

static int run_script(const char *script, const char *ifname, GError **err)
{
	const char *argv[] = { script, ifname, NULL };
	g_autoptr(GError) why = NULL;
	int status;

	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL,
			  NULL, &status, &why) ||
	    !g_spawn_check_wait_status(status, &why)) {
		error_set(err, "network script '%s %s': %s (script=no runs none)", script, ifname,
			  why->message);
		return -EIO;
	}
	return 0;
}

static void tap_destroy(struct net_client *nc)
{
	struct tap *t = nc->opaque;
	g_autoptr(GError) err = NULL;

	if (t->downscript && run_script(t->downscript, t->ifname, &err))
		log_warn("%s", err->message);
	net_fd_close(&t->iface);
	g_free(t->ifname);
	g_free(t->downscript);
	g_free(t);
}

static const struct net_client_ops tap_ops = {
	.type = "tap",
	.receive = tap_receive,
	.peer_ready = tap_peer_ready,
	.destroy = tap_destroy,
};

/* ---- Opening ---- */

/* Takes over a TAP descriptor: learns its name and header, and has it do without offloads, which
 * no NIC asks for. */
static int adopt(struct tap *t, GError **err)
{
	struct ifreq ifr = { 0 };

	if (ioctl(t->iface.fd, TUNGETIFF, &ifr)) {
		error_set_errno(err, errno, "file descriptor %d is no TAP interface", t->iface.fd);
		return -EINVAL;
	}
	if (!(ifr.ifr_flags & IFF_TAP)) {
		error_set(err, "interface '%s' is of type TUN, not TAP", ifr.ifr_name);
		return -EINVAL;
	}
	if (!(ifr.ifr_flags & IFF_NO_PI)) {
		error_set(err, "TAP interface '%s' must be opened with IFF_NO_PI", ifr.ifr_name);
		return -EINVAL;
	}
	t->ifname = g_strdup(ifr.ifr_name);
	if (ifr.ifr_flags & IFF_VNET_HDR) {
		t->iface.header = 10;
		ioctl(t->iface.fd, TUNGETVNETHDRSZ, &t->iface.header);
		if (t->iface.header > NET_FD_HEADER_MAX) {
			error_set(err, "TAP interface '%s' has a header of %d bytes", t->ifname,
				  t->iface.header);
			return -EINVAL;
		}
		ioctl(t->iface.fd, TUNSETOFFLOAD, 0);
	}
	fcntl(t->iface.fd, F_SETFL, fcntl(t->iface.fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

static int open_tun(const char *ifname, bool vnet_hdr, GError **err)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | (vnet_hdr ? IFF_VNET_HDR : 0) };
	int fd, ret;

	if (ifname && strlen(ifname) >= IFNAMSIZ) {
		error_set(err, "'ifname=%s' is longer than %d bytes", ifname, IFNAMSIZ - 1);
		return -EINVAL;
	}
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		error_set_errno(err, -ret,
				"cannot open /dev/net/tun (-netdev user needs no "
				"privileges)");
		return ret;
	}
	g_strlcpy(ifr.ifr_name, ifname ? ifname : "tap%d", IFNAMSIZ);
	if (ioctl(fd, TUNSETIFF, &ifr)) {
		ret = -errno;
		error_set_errno(err, -ret, "cannot use TAP interface '%s'", ifr.ifr_name);
		close(fd);
		return ret;
	}
	return fd;
}

/* The helper is set-uid; it makes the interface and passes it through a socket (fd 3 of it). */
static int open_by_helper(const char *helper, const char *bridge, GError **err)
{
	int pair[2], fd = -1;
	g_autofree char *fd_arg = NULL, *br_arg = g_strdup_printf("--br=%s", bridge);
	const char *argv[5] = { helper, "--use-vnet", NULL, br_arg, NULL };
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &v,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	g_autoptr(GError) why = NULL;
	struct cmsghdr *h;
	GPid pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		error_set_errno(err, errno, "cannot make a socket for the bridge helper");
		return -EIO;
	}
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	fd_arg = g_strdup_printf("--fd=%d", pair[1]);
	argv[2] = fd_arg;
	if (!g_spawn_async(NULL, (char **)argv, NULL,
			   G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN, NULL, NULL,
			   &pid, &why)) {
		error_set(err, "bridge helper '%s': %s", helper, why->message);
		close(pair[0]);
		close(pair[1]);
		return -EIO;
	}
	close(pair[1]);
	if (recvmsg(pair[0], &msg, MSG_CMSG_CLOEXEC) == 1) {
		h = CMSG_FIRSTHDR(&msg);
		if (h && h->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	}
	close(pair[0]);
	waitpid(pid, NULL, 0);
	if (fd < 0)
		error_set(err, "bridge helper '%s' gave no interface on bridge '%s'", helper,
			  bridge);
	return fd;
}

/* ---- Options ---- */

static char *take_script(JsonObject *o, const char *key, const char *fallback)
{
	char *script = keyval_take_str(o, key);

	if (!script)
		script = g_strdup(fallback);
	if (script && (!script[0] || !strcmp(script, "no")))
		g_clear_pointer(&script, g_free);
	return script;
}

/* vhost=on asks the kernel to do the copying; without it the same frames go through us. */
static int take_vhost(JsonObject *o, const char *id, GError **err)
{
	bool vhost = false, force = false;
	g_autofree char *fd = keyval_take_str(o, "vhostfd");
	g_autofree char *fds = keyval_take_str(o, "vhostfds");
	g_auto(GStrv) list = g_strsplit(fds ? fds : fd ? fd : "", ":", -1);

	if (keyval_take_bool(o, "vhost", &vhost, err) == -EINVAL ||
	    keyval_take_bool(o, "vhostforce", &force, err) == -EINVAL)
		return -EINVAL;
	if (force) {
		error_set(err, "'vhostforce=on' is not supported: there is no vhost; vhost=off or "
			       "vhost=on use the interface without it");
		return -EINVAL;
	}
	for (int i = 0; list[i]; i++) {
		int n = fd_take(list[i], err);

		if (n < 0)
			return n;
		close(n);
	}
	if (vhost)
		log_warn("netdev '%s': vhost=on: vhost is not supported, frames go through the "
			 "emulator",
			 id);
	return 0;
}

static int take_queues(JsonObject *o, GError **err)
{
	u64 queues = 1;

	if (keyval_take_u64(o, "queues", &queues, err) == -EINVAL)
		return -EINVAL;
	if (queues == 1)
		return 0;
	error_set(err, "'queues=%" PRIu64 "' is not supported: a TAP interface has one queue here",
		  queues);
	return -EINVAL;
}

/* fd=N, or fds=N with one of them. Return: the text, NULL if absent or with @err. */
static char *take_fd_text(JsonObject *o, GError **err)
{
	g_autofree char *fd = keyval_take_str(o, "fd");
	g_autofree char *fds = keyval_take_str(o, "fds");

	if (fds && strchr(fds, ':')) {
		error_set(err, "'fds=%s': several queues are not supported, one descriptor is",
			  fds);
		return NULL;
	}
	return fd ? g_steal_pointer(&fd) : g_steal_pointer(&fds);
}

static int take_sndbuf(JsonObject *o, const struct tap *t, GError **err)
{
	u64 bytes = 0;
	int limit, ret = keyval_take_size(o, "sndbuf", 'B', &bytes, err);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	limit = bytes && bytes < INT_MAX ? (int)bytes : INT_MAX;
	if (!ioctl(t->iface.fd, TUNSETSNDBUF, &limit))
		return 0;
	error_set_errno(err, errno, "cannot set sndbuf=%" PRIu64 " of interface '%s'", bytes,
			t->ifname);
	return -EINVAL;
}

static struct tap *tap_new(const char *id)
{
	struct tap *t = g_new0(struct tap, 1);

	t->iface.fd = -1;
	t->iface.nc = net_client_new(&tap_ops, id, t);
	return t;
}

static int tap_open(struct tap *t, JsonObject *o, GError **err)
{
	g_autoptr(GError) why = NULL;
	g_autofree char *fd = take_fd_text(o, &why);
	g_autofree char *helper = keyval_take_str(o, "helper");
	g_autofree char *br = keyval_take_str(o, "br");
	g_autofree char *ifname = keyval_take_str(o, "ifname");
	g_autofree char *script = take_script(o, "script", fd || helper ? NULL : DEFAULT_SCRIPT);
	bool vnet_hdr = false;

	if (why) {
		g_propagate_error(err, g_steal_pointer(&why));
		return -EINVAL;
	}
	if (keyval_take_bool(o, "vnet_hdr", &vnet_hdr, err) == -EINVAL)
		return -EINVAL;
	if (fd && (ifname || helper || script)) {
		error_set(err, "fd= cannot go with ifname=, script= or helper=: the interface is "
			       "set up already");
		return -EINVAL;
	}
	t->iface.fd = fd       ? fd_take(fd, err)
		      : helper ? open_by_helper(helper, br ? br : DEFAULT_BRIDGE, err)
			       : open_tun(ifname, vnet_hdr, err);
	if (t->iface.fd < 0 || adopt(t, err))
		return -EINVAL;
	if (script && run_script(script, t->ifname, err))
		return -EIO;
	t->downscript = take_script(o, "downscript", fd || helper ? NULL : DEFAULT_DOWNSCRIPT);
	return take_sndbuf(o, t, err);
}

static struct net_client *finish(struct tap *t, int ret)
{
	if (ret) {
		net_client_free(t->iface.nc);
		return NULL;
	}
	net_set_info(t->iface.nc, g_strdup_printf("ifname=%s", t->ifname));
	net_fd_read(&t->iface);
	return t->iface.nc;
}

static struct net_client *tap_create(const char *id, JsonObject *o, GError **err)
{
	struct tap *t = tap_new(id);
	int ret = take_vhost(o, id, err);

	if (!ret)
		ret = take_queues(o, err);
	if (!ret)
		ret = tap_open(t, o, err);
	return finish(t, ret);
}

static struct net_client *bridge_create(const char *id, JsonObject *o, GError **err)
{
	struct tap *t = tap_new(id);
	g_autofree char *helper = keyval_take_str(o, "helper");
	g_autofree char *br = keyval_take_str(o, "br");

	t->iface.fd =
		open_by_helper(helper ? helper : DEFAULT_HELPER, br ? br : DEFAULT_BRIDGE, err);
	return finish(t, t->iface.fd < 0 ? -EIO : adopt(t, err));
}

const struct netdev_type netdev_tap = { .name = "tap", .create = tap_create };
const struct netdev_type netdev_bridge = { .name = "bridge", .create = bridge_create };

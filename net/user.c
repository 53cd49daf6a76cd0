/* net/user.c - the user network: a TCP/IP stack in our process (libslirp), no privileges needed. */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/log.h"
#include "util/timer.h"

#include <libslirp.h>

struct user_net {
	struct net_client *nc;
	Slirp *slirp;
	GSource *source;
	GPtrArray *polls; /* of GPollFD, registered with the source */
	guint npolls;     /* how many of them the last fill used */
	s64 deadline_us;  /* when the stack wants to run; monotonic time; -1: on events only */
	u32 dhcp;
};

struct user_source {
	GSource source;
	struct user_net *u;
};

/* ---- The main loop ---- */

static int to_glib(int events)
{
	return (events & SLIRP_POLL_IN ? G_IO_IN : 0) | (events & SLIRP_POLL_OUT ? G_IO_OUT : 0) |
	       (events & SLIRP_POLL_PRI ? G_IO_PRI : 0) | (events & SLIRP_POLL_ERR ? G_IO_ERR : 0) |
	       (events & SLIRP_POLL_HUP ? G_IO_HUP : 0);
}

static int from_glib(int events)
{
	return (events & G_IO_IN ? SLIRP_POLL_IN : 0) | (events & G_IO_OUT ? SLIRP_POLL_OUT : 0) |
	       (events & G_IO_PRI ? SLIRP_POLL_PRI : 0) | (events & G_IO_ERR ? SLIRP_POLL_ERR : 0) |
	       (events & G_IO_HUP ? SLIRP_POLL_HUP : 0);
}

static int add_poll(int fd, int events, void *opaque)
{
	struct user_net *u = opaque;
	GPollFD *p;

	if (u->npolls == u->polls->len) {
		p = g_new0(GPollFD, 1);
		g_ptr_array_add(u->polls, p);
		p->fd = fd;
		g_source_add_poll(u->source, p);
	}
	p = u->polls->pdata[u->npolls];
	/* GLib reads fd and events at each turn, but it sorts by fd only when one is added. */
	if (p->fd != fd) {
		g_source_remove_poll(u->source, p);
		p->fd = fd;
		g_source_add_poll(u->source, p);
	}
	p->events = to_glib(events);
	p->revents = 0;
	return u->npolls++;
}

static gboolean source_prepare(GSource *source, int *timeout)
{
	struct user_net *u = ((struct user_source *)source)->u;
	u32 ms = UINT32_MAX;

	u->npolls = 0;
	slirp_pollfds_fill(u->slirp, &ms, add_poll, u);
	while (u->polls->len > u->npolls) {
		GPollFD *p = u->polls->pdata[u->polls->len - 1];

		g_source_remove_poll(source, p);
		g_ptr_array_remove_index(u->polls, u->polls->len - 1);
	}
	*timeout = ms == UINT32_MAX ? -1 : (int)MIN(ms, G_MAXINT);
	u->deadline_us = *timeout < 0 ? -1 : g_get_monotonic_time() + *timeout * 1000LL;
	return FALSE;
}

static gboolean source_check(GSource *source)
{
	struct user_net *u = ((struct user_source *)source)->u;

	if (u->deadline_us >= 0 && g_get_monotonic_time() >= u->deadline_us)
		return TRUE;
	for (guint i = 0; i < u->npolls; i++) {
		if (((GPollFD *)u->polls->pdata[i])->revents)
			return TRUE;
	}
	return FALSE;
}

static int get_revents(int idx, void *opaque)
{
	struct user_net *u = opaque;

	return idx < u->npolls ? from_glib(((GPollFD *)u->polls->pdata[idx])->revents) : 0;
}

static gboolean source_dispatch(GSource *source, GSourceFunc fn, gpointer unused)
{
	struct user_net *u = ((struct user_source *)source)->u;

	slirp_pollfds_poll(u->slirp, 0, get_revents, u);
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = {
	.prepare = source_prepare,
	.check = source_check,
	.dispatch = source_dispatch,
};

static void attach(struct user_net *u)
{
	u->source = g_source_new(&source_funcs, sizeof(struct user_source));
	((struct user_source *)u->source)->u = u;
	u->polls = g_ptr_array_new_with_free_func(g_free);
	g_source_attach(u->source, NULL);
}

/* ---- What the stack asks of us ---- */

static ssize_t send_packet(const void *buf, size_t len, void *opaque)
{
	struct user_net *u = opaque;

	/* A guest that is slow: the queue holds frames, then TCP's retransmission takes over. */
	net_send(u->nc, buf, len);
	return len;
}

static void guest_error(const char *msg, void *opaque)
{
	log_guest("user network: %s\n", msg);
}

static s64 clock_get_ns(void *opaque)
{
	return clock_ns(CLOCK_TYPE_VIRTUAL);
}

static void *timer_new(SlirpTimerCb cb, void *cb_opaque, void *opaque)
{
	struct timer *t = g_new0(struct timer, 1);

	timer_init(t, CLOCK_TYPE_VIRTUAL, cb, cb_opaque);
	return t;
}

static void timer_free(void *timer, void *opaque)
{
	timer_del(timer);
	g_free(timer);
}

static void timer_set(void *timer, s64 expire_ms, void *opaque)
{
	timer_mod(timer, expire_ms * NS_PER_MS);
}

static void poll_fd_changed(int fd, void *opaque)
{
	/* The descriptors are collected anew at each turn of the loop. */
}

static void notify(void *opaque)
{
	g_main_context_wakeup(NULL);
}

static const SlirpCb callbacks = {
	.send_packet = send_packet,
	.guest_error = guest_error,
	.clock_get_ns = clock_get_ns,
	.timer_new = timer_new,
	.timer_free = timer_free,
	.timer_mod = timer_set,
	.register_poll_fd = poll_fd_changed,
	.unregister_poll_fd = poll_fd_changed,
	.notify = notify,
};

/* ---- The client ---- */

static bool user_receive(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct user_net *u = nc->opaque;
	u8 buf[NET_MAX_FRAME];
	size_t len;
	const u8 *frame = net_iov_flat(iov, niov, buf, &len);

	if (!frame)
		return true;
	slirp_input(u->slirp, frame, len);
	/* From a vCPU thread: the main thread sleeps on the sockets there were before. */
	if (!g_main_context_is_owner(NULL))
		g_main_context_wakeup(NULL);
	return true;
}

static void user_destroy(struct net_client *nc)
{
	struct user_net *u = nc->opaque;

	if (u->source) {
		g_source_destroy(u->source);
		g_source_unref(u->source);
		g_ptr_array_unref(u->polls);
	}
	if (u->slirp)
		slirp_cleanup(u->slirp);
	g_free(u);
}

static const struct net_client_ops user_ops = {
	.type = "user",
	.receive = user_receive,
	.destroy = user_destroy,
};

bool is_user(const struct net_client *nc)
{
	return nc->ops == &user_ops;
}

char *user_connections(struct net_client *nc)
{
	struct user_net *u = nc->opaque;
	g_autofree char *text = slirp_connection_info(u->slirp);

	return g_strdup(text);
}

/* ---- Migration ---- */

bool net_is_user(const struct net_client *nc)
{
	return is_user(nc);
}

int net_user_state_version(void)
{
	return slirp_state_version();
}

static ssize_t append(const void *buf, size_t len, void *out)
{
	g_byte_array_append(out, buf, len);
	return len;
}

void net_user_save(struct net_client *nc, GByteArray *out)
{
	struct user_net *u = nc->opaque;

	slirp_state_save(u->slirp, append, out);
}

struct reading {
	void (*read)(void *buf, size_t len, void *opaque);
	void *opaque;
};

static ssize_t read_on(void *buf, size_t len, void *opaque)
{
	struct reading *r = opaque;

	r->read(buf, len, r->opaque);
	return len;
}

int net_user_load(struct net_client *nc, int version,
		  void (*read)(void *buf, size_t len, void *opaque), void *opaque)
{
	struct user_net *u = nc->opaque;
	struct reading r = { read, opaque };

	return slirp_state_load(u->slirp, version, read_on, &r) < 0 ? -EINVAL : 0;
}

/* ---- Options ---- */

static struct in_addr in4(u32 addr)
{
	return (struct in_addr){ .s_addr = htonl(addr) };
}

int user_forward(struct net_client *nc, const char *text, bool add, GError **err)
{
	struct user_net *u = nc->opaque;
	struct user_forward f;
	int ret = user_forward_parse(text, !add, &f, err);

	if (ret)
		return ret;
	if (!add) {
		if (!slirp_remove_hostfwd(u->slirp, f.udp, in4(f.host_addr), f.host_port))
			return 0;
		error_set(err, "the host's port of 'hostfwd=%s' is not forwarded", text);
		return -ENOENT;
	}
	if (!f.guest_addr)
		f.guest_addr = u->dhcp;
	errno = 0;
	if (!slirp_add_hostfwd(u->slirp, f.udp, in4(f.host_addr), f.host_port, in4(f.guest_addr),
			       f.guest_port))
		return 0;
	ret = errno ? errno : EINVAL;
	error_set_errno(err, ret, "cannot forward %s port %s:%u of the host ('hostfwd=%s')",
			f.udp ? "udp" : "tcp", f.host_addr ? inet_ntoa(in4(f.host_addr)) : "*",
			f.host_port, text);
	return -ret;
}

static void fill_config(const struct user_opts *o, SlirpConfig *c)
{
	*c = (SlirpConfig){
		.version = MIN(4, SLIRP_CONFIG_VERSION_MAX),
		.restricted = o->restricted,
		.in_enabled = o->ipv4,
		.vnetwork = in4(o->net),
		.vnetmask = in4(o->mask),
		.vhost = in4(o->host),
		.in6_enabled = o->ipv6,
		.vprefix_len = o->prefix6_len,
		.vhostname = o->hostname,
		.tftp_server_name = o->tftp_server_name,
		.tftp_path = o->tftp,
		.bootfile = o->bootfile,
		.vdhcp_start = in4(o->dhcp),
		.vnameserver = in4(o->dns),
		.vdnssearch = o->dnssearch[0] ? (const char **)o->dnssearch : NULL,
		.vdomainname = o->domainname,
	};
	memcpy(&c->vprefix_addr6, o->prefix6, 16);
	memcpy(&c->vhost6, o->host6, 16);
	memcpy(&c->vnameserver6, o->dns6, 16);
}

static struct net_client *user_start(const char *id, const struct user_opts *o, GError **err)
{
	struct user_net *u = g_new0(struct user_net, 1);
	struct net_client *nc = net_client_new(&user_ops, id, u);
	SlirpConfig config;

	u->nc = nc;
	u->dhcp = o->dhcp;
	fill_config(o, &config);
	u->slirp = slirp_new(&config, &callbacks, u);
	if (!u->slirp) {
		error_set(err, "the user network could not be started");
		goto fail;
	}
	attach(u);
	for (int i = 0; o->hostfwd[i]; i++) {
		if (user_forward(nc, o->hostfwd[i], true, err))
			goto fail;
	}
	net_set_info(nc, g_strdup_printf("net=%s,restrict=%s", inet_ntoa(in4(o->net)),
					 o->restricted ? "on" : "off"));
	return nc;
fail:
	net_client_free(nc);
	return NULL;
}

static struct net_client *user_create(const char *id, JsonObject *opts, GError **err)
{
	struct user_opts o = { 0 };
	struct net_client *nc = NULL;

	if (!user_opts_take(opts, &o, err))
		nc = user_start(id, &o, err);
	user_opts_clear(&o);
	return nc;
}

const struct netdev_type netdev_user = { .name = "user", .create = user_create };

/* ui/vnc.c - VNC servers: options, passwords, and what is told about them. */
#include "vnc-priv.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"
#include "util/socket.h"

#define FIRST_PORT 5900
#define LAST_PORT  65535

static GPtrArray *servers; /* of struct vnc_server; NULL: none yet */

/* ---- Addresses ---- */

void vnc_address_free(struct vnc_address *a)
{
	if (!a)
		return;
	g_free(a->host);
	g_free(a->service);
	g_free(a);
}

struct vnc_address *vnc_address_copy(const struct vnc_address *a)
{
	struct vnc_address *copy = g_new0(struct vnc_address, 1);

	*copy = *a;
	copy->host = g_strdup(a->host);
	copy->service = g_strdup(a->service);
	return copy;
}

/* Display numbers count from port 5900. */
static char *port_text(const char *number, unsigned *port, GError **err)
{
	u64 n;
	char *end;

	errno = 0;
	n = g_ascii_strtoull(number, &end, 10);
	if (errno || *end || end == number || !g_ascii_isdigit(*number) ||
	    n > LAST_PORT - FIRST_PORT) {
		error_set(err, "display number '%s' is not one of 0 to %d (of TCP port %d on)",
			  number, LAST_PORT - FIRST_PORT, FIRST_PORT);
		return NULL;
	}
	*port = FIRST_PORT + n;
	return g_strdup_printf("%u", *port);
}

static struct socket_address *parse_address(const char *text, JsonObject *opts, GError **err)
{
	struct socket_address *a = g_new0(struct socket_address, 1);
	g_autofree char *to = keyval_take_str(opts, "to"), *last_text = NULL;
	const char *colon = strrchr(text, ':');
	size_t len = colon ? colon - text : 0;
	unsigned port, last = 0;

	a->ipv4 = a->ipv6 = true;
	if (keyval_take_bool(opts, "ipv4", &a->ipv4, err) == -EINVAL ||
	    keyval_take_bool(opts, "ipv6", &a->ipv6, err) == -EINVAL)
		goto fail;
	if (g_str_has_prefix(text, "unix:")) {
		a->type = SOCKET_UNIX;
		a->path = g_strdup(text + strlen("unix:"));
		if (*a->path && !to)
			return a;
		error_set(err, to ? "to= is for TCP" : "unix: needs a path, as in unix:/run/x");
		goto fail;
	}
	if (!colon) {
		error_set(err, "expected none, [HOST]:NUMBER or unix:PATH");
		goto fail;
	}
	a->port = port_text(colon + 1, &port, err);
	if (!a->port)
		goto fail;
	if (to) {
		last_text = port_text(to, &last, err);
		if (!last_text)
			goto fail;
		a->to = last;
	}
	if (len > 1 && text[0] == '[' && text[len - 1] == ']')
		a->host = g_strndup(text + 1, len - 2);
	else
		a->host = len ? g_strndup(text, len) : g_strdup("127.0.0.1");
	return a;
fail:
	socket_address_free(a);
	return NULL;
}

static void fill_address(struct vnc_address *addr, int fd)
{
	g_autofree char *text = socket_name_text(fd, false);
	const char *colon = strrchr(text, ':');

	addr->is_unix = *text == '/' || !colon;
	if (addr->is_unix) {
		addr->host = g_strdup("");
		addr->service = g_strdup(text);
		return;
	}
	addr->ipv6 = *text == '[';
	addr->host =
		addr->ipv6 ? g_strndup(text + 1, colon - text - 2) : g_strndup(text, colon - text);
	addr->service = g_strdup(colon + 1);
}

/* ---- Options ---- */

static const struct {
	const char *name, *instead;
} refused[] = {
	{ "websocket", "put a proxy such as websockify in front" },
	{ "reverse", "let the viewer connect to the server" },
	{ "tls-creds", "tunnel the connection, by SSH for example" },
	{ "tls-authz", "tunnel the connection, by SSH for example" },
	{ "sasl", "use password=on" },
	{ "sasl-authz", "use password=on" },
	{ "power-control", "use the monitor" },
	{ "display", "the first display device is shown" },
	{ "head", "the first display device is shown" },
};

/* A wish that is not one ("websocket=off") is granted. */
static int refuse_unsupported(JsonObject *opts, GError **err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		g_autofree char *value = keyval_take_str(opts, refused[i].name);

		if (!value || !strcmp(value, "off"))
			continue;
		error_set(err, "%s=%s is not supported: %s", refused[i].name, value,
			  refused[i].instead);
		return -EINVAL;
	}
	return 0;
}

static int take_share(struct vnc_server *s, JsonObject *opts, GError **err)
{
	g_autofree char *share = keyval_take_str(opts, "share");

	s->shares_always = !g_strcmp0(share, "ignore");
	if (!share || s->shares_always || !strcmp(share, "allow-exclusive"))
		return 0;
	error_set(err, "share=%s is not supported: use allow-exclusive or ignore", share);
	return -EINVAL;
}

static int take_options(struct vnc_server *s, JsonObject *opts, const char *secret, GError **err)
{
	g_autofree char *audio = NULL, *secret_id = NULL;

	if (refuse_unsupported(opts, err) || take_share(s, opts, err) ||
	    keyval_take_bool(opts, "password", &s->wants_password, err) == -EINVAL)
		return -EINVAL;
	s->id = keyval_take_str(opts, "id") ?: g_strdup("default");
	if (vnc_find(s->id)) {
		error_set(err, "id=%s is taken by another VNC server", s->id);
		return -EINVAL;
	}
	/* Every -audiodev is silent, so there is nothing that a client could be sent. */
	audio = keyval_take_str(opts, "audiodev");
	secret_id = keyval_take_str(opts, "password-secret");
	if (secret) {
		s->wants_password = s->has_password = true;
		g_strlcpy(s->password, secret, sizeof(s->password));
	}
	return 0;
}

static void server_free(struct vnc_server *s)
{
	g_free(s->id);
	g_free(s->addr.host);
	g_free(s->addr.service);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->clients)
		g_ptr_array_unref(s->clients);
	g_mutex_clear(&s->lock);
	g_free(s);
}

static void wake(void *opaque)
{
	struct vnc_server *s = opaque;

	if (g_atomic_int_compare_and_exchange(&s->woken, 0, 1))
		eventfd_write(s->wake_fd, 1);
}

static int start(struct vnc_server *s, const struct socket_address *a, const char *title,
		 GError **err)
{
	int fd = socket_listen(a, err);

	if (fd < 0)
		return fd;
	s->listen_fd = fd;
	fill_address(&s->addr, fd);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0) {
		int ret = -errno;

		error_set_errno(err, -ret, "eventfd");
		return ret;
	}
	s->view = display_view_create(s->display, wake, s);
	fd = vnc_thread_start(s, title, err);
	if (fd) {
		display_view_destroy(s->view);
		return fd;
	}
	g_ptr_array_add(servers, s);
	return 0;
}

int vnc_create(struct display *d, JsonObject *opts, const char *title, const char *secret,
	       const struct vnc_hooks *hooks, GError **err)
{
	g_autofree char *text = keyval_take_str(opts, "vnc");
	struct socket_address *a = NULL;
	struct vnc_server *s;
	int ret = -EINVAL;

	if (!g_strcmp0(text, "none"))
		return 0;
	if (!servers)
		servers = g_ptr_array_new();
	s = g_new0(struct vnc_server, 1);
	s->display = d;
	s->hooks = *hooks;
	s->listen_fd = s->wake_fd = -1;
	s->expires_s = -1;
	s->clients = g_ptr_array_new();
	g_mutex_init(&s->lock);
	if (take_options(s, opts, secret, err))
		goto out;
	a = parse_address(text ?: "", opts, err);
	if (!a || keyval_reject_rest(opts, "-vnc", err))
		goto out;
	ret = start(s, a, title, err);
out:
	socket_address_free(a);
	if (ret)
		server_free(s);
	return ret;
}

void vnc_destroy_all(void)
{
	for (guint i = 0; servers && i < servers->len; i++) {
		struct vnc_server *s = g_ptr_array_index(servers, i);

		vnc_thread_stop(s);
		display_view_destroy(s->view);
		if (s->addr.is_unix)
			unlink(s->addr.service);
		server_free(s);
	}
	g_clear_pointer(&servers, g_ptr_array_unref);
}

/* ---- Look-up ---- */

struct vnc_server *vnc_find(const char *id)
{
	for (guint i = 0; servers && i < servers->len; i++) {
		struct vnc_server *s = g_ptr_array_index(servers, i);

		if (!id || !strcmp(id, s->id))
			return s;
	}
	return NULL;
}

void vnc_foreach(void (*fn)(struct vnc_server *s, void *opaque), void *opaque)
{
	for (guint i = 0; servers && i < servers->len; i++)
		fn(g_ptr_array_index(servers, i), opaque);
}

const char *vnc_id(const struct vnc_server *s)
{
	return s->id;
}

bool vnc_has_password(const struct vnc_server *s)
{
	return s->wants_password;
}

unsigned vnc_listeners(const struct vnc_server *s, const struct vnc_address **list)
{
	*list = &s->addr;
	return 1;
}

GPtrArray *vnc_clients(struct vnc_server *s)
{
	GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)vnc_address_free);

	g_mutex_lock(&s->lock);
	for (guint i = 0; i < s->clients->len; i++) {
		struct vnc_client *c = g_ptr_array_index(s->clients, i);

		g_ptr_array_add(list, vnc_address_copy(&c->addr));
	}
	g_mutex_unlock(&s->lock);
	return list;
}

/* ---- Passwords ---- */

static int check_wants_password(const struct vnc_server *s, GError **err)
{
	if (s->wants_password)
		return 0;
	error_set(err,
		  "VNC server '%s' asks nobody for a password: start it with -vnc ...,"
		  "password=on",
		  s->id);
	return -EINVAL;
}

int vnc_set_password(struct vnc_server *s, const char *password, GError **err)
{
	if (check_wants_password(s, err))
		return -EINVAL;
	g_mutex_lock(&s->lock);
	g_strlcpy(s->password, password, sizeof(s->password));
	s->has_password = true;
	g_mutex_unlock(&s->lock);
	return 0;
}

int vnc_expire_password(struct vnc_server *s, s64 when, GError **err)
{
	if (check_wants_password(s, err))
		return -EINVAL;
	g_mutex_lock(&s->lock);
	s->expires_s = when;
	g_mutex_unlock(&s->lock);
	return 0;
}

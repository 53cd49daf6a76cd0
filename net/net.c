/* net/net.c - links: frames from one end to the other, queues, back ends by name. */
#include "net/net-priv.h"

#include "util/error.h"
#include "util/iov.h"
#include "util/keyval.h"
#include "util/lock.h"

#include <assert.h>

static GList *clients; /* in the order of creation */

static const struct netdev_type *const types[] = {
	&netdev_user,   &netdev_tap,   &netdev_bridge,  &netdev_socket,
	&netdev_stream, &netdev_dgram, &netdev_hubport,
};

struct frame {
	size_t len;
	u8 data[];
};

/* ---- Frames ---- */

static void enqueue(struct net_client *nc, const struct iovec *iov, int niov)
{
	size_t len = iov_size(iov, niov);
	struct frame *f;

	if (nc->queue.length >= NET_QUEUE_FRAMES || nc->queue_bytes + len > NET_QUEUE_BYTES)
		return;
	f = g_malloc(sizeof(*f) + len);
	f->len = len;
	iov_to_buf(iov, niov, 0, f->data, len);
	g_queue_push_tail(&nc->queue, f);
	nc->queue_bytes += len;
}

static bool can_receive(const struct net_client *nc)
{
	struct net_client *c = (struct net_client *)nc;

	return !nc->delivering && (!nc->ops->can_receive || nc->ops->can_receive(c));
}

static bool deliver(struct net_client *nc, const struct iovec *iov, int niov)
{
	bool taken;

	nc->delivering = true;
	taken = nc->ops->receive(nc, iov, niov);
	nc->delivering = false;
	return taken;
}

static bool down(const struct net_client *nc)
{
	return !nc->peer || nc->link_down || nc->peer->link_down;
}

/* Hands the queue out as far as it goes. Return: whether it is empty. */
static bool flush(struct net_client *nc)
{
	while (nc->queue.length && can_receive(nc)) {
		struct frame *f = g_queue_pop_head(&nc->queue);
		struct iovec v = { f->data, f->len };

		nc->queue_bytes -= f->len;
		if (down(nc) || deliver(nc, &v, 1)) {
			g_free(f);
			continue;
		}
		g_queue_push_head(&nc->queue, f);
		nc->queue_bytes += f->len;
		break;
	}
	return !nc->queue.length;
}

bool net_sendv(struct net_client *nc, const struct iovec *iov, int niov)
{
	struct net_client *peer = nc->peer;

	assert(machine_lock_held());
	if (down(nc))
		return true;
	if (peer->queue.length || !can_receive(peer) || !deliver(peer, iov, niov)) {
		enqueue(peer, iov, niov);
		return false;
	}
	/* receive() may have sent something that came back to it meanwhile. */
	flush(peer);
	return true;
}

bool net_send(struct net_client *nc, const void *frame, size_t len)
{
	struct iovec v = { (void *)frame, len };

	return net_sendv(nc, &v, 1);
}

void net_receive_ready(struct net_client *nc)
{
	assert(machine_lock_held());
	if (flush(nc) && nc->peer && nc->peer->ops->peer_ready)
		nc->peer->ops->peer_ready(nc->peer);
}

bool net_peer_can_receive(const struct net_client *nc)
{
	return down(nc) || (!nc->peer->queue.length && can_receive(nc->peer));
}

void net_purge(struct net_client *nc)
{
	bool had = nc->queue.length;
	struct frame *f;

	while ((f = g_queue_pop_head(&nc->queue)))
		g_free(f);
	nc->queue_bytes = 0;
	if (had && nc->peer && nc->peer->ops->peer_ready)
		nc->peer->ops->peer_ready(nc->peer);
}

const u8 *net_iov_flat(const struct iovec *iov, int niov, u8 *buf, size_t *len)
{
	*len = iov_size(iov, niov);
	if (niov == 1)
		return iov[0].iov_base;
	if (*len > NET_MAX_FRAME)
		return NULL;
	iov_to_buf(iov, niov, 0, buf, *len);
	return buf;
}

/* ---- Clients ---- */

struct net_client *net_find(const char *name)
{
	for (GList *l = clients; l; l = l->next) {
		if (!strcmp(((struct net_client *)l->data)->name, name))
			return l->data;
	}
	return NULL;
}

char *net_unused_name(const char *prefix)
{
	for (int n = 0;; n++) {
		char *name = g_strdup_printf("%s.%d", prefix, n);

		if (!net_find(name))
			return name;
		g_free(name);
	}
}

int net_check_id(const char *id, GError **err)
{
	if (!g_ascii_isalpha(id[0]) ||
	    strspn(id, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-._") != strlen(id)) {
		error_set(err,
			  "network id '%s' must start with a letter and hold only letters, digits, "
			  "'-', '.' and '_'",
			  id);
		return -EINVAL;
	}
	if (net_find(id)) {
		error_set(err, "a network back end or NIC named '%s' exists already", id);
		return -EEXIST;
	}
	return 0;
}

struct net_client *net_client_new(const struct net_client_ops *ops, const char *name, void *opaque)
{
	struct net_client *nc = g_new0(struct net_client, 1);

	nc->ops = ops;
	nc->name = g_strdup(name);
	nc->opaque = opaque;
	g_queue_init(&nc->queue);
	clients = g_list_append(clients, nc);
	return nc;
}

void net_connect(struct net_client *a, struct net_client *b)
{
	a->peer = b;
	b->peer = a;
}

void net_disconnect(struct net_client *nc)
{
	struct net_client *peer = nc->peer;

	if (!peer)
		return;
	net_purge(nc);
	net_purge(peer);
	nc->peer = peer->peer = NULL;
	if (peer->ops->link_changed)
		peer->ops->link_changed(peer);
}

void net_client_free(struct net_client *nc)
{
	net_disconnect(nc);
	clients = g_list_remove(clients, nc);
	if (nc->ops->destroy)
		nc->ops->destroy(nc);
	g_free(nc->name);
	g_free(nc->info);
	g_free(nc);
}

void net_set_info(struct net_client *nc, char *info)
{
	g_free(nc->info);
	nc->info = info;
}

void net_foreach(void (*fn)(struct net_client *nc, void *opaque), void *opaque)
{
	for (GList *l = clients; l; l = l->next)
		fn(l->data, opaque);
}

static void set_down(struct net_client *nc, bool is_down)
{
	if (!nc || nc->link_down == is_down)
		return;
	nc->link_down = is_down;
	if (nc->ops->link_changed)
		nc->ops->link_changed(nc);
}

int net_set_link(const char *name, bool up, GError **err)
{
	struct net_client *nc = net_find(name);

	if (!nc) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND,
			    "there is no NIC or network back end '%s'", name);
		return -ENOENT;
	}
	set_down(nc, !up);
	set_down(nc->peer, !up);
	return 0;
}

/* ---- Back ends ---- */

static const struct netdev_type *find_type(const char *name, GError **err)
{
	g_autofree char *help = NULL;

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		if (!strcmp(types[i]->name, name))
			return types[i];
	}
	help = net_types_help();
	error_set(err, "network type '%s' is not supported; there are: %s", name,
		  g_strdelimit(g_strchomp(help), "\n", ' '));
	return NULL;
}

struct net_client *net_netdev_create(JsonObject *given, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	g_autofree char *type = NULL, *id = NULL, *what = NULL;
	const struct netdev_type *t;
	struct net_client *nc;

	keyval_merge(o, given);
	type = keyval_take_str(o, "type");
	id = keyval_take_str(o, "id");
	if (!type || !id) {
		error_set(err, "a network back end needs %s", type ? "id=" : "its type");
		return NULL;
	}
	t = find_type(type, err);
	if (!t || net_check_id(id, err))
		return NULL;
	nc = t->create(id, o, err);
	if (!nc) {
		g_prefix_error(err, "netdev '%s': ", id);
		return NULL;
	}
	what = g_strdup_printf("-netdev %s", type);
	if (keyval_reject_rest(o, what, err)) {
		net_client_free(nc);
		return NULL;
	}
	return nc;
}

int net_netdev_remove(const char *id, GError **err)
{
	struct net_client *nc = net_find(id);

	if (!nc || nc->is_nic) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND,
			    "there is no network back end '%s'", id);
		return -ENOENT;
	}
	net_client_free(nc);
	return 0;
}

void net_cleanup(void)
{
	GList *next;

	/* NICs are their devices'. */
	for (GList *l = clients; l; l = next) {
		struct net_client *nc = l->data;

		next = l->next;
		if (!nc->is_nic)
			net_client_free(nc);
	}
}

char **net_take_list(JsonObject *o, const char *key)
{
	GPtrArray *list = g_ptr_array_new();
	JsonNode *n = json_object_get_member(o, key);

	if (n && JSON_NODE_HOLDS_ARRAY(n)) {
		JsonArray *a = json_node_get_array(n);

		for (guint i = 0; i < json_array_get_length(a); i++) {
			JsonNode *e = json_array_get_element(a, i);
			const char *text = JSON_NODE_HOLDS_OBJECT(e)
						   ? keyval_str(json_node_get_object(e), "str")
						   : json_node_get_string(e);

			g_ptr_array_add(list, g_strdup(text ? text : ""));
		}
		json_object_remove_member(o, key);
	} else if (n) {
		g_ptr_array_add(list, keyval_take_str(o, key));
	}
	g_ptr_array_add(list, NULL);
	return (char **)g_ptr_array_free(list, FALSE);
}

/* ---- Texts ---- */

char *net_types_help(void)
{
	GString *s = g_string_new(NULL);

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		g_string_append_printf(s, "%s\n", types[i]->name);
	return g_string_free(s, FALSE);
}

static void info_line(GString *s, const char *indent, const struct net_client *nc)
{
	g_string_append_printf(s, "%s%s: index=0,type=%s%s%s%s\n", indent, nc->name, nc->ops->type,
			       nc->info ? "," : "", nc->info ? nc->info : "",
			       nc->link_down ? ",link=down" : "");
}

char *net_info_text(void)
{
	GString *s = g_string_new(NULL);

	/* NICs with what they are connected to, then back ends that nobody uses. */
	for (GList *l = clients; l; l = l->next) {
		struct net_client *nc = l->data;

		if (!nc->is_nic)
			continue;
		info_line(s, "", nc);
		if (nc->peer)
			info_line(s, " \\ ", nc->peer);
	}
	for (GList *l = clients; l; l = l->next) {
		struct net_client *nc = l->data;

		if (!nc->is_nic && !(nc->peer && nc->peer->is_nic))
			info_line(s, "", nc);
	}
	return g_string_free(s, FALSE);
}

char *net_usernet_text(void)
{
	GString *s = g_string_new(NULL);

	for (GList *l = clients; l; l = l->next) {
		struct net_client *nc = l->data;
		g_autofree char *text = is_user(nc) ? user_connections(nc) : NULL;

		if (text)
			g_string_append_printf(s, "%s:\n%s", nc->name, text);
	}
	return g_string_free(s, FALSE);
}

static struct net_client *find_user(const char *id, GError **err)
{
	struct net_client *found = NULL;

	for (GList *l = clients; l; l = l->next) {
		struct net_client *nc = l->data;

		if (is_user(nc) && !found && (!id || !strcmp(nc->name, id)))
			found = nc;
	}
	if (!found)
		error_set(err, "there is no user network%s%s", id ? " " : "", id ? id : "");
	return found;
}

int net_hostfwd(const char *id, const char *text, bool add, GError **err)
{
	struct net_client *nc = find_user(id, err);

	return nc ? user_forward(nc, text, add, err) : -ENOENT;
}

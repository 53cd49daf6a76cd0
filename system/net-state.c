/*
 * system/net-state.c - the part of a migration that user networks have: section "slirp", as in
 * QEMU, in the format of libslirp.
 *
 * Without it the new process's stack numbers its connections from the start again, and a guest
 * that remembers the old ones may take new ones for leftovers of those.
 */
#include "net-state.h"

#include "emulator.h"
#include "migration/state.h"
#include "net/net.h"
#include "util/error.h"

/* Back ends come and go; the section knows its own by the name. */
struct user_state {
	char *name;
};

static struct net_client *client_of(const struct user_state *s)
{
	struct net_client *nc = net_find(s->name);

	return nc && net_is_user(nc) ? nc : NULL;
}

static int state_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	net_user_save(client_of(field), bytes);
	state_put_buffer(w, bytes->data, bytes->len);
	return 0;
}

static void read_state(void *buf, size_t len, void *reader)
{
	state_get_buffer(reader, buf, len);
}

static int state_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct user_state *s = field;
	struct net_client *nc = client_of(s);

	if (nc && !net_user_load(nc, version, read_state, r))
		return 0;
	error_set(err, "the state of user network '%s' (version %d) cannot be taken", s->name,
		  version);
	return -EINVAL;
}

static const struct state_codec codec = { "slirp", state_save, state_load };
static const struct state_field fields[] = { { .name = "slirp",
					       .type = STATE_CUSTOM,
					       .size = sizeof(struct user_state),
					       .codec = &codec },
					     FIELD_END };

static bool needed(void *obj)
{
	return client_of(obj) != NULL;
}

/* The version is libslirp's. */
static struct state_desc desc = {
	.name = "slirp", .min_version = 1, .fields = fields, .needed = needed
};

static GPtrArray *known; /* of struct user_state: registered as long as the process lives */

static void add(struct net_client *nc, void *opaque)
{
	struct emulator *e = opaque;
	struct user_state *s;

	if (!net_is_user(nc))
		return;
	for (guint i = 0; i < known->len; i++) {
		s = g_ptr_array_index(known, i);
		if (!strcmp(s->name, nc->name))
			return;
	}
	s = g_new0(struct user_state, 1);
	s->name = g_strdup(nc->name);
	g_ptr_array_add(known, s);
	state_register(e->registry, desc.name, -1, &desc, s);
}

void net_state_update(struct emulator *e)
{
	if (!known)
		known = g_ptr_array_new();
	desc.version = net_user_state_version();
	net_foreach(add, e);
}

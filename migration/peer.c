/*
 * migration/peer.c - what a receiver of our kind says about itself, checked before anything moves.
 *
 * The description is a JSON object: machine, page-bits, page-runs (it takes the
 * private records of wire.h), ram [{id, size, max}], sections [{name, instance, version,
 * min-version}].
 */
#include "migration/source.h"

#include "util/error.h"

char *peer_describe(struct migration *m)
{
	g_autoptr(GString) json = g_string_new("{\"machine\":");
	const GPtrArray *blocks = m->vm->ram->blocks, *entries = m->states->entries;

	state_json_string(json, m->machine_name);
	g_string_append_printf(json, ",\"page-bits\":%u,\"page-runs\":true,\"ram\":[",
			       m->target_page_bits);
	for (guint i = 0; i < blocks->len; i++) {
		const struct ramblock *b = g_ptr_array_index(blocks, i);

		if (!(b->flags & RAM_MIGRATABLE))
			continue;
		g_string_append(json, json->str[json->len - 1] == '[' ? "{\"id\":" : ",{\"id\":");
		state_json_string(json, b->id);
		g_string_append_printf(json, ",\"size\":%" PRIu64 ",\"max\":%" PRIu64 "}",
				       b->used_size,
				       b->flags & RAM_RESIZEABLE ? b->max_size : b->used_size);
	}
	g_string_append(json, "],\"sections\":[");
	for (guint i = 0; i < entries->len; i++) {
		const struct state_entry *e = g_ptr_array_index(entries, i);

		g_string_append(json, i ? ",{\"name\":" : "{\"name\":");
		state_json_string(json, e->idstr);
		g_string_append_printf(json, ",\"instance\":%d,\"version\":%d,\"min-version\":%d}",
				       e->instance_id, e->desc->version, e->desc->min_version);
	}
	g_string_append(json, "]}");
	return g_string_free(g_steal_pointer(&json), FALSE);
}

static JsonArray *member_array(JsonObject *o, const char *name)
{
	JsonNode *n = json_object_get_member(o, name);

	return n && JSON_NODE_HOLDS_ARRAY(n) ? json_node_get_array(n) : NULL;
}

/* The element of @list whose "id" or "name" (and "instance") match. */
static JsonObject *find(JsonArray *list, const char *key, const char *value, int instance)
{
	for (guint i = 0; list && i < json_array_get_length(list); i++) {
		JsonNode *n = json_array_get_element(list, i);
		JsonObject *o = JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;

		if (o &&
		    !g_strcmp0(json_object_get_string_member_with_default(o, key, ""), value) &&
		    (instance < 0 ||
		     json_object_get_int_member_with_default(o, "instance", -1) == instance))
			return o;
	}
	return NULL;
}

static int check_ram(struct source *s, JsonArray *theirs, GError **err)
{
	for (guint i = 0; i < s->ram.blocks->len; i++) {
		const struct ram_source_block *b =
			&g_array_index(s->ram.blocks, struct ram_source_block, i);
		JsonObject *o = find(theirs, "id", b->ram->id, -1);
		u64 ours = b->npages << DIRTY_PAGE_BITS, size, max;

		if (!o) {
			error_set(err,
				  "the receiver has no RAM block '%s' (%" PRIu64 " bytes here)",
				  b->ram->id, ours);
			return -EINVAL;
		}
		size = json_object_get_int_member_with_default(o, "size", 0);
		max = json_object_get_int_member_with_default(o, "max", size);
		if (size != ours && (max == size || ours > max)) {
			error_set(err,
				  "RAM block '%s' has size %" PRIu64 " here, but %" PRIu64
				  " at the receiver",
				  b->ram->id, ours, size);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_sections(struct source *s, JsonArray *theirs, GError **err)
{
	const GPtrArray *entries = s->m->states->entries;

	for (guint i = 0; i < entries->len; i++) {
		const struct state_entry *e = g_ptr_array_index(entries, i);
		JsonObject *o = find(theirs, "name", e->idstr, e->instance_id);
		s64 lo, hi;

		if (!o) {
			/* Whether it will be sent is only known at the end: optional ones pass. */
			if (e->desc->needed)
				continue;
			error_set(err, "the receiver has no device '%s' instance %d", e->idstr,
				  e->instance_id);
			return -EINVAL;
		}
		lo = json_object_get_int_member_with_default(o, "min-version", 0);
		hi = json_object_get_int_member_with_default(o, "version", 0);
		if (e->desc->version < lo || e->desc->version > hi) {
			error_set(err,
				  "device '%s' instance %d has state version %d, the receiver "
				  "takes %" PRId64 " to %" PRId64,
				  e->idstr, e->instance_id, e->desc->version, lo, hi);
			return -EINVAL;
		}
	}
	return 0;
}

int peer_check(struct source *s, const char *json, GError **err)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonNode *root;
	JsonObject *o;
	const char *machine;
	int ret;

	root = json_parser_load_from_data(parser, json, -1, NULL) ? json_parser_get_root(parser)
								  : NULL;
	if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
		error_set(err, "the receiver's description cannot be read");
		return -EINVAL;
	}
	o = json_node_get_object(root);
	machine = json_object_get_string_member_with_default(o, "machine", "");
	if (s->settings.send_configuration && strcmp(machine, s->m->machine_name)) {
		error_set(err, "this machine's type is '%s', the receiver's is '%s'",
			  s->m->machine_name, machine);
		return -EINVAL;
	}
	s->ram.runs = json_object_get_boolean_member_with_default(o, "page-runs", FALSE);
	ret = check_ram(s, member_array(o, "ram"), err);
	return ret ? ret : check_sections(s, member_array(o, "sections"), err);
}

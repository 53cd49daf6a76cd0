/* system/objects.c - what -object and object-add make. */
#include "objects.h"

#include "hw/rng-backend.h"
#include "memory/backend.h"
#include "util/error.h"
#include "util/keyval.h"

struct object_type {
	const char *name;
	const char *family;
	const char *help;
	void *(*create)(const char *type, const char *id, JsonObject *opts, GError **err);
	void (*destroy)(void *object);
	bool (*in_use)(const void *object); /* NULL: never */
};

struct object {
	const struct object_type *type;
	char *id;
	void *self;
};

struct objects {
	GPtrArray *list; /* of struct object, in order of creation */
};

static void *memory_create(const char *type, const char *id, JsonObject *opts, GError **err)
{
	return memory_backend_create(type, id, opts, err);
}

static void memory_destroy(void *object)
{
	memory_backend_destroy(object);
}

static bool memory_in_use(const void *object)
{
	return ((const struct memory_backend *)object)->in_use;
}

static void *rng_create(const char *type, const char *id, JsonObject *opts, GError **err)
{
	return rng_backend_create(type, opts, err);
}

static void rng_destroy(void *object)
{
	rng_backend_destroy(object);
}

#define RNG(nm, hlp)                                                                               \
	{                                                                                          \
		.name = nm, .family = "rng-backend", .help = hlp, .create = rng_create,            \
		.destroy = rng_destroy                                                             \
	}
#define MEMORY(nm, hlp)                                                                            \
	{                                                                                          \
		.name = nm, .family = "memory-backend", .help = hlp, .create = memory_create,      \
		.destroy = memory_destroy, .in_use = memory_in_use                                 \
	}

static const struct object_type types[] = {
	MEMORY("memory-backend-ram", "anonymous memory"),
	MEMORY("memory-backend-memfd", "memory of a memfd"),
	MEMORY("memory-backend-file", "memory of a file"),
	RNG("rng-builtin", "random numbers of the host's kernel"),
	RNG("rng-random", "random numbers of a device such as /dev/urandom"),
};

static const struct object_type *type_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

static void object_free(gpointer data)
{
	struct object *o = data;

	o->type->destroy(o->self);
	g_free(o->id);
	g_free(o);
}

struct objects *objects_create(void)
{
	struct objects *o = g_new0(struct objects, 1);

	o->list = g_ptr_array_new_with_free_func(object_free);
	return o;
}

void objects_destroy(struct objects *o)
{
	/* Later ones may use earlier ones. */
	while (o->list->len)
		g_ptr_array_remove_index(o->list, o->list->len - 1);
	g_ptr_array_unref(o->list);
	g_free(o);
}

static struct object *find(struct objects *o, const char *id)
{
	for (guint i = 0; i < o->list->len; i++) {
		struct object *obj = g_ptr_array_index(o->list, i);

		if (!strcmp(obj->id, id))
			return obj;
	}
	return NULL;
}

static bool id_ok(const char *id)
{
	if (!g_ascii_isalpha(id[0]))
		return false;
	for (; *id; id++)
		if (!g_ascii_isalnum(*id) && !strchr("-._", *id))
			return false;
	return true;
}

int objects_add(struct objects *o, JsonObject *opts, GError **err)
{
	g_autofree char *name = keyval_take_str(opts, "qom-type");
	g_autofree char *id = keyval_take_str(opts, "id");
	const struct object_type *type;
	struct object *obj;
	void *self;

	if (!name || !id) {
		error_set(err, "Parameter '%s' is missing", name ? "id" : "qom-type");
		return -EINVAL;
	}
	type = type_find(name);
	if (!type) {
		g_autofree char *known = objects_help();

		error_set(err, "object type '%s' is not supported; %s", name, g_strchomp(known));
		return -EINVAL;
	}
	if (!id_ok(id)) {
		error_set(err, "Parameter 'id' expects an identifier, not '%s'", id);
		return -EINVAL;
	}
	if (find(o, id)) {
		error_set(err, "an object with id '%s' exists already", id);
		return -EEXIST;
	}
	self = type->create(name, id, opts, err);
	if (!self)
		return -EINVAL;
	obj = g_new0(struct object, 1);
	obj->type = type;
	obj->id = g_steal_pointer(&id);
	obj->self = self;
	g_ptr_array_add(o->list, obj);
	return 0;
}

int objects_del(struct objects *o, const char *id, GError **err)
{
	struct object *obj = find(o, id);

	if (!obj) {
		error_set(err, "object '%s' not found", id);
		return -ENOENT;
	}
	if (obj->type->in_use && obj->type->in_use(obj->self)) {
		error_set(err, "object '%s' is in use, can not be deleted", id);
		return -EBUSY;
	}
	g_ptr_array_remove(o->list, obj);
	return 0;
}

void *objects_find(struct objects *o, const char *id, const char *kind)
{
	struct object *obj = find(o, id);

	if (!obj || (kind && strcmp(kind, obj->type->name) && strcmp(kind, obj->type->family)))
		return NULL;
	return obj->self;
}

void objects_foreach(struct objects *o,
		     void (*fn)(const char *id, const char *type, void *object, void *opaque),
		     void *opaque)
{
	for (guint i = 0; i < o->list->len; i++) {
		struct object *obj = g_ptr_array_index(o->list, i);

		fn(obj->id, obj->type->name, obj->self, opaque);
	}
}

const char *const *objects_types(void)
{
	static const char *names[ARRAY_SIZE(types) + 1];

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		names[i] = types[i].name;
	return names;
}

char *objects_help(void)
{
	GString *s = g_string_new("List of user creatable objects:\n");

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		g_string_append_printf(s, "  %-24s %s\n", types[i].name, types[i].help);
	return g_string_free(s, FALSE);
}

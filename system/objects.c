/* system/objects.c - -object and object-add: the list of objects, and what each type makes. */
#include "objects.h"

#include "chardev/char.h"
#include "emulator.h"
#include "hw/rng-backend.h"
#include "memory/backend.h"
#include "monitor/monitor.h"
#include "secret.h"
#include "util/error.h"
#include "util/iothread.h"
#include "util/keyval.h"

struct object_type {
	const char *name;
	const char *family;
	const char *help;
	const struct object_prop *props;
	void *(*create)(struct emulator *e, const char *type, const char *id, JsonObject *opts,
			GError **err);
	void (*destroy)(void *object);
	bool (*in_use)(const void *object); /* NULL: only devices use it */
};

struct object {
	const struct object_type *type;
	char *id;
	JsonObject *given; /* options, for objects_get() */
	void *self;
};

struct objects {
	struct emulator *e;
	GPtrArray *list; /* of struct object, in order of creation */
};

/* ---- Memory ---- */

static void *memory_create(struct emulator *e, const char *type, const char *id, JsonObject *opts,
			   GError **err)
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

#define MEMORY_PROPS(share_default)                                                                \
	{ "size", "int", "bytes", NULL },                                                          \
		{ "share", "bool", "other processes may map it", share_default },                  \
		{ "prealloc", "bool", "populate it at once", "off" },                              \
		{ "prealloc-threads", "int", "threads that do so", "0" },                          \
		{ "merge", "bool", "let the host merge equal pages", "off" },                      \
		{ "dump", "bool", "include it in core dumps", "on" },                              \
	{                                                                                          \
		"reserve", "bool", "reserve swap space for it", "on"                               \
	}

static const struct object_prop ram_props[] = { MEMORY_PROPS("off"), { .name = NULL } };
static const struct object_prop memfd_props[] = {
	MEMORY_PROPS("on"),
	{ "hugetlb", "bool", "use huge pages", "off" },
	{ "hugetlbsize", "int", "their size in bytes", "0" },
	{ "seal", "bool", "nobody may resize the memfd", "on" },
	{ .name = NULL },
};
static const struct object_prop file_props[] = {
	MEMORY_PROPS("off"),
	{ "mem-path", "string", "file, or directory for an unlinked one", NULL },
	{ "align", "int", "bytes", "0" },
	{ "offset", "int", "where in the file, in bytes", "0" },
	{ "discard-data", "bool", "its content is not needed afterwards", "off" },
	{ .name = NULL },
};

/* ---- Randomness ---- */

static void *rng_create(struct emulator *e, const char *type, const char *id, JsonObject *opts,
			GError **err)
{
	return rng_backend_create(type, opts, err);
}

static void rng_destroy(void *object)
{
	rng_backend_destroy(object);
}

static const struct object_prop no_props[] = { { .name = NULL } };
static const struct object_prop rng_random_props[] = {
	{ "filename", "string", "device or pipe", "/dev/urandom" },
	{ .name = NULL },
};

/* ---- Secrets ---- */

static void *secret_object_create(struct emulator *e, const char *type, const char *id,
				  JsonObject *opts, GError **err)
{
	return secret_create(opts, err);
}

static void secret_object_destroy(void *object)
{
	g_bytes_unref(object);
}

/* "data" is missing: nobody may read it back. */
static const struct object_prop secret_props[] = {
	{ "file", "string", "file that holds it", NULL },
	{ "format", "string", "raw or base64", "raw" },
	{ .name = NULL },
};

/* ---- I/O threads ---- */

static void *iothread_create_object(struct emulator *e, const char *type, const char *id,
				    JsonObject *opts, GError **err)
{
	u64 poll = 0;

	if (keyval_take_u64(opts, "poll-max-ns", &poll, err) == -EINVAL)
		return NULL;
	if (poll) {
		error_set(err,
			  "'poll-max-ns=%" PRIu64 "' is not supported: I/O threads sleep until "
			  "there is work; use poll-max-ns=0",
			  poll);
		return NULL;
	}
	if (keyval_reject_rest(opts, type, err))
		return NULL;
	return iothread_create(id);
}

static void iothread_destroy_object(void *object)
{
	iothread_destroy(object);
}

static bool iothread_object_in_use(const void *object)
{
	return iothread_in_use(object);
}

static const struct object_prop iothread_props[] = {
	{ "poll-max-ns", "int", "nanoseconds to wait busily for work (only 0)", "0" },
	{ .name = NULL },
};

/* ---- Monitors ---- */

static void *monitor_create_object(struct emulator *e, const char *type, const char *id,
				   JsonObject *opts, GError **err)
{
	bool qmp = !strcmp(type, "monitor-qmp"), pretty = false;
	g_autofree char *chardev = keyval_take_str(opts, "chardev");
	struct chardev *c = chardev ? chardev_find(chardev) : NULL;

	if (qmp && keyval_take_bool(opts, "pretty", &pretty, err) == -EINVAL)
		return NULL;
	if (keyval_reject_rest(opts, type, err))
		return NULL;
	if (!c) {
		error_set(err, "'chardev=%s': no such character device", chardev ?: "");
		return NULL;
	}
	return monitor_attach(e->monitors, c,
			      !qmp     ? MONITOR_HMP
			      : pretty ? MONITOR_QMP_PRETTY
				       : MONITOR_QMP,
			      err);
}

static void monitor_destroy_object(void *object)
{
	monitor_detach(object);
}

/* A monitor cannot go while one of its own commands runs. */
static bool monitor_in_use(const void *object)
{
	return monitor_current() == object;
}

static const struct object_prop hmp_props[] = {
	{ "chardev", "string", "id of the character device", NULL },
	{ .name = NULL },
};
static const struct object_prop qmp_props[] = {
	{ "chardev", "string", "id of the character device", NULL },
	{ "pretty", "bool", "indent the answers", "off" },
	{ .name = NULL },
};

/* ---- Types ---- */

static const struct object_type types[] = {
	{ "iothread", "event-loop-base", "a thread that serves devices", iothread_props,
	  iothread_create_object, iothread_destroy_object, iothread_object_in_use },
	{ "memory-backend-ram", "memory-backend", "anonymous memory", ram_props, memory_create,
	  memory_destroy, memory_in_use },
	{ "memory-backend-memfd", "memory-backend", "memory of a memfd", memfd_props, memory_create,
	  memory_destroy, memory_in_use },
	{ "memory-backend-file", "memory-backend", "memory of a file", file_props, memory_create,
	  memory_destroy, memory_in_use },
	{ "rng-builtin", "rng-backend", "random numbers of the host's kernel", no_props, rng_create,
	  rng_destroy, NULL },
	{ "rng-random", "rng-backend", "random numbers of a device such as /dev/urandom",
	  rng_random_props, rng_create, rng_destroy, NULL },
	{ "secret", "secret-common", "a password or key", secret_props, secret_object_create,
	  secret_object_destroy, NULL },
	{ "monitor-hmp", "monitor", "human monitor on a character device", hmp_props,
	  monitor_create_object, monitor_destroy_object, monitor_in_use },
	{ "monitor-qmp", "monitor", "QMP monitor on a character device", qmp_props,
	  monitor_create_object, monitor_destroy_object, monitor_in_use },
};

static const struct object_type *type_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

const char *const *objects_types(void)
{
	static const char *names[ARRAY_SIZE(types) + 1];

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		names[i] = types[i].name;
	return names;
}

const char *const *objects_families(void)
{
	static const char *const families[] = { "event-loop-base", "memory-backend", "rng-backend",
						"secret-common",   "monitor",        NULL };

	return families;
}

const char *objects_family(const char *type)
{
	const struct object_type *t = type_find(type);

	return t ? t->family : NULL;
}

const struct object_prop *objects_props(const char *type)
{
	return type_find(type)->props;
}

char *objects_help(void)
{
	GString *s = g_string_new("List of user creatable objects:\n");

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		g_string_append_printf(s, "  %-24s %s\n", types[i].name, types[i].help);
	return g_string_free(s, FALSE);
}

char *object_type_help(const char *type, GError **err)
{
	const struct object_type *t = type_find(type);
	GString *s;

	if (!t) {
		error_set(err, "object type '%s' is not supported, -object help lists them", type);
		return NULL;
	}
	s = g_string_new(NULL);
	g_string_append_printf(s, "%s options:\n", t->name);
	for (const struct object_prop *p = t->props; p->name; p++) {
		g_autofree char *left = g_strdup_printf("  %s=<%s>", p->name, p->type);

		g_string_append_printf(s, "%-28s - %s%s%s%s\n", left, p->help,
				       p->default_text ? " (default: " : "", p->default_text ?: "",
				       p->default_text ? ")" : "");
	}
	return g_string_free(s, FALSE);
}

/* ---- The list ---- */

static void object_free(gpointer data)
{
	struct object *o = data;

	o->type->destroy(o->self);
	json_object_unref(o->given);
	g_free(o->id);
	g_free(o);
}

struct objects *objects_create(struct emulator *e)
{
	struct objects *o = g_new0(struct objects, 1);

	o->e = e;
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

void objects_drop_monitors(struct objects *o)
{
	for (guint i = o->list->len; i-- > 0;) {
		const struct object *obj = g_ptr_array_index(o->list, i);

		if (!strcmp(obj->type->family, "monitor"))
			g_ptr_array_remove_index(o->list, i);
	}
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

static int check_id(struct objects *o, const char *id, GError **err)
{
	if (!id) {
		error_set(err, "Parameter 'id' is missing");
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
	return 0;
}

int objects_add(struct objects *o, JsonObject *opts, GError **err)
{
	g_autofree char *name = keyval_take_str(opts, "qom-type");
	g_autofree char *id = keyval_take_str(opts, "id");
	g_autoptr(JsonObject) given = json_object_new();
	const struct object_type *type = name ? type_find(name) : NULL;
	struct object *obj;
	void *self;
	int ret;

	if (!name) {
		error_set(err, "Parameter 'qom-type' is missing");
		return -EINVAL;
	}
	if (!type) {
		g_autofree char *known = g_strjoinv(", ", (char **)objects_types());

		error_set(err, "object type '%s' is not supported; there are: %s", name, known);
		return -EINVAL;
	}
	ret = check_id(o, id, err);
	if (ret)
		return ret;
	keyval_merge(given, opts);
	self = type->create(o->e, name, id, opts, err);
	if (!self)
		return -EINVAL;
	obj = g_new0(struct object, 1);
	obj->type = type;
	obj->id = g_steal_pointer(&id);
	obj->given = g_steal_pointer(&given);
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
	if ((obj->type->in_use && obj->type->in_use(obj->self)) ||
	    (o->e->machine && device_linked_to(o->e->machine, id))) {
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

const char *objects_type(struct objects *o, const char *id)
{
	struct object *obj = find(o, id);

	return obj ? obj->type->name : NULL;
}

/* A text as the JSON value that a property's type wants; both were checked at creation. */
static JsonNode *value_node(const struct object_prop *p, const char *text)
{
	JsonNode *node = json_node_alloc();
	u64 size = 0;

	if (!strcmp(p->type, "bool"))
		return json_node_init_boolean(node, text[0] == 'y' || text[0] == 't' ||
							    !strcmp(text, "on"));
	if (strcmp(p->type, "int"))
		return json_node_init_string(node, text);
	size_parse(text, 'B', &size);
	return json_node_init_int(node, (s64)size);
}

JsonNode *objects_get(struct objects *o, const char *id, const char *prop)
{
	struct object *obj = find(o, id);

	for (const struct object_prop *p = obj ? obj->type->props : no_props; p->name; p++) {
		const char *text;

		if (strcmp(p->name, prop))
			continue;
		text = keyval_str(obj->given, prop) ?: p->default_text;
		return value_node(p, text ?: "");
	}
	return NULL;
}

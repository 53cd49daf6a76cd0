/* system/qom-tree.c - objects by path, and their properties: qom-list, qom-get, qom-set. */
#include "qom.h"

#include "accel/vcpu.h"
#include "chardev/char.h"
#include "objects.h"
#include "qapi/gen/qom.h"
#include "util/error.h"

#define OBJECTS  "/objects"
#define CHARDEVS "/chardevs"

/* ---- Making answers ---- */

static void add(const char *name, const char *type, void *opaque)
{
	struct qapi_object_property_info *info = g_new0(struct qapi_object_property_info, 1);

	info->name = g_strdup(name);
	info->type = g_strdup(type);
	g_ptr_array_add(opaque, info);
}

static JsonNode *text_node(const char *text)
{
	return json_node_init_string(json_node_alloc(), text ?: "");
}

static JsonNode *bool_node(bool value)
{
	return json_node_init_boolean(json_node_alloc(), value);
}

static JsonNode *no_property(const char *path, const char *prop, GError **err)
{
	error_set(err, "Property '%s' not found at '%s', qom-list shows what is there", prop, path);
	return NULL;
}

/* ---- What lies at a path ---- */

/* The name behind "FOLDER/", or NULL. */
static const char *below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !strncmp(path, folder, n) && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static struct vcpu *cpu_at(struct machine *m, const char *path)
{
	for (int i = 0; i < m->vm->ncpus; i++) {
		g_autofree char *own = machine_cpu_path(i);

		if (!strcmp(own, path))
			return m->vm->cpus[i];
	}
	return NULL;
}

static struct chardev *chardev_at(const char *path)
{
	const char *id = below(path, CHARDEVS);

	return id ? chardev_find(id) : NULL;
}

static const char *object_at(struct emulator *e, const char *path)
{
	const char *id = below(path, OBJECTS);

	return id && objects_type(e->objects, id) ? id : NULL;
}

/* ---- vCPUs ---- */

static void list_feature(void *opaque, const char *name, bool on, bool unavailable)
{
	add(name, "bool", opaque);
}

static void list_value(void *opaque, const char *name, u64 number, const char *text)
{
	add(name, text ? "string" : "int", opaque);
}

static int list_cpu(GPtrArray *list, struct machine *m, GError **err)
{
	const struct cpu_visitor v = { list_feature, list_value, list };

	add("type", "string", list);
	add("realized", "bool", list);
	add("hotplugged", "bool", list);
	if (target_desc.cpu_lists_unavailable)
		add("unavailable-features", "strList", list);
	return target_desc.cpu_expand(m, machine_cpu_model(m), &v, err);
}

struct cpu_query {
	const char *prop;
	JsonNode *found;
	JsonArray *unavailable;
};

static void match_feature(void *opaque, const char *name, bool on, bool unavailable)
{
	struct cpu_query *q = opaque;

	if (unavailable)
		json_array_add_string_element(q->unavailable, name);
	if (!q->found && !strcmp(q->prop, name))
		q->found = bool_node(on);
}

static void match_value(void *opaque, const char *name, u64 number, const char *text)
{
	struct cpu_query *q = opaque;

	if (!q->found && !strcmp(q->prop, name))
		q->found =
			text ? text_node(text) : json_node_init_int(json_node_alloc(), (s64)number);
}

static JsonNode *get_cpu(struct machine *m, const char *path, const char *prop, GError **err)
{
	struct cpu_query q = { .prop = prop };
	const struct cpu_visitor v = { match_feature, match_value, &q };

	if (!strcmp(prop, "type")) {
		g_autofree char *type = machine_cpu_type(m);

		return text_node(type);
	}
	if (!strcmp(prop, "realized") || !strcmp(prop, "hotplugged"))
		return bool_node(prop[0] == 'r');
	q.unavailable = json_array_new();
	if (!target_desc.cpu_expand(m, machine_cpu_model(m), &v, err)) {
		if (!strcmp(prop, "unavailable-features") && target_desc.cpu_lists_unavailable)
			q.found = json_node_init_array(json_node_alloc(), q.unavailable);
		else if (!q.found)
			no_property(path, prop, err);
	}
	json_array_unref(q.unavailable);
	return q.found;
}

/* ---- Objects and character devices ---- */

static void list_object(const char *id, const char *type, void *object, void *opaque)
{
	g_autofree char *child = g_strdup_printf("child<%s>", type);

	add(id, child, opaque);
}

static void list_chardev(const char *id, const char *filename, bool open, void *opaque)
{
	g_autofree char *child =
		g_strdup_printf("child<chardev-%s>", chardev_type_name(chardev_find(id)));

	add(id, child, opaque);
}

static void list_object_props(GPtrArray *list, struct emulator *e, const char *id)
{
	add("type", "string", list);
	for (const struct object_prop *p = objects_props(objects_type(e->objects, id)); p->name;
	     p++)
		add(p->name, p->type, list);
}

static JsonNode *get_chardev(struct chardev *c, const char *path, const char *prop, GError **err)
{
	if (!strcmp(prop, "type")) {
		g_autofree char *type = g_strconcat("chardev-", chardev_type_name(c), NULL);

		return text_node(type);
	}
	return no_property(path, prop, err);
}

static JsonNode *get_object(struct emulator *e, const char *id, const char *path, const char *prop,
			    GError **err)
{
	JsonNode *node;

	if (!strcmp(prop, "type"))
		return text_node(objects_type(e->objects, id));
	node = objects_get(e->objects, id, prop);
	return node ?: no_property(path, prop, err);
}

/* ---- The commands ---- */

GPtrArray *qom_list(struct emulator *e, const char *path, GError **err)
{
	GPtrArray *list = qapi_object_property_info_list_new();
	const char *id = object_at(e, path);
	int ret = 0;

	if (cpu_at(e->machine, path)) {
		ret = list_cpu(list, e->machine, err);
	} else if (!strcmp(path, OBJECTS)) {
		add("type", "string", list);
		objects_foreach(e->objects, list_object, list);
	} else if (!strcmp(path, CHARDEVS)) {
		add("type", "string", list);
		chardev_foreach(list_chardev, list);
	} else if (id) {
		list_object_props(list, e, id);
	} else if (chardev_at(path)) {
		add("type", "string", list);
	} else {
		ret = device_tree_list(e->machine, path, add, list, err);
		if (!ret && !strcmp(path, "/")) {
			add("objects", "child<container>", list);
			add("chardevs", "child<container>", list);
		}
	}
	if (ret)
		g_clear_pointer(&list, g_ptr_array_unref);
	return list;
}

JsonNode *qom_get(struct emulator *e, const char *path, const char *prop, GError **err)
{
	const char *id = object_at(e, path);

	if (cpu_at(e->machine, path))
		return get_cpu(e->machine, path, prop, err);
	if (id)
		return get_object(e, id, path, prop, err);
	if (chardev_at(path))
		return get_chardev(chardev_at(path), path, prop, err);
	if (!strcmp(path, OBJECTS) || !strcmp(path, CHARDEVS))
		return strcmp(prop, "type") ? no_property(path, prop, err) : text_node("container");
	return device_tree_get(e->machine, path, prop, err);
}

int qom_set(struct emulator *e, const char *path, const char *prop, JsonNode *value, GError **err)
{
	g_autoptr(JsonNode) old = qom_get(e, path, prop, err);

	if (!old)
		return -ENOENT;
	return device_tree_set(e->machine, path, prop, value, err);
}

/* hw/core/device-tree.c - the devices of a machine as a tree: paths, qom-list, info qtree. */
#include "hw/core/core.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"

static const char peripheral[] = "/machine/peripheral";
static const char anonymous[] = "/machine/peripheral-anon";
static const char unattached[] = "/machine/unattached";

#define INNER_NAME "virtio-backend" /* the only kind of inner device that QEMU has */

/* Not of an inner device, which is in none. */
static const char *folder(const struct device *dev)
{
	if (dev->outer)
		return "";
	if (dev->id)
		return peripheral;
	return dev->user_created ? anonymous : unattached;
}

/* Name of a device in its folder; those without id are counted in order of creation. */
static char *leaf_name(const struct device *dev)
{
	/* The vCPUs are the first without a parent. */
	unsigned n = folder(dev) == unattached ? dev->machine->vm->ncpus : 0;

	if (dev->id)
		return g_strdup(dev->id);
	for (GList *l = dev->link.prev; l; l = l->prev)
		n += folder(l->data) == folder(dev);
	return g_strdup_printf("device[%u]", n);
}

char *device_path(const struct device *dev)
{
	g_autofree char *leaf = NULL;

	if (dev->outer) {
		g_autofree char *outer = device_path(dev->outer);

		return g_strdup_printf("%s/%s", outer, INNER_NAME);
	}
	leaf = leaf_name(dev);
	return g_strdup_printf("%s/%s", folder(dev), leaf);
}

struct device *device_find(struct machine *m, const char *id)
{
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;
		g_autofree char *path = NULL;

		if (!g_strcmp0(dev->id, id))
			return dev;
		if (*id != '/')
			continue;
		path = device_path(dev);
		if (!strcmp(path, id))
			return dev;
	}
	return NULL;
}

struct device *device_linked_to(struct machine *m, const char *id)
{
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		for (const struct property *p = dev->type->props; p && p->name; p++)
			if (p->type == PROP_LINK &&
			    !g_strcmp0(g_hash_table_lookup(dev->given, p->name), id))
				return dev->outer ?: dev;
	}
	return NULL;
}

char *machine_cpu_path(int index)
{
	return g_strdup_printf("%s/device[%d]", unattached, index);
}

typedef void tree_fn(const char *name, const char *type, void *opaque);

static void list_props(const struct property *props, tree_fn *fn, void *opaque)
{
	for (const struct property *p = props; p && p->name; p++)
		fn(p->name, property_type_name(p), opaque);
}

static void list_cpus(struct machine *m, tree_fn *fn, void *opaque)
{
	g_autofree char *cpu_type = machine_cpu_type(m);
	g_autofree char *type = g_strdup_printf("child<%s>", cpu_type);

	for (int i = 0; i < m->vm->ncpus; i++) {
		g_autofree char *path = machine_cpu_path(i);

		fn(path + sizeof(unattached), type, opaque);
	}
}

static void list_folder(struct machine *m, const char *path, tree_fn *fn, void *opaque)
{
	fn("type", "string", opaque);
	if (!strcmp(path, unattached))
		list_cpus(m, fn, opaque);
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;
		g_autofree char *leaf = NULL, *type = NULL;

		if (strcmp(folder(dev), path))
			continue;
		leaf = leaf_name(dev);
		type = g_strdup_printf("child<%s>", dev->type->name);
		fn(leaf, type, opaque);
	}
}

static bool is_folder(const char *path)
{
	return !strcmp(path, peripheral) || !strcmp(path, anonymous) || !strcmp(path, unattached);
}

static void list_machine(struct machine *m, tree_fn *fn, void *opaque)
{
	fn("type", "string", opaque);
	list_props(machine_common_props(), fn, opaque);
	list_props(m->type->props, fn, opaque);
	fn("peripheral", "child<container>", opaque);
	fn("peripheral-anon", "child<container>", opaque);
	fn("unattached", "child<container>", opaque);
}

static void list_own(struct device *dev, tree_fn *fn, void *opaque)
{
	list_props(dev->type->props, fn, opaque);
	for (const struct device_value *v = dev->type->values; v && v->name; v++)
		fn(v->name, v->type, opaque);
}

static void list_device(struct device *dev, tree_fn *fn, void *opaque)
{
	fn("type", "string", opaque);
	fn("parent_bus", "link<bus>", opaque);
	fn("realized", "bool", opaque);
	list_own(dev, fn, opaque);
	if (dev->inner) {
		g_autofree char *type = g_strdup_printf("child<%s>", dev->inner->type->name);

		list_own(dev->inner, fn, opaque);
		fn(INNER_NAME, type, opaque);
	}
}

static struct device *find_device(struct machine *m, const char *path, GError **err)
{
	struct device *dev = device_find(m, path);

	if (!dev)
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND, "Device '%s' not found",
			    path);
	return dev;
}

int device_tree_list(struct machine *m, const char *path, tree_fn *fn, void *opaque, GError **err)
{
	struct device *dev;

	if (!strcmp(path, "/")) {
		g_autofree char *type = g_strdup_printf("child<%s-machine>", m->type->name);

		fn("type", "string", opaque);
		fn("machine", type, opaque);
		return 0;
	}
	if (!strcmp(path, "/machine")) {
		list_machine(m, fn, opaque);
		return 0;
	}
	if (is_folder(path)) {
		list_folder(m, path, fn, opaque);
		return 0;
	}
	dev = find_device(m, path, err);
	if (!dev)
		return -ENOENT;
	list_device(dev, fn, opaque);
	return 0;
}

/* ---- Values ---- */

static JsonNode *text_node(const char *text)
{
	return json_node_init_string(json_node_alloc(), text ?: "");
}

static JsonNode *get_of_machine(struct machine *m, const char *prop, GError **err)
{
	const struct property *p = machine_find_prop(m, prop);

	if (!strcmp(prop, "type")) {
		g_autofree char *type = g_strdup_printf("%s-machine", m->type->name);

		return text_node(type);
	}
	if (p)
		return property_get(m, p) ?: text_node(NULL);
	error_set(err, "Property '%s-machine.%s' not found", m->type->name, prop);
	return NULL;
}

/* @dev: in: the device; out: the one that has the value, itself or the one inside. */
static const struct device_value *find_value(struct device **dev, const char *name)
{
	for (struct device *d = *dev; d; d = d->inner) {
		for (const struct device_value *v = d->type->values; v && v->name; v++) {
			if (!strcmp(v->name, name)) {
				*dev = d;
				return v;
			}
		}
	}
	return NULL;
}

JsonNode *device_tree_get(struct machine *m, const char *path, const char *prop, GError **err)
{
	const struct device_value *v;
	struct device *dev;

	if (!strcmp(path, "/machine"))
		return get_of_machine(m, prop, err);
	if ((!strcmp(path, "/") || is_folder(path)) && !strcmp(prop, "type"))
		return text_node("container");
	dev = find_device(m, path, err);
	if (!dev)
		return NULL;
	if (!strcmp(prop, "type"))
		return text_node(dev->type->name);
	if (!strcmp(prop, "realized"))
		return json_node_init_boolean(json_node_alloc(), dev->realized);
	if (!strcmp(prop, "parent_bus"))
		return text_node(dev->on_bus ? dev->on_bus->name : NULL);
	v = find_value(&dev, prop);
	return v ? v->get(dev) : device_get(dev, prop, err);
}

int device_tree_set(struct machine *m, const char *path, const char *prop, JsonNode *value,
		    GError **err)
{
	struct device *dev = device_find(m, path);
	const struct device_value *v = dev ? find_value(&dev, prop) : NULL;

	if (v && v->set)
		return v->set(dev, value, err);
	error_set(err, "Property '%s' of '%s' cannot be set once the machine runs", prop, path);
	return -EPERM;
}

/* ---- info qtree ---- */

static void bus_text(struct machine *m, struct bus *bus, int indent, GString *s);

static char *value_text(struct device *dev, const struct property *p)
{
	g_autoptr(JsonNode) node = device_get(dev, p->name, NULL);

	if (json_node_get_value_type(node) == G_TYPE_INT64) {
		s64 v = json_node_get_int(node);

		return g_strdup_printf("%" PRId64 " (0x%" PRIx64 ")", v, v);
	}
	return json_to_string(node, FALSE);
}

static void device_text(struct device *dev, int indent, GString *s)
{
	g_string_append_printf(s, "%*sdev: %s, id \"%s\"\n", indent, "", dev->type->name,
			       dev->id ?: "");
	for (const struct property *p = dev->type->props; p && p->name; p++) {
		g_autofree char *value = value_text(dev, p);

		g_string_append_printf(s, "%*s%s = %s\n", indent + 2, "", p->name, value);
	}
	if (dev->bus)
		bus_text(dev->machine, dev->bus, indent + 2, s);
}

static void bus_text(struct machine *m, struct bus *bus, int indent, GString *s)
{
	g_string_append_printf(s, "%*sbus: %s\n", indent, "", bus->name);
	g_string_append_printf(s, "%*stype %s\n", indent + 2, "", bus->type);
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (dev->on_bus == bus)
			device_text(dev, indent + 2, s);
	}
}

char *device_tree_text(struct machine *m)
{
	GString *s = g_string_new(NULL);

	for (GList *l = m->buses.head; l; l = l->next) {
		struct bus *bus = l->data;

		if (!bus->provider)
			bus_text(m, bus, 0, s);
	}
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (!dev->on_bus)
			device_text(dev, 0, s);
	}
	return g_string_free(s, FALSE);
}

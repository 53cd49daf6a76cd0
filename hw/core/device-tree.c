/* hw/core/device-tree.c - the devices of a machine as a tree: paths, qom-list, info qtree. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "util/error.h"

#define PERIPHERAL "/machine/peripheral"
#define ANONYMOUS  "/machine/peripheral-anon"
#define UNATTACHED "/machine/unattached"

static const char *folder(const struct device *dev)
{
	if (dev->id)
		return PERIPHERAL;
	return dev->user_created ? ANONYMOUS : UNATTACHED;
}

/* Name of a device in its folder; those without id are counted in order of creation. */
static char *leaf_name(const struct device *dev)
{
	unsigned n = 0;

	if (dev->id)
		return g_strdup(dev->id);
	for (GList *l = dev->link.prev; l; l = l->prev)
		n += folder(l->data) == folder(dev);
	return g_strdup_printf("device[%u]", n);
}

char *device_path(const struct device *dev)
{
	g_autofree char *leaf = leaf_name(dev);

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

typedef void tree_fn(const char *name, const char *type, void *opaque);

static void list_props(const struct property *props, tree_fn *fn, void *opaque)
{
	for (const struct property *p = props; p && p->name; p++)
		fn(p->name, property_type_name(p), opaque);
}

static void list_folder(struct machine *m, const char *path, tree_fn *fn, void *opaque)
{
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

int device_tree_list(struct machine *m, const char *path, tree_fn *fn, void *opaque, GError **err)
{
	struct device *dev;

	if (!strcmp(path, "/")) {
		g_autofree char *type = g_strdup_printf("child<%s-machine>", m->type->name);

		fn("machine", type, opaque);
		return 0;
	}
	if (!strcmp(path, "/machine")) {
		fn("type", "string", opaque);
		list_props(m->type->props, fn, opaque);
		fn("peripheral", "child<container>", opaque);
		fn("peripheral-anon", "child<container>", opaque);
		fn("unattached", "child<container>", opaque);
		return 0;
	}
	if (!strcmp(path, PERIPHERAL) || !strcmp(path, ANONYMOUS) || !strcmp(path, UNATTACHED)) {
		list_folder(m, path, fn, opaque);
		return 0;
	}
	dev = device_find(m, path);
	if (!dev) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND, "Device '%s' not found",
			    path);
		return -ENOENT;
	}
	fn("type", "string", opaque);
	fn("realized", "bool", opaque);
	list_props(dev->type->props, fn, opaque);
	return 0;
}

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
	return g_string_free(s, FALSE);
}

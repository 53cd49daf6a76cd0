/* hw/core/device-add.c - devices by option and by command: -device, device_add, device_del. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "util/error.h"
#include "util/keyval.h"

/*
 * The type that @driver means on this machine: by name, or among the types with that alias the
 * first whose bus the machine has (the first of all if none fits, for the message that follows).
 */
static const struct device_type *resolve_driver(struct machine *m, const char *driver)
{
	const struct device_type *t = device_type_find(m->target, driver), *any = NULL;

	for (int i = 0; !t && m->target->devices[i]; i++) {
		for (int j = 0; m->target->devices[i][j]; j++) {
			const struct device_type *c = m->target->devices[i][j];

			if (g_strcmp0(c->alias, driver))
				continue;
			any = any ?: c;
			if (c->bus && bus_type_exists(m, c->bus))
				return c;
		}
	}
	return t ?: any;
}

/* For displays of PCs, and what needs the host's graphics card. */
static const char *instead_of(const char *driver)
{
	static const char *const displays[] = { "VGA",
						"bochs-display",
						"cirrus-vga",
						"qxl",
						"qxl-vga",
						"secondary-vga",
						"virtio-gpu-gl-pci",
						"virtio-gpu-gl-device",
						"virtio-vga",
						"virtio-vga-gl",
						"vhost-user-gpu",
						"vhost-user-vga",
						"vmware-svga",
						"virtio-gpu-rutabaga-pci",
						NULL };

	return g_strv_contains(displays, driver) ? "use virtio-gpu-pci or ramfb" : NULL;
}

static const struct device_type *wanted_type(struct machine *m, JsonObject *opts, GError **err)
{
	const char *driver = keyval_str(opts, "driver");
	const struct device_type *t;

	if (!driver || !*driver) {
		error_set(err, "-device needs a driver name, -device help lists them");
		return NULL;
	}
	t = resolve_driver(m, driver);
	if (!t) {
		error_set(err, "'%s' is not a valid device model name, %s", driver,
			  instead_of(driver) ?: "-device help lists them");
		return NULL;
	}
	if (!t->user_creatable) {
		error_set(err, "Device '%s' belongs to the machine and cannot be added by the user",
			  t->name);
		return NULL;
	}
	return t;
}

static int wanted_bus(struct machine *m, JsonObject *opts, struct bus **bus, GError **err)
{
	const char *name = keyval_str(opts, "bus");

	*bus = NULL;
	if (!name)
		return 0;
	*bus = bus_find(m, name);
	if (*bus)
		return 0;
	error_set(err, "Bus '%s' not found, info qtree shows the buses of the machine", name);
	return -ENODEV;
}

static int check_hotplug(struct machine *m, const struct device_type *t, struct bus *bus,
			 GError **err)
{
	if (!m->complete || !t->bus)
		return 0;
	bus = bus ?: bus_find_free(m, t->bus);
	if (!bus || bus->hotplug)
		return 0;
	error_set(
		err,
		"Bus '%s' does not support hotplugging, start the machine with -device %s instead",
		bus->name, t->name);
	return -EBUSY;
}

static int set_all(struct device *dev, JsonObject *opts, GError **err)
{
	JsonObjectIter it;
	const char *name;
	JsonNode *value;

	json_object_iter_init_ordered(&it, opts);
	while (json_object_iter_next_ordered(&it, &name, &value)) {
		if (!strcmp(name, "driver") || !strcmp(name, "id") || !strcmp(name, "bus"))
			continue;
		if (device_set_json(dev, name, value, err))
			return -EINVAL;
	}
	return 0;
}

struct device *device_add(struct machine *m, JsonObject *opts, GError **err)
{
	const struct device_type *t = wanted_type(m, opts, err);
	struct device *dev;
	struct bus *bus;

	if (!t || wanted_bus(m, opts, &bus, err) || check_hotplug(m, t, bus, err))
		return NULL;
	dev = device_create(m, t->name, keyval_str(opts, "id"), err);
	if (!dev)
		return NULL;
	dev->user_created = true;
	if (set_all(dev, opts, err) || device_realize(dev, bus, err)) {
		device_destroy(dev);
		return NULL;
	}
	if (m->complete && dev->inner && t->inner->reset)
		t->inner->reset(dev->inner);
	if (m->complete && t->reset)
		t->reset(dev);
	if (m->complete && dev->parent && dev->parent->type->child_plugged)
		dev->parent->type->child_plugged(dev->parent, dev);
	return dev;
}

void device_unplug(struct device *dev)
{
	struct machine *m = dev->machine;
	g_autofree char *name = g_strdup(dev->id), *path = device_path(dev);

	device_destroy(dev);
	if (m->host && m->host->device_deleted)
		m->host->device_deleted(m->host->opaque, name, path);
}

int device_del(struct machine *m, const char *id, GError **err)
{
	struct device *dev = device_find(m, id);

	if (!dev) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND, "Device '%s' not found",
			    id);
		return -ENOENT;
	}
	if (!dev->user_created) {
		error_set(err, "Device '%s' belongs to the machine and cannot be removed", id);
		return -EBUSY;
	}
	if (dev->on_bus && !dev->on_bus->hotplug) {
		error_set(err, "Bus '%s' does not support hotplugging", dev->on_bus->name);
		return -EBUSY;
	}
	if (dev->parent && dev->parent->type->unplug_request)
		return dev->parent->type->unplug_request(dev->parent, dev, err);
	device_unplug(dev);
	return 0;
}

/* hw/core/device.c - life of a device: create, set, realize, destroy. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "migration/state.h"
#include "util/error.h"

static bool id_is_wellformed(const char *id)
{
	if (!g_ascii_isalpha(*id))
		return false;
	for (; *id; id++)
		if (!g_ascii_isalnum(*id) && !strchr("-._", *id))
			return false;
	return true;
}

static int check_id(struct machine *m, const char *id, GError **err)
{
	if (!id_is_wellformed(id)) {
		error_set(err,
			  "device id '%s' is malformed: a letter, then letters, digits, '-', '.', "
			  "'_'",
			  id);
		return -EINVAL;
	}
	if (device_find(m, id)) {
		error_set(err, "Duplicate device ID '%s'", id);
		return -EINVAL;
	}
	return 0;
}

static void device_free(struct device *dev)
{
	if (dev->inner)
		device_free(dev->inner);
	if (dev->outer)
		dev->outer->inner = NULL;
	properties_free(dev, dev->type->props);
	g_queue_unlink(&dev->machine->devices, &dev->link);
	g_hash_table_unref(dev->given);
	g_free(dev->id);
	g_free(dev);
}

/* An instance with its defaults, and with the one inside. */
static struct device *instantiate(struct machine *m, const struct device_type *t, const char *id)
{
	struct device *dev;

	assert(t->instance_size >= sizeof(struct device));
	dev = g_malloc0(t->instance_size);
	dev->type = t;
	dev->machine = m;
	dev->id = g_strdup(id);
	dev->given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	dev->link.data = dev;
	g_queue_push_tail_link(&m->devices, &dev->link);
	properties_init(dev, t->props);
	if (t->inner) {
		dev->inner = instantiate(m, t->inner, NULL);
		dev->inner->outer = dev;
	}
	return dev;
}

struct device *device_create(struct machine *m, const char *type_name, const char *id, GError **err)
{
	const struct device_type *t = device_type_find(m->target, type_name);
	struct device *dev;

	if (!t) {
		error_set(err, "'%s' is not a valid device model name, -device help lists them",
			  type_name);
		return NULL;
	}
	if (id && check_id(m, id, err))
		return NULL;

	dev = instantiate(m, t, id);
	if ((dev->inner && globals_apply(m, dev->inner, err)) || globals_apply(m, dev, err)) {
		device_free(dev);
		return NULL;
	}
	return dev;
}

const char *device_user_id(const struct device *dev)
{
	return dev->outer ? dev->outer->id : dev->id;
}

const struct property *device_type_prop(const struct device_type *t, const char *name)
{
	const struct property *p = property_find(t->props, name);

	return !p && t->inner ? property_find(t->inner->props, name) : p;
}

char *device_type_prop_names(const struct device_type *t)
{
	g_autofree char *own = properties_names(t->props);
	g_autofree char *inner = t->inner ? properties_names(t->inner->props) : NULL;

	return inner ? g_strdup_printf("%s, %s", own, inner) : g_steal_pointer(&own);
}

/* @dev: in: the device; out: the one that has the property, itself or the one inside. */
static const struct property *find_prop(struct device **dev, const char *name, GError **err)
{
	const struct device_type *t = (*dev)->type;
	const struct property *p = property_find(t->props, name);
	g_autofree char *names = NULL;

	if (p)
		return p;
	p = device_type_prop(t, name);
	if (p) {
		*dev = (*dev)->inner;
		return p;
	}
	names = device_type_prop_names(t);
	error_set(err, "Property '%s.%s' not found, %s has: %s", t->name, name, t->name, names);
	return NULL;
}

int device_set_json(struct device *dev, const char *prop, JsonNode *value, GError **err)
{
	const struct prop_owner owner = { dev->type->name, dev->machine->host };
	const struct property *p = find_prop(&dev, prop, err);
	int ret;

	assert(!dev->realized);
	if (!p)
		return -EINVAL;
	ret = property_set(dev, p, &owner, value, err);
	if (!ret)
		g_hash_table_replace(dev->given, g_strdup(prop),
				     property_is_link(p) ? json_node_dup_string(value) : NULL);
	return ret;
}

int device_set(struct device *dev, const char *prop, const char *text, GError **err)
{
	g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), text);

	return device_set_json(dev, prop, node, err);
}

int device_set_u64(struct device *dev, const char *prop, u64 value, GError **err)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64, value);

	return device_set(dev, prop, text, err);
}

bool device_given(const struct device *dev, const char *prop)
{
	return g_hash_table_contains(dev->given, prop) ||
	       (dev->inner && g_hash_table_contains(dev->inner->given, prop));
}

JsonNode *device_get(struct device *dev, const char *prop, GError **err)
{
	const struct property *p = find_prop(&dev, prop, err);
	JsonNode *node;
	const char *id;

	if (!p)
		return NULL;
	node = property_get(dev, p);
	if (node)
		return node;
	id = g_hash_table_lookup(dev->given, prop);
	return json_node_init_string(json_node_alloc(), id ?: "");
}

/* Put on a bus; NULL with @err if it cannot sit there. */
static struct bus *choose_bus(struct device *dev, struct bus *bus, GError **err)
{
	struct machine *m = dev->machine;
	const char *want = dev->type->bus;
	g_autofree char *have = NULL;

	if (bus && strcmp(bus->type, want)) {
		error_set(err, "Device '%s' can't go on %s bus '%s', it needs a %s bus",
			  dev->type->name, bus->type, bus->name, want);
		return NULL;
	}
	if (bus && bus_is_full(bus)) {
		error_set(err, "Bus '%s' is full, it takes %u device(s)", bus->name, bus->slots);
		return NULL;
	}
	bus = bus ?: bus_find_free(m, want);
	if (bus)
		return bus;
	if (bus_type_exists(m, want)) {
		error_set(err, "No free '%s' bus found for device '%s': all are full", want,
			  dev->type->name);
		return NULL;
	}
	have = bus_types(m);
	error_set(err, "No '%s' bus found for device '%s': machine %s has %s", want,
		  dev->type->name, m->type->name, have);
	return NULL;
}

static void leave_bus(struct device *dev)
{
	if (dev->on_bus)
		dev->on_bus->used--;
	dev->on_bus = NULL;
	dev->parent = NULL;
}

static void register_state(struct device *dev)
{
	const struct device_type *t = dev->type;
	const char *name = t->state_idstr ?: t->state->name;
	const struct device *provider = dev->parent;
	g_autofree char *path = NULL;
	g_autofree char *idstr = NULL;

	if (t->state_path)
		path = t->state_path(dev);
	else if (provider && provider->type->bus_path)
		path = provider->type->bus_path(provider);
	idstr = path ? g_strdup_printf("%s/%s", path, name) : g_strdup(name);
	state_register(dev->machine->registry, idstr, -1, t->state, dev);
}

int device_realize(struct device *dev, struct bus *bus, GError **err)
{
	const struct device_type *t = dev->type;
	int ret = 0;

	assert(!dev->realized);
	if (t->bus) {
		bus = choose_bus(dev, bus, err);
		if (!bus)
			return -ENODEV;
		bus->used++;
		dev->on_bus = bus;
		dev->parent = bus->provider;
	}
	if (t->provides_bus)
		bus_provide(dev);
	if (t->realize)
		ret = t->realize(dev, err);
	if (ret) {
		bus_destroy(dev->machine, dev->bus);
		dev->bus = NULL;
		leave_bus(dev);
		return ret;
	}
	dev->realized = true;
	if (t->state && dev->machine->registry)
		register_state(dev);
	return 0;
}

static void destroy_children(struct device *dev)
{
	struct device *child;

	while (dev->bus && (child = bus_child(dev->bus)))
		device_destroy(child);
}

void device_destroy(struct device *dev)
{
	const struct device_type *t;

	if (!dev)
		return;
	t = dev->type;
	destroy_children(dev);
	if (dev->realized) {
		if (t->state && dev->machine->registry)
			state_unregister(dev->machine->registry, t->state, dev);
		if (t->unrealize)
			t->unrealize(dev);
	}
	bus_destroy(dev->machine, dev->bus);
	leave_bus(dev);
	device_free(dev);
}

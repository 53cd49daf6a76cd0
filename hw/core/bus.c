/* hw/core/bus.c - buses and who sits on them. */
#include "hw/core/core.h"

#include "hw/machine.h"

/* Takes @name. */
static struct bus *bus_create(struct machine *m, const char *type, char *name)
{
	struct bus *bus = g_new0(struct bus, 1);

	bus->type = g_strdup(type);
	bus->name = name;
	bus->link.data = bus;
	g_queue_push_tail_link(&m->buses, &bus->link);
	return bus;
}

void bus_destroy(struct machine *m, struct bus *bus)
{
	if (!bus)
		return;
	assert(!bus->used);
	g_queue_unlink(&m->buses, &bus->link);
	g_free(bus->type);
	g_free(bus->name);
	g_free(bus);
}

struct bus *bus_add(struct machine *m, const char *type, const char *name)
{
	return bus_create(m, type, g_strdup(name ?: type));
}

/* First "PREFIX.N" that no bus has. */
static char *numbered_name(struct machine *m, const char *prefix)
{
	for (unsigned n = 0;; n++) {
		char *name = g_strdup_printf("%s.%u", prefix, n);

		if (!bus_find(m, name))
			return name;
		g_free(name);
	}
}

void bus_provide(struct device *dev)
{
	const struct device_type *t = dev->type;
	const char *id = device_user_id(dev);
	struct bus *bus;
	char *name;

	if (t->bus_named_by_id && id)
		name = g_strdup(id);
	else if (!t->bus_name && id)
		name = g_strdup_printf("%s.0", id);
	else
		name = numbered_name(dev->machine, t->bus_name ?: t->provides_bus);
	bus = bus_create(dev->machine, t->provides_bus, name);
	bus->provider = dev;
	bus->slots = t->bus_slots;
	bus->hotplug = t->bus_hotplug;
	dev->bus = bus;
}

struct bus *bus_find(struct machine *m, const char *name)
{
	for (GList *l = m->buses.head; l; l = l->next) {
		struct bus *bus = l->data;

		if (!strcmp(bus->name, name))
			return bus;
	}
	return NULL;
}

bool bus_is_full(const struct bus *bus)
{
	return bus->slots && bus->used >= bus->slots;
}

struct bus *bus_find_free(struct machine *m, const char *type)
{
	struct bus *best = NULL;

	for (GList *l = m->buses.head; l; l = l->next) {
		struct bus *bus = l->data;

		if (!strcmp(bus->type, type) && !bus_is_full(bus) &&
		    (!best || bus->rank < best->rank))
			best = bus;
	}
	return best;
}

bool bus_type_exists(struct machine *m, const char *type)
{
	for (GList *l = m->buses.head; l; l = l->next)
		if (!strcmp(((struct bus *)l->data)->type, type))
			return true;
	return false;
}

char *bus_types(struct machine *m)
{
	g_autoptr(GPtrArray) types = g_ptr_array_new();

	for (GList *l = m->buses.head; l; l = l->next) {
		struct bus *bus = l->data;

		if (!g_ptr_array_find_with_equal_func(types, bus->type, g_str_equal, NULL))
			g_ptr_array_add(types, bus->type);
	}
	if (!types->len)
		return g_strdup("none");
	g_ptr_array_add(types, NULL);
	return g_strjoinv(", ", (char **)types->pdata);
}

struct device *bus_child(const struct bus *bus)
{
	struct machine *m = bus->provider ? bus->provider->machine : NULL;

	for (GList *l = m ? m->devices.head : NULL; l; l = l->next) {
		struct device *dev = l->data;

		if (dev->on_bus == bus)
			return dev;
	}
	return NULL;
}

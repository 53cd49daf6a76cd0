/* system/qom-types.c - the types that qom-list-types shows, and their properties. */
#include "qom.h"

#include "chardev/char.h"
#include "objects.h"
#include "qapi/gen/qom.h"
#include "util/error.h"

#define MACHINE_SUFFIX "-machine"
#define ACCEL_SUFFIX   "-accel"
#define CHARDEV_PREFIX "chardev-"

struct visit {
	qom_type_fn *fn;
	void *opaque;
};

static void visit_device(const struct device_type *t, void *opaque)
{
	struct visit *v = opaque;

	v->fn(t->name, "device", false, v->opaque);
}

static void visit_joined(const char *before, const char *name, const char *after,
			 const char *parent, struct visit *v)
{
	g_autofree char *full = g_strconcat(before, name, after, NULL);

	v->fn(full, parent, false, v->opaque);
}

static void visit_chardevs(struct visit *v)
{
	g_autofree const char **names = chardev_types();

	for (const char **n = names; *n; n++)
		visit_joined(CHARDEV_PREFIX, *n, "", "chardev", v);
}

static void visit_cpus(struct visit *v)
{
	const char *family = target_desc.hw->cpu_type;
	g_autofree char *suffix = g_strconcat("-", family, NULL);

	v->fn(family, "cpu", true, v->opaque);
	for (const char *const *n = target_desc.cpu_models(); *n; n++)
		visit_joined("", *n, suffix, family, v);
}

void qom_types_foreach(qom_type_fn *fn, void *opaque)
{
	struct visit v = { fn, opaque };

	fn("object", NULL, true, opaque);
	fn("container", "object", false, opaque);
	fn("device", "object", true, opaque);
	device_types_foreach(target_desc.hw, visit_device, &v);
	fn("cpu", "device", true, opaque);
	visit_cpus(&v);
	fn("machine", "object", true, opaque);
	for (const struct machine_type *const *t = target_desc.hw->machines; *t; t++)
		visit_joined("", (*t)->name, MACHINE_SUFFIX, "machine", &v);
	fn("accel", "object", true, opaque);
	for (const struct accel_ops *const *a = target_desc.accels; *a; a++)
		visit_joined("", (*a)->name, ACCEL_SUFFIX, "accel", &v);
	fn("chardev", "object", true, opaque);
	visit_chardevs(&v);
	for (const char *const *f = objects_families(); *f; f++)
		fn(*f, "object", true, opaque);
	for (const char *const *t = objects_types(); *t; t++)
		fn(*t, objects_family(*t), false, opaque);
}

/* ---- Look-up ---- */

struct search {
	const char *name;
	bool found;
	char *parent;
};

static void match(const char *name, const char *parent, bool abstract, void *opaque)
{
	struct search *s = opaque;

	if (strcmp(name, s->name))
		return;
	s->found = true;
	s->parent = g_strdup(parent);
}

bool qom_type_is(const char *type, const char *ancestor)
{
	g_autofree char *at = g_strdup(type);

	/* Types that people may create have this interface beside their parent. */
	if (!strcmp(ancestor, "user-creatable"))
		return objects_family(type) != NULL;
	while (at) {
		struct search s = { .name = at };

		if (!strcmp(at, ancestor))
			return true;
		qom_types_foreach(match, &s);
		g_free(at);
		at = s.parent;
	}
	return false;
}

/* ---- Properties ---- */

static void add(GPtrArray *list, const char *name, const char *type, const char *description,
		JsonNode *default_value)
{
	struct qapi_object_property_info *info = g_new0(struct qapi_object_property_info, 1);

	info->name = g_strdup(name);
	info->type = g_strdup(type);
	info->description = g_strdup(description);
	info->default_value = default_value;
	g_ptr_array_add(list, info);
}

/* With their defaults: what a new object of @size bytes has. */
static void add_props(GPtrArray *list, const struct property *props, size_t size)
{
	g_autofree void *fresh = g_malloc0(size);

	properties_init(fresh, props);
	for (const struct property *p = props; p && p->name; p++)
		add(list, p->name, property_type_name(p), p->help,
		    p->default_text ? property_get(fresh, p) : NULL);
	properties_free(fresh, props);
}

static void device_props(GPtrArray *list, const struct device_type *t)
{
	add_props(list, t->props, t->instance_size);
	for (const struct device_value *v = t->values; v && v->name; v++)
		add(list, v->name, v->type, v->help, NULL);
	if (t->inner)
		device_props(list, t->inner);
}

static void cpu_feature(void *opaque, const char *name, bool on, bool unavailable)
{
	add(opaque, name, "bool", NULL, NULL);
}

static void cpu_value(void *opaque, const char *name, u64 number, const char *text)
{
	add(opaque, name, text ? "string" : "int", NULL, NULL);
}

static int cpu_props(GPtrArray *list, struct emulator *e, const char *type, GError **err)
{
	g_autofree char *model =
		g_strndup(type, strlen(type) - strlen(target_desc.hw->cpu_type) - 1);
	const struct cpu_visitor v = { cpu_feature, cpu_value, list };

	if (target_desc.cpu_lists_unavailable)
		add(list, "unavailable-features", "strList", NULL, NULL);
	add(list, "realized", "bool", NULL, NULL);
	return target_desc.cpu_expand(e->machine, model, &v, err);
}

static const struct machine_type *machine_of_type(const char *type)
{
	for (const struct machine_type *const *t = target_desc.hw->machines; *t; t++)
		if (g_str_has_prefix(type, (*t)->name) &&
		    !strcmp(type + strlen((*t)->name), MACHINE_SUFFIX))
			return *t;
	return NULL;
}

static int concrete_props(GPtrArray *list, struct emulator *e, const char *type, GError **err)
{
	const struct device_type *dev = device_type_find(target_desc.hw, type);
	const struct machine_type *machine = machine_of_type(type);

	if (dev) {
		device_props(list, dev);
	} else if (machine) {
		add_props(list, machine_common_props(), machine->instance_size);
		add_props(list, machine->props, machine->instance_size);
	} else if (objects_family(type)) {
		for (const struct object_prop *p = objects_props(type); p->name; p++)
			add(list, p->name, p->type, p->help, NULL);
	} else if (strcmp(type, target_desc.hw->cpu_type) &&
		   qom_type_is(type, target_desc.hw->cpu_type)) {
		return cpu_props(list, e, type, err);
	}
	return 0;
}

GPtrArray *qom_type_props(struct emulator *e, const char *type, bool device_only, GError **err)
{
	struct search s = { .name = type };
	GPtrArray *list;

	qom_types_foreach(match, &s);
	g_free(s.parent);
	/* libvirtd 12.8 asks every x86-64 emulator for this class of machines and crashes on an
	 * error; here it has no more than what every type has. */
	if (!device_only && !strcmp(type, "generic-pc-machine") &&
	    !strcmp(target_desc.hw->cpu_type, "x86_64-cpu"))
		s.found = true;
	if (!s.found) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND, "%s '%s' not found",
			    device_only ? "Device" : "Class", type);
		return NULL;
	}
	if (device_only && !device_type_find(target_desc.hw, type)) {
		error_set(err, "Parameter 'typename' expects a device type, not '%s'", type);
		return NULL;
	}
	list = qapi_object_property_info_list_new();
	add(list, "type", "string", NULL, NULL);
	if (!concrete_props(list, e, type, err))
		return list;
	g_ptr_array_unref(list);
	return NULL;
}

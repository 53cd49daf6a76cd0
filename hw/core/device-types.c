/* hw/core/device-types.c - the device types of a target: look-up and help texts. */
#include "hw/core/core.h"

#include "hw/target.h"
#include "util/error.h"

static const char *const headings[DEVICE_CATEGORIES] = {
	[DEVICE_BRIDGE] = "Controller/Bridge/Hub",
	[DEVICE_STORAGE] = "Storage",
	[DEVICE_NETWORK] = "Network",
	[DEVICE_INPUT] = "Input",
	[DEVICE_DISPLAY] = "Display",
	[DEVICE_MISC] = "Misc",
};

static const enum device_category heading_order[DEVICE_CATEGORIES] = {
	DEVICE_BRIDGE, DEVICE_STORAGE, DEVICE_NETWORK, DEVICE_INPUT, DEVICE_DISPLAY, DEVICE_MISC,
};

const struct device_type *device_type_find(const struct hw_target *target, const char *name)
{
	for (int i = 0; target->devices[i]; i++)
		for (int j = 0; target->devices[i][j]; j++)
			if (!strcmp(target->devices[i][j]->name, name))
				return target->devices[i][j];
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct device_type *const *ta = a, *const *tb = b;

	return strcmp((*ta)->name, (*tb)->name);
}

void device_types_foreach(const struct hw_target *target,
			  void (*fn)(const struct device_type *type, void *opaque), void *opaque)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	for (int i = 0; target->devices[i]; i++)
		for (int j = 0; target->devices[i][j]; j++)
			g_ptr_array_add(list, (void *)target->devices[i][j]);
	g_ptr_array_sort(list, by_name);
	for (guint i = 0; i < list->len; i++)
		fn(list->pdata[i], opaque);
}

struct help {
	GString *text;
	enum device_category category;
	bool headed;
};

static void help_line(const struct device_type *t, void *opaque)
{
	struct help *h = opaque;

	if (!t->user_creatable || t->category != h->category)
		return;
	if (!h->headed)
		g_string_append_printf(h->text, "%s%s devices:\n", h->text->len ? "\n" : "",
				       headings[t->category]);
	h->headed = true;
	g_string_append_printf(h->text, "name \"%s\"", t->name);
	if (t->bus)
		g_string_append_printf(h->text, ", bus %s", t->bus);
	if (t->alias)
		g_string_append_printf(h->text, ", alias \"%s\"", t->alias);
	if (t->desc)
		g_string_append_printf(h->text, ", desc \"%s\"", t->desc);
	g_string_append_c(h->text, '\n');
}

char *device_types_help(const struct hw_target *target)
{
	struct help h = { .text = g_string_new(NULL) };

	for (int i = 0; i < DEVICE_CATEGORIES; i++) {
		h.category = heading_order[i];
		h.headed = false;
		device_types_foreach(target, help_line, &h);
	}
	return g_string_free(h.text, FALSE);
}

static const struct device_type *find_by_alias(const struct hw_target *target, const char *name)
{
	for (int i = 0; target->devices[i]; i++)
		for (int j = 0; target->devices[i][j]; j++)
			if (!g_strcmp0(target->devices[i][j]->alias, name))
				return target->devices[i][j];
	return NULL;
}

char *device_type_help(const struct hw_target *target, const char *name, GError **err)
{
	const struct device_type *t = device_type_find(target, name) ?: find_by_alias(target, name);
	g_autofree char *props = NULL, *inner = NULL;

	if (!t) {
		error_set(err, "'%s' is not a valid device model name, -device help lists them",
			  name);
		return NULL;
	}
	props = properties_help(t->props);
	inner = t->inner ? properties_help(t->inner->props) : g_strdup("");
	if (!*props && !*inner)
		return g_strdup_printf("There are no options for %s.\n", t->name);
	return g_strdup_printf("%s options:\n%s%s", t->name, props, inner);
}

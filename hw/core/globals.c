/* hw/core/globals.c - -global: property values for devices that are created later. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "util/error.h"

struct machine_global {
	char *driver;
	char *prop;
	char *value;
	bool used;
};

static void global_free(struct machine_global *g)
{
	g_free(g->driver);
	g_free(g->prop);
	g_free(g->value);
	g_free(g);
}

int machine_add_global(struct machine *m, const char *driver, const char *prop, const char *value,
		       GError **err)
{
	const struct device_type *t = device_type_find(m->target, driver);
	struct machine_global *g;

	if (t && !device_type_prop(t, prop)) {
		g_autofree char *names = device_type_prop_names(t);

		error_set(err, "-global %s.%s=%s: Property '%s.%s' not found, %s has: %s", driver,
			  prop, value, driver, prop, driver, names);
		return -EINVAL;
	}
	g = g_new0(struct machine_global, 1);
	g->driver = g_strdup(driver);
	g->prop = g_strdup(prop);
	g->value = g_strdup(value);
	g_ptr_array_add(m->globals, g);
	return 0;
}

/* Values of an older version of the machine, whether the user gave others or not. */
static int compat_apply(struct machine *m, struct device *dev, GError **err)
{
	for (const struct machine_compat *c = m->type->compat; c && c->property; c++) {
		bool meant = c->driver ? !strcmp(c->driver, dev->type->name)
				       : property_find(dev->type->props, c->property) != NULL;

		if (m->type->version < c->before && meant &&
		    device_set(dev, c->property, c->value, err))
			return -EINVAL;
	}
	return 0;
}

int globals_apply(struct machine *m, struct device *dev, GError **err)
{
	if (compat_apply(m, dev, err))
		return -EINVAL;
	for (guint i = 0; i < m->globals->len; i++) {
		struct machine_global *g = m->globals->pdata[i];

		if (strcmp(g->driver, dev->type->name))
			continue;
		g->used = true;
		if (device_set(dev, g->prop, g->value, err)) {
			g_prefix_error(err, "-global %s.%s=%s: ", g->driver, g->prop, g->value);
			return -EINVAL;
		}
	}
	return 0;
}

void machine_unused_globals(struct machine *m,
			    void (*fn)(const char *driver, const char *prop, void *opaque),
			    void *opaque)
{
	for (guint i = 0; i < m->globals->len; i++) {
		struct machine_global *g = m->globals->pdata[i];

		if (!g->used)
			fn(g->driver, g->prop, opaque);
	}
}

void globals_free(struct machine *m)
{
	for (guint i = 0; i < m->globals->len; i++)
		global_free(m->globals->pdata[i]);
	g_ptr_array_unref(m->globals);
}

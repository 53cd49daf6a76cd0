/* hw/core/machine-types.c - the machine types of a target: look-up and help texts. */
#include "hw/core/core.h"

#include "hw/machine.h"

const struct machine_type *machine_type_find(const struct hw_target *target, const char *name)
{
	for (int i = 0; target->machines[i]; i++) {
		const struct machine_type *t = target->machines[i];

		if (!strcmp(t->name, name) || !g_strcmp0(t->alias, name))
			return t;
	}
	return NULL;
}

char *machine_type_relatives(const struct hw_target *target, const char *name)
{
	g_autoptr(GString) s = g_string_new(NULL);
	const char *dash = strrchr(name, '-');
	size_t len = dash ? dash + 1 - name : 0;

	for (int i = 0; len && target->machines[i]; i++)
		if (!strncmp(target->machines[i]->name, name, len))
			g_string_append_printf(s, "%s%s", s->len ? ", " : "",
					       target->machines[i]->name);
	return s->len ? g_string_free(g_steal_pointer(&s), FALSE) : NULL;
}

const char *machine_compat_value(const struct machine_type *type, const char *driver,
				 const char *property)
{
	for (const struct machine_compat *c = type->compat; c && c->property; c++)
		if (type->version < c->before && !g_strcmp0(c->driver, driver) &&
		    !strcmp(c->property, property))
			return c->value;
	return NULL;
}

char *machine_types_help(const struct hw_target *target)
{
	GString *s = g_string_new("Supported machines are:\n");

	for (int i = 0; target->machines[i]; i++) {
		const struct machine_type *t = target->machines[i];

		if (t->alias)
			g_string_append_printf(s, "%-20s %s (alias of %s)\n", t->alias, t->desc,
					       t->name);
		g_string_append_printf(s, "%-20s %s%s\n", t->name, t->desc,
				       g_strcmp0(t->name, target->default_machine) ? ""
										   : " (default)");
	}
	return g_string_free(s, FALSE);
}

char *machine_type_help(const struct machine_type *type)
{
	g_autofree char *own = properties_help(type->props);
	g_autofree char *common = properties_help(machine_common_props());

	return g_strdup_printf("%s options:\n%s%s", type->name, own, common);
}

/*
 * system/options-query.c - the keys of options, read out of the forms that -help shows.
 *
 * So what clients are told and what people read cannot differ: "[size=]SIZE[,slots=N]" has the
 * keys size and slots.
 */
#include "options-query.h"

#include "emulator.h"
#include "options.h"
#include "qapi/gen/machine.h"

static bool is_key_char(char c)
{
	return g_ascii_islower(c) || g_ascii_isdigit(c) || c == '-' || c == '_';
}

/* What the value of a key looks like tells its type. */
static enum qapi_command_line_parameter_type type_of(const char *value)
{
	if (g_str_has_prefix(value, "on|off") || g_str_has_prefix(value, "on]"))
		return QAPI_COMMAND_LINE_PARAMETER_TYPE_BOOLEAN;
	if (value[0] == 'N' && !g_ascii_isupper(value[1]))
		return QAPI_COMMAND_LINE_PARAMETER_TYPE_NUMBER;
	if (g_str_has_prefix(value, "]SIZE") || g_str_has_prefix(value, "SIZE"))
		return QAPI_COMMAND_LINE_PARAMETER_TYPE_SIZE;
	return QAPI_COMMAND_LINE_PARAMETER_TYPE_STRING;
}

static void add_parameter(GPtrArray *list, char *name, enum qapi_command_line_parameter_type type,
			  const char *help, const char *default_text)
{
	struct qapi_command_line_parameter_info *info =
		g_new0(struct qapi_command_line_parameter_info, 1);

	info->name = name;
	info->type = type;
	info->help = g_strdup(help);
	info->default_ = g_strdup(default_text);
	g_ptr_array_add(list, info);
}

static void add_form(GPtrArray *list, const char *form)
{
	for (const char *eq = form; (eq = strchr(eq, '=')); eq++) {
		const char *start = eq;

		while (start > form && is_key_char(start[-1]))
			start--;
		/* "prop=value" stands for what the named thing has. */
		if (start < eq && strncmp(start, "prop=", 5))
			add_parameter(list, g_strndup(start, eq - start), type_of(eq + 1), NULL,
				      NULL);
	}
}

static bool has_parameter(GPtrArray *list, const char *name)
{
	for (guint i = 0; i < list->len; i++) {
		const struct qapi_command_line_parameter_info *p = g_ptr_array_index(list, i);

		if (!strcmp(p->name, name))
			return true;
	}
	return false;
}

static enum qapi_command_line_parameter_type type_of_property(const struct property *p)
{
	switch (p->type) {
	case PROP_BOOL: return QAPI_COMMAND_LINE_PARAMETER_TYPE_BOOLEAN;
	case PROP_SIZE: return QAPI_COMMAND_LINE_PARAMETER_TYPE_SIZE;
	case PROP_U8:
	case PROP_U16:
	case PROP_U32:
	case PROP_U64:
	case PROP_S32:
	case PROP_S64: return QAPI_COMMAND_LINE_PARAMETER_TYPE_NUMBER;
	default: return QAPI_COMMAND_LINE_PARAMETER_TYPE_STRING;
	}
}

static void add_properties(GPtrArray *list, const struct property *props)
{
	for (const struct property *p = props; p && p->name; p++)
		if (!has_parameter(list, p->name))
			add_parameter(list, g_strdup(p->name), type_of_property(p), p->help,
				      p->default_text);
}

/* -machine takes what any of the machines has. */
static void add_machines(GPtrArray *list)
{
	add_properties(list, machine_common_props());
	for (const struct machine_type *const *t = target_desc.hw->machines; *t; t++)
		add_properties(list, (*t)->props);
}

struct query {
	const char *name; /* NULL: all */
	GPtrArray *list;
};

static void add_option(const char *name, const char *form, void *opaque)
{
	struct qapi_command_line_option_info *info;
	struct query *q = opaque;

	if (q->name && strcmp(q->name, name))
		return;
	info = g_new0(struct qapi_command_line_option_info, 1);
	info->option = g_strdup(name);
	info->parameters = qapi_command_line_parameter_info_list_new();
	if (form)
		add_form(info->parameters, form);
	if (!strcmp(name, "machine"))
		add_machines(info->parameters);
	g_ptr_array_add(q->list, info);
}

GPtrArray *options_query(const char *name)
{
	struct query q = { name, qapi_command_line_option_info_list_new() };

	options_foreach(add_option, &q);
	return q.list;
}

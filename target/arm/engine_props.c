/* target/arm/engine_props.c - properties of -cpu that are about the dirty-state engines. */
#include "target/arm/engine_props.h"

#include "util/error.h"

enum kind { ON_OFF, NUMBER };

static const struct engine_prop {
	const char *name;
	enum kind kind;
	size_t offset; /* of a bool or u64 in struct arm_engines_config */
	u64 max;       /* of a number */
} props[] = {
	{ "hdbss", ON_OFF, offsetof(struct arm_engines_config, hdbss), 0 },
	{ "hdbss-append-ns", NUMBER, offsetof(struct arm_engines_config, hdbss_append_ns),
	  NS_PER_S },
};

void arm_engine_props_init(struct arm_engines_config *c)
{
	*c = (struct arm_engines_config){ .hdbss = true };
}

static int set_bool(bool *out, const char *name, const char *text, GError **err)
{
	static const char *const yes[] = { "on", "yes", "true", "y", NULL };
	static const char *const no[] = { "off", "no", "false", "n", NULL };

	*out = g_strv_contains(yes, text);
	if (*out || g_strv_contains(no, text))
		return 0;
	error_set(err, "'%s=%s' is neither on nor off", name, text);
	return -EINVAL;
}

static int set_number(u64 *out, const struct engine_prop *p, const char *text, GError **err)
{
	if (g_ascii_string_to_unsigned(text, 10, 0, p->max, out, NULL))
		return 0;
	error_set(err, "'%s=%s' is not a number from 0 to %" PRIu64, p->name, text, p->max);
	return -EINVAL;
}

int arm_engine_prop_set(struct arm_engines_config *c, const char *name, const char *text,
			GError **err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(props); i++) {
		void *at = (char *)c + props[i].offset;

		if (strcmp(props[i].name, name))
			continue;
		return props[i].kind == ON_OFF ? set_bool(at, name, text, err)
					       : set_number(at, &props[i], text, err);
	}
	return -ENOENT;
}

void arm_engine_props_names(GString *list)
{
	for (unsigned i = 0; i < ARRAY_SIZE(props); i++)
		g_string_append_printf(list, "%s%s", list->len ? ", " : "", props[i].name);
}

void arm_engine_props_bools(const struct arm_engines_config *c,
			    void (*fn)(void *opaque, const char *name, bool on), void *opaque)
{
	for (unsigned i = 0; i < ARRAY_SIZE(props); i++)
		if (props[i].kind == ON_OFF)
			fn(opaque, props[i].name,
			   *(const bool *)((const char *)c + props[i].offset));
}

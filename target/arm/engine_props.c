/* target/arm/engine_props.c - properties of -cpu that are about the dirty-state engines. */
#include "target/arm/engine_props.h"

#include "util/error.h"

enum kind { ON_OFF, FLAG, NUMBER, INDEX, PPI, ERROR };

#define CONFIG(f)   offsetof(struct arm_engines_config, f)
#define INJECT(n)   (CONFIG(inject) + ARM_INJECT_##n * sizeof(u64))
#define ENTRIES_MAX 0x7ffff /* largest INDEX */

/* What -cpu takes. Those that begin with x- are injections, and may be set later too. */
static const struct engine_prop {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct arm_engines_config: of a bool for ON_OFF, else of a u64 */
	u64 max;       /* of a number */
} props[] = {
	{ "dirty-state-check", ON_OFF, CONFIG(check), 0 },
	{ "hacdbs", ON_OFF, CONFIG(hacdbs), 0 },
	{ "hacdbs-entry-ns", NUMBER, CONFIG(hacdbs_entry_ns), NS_PER_S },
	{ "hacdbs-irq", PPI, CONFIG(hacdbs_irq), 31 },
	{ "hacdbs-irq-dt", ON_OFF, CONFIG(hacdbs_irq_dt), 0 },
	{ "hdbss", ON_OFF, CONFIG(hdbss), 0 },
	{ "hdbss-append-ns", NUMBER, CONFIG(hdbss_append_ns), NS_PER_S },
	/* The buffer counts as full when INDEX is this. */
	{ "x-hdbss-full-at", INDEX, INJECT(HDBSS_FULL_AT), ENTRIES_MAX },
	/* An external abort meets the entry of this index: told by FSC, or synchronously. */
	{ "x-hdbss-abort-at", INDEX, INJECT(HDBSS_ABORT_AT), ENTRIES_MAX },
	{ "x-hdbss-abort-sync", FLAG, INJECT(HDBSS_ABORT_SYNC), 1 },
	/* After every so many entries one is written twice; or one for a page that is clean. */
	{ "x-hdbss-duplicate-every", NUMBER, INJECT(HDBSS_DUPLICATE_EVERY), ENTRIES_MAX },
	{ "x-hdbss-spurious-every", NUMBER, INJECT(HDBSS_SPURIOUS_EVERY), ENTRIES_MAX },
	/* Reading the entry of this index ends in this error. */
	{ "x-hacdbs-error-at", INDEX, INJECT(HACDBS_ERROR_AT), ENTRIES_MAX },
	{ "x-hacdbs-error", ERROR, INJECT(HACDBS_ERROR), 3 },
	/* So many entries beyond INDEX are handled already. */
	{ "x-hacdbs-ahead", NUMBER, INJECT(HACDBS_AHEAD), ENTRIES_MAX },
	/* So many entries at a time, and so much time for each piece; 0: as usual. */
	{ "x-hacdbs-slice", NUMBER, INJECT(HACDBS_SLICE), ENTRIES_MAX },
	{ "x-hacdbs-slice-ns", NUMBER, INJECT(HACDBS_SLICE_NS), 10 * (u64)NS_PER_S },
	/* The interrupt comes so late; the next so many do not come at all. */
	{ "x-hacdbs-irq-delay-ns", NUMBER, INJECT(HACDBS_IRQ_DELAY_NS), 10 * (u64)NS_PER_S },
	{ "x-hacdbs-irq-lose", NUMBER, INJECT(HACDBS_IRQ_LOSE), UINT32_MAX },
	/* TLBs keep pages writable that were written once, until they are told otherwise. */
	{ "x-stale-tlb", FLAG, INJECT(STALE_TLB), 1 },
};

void arm_engine_props_init(struct arm_engines_config *c)
{
	*c = (struct arm_engines_config){
		.hdbss = true,
		.hacdbs = true,
		.inject = {
			[ARM_INJECT_HDBSS_FULL_AT] = ARM_INJECT_NEVER,
			[ARM_INJECT_HDBSS_ABORT_AT] = ARM_INJECT_NEVER,
			[ARM_INJECT_HACDBS_ERROR_AT] = ARM_INJECT_NEVER,
			[ARM_INJECT_HACDBS_ERROR] = 3,
		},
	};
}

/* ---- values ---- */

static bool parse_on_off(const char *text, bool *out)
{
	static const char *const yes[] = { "on", "yes", "true", "y", NULL };
	static const char *const no[] = { "off", "no", "false", "n", NULL };

	*out = g_strv_contains(yes, text);
	return *out || g_strv_contains(no, text);
}

static const char *const error_names[] = { "structf", "ipaf", "ipahacf", NULL };

static bool parse_error(const char *text, u64 *out)
{
	for (*out = 1; error_names[*out - 1]; ++*out)
		if (!strcmp(error_names[*out - 1], text))
			return true;
	return false;
}

/* PPIs that nothing else of the machine has: not 23 and 25 to 30. */
static bool parse_ppi(const char *text, u64 *out)
{
	if (!strcmp(text, "off")) {
		*out = 0;
		return true;
	}
	return g_ascii_string_to_unsigned(text, 10, 16, 31, out, NULL) && *out != 23 &&
	       (*out < 25 || *out > 30);
}

static bool parse(const struct engine_prop *p, const char *text, u64 *out)
{
	bool on;

	switch (p->kind) {
	case ON_OFF:
	case FLAG:
		if (!parse_on_off(text, &on))
			return false;
		*out = on;
		return true;
	case INDEX:
		if (!strcmp(text, "off")) {
			*out = ARM_INJECT_NEVER;
			return true;
		}
		break;
	case ERROR: return parse_error(text, out);
	case PPI: return parse_ppi(text, out);
	case NUMBER: break;
	}
	return g_ascii_string_to_unsigned(text, 10, 0, p->max, out, NULL);
}

static void explain(const struct engine_prop *p, const char *text, GError **err)
{
	switch (p->kind) {
	case ON_OFF:
	case FLAG: error_set(err, "'%s=%s' is neither on nor off", p->name, text); return;
	case INDEX:
		error_set(err, "'%s=%s' is neither off nor a number from 0 to %" PRIu64, p->name,
			  text, p->max);
		return;
	case ERROR:
		error_set(err, "'%s=%s' is none of structf, ipaf and ipahacf", p->name, text);
		return;
	case PPI:
		error_set(err, "'%s=%s' is neither off nor a free PPI: 16 to 22, 24 or 31", p->name,
			  text);
		return;
	case NUMBER:
		error_set(err, "'%s=%s' is not a number from 0 to %" PRIu64, p->name, text, p->max);
		return;
	}
}

static int set(struct arm_engines_config *c, const struct engine_prop *p, const char *text,
	       GError **err)
{
	void *at = (char *)c + p->offset;
	u64 value;

	if (!parse(p, text, &value)) {
		explain(p, text, err);
		return -EINVAL;
	}
	if (p->kind == ON_OFF)
		*(bool *)at = value;
	else
		__atomic_store_n((u64 *)at, value, __ATOMIC_RELAXED);
	return 0;
}

static const struct engine_prop *find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(props); i++)
		if (!strcmp(props[i].name, name))
			return &props[i];
	return NULL;
}

int arm_engine_prop_set(struct arm_engines_config *c, const char *name, const char *text,
			GError **err)
{
	const struct engine_prop *p = find(name);

	return p ? set(c, p, text, err) : -ENOENT;
}

/* ---- lists ---- */

static bool is_injection(const struct engine_prop *p)
{
	return g_str_has_prefix(p->name, "x-");
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

int arm_engine_inject(struct arm_engines_config *c, const char *name, const char *text,
		      GError **err)
{
	const struct engine_prop *p = find(name);
	g_autoptr(GString) known = g_string_new(NULL);

	if (p && is_injection(p))
		return set(c, p, text, err);
	for (unsigned i = 0; i < ARRAY_SIZE(props); i++)
		if (is_injection(&props[i]))
			g_string_append_printf(known, "%s%s", known->len ? ", " : "",
					       props[i].name);
	error_set(err, "there is no injection '%s'; known are %s", name, known->str);
	return -ENOENT;
}

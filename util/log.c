/* util/log.c - warnings and categories of -d. */
#include "util/log.h"

#include "util/error.h"

#include <stdio.h>

u32 log_mask;

static FILE *log_file;
static GMutex log_lock;

static const struct {
	const char *name;
	u32 bit;
	const char *help;
} categories[] = {
	{ "guest_errors", LOG_GUEST_ERROR, "what the guest does against its hardware's manual" },
	{ "unimp", LOG_UNIMP, "what the guest uses and we do not emulate" },
	{ "in_asm", LOG_IN_ASM, "guest code as it is translated" },
	{ "out_asm", LOG_OUT_ASM, "host code that translation made" },
	{ "exec", LOG_EXEC, "each translated region as it is entered" },
	{ "int", LOG_INT, "interrupts and exceptions" },
	{ "mmu", LOG_MMU, "translation table walks" },
	{ "cpu", LOG_CPU, "registers before each region" },
	{ "cpu_reset", LOG_CPU_RESET, "registers at reset" },
	{ "nochain", LOG_NOCHAIN, "regions do not lead to each other: with exec, log each entry" },
	{ "trace", LOG_TRACE, "each step of the dirty-state engines" },
};

/* QEMU's, and why there is nothing to log. */
static const struct {
	const char *name, *why;
} refused[] = {
	{ "op", "there is no intermediate code; use in_asm and out_asm" },
	{ "op_opt", "there is no intermediate code; use in_asm and out_asm" },
	{ "op_ind", "there is no intermediate code; use in_asm and out_asm" },
	{ "op_plugin", "there are no plugins" },
	{ "plugin", "there are no plugins" },
	{ "page", "it belongs to emulation of single programs; use mmu" },
	{ "strace", "it belongs to emulation of single programs; use int" },
	{ "pcall", "it belongs to x86; use int" },
	{ "fpu", "cpu shows FPCR and FPSR, not the vectors" },
	{ "vpu", "cpu shows FPCR and FPSR, not the vectors" },
	{ "tid", "a log file for each thread does not exist; use -D" },
	{ "invalid_mem", "use guest_errors" },
	{ "trace", "events are not chosen one by one; use trace" },
	{ "all", "name the categories that you want" },
};

static bool name_is(const char *text, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(text, name, len);
}

/* Sets the bit of a name; else says why it cannot. A name may carry what it is about: "trace:x". */
static int add_category(const char *name, u32 *mask, GError **err)
{
	size_t len = strcspn(name, ":");

	for (unsigned i = 0; i < ARRAY_SIZE(categories); i++)
		if (!strcmp(name, categories[i].name)) {
			*mask |= categories[i].bit;
			return 0;
		}
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++)
		if (name_is(name, len, refused[i].name)) {
			error_set(err, "-d %s is not supported: %s (see -d help)", name,
				  refused[i].why);
			return -EINVAL;
		}
	error_set(err, "-d: unknown category '%s' (see -d help)", name);
	return -EINVAL;
}

int log_set(const char *names, const char *path, GError **err)
{
	char **list = g_strsplit(names ? names : "", ",", -1);
	u32 mask = 0;
	FILE *f;

	for (char **n = list; *n; n++)
		if (add_category(*n, &mask, err)) {
			g_strfreev(list);
			return -EINVAL;
		}
	g_strfreev(list);

	f = path ? fopen(path, "ae") : NULL;
	if (path && !f) {
		int e = errno;

		error_set_errno(err, e, "-D: cannot open log file '%s'", path);
		return -e;
	}
	g_mutex_lock(&log_lock);
	if (log_file)
		fclose(log_file);
	log_file = f;
	g_mutex_unlock(&log_lock);
	__atomic_store_n(&log_mask, mask, __ATOMIC_RELAXED);
	return 0;
}

/* ---- addresses ---- */

struct range {
	u64 first, last;
};

static GArray *filter; /* of struct range; NULL: all */

/* One range, whose end is @text's. */
static bool parse_range(const char *text, struct range *r)
{
	char *end, how;
	u64 a = g_ascii_strtoull(text, &end, 0), b;

	how = *end;
	if (end == text || !how || (how == '.' && end[1] != '.'))
		return false;
	text = end + (how == '.' ? 2 : 1);
	b = g_ascii_strtoull(text, &end, 0);
	if (end == text || *end || (how != '.' && !b))
		return false;
	switch (how) {
	case '.': *r = (struct range){ a, b }; break;
	case '+': *r = (struct range){ a, a + b - 1 }; break;
	case '-': *r = (struct range){ a - b + 1, a }; break;
	default: return false;
	}
	return r->first <= r->last;
}

int log_set_filter(const char *ranges, GError **err)
{
	g_auto(GStrv) list = g_strsplit(ranges, ",", -1);

	filter = g_array_new(FALSE, FALSE, sizeof(struct range));
	for (char **n = list; *n; n++) {
		struct range r;

		if (!parse_range(*n, &r)) {
			error_set(
				err,
				"-dfilter: '%s' is no range: FIRST..LAST, FIRST+SIZE or LAST-SIZE",
				*n);
			return -EINVAL;
		}
		g_array_append_val(filter, r);
	}
	return 0;
}

bool log_wants_address(u64 addr)
{
	for (guint i = 0; filter && i < filter->len; i++) {
		const struct range *r = &g_array_index(filter, struct range, i);

		if (addr >= r->first && addr <= r->last)
			return true;
	}
	return !filter;
}

char *log_categories_help(void)
{
	GString *s = g_string_new("Log categories (comma separated):\n");

	for (unsigned i = 0; i < ARRAY_SIZE(categories); i++)
		g_string_append_printf(s, "%-16s %s\n", categories[i].name, categories[i].help);
	g_string_append(s, "Known from QEMU and refused:\n");
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++)
		g_string_append_printf(s, "%-16s %s\n", refused[i].name, refused[i].why);
	return g_string_free(s, FALSE);
}

void log_write(enum log_category c, const char *fmt, ...)
{
	va_list ap;
	FILE *to;

	if (!log_enabled(c))
		return;
	g_mutex_lock(&log_lock);
	to = log_file ? log_file : stderr;
	va_start(ap, fmt);
	vfprintf(to, fmt, ap);
	va_end(ap);
	if (!g_str_has_suffix(fmt, "\n"))
		fputc('\n', to);
	fflush(to);
	g_mutex_unlock(&log_lock);
}

static G_GNUC_PRINTF(2, 0) void tell(const char *kind, const char *fmt, va_list ap)
{
	const char *name = g_get_prgname();

	g_mutex_lock(&log_lock);
	fprintf(stderr, "%s: %s: ", name ? name : "tidemark", kind);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	g_mutex_unlock(&log_lock);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell("warning", fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell("info", fmt, ap);
	va_end(ap);
}

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
	{ "trace", LOG_TRACE, "trace events" },
};

int log_set(const char *names, const char *path, GError **err)
{
	char **list = g_strsplit(names ? names : "", ",", -1);
	u32 mask = 0;
	FILE *f;

	for (char **n = list; *n; n++) {
		unsigned i;

		for (i = 0; i < ARRAY_SIZE(categories); i++)
			if (!strcmp(*n, categories[i].name))
				break;
		if (i == ARRAY_SIZE(categories)) {
			error_set(err, "-d: unknown category '%s' (see -d help)", *n);
			g_strfreev(list);
			return -EINVAL;
		}
		mask |= categories[i].bit;
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

char *log_categories_help(void)
{
	GString *s = g_string_new("Log categories (comma separated):\n");

	for (unsigned i = 0; i < ARRAY_SIZE(categories); i++)
		g_string_append_printf(s, "%-16s %s\n", categories[i].name, categories[i].help);
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

void log_warn(const char *fmt, ...)
{
	const char *name = g_get_prgname();
	va_list ap;

	g_mutex_lock(&log_lock);
	fprintf(stderr, "%s: warning: ", name ? name : "tidemark");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	g_mutex_unlock(&log_lock);
}

/* util/error.c - the GError domain of all rooms. */
#include "util/error.h"

G_DEFINE_QUARK(machine - error - quark, machine_error)

void error_set_errno(GError **err, int errnum, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = g_strdup_vprintf(fmt, ap);
	va_end(ap);
	error_set(err, "%s: %s", text, g_strerror(errnum));
	g_free(text);
}

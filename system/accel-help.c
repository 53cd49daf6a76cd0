/* system/accel-help.c - texts about accelerators. */
#include "accel-help.h"

#include "emulator.h"

char *accels_help(const char *name)
{
	/* Scripts look for one name a line below a heading. */
	GString *s = g_string_new("Accelerators supported in QEMU binary:\n");

	for (const struct accel_ops *const *a = target_desc.accels; *a; a++) {
		if (name && !strcmp((*a)->name, name)) {
			g_string_printf(s, "%s: %s\n%s", (*a)->name, (*a)->desc,
					(*a)->props_help ? (*a)->props_help : "");
			break;
		}
		g_string_append_printf(s, "%s\n", (*a)->name);
	}
	return g_string_free(s, FALSE);
}

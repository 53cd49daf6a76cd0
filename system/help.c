/* system/help.c - texts of -help and --version. */
#include "help.h"

#include "util/version.h"

#include <stdio.h>

void help_print(char *text)
{
	fputs(text, stdout);
	fflush(stdout);
	g_free(text);
}

void help_version(void)
{
	help_print(g_strdup_printf("QEMU emulator version %d.%d.%d (%s)\n"
				   "This is Tidemark, compatible with that version's interfaces.\n",
				   COMPAT_MAJOR, COMPAT_MINOR, COMPAT_MICRO, TIDEMARK_PACKAGE));
}

void help_usage(void)
{
	GString *s = g_string_new(NULL);

	g_string_append_printf(s,
			       "%s: a machine emulator with QEMU's command line\n"
			       "usage: %s [options] [disk_image]\n",
			       TIDEMARK_PACKAGE, g_get_prgname());
	help_options(s);
	g_string_append(s, "\nMost options take 'help' as their argument.\n");
	help_print(g_string_free(s, FALSE));
}

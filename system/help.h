/*
 * system/help.h - texts of -help and --version.
 */
#ifndef SYSTEM_HELP_H
#define SYSTEM_HELP_H

#include <glib.h>

/* help_version() - print what --version prints. */
void help_version(void);

/* help_usage() - print the option list. */
void help_usage(void);

/* help_options() - append a description of every option; in options.c, beside the tables. */
void help_options(GString *s);

/* help_print() - print a text and free it. */
void help_print(char *text);

#endif

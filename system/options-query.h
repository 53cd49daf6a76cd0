/*
 * system/options-query.h - options of the command line as query-command-line-options tells them.
 */
#ifndef SYSTEM_OPTIONS_QUERY_H
#define SYSTEM_OPTIONS_QUERY_H

#include <glib.h>

/*
 * options_query() - options and the keys that they take.
 * @name: only this one; NULL: all.
 *
 * Return: list of struct qapi_command_line_option_info, empty if there is no such option.
 */
GPtrArray *options_query(const char *name);

#endif

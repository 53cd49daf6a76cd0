/*
 * system/accel-help.h - texts about accelerators.
 */
#ifndef SYSTEM_ACCEL_HELP_H
#define SYSTEM_ACCEL_HELP_H

/*
 * accels_help() - text of -accel help, or of -accel NAME,help.
 * @name: NULL or "help": the list.
 *
 * Return: free with g_free().
 */
char *accels_help(const char *name);

#endif

/*
 * monitor/hmp-commands.c - the commands and `info` topics of the human monitor, as tables.
 */
#include "monitor/hmp.h"

const struct hmp_command hmp_commands[] = {
	{ "help|?", "", "[cmd]", "show the help", NULL, NULL },
	{ "info", "", "[subcommand]", "show various information about the system state", NULL,
	  NULL },
	{ NULL },
};

const struct hmp_command hmp_info_commands[] = {
	{ NULL },
};

/*
 * system/sandbox.h - the system call filter of -sandbox.
 */
#ifndef SYSTEM_SANDBOX_H
#define SYSTEM_SANDBOX_H

#include <glib.h>

/*
 * sandbox_enter() - install the filter for all threads.
 * @text: "on|off[,obsolete=allow|deny][,elevateprivileges=allow|deny|children]
 *        [,spawn=allow|deny][,resourcecontrol=allow|deny]".
 *
 * A denied call ends the process with a message that names the call.
 * Return: 0, or -errno with @err naming option and value.
 */
int sandbox_enter(const char *text, GError **err);

#endif

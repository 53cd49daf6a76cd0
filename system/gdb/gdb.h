/*
 * system/gdb/gdb.h - the guest for GDB: its remote serial protocol on a character device.
 *
 * Source: GDB manual, appendix E (Remote Protocol) and G (Target Descriptions).
 */
#ifndef SYSTEM_GDB_H
#define SYSTEM_GDB_H

#include "emulator.h"

struct gdb_server;

/*
 * gdb_server_create() - listen for a debugger.
 * @dev: as after -gdb: "tcp:HOST:PORT", "unix:PATH", "stdio", "chardev:ID", ...; "none" is the
 *       caller's to handle.
 *
 * A debugger that connects stops the guest. Return: the server; NULL with @err.
 * Context: main thread, machine lock held, vCPUs created.
 */
struct gdb_server *gdb_server_create(struct emulator *e, const char *dev, GError **err);

/*
 * gdb_server_destroy() - close the connection; NULL is fine.
 * @exited: the process ends: the debugger is told that the guest is gone. Else a guest that a
 *          debugger held is left stopped, without its breakpoints.
 *
 * Context: main thread, machine lock held, not below a command of that debugger.
 */
void gdb_server_destroy(struct gdb_server *s, bool exited);

/* gdb_server_in_command() - whether a monitor command of its debugger is being executed. */
bool gdb_server_in_command(const struct gdb_server *s);

#endif

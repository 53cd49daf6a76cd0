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

/* gdb_server_destroy() - tell the debugger that the guest is gone; NULL is fine. */
void gdb_server_destroy(struct gdb_server *s);

#endif

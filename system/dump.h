/*
 * system/dump.h - guest memory and registers as a core file, for a debugger of the guest's kernel.
 */
#ifndef SYSTEM_DUMP_H
#define SYSTEM_DUMP_H

#include "util/base.h"

struct emulator;
struct vm;

/* Guest RAM that lies together. */
struct dump_range {
	u64 gpa, size;
	const u8 *host;
};

/* What is written; ranges ascend. */
struct dump_content {
	GArray *ranges; /* of struct dump_range */
	u64 bytes;      /* of all ranges */
};

enum dump_status { DUMP_NONE, DUMP_ACTIVE, DUMP_COMPLETED, DUMP_FAILED };

struct dump_request {
	const char *protocol; /* "file:PATH" or "fd:NAME" */
	bool detach;          /* go on in a thread */
	bool filtered;        /* only what is in begin..begin+length */
	u64 begin, length;    /* guest physical, bytes */
};

/*
 * dump_start() - stop the guest, write it to a file, and let it run again if it did.
 *
 * With detach, how it ended is told by the event DUMP_COMPLETED. The guest cannot be started and
 * no migration begins meanwhile.
 * Return: 0, or -errno with @err: one is in progress, bad protocol, nothing to write, I/O error.
 * Context: main thread, machine lock held (and dropped while writing).
 */
int dump_start(struct emulator *e, const struct dump_request *r, GError **err);

/* dump_query() - state of the last dump, and bytes of memory. */
enum dump_status dump_query(const struct emulator *e, u64 *completed, u64 *total);

/* dump_finish() - at the process's end: give up writing, and free. */
void dump_finish(struct emulator *e);

/*
 * dump_elf_header() - what goes before memory in an ELF core file: header, segments, and a note
 * with the registers of each vCPU.
 *
 * Return: NULL with @err if registers cannot be had. Free with g_byte_array_unref().
 * Context: machine lock held, vCPUs parked. Source: System V ABI, chapters 4 and 5.
 */
GByteArray *dump_elf_header(struct vm *vm, const struct dump_content *c, GError **err);

#endif

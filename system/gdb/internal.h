/*
 * system/gdb/internal.h - what the files of the debugger's server share.
 */
#ifndef SYSTEM_GDB_INTERNAL_H
#define SYSTEM_GDB_INTERNAL_H

#include "accel/debug.h"
#include "chardev/char.h"
#include "gdb/gdb.h"

#define PACKET_SIZE 0x4000 /* longest packet, bytes; told in qSupported */

enum packet_state { PACKET_NONE, PACKET_DATA, PACKET_ESCAPE, PACKET_SUM1, PACKET_SUM2 };

struct gdb_server {
	struct emulator *e;
	struct chardev *chr;
	struct chardev_fe *fe;
	struct notifier notifier; /* of run states */

	enum packet_state state;
	GByteArray *in; /* packet being received, without escapes */
	u8 sum, sum_received;
	char *last; /* packet last sent, to be sent again on "-" */
	bool no_ack;

	bool running;    /* the debugger waits for the guest to stop */
	bool in_command; /* a line of the monitor is being executed */
	bool hwbreak;    /* it understands stop reasons swbreak and hwbreak */
	bool physical;   /* memory is addressed physically */
	int reg_cpu;     /* vCPU that commands for registers and memory mean */
	int run_cpu;     /* ... and "c" and "s" */
	char *xml;       /* target description */
};

/* server.c: send a packet; gdb_send_hex() sends text as digits, behind @prefix. */
void gdb_send(struct gdb_server *s, const char *text);
void gdb_send_bytes(struct gdb_server *s, const void *data, size_t len);
void gdb_send_hex(struct gdb_server *s, const char *prefix, const char *text);
/* server.c: what the guest stopped for, as far as is known; and let it run. */
void gdb_send_stop(struct gdb_server *s);
void gdb_run(struct gdb_server *s);

/* commands.c: carry out the packet in s->in, which ends with a zero byte. */
void gdb_command(struct gdb_server *s);

/* query.c: packets that begin with q, Q; and those that begin with v. */
void gdb_query(struct gdb_server *s, const char *p);
void gdb_verbose(struct gdb_server *s, const char *p);

/* memory.c: hexadecimal number at *@p, which moves behind it; false: there is none. */
bool gdb_number(const char **p, u64 *val);
/* Hex digits to bytes. Return: bytes, or -1 if there are not two digits for each. */
int gdb_unhex(const char *hex, u8 *out, size_t max);
/* Guest memory as the vCPU s->reg_cpu sees it. Return: false if a page is not mapped. */
bool gdb_memory(struct gdb_server *s, u64 addr, void *buf, u64 len, bool write);

/* target-xml.c: the description for cpu_debug_ops; free with g_free(). */
char *gdb_target_xml(const struct cpu_debug_ops *ops);
/* Registers, and bytes of register @n; 0: there is none. */
unsigned gdb_register_size(const struct cpu_debug_ops *ops, unsigned n);

static inline struct vcpu *gdb_vcpu(struct gdb_server *s)
{
	return s->e->vm->cpus[s->reg_cpu];
}

static inline const struct cpu_debug_ops *gdb_ops(struct gdb_server *s)
{
	return gdb_vcpu(s)->ops->debug;
}

/* Threads are vCPUs, counted from 1. */
static inline int gdb_thread(int cpu)
{
	return cpu + 1;
}

#endif

/*
 * tests/unit/migration/pair.h - machines in this process that migrate to each other.
 */
#ifndef PAIR_H
#define PAIR_H

#include "fake-log.h"
#include "migration/migration.h"

/* A device with something of everything. */
struct fake_device {
	u32 id;
	u64 wide;
	bool flag;
	u8 bytes[16];
	u16 words[3];
	u32 count;
	u8 counted[8];
	u32 extra;
	bool has_extra;
	unsigned loads; /* post_load() calls */
	bool refuse;    /* post_load() fails */
};

struct fake_vm {
	struct vm *vm;
	struct state_registry *states;
	struct migration *m;
	struct fake_log log;
	struct fake_device dev;
	struct ramblock *ram, *rom;
	GString *events; /* statuses, each followed by a space */
	char *incoming_error;
	unsigned passes;

	/* The guest: writes its window while the VM runs. */
	GThread *writer;
	GMutex writer_lock;
	GCond writer_cond;
	bool writer_run, writer_parked, writer_quit;
	u64 window_pages, pace_us;
	u64 writes;
	struct notifier run_notifier;
};

struct fake_vm_spec {
	const char *machine;
	u64 ram_bytes; /* 0: 8 MiB */
	bool initially_set;
	bool no_device;
};

/* fake_vm_create() - @spec NULL: as all zeroes. */
struct fake_vm *fake_vm_create(const struct fake_vm_spec *spec);
void fake_vm_destroy(struct fake_vm *v);

/* fake_vm_fill() - @n pages from the start get content that depends on @seed and address. */
void fake_vm_fill(struct fake_vm *v, u64 n, u64 seed);
/* fake_vm_write() - start a guest that writes @pages pages again and again. */
void fake_vm_write(struct fake_vm *v, u64 pages, u64 pace_us);

bool fake_vm_equal(const struct fake_vm *a, const struct fake_vm *b);

/* fake_vm_set_device() - give the device values; fake_vm_check_device(): @b was loaded with @a's.
 */
void fake_vm_set_device(struct fake_vm *v);
void fake_vm_check_device(const struct fake_vm *a, const struct fake_vm *b);

/* fake_vm_migrate() - start a migration, which must be accepted. */
void fake_vm_migrate(struct fake_vm *v, const char *uri);
/* expect_failure() - a call failed with a message that contains @text; clears @err. */
void expect_failure(int ret, GError **err, const char *text);

void fake_vm_cap(struct fake_vm *v, const char *name, bool on);
void fake_vm_param(struct fake_vm *v, const char *name, s64 value);

/* pump_until() - run the main loop until @v's sender has status @status (or 20 s are over). */
void pump_until(struct fake_vm *v, const char *status);
void pump_incoming(struct fake_vm *v, const char *status);
void pump_ms(unsigned ms);

/* fake_vm_listen() - wait for a sender on a fresh unix socket. Return: URI, owned by the caller. */
char *fake_vm_listen(struct fake_vm *v);

s64 query_int(struct fake_vm *v, const char *object, const char *member);
char *query_error(struct fake_vm *v);

#endif

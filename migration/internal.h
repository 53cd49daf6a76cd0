/*
 * migration/internal.h - the migration object and what its files share.
 */
#ifndef MIGRATION_INTERNAL_H
#define MIGRATION_INTERNAL_H

#include "migration/channel.h"
#include "migration/migration.h"
#include "migration/registry.h"
#include "migration/settings.h"

struct source;
struct incoming;
struct dirty_rate;

enum migration_status {
	STATUS_NONE,
	STATUS_SETUP,
	STATUS_CANCELLING,
	STATUS_CANCELLED,
	STATUS_ACTIVE,
	STATUS_COMPLETED,
	STATUS_FAILED,
	STATUS_PRE_SWITCHOVER,
	STATUS_DEVICE,
};

/* What section "globalstate" carries. */
struct global_state {
	u32 size;          /* bytes of the name, with its NUL */
	char runstate[32]; /* of the sender, NUL padded */
	bool has_vm_was_suspended;
	bool vm_was_suspended;
	bool received; /* by this receiver; does not migrate */
};

/* What section "timer" carries. */
struct clock_state {
	s64 cpu_ticks_offset;
	s64 cpu_clock_offset; /* ns: the virtual clock while stopped */
};

struct migration {
	gatomicrefcount refs; /* the owner's, and one per call on its way to the main loop */
	struct vm *vm;
	struct state_registry *states;
	char *machine_name;
	unsigned target_page_bits;
	bool has_uuid;
	u8 uuid[16];
	struct migration_callbacks cb;
	struct global_state global;
	struct clock_state clock;

	GMutex lock; /* guards what follows; taken after the machine lock */
	GCond changed;
	enum migration_status status;          /* as sender; written under lock, read atomically */
	enum migration_status incoming_status; /* as receiver */
	struct settings settings;
	GPtrArray *blockers; /* of char * */
	char *error_desc;
	char *incoming_error;

	struct source *source;     /* current or last; main thread */
	struct incoming *incoming; /* NULL unless -incoming was given; main thread */
	struct dirty_rate *rate;
};

/* migration_call() - have the main loop run @fn, unless the object is destroyed before. */
void migration_call(struct migration *m, void (*fn)(struct migration *m));

const char *migration_status_name(enum migration_status s);

/*
 * migration_set_status() - change the sender's status if it is @from; tells the owner.
 *
 * Return: whether it changed. Any thread, lock not held.
 */
bool migration_set_status(struct migration *m, enum migration_status from,
			  enum migration_status to);
void migration_set_incoming_status(struct migration *m, enum migration_status to);

static inline enum migration_status migration_status_now(const struct migration *m)
{
	return __atomic_load_n(&m->status, __ATOMIC_ACQUIRE);
}

/* migration_settings() - a copy of the settings as they are now; strings are not copied. */
void migration_settings(struct migration *m, struct settings *out);

/* The element that opens a stream: what both ends must agree on. */
struct configuration {
	u32 name_len;
	char name[256];
	u32 page_bits; /* 0: not sent */
	u32 ncaps;
	struct {
		u8 len;
		char name[256];
	} caps[8];
	u8 uuid[16];
	bool has_uuid;
};

extern const struct state_desc configuration_state;

/* vm-states.c */
void vm_states_register(struct migration *m);
void vm_states_unregister(struct migration *m);
void configuration_fill(struct configuration *c, struct migration *m, const struct settings *s);
/* configuration_check() - what the sender sent against this machine. */
int configuration_check(const struct configuration *c, struct migration *m,
			const struct settings *s, GError **err);
/* global_state_store() - note the run state of now for the receiver. Machine lock held. */
void global_state_store(struct migration *m);

/* migration_acquire_disks() - true if the guest may run as far as its disks go; otherwise a
 * warning says why not. Machine lock held. */
bool migration_acquire_disks(struct migration *m);

#endif

/*
 * migration/migration.h - moving a machine: commands, settings and statistics.
 *
 * One object per machine serves as sender and as receiver. Commands, capabilities, parameters and
 * the members of the statistics carry the names of QMP (QEMU's QMP reference, "Migration");
 * JSON objects are what QMP takes and gives.
 *
 * Context of every function unless said otherwise: main thread, machine lock held.
 */
#ifndef MIGRATION_MIGRATION_H
#define MIGRATION_MIGRATION_H

#include "accel/vm.h"
#include "migration/state.h"

#include <json-glib/json-glib.h>

struct migration;

/* What the machine is; both ends must agree. Strings are copied. */
struct migration_machine {
	const char *name;          /* with version: "pc-q35-11.1" */
	unsigned target_page_bits; /* sent if not 0: page size differs from the family's least */
	const u8 *uuid;            /* 16 bytes; NULL: none given */
};

/* What the owner of the machine does for us. Any may be NULL. */
struct migration_callbacks {
	/* status() - event MIGRATION: only with capability "events". Any thread, must not block. */
	void (*status)(void *opaque, const char *status);
	/* pass() - event MIGRATION_PASS. Any thread, must not block. */
	void (*pass)(void *opaque, u64 pass);
	/* incoming_failed() - the machine holds half a state and cannot run; @exit: the process
	 * should report @error and end with status 1. Main thread, machine lock held. */
	void (*incoming_failed)(void *opaque, const GError *error, bool exit);
	/* announce() - the machine runs here now: tell the network, @rounds times, after
	 * @initial_ms, then @step_ms longer each time up to @max_ms. */
	void (*announce)(void *opaque, unsigned initial_ms, unsigned max_ms, unsigned rounds,
			 unsigned step_ms);
	/*
	 * release_disks() - the guest has stopped for another machine to run it: write out what is
	 * cached, and let that one have the images.
	 * acquire_disks() - the opposite, before the guest runs here, again or for the first time.
	 *
	 * Return: 0 or -errno with @err. Any thread, machine lock held. NULL: there are no disks.
	 */
	int (*release_disks)(void *opaque, GError **err);
	int (*acquire_disks)(void *opaque, GError **err);
	void *opaque;
};

/*
 * migration_create() - for @vm, whose sections are in @states.
 *
 * Registers the sections "timer" and "globalstate" itself. @callbacks is copied.
 */
struct migration *migration_create(struct vm *vm, struct state_registry *states,
				   const struct migration_machine *machine,
				   const struct migration_callbacks *callbacks);

/* migration_destroy() - cancels what is running and waits for it (machine lock dropped). */
void migration_destroy(struct migration *m);

/* ---- commands ---- */

/*
 * migration_start() - "migrate": begin to send; returns before the connection stands.
 * @uri, @channels: exactly one of them.
 * @resume:         refused; only a paused post-copy could be resumed.
 *
 * Return: 0, or -errno with @err: migration running, incoming machine, blocker, bad target.
 * Failures after the return end in status "failed" and its error-desc.
 */
int migration_start(struct migration *m, const char *uri, JsonArray *channels, bool resume,
		    GError **err);

/* migration_cancel() - "migrate_cancel"; no effect if nothing runs. The status becomes cancelled
 * a little later. */
void migration_cancel(struct migration *m);

/* migration_continue() - "migrate-continue": leave the state that @state names. */
int migration_continue(struct migration *m, const char *state, GError **err);

/* Commands of post-copy; each is refused with its precondition. */
int migration_pause(struct migration *m, GError **err);
int migration_recover(struct migration *m, const char *uri, GError **err);
int migration_start_postcopy(struct migration *m, GError **err);

/* ---- receiving ---- */

/*
 * migration_incoming_prepare() - "-incoming": the machine waits for a stream.
 * @uri:       "defer", or as migration_incoming().
 * @autostart: run when the sender's machine ran; false under -S.
 *
 * Sets run state inmigrate. With "defer" migration_incoming() must follow.
 */
int migration_incoming_prepare(struct migration *m, const char *uri, bool autostart, GError **err);

/*
 * migration_incoming() - "migrate-incoming": listen, or start to read.
 * @exit_on_error: see incoming_failed(); -incoming behaves as if true.
 */
int migration_incoming(struct migration *m, const char *uri, JsonArray *channels,
		       bool exit_on_error, GError **err);

/* migration_incoming_waiting() - the machine has no state yet: "cont" must only ask to run. */
bool migration_incoming_waiting(const struct migration *m);

/* migration_set_autostart() - "cont" and "stop" while waiting: whether to run when loaded. */
void migration_set_autostart(struct migration *m, bool autostart);

/* ---- settings ---- */

/* migration_set_capabilities() - [{capability, state}]; all or none take effect. */
int migration_set_capabilities(struct migration *m, JsonArray *capabilities, GError **err);
/* migration_capabilities() - the same form; supported ones only. */
JsonArray *migration_capabilities(const struct migration *m);

/* migration_set_parameters() - any subset of migration_parameters(); all or none take effect. */
int migration_set_parameters(struct migration *m, JsonObject *parameters, GError **err);
JsonObject *migration_parameters(struct migration *m);

/*
 * migration_set_global() - "-global migration.NAME=VALUE": store-global-state, send-configuration,
 * send-section-footer, send-switchover-start, x-CAPABILITY, x-PARAMETER.
 */
int migration_set_global(struct migration *m, const char *name, const char *value, GError **err);

/* migration_add_blocker(), migration_del_blocker() - @reason forbids migration while it is there.
 * Return: 0, -EBUSY with @err if one runs. */
int migration_add_blocker(struct migration *m, const char *reason, GError **err);
void migration_del_blocker(struct migration *m, const char *reason);

/* ---- statistics ---- */

/*
 * migration_query() - "query-migrate": what qapi/migration.json calls MigrationInfo.
 *
 * Return: a new object.
 */
JsonObject *migration_query(struct migration *m);

/*
 * migration_query_pages() - "x-query-migration-pages": how often each page was sent by the current
 * or last migration, which must have capability x-page-counts.
 * @buckets: into how many runs of pages each RAM block is divided.
 *
 * Return: a new object; NULL with @err: no such migration, @buckets not from 1 to 65536.
 */
JsonObject *migration_query_pages(struct migration *m, u64 buckets, GError **err);

/* migration_active() - a migration is being sent (setup .. device). Any thread. */
bool migration_active(const struct migration *m);
/* migration_status() - as query-migrate; "none" before the first. */
const char *migration_status(const struct migration *m);

/* ---- dirty-rate measurement ---- */

/*
 * migration_calc_dirty_rate() - "calc-dirty-rate": begin to measure.
 * @args: calc-time, calc-time-unit, sample-pages, mode.
 */
int migration_calc_dirty_rate(struct migration *m, JsonObject *args, GError **err);
/* migration_query_dirty_rate() - "query-dirty-rate"; @unit "second" or "millisecond" or NULL. */
JsonObject *migration_query_dirty_rate(struct migration *m, const char *unit);

#endif

/* system/incoming.c - the machine's migration object and its callbacks. */
#include "incoming.h"

#include <stdio.h>

#include "accel/tcg/icount.h"
#include "block/block.h"
#include "migration/migration.h"
#include "net/net.h"
#include "qapi/gen/migration.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/main-loop.h"
#include "util/timer.h"

static void send_status(void *opaque, const char *status)
{
	struct emulator *e = opaque;
	struct qapi_migration_event data;

	if (qapi_migration_status_parse(status, &data.status))
		qapi_event_send_migration(e->events, &data);
}

static void send_pass(void *opaque, u64 pass)
{
	struct emulator *e = opaque;
	struct qapi_migration_pass_event data = { .pass = (s64)pass };

	qapi_event_send_migration_pass(e->events, &data);
}

static void incoming_failed(void *opaque, const GError *error, bool exit)
{
	struct emulator *e = opaque;

	fprintf(stderr, "%s: incoming migration failed: %s\n", g_get_prgname(), error->message);
	if (exit) {
		e->exit_code = 1;
		main_loop_quit();
	}
}

/* Announcements go out in rounds, with growing pauses, until switches have learnt the new port. */
static struct announce {
	struct timer timer;
	unsigned rounds, delay_ms, max_ms, step_ms;
} announcer;

static void announce_round(void *opaque)
{
	struct announce *a = opaque;

	net_announce_self();
	if (--a->rounds) {
		a->delay_ms = MIN(a->delay_ms + a->step_ms, a->max_ms);
		timer_mod(&a->timer, clock_ns(CLOCK_TYPE_REALTIME) + a->delay_ms * NS_PER_MS);
	}
}

void announce_start(unsigned initial_ms, unsigned max_ms, unsigned rounds, unsigned step_ms)
{
	if (!rounds)
		return;
	if (announcer.timer.fn)
		timer_del(&announcer.timer);
	timer_init(&announcer.timer, CLOCK_TYPE_REALTIME, announce_round, &announcer);
	announcer.rounds = rounds;
	announcer.delay_ms = initial_ms;
	announcer.max_ms = max_ms;
	announcer.step_ms = step_ms;
	announce_round(&announcer);
}

static void announce(void *opaque, unsigned initial_ms, unsigned max_ms, unsigned rounds,
		     unsigned step_ms)
{
	announce_start(initial_ms, max_ms, rounds, step_ms);
}

static int release_disks(void *opaque, GError **err)
{
	return block_inactivate_all(err);
}

static int acquire_disks(void *opaque, GError **err)
{
	return emulator_activate(opaque, err);
}

static const char no_icount[] =
	"-icount: where the count of instructions is does not travel; migrate without it";

int setup_migration(struct emulator *e, GError **err)
{
	struct migration_machine mm = {
		.name = e->machine->type->name,
		.target_page_bits = e->machine->target->page_bits,
		.uuid = e->machine->opt.has_uuid ? e->machine->opt.uuid : NULL,
	};
	struct migration_callbacks cb = {
		.status = send_status,
		.pass = send_pass,
		.incoming_failed = incoming_failed,
		.announce = announce,
		.release_disks = release_disks,
		.acquire_disks = acquire_disks,
		.opaque = e,
	};
	static const char switchover[] = "send-switchover-start";
	const char *compat = machine_compat_value(e->machine->type, "migration", switchover);
	GPtrArray *globals = e->cfg->globals;

	e->migration = migration_create(e->vm, e->registry, &mm, &cb);
	if (compat && migration_set_global(e->migration, switchover, compat, err))
		return -EINVAL;
	if (tcg_icount_enabled() && migration_add_blocker(e->migration, no_icount, err))
		return -EINVAL;
	for (guint i = 0; i < globals->len; i++) {
		struct config_item *item = g_ptr_array_index(globals, i);

		if (!strcmp(keyval_str(item->opts, "driver"), "migration") &&
		    migration_set_global(e->migration, keyval_str(item->opts, "property"),
					 keyval_str(item->opts, "value"), err))
			return -EINVAL;
	}
	return 0;
}

void teardown_migration(struct emulator *e)
{
	if (announcer.timer.fn)
		timer_del(&announcer.timer);
	if (e->migration)
		migration_destroy(e->migration);
	e->migration = NULL;
}

int start_incoming(struct emulator *e, GError **err)
{
	if (tcg_icount_enabled()) {
		error_set(err, "%s", no_icount);
		return -EINVAL;
	}
	return migration_incoming_prepare(e->migration, e->cfg->incoming, e->autostart, err);
}

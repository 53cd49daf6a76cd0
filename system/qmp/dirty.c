/* system/qmp/dirty.c - commands about dirty tracking. */
#include "qapi/gen/dirty.h"

#include "accel/accel.h"
#include "memory/dirty-log.h"
#include "migration/migration.h"
#include "system/emulator.h"
#include "util/error.h"

void qmp_calc_dirty_rate(struct machine *m, JsonObject *args, GError **err)
{
	migration_calc_dirty_rate(emulator_of(m)->migration, args, err);
}

struct qapi_dirty_rate_info *
qmp_query_dirty_rate(struct machine *m, const struct qapi_query_dirty_rate_args *args, GError **err)
{
	const char *unit =
		args->has_calc_time_unit ? qapi_time_unit_str(args->calc_time_unit) : NULL;
	g_autoptr(JsonNode) n = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(n, migration_query_dirty_rate(emulator_of(m)->migration, unit));
	return qapi_dirty_rate_info_from_json(n, err);
}

static struct qapi_dirty_tracking_counters *counters(struct dirty_tracker *t)
{
	struct qapi_dirty_tracking_counters *c = g_new0(struct qapi_dirty_tracking_counters, 1);
	struct dirty_log_stats s;

	dirty_tracker_stats(t, &s);
	c->starts = s.starts;
	c->start_ns = s.start_ns;
	c->syncs = s.syncs;
	c->sync_ns = s.sync_ns;
	c->pages_reported = s.pages_reported;
	c->get_calls = s.get_calls;
	c->get_ns = s.get_ns;
	c->clear_calls = s.clear_calls;
	c->clear_ns = s.clear_ns;
	c->clear_pages = s.clear_pages;
	c->clear_max_ns = s.clear_max_ns;
	c->reset_calls = s.reset_calls;
	c->reset_ns = s.reset_ns;
	c->reset_entries = s.reset_entries;
	c->ring_full_exits = s.ring_full_exits;
	c->ring_full_ns = s.ring_full_ns;
	c->ring_overflows = s.ring_overflows;
	c->fallbacks = s.fallbacks;
	return c;
}

/* Names of the clients that track any block. */
static GPtrArray *active_clients(const struct ram_list *ram)
{
	static const char *const names[DIRTY_CLIENTS] = { "migration", "display", "rate" };
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (int c = 0; c < DIRTY_CLIENTS; c++) {
		for (guint i = 0; i < ram->blocks->len; i++) {
			struct ramblock *b = g_ptr_array_index(ram->blocks, i);

			if (dirty_map_client_active(&b->dirty, c)) {
				g_ptr_array_add(list, g_strdup(names[c]));
				break;
			}
		}
	}
	return list;
}

struct qapi_dirty_tracking_info *qmp_query_dirty_tracking(struct machine *m, GError **err)
{
	struct qapi_dirty_tracking_info *info = g_new0(struct qapi_dirty_tracking_info, 1);
	struct dirty_tracker *t = m->vm->tracker;
	struct ram_list *ram = m->vm->ram;

	info->backend = g_strdup(dirty_tracker_name(t));
	info->mode = g_strdup(dirty_tracker_mode(t));
	info->clients = active_clients(ram);
	info->counters = counters(t);
	info->blocks = qapi_dirty_tracking_block_list_new();
	for (guint i = 0; i < ram->blocks->len; i++) {
		struct qapi_dirty_tracking_block *out = g_new0(struct qapi_dirty_tracking_block, 1);
		struct ramblock *b = g_ptr_array_index(ram->blocks, i);

		out->name = g_strdup(b->id);
		out->pages = ram_pages(b);
		out->batch_pages = dirty_tracker_batch_pages(t, b);
		g_ptr_array_add(info->blocks, out);
	}
	return info;
}

/* A limit per vCPU needs to count what each vCPU writes, which no back end here does yet. */
static void refuse_limit(GError **err)
{
	error_set(err, "dirty page limit is not supported: use auto-converge to slow the guest");
}

void qmp_set_vcpu_dirty_limit(struct machine *m, const struct qapi_set_vcpu_dirty_limit_args *args,
			      GError **err)
{
	refuse_limit(err);
}

void qmp_cancel_vcpu_dirty_limit(struct machine *m,
				 const struct qapi_cancel_vcpu_dirty_limit_args *args, GError **err)
{
	refuse_limit(err);
}

GPtrArray *qmp_query_vcpu_dirty_limit(struct machine *m, GError **err)
{
	refuse_limit(err);
	return NULL;
}

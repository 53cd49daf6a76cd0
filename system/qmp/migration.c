/* system/qmp/migration.c - commands of live migration. */
#include "qapi/gen/migration.h"

#include "migration/migration.h"
#include "system/emulator.h"
#include "system/incoming.h"
#include "util/error.h"

static struct migration *migration_of(struct machine *m)
{
	return emulator_of(m)->migration;
}

/* The migration room speaks JSON objects in QMP's own form; the schema checks them once more. */
static JsonNode *object_node(JsonObject *o)
{
	JsonNode *n = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(n, o);
	return n;
}

struct qapi_migration_info *qmp_query_migrate(struct machine *m, GError **err)
{
	g_autoptr(JsonNode) n = object_node(migration_query(migration_of(m)));

	return qapi_migration_info_from_json(n, err);
}

struct qapi_migration_pages *
qmp_x_query_migration_pages(struct machine *m, const struct qapi_x_query_migration_pages_args *args,
			    GError **err)
{
	u64 buckets = args->has_buckets ? args->buckets : 1024;
	JsonObject *pages = migration_query_pages(migration_of(m), buckets, err);
	g_autoptr(JsonNode) n = pages ? object_node(pages) : NULL;

	return n ? qapi_migration_pages_from_json(n, err) : NULL;
}

void qmp_migrate_set_capabilities(struct machine *m, JsonObject *args, GError **err)
{
	migration_set_capabilities(migration_of(m),
				   json_object_get_array_member(args, "capabilities"), err);
}

GPtrArray *qmp_query_migrate_capabilities(struct machine *m, GError **err)
{
	JsonArray *list = migration_capabilities(migration_of(m));
	GPtrArray *result = qapi_migration_capability_status_list_new();

	for (guint i = 0; i < json_array_get_length(list); i++) {
		struct qapi_migration_capability_status *s =
			qapi_migration_capability_status_from_json(json_array_get_element(list, i),
								   err);

		if (!s) {
			g_clear_pointer(&result, g_ptr_array_unref);
			break;
		}
		g_ptr_array_add(result, s);
	}
	json_array_unref(list);
	return result;
}

void qmp_migrate_set_parameters(struct machine *m, JsonObject *args, GError **err)
{
	migration_set_parameters(migration_of(m), args, err);
}

struct qapi_migration_parameters *qmp_query_migrate_parameters(struct machine *m, GError **err)
{
	g_autoptr(JsonNode) n = object_node(migration_parameters(migration_of(m)));

	return qapi_migration_parameters_from_json(n, err);
}

static const char *text_arg(JsonObject *args, const char *name)
{
	return json_object_has_member(args, name) ? json_object_get_string_member(args, name)
						  : NULL;
}

static JsonArray *array_arg(JsonObject *args, const char *name)
{
	return json_object_has_member(args, name) ? json_object_get_array_member(args, name) : NULL;
}

static bool flag_arg(JsonObject *args, const char *name, bool absent)
{
	return json_object_has_member(args, name) ? json_object_get_boolean_member(args, name)
						  : absent;
}

void qmp_migrate(struct machine *m, JsonObject *args, GError **err)
{
	migration_start(migration_of(m), text_arg(args, "uri"), array_arg(args, "channels"),
			flag_arg(args, "resume", false), err);
}

void qmp_migrate_incoming(struct machine *m, JsonObject *args, GError **err)
{
	migration_incoming(migration_of(m), text_arg(args, "uri"), array_arg(args, "channels"),
			   flag_arg(args, "exit-on-error", true), err);
}

void qmp_migrate_cancel(struct machine *m, GError **err)
{
	migration_cancel(migration_of(m));
}

void qmp_migrate_continue(struct machine *m, const struct qapi_migrate_continue_args *args,
			  GError **err)
{
	migration_continue(migration_of(m), qapi_migration_status_str(args->state), err);
}

void qmp_migrate_start_postcopy(struct machine *m, GError **err)
{
	migration_start_postcopy(migration_of(m), err);
}

void qmp_migrate_pause(struct machine *m, GError **err)
{
	migration_pause(migration_of(m), err);
}

void qmp_migrate_recover(struct machine *m, const struct qapi_migrate_recover_args *args,
			 GError **err)
{
	migration_recover(migration_of(m), args->uri, err);
}

void qmp_announce_self(struct machine *m, const struct qapi_announce_self_args *args, GError **err)
{
	if (args->initial < 0 || args->initial > 100000 || args->max < 0 || args->max > 100000 ||
	    args->rounds < 1 || args->rounds > 1000 || args->step < 0 || args->step > 10000) {
		error_set(err, "announce-self: initial and max must be 0..100000 ms, rounds "
			       "1..1000, step 0..10000 ms");
		return;
	}
	announce_start(args->initial, args->max, args->rounds, args->step);
}

/*
 * tests/unit/qapi/sample-handlers.c - handlers of the sample schema.
 */
#include "tests/unit/qapi/gen/sample.h"
#include "tests/unit/qapi/sample-handlers.h"
#include "util/error.h"

struct sample_state sample_state;

struct qapi_tree *qmp_grow(struct machine *m, const struct qapi_grow_args *args, GError **err)
{
	g_autoptr(JsonNode) copy = qapi_tree_to_json(args->tree);

	return qapi_tree_from_json(copy, err);
}

GPtrArray *qmp_draw(struct machine *m, const struct qapi_figure *args, GError **err)
{
	GPtrArray *list = qapi_figure_list_new();
	g_autoptr(JsonNode) copy = qapi_figure_to_json(args);

	g_ptr_array_add(list, qapi_figure_from_json(copy, err));
	return list;
}

JsonNode *qmp_echo(struct machine *m, const struct qapi_echo_args *args, GError **err)
{
	return json_node_copy(args->value);
}

JsonNode *qmp_raw(struct machine *m, JsonObject *args, GError **err)
{
	return json_node_init_object(json_node_alloc(), args);
}

void qmp_checked(struct machine *m, JsonObject *args, GError **err)
{
	sample_state.checked_members = json_object_get_size(args);
}

s64 qmp_count(struct machine *m, GError **err)
{
	return ++sample_state.count;
}

GPtrArray *qmp_names(struct machine *m, GError **err)
{
	return NULL;
}

void qmp_fail(struct machine *m, const struct qapi_fail_args *args, GError **err)
{
	g_set_error(err, MACHINE_ERROR, args->class, "failed as asked");
}

s64 qmp_wait(struct machine *m, GError **err)
{
	sample_state.woken = false;
	while (!sample_state.woken)
		g_main_context_iteration(NULL, TRUE);
	return ++sample_state.count;
}

void qmp_wake(struct machine *m, GError **err)
{
	sample_state.woken = true;
}

/* system/qmp/qom.c - commands about objects and their types; adding and removing devices. */
#include "qapi/gen/qom.h"

#include "system/emulator.h"
#include "system/objects.h"
#include "system/qom.h"
#include "util/error.h"
#include "util/keyval.h"

GPtrArray *qmp_qom_list(struct machine *m, const struct qapi_qom_list_args *args, GError **err)
{
	return qom_list(emulator_of(m), args->path, err);
}

JsonNode *qmp_qom_get(struct machine *m, const struct qapi_qom_get_args *args, GError **err)
{
	return qom_get(emulator_of(m), args->path, args->property, err);
}

void qmp_qom_set(struct machine *m, const struct qapi_qom_set_args *args, GError **err)
{
	qom_set(emulator_of(m), args->path, args->property, args->value, err);
}

static struct qapi_object_properties_values *values_at(struct emulator *e, const char *path,
						       GError **err)
{
	g_autoptr(GPtrArray) props = qom_list(e, path, err);
	struct qapi_object_properties_values *out;

	if (!props)
		return NULL;
	out = g_new0(struct qapi_object_properties_values, 1);
	out->properties = qapi_object_property_value_list_new();
	for (guint i = 0; i < props->len; i++) {
		const struct qapi_object_property_info *p = g_ptr_array_index(props, i);
		struct qapi_object_property_value *v = g_new0(struct qapi_object_property_value, 1);

		v->name = g_strdup(p->name);
		v->type = g_strdup(p->type);
		v->value = qom_get(e, path, p->name, NULL); /* children have none */
		g_ptr_array_add(out->properties, v);
	}
	return out;
}

GPtrArray *qmp_qom_list_get(struct machine *m, const struct qapi_qom_list_get_args *args,
			    GError **err)
{
	GPtrArray *list = qapi_object_properties_values_list_new();

	for (guint i = 0; i < args->paths->len; i++) {
		struct qapi_object_properties_values *v =
			values_at(emulator_of(m), g_ptr_array_index(args->paths, i), err);

		if (!v) {
			g_ptr_array_unref(list);
			return NULL;
		}
		g_ptr_array_add(list, v);
	}
	return list;
}

struct type_query {
	const struct qapi_qom_list_types_args *args;
	GPtrArray *list;
};

static void add_type(const char *name, const char *parent, bool abstract, void *opaque)
{
	struct type_query *q = opaque;
	struct qapi_object_type_info *info;

	if (abstract && !(q->args->has_abstract && q->args->abstract))
		return;
	if (q->args->implements && !qom_type_is(name, q->args->implements))
		return;
	info = g_new0(struct qapi_object_type_info, 1);
	info->name = g_strdup(name);
	info->has_abstract = info->abstract = abstract;
	info->parent = g_strdup(parent);
	g_ptr_array_add(q->list, info);
}

GPtrArray *qmp_qom_list_types(struct machine *m, const struct qapi_qom_list_types_args *args,
			      GError **err)
{
	struct type_query q = { args, qapi_object_type_info_list_new() };

	qom_types_foreach(add_type, &q);
	return q.list;
}

GPtrArray *qmp_qom_list_properties(struct machine *m,
				   const struct qapi_qom_list_properties_args *args, GError **err)
{
	return qom_type_props(emulator_of(m), args->typename, false, err);
}

GPtrArray *qmp_device_list_properties(struct machine *m,
				      const struct qapi_device_list_properties_args *args,
				      GError **err)
{
	return qom_type_props(emulator_of(m), args->typename, true, err);
}

/* What makes an object takes its options out of the JsonObject: give it one of its own. */
void qmp_object_add(struct machine *m, JsonObject *args, GError **err)
{
	g_autoptr(JsonObject) opts = json_object_new();

	keyval_merge(opts, args);
	objects_add(emulator_of(m)->objects, opts, err);
}

void qmp_object_del(struct machine *m, const struct qapi_object_del_args *args, GError **err)
{
	objects_del(emulator_of(m)->objects, args->id, err);
}

void qmp_device_add(struct machine *m, JsonObject *args, GError **err)
{
	device_add(m, args, err);
}

void qmp_device_del(struct machine *m, const struct qapi_device_del_args *args, GError **err)
{
	device_del(m, args->id, err);
}

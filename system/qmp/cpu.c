/* system/qmp/cpu.c - commands about vCPUs and CPU models. */
#include "qapi/gen/cpu.h"

#include "accel/vcpu.h"
#include "system/emulator.h"
#include "util/error.h"

/* The place of a vCPU in the topology: threads vary fastest, sockets slowest. */
static struct qapi_cpu_instance_properties *place_of(const struct machine *m, unsigned index)
{
	struct qapi_cpu_instance_properties *p = g_new0(struct qapi_cpu_instance_properties, 1);
	const struct machine_options *o = &m->opt;

	p->has_thread_id = true;
	p->thread_id = index % o->threads;
	index /= o->threads;
	p->has_core_id = true;
	p->core_id = index % o->cores;
	index /= o->cores;
	p->has_die_id = o->dies > 1;
	p->die_id = index % o->dies;
	p->has_socket_id = true;
	p->socket_id = index / o->dies;
	return p;
}

GPtrArray *qmp_query_cpus_fast(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_cpu_info_fast_list_new();

	for (int i = 0; i < m->vm->ncpus; i++) {
		struct qapi_cpu_info_fast *info = g_new0(struct qapi_cpu_info_fast, 1);

		info->cpu_index = i;
		info->qom_type = machine_cpu_type(m);
		info->qom_path = machine_cpu_path(i);
		info->thread_id = m->vm->cpus[i]->tid;
		info->props = place_of(m, i);
		qapi_sys_emu_target_parse(target_desc.hw->name, &info->target);
		g_ptr_array_add(list, info);
	}
	return list;
}

GPtrArray *qmp_query_hotpluggable_cpus(struct machine *m, GError **err)
{
	GPtrArray *list;

	if (!m->vm->ncpus) {
		error_set(err, "machine %s has no CPUs", m->type->name);
		return NULL;
	}
	/* Every place; those that are taken have a path. */
	list = qapi_hotpluggable_cpu_list_new();
	for (unsigned i = 0; i < m->opt.max_cpus; i++) {
		struct qapi_hotpluggable_cpu *cpu = g_new0(struct qapi_hotpluggable_cpu, 1);

		cpu->type = machine_cpu_type(m);
		cpu->vcpus_count = 1;
		cpu->props = place_of(m, i);
		if (i < (unsigned)m->vm->ncpus)
			cpu->qom_path = machine_cpu_path(i);
		g_ptr_array_add(list, cpu);
	}
	return list;
}

static bool kvm_runs(const struct machine *m)
{
	return !strcmp(m->vm->accel->ops->name, "kvm");
}

static void ignore_value(void *opaque, const char *name, u64 number, const char *text)
{
}

static void add_unavailable(void *opaque, const char *name, bool on, bool unavailable)
{
	if (unavailable)
		g_ptr_array_add(opaque, g_strdup(name));
}

GPtrArray *qmp_query_cpu_definitions(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_cpu_definition_info_list_new();

	for (const char *const *name = target_desc.cpu_models(); *name; name++) {
		struct qapi_cpu_definition_info *info = g_new0(struct qapi_cpu_definition_info, 1);
		const struct cpu_visitor v = { add_unavailable, ignore_value,
					       g_ptr_array_new_with_free_func(g_free) };
		bool of_host = target_desc.cpu_needs_kvm(*name) || !strcmp(*name, "max");

		info->name = g_strdup(*name);
		info->typename = g_strdup_printf("%s-%s", *name, target_desc.hw->cpu_type);
		info->has_migration_safe = true;
		info->migration_safe = !of_host;
		info->unavailable_features = v.opaque;
		g_ptr_array_add(list, info);
		if (target_desc.cpu_needs_kvm(*name) && !kvm_runs(m))
			g_ptr_array_add(v.opaque, g_strdup("kvm"));
		else if (target_desc.cpu_expand(m, *name, &v, err))
			break;
	}
	if (*err)
		g_clear_pointer(&list, g_ptr_array_unref);
	return list;
}

/* ---- query-cpu-model-expansion ---- */

/* A model with its properties as -cpu takes it; NULL with @err. */
static char *model_text(const struct qapi_cpu_model_info *model, GError **err)
{
	GString *s = g_string_new(model->name);
	JsonObjectIter it;
	const char *key;
	JsonNode *value;

	if (!model->props)
		return g_string_free(s, FALSE);
	if (!JSON_NODE_HOLDS_OBJECT(model->props)) {
		error_set(err, "Parameter 'model.props' expects an object");
		g_string_free(s, TRUE);
		return NULL;
	}
	json_object_iter_init_ordered(&it, json_node_get_object(model->props));
	while (json_object_iter_next_ordered(&it, &key, &value)) {
		g_string_append_printf(s, ",%s=", key);
		if (!JSON_NODE_HOLDS_VALUE(value)) {
			error_set(err, "Parameter 'model.props.%s' expects a scalar", key);
			g_string_free(s, TRUE);
			return NULL;
		}
		if (json_node_get_value_type(value) == G_TYPE_STRING)
			g_string_append(s, json_node_get_string(value));
		else if (json_node_get_value_type(value) == G_TYPE_BOOLEAN)
			g_string_append(s, json_node_get_boolean(value) ? "on" : "off");
		else
			g_string_append_printf(s, "%" PRId64, json_node_get_int(value));
	}
	return g_string_free(s, FALSE);
}

static void set_feature(void *opaque, const char *name, bool on, bool unavailable)
{
	json_object_set_boolean_member(opaque, name, on);
}

static void set_value(void *opaque, const char *name, u64 number, const char *text)
{
	if (text)
		json_object_set_string_member(opaque, name, text);
	else
		json_object_set_int_member(opaque, name, (s64)number);
}

struct qapi_cpu_model_expansion_info *
qmp_query_cpu_model_expansion(struct machine *m,
			      const struct qapi_query_cpu_model_expansion_args *args, GError **err)
{
	g_autofree char *text = model_text(args->model, err);
	g_autoptr(JsonObject) props = json_object_new();
	const struct cpu_visitor v = { set_feature, set_value, props };
	struct qapi_cpu_model_expansion_info *info;

	if (!text)
		return NULL;
	if (target_desc.cpu_needs_kvm(args->model->name) && !kvm_runs(m)) {
		error_set(err, "CPU model '%s' requires KVM", args->model->name);
		return NULL;
	}
	if (target_desc.cpu_expand(m, text, &v, err))
		return NULL;
	info = g_new0(struct qapi_cpu_model_expansion_info, 1);
	info->model = g_new0(struct qapi_cpu_model_info, 1);
	/* A static expansion does not depend on what a model's name means: all is in the
	 * properties, on top of a model that has nothing. */
	info->model->name = g_strdup(
		args->type == QAPI_CPU_MODEL_EXPANSION_TYPE_STATIC ? "base" : args->model->name);
	info->model->props = json_node_init_object(json_node_alloc(), props);
	return info;
}

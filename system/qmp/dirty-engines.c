/* system/qmp/dirty-engines.c - commands about dirty-state engines of CPUs. */
#include "qapi/gen/dirty-engines.h"

#include "accel/vm.h"
#include "system/emulator.h"
#include "util/error.h"

GPtrArray *qmp_query_dirty_state_engines(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_dirty_state_engines_list_new();

	if (target_desc.dirty_engines)
		target_desc.dirty_engines->query(m, list);
	return list;
}

void qmp_x_dirty_state_inject(struct machine *m, const struct qapi_x_dirty_state_inject_args *args,
			      GError **err)
{
	if (!target_desc.dirty_engines) {
		error_set(err, "CPUs of this target have no dirty-state engines");
		return;
	}
	if (args->has_cpu_index && (args->cpu_index < 0 || args->cpu_index >= m->vm->ncpus)) {
		error_set(err, "there is no CPU %" PRId64 ", the machine has %d", args->cpu_index,
			  m->vm->ncpus);
		return;
	}
	target_desc.dirty_engines->inject(m, args->has_cpu_index ? (int)args->cpu_index : -1,
					  args->name, args->value, err);
}

GPtrArray *qmp_x_query_dirty_state_problems(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_dirty_state_problem_list_new();

	if (target_desc.dirty_engines)
		target_desc.dirty_engines->problems(list);
	return list;
}

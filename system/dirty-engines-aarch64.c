/* system/dirty-engines-aarch64.c - arm64's dirty-state engines for the monitors. */
#include "accel/vm.h"
#include "qapi/gen/dirty-engines.h"
#include "system/emulator.h"
#include "target/arm.h"
#include "target/arm/dirty_check.h"
#include "target/arm/engines.h"
#include "util/error.h"

/* The vCPUs run meanwhile: each number is right by itself. */
static u64 get(const u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static struct qapi_hdbss_info *hdbss_of(const struct arm_cpu *cpu)
{
	const struct arm_hdbss_stats *s = &cpu->engines->hdbss;
	struct qapi_hdbss_info *info = g_new0(struct qapi_hdbss_info, 1);
	struct arm_hdbss_view v;

	arm_hdbss_view(cpu, &v);
	info->enabled = v.enabled;
	info->base = v.base;
	info->size = v.size;
	info->index = v.index;
	info->fsc = v.fsc;
	info->entries = get(&s->entries);
	info->table_entries = get(&s->table_entries);
	info->full_faults = get(&s->full_faults);
	info->error_faults = get(&s->error_faults);
	info->aborts = get(&s->aborts);
	info->resets = get(&s->resets);
	info->injected = get(&s->injected);
	return info;
}

static struct qapi_hacdbs_info *hacdbs_of(const struct arm_cpu *cpu)
{
	const struct arm_hacdbs_stats *s = &cpu->engines->hacdbs.stats;
	struct qapi_hacdbs_info *info = g_new0(struct qapi_hacdbs_info, 1);
	struct arm_hacdbs_view v;

	arm_hacdbs_view(cpu, &v);
	info->enabled = v.enabled;
	info->running = v.running;
	info->base = v.base;
	info->size = v.size;
	info->index = v.index;
	info->error = (enum qapi_hacdbs_error)v.error;
	info->interrupt = v.interrupt;
	info->starts = get(&s->starts);
	info->entries = get(&s->entries);
	info->cleaned = get(&s->cleaned);
	info->were_clean = get(&s->were_clean);
	info->skipped = get(&s->skipped);
	info->structf_errors = get(&s->errors[1]);
	info->ipaf_errors = get(&s->errors[2]);
	info->ipahacf_errors = get(&s->errors[3]);
	info->slices = get(&s->slices);
	info->interrupts = get(&s->interrupts);
	info->lost_interrupts = get(&s->lost_interrupts);
	info->ignored_writes = get(&s->ignored_writes);
	return info;
}

static void query(struct machine *m, GPtrArray *list)
{
	for (int i = 0; i < m->vm->ncpus; i++) {
		struct arm_cpu *cpu = arm_cpu_of_vcpu(m->vm->cpus[i]);
		struct qapi_dirty_state_engines *e;

		if (!cpu->engines)
			continue;
		e = g_new0(struct qapi_dirty_state_engines, 1);
		e->cpu_index = i;
		e->hdbss = cpu->engines->config.hdbss ? hdbss_of(cpu) : NULL;
		e->hacdbs = cpu->engines->config.hacdbs ? hacdbs_of(cpu) : NULL;
		e->stale_writes = get(&cpu->engines->stale_writes);
		g_ptr_array_add(list, e);
	}
}

static int inject(struct machine *m, int index, const char *name, const char *value, GError **err)
{
	for (int i = 0; i < m->vm->ncpus; i++) {
		struct arm_cpu *cpu = arm_cpu_of_vcpu(m->vm->cpus[i]);
		int ret;

		if (index >= 0 && i != index)
			continue;
		if (!cpu->engines) {
			error_set(err,
				  "CPU %d has no dirty-state engines: they need "
				  "virtualization=on and -cpu max",
				  i);
			return -ENODEV;
		}
		ret = arm_engine_inject(&cpu->engines->config, name, value, err);
		if (ret)
			return ret;
	}
	return 0;
}

static void add_problem(void *opaque, const struct arm_dirty_problem *p)
{
	struct qapi_dirty_state_problem *out = g_new0(struct qapi_dirty_state_problem, 1);

	out->kind = g_strdup(p->kind);
	out->cpu_index = p->cpu;
	out->pc = p->pc;
	out->ipa = p->ipa;
	out->text = g_strdup(p->text);
	g_ptr_array_add(opaque, out);
}

static void problems(GPtrArray *list)
{
	arm_dirty_check_problems(add_problem, list);
}

const struct dirty_engine_ops arm_dirty_engine_ops = {
	.query = query,
	.inject = inject,
	.problems = problems,
};

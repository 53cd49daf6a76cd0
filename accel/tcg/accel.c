/* accel/tcg/accel.c - the TCG accelerator: options, vCPU threads, changes of the memory map. */
#include "accel/tcg/accel.h"
#include "accel/tcg.h"
#include "accel/tcg/icount-turn.h"
#include "accel/tcg/mem.h"
#include "accel/tcg/work.h"
#include "util/error.h"
#include "util/keyval.h"

static int parse_thread(JsonObject *props, bool *single, GError **err)
{
	g_autofree char *text = keyval_take_str(props, "thread");

	*single = text ? !strcmp(text, "single") : icount_configured();
	if (text && !*single && strcmp(text, "multi")) {
		error_set(err, "thread=%s: must be multi or single", text);
		return -EINVAL;
	}
	if (!*single && icount_configured()) {
		error_set(err, "thread=multi: with -icount all vCPUs share one thread; use "
			       "thread=single");
		return -EINVAL;
	}
	return 0;
}

static int parse_props(struct tcg_accel *tcg, JsonObject *props, bool *single, GError **err)
{
	bool one_insn = false;
	u64 mib = 0;
	int ret;

	tcg->jit = true;
	if (parse_thread(props, single, err) ||
	    keyval_take_bool(props, "jit", &tcg->jit, err) == -EINVAL ||
	    keyval_take_bool(props, "one-insn-per-tb", &one_insn, err) == -EINVAL)
		return -EINVAL;
	tcg_set_one_insn(one_insn);
	ret = keyval_take_u64(props, "tb-size", &mib, err);
	if (ret == -EINVAL)
		return ret;
	/* 0 is the default. */
	if (ret || !mib)
		return 0;
	ret = mib > UINT32_MAX ? -ERANGE : tcg_set_code_size(mib * MiB);
	if (ret == -ERANGE)
		error_set(err, "tb-size=%" PRIu64 ": must be 1 to 1024 MiB, or 0 for the default",
			  mib);
	else if (ret)
		error_set(err, "tb-size=%" PRIu64 ": translations are in use already", mib);
	return ret;
}

/* ---- the memory map ---- */

static void flush(struct tcg_cpu *cpu, u64 a, u64 b)
{
	cpu->ops->flush(cpu);
}

static void range_changed(struct as_listener *l, const struct flat_range *r)
{
	container_of(l, struct tcg_accel, listener)->map_changed = true;
}

/*
 * Soft TLBs hold host addresses of the old map. A vCPU that makes the change (in a device) is
 * between tcg_wait_begin() and tcg_wait_end() and flushes at the latter.
 */
static void map_committed(struct as_listener *l)
{
	struct tcg_accel *tcg = container_of(l, struct tcg_accel, listener);

	if (tcg->map_changed)
		tcg_run_on_others(NULL, flush, 0, 0);
	tcg->map_changed = false;
}

/* ---- life ---- */

static struct accel *tcg_create(struct vm *vm, JsonObject *props, GError **err)
{
	struct tcg_accel *tcg = g_new0(struct tcg_accel, 1);
	bool single;

	tcg->base.ops = &tcg_accel_ops;
	tcg->base.vm = vm;
	if (parse_props(tcg, props, &single, err)) {
		g_free(tcg);
		return NULL;
	}
	if (single)
		tcg->single = tcg_single_create(vm, icount_configured());
	tcg->listener.add = tcg->listener.del = range_changed;
	tcg->listener.commit = map_committed;
	address_space_listen(vm->memory, &tcg->listener);
	vm->ram->written = tcg_invalidate_host;
	return &tcg->base;
}

static void tcg_destroy(struct accel *a)
{
	if (tcg_accel_of(a)->single)
		tcg_single_destroy(tcg_accel_of(a)->single);
	a->vm->ram->written = NULL;
	address_space_unlisten(a->vm->memory, &tcg_accel_of(a)->listener);
	g_free(tcg_accel_of(a));
}

static const struct dirty_log_ops *tcg_dirty_log(struct accel *a, void **backend)
{
	*backend = tcg_accel_of(a);
	return &tcg_dirty_ops;
}

bool accel_is_tcg(const struct accel *a)
{
	return a && a->ops == &tcg_accel_ops;
}

bool tcg_accel_jit(const struct accel *a)
{
	return accel_is_tcg(a) && container_of(a, const struct tcg_accel, base)->jit;
}

/* While another vCPU steps alone: wait until the VM stops. */
static void hold(struct vcpu *cpu, struct tcg_cpu *tcg)
{
	__atomic_store_n(&tcg->exit_request, 0, __ATOMIC_SEQ_CST);
	if (!vcpu_must_park(cpu))
		tcg_cpu_sleep(tcg);
}

static gpointer vcpu_thread(gpointer opaque)
{
	struct vcpu *cpu = opaque;
	struct tcg_vcpu *v = cpu->accel_data;

	vcpu_thread_init(cpu);
	g_mutex_lock(&cpu->vm->cpu_lock);
	v->started = true;
	g_cond_broadcast(&cpu->vm->cpu_cond);
	g_mutex_unlock(&cpu->vm->cpu_lock);
	while (vcpu_wait_runnable(cpu)) {
		if (v->debug.hold) {
			hold(cpu, v->tcg);
			continue;
		}
		/* Whether it may run at all is the target's to say: ops->service comes first. */
		__atomic_store_n(&v->tcg->exit_request, 1, __ATOMIC_SEQ_CST);
		tcg_run(v->tcg);
	}
	return NULL;
}

static int tcg_vcpu_create(struct accel *a, struct vcpu *cpu, GError **err)
{
	struct tcg_vcpu *v;

	if (!cpu->ops->tcg_cpu) {
		error_set(err, "%s vCPUs cannot be translated", cpu->ops->name);
		return -ENOTSUP;
	}
	v = g_new0(struct tcg_vcpu, 1);
	v->tcg = cpu->ops->tcg_cpu(cpu);
	cpu->accel_data = v;
	if (tcg_accel_of(a)->single) {
		tcg_single_add(tcg_accel_of(a)->single, cpu);
		return 0;
	}
	cpu->thread = g_thread_new("vcpu", vcpu_thread, cpu);
	g_mutex_lock(&a->vm->cpu_lock);
	while (!v->started) /* cpu->tid is set before */
		g_cond_wait(&a->vm->cpu_cond, &a->vm->cpu_lock);
	g_mutex_unlock(&a->vm->cpu_lock);
	return 0;
}

static void tcg_vcpu_destroy(struct accel *a, struct vcpu *cpu)
{
	tcg_debug_free(cpu);
	g_clear_pointer(&cpu->accel_data, g_free);
}

static void tcg_vcpu_join(struct accel *a, struct vcpu *cpu)
{
	if (tcg_accel_of(a)->single)
		tcg_single_join(tcg_accel_of(a)->single, cpu);
	else
		g_thread_join(cpu->thread);
}

static void tcg_vcpu_kick(struct accel *a, struct vcpu *cpu)
{
	struct tcg_vcpu *v = cpu->accel_data;

	tcg_cpu_kick(v->tcg);
}

const struct accel_ops tcg_accel_ops = {
	.name = "tcg",
	.desc = "translation of the guest's code",
	.props_help = "jit=on|off       translate; off: interpret, slowly (default: on)\n"
		      "one-insn-per-tb=on|off  one instruction in each translation (default: off)\n"
		      "tb-size=MIB      room for translations, 1 to 1024; 0: the default, 64\n"
		      "thread=multi     one thread for each vCPU (default without -icount)\n"
		      "thread=single    one thread for all, in turns\n",
	.create = tcg_create,
	.destroy = tcg_destroy,
	.dirty_log = tcg_dirty_log,
	.vcpu_create = tcg_vcpu_create,
	.vcpu_destroy = tcg_vcpu_destroy,
	.vcpu_join = tcg_vcpu_join,
	.vcpu_kick = tcg_vcpu_kick,
	.debug_changed = tcg_debug_changed,
};

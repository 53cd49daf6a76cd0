/* accel/tcg/debug.c - breakpoints, watchpoints and single steps of translated vCPUs. */
#include "accel/tcg/debug.h"
#include "accel/tcg.h"
#include "accel/tcg/accel.h"

/* Whether two runs of bytes have one in common. */
static bool overlap(u64 a, u64 alen, u64 b, u64 blen)
{
	return a - b < blen || b - a < alen;
}

bool tcg_debug_in_page(const struct tcg_debug *d, u64 pc_page)
{
	for (unsigned i = 0; i < d->npoints; i++)
		if (d->points[i].kind == DEBUG_BREAK &&
		    (d->points[i].addr & TCG_PAGE_MASK) == pc_page)
			return true;
	return d->step;
}

bool tcg_stepping(const struct tcg_cpu *cpu)
{
	return cpu->debug && cpu->debug->step;
}

static bool has_break(const struct tcg_debug *d, u64 pc)
{
	for (unsigned i = 0; i < d->npoints; i++)
		if (d->points[i].kind == DEBUG_BREAK && d->points[i].addr == pc)
			return true;
	return false;
}

static void report(struct tcg_cpu *cpu, enum debug_kind kind, u64 addr)
{
	vm_debug_report(cpu->debug->vcpu, kind, addr);
	__atomic_store_n(&cpu->exit_request, 1, __ATOMIC_SEQ_CST);
}

bool tcg_debug_before_insn(struct tcg_cpu *cpu)
{
	struct tcg_debug *d = cpu->debug;

	if (d->step) {
		if (d->stepped)
			report(cpu, DEBUG_STEP, tcg_pc(cpu));
		/* It may raise an exception: then its handler is where the step ends. */
		d->stepped = !d->stepped;
		return !d->stepped;
	}
	if (!has_break(d, tcg_pc(cpu)))
		return false;
	report(cpu, DEBUG_BREAK, tcg_pc(cpu));
	return true;
}

static bool is_watch(const struct debug_point *p)
{
	return p->kind >= DEBUG_WATCH_WRITE;
}

bool tcg_debug_watched(const struct tcg_debug *d, u64 va)
{
	for (unsigned i = 0; i < d->npoints; i++)
		if (is_watch(&d->points[i]) &&
		    overlap(va & TCG_PAGE_MASK, TCG_PAGE_SIZE, d->points[i].addr, d->points[i].len))
			return true;
	return false;
}

void tcg_debug_access(struct tcg_cpu *cpu, u64 va, u64 size, enum tcg_access access)
{
	struct tcg_debug *d = cpu->debug;
	enum debug_kind other = access == TCG_READ ? DEBUG_WATCH_WRITE : DEBUG_WATCH_READ;

	for (unsigned i = 0; i < d->npoints; i++) {
		const struct debug_point *p = &d->points[i];

		if (!is_watch(p) || p->kind == other || !overlap(va, size, p->addr, p->len))
			continue;
		report(cpu, p->kind, p->addr);
		d->abandoned = true;
		tcg_raise(cpu);
	}
}

/* ---- what the debugger wants, for one vCPU; it is parked ---- */

static void update(struct vcpu *cpu)
{
	const struct vm_debug *vm = cpu->vm->debug;
	struct tcg_vcpu *v = cpu->accel_data;
	struct tcg_debug *d = &v->debug;

	g_free(d->points);
	*d = (struct tcg_debug){
		.vcpu = cpu,
		.points = g_memdup2(vm->points->data, vm->points->len * sizeof(*d->points)),
		.npoints = vm->points->len,
		.step = vm->step_cpu == cpu->index,
		.hold = vm->step_cpu >= 0 && vm->step_cpu != cpu->index && vm->only_step,
	};
	v->tcg->debug = d->npoints || d->step ? d : NULL;
	v->tcg->ops->flush(v->tcg);
}

void tcg_debug_changed(struct accel *a)
{
	for (int i = 0; i < a->vm->ncpus; i++)
		update(a->vm->cpus[i]);
}

void tcg_debug_free(struct vcpu *cpu)
{
	struct tcg_vcpu *v = cpu->accel_data;

	v->tcg->debug = NULL;
	g_clear_pointer(&v->debug.points, g_free);
}

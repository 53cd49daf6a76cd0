/* accel/tcg/work.c - work that vCPUs do for each other at points where no guest code runs. */
#include "accel/tcg/work.h"
#include "accel/tcg/region.h"

/* A CPU that sleeps or is stopped may miss any amount of work. */
#define WORK_MAX 64

struct work {
	tcg_work_fn *fn;
	u64 a, b;
};

static GMutex lock;
static GCond progress;
static GPtrArray *cpus; /* of struct tcg_cpu */

void work_add_cpu(struct tcg_cpu *cpu)
{
	g_mutex_lock(&lock);
	if (!cpus)
		cpus = g_ptr_array_new();
	g_ptr_array_add(cpus, cpu);
	cpu->work = g_array_new(FALSE, FALSE, sizeof(struct work));
	g_mutex_unlock(&lock);
}

void work_remove_cpu(struct tcg_cpu *cpu)
{
	g_mutex_lock(&lock);
	g_ptr_array_remove(cpus, cpu);
	g_array_free(cpu->work, TRUE);
	cpu->work = NULL;
	g_cond_broadcast(&progress);
	g_mutex_unlock(&lock);
}

static void run_locked(struct tcg_cpu *cpu)
{
	for (unsigned i = 0; i < cpu->work->len; i++) {
		struct work w = g_array_index(cpu->work, struct work, i);

		w.fn(cpu, w.a, w.b);
	}
	g_array_set_size(cpu->work, 0);
	__atomic_store_n(&cpu->work_pending, 0, __ATOMIC_SEQ_CST);
	g_cond_broadcast(&progress);
}

void work_run(struct tcg_cpu *cpu)
{
	g_mutex_lock(&lock);
	run_locked(cpu);
	g_mutex_unlock(&lock);
}

void work_left_code(struct tcg_cpu *cpu)
{
	if (!__atomic_load_n(&cpu->work_pending, __ATOMIC_SEQ_CST))
		return;
	g_mutex_lock(&lock);
	g_cond_broadcast(&progress);
	g_mutex_unlock(&lock);
}

void tcg_wait_begin(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->waiting, 1, __ATOMIC_SEQ_CST);
	work_left_code(cpu);
}

void tcg_wait_end(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->waiting, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&cpu->work_pending, __ATOMIC_SEQ_CST))
		work_run(cpu);
}

static bool any_behind(const struct tcg_cpu *self)
{
	bool behind = false;

	for (unsigned i = 0; i < cpus->len; i++) {
		struct tcg_cpu *cpu = g_ptr_array_index(cpus, i);

		if (cpu == self || !__atomic_load_n(&cpu->work_pending, __ATOMIC_SEQ_CST) ||
		    !__atomic_load_n(&cpu->in_code, __ATOMIC_SEQ_CST) ||
		    __atomic_load_n(&cpu->waiting, __ATOMIC_SEQ_CST))
			continue;
		__atomic_store_n(&cpu->exit_request, 1, __ATOMIC_RELAXED);
		behind = true;
	}
	return behind;
}

static void flush(struct tcg_cpu *cpu, u64 a, u64 b)
{
	cpu->ops->flush(cpu);
}

static void add_locked(struct tcg_cpu *cpu, const struct work *w)
{
	static const struct work all = { flush, 0, 0 };

	if (cpu->work->len == WORK_MAX && cpu->ops->flush) {
		g_array_set_size(cpu->work, 0);
		w = &all;
	}
	/* The first in line may be that flush, which covers what follows. */
	if (!cpu->work->len || g_array_index(cpu->work, struct work, 0).fn != flush)
		g_array_append_val(cpu->work, *w);
	__atomic_store_n(&cpu->work_pending, 1, __ATOMIC_SEQ_CST);
}

void tcg_run_on_others(struct tcg_cpu *self, tcg_work_fn *fn, u64 a, u64 b)
{
	struct work w = { fn, a, b };

	g_mutex_lock(&lock);
	for (unsigned i = 0; cpus && i < cpus->len; i++) {
		struct tcg_cpu *cpu = g_ptr_array_index(cpus, i);

		if (cpu == self)
			continue;
		add_locked(cpu, &w);
	}
	if (cpus && cpus->len > (self != NULL)) {
		/* While waiting this CPU runs no guest code: two that wait for each other go on. */
		if (self)
			__atomic_store_n(&self->waiting, 1, __ATOMIC_SEQ_CST);
		g_cond_broadcast(&progress);
		while (any_behind(self))
			g_cond_wait(&progress, &lock);
		if (self) {
			__atomic_store_n(&self->waiting, 0, __ATOMIC_SEQ_CST);
			run_locked(self);
		}
	}
	g_mutex_unlock(&lock);
}

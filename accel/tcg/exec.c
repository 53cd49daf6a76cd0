/* accel/tcg/exec.c - the loop that a vCPU thread runs guest code in. */
#include "accel/tcg/cpu.h"
#include "accel/tcg/debug.h"
#include "accel/tcg/region.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

_Noreturn void tcg_raise(struct tcg_cpu *cpu)
{
	_longjmp(cpu->unwind, 1);
}

/*
 * Kick and sleep are a futex on exit_request. Whoever kicks stores the request and then looks
 * whether the CPU sleeps; who sleeps says so and then looks for the request: one of them sees the
 * other.
 */
void tcg_cpu_kick(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->exit_request, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&cpu->sleeping, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &cpu->exit_request, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void tcg_cpu_sleep(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->sleeping, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&cpu->exit_request, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &cpu->exit_request, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(&cpu->sleeping, 0, __ATOMIC_SEQ_CST);
}

static bool exit_requested(struct tcg_cpu *cpu)
{
	return __atomic_load_n(&cpu->exit_request, __ATOMIC_RELAXED);
}

/* Of pages that this is true for no region is ever found, so that no code jumps there. */
static bool must_interpret(struct tcg_cpu *cpu)
{
	return cpu->state_key & TCG_KEY_INTERPRET ||
	       (cpu->hw_points & TCG_HW_BREAK && cpu->ops->break_in_page(cpu, cpu->pc_page));
}

/* Run the region at the pc; what has none is interpreted. */
static void run_region(struct tcg_cpu *cpu)
{
	const void *code = must_interpret(cpu) ? NULL : region_find(cpu);
	u64 site;

	if (!code) {
		cpu->ops->step(cpu);
		return;
	}
	site = host_enter(cpu, code);
	if (site)
		region_chain(cpu, site);
}

static void run_translated(struct tcg_cpu *cpu)
{
	while (!exit_requested(cpu))
		run_region(cpu);
}

/* No region is found in pages with breakpoints, and jumps into a page always look for one. */
static void run_debugged(struct tcg_cpu *cpu)
{
	while (!exit_requested(cpu)) {
		if (cpu->use_jit && !tcg_debug_in_page(cpu->debug, cpu->pc_page))
			run_region(cpu);
		else if (!tcg_debug_before_insn(cpu))
			cpu->ops->step(cpu);
	}
}

static void run_interpreted(struct tcg_cpu *cpu)
{
	while (!exit_requested(cpu))
		cpu->ops->step(cpu);
}

static void enter_code(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->in_code, 1, __ATOMIC_SEQ_CST);
	if (cpu->use_jit)
		region_enter(cpu);
	if (__atomic_load_n(&cpu->work_pending, __ATOMIC_SEQ_CST))
		work_run(cpu);
}

static void leave_code(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->in_code, 0, __ATOMIC_SEQ_CST);
	if (cpu->use_jit)
		region_leave(cpu);
	work_left_code(cpu);
}

void tcg_run(struct tcg_cpu *cpu)
{
	bool raised = _setjmp(cpu->unwind);

	if (raised && cpu->debug && cpu->debug->abandoned)
		raised = cpu->debug->abandoned = false;
	for (;;) {
		if (raised || exit_requested(cpu)) {
			leave_code(cpu);
			if (!cpu->ops->service(cpu, raised))
				return;
			raised = false;
			continue;
		}
		enter_code(cpu);
		if (cpu->debug)
			run_debugged(cpu);
		else if (cpu->use_jit)
			run_translated(cpu);
		else
			run_interpreted(cpu);
	}
}

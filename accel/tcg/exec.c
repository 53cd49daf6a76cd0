/* accel/tcg/exec.c - the loop that a vCPU thread runs guest code in. */
#include "accel/tcg/cpu.h"
#include "accel/tcg/debug.h"
#include "accel/tcg/region.h"
#include "accel/tcg/single.h"
#include "accel/tcg/trace.h"
#include "util/log.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_STEP (~(u64)0) /* of tcg_cpu.step_pc */

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
	if (cpu->single)
		tcg_single_wake(cpu->single);
	else if (__atomic_load_n(&cpu->sleeping, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &cpu->exit_request, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool tcg_cpu_sleep(struct tcg_cpu *cpu)
{
	if (cpu->single) {
		cpu->idle = true;
		return false;
	}
	__atomic_store_n(&cpu->sleeping, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&cpu->exit_request, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &cpu->exit_request, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_store_n(&cpu->sleeping, 0, __ATOMIC_SEQ_CST);
	return true;
}

void tcg_cpu_end_turn(struct tcg_cpu *cpu)
{
	__atomic_store_n(&cpu->turn_over, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cpu->exit_request, 1, __ATOMIC_SEQ_CST);
}

void tcg_cpu_yield(struct tcg_cpu *cpu)
{
	if (!cpu->single)
		cpu->exit_request = 1;
	else if (tcg_single_others_ready(cpu->single, cpu))
		tcg_cpu_end_turn(cpu);
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

/* Interpret one instruction, which is taken off the budget when it has been executed. */
static void step(struct tcg_cpu *cpu)
{
	cpu->step_pc = tcg_pc(cpu);
	cpu->ops->step(cpu);
	cpu->step_pc = NO_STEP;
	cpu->budget--;
}

/* Run the region at the pc; what has none is interpreted. */
static void run_region(struct tcg_cpu *cpu)
{
	const void *code = must_interpret(cpu) ? NULL : region_find(cpu);
	u64 site;

	if (!code) {
		step(cpu);
		return;
	}
	if (log_enabled(LOG_EXEC | LOG_CPU))
		tcg_trace_exec(cpu, code);
	site = host_enter(cpu, code);
	cpu->region_end = 0;
	if (site && !log_enabled(LOG_NOCHAIN))
		region_chain(cpu, site);
}

/*
 * The current instruction was abandoned. It counts if it has been executed, as those have that end
 * with an exception (SVC): they leave the pc behind them.
 */
static void settle(struct tcg_cpu *cpu)
{
	cpu->budget += tcg_cpu_refund(cpu);
	cpu->region_end = 0;
	if (cpu->step_pc != NO_STEP && cpu->step_pc != tcg_pc(cpu))
		cpu->budget--;
	cpu->step_pc = NO_STEP;
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
			step(cpu);
	}
}

static void run_interpreted(struct tcg_cpu *cpu)
{
	while (!exit_requested(cpu))
		step(cpu);
}

/* As above, up to exactly the end of the budget. */
static void run_counted(struct tcg_cpu *cpu)
{
	bool retry = cpu->retry;

	while (!exit_requested(cpu)) {
		bool debugged = cpu->debug && tcg_debug_in_page(cpu->debug, cpu->pc_page);

		if (cpu->budget <= 0)
			tcg_cpu_end_turn(cpu);
		else if (cpu->use_jit && !debugged && !cpu->interpret && !retry)
			run_region(cpu);
		else if (!debugged || !tcg_debug_before_insn(cpu))
			step(cpu);
		cpu->retry = retry = false;
	}
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

	settle(cpu);
	if (raised && cpu->debug && cpu->debug->abandoned)
		raised = cpu->debug->abandoned = false;
	if (raised && cpu->retry) {
		raised = false;
		cpu->exit_request = 1; /* for ops->service to put things straight */
	}
	for (;;) {
		if (raised || exit_requested(cpu)) {
			leave_code(cpu);
			if (!cpu->ops->service(cpu, raised))
				return;
			raised = false;
			continue;
		}
		enter_code(cpu);
		if (cpu->counted)
			run_counted(cpu);
		else if (cpu->debug)
			run_debugged(cpu);
		else if (cpu->use_jit)
			run_translated(cpu);
		else
			run_interpreted(cpu);
	}
}

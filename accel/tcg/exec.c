/* accel/tcg/exec.c - the loop that a vCPU thread runs guest code in. */
#include "accel/tcg/code.h"
#include "accel/tcg/cpu.h"

_Noreturn void tcg_raise(struct tcg_cpu *cpu)
{
	_longjmp(cpu->unwind, 1);
}

void tcg_run(struct tcg_cpu *cpu)
{
	if (_setjmp(cpu->unwind) && !cpu->ops->service(cpu, true))
		return;

	for (;;) {
		while (!__atomic_load_n(&cpu->exit_request, __ATOMIC_RELAXED))
			cpu->ops->step(cpu);
		if (!cpu->ops->service(cpu, false))
			return;
	}
}

bool tcg_code_in_page(u64 phys)
{
	return false;
}

void tcg_code_written(struct tcg_cpu *cpu, u64 phys, unsigned size)
{
}

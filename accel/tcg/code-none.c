/* accel/tcg/code-none.c - stands in for region.c on hosts without a code generator. */
#include "accel/tcg/code.h"
#include "accel/tcg/mem.h"
#include "accel/tcg/region.h"
#include "accel/tcg.h"
#include "accel/tcg/trace.h"
#include "util/error.h"

bool tcg_code_in_page(u64 phys)
{
	return false;
}

void tcg_code_written(u64 phys, unsigned size)
{
}

void tcg_invalidate_host(const void *host, u64 size)
{
}

int tcg_set_code_size(u64 size)
{
	return 0;
}

void tcg_set_one_insn(bool on)
{
}

void tcg_trace_exec(struct tcg_cpu *cpu, const void *code)
{
}

int tcg_perf_map_open(GError **err)
{
	error_set(err, "-perfmap: on this host nothing is translated");
	return -ENOTSUP;
}

bool tcg_cpu_register(struct tcg_cpu *cpu, bool jit)
{
	cpu->use_jit = false;
	cpu->step_pc = ~(u64)0;
	work_add_cpu(cpu);
	return false;
}

void tcg_cpu_unregister(struct tcg_cpu *cpu)
{
	work_remove_cpu(cpu);
}

void tcg_select(struct tcg_cpu *cpu, struct tcg_mmu *mmu, u32 key)
{
	cpu->mmu = mmu;
	cpu->state_key = key;
}

void tcg_set_views(struct tcg_cpu *cpu, struct tcg_mmu *const views[2], struct tcg_mmu *data)
{
}

void tcg_select_data(struct tcg_cpu *cpu, struct tcg_mmu *mmu)
{
	cpu->mmu = mmu;
}

void region_enter(struct tcg_cpu *cpu)
{
}

void region_leave(struct tcg_cpu *cpu)
{
}

const void *region_find(struct tcg_cpu *cpu)
{
	return NULL;
}

void region_chain(struct tcg_cpu *cpu, u64 site)
{
}

u64 host_enter(struct tcg_cpu *cpu, const void *code)
{
	return 0;
}

void tcg_fp_set(struct tcg_cpu *cpu, enum tcg_rounding rounding)
{
}

u32 tcg_fp_take(struct tcg_cpu *cpu)
{
	return 0;
}

void tcg_stats_get(struct tcg_stats *stats)
{
	*stats = (struct tcg_stats){ 0 };
}

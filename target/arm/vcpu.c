/* target/arm/vcpu.c - arm64 vCPUs under an accelerator: creation, events, reset, description. */
#include "target/arm/vcpu.h"

#include "accel/tcg.h"
#include "target/arm/debug.h"
#include "target/arm/engines.h"
#include "target/arm/excp.h"
#include "target/arm/irq.h"
#include "target/arm/kvm.h"
#include "target/arm/model.h"
#include "target/arm/pmu.h"
#include "target/arm/self_debug.h"

#include <elf.h>

#define MPIDR_RES1 (1ull << 31)
#define SCR_NS_RW  (1ull << 0 | 1ull << 8 | 1ull << 10) /* non-secure, HVC, AArch64 below */

static struct arm_vcpu *arm_vcpu_of_tcg(struct tcg_cpu *tcg)
{
	return arm_vcpu_of(arm_cpu_of(tcg));
}

struct arm_cpu *arm_cpu_of_vcpu(struct vcpu *vcpu)
{
	return &((struct arm_vcpu *)vcpu->arch)->cpu;
}

/* ---- events; all on the vCPU's thread ---- */

/* Whether HVC or SMC with this syndrome is a call to the machine, which then answers it. */
static bool is_psci(const struct arm_cpu *cpu)
{
	return cpu->excp.iss == 0 &&
	       ((cpu->conduit == ARM_CONDUIT_HVC && cpu->excp.ec == EC_HVC64) ||
		(cpu->conduit == ARM_CONDUIT_SMC && cpu->excp.ec == EC_SMC64 &&
		 cpu->excp.target_el == 3));
}

static void take_exception(struct arm_vcpu *v)
{
	struct arm_cpu *cpu = &v->cpu;

	if (is_psci(cpu)) {
		cpu->excp = (struct arm_exception){ 0 };
		arm_psci_call(v);
		return;
	}
	/* A call that no level is there to take. */
	if ((cpu->excp.ec == EC_HVC64 && !cpu->has_el2) ||
	    (cpu->excp.ec == EC_SMC64 && cpu->excp.target_el == 3 && !cpu->has_el3)) {
		tcg_set_pc(&cpu->tcg, tcg_pc(&cpu->tcg) - 4);
		cpu->excp = (struct arm_exception){ .ec = EC_UNKNOWN };
	}
	arm_take_exception(cpu);
}

static bool is_off(const struct arm_vcpu *v)
{
	return __atomic_load_n(&v->powered_off, __ATOMIC_ACQUIRE);
}

/* Whether the CPU may go on with instructions; else it waits for a kick. */
static bool is_awake(struct arm_vcpu *v)
{
	struct arm_cpu *cpu = &v->cpu;

	if (is_off(v))
		return false;
	if (cpu->waiting == ARM_WAIT_INTERRUPT && !arm_irq_wakes(cpu) && !tcg_stepping(&cpu->tcg))
		return false;
	/* Events are not kept: whoever waits for one looks again by itself. */
	if (cpu->waiting == ARM_WAIT_EVENT && cpu->tcg.single)
		tcg_cpu_yield(&cpu->tcg);
	else if (cpu->waiting == ARM_WAIT_EVENT)
		g_thread_yield();
	cpu->waiting = ARM_WAIT_NONE;
	return true;
}

static bool service(struct tcg_cpu *tcg, bool raised)
{
	struct arm_vcpu *v = arm_vcpu_of_tcg(tcg);

	/* First: what is requested from here on is seen below, or calls this function again. */
	__atomic_store_n(&tcg->exit_request, 0, __ATOMIC_SEQ_CST);
	if (v->cpu.bti_seen && !v->cpu.bti_on) {
		v->cpu.bti_on = true;
		arm_state_changed(&v->cpu);
	}
	arm_mmu_end_unpriv(&v->cpu); /* a watchpoint may have ended such an access */
	if (raised)
		take_exception(v);
	arm_pmu_service(&v->cpu);
	if (v->cpu.engines)
		arm_engines_service(&v->cpu);
	while (!vcpu_must_park(v->vcpu)) {
		if (is_awake(v)) {
			if (tcg_cpu_turn_is_over(tcg))
				break;
			if (!tcg_stepping(tcg))
				arm_irq_take(&v->cpu);
			return true;
		}
		if (!tcg_cpu_sleep(tcg))
			break;
		__atomic_store_n(&tcg->exit_request, 0, __ATOMIC_SEQ_CST);
		arm_pmu_service(&v->cpu);
		if (v->cpu.engines)
			arm_engines_service(&v->cpu);
	}
	arm_get_fpsr(&v->cpu); /* complete for whoever looks at a stopped CPU */
	return false;
}

static void rearm(struct tcg_cpu *tcg)
{
	arm_mmu_rearm(arm_cpu_of(tcg));
}

static void flush(struct tcg_cpu *tcg)
{
	arm_vcpu_of_tcg(tcg)->window.size = 0;
	arm_mmu_flush(arm_cpu_of(tcg));
}

static char *describe_tcg(struct tcg_cpu *tcg)
{
	return arm_vcpu_describe(arm_vcpu_of_tcg(tcg)->vcpu);
}

static const struct tcg_ops arm_tcg_ops = {
	.fill = arm_mmu_fill,
	.io_read = arm_mmu_io_read,
	.io_write = arm_mmu_io_write,
	.first_store = arm_mmu_first_store,
	.break_in_page = arm_break_in_page,
	.watched = arm_watched,
	.watch = arm_watch,
	.service = service,
	.step = arm_step,
#ifdef TCG_JIT
	.translate = arm_translate,
#endif
	.rearm = rearm,
	.describe = describe_tcg,
	.flush = flush,
};

/* ---- life ---- */

static struct tcg_cpu *get_tcg(struct vcpu *vcpu)
{
	struct arm_vcpu *v = vcpu->arch;

	v->vcpu = vcpu;
	return &v->cpu.tcg;
}

void arm_vcpu_reset(struct vcpu *vcpu)
{
	struct arm_vcpu *v = vcpu->arch;

	v->cpu.waiting = ARM_WAIT_NONE;
	arm_cpu_reset(&v->cpu, 0);
	__atomic_store_n(&v->powered_off, v->starts_off, __ATOMIC_RELEASE);
}

static void describe_flags(GString *s, const struct arm_cpu *cpu)
{
	unsigned nzcv = cpu_nzcv(cpu);

	g_string_append_printf(s, "PSTATE=%08x %c%c%c%c EL%u%c\n", arm_get_pstate(cpu),
			       nzcv & 8 ? 'N' : '-', nzcv & 4 ? 'Z' : '-', nzcv & 2 ? 'C' : '-',
			       nzcv & 1 ? 'V' : '-', cpu_el(cpu),
			       cpu->pstate & PSTATE_SPSEL ? 'h' : 't');
}

char *arm_vcpu_describe(struct vcpu *vcpu)
{
	struct arm_cpu *cpu = arm_cpu_of_vcpu(vcpu);
	GString *s = g_string_new(NULL);

	g_string_append_printf(s, " PC=%016" PRIx64 " ", tcg_pc(&cpu->tcg));
	for (int i = 0; i < 31; i++)
		g_string_append_printf(s, "X%02d=%016" PRIx64 "%c", i, cpu->tcg.r[i],
				       i % 3 == 1 ? '\n' : ' ');
	g_string_append_printf(s, "SP=%016" PRIx64 "\n", cpu->tcg.r[31]);
	describe_flags(s, cpu);
	for (unsigned el = 1; el < 4; el++)
		if (el == 1 || (el == 2 ? cpu->has_el2 : cpu->has_el3))
			g_string_append_printf(s,
					       "EL%u: SCTLR=%016" PRIx64 " ELR=%016" PRIx64
					       " SPSR=%08" PRIx64 " ESR=%08" PRIx64
					       " FAR=%016" PRIx64 "\n",
					       el, cpu->sctlr_el[el], cpu->elr_el[el],
					       cpu->spsr_el[el], cpu->esr_el[el], cpu->far_el[el]);
	g_string_append_printf(s, "FPCR=%08x FPSR=%08x%s\n", cpu->fpcr, arm_get_fpsr(cpu),
			       is_off(vcpu->arch) ? " powered off" : "");
	return g_string_free(s, FALSE);
}

unsigned arm_vcpu_core_regs(struct vcpu *vcpu, u64 regs[CORE_REGS_MAX])
{
	struct arm_cpu *cpu = arm_cpu_of_vcpu(vcpu);

	memcpy(regs, cpu->tcg.r, 32 * sizeof(regs[0])); /* the last one is SP */
	regs[32] = tcg_pc(&cpu->tcg);
	regs[33] = arm_get_pstate(cpu);
	return 34;
}

static const struct cpu_ops arm_cpu_ops = {
	.name = "arm",
	.reset = arm_vcpu_reset,
	.describe = arm_vcpu_describe,
	.core_regs = arm_vcpu_core_regs,
	.elf_machine = EM_AARCH64,
	.debug = &arm_debug_ops,
	.tcg_cpu = get_tcg,
};

/* What only those need whose instructions are executed here. */
static void add_translator(struct arm_vcpu *v, struct vm *vm, const struct arm_cpu_model *model)
{
	arm_bus_init(v);
	tcg_cpu_register(&v->cpu.tcg, tcg_accel_jit(vm->accel));
	arm_el2_registers_add(&v->cpu);
	arm_mmu_create(&v->cpu, &v->bus);
	arm_self_debug_init(&v->cpu);
	arm_engines_create(&v->cpu, arm_cpu_model_engines(model));
	arm_pmu_create(&v->cpu);
}

static void free_vcpu(struct arm_vcpu *v)
{
	if (v->cpu.mmu) {
		arm_engines_destroy(&v->cpu);
		arm_pmu_destroy(&v->cpu);
		arm_mmu_destroy(&v->cpu);
		tcg_cpu_unregister(&v->cpu.tcg);
	}
	arm_kvm_free(v);
	if (v->cpu.sysregs)
		g_hash_table_destroy(v->cpu.sysregs);
	g_aligned_free(v);
}

struct vcpu *arm_cpu_create(struct vm *vm, const struct arm_cpu_model *model,
			    const struct arm_cpu_config *config, GError **err)
{
	/* Vector registers are accessed as aligned. */
	struct arm_vcpu *v = g_aligned_alloc0(1, sizeof(*v), 64);
	struct arm_cpu *cpu = &v->cpu;
	struct vcpu *vcpu;

	cpu->tcg.ops = &arm_tcg_ops;
	cpu->has_el2 = config->has_el2;
	arm_cpu_model_apply(model, cpu);
	cpu->mpidr = config->mpidr | MPIDR_RES1;
	cpu->has_el3 = config->has_el3;
	cpu->conduit = config->conduit;
	v->starts_off = config->starts_off;
	if (!arm_kvm_used(vm))
		add_translator(v, vm, model);
	vcpu = vcpu_create(vm, arm_kvm_used(vm) ? &arm_kvm_cpu_ops : &arm_cpu_ops, v, err);
	if (!vcpu) {
		free_vcpu(v);
		return NULL;
	}
	v->vcpu = vcpu; /* TCG and KVM needed it earlier, qtest never asks */
	if (cpu->engines)
		cpu->engines->index = vcpu->index;
	return vcpu;
}

void arm_cpu_destroy(struct vcpu *vcpu)
{
	struct arm_vcpu *v = vcpu->arch;

	vcpu_destroy(vcpu);
	free_vcpu(v);
}

unsigned arm_boot_el(const struct arm_cpu *cpu)
{
	return cpu->has_el2 ? 2 : 1;
}

void arm_cpu_boot_at(struct arm_cpu *cpu, unsigned el, u64 entry, u64 x0)
{
	if (cpu->has_el3)
		cpu->scr_el3 |= SCR_NS_RW;
	arm_set_pstate(cpu, PSTATE_SPSEL | el << PSTATE_EL_SHIFT | PSTATE_DAIF);
	cpu->tcg.r[0] = x0;
	tcg_set_pc(&cpu->tcg, entry);
}

int arm_cpu_start_at(struct vcpu *vcpu, u64 pc, GError **err)
{
	tcg_set_pc(&((struct arm_vcpu *)vcpu->arch)->cpu.tcg, pc);
	return vcpu_put_state(vcpu, err);
}

int arm_cpu_boot(struct vcpu *vcpu, u64 entry, u64 x0, GError **err)
{
	struct arm_vcpu *v = vcpu->arch;

	arm_cpu_boot_at(&v->cpu, arm_boot_el(&v->cpu), entry, x0);
	__atomic_store_n(&v->powered_off, false, __ATOMIC_RELEASE);
	return vcpu_put_state(vcpu, err);
}

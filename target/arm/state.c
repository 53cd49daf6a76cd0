/*
 * target/arm/state.c - what of an arm64 vCPU travels: sections "cpu" 22 and "cpu_common" 1.
 *
 * Names, order and widths are those of QEMU's stream; for system registers see state-sysregs.h.
 */
#include "migration/state.h"

#include "accel/vm.h"
#include "target/arm/cpu-features.h"
#include "target/arm/engines.h"
#include "target/arm/excp.h"
#include "target/arm/irq.h"
#include "target/arm/kvm.h"
#include "target/arm/pmu.h"
#include "target/arm/self_debug.h"
#include "target/arm/state-sysregs.h"
#include "target/arm/timer.h"
#include "target/arm/vcpu.h"
#include "util/error.h"

#define TIMER_OFF (-1)

/* QEMU's numbers of banked SPSRs, and of interrupt inputs. */
enum { BANK_EL1 = 1, BANK_EL2 = 6, BANK_EL3 = 7 };
enum { INPUT_IRQ = 0x2, INPUT_FIQ = 0x10, INPUT_VIRQ = 0x40, INPUT_VFIQ = 0x200 };

struct wire_vreg {
	u64 d[2];
};

/* The state as it lies on the wire; members have the wire's names. */
struct arm_wire {
	struct arm_vcpu *v;
	bool old_list; /* for arm_wire_save_sysregs() */
	struct {
		u32 regs[16]; /* AArch32: zeroes, as all that have no comment of their own */
		u64 xregs[32];
		u64 pc;
		u32 spsr;
		u64 banked_spsr[8];
		u32 banked_r13[8], banked_r14[8], usr_regs[5], fiq_regs[5];
		u64 elr_el[4], sp_el[4];
		u64 exclusive_addr, exclusive_val, exclusive_high;
		struct {
			u32 syndrome, fsr;
			u64 vaddress;
		} exception;
		struct {
			struct wire_vreg zregs[32];
			u32 xregs[16];
		} vfp;
		u32 irq_line_state;
	} env;
	u32 cpsr, fpscr;
	s32 cpreg_vmstate_array_len;
	u64 cpreg_vmstate_indexes[ARM_WIRE_SYSREGS], cpreg_vmstate_values[ARM_WIRE_SYSREGS];
	s64 timer_phys, timer_virt;                   /* follow from the registers */
	s64 wfxt_timer;                               /* end of a WFIT or WFET at the source */
	u64 hdbssbr, hdbssprod, hacdbsbr, hacdbscons; /* subsections of our own */
	u8 serror_pending, serror_has_esr;            /* subsection cpu/serror */
	u64 serror_esr;
	u8 power_state; /* 1: off */
	u32 halted, interrupt_request;
};

/* ---- system registers ---- */

static void save_kvm_regs(struct arm_wire *w)
{
	const struct arm_kvm_cpu *k = w->v->kvm;

	g_assert(k->n <= ARM_WIRE_SYSREGS);
	w->cpreg_vmstate_array_len = k->n;
	memcpy(w->cpreg_vmstate_indexes, k->index, k->n * sizeof(k->index[0]));
	memcpy(w->cpreg_vmstate_values, k->value, k->n * sizeof(k->value[0]));
}

/* With @apply false only look whether it can be done. Whether KVM takes the values shows when they
 * are put. */
static int load_kvm_regs(struct arm_wire *w, bool apply, GError **err)
{
	struct arm_kvm_cpu *k = w->v->kvm;

	for (int i = 0; i < w->cpreg_vmstate_array_len; i++) {
		const u64 *found = bsearch(&w->cpreg_vmstate_indexes[i], k->index, k->n,
					   sizeof(k->index[0]), arm_kvm_by_index);

		if (!found) {
			error_set(err,
				  "cpu: KVM of this host has no register 0x%" PRIx64
				  ": it came from another kernel, CPU or accelerator",
				  w->cpreg_vmstate_indexes[i]);
			return -EINVAL;
		}
		if (apply)
			k->value[found - k->index] = w->cpreg_vmstate_values[i];
	}
	return 0;
}

static void save_sysregs(struct arm_wire *w)
{
	if (w->v->kvm)
		save_kvm_regs(w);
	else
		w->cpreg_vmstate_array_len =
			arm_wire_save_sysregs(&w->v->cpu, w->v->vcpu->vm->ncpus, w->old_list,
					      w->cpreg_vmstate_indexes, w->cpreg_vmstate_values);
}

static int check_sysregs(struct arm_wire *w, GError **err)
{
	if (w->v->kvm)
		return load_kvm_regs(w, false, err);
	return arm_wire_check_sysregs(&w->v->cpu, w->cpreg_vmstate_indexes, w->cpreg_vmstate_values,
				      w->cpreg_vmstate_array_len, err);
}

static void load_sysregs(struct arm_wire *w)
{
	if (w->v->kvm)
		load_kvm_regs(w, true, NULL);
	else
		arm_wire_load_sysregs(&w->v->cpu, w->cpreg_vmstate_indexes, w->cpreg_vmstate_values,
				      w->cpreg_vmstate_array_len);
}

/* ---- out ---- */

static void save_vectors(struct arm_wire *w)
{
	struct arm_cpu *cpu = &w->v->cpu;

	for (unsigned i = 0; i < 32; i++)
		memcpy(w->env.vfp.zregs[i].d, cpu_v(cpu, i)->d, sizeof(w->env.vfp.zregs[i].d));
	/* The bits of the two registers do not meet in AArch32's one. */
	w->fpscr = cpu->fpcr | arm_get_fpsr(cpu);
}

static u32 inputs_of(u32 lines)
{
	return (lines >> ARM_LINE_IRQ & 1 ? INPUT_IRQ : 0) |
	       (lines >> ARM_LINE_FIQ & 1 ? INPUT_FIQ : 0) |
	       (lines >> ARM_LINE_VIRQ & 1 ? INPUT_VIRQ : 0) |
	       (lines >> ARM_LINE_VFIQ & 1 ? INPUT_VFIQ : 0);
}

static u32 lines_of(u32 inputs)
{
	return !!(inputs & INPUT_IRQ) << ARM_LINE_IRQ | !!(inputs & INPUT_FIQ) << ARM_LINE_FIQ |
	       !!(inputs & INPUT_VIRQ) << ARM_LINE_VIRQ | !!(inputs & INPUT_VFIQ) << ARM_LINE_VFIQ;
}

static void cpu_pre_save(void *obj)
{
	struct arm_wire *w = obj;
	struct arm_cpu *cpu = &w->v->cpu;
	unsigned bank = cpu->pstate & PSTATE_SPSEL ? cpu_el(cpu) : 0;

	arm_pmu_update(cpu);
	memset(&w->env, 0, sizeof(w->env));
	memcpy(w->env.xregs, cpu->tcg.r, sizeof(w->env.xregs));
	w->env.pc = tcg_pc(&cpu->tcg);
	w->cpsr = arm_get_pstate(cpu);
	w->env.banked_spsr[BANK_EL1] = cpu->spsr_el[1];
	w->env.banked_spsr[BANK_EL2] = cpu->spsr_el[2];
	w->env.banked_spsr[BANK_EL3] = cpu->spsr_el[3];
	memcpy(w->env.elr_el, cpu->elr_el, sizeof(w->env.elr_el));
	memcpy(w->env.sp_el, cpu->sp_el, sizeof(w->env.sp_el));
	w->env.sp_el[bank] = cpu->tcg.r[31];
	/* An exclusive store may always fail once. */
	w->env.exclusive_addr = ~(u64)0;
	w->timer_phys = w->timer_virt = TIMER_OFF;
	w->power_state = w->v->powered_off;
	w->env.irq_line_state = inputs_of(__atomic_load_n(&cpu->irq_lines, __ATOMIC_SEQ_CST));
	w->hdbssbr = cpu->hdbssbr_el2;
	w->hdbssprod = cpu->hdbssprod_el2;
	w->hacdbsbr = cpu->hacdbsbr_el2;
	w->hacdbscons = cpu->hacdbscons_el2;
	w->serror_pending = w->v->kvm && w->v->kvm->serror_pending;
	w->serror_has_esr = w->v->kvm && w->v->kvm->serror_has_esr;
	w->serror_esr = w->v->kvm ? w->v->kvm->serror_esr : 0;
	save_vectors(w);
	save_sysregs(w);
}

static int cpu_collect(void *obj, GError **err)
{
	struct arm_wire *w = obj;

	return vcpu_get_state(w->v->vcpu, err);
}

static void common_pre_save(void *obj)
{
	struct arm_wire *w = obj;

	w->halted = w->v->powered_off || w->v->cpu.waiting == ARM_WAIT_INTERRUPT;
	w->interrupt_request = 0;
}

/* ---- in ---- */

static int check_engines(struct arm_wire *w, GError **err)
{
	const struct arm_cpu *cpu = &w->v->cpu;
	bool hdbss = cpu_has(cpu, ARM_FEAT_HDBSS), hacdbs = cpu_has(cpu, ARM_FEAT_HACDBS);

	if (((w->hdbssbr || w->hdbssprod) && !hdbss) ||
	    ((w->hacdbsbr || w->hacdbscons) && !hacdbs)) {
		error_set(err, "cpu: %s=on there and off here: -cpu must be the same",
			  hdbss ? "hacdbs" : "hdbss");
		return -EINVAL;
	}
	return 0;
}

static int check_loaded(struct arm_wire *w, GError **err)
{
	unsigned el = w->cpsr >> PSTATE_EL_SHIFT & 3;

	if (w->cpsr & PSTATE_nRW || (el == 2 && !w->v->cpu.has_el2) ||
	    (el == 3 && !w->v->cpu.has_el3)) {
		error_set(err, "cpu: PSTATE 0x%x: no such state on this CPU", w->cpsr);
		return -EINVAL;
	}
	if (w->power_state > 1) {
		error_set(err, "cpu: power state %u is neither on (0) nor off (1)", w->power_state);
		return -EINVAL;
	}
	if (w->serror_pending && !w->v->kvm) {
		error_set(err, "cpu: a virtual SError is pending there; this accelerator has none");
		return -EINVAL;
	}
	return check_engines(w, err) ?: check_sysregs(w, err);
}

static void load_vectors(struct arm_wire *w)
{
	struct arm_cpu *cpu = &w->v->cpu;

	for (unsigned i = 0; i < 32; i++)
		memcpy(cpu_v(cpu, i)->d, w->env.vfp.zregs[i].d, sizeof(w->env.vfp.zregs[i].d));
	arm_set_fpcr(cpu, w->fpscr);
	arm_set_fpsr(cpu, w->fpscr);
}

static void load_serror(struct arm_wire *w)
{
	w->v->kvm->serror_pending = w->serror_pending;
	w->v->kvm->serror_has_esr = w->serror_has_esr;
	w->v->kvm->serror_esr = w->serror_esr;
}

static int cpu_post_load(void *obj, int version, GError **err)
{
	struct arm_wire *w = obj;
	struct arm_cpu *cpu = &w->v->cpu;
	int ret = check_loaded(w, err);

	if (ret)
		return ret;
	load_sysregs(w);
	memcpy(cpu->elr_el, w->env.elr_el, sizeof(cpu->elr_el));
	memcpy(cpu->sp_el, w->env.sp_el, sizeof(cpu->sp_el));
	cpu->spsr_el[1] = w->env.banked_spsr[BANK_EL1];
	cpu->spsr_el[2] = w->env.banked_spsr[BANK_EL2];
	cpu->spsr_el[3] = w->env.banked_spsr[BANK_EL3];
	memcpy(cpu->tcg.r, w->env.xregs, sizeof(cpu->tcg.r));
	cpu->pstate = w->cpsr & ~PSTATE_NZCV;
	cpu_set_nzcv(cpu, w->cpsr >> 28);
	tcg_set_pc(&cpu->tcg, w->env.pc);
	cpu->tcg.excl_addr = ~(u64)0;
	cpu->excp = (struct arm_exception){ 0 };
	load_vectors(w);
	__atomic_store_n(&cpu->irq_lines, lines_of(w->env.irq_line_state), __ATOMIC_SEQ_CST);
	__atomic_store_n(&w->v->powered_off, w->power_state, __ATOMIC_RELEASE);
	if (w->v->kvm) {
		load_serror(w);
		return vcpu_put_state(w->v->vcpu, err);
	}
	if (w->wfxt_timer != TIMER_OFF)
		cpu->waiting = ARM_WAIT_NONE;
	cpu->stepped = 0;
	arm_self_debug_changed(cpu);
	arm_mmu_flush(cpu);
	arm_state_changed(cpu);
	if (cpu->timers)
		arm_timers_update(cpu);
	arm_pmu_loaded(cpu);
	cpu->hdbssbr_el2 = w->hdbssbr;
	cpu->hdbssprod_el2 = w->hdbssprod;
	cpu->hacdbsbr_el2 = w->hacdbsbr;
	cpu->hacdbscons_el2 = w->hacdbscons;
	arm_engines_loaded(cpu);
	return 0;
}

static int common_post_load(void *obj, int version, GError **err)
{
	struct arm_wire *w = obj;

	w->v->cpu.waiting = w->halted ? ARM_WAIT_INTERRUPT : ARM_WAIT_NONE;
	return 0;
}

/* ---- tables ---- */

#define SYSREG_ARRAY(f)                                                                            \
	{                                                                                          \
		.name = #f, .type = STATE_U64, .offset = offsetof(struct arm_wire, f),             \
		.size = sizeof(u64), .count = ARM_WIRE_SYSREGS,                                    \
		.count_offset = offsetof(struct arm_wire, cpreg_vmstate_array_len),                \
		.count_size = 4                                                                    \
	}
#define NAMED(nm, ty, f)                                                                           \
	{                                                                                          \
		.name = nm, .type = STATE_##ty, .offset = offsetof(struct arm_wire, f),            \
		.size = sizeof(((struct arm_wire *)0)->f)                                          \
	}

static bool always(void *obj)
{
	return true;
}

static bool has_fp(void *obj)
{
	struct arm_wire *w = obj;

	return cpu_has(&w->v->cpu, ARM_FEAT_FP);
}

#define VREG(n)                                                                                    \
	{                                                                                          \
		.name = "env.vfp.zregs[" #n "].d", .type = STATE_U64,                              \
		.offset = offsetof(struct arm_wire, env.vfp.zregs[n].d), .size = sizeof(u64),      \
		.count = 2                                                                         \
	}

static const struct state_field vfp_fields[] = {
	VREG(0),
	VREG(1),
	VREG(2),
	VREG(3),
	VREG(4),
	VREG(5),
	VREG(6),
	VREG(7),
	VREG(8),
	VREG(9),
	VREG(10),
	VREG(11),
	VREG(12),
	VREG(13),
	VREG(14),
	VREG(15),
	VREG(16),
	VREG(17),
	VREG(18),
	VREG(19),
	VREG(20),
	VREG(21),
	VREG(22),
	VREG(23),
	VREG(24),
	VREG(25),
	VREG(26),
	VREG(27),
	VREG(28),
	VREG(29),
	VREG(30),
	VREG(31),
	NAMED("env.vfp.xregs[0]", U32, env.vfp.xregs[0]),
	{ .name = "env.vfp.xregs",
	  .type = STATE_U32,
	  .offset = offsetof(struct arm_wire, env.vfp.xregs[2]),
	  .size = sizeof(u32),
	  .count = 14 },
	FIELD_U32(struct arm_wire, fpscr),
	FIELD_END,
};

static const struct state_desc vfp_state = {
	.name = "cpu/vfp",
	.version = 3,
	.min_version = 3,
	.fields = vfp_fields,
	.needed = has_fp,
};

static const struct state_field irq_fields[] = { FIELD_U32(struct arm_wire, env.irq_line_state),
						 FIELD_END };

static const struct state_desc irq_state = {
	.name = "cpu/irq-line-state",
	.version = 1,
	.min_version = 1,
	.fields = irq_fields,
	.needed = always,
};

static bool never(void *obj)
{
	return false;
}

/* QEMU 11.1's; here such a wait ends early when the machine moves. */
static const struct state_field wfxt_fields[] = { FIELD_S64(struct arm_wire, wfxt_timer),
						  FIELD_END };

static const struct state_desc wfxt_state = {
	.name = "cpu/wfxt-timer",
	.version = 1,
	.min_version = 1,
	.fields = wfxt_fields,
	.needed = never,
};

static bool has_hdbss(void *obj)
{
	struct arm_wire *w = obj;

	return w->hdbssbr || w->hdbssprod;
}

static bool has_hacdbs(void *obj)
{
	struct arm_wire *w = obj;

	return w->hacdbsbr || w->hacdbscons;
}

/* Our own; they come only where a hypervisor uses the engines. */
static const struct state_field hdbss_fields[] = { FIELD_U64(struct arm_wire, hdbssbr),
						   FIELD_U64(struct arm_wire, hdbssprod),
						   FIELD_END };

static const struct state_desc hdbss_state = {
	.name = "cpu/hdbss",
	.version = 1,
	.min_version = 1,
	.fields = hdbss_fields,
	.needed = has_hdbss,
};

static const struct state_field hacdbs_fields[] = { FIELD_U64(struct arm_wire, hacdbsbr),
						    FIELD_U64(struct arm_wire, hacdbscons),
						    FIELD_END };

static const struct state_desc hacdbs_state = {
	.name = "cpu/hacdbs",
	.version = 1,
	.min_version = 1,
	.fields = hacdbs_fields,
	.needed = has_hacdbs,
};

static bool has_serror(void *obj)
{
	struct arm_wire *w = obj;

	return w->serror_pending;
}

static const struct state_field serror_fields[] = {
	NAMED("env.serror.pending", U8, serror_pending),
	NAMED("env.serror.has_esr", U8, serror_has_esr),
	NAMED("env.serror.esr", U64, serror_esr),
	FIELD_END,
};

static const struct state_desc serror_state = {
	.name = "cpu/serror",
	.version = 1,
	.min_version = 1,
	.fields = serror_fields,
	.needed = has_serror,
};

static const struct state_desc *const cpu_subsections[] = {
	&vfp_state, &serror_state, &irq_state, &wfxt_state, &hdbss_state, &hacdbs_state, NULL
};

static const struct state_field cpu_fields[] = {
	FIELD_ARRAY(struct arm_wire, env.regs, U32),
	FIELD_ARRAY(struct arm_wire, env.xregs, U64),
	FIELD_U64(struct arm_wire, env.pc),
	FIELD_U32(struct arm_wire, cpsr),
	FIELD_U32(struct arm_wire, env.spsr),
	FIELD_ARRAY(struct arm_wire, env.banked_spsr, U64),
	FIELD_ARRAY(struct arm_wire, env.banked_r13, U32),
	FIELD_ARRAY(struct arm_wire, env.banked_r14, U32),
	FIELD_ARRAY(struct arm_wire, env.usr_regs, U32),
	FIELD_ARRAY(struct arm_wire, env.fiq_regs, U32),
	FIELD_ARRAY(struct arm_wire, env.elr_el, U64),
	FIELD_ARRAY(struct arm_wire, env.sp_el, U64),
	FIELD_S32(struct arm_wire, cpreg_vmstate_array_len),
	SYSREG_ARRAY(cpreg_vmstate_indexes),
	SYSREG_ARRAY(cpreg_vmstate_values),
	FIELD_U64(struct arm_wire, env.exclusive_addr),
	FIELD_U64(struct arm_wire, env.exclusive_val),
	FIELD_U64(struct arm_wire, env.exclusive_high),
	FIELD_UNUSED(8),
	FIELD_U32(struct arm_wire, env.exception.syndrome),
	FIELD_U32(struct arm_wire, env.exception.fsr),
	FIELD_U64(struct arm_wire, env.exception.vaddress),
	NAMED("gt_timer[GTIMER_PHYS]", S64, timer_phys),
	NAMED("gt_timer[GTIMER_VIRT]", S64, timer_virt),
	FIELD_U8(struct arm_wire, power_state),
	FIELD_END,
};

static int cpu_pre_load(void *obj, GError **err)
{
	struct arm_wire *w = obj;

	/* What subsections carry keeps its value if they do not come. */
	cpu_pre_save(w);
	w->hdbssbr = w->hdbssprod = w->hacdbsbr = w->hacdbscons = 0;
	w->serror_pending = 0;
	w->wfxt_timer = TIMER_OFF;
	return 0;
}

static const struct state_desc cpu_state = {
	.name = "cpu",
	.version = 22,
	.min_version = 22,
	.fields = cpu_fields,
	.subsections = cpu_subsections,
	.collect = cpu_collect,
	.pre_save = cpu_pre_save,
	.pre_load = cpu_pre_load,
	.post_load = cpu_post_load,
};

static const struct state_field common_fields[] = { FIELD_U32(struct arm_wire, halted),
						    FIELD_U32(struct arm_wire, interrupt_request),
						    FIELD_END };

static const struct state_desc common_state = {
	.name = "cpu_common",
	.version = 1,
	.min_version = 1,
	.fields = common_fields,
	.collect = cpu_collect,
	.pre_save = common_pre_save,
	.post_load = common_post_load,
};

void arm_cpu_register_state(struct vcpu *vcpu, bool old_list, struct state_registry *reg)
{
	struct arm_vcpu *v = vcpu->arch;

	v->wire = g_new0(struct arm_wire, 1);
	v->wire->v = v;
	v->wire->old_list = old_list;
	state_register(reg, "cpu_common", vcpu->index, &common_state, v->wire);
	state_register(reg, "cpu", vcpu->index, &cpu_state, v->wire);
}

void arm_cpu_unregister_state(struct vcpu *vcpu, struct state_registry *reg)
{
	struct arm_vcpu *v = vcpu->arch;

	if (!v->wire)
		return;
	state_unregister(reg, &common_state, v->wire);
	state_unregister(reg, &cpu_state, v->wire);
	g_clear_pointer(&v->wire, g_free);
}

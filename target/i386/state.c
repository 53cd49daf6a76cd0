/*
 * target/i386/state.c - what of an x86 vCPU travels: sections "cpu" 12, "cpu_common" 1, "apic" 3.
 *
 * Names, order and widths are those of QEMU's stream.
 */
#include "migration/state.h"

#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/kvm.h>

static int collect(void *obj, GError **err)
{
	struct x86_cpu *cpu = obj;

	return vcpu_get_state(cpu->vcpu, err);
}

static int apply(void *obj, int version, GError **err)
{
	struct x86_cpu *cpu = obj;

	return vcpu_put_state(cpu->vcpu, err);
}

/* ---- apic ---- */

static const struct state_field apic_fields[] = { FIELD_U32(struct x86_apic, apicbase),
						  FIELD_U8(struct x86_apic, id),
						  FIELD_U8(struct x86_apic, arb_id),
						  FIELD_U8(struct x86_apic, tpr),
						  FIELD_U32(struct x86_apic, spurious_vec),
						  FIELD_U8(struct x86_apic, log_dest),
						  FIELD_U8(struct x86_apic, dest_mode),
						  FIELD_ARRAY(struct x86_apic, isr, U32),
						  FIELD_ARRAY(struct x86_apic, tmr, U32),
						  FIELD_ARRAY(struct x86_apic, irr, U32),
						  FIELD_ARRAY(struct x86_apic, lvt, U32),
						  FIELD_U32(struct x86_apic, esr),
						  FIELD_ARRAY(struct x86_apic, icr, U32),
						  FIELD_U32(struct x86_apic, divide_conf),
						  FIELD_S32(struct x86_apic, count_shift),
						  FIELD_U32(struct x86_apic, initial_count),
						  FIELD_S64(struct x86_apic,
							    initial_count_load_time),
						  FIELD_S64(struct x86_apic, next_time),
						  FIELD_S64(struct x86_apic, timer_expiry),
						  FIELD_END };

static int apic_collect(void *obj, GError **err)
{
	return collect(container_of(obj, struct x86_cpu, apic), err);
}

static int apic_apply(void *obj, int version, GError **err)
{
	struct x86_apic *a = obj;

	if (a->count_shift < 0 || a->count_shift > 7) {
		error_set(err, "apic: count_shift %d is not from 0 to 7", a->count_shift);
		return -EINVAL;
	}
	return apply(container_of(obj, struct x86_cpu, apic), version, err);
}

static const struct state_desc apic_state = {
	.name = "apic",
	.version = 3,
	.min_version = 3,
	.priority = STATE_PRIO_APIC,
	.fields = apic_fields,
	.collect = apic_collect,
	.post_load = apic_apply,
};

/* ---- cpu_common ---- */

/* Both live in KVM: mp_state of section "cpu", and the local APIC. */
static const struct state_field common_fields[] = { FIELD_U32(struct x86_cpu, halted),
						    FIELD_U32(struct x86_cpu, interrupt_request),
						    FIELD_END };

static const struct state_desc common_state = {
	.name = "cpu_common",
	.version = 1,
	.min_version = 1,
	.fields = common_fields,
	.collect = collect,
};

/* ---- cpu ---- */

static const struct state_field fpreg_fields[] = { FIELD_U64(struct x86_fpreg, mant),
						   FIELD_U16(struct x86_fpreg, exp), FIELD_END };
static const struct state_desc fpreg_state = {
	.name = "fpreg", .version = 1, .min_version = 1, .fields = fpreg_fields
};

static const struct state_field seg_fields[] = { FIELD_U32(struct x86_seg, selector),
						 FIELD_U64(struct x86_seg, base),
						 FIELD_U32(struct x86_seg, limit),
						 FIELD_U32(struct x86_seg, flags), FIELD_END };
static const struct state_desc seg_state = {
	.name = "segment", .version = 1, .min_version = 1, .fields = seg_fields
};

static const struct state_field mtrr_fields[] = { FIELD_U64(struct x86_mtrr, base),
						  FIELD_U64(struct x86_mtrr, mask), FIELD_END };
static const struct state_desc mtrr_state = {
	.name = "mtrr_var", .version = 1, .min_version = 1, .fields = mtrr_fields
};

/* The lower 128 bits of a vector register, the next 128, and the upper 256. */
static const struct state_field xmm_fields[] = { FIELD_U64(struct x86_zmm, q[0]),
						 FIELD_U64(struct x86_zmm, q[1]), FIELD_END };
static const struct state_desc xmm_state = {
	.name = "xmm_reg", .version = 1, .min_version = 1, .fields = xmm_fields
};
static const struct state_field ymmh_fields[] = { FIELD_U64(struct x86_zmm, q[2]),
						  FIELD_U64(struct x86_zmm, q[3]), FIELD_END };
static const struct state_desc ymmh_state = {
	.name = "ymmh_reg", .version = 1, .min_version = 1, .fields = ymmh_fields
};
static const struct state_field zmmh_fields[] = { FIELD_U64(struct x86_zmm, q[4]),
						  FIELD_U64(struct x86_zmm, q[5]),
						  FIELD_U64(struct x86_zmm, q[6]),
						  FIELD_U64(struct x86_zmm, q[7]), FIELD_END };
static const struct state_desc zmmh_state = {
	.name = "zmmh_reg", .version = 1, .min_version = 1, .fields = zmmh_fields
};
static const struct state_field zmm_fields[] = { FIELD_ARRAY(struct x86_zmm, q, U64), FIELD_END };
static const struct state_desc zmm_state = {
	.name = "hi16_zmm_reg", .version = 1, .min_version = 1, .fields = zmm_fields
};

/* 16 vector registers from @first on. */
#define FIELD_VECTORS(nm, first, d)                                                                \
	{                                                                                          \
		.name = nm, .type = STATE_STRUCT,                                                  \
		.offset = offsetof(struct x86_cpu, env.xmm_regs[first]),                           \
		.size = sizeof(struct x86_zmm), .count = 16, .desc = &(d)                          \
	}

static const struct state_field cpu_fields[] = {
	FIELD_ARRAY(struct x86_cpu, env.regs, U64),
	FIELD_U64(struct x86_cpu, env.eip),
	FIELD_U64(struct x86_cpu, env.eflags),
	FIELD_U32(struct x86_cpu, env.hflags),
	FIELD_U16(struct x86_cpu, env.fpuc),
	FIELD_U16(struct x86_cpu, env.fpus_vmstate),
	FIELD_U16(struct x86_cpu, env.fptag_vmstate),
	FIELD_U16(struct x86_cpu, env.fpregs_format_vmstate),
	FIELD_STRUCT_ARRAY(struct x86_cpu, env.fpregs, fpreg_state),
	FIELD_STRUCT_ARRAY(struct x86_cpu, env.segs, seg_state),
	FIELD_STRUCT(struct x86_cpu, env.ldt, seg_state),
	FIELD_STRUCT(struct x86_cpu, env.tr, seg_state),
	FIELD_STRUCT(struct x86_cpu, env.gdt, seg_state),
	FIELD_STRUCT(struct x86_cpu, env.idt, seg_state),
	FIELD_U32(struct x86_cpu, env.sysenter_cs),
	FIELD_U64(struct x86_cpu, env.sysenter_esp),
	FIELD_U64(struct x86_cpu, env.sysenter_eip),
	FIELD_U64(struct x86_cpu, env.cr[0]),
	FIELD_U64(struct x86_cpu, env.cr[2]),
	FIELD_U64(struct x86_cpu, env.cr[3]),
	FIELD_U64(struct x86_cpu, env.cr[4]),
	FIELD_ARRAY(struct x86_cpu, env.dr, U64),
	FIELD_S32(struct x86_cpu, env.a20_mask),
	FIELD_U32(struct x86_cpu, env.mxcsr),
	FIELD_VECTORS("env.xmm_regs[0]", 0, xmm_state),
	FIELD_U64(struct x86_cpu, env.efer),
	FIELD_U64(struct x86_cpu, env.star),
	FIELD_U64(struct x86_cpu, env.lstar),
	FIELD_U64(struct x86_cpu, env.cstar),
	FIELD_U64(struct x86_cpu, env.fmask),
	FIELD_U64(struct x86_cpu, env.kernelgsbase),
	FIELD_U32(struct x86_cpu, env.smbase),
	FIELD_U64(struct x86_cpu, env.pat),
	FIELD_U32(struct x86_cpu, env.hflags2),
	FIELD_U64(struct x86_cpu, env.vm_hsave),
	FIELD_U64(struct x86_cpu, env.vm_vmcb),
	FIELD_U64(struct x86_cpu, env.tsc_offset),
	FIELD_U64(struct x86_cpu, env.intercept),
	FIELD_U16(struct x86_cpu, env.intercept_cr_read),
	FIELD_U16(struct x86_cpu, env.intercept_cr_write),
	FIELD_U16(struct x86_cpu, env.intercept_dr_read),
	FIELD_U16(struct x86_cpu, env.intercept_dr_write),
	FIELD_U32(struct x86_cpu, env.intercept_exceptions),
	FIELD_U8(struct x86_cpu, env.v_tpr),
	FIELD_ARRAY(struct x86_cpu, env.mtrr_fixed, U64),
	FIELD_U64(struct x86_cpu, env.mtrr_deftype),
	FIELD_STRUCT_ARRAY(struct x86_cpu, env.mtrr_var, mtrr_state),
	FIELD_S32(struct x86_cpu, env.interrupt_injected),
	FIELD_U32(struct x86_cpu, env.mp_state),
	FIELD_U64(struct x86_cpu, env.tsc),
	FIELD_S32(struct x86_cpu, env.exception_nr),
	FIELD_U8(struct x86_cpu, env.soft_interrupt),
	FIELD_U8(struct x86_cpu, env.nmi_injected),
	FIELD_U8(struct x86_cpu, env.nmi_pending),
	FIELD_U8(struct x86_cpu, env.has_error_code),
	FIELD_U32(struct x86_cpu, env.sipi_vector),
	FIELD_U64(struct x86_cpu, env.mcg_cap),
	FIELD_U64(struct x86_cpu, env.mcg_status),
	FIELD_U64(struct x86_cpu, env.mcg_ctl),
	FIELD_ARRAY(struct x86_cpu, env.mce_banks, U64),
	FIELD_U64(struct x86_cpu, env.tsc_aux),
	FIELD_U64(struct x86_cpu, env.system_time_msr),
	FIELD_U64(struct x86_cpu, env.wall_clock_msr),
	FIELD_U64(struct x86_cpu, env.xcr0),
	FIELD_U64(struct x86_cpu, env.xstate_bv),
	FIELD_VECTORS("env.xmm_regs[1]", 0, ymmh_state),
	FIELD_END
};

/* A subsection of one register that is sent unless it has its reset value. */
#define REGISTER_SUBSECTION(id, nm, member, TY, reset)                                             \
	static bool id##_needed(void *obj)                                                         \
	{                                                                                          \
		return ((struct x86_cpu *)obj)->env.member != (reset);                             \
	}                                                                                          \
	static const struct state_field id##_fields[] = { FIELD_##TY(struct x86_cpu, env.member),  \
							  FIELD_END };                             \
	static const struct state_desc id##_state = { .name = "cpu/" nm,                           \
						      .version = 1,                                \
						      .min_version = 1,                            \
						      .fields = id##_fields,                       \
						      .needed = id##_needed }

REGISTER_SUBSECTION(async_pf, "async_pf_msr", async_pf_en_msr, U64, 0);
REGISTER_SUBSECTION(async_pf_int, "async_pf_int_msr", async_pf_int_msr, U64, 0);
REGISTER_SUBSECTION(pv_eoi, "async_pv_eoi_msr", pv_eoi_en_msr, U64, 0);
REGISTER_SUBSECTION(steal_time, "steal_time_msr", steal_time_msr, U64, 0);
REGISTER_SUBSECTION(poll_control, "poll_control_msr", poll_control_msr, U64, 1);
REGISTER_SUBSECTION(tsc_adjust, "msr_tsc_adjust", tsc_adjust, U64, 0);
REGISTER_SUBSECTION(tsc_deadline, "msr_tscdeadline", tsc_deadline, U64, 0);
REGISTER_SUBSECTION(misc_enable, "msr_ia32_misc_enable", msr_ia32_misc_enable, U64, 1);
REGISTER_SUBSECTION(feature_control, "msr_ia32_feature_control", msr_ia32_feature_control, U64, 0);
REGISTER_SUBSECTION(xss, "xss", xss, U64, 0);
REGISTER_SUBSECTION(pkru, "pkru", pkru, U32, 0);
REGISTER_SUBSECTION(tsc_khz, "tsc_khz", tsc_khz, S64, 0);
REGISTER_SUBSECTION(spec_ctrl, "spec_ctrl", spec_ctrl, U64, 0);
REGISTER_SUBSECTION(virt_ssbd, "virt_ssbd", virt_ssbd, U64, 0);
REGISTER_SUBSECTION(smi_count, "msr_smi_count", msr_smi_count, U64, 0);

static bool fpop_needed(void *obj)
{
	const struct x86_env *env = &((struct x86_cpu *)obj)->env;

	return env->fpop || env->fpip || env->fpdp;
}
static const struct state_field fpop_fields[] = { FIELD_U16(struct x86_cpu, env.fpop),
						  FIELD_U64(struct x86_cpu, env.fpip),
						  FIELD_U64(struct x86_cpu, env.fpdp), FIELD_END };
static const struct state_desc fpop_state = { .name = "cpu/fpop_ip_dp",
					      .version = 1,
					      .min_version = 1,
					      .fields = fpop_fields,
					      .needed = fpop_needed };

static bool avx512_needed(void *obj)
{
	const struct x86_cpu *cpu = obj;

	return cpu->env.xstate_bv & (XSTATE_OPMASK | XSTATE_ZMM_HI256 | XSTATE_HI16_ZMM);
}
static const struct state_field avx512_fields[] = {
	FIELD_ARRAY(struct x86_cpu, env.opmask_regs, U64),
	FIELD_VECTORS("env.xmm_regs[2]", 0, zmmh_state),
	FIELD_VECTORS("env.xmm_regs[16]", 16, zmm_state), FIELD_END
};
static const struct state_desc avx512_state = { .name = "cpu/avx512",
						.version = 1,
						.min_version = 1,
						.fields = avx512_fields,
						.needed = avx512_needed };

static bool exception_needed(void *obj)
{
	const struct x86_env *env = &((struct x86_cpu *)obj)->env;

	return env->exception_pending || (env->exception_injected && env->exception_has_payload);
}
static const struct state_field exception_fields[] = {
	FIELD_U8(struct x86_cpu, env.exception_pending),
	FIELD_U8(struct x86_cpu, env.exception_injected),
	FIELD_U8(struct x86_cpu, env.exception_has_payload),
	FIELD_U64(struct x86_cpu, env.exception_payload), FIELD_END
};
static const struct state_desc exception_state = { .name = "cpu/exception_info",
						   .version = 1,
						   .min_version = 1,
						   .fields = exception_fields,
						   .needed = exception_needed };

static const struct state_desc *const cpu_subsections[] = {
	&exception_state,
	&async_pf_state,
	&async_pf_int_state,
	&pv_eoi_state,
	&steal_time_state,
	&poll_control_state,
	&fpop_state,
	&tsc_adjust_state,
	&tsc_deadline_state,
	&misc_enable_state,
	&feature_control_state,
	&avx512_state,
	&xss_state,
	&smi_count_state,
	&pkru_state,
	&spec_ctrl_state,
	&tsc_khz_state,
	&virt_ssbd_state,
	NULL,
};

/* Values that stay as they are on this side if the stream has no subsection for them. */
static int cpu_pre_load(void *obj, GError **err)
{
	struct x86_cpu *cpu = obj;
	struct x86_env *env = &cpu->env;

	cpu->loaded_over_khz = env->tsc_khz;
	env->async_pf_en_msr = env->async_pf_int_msr = env->pv_eoi_en_msr = 0;
	env->steal_time_msr = env->tsc_adjust = env->tsc_deadline = env->xss = 0;
	env->poll_control_msr = env->msr_ia32_misc_enable = 1;
	env->msr_ia32_feature_control = env->spec_ctrl = env->virt_ssbd = 0;
	env->exception_pending = env->exception_injected = env->exception_has_payload = 0;
	env->fpop = env->fpip = env->fpdp = env->pkru = env->msr_smi_count = 0;
	memset(env->opmask_regs, 0, sizeof(env->opmask_regs));
	memset(env->xmm_regs, 0, sizeof(env->xmm_regs));
	return 0;
}

/* The guest has measured the sender's clock rate. */
static void match_tsc(struct x86_cpu *cpu)
{
	s64 here = cpu->loaded_over_khz, wanted = cpu->env.tsc_khz;
	g_autoptr(GError) err = NULL;

	if (wanted == here || !accel_is_kvm(cpu->vcpu->vm->accel))
		return;
	if (KVM_CALL(kvm_fd_of_vcpu(cpu->vcpu), KVM_SET_TSC_KHZ, (void *)(uintptr_t)wanted, &err) <
	    0) {
		log_warn("vCPU %d: the guest's clock ran at %" PRId64
			 " kHz, here it runs at %" PRId64 " kHz: %s",
			 cpu->vcpu->index, wanted, here, err->message);
		cpu->env.tsc_khz = here;
	}
}

static int cpu_post_load(void *obj, int version, GError **err)
{
	struct x86_cpu *cpu = obj;
	struct x86_env *env = &cpu->env;

	if (env->fpregs_format_vmstate) {
		error_set(err, "cpu: x87 registers in format %u instead of 0 (80 bits)",
			  env->fpregs_format_vmstate);
		return -EINVAL;
	}
	if ((env->mcg_cap & 0xff) > X86_MCE_BANKS_MAX) {
		error_set(err, "cpu: %u machine check banks, at most %d are known",
			  (unsigned)(env->mcg_cap & 0xff), X86_MCE_BANKS_MAX);
		return -EINVAL;
	}
	if (env->interrupt_injected > 255 || env->exception_nr > 31) {
		error_set(err, "cpu: vector %d or exception %d does not exist",
			  env->interrupt_injected, env->exception_nr);
		return -EINVAL;
	}
	/* Without the subsection an exception that is named is one that is being delivered. */
	if (env->exception_nr >= 0 && !env->exception_pending)
		env->exception_injected = 1;
	match_tsc(cpu);
	return apply(obj, version, err);
}

static const struct state_desc cpu_state = {
	.name = "cpu",
	.version = 12,
	.min_version = 12,
	.fields = cpu_fields,
	.subsections = cpu_subsections,
	.collect = collect,
	.pre_load = cpu_pre_load,
	.post_load = cpu_post_load,
};

void x86_cpu_register_state(struct vcpu *vcpu, struct state_registry *reg)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);

	state_register(reg, "apic", cpu->apic_id, &apic_state, &cpu->apic);
	state_register(reg, "cpu_common", vcpu->index, &common_state, cpu);
	state_register(reg, "cpu", vcpu->index, &cpu_state, cpu);
}

void x86_cpu_unregister_state(struct vcpu *vcpu, struct state_registry *reg)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);

	state_unregister(reg, &apic_state, &cpu->apic);
	state_unregister(reg, &common_state, cpu);
	state_unregister(reg, &cpu_state, cpu);
}

/*
 * target/i386/kvm.c - an x86 vCPU's registers to and from KVM.
 *
 * Source: Linux Documentation/virt/kvm/api.rst. What a kernel lacks is left out where the guest
 * cannot notice (KVM_CAP checks), and is an error that names the call where it would.
 */
#include "accel/kvm.h"
#include "target/i386/cpu.h"
#include "util/error.h"

#include <linux/kvm.h>

#define XSAVE_SIZE_MIN 4096

_Static_assert(X86_MP_RUNNABLE == KVM_MP_STATE_RUNNABLE &&
		       X86_MP_UNINITIALIZED == KVM_MP_STATE_UNINITIALIZED,
	       "mp_state has KVM's values");

static void seg_to_kvm(struct kvm_segment *to, const struct x86_seg *from)
{
	u32 f = from->flags;

	*to = (struct kvm_segment){
		.base = from->base,
		.limit = from->limit,
		.selector = from->selector,
		.type = f >> DESC_TYPE_SHIFT & 15,
		.present = !!(f & DESC_P),
		.dpl = f >> DESC_DPL_SHIFT & 3,
		.db = !!(f & DESC_B),
		.s = !!(f & DESC_S),
		.l = !!(f & DESC_L),
		.g = !!(f & DESC_G),
		.avl = !!(f & DESC_AVL),
		.unusable = !(f & DESC_P),
	};
}

static void seg_from_kvm(struct x86_seg *to, const struct kvm_segment *from)
{
	*to = (struct x86_seg){
		.selector = from->selector,
		.base = from->base,
		.limit = from->limit,
		.flags = from->type << DESC_TYPE_SHIFT |
			 (from->present && !from->unusable ? DESC_P : 0) |
			 from->dpl << DESC_DPL_SHIFT | (from->db ? DESC_B : 0) |
			 (from->s ? DESC_S : 0) | (from->l ? DESC_L : 0) | (from->g ? DESC_G : 0) |
			 (from->avl ? DESC_AVL : 0),
	};
}

/* Where each general register is in struct kvm_regs, in the order of the instruction encoding. */
static const size_t reg_offset[16] = {
	offsetof(struct kvm_regs, rax), offsetof(struct kvm_regs, rcx),
	offsetof(struct kvm_regs, rdx), offsetof(struct kvm_regs, rbx),
	offsetof(struct kvm_regs, rsp), offsetof(struct kvm_regs, rbp),
	offsetof(struct kvm_regs, rsi), offsetof(struct kvm_regs, rdi),
	offsetof(struct kvm_regs, r8),  offsetof(struct kvm_regs, r9),
	offsetof(struct kvm_regs, r10), offsetof(struct kvm_regs, r11),
	offsetof(struct kvm_regs, r12), offsetof(struct kvm_regs, r13),
	offsetof(struct kvm_regs, r14), offsetof(struct kvm_regs, r15),
};

static int get_regs(struct x86_env *env, int fd, GError **err)
{
	struct kvm_regs r;
	int ret = KVM_CALL(fd, KVM_GET_REGS, &r, err);

	if (ret < 0)
		return ret;
	for (int i = 0; i < 16; i++)
		memcpy(&env->regs[i], (u8 *)&r + reg_offset[i], 8);
	env->eip = r.rip;
	env->eflags = r.rflags;
	return 0;
}

static int put_regs(const struct x86_env *env, int fd, GError **err)
{
	struct kvm_regs r = { .rip = env->eip, .rflags = env->eflags };

	for (int i = 0; i < 16; i++)
		memcpy((u8 *)&r + reg_offset[i], &env->regs[i], 8);
	return KVM_CALL(fd, KVM_SET_REGS, &r, err);
}

static int get_sregs(struct x86_cpu *cpu, int fd, GError **err)
{
	struct x86_env *env = &cpu->env;
	struct kvm_sregs s;
	int ret = KVM_CALL(fd, KVM_GET_SREGS, &s, err);

	if (ret < 0)
		return ret;
	seg_from_kvm(&env->segs[R_ES], &s.es);
	seg_from_kvm(&env->segs[R_CS], &s.cs);
	seg_from_kvm(&env->segs[R_SS], &s.ss);
	seg_from_kvm(&env->segs[R_DS], &s.ds);
	seg_from_kvm(&env->segs[R_FS], &s.fs);
	seg_from_kvm(&env->segs[R_GS], &s.gs);
	seg_from_kvm(&env->ldt, &s.ldt);
	seg_from_kvm(&env->tr, &s.tr);
	env->gdt = (struct x86_seg){ .base = s.gdt.base, .limit = s.gdt.limit };
	env->idt = (struct x86_seg){ .base = s.idt.base, .limit = s.idt.limit };
	env->cr[0] = s.cr0;
	env->cr[2] = s.cr2;
	env->cr[3] = s.cr3;
	env->cr[4] = s.cr4;
	env->efer = s.efer;
	cpu->apic.apicbase = s.apic_base;
	cpu->apic.tpr = s.cr8 << 4;
	env->interrupt_injected = -1;
	for (int i = 0; i < KVM_NR_INTERRUPTS; i++)
		if (s.interrupt_bitmap[i / 64] >> i % 64 & 1)
			env->interrupt_injected = i;
	return 0;
}

static int put_sregs(const struct x86_cpu *cpu, int fd, GError **err)
{
	const struct x86_env *env = &cpu->env;
	struct kvm_sregs s = {
		.cr0 = env->cr[0],
		.cr2 = env->cr[2],
		.cr3 = env->cr[3],
		.cr4 = env->cr[4],
		.cr8 = cpu->apic.tpr >> 4,
		.efer = env->efer,
		.apic_base = cpu->apic.apicbase,
		.gdt = { .base = env->gdt.base, .limit = env->gdt.limit },
		.idt = { .base = env->idt.base, .limit = env->idt.limit },
	};

	seg_to_kvm(&s.es, &env->segs[R_ES]);
	seg_to_kvm(&s.cs, &env->segs[R_CS]);
	seg_to_kvm(&s.ss, &env->segs[R_SS]);
	seg_to_kvm(&s.ds, &env->segs[R_DS]);
	seg_to_kvm(&s.fs, &env->segs[R_FS]);
	seg_to_kvm(&s.gs, &env->segs[R_GS]);
	seg_to_kvm(&s.ldt, &env->ldt);
	seg_to_kvm(&s.tr, &env->tr);
	if (env->interrupt_injected >= 0)
		s.interrupt_bitmap[env->interrupt_injected / 64] |= 1ull
								    << env->interrupt_injected % 64;
	return KVM_CALL(fd, KVM_SET_SREGS, &s, err);
}

/* KVM_GET_XSAVE2 where the area is larger than the old call's; returns the size. */
static size_t xsave_size(struct x86_cpu *cpu)
{
	int size = kvm_check_extension(cpu->vcpu->vm->accel, KVM_CAP_XSAVE2);

	return MAX(size, XSAVE_SIZE_MIN);
}

static int get_fpu(struct x86_cpu *cpu, int fd, GError **err)
{
	size_t size = xsave_size(cpu);
	g_autofree void *area = g_malloc0(size);
	struct kvm_xcrs xcrs;
	int ret;

	if (size > XSAVE_SIZE_MIN)
		ret = KVM_CALL(fd, KVM_GET_XSAVE2, area, err);
	else
		ret = KVM_CALL(fd, KVM_GET_XSAVE, area, err);
	if (ret < 0)
		return ret;
	x86_xsave_unpack(cpu, area, size);
	if (!cpu->xcr0_mask)
		return 0;
	ret = KVM_CALL(fd, KVM_GET_XCRS, &xcrs, err);
	for (u32 i = 0; ret >= 0 && i < xcrs.nr_xcrs; i++)
		if (xcrs.xcrs[i].xcr == 0)
			cpu->env.xcr0 = xcrs.xcrs[i].value;
	return ret;
}

static int put_fpu(struct x86_cpu *cpu, int fd, GError **err)
{
	size_t size = xsave_size(cpu);
	g_autofree void *area = g_malloc0(size);
	struct kvm_xcrs xcrs = { .nr_xcrs = 1, .xcrs[0].value = cpu->env.xcr0 };
	int ret;

	x86_xsave_pack(cpu, area, size);
	ret = KVM_CALL(fd, KVM_SET_XSAVE, area, err);
	if (ret < 0 || !cpu->xcr0_mask)
		return ret;
	return KVM_CALL(fd, KVM_SET_XCRS, &xcrs, err);
}

static int get_debug(struct x86_env *env, int fd, GError **err)
{
	struct kvm_debugregs d;
	int ret = KVM_CALL(fd, KVM_GET_DEBUGREGS, &d, err);

	if (ret < 0)
		return ret;
	memcpy(env->dr, d.db, sizeof(d.db));
	env->dr[4] = env->dr[6] = d.dr6;
	env->dr[5] = env->dr[7] = d.dr7;
	return 0;
}

static int put_debug(const struct x86_env *env, int fd, GError **err)
{
	struct kvm_debugregs d = { .dr6 = env->dr[6], .dr7 = env->dr[7] };

	memcpy(d.db, env->dr, sizeof(d.db));
	return KVM_CALL(fd, KVM_SET_DEBUGREGS, &d, err);
}

static int get_events(struct x86_env *env, int fd, GError **err)
{
	struct kvm_vcpu_events e = { 0 };
	int ret = KVM_CALL(fd, KVM_GET_VCPU_EVENTS, &e, err);

	if (ret < 0)
		return ret;
	env->exception_injected = e.exception.injected;
	env->exception_pending = e.flags & KVM_VCPUEVENT_VALID_PAYLOAD ? e.exception.pending : 0;
	env->exception_has_payload = e.exception_has_payload;
	env->exception_payload = e.exception_payload;
	env->exception_nr = env->exception_injected || env->exception_pending ? e.exception.nr : -1;
	env->has_error_code = e.exception.has_error_code;
	env->error_code = e.exception.error_code;
	env->interrupt_injected = e.interrupt.injected ? e.interrupt.nr : -1;
	env->soft_interrupt = e.interrupt.soft;
	env->interrupt_shadow = e.interrupt.shadow;
	env->nmi_injected = e.nmi.injected;
	env->nmi_pending = e.nmi.pending;
	env->nmi_masked = e.nmi.masked;
	env->sipi_vector = e.sipi_vector;
	return 0;
}

static int put_events(const struct x86_env *env, int fd, GError **err)
{
	struct kvm_vcpu_events e = {
		.exception.injected = env->exception_injected,
		.exception.nr = MAX(env->exception_nr, 0),
		.exception.has_error_code = env->has_error_code,
		.exception.error_code = env->error_code,
		.interrupt.injected = env->interrupt_injected >= 0,
		.interrupt.nr = MAX(env->interrupt_injected, 0),
		.interrupt.soft = env->soft_interrupt,
		.interrupt.shadow = env->interrupt_shadow,
		.nmi.injected = env->nmi_injected,
		.nmi.pending = env->nmi_pending,
		.nmi.masked = env->nmi_masked,
		.sipi_vector = env->sipi_vector,
		.flags = KVM_VCPUEVENT_VALID_NMI_PENDING | KVM_VCPUEVENT_VALID_SHADOW,
	};

	/* A waiting start-up vector; in any other state KVM keeps its own. */
	if (env->mp_state == KVM_MP_STATE_SIPI_RECEIVED)
		e.flags |= KVM_VCPUEVENT_VALID_SIPI_VECTOR;
	return KVM_CALL(fd, KVM_SET_VCPU_EVENTS, &e, err);
}

static int get_lapic(struct x86_cpu *cpu, int fd, GError **err)
{
	struct kvm_lapic_state s;
	int ret = KVM_CALL(fd, KVM_GET_LAPIC, &s, err);

	if (ret >= 0)
		x86_apic_from_kvm(cpu, &s);
	return ret;
}

static int put_lapic(struct x86_cpu *cpu, int fd, GError **err)
{
	struct kvm_lapic_state s;

	x86_apic_to_kvm(cpu, &s);
	return KVM_CALL(fd, KVM_SET_LAPIC, &s, err);
}

static int get_mp_state(struct x86_env *env, int fd, GError **err)
{
	struct kvm_mp_state s;
	int ret = KVM_CALL(fd, KVM_GET_MP_STATE, &s, err);

	if (ret >= 0)
		env->mp_state = s.mp_state;
	return ret;
}

static int put_mp_state(const struct x86_env *env, int fd, GError **err)
{
	struct kvm_mp_state s = { .mp_state = env->mp_state };

	return KVM_CALL(fd, KVM_SET_MP_STATE, &s, err);
}

int x86_kvm_get(struct vcpu *vcpu, int fd, GError **err)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);
	struct x86_env *env = &cpu->env;

	/* KVM_GET_MP_STATE may turn pending events into state; so it comes first. */
	if (get_mp_state(env, fd, err) < 0 || get_regs(env, fd, err) < 0 ||
	    get_sregs(cpu, fd, err) < 0 || get_fpu(cpu, fd, err) < 0 ||
	    x86_kvm_get_msrs(cpu, fd, err) < 0 || get_lapic(cpu, fd, err) < 0 ||
	    get_events(env, fd, err) < 0 || get_debug(env, fd, err) < 0)
		goto fail;
	env->hflags = x86_hflags(env);
	cpu->halted = env->mp_state == KVM_MP_STATE_HALTED;
	return 0;
fail:
	g_prefix_error(err, "vCPU %d: ", vcpu->index);
	return -EIO;
}

int x86_kvm_put(struct vcpu *vcpu, int fd, GError **err)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);
	const struct x86_env *env = &cpu->env;

	/* EFER, CR0 and CR4 before MSRs that depend on the mode; the APIC's base (in the special
	 * registers) before its page; events after all that may drop them. */
	if (put_regs(env, fd, err) < 0 || put_fpu(cpu, fd, err) < 0 ||
	    put_sregs(cpu, fd, err) < 0 || x86_kvm_put_msrs(cpu, fd, err) < 0 ||
	    put_mp_state(env, fd, err) < 0 || put_lapic(cpu, fd, err) < 0 ||
	    put_events(env, fd, err) < 0 || put_debug(env, fd, err) < 0)
		goto fail;
	return 0;
fail:
	g_prefix_error(err, "vCPU %d: ", vcpu->index);
	return -EIO;
}

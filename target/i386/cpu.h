/*
 * target/i386/cpu.h - registers of an x86 vCPU.
 *
 * Members that migrate carry the names of the wire (sections "cpu" version 12 and "apic" version 3
 * of QEMU's stream). Sources: Intel SDM volumes 1 to 3, AMD APM volume 2.
 */
#ifndef TARGET_I386_CPU_H
#define TARGET_I386_CPU_H

#include "accel/vcpu.h"
#include "target/i386.h"
#include "util/base.h"

struct kvm_cpuid2;

/* Order of general registers as instructions encode them, and of segments. */
enum { R_EAX, R_ECX, R_EDX, R_EBX, R_ESP, R_EBP, R_ESI, R_EDI };
enum { R_ES, R_CS, R_SS, R_DS, R_FS, R_GS };

/* Bits of a segment's flags: the upper word of its descriptor (SDM volume 3, 3.4.5). */
enum {
	DESC_A = 1 << 8,
	DESC_W = 1 << 9, /* data */
	DESC_R = 1 << 9, /* code */
	DESC_CODE = 1 << 11,
	DESC_TYPE_SHIFT = 8,
	DESC_S = 1 << 12,
	DESC_DPL_SHIFT = 13,
	DESC_P = 1 << 15,
	DESC_AVL = 1 << 20,
	DESC_L = 1 << 21,
	DESC_B = 1 << 22,
	DESC_G = 1 << 23,
};

enum {
	CR0_PE = 1 << 0,
	CR4_OSFXSR = 1 << 9,
	EFER_LMA = 1 << 10,
	EFLAGS_TF = 1 << 8,
	EFLAGS_IOPL = 3 << 12,
	EFLAGS_VM = 1 << 17,
};

/* Bits of XCR0 and of an XSAVE area's header. */
enum {
	XSTATE_FP = 1 << 0,
	XSTATE_SSE = 1 << 1,
	XSTATE_YMM = 1 << 2,
	XSTATE_OPMASK = 1 << 5,
	XSTATE_ZMM_HI256 = 1 << 6,
	XSTATE_HI16_ZMM = 1 << 7,
	XSTATE_PKRU = 1 << 9,
};

struct x86_seg {
	u32 selector;
	u64 base;
	u32 limit; /* bytes, granularity applied */
	u32 flags; /* DESC_* */
};

struct x86_fpreg {
	u64 mant;
	u16 exp;
};

struct x86_zmm {
	u64 q[8]; /* least significant first */
};

struct x86_mtrr {
	u64 base, mask;
};

#define X86_MCE_BANKS     10
#define X86_MCE_BANKS_MAX 10 /* the wire has 4 words for each of 10 banks */

struct x86_env {
	u64 regs[16];
	u64 eip;
	u64 eflags;
	u32 hflags; /* summary of the mode, for the wire only: derived from the registers */
	u16 fpuc;
	u16 fpus_vmstate;          /* status word with the stack top */
	u16 fptag_vmstate;         /* bit i: register i is in use */
	u16 fpregs_format_vmstate; /* 0: 80 bits */
	struct x86_fpreg fpregs[8];
	struct x86_seg segs[6];
	struct x86_seg ldt, tr, gdt, idt;
	u32 sysenter_cs;
	u64 sysenter_esp, sysenter_eip;
	u64 cr[5];
	u64 dr[8];
	s32 a20_mask;
	u32 mxcsr;
	struct x86_zmm xmm_regs[32];
	u64 efer, star, lstar, cstar, fmask, kernelgsbase;
	u32 smbase;
	u64 pat;
	/* Used by software virtualization of SVM only; carried for the wire. */
	u32 hflags2;
	u64 vm_hsave, vm_vmcb, tsc_offset, intercept;
	u16 intercept_cr_read, intercept_cr_write, intercept_dr_read, intercept_dr_write;
	u32 intercept_exceptions;
	u8 v_tpr;
	u64 mtrr_fixed[11];
	u64 mtrr_deftype;
	struct x86_mtrr mtrr_var[8];
	s32 interrupt_injected; /* vector, -1: none */
	u32 mp_state;           /* KVM_MP_STATE_* */
	u64 tsc;
	s32 exception_nr; /* vector, -1: none */
	u8 soft_interrupt, nmi_injected, nmi_pending, has_error_code;
	u32 sipi_vector;
	u64 mcg_cap, mcg_status, mcg_ctl;
	u64 mce_banks[X86_MCE_BANKS_MAX * 4];
	u64 tsc_aux;
	u64 system_time_msr, wall_clock_msr;
	u64 xcr0, xstate_bv;

	/* Subsections of "cpu". */
	s64 tsc_khz;
	u16 fpop;
	u64 fpip, fpdp;
	u64 opmask_regs[8];
	u32 pkru;
	u64 async_pf_en_msr, async_pf_int_msr, pv_eoi_en_msr, steal_time_msr, poll_control_msr;
	u64 tsc_adjust, tsc_deadline, msr_ia32_misc_enable, msr_ia32_feature_control;
	u64 xss, spec_ctrl, virt_ssbd, msr_smi_count;
	u8 exception_pending, exception_injected, exception_has_payload;
	u64 exception_payload;

	/* Not on the wire. */
	u32 error_code;
	u8 nmi_masked, interrupt_shadow, sipi_valid;
};

/* Local APIC, as the "apic" section has it. */
struct x86_apic {
	u32 apicbase;
	u8 id, arb_id, tpr;
	u32 spurious_vec;
	u8 log_dest, dest_mode;
	u32 isr[8], tmr[8], irr[8];
	u32 lvt[6]; /* timer, thermal, performance, LINT0, LINT1, error */
	u32 esr;
	u32 icr[2];
	u32 divide_conf;
	s32 count_shift;
	u32 initial_count;
	s64 initial_count_load_time; /* ns of the virtual clock */
	s64 next_time;
	s64 timer_expiry;
};

struct x86_cpu {
	struct vcpu *vcpu;
	u32 apic_id;
	/* "cpu_common"; KVM keeps both inside. */
	u32 halted, interrupt_request;
	struct x86_env env;
	struct x86_apic apic;
	struct kvm_cpuid2 *cpuid; /* what the guest sees; NULL without KVM */
	u32 cpuid_version;        /* leaf 1 EAX: in EDX after reset */
	u64 xcr0_mask;            /* XCR0 bits that the guest may set */
	bool has_mtrr;
	s64 loaded_over_khz; /* tsc_khz of this side while a state is loaded */
	u64 model_tsc_khz;   /* asked for by -cpu; 0: the host's */
};

extern const struct cpu_ops x86_cpu_ops;

static inline struct x86_cpu *x86_cpu_of(struct vcpu *cpu)
{
	return cpu->arch;
}

/* cpu.c */
void x86_cpu_reset(struct vcpu *cpu);
/* x86_hflags() - the wire's summary of the mode. */
u32 x86_hflags(const struct x86_env *env);

/* apic.c */
struct kvm_lapic_state;
void x86_apic_reset(struct x86_cpu *cpu);
void x86_apic_to_kvm(const struct x86_cpu *cpu, struct kvm_lapic_state *out);
void x86_apic_from_kvm(struct x86_cpu *cpu, const struct kvm_lapic_state *in);

/* xsave.c */
struct kvm_xsave;
void x86_xsave_pack(const struct x86_cpu *cpu, void *area, size_t size);
void x86_xsave_unpack(struct x86_cpu *cpu, const void *area, size_t size);

/* kvm-init.c, kvm.c, kvm-msr.c */
int x86_kvm_init_vm(int vm_fd, struct vm *vm, GError **err);
int x86_kvm_init_vcpu(struct vcpu *vcpu, int fd, GError **err);
int x86_kvm_get(struct vcpu *vcpu, int fd, GError **err);
int x86_kvm_put(struct vcpu *vcpu, int fd, GError **err);
int x86_kvm_get_msrs(struct x86_cpu *cpu, int fd, GError **err);
int x86_kvm_put_msrs(struct x86_cpu *cpu, int fd, GError **err);

#endif

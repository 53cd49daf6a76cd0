/* target/i386/cpu.c - power-on state and description of an x86 vCPU (Intel SDM volume 3, 10.1). */
#include "target/i386/cpu.h"
#include "target/i386/model.h"

#include <elf.h>

/* 80-bit registers, empty; masks all set. */
#define FPU_CONTROL_RESET 0x37f
#define MXCSR_RESET       0x1f80
#define PAT_RESET         0x0007040600070406ull
#define SMBASE_RESET      0x30000

static struct x86_seg real_mode_seg(u32 selector, u64 base, u32 type)
{
	return (struct x86_seg){
		.selector = selector,
		.base = base,
		.limit = 0xffff,
		.flags = DESC_P | type << DESC_TYPE_SHIFT,
	};
}

static void reset_segments(struct x86_env *env)
{
	u32 data = 0x3 | DESC_S >> DESC_TYPE_SHIFT; /* read/write, accessed */

	for (int i = 0; i < 6; i++)
		env->segs[i] = real_mode_seg(0, 0, data);
	env->segs[R_CS] = real_mode_seg(0xf000, 0xffff0000, data | DESC_CODE >> DESC_TYPE_SHIFT);
	env->ldt = real_mode_seg(0, 0, 2);
	env->tr = real_mode_seg(0, 0, 11);
	env->gdt = (struct x86_seg){ .limit = 0xffff };
	env->idt = (struct x86_seg){ .limit = 0xffff };
}

void x86_cpu_reset(struct vcpu *vcpu)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);
	struct x86_env *env = &cpu->env;
	s64 tsc_khz = env->tsc_khz;
	u64 mcg_cap = env->mcg_cap;

	cpu->vcpu = vcpu;
	*env = (struct x86_env){
		.eip = 0xfff0,
		.eflags = 2,
		.fpuc = FPU_CONTROL_RESET,
		.mxcsr = MXCSR_RESET,
		.a20_mask = -1,
		.smbase = SMBASE_RESET,
		.pat = PAT_RESET,
		.interrupt_injected = -1,
		.exception_nr = -1,
		.xcr0 = XSTATE_FP,
		.xstate_bv = XSTATE_FP | XSTATE_SSE,
		.poll_control_msr = 1,
		.msr_ia32_misc_enable = 1, /* fast strings */
		.tsc_khz = tsc_khz,
		.mcg_cap = mcg_cap,
		.mcg_ctl = mcg_cap ? ~0ull : 0,
		/* Application processors wait for the start-up interrupt. */
		.mp_state = vcpu->index ? X86_MP_UNINITIALIZED : X86_MP_RUNNABLE,
	};
	env->regs[R_EDX] = cpu->cpuid_version;
	env->cr[0] = 0x60000010;
	env->dr[6] = 0xffff0ff0;
	env->dr[7] = 0x400;
	for (int i = 0; i < X86_MCE_BANKS; i++)
		env->mce_banks[i * 4] = ~0ull;
	reset_segments(env);
	x86_apic_reset(cpu);
	env->hflags = x86_hflags(env);
	cpu->halted = 0;
	cpu->interrupt_request = 0;
}

/* Bit numbers as on the wire. */
u32 x86_hflags(const struct x86_env *env)
{
	u32 ss = env->segs[R_SS].flags, cs = env->segs[R_CS].flags;
	u32 h = ss >> DESC_DPL_SHIFT & 3;

	if (env->cr[0] & CR0_PE)
		h |= 1 << 7;
	h |= (env->cr[0] >> 1 & 7) << 9; /* MP, EM, TS */
	h |= env->eflags & (EFLAGS_TF | EFLAGS_IOPL | EFLAGS_VM);
	if (env->cr[4] & CR4_OSFXSR)
		h |= 1 << 22;
	if (env->efer & EFER_LMA)
		h |= 1 << 14;
	if ((env->efer & EFER_LMA) && (cs & DESC_L))
		return h | 1 << 4 | 1 << 5 | 1 << 15; /* 64-bit code */
	h |= cs & DESC_B ? 1 << 4 : 0;
	h |= ss & DESC_B ? 1 << 5 : 0;
	if (!(env->cr[0] & CR0_PE) || env->eflags & EFLAGS_VM || !(h & 1 << 4) ||
	    env->segs[R_DS].base || env->segs[R_ES].base || env->segs[R_SS].base)
		h |= 1 << 6; /* segment bases are not all zero */
	return h;
}

static void describe_seg(GString *s, const char *name, const struct x86_seg *seg)
{
	g_string_append_printf(s, "%s=%04x %016" PRIx64 " %08x %08x\n", name, seg->selector,
			       seg->base, seg->limit, seg->flags);
}

static char *x86_describe(struct vcpu *vcpu)
{
	static const char *const regs[] = {
		"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
		"R8 ", "R9 ", "R10", "R11", "R12", "R13", "R14", "R15"
	};
	static const char *const segs[] = { "ES ", "CS ", "SS ", "DS ", "FS ", "GS " };
	const struct x86_env *env = &x86_cpu_of(vcpu)->env;
	GString *s = g_string_new(NULL);

	for (int i = 0; i < 16; i++)
		g_string_append_printf(s, "%s=%016" PRIx64 "%c", regs[i], env->regs[i],
				       i % 4 == 3 ? '\n' : ' ');
	g_string_append_printf(s, "RIP=%016" PRIx64 " RFL=%08" PRIx64 " CPL=%d\n", env->eip,
			       env->eflags, env->segs[R_SS].flags >> DESC_DPL_SHIFT & 3);
	for (int i = 0; i < 6; i++)
		describe_seg(s, segs[i], &env->segs[i]);
	describe_seg(s, "LDT", &env->ldt);
	describe_seg(s, "TR ", &env->tr);
	g_string_append_printf(s, "GDT=     %016" PRIx64 " %08x\n", env->gdt.base, env->gdt.limit);
	g_string_append_printf(s, "IDT=     %016" PRIx64 " %08x\n", env->idt.base, env->idt.limit);
	g_string_append_printf(
		s, "CR0=%08" PRIx64 " CR2=%016" PRIx64 " CR3=%016" PRIx64 " CR4=%08" PRIx64 "\n",
		env->cr[0], env->cr[2], env->cr[3], env->cr[4]);
	g_string_append_printf(s, "DR6=%016" PRIx64 " DR7=%016" PRIx64 " EFER=%016" PRIx64 "\n",
			       env->dr[6], env->dr[7], env->efer);
	g_string_append_printf(s, "FCW=%04x FSW=%04x MXCSR=%08x\n", env->fpuc, env->fpus_vmstate,
			       env->mxcsr);
	return g_string_free(s, FALSE);
}

/* The order is that of struct user_regs_struct in <sys/user.h>. */
static unsigned x86_core_regs(struct vcpu *vcpu, u64 regs[CORE_REGS_MAX])
{
	const struct x86_env *e = &x86_cpu_of(vcpu)->env;
	const u64 *r = e->regs;
	const struct x86_seg *s = e->segs;
	const u64 all[] = {
		r[15],
		r[14],
		r[13],
		r[12],
		r[R_EBP],
		r[R_EBX],
		r[11],
		r[10],
		r[9],
		r[8],
		r[R_EAX],
		r[R_ECX],
		r[R_EDX],
		r[R_ESI],
		r[R_EDI],
		(u64)-1,
		e->eip,
		s[R_CS].selector,
		e->eflags,
		r[R_ESP],
		s[R_SS].selector,
		s[R_FS].base,
		s[R_GS].base,
		s[R_DS].selector,
		s[R_ES].selector,
		s[R_FS].selector,
		s[R_GS].selector,
	};

	memcpy(regs, all, sizeof(all));
	return ARRAY_SIZE(all);
}

const struct cpu_ops x86_cpu_ops = {
	.name = "x86",
	.reset = x86_cpu_reset,
	.describe = x86_describe,
	.core_regs = x86_core_regs,
	.elf_machine = EM_X86_64,
	.kvm_init_vm = x86_kvm_init_vm,
	.kvm_init_vcpu = x86_kvm_init_vcpu,
	.kvm_get = x86_kvm_get,
	.kvm_put = x86_kvm_put,
};

struct vcpu *x86_cpu_create(struct vm *vm, const struct x86_cpu_model *model, GError **err)
{
	struct x86_cpu *cpu = g_new0(struct x86_cpu, 1);
	struct vcpu *vcpu;

	cpu->apic_id = x86_topology_apic_id(&model->topo, vm->ncpus);
	cpu->cpuid = x86_cpuid_build(model, cpu->apic_id);
	cpu->cpuid_version = x86_cpuid_reg(cpu->cpuid, 1, 0, REG_EAX);
	cpu->has_mtrr = x86_cpuid_reg(cpu->cpuid, 1, 0, REG_EDX) & BIT_1_EDX_MTRR;
	cpu->xcr0_mask = x86_cpuid_reg(cpu->cpuid, 0xd, 0, REG_EAX);
	cpu->model_tsc_khz = model->tsc_khz;
	vcpu = vcpu_create(vm, &x86_cpu_ops, cpu, err);
	if (!vcpu) {
		g_free(cpu->cpuid);
		g_free(cpu);
	}
	return vcpu;
}

u32 x86_cpu_apic_id(const struct vcpu *vcpu)
{
	return ((const struct x86_cpu *)vcpu->arch)->apic_id;
}

void x86_cpu_destroy(struct vcpu *vcpu)
{
	struct x86_cpu *cpu = x86_cpu_of(vcpu);

	vcpu_destroy(vcpu);
	g_free(cpu->cpuid);
	g_free(cpu);
}

/*
 * target/i386/boot.c - a vCPU that starts without firmware.
 *
 * Sources: Linux Documentation/arch/x86/boot.rst (64-bit boot protocol); Xen's public "x86/HVM
 * direct boot ABI"; Intel SDM volume 3, chapters 2 and 3.
 */
#include "target/i386/cpu.h"

enum { CR0_ET = 1 << 4, EFER_LME = 1 << 8, CR4_PAE = 1 << 5 };
enum { BOOT_CS = 0x10, BOOT_DS = 0x18 };

#define CR0_PG        0x80000000u
#define TYPE_CODE     0xb /* executable, readable, accessed */
#define TYPE_DATA     0x3 /* writable, accessed */
#define TYPE_TSS      0xb /* busy */
#define TSS_LIMIT     0x67
#define FLAT_LIMIT    0xffffffffu
#define DESCRIPTOR(t) ((u32)(t) << DESC_TYPE_SHIFT | DESC_P)

static struct x86_seg flat(u32 selector, u32 type, u32 size)
{
	return (struct x86_seg){ .selector = selector,
				 .limit = FLAT_LIMIT,
				 .flags = DESCRIPTOR(type) | DESC_S | DESC_G | size };
}

static void set_mode(struct x86_env *env, const struct x86_boot_state *s)
{
	bool is_long = s->mode == X86_BOOT_LONG;

	env->cr[0] = CR0_PE | CR0_ET | (is_long ? CR0_PG : 0);
	env->segs[R_CS] = flat(BOOT_CS, TYPE_CODE, is_long ? DESC_L : DESC_B);
	for (int i = 0; i < 6; i++)
		if (i != R_CS)
			env->segs[i] = flat(BOOT_DS, TYPE_DATA, DESC_B);
	env->tr = (struct x86_seg){ .limit = TSS_LIMIT, .flags = DESCRIPTOR(TYPE_TSS) };
	if (is_long) {
		env->cr[3] = s->cr3;
		env->cr[4] = CR4_PAE;
		env->efer = EFER_LME | EFER_LMA;
	}
}

int x86_cpu_boot(struct vcpu *vcpu, const struct x86_boot_state *s, GError **err)
{
	struct x86_env *env = &x86_cpu_of(vcpu)->env;

	if (s->mode == X86_BOOT_RESET)
		return 0;
	set_mode(env, s);
	env->gdt = (struct x86_seg){ .base = s->gdt, .limit = s->gdt ? s->gdt_limit : 0 };
	env->idt = (struct x86_seg){ 0 };
	env->eip = s->rip;
	env->regs[R_ESP] = s->rsp;
	env->regs[R_EBX] = s->rbx;
	env->regs[R_ESI] = s->rsi;
	env->hflags = x86_hflags(env);
	return vcpu_put_state(vcpu, err);
}

/*
 * target/i386/xsave.c - extended state between registers and an XSAVE area in standard format.
 *
 * Source: Intel SDM volume 1, 13.4; where a component lies is what CPUID leaf 0xd of the host says,
 * which is the layout of KVM_GET_XSAVE's area.
 */
#include "target/i386/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
	XSAVE_FCW = 0,
	XSAVE_FSW = 2,
	XSAVE_FTW = 4,
	XSAVE_FOP = 6,
	XSAVE_FIP = 8,
	XSAVE_FDP = 16,
	XSAVE_MXCSR = 24,
	XSAVE_ST = 32,
	XSAVE_XMM = 160,
	XSAVE_HEADER = 512,
};

/* Offset of component @bit, 0 if the host has none or it does not fit. */
static size_t component(u64 bit, size_t len, size_t size)
{
#if defined(__x86_64__)
	u32 eax, ebx, ecx, edx;

	if (__get_cpuid_count(0xd, __builtin_ctzll(bit), &eax, &ebx, &ecx, &edx) && eax >= len &&
	    ebx + len <= size)
		return ebx;
#endif
	return 0;
}

static void move(void *reg, void *area, size_t len, bool pack)
{
	if (pack)
		memcpy(area, reg, len);
	else
		memcpy(reg, area, len);
}

static void legacy(struct x86_env *env, u8 *area, bool pack)
{
	u8 ftw = env->fptag_vmstate;

	move(&env->fpuc, area + XSAVE_FCW, 2, pack);
	move(&env->fpus_vmstate, area + XSAVE_FSW, 2, pack);
	move(&ftw, area + XSAVE_FTW, 1, pack);
	env->fptag_vmstate = ftw;
	move(&env->fpop, area + XSAVE_FOP, 2, pack);
	move(&env->fpip, area + XSAVE_FIP, 8, pack);
	move(&env->fpdp, area + XSAVE_FDP, 8, pack);
	move(&env->mxcsr, area + XSAVE_MXCSR, 4, pack);
	for (int i = 0; i < 8; i++) {
		move(&env->fpregs[i].mant, area + XSAVE_ST + 16 * i, 8, pack);
		move(&env->fpregs[i].exp, area + XSAVE_ST + 16 * i + 8, 2, pack);
	}
	for (int i = 0; i < 16; i++)
		move(env->xmm_regs[i].q, area + XSAVE_XMM + 16 * i, 16, pack);
	move(&env->xstate_bv, area + XSAVE_HEADER, 8, pack);
}

/* Quad words @q.. of registers @first..@first + 15, each @words long, at one component. */
static void vectors(struct x86_env *env, u8 *area, size_t size, u64 bit, int first, int q,
		    int words, bool pack)
{
	size_t at = component(bit, 16 * words * 8, size);

	for (int i = 0; i < 16 && at; i++)
		move(&env->xmm_regs[first + i].q[q], area + at + i * words * 8, words * 8, pack);
}

static void convert(struct x86_env *env, u8 *area, size_t size, bool pack)
{
	size_t at;

	legacy(env, area, pack);
	vectors(env, area, size, XSTATE_YMM, 0, 2, 2, pack);
	vectors(env, area, size, XSTATE_ZMM_HI256, 0, 4, 4, pack);
	vectors(env, area, size, XSTATE_HI16_ZMM, 16, 0, 8, pack);
	at = component(XSTATE_OPMASK, sizeof(env->opmask_regs), size);
	if (at)
		move(env->opmask_regs, area + at, sizeof(env->opmask_regs), pack);
	at = component(XSTATE_PKRU, sizeof(env->pkru), size);
	if (at)
		move(&env->pkru, area + at, sizeof(env->pkru), pack);
}

void x86_xsave_pack(const struct x86_cpu *cpu, void *area, size_t size)
{
	struct x86_env env = cpu->env;

	memset(area, 0, size);
	convert(&env, area, size, true);
}

void x86_xsave_unpack(struct x86_cpu *cpu, const void *area, size_t size)
{
	convert(&cpu->env, (u8 *)area, size, false);
}

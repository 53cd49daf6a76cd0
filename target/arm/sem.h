/*
 * target/arm/sem.h - what the reference functions (sem_*.c) share.
 */
#ifndef TARGET_ARM_SEM_H
#define TARGET_ARM_SEM_H

#include "target/arm/cpu.h"
#include "target/arm/decode.h"
#include "target/arm/cpu-features.h"

/* N and Z of a logical result; C and V are 0. */
static inline void set_nz(struct arm_cpu *cpu, unsigned sf, u64 r)
{
	bool neg = sf ? r >> 63 : r >> 31 & 1;
	bool zero = sf ? !r : !(u32)r;

	cpu->tcg.nzcv = (neg ? TCG_FLAG_N : 0) | (zero ? TCG_FLAG_Z : 0);
}

/* AddWithCarry() of 32 or 64 bits; sets NZCV if @set. */
static inline u64 add_with_carry(struct arm_cpu *cpu, unsigned sf, u64 a, u64 b, unsigned carry,
				 bool set)
{
	u64 r;
	bool c, v;

	if (sf) {
		u64 partial;

		c = __builtin_add_overflow(a, b, &partial);
		c |= __builtin_add_overflow(partial, (u64)carry, &r);
		v = (~(a ^ b) & (a ^ r)) >> 63;
	} else {
		u64 wide = (u64)(u32)a + (u32)b + carry;

		r = (u32)wide;
		c = wide >> 32;
		v = (~(a ^ b) & (a ^ r)) >> 31 & 1;
	}
	if (set) {
		set_nz(cpu, sf, r);
		cpu->tcg.nzcv |= (c ? TCG_FLAG_C : 0) | (v ? TCG_FLAG_V : 0);
	}
	return r;
}

/* ShiftReg(): kind 0 LSL, 1 LSR, 2 ASR, 3 ROR; @n < 32 or 64. */
static inline u64 shift_value(unsigned sf, u64 v, unsigned kind, unsigned n)
{
	if (!sf) {
		u32 w = v;

		switch (kind) {
		case 0: return w << n;
		case 1: return w >> n;
		case 2: return (u32)((s32)w >> n);
		default: return n ? w >> n | w << (32 - n) : w;
		}
	}
	switch (kind) {
	case 0: return v << n;
	case 1: return v >> n;
	case 2: return (u64)((s64)v >> n);
	default: return n ? v >> n | v << (64 - n) : v;
	}
}

/* ExtendReg(): @opt is UXTB, UXTH, UXTW, UXTX, SXTB, SXTH, SXTW, SXTX. */
static inline u64 extend_value(u64 v, unsigned opt, unsigned shift)
{
	switch (opt) {
	case 0: v = (u8)v; break;
	case 1: v = (u16)v; break;
	case 2: v = (u32)v; break;
	case 4: v = (s64)(s8)v; break;
	case 5: v = (s64)(s16)v; break;
	case 6: v = (s64)(s32)v; break;
	default: break;
	}
	return v << shift;
}

/* True unless the CPU lacks the feature of the operation. */
bool arm_op_available(const struct arm_cpu *cpu, unsigned op);

/* ConditionHolds() for the current flags. */
bool cond_holds(const struct arm_cpu *cpu, unsigned cond);

/* PSTATE.BTYPE, named by what did the branch. */
enum { BTYPE_NONE, BTYPE_ANY, BTYPE_CALL, BTYPE_JUMP };

/*
 * arm_check_bti() - before an instruction that an indirect branch led to (cpu->btype is not 0):
 * raise the exception of FEAT_BTI, or clear cpu->btype.
 * @word: the instruction.
 */
void arm_check_bti(struct arm_cpu *cpu, u32 word);

/* Where the next instruction is fetched from, instead of pc + 4. */
static inline void branch_to(struct arm_cpu *cpu, u64 pc)
{
	cpu->tcg.npc = pc;
}

static inline u64 cpu_pc(const struct arm_cpu *cpu)
{
	return tcg_pc(&cpu->tcg);
}

/* True if FP and SIMD instructions do not trap at the current exception level. */
bool arm_fp_enabled(const struct arm_cpu *cpu);

/* UNDEFINED unless FP and SIMD are usable at this exception level; else a trap. */
void check_fp_access(struct arm_cpu *cpu);

/* FEAT_PAuth: sign, authenticate (faulting forms poison the pointer) and strip. */
u64 pac_sign(struct arm_cpu *cpu, u64 ptr, u64 modifier, enum arm_pac_key key);
u64 pac_auth(struct arm_cpu *cpu, u64 ptr, u64 modifier, enum arm_pac_key key);
u64 pac_strip(struct arm_cpu *cpu, u64 ptr);

/* For the translation rules. pac_field() - bits of a pointer of the upper or lower range that hold
 * the signature: below bit 55 from the size of the address space on, and bits 63:56 unless they are
 * ignored (TBI). pac_state_key() - what that depends on, 14 bits. pac_inline_el() - exception level
 * whose registers decide about the usual case, 0: leave it to the reference functions.
 * pac_enable() - bit of its SCTLR_ELx without which nothing is done. */
#define PAC_MULTIPLIER 0xd6e8feb86659fd93ull
unsigned pac_inline_el(const struct arm_cpu *cpu);
u32 pac_enable(enum arm_pac_key key);
u64 pac_field(const struct arm_cpu *cpu, bool high);
u32 pac_state_key(const struct arm_cpu *cpu);

#endif

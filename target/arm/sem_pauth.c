/*
 * target/arm/sem_pauth.c - pointer authentication (Arm DDI 0487, D8.10) by QARMA5, or by a fast
 * algorithm of our own (ID_AA64ISAR1_EL1.{APA,GPA} or {API,GPI}).
 */
#include "target/arm/el2.h"
#include "target/arm/mmu-internal.h"
#include "target/arm/qarma5.h"
#include "target/arm/sem.h"

#define SCTLR_EnIA (1u << 31)
#define SCTLR_EnIB (1u << 30)
#define SCTLR_EnDA (1u << 27)
#define SCTLR_EnDB (1u << 13)
#define TCR_TBI    (1ull << 20) /* of a single range */
#define TCR_TBI0   (1ull << 37)
#define TCR_TBI1   (1ull << 38)

/* A multiplicative hash: each input bit reaches the upper half, which signatures are taken from.
 * trans_pauth.c does the same. */
static u64 compute_pac(const struct arm_cpu *cpu, u64 ptr, u64 modifier, const u64 key[2])
{
	u64 v = (ptr ^ key[0]) * PAC_MULTIPLIER;

	if (cpu_has(cpu, ARM_FEAT_QARMA5))
		return qarma5(ptr, modifier, key[1], key[0]);
	v = (((v ^ v >> 32) + modifier) ^ key[1]) * PAC_MULTIPLIER;
	return (v ^ v >> 32) * PAC_MULTIPLIER;
}

/* HCR_EL2.API: what would use a key is EL2's to allow. */
static void trap_instruction(struct arm_cpu *cpu)
{
	if (!cpu->has_el2 || cpu_el(cpu) > 1 || arm_hcr(cpu) & HCR_API)
		return;
	cpu->excp.target_el = 2;
	arm_raise(cpu, EC_PAUTH, 0, 0);
}

u32 pac_enable(enum arm_pac_key key)
{
	static const u32 enable[] = { SCTLR_EnIA, SCTLR_EnIB, SCTLR_EnDA, SCTLR_EnDB };

	return enable[key];
}

static bool key_enabled(struct arm_cpu *cpu, enum arm_pac_key key)
{
	if (!cpu_has(cpu, ARM_FEAT_PAUTH) ||
	    !(cpu->sctlr_el[arm_control_el(cpu)] & pac_enable(key)))
		return false;
	trap_instruction(cpu);
	return true;
}

static bool has_two_ranges(const struct arm_cpu *cpu)
{
	unsigned el = arm_control_el(cpu);

	return el == 1 || (el == 2 && arm_is_host(cpu));
}

static unsigned txsz_of(const struct arm_cpu *cpu, bool high)
{
	unsigned el = arm_control_el(cpu), txsz;

	high &= has_two_ranges(cpu);
	txsz = (high ? cpu->tcr_el[el] >> 16 : cpu->tcr_el[el]) & 0x3f;
	return txsz < 16 ? MAX(txsz, arm_smallest_txsz(cpu, el, high)) : txsz;
}

u64 pac_field(const struct arm_cpu *cpu, bool high)
{
	bool two = has_two_ranges(cpu);
	u64 tcr = cpu->tcr_el[arm_control_el(cpu)];
	bool tbi = tcr & (!two ? TCR_TBI : high ? TCR_TBI1 : TCR_TBI0);
	u64 field = ~(u64)0 << (64 - txsz_of(cpu, high)) & ~(1ull << 55);

	return tbi ? field & ~(0xffull << 56) : field;
}

unsigned pac_inline_el(const struct arm_cpu *cpu)
{
	if (!has_two_ranges(cpu) || (cpu->has_el2 && cpu_el(cpu) < 2))
		return 0;
	return arm_control_el(cpu);
}

u32 pac_state_key(const struct arm_cpu *cpu)
{
	u64 tcr = cpu->tcr_el[arm_control_el(cpu)];

	return txsz_of(cpu, false) | txsz_of(cpu, true) << 6 | (tcr >> 37 & 3) << 12;
}

static u64 canonical(u64 ptr, u64 field)
{
	return ptr >> 55 & 1 ? ptr | field : ptr & ~field;
}

u64 pac_sign(struct arm_cpu *cpu, u64 ptr, u64 modifier, enum arm_pac_key key)
{
	u64 field, plain, pac;

	if (!key_enabled(cpu, key))
		return ptr;
	field = pac_field(cpu, ptr >> 55 & 1);
	plain = canonical(ptr, field);
	pac = compute_pac(cpu, plain, modifier, cpu->pac_key[key]);
	if (plain != ptr) /* was not canonical: the signature must not authenticate */
		pac ^= 1ull << 54;
	return (plain & ~field) | (pac & field);
}

u64 pac_auth(struct arm_cpu *cpu, u64 ptr, u64 modifier, enum arm_pac_key key)
{
	u64 field, plain, pac, error;

	if (!key_enabled(cpu, key))
		return ptr;
	field = pac_field(cpu, ptr >> 55 & 1);
	plain = canonical(ptr, field);
	pac = compute_pac(cpu, plain, modifier, cpu->pac_key[key]);
	if (((ptr ^ pac) & field) == 0)
		return plain;
	error = key == PAC_IA || key == PAC_DA ? 1 : 2;
	if (field >> 61 & 3)
		return (plain & ~(3ull << 61)) | error << 61;
	return (plain & ~(3ull << 53)) | error << 53;
}

u64 pac_strip(struct arm_cpu *cpu, u64 ptr)
{
	return canonical(ptr, pac_field(cpu, ptr >> 55 & 1));
}

void exec_PAC(struct arm_cpu *cpu, const struct a64_PAC *i)
{
	enum arm_pac_key key = (i->data ? PAC_DA : PAC_IA) + i->b;
	u64 modifier = i->z ? 0 : cpu_xsp(cpu, i->rn);
	u64 ptr = cpu_x(cpu, i->rd);

	cpu_set_x(cpu, i->rd,
		  i->aut ? pac_auth(cpu, ptr, modifier, key) : pac_sign(cpu, ptr, modifier, key));
}

void exec_XPAC(struct arm_cpu *cpu, const struct a64_XPAC *i)
{
	cpu_set_x(cpu, i->rd, pac_strip(cpu, cpu_x(cpu, i->rd)));
}

void exec_PACGA(struct arm_cpu *cpu, const struct a64_PACGA *i)
{
	u64 pac;

	trap_instruction(cpu);
	pac = compute_pac(cpu, cpu_x(cpu, i->rn), cpu_xsp(cpu, i->rm), cpu->pac_key[PAC_GA]);
	cpu_set_x(cpu, i->rd, pac & 0xffffffff00000000);
}

/* The forms in the hint space do nothing on a CPU without FEAT_PAuth (key_enabled()). */
void exec_PAC_H(struct arm_cpu *cpu, const struct a64_PAC_H *i)
{
	enum arm_pac_key key = PAC_IA + i->b;
	u64 ptr = cpu_x(cpu, 17), modifier = cpu_x(cpu, 16);

	cpu_set_x(cpu, 17,
		  i->aut ? pac_auth(cpu, ptr, modifier, key) : pac_sign(cpu, ptr, modifier, key));
}

void exec_PAC_LR(struct arm_cpu *cpu, const struct a64_PAC_LR *i)
{
	enum arm_pac_key key = PAC_IA + i->b;
	u64 ptr = cpu_x(cpu, 30), modifier = i->sp ? cpu_xsp(cpu, 31) : 0;

	cpu_set_x(cpu, 30,
		  i->aut ? pac_auth(cpu, ptr, modifier, key) : pac_sign(cpu, ptr, modifier, key));
}

void exec_XPACLRI(struct arm_cpu *cpu, const struct a64_XPACLRI *i)
{
	if (cpu_has(cpu, ARM_FEAT_PAUTH))
		cpu_set_x(cpu, 30, pac_strip(cpu, cpu_x(cpu, 30)));
}

/*
 * target/arm/trans_pauth.c - translation rules of pointer authentication (see sem_pauth.c).
 *
 * A compiler that protects return addresses signs and authenticates in every function. What the
 * rules do inline is the case that matters: a pointer of the range that the exception level uses,
 * canonical when it is signed, with the right signature when it is authenticated. All others go to
 * the reference function. Which bits are in use is part of the state key.
 */
#include "target/arm/sem.h"
#include "target/arm/trans.h"

#define BIT55 (1ull << 55)

struct pac {
	unsigned ptr, modifier; /* operands */
	enum arm_pac_key key;
	bool aut;
	void (*exec)(void); /* reference function */
	const void *args;
	unsigned size;
};

/* T0 = signature of the canonical pointer in T0, in its upper bits */
static void hash(struct trans *t, const struct pac *p)
{
	unsigned key = offsetof(struct arm_cpu, pac_key[p->key][0]);

	e_ld_field(t, 1, E_T2, key);
	e_alu(t, E_XOR, 1, E_T0, E_T0, E_T2);
	e_movi(t, E_T1, PAC_MULTIPLIER);
	for (unsigned round = 0; round < 2; round++) {
		e_mul(t, 1, E_T0, E_T0, E_T1);
		e_shifti(t, E_SHR, 1, E_T2, E_T0, 32);
		e_alu(t, E_XOR, 1, E_T0, E_T0, E_T2);
		if (round == 0) {
			if (p->modifier != E_ZERO)
				e_alu(t, E_ADD, 1, E_T0, E_T0, p->modifier);
			e_ld_field(t, 1, E_T2, key + 8);
			e_alu(t, E_XOR, 1, E_T0, E_T0, E_T2);
		}
	}
	e_mul(t, 1, E_T0, E_T0, E_T1);
}

/* T0 = bits of @mask in which the pointer differs from all ones (@high) or zeros */
static void differing(struct trans *t, const struct pac *p, bool high, u64 mask)
{
	e_movi(t, E_T2, mask);
	if (high)
		e_andn(t, 1, E_T0, p->ptr, E_T2);
	else
		e_alu(t, E_AND, 1, E_T0, p->ptr, E_T2);
}

/* d = canonical pointer */
static void make_canonical(struct trans *t, unsigned d, const struct pac *p, bool high, u64 field)
{
	e_movi(t, E_T2, high ? field : ~field);
	e_alu(t, high ? E_OR : E_AND, 1, d, p->ptr, E_T2);
}

/* T0 = bits of the field in which pointer and signature T0 differ */
static void compare(struct trans *t, const struct pac *p, u64 field)
{
	e_alu(t, E_XOR, 1, E_T0, E_T0, p->ptr);
	e_movi(t, E_T2, field);
	e_alu(t, E_AND, 1, E_T0, E_T0, E_T2);
}

static bool translate(struct trans *t, const struct pac *p)
{
	struct arm_cpu *cpu = region_of(t)->cpu;
	bool high = cpu_el(cpu) > 0;
	u64 field = pac_field(cpu, high);
	unsigned other[2];
	u8 *disabled;

	if (!cpu_has(cpu, ARM_FEAT_PAUTH))
		return true;
	if (!pac_inline_el(cpu) || cpu_has(cpu, ARM_FEAT_QARMA5))
		return false;
	disabled = e_unless(t, offsetof(struct arm_cpu, sctlr_el[pac_inline_el(cpu)]),
			    pac_enable(p->key));
	differing(t, p, high, p->aut ? BIT55 : field | BIT55);
	other[0] = e_instead(t, E_T0, p->exec, p->args, p->size);
	if (p->aut) {
		make_canonical(t, E_T0, p, high, field);
		hash(t, p);
		compare(t, p, field);
		other[1] = e_instead(t, E_T0, p->exec, p->args, p->size);
		make_canonical(t, p->ptr, p, high, field);
		e_instead_end(t, other[1]);
	} else {
		e_mov(t, 1, E_T0, p->ptr);
		hash(t, p);
		compare(t, p, field);
		e_alu(t, E_XOR, 1, E_T0, E_T0, p->ptr);
		e_mov(t, 1, p->ptr, E_T0);
	}
	e_instead_end(t, other[0]);
	e_here(t, disabled);
	return true;
}

bool trans_PAC_LR(struct trans *t, const struct a64_PAC_LR *i)
{
	struct pac p = { 30,        i->sp ? 31 : E_ZERO,         PAC_IA + i->b,
			 i->aut,    (void (*)(void))exec_PAC_LR, i,
			 sizeof(*i) };

	return translate(t, &p);
}

bool trans_PAC_H(struct trans *t, const struct a64_PAC_H *i)
{
	struct pac p = { 17, 16, PAC_IA + i->b, i->aut, (void (*)(void))exec_PAC_H, i, sizeof(*i) };

	return translate(t, &p);
}

bool trans_PAC(struct trans *t, const struct a64_PAC *i)
{
	struct pac p = { i->rd,     i->z ? E_ZERO : i->rn,    (i->data ? PAC_DA : PAC_IA) + i->b,
			 i->aut,    (void (*)(void))exec_PAC, i,
			 sizeof(*i) };

	return i->rd != 31 && translate(t, &p);
}

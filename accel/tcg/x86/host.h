/*
 * accel/tcg/x86/host.h - where guest state lives on an x86-64 host, and out-of-line code.
 *
 *   rbp  &cpu->r[20], so that r[4] to state_key have one-byte displacements
 *   r15  cpu->mmu
 *   rax rcx rdx  scratch
 *   the other registers: ten guest registers, see pinned[]; vectors: vec.h
 */
#ifndef ACCEL_TCG_X86_HOST_H
#define ACCEL_TCG_X86_HOST_H

#include "accel/tcg/mem.h"
#include "accel/tcg/x86/asm.h"

#define CPU_BIAS     ((s32)offsetof(struct tcg_cpu, r[20]))
#define CPU_FIELD(f) ((s32)offsetof(struct tcg_cpu, f) - CPU_BIAS)
#define MMU_FIELD(f) ((s32)offsetof(struct tcg_mmu, f))

/* Guest registers kept in host registers across all translated code. Those that calls preserve
 * hold what is live across calls in guest code too. */
static const s8 pinned[32] = {
	[0] = RSI, [1] = RDI, [2] = R8,  [3] = R9,   [4] = -1,   [5] = -1,   [6] = -1,   [7] = -1,
	[8] = -1,  [9] = -1,  [10] = -1, [11] = -1,  [12] = -1,  [13] = -1,  [14] = -1,  [15] = -1,
	[16] = -1, [17] = -1, [18] = -1, [19] = RBX, [20] = R12, [21] = R10, [22] = -1,  [23] = -1,
	[24] = -1, [25] = -1, [26] = -1, [27] = -1,  [28] = -1,  [29] = R13, [30] = R11, [31] = R14,
};

/* Host register of an operand, -1 if it lies in memory (or is E_ZERO). */
static inline int host_reg(unsigned g)
{
	if (g < 32)
		return pinned[g];
	return g < E_ZERO ? (int)(g - E_T0) : -1;
}

static inline s32 guest_disp(unsigned g)
{
	return (s32)(g * 8) - CPU_BIAS;
}

/* op reg, guest operand (not E_ZERO) */
static inline void x_rg(struct trans *t, unsigned w, unsigned op, unsigned reg, unsigned g)
{
	int h = host_reg(g);

	if (h >= 0)
		x_rr(t, w, op, reg, h);
	else
		x_rm(t, w, op, reg, RBP, guest_disp(g));
}

/* Bring an operand into host register @reg; keeps flags. */
void x_get(struct trans *t, unsigned w, unsigned reg, unsigned g);

/* Operand in a host register: its own, or @spare loaded with it. */
unsigned x_use(struct trans *t, unsigned w, unsigned g, unsigned spare);

/* Write host register @reg (already zero extended) to a destination; keeps flags. */
void x_put(struct trans *t, unsigned g, unsigned reg);

/* Host register to compute a destination in: its own, or @spare. */
static inline unsigned x_dest(unsigned g, unsigned spare)
{
	int h = host_reg(g);

	return h >= 0 ? (unsigned)h : spare;
}

enum slow_kind {
	SLOW_LOAD,
	SLOW_STORE,
	SLOW_LOAD_PAIR,
	SLOW_STORE_PAIR,
	SLOW_EXIT,     /* leave the region for page offset to */
	SLOW_GOTO,     /* synchronise flags, then go to instruction insn */
	SLOW_INDIRECT, /* the jump cache does not know the address in rax */
	SLOW_EVENT,    /* cpu->exit_request: leave at the current offset */
	SLOW_BUDGET,   /* fewer instructions are left than the region has: interpret them */
	SLOW_EXEC,     /* call fn instead, then go on at done; NULL: where it says in cpu->npc */
	SLOW_VECTORS,  /* load the vectors, then go on at done */
};

#define NO_REG 0xff

/* Out-of-line code of one place; emitted after the region. */
struct slow_path {
	enum slow_kind kind;
	u8 *from;                 /* jump that leads here; NULL with SLOW_EXIT: fall through */
	u8 *also[2];              /* further jumps that lead to the slow function */
	u8 *hint_from;            /* with a hint: jump from the failed hint check */
	u8 *unexpected_from;      /* jump from the check of the expected addend */
	u8 *check_done;           /* where both go on, with the addend in rcx */
	u8 *done;                 /* where to go on */
	struct flags_state flags; /* at the jump */
	bool counted;             /* of SLOW_EVENT: the region's instructions have been counted */
	bool live;                /* flags may be read where this leads */
	u32 off;                  /* page offset of the instruction */
	s64 to;
	unsigned insn;
	u8 va;            /* host register with the address */
	u8 size;          /* bytes of one element */
	u8 ext, w;        /* enum e_ext */
	u8 d0, d1;        /* operands */
	u8 vector;        /* v[] elements instead of registers: how many, 0 = none */
	u8 hint;          /* guest base register, NO_REG = no hint */
	void (*fn)(void); /* instead of the access: see e_address.slow */
	u8 args[32];
	unsigned args_size;
};

struct slow_path *x_slow(struct trans *t, enum slow_kind kind, u8 *from);
void x_slow_memory(struct trans *t, struct slow_path *s);
void x_slow_flow(struct trans *t, struct slow_path *s);

/* Check an access of @size bytes outside of a range: s->va + rcx is its host address. */
struct slow_path *x_checked_address(struct trans *t, enum slow_kind kind, unsigned size,
				    const struct e_address *at);

/* The same without a slow path: rax or a guest register + rcx is the host address, *va the former.
 * Return: the jump that is taken if it may not be written, or is not naturally aligned. */
u8 *x_checked_update(struct trans *t, unsigned size, unsigned base, unsigned *va);

/* Code that stores NZCV as described by @f, whatever the translation state is. */
void x_store_flags(struct trans *t, const struct flags_state *f);

/* The same of a floating-point comparison; and test a condition of it, see flags_use(). */
void x_store_fcmp(struct trans *t, const struct flags_state *f);
unsigned x_use_fcmp(struct trans *t, const struct flags_state *f, enum e_cond cond);

/* Address in rax: go there by the jump cache. Flags must be stored. */
void x_goto_rax(struct trans *t);

/* fn(cpu, copy of args) with the state in memory; cpu->pc_off must be set. */
void x_call_exec(struct trans *t, void (*fn)(void), const void *args, unsigned size);

/* Jump with a 32-bit displacement to code outside of the region. */
void x_jump_out(struct trans *t, const u8 *target);
void x_call_out(struct trans *t, const u8 *target);

/* Code made once at start; addresses are executable ones. */
struct host_entry {
	u64 (*enter)(struct tcg_cpu *cpu, const void *code);
	const u8 *leave;     /* end of enter(), which returns rax */
	const u8 *leave_rax; /* the same with guest pc rax, and nothing to be chained */
	/* Functions rax(cpu, rcx, rdx), which changes no registers but mmu->, and rax(cpu, rdx),
	 * which may change all guest state. [1]: for regions with vectors, which stay loaded. */
	const u8 *call_memory[2];
	const u8 *call_exec[2];
	const u8 *load_vectors; /* keeps general registers */
};
extern struct host_entry host_entry;

#endif

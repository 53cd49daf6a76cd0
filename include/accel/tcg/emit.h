/*
 * accel/tcg/emit.h - what a target's translation rules may emit.
 *
 * Operands are guest registers 0..31 (31 = stack pointer), scratch registers E_T0..E_T2, or
 * E_ZERO, which reads as zero and as a destination drops the result. w is 0 for 32-bit (the
 * result is zero extended) and 1 for 64-bit operations. Where registers live is the back end's
 * affair. Loads, stores, calls, division, e_mulh and e_csel clobber all scratch registers; the
 * other functions may clobber E_T0 and E_T1 unless these are their destination, but keep E_T2.
 */
#ifndef ACCEL_TCG_EMIT_H
#define ACCEL_TCG_EMIT_H

#include "accel/tcg/cpu.h"

#define TCG_MAX_INSNS 64 /* guest instructions in one region */

#define TCG_MAX_SLOW (8 * TCG_MAX_INSNS)

enum { E_T0 = 32, E_T1, E_T2, E_ZERO };
enum e_alu { E_ADD, E_SUB, E_AND, E_OR, E_XOR };
enum e_shift { E_SHL, E_SHR, E_SAR, E_ROR };
enum e_ext { E_U8, E_U16, E_U32, E_U64, E_S8, E_S16, E_S32 };

/* Guest conditions, by the flags they test; odd = the negation of the one before. */
enum e_cond { E_EQ, E_NE, E_CS, E_CC, E_MI, E_PL, E_VS, E_VC, E_HI, E_LS, E_GE, E_LT, E_GT, E_LE };

/* Where NZCV is at a point of the translation. */
enum flags_where {
	FLAGS_STORED,  /* in cpu->nzcv */
	FLAGS_HOST,    /* in the host's flags */
	FLAGS_PENDING, /* not computed; redo says how */
};

/* How NZCV can be computed again from registers that still hold the operands. */
enum flags_redo {
	REDO_NONE,
	REDO_CMP,   /* a - b */
	REDO_CMPI,  /* a - imm */
	REDO_CMN,   /* a + b */
	REDO_CMNI,  /* a + imm */
	REDO_TEST,  /* a & b */
	REDO_TESTI, /* a & imm */
	REDO_SUBSI, /* (a + imm) - imm: a holds the result */
	REDO_ADDSI, /* (a - imm) + imm */
	REDO_FCMP,  /* of vectors a and b, see e_fcompare() */
};

struct flags_state {
	enum flags_where where;
	enum flags_redo redo;
	bool borrow; /* host carry is the inverse of guest C */
	u8 w, a, b;
	s32 imm;
};

struct slow_path;

/* One region being translated. */
struct trans {
	u8 *p;  /* next byte of code, writable mapping */
	s64 rx; /* executable address - writable address */
	struct tcg_cpu *cpu;
	u64 start;          /* virtual address of the first instruction */
	const u32 *words;   /* the instruction at start, and all after it in its page */
	unsigned max_insns; /* 1..TCG_MAX_INSNS, never beyond the page */
	u32 off;            /* page offset of the current instruction */
	struct flags_state flags;
	bool flags_live; /* NZCV may be read after the current instruction */
	unsigned ninsns; /* set by the target when it is done */

	struct slow_path *slow; /* out-of-line code still to be emitted */
	unsigned nslow;
	u8 *label[TCG_MAX_INSNS]; /* host address of instruction n, NULL = not emitted yet */
	struct {
		u8 *from;
		unsigned insn;
	} fixup[2 * TCG_MAX_INSNS];
	unsigned nfixups;
	u8 range_base; /* register of an open e_range_begin(), E_ZERO = none */
	bool vectors;  /* e_use_vectors() was called */
	/* Vectors that are known to be zero from bit 64 or 32 on. */
	u32 v_zero64, v_zero32;
	void *target;     /* for the target's rules */
	u8 *entry, *dead; /* start of the region; where it leads once discarded */
	u8 *count_at[2];  /* where the number of instructions, and their end, are to be filled in */
};

void e_mov(struct trans *t, unsigned w, unsigned d, unsigned a);
void e_movi(struct trans *t, unsigned d, u64 imm);
/* d = a op b; leaves the host flags of the result, see flags_result(). */
void e_alu(struct trans *t, enum e_alu op, unsigned w, unsigned d, unsigned a, unsigned b);
void e_alui(struct trans *t, enum e_alu op, unsigned w, unsigned d, unsigned a, s64 imm);
/* d = a + imm, flags undefined: shorter than e_alui */
void e_addi(struct trans *t, unsigned w, unsigned d, unsigned a, s64 imm);
/* d = a + (b << n), n <= 3; host flags undefined */
void e_add_shifted(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b, unsigned n);
/* d = ~a & b */
void e_andn(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b);
void e_not(struct trans *t, unsigned w, unsigned d, unsigned a);
void e_shifti(struct trans *t, enum e_shift op, unsigned w, unsigned d, unsigned a, unsigned n);
void e_shift(struct trans *t, enum e_shift op, unsigned w, unsigned d, unsigned a, unsigned b);
void e_extend(struct trans *t, enum e_ext kind, unsigned w, unsigned d, unsigned a);
/* d = low or high part of hi:lo >> n, 0 < n < width */
void e_extract(struct trans *t, unsigned w, unsigned d, unsigned hi, unsigned lo, unsigned n);
void e_mul(struct trans *t, unsigned w, unsigned d, unsigned a, unsigned b);
void e_mulh(struct trans *t, bool sign, unsigned d, unsigned a, unsigned b);
/* Division by zero gives zero. */
void e_div(struct trans *t, bool sign, unsigned w, unsigned d, unsigned a, unsigned b);
void e_clz(struct trans *t, unsigned w, unsigned d, unsigned a);
void e_ctz(struct trans *t, unsigned w, unsigned d, unsigned a);
void e_bswap(struct trans *t, unsigned w, unsigned d, unsigned a);
/* d = virtual address of the region's page + offset */
void e_pc(struct trans *t, unsigned d, s64 offset);
/* Load or store a field of the CPU; @field is an offset from struct tcg_cpu. */
void e_ld_field(struct trans *t, unsigned w, unsigned d, unsigned field);
void e_st_field(struct trans *t, unsigned w, unsigned field, unsigned a);
/* Full barrier. */
void e_fence(struct trans *t);

/*
 * Flags. Rules call flags_result() or flags_compare() after setting them and flags_use() before a
 * conditional; the target's driver calls the others between instructions.
 */
/* The host flags are the guest's NZCV of the operation just emitted. */
void flags_result(struct trans *t, const struct flags_state *how);
/* Set NZCV from a comparison, which is emitted only where it is needed. */
void flags_compare(struct trans *t, enum flags_redo redo, unsigned w, unsigned a, unsigned b,
		   s32 imm);
/* The next instruction destroys the host flags. */
void flags_clobber(struct trans *t);
/* The guest registers of @mask are about to change. */
void flags_protect(struct trans *t, u32 mask);
/* Vectors are about to change. */
void flags_protect_vectors(struct trans *t);
/* Put NZCV into cpu->nzcv, if anything may read it. */
void flags_sync(struct trans *t);
/* Test @cond. Return: the host condition that is true when @cond is. */
unsigned flags_use(struct trans *t, enum e_cond cond);
/* d = cond ? a : b, or with @inv ~b, and with @inc plus 1 */
void e_csel(struct trans *t, unsigned w, unsigned d, enum e_cond cond, unsigned a, unsigned b,
	    bool inv, bool inc);
/* if (cond) NZCV = of @cmp, else NZCV = @nzcv in the layout of cpu->nzcv */
void e_ccmp(struct trans *t, enum e_cond cond, const struct flags_state *cmp, u32 nzcv);
/* d = a + b + C or a - b - !C; sets the host flags when @set */
void e_adc(struct trans *t, bool sub, bool set, unsigned w, unsigned d, unsigned a, unsigned b);

/* An address: base + imm, or base + (index extended by @ext) << shift. */
struct e_address {
	u8 base;
	bool indexed;
	u8 index, ext, shift; /* ext: enum e_ext */
	s32 imm;
	bool hint;          /* this base stays in one page for long */
	bool data_view;     /* by cpu->data_view; needs slow, as aligned does */
	bool aligned;       /* the fast path is for naturally aligned accesses only... */
	void (*slow)(void); /* ...and all others call this function as e_call() does */
	const void *args;
	unsigned args_size;
};

/* Size in bytes; a load is extended by @ext to the width @w. */
void e_load(struct trans *t, enum e_ext ext, unsigned w, unsigned d, const struct e_address *at);
void e_store(struct trans *t, unsigned size, unsigned a, const struct e_address *at);
/* Two adjacent values; @ext is E_U32, E_U64 or E_S32. */
void e_load_pair(struct trans *t, enum e_ext ext, unsigned d0, unsigned d1,
		 const struct e_address *at);
void e_store_pair(struct trans *t, unsigned size, unsigned a0, unsigned a1,
		  const struct e_address *at);
/* Vector register v (and the next @n - 1 given in v[]); size 1 to 16 bytes, the rest is cleared. */
void e_load_vector(struct trans *t, unsigned size, const u8 *v, unsigned n,
		   const struct e_address *at);
void e_store_vector(struct trans *t, unsigned size, const u8 *v, unsigned n,
		    const struct e_address *at);

/* Clear the 64 bytes that lie around the address in register @a, 64-byte aligned; call @slow as
 * with at->slow where that is not plain memory. */
void e_zero_line(struct trans *t, unsigned a, void (*slow)(void), const void *args, unsigned size);

/*
 * Atomics of 1 to 8 bytes; at->aligned and at->slow must be set, and no range be open.
 * e_atomic: d = old value, which is replaced. e_compare_swap: if the old value is d, store v; d =
 * old value. e_load_exclusive arms the monitor in the CPU; e_store_exclusive stores v if the
 * monitor is armed for this and memory is unchanged, d = 0 if it stored, else 1.
 */
enum e_atomic {
	E_ATOMIC_ADD,
	E_ATOMIC_CLR,
	E_ATOMIC_EOR,
	E_ATOMIC_OR,
	E_ATOMIC_SWAP,
	E_ATOMIC_AND, /* of e_update() only */
};
void e_atomic(struct trans *t, enum e_atomic op, unsigned size, unsigned d, unsigned v,
	      const struct e_address *at);
void e_compare_swap(struct trans *t, unsigned size, unsigned d, unsigned v,
		    const struct e_address *at);
void e_load_exclusive(struct trans *t, unsigned size, unsigned d, const struct e_address *at);
void e_store_exclusive(struct trans *t, unsigned size, unsigned d, unsigned v,
		       const struct e_address *at);

/*
 * e_update() - replace the 4 or 8 bytes at register @base by old op v, atomically.
 *
 * The monitor is open afterwards. Return: a jump, to be bound with e_here(), that is taken with
 * nothing changed if this is not plain memory that is naturally aligned.
 */
struct e_update {
	enum e_atomic op;
	u8 size, base;
	u8 old, new; /* registers for both values; new may be E_ZERO, or the same as old */
	u8 v;        /* register other than old; E_ZERO: imm */
	u64 imm;
	bool negate; /* of E_ATOMIC_ADD: subtract */
};
u8 *e_update(struct trans *t, const struct e_update *u);

#define E_RANGE_BYTES 256u /* widest range below */

/*
 * e_range_begin() - check once that all accesses off one base until e_range_end() hit its page.
 * @lo:     lowest offset of any access from @base as it is now; none lies E_RANGE_BYTES beyond it.
 * @reads, @writes: which kinds of accesses follow.
 * @from:   receives one or two jumps, NULL if unused, that are taken if the check fails; they must
 *          be bound with e_here() to code that does the same without a range.
 *
 * In between only e_load(), e_store() and their like with base @base and functions that neither
 * branch nor call may be used. The base may change if @lo accounts for it.
 */
void e_range_begin(struct trans *t, unsigned base, s32 lo, bool reads, bool writes, u8 *from[2]);
void e_range_end(struct trans *t);
/* Let the jump @from lead here; e_unless() returns one that is taken if no bit of @mask is set in a
 * 32-bit field. */
u8 *e_unless(struct trans *t, unsigned field, u32 mask);
void e_here(struct trans *t, u8 *from);
/* Go to code address @to, which was t->p once. */
void e_jump(struct trans *t, u8 *to);

/*
 * Control flow. Offsets are relative to the region's page. flags are synchronised by the callee.
 */
/* Instruction @n of the region starts here. @head: backward branches lead here. */
void e_label(struct trans *t, unsigned n, bool head);
/* Go to instruction @n of this region, or to the page offset @to outside of it. @cc: a result of
 * flags_use() or of e_test_*(); E_ALWAYS. @live: NZCV may be read there. */
#define E_ALWAYS 16u
void e_goto_insn(struct trans *t, unsigned cc, unsigned n, bool live);
void e_goto(struct trans *t, unsigned cc, s64 to, bool live);
/* Conditions that use no guest flags: a == 0, bit of a == 0. */
unsigned e_test_zero(struct trans *t, unsigned w, unsigned a);
unsigned e_test_bit(struct trans *t, unsigned a, unsigned bit);
/* Go to the address in register a. */
void e_goto_reg(struct trans *t, unsigned a);
/* Call fn(cpu, args) as e_call() does if any bit of @mask in a 32-bit field is set. NZCV must have
 * been synchronised. */
void e_call_if(struct trans *t, unsigned field, u32 mask, void (*fn)(void), const void *args,
	       unsigned size);
/*
 * e_view() - make cpu->views[@n] the current soft TLB.
 *
 * Where it is not known, fn(cpu, args) is called as e_call() does, instead of all that is emitted
 * up to e_instead_end() with the value returned.
 */
unsigned e_view(struct trans *t, unsigned n, void (*fn)(void), const void *args, unsigned size);
/* e_leave_unless() - if a 64-bit field is not equal to register @a, call fn(cpu, args) as e_call()
 * does with @end. Not where instructions are counted. */
void e_leave_unless(struct trans *t, unsigned field, unsigned a, void (*fn)(void), const void *args,
		    unsigned size);
/* e_instead() - if register @a is not 0, call fn(cpu, args) as e_call() does instead of what is
 * emitted up to e_instead_end() with the value returned. Until the last such test no guest state
 * may have been changed. */
unsigned e_instead(struct trans *t, unsigned a, void (*fn)(void), const void *args, unsigned size);
void e_instead_end(struct trans *t, unsigned n);
/* After e_call(): leave before the next instruction if cpu->exit_request is set. */
void e_exit_check(struct trans *t);
/* Call fn(cpu, args) with the complete state in memory; @size bytes of args are copied. With @end
 * the region ends: the next address is what fn left in cpu->npc (by default that after it). */
void e_call(struct trans *t, void (*fn)(void), const void *args, unsigned size, bool end);

#endif

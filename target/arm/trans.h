/*
 * target/arm/trans.h - what the translation rules (trans_*.c) share.
 */
#ifndef TARGET_ARM_TRANS_H
#define TARGET_ARM_TRANS_H

#include "accel/tcg/emit.h"
#include "target/arm/cpu.h"
#include "target/arm/decode.h"

/* A region while it is translated; trans.target points here. */
struct arm_region {
	struct arm_cpu *cpu;
	struct a64_insn insn[TCG_MAX_INSNS];
	unsigned n;
	bool live[TCG_MAX_INSNS];   /* NZCV may be read at or after instruction n */
	bool target[TCG_MAX_INSNS]; /* a branch of the region leads here */
	bool head[TCG_MAX_INSNS];   /* ... backwards */
	u32 loaded;                 /* registers that a load of the region writes */
	unsigned current;
	struct arm_copy *copies; /* what has a second copy that is to be emitted */
	unsigned ncopies;
	/* The register that MOVZ, MOVN and MOVK before this instruction gave a known value. */
	unsigned known_reg; /* 31 = none */
	u64 known_value;
};

/* Instructions first to last, whose accesses off one base need a single check. */
struct arm_range {
	unsigned first, last;
	unsigned base;
	s32 lo; /* lowest offset from the base before the first instruction */
	bool reads, writes;
};

/* Find the range that begins with instruction @first, which must be worth it. */
bool arm_find_range(const struct arm_region *r, unsigned first, struct arm_range *range);

/* Instructions first to last, which together are one atomic operation; status reports success. */
struct arm_update {
	unsigned first, last, status;
	struct e_update how;
};

/* Find such an operation that begins with instruction @first. */
bool arm_find_update(const struct arm_region *r, unsigned first, struct arm_update *u);

/* Emit it. Return: a jump to be bound, see e_update(). */
u8 *arm_emit_update(struct trans *t, const struct arm_update *u);

/* An instruction that may leave a stack pointer that is no multiple of 16, if it was one. */
bool arm_may_misalign_sp(const struct a64_insn *insn);

/* Registers that an instruction with a translation rule may write. */
u32 arm_written(const struct a64_insn *insn);

/* MSR that only stores: it does not end a region. */
bool arm_msr_is_plain(struct arm_cpu *cpu, const struct a64_MSR *i);
bool arm_msr_i_is_plain(const struct arm_cpu *cpu, const struct a64_MSR_I *i);
/* System instruction that only stores, likewise. */
bool arm_sysop_is_plain(const struct arm_cpu *cpu, const struct a64_SYSOP *i);

/* A page hint pays for this base register: it is no pointer that was just loaded. */
bool arm_hint_for(const struct arm_region *r, unsigned rn);

static inline struct arm_region *region_of(struct trans *t)
{
	return t->target;
}

/* Operand for register n where 31 means zero. */
static inline unsigned gx(unsigned n)
{
	return n == 31 ? E_ZERO : n;
}

/* Branch to page offset @to if @cc: inside the region if it is there. */
void arm_goto(struct trans *t, unsigned cc, s64 to);

/* True if NZCV may be read at page offset @to before it is written. */
bool arm_flags_live_at(struct trans *t, s64 to);

/* NZCV may be read after the current instruction; it is read by the next one, which nothing else
 * leads to. */
bool arm_flags_live_after(struct trans *t);
bool arm_next_reads_flags(struct trans *t);

/* The instruction before the current one or after it, if it is in the region and nothing else leads
 * to the later of the two; NULL otherwise. */
const struct a64_insn *arm_previous_insn(struct trans *t);
const struct a64_insn *arm_next_insn(struct trans *t);

#endif

/*
 * target/arm/decode.h - A64 instruction words to operation and fields (Arm DDI 0487, C4.1).
 */
#ifndef TARGET_ARM_DECODE_H
#define TARGET_ARM_DECODE_H

#include "target/arm/decode-gen.h"
#include "target/arm/cpu-features.h"
#include "util/base.h"

/* One decoded instruction. */
struct a64_insn {
	u32 raw;
	u16 op;            /* enum a64_op */
	bool reads_flags;  /* any of NZCV */
	bool writes_flags; /* all of NZCV, unless reads_flags is set too */
	union a64_args args;
};

typedef void a64_exec_fn(struct arm_cpu *cpu, const union a64_args *args);
typedef bool a64_trans_fn(struct trans *t, const union a64_args *args);

/* What is known of an operation; index is enum a64_op. */
struct a64_rule {
	const char *name;
	a64_exec_fn *exec;   /* NULL only for A64_UNALLOCATED */
	a64_trans_fn *trans; /* NULL: translated code calls exec */
	bool ends_region;
	bool fp;    /* needs check_fp_access() first */
	u8 feature; /* enum arm_feature that must be present, 0 = none */
};

/* One row of the decode files. */
struct a64_pattern {
	u32 mask, value; /* the row matches when (raw & mask) == value... */
	u16 op;
	bool (*extract)(u32 raw, struct a64_insn *insn); /* ...and this returns true */
	const char *test_class; /* name of its group in tests/diff, "" = not tested there */
};

extern const struct a64_rule a64_rules[A64_NOPS];
extern const struct a64_pattern a64_patterns[];
extern const unsigned a64_npatterns;
extern const u64 a64_row_features; /* bit n: some row needs enum arm_feature n */
extern const u16 a64_bucket_rows[], a64_buckets[2048];

/*
 * a64_decode() - decode one instruction word.
 * @raw:  the word.
 * @insn: filled completely.
 *
 * Return: false for an unallocated encoding; insn->op is then A64_UNALLOCATED.
 */
bool a64_decode(u32 raw, struct a64_insn *insn);

/*
 * a64_bitmask() - value of a logical immediate (DecodeBitMasks()).
 * @n, @immr, @imms: the fields; a64_bitmask_valid() must hold.
 *
 * Return: the 64-bit mask; a 32-bit operation uses the lower half.
 */
u64 a64_bitmask(unsigned n, unsigned immr, unsigned imms);

/* True if the fields of a logical immediate are allocated. */
bool a64_bitmask_valid(unsigned sf, unsigned n, unsigned imms);

/* True if size, opc and mode of an LDST_i row are allocated. */
bool a64_ldst_valid(unsigned size, unsigned opc, unsigned mode);

/*
 * Allocated element sizes of AdvSIMD rows: vectors of 8 (@q = 0) or 16 bytes hold at least two
 * elements; scalar forms (@s) have q set and take any size, or doublewords only.
 */
static inline bool a64_vec_any(unsigned q, unsigned s, unsigned size)
{
	return s ? q : q || size != 3;
}

static inline bool a64_vec_d(unsigned q, unsigned s, unsigned size)
{
	return s ? q && size == 3 : q || size != 3;
}

/* The same where the size lies in the field immh:immb of a shift. */
static inline bool a64_shift_any(unsigned q, unsigned s, unsigned imm)
{
	return imm >= 8 && (s ? q : q || imm < 64);
}

static inline bool a64_shift_d(unsigned q, unsigned s, unsigned imm)
{
	return s ? q && imm >= 64 : imm >= 8 && (q || imm < 64);
}

/* True if the fields of a structure load or store are allocated. */
bool a64_ldst_multi_valid(unsigned q, unsigned opc, unsigned size);
bool a64_ldst_lane_valid(unsigned l, unsigned opc, unsigned s, unsigned size);

#endif

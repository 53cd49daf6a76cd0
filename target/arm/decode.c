/* target/arm/decode.c - lookup in the generated A64 table (Arm DDI 0487, C4.1). */
#include "target/arm/decode.h"

bool a64_decode(u32 raw, struct a64_insn *insn)
{
	unsigned bucket = ((raw >> 21) & 0xff) << 3 | ((raw >> 10) & 7);
	const u16 *row = &a64_bucket_rows[a64_buckets[bucket]];

	insn->raw = raw;
	for (; *row != 0xffff; row++) {
		const struct a64_pattern *pattern = &a64_patterns[*row];

		if ((raw & pattern->mask) == pattern->value && pattern->extract(raw, insn)) {
			insn->op = pattern->op;
			return true;
		}
	}
	insn->op = A64_UNALLOCATED;
	insn->reads_flags = insn->writes_flags = false;
	return false;
}

/* Size of the repeated element as a power of two, -1 if the encoding is reserved. */
static int bitmask_log2(unsigned n, unsigned imms)
{
	unsigned key = n << 6 | (~imms & 0x3f);

	return key ? 31 - __builtin_clz(key) : -1;
}

bool a64_bitmask_valid(unsigned sf, unsigned n, unsigned imms)
{
	int len = bitmask_log2(n, imms);
	unsigned levels = (1u << (len < 0 ? 0 : len)) - 1;

	return (sf || !n) && len >= 1 && (imms & levels) != levels;
}

u64 a64_bitmask(unsigned n, unsigned immr, unsigned imms)
{
	unsigned size = 1u << bitmask_log2(n, imms);
	unsigned ones = (imms & (size - 1)) + 1;
	unsigned turn = immr & (size - 1);
	u64 all = size == 64 ? ~(u64)0 : ((u64)1 << size) - 1;
	u64 mask = ((u64)1 << ones) - 1;

	if (turn)
		mask = (mask >> turn | mask << (size - turn)) & all;
	for (unsigned i = size; i < 64; i *= 2)
		mask |= mask << i;
	return mask;
}

bool a64_ldst_valid(unsigned size, unsigned opc, unsigned mode)
{
	if (opc < 2)
		return true;
	if (size == 3)
		return opc == 2 && mode == 0; /* PRFUM */
	return size < 2 || opc == 2;
}

/* Structures of two to four need at least two elements in a register. */
bool a64_ldst_multi_valid(unsigned q, unsigned opc, unsigned size)
{
	switch (opc) {
	case 0:
	case 4:
	case 8: return size != 3 || q;
	case 2:
	case 6:
	case 7:
	case 10: return true;
	default: return false;
	}
}

bool a64_ldst_lane_valid(unsigned l, unsigned opc, unsigned s, unsigned size)
{
	switch (opc >> 1) {
	case 0: return true;
	case 1: return !(size & 1);
	case 2: return !(size & 2) && (!(size & 1) || !s);
	default: return l && !s; /* replicate */
	}
}

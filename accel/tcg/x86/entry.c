/* accel/tcg/x86/entry.c - code made once: entry to translated code, exits, calls to C. */
#include "accel/tcg/region.h"
#include "accel/tcg/x86/vec.h"

struct host_entry host_entry;

static void move_pinned(struct trans *t, unsigned op, bool volatile_only)
{
	static const u8 saved_by_callee[] = { RBX, R12, R13, R14 };

	for (unsigned g = 0; g < 32; g++) {
		bool saved = false;

		if (pinned[g] < 0)
			continue;
		for (unsigned i = 0; i < ARRAY_SIZE(saved_by_callee); i++)
			saved |= saved_by_callee[i] == pinned[g];
		if (!(volatile_only && saved))
			x_rm(t, 1, op, pinned[g], RBP, guest_disp(g));
	}
}

/* ---- constants ---- */

const u8 *host_consts;

static void fill_const(u8 *to, unsigned size, u64 val)
{
	for (unsigned i = 0; i < 16; i += size)
		memcpy(to + i, &val, size);
}

/* Shuffle that takes every second element of @size bytes, from the first or the second on. */
static void fill_unzip(u8 *to, unsigned size, bool odd)
{
	memset(to, 0x80, 16);
	for (unsigned i = 0; i < 8; i++)
		to[i] = (i / size * 2 + odd) * size + i % size;
}

/* Shuffle that reverses elements of @size bytes within @container bytes. */
static void fill_reverse(u8 *to, unsigned size, unsigned container)
{
	for (unsigned i = 0; i < 16; i++)
		to[i] = i ^ (container - size);
}

/* One of the shuffles K_JOIN3 or K_SPLIT3: what result @k takes of operand @j. */
static void fill_mix3(u8 *to, bool join, unsigned lg, unsigned k, unsigned j)
{
	unsigned in_element = (1u << lg) - 1;

	for (unsigned i = 0; i < 16; i++) {
		unsigned at = 16 * k + i, from; /* from: byte of all three operands */

		if (join)
			from = (at >> lg) % 3 * 16 + ((at >> lg) / 3 << lg) + (at & in_element);
		else
			from = (((i >> lg) * 3 + k) << lg) + (i & in_element);
		to[i] = from / 16 == j ? from % 16 : 0x80;
	}
}

static void make_mixes(u8 *k)
{
	for (unsigned n = 0; n < 36; n++) {
		fill_mix3(k + 16 * (K_JOIN3 + n), true, n / 9, n / 3 % 3, n % 3);
		fill_mix3(k + 16 * (K_SPLIT3 + n), false, n / 9, n / 3 % 3, n % 3);
	}
	for (unsigned n = 0; n < 4; n++)
		fill_const(k + 16 * (K_TABLES + n), 1, 16 * (n + 1));
}

static void make_masks(u8 *k)
{
	static const u64 low[] = { 0xff, 0xffff, 0xffffffff };

	for (unsigned lg = 0; lg < 4; lg++)
		fill_const(k + 16 * (K_SIGN_8 + lg), 1u << lg, (u64)1 << ((8u << lg) - 1));
	for (unsigned lg = 0; lg < 3; lg++) {
		fill_const(k + 16 * (K_LOW_8 + lg), 2u << lg, low[lg]);
		fill_unzip(k + 16 * (K_EVEN_8 + lg), 1u << lg, false);
		fill_unzip(k + 16 * (K_ODD_8 + lg), 1u << lg, true);
	}
	for (unsigned n = 0; n < 8; n++) {
		fill_const(k + 16 * (K_SHR_8 + n), 1, 0xff >> n);
		fill_const(k + 16 * (K_SHL_8 + n), 1, 0xff << n & 0xff);
		fill_const(k + 16 * (K_TOP_8 + n), 1, 0x80 >> n);
	}
	*(u32 *)(k + 16 * K_NEG_F32) = 0x80000000;
	*(u64 *)(k + 16 * K_NEG_F64) = (u64)1 << 63;
	*(u32 *)(k + 16 * K_ABS_F32) = 0x7fffffff;
	*(u64 *)(k + 16 * K_ABS_F64) = ((u64)1 << 63) - 1;
	fill_const(k + 16 * K_ABS_V32, 4, 0x7fffffff);
	fill_const(k + 16 * K_ABS_V64, 8, ((u64)1 << 63) - 1);
}

/* The quotient t^96 / P of CRC-32's polynomial with all bits reflected, but the last one: bit n
 * is the coefficient of t^(64-n). */
static u64 crc32_quotient(void)
{
	const u32 poly = 0xedb88320; /* reflected, without t^32 */
	u64 quotient = 1;
	u32 rest = poly; /* bit 31 - n: of t^n, after the first step of the division */

	for (unsigned n = 1; n < 64; n++) {
		if (rest & 1)
			quotient |= (u64)1 << n;
		rest = rest >> 1 ^ (rest & 1 ? poly : 0);
	}
	return quotient;
}

static void make_crypto(u8 *k)
{
	static const u32 sha1[] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc };

	((u64 *)(k + 16 * K_CRC32))[0] = crc32_quotient();
	((u64 *)(k + 16 * K_CRC32))[1] = 0x1db710641;
	for (unsigned n = 0; n < ARRAY_SIZE(sha1); n++)
		fill_const(k + 16 * (K_SHA1 + n), 4, sha1[n]);
}

static void make_consts(struct trans *t)
{
	u8 *k;

	while ((uintptr_t)t->p & 15)
		x_byte(t, 0);
	host_consts = k = t->p;
	memset(k, 0, 16 * HOST_CONSTS);
	fill_const(k + 16 * K_ONES_8, 1, 1);
	fill_const(k + 16 * K_ONES_16, 2, 1);
	fill_const(k + 16 * K_NIBBLE, 1, 15);
	fill_const(k + 16 * K_TABLE, 1, 0x70);
	fill_const(k + 16 * K_SIXTEEN, 1, 0x10);
	for (unsigned n = 0; n < 16; n++) {
		k[16 * K_COUNT + n] = __builtin_popcount(n);
		k[16 * K_FLIP + n] = (n & 1) << 7 | (n & 2) << 5 | (n & 4) << 3 | (n & 8) << 1;
	}
	fill_const(k + 16 * K_BIT_30, 8, 1u << 30);
	make_masks(k);
	make_mixes(k);
	fill_reverse(k + 16 * K_REV16_8, 1, 2);
	fill_reverse(k + 16 * K_REV32_8, 1, 4);
	fill_reverse(k + 16 * K_REV64_8, 1, 8);
	fill_reverse(k + 16 * K_REV32_16, 2, 4);
	fill_reverse(k + 16 * K_REV64_16, 2, 8);
	*(u32 *)(k + 16 * K_MXCSR) = MXCSR_DEFAULT;
	make_crypto(k);
	t->p += 16 * HOST_CONSTS;
}

/* ---- vectors between calls of C and code that has them in registers ---- */

static const u8 *store_vectors;

static void move_vectors(struct trans *t, u32 op)
{
	for (unsigned v = 0; v < 32; v++)
		if (pinned_v[v] >= 0)
			x_vm(t, op, pinned_v[v], 0, RBP, vreg_disp(v, 0));
}

static void make_vectors(struct trans *t)
{
	store_vectors = t->p;
	move_vectors(t, V_MOVUPS_STORE);
	x_rm(t, 0, 0xae | OP_0F, 3, RBP, CPU_FIELD(fp_control)); /* stmxcsr */
	x_rip(t, 0, 0xae | OP_0F, 2, xv_const(K_MXCSR));         /* ldmxcsr */
	x_mov_mi(t, 0, RBP, CPU_FIELD(v_loaded), 0);
	x_byte(t, 0xc3);

	host_entry.load_vectors = t->p + t->rx;
	move_vectors(t, V_MOVUPS_LOAD);
	x_rm(t, 0, 0xae | OP_0F, 2, RBP, CPU_FIELD(fp_control));
	x_mov_mi(t, 0, RBP, CPU_FIELD(v_loaded), 1);
	x_byte(t, 0xc3);
}

/* Before C runs. @loaded: they are loaded for certain, else look. */
static void put_vectors_away(struct trans *t, bool loaded)
{
	u8 *over = NULL;

	if (!host_vectors)
		return;
	if (!loaded) {
		x_mi(t, 0, 7, RBP, CPU_FIELD(v_loaded), 0);
		over = x_jcc8(t, CC_E);
	}
	x_byte(t, 0xe8);
	x_u32(t, store_vectors - (t->p + 4));
	if (over)
		x_here8(t, over);
}

static const u8 host_saved[] = { RBP, RBX, R12, R13, R14, R15 };

static void make_enter(struct trans *t)
{
	host_entry.enter = (u64(*)(struct tcg_cpu *, const void *))(uintptr_t)(t->p + t->rx);
	for (unsigned i = 0; i < ARRAY_SIZE(host_saved); i++)
		x_opcode(t, 0, 0x50 | (host_saved[i] & 7), 0, 0, host_saved[i]);
	x_ri(t, 1, 5, RSP, 24); /* aligns the stack to 16 */
	x_rm(t, 1, OP_LEA, RBP, RDI, CPU_BIAS);
	x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(mmu));
	x_rr(t, 1, OP_LOAD, RAX, RSI);
	move_pinned(t, OP_LOAD, false);
	x_rr(t, 0, 0xff, 4, RAX);
}

static void make_leave(struct trans *t)
{
	host_entry.leave_rax = t->p + t->rx;
	x_rr(t, 0, OP_LOAD, RCX, RAX);
	x_ri(t, 0, 4, RCX, TCG_PAGE_SIZE - 1);
	x_rm(t, 0, OP_STORE, RCX, RBP, CPU_FIELD(pc_off));
	x_ri(t, 1, 4, RAX, -(s32)TCG_PAGE_SIZE);
	x_rm(t, 1, OP_STORE, RAX, RBP, CPU_FIELD(pc_page));
	x_movi(t, RAX, 0);

	host_entry.leave = t->p + t->rx;
	move_pinned(t, OP_STORE, false);
	put_vectors_away(t, false);
	x_ri(t, 1, 0, RSP, 24);
	for (unsigned i = ARRAY_SIZE(host_saved); i-- > 0;)
		x_opcode(t, 0, 0x58 | (host_saved[i] & 7), 0, 0, host_saved[i]);
	x_byte(t, 0xc3);
}

/* Registers to memory, fn(cpu, @arg, rdx), and back. @all: fn may change everything. */
static const u8 *make_call(struct trans *t, unsigned arg, bool all, bool vectors)
{
	const u8 *start = t->p + t->rx;

	move_pinned(t, OP_STORE, false);
	x_ri(t, 1, 5, RSP, 8);
	put_vectors_away(t, vectors);
	x_rm(t, 1, OP_LEA, RDI, RBP, -CPU_BIAS);
	x_rr(t, 1, OP_LOAD, RSI, arg);
	x_rr(t, 0, 0xff, 2, RAX);
	if (vectors) {
		x_byte(t, 0xe8);
		x_u32(t, host_entry.load_vectors - t->rx - (t->p + 4));
	}
	x_ri(t, 1, 0, RSP, 8);
	if (all)
		x_rm(t, 1, OP_LOAD, R15, RBP, CPU_FIELD(mmu));
	move_pinned(t, OP_LOAD, !all);
	x_byte(t, 0xc3);
	return start;
}

void host_make_entry(struct trans *t)
{
	host_vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	make_consts(t);
	make_vectors(t);
	make_enter(t);
	make_leave(t);
	for (unsigned vectors = 0; vectors < 2; vectors++) {
		host_entry.call_memory[vectors] = make_call(t, RCX, false, vectors);
		host_entry.call_exec[vectors] = make_call(t, RDX, true, vectors);
	}
}

/* ---- exception flags ---- */

#define MXCSR_IE       (1u << 0)
#define MXCSR_ZE       (1u << 2)
#define MXCSR_OE       (1u << 3)
#define MXCSR_UE       (1u << 4)
#define MXCSR_PE       (1u << 5)
#define MXCSR_FLAGS    0x3fu
#define MXCSR_RC_SHIFT 13

void tcg_fp_set(struct tcg_cpu *cpu, enum tcg_rounding rounding)
{
	static const u8 rc[] = { 0, 2, 1, 3 };

	cpu->fp_control = (cpu->fp_control & MXCSR_FLAGS) | MXCSR_DEFAULT |
			  (u32)rc[rounding] << MXCSR_RC_SHIFT;
}

u32 tcg_fp_take(struct tcg_cpu *cpu)
{
	static const u8 host[] = { MXCSR_IE, MXCSR_ZE, MXCSR_OE, MXCSR_UE, MXCSR_PE };
	u32 raised = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(host); i++)
		raised |= cpu->fp_control & host[i] ? 1u << i : 0;
	if (cpu->v_saturated.d[0] | cpu->v_saturated.d[1])
		raised |= TCG_FP_SATURATED;
	cpu->fp_control &= ~MXCSR_FLAGS;
	cpu->v_saturated = (struct tcg_vreg){ { 0, 0 } };
	return raised;
}

bool host_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("lzcnt");
}

u64 host_enter(struct tcg_cpu *cpu, const void *code)
{
	return host_entry.enter(cpu, code);
}

void host_link(u8 *site, const u8 *target)
{
	__atomic_store_n((s32 *)site, (s32)(target - (site + 4)), __ATOMIC_RELEASE);
}

void host_redirect(u8 *entry, const u8 *target)
{
	s32 rel = target - (entry + 5);
	u8 bytes[8] = { 0xe9, 0, 0, 0, 0, 0x0f, 0x1f, 0x00 };
	u64 word;

	memcpy(bytes + 1, &rel, sizeof(rel));
	memcpy(&word, bytes, sizeof(word));
	__atomic_store_n((u64 *)entry, word, __ATOMIC_RELEASE);
}

bool host_is_live(const void *code)
{
	return __atomic_load_n((const u8 *)code, __ATOMIC_RELAXED) != 0xe9;
}

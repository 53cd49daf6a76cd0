/* tests/diff/generate.c - random instruction blocks of one class of decode rows. */
#include "tests/diff/generate.h"
#include "target/arm/decode.h"

/* Blocks that access memory keep pointers into the arena in x20 to x27 and sp, and small offsets
 * in x10 to x15; results go to x0 to x9 and the status of exclusives to x16 to x19. */
#define FIRST_POINTER 20
#define FIRST_OFFSET  10
#define FIRST_STATUS  16

/* In half of the blocks all accesses have one base register, as in a prologue. */
static u32 common_base;

static struct diff_class *class_new(const char *name)
{
	struct diff_class *c = g_new0(struct diff_class, 1);

	c->name = name;
	c->exclusive = !strcmp(name, "excl");
	c->atomic = !strcmp(name, "lse");
	c->ordered = c->exclusive || c->atomic || !strcmp(name, "ord");
	c->memory = c->ordered || g_str_has_prefix(name, "mem");
	c->vectors = g_str_has_prefix(name, "mem") && strchr(name + 3, 'v');
	c->pair = g_str_has_prefix(name, "memp");
	c->register_offset = g_str_has_prefix(name, "memr");
	c->literal = !strcmp(name, "memlit");
	c->branch = !strcmp(name, "branch");
	c->floating = g_str_has_prefix(name, "fp");
	c->rows = g_ptr_array_new();
	return c;
}

static struct diff_class *find_class(const GPtrArray *classes, const char *name)
{
	for (unsigned i = 0; i < classes->len; i++) {
		struct diff_class *c = g_ptr_array_index(classes, i);

		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

const GPtrArray *diff_classes(void)
{
	static GPtrArray *classes;

	if (classes)
		return classes;
	classes = g_ptr_array_new();
	for (unsigned i = 0; i < a64_npatterns; i++) {
		const char *name = a64_patterns[i].test_class;

		if (!*name || !strcmp(name, "pauth")) /* keys and algorithm differ */
			continue;
		if (!find_class(classes, name))
			g_ptr_array_add(classes, class_new(name));
		g_ptr_array_add(find_class(classes, name)->rows, (void *)&a64_patterns[i]);
	}
	g_ptr_array_add(classes, class_new(DIFF_UNALLOCATED));
	return classes;
}

/* splitmix64: a step of the state, mixed. */
static u64 random64(struct diff_random *rnd)
{
	u64 z = rnd->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static u32 random32(struct diff_random *rnd)
{
	return random64(rnd) >> 32;
}

/* first <= value < end */
static int random_range(struct diff_random *rnd, int first, int end)
{
	return first + (int)((u64)random32(rnd) * (u64)(end - first) >> 32);
}

/* Integers whose interesting cases (0, ones, powers, borders) are frequent. */
static u64 random_value(struct diff_random *rnd)
{
	u64 v = random64(rnd);

	switch (v & 15) {
	case 0: return 0;
	case 1: return ~(u64)0;
	case 2: return (u64)1 << (v >> 8 & 63);
	case 3: return ((u64)1 << (v >> 8 & 63)) - 1;
	case 4: return (u64)(s64)(s8)(v >> 8);
	case 5: return 0x7fffffff + (v >> 8 & 3);
	case 6: return (u32)(v >> 8);
	case 7: return 0x7fffffffffffffff + (v >> 8 & 1);
	default: return random64(rnd);
	}
}

/* One element of @size bytes: a special floating-point value of that size or anything. */
static u64 random_float(struct diff_random *rnd, unsigned size)
{
	static const u64 f64[] = { 0,
				   0x8000000000000000,
				   0x3ff0000000000000,
				   0xbff0000000000000,
				   0x7ff0000000000000,
				   0xfff0000000000000,
				   0x7ff8000000000001,
				   0x7ff0000000000001,
				   0xfff4000000000000,
				   1,
				   0x000fffffffffffff,
				   0x0010000000000000,
				   0x7fefffffffffffff,
				   0x43e0000000000000,
				   0x41dfffffffc00000,
				   0x3fe0000000000000 };
	static const u32 f32[] = { 0,          0x80000000, 0x3f800000, 0xbf800000,
				   0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001,
				   0xffa00000, 1,          0x007fffff, 0x00800000,
				   0x7f7fffff, 0x5f000000, 0x4f000000, 0x3f000000 };
	static const u16 f16[] = { 0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e01, 0x7c01,
				   0xfd00, 1,      0x03ff, 0x0400, 0x7bff, 0x7800, 0x6400, 0x3800 };
	u64 v = random64(rnd);
	unsigned pick = v >> 60;

	if (v & 1)
		return size == 8 ? f64[pick] : size == 4 ? f32[pick] : f16[pick];
	if (v & 2) /* close to one: results stay in range */
		return size == 8   ? (v & 0x800fffffffffffff) | 0x3fe0000000000000
		       : size == 4 ? (v >> 32 & 0x807fffff) | 0x3f000000
				   : (v >> 48 & 0x83ff) | 0x3800;
	return random64(rnd);
}

/* Values of the size that @kind says: 0 and 1 doubles, 2 and 3 floats, 4 and 5 halves, else
 * integers. */
static void random_vector(struct diff_random *rnd, unsigned kind, uint64_t v[2])
{

	for (unsigned half = 0; half < 2; half++) {
		if (kind < 2)
			v[half] = random_float(rnd, 8);
		else if (kind < 4)
			v[half] = random_float(rnd, 4) << 32 | (u32)random_float(rnd, 4);
		else if (kind < 6)
			v[half] = random_float(rnd, 2) << 48 |
				  (random_float(rnd, 2) & 0xffff) << 32 |
				  (random_float(rnd, 2) & 0xffff) << 16 |
				  (random_float(rnd, 2) & 0xffff);
		else
			v[half] = random_value(rnd);
	}
}

static void random_state(struct diff_random *rnd, const struct diff_class *class,
			 struct diff_state *s)
{
	bool one_kind = random32(rnd) & 1;
	unsigned kind = random32(rnd);

	for (unsigned i = 0; i < 31; i++)
		s->x[i] = random_value(rnd);
	s->sp = random_value(rnd) & ~(u64)15;
	s->nzcv = random32(rnd) & 0xf0000000;
	for (unsigned i = 0; i < 32; i++)
		random_vector(rnd, (one_kind ? kind : random32(rnd)) & 7, s->v[i]);
	s->fpcr = s->fpsr = 0;
	if (class->floating) {
		if (random32(rnd) & 1)
			s->fpcr = random32(rnd) & 0x07c80000; /* AHP, DN, FZ, RMode, FZ16 */
		if (random32(rnd) & 1)
			s->fpsr = random32(rnd) & 0x0800009f;
	}
	if (!class->memory)
		return;
	for (unsigned i = FIRST_POINTER; i < FIRST_POINTER + 8; i++)
		s->x[i] = DIFF_ARENA_VA + random_range(rnd, 0, DIFF_ARENA_SIZE);
	if (class->ordered || random32(rnd) & 3) /* mostly aligned */
		for (unsigned i = FIRST_POINTER; i < FIRST_POINTER + 8; i++)
			s->x[i] &= ~(u64)15;
	if (class->exclusive) /* never the same address for two sizes */
		for (unsigned i = FIRST_POINTER; i < FIRST_POINTER + 8; i++)
			s->x[i] = DIFF_ARENA_VA + (i - FIRST_POINTER) * 1024 + (s->x[i] & 1008);
	for (unsigned i = FIRST_OFFSET; i < FIRST_OFFSET + 6; i++)
		s->x[i] = random_range(rnd, -64, 256);
	s->sp = DIFF_ARENA_VA + random_range(rnd, 256, 512) * 16;
}

/* Replace the field of @width bits at @shift where the row leaves it open. */
static u32 put(const struct a64_pattern *row, u32 word, unsigned shift, unsigned width, u32 value)
{
	u32 bits = ((1u << width) - 1) << shift & ~row->mask;

	return (word & ~bits) | (value << shift & bits);
}

static u32 tame_exclusive(struct diff_random *rnd, const struct a64_pattern *row, u32 word, u32 rt)
{
	u32 lg_size = (word >> 30) + (row->op == A64_LDSTXP);

	word = put(row, word, 5, 5, FIRST_POINTER + lg_size);
	word = put(row, word, 0, 5, rt);
	word = put(row, word, 16, 5, FIRST_STATUS + (random32(rnd) & 3));
	return put(row, word, 10, 5, (rt + 1) % 10);
}

/* Keep addresses inside the arena mostly, and stay out of CONSTRAINED UNPREDICTABLE cases. */
static u32 tame_memory(struct diff_random *rnd, const struct diff_class *class,
		       const struct a64_pattern *row, u32 word)
{
	bool vector = class->vectors;
	u32 base = FIRST_POINTER + (random32(rnd) & 7);
	u32 rt = random32(rnd) % (vector ? 32 : 10);

	if (class->literal)
		return word;
	if (!vector && !class->pair && !(random32(rnd) & 7))
		rt = 31;
	if (class->exclusive) /* loads and stores of one size shall meet at one address */
		return tame_exclusive(rnd, row, word, rt);
	if (common_base)
		base = common_base;
	word = put(row, word, 5, 5, random32(rnd) & 7 || common_base ? base : 31);
	if (class->atomic) {
		word = put(row, word, 0, 5, random32(rnd) & 7 ? (rt & 6) : 31);
		if (row->op == A64_CASP)
			word = put(row, word, 0, 5, rt & 6);
		return put(row, word, 16, 5, FIRST_STATUS + (random32(rnd) & 2));
	}
	word = put(row, word, 0, 5, rt);
	if (class->pair)
		return put(row, word, 10, 5, (rt + 1 + (random32(rnd) & 3)) % (vector ? 32 : 10));
	if (class->register_offset)
		return put(row, word, 16, 5, FIRST_OFFSET + random32(rnd) % 6);
	if (row->op == A64_LDAPUR)
		return put(row, word, 12, 3, 0);
	if (row->op == A64_LDST_multi || row->op == A64_LDST_lane) {
		bool post = word >> 23 & 1, by_register = random32(rnd) & 1;
		u32 offset = by_register ? FIRST_OFFSET + random32(rnd) % 6 : 31;

		return put(row, word, 16, 5, post ? offset : 0);
	}
	if (row->op == A64_LDST_u || row->op == A64_LDST_uv)
		return put(row, word, 15, 7, 0); /* small offsets */
	return word;
}

/* Branches go forward inside the block of @length; literals are read from the block. */
static u32 tame_branch(struct diff_random *rnd, const struct a64_pattern *row, u32 word,
		       unsigned at, unsigned length)
{
	u32 distance = random_range(rnd, 1, length - at + 1);

	switch (row->op) {
	case A64_B: return put(row, word, 0, 26, distance);
	case A64_TBZ: return put(row, word, 5, 14, distance);
	case A64_LDR_lit:
	case A64_LDR_litv: return put(row, word, 5, 19, random_range(rnd, 0, length) - at);
	default: return put(row, word, 5, 19, distance);
	}
}

/* The oracle takes these although the manual has them unallocated: FMOV of half precision with
 * op=1, FMAXV and its like with size=x1 and U=0, FABS and FNEG of half precision in the group of
 * scalar two-register operations (C4.1.96: opcode 01111 is for vectors only). */
static bool oracle_is_lax(u32 word)
{
	return (word & 0xbff8fc00) == 0x2f00fc00 || (word & 0xaf7fcc00) == 0x0e70c800 ||
	       (word & 0xdffffc00) == 0x5ef8f800;
}

/* QEMU 7.2 ends by an assertion where the opcode of FSQRT in half precision is not FSQRT: vectors
 * with U=0, scalars with U=1. */
static bool oracle_aborts(u32 word)
{
	return (word & 0xbffffc00) == 0x0ef9f800 || (word & 0xfffffc00) == 0x7ef9f800;
}

/* A word of the FP and SIMD instructions, or of their loads and stores, that has no row. */
static u32 unallocated_word(struct diff_random *rnd)
{
	struct a64_insn insn;
	u32 word;

	do {
		word = random32(rnd);
		word |= 0x0c000000;
		word = random32(rnd) & 3 ? word | 0x02000000 : word & ~0x02000000u;
	} while (a64_decode(word, &insn) || oracle_is_lax(word) || oracle_aborts(word));
	return word;
}

/* FCVTZS (scalar, fixed-point) of half precision: the oracle lets the sign run into bits that
 * the manual has zeroed. */
static bool oracle_is_wrong(const struct a64_insn *insn)
{
	const struct a64_FCVTZ_vf *i = &insn->args.FCVTZ_vf;

	return insn->op == A64_FCVTZ_vf && i->s && !i->u && i->imm < 32;
}

static u32 random_word(struct diff_random *rnd, const struct diff_class *class, unsigned at,
		       unsigned length)
{
	struct a64_insn insn;

	if (!class->rows->len)
		return unallocated_word(rnd);
	for (;;) {
		const struct a64_pattern *row =
			g_ptr_array_index(class->rows, random_range(rnd, 0, class->rows->len));
		u32 word = (random32(rnd) & ~row->mask) | row->value;

		if (class->memory)
			word = tame_memory(rnd, class, row, word);
		if (class->branch || class->literal)
			word = tame_branch(rnd, row, word, at, length);
		if (a64_decode(word, &insn) && insn.op == row->op && !oracle_is_wrong(&insn))
			return word;
	}
}

void diff_generate(struct diff_random *rnd, const struct diff_class *class, unsigned length,
		   struct diff_case *c)
{
	const struct diff_class *filling = find_class(diff_classes(), "int");

	memset(c, 0, sizeof(*c));
	random_state(rnd, class, &c->in);
	common_base = random32(rnd) & 1 ? FIRST_POINTER + (random32(rnd) & 7) : 0;
	if (common_base == FIRST_POINTER + 7)
		common_base = 31;
	c->nwords = random_range(rnd, 1, length + 1);
	for (unsigned i = 0; i < c->nwords; i++) {
		/* branches need something between them that changes flags and registers */
		bool filler = class->branch && random32(rnd) & 1;

		c->words[i] = random_word(rnd, filler ? filling : class, i, c->nwords);
	}
}

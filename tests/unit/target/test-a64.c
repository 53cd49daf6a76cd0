/* tests/unit/target/test-a64.c - decoder and single steps of the A64 interpreter. */
#include <glib.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"
#include "target/arm/cpu-features.h"
#include "target/arm/decode.h"

static u8 memory[4 * TCG_PAGE_SIZE] __attribute__((aligned(4096)));

/* A flat machine: virtual address = offset in memory[]; everything else faults. */
static void flat_fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		      struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	if (base >= sizeof(memory))
		arm_raise(arm_cpu_of(cpu), EC_DABORT, 0x7, va);
	*page = (struct tcg_page){
		.phys = base, .host = memory + base, .readable = true, .writable = true
	};
}

static bool stop(struct tcg_cpu *cpu, bool raised)
{
	return false;
}

static const struct tcg_ops flat_ops = { .fill = flat_fill, .service = stop, .step = arm_step };

static struct arm_cpu *cpu_new(void)
{
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	cpu->tcg.ops = &flat_ops;
	cpu->tcg.mmu = tcg_mmu_create();
	cpu->features = arm_features_max();
	return cpu;
}

static void cpu_free(struct arm_cpu *cpu)
{
	tcg_mmu_destroy(cpu->tcg.mmu);
	g_aligned_free(cpu);
}

static void run_words(struct arm_cpu *cpu, const u32 *words, size_t n)
{
	memcpy(memory, words, n * sizeof(*words));
	tcg_set_pc(&cpu->tcg, 0);
	tcg_run(&cpu->tcg);
	g_assert_true(cpu->excp.pending);
	cpu->excp.pending = false;
}

struct sample {
	u32 raw;
	u16 op;
};

static void test_decode(void)
{
	static const struct sample samples[] = {
		{ 0x91000420, A64_ADDSUB_i }, /* add x0, x1, #1 */
		{ 0x8b020020, A64_ADDSUB_r }, /* add x0, x1, x2 */
		{ 0xd65f03c0, A64_RET },      /* ret */
		{ 0xf9400fe1, A64_LDST_u },   /* ldr x1, [sp, #24] */
		{ 0xa9bf7bfd, A64_LDSTP },    /* stp x29, x30, [sp, #-16]! */
		{ 0xc85ffc41, A64_LDSTX },    /* ldaxr x1, [x2] */
		{ 0xf8a10042, A64_ATOMIC },   /* ldadda x1, x2, [x2] */
		{ 0xf8bfc041, A64_LDAPR },    /* ldapr x1, [x2] */
		{ 0xd503201f, A64_HINT },     /* nop */
		{ 0xd503207f, A64_WFI },
		{ 0xd503233f, A64_PAC_LR }, /* paciasp */
		{ 0xd53bd040, A64_MRS_TPIDR0 },
		{ 0xd5384240, A64_MRS },   /* mrs x0, CurrentEL */
		{ 0xd50b7421, A64_SYSOP }, /* dc zva, x1 */
		{ 0x19010440, A64_CPY },   /* cpyfp [x0]!, [x1]!, x2! */
		{ 0x19c20420, A64_SET },   /* setp [x0]!, x1!, x2 */
		{ 0x00000000, A64_UDF },
		{ 0x12600000, A64_UNALLOCATED }, /* 32-bit AND with N=1 */
		{ 0xffffffff, A64_UNALLOCATED },
	};
	struct a64_insn insn;

	for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_assert_cmpint(a64_decode(samples[i].raw, &insn), ==,
				samples[i].op != A64_UNALLOCATED);
		g_assert_cmpuint(insn.op, ==, samples[i].op);
	}
}

/* Rows that overlap without one being a special case of the other exclude each other. */
static void test_rows_exclude(void)
{
	struct a64_insn insn;

	for (unsigned i = 0; i < a64_npatterns; i++) {
		for (unsigned j = 0; j < i; j++) {
			const struct a64_pattern *a = &a64_patterns[i], *b = &a64_patterns[j];
			u32 both = a->mask & b->mask;

			if ((a->value ^ b->value) & both || both == a->mask || both == b->mask)
				continue;
			for (unsigned n = 0; n < 200; n++) {
				u32 raw = g_test_rand_int() & ~(a->mask | b->mask);

				raw |= a->value | b->value;
				if (a->extract(raw, &insn) && b->extract(raw, &insn))
					g_error("%08x is %s and %s", raw, a64_rules[a->op].name,
						a64_rules[b->op].name);
			}
		}
	}
}

static void test_bitmask(void)
{
	g_assert_cmphex(a64_bitmask(1, 0, 0), ==, 1);
	g_assert_cmphex(a64_bitmask(0, 0, 0x3c), ==, 0x5555555555555555);
	g_assert_cmphex(a64_bitmask(1, 63, 62), ==, 0xfffffffffffffffe | 0);
	g_assert_false(a64_bitmask_valid(1, 1, 63));
	g_assert_false(a64_bitmask_valid(1, 0, 0x3f));
}

static void test_loop(void)
{
	static const u32 code[] = {
		0xd2800000, /* mov x0, #0 */
		0xd2800c81, /* mov x1, #100 */
		0x8b010000, /* add x0, x0, x1 */
		0xf1000421, /* subs x1, x1, #1 */
		0x54ffffc1, /* b.ne .-8 */
		0xd4200000, /* brk #0 */
	};
	struct arm_cpu *cpu = cpu_new();

	run_words(cpu, code, G_N_ELEMENTS(code));
	g_assert_cmpuint(cpu->excp.ec, ==, EC_BRK64);
	g_assert_cmpuint(cpu->tcg.r[0], ==, 5050);
	g_assert_cmpuint(cpu_nzcv(cpu), ==, 6);
	cpu_free(cpu);
}

static void test_fault_is_precise(void)
{
	static const u32 code[] = {
		0xf8408c41, /* ldr x1, [x2, #8]! */
		0xd4200000,
	};
	struct arm_cpu *cpu = cpu_new();

	cpu->tcg.r[2] = 0x100000;
	run_words(cpu, code, G_N_ELEMENTS(code));
	g_assert_cmpuint(cpu->excp.ec, ==, EC_DABORT);
	g_assert_cmphex(cpu->excp.far, ==, 0x100008);
	g_assert_cmphex(cpu->tcg.r[2], ==, 0x100000);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 0);
	cpu_free(cpu);
}

/* cpyp, cpym, cpye of an overlapping range, then setp, setm, sete: no oracle has FEAT_MOPS. */
static void test_mops(void)
{
	static const u32 code[] = {
		0x1d010440, 0x1d410440, 0x1d810440, /* cpyp/m/e [x0]!, [x1]!, x2! */
		0x19c50483, 0x19c54483, 0x19c58483, /* setp/m/e [x3]!, x4!, x5 */
		0xd4200000,
	};
	struct arm_cpu *cpu = cpu_new();
	u8 want[6000];

	for (size_t i = 0; i < 6000; i++)
		memory[TCG_PAGE_SIZE + i] = want[i] = i * 7;
	cpu->tcg.r[0] = TCG_PAGE_SIZE + 100;
	cpu->tcg.r[1] = TCG_PAGE_SIZE;
	cpu->tcg.r[2] = 5000;
	cpu->tcg.r[3] = 3 * TCG_PAGE_SIZE - 8;
	cpu->tcg.r[4] = 17;
	cpu->tcg.r[5] = 0x1a5;
	run_words(cpu, code, G_N_ELEMENTS(code));
	g_assert_cmpuint(cpu->excp.ec, ==, EC_BRK64);
	g_assert_true(!memcmp(memory + TCG_PAGE_SIZE + 100, want, 5000));
	g_assert_cmpuint(cpu->tcg.r[2], ==, 0);
	g_assert_cmpuint(cpu->tcg.r[4], ==, 0);
	g_assert_cmphex(cpu->tcg.r[3], ==, 3 * TCG_PAGE_SIZE + 9);
	for (int i = -8; i < 9; i++)
		g_assert_cmphex(memory[3 * TCG_PAGE_SIZE + i], ==, 0xa5);
	g_assert_cmphex(memory[3 * TCG_PAGE_SIZE + 9], ==, 0);
	cpu_free(cpu);
}

/* fadd d0, d1, d2: the first NaN of the right kind wins; a trap at EL0 leaves all as it was. */
/* FEAT_CSSC and FEAT_HBC: one word each, x1 and x2 in, x0 out. */
static void test_common_short_sequences(void)
{
	static const struct {
		u32 word;
		u64 a, b, want;
	} ops[] = {
		{ 0xdac01820, 0x100, 0, 8 }, /* ctz x0, x1 */
		{ 0xdac01820, 0, 0, 64 },
		{ 0x5ac01820, 0xffffffff00000000, 0, 32 }, /* ctz w0, w1 */
		{ 0xdac01c20, 0xf0f0000000000001, 0, 9 },  /* cnt x0, x1 */
		{ 0x5ac01c20, 0xf0f0000000000001, 0, 1 },  /* cnt w0, w1 */
		{ 0xdac02020, -5ull, 0, 5 },               /* abs x0, x1 */
		{ 0x5ac02020, 0x80000001, 0, 0x7fffffff }, /* abs w0, w1 */
		{ 0x5ac02020, 0x80000000, 0, 0x80000000 },
		{ 0x9ac26020, -5ull, 3, 3 },               /* smax x0, x1, x2 */
		{ 0x9ac26420, -5ull, 3, -5ull },           /* umax x0, x1, x2 */
		{ 0x9ac26820, -5ull, 3, -5ull },           /* smin x0, x1, x2 */
		{ 0x9ac26c20, -5ull, 3, 3 },               /* umin x0, x1, x2 */
		{ 0x1ac26820, 0x80000000, 1, 0x80000000 }, /* smin w0, w1, w2 */
		{ 0x91c00420, -5ull, 0, 1 },               /* smax x0, x1, #1 */
		{ 0x91cbfc20, -5ull, 0, -5ull },           /* smin x0, x1, #-1 */
		{ 0x91c7fc20, 7, 0, 255 },                 /* umax x0, x1, #255 */
		{ 0x11cbfc20, 0xfffffff0, 0, 0xfffffff0 }, /* smin w0, w1, #-1 */
	};
	struct arm_cpu *cpu = cpu_new();

	for (unsigned i = 0; i < ARRAY_SIZE(ops); i++) {
		u32 words[] = { ops[i].word, 0xd4200000 };

		cpu->tcg.r[1] = ops[i].a;
		cpu->tcg.r[2] = ops[i].b;
		run_words(cpu, words, ARRAY_SIZE(words));
		g_assert_cmphex(cpu->excp.ec, ==, EC_BRK64);
		g_assert_cmphex(cpu->tcg.r[0], ==, ops[i].want);
	}
	/* bc.eq over a brk, with Z and without */
	for (unsigned z = 0; z < 2; z++) {
		static const u32 words[] = { 0x54000050, 0xd4200020, 0xd4200040 };

		cpu_set_nzcv(cpu, z << 2);
		run_words(cpu, words, ARRAY_SIZE(words));
		g_assert_cmpuint(cpu->excp.iss, ==, z ? 2 : 1);
	}
	cpu->features &= ~((u64)1 << ARM_FEAT_CSSC);
	run_words(cpu, &ops[0].word, 1);
	g_assert_cmphex(cpu->excp.ec, ==, EC_UNKNOWN);
	cpu_free(cpu);
}

/* RNDR: numbers that differ, and NZCV cleared. */
static void test_random_numbers(void)
{
	static const u32 words[] = { 0xd53b2400, 0xd53b2421, 0xd4200000 };
	struct arm_cpu *cpu = cpu_new();

	cpu_set_nzcv(cpu, 15);
	run_words(cpu, words, ARRAY_SIZE(words));
	g_assert_cmphex(cpu->tcg.r[0], !=, cpu->tcg.r[1]);
	g_assert_cmpuint(cpu_nzcv(cpu), ==, 0);
	cpu_free(cpu);
}

static void test_fp(void)
{
	static const u32 code[] = { 0x1e622820, 0xd4200000 };
	static const u32 mrs_fpsr[] = { 0xd53b4420, 0xd4200000 };
	struct arm_cpu *cpu = cpu_new();

	cpu->cpacr_el1 = 3u << 20;
	cpu->tcg.v[1].d[0] = 0x7ff8000000000123;
	cpu->tcg.v[2].d[0] = 0xfff0000000000001;
	cpu->tcg.v[0].d[1] = 5;
	run_words(cpu, code, 2);
	g_assert_cmphex(cpu->tcg.v[0].d[0], ==, 0xfff8000000000001);
	g_assert_cmphex(cpu->tcg.v[0].d[1], ==, 0);
	g_assert_cmphex(arm_get_fpsr(cpu), ==, 1);

	cpu->cpacr_el1 = 1u << 20;
	cpu->tcg.v[2].d[0] = 0;
	run_words(cpu, code, 2);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_FP_ACCESS);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 0);
	g_assert_cmphex(cpu->tcg.v[0].d[0], ==, 0xfff8000000000001);
	run_words(cpu, mrs_fpsr, 2);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_FP_ACCESS);
	cpu_free(cpu);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/a64/decode", test_decode);
	g_test_add_func("/a64/rows-exclude", test_rows_exclude);
	g_test_add_func("/a64/bitmask", test_bitmask);
	g_test_add_func("/a64/loop", test_loop);
	g_test_add_func("/a64/fault-is-precise", test_fault_is_precise);
	g_test_add_func("/a64/mops", test_mops);
	g_test_add_func("/a64/cssc", test_common_short_sequences);
	g_test_add_func("/a64/rndr", test_random_numbers);
	g_test_add_func("/a64/fp", test_fp);
	return g_test_run();
}

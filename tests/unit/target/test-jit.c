/* tests/unit/target/test-jit.c - translated A64 code: chaining, rewritten code, faults, exits. */
#include <glib.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"

#define PAGES 16

static u8 memory[PAGES * TCG_PAGE_SIZE] __attribute__((aligned(4096)));
static u64 phys_base; /* every test has pages of its own */
static unsigned first_stores;
static bool track;
static u64 fault_page = ~(u64)0; /* virtual page that is not there */

static void fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		 struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	if (base >= sizeof(memory) || base == fault_page)
		arm_raise(arm_cpu_of(cpu), EC_DABORT, 0x7, va);
	*page = (struct tcg_page){ .phys = phys_base + base,
				   .host = memory + base,
				   .readable = true,
				   .writable = true,
				   .track = track };
}

static void first_store(struct tcg_cpu *cpu, const struct tcg_page *page)
{
	first_stores++;
}

static bool service(struct tcg_cpu *cpu, bool raised)
{
	cpu->exit_request = 0;
	return !raised;
}

static const struct tcg_ops ops = { .fill = fill,
				    .service = service,
				    .step = arm_step,
				    .translate = arm_translate,
				    .first_store = first_store };

static struct arm_cpu *cpu_new(void)
{
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	phys_base += 1ull << 32;
	first_stores = 0;
	track = false;
	fault_page = ~(u64)0;
	memset(memory, 0, sizeof(memory));
	cpu->tcg.ops = &ops;
	cpu->tcg.mmu = tcg_mmu_create();
	cpu->features = arm_features_max();
	cpu->cpacr_el1 = 3u << 20;
	tcg_cpu_register(&cpu->tcg, true);
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	return cpu;
}

static void cpu_free(struct arm_cpu *cpu)
{
	tcg_cpu_unregister(&cpu->tcg);
	tcg_mmu_destroy(cpu->tcg.mmu);
	g_aligned_free(cpu);
}

static void put_code(u64 va, const u32 *words, size_t n)
{
	memcpy(memory + va, words, n * sizeof(*words));
}

static void run(struct arm_cpu *cpu, u64 pc)
{
	tcg_set_pc(&cpu->tcg, pc);
	tcg_run(&cpu->tcg);
	g_assert_true(cpu->excp.pending);
	cpu->excp.pending = false;
}

/* A loop over a call to a function in another page, as chained and indirect jumps. */
static void test_calls(void)
{
	static const u32 loop[] = {
		0xd2807d13, /* mov x19, #1000 */
		0xd2800000, /* mov x0, #0 */
		0x940003fe, /* bl 0x1000 */
		0xd1000673, /* sub x19, x19, #1 */
		0xb5ffffd3, /* cbnz x19, .-8 */
		0xd4200000, /* brk #0 */
	};
	static const u32 function[] = {
		0x8b130000, /* add x0, x0, x19 */
		0xd65f03c0, /* ret */
	};
	struct arm_cpu *cpu = cpu_new();

	put_code(0, loop, G_N_ELEMENTS(loop));
	put_code(0x1000, function, G_N_ELEMENTS(function));
	run(cpu, 0);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_BRK64);
	g_assert_cmpuint(cpu->tcg.r[0], ==, 500500);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 20);
	cpu_free(cpu);
}

/* Code that patches a function between two calls of it must run the new one. */
static void test_rewritten_code(void)
{
	static const u32 code[] = {
		0x940003ff + 1, /* bl 0x1000 */
		0xaa0003f3,     /* mov x19, x0 */
		0xb9000041,     /* str w1, [x2] */
		0x940003fd,     /* bl 0x1000 */
		0xd4200000,
	};
	static const u32 function[] = {
		0xd2800020, /* mov x0, #1 */
		0xd65f03c0,
	};
	struct arm_cpu *cpu = cpu_new();

	put_code(0, code, G_N_ELEMENTS(code));
	put_code(0x1000, function, G_N_ELEMENTS(function));
	for (int i = 0; i < 3; i++) {
		put_code(0x1000, function, 1);
		cpu->tcg.r[1] = 0xd2800040; /* mov x0, #2 */
		cpu->tcg.r[2] = 0x1000;
		if (i) /* what the host wrote is not noticed: say so */
			tcg_store(&cpu->tcg, 0x1000, function[0], 4);
		run(cpu, 0);
		g_assert_cmpuint(cpu->tcg.r[19], ==, 1);
		g_assert_cmpuint(cpu->tcg.r[0], ==, 2);
	}
	cpu_free(cpu);
}

static void test_dirty_tracking(void)
{
	static const u32 code[] = {
		0xf9000040, /* str x0, [x2] */
		0xf9000440, /* str x0, [x2, #8] */
		0xf9400043, /* ldr x3, [x2] */
		0xd4200000,
	};
	struct arm_cpu *cpu = cpu_new();

	track = true;
	put_code(0, code, G_N_ELEMENTS(code));
	cpu->tcg.r[0] = 5;
	cpu->tcg.r[2] = 0x3000;
	for (int i = 1; i <= 3; i++) {
		run(cpu, 0);
		run(cpu, 0);
		g_assert_cmpuint(first_stores, ==, i);
		tcg_mmu_rearm(cpu->tcg.mmu);
	}
	g_assert_cmpuint(cpu->tcg.r[3], ==, 5);
	cpu_free(cpu);
}

/* A pair that straddles into a page that is not there changes nothing, at the right pc. */
static void test_precise_fault(void)
{
	static const u32 code[] = {
		0xeb01001f, /* cmp x0, x1 */
		0x91000463, /* add x3, x3, #1 */
		0xa9bf0440, /* stp x0, x1, [x2, #-16]! */
		0x54000040, /* b.eq .+8 */
		0xd4200000, 0xd4200000,
	};
	struct arm_cpu *cpu = cpu_new();

	put_code(0, code, G_N_ELEMENTS(code));
	fault_page = 0x4000;
	cpu->tcg.r[0] = cpu->tcg.r[1] = 7;
	cpu->tcg.r[2] = 0x4008;
	run(cpu, 0);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_DABORT);
	g_assert_cmphex(cpu->excp.far, ==, 0x4000);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 8);
	g_assert_cmphex(cpu->tcg.r[2], ==, 0x4008);
	g_assert_cmpuint(cpu->tcg.r[3], ==, 1);
	g_assert_cmpuint(cpu_nzcv(cpu), ==, 6);
	g_assert_cmphex(*(u64 *)(memory + 0x3ff8), ==, 0);
	cpu_free(cpu);
}

#define LOADED  0x1122334455667788ull
#define OPERAND 0x0f0f00000000ffffull

struct update {
	u32 op; /* from x2, the old value, and x1 = OPERAND to register @rt; 0: none */
	unsigned rt;
	u64 stored;
	bool word; /* of 4 bytes */
};

static void put_update(const struct update *u)
{
	u32 size = u->word ? 0x80000000 : 0xc0000000;
	u32 code[] = {
		size | 0x085ffca2,         /* ldaxr x2, [x5] */
		u->op,                     /* that */
		size | 0x0804fca0 | u->rt, /* stlxr w4, rt, [x5] */
		0x35ffffa4,                /* cbnz w4, .-12 */
		0xd4200000,
	};

	if (!u->op) {
		code[1] = code[2];
		code[2] = 0x35ffffc4; /* cbnz w4, .-8 */
		code[3] = code[4];
	}
	put_code(0, code, G_N_ELEMENTS(code));
}

/* The first run has no soft TLB yet, and an address that is not aligned is the second's. */
static void run_update(struct arm_cpu *cpu, const struct update *u, u64 at)
{
	u64 stored = u->word ? (LOADED & ~(u64)UINT32_MAX) | u->stored : u->stored;
	u64 old = u->word ? (u32)LOADED : LOADED;

	*(u64 *)(memory + at) = LOADED;
	cpu->tcg.r[1] = OPERAND;
	cpu->tcg.r[2] = cpu->tcg.r[3] = 99;
	cpu->tcg.r[4] = 1;
	cpu->tcg.r[5] = at;
	cpu->tcg.excl_addr = 0x3000;
	run(cpu, 0);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_BRK64);
	g_assert_cmphex(*(u64 *)(memory + at), ==, stored);
	g_assert_cmphex(cpu->tcg.r[u->rt], ==, u->stored);
	if (u->rt != 2)
		g_assert_cmphex(cpu->tcg.r[2], ==, old);
	if (u->rt != 1)
		g_assert_cmphex(cpu->tcg.r[1], ==, OPERAND);
	g_assert_cmphex(cpu->tcg.r[4], ==, 0);
	g_assert_cmphex(cpu->tcg.excl_addr, ==, ~(u64)0);
}

/* Loops of exclusive accesses that are one operation. */
static void test_updates(void)
{
	static const struct update updates[] = {
		{ 0x91001442, 2, LOADED + 5, false },             /* add x2, x2, #5 */
		{ 0xd1000443, 3, LOADED - 1, false },             /* sub x3, x2, #1 */
		{ 0x8b010042, 2, LOADED + OPERAND, false },       /* add x2, x2, x1 */
		{ 0xcb010041, 1, LOADED - OPERAND, false },       /* sub x1, x2, x1 */
		{ 0x92401c42, 2, LOADED & 0xff, false },          /* and x2, x2, #0xff */
		{ 0xaa010043, 3, LOADED | OPERAND, false },       /* orr x3, x2, x1 */
		{ 0xca010042, 2, LOADED ^ OPERAND, false },       /* eor x2, x2, x1 */
		{ 0x8a210042, 2, LOADED & ~OPERAND, false },      /* bic x2, x2, x1 */
		{ 0x8a010043, 3, LOADED & OPERAND, false },       /* and x3, x2, x1 */
		{ 0x51000443, 3, (u32)(LOADED - 1), true },       /* sub w3, w2, #1 */
		{ 0x4b010041, 1, (u32)(LOADED - OPERAND), true }, /* sub w1, w2, w1 */
		{ 0, 1, OPERAND, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(updates); i++) {
		struct arm_cpu *cpu = cpu_new();

		put_update(&updates[i]);
		for (unsigned k = 0; k < 3; k++)
			run_update(cpu, &updates[i], 0x2010 + 8 * k);
		cpu->tcg.r[5] = 0x200c + 2 * updates[i].word; /* beyond 16 bytes */
		*(u64 *)(memory + 0x2010) = LOADED;
		run(cpu, 0);
		g_assert_cmpuint(cpu->excp.ec, ==, EC_DABORT);
		g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 0);
		g_assert_cmphex(*(u64 *)(memory + 0x2010), ==, LOADED);
		cpu_free(cpu);
	}
}

static gpointer request_exit(gpointer opaque)
{
	struct arm_cpu *cpu = opaque;

	g_usleep(20000);
	__atomic_store_n(&cpu->tcg.exit_request, 1, __ATOMIC_RELAXED);
	return NULL;
}

static bool leave(struct tcg_cpu *cpu, bool raised)
{
	return false;
}

/* An endless loop is left on request. */
/* RBIT and CLZ as one operation, where nothing else sees what RBIT gives. */
static void test_trailing_zeros(void)
{
	static const u32 code[] = {
		0xdac00000, /* rbit x0, x0 */
		0xdac01000, /* clz x0, x0 */
		0x5ac00041, /* rbit w1, w2 */
		0x5ac01021, /* clz w1, w1 */
		0xdac00083, /* rbit x3, x4 */
		0xdac01065, /* clz x5, x3 */
		0xb5000046, /* cbnz x6, .+8 */
		0xdac00107, /* rbit x7, x8 */
		0xdac010e7, /* clz x7, x7 */
		0xd4200000,
	};

	for (int jump = 0; jump < 2; jump++) {
		struct arm_cpu *cpu = cpu_new();

		put_code(0, code, G_N_ELEMENTS(code));
		cpu->tcg.r[0] = (u64)1 << 45;
		cpu->tcg.r[2] = (u64)1 << 32;
		cpu->tcg.r[4] = 0x13;
		cpu->tcg.r[6] = jump;
		cpu->tcg.r[7] = 0xff;
		cpu->tcg.r[8] = 0x3000;
		run(cpu, 0);
		g_assert_cmpuint(cpu->tcg.r[0], ==, 45);
		g_assert_cmpuint(cpu->tcg.r[1], ==, 32);
		g_assert_cmphex(cpu->tcg.r[3], ==, (u64)0x19 << 59);
		g_assert_cmpuint(cpu->tcg.r[5], ==, 0);
		g_assert_cmpuint(cpu->tcg.r[7], ==, jump ? 56 : 12);
		cpu_free(cpu);
	}
}

/* The same code with FP switched off and on: it traps at the first FP instruction, or runs. */
static void test_fp_trap(void)
{
	static const u32 code[] = {
		0x91000400, /* add x0, x0, #1 */
		0x4e61d420, /* fadd v0.2d, v1.2d, v1.2d */
		0xd4200000,
	};
	struct arm_cpu *cpu = cpu_new();

	put_code(0, code, G_N_ELEMENTS(code));
	cpu->tcg.v[1].d[0] = cpu->tcg.v[1].d[1] = 0x3ff0000000000000;
	cpu->cpacr_el1 = 0;
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	run(cpu, 0);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_FP_ACCESS);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 4);
	g_assert_cmphex(cpu->tcg.r[0], ==, 1);
	g_assert_cmphex(cpu->tcg.v[0].d[1], ==, 0);

	cpu->cpacr_el1 = 3u << 20;
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	run(cpu, 0);
	g_assert_cmpuint(cpu->excp.ec, ==, EC_BRK64);
	g_assert_cmphex(cpu->tcg.r[0], ==, 2);
	g_assert_cmphex(cpu->tcg.v[0].d[1], ==, 0x4000000000000000);
	cpu_free(cpu);
}

static void test_exit_request(void)
{
	static const u32 code[] = { 0x14000000 }; /* b . */
	static const struct tcg_ops leaving = {
		.fill = fill, .service = leave, .step = arm_step, .translate = arm_translate
	};
	struct arm_cpu *cpu = cpu_new();
	GThread *thread = g_thread_new("exit", request_exit, cpu);

	cpu->tcg.ops = &leaving;
	put_code(0, code, G_N_ELEMENTS(code));
	tcg_set_pc(&cpu->tcg, 0);
	tcg_run(&cpu->tcg);
	g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 0);
	g_thread_join(thread);
	cpu_free(cpu);
}

/* So much code that all translations are thrown away, while some are still chained. */
static void test_full_cache(void)
{
	struct arm_cpu *cpu = cpu_new();
	struct tcg_stats before, after;
	u64 runs = 0;

	for (unsigned i = 0; i < 1023; i++) /* str x0, [x2]; the last word of the page is brk #0 */
		memcpy(memory + 4 * i, &(u32){ 0xf9000040 }, 4);
	memcpy(memory + 4 * 1023, &(u32){ 0xd4200000 }, 4);
	cpu->tcg.r[2] = 0x2000;
	tcg_stats_get(&before);
	do {
		phys_base += TCG_PAGE_SIZE;
		tcg_mmu_flush(cpu->tcg.mmu);
		for (unsigned i = 0; i < 1023; i++) {
			cpu->tcg.r[0] = ++runs;
			run(cpu, 4 * i);
			g_assert_cmphex(tcg_pc(&cpu->tcg), ==, 4 * 1023);
			g_assert_cmpuint(*(u64 *)(memory + 0x2000), ==, runs);
		}
		tcg_stats_get(&after);
	} while (after.flushes < before.flushes + 2 && runs < 100000);
	g_assert_cmpuint(after.flushes, ==, before.flushes + 2);
	cpu_free(cpu);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/jit/calls", test_calls);
	g_test_add_func("/jit/rewritten-code", test_rewritten_code);
	g_test_add_func("/jit/dirty-tracking", test_dirty_tracking);
	g_test_add_func("/jit/precise-fault", test_precise_fault);
	g_test_add_func("/jit/updates", test_updates);
	g_test_add_func("/jit/trailing-zeros", test_trailing_zeros);
	g_test_add_func("/jit/fp-trap", test_fp_trap);
	g_test_add_func("/jit/exit-request", test_exit_request);
	g_test_add_func("/jit/full-cache", test_full_cache);
	return g_test_run();
}

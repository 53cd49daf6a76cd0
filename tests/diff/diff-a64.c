/*
 * tests/diff/diff-a64.c - run random A64 blocks here and under an oracle, and compare.
 *
 * usage: diff-a64 [--class C] [--count N] [--length N] [--seed N] [--engine interp|jit|both]
 *                 ORACLE-COMMAND...
 * The oracle command is run once, with the number of a file descriptor appended; see case.h.
 * While it runs a batch of blocks, the engines do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"
#include "target/arm/cpu-features.h"
#include "target/arm/fp.h"
#include "tests/diff/generate.h"

#define MAX_REPORTS  5
#define SAME_CONTENT 256 /* blocks in a row that find the same in the arena */
#define CODE_SIZE    (DIFF_BATCH * DIFF_SLOT_SIZE)

static int opt_count = 1000, opt_length = 8, opt_seed = 1;
static char *opt_class, *opt_engine;
static const GOptionEntry options[] = {
	{ "class", 0, 0, G_OPTION_ARG_STRING, &opt_class, "only this class of rows", "NAME" },
	{ "count", 0, 0, G_OPTION_ARG_INT, &opt_count, "blocks per class (1000)", "N" },
	{ "length", 0, 0, G_OPTION_ARG_INT, &opt_length, "instructions per block, at most", "N" },
	{ "seed", 0, 0, G_OPTION_ARG_INT, &opt_seed, "of the random generator", "N" },
	{ "engine", 0, 0, G_OPTION_ARG_STRING, &opt_engine, "interp, jit or both (interp)",
	  "NAME" },
	{ 0 }
};

struct engine {
	const char *name;
	bool jit;
	struct arm_cpu *cpu; /* NULL: not wanted */
	struct diff_state got[DIFF_BATCH];
	unsigned bad; /* blocks of the class that differ */
};

static struct engine engines[] = { { .name = "interp" }, { .name = "jit", .jit = true } };
static struct diff_shared *shared;
static int oracle_in, oracle_out; /* to and from the oracle */
static u64 arena[DIFF_ARENA_SIZE / 8] __attribute__((aligned(4096)));
static u64 arena_filled[DIFF_ARENA_SIZE / 8], arena_seed;
static u8 code[CODE_SIZE] __attribute__((aligned(4096)));
static u32 end_code[1024] __attribute__((aligned(4096))) = { 0xd4200000 }; /* BRK */

/* User-mode view: the arena and the code, everything else faults. */
static void user_fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		      struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	*page = (struct tcg_page){ .phys = base, .readable = true, .writable = true };
	if (base - DIFF_ARENA_VA < DIFF_ARENA_SIZE)
		page->host = (u8 *)arena + (base - DIFF_ARENA_VA);
	else if (base - DIFF_CODE_VA < CODE_SIZE)
		page->host = code + (base - DIFF_CODE_VA);
	else if (base == DIFF_END_VA)
		page->host = (u8 *)end_code;
	else
		arm_raise(arm_cpu_of(cpu), access == TCG_EXEC ? EC_IABORT : EC_DABORT, 7, va);
}

static bool stop(struct tcg_cpu *cpu, bool raised)
{
	if (raised)
		return false;
	cpu->exit_request = 0;
	return true;
}

static void load_state(struct arm_cpu *cpu, const struct diff_state *s)
{
	memcpy(cpu->tcg.r, s->x, sizeof(s->x));
	cpu->tcg.r[31] = s->sp;
	cpu_set_nzcv(cpu, s->nzcv >> 28);
	memcpy(cpu->tcg.v, s->v, sizeof(s->v));
	arm_set_fpcr(cpu, s->fpcr);
	arm_set_fpsr(cpu, s->fpsr);
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	cpu->tcg.excl_addr = ~(u64)0;
	if (s->memory != arena_seed) {
		arena_seed = s->memory;
		diff_arena_fill(arena_filled, arena_seed);
		memcpy(arena, arena_filled, sizeof(arena));
	}
}

static u64 stop_of(const struct arm_cpu *cpu)
{
	switch (cpu->excp.ec) {
	case EC_BRK64: return DIFF_END;
	case EC_UNKNOWN: return DIFF_UNDEFINED;
	case EC_DABORT:
	case EC_IABORT: return DIFF_FAULT;
	default: return DIFF_OTHER;
	}
}

static void save_state(struct arm_cpu *cpu, struct diff_state *s)
{
	memcpy(s->x, cpu->tcg.r, sizeof(s->x));
	s->sp = cpu->tcg.r[31];
	s->pc = tcg_pc(&cpu->tcg);
	s->nzcv = (u64)cpu_nzcv(cpu) << 28;
	memcpy(s->v, cpu->tcg.v, sizeof(s->v));
	s->fpcr = cpu->fpcr;
	s->fpsr = arm_get_fpsr(cpu);
	s->stop = stop_of(cpu);
	s->memory = diff_arena_settle(arena, arena_filled);
}

static struct arm_cpu *cpu_new(bool jit)
{
	static const struct tcg_ops ops = {
		.fill = user_fill, .service = stop, .step = arm_step, .translate = arm_translate
	};
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	cpu->tcg.ops = &ops;
	cpu->tcg.mmu = tcg_mmu_create();
	cpu->features = arm_features_max() & ~((u64)1 << ARM_FEAT_LSE2);
	cpu->cpacr_el1 = 3u << 20; /* FP and SIMD are enabled */
	if (tcg_cpu_register(&cpu->tcg, jit) != jit) {
		printf("Bail out! no code generator for this host\n");
		exit(1);
	}
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	return cpu;
}

static void load_code(unsigned n)
{
	tcg_invalidate_host(code, ROUND_UP(n * DIFF_SLOT_SIZE, TCG_PAGE_SIZE));
	for (unsigned i = 0; i < n; i++)
		diff_slot_fill((u32 *)(code + i * DIFF_SLOT_SIZE), i, &shared->cases[i]);
}

static void run_batch(struct engine *e, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		load_state(e->cpu, &shared->cases[i].in);
		tcg_set_pc(&e->cpu->tcg, diff_pc(i));
		tcg_run(&e->cpu->tcg);
		save_state(e->cpu, &e->got[i]);
	}
}

/* ---- the oracle ---- */

static void start_oracle(char **command)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autoptr(GError) err = NULL;
	int fd = memfd_create("diff-a64", 0);
	g_autofree char *number = g_strdup_printf("%d", fd);

	g_assert(fd >= 0 && !ftruncate(fd, sizeof(*shared)));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	g_assert(shared != MAP_FAILED);
	for (char **arg = command; *arg; arg++)
		g_ptr_array_add(argv, *arg);
	g_ptr_array_add(argv, number);
	g_ptr_array_add(argv, NULL);
	if (!g_spawn_async_with_pipes(NULL, (char **)argv->pdata, NULL,
				      G_SPAWN_SEARCH_PATH | G_SPAWN_LEAVE_DESCRIPTORS_OPEN, NULL,
				      NULL, NULL, &oracle_in, &oracle_out, NULL, &err)) {
		printf("Bail out! %s\n", err->message);
		exit(1);
	}
}

static void oracle_begin(u32 n)
{
	if (write(oracle_in, &n, sizeof(n)) != sizeof(n)) {
		printf("Bail out! the oracle does not listen\n");
		exit(1);
	}
}

static void oracle_wait(void)
{
	char c;

	if (read(oracle_out, &c, 1) != 1) {
		printf("Bail out! the oracle has died\n");
		exit(1);
	}
}

/* ---- comparison ---- */

static void print_difference(const struct diff_case *c, const struct diff_state *got,
			     const struct diff_state *want)
{
	for (unsigned i = 0; i < c->nwords; i++)
		printf("#   %08x\n", c->words[i]);
#define SHOW(what, a, b, in)                                                                       \
	if ((a) != (b))                                                                            \
	printf("#   %s: in %#" PRIx64 ", got %#" PRIx64 ", oracle %#" PRIx64 "\n", what,           \
	       (u64)(in), (u64)(a), (u64)(b))
	for (unsigned i = 0; i < 31; i++) {
		g_autofree char *name = g_strdup_printf("x%u", i);

		SHOW(name, got->x[i], want->x[i], c->in.x[i]);
	}
	for (unsigned i = 0; i < 64; i++) {
		g_autofree char *name = g_strdup_printf("v%u.d[%u]", i / 2, i % 2);

		SHOW(name, got->v[i / 2][i % 2], want->v[i / 2][i % 2], c->in.v[i / 2][i % 2]);
	}
	SHOW("sp", got->sp, want->sp, c->in.sp);
	SHOW("pc", got->pc, want->pc, c->in.pc);
	SHOW("nzcv", got->nzcv, want->nzcv, c->in.nzcv);
	SHOW("fpcr", got->fpcr, want->fpcr, c->in.fpcr);
	SHOW("fpsr", got->fpsr, want->fpsr, c->in.fpsr);
	SHOW("stop", got->stop, want->stop, c->in.stop);
	SHOW("memory", got->memory, want->memory, c->in.memory);
#undef SHOW
}

/* Equal, or both faulted at the same wide access: how much of it was done is up to the CPU. */
static bool same_result(const struct diff_class *class, const struct engine *e,
			const struct diff_state *got, const struct diff_state *want)
{
	struct diff_state masked;

	if (!memcmp(got, want, sizeof(*want)))
		return true;
	masked = *got;
	/* Translated code does not compute flags that a following instruction overwrites. */
	if (e->jit && got->stop != DIFF_END)
		masked.nzcv = want->nzcv;
	/* The host sees after rounding whether a result is tiny. */
	if (e->jit && want->fpsr & ~got->fpsr & FPSR_UFC)
		masked.fpsr |= FPSR_UFC;
	if (!memcmp(&masked, want, sizeof(*want)))
		return true;
	return (class->pair || class->vectors) && got->stop == DIFF_FAULT &&
	       want->stop == DIFF_FAULT && got->pc == want->pc;
}

static void compare_batch(const struct diff_class *class, struct engine *e, unsigned first,
			  unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (same_result(class, e, &e->got[i], &shared->results[i]))
			continue;
		if (e->bad++ < MAX_REPORTS) {
			printf("# %s: block %u differs in %s\n", class->name, first + i, e->name);
			print_difference(&shared->cases[i], &e->got[i], &shared->results[i]);
		}
	}
}

/* Return: how many blocks ran to their end. */
static unsigned test_batch(const struct diff_class *class, struct diff_random *rnd, unsigned first,
			   unsigned n)
{
	unsigned finished = 0;

	shared->memory = class->memory;
	for (unsigned i = 0; i < n; i++) {
		diff_generate(rnd, class, opt_length, &shared->cases[i]);
		shared->cases[i].in.memory = opt_seed + (first + i) / SAME_CONTENT;
	}
	oracle_begin(n);
	load_code(n);
	for (struct engine *e = engines; e < engines + ARRAY_SIZE(engines); e++)
		if (e->cpu)
			run_batch(e, n);
	oracle_wait();
	for (struct engine *e = engines; e < engines + ARRAY_SIZE(engines); e++)
		if (e->cpu)
			compare_batch(class, e, first, n);
	for (unsigned i = 0; i < n; i++)
		finished += shared->results[i].stop == DIFF_END;
	return finished;
}

/* Return: no block differs. */
static bool test_class(const struct diff_class *class)
{
	struct diff_random rnd = { opt_seed * 0x100000001ull + g_str_hash(class->name) };
	gint64 start = g_get_monotonic_time();
	unsigned finished = 0, n;
	bool ok = true;
	double seconds;

	for (struct engine *e = engines; e < engines + ARRAY_SIZE(engines); e++)
		e->bad = 0;
	for (int first = 0; first < opt_count; first += n) {
		n = MIN(DIFF_BATCH, (unsigned)(opt_count - first));
		finished += test_batch(class, &rnd, first, n);
	}
	seconds = (g_get_monotonic_time() - start) / 1e6;
	printf("# %s: %d blocks in %.2f s, %u ran to their end", class->name, opt_count, seconds,
	       finished);
	for (struct engine *e = engines; e < engines + ARRAY_SIZE(engines); e++) {
		if (e->cpu)
			printf(", %s: %u differ", e->name, e->bad);
		ok &= !e->bad;
	}
	printf("\n");
	return ok;
}

static bool make_engines(void)
{
	const char *want = opt_engine ? opt_engine : "interp";
	bool any = false;

	for (struct engine *e = engines; e < engines + ARRAY_SIZE(engines); e++) {
		if (strcmp(want, e->name) && strcmp(want, "both"))
			continue;
		e->cpu = cpu_new(e->jit);
		any = true;
	}
	return any;
}

int main(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new("ORACLE-COMMAND...");
	const GPtrArray *classes = diff_classes();
	g_autoptr(GError) err = NULL;
	unsigned number = 0, failed = 0;

	g_option_context_add_main_entries(context, options, NULL);
	g_option_context_set_strict_posix(context, TRUE);
	if (!g_option_context_parse(context, &argc, &argv, &err) || argc < 2) {
		fprintf(stderr, "%s\n", err ? err->message : "oracle command missing");
		return 2;
	}
	if (opt_length < 1 || opt_length > DIFF_MAX_WORDS || !make_engines()) {
		fprintf(stderr, "--length is 1 to %u, --engine interp, jit or both\n",
			DIFF_MAX_WORDS);
		return 2;
	}
	start_oracle(argv + 1);
	for (unsigned i = 0; i < classes->len; i++) {
		const struct diff_class *class = g_ptr_array_index(classes, i);
		bool ok;

		if (opt_class && strcmp(opt_class, class->name))
			continue;
		ok = test_class(class);
		failed += !ok;
		printf("%sok %u %s\n", ok ? "" : "not ", ++number, class->name);
		fflush(stdout);
	}
	printf("1..%u\n", number);
	return failed ? 1 : 0;
}

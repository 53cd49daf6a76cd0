/*
 * tests/diff/diff-a64.c - run random A64 blocks here and under an oracle, and compare.
 *
 * usage: diff-a64 [--class C] [--count N] [--length N] [--seed N] [--engine interp|jit]
 *                 ORACLE-COMMAND...
 * The oracle command is run with two file names appended, see case.h.
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

#define MAX_REPORTS 5

static int opt_count = 1000, opt_length = 8, opt_seed = 1;
static char *opt_class, *opt_engine;
static const GOptionEntry options[] = {
	{ "class", 0, 0, G_OPTION_ARG_STRING, &opt_class, "only this class of rows", "NAME" },
	{ "count", 0, 0, G_OPTION_ARG_INT, &opt_count, "blocks per class (1000)", "N" },
	{ "length", 0, 0, G_OPTION_ARG_INT, &opt_length, "instructions per block, at most", "N" },
	{ "seed", 0, 0, G_OPTION_ARG_INT, &opt_seed, "of the random generator", "N" },
	{ "engine", 0, 0, G_OPTION_ARG_STRING, &opt_engine, "interp or jit", "NAME" },
	{ 0 }
};

static u64 arena[DIFF_ARENA_SIZE / 8] __attribute__((aligned(4096)));
static u8 *code; /* ncases * DIFF_CODE_STEP */
static u64 code_size;
static u64 phys_base; /* every class has physical pages of its own: its code is new */

/* User-mode view: the arena and the code, everything else faults. */
static void user_fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		      struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	*page = (struct tcg_page){ .phys = phys_base + base, .readable = true, .writable = true };
	if (base - DIFF_ARENA_VA < DIFF_ARENA_SIZE)
		page->host = (u8 *)arena + (base - DIFF_ARENA_VA);
	else if (base - DIFF_CODE_VA < code_size)
		page->host = code + (base - DIFF_CODE_VA);
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
	tcg_set_pc(&cpu->tcg, s->pc);
	diff_arena_fill(arena, s->memory);
}

static u64 stop_of(const struct arm_cpu *cpu)
{
	switch (cpu->excp.ec) {
	case EC_BRK64: return DIFF_BRK;
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
	s->memory = diff_arena_hash(arena);
}

static bool use_jit(void)
{
	return opt_engine && !strcmp(opt_engine, "jit");
}

static struct arm_cpu *cpu_new(void)
{
	static const struct tcg_ops ops = {
		.fill = user_fill, .service = stop, .step = arm_step, .translate = arm_translate
	};
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	cpu->tcg.ops = &ops;
	cpu->tcg.mmu = tcg_mmu_create();
	cpu->features = arm_features_max() & ~((u64)1 << ARM_FEAT_LSE2);
	cpu->cpacr_el1 = 3u << 20; /* FP and SIMD are enabled */
	if (tcg_cpu_register(&cpu->tcg, use_jit()) != use_jit()) {
		printf("Bail out! no code generator for this host\n");
		exit(1);
	}
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	return cpu;
}

static void run_cases(const struct diff_case *cases, unsigned n, struct diff_state *results)
{
	struct arm_cpu *cpu = cpu_new();

	code_size = ROUND_UP((u64)n * DIFF_CODE_STEP, TCG_PAGE_SIZE);
	code = mmap(NULL, code_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert(code != MAP_FAILED);
	phys_base += 1ull << 40;
	for (unsigned i = 0; i < n; i++) {
		u32 *words = (u32 *)(code + i * DIFF_CODE_STEP);

		memcpy(words, cases[i].words, cases[i].nwords * sizeof(u32));
		words[cases[i].nwords] = 0xd4200000;
	}
	for (unsigned i = 0; i < n; i++) {
		load_state(cpu, &cases[i].in);
		tcg_run(&cpu->tcg);
		save_state(cpu, &results[i]);
	}
	munmap(code, code_size);
	tcg_cpu_unregister(&cpu->tcg);
	tcg_mmu_destroy(cpu->tcg.mmu);
	g_aligned_free(cpu);
}

static int run_oracle(char **command, const struct diff_case *cases, unsigned n,
		      struct diff_state **results)
{
	g_autofree char *dir = g_dir_make_tmp("diff-a64-XXXXXX", NULL);
	g_autofree char *in = g_build_filename(dir, "in", NULL);
	g_autofree char *out = g_build_filename(dir, "out", NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	struct diff_file head = { .ncases = n };
	FILE *f = fopen(in, "wb");
	gsize len = 0;
	int status = -1;

	fwrite(&head, sizeof(head), 1, f);
	fwrite(cases, sizeof(*cases), n, f);
	fclose(f);
	for (char **arg = command; *arg; arg++)
		g_ptr_array_add(argv, *arg);
	g_ptr_array_add(argv, in);
	g_ptr_array_add(argv, out);
	g_ptr_array_add(argv, NULL);
	if (!g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			  NULL, &status, NULL) ||
	    status)
		fprintf(stderr, "oracle %s failed with status %d\n", command[0], status);
	else if (!g_file_get_contents(out, (char **)results, &len, NULL) ||
		 len != n * sizeof(**results))
		status = -1;
	unlink(in);
	unlink(out);
	rmdir(dir);
	return status;
}

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

/* Classes with pairs or 16-byte vectors. */
static bool is_wide(const char *class)
{
	return g_str_has_prefix(class, "memp") || g_str_has_prefix(class, "memv") ||
	       !strcmp(class, "memrv");
}

/* Equal, or both faulted at the same wide access: how much of it was done is up to the CPU. */
static bool same_result(const char *class, const struct diff_state *a, const struct diff_state *b)
{
	struct diff_state masked = *a;

	/* Translated code does not compute flags that a following instruction overwrites. */
	if (use_jit() && a->stop != DIFF_BRK)
		masked.nzcv = b->nzcv;
	/* The host sees after rounding whether a result is tiny. */
	if (use_jit() && b->fpsr & ~a->fpsr & FPSR_UFC)
		masked.fpsr |= FPSR_UFC;
	if (!memcmp(&masked, b, sizeof(*b)))
		return true;
	return is_wide(class) && a->stop == DIFF_FAULT && b->stop == DIFF_FAULT && a->pc == b->pc;
}

/* Return: number of blocks that differ. */
static unsigned test_class(const char *class, char **command)
{
	g_autofree struct diff_case *cases = g_new(struct diff_case, opt_count);
	g_autofree struct diff_state *got = g_new0(struct diff_state, opt_count);
	g_autofree struct diff_state *want = NULL;
	GRand *rnd = g_rand_new_with_seed(opt_seed * 31 + g_str_hash(class));
	unsigned bad = 0, finished = 0;

	for (int i = 0; i < opt_count; i++) {
		diff_generate(rnd, class, opt_length, &cases[i]);
		cases[i].in.pc = DIFF_CODE_VA + (u64)i * DIFF_CODE_STEP;
	}
	g_rand_free(rnd);
	if (run_oracle(command, cases, opt_count, &want))
		return opt_count;
	run_cases(cases, opt_count, got);
	for (int i = 0; i < opt_count; i++) {
		finished += want[i].stop == DIFF_BRK;
		if (same_result(class, &got[i], &want[i]))
			continue;
		if (bad++ < MAX_REPORTS) {
			printf("# %s: block %d differs\n", class, i);
			print_difference(&cases[i], &got[i], &want[i]);
		}
	}
	printf("# %s: %d blocks, %u ran to their end, %u differ\n", class, opt_count, finished,
	       bad);
	return bad;
}

int main(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new("ORACLE-COMMAND...");
	g_autofree const char **classes = diff_classes();
	g_autoptr(GError) err = NULL;
	unsigned number = 0, failed = 0;

	g_option_context_add_main_entries(context, options, NULL);
	g_option_context_set_strict_posix(context, TRUE);
	if (!g_option_context_parse(context, &argc, &argv, &err) || argc < 2) {
		fprintf(stderr, "%s\n", err ? err->message : "oracle command missing");
		return 2;
	}
	for (const char **class = classes; *class; class ++) {
		bool ok;

		if (opt_class && strcmp(opt_class, *class))
			continue;
		ok = !test_class(*class, argv + 1);
		failed += !ok;
		printf("%sok %u %s\n", ok ? "" : "not ", ++number, *class);
		fflush(stdout);
	}
	printf("1..%u\n", number);
	return failed ? 1 : 0;
}

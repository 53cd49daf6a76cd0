/*
 * tests/diff/run-a64.c - run a static arm64 Linux program that only computes and prints.
 *
 * usage: run-a64 [--engine interp|jit] PROGRAM [ARGUMENT...]
 * Known system calls: write, exit, exit_group, brk and anonymous mmap; others return -ENOSYS.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"

#define SPACE      (4 * GiB) /* guest virtual addresses from 0 */
#define STACK_TOP  (2 * GiB)
#define STACK_SIZE (8 * MiB)
#define MMAP_BASE  (3 * GiB)

static char *opt_engine;
static const GOptionEntry options[] = {
	{ "engine", 0, 0, G_OPTION_ARG_STRING, &opt_engine, "interp or jit", "NAME" }, { 0 }
};

static u8 *space;
static u8 mapped[SPACE / TCG_PAGE_SIZE]; /* pages that exist */
static u64 brk_now, mmap_now = MMAP_BASE;

static void map_range(u64 va, u64 size)
{
	for (u64 at = va & TCG_PAGE_MASK; at < va + size; at += TCG_PAGE_SIZE)
		mapped[at / TCG_PAGE_SIZE] = 1;
}

static void user_fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		      struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	if (base >= SPACE || !mapped[base / TCG_PAGE_SIZE])
		arm_raise(arm_cpu_of(cpu), access == TCG_EXEC ? EC_IABORT : EC_DABORT, 7, va);
	*page = (struct tcg_page){
		.phys = base, .host = space + base, .readable = true, .writable = true
	};
}

static u64 system_call(struct arm_cpu *cpu)
{
	const u64 *x = cpu->tcg.r;

	switch (x[8]) {
	case 64: /* write */
		return x[1] + x[2] <= SPACE ? write(x[0], space + x[1], x[2]) : -EFAULT;
	case 93: /* exit */
	case 94: /* exit_group */ exit(x[0]);
	case 214: /* brk */
		if (x[0] > brk_now) {
			map_range(brk_now, x[0] - brk_now);
			brk_now = x[0];
		}
		return brk_now;
	case 222: /* mmap */
		if (!(x[3] & MAP_ANONYMOUS))
			return -ENODEV;
		mmap_now += ROUND_UP(x[1], TCG_PAGE_SIZE);
		map_range(mmap_now - ROUND_UP(x[1], TCG_PAGE_SIZE), x[1]);
		return mmap_now - ROUND_UP(x[1], TCG_PAGE_SIZE);
	default: return -ENOSYS;
	}
}

static bool service(struct tcg_cpu *tcg, bool raised)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);

	tcg->exit_request = 0;
	if (!raised)
		return true;
	if (cpu->excp.ec != EC_SVC64) {
		fprintf(stderr, "exception class %#x at %#" PRIx64 ", address %#" PRIx64 "\n",
			cpu->excp.ec, tcg_pc(tcg), cpu->excp.far);
		exit(125);
	}
	cpu->excp.pending = false;
	tcg->r[0] = system_call(cpu);
	return true;
}

static u64 load_program(const char *path)
{
	g_autofree char *file = NULL;
	g_autoptr(GError) err = NULL;
	const Elf64_Ehdr *head;
	gsize size;

	if (!g_file_get_contents(path, &file, &size, &err)) {
		fprintf(stderr, "%s\n", err->message);
		exit(2);
	}
	head = (const Elf64_Ehdr *)file;
	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_machine != EM_AARCH64 || head->e_type != ET_EXEC) {
		fprintf(stderr, "%s: not a static arm64 program\n", path);
		exit(2);
	}
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *ph = (const Elf64_Phdr *)(file + head->e_phoff) + i;

		if (ph->p_type != PT_LOAD)
			continue;
		memcpy(space + ph->p_vaddr, file + ph->p_offset, ph->p_filesz);
		map_range(ph->p_vaddr, ph->p_memsz);
		brk_now = MAX(brk_now, ROUND_UP(ph->p_vaddr + ph->p_memsz, TCG_PAGE_SIZE));
	}
	return head->e_entry;
}

/* argc, argv, an empty environment and an empty auxiliary vector. */
static u64 make_stack(int argc, char **argv)
{
	u64 text = STACK_TOP - 4096, sp = STACK_TOP - 16384;
	u64 *out = (u64 *)(space + sp);

	map_range(STACK_TOP - STACK_SIZE, STACK_SIZE);
	*out++ = argc;
	for (int i = 0; i < argc; i++) {
		size_t len = strlen(argv[i]) + 1;

		memcpy(space + text, argv[i], len);
		*out++ = text;
		text += len;
	}
	return sp;
}

int main(int argc, char **argv)
{
	static const struct tcg_ops ops = {
		.fill = user_fill, .service = service, .step = arm_step, .translate = arm_translate
	};
	g_autoptr(GOptionContext) context = g_option_context_new("PROGRAM [ARGUMENT...]");
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);
	g_autoptr(GError) err = NULL;
	bool jit;

	g_option_context_add_main_entries(context, options, NULL);
	g_option_context_set_strict_posix(context, TRUE);
	if (!g_option_context_parse(context, &argc, &argv, &err) || argc < 2) {
		fprintf(stderr, "%s\n", err ? err->message : "program missing");
		return 2;
	}
	space = mmap(NULL, SPACE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	g_assert(space != MAP_FAILED);
	jit = !opt_engine || !strcmp(opt_engine, "jit");
	cpu->tcg.ops = &ops;
	cpu->features = arm_features_max();
	cpu->cpacr_el1 = 3u << 20;
	cpu->tcg.mmu = tcg_mmu_create();
	tcg_set_pc(&cpu->tcg, load_program(argv[1]));
	cpu->tcg.r[31] = make_stack(argc - 1, argv + 1);
	if (tcg_cpu_register(&cpu->tcg, jit) != jit) {
		fprintf(stderr, "no code generator for this host\n");
		return 2;
	}
	tcg_select(&cpu->tcg, cpu->tcg.mmu, arm_state_key(cpu));
	tcg_run(&cpu->tcg);
	return 0;
}

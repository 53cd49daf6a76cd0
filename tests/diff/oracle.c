/*
 * tests/diff/oracle.c - arm64 user program that runs instruction blocks and reports their results.
 *
 * Every block ends in a signal. The handler stores the interrupted registers as the result and
 * returns into the next block with that block's registers.
 */
#define _GNU_SOURCE
#include <asm/sigcontext.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/diff/case.h"

static const struct diff_case *cases;
static struct diff_state *results;
static uint64_t ncases;
static int64_t current = -1;

/* The C library's wrapper would touch thread-local storage, which a block may have changed. */
static void leave(void)
{
	register long x0 __asm__("x0") = 0;
	register long x8 __asm__("x8") = SYS_exit_group;

	__asm__ volatile("svc #0" : : "r"(x0), "r"(x8));
	__builtin_unreachable();
}

static struct fpsimd_context *fp_context(ucontext_t *uc)
{
	struct _aarch64_ctx *ctx = (struct _aarch64_ctx *)uc->uc_mcontext.__reserved;

	while (ctx->magic != FPSIMD_MAGIC)
		ctx = (struct _aarch64_ctx *)((char *)ctx + ctx->size);
	return (struct fpsimd_context *)ctx;
}

static void save(int sig, ucontext_t *uc, struct diff_state *out)
{
	struct fpsimd_context *fp = fp_context(uc);

	memcpy(out->x, uc->uc_mcontext.regs, sizeof(out->x));
	out->sp = uc->uc_mcontext.sp;
	out->pc = uc->uc_mcontext.pc;
	out->nzcv = uc->uc_mcontext.pstate & 0xf0000000;
	memcpy(out->v, fp->vregs, sizeof(out->v));
	out->fpcr = fp->fpcr;
	out->fpsr = fp->fpsr;
	switch (sig) {
	case SIGTRAP: out->stop = DIFF_BRK; break;
	case SIGILL: out->stop = DIFF_UNDEFINED; break;
	case SIGSEGV:
	case SIGBUS: out->stop = DIFF_FAULT; break;
	default: out->stop = DIFF_OTHER; break;
	}
	out->memory = diff_arena_hash((const uint64_t *)DIFF_ARENA_VA);
}

static void load(ucontext_t *uc, const struct diff_state *in)
{
	struct fpsimd_context *fp = fp_context(uc);

	memcpy(uc->uc_mcontext.regs, in->x, sizeof(in->x));
	uc->uc_mcontext.sp = in->sp;
	uc->uc_mcontext.pc = in->pc;
	uc->uc_mcontext.pstate = (uc->uc_mcontext.pstate & ~0xf0000000ull) | in->nzcv;
	memcpy(fp->vregs, in->v, sizeof(in->v));
	fp->fpcr = in->fpcr;
	fp->fpsr = in->fpsr;
	diff_arena_fill((uint64_t *)DIFF_ARENA_VA, in->memory);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)info;
	if (current >= 0)
		save(sig, context, &results[current]);
	if (++current == (int64_t)ncases)
		leave();
	load(context, &cases[current].in);
}

static void *map(uint64_t va, size_t size, int prot, int flags, int fd)
{
	void *p = mmap((void *)va, size, prot, flags, fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	const struct diff_file *file;
	struct stat st;
	int in = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	int out = argc == 3 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (in < 0 || out < 0 || fstat(in, &st)) {
		fprintf(stderr, "usage: oracle CASES RESULTS\n");
		return 1;
	}
	file = map(0, st.st_size, PROT_READ, MAP_PRIVATE, in);
	cases = (const struct diff_case *)(file + 1);
	ncases = file->ncases;
	if (ftruncate(out, ncases * sizeof(*results)))
		return 1;
	results = map(0, ncases * sizeof(*results), PROT_READ | PROT_WRITE, MAP_SHARED, out);
	map(DIFF_ARENA_VA, DIFF_ARENA_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	map(DIFF_CODE_VA, ncases * DIFF_CODE_STEP, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	for (uint64_t i = 0; i < ncases; i++) {
		uint32_t *code = (uint32_t *)(DIFF_CODE_VA + i * DIFF_CODE_STEP);

		memcpy(code, cases[i].words, cases[i].nwords * 4);
		code[cases[i].nwords] = 0xd4200000;
	}
	__builtin___clear_cache((char *)DIFF_CODE_VA,
				(char *)DIFF_CODE_VA + ncases * DIFF_CODE_STEP);

	sigaltstack(&alt, NULL);
	sigaction(SIGTRAP, &act, NULL);
	sigaction(SIGILL, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	__asm__ volatile("brk #0");
	return 1;
}

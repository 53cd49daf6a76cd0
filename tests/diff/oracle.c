/*
 * tests/diff/oracle.c - arm64 user program that runs instruction blocks and reports their results.
 *
 * usage: oracle FD     of the shared file; see case.h for what it reads and writes
 *
 * run_block() loads a case's registers and jumps to its slot. Blocks that run to their end branch
 * to a copy of block_end(), which stores the registers as the result and returns to whoever called
 * run_block(). Others end in a signal, whose handler stores the interrupted registers.
 */
#define _GNU_SOURCE
#include <asm/sigcontext.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/diff/case.h"

/* Read by the assembler code. */
struct diff_state *result;
uint64_t caller[2]; /* stack pointer and TPIDR_EL0 of run_block()'s caller */

static uint64_t filled[DIFF_ARENA_SIZE / 8];
static uint64_t *const arena = (uint64_t *)DIFF_ARENA_VA;

#define OFFSET(member, n)                                                                          \
	_Static_assert(offsetof(struct diff_state, member) == (n), "the assembler code knows it")
OFFSET(sp, 248);
OFFSET(v, 256);
OFFSET(pc, 768);
OFFSET(nzcv, 776);
OFFSET(fpcr, 784);
OFFSET(fpsr, 792);
OFFSET(stop, 800);

/* x0 = struct diff_state; the registers that C code wants back are on the stack. */
void run_block(const struct diff_state *in, uint64_t slot);
/* Return from run_block(). */
void run_return(void);
/* Position independent; x0 is kept in TPIDR_EL0 meanwhile. */
extern const char block_end[], block_end_end[];

__asm__(".text\n"
	".globl	run_block, run_return, block_end, block_end_end\n"
	"run_block:\n"
	"	stp	x29, x30, [sp, #-160]!\n"
	"	stp	x19, x20, [sp, #16]\n"
	"	stp	x21, x22, [sp, #32]\n"
	"	stp	x23, x24, [sp, #48]\n"
	"	stp	x25, x26, [sp, #64]\n"
	"	stp	x27, x28, [sp, #80]\n"
	"	stp	d8, d9, [sp, #96]\n"
	"	stp	d10, d11, [sp, #112]\n"
	"	stp	d12, d13, [sp, #128]\n"
	"	stp	d14, d15, [sp, #144]\n"
	"	ldr	x2, =caller\n"
	"	mov	x3, sp\n"
	"	mrs	x4, tpidr_el0\n"
	"	stp	x3, x4, [x2]\n"
	"	str	x1, [sp, #-16]\n" /* nobody else uses the stack here */
	"	.irp	n, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30\n"
	"	ldr	q\\n, [x0, #256 + 16 * \\n]\n"
	"	.endr\n"
	"	.irp	n, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31\n"
	"	ldr	q\\n, [x0, #256 + 16 * \\n]\n"
	"	.endr\n"
	"	clrex\n"
	"	ldr	x2, [x0, #776]\n"
	"	ldr	x3, [x0, #784]\n"
	"	ldr	x4, [x0, #792]\n"
	"	msr	nzcv, x2\n"
	"	msr	fpcr, x3\n"
	"	msr	fpsr, x4\n"
	"	ldr	x30, [x0, #240]\n"
	"	.irp	n, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28\n"
	"	ldr	x\\n, [x0, #8 * \\n]\n"
	"	.endr\n"
	"	.irp	n, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29\n"
	"	ldr	x\\n, [x0, #8 * \\n]\n"
	"	.endr\n"
	"	ldr	x1, [x0, #248]\n"
	"	mov	sp, x1\n"
	"	ldr	x1, [x0, #8]\n"
	"	ldr	x0, =caller\n"
	"	ldr	x0, [x0]\n"
	"	ldr	x0, [x0, #-16]\n"
	"	br	x0\n"
	"	.ltorg\n"
	"block_end:\n"
	"	msr	tpidr_el0, x0\n"
	"	ldr	x0, 1f\n"
	"	ldr	x0, [x0]\n"
	"	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	str	x\\n, [x0, #8 * \\n]\n"
	"	.endr\n"
	"	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n"
	"	str	x\\n, [x0, #8 * \\n]\n"
	"	.endr\n"
	"	mov	x1, sp\n"
	"	str	x1, [x0, #248]\n"
	"	mrs	x1, tpidr_el0\n"
	"	str	x1, [x0]\n"
	"	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	str	q\\n, [x0, #256 + 16 * \\n]\n"
	"	.endr\n"
	"	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
	"	str	q\\n, [x0, #256 + 16 * \\n]\n"
	"	.endr\n"
	"	mrs	x1, nzcv\n"
	"	mrs	x2, fpcr\n"
	"	mrs	x3, fpsr\n"
	"	str	x1, [x0, #776]\n"
	"	str	x2, [x0, #784]\n"
	"	str	x3, [x0, #792]\n"
	"	str	xzr, [x0, #800]\n" /* DIFF_END */
	"	ldr	x0, 2f\n"
	"	br	x0\n"
	"	.balign	8\n"
	"1:	.quad	result\n"
	"2:	.quad	run_return\n"
	"block_end_end:\n"
	"run_return:\n"
	"	ldr	x2, =caller\n"
	"	ldp	x3, x4, [x2]\n"
	"	mov	sp, x3\n"
	"	msr	tpidr_el0, x4\n"
	"	msr	fpcr, xzr\n"
	"	ldp	x19, x20, [sp, #16]\n"
	"	ldp	x21, x22, [sp, #32]\n"
	"	ldp	x23, x24, [sp, #48]\n"
	"	ldp	x25, x26, [sp, #64]\n"
	"	ldp	x27, x28, [sp, #80]\n"
	"	ldp	d8, d9, [sp, #96]\n"
	"	ldp	d10, d11, [sp, #112]\n"
	"	ldp	d12, d13, [sp, #128]\n"
	"	ldp	d14, d15, [sp, #144]\n"
	"	ldp	x29, x30, [sp], #160\n"
	"	ret\n"
	"	.ltorg\n");

static struct fpsimd_context *fp_context(ucontext_t *uc)
{
	struct _aarch64_ctx *ctx = (struct _aarch64_ctx *)uc->uc_mcontext.__reserved;

	while (ctx->magic != FPSIMD_MAGIC)
		ctx = (struct _aarch64_ctx *)((char *)ctx + ctx->size);
	return (struct fpsimd_context *)ctx;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct fpsimd_context *fp = fp_context(uc);

	(void)info;
	if (uc->uc_mcontext.pc < DIFF_CODE_VA) /* not in a block: a mistake of this program */
		_exit(3);
	memcpy(result->x, uc->uc_mcontext.regs, sizeof(result->x));
	result->sp = uc->uc_mcontext.sp;
	result->pc = uc->uc_mcontext.pc;
	result->nzcv = uc->uc_mcontext.pstate & 0xf0000000;
	memcpy(result->v, fp->vregs, sizeof(result->v));
	result->fpcr = fp->fpcr;
	result->fpsr = fp->fpsr;
	switch (sig) {
	case SIGILL: result->stop = DIFF_UNDEFINED; break;
	case SIGSEGV:
	case SIGBUS: result->stop = DIFF_FAULT; break;
	default: result->stop = DIFF_OTHER; break;
	}
	uc->uc_mcontext.pc = (uint64_t)run_return;
}

static void run_case(const struct diff_case *c, unsigned n, struct diff_state *out, bool memory)
{
	static uint64_t seed;

	if (memory && seed != c->in.memory) {
		seed = c->in.memory;
		diff_arena_fill(filled, seed);
		memcpy(arena, filled, sizeof(filled));
	}
	out->pc = DIFF_END_VA;
	result = out;
	run_block(&c->in, diff_pc(n) - 4);
	result = NULL;
	out->memory = memory ? diff_arena_settle(arena, filled) : 0;
}

/* New pages, so that the emulator need not notice that code has changed. */
static void *map(uint64_t va, size_t size, int prot)
{
	void *p = mmap((void *)va, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void run_batch(struct diff_shared *shared, unsigned n)
{
	size_t size = (n * DIFF_SLOT_SIZE + 4095) & ~(size_t)4095;
	char *code = map(DIFF_CODE_VA, size, PROT_READ | PROT_WRITE | PROT_EXEC);

	for (unsigned i = 0; i < n; i++)
		diff_slot_fill((uint32_t *)(code + i * DIFF_SLOT_SIZE), i, &shared->cases[i]);
	__builtin___clear_cache(code, code + size);
	for (unsigned i = 0; i < n; i++)
		run_case(&shared->cases[i], i, &shared->results[i], shared->memory);
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static const int signals[] = { SIGTRAP, SIGILL, SIGSEGV, SIGBUS, SIGFPE };
	struct diff_shared *shared;
	char *end;
	uint32_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: oracle FD\n");
		return 1;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
	if (shared == MAP_FAILED) {
		perror("mmap of the cases");
		return 1;
	}
	map(DIFF_ARENA_VA, DIFF_ARENA_SIZE, PROT_READ | PROT_WRITE);
	end = map(DIFF_END_VA, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(end, block_end, block_end_end - block_end);
	__builtin___clear_cache(end, end + 4096);
	sigaltstack(&alt, NULL);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	while (read(0, &n, sizeof(n)) == sizeof(n) && n <= DIFF_BATCH) {
		run_batch(shared, n);
		if (write(1, "", 1) != 1)
			return 1;
	}
	return 0;
}

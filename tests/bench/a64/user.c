/*
 * tests/bench/a64/user.c - the kernels as a program.
 *
 * usage: kernels NAME ROUNDS; prints a checksum. Free-standing, so that it runs under anything
 * that knows the Linux calls write and exit_group, and natively on the host.
 */
#include "kernels.h"

#ifdef __aarch64__
static long syscall3(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}
#define NR_WRITE 64
#define NR_EXIT  94
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl start\n");
#else
static long syscall3(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}
#define NR_WRITE 1
#define NR_EXIT  231
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall start\n");
#endif

static void print(u64 v)
{
	char text[17];

	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[v >> (60 - 4 * i) & 15];
	text[16] = '\n';
	syscall3(NR_WRITE, 1, (long)text, 17);
}

__attribute__((used)) void start(const u64 *stack)
{
	const char *name = (const char *)stack[2], *digits = (const char *)stack[3];
	u64 rounds = 0;

	if (stack[0] == 3) {
		while (*digits)
			rounds = rounds * 10 + (*digits++ - '0');
		for (const struct kernel *k = kernels; k->name; k++) {
			if (text_same(name, k->name)) {
				print(k->run(rounds));
				syscall3(NR_EXIT, 0, 0, 0);
			}
		}
	}
	syscall3(NR_EXIT, 2, 0, 0);
}

/*
 * tests/bench/guest/linux.c - loads on a Linux kernel: system calls, page faults, processes, pipes.
 *
 * Reads lines "NAME ROUNDS" and answers "loads: done" to each, or "loads: failed"; it begins with
 * "loads: ready". Free-standing, so that nothing but the kernel is measured. As "PROGRAM exit" it
 * ends at once: that is what the load fork executes.
 */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;

/* Numbers of Linux' calls on arm64, and constants of its interface. */
enum {
	SYS_PIPE2 = 59,
	SYS_READ = 63,
	SYS_WRITE = 64,
	SYS_CLOSE = 57,
	SYS_EXIT_GROUP = 94,
	SYS_GETPPID = 173,
	SYS_MUNMAP = 215,
	SYS_CLONE = 220,
	SYS_EXECVE = 221,
	SYS_MMAP = 222,
	SYS_WAIT4 = 260,
};

#define SIGCHLD       17
#define PROT_RW       3
#define MAP_ANONYMOUS 0x22 /* private */
#define FAULT_BYTES   (4ul << 20)

static long call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static long call(long nr, long a, long b, long c)
{
	return call6(nr, a, b, c, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl start\n");

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static void print(const char *s)
{
	call(SYS_WRITE, 1, (long)s, length(s));
}

static _Noreturn void leave(int status)
{
	for (;;)
		call(SYS_EXIT_GROUP, status, 0, 0);
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* A call that does next to nothing. */
static int run_getpid(u64 rounds)
{
	while (rounds--)
		if (call(SYS_GETPPID, 0, 0, 0) < 0)
			return -1;
	return 0;
}

/* @rounds pages are touched that have no memory yet. */
static int run_fault(u64 rounds)
{
	for (u64 done = 0; done < rounds; done += FAULT_BYTES / 4096) {
		char *at = (char *)call6(SYS_MMAP, 0, FAULT_BYTES, PROT_RW, MAP_ANONYMOUS, -1, 0);

		if ((u64)at >= (u64)-4096)
			return -1;
		for (u64 i = 0; i < FAULT_BYTES; i += 4096)
			*(volatile char *)(at + i) = 1;
		if (call(SYS_MUNMAP, (long)at, FAULT_BYTES, 0))
			return -1;
	}
	return 0;
}

/* A new process that executes this program again, and its end. */
static int run_fork(u64 rounds)
{
	static char *argv[] = { "/loads", "exit", NULL }, *envp[] = { NULL };

	while (rounds--) {
		int status = -1;
		long child = call6(SYS_CLONE, SIGCHLD, 0, 0, 0, 0, 0);

		if (!child) {
			call(SYS_EXECVE, (long)argv[0], (long)argv, (long)envp);
			leave(1);
		}
		if (child < 0 || call6(SYS_WAIT4, child, (long)&status, 0, 0, 0, 0) != child ||
		    status)
			return -1;
	}
	return 0;
}

/* Gives back each byte until there are no more. */
static _Noreturn void echo(int from, int to)
{
	char byte;

	while (call(SYS_READ, from, (long)&byte, 1) == 1)
		call(SYS_WRITE, to, (long)&byte, 1);
	leave(0);
}

/* A byte goes to another process and comes back. */
static int run_pipe(u64 rounds)
{
	int there[2], back[2], status = -1;
	char byte = 1;
	long child;

	if (call(SYS_PIPE2, (long)there, 0, 0) || call(SYS_PIPE2, (long)back, 0, 0))
		return -1;
	child = call6(SYS_CLONE, SIGCHLD, 0, 0, 0, 0, 0);
	if (child < 0)
		return -1;
	if (!child) {
		call(SYS_CLOSE, there[1], 0, 0);
		echo(there[0], back[1]);
	}
	while (rounds--)
		if (call(SYS_WRITE, there[1], (long)&byte, 1) != 1 ||
		    call(SYS_READ, back[0], (long)&byte, 1) != 1)
			return -1;
	for (int i = 0; i < 2; i++) {
		call(SYS_CLOSE, there[i], 0, 0);
		call(SYS_CLOSE, back[i], 0, 0);
	}
	return call6(SYS_WAIT4, child, (long)&status, 0, 0, 0, 0) == child && !status ? 0 : -1;
}

static const struct {
	const char *name;
	int (*run)(u64 rounds);
} loads[] = {
	{ "getpid", run_getpid },
	{ "fault", run_fault },
	{ "fork", run_fork },
	{ "pipe", run_pipe },
};

static int run(const char *name, u64 rounds)
{
	for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if (same(loads[i].name, name))
			return loads[i].run(rounds);
	return -1;
}

/* "NAME ROUNDS\n" */
static int run_line(char *line)
{
	u64 rounds = 0;
	char *at = line;

	while (*at && *at != ' ')
		at++;
	if (*at)
		*at++ = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		rounds = rounds * 10 + (u64)(*at - '0');
	return run(line, rounds);
}

__attribute__((used)) void start(const u64 *stack)
{
	const char *argument = (const char *)stack[2];
	char line[64];
	long n;

	if (stack[0] > 1 && same(argument, "exit"))
		leave(0);
	print("loads: ready\n");
	while ((n = call(SYS_READ, 0, (long)line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		print(run_line(line) ? "loads: failed\n" : "loads: done\n");
	}
	leave(0);
}

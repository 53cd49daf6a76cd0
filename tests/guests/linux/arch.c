/*
 * arch.c - test guests as programs of arm64 Linux: memory from mmap(), standard input and output.
 *
 * The terminal must be raw, so that a command byte arrives as it is typed and lines end in a
 * newline alone. Sources: Linux, include/uapi/asm-generic/unistd.h and mman-common.h (numbers).
 */
#include "../guest.h"

#define SYS_READ       63
#define SYS_WRITE      64
#define SYS_PPOLL      73
#define SYS_EXIT_GROUP 94
#define SYS_NANOSLEEP  101
#define SYS_MMAP       222

#define PROT_READ_WRITE 3
#define MAP_OPTIONS     0x104022 /* private, anonymous, no reservation, not over another one */
#define POLLIN          1

/* Addresses are as good as any; pages exist when they are written. */
#define AREA_BASE 0x1000000000UL
#define AREA_SIZE 0x1000000000UL

#define RELAX_NS    100000
#define CMDLINE_MAX 1024

struct pollfd {
	int fd;
	short events, revents;
};

struct timespec {
	long sec, nsec;
};

long linux_syscall(long number, ...);
void linux_start(const u64 *stack);

const struct guest_option arch_options[] = { { NULL, NULL, NULL } };
const u64 arch_ram_base = AREA_BASE;
const u64 arch_testdev_base = 0; /* not for user programs */

static char cmdline[CMDLINE_MAX];

u64 arch_ticks(void)
{
	u64 val;

	asm volatile("isb; mrs %0, cntvct_el0" : "=r"(val) : : "memory");
	return val;
}

u64 arch_ticks_hz(void)
{
	u64 val;

	asm volatile("mrs %0, cntfrq_el0" : "=r"(val));
	return val;
}

void arch_relax(void)
{
	const struct timespec t = { 0, RELAX_NS };

	linux_syscall(SYS_NANOSLEEP, &t, NULL);
}

void arch_barrier(void)
{
	__sync_synchronize();
}

void arch_stop(void)
{
	for (;;)
		linux_syscall(SYS_EXIT_GROUP, 1L);
}

const char *arch_cmdline(void)
{
	return cmdline;
}

bool arch_ram_covers(u64 start, u64 size)
{
	return start >= AREA_BASE && start - AREA_BASE <= AREA_SIZE &&
	       size <= AREA_SIZE - (start - AREA_BASE);
}

void arch_putc(u8 c)
{
	while (linux_syscall(SYS_WRITE, 1L, &c, 1L) < 0)
		arch_relax();
}

int arch_getc(void)
{
	const struct timespec now = { 0, 0 };
	struct pollfd in = { .fd = 0, .events = POLLIN };
	u8 c;

	if (linux_syscall(SYS_PPOLL, &in, 1L, &now, NULL, 0L) != 1 ||
	    linux_syscall(SYS_READ, 0L, &c, 1L) != 1)
		return -1;
	return c;
}

u64 arch_virtio_mmio(unsigned slot)
{
	return 0;
}

/* One thread is what the writer needs here; asking for more is answered by its message. */
bool arch_start_cpu(unsigned index, void (*fn)(unsigned index))
{
	return false;
}

static void join_arguments(const u64 *stack)
{
	size_t len = 0;

	for (u64 i = 1; i < stack[0]; i++) {
		const char *arg = (const char *)stack[1 + i];

		while (*arg && len < CMDLINE_MAX - 2)
			cmdline[len++] = *arg++;
		cmdline[len++] = ' ';
	}
	cmdline[len ? len - 1 : 0] = 0;
}

/* Called by start.S with the stack as the kernel made it. */
void linux_start(const u64 *stack)
{
	join_arguments(stack);
	if (linux_syscall(SYS_MMAP, AREA_BASE, AREA_SIZE, (long)PROT_READ_WRITE, (long)MAP_OPTIONS,
			  -1L, 0L) != (long)AREA_BASE)
		die("no address space at 0x%lx", AREA_BASE);
	guest_main();
}

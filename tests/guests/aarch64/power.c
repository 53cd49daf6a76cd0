/*
 * power.c - test guest for arm64 that needs no device: power control of CPUs and machine.
 *
 * It ends with SYSTEM_OFF if everything was as PSCI (Arm DEN 0022) says, else with SYSTEM_RESET;
 * the number of the check that failed is then in x19. With "reset" on the command line a machine
 * that was reset once comes back here, and is told by a word that the reset does not write.
 */
#include "../guest.h"
#include "layout.h"

#define PSCI_VERSION       0x84000000UL
#define PSCI_CPU_OFF       0x84000002UL
#define PSCI_CPU_ON        0xc4000003UL
#define PSCI_AFFINITY_INFO 0xc4000004UL
#define PSCI_SYSTEM_OFF    0x84000008UL
#define PSCI_SYSTEM_RESET  0x84000009UL
#define PSCI_FEATURES      0x8400000aUL
#define PSCI_UNKNOWN       0x8400001eUL

#define NOT_SUPPORTED      (-1)
#define INVALID_PARAMETERS (-2)
#define ALREADY_ON         (-4)

#define FDT_MAGIC 0xd00dfeed
#define CONTEXT   1UL /* CPU index, as boot.S wants it */

extern char secondary_entry[];

long psci_call(u64 use_smc, u64 function, u64 a, u64 b, u64 c);
void arch_start(unsigned index, u64 level, const u32 *fdt);
void __attribute__((noreturn)) trap_report(u64 vector, u64 esr, u64 elr, u64 far);

static volatile unsigned second_ran;
static u64 smc;

static long call(u64 function, u64 a, u64 b, u64 c)
{
	return psci_call(smc, function, a, b, c);
}

static void __attribute__((noreturn)) fail(u64 number)
{
	register u64 where asm("x19") = number;

	asm volatile("" : : "r"(where));
	call(PSCI_SYSTEM_RESET, 0, 0, 0);
	for (;;)
		asm volatile("wfi");
}

static void check(u64 number, bool ok)
{
	if (!ok)
		fail(number);
}

void trap_report(u64 vector, u64 esr, u64 elr, u64 far)
{
	fail(esr);
}

/* Whether the text lies anywhere in the device tree: its command line is the only place. */
static bool tree_has(const u32 *fdt, const char *word)
{
	const char *text = (const char *)fdt, *end = text + __builtin_bswap32(fdt[1]);

	for (; text < end; text++) {
		const char *a = text, *b = word;

		while (*b && a < end && *a == *b) {
			a++;
			b++;
		}
		if (!*b)
			return true;
	}
	return false;
}

/* Turn the second CPU on, wait until it is off again, and see that it can be turned on again. */
static void second_cpu(void)
{
	check(10, call(PSCI_AFFINITY_INFO, 1, 0, 0) == 1);
	for (unsigned round = 1; round <= 3; round++) {
		check(11, call(PSCI_CPU_ON, 1, (u64)secondary_entry, CONTEXT) == 0);
		while (call(PSCI_AFFINITY_INFO, 1, 0, 0) != 1)
			asm volatile("yield");
		check(12, second_ran == round);
	}
}

static void one_cpu(void)
{
	check(1, call(PSCI_VERSION, 0, 0, 0) == 0x10001);
	check(2, call(PSCI_FEATURES, PSCI_CPU_ON, 0, 0) == 0);
	check(3, (int)call(PSCI_FEATURES, PSCI_UNKNOWN, 0, 0) == NOT_SUPPORTED);
	check(4, (int)call(PSCI_UNKNOWN, 0, 0, 0) == NOT_SUPPORTED);
	check(5, call(PSCI_CPU_ON, 0, (u64)secondary_entry, 0) == ALREADY_ON);
	check(6, call(PSCI_CPU_ON, 0x700, (u64)secondary_entry, 0) == INVALID_PARAMETERS);
	check(7, call(PSCI_AFFINITY_INFO, 0, 0, 0) == 0);
}

void arch_start(unsigned index, u64 level, const u32 *fdt)
{
	static volatile u32 *const kept = (u32 *)(RAM_BASE + 0x1000);
	u32 size;

	if (index) {
		second_ran++;
		asm volatile("dsb sy");
		psci_call(level == 2, PSCI_CPU_OFF, 0, 0, 0);
		fail(20);
	}
	size = __builtin_bswap32(fdt[1]);
	smc = level == 2;
	check(30, __builtin_bswap32(fdt[0]) == FDT_MAGIC);
	one_cpu();
	if (tree_has(fdt, "two-cpus"))
		second_cpu();
	if (tree_has(fdt, "reset-once") && *kept != size) {
		*kept = size;
		call(PSCI_SYSTEM_RESET, 0, 0, 0);
		fail(40);
	}
	call(PSCI_SYSTEM_OFF, 0, 0, 0);
	fail(50);
}

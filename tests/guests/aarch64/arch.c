/*
 * arch.c - test guests on arm64, machine virt: device tree, PL011, generic timer, PSCI.
 *
 * Sources: Devicetree Specification 0.4, chapter 5 (flattened format); Arm DDI 0183 (PL011);
 * Arm DEN 0022 (PSCI); addresses as the machine's own device tree gives them.
 */
#include "arm.h"
#include "layout.h"

#define UART          0x09000000UL
#define UART_DR       0x00
#define UART_FR       0x18
#define UART_LCR_H    0x2c
#define UART_CR       0x30
#define FR_RX_EMPTY   (1 << 4)
#define FR_TX_FULL    (1 << 5)
#define LCR_8BIT_FIFO 0x70
#define CR_ENABLE     0x301

#define FDT_MAGIC      0xd00dfeed
#define FDT_BEGIN_NODE 1
#define FDT_END_NODE   2
#define FDT_PROP       3
#define FDT_NOP        4

#define PSCI_SYSTEM_OFF 0x84000008UL
#define PSCI_CPU_ON     0xc4000003UL
#define CMDLINE_MAX     1024

extern char secondary_entry[];

void arch_start(unsigned index, u64 level, const u32 *fdt);
void __attribute__((noreturn)) trap_report(u64 vector, u64 esr, u64 elr, u64 far);

const struct guest_option arch_options[] = { { NULL, NULL, NULL } };
const u64 arch_ram_base = RAM_BASE;
const u64 arch_testdev_base = 0; /* virt has no fixed place for it, and reading a hole aborts */

static char cmdline[CMDLINE_MAX];
static u64 ram_start, ram_size;
static u64 start_level;
static void (*cpu_fn)(unsigned index);
static volatile unsigned cpu_arrived;

static volatile u32 *uart(unsigned reg)
{
	return (volatile u32 *)(UART + reg);
}

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
	asm volatile("yield");
}

void arch_barrier(void)
{
	__sync_synchronize();
}

void arch_stop(void)
{
	for (;;)
		asm volatile("wfi");
}

u64 arm_start_level(void)
{
	return start_level;
}

void arm_power_off(void)
{
	psci_call(start_level == 2, PSCI_SYSTEM_OFF, 0, 0, 0);
	arch_stop();
}

const char *arch_cmdline(void)
{
	return cmdline;
}

bool arch_ram_covers(u64 start, u64 size)
{
	return start >= ram_start && start - ram_start <= ram_size &&
	       size <= ram_size - (start - ram_start);
}

void arch_putc(u8 c)
{
	while (*uart(UART_FR) & FR_TX_FULL)
		arch_relax();
	*uart(UART_DR) = c;
}

int arch_getc(void)
{
	return *uart(UART_FR) & FR_RX_EMPTY ? -1 : (int)(*uart(UART_DR) & 0xff);
}

u64 arch_virtio_mmio(unsigned slot)
{
	return slot < 32 ? 0x0a000000 + slot * 0x200 : 0;
}

static u32 be32(const void *p)
{
	return __builtin_bswap32(*(const u32 *)p);
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Numbers in virt's memory node are two cells each, like the root's #address-cells says. */
static void take_property(const char *node, const char *name, const void *data, u32 len)
{
	const u32 *cell = data;
	const char *text = data;

	if (same(node, "chosen") && same(name, "bootargs")) {
		for (u32 i = 0; i < len && i < CMDLINE_MAX - 1; i++)
			cmdline[i] = text[i];
	} else if (node[0] == 'm' && node[1] == 'e' && node[2] == 'm' && same(name, "reg") &&
		   len >= 16) {
		ram_start = (u64)be32(cell) << 32 | be32(cell + 1);
		ram_size = (u64)be32(cell + 2) << 32 | be32(cell + 3);
	}
}

static void read_fdt(const u32 *fdt)
{
	const char *names, *node = "";
	const u32 *p;

	if (be32(fdt) != FDT_MAGIC)
		return;
	p = fdt + be32(fdt + 2) / 4;
	names = (const char *)fdt + be32(fdt + 3);
	for (;;) {
		u32 token = be32(p++);

		if (token == FDT_BEGIN_NODE) {
			node = (const char *)p;
			p += (__builtin_strlen(node) + 4) / 4;
		} else if (token == FDT_PROP) {
			take_property(node, names + be32(p + 1), p + 2, be32(p));
			p += 2 + (be32(p) + 3) / 4;
		} else if (token != FDT_END_NODE && token != FDT_NOP) {
			return;
		}
	}
}

/* The compiler asks for these by name. */
size_t strlen(const char *s);
size_t strlen(const char *s)
{
	size_t n = 0;

	while (((const volatile char *)s)[n])
		n++;
	return n;
}

bool arch_start_cpu(unsigned index, void (*fn)(unsigned index))
{
	u64 end = now_ns() + 500000000;

	cpu_fn = fn;
	arch_barrier();
	if (psci_call(start_level == 2, PSCI_CPU_ON, index, (u64)secondary_entry, index))
		return false;
	while (cpu_arrived != index && now_ns() < end)
		arch_relax();
	return cpu_arrived == index;
}

void trap_report(u64 vector, u64 esr, u64 elr, u64 far)
{
	die("exception vector %lu esr 0x%lx elr 0x%lx far 0x%lx", vector, esr, elr, far);
}

/* Called by boot.S at EL1 on every CPU, with MMU and caches on. */
void arch_start(unsigned index, u64 level, const u32 *fdt)
{
	if (index) {
		cpu_arrived = index;
		cpu_fn(index);
		arch_stop();
	}
	start_level = level;
	*uart(UART_LCR_H) = LCR_8BIT_FIFO;
	*uart(UART_CR) = CR_ENABLE;
	read_fdt(fdt);
	guest_main();
}

/*
 * arch.c - test guests on x86-64: start-up in C, uart at port 0x3f8, TSC, memory map.
 *
 * Sources: PVH start info from Xen's public hvm/start_info.h; 16550 registers from its data sheet;
 * clock MSR and CPUID leaves from the kernel's Documentation/virt/kvm/x86/{msr,cpuid}.rst;
 * 8254 modes and latching from its data sheet.
 */
#include "../guest.h"
#include "layout.h"
#include "x86.h"

#define PVH_MAGIC   0x336ec578
#define PVH_RAM     1
#define CMDLINE_MAX 1024
#define RAM_RANGES  8

#define UART          0x3f8
#define UART_FIFO     16
#define LSR_DATA      0x01
#define LSR_THR_EMPTY 0x20

#define PIT       0x40
#define PIT_HZ    1193182
#define PIT_COUNT 23864 /* 20 ms */

#define MSR_KVM_SYSTEM_TIME_NEW  0x4b564d01
#define KVM_FEATURE_CLOCKSOURCE2 (1 << 3)

struct pvh_start_info {
	u32 magic, version, flags, nr_modules;
	u64 modules, cmdline, rsdp, memmap;
	u32 memmap_entries, reserved;
};

struct pvh_memmap_entry {
	u64 addr, size;
	u32 type, reserved;
};

struct pvclock {
	u32 version, pad;
	u64 tsc_timestamp, system_time;
	u32 tsc_to_system_mul;
	signed char tsc_shift;
	u8 flags, pad2[2];
};

struct ram_range {
	u64 start, end;
};

_Static_assert(sizeof(struct pvh_start_info) == 56, "start info of version 1");
_Static_assert(sizeof(struct pvh_memmap_entry) == 24, "start info memory map entry");
_Static_assert(sizeof(struct pvclock) == 32, "KVM clock page");

extern u64 pvh_start_info;

static const char *const ring_names[] = { "0", "3", NULL };

/* "ring" is read by wants_ring_0(), here it is only checked. */
const struct guest_option arch_options[] = { { "ring", NULL, ring_names }, { NULL, NULL, NULL } };
const u64 arch_ram_base = 0;
const u64 arch_testdev_base = 0xfe000000;

static char cmdline[CMDLINE_MAX];
static struct ram_range ram[RAM_RANGES];
static unsigned nr_ram;
static u64 tsc_hz;

static u8 in8(u16 port)
{
	u8 val;

	asm volatile("in %%dx, %%al" : "=a"(val) : "d"(port));
	return val;
}

static void out8(u16 port, u8 val)
{
	asm volatile("out %%al, %%dx" : : "a"(val), "d"(port));
}

static void cpuid(u32 leaf, u32 reg[4])
{
	asm volatile("cpuid"
		     : "=a"(reg[0]), "=b"(reg[1]), "=c"(reg[2]), "=d"(reg[3])
		     : "a"(leaf), "c"(0));
}

static void wrmsr(u32 msr, u64 val)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)val), "d"((u32)(val >> 32)));
}

u64 arch_ticks(void)
{
	u32 lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (u64)hi << 32 | lo;
}

u64 arch_ticks_hz(void)
{
	return tsc_hz;
}

void arch_relax(void)
{
	asm volatile("pause");
}

void arch_barrier(void)
{
	__sync_synchronize();
}

void arch_stop(void)
{
	for (;;)
		arch_relax();
}

const char *arch_cmdline(void)
{
	return cmdline;
}

bool arch_ram_covers(u64 start, u64 size)
{
	for (unsigned i = 0; i < nr_ram; i++)
		if (start >= ram[i].start && size <= ram[i].end - start && start < ram[i].end)
			return true;
	return false;
}

void arch_putc(u8 c)
{
	static unsigned room;

	/* On some hosts each port access costs a trap: ask once for a whole FIFO. */
	if (!room) {
		while (!(in8(UART + 5) & LSR_THR_EMPTY))
			arch_relax();
		room = UART_FIFO;
	}
	out8(UART, c);
	room--;
}

int arch_getc(void)
{
	return in8(UART + 5) & LSR_DATA ? in8(UART) : -1;
}

u64 arch_virtio_mmio(unsigned slot)
{
	/* microvm: 24 transports, 512 bytes each */
	return slot < 24 ? 0xfeb00000 + slot * 0x200 : 0;
}

/* KVM tells the exact ratio of TSC and nanoseconds in its clock page; 0 when it is not KVM. */
static u64 tsc_hz_from_pvclock(void)
{
	static volatile struct pvclock page __attribute__((aligned(64)));
	u32 reg[4];
	u64 hz;

	cpuid(0x40000000, reg);
	if (reg[1] != 0x4b4d564b || reg[2] != 0x564b4d56 || reg[3] != 0x4d) /* "KVMKVMKVM" */
		return 0;
	cpuid(0x40000001, reg);
	if (!(reg[0] & KVM_FEATURE_CLOCKSOURCE2))
		return 0;
	wrmsr(MSR_KVM_SYSTEM_TIME_NEW, (u64)(uintptr_t)&page | 1);
	if (!page.tsc_to_system_mul)
		return 0;
	wrmsr(MSR_KVM_SYSTEM_TIME_NEW, 0);
	hz = (1000000000ULL << 32) / page.tsc_to_system_mul;
	return page.tsc_shift < 0 ? hz << -page.tsc_shift : hz >> page.tsc_shift;
}

/* Latches and reads the count of channel 0. */
static u16 pit_count(void)
{
	u8 low;

	out8(PIT + 3, 0);
	low = in8(PIT);
	return low | in8(PIT) << 8;
}

/*
 * Counts the TSC while channel 0 of the 8254 runs down; 0 when there is no such timer. Its
 * interrupt goes nowhere, and channel 2 is no choice: its gate is missing on microvm.
 */
static u64 tsc_hz_from_pit(void)
{
	unsigned tries = 30000;
	u64 start, ticks;
	u16 count;

	out8(PIT + 3, 0x34); /* channel 0, both bytes, mode 2 */
	out8(PIT, 0xff);
	out8(PIT, 0xff);
	do
		count = pit_count();
	while ((count < 0xf000 || count == 0xffff) && --tries);
	start = arch_ticks();
	do
		ticks = 0xffff - pit_count();
	while (ticks < PIT_COUNT && --tries);
	if (!tries)
		return 0;
	return (arch_ticks() - start) * PIT_HZ / (ticks - (0xffff - count));
}

static void read_start_info(void)
{
	const struct pvh_start_info *info = (void *)(uintptr_t)pvh_start_info;
	const struct pvh_memmap_entry *map;
	const char *text;

	if (info->magic != PVH_MAGIC)
		return;
	text = (const char *)(uintptr_t)info->cmdline;
	if (text)
		for (int i = 0; i < CMDLINE_MAX - 1 && text[i]; i++)
			cmdline[i] = text[i];
	if (!info->version)
		return;
	map = (void *)(uintptr_t)info->memmap;
	for (u32 i = 0; i < info->memmap_entries && nr_ram < RAM_RANGES; i++)
		if (map[i].type == PVH_RAM) {
			ram[nr_ram].start = map[i].addr;
			ram[nr_ram++].end = map[i].addr + map[i].size;
		}
}

/* The one option that is needed before there is a console: "ring=0" stays in kernel mode. */
static bool wants_ring_0(void)
{
	for (const char *s = cmdline; *s; s++)
		if ((s == cmdline || s[-1] == ' ') && s[0] == 'r' && s[1] == 'i' && s[2] == 'n' &&
		    s[3] == 'g' && s[4] == '=' && s[5] == '0')
			return true;
	return false;
}

static void user_main(unsigned index)
{
	guest_main();
}

/* Called by boot.S at CPL 0 on every CPU, on its trap stack. */
void arch_start(unsigned index)
{
	static bool ring_0;
	void (*fn)(unsigned) = index ? smp_entry : user_main;

	if (!index) {
		read_start_info();
		ring_0 = wants_ring_0();
		tsc_hz = tsc_hz_from_pvclock();
		if (!tsc_hz)
			tsc_hz = tsc_hz_from_pit();
		traps_init();
		out8(UART + 1, 0);    /* no interrupts */
		out8(UART + 2, 0x07); /* FIFOs on and empty */
	}
	traps_load(index);
	if (ring_0)
		fn(index);
	else
		enter_user(fn, index, stacks + (((u64)index * 2 + 1) << (STACK_SHIFT - 1)));
}

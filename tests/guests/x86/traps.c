/*
 * traps.c - exceptions of a test guest: table, task state segments, report.
 *
 * Source: Intel SDM, volume 3, sections 6.14 (64-bit interrupt gates) and 7.7 (64-bit TSS).
 */
#include "../guest.h"
#include "layout.h"
#include "x86.h"

struct gate {
	u16 offset_low, selector;
	u8 ist, type;
	u16 offset_mid;
	u32 offset_high, reserved;
};

struct tss {
	u32 reserved0;
	u64 rsp0, rsp1, rsp2, reserved1, ist[7], reserved2;
	u16 reserved3, io_map;
} __attribute__((packed));

struct table_pointer {
	u16 limit;
	u64 base;
} __attribute__((packed));

struct trap_frame {
	u64 vector, error, rip, cs, rflags, rsp, ss;
};

_Static_assert(sizeof(struct gate) == 16, "64-bit gate");
_Static_assert(sizeof(struct tss) == 104, "64-bit TSS");

extern u64 gdt[];
extern char trap_stubs[];

static struct gate idt[NR_TRAPS];
static struct tss tss[MAX_CPUS];

void trap_report(const struct trap_frame *frame, u64 cr2);

void traps_init(void)
{
	for (int i = 0; i < NR_TRAPS; i++) {
		u64 entry = (u64)(uintptr_t)trap_stubs + i * 16;

		idt[i] = (struct gate){
			.offset_low = entry,
			.selector = SEL_CODE,
			.type = 0x8e, /* present, DPL 0, interrupt gate */
			.offset_mid = entry >> 16,
		};
	}
}

void traps_load(unsigned index)
{
	u64 base = (u64)(uintptr_t)&tss[index];
	struct table_pointer idtr = { sizeof(idt) - 1, (u64)(uintptr_t)idt };

	tss[index].rsp0 = (u64)(uintptr_t)stacks + ((u64)(index + 1) << STACK_SHIFT);
	tss[index].io_map = sizeof(struct tss); /* no bitmap */
	gdt[SEL_TSS / 8 + index * 2] = (sizeof(struct tss) - 1) | (base & 0xffffff) << 16 |
				       0x89ULL << 40 | (base >> 24 & 0xff) << 56;
	gdt[SEL_TSS / 8 + index * 2 + 1] = base >> 32;
	asm volatile("lidt %0" : : "m"(idtr));
	asm volatile("ltr %w0" : : "r"(SEL_TSS + index * 16));
}

void trap_report(const struct trap_frame *frame, u64 cr2)
{
	die("exception %lu error 0x%lx rip 0x%lx cs 0x%lx rsp 0x%lx cr2 0x%lx", frame->vector,
	    frame->error, frame->rip, frame->cs, frame->rsp, cr2);
}

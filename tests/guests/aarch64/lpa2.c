/*
 * lpa2.c - test guest for arm64: addresses of 52 bits, with 4 and 16 KiB pages (FEAT_LPA2) and with
 * 64 KiB pages (FEAT_LVA, FEAT_LPA).
 *
 * TTBR1_EL1 has the tables under test. Every line is the same on any correct CPU that has these.
 */
#include "trap.h"
#include "layout.h"

#define TCR_DS   (1ul << 59)
#define TCR_EPD1 (1ul << 23)
#define PS_48    (5ul << 32)
#define PS_52    (6ul << 32)

#define LEAF   (PTE_AF | 1ul << 2 | PTE_PXN | PTE_UXN) /* bits 9:8 are of an address here */
#define OFFSET 0x9abcdef1230000ul                      /* of the page, with bits at every level */
#define VA     (0xfff0000000000000ul | (OFFSET & 0xfffffffffffff))
#define FAR_PA 0xc000040000000ul /* nothing is there */

static unsigned lg; /* of the granule */

static int first_level(void)
{
	return lg == 12 ? -1 : lg == 14 ? 0 : 1;
}

static unsigned shift_of(int level)
{
	return lg + (lg - 3) * (3 - level);
}

static u64 address_bits(u64 pa)
{
	if (lg == 16)
		return (pa & 0xffffffff0000) | (pa >> 48 & 0xf) << 12;
	return (pa & 0x3fffffffff000) | (pa >> 50 & 3) << 8;
}

static u64 table_of(u64 desc)
{
	return desc & 0xffffffff0000;
}

static u64 root;

static volatile u64 *entry(u64 va, int level)
{
	u64 table = root;

	for (int l = first_level();; l++) {
		unsigned top = l == first_level() ? 52 : shift_of(l - 1);
		volatile u64 *e = (u64 *)table + ((va & ((1ul << top) - 1)) >> shift_of(l));

		if (l == level)
			return e;
		if (!(*e & 1))
			*e = page_alloc(0) | 3;
		table = table_of(*e);
	}
}

static void select(unsigned granule, u64 extra)
{
	u64 tg1 = granule == 12 ? 2 : granule == 14 ? 1 : 3;

	lg = granule;
	root = page_alloc(0);
	msr("ttbr1_el1", root);
	msr("tcr_el1", (TCR & ~(TCR_EPD1 | 7ul << 32)) | 12ul << 16 | tg1 << 30 | extra);
	tlbi_all();
}

static void change(volatile u64 *e, u64 value)
{
	*e = value;
	tlbi_all();
}

static void show(const char *what, u64 value)
{
	say("%s: ", what);
	if (trap.count)
		say("code %lx\n", trap_fsc());
	else
		say("%lx\n", value);
}

static void test_levels(u64 memory)
{
	for (int level = first_level(); level <= 3; level++) {
		volatile u64 *e = entry(VA, level);
		u64 old = *e;

		say("level %lu of 4: ", (u64)(level + 1));
		change(e, 0);
		peek(VA);
		say("not valid: code %lx", trap_fsc());
		change(e, (old & 0xfff0000000000fffu) | address_bits(FAR_PA));
		peek(VA);
		say(", too far: code %lx", trap_fsc());
		msr("tcr_el1", (mrs("tcr_el1") & ~(7ul << 32)) | PS_52);
		tlbi_all();
		peek(VA);
		say(", nothing there: code %lx\n", trap_fsc());
		msr("tcr_el1", (mrs("tcr_el1") & ~(7ul << 32)) | PS_48);
		change(e, old);
	}
	show("as before", peek(VA));
}

static void test_blocks(u64 memory)
{
	for (int level = first_level(); level < 3; level++) {
		u64 size = 1ul << shift_of(level), va = 0xfff0000000000000ul + (3ul << 50);
		volatile u64 *e = entry(va, level);

		change(e, (memory & -size) | LEAF | 1);
		show("block", peek((va & -size) + (memory & (size - 1))));
		change(e, 0);
	}
}

static void test_root(void)
{
	msr("ttbr1_el1", root | 1 << 2); /* bit 48, with 64 KiB if addresses have 52 bits */
	tlbi_all();
	peek(VA);
	if (lg != 16)
		say("root too far: code %lx\n", trap_fsc());
	msr("tcr_el1", (mrs("tcr_el1") & ~(7ul << 32)) | PS_52);
	tlbi_all();
	peek(VA);
	say("root not there: code %lx\n", trap_fsc());
	msr("ttbr1_el1", root);
	tlbi_all();
}

static u64 at_read(u64 va)
{
	asm volatile("at s1e1r, %0; isb" : : "r"(va));
	return mrs("par_el1");
}

/* One TLB entry goes, by address and by range. */
static void test_tlbi(u64 memory)
{
	volatile u64 *e = entry(VA, 3);
	u64 other = page_alloc(0x77), old = *e;
	u64 base = lg == 16 || mrs("tcr_el1") & TCR_DS ? VA >> 16 & 0x1ffffffffful : 0;
	u64 tg = lg == 12 ? 1 : lg == 14 ? 2 : 3;

	peek(VA);
	*e = address_bits(other) | LEAF | 3;
	asm volatile("dsb ishst; tlbi vaae1is, %0; dsb ish; isb"
		     :
		     : "r"((u64)(VA << 8) >> 20)
		     : "memory");
	show("TLBI by address", peek(VA));
	*e = old;
	asm volatile("dsb ishst; sys #0, c8, c2, #3, %0; dsb ish; isb" /* RVAAE1IS */
		     :
		     : "r"(base | tg << 46)
		     : "memory");
	show("by range", peek(VA));
}

static void test_granule(unsigned granule, u64 ds)
{
	u64 memory;

	map_begin(12); /* all memory for tables is free again */
	memory = page_alloc(0x55);
	say("granule %lu\n", 1ul << granule);
	select(granule, PS_48 | ds);
	*entry(VA, 3) = address_bits(memory) | LEAF | 3;
	tlbi_all();
	show("page", peek(VA));
	show("beside it", peek(VA + (1ul << granule)));
	show("below all", peek(0xffe0000000000000ul));
	test_levels(memory);
	test_blocks(memory);
	test_tlbi(memory);
	test_root();
	/* From here on addresses have 52 bits. */
	say("AT: %lu\n", (u64)((at_read(VA) & 0xffffffffff001) == memory));
	*entry(VA, 3) = address_bits(FAR_PA) | LEAF | 3;
	tlbi_all();
	say("AT: %lx\n", at_read(VA) & 0xffffffffff001);
	msr("tcr_el1", (mrs("tcr_el1") & ~(0x3ful << 16)) | 11ul << 16);
	tlbi_all();
	show("T1SZ of 11", peek(VA));
}

/* Tables for this program that have no shareability where addresses are. */
static void identity(void)
{
	u64 table = RAM_BASE + (60ul << 20);

	for (u64 i = 0; i < 512; i++)
		((volatile u64 *)table)[i] =
			i << 30 | ((i ? BLOCK_NORMAL : BLOCK_DEVICE) & ~0x300ul);
	msr("ttbr0_el1", table);
	tlbi_all();
}

void guest_main(void)
{
	u64 mmfr0 = mrs("id_aa64mmfr0_el1"), mmfr2 = mrs("id_aa64mmfr2_el1");

	options_parse(arch_options);
	identity();
	say3("PARange %lu, TGran4 %lx, TGran16 %lx\n", mmfr0 & 0xf, mmfr0 >> 28 & 0xf,
	     mmfr0 >> 20 & 0xf);
	say3("stage 2: %lx %lx, VARange %lu\n", mmfr0 >> 40 & 0xf, mmfr0 >> 32 & 0xf,
	     mmfr2 >> 16 & 0xf);
	test_granule(16, 0);
	if ((mmfr0 >> 28 & 0xf) == 1) {
		test_granule(12, TCR_DS);
		test_granule(14, TCR_DS);
	}
	/* Without DS there are no such addresses. */
	map_begin(12);
	select(12, PS_52);
	show("DS clear", peek(VA));
	say("END\n");
	arm_power_off();
}

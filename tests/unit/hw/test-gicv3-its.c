/* tests/unit/hw/test-gicv3-its.c - LPIs: the ITS's commands and tables, priorities, moving. */
#include "tests/unit/hw/gic-machine.h"

#define ITS      0x08080000ull
#define QUEUE    (RAM_BASE + 0x000000)
#define DEVICES  (RAM_BASE + 0x010000)
#define LEVEL2   (RAM_BASE + 0x020000)
#define COLLECT  (RAM_BASE + 0x030000)
#define ITT      (RAM_BASE + 0x040000)
#define CONFIG   (RAM_BASE + 0x050000)
#define PEND(n)  (RAM_BASE + 0x060000 + (n)*0x10000)
#define VALID    (1ull << 63)
#define INDIRECT (1ull << 62)
#define DEVICE   0x0108 /* PCI bus 1, device 1 */

enum {
	MOVI = 0x01,
	INT = 0x03,
	CLEAR = 0x04,
	SYNC = 0x05,
	MAPD = 0x08,
	MAPC = 0x09,
	MAPTI = 0x0a,
	INV = 0x0c,
	INVALL = 0x0d,
	MOVALL = 0x0e,
	DISCARD = 0x0f
};

static struct device *its;
static u64 writer;

static void command(u8 op, u32 device, u64 dw1, u64 dw2, u64 dw3)
{
	wr(QUEUE + writer, 8, op | (u64)device << 32);
	wr(QUEUE + writer + 8, 8, dw1);
	wr(QUEUE + writer + 16, 8, dw2);
	wr(QUEUE + writer + 24, 8, dw3);
	writer = (writer + 32) % 4096;
	wr(ITS + 0x88, 8, writer);
	g_assert_cmphex(rd(ITS + 0x90, 8), ==, writer);
}

static void map_collection(u16 icid, unsigned cpu)
{
	command(MAPC, 0, 0, VALID | cpu << 16 | icid, 0);
}

static void map_event(u32 event, u32 intid, u16 icid)
{
	command(MAPTI, DEVICE, (u64)intid << 32 | event, icid, 0);
}

static void configure(u32 intid, u8 prio, bool enabled)
{
	wr(CONFIG + intid - 8192, 1, prio | 2 | enabled);
}

static bool table_bit(unsigned cpu, u32 intid)
{
	return rd(PEND(cpu) + intid / 8, 1) >> intid % 8 & 1;
}

static void setup(u64 device_table)
{
	gic_machine(false);
	its = arm_gicv3_its_create(gic_m, gic, ITS, NULL);
	gic_enable();
	for (unsigned i = 0; i < GIC_CPUS; i++) {
		wr(gicr(i) + 0x70, 8, CONFIG | 15);
		wr(gicr(i) + 0x78, 8, PEND(i));
		wr32(gicr(i), 1);
	}
	writer = 0;
	wr(ITS + 0x80, 8, VALID | QUEUE);
	wr(ITS + 0x100, 8, device_table);
	wr(ITS + 0x108, 8, VALID | COLLECT);
	wr32(ITS, 1);
	command(MAPD, DEVICE, 4, VALID | ITT, 0); /* 32 events */
	map_collection(0, 0);
	map_collection(1, 1);
}

static void finish(void)
{
	gic_machine_free();
}

static void test_registers(void)
{
	gic_machine(false);
	its = arm_gicv3_its_create(gic_m, gic, ITS, NULL);
	g_assert_cmphex(arm_gicv3_its_address(its), ==, 0x08090040);
	g_assert_cmphex(rd32(ITS), ==, 1u << 31);
	g_assert_cmphex(rd32(ITS + 4), ==, 0x43b);
	g_assert_cmphex(rd(ITS + 8, 8), ==, 0x1f0001efb1);
	g_assert_cmphex(rd32(ITS + 8), ==, 0x1efb1);
	g_assert_cmphex(rd32(ITS + 0xc), ==, 0x1f);
	g_assert_cmphex(rd(ITS + 0x100, 8), ==, 0x0107000000000200);
	g_assert_cmphex(rd(ITS + 0x108, 8), ==, 0x0407000000000200);
	wr(ITS + 0x100, 8, ~0ull);
	g_assert_cmphex(rd(ITS + 0x100, 8), ==, 0xf9e7ffffffffffff);
	wr(ITS + 0x110, 8, ~0ull);
	g_assert_cmphex(rd(ITS + 0x110, 8), ==, 0);
	g_assert_cmphex(rd32(ITS + 0xffe8), ==, 0x3b);
	g_assert_cmphex(rd32(GICD + 4), ==, 0x017a0008);
	g_assert_cmphex(rd(gicr(0) + 8, 8), ==, 0x01000001);
	wr32(ITS + 0x80, ~0u);
	wr32(ITS + 0x84, ~0u);
	g_assert_cmphex(rd(ITS + 0x80, 8), ==, 0xb8effffffffffcff);
	wr32(ITS, 1);
	g_assert_cmphex(rd32(ITS), ==, 1);
	wr(ITS + 0x80, 8, 0); /* not while it is on */
	g_assert_cmphex(rd(ITS + 0x80, 8), ==, 0xb8effffffffffcff);
	wr(gicr(0) + 0x70, 8, ~0ull);
	g_assert_cmphex(rd(gicr(0) + 0x70, 8), ==, 0x070fffffffffff9f);
	wr32(gicr(0) + 0x7c, ~0u);
	g_assert_cmphex(rd(gicr(0) + 0x78, 8), ==, 0x070fffff00000000);
	finish();
}

static void test_message(void)
{
	setup(VALID | DEVICES | 0x0);
	map_event(3, 8200, 1);
	configure(8200, 0xa0, true);
	arm_gicv3_its_send(its, DEVICE, 3);
	g_assert_true(irq_line(1) && !irq_line(0));
	g_assert_true(table_bit(1, 8200));
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_HPPIR1), ==, 8200);
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_IAR1), ==, 8200);
	g_assert_false(irq_line(1) || table_bit(1, 8200));
	g_assert_cmphex(mrs(gic_cpu[1], ICC_RPR), ==, 0xa0);
	arm_gicv3_its_send(its, DEVICE, 3); /* no active state, but the running priority */
	g_assert_false(irq_line(1));
	msr(gic_cpu[1], ICC_EOIR1, 8200);
	g_assert_true(irq_line(1));
	/* what is not mapped */
	arm_gicv3_its_send(its, DEVICE, 4);
	arm_gicv3_its_send(its, DEVICE, 32);
	arm_gicv3_its_send(its, DEVICE + 1, 3);
	arm_gicv3_its_send(its, 0x10000, 3);
	g_assert_false(irq_line(0));
	finish();
}

/* The formats that are in memory are those of QEMU 7.2, seen there for the same commands. */
static void test_tables(void)
{
	gic_machine(false);
	its = arm_gicv3_its_create(gic_m, gic, ITS, NULL);
	wr(ITS + 0x80, 8, VALID | QUEUE);
	wr(ITS + 0x100, 8, VALID | DEVICES | 0x200);
	wr(ITS + 0x108, 8, VALID | COLLECT | 0x200);
	wr32(ITS, 1);
	writer = 0;
	command(MAPD, 5, 7, VALID | 0x40100000, 0);
	map_collection(3, 1);
	command(MAPTI, 5, 8193ull << 32 | 2, 3, 0);
	command(MAPTI, 5, 8200ull << 32 | 200, 3, 0);
	g_assert_cmphex(rd(DEVICES + 0x28, 8), ==, 0x1004000f);
	g_assert_cmphex(rd(COLLECT + 0x18, 8), ==, 3);
	g_assert_cmphex(rd(0x40100018, 8), ==, 0x300008007);
	g_assert_cmphex(rd32(0x40100020), ==, 0x3ff);
	g_assert_cmphex(rd32(0x40100960), ==, 0x8023);
	command(MAPD, 5, 0, 0, 0);
	g_assert_cmphex(rd(DEVICES + 0x28, 8), ==, 0);
	finish();
}

/* Pages of 4 KiB hold 512 devices: 0x108 is in the first, 0x700 in the fourth. */
static void test_indirect(void)
{
	setup(VALID | INDIRECT | DEVICES); /* nothing is at the second level yet */
	map_event(3, 8200, 0);
	configure(8200, 0x80, true);
	arm_gicv3_its_send(its, DEVICE, 3);
	g_assert_false(irq_line(0));
	wr(DEVICES, 8, VALID | LEVEL2);
	wr(DEVICES + 8 * 3, 8, VALID | (LEVEL2 + 0x1000));
	command(MAPD, DEVICE, 4, VALID | ITT, 0);
	command(MAPD, 0x700, 4, VALID | (ITT + 0x1000), 0);
	g_assert_cmphex(rd(LEVEL2 + 8 * DEVICE, 8) & 1, ==, 1);
	g_assert_cmphex(rd(LEVEL2 + 0x1000 + 8 * 0x100, 8) & 1, ==, 1);
	map_event(3, 8200, 0);
	arm_gicv3_its_send(its, DEVICE, 3);
	g_assert_true(irq_line(0));
	finish();
}

static void test_priorities(void)
{
	setup(VALID | DEVICES);
	for (unsigned e = 0; e < 4; e++)
		map_event(e, 8192 + 64 * e, 0);
	configure(8192, 0xc0, true);
	configure(8256, 0x40, false);
	configure(8320, 0x80, true);
	configure(8384, 0x80, true);
	for (unsigned e = 4; e-- > 0;)
		arm_gicv3_its_send(its, DEVICE, e);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, 8320);
	configure(8256, 0x40, true); /* noticed when it is said */
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, 8320);
	command(INV, DEVICE, 1, 0, 0);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, 8256);
	configure(8256, 0x40, false);
	configure(8384, 0x10, true);
	command(INVALL, 0, 0, 0, 0);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 8384);
	msr(gic_cpu[0], ICC_EOIR1, 8384);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 8320);
	msr(gic_cpu[0], ICC_EOIR1, 8320);
	/* an SPI of the same priority has the lower number */
	gic_setup_spi(1, 0xc0, true, 0);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 33);
	msr(gic_cpu[0], ICC_EOIR1, 33);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 8192);
	msr(gic_cpu[0], ICC_EOIR1, 8192);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	g_assert_true(table_bit(0, 8256));
	finish();
}

static void test_moving(void)
{
	setup(VALID | DEVICES);
	map_event(0, 8192, 0);
	map_event(1, 8193, 0);
	configure(8192, 0xa0, true);
	configure(8193, 0xa0, true);
	arm_gicv3_its_send(its, DEVICE, 0);
	command(MOVI, DEVICE, 0, 1, 0);
	g_assert_true(irq_line(1) && !irq_line(0));
	g_assert_true(table_bit(1, 8192) && !table_bit(0, 8192));
	arm_gicv3_its_send(its, DEVICE, 1);
	g_assert_true(irq_line(0));
	command(MOVALL, 0, 0, 0 << 16, 1 << 16);
	g_assert_false(irq_line(0));
	command(CLEAR, DEVICE, 0, 0, 0);
	g_assert_false(table_bit(1, 8192));
	command(INT, DEVICE, 0, 0, 0);
	g_assert_true(table_bit(1, 8192));
	command(DISCARD, DEVICE, 0, 0, 0);
	g_assert_false(table_bit(1, 8192));
	arm_gicv3_its_send(its, DEVICE, 0);
	g_assert_false(table_bit(1, 8192));
	finish();
}

static void test_enable(void)
{
	setup(VALID | DEVICES);
	map_event(0, 8192, 0);
	configure(8192, 0xa0, true);
	wr32(gicr(0), 0);
	arm_gicv3_its_send(its, DEVICE, 0); /* lost: LPIs are off */
	g_assert_false(irq_line(0));
	wr(PEND(0) + 8192 / 8, 1, 1);
	wr32(gicr(0), 1); /* what the table says is pending */
	g_assert_true(irq_line(0));
	wr32(gicr(0), 0);
	g_assert_false(irq_line(0));
	wr(gicr(0) + 0x78, 8, PEND(0) | 1ull << 62); /* the table is said to be zero */
	wr32(gicr(0), 1);
	g_assert_false(irq_line(0));
	finish();
}

/* Tables that are not in RAM, queues out of range, unknown commands: nothing happens. */
static void test_bad_guest(void)
{
	setup(VALID | DEVICES);
	command(0x7f, DEVICE, ~0ull, ~0ull, ~0ull);
	command(MAPD, 0xffffffff, 31, VALID | ITT, 0);
	command(MAPC, 0, 0, VALID | 0xffffull << 16, 0);
	command(MAPD, DEVICE, 4, VALID | GICD, 0);
	map_event(0, 8192, 0);
	map_event(0, 5, 0);
	map_event(0, 0xffffffff, 0);
	command(MOVALL, 0, 0, ~0ull, 0);
	command(SYNC, 0, 0, 0, 0);
	wr32(gicr(0), 0);
	wr(gicr(0) + 0x70, 8, GICD | 15);
	wr(gicr(0) + 0x78, 8, 0x08090000);
	wr32(gicr(0), 1);
	command(MAPD, DEVICE, 4, VALID | ITT, 0);
	map_event(0, 8192, 0);
	arm_gicv3_its_send(its, DEVICE, 0);
	g_assert_false(irq_line(0));
	wr(ITS + 0x88, 8, 0xfffe0); /* beyond the queue: nothing is run */
	g_assert_cmphex(rd(ITS + 0x90, 8), ==, writer);
	wr32(ITS, 0);
	wr(ITS + 0x80, 8, VALID | GICD);
	wr32(ITS, 1);
	wr(ITS + 0x88, 8, 0x40);
	g_assert_cmphex(rd(ITS + 0x90, 8), ==, 1); /* stalled */
	finish();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/its/registers", test_registers);
	g_test_add_func("/its/message", test_message);
	g_test_add_func("/its/tables", test_tables);
	g_test_add_func("/its/indirect", test_indirect);
	g_test_add_func("/its/priorities", test_priorities);
	g_test_add_func("/its/moving", test_moving);
	g_test_add_func("/its/enable", test_enable);
	g_test_add_func("/its/bad-guest", test_bad_guest);
	return g_test_run();
}

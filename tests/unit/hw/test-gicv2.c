/* tests/unit/hw/test-gicv2.c - the GICv2: banks of CPUs, life of interrupts, groups, its state. */
#include "tests/unit/hw/gicv2-fixture.h"

enum {
	APR0 = 0xd0,
	APR2 = 0xd8,
	NSAPR0 = 0xe0,
};

static void create(unsigned ncpus)
{
	create_gic(&(struct arm_gicv2_config){ GICD, GICC, ncpus, 256 });
}

static bool fiq_line(unsigned cpu)
{
	return cpus[cpu]->irq_lines & 1u << ARM_LINE_FIQ;
}

/* ---- tests ---- */

static void test_identity(void)
{
	create(CPUS);
	g_assert_cmphex(dist(0, 4, 4), ==, 8 | (CPUS - 1) << 5);
	g_assert_cmphex(dist(0, 8, 4), ==, 0x43b);
	g_assert_cmphex(dist(0, 0xfe8, 4), ==, 0x2b);
	g_assert_cmphex(dist(0, 0xffc, 4), ==, 0xb1);
	g_assert_cmphex(cc(0, 0xfc), ==, 0x2043b);
	g_assert_cmphex(dist(2, 0x800, 4), ==, 0x04040404); /* which CPU asks */
	g_assert_cmphex(dist(0, 0x100, 4), ==, 0xffff);     /* SGIs cannot be disabled */
	set_dist(0, 0x180, 4, ~0u);
	g_assert_cmphex(dist(0, 0x100, 4), ==, 0xffff);
	set_dist(0, 0xc00, 4, 0);
	g_assert_cmphex(dist(0, 0xc00, 4), ==, 0xaaaaaaaa);
	set_cc(0, CTLR, ~0u);
	g_assert_cmphex(cc(0, CTLR), ==, 0x21f);
	set_cc(0, BPR, 7);
	set_cc(0, ABPR, 2);
	g_assert_cmphex(cc(0, ABPR), ==, 7); /* with CBPR it shows GICC_BPR, 7 at most */
	destroy();
}

static void test_level(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0);
	setup_spi(5, 0xa0, false, 1 << 1);
	arm_gicv2_set_spi(gic, 5, true);
	g_assert_true(irq_line(1) && !irq_line(0));
	g_assert_cmpuint(cc(0, IAR), ==, 1023);
	g_assert_cmpuint(cc(1, HPPIR), ==, 37);
	g_assert_cmpuint(cc(1, IAR), ==, 37);
	g_assert_cmphex(cc(1, RPR), ==, 0xa0);
	g_assert_false(irq_line(1));
	g_assert_cmphex(dist(0, 0x204, 4), ==, 1u << 5); /* the line is still high */
	g_assert_cmphex(dist(0, 0x304, 4), ==, 1u << 5);
	set_cc(1, EOIR, 37);
	g_assert_true(irq_line(1));
	arm_gicv2_set_spi(gic, 5, false);
	g_assert_false(irq_line(1));
	set_dist(0, 0x204, 4, 1u << 5); /* latched by software */
	g_assert_true(irq_line(1));
	set_dist(0, 0x284, 4, 1u << 5);
	g_assert_false(irq_line(1));
	destroy();
}

static void test_edge_and_targets(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0);
	setup_spi(7, 0x80, true, 0);
	arm_gicv2_set_spi(gic, 7, true);
	arm_gicv2_set_spi(gic, 7, false);
	for (unsigned i = 0; i < CPUS; i++)
		g_assert_false(irq_line(i));
	set_dist(0, 0x800 + 39, 1, 0xfc); /* to those there are */
	g_assert_cmphex(dist(0, 0x800 + 39, 1), ==, 0x0c);
	g_assert_true(irq_line(2) && irq_line(3) && !irq_line(1));
	g_assert_cmpuint(cc(3, IAR), ==, 39); /* the first takes it from the other */
	g_assert_false(irq_line(2));
	g_assert_cmpuint(cc(2, IAR), ==, 1023);
	arm_gicv2_set_spi(gic, 7, true); /* pending while active */
	g_assert_false(irq_line(2) || irq_line(3));
	set_cc(3, EOIR, 39);
	g_assert_true(irq_line(2) && irq_line(3));
	destroy();
}

static void test_private(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0);
	arm_gicv2_set_ppi(gic, 2, 27, true);
	g_assert_true(irq_line(2) && !irq_line(0));
	g_assert_cmphex(dist(0, 0x200, 4), ==, 0);
	g_assert_cmphex(dist(2, 0x200, 4), ==, 1u << 27);
	set_dist(2, 0x180, 4, 1u << 27);
	g_assert_false(irq_line(2));
	g_assert_cmphex(dist(1, 0x100, 4), ==, 0xffffffff);
	set_dist(2, 0x100, 4, 1u << 27);
	g_assert_cmpuint(cc(2, IAR), ==, 27);
	destroy();
}

static void test_sgis(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0);
	set_dist(1, 0xf00, 4, 0x00050003); /* SGI 3 of CPU 1 to 0 and 2 */
	set_dist(3, 0xf00, 4, 0x00010003);
	g_assert_true(irq_line(0) && irq_line(2) && !irq_line(1));
	g_assert_cmphex(dist(0, 0xf23, 1), ==, 0x0a);
	g_assert_cmphex(cc(0, HPPIR), ==, 1u << 10 | 3);
	g_assert_cmphex(cc(0, IAR), ==, 1u << 10 | 3);
	g_assert_false(irq_line(0)); /* one at a time */
	set_cc(0, EOIR, 1u << 10 | 3);
	g_assert_cmphex(cc(0, IAR), ==, 3u << 10 | 3);
	set_cc(0, EOIR, 3u << 10 | 3);
	g_assert_cmpuint(cc(0, IAR), ==, 1023);
	set_dist(2, 0xf13, 1, 0x02); /* CPU 2 takes back what CPU 1 sent it */
	g_assert_false(irq_line(2));
	set_dist(0, 0xf00, 4, 1u << 24 | 9); /* all others */
	g_assert_true(!irq_line(0) && irq_line(1) && irq_line(2) && irq_line(3));
	set_dist(0, 0xf00, 4, 2u << 24 | 9); /* itself */
	g_assert_cmphex(cc(0, IAR), ==, 9);
	set_dist(1, 0xf20, 4, 0x08000000); /* as if by CPU 3 */
	set_dist(0, 0x200, 4, 0xffff);     /* no way to make SGIs pending */
	g_assert_cmphex(dist(1, 0x200, 4), ==, 1u << 9 | 1u << 3);
	destroy();
}

static void test_priorities(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0);
	setup_spi(0, 0xa0, true, 1);
	setup_spi(1, 0x42, true, 1);
	setup_spi(2, 0x40, true, 1);
	set_cc(0, BPR, 3); /* 0x40 and 0x42 do not preempt each other */
	arm_gicv2_set_spi(gic, 0, true);
	g_assert_cmpuint(cc(0, IAR), ==, 32);
	arm_gicv2_set_spi(gic, 1, true);
	g_assert_cmpuint(cc(0, IAR), ==, 33);
	g_assert_cmphex(cc(0, RPR), ==, 0x40);
	arm_gicv2_set_spi(gic, 2, true);
	g_assert_false(irq_line(0));
	g_assert_cmphex(cc(0, APR0), ==, 0);
	g_assert_cmphex(cc(0, APR0 + 4), ==, 1);
	g_assert_cmphex(cc(0, APR2), ==, 1u << 16);
	set_cc(0, EOIR, 33);
	g_assert_cmpuint(cc(0, IAR), ==, 34);
	set_cc(0, EOIR, 34);
	set_cc(0, EOIR, 32);
	g_assert_cmphex(cc(0, RPR), ==, 0xff);
	arm_gicv2_set_spi(gic, 0, false);
	arm_gicv2_set_spi(gic, 0, true);
	set_cc(0, PMR, 0xa0); /* must be above the mask, not at it */
	g_assert_cmpuint(cc(0, IAR), ==, 1023);
	g_assert_cmpuint(cc(0, HPPIR), ==, 32);
	destroy();
}

static void test_groups(void)
{
	create(CPUS);
	enable(GICC_CTLR_GRP0 | GICC_CTLR_GRP1 | GICC_CTLR_FIQEN);
	setup_spi(0, 0xa0, true, 1);
	setup_spi(1, 0x40, true, 1);
	set_dist(0, 0x84, 4, 2); /* SPI 1 is of group 1 */
	arm_gicv2_set_spi(gic, 1, true);
	g_assert_true(irq_line(0) && !fiq_line(0));
	g_assert_cmpuint(cc(0, IAR), ==, 1022);
	g_assert_cmpuint(cc(0, AHPPIR), ==, 33);
	g_assert_cmpuint(cc(0, AIAR), ==, 33);
	g_assert_cmphex(cc(0, NSAPR0 + 4), ==, 1);
	set_dist(0, 0x400 + 32, 1, 0x20);
	arm_gicv2_set_spi(gic, 0, true);
	g_assert_true(fiq_line(0) && !irq_line(0));
	g_assert_cmpuint(cc(0, AIAR), ==, 1023);
	g_assert_cmpuint(cc(0, IAR), ==, 32);
	set_cc(0, AEOIR, 32); /* not of that group, nor is it highest */
	g_assert_cmphex(cc(0, RPR), ==, 0x20);
	set_cc(0, EOIR, 32);
	g_assert_cmphex(cc(0, RPR), ==, 0x40);
	set_cc(0, CTLR, 0x07); /* AckCtl: one register for both */
	set_cc(0, EOIR, 33);
	g_assert_cmphex(cc(0, RPR), ==, 0xff);
	arm_gicv2_set_spi(gic, 1, false);
	arm_gicv2_set_spi(gic, 1, true);
	g_assert_cmpuint(cc(0, IAR), ==, 33);
	set_cc(0, EOIR, 33);
	set_dist(0, 0, 4, 1); /* group 1 off */
	set_dist(0, 0x204, 4, 2);
	g_assert_false(irq_line(0));
	destroy();
}

static void test_split_end(void)
{
	create(1);
	enable(GICC_CTLR_GRP0 | GICC_CTLR_EOIMODE);
	g_assert_cmphex(dist(0, 0x820, 4), ==, 0); /* one CPU: no targets to choose */
	setup_spi(3, 0xa0, true, 0);
	arm_gicv2_set_spi(gic, 3, true);
	g_assert_cmpuint(cc(0, IAR), ==, 35);
	set_cc(0, EOIR, 35);
	g_assert_cmphex(cc(0, RPR), ==, 0xff);
	g_assert_cmphex(dist(0, 0x304, 4), ==, 8);
	set_cc(0, DEACTIVATE, 35);
	g_assert_cmphex(dist(0, 0x304, 4), ==, 0);
	set_cc(0, DEACTIVATE, 1023); /* what cannot be is ignored */
	destroy();
}

static void test_messages(void)
{
	struct address_space *as;
	enum mem_result result;

	create(CPUS);
	as = m->vm->memory;
	enable(GICC_CTLR_GRP0);
	setup_spi(50, 0xa0, true, 1);
	g_assert_cmphex(address_space_ld(as, V2M + 8, 4, &result), ==, 0x500040);
	address_space_st(as, V2M + 0x40, 82, 4);
	g_assert_cmpuint(cc(0, IAR), ==, 82);
	address_space_st(as, V2M + 0x40, 79, 4); /* not the frame's */
	address_space_st(as, V2M + 0x40, 144, 4);
	g_assert_cmphex(dist(0, 0x208, 4) | dist(0, 0x20c, 4) | dist(0, 0x210, 4), ==, 0);
	destroy();
}

/* Wrong sizes and places, and numbers beyond the last interrupt. */
static void test_nonsense(void)
{
	create(CPUS);
	for (u64 at = 0; at < 0x1100; at += 7)
		for (unsigned size = 1; size <= 8; size *= 2) {
			run((struct access){ &gicv2_dist_ops, 0, size, at & ~(u64)(size - 1), ~0ull,
					     true });
			run((struct access){ &gicv2_dist_ops, 3, size, at & ~(u64)(size - 1), 0,
					     false });
			run((struct access){ &gicv2_cpu_ops, 0, size, at & ~(u64)(size - 1), ~0ull,
					     true });
			run((struct access){ &gicv2_cpu_ops, 3, size, at & ~(u64)(size - 1), 0,
					     false });
		}
	g_assert_cmphex(dist(0, 0x800 + 288, 1), ==, 0);
	destroy();
}

/* ---- state ---- */

/* Bytes that QEMU's "arm_gic" of version 12 has, by the description at the end of its stream. */
#define WIRE_BYTES (4 + 8 * 4 + 1020 * 7 + 1020 + 256 + 988 + 128 + 3 * 16 + 2 * 8 + 2 * 128)

static void test_moves(void)
{
	g_autoptr(GByteArray) bytes = NULL, again = NULL;

	create(CPUS);
	enable(GICC_CTLR_GRP0);
	setup_spi(1, 0xa0, false, 1);
	setup_spi(2, 0x40, true, 1);
	setup_spi(100, 0x80, false, 8);
	arm_gicv2_set_spi(gic, 1, true);
	g_assert_cmpuint(cc(0, IAR), ==, 33);
	arm_gicv2_set_spi(gic, 2, true);
	arm_gicv2_set_spi(gic, 2, false);
	arm_gicv2_set_spi(gic, 100, true);
	arm_gicv2_set_ppi(gic, 1, 27, true);
	set_dist(3, 0xf00, 4, 0x00020007);
	set_cc(3, PMR, 0x80);
	bytes = save();
	g_assert_cmpuint(bytes->len, ==, WIRE_BYTES);
	destroy();

	create(CPUS);
	load(bytes);
	again = save();
	g_assert_cmpmem(bytes->data, bytes->len, again->data, again->len);
	g_assert_true(irq_line(0) && irq_line(1) && !irq_line(3));
	g_assert_cmphex(cc(0, RPR), ==, 0xa0);
	g_assert_cmpuint(cc(0, IAR), ==, 34);
	set_cc(0, EOIR, 34);
	set_cc(0, EOIR, 33);
	g_assert_cmpuint(cc(0, IAR), ==, 33); /* its line is still high */
	g_assert_cmphex(cc(1, IAR), ==, 3u << 10 | 7);
	set_cc(1, EOIR, 3u << 10 | 7);
	g_assert_cmpuint(cc(1, IAR), ==, 27);
	set_cc(3, PMR, 0xf0);
	g_assert_cmpuint(cc(3, IAR), ==, 132);
	destroy();
}

/* Any bytes do no harm. */
static void test_damaged_state(void)
{
	g_autoptr(GByteArray) bytes = NULL;
	size_t first_bool =
		4 + 32 + 4; /* of irq_state[]; two in seven bytes, checked by the reader */

	create(CPUS);
	bytes = save();
	memset(bytes->data, 0xff, bytes->len);
	for (unsigned i = 0; i < GICV2_MAX_IRQ; i++)
		memset(bytes->data + first_bool + 7 * i, 1, 2);
	load(bytes);
	for (unsigned i = 0; i < CPUS; i++)
		for (unsigned n = 0; n < 2000 && cc(i, IAR) < 1022; n++)
			set_cc(i, EOIR, 0);
	g_assert_cmphex(dist(0, 0x800 + 40, 1), ==, 0x0f);
	destroy();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gicv2/identity", test_identity);
	g_test_add_func("/gicv2/level", test_level);
	g_test_add_func("/gicv2/edge-and-targets", test_edge_and_targets);
	g_test_add_func("/gicv2/private", test_private);
	g_test_add_func("/gicv2/sgis", test_sgis);
	g_test_add_func("/gicv2/priorities", test_priorities);
	g_test_add_func("/gicv2/groups", test_groups);
	g_test_add_func("/gicv2/split-end", test_split_end);
	g_test_add_func("/gicv2/messages", test_messages);
	g_test_add_func("/gicv2/nonsense", test_nonsense);
	g_test_add_func("/gicv2/moves", test_moves);
	g_test_add_func("/gicv2/damaged-state", test_damaged_state);
	return g_test_run();
}

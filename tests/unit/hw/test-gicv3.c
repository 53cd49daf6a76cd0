/* tests/unit/hw/test-gicv3.c - the GICv3: life of interrupts, priorities, routing, registers. */
#include "tests/unit/hw/gic-machine.h"

#define INTID(spi) (32 + (spi))

static bool is_pending(unsigned intid)
{
	return rd32(GICD + 0x200 + intid / 32 * 4) >> intid % 32 & 1;
}

static bool is_active(unsigned intid)
{
	return rd32(GICD + 0x300 + intid / 32 * 4) >> intid % 32 & 1;
}

static void eoi(unsigned cpu, unsigned intid)
{
	msr(gic_cpu[cpu], ICC_EOIR1, intid);
}

/* ---- level and edge ---- */

static void test_level(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(5, 0xa0, false, 0);
	arm_gicv3_set_spi(gic, 5, true);
	g_assert_true(irq_line(0) && is_pending(INTID(5)));
	g_assert_false(irq_line(1));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, INTID(5));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(5));
	/* active and, since the line is still high, pending; but not signalled */
	g_assert_true(is_active(INTID(5)) && is_pending(INTID(5)));
	g_assert_false(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	eoi(0, INTID(5));
	g_assert_true(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(5));
	arm_gicv3_set_spi(gic, 5, false);
	g_assert_true(is_active(INTID(5)));
	g_assert_false(is_pending(INTID(5)));
	eoi(0, INTID(5));
	g_assert_false(irq_line(0) || is_active(INTID(5)));
	/* a line that falls before it is acknowledged takes the interrupt with it */
	arm_gicv3_set_spi(gic, 5, true);
	arm_gicv3_set_spi(gic, 5, false);
	g_assert_false(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	gic_machine_free();
}

/* Pending by ISPENDR stays without the line, and ends with the acknowledgement or ICPENDR. */
static void test_level_latch(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(5, 0xa0, false, 0);
	wr32(GICD + 0x204, 1u << 5);
	g_assert_true(irq_line(0));
	wr32(GICD + 0x284, 1u << 5);
	g_assert_false(irq_line(0));
	wr32(GICD + 0x204, 1u << 5);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(5));
	g_assert_false(is_pending(INTID(5)));
	eoi(0, INTID(5));
	arm_gicv3_set_spi(gic, 5, true);
	wr32(GICD + 0x284, 1u << 5); /* the line keeps it pending */
	g_assert_true(irq_line(0));
	gic_machine_free();
}

static void test_edge(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(7, 0xa0, true, 0);
	arm_gicv3_set_spi(gic, 7, true);
	arm_gicv3_set_spi(gic, 7, false);
	g_assert_true(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(7));
	g_assert_false(is_pending(INTID(7)));
	/* another edge while active: active and pending, delivered after the end */
	arm_gicv3_set_spi(gic, 7, true);
	g_assert_true(is_active(INTID(7)) && is_pending(INTID(7)));
	g_assert_false(irq_line(0));
	eoi(0, INTID(7));
	g_assert_true(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(7));
	eoi(0, INTID(7));
	arm_gicv3_set_spi(gic, 7, true); /* still high: no edge */
	g_assert_false(irq_line(0));
	gic_machine_free();
}

static void test_ppi(void)
{
	gic_machine(false);
	gic_enable();
	arm_gicv3_set_ppi(gic, 2, 27, true);
	g_assert_true(irq_line(2));
	g_assert_false(irq_line(0));
	g_assert_cmphex(rd32(gicr_sgi(2) + 0x200), ==, 1u << 27);
	g_assert_cmpuint(mrs(gic_cpu[2], ICC_IAR1), ==, 27);
	g_assert_cmphex(rd32(gicr_sgi(2) + 0x300), ==, 1u << 27);
	arm_gicv3_set_ppi(gic, 2, 27, false);
	eoi(2, 27);
	g_assert_false(irq_line(2));
	wr32(gicr_sgi(2) + 0x180, 1u << 27); /* disabled */
	arm_gicv3_set_ppi(gic, 2, 27, true);
	g_assert_false(irq_line(2));
	wr32(gicr_sgi(2) + 0x100, 1u << 27);
	g_assert_true(irq_line(2));
	gic_machine_free();
}

/* ---- priorities ---- */

static void test_order(void)
{
	static const struct {
		u8 spi, prio;
	} raise[] = { { 3, 0xa0 }, { 40, 0x50 }, { 12, 0x50 }, { 9, 0x90 } };
	static const u8 order[] = { 12, 40, 9, 3 };

	gic_machine(false);
	gic_enable();
	for (unsigned i = 0; i < ARRAY_SIZE(raise); i++) {
		gic_setup_spi(raise[i].spi, raise[i].prio, true, 0);
		arm_gicv3_set_spi(gic, raise[i].spi, true);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(order[i]));
		eoi(0, INTID(order[i]));
	}
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	gic_machine_free();
}

static void test_mask(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(3, 0x80, true, 0);
	msr(gic_cpu[0], ICC_PMR, 0xff);
	g_assert_cmphex(mrs(gic_cpu[0], ICC_PMR), ==, 0xf8);
	msr(gic_cpu[0], ICC_PMR, 0x80); /* equal is masked */
	arm_gicv3_set_spi(gic, 3, true);
	g_assert_false(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, INTID(3));
	msr(gic_cpu[0], ICC_PMR, 0x88);
	g_assert_true(irq_line(0));
	msr(gic_cpu[0], ICC_IGRPEN1, 0);
	g_assert_false(irq_line(0));
	msr(gic_cpu[0], ICC_IGRPEN1, 1);
	wr32(GICD, 1);
	g_assert_false(irq_line(0));
	wr32(GICD, 2);
	g_assert_true(irq_line(0));
	gic_machine_free();
}

static void test_preemption(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0xa0, true, 0);
	gic_setup_spi(2, 0xa8, true, 0);
	gic_setup_spi(3, 0x98, true, 0);
	gic_setup_spi(4, 0x40, true, 0);
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0xff);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(1));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0xa0);
	arm_gicv3_set_spi(gic, 2, true);
	g_assert_false(irq_line(0)); /* lower */
	msr(gic_cpu[0], ICC_BPR1, 5);
	arm_gicv3_set_spi(gic, 3, true);
	g_assert_true(irq_line(0)); /* 0x98 and 0xa0 are of different groups of 32 */
	msr(gic_cpu[0], ICC_BPR1, 6);
	g_assert_false(irq_line(0)); /* of the same group of 64 */
	arm_gicv3_set_spi(gic, 4, true);
	g_assert_true(irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(4));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0x40);
	g_assert_cmphex(mrs(gic_cpu[0], ICC_AP1R0), ==, 1u << (0xa0 >> 3) | 1u << (0x40 >> 3));
	eoi(0, INTID(4));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0xa0);
	g_assert_false(irq_line(0));
	eoi(0, INTID(1));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(3));
	gic_machine_free();
}

static void test_binary_points(void)
{
	struct arm_cpu *cpu;

	gic_machine(false);
	cpu = gic_cpu[0];
	g_assert_cmpuint(mrs(cpu, ICC_BPR0), ==, 2);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 3);
	msr(cpu, ICC_BPR0, 0);
	msr(cpu, ICC_BPR1, 0);
	g_assert_cmpuint(mrs(cpu, ICC_BPR0), ==, 2);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 3);
	msr(cpu, ICC_BPR0, 7);
	msr(cpu, ICC_BPR1, 4);
	msr(cpu, ICC_CTLR, 1); /* CBPR */
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 7);
	msr(cpu, ICC_BPR1, 5);
	msr(cpu, ICC_BPR0, 3);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 4);
	msr(cpu, ICC_CTLR, 0);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 4);
	g_assert_cmphex(mrs(cpu, ICC_CTLR), ==, 0x8c00);
	msr(cpu, ICC_CTLR, ~0ull);
	g_assert_cmphex(mrs(cpu, ICC_CTLR), ==, 0x8c03);
	g_assert_cmphex(mrs(cpu, ICC_SRE), ==, 7);
	g_assert_cmphex(reg_access(cpu, ICC_AP1R1, false), ==, SYSREG_UNDEF);
	gic_machine_free();
}

/* With one group of all priorities nothing preempts, but order remains. */
static void test_no_preemption(void)
{
	gic_machine(false);
	gic_enable();
	msr(gic_cpu[0], ICC_BPR0, 7);
	msr(gic_cpu[0], ICC_CTLR, 1);
	gic_setup_spi(1, 0xa0, true, 0);
	gic_setup_spi(2, 0x10, true, 0);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(1));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0);
	arm_gicv3_set_spi(gic, 2, true);
	g_assert_false(irq_line(0));
	eoi(0, INTID(1));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(2));
	gic_machine_free();
}

static void test_eoimode(void)
{
	gic_machine(false);
	gic_enable();
	msr(gic_cpu[0], ICC_CTLR, 2);
	gic_setup_spi(1, 0xa0, false, 0);
	gic_setup_spi(2, 0xa0, true, 0);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(1));
	eoi(0, INTID(1)); /* the priority only */
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0xff);
	g_assert_true(is_active(INTID(1)));
	g_assert_false(irq_line(0));
	arm_gicv3_set_spi(gic, 2, true); /* another one of the same priority comes through */
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(2));
	eoi(0, INTID(2));
	msr(gic_cpu[0], ICC_DIR, INTID(2));
	g_assert_false(is_active(INTID(2)));
	msr(gic_cpu[0], ICC_DIR, INTID(1));
	g_assert_true(irq_line(0)); /* its line is still high */
	msr(gic_cpu[0], ICC_CTLR, 0);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(1));
	msr(gic_cpu[0], ICC_DIR, INTID(1)); /* not in this mode */
	g_assert_true(is_active(INTID(1)));
	gic_machine_free();
}

static void test_groups(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0x80, true, 0);
	gic_setup_spi(2, 0xa0, true, 0);
	wr32(GICD + 0x84, rd32(GICD + 0x84) & ~(1u << 1)); /* SPI 1 in group 0 */
	arm_gicv3_set_spi(gic, 2, true);
	g_assert_true(irq_line(0) && !fiq_line(0));
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_true(fiq_line(0) && !irq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 1023);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR1), ==, 1023);
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_HPPIR0), ==, INTID(1));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR0), ==, INTID(1));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_AP0R0), ==, 1u << 16);
	eoi(0, INTID(1)); /* the wrong group's register: ignored */
	g_assert_true(is_active(INTID(1)));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_RPR), ==, 0x80);
	msr(gic_cpu[0], ICC_EOIR0, INTID(1));
	g_assert_false(is_active(INTID(1)));
	/* a group that is off does not hide the other */
	arm_gicv3_set_spi(gic, 1, false);
	arm_gicv3_set_spi(gic, 1, true);
	msr(gic_cpu[0], ICC_IGRPEN0, 0);
	g_assert_true(irq_line(0) && !fiq_line(0));
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, INTID(2));
	gic_machine_free();
}

/* ---- SGIs and routing ---- */

static u64 sgi_to(unsigned sgi, unsigned targets)
{
	return (u64)sgi << 24 | targets;
}

static void test_sgi(void)
{
	gic_machine(false);
	gic_enable();
	msr(gic_cpu[0], ICC_SGI1R, sgi_to(5, 1u << 1 | 1u << 3));
	g_assert_true(!irq_line(0) && irq_line(1) && !irq_line(2) && irq_line(3));
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_IAR1), ==, 5);
	g_assert_false(irq_line(1));
	msr(gic_cpu[2], ICC_SGI1R, sgi_to(5, 1u << 1)); /* again while active */
	eoi(1, 5);
	g_assert_true(irq_line(1));
	msr(gic_cpu[1], ICC_SGI1R, sgi_to(2, 0) | 1ull << 40); /* all but the sender */
	g_assert_cmpuint(mrs(gic_cpu[0], ICC_IAR1), ==, 2);
	g_assert_cmpuint(mrs(gic_cpu[2], ICC_IAR1), ==, 2);
	g_assert_cmpuint(mrs(gic_cpu[3], ICC_IAR1), ==, 2);
	g_assert_cmpuint(mrs(gic_cpu[1], ICC_IAR1), ==, 5);
	/* nobody has affinity 1 at level 1, nor 16 at level 0 */
	msr(gic_cpu[1], ICC_SGI1R, sgi_to(2, 0xffff) | 1u << 16);
	msr(gic_cpu[1], ICC_SGI1R, sgi_to(2, 0xffff) | 1ull << 44);
	/* group 0 is asked for, the SGI is in group 1 */
	msr(gic_cpu[1], ICC_SGI0R, sgi_to(2, 0xffff));
	eoi(0, 2);
	g_assert_false(irq_line(0) || fiq_line(0));
	wr32(gicr_sgi(0) + 0x80, ~0u << 1); /* SGI 0 in group 0 */
	msr(gic_cpu[1], ICC_SGI0R, sgi_to(0, 1));
	g_assert_true(fiq_line(0));
	gic_machine_free();
}

static void test_affinity(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0xa0, false, 3);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_true(irq_line(3) && !irq_line(0));
	wr(GICD + 0x6000 + 8 * INTID(1), 8, 1); /* while pending: it moves */
	g_assert_true(irq_line(1) && !irq_line(3));
	wr32(GICD + 0x6000 + 8 * INTID(1), 0x00000002);
	g_assert_true(irq_line(2) && !irq_line(1));
	wr(GICD + 0x6000 + 8 * INTID(1), 8, 0x500); /* nobody */
	g_assert_false(irq_line(0) || irq_line(1) || irq_line(2) || irq_line(3));
	gic_machine_free();
}

static unsigned count_irqs(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GIC_CPUS; i++)
		n += irq_line(i);
	return n;
}

/* One CPU of those that take the group, and another when that one stops taking it. */
static void test_one_of_n(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0xa0, false, 0);
	wr(GICD + 0x6000 + 8 * INTID(1), 8, 1ull << 31);
	g_assert_cmphex(rd(GICD + 0x6000 + 8 * INTID(1), 8), ==, 1ull << 31);
	arm_gicv3_set_spi(gic, 1, true);
	for (unsigned round = GIC_CPUS; round; round--) {
		g_assert_cmpuint(count_irqs(), ==, 1);
		for (unsigned i = 0; i < GIC_CPUS; i++) {
			if (irq_line(i)) {
				msr(gic_cpu[i], ICC_IGRPEN1, 0);
				break;
			}
		}
	}
	g_assert_cmpuint(count_irqs(), ==, 0);
	msr(gic_cpu[2], ICC_IGRPEN1, 1);
	g_assert_true(irq_line(2));
	g_assert_cmpuint(mrs(gic_cpu[2], ICC_IAR1), ==, INTID(1));
	gic_machine_free();
}

/* ---- registers ---- */

static void test_registers(void)
{
	gic_machine(false);
	g_assert_cmphex(rd32(GICD), ==, 0x50);
	wr32(GICD, ~0u);
	g_assert_cmphex(rd32(GICD), ==, 0x53);
	g_assert_cmphex(rd32(GICD + 4), ==,
			0x017a0008); /* 288 INTIDs, 16 bits of them, A3V, LPIs */
	g_assert_cmphex(rd32(GICD + 8), ==, 0x43b);
	g_assert_cmphex(rd32(GICD + 0xffe8), ==, 0x3b);
	g_assert_cmphex(rd32(GICD + 0xffd0), ==, 0x44);
	g_assert_cmphex(rd32(GICD + 0xfffc), ==, 0xb1);
	g_assert_cmphex(rd(gicr(0) + 8, 8), ==, 0x01000001);
	g_assert_cmphex(rd(gicr(3) + 8, 8), ==, 0x301000311); /* the last one */
	g_assert_cmphex(rd32(gicr(1) + 12), ==, 1);
	g_assert_cmphex(rd32(gicr(0) + 0xffe8), ==, 0x3b);
	g_assert_cmphex(rd32(gicr(0) + 0x14), ==, 6);
	wr32(gicr(0) + 0x14, 0);
	g_assert_cmphex(rd32(gicr(0) + 0x14), ==, 0);
	/* SGIs and PPIs are not the distributor's */
	wr32(GICD + 0x100, ~0u);
	wr32(GICD + 0x400, ~0u);
	wr32(GICD + 0xc00, ~0u);
	g_assert_cmphex(rd32(GICD + 0x100) | rd32(GICD + 0x400) | rd32(GICD + 0xc00), ==, 0);
	wr32(GICD + 0x11c, ~0u);
	wr32(GICD + 0x120, ~0u);
	wr32(GICD + 0x124, ~0u); /* beyond 288 */
	g_assert_cmphex(rd32(GICD + 0x120), ==, ~0u);
	g_assert_cmphex(rd32(GICD + 0x124), ==, 0);
	wr32(GICD + 0x1a0, 0xff);
	g_assert_cmphex(rd32(GICD + 0x1a0), ==, ~0xffu);
	/* five bits of priority, by bytes and words; nothing beyond */
	wr32(GICD + 0x51c, ~0u);
	wr(GICD + 0x51d, 1, 0x47);
	g_assert_cmphex(rd32(GICD + 0x51c), ==, 0xf8f840f8);
	g_assert_cmphex(rd(GICD + 0x51d, 1), ==, 0x40);
	wr32(GICD + 0x520, ~0u);
	g_assert_cmphex(rd32(GICD + 0x520), ==, 0);
	/* only the edge bits of ICFGR */
	wr32(GICD + 0xc08, ~0u);
	g_assert_cmphex(rd32(GICD + 0xc08), ==, 0xaaaaaaaa);
	wr32(GICD + 0xc0c, 0x8);
	g_assert_cmphex(rd32(GICD + 0xc0c), ==, 0x8);
	wr32(gicr_sgi(0) + 0xc00, 0);
	g_assert_cmphex(rd32(gicr_sgi(0) + 0xc00), ==, 0xaaaaaaaa);
	wr32(gicr_sgi(0) + 0xc04, ~0u);
	g_assert_cmphex(rd32(gicr_sgi(0) + 0xc04), ==, 0xaaaaaaaa);
	wr(GICD + 0x6100, 8, ~0ull);
	g_assert_cmphex(rd(GICD + 0x6100, 8), ==, 0xff80ffffffull);
	wr32(GICD + 0x6104, 0);
	g_assert_cmphex(rd(GICD + 0x6100, 8), ==, 0x80ffffffull);
	/* sizes that a register does not have */
	g_assert_cmphex(rd(GICD + 4, 1) | rd(GICD + 4, 2) | rd(GICD, 8), ==, 0);
	wr(GICD + 0x108, 2, 0xffff);
	g_assert_cmphex(rd32(GICD + 0x108), ==, 0);
	gic_machine_free();
}

static void test_reset(void)
{
	gic_machine(false);
	gic_enable();
	gic_setup_spi(1, 0xa0, false, 0);
	arm_gicv3_set_spi(gic, 1, true);
	g_assert_true(irq_line(0));
	gic->type->reset(gic);
	g_assert_false(irq_line(0));
	g_assert_cmphex(rd32(GICD + 0x104) | rd32(GICD + 0x84) | rd32(GICD + 0x420), ==, 0);
	g_assert_true(is_pending(INTID(1))); /* the device still drives its line */
	g_assert_cmphex(mrs(gic_cpu[0], ICC_PMR), ==, 0);
	gic_enable();
	msr(gic_cpu[0], ICC_SGI1R, sgi_to(1, 1));
	g_assert_true(irq_line(0));
	arm_cpu_reset(gic_cpu[0], 0); /* the CPU interface goes with its CPU */
	g_assert_false(irq_line(0));
	g_assert_cmphex(mrs(gic_cpu[0], ICC_IGRPEN1), ==, 0);
	g_assert_cmphex(gic_cpu[0]->id[4][0] >> 24 & 15, ==, 1); /* ID_AA64PFR0_EL1.GIC */
	gic_machine_free();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gicv3/level", test_level);
	g_test_add_func("/gicv3/level-latch", test_level_latch);
	g_test_add_func("/gicv3/edge", test_edge);
	g_test_add_func("/gicv3/ppi", test_ppi);
	g_test_add_func("/gicv3/order", test_order);
	g_test_add_func("/gicv3/mask", test_mask);
	g_test_add_func("/gicv3/preemption", test_preemption);
	g_test_add_func("/gicv3/binary-points", test_binary_points);
	g_test_add_func("/gicv3/no-preemption", test_no_preemption);
	g_test_add_func("/gicv3/eoimode", test_eoimode);
	g_test_add_func("/gicv3/groups", test_groups);
	g_test_add_func("/gicv3/sgi", test_sgi);
	g_test_add_func("/gicv3/affinity", test_affinity);
	g_test_add_func("/gicv3/one-of-n", test_one_of_n);
	g_test_add_func("/gicv3/registers", test_registers);
	g_test_add_func("/gicv3/reset", test_reset);
	return g_test_run();
}

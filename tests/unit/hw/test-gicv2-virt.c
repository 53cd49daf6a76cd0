/* tests/unit/hw/test-gicv2-virt.c - the GICv2's list registers and virtual CPU interfaces, their
 * state. */
#include "tests/unit/hw/gicv2-fixture.h"

#define GICH 0x08030000ull
#define GICV 0x08040000ull

enum {
	H_HCR = 0x00,
	H_VTR = 0x04,
	H_VMCR = 0x08,
	H_MISR = 0x10,
	H_EISR = 0x20,
	H_ELRSR = 0x30,
	H_APR = 0xf0,
	H_LR = 0x100,
};

#define HW      (1u << 31)
#define GROUP1  (1u << 30)
#define ACTIVE  (1u << 29)
#define PENDING (1u << 28)
#define TELL    (1u << 19)
#define PRIO(p) ((u32)(p) << 20) /* of eight bits */
#define PHYS(n) ((u32)(n) << 10)

#define MAINTENANCE 25

static void create(void)
{
	create_gic(&(struct arm_gicv2_config){ GICD, GICC, CPUS, 256, GICH, GICV });
}

static u32 hyp(unsigned cpu, u64 offset)
{
	return run((struct access){ &gicv2_hyp_ops, cpu, 4, offset, 0, false });
}
static void set_hyp(unsigned cpu, u64 offset, u32 val)
{
	run((struct access){ &gicv2_hyp_ops, cpu, 4, offset, val, true });
}
static u32 vc(unsigned cpu, u64 offset)
{
	return run((struct access){ &gicv2_vcpu_ops, cpu, 4, offset, 0, false });
}
static void set_vc(unsigned cpu, u64 offset, u32 val)
{
	run((struct access){ &gicv2_vcpu_ops, cpu, 4, offset, val, true });
}
static void set_lr(unsigned cpu, unsigned n, u32 val)
{
	set_hyp(cpu, H_LR + 4 * n, val);
}
static u32 lr(unsigned cpu, unsigned n)
{
	return hyp(cpu, H_LR + 4 * n);
}

static bool virq(unsigned cpu)
{
	return cpus[cpu]->irq_lines & 1u << ARM_LINE_VIRQ;
}
static bool vfiq(unsigned cpu)
{
	return cpus[cpu]->irq_lines & 1u << ARM_LINE_VFIQ;
}
static bool wants_maintenance(unsigned cpu)
{
	return dist(cpu, 0x200, 4) & 1u << MAINTENANCE;
}

/* What a hypervisor does for a guest that has its interface on. */
static void start(unsigned cpu, u32 ctlr)
{
	set_hyp(cpu, H_HCR, 1);
	set_vc(cpu, CTLR, ctlr);
	set_vc(cpu, PMR, 0xf0);
}

/* ---- tests ---- */

static void test_registers(void)
{
	create();
	g_assert_cmphex(hyp(0, H_VTR), ==, 0x90000003);
	g_assert_cmphex(hyp(0, H_ELRSR), ==, 0xf);
	set_hyp(0, H_HCR, ~0u);
	g_assert_cmphex(hyp(0, H_HCR), ==, 0xf80000ff);
	g_assert_cmphex(hyp(1, H_HCR), ==, 0); /* a CPU sees its own */
	set_lr(0, 3, ~0u);
	g_assert_cmphex(lr(0, 3), ==, 0xff8fffff);
	set_lr(0, 4, ~0u); /* there are four */
	g_assert_cmphex(lr(0, 4), ==, 0);
	set_hyp(0, H_VMCR, ~0u);
	g_assert_cmphex(hyp(0, H_VMCR), ==, 0xf8fc021f);
	g_assert_cmphex(vc(0, CTLR), ==, 0x21f);
	g_assert_cmphex(vc(0, PMR), ==, 0xf8);
	set_hyp(0, H_VMCR, 0);
	g_assert_cmphex(hyp(0, H_VMCR), ==, 2u << 21 | 3u << 18); /* the least there is */
	set_vc(0, BPR, 5);
	set_vc(0, ABPR, 6);
	g_assert_cmphex(hyp(0, H_VMCR), ==, 5u << 21 | 6u << 18);
	set_vc(0, CTLR, GICC_CTLR_CBPR);
	g_assert_cmphex(vc(0, ABPR), ==, 6);
	set_vc(0, ABPR, 3); /* is not the guest's to set now */
	set_vc(0, CTLR, 0);
	g_assert_cmphex(vc(0, ABPR), ==, 6);
	g_assert_cmphex(vc(0, 0xfc), ==, 0x2043b);
	destroy();
}

static void test_life(void)
{
	create();
	start(1, GICC_CTLR_GRP0);
	set_lr(1, 2, PENDING | PRIO(0x80) | 77);
	g_assert_true(virq(1) && !virq(0) && !irq_line(1));
	g_assert_cmphex(hyp(1, H_ELRSR), ==, 0xb);
	g_assert_cmpuint(vc(0, IAR), ==, 1023);
	g_assert_cmpuint(vc(1, HPPIR), ==, 77);
	g_assert_cmpuint(vc(1, IAR), ==, 77);
	g_assert_false(virq(1));
	g_assert_cmphex(lr(1, 2), ==, ACTIVE | PRIO(0x80) | 77);
	g_assert_cmphex(hyp(1, H_APR), ==, 1u << 16);
	g_assert_cmphex(vc(1, RPR), ==, 0x80);
	set_lr(1, 0, PENDING | PRIO(0x40) | 78); /* preempts */
	g_assert_cmpuint(vc(1, IAR), ==, 78);
	set_lr(1, 1, PENDING | PRIO(0x40) | 79); /* does not */
	g_assert_false(virq(1));
	set_vc(1, EOIR, 78);
	g_assert_true(virq(1));
	g_assert_cmphex(lr(1, 0), ==, PRIO(0x40) | 78);
	set_vc(1, PMR, 0x40); /* must be above the mask, not at it */
	g_assert_false(virq(1));
	g_assert_cmpuint(vc(1, IAR), ==, 1023);
	set_vc(1, EOIR, 1023); /* is no interrupt */
	g_assert_cmphex(vc(1, RPR), ==, 0x80);
	set_vc(1, EOIR, 77);
	g_assert_cmphex(vc(1, RPR), ==, 0xff);
	set_vc(1, PMR, 0xf0);
	g_assert_true(virq(1));
	set_hyp(1, H_HCR, 0);
	g_assert_false(virq(1));
	g_assert_cmpuint(vc(1, IAR), ==, 1023);
	destroy();
}

static void test_sgis(void)
{
	create();
	start(0, GICC_CTLR_GRP0);
	set_lr(0, 0, PENDING | PRIO(0x80) | 2u << 10 | 5); /* by CPUs 2 and 3 */
	set_lr(0, 1, PENDING | PRIO(0x80) | 3u << 10 | 5);
	g_assert_cmphex(vc(0, IAR), ==, 2u << 10 | 5);
	set_vc(0, EOIR, 2u << 10 | 5);
	g_assert_cmphex(lr(0, 0) & (ACTIVE | PENDING), ==, 0);
	g_assert_cmphex(vc(0, IAR), ==, 3u << 10 | 5);
	set_vc(0, EOIR, 2u << 10 | 5); /* not that one: counted for the hypervisor */
	g_assert_cmphex(hyp(0, H_HCR), ==, 1u << 27 | 1);
	g_assert_cmphex(lr(0, 1) & (ACTIVE | PENDING), ==, ACTIVE);
	destroy();
}

static void test_groups(void)
{
	create();
	start(0, GICC_CTLR_GRP0 | GICC_CTLR_GRP1 | GICC_CTLR_FIQEN);
	set_lr(0, 0, PENDING | GROUP1 | PRIO(0x40) | 50);
	g_assert_true(virq(0) && !vfiq(0));
	g_assert_cmpuint(vc(0, IAR), ==, 1022);
	g_assert_cmpuint(vc(0, AHPPIR), ==, 50);
	g_assert_cmpuint(vc(0, AIAR), ==, 50);
	set_lr(0, 1, PENDING | PRIO(0x20) | 51);
	g_assert_true(vfiq(0) && !virq(0));
	g_assert_cmpuint(vc(0, AIAR), ==, 1023);
	g_assert_cmpuint(vc(0, IAR), ==, 51);
	set_vc(0, EOIR, 51);
	set_vc(0, AEOIR, 50);
	g_assert_cmphex(vc(0, RPR), ==, 0xff);
	set_vc(0, CTLR, GICC_CTLR_GRP0 | GICC_CTLR_ACKCTL); /* group 1 off */
	set_lr(0, 0, PENDING | GROUP1 | PRIO(0x40) | 50);
	g_assert_false(virq(0) || vfiq(0));
	set_vc(0, CTLR, GICC_CTLR_GRP1 | GICC_CTLR_ACKCTL); /* one register for both */
	g_assert_cmpuint(vc(0, IAR), ==, 50);
	destroy();
}

/* An interrupt of hardware: its end at the guest is its end here. */
static void test_hardware(void)
{
	create();
	enable(GICC_CTLR_GRP0 | GICC_CTLR_EOIMODE);
	setup_spi(9, 0xa0, false, 1);
	arm_gicv2_set_spi(gic, 9, true);
	g_assert_cmpuint(cc(0, IAR), ==, 41);
	set_cc(0, 0x10, 41); /* the priority only */
	arm_gicv2_set_spi(gic, 9, false);
	g_assert_cmphex(dist(0, 0x304, 4), ==, 1u << 9);
	start(0, GICC_CTLR_GRP0);
	set_lr(0, 0, PENDING | HW | PRIO(0x80) | PHYS(41) | 60);
	g_assert_cmpuint(vc(0, IAR), ==, 60);
	arm_gicv2_set_spi(gic, 9, true);
	g_assert_false(irq_line(0));
	set_vc(0, EOIR, 60);
	g_assert_cmphex(dist(0, 0x304, 4), ==, 0);
	g_assert_true(irq_line(0)); /* it can come again */
	g_assert_cmphex(hyp(0, H_ELRSR), ==, 0xf);
	g_assert_cmphex(hyp(0, H_EISR), ==, 0);
	destroy();
}

static void test_split_end(void)
{
	create();
	start(0, GICC_CTLR_GRP0 | GICC_CTLR_EOIMODE);
	set_lr(0, 0, PENDING | PRIO(0x80) | 60);
	g_assert_cmpuint(vc(0, IAR), ==, 60);
	set_vc(0, EOIR, 60);
	g_assert_cmphex(vc(0, RPR), ==, 0xff);
	g_assert_cmphex(lr(0, 0) & ACTIVE, ==, ACTIVE);
	set_vc(0, DEACTIVATE, 60);
	g_assert_cmphex(lr(0, 0) & ACTIVE, ==, 0);
	set_vc(0, DEACTIVATE, 61); /* no list register has it */
	g_assert_cmphex(hyp(0, H_HCR) >> 27, ==, 1);
	destroy();
}

static void test_maintenance(void)
{
	create();
	start(0, GICC_CTLR_GRP0);
	set_lr(0, 0, PENDING | TELL | PRIO(0x80) | 60);
	g_assert_false(wants_maintenance(0));
	vc(0, IAR);
	set_vc(0, EOIR, 60);
	g_assert_true(wants_maintenance(0) && !wants_maintenance(1));
	g_assert_cmphex(hyp(0, H_MISR), ==, 1);
	g_assert_cmphex(hyp(0, H_EISR), ==, 1);
	g_assert_cmphex(hyp(0, H_ELRSR), ==, 0xe); /* until it was told */
	set_lr(0, 0, 0);
	g_assert_false(wants_maintenance(0));
	set_hyp(0, H_HCR, 1 | 1u << 1); /* one or none is in use */
	g_assert_cmphex(hyp(0, H_MISR), ==, 2);
	set_lr(0, 0, PENDING | 60);
	set_lr(0, 1, ACTIVE | 61);
	g_assert_cmphex(hyp(0, H_MISR), ==, 0);
	set_hyp(0, H_HCR, 1 | 1u << 3); /* none is pending */
	g_assert_false(wants_maintenance(0));
	set_lr(0, 0, 0);
	g_assert_cmphex(hyp(0, H_MISR), ==, 8);
	set_hyp(0, H_HCR, 1 | 1u << 2 | 3u << 27); /* ends without a list register */
	g_assert_cmphex(hyp(0, H_MISR), ==, 4);
	set_hyp(0, H_HCR, 1 | 0xf0); /* groups on and off */
	g_assert_cmphex(hyp(0, H_MISR), ==, 0x90);
	g_assert_true(wants_maintenance(0));
	set_hyp(0, H_HCR, 0xf0);
	g_assert_false(wants_maintenance(0));
	enable(GICC_CTLR_GRP0);
	set_hyp(0, H_HCR, 1 | 0xf0);
	g_assert_true(irq_line(0));
	g_assert_cmpuint(cc(0, IAR), ==, MAINTENANCE);
	destroy();
}

/* Wrong sizes and places. */
static void test_nonsense(void)
{
	create();
	for (u64 at = 0; at < 0x1100; at += 7)
		for (unsigned size = 1; size <= 8; size *= 2)
			for (unsigned write = 0; write < 2; write++) {
				u64 aligned = at & ~(u64)(size - 1);

				run((struct access){ &gicv2_hyp_ops, 0, size, aligned, ~0ull,
						     write });
				run((struct access){ &gicv2_vcpu_ops, 0, size, aligned, ~0ull,
						     write });
			}
	g_assert_cmphex(hyp(0, H_VTR), ==, 0x90000003);
	g_assert_cmphex(hyp(1, H_HCR), ==, 0);
	destroy();
}

/* ---- state ---- */

/* Of the subsection in QEMU's stream, by the description at its end: name, version, 10 arrays. */
#define WIRE_BYTES (2 + 18 + 4 + 8 * (4 + 4 + 64 * 4 + 4 + 4 + 3 * 2 + 2 * 1))

static size_t without_virtual(void)
{
	g_autoptr(GByteArray) bytes = NULL;

	create_gic(&(struct arm_gicv2_config){ GICD, GICC, CPUS, 256 });
	bytes = save();
	destroy();
	return bytes->len;
}

static void test_moves(void)
{
	g_autoptr(GByteArray) bytes = NULL, again = NULL;
	size_t rest = without_virtual();

	create();
	start(2, GICC_CTLR_GRP0 | GICC_CTLR_EOIMODE);
	set_vc(2, BPR, 4);
	set_lr(2, 0, PENDING | PRIO(0x80) | 60);
	g_assert_cmpuint(vc(2, IAR), ==, 60);
	set_lr(2, 1, PENDING | PRIO(0x20) | 61);
	set_hyp(3, H_HCR, 1 | 1u << 3);
	bytes = save();
	g_assert_cmpuint(bytes->len, ==, rest + WIRE_BYTES);
	destroy();

	create();
	load(bytes);
	again = save();
	g_assert_cmpmem(bytes->data, bytes->len, again->data, again->len);
	g_assert_true(virq(2) && !virq(0) && wants_maintenance(3));
	g_assert_cmphex(vc(2, RPR), ==, 0x80);
	g_assert_cmphex(vc(2, BPR), ==, 4);
	g_assert_cmpuint(vc(2, IAR), ==, 61);
	set_vc(2, DEACTIVATE, 60);
	g_assert_cmphex(lr(2, 0) & ACTIVE, ==, 0);
	destroy();
}

/* Any bytes do no harm. */
static void test_damaged_state(void)
{
	g_autoptr(GByteArray) bytes = NULL;
	size_t rest = without_virtual();

	create();
	bytes = save();
	memset(bytes->data + rest + 24, 0xff, bytes->len - rest - 24);
	load(bytes);
	for (unsigned i = 0; i < CPUS; i++) {
		g_assert_cmphex(hyp(i, H_HCR), ==, 0xf80000ff);
		g_assert_cmphex(hyp(i, H_VMCR), ==, 0xf8fc021f);
		g_assert_cmphex(lr(i, 3), ==, 0xff8fffff);
		for (unsigned n = 0; n < 100; n++) {
			vc(i, IAR);
			set_vc(i, EOIR, 0x3ff);
		}
	}
	destroy();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gicv2-virt/registers", test_registers);
	g_test_add_func("/gicv2-virt/life", test_life);
	g_test_add_func("/gicv2-virt/sgis", test_sgis);
	g_test_add_func("/gicv2-virt/groups", test_groups);
	g_test_add_func("/gicv2-virt/hardware", test_hardware);
	g_test_add_func("/gicv2-virt/split-end", test_split_end);
	g_test_add_func("/gicv2-virt/maintenance", test_maintenance);
	g_test_add_func("/gicv2-virt/nonsense", test_nonsense);
	g_test_add_func("/gicv2-virt/moves", test_moves);
	g_test_add_func("/gicv2-virt/damaged-state", test_damaged_state);
	return g_test_run();
}

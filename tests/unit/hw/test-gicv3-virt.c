/* tests/unit/hw/test-gicv3-virt.c - list registers: what a hypervisor sets up and a guest sees. */
#include "tests/unit/hw/gic-machine.h"

#define ICH_AP1R0 SYSREG(3, 4, 12, 9, 0)
#define ICH_HCR   SYSREG(3, 4, 12, 11, 0)
#define ICH_VTR   SYSREG(3, 4, 12, 11, 1)
#define ICH_MISR  SYSREG(3, 4, 12, 11, 2)
#define ICH_EISR  SYSREG(3, 4, 12, 11, 3)
#define ICH_ELRSR SYSREG(3, 4, 12, 11, 5)
#define ICH_VMCR  SYSREG(3, 4, 12, 11, 7)
#define ICH_LR(n) SYSREG(3, 4, 12, 12 + (n) / 8, (n) % 8)

#define HCR_FMO (1ull << 3)
#define HCR_IMO (1ull << 4)

#define PENDING (1ull << 62)
#define ACTIVE  (1ull << 63)
#define HW      (1ull << 61)
#define GROUP1  (1ull << 60)
#define EOI     (1ull << 41)
#define PRIO(p) ((u64)(p) << 48)
#define PINT(n) ((u64)(n) << 32)

static struct arm_cpu *cpu;

static void hypervisor(void)
{
	cpu_set_el(cpu, 2);
}

static void guest(void)
{
	cpu_set_el(cpu, 1);
}

static bool virq(void)
{
	return cpu->irq_lines & 1u << ARM_LINE_VIRQ;
}

static bool vfiq(void)
{
	return cpu->irq_lines & 1u << ARM_LINE_VFIQ;
}

static bool maintenance(void)
{
	return rd32(gicr_sgi(0) + 0x200) >> 25 & 1;
}

/* EL2 with both kinds of interrupts routed to it, a guest that takes all of them. */
static void setup(void)
{
	gic_machine(true);
	cpu = gic_cpu[0];
	cpu->hcr_el2 = HCR_IMO | HCR_FMO;
	hypervisor();
	msr(cpu, ICH_VMCR, 0xf0000000 | 1u << 3 | 3);
	msr(cpu, ICH_HCR, 1);
}

static void test_registers(void)
{
	gic_machine(true);
	cpu = gic_cpu[0];
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_VTR), ==, 0x90b8000f);
	g_assert_cmphex(mrs(cpu, ICH_VMCR), ==, 0x4c0008);
	g_assert_cmphex(mrs(cpu, ICH_ELRSR), ==, 0xffff);
	msr(cpu, ICH_VMCR, ~0ull);
	g_assert_cmphex(mrs(cpu, ICH_VMCR), ==, 0xf8fc021b);
	msr(cpu, ICH_VMCR, 0);
	g_assert_cmphex(mrs(cpu, ICH_VMCR), ==, 0x4c0000);
	msr(cpu, ICH_LR(15), ~0ull);
	g_assert_cmphex(mrs(cpu, ICH_LR(15)), ==, 0xf0ff1fffffffffff);
	guest();
	g_assert_cmpuint(reg_access(cpu, ICH_HCR, false), ==, SYSREG_UNDEF);
	gic_machine_free();
	gic_machine(false);
	g_assert_cmpuint(reg_access(gic_cpu[0], ICH_HCR, false), ==, SYSREG_UNDEF);
	gic_machine_free();
}

static void test_life(void)
{
	setup();
	msr(cpu, ICH_LR(0), PENDING | GROUP1 | PRIO(0xa0) | 40);
	msr(cpu, ICH_LR(3), PENDING | GROUP1 | PRIO(0x40) | 41);
	g_assert_true(virq() && !vfiq());
	g_assert_cmphex(mrs(cpu, ICH_ELRSR), ==, 0xfff6);
	guest();
	g_assert_cmpuint(mrs(cpu, ICC_HPPIR1), ==, 41);
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 41);
	g_assert_false(virq()); /* 40 is lower */
	g_assert_cmphex(mrs(cpu, ICC_RPR), ==, 0x40);
	g_assert_cmphex(mrs(cpu, ICC_AP1R0), ==, 1u << 8);
	msr(cpu, ICC_EOIR1, 41);
	g_assert_true(virq());
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 40);
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 1023);
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_LR(0)), ==, ACTIVE | GROUP1 | PRIO(0xa0) | 40);
	g_assert_cmphex(mrs(cpu, ICH_LR(3)), ==, GROUP1 | PRIO(0x40) | 41);
	g_assert_cmphex(mrs(cpu, ICH_AP1R0), ==, 1u << 20);
	/* pending again while active */
	msr(cpu, ICH_LR(0), ACTIVE | PENDING | GROUP1 | PRIO(0xa0) | 40);
	g_assert_false(virq());
	guest();
	msr(cpu, ICC_EOIR1, 40);
	g_assert_true(virq());
	/* the physical interface is another one */
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICC_RPR), ==, 0xff);
	g_assert_cmphex(mrs(cpu, ICC_PMR), ==, 0);
	msr(cpu, ICH_HCR, 0);
	g_assert_false(virq());
	gic_machine_free();
}

static void test_controls(void)
{
	setup();
	msr(cpu, ICH_LR(0), PENDING | GROUP1 | PRIO(0x80) | 40);
	guest();
	g_assert_cmphex(mrs(cpu, ICC_PMR), ==, 0xf0);
	msr(cpu, ICC_PMR, 0x80);
	g_assert_false(virq());
	msr(cpu, ICC_PMR, 0xff);
	g_assert_true(virq());
	msr(cpu, ICC_IGRPEN1, 0);
	g_assert_false(virq());
	msr(cpu, ICC_IGRPEN1, 1);
	msr(cpu, ICC_BPR0, 4);
	msr(cpu, ICC_BPR1, 0);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 3);
	msr(cpu, ICC_CTLR, 3);
	g_assert_cmphex(mrs(cpu, ICC_CTLR), ==, 0x8c03);
	g_assert_cmpuint(mrs(cpu, ICC_BPR1), ==, 5);
	/* split: the priority first, the interrupt later */
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 40);
	msr(cpu, ICC_EOIR1, 40);
	g_assert_cmphex(mrs(cpu, ICC_RPR), ==, 0xff);
	hypervisor();
	g_assert_true(mrs(cpu, ICH_LR(0)) & ACTIVE);
	guest();
	msr(cpu, ICC_DIR, 40);
	hypervisor();
	g_assert_false(mrs(cpu, ICH_LR(0)) & ACTIVE);
	g_assert_cmphex(mrs(cpu, ICH_VMCR), ==, 0xf88c0000 | 1 << 9 | 1 << 4 | 1 << 3 | 3);
	gic_machine_free();
}

static void test_group0(void)
{
	setup();
	msr(cpu, ICH_LR(1), PENDING | PRIO(0x80) | 50);
	g_assert_true(vfiq() && !virq());
	guest();
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 1023);
	g_assert_cmpuint(mrs(cpu, ICC_IAR0), ==, 50);
	msr(cpu, ICC_EOIR1, 50); /* wrong group */
	g_assert_cmphex(mrs(cpu, ICC_RPR), ==, 0x80);
	msr(cpu, ICC_EOIR0, 50);
	g_assert_cmphex(mrs(cpu, ICC_RPR), ==, 0xff);
	gic_machine_free();
}

/* An interrupt of hardware ends there too. */
static void test_hardware(void)
{
	setup();
	gic_enable();
	hypervisor();
	msr(cpu, ICC_CTLR, 2); /* the host drops only the priority */
	gic_setup_spi(5, 0xa0, false, 0);
	arm_gicv3_set_spi(gic, 5, true);
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 37);
	msr(cpu, ICC_EOIR1, 37);
	msr(cpu, ICH_LR(0), PENDING | HW | GROUP1 | PRIO(0xa0) | PINT(37) | 60);
	guest();
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 60);
	g_assert_false(irq_line(0));
	msr(cpu, ICC_EOIR1, 60);
	g_assert_true(irq_line(0)); /* the device still asks */
	g_assert_cmphex(rd32(GICD + 0x304), ==, 0);
	gic_machine_free();
}

static void test_maintenance(void)
{
	setup();
	msr(cpu, ICH_LR(0), PENDING | EOI | GROUP1 | PRIO(0xa0) | 40);
	g_assert_false(maintenance());
	guest();
	g_assert_cmpuint(mrs(cpu, ICC_IAR1), ==, 40);
	msr(cpu, ICC_EOIR1, 40);
	g_assert_true(maintenance());
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_EISR), ==, 1);
	g_assert_cmphex(mrs(cpu, ICH_ELRSR), ==, 0xfffe);
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 1);
	msr(cpu, ICH_LR(0), 0);
	g_assert_false(maintenance());
	/* underflow: at most one is in use; none pending; groups off */
	msr(cpu, ICH_HCR, 1 | 2);
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 2);
	msr(cpu, ICH_LR(0), ACTIVE | 40);
	msr(cpu, ICH_LR(1), ACTIVE | 41);
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 0);
	msr(cpu, ICH_HCR, 1 | 8 | 1 << 7);
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 8);
	guest();
	msr(cpu, ICC_IGRPEN1, 0);
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 8 | 1 << 7);
	/* the end of an interrupt that is not there is counted */
	msr(cpu, ICH_HCR, 1 | 4);
	msr(cpu, ICH_AP1R0, 1u << 20);
	guest();
	msr(cpu, ICC_EOIR1, 99);
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_HCR), ==, 1 | 4 | 1ull << 27);
	g_assert_cmphex(mrs(cpu, ICH_MISR), ==, 4);
	gic_machine_free();
}

static void test_traps(void)
{
	static const struct {
		u64 hcr, ich;
		unsigned key;
		bool write;
		unsigned want;
	} cases[] = {
		{ HCR_IMO, 0, ICC_SGI1R, true, 2 },
		{ 0, 0, ICC_SGI1R, true, TEST_OK },
		{ 0, 1 << 10, ICC_SGI1R, true, 2 },
		{ HCR_IMO, 1 << 10, ICC_PMR, false, 2 },
		{ HCR_IMO, 1 << 10, ICC_DIR, true, 2 },
		{ HCR_IMO, 1 << 14, ICC_DIR, true, 2 },
		{ HCR_IMO, 1 << 14, ICC_EOIR1, true, TEST_OK },
		{ HCR_IMO, 1 << 12, ICC_IAR1, false, 2 },
		{ HCR_IMO, 1 << 12, ICC_IAR0, false, TEST_OK },
		{ HCR_IMO, 1 << 11, ICC_IAR0, false, 2 },
		{ HCR_IMO, 0, ICC_IAR1, false, TEST_OK },
	};

	setup();
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		hypervisor();
		cpu->hcr_el2 = cases[i].hcr;
		msr(cpu, ICH_HCR, cases[i].ich);
		g_assert_cmpuint(reg_access(cpu, cases[i].key, cases[i].write), ==, TEST_OK);
		guest();
		g_assert_cmpuint(reg_access(cpu, cases[i].key, cases[i].write), ==, cases[i].want);
	}
	gic_machine_free();
}

static void test_reset(void)
{
	setup();
	msr(cpu, ICH_LR(0), PENDING | GROUP1 | PRIO(0x80) | 40);
	g_assert_true(virq());
	arm_cpu_reset(cpu, 0);
	g_assert_false(virq());
	hypervisor();
	g_assert_cmphex(mrs(cpu, ICH_LR(0)), ==, 0);
	gic_machine_free();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/gicv3-virt/registers", test_registers);
	g_test_add_func("/gicv3-virt/life", test_life);
	g_test_add_func("/gicv3-virt/controls", test_controls);
	g_test_add_func("/gicv3-virt/group0", test_group0);
	g_test_add_func("/gicv3-virt/hardware", test_hardware);
	g_test_add_func("/gicv3-virt/maintenance", test_maintenance);
	g_test_add_func("/gicv3-virt/traps", test_traps);
	g_test_add_func("/gicv3-virt/reset", test_reset);
	return g_test_run();
}

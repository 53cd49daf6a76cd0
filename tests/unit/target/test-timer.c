/* tests/unit/target/test-timer.c - generic timers: comparison, outputs, offsets, who may access. */
#include "tests/unit/target/arm-regs.h"

#include "target/arm/excp.h"
#include "target/arm/timer.h"
#include "util/lock.h"
#include "util/timer.h"

#define CNTFRQ    SYSREG(3, 3, 14, 0, 0)
#define CNTPCT    SYSREG(3, 3, 14, 0, 1)
#define CNTVCT    SYSREG(3, 3, 14, 0, 2)
#define CNTVCTSS  SYSREG(3, 3, 14, 0, 6)
#define CNTP_TVAL SYSREG(3, 3, 14, 2, 0)
#define CNTP_CTL  SYSREG(3, 3, 14, 2, 1)
#define CNTP_CVAL SYSREG(3, 3, 14, 2, 2)
#define CNTV_TVAL SYSREG(3, 3, 14, 3, 0)
#define CNTV_CTL  SYSREG(3, 3, 14, 3, 1)
#define CNTV_CVAL SYSREG(3, 3, 14, 3, 2)

#define CNTV_CTL_EL02  SYSREG(3, 5, 14, 3, 1)
#define CNTV_CVAL_EL02 SYSREG(3, 5, 14, 3, 2)
#define CNTKCTL        SYSREG(3, 0, 14, 1, 0)
#define CNTKCTL_EL12   SYSREG(3, 5, 14, 1, 0)
#define CNTHCTL        SYSREG(3, 4, 14, 1, 0)
#define CNTVOFF        SYSREG(3, 4, 14, 0, 3)
#define CNTPOFF        SYSREG(3, 4, 14, 0, 6)
#define CNTHP_CTL      SYSREG(3, 4, 14, 2, 1)
#define CNTHP_CVAL     SYSREG(3, 4, 14, 2, 2)
#define CNTHV_CTL      SYSREG(3, 4, 14, 3, 1)
#define CNTHV_CVAL     SYSREG(3, 4, 14, 3, 2)
#define CNTPS_CTL      SYSREG(3, 7, 14, 2, 1)

enum { ENABLE = 1, IMASK = 2, ISTATUS = 4 };

static s64 now_ns;
static bool out[ARM_TIMERS];
static unsigned changes;

static s64 now(void)
{
	return now_ns;
}

static void on_output(void *opaque, enum arm_timer timer, bool level)
{
	g_assert_true(out[timer] != level);
	out[timer] = level;
	changes++;
}

/* Let time pass; host timers fire on the way. */
static void run_to(s64 ns)
{
	for (;;) {
		s64 next = timer_run_virtual();

		if (next < 0 || next > ns)
			break;
		now_ns = MAX(now_ns, next);
	}
	now_ns = ns;
	timer_run_virtual();
}

static struct arm_cpu *cpu_new(u32 hz, bool el2, bool el3)
{
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	memset(out, 0, sizeof(out));
	changes = 0;
	now_ns = 1000;
	clock_virtual_set_source(now, NULL);
	cpu->has_el2 = el2;
	cpu->has_el3 = el3;
	arm_timers_create(cpu, hz);
	arm_timers_connect(cpu, on_output, NULL);
	cpu_set_el(cpu, el3 ? 3 : el2 ? 2 : 1);
	return cpu;
}

static void cpu_free(struct arm_cpu *cpu)
{
	arm_timers_destroy(cpu);
	g_hash_table_unref(cpu->sysregs);
	g_aligned_free(cpu);
}

static void test_counter(void)
{
	static const struct {
		u32 hz;
		s64 ns;
		u64 count;
	} cases[] = {
		{ 1000000000, 123456789, 123456789 },
		{ 62500000, 1599, 99 },
		{ 62500000, 1600, 100 },
		{ 24000000, 1000000000, 24000000 },
		{ 24000000, 41, 0 },
		{ 24000000, 42, 1 },
		{ 24000000, 3600000000000000000, 86400000000000000 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arm_cpu *cpu = cpu_new(cases[i].hz, false, false);

		now_ns = cases[i].ns;
		g_assert_cmpuint(mrs(cpu, CNTFRQ), ==, cases[i].hz);
		g_assert_cmpuint(mrs(cpu, CNTVCT), ==, cases[i].count);
		g_assert_cmpuint(mrs(cpu, CNTPCT), ==, cases[i].count);
		/* the time given for a count shows that count, one ns earlier it does not */
		now_ns = arm_timers_to_ns(cpu, cases[i].count + 1);
		g_assert_cmpuint(mrs(cpu, CNTPCT), ==, cases[i].count + 1);
		now_ns--;
		g_assert_cmpuint(mrs(cpu, CNTPCT), ==, cases[i].count);
		cpu_free(cpu);
	}
}

static void test_fires(void)
{
	struct arm_cpu *cpu = cpu_new(62500000, false, false);

	msr(cpu, CNTV_CVAL, 200);
	msr(cpu, CNTV_CTL, ENABLE);
	g_assert_cmpuint(mrs(cpu, CNTV_CTL), ==, ENABLE);
	run_to(3199);
	g_assert_false(out[ARM_TIMER_VIRT]);
	run_to(3200);
	g_assert_true(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(mrs(cpu, CNTV_CTL), ==, ENABLE | ISTATUS);
	msr(cpu, CNTV_CTL, ENABLE | IMASK);
	g_assert_false(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(mrs(cpu, CNTV_CTL), ==, ENABLE | IMASK | ISTATUS);
	msr(cpu, CNTV_CTL, ENABLE);
	g_assert_true(out[ARM_TIMER_VIRT]);
	msr(cpu, CNTV_TVAL, 10); /* CVAL = now + 10 */
	g_assert_false(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(mrs(cpu, CNTV_CVAL), ==, 210);
	g_assert_cmpuint(mrs(cpu, CNTV_TVAL), ==, 10);
	run_to(16 * 215);
	g_assert_true(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(mrs(cpu, CNTV_TVAL), ==, (u32)-5);
	msr(cpu, CNTV_CTL, 0);
	g_assert_false(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(mrs(cpu, CNTV_CTL), ==, 0);
	g_assert_cmpuint(changes, ==, 6);
	g_assert_false(out[ARM_TIMER_PHYS]);
	cpu_free(cpu);
}

static void test_negative_tval(void)
{
	struct arm_cpu *cpu = cpu_new(1000000000, false, false);

	msr(cpu, CNTP_CTL, ENABLE | IMASK);
	msr(cpu, CNTP_TVAL, (u32)-100);
	g_assert_cmpuint(mrs(cpu, CNTP_CVAL), ==, 900);
	msr(cpu, CNTP_CTL, ENABLE);
	g_assert_true(out[ARM_TIMER_PHYS]);
	cpu_free(cpu);
}

/* A compare value that is never reached within the clock's range must not fire or overflow. */
static void test_far_away(void)
{
	struct arm_cpu *cpu = cpu_new(62500000, true, false);

	msr(cpu, CNTVOFF, 1);
	msr(cpu, CNTV_CVAL, ~(u64)0);
	msr(cpu, CNTV_CTL, ENABLE);
	run_to(1000000000000000000);
	g_assert_false(out[ARM_TIMER_VIRT]);
	g_assert_cmpint(timer_run_virtual(), ==, -1); /* and nothing is armed for it */
	msr(cpu, CNTV_CVAL, 1);
	g_assert_true(out[ARM_TIMER_VIRT]);
	cpu_free(cpu);
}

/* With an offset ahead of the counter, the virtual count is huge, then wraps to 0. */
static void test_wraps(void)
{
	struct arm_cpu *cpu = cpu_new(1000000000, true, false);

	msr(cpu, CNTVOFF, 5000);
	msr(cpu, CNTV_CVAL, 100);
	msr(cpu, CNTV_CTL, ENABLE);
	g_assert_cmpuint(mrs(cpu, CNTVCT), ==, (u64)-4000);
	g_assert_true(out[ARM_TIMER_VIRT]);
	run_to(4999);
	g_assert_true(out[ARM_TIMER_VIRT]);
	run_to(5000);
	g_assert_false(out[ARM_TIMER_VIRT]);
	run_to(5100);
	g_assert_true(out[ARM_TIMER_VIRT]);
	msr(cpu, CNTVOFF, 5200); /* moves the running timer */
	run_to(5300);
	g_assert_true(out[ARM_TIMER_VIRT]);
	g_assert_cmpuint(changes, ==, 5);
	cpu_free(cpu);
}

static void test_el2(void)
{
	struct arm_cpu *cpu = cpu_new(1000000000, true, false);

	msr(cpu, CNTHP_CVAL, 2000);
	msr(cpu, CNTHP_CTL, ENABLE);
	msr(cpu, CNTHV_CVAL, 3000);
	msr(cpu, CNTHV_CTL, ENABLE);
	msr(cpu, CNTVOFF, 500);
	g_assert_cmpuint(mrs(cpu, CNTVCT), ==, 500);
	g_assert_cmpuint(reg_access(cpu, CNTV_CTL_EL02, false), ==, SYSREG_UNDEF);
	run_to(2500);
	g_assert_true(out[ARM_TIMER_HYP]);
	g_assert_false(out[ARM_TIMER_HYP_VIRT]);

	/* a host with FEAT_VHE: no offset, EL0's names mean EL2's timers */
	cpu->hcr_el2 = HCR_E2H | HCR_TGE;
	g_assert_cmpuint(mrs(cpu, CNTVCT), ==, 2500);
	g_assert_cmpuint(mrs(cpu, CNTV_CVAL), ==, 3000);
	g_assert_cmpuint(mrs(cpu, CNTP_CTL), ==, ENABLE | ISTATUS);
	msr(cpu, CNTV_CVAL_EL02, 2600);
	msr(cpu, CNTV_CTL_EL02, ENABLE);
	run_to(3050);
	g_assert_true(out[ARM_TIMER_HYP_VIRT]);
	g_assert_false(out[ARM_TIMER_VIRT]);
	run_to(3100);
	g_assert_true(out[ARM_TIMER_VIRT]);
	msr(cpu, CNTKCTL, 0xc02);
	g_assert_cmpuint(mrs(cpu, CNTHCTL), ==, 0xc02);
	msr(cpu, CNTKCTL_EL12, 0x102);
	cpu->hcr_el2 = HCR_E2H;
	cpu_set_el(cpu, 1);
	g_assert_cmpuint(mrs(cpu, CNTKCTL), ==, 0x102);
	g_assert_cmpuint(mrs(cpu, CNTVCT), ==, 2600);
	cpu_free(cpu);
}

static void test_physical_offset(void)
{
	struct arm_cpu *cpu = cpu_new(1000000000, true, false);

	g_assert_cmpuint(reg_access(cpu, CNTPOFF, true), ==, SYSREG_UNDEF);
	g_assert_cmpuint(reg_access(cpu, CNTVCTSS, false), ==, SYSREG_UNDEF);
	cpu->id[7][0] = 2ull << 60; /* ID_AA64MMFR0_EL1.ECV */
	msr(cpu, CNTPOFF, 300);
	g_assert_cmpuint(mrs(cpu, CNTVCTSS), ==, 1000);
	cpu_set_el(cpu, 1);
	g_assert_cmpuint(mrs(cpu, CNTPCT), ==, 1000);
	cpu_set_el(cpu, 2);
	msr(cpu, CNTHCTL, 1 << 12 | 3);
	g_assert_cmpuint(mrs(cpu, CNTPCT), ==, 1000);
	cpu_set_el(cpu, 1);
	g_assert_cmpuint(mrs(cpu, CNTPCT), ==, 700);
	msr(cpu, CNTP_CVAL, 800);
	msr(cpu, CNTP_CTL, ENABLE);
	run_to(1099);
	g_assert_false(out[ARM_TIMER_PHYS]);
	run_to(1100);
	g_assert_true(out[ARM_TIMER_PHYS]);
	cpu_free(cpu);
}

static void test_traps(void)
{
	static const struct {
		unsigned el;
		u64 hcr, kctl, hctl;
		unsigned key, want;
	} cases[] = {
		{ 0, 0, 0, 3, CNTVCT, 1 },
		{ 0, HCR_TGE, 0, 3, CNTVCT, 2 },
		{ 0, 0, 2, 3, CNTVCT, TEST_OK },
		{ 0, 0, 2, 3, CNTPCT, 1 },
		{ 0, 0, 1, 3, CNTPCT, TEST_OK },
		{ 0, 0, 1, 2, CNTPCT, 2 },
		{ 0, 0, 3, 3, CNTFRQ, TEST_OK },
		{ 0, 0, 2, 3, CNTFRQ, TEST_OK },
		{ 0, 0, 0x300, 3, CNTFRQ, 1 },
		{ 0, 0, 3, 3, CNTP_CTL, 1 },
		{ 0, 0, 0x200, 3, CNTP_CTL, TEST_OK },
		{ 0, 0, 0x200, 3, CNTV_CVAL, 1 },
		{ 0, 0, 0x100, 3, CNTV_CVAL, TEST_OK },
		{ 0, 0, 0x200, 1, CNTP_CTL, 2 },
		{ 1, 0, 0, 0, CNTP_CTL, 2 },
		{ 1, 0, 0, 2, CNTP_CTL, TEST_OK },
		{ 1, 0, 0, 0, CNTPCT, 2 },
		{ 1, 0, 0, 0, CNTVCT, TEST_OK },
		{ 1, 0, 0, 0, CNTV_TVAL, TEST_OK },
		{ 1, HCR_E2H, 0, 3, CNTPCT, 2 },
		{ 1, HCR_E2H, 0, 0x400, CNTPCT, TEST_OK },
		{ 1, HCR_E2H, 0, 0x400, CNTP_CVAL, 2 },
		{ 1, HCR_E2H, 0, 0x800, CNTP_CVAL, TEST_OK },
		{ 0, HCR_E2H | HCR_TGE, 0, 1, CNTPCT, TEST_OK },
		{ 0, HCR_E2H | HCR_TGE, 3, 0, CNTPCT, 2 },
		{ 1, 0, 0, 3, CNTHP_CTL, SYSREG_UNDEF },
		{ 1, 0, 0, 1 << 13, CNTV_CTL, TEST_OK }, /* no FEAT_ECV */
		{ 2, 0, 0, 0, CNTP_CTL, TEST_OK },
	};
	struct arm_cpu *cpu = cpu_new(1000000000, true, false);

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		cpu_set_el(cpu, cases[i].el);
		cpu->hcr_el2 = cases[i].hcr;
		cpu->cntkctl_el1 = cases[i].kctl;
		cpu->cnthctl_el2 = cases[i].hctl;
		g_assert_cmpuint(reg_access(cpu, cases[i].key, false), ==, cases[i].want);
	}
	cpu_set_el(cpu, 1);
	g_assert_cmpuint(reg_access(cpu, CNTFRQ, true), ==, SYSREG_UNDEF);
	cpu_set_el(cpu, 2);
	g_assert_cmpuint(reg_access(cpu, CNTFRQ, true), ==, TEST_OK);
	g_assert_cmpuint(reg_access(cpu, CNTPS_CTL, true), ==, SYSREG_UNDEF);
	cpu_free(cpu);

	cpu = cpu_new(1000000000, true, true);
	g_assert_cmpuint(reg_access(cpu, CNTPS_CTL, true), ==, TEST_OK);
	cpu_set_el(cpu, 1);
	g_assert_cmpuint(reg_access(cpu, CNTPS_CTL, true), ==, 3);
	cpu->scr_el3 = 1ull << 11;
	g_assert_cmpuint(reg_access(cpu, CNTPS_CTL, true), ==, TEST_OK);
	cpu->scr_el3 |= 1;
	g_assert_cmpuint(reg_access(cpu, CNTPS_CTL, true), ==, SYSREG_UNDEF);
	cpu_free(cpu);
}

/* What an incoming migration does: registers are there, the timers follow. */
static void test_update(void)
{
	struct arm_cpu *cpu = cpu_new(1000000000, true, false);

	cpu->timer[ARM_TIMER_VIRT] = (struct arm_timer_regs){ ENABLE, 4000 };
	cpu->timer[ARM_TIMER_PHYS] = (struct arm_timer_regs){ ENABLE, 10 };
	arm_timers_update(cpu);
	g_assert_true(out[ARM_TIMER_PHYS]);
	run_to(4000);
	g_assert_true(out[ARM_TIMER_VIRT]);
	arm_timers_reset(cpu);
	g_assert_false(out[ARM_TIMER_PHYS] || out[ARM_TIMER_VIRT]);
	g_assert_cmpint(timer_run_virtual(), ==, -1);
	cpu_free(cpu);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	machine_lock();
	g_test_add_func("/timer/counter", test_counter);
	g_test_add_func("/timer/fires", test_fires);
	g_test_add_func("/timer/negative-tval", test_negative_tval);
	g_test_add_func("/timer/far-away", test_far_away);
	g_test_add_func("/timer/wraps", test_wraps);
	g_test_add_func("/timer/el2", test_el2);
	g_test_add_func("/timer/physical-offset", test_physical_offset);
	g_test_add_func("/timer/traps", test_traps);
	g_test_add_func("/timer/update", test_update);
	return g_test_run();
}

/*
 * timer.c - test guest for arm64: the generic timers and their interrupts.
 *
 * Every line that it prints is the same on any correct machine, whatever its speed.
 */
#include "arm.h"

#define VIRT 27 /* INTIDs of the timers */
#define PHYS 30
#define SGI  3UL

enum { ENABLE = 1, IMASK = 2, ISTATUS = 4 };

/* boot.S writes this to CNTVOFF_EL2 if it starts at EL2. */
asm(".global cntvoff_value\n.set cntvoff_value, 1");

static volatile unsigned fired[1024];
static volatile u64 iar_last;
static volatile unsigned leave_on; /* let a level-sensitive interrupt come again */

void irq_handler(void)
{
	u64 intid = mrs(ICC_IAR1);

	iar_last = intid;
	fired[intid & 1023]++;
	if (fired[intid & 1023] > leave_on) {
		if (intid == VIRT)
			msr("cntv_ctl_el0", ENABLE | IMASK);
		else if (intid == PHYS)
			msr("cntp_ctl_el0", ENABLE | IMASK);
	}
	if (intid < 1020)
		msr(ICC_EOIR1, intid);
}

static void enable(unsigned intid)
{
	*reg32(gicr_sgi(0) + 0x100) = 1u << intid;
}

static bool is_pending(unsigned intid)
{
	return *reg32(gicr_sgi(0) + 0x200) >> intid & 1;
}

static void wait_ms(u64 ms)
{
	u64 end = now_ns() + ms * 1000000;

	while (now_ns() < end)
		arch_relax();
}

/* Wait for one interrupt, at most ten seconds. */
static void wait_fired(unsigned intid, unsigned count)
{
	u64 end = now_ns() + 10000000000;

	while (fired[intid] < count && now_ns() < end)
		arch_relax();
}

static void test_counter(void)
{
	u64 last = mrs("cntvct_el0"), offset;
	bool steady = true;

	for (unsigned i = 0; i < 100000; i++) {
		u64 next = mrs("cntvct_el0");

		steady &= next >= last;
		last = next;
	}
	say("counter never steps back: %lu\n", (u64)steady);
	last = mrs("cntvct_el0");
	offset = mrs("cntpct_el0") - last; /* a little later */
	say("virtual is not ahead of physical: %lu\n", (u64)(offset < 1000000000));
}

static void test_fires(void)
{
	u64 start = mrs("cntvct_el0"), tick = mrs("cntfrq_el0") / 500;

	fired[VIRT] = fired[PHYS] = 0;
	msr("cntv_cval_el0", start + tick);
	msr("cntv_ctl_el0", ENABLE);
	msr("cntp_tval_el0", 2 * tick);
	msr("cntp_ctl_el0", ENABLE);
	wait_fired(VIRT, 1);
	say2("virtual %lu, not early %lu\n", (u64)fired[VIRT],
	     (u64)(mrs("cntvct_el0") >= start + tick));
	wait_fired(PHYS, 1);
	say("physical %lu\n", (u64)fired[PHYS]);
	say2("status: virtual %lx physical %lx\n", mrs("cntv_ctl_el0"), mrs("cntp_ctl_el0"));
	say("past: %lu\n", (u64)((int)mrs("cntv_tval_el0") < 0));
	msr("cntv_ctl_el0", 0);
	msr("cntp_ctl_el0", 0);
}

static void test_mask(void)
{
	fired[VIRT] = 0;
	msr("cntv_cval_el0", 0);
	msr("cntv_ctl_el0", ENABLE | IMASK);
	wait_ms(5);
	say2("masked: %lu status %lx\n", (u64)fired[VIRT], mrs("cntv_ctl_el0"));
	msr("cntv_ctl_el0", ENABLE);
	wait_fired(VIRT, 1);
	say("unmasked: %lu\n", (u64)fired[VIRT]);
	msr("cntv_ctl_el0", 0);
}

/* The output is a level: it comes again until the timer is served. */
static void test_level(void)
{
	fired[VIRT] = 0;
	leave_on = 2;
	msr("cntv_cval_el0", 0);
	msr("cntv_ctl_el0", ENABLE);
	wait_fired(VIRT, 3);
	leave_on = 0;
	say("again while not served: %lu\n", (u64)fired[VIRT]);
	irq_off();
	fired[VIRT] = 0;
	msr("cntv_ctl_el0", ENABLE);
	say("pending with IRQs off: %lu\n", (u64)is_pending(VIRT));
	msr("cntv_ctl_el0", 0);
	say("gone with the level: %lu\n", (u64)is_pending(VIRT));
	irq_on();
	wait_ms(2);
	say("never taken: %lu\n", (u64)fired[VIRT]);
}

/* A compare value that is never reached, then one in the past. */
static void test_wrap(void)
{
	fired[VIRT] = 0;
	msr("cntv_cval_el0", ~0UL);
	msr("cntv_ctl_el0", ENABLE);
	wait_ms(1000);
	say2("never reached: %lu status %lx\n", (u64)fired[VIRT], mrs("cntv_ctl_el0"));
	msr("cntv_cval_el0", mrs("cntvct_el0") - 1);
	wait_fired(VIRT, 1);
	say("in the past: %lu\n", (u64)fired[VIRT]);
	msr("cntv_ctl_el0", 0);
}

/* WFI ends by an interrupt that PSTATE masks, which stays pending. */
static void test_wfi(void)
{
	irq_off();
	fired[VIRT] = 0;
	msr("cntv_tval_el0", mrs("cntfrq_el0") / 100);
	msr("cntv_ctl_el0", ENABLE);
	while (!(mrs("cntv_ctl_el0") & ISTATUS))
		asm volatile("wfi");
	say2("woken: pending %lu taken %lu\n", (u64)is_pending(VIRT), (u64)fired[VIRT]);
	irq_on();
	wait_fired(VIRT, 1);
	say("taken when unmasked: %lu\n", (u64)fired[VIRT]);
	msr("cntv_ctl_el0", 0);
}

/* A steady tick, each time from the compare value: none is lost. */
static void test_ticks(void)
{
	u64 period = mrs("cntfrq_el0") / 200, next = mrs("cntvct_el0") + period;
	unsigned n;

	for (n = 0; n < 20; n++, next += period) {
		fired[VIRT] = 0;
		msr("cntv_cval_el0", next);
		msr("cntv_ctl_el0", ENABLE);
		wait_fired(VIRT, 1);
		if (fired[VIRT] != 1 || mrs("cntvct_el0") < next)
			break;
	}
	say("ticks: %lu\n", (u64)n);
	msr("cntv_ctl_el0", 0);
}

/* Interrupts that are pending, and masked by PSTATE, until a byte comes; the machine may be moved.
 */
static void test_held(void)
{
	irq_off();
	fired[VIRT] = fired[SGI] = 0;
	msr("cntv_cval_el0", 0);
	msr("cntv_ctl_el0", ENABLE);
	msr(ICC_SGI1R, SGI << 24 | 1); /* to itself, CPU 0 */
	while (!is_pending(VIRT) || !is_pending(SGI))
		arch_relax();
	say("HELD\n");
	while (arch_getc() < 0)
		arch_relax();
	irq_on();
	wait_fired(VIRT, 1);
	wait_fired(SGI, 1);
	say2("taken: virtual %lu SGI %lu\n", (u64)fired[VIRT], (u64)fired[SGI]);
}

static u64 hold;

static const struct guest_option options[] = {
	{ "hold", &hold, NULL },
	{ NULL, NULL, NULL },
};

void guest_main(void)
{
	options_parse(options);
	gic_init_dist();
	gic_init_cpu(0);
	enable(VIRT);
	enable(PHYS);
	if (hold) {
		enable(SGI);
		test_held();
		arm_power_off();
	}
	irq_on();
	test_counter();
	test_fires();
	test_mask();
	test_level();
	test_wrap();
	test_wfi();
	test_ticks();
	say("END\n");
	arm_power_off();
}

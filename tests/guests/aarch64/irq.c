/*
 * irq.c - test guest for arm64 with two CPUs: priorities and life of interrupts in a GICv3.
 *
 * Every line that it prints is the same on any correct machine. IRQs stay masked on CPU 0: it takes
 * interrupts by reading ICC_IAR1_EL1, so that the order of events is its own.
 */
#include "arm.h"

#define FIRST 200 /* SPIs without a device: INTIDs from here on */

static volatile unsigned second_sgis[16], second_other;
static volatile bool second_ready; /* before, it has no use for interrupts of group 1 */

void irq_handler(void)
{
	u64 intid = mrs(ICC_IAR1);

	if (intid < 16)
		second_sgis[intid]++;
	else
		second_other++;
	if (intid < 1020)
		msr(ICC_EOIR1, intid);
}

static void second(unsigned index)
{
	gic_init_cpu(index);
	irq_on();
	second_ready = true;
	for (;;)
		asm volatile("wfi");
}

static u32 bit_of(unsigned intid)
{
	return 1u << intid % 32;
}

static volatile u32 *word_of(u64 bank, unsigned intid)
{
	return reg32(GICD + bank + intid / 32 * 4);
}

static void set_pending(unsigned intid)
{
	*word_of(0x200, intid) = bit_of(intid);
}

/* Bit 0: pending, bit 1: active. */
static u64 state(unsigned intid)
{
	u64 pending = *word_of(0x200, intid) >> intid % 32 & 1;
	u64 active = *word_of(0x300, intid) >> intid % 32 & 1;

	return active << 1 | pending;
}

static void set_priority(unsigned intid, u8 prio)
{
	*(volatile u8 *)(GICD + 0x400 + intid) = prio;
}

static void setup(unsigned intid, u8 prio)
{
	u32 edge = 2u << intid % 16 * 2;

	set_priority(intid, prio);
	*reg32(GICD + 0xc00 + intid / 16 * 4) |= edge;
	*(volatile u64 *)(GICD + 0x6000 + 8UL * intid) = 0; /* CPU 0 */
	*word_of(0x100, intid) = bit_of(intid);
}

static u64 take(void)
{
	u64 intid = mrs(ICC_IAR1);

	asm volatile("dsb sy");
	return intid;
}

static void end(u64 intid)
{
	msr(ICC_EOIR1, intid);
}

static void test_registers(void)
{
	say("dist ctlr %lx\n", (u64)*reg32(GICD));
	say("ctlr %lx\n", mrs(ICC_CTLR));
	msr(ICC_PMR, 0xff);
	say("pmr %lx\n", mrs(ICC_PMR));
	msr(ICC_BPR0, 0);
	msr(ICC_BPR1, 0);
	say2("bpr %lu %lu\n", mrs(ICC_BPR0), mrs(ICC_BPR1));
	msr(ICC_CTLR, 1);
	msr(ICC_BPR0, 4);
	say2("common bpr %lu %lu\n", mrs(ICC_BPR0), mrs(ICC_BPR1));
	msr(ICC_CTLR, 0);
	say("own bpr %lu\n", mrs(ICC_BPR1));
	msr(ICC_BPR0, 0);
	msr(ICC_PMR, 0xf0);
}

static void test_order(void)
{
	static const u8 prio[] = { 0xa0, 0x40, 0x90, 0x40, 0xe0 };

	for (unsigned i = 0; i < 5; i++) {
		setup(FIRST + i, prio[i]);
		set_pending(FIRST + i);
	}
	say("highest %lu\n", mrs(ICC_HPPIR1));
	for (unsigned i = 0; i < 6; i++) {
		u64 intid = take();

		say3("take %lu running %lx active %lx\n", intid, mrs(ICC_RPR), mrs(ICC_AP1R0));
		if (intid < 1020)
			end(intid);
	}
}

static void test_mask(void)
{
	set_pending(FIRST + 2); /* 0x90 */
	msr(ICC_PMR, 0x90);
	say2("masked: take %lu highest %lu\n", take(), mrs(ICC_HPPIR1));
	msr(ICC_PMR, 0x98);
	say("not masked: take %lu\n", take());
	end(FIRST + 2);
	msr(ICC_PMR, 0xf0);
}

static void test_preemption(void)
{
	set_priority(FIRST, 0xa0);
	set_priority(FIRST + 1, 0x98);
	set_priority(FIRST + 2, 0x80);
	set_pending(FIRST);
	say("first %lu\n", take());
	set_pending(FIRST + 1);
	msr(ICC_BPR1, 7); /* two groups: 0x80 and below, the others */
	say("same group %lu\n", take());
	msr(ICC_BPR1, 5); /* groups of 32 */
	say2("next group %lu running %lx\n", take(), mrs(ICC_RPR));
	set_pending(FIRST + 2);
	msr(ICC_BPR1, 6); /* of 64: 0x80 to 0xb8 are one */
	say("same group again %lu\n", take());
	msr(ICC_BPR1, 0);
	say3("finest %lu running %lx active %lx\n", take(), mrs(ICC_RPR), mrs(ICC_AP1R0));
	end(FIRST + 2);
	say("running %lx\n", mrs(ICC_RPR));
	end(FIRST + 1);
	end(FIRST);
	say("running %lx\n", mrs(ICC_RPR));
}

static void test_eoimode(void)
{
	msr(ICC_CTLR, 2);
	set_pending(FIRST);
	say2("take %lu state %lu\n", take(), state(FIRST));
	end(FIRST);
	say2("dropped: running %lx state %lu\n", mrs(ICC_RPR), state(FIRST));
	set_pending(FIRST);
	say2("active and pending: state %lu take %lu\n", state(FIRST), take());
	msr(ICC_DIR, FIRST);
	say2("deactivated: state %lu take %lu\n", state(FIRST), take());
	end(FIRST);
	msr(ICC_DIR, FIRST);
	msr(ICC_CTLR, 0);
	say("state %lu\n", state(FIRST));
}

static void test_enable(void)
{
	*word_of(0x180, FIRST) = bit_of(FIRST);
	set_pending(FIRST);
	say2("disabled: take %lu state %lu\n", take(), state(FIRST));
	*word_of(0x280, FIRST) = bit_of(FIRST);
	*word_of(0x100, FIRST) = bit_of(FIRST);
	say("cleared: take %lu\n", take());
	*word_of(0x300, FIRST) = bit_of(FIRST); /* active by hand */
	set_pending(FIRST);
	say("active by hand: take %lu\n", take());
	*word_of(0x380, FIRST) = bit_of(FIRST);
	say("not active: take %lu\n", take());
	end(FIRST);
}

static void test_group0(void)
{
	*word_of(0x80, FIRST) &= ~bit_of(FIRST);
	set_pending(FIRST);
	say2("group 0 off: take %lu highest %lu\n", take(), mrs(ICC_HPPIR1));
	msr(ICC_IGRPEN0, 1);
	say("group 0 by the wrong register: %lu\n", take());
	say("group 0: take %lu\n", mrs(ICC_IAR0));
	msr(ICC_EOIR0, FIRST);
	msr(ICC_IGRPEN0, 0);
	*word_of(0x80, FIRST) |= bit_of(FIRST);
}

static void wait_for(volatile unsigned *count, unsigned value)
{
	u64 limit = now_ns() + 10000000000;

	while (*count != value && now_ns() < limit)
		arch_relax();
}

static void test_sgi(void)
{
	msr(ICC_SGI1R, 3UL << 24 | 1); /* to CPU 0, itself */
	say("own SGI %lu\n", take());
	end(3);
	msr(ICC_SGI1R, 4UL << 24 | 3); /* to both */
	wait_for(&second_sgis[4], 1);
	say2("SGI to both: second %lu, own %lu\n", (u64)second_sgis[4], take());
	end(4);
	msr(ICC_SGI1R, 5UL << 24 | 1UL << 40); /* to all others */
	wait_for(&second_sgis[5], 1);
	say2("SGI to others: second %lu, own %lu\n", (u64)second_sgis[5], take());
	for (unsigned i = 1; i <= 1000; i++) {
		msr(ICC_SGI1R, 6UL << 24 | 2);
		wait_for(&second_sgis[6], i);
	}
	say("a thousand SGIs: %lu\n", (u64)second_sgis[6]);
}

static void test_routing(void)
{
	*(volatile u64 *)(GICD + 0x6000 + 8UL * FIRST) = 1; /* CPU 1 */
	set_pending(FIRST);
	wait_for(&second_other, 1);
	say2("routed to the second: %lu, own %lu\n", (u64)second_other, take());
	*(volatile u64 *)(GICD + 0x6000 + 8UL * FIRST) = 0;
	set_pending(FIRST);
	say("routed back: %lu\n", take());
	end(FIRST);
}

void guest_main(void)
{
	options_parse(arch_options);
	gic_init_dist();
	gic_init_cpu(0);
	if (!arch_start_cpu(1, second))
		die("no second CPU");
	while (!second_ready)
		arch_relax();
	test_registers();
	test_order();
	test_mask();
	test_preemption();
	test_eoimode();
	test_enable();
	test_group0();
	test_sgi();
	test_routing();
	say("END\n");
	arm_power_off();
}

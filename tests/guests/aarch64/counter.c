/*
 * counter.c - test guest for arm64: the counter against the instructions that have been executed.
 *
 * For a machine whose clock counts instructions, one nanosecond for each, and whose counter runs
 * at 1 GHz (-icount shift=0 -cpu max). Each line shows what was executed and what the counter says.
 */
#include "arm.h"

#define VIRT 27 /* INTID of the virtual timer */
#define LAPS 20000

enum { ENABLE = 1, IMASK = 2 };

asm(".global cntvoff_value\n.set cntvoff_value, 0");

static volatile u64 handled_at;
static volatile u64 shared, turns[2], done;

void irq_handler(void)
{
	u64 intid = mrs(ICC_IAR1);

	if (intid == VIRT) {
		handled_at = mrs("cntvct_el0");
		msr("cntv_ctl_el0", ENABLE | IMASK);
	}
	if (intid < 1020)
		msr(ICC_EOIR1, intid);
}

/* The counter before and after @code; the second reading itself is the one instruction more. */
#define MEASURE(code)                                                                              \
	({                                                                                         \
		u64 before_, after_;                                                               \
		asm volatile("mrs %0, cntvct_el0\n" code "mrs %1, cntvct_el0"                      \
			     : "=&r"(before_), "=&r"(after_)                                       \
			     :                                                                     \
			     : "x9", "x10", "x11", "x12", "cc", "memory");                         \
		after_ - before_;                                                                  \
	})

static void test_straight(void)
{
	say("adjacent: %lu\n", MEASURE(""));
	say("1 nop: %lu\n", MEASURE("nop\n"));
	say("100 nops: %lu\n", MEASURE(".rept 100\nnop\n.endr\n"));
	say("3000 nops: %lu\n", MEASURE(".rept 3000\nnop\n.endr\n"));
	say("a barrier between: %lu\n", MEASURE("nop\nisb\nnop\n"));
}

static void test_flow(void)
{
	say("loop of 2 x 1000: %lu\n", MEASURE("mov x9, #1000\n1: subs x9, x9, #1\nb.ne 1b\n"));
	say("nested 50 x (20 x 3 + 3): %lu\n",
	    MEASURE("mov x9, #50\n1: mov x10, #20\n2: eor x11, x11, x10\nsub x10, x10, #1\n"
		    "cbnz x10, 2b\nsubs x9, x9, #1\nb.ne 1b\n"));
	say("branches taken and not, 8: %lu\n",
	    MEASURE("mov x9, #0\ncbz x9, 1f\nnop\n1: cbnz x9, 2f\nnop\n2: tbz x9, #3, 3f\nnop\n"
		    "3: tst x9, #1\nb.ne 4f\nnop\n4: nop\n"));
	say("call and return, 4: %lu\n",
	    MEASURE("mov x12, x30\nbl 1f\nb 2f\n1: ret\n2: mov x30, x12\n"));
}

/* A console access, and loads and stores around it, in one run of instructions. */
static void test_device(void)
{
	u64 before, after;

	asm volatile("mrs %0, cntvct_el0\nnop\nldr w9, [%2]\nnop\nldr w9, [%2]\nnop\n"
		     "mrs %1, cntvct_el0"
		     : "=&r"(before), "=&r"(after)
		     : "r"(0x09000018UL)
		     : "x9", "memory");
	say("device read twice, 5: %lu\n", after - before);
}

/* The time of the exception's entry is that of its first instruction. */
static void test_timer(u64 ahead)
{
	u64 due;

	handled_at = 0;
	due = mrs("cntvct_el0") + ahead;
	msr("cntv_cval_el0", due);
	msr("cntv_ctl_el0", ENABLE);
	while (!handled_at)
		asm volatile("nop\nnop\nnop\nnop\nnop");
	msr("cntv_ctl_el0", 0);
	say2("timer %lu ahead: seen %lu late\n", ahead, handled_at - due);
}

/* It need not wait for the rest of what is executed when the clock is set off. */
static void test_wait(void)
{
	u64 due;

	irq_off();
	due = mrs("cntvct_el0") + 1000000;
	msr("cntv_cval_el0", due);
	msr("cntv_ctl_el0", ENABLE);
	asm volatile("wfi");
	say("WFI for a millisecond: %lu late\n", mrs("cntvct_el0") - due);
	msr("cntv_ctl_el0", 0);
	irq_on();
}

static void work(unsigned index)
{
	for (unsigned i = 0; i < LAPS; i++) {
		u64 old = __atomic_fetch_add(&shared, 1 + index, __ATOMIC_SEQ_CST);

		turns[index] = turns[index] * 31 + old; /* depends on every single interleaving */
		if (i % 1000 == 999)
			arch_relax();
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
}

static void second(unsigned index)
{
	work(index);
	for (;;)
		asm volatile("wfi");
}

static void test_two(void)
{
	if (!arch_start_cpu(1, second)) {
		say("one CPU\n");
		return;
	}
	work(0);
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) != 2)
		arch_relax();
	say3("two CPUs: sum %lu, order %lx %lx\n", shared, turns[0], turns[1]);
}

void guest_main(void)
{
	options_parse(arch_options);
	gic_init_dist();
	gic_init_cpu(0);
	*reg32(gicr_sgi(0) + 0x100) = 1u << VIRT;
	test_straight();
	test_flow();
	test_device();
	irq_on();
	for (u64 ahead = 500; ahead < 508; ahead++)
		test_timer(ahead);
	test_timer(123457);
	test_wait();
	test_two();
	say("counter: %lu\n", mrs("cntvct_el0"));
	say("END\n");
	arm_power_off();
}

/*
 * pmu.c - test guest for arm64: performance monitors (Arm DDI 0487, D13).
 *
 * Every line that it prints is the same on any correct machine with FEAT_PMUv3p5 that has a GICv3.
 */
#include "trap.h"

#define PMU_PPI 23
#define USER    (HIGH + 0x100000)

#define PMCR_E  1ul
#define PMCR_P  2ul
#define PMCR_C  4ul
#define PMCR_LC 0x40ul
#define PMCR_LP 0x80ul
#define CYCLES  (1ul << 31)

#define FILTER_P (1ul << 31)
#define FILTER_U (1ul << 30)

enum { SW_INCR = 0x00, INST_RETIRED = 0x08, CPU_CYCLES = 0x11, CHAIN = 0x1e };

static volatile u64 interrupts, status_seen;
static u64 user_stack;

void irq_handler(void)
{
	u64 intid = mrs(ICC_IAR1);

	if (intid == PMU_PPI) {
		interrupts++;
		status_seen = mrs("pmovsclr_el0");
		msr("pmovsclr_el0", status_seen);
	}
	if (intid < 1020)
		msr(ICC_EOIR1, intid);
}

/* All off, all counters zero. */
static void restart(u64 pmcr)
{
	msr("pmcr_el0", 0);
	msr("pmcntenclr_el0", ~0u);
	msr("pmintenclr_el1", ~0u);
	msr("pmovsclr_el0", ~0u);
	msr("pmccfiltr_el0", 0);
	msr("pmcr_el0", PMCR_P | PMCR_C | PMCR_LC);
	msr("pmcr_el0", pmcr);
}

static void test_registers(void)
{
	u64 pmcr = mrs("pmcr_el0");

	say2("counters %lu, LC %lu\n", pmcr >> 11 & 31, pmcr >> 6 & 1);
	restart(0);
	msr("pmcntenset_el0", ~0ul);
	say2("enabled %lx %lx\n", mrs("pmcntenset_el0"), mrs("pmcntenclr_el0"));
	msr("pmcntenclr_el0", 0x12);
	say("enabled %lx\n", mrs("pmcntenset_el0"));
	msr("pmintenset_el1", ~0ul);
	msr("pmintenclr_el1", 1);
	say2("interrupts %lx %lx\n", mrs("pmintenset_el1"), mrs("pmintenclr_el1"));
	msr("pmovsset_el0", ~0ul);
	msr("pmovsclr_el0", 2);
	say2("overflows %lx %lx\n", mrs("pmovsset_el0"), mrs("pmovsclr_el0"));
	msr("pmuserenr_el0", ~0ul);
	say("user %lx\n", mrs("pmuserenr_el0") & 0xf);
	msr("pmuserenr_el0", 0);
	restart(PMCR_LC);
	msr("pmselr_el0", 3);
	msr("pmxevtyper_el0", FILTER_U | SW_INCR);
	msr("pmxevcntr_el0", 0x1234567890);
	say3("selected: %lu type %lx value %lx\n", mrs("pmselr_el0"), mrs("pmevtyper3_el0"),
	     mrs("pmevcntr3_el0"));
	msr("pmselr_el0", 31);
	msr("pmxevtyper_el0", FILTER_P);
	say("filter %lx\n", mrs("pmccfiltr_el0"));
	msr("pmccntr_el0", 77);
	msr("pmcr_el0", PMCR_P | PMCR_LC);
	say2("P: %lu %lu\n", mrs("pmevcntr3_el0"), mrs("pmccntr_el0"));
	msr("pmcr_el0", PMCR_C | PMCR_LC);
	say("C: %lu\n", mrs("pmccntr_el0"));
	TRY(msr("pmevcntr6_el0", 1));
	say("counter 6: exceptions %lu\n", trap.count);
	msr("pmselr_el0", 6);
	TRY(msr("pmxevcntr_el0", 1));
	say2("by PMSELR_EL0: exceptions %lu, %lx\n", trap.count, mrs("pmxevcntr_el0"));
	say2("events: increments %lu, cycles %lu\n", mrs("pmceid0_el0") & 1,
	     mrs("pmceid0_el0") >> CPU_CYCLES & 1);
}

static void increment(u64 mask, unsigned times)
{
	while (times--)
		msr("pmswinc_el0", mask);
}

static void show2(const char *what)
{
	say("%s: ", what);
	say3("%lx %lx, overflows %lx\n", mrs("pmevcntr0_el0"), mrs("pmevcntr1_el0"),
	     mrs("pmovsclr_el0"));
}

static void test_increments(void)
{
	restart(PMCR_LC);
	msr("pmevtyper0_el0", SW_INCR);
	msr("pmevtyper1_el0", SW_INCR);
	msr("pmcntenset_el0", 3);
	increment(3, 5);
	show2("off");
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	increment(3, 5);
	increment(2, 2);
	show2("on");
	msr("pmcntenclr_el0", 1);
	increment(3, 1);
	show2("one");
	msr("pmevtyper1_el0", FILTER_P | SW_INCR);
	increment(2, 1);
	show2("not at EL1");
	msr("pmevtyper1_el0", SW_INCR);
	msr("pmevcntr1_el0", 0xfffffffe);
	increment(2, 3);
	show2("32 bits");
	msr("pmcr_el0", PMCR_E | PMCR_LC | PMCR_LP);
	msr("pmovsclr_el0", ~0u);
	msr("pmevcntr1_el0", 0xfffffffe);
	increment(2, 3);
	show2("long");
	msr("pmevcntr1_el0", ~0ul - 1);
	increment(2, 3);
	show2("64 bits");
}

static void test_chain(void)
{
	restart(PMCR_E | PMCR_LC);
	msr("pmevtyper0_el0", SW_INCR);
	msr("pmevtyper1_el0", CHAIN);
	msr("pmcntenset_el0", 3);
	msr("pmevcntr0_el0", 0xfffffff0);
	increment(1, 32);
	show2("chain");
	msr("pmovsclr_el0", ~0u);
	msr("pmevcntr0_el0", 0xffffffff);
	msr("pmevcntr1_el0", 0xffffffff);
	increment(1, 1);
	show2("chain overflows");
	msr("pmcntenclr_el0", 2);
	msr("pmevcntr0_el0", 0xffffffff);
	increment(1, 1);
	show2("chain off");
}

static void spin(u64 ns)
{
	u64 end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void test_cycles(void)
{
	u64 a, b, c, first, last;

	restart(PMCR_LC);
	msr("pmcntenset_el0", CYCLES);
	spin(1000);
	say("off: %lu\n", mrs("pmccntr_el0"));
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	a = mrs("pmccntr_el0");
	first = now_ns();
	spin(1000000);
	last = now_ns();
	b = mrs("pmccntr_el0");
	say2("on: moves %lu, as the clock %lu\n", b > a, b - a >= last - first);
	msr("pmcr_el0", PMCR_LC);
	b = mrs("pmccntr_el0");
	spin(1000);
	say("stopped: %lu\n", mrs("pmccntr_el0") - b);
	/* An event counter and the cycle counter see the same. */
	restart(PMCR_LC | PMCR_LP);
	msr("pmevtyper2_el0", CPU_CYCLES);
	msr("pmcntenset_el0", CYCLES | 4);
	msr("pmcr_el0", PMCR_E | PMCR_LC | PMCR_LP);
	spin(100000);
	msr("pmcr_el0", PMCR_LC);
	c = mrs("pmevcntr2_el0");
	say("event: the same %lu\n", (u64)(c == mrs("pmccntr_el0")));
	restart(PMCR_E | PMCR_LC);
	msr("pmccfiltr_el0", FILTER_P);
	msr("pmcntenset_el0", CYCLES);
	spin(10000);
	say("not at EL1: %lu\n", mrs("pmccntr_el0"));
}

/* What EL0 does; x0 says what. */
asm("	.balign 4096\n"
    "	.globl user_code\n"
    "user_code:\n"
    "	mov x1, #1000\n"
    "1:	subs x1, x1, #1\n"
    "	b.ne 1b\n"
    "	svc #1\n"
    "	.globl user_cycles\n"
    "user_cycles: mrs x0, pmccntr_el0\n"
    "	svc #1\n"
    "	.globl user_write\n"
    "user_write: msr pmccntr_el0, x0\n"
    "	svc #1\n"
    "	.globl user_event\n"
    "user_event: mrs x0, pmevcntr0_el0\n"
    "	svc #1\n"
    "	.globl user_select\n"
    "user_select: msr pmselr_el0, x0\n"
    "	svc #1\n"
    "	.globl user_increment\n"
    "user_increment: msr pmswinc_el0, x0\n"
    "	svc #1\n"
    "	.globl user_type\n"
    "user_type: mrs x0, pmevtyper0_el0\n"
    "	svc #1\n"
    "	.globl user_enable\n"
    "user_enable: mrs x0, pmuserenr_el0\n"
    "	svc #1\n"
    "	.globl user_interrupt\n"
    "user_interrupt: msr pmintenset_el1, x0\n"
    "	svc #1\n"
    "	.balign 4096\n");
extern const char user_code[], user_cycles[], user_write[], user_event[], user_select[],
	user_increment[], user_type[], user_enable[], user_interrupt[];

static u64 at_user(const char *code)
{
	trap.count = 0;
	return call_user(USER + (code - user_code), 1, user_stack, USER_STATE);
}

/* EL0 counts, or it does not. */
static void test_levels(void)
{
	u64 a, b;

	restart(PMCR_E | PMCR_LC);
	msr("pmccfiltr_el0", FILTER_P);
	msr("pmcntenset_el0", CYCLES);
	a = mrs("pmccntr_el0");
	at_user(user_code);
	b = mrs("pmccntr_el0");
	say2("only EL0: moved %lu, stands %lu\n", b > a, b == mrs("pmccntr_el0"));
	restart(PMCR_LC);
	msr("pmccfiltr_el0", FILTER_U);
	msr("pmevtyper0_el0", CPU_CYCLES);
	msr("pmevtyper1_el0", CPU_CYCLES | FILTER_P);
	msr("pmcntenset_el0", CYCLES | 3);
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	at_user(user_code);
	msr("pmcr_el0", PMCR_LC);
	a = mrs("pmccntr_el0") + mrs("pmevcntr1_el0");
	say2("only EL1 and only EL0 are both: %lu, neither is empty: %lu\n",
	     a == mrs("pmevcntr0_el0"), mrs("pmccntr_el0") && mrs("pmevcntr1_el0"));
}

static void test_user(void)
{
	static const char *const code[] = {
		user_cycles,    user_write, user_event,  user_select,
		user_increment, user_type,  user_enable, user_interrupt
	};
	static const u8 enables[] = { 0, 1, 2, 4, 8 };

	restart(PMCR_LC);
	for (unsigned e = 0; e < 5; e++) {
		msr("pmuserenr_el0", enables[e]);
		say("PMUSERENR %lx: ", (u64)enables[e]);
		for (unsigned i = 0; i < 8; i++) {
			at_user(code[i]);
			say("%lx ", trap_ec());
		}
		say("\n");
	}
	msr("pmuserenr_el0", 0);
	at_user(user_write);
	say("syndrome %lx\n", trap.esr);
}

static void await(u64 count)
{
	u64 limit = now_ns() + 5000000000;

	while (interrupts != count && now_ns() < limit)
		arch_relax();
}

static u64 is_pending(void)
{
	return *reg32(gicr_sgi(0) + 0x200) >> PMU_PPI & 1;
}

static void test_interrupts(void)
{
	restart(PMCR_E | PMCR_LC);
	irq_on();
	msr("pmevtyper0_el0", SW_INCR);
	msr("pmcntenset_el0", 1);
	msr("pmevcntr0_el0", 0xffffffff);
	increment(1, 1);
	say2("not enabled: %lu, overflows %lx\n", interrupts, mrs("pmovsclr_el0"));
	msr("pmintenset_el1", 1);
	await(1);
	say2("enabled: %lu, seen %lx\n", interrupts, status_seen);
	irq_off();
	msr("pmovsset_el0", 1);
	say2("set: pending %lu, ISR %lx\n", is_pending(), mrs("isr_el1"));
	msr("pmcr_el0", PMCR_LC);
	say("E clear: pending %lu\n", is_pending());
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	say("E set: pending %lu\n", is_pending());
	msr("pmovsclr_el0", 1);
	say("cleared: pending %lu\n", is_pending());
	irq_on();
	/* One comes while nothing is executed, and while something is. */
	restart(PMCR_E | PMCR_LC);
	interrupts = 0;
	irq_off();
	msr("pmccntr_el0", -2000000ul);
	msr("pmintenset_el1", CYCLES);
	msr("pmcntenset_el0", CYCLES);
	asm volatile("wfi");
	irq_on();
	await(1);
	say2("cycles: %lu, seen %lx\n", interrupts, status_seen);
	msr("pmevtyper4_el0", CPU_CYCLES);
	msr("pmevcntr4_el0", 0xfff00000);
	msr("pmintenset_el1", 1ul << 4);
	msr("pmcntenset_el0", 1ul << 4);
	while (interrupts == 1)
		;
	say2("event: %lu, seen %lx\n", interrupts, status_seen);
	restart(PMCR_LC);
}

static void test_chained_interrupt(void)
{
	interrupts = 0;
	restart(PMCR_LC);
	msr("pmevtyper2_el0", CPU_CYCLES);
	msr("pmevtyper3_el0", CHAIN);
	msr("pmevcntr2_el0", 0xfff00000);
	msr("pmevcntr3_el0", 0xffffffff);
	msr("pmintenset_el1", 8);
	msr("pmcntenset_el0", 0xc);
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	await(1);
	msr("pmcr_el0", PMCR_LC);
	say3("chained: %lu, seen %lx, counts %lx\n", interrupts, status_seen,
	     mrs("pmevcntr3_el0") & 0xffffffff);
}

/* Where instructions are counted (-icount): how many the loop of EL0 has. */
static void test_instructions(void)
{
	u64 a;

	if (!(mrs("pmceid0_el0") >> INST_RETIRED & 1))
		return;
	restart(PMCR_LC);
	msr("pmevtyper0_el0", INST_RETIRED | FILTER_P);
	msr("pmevtyper1_el0", INST_RETIRED);
	msr("pmcntenset_el0", 3);
	msr("pmcr_el0", PMCR_E | PMCR_LC);
	at_user(user_code);
	say("instructions of EL0: %lu\n", mrs("pmevcntr0_el0"));
	a = mrs("pmevcntr1_el0");
	asm volatile(".rept 100\nnop\n.endr");
	say("100 nops: %lu\n", mrs("pmevcntr1_el0") - a);
	interrupts = 0;
	irq_on();
	msr("pmevcntr1_el0", 0xffffff00);
	msr("pmintenset_el1", 2);
	await(1);
	say2("overflow: %lu, seen %lx\n", interrupts, status_seen);
}

/* Counters travel, go on where they were, and overflow there. */
static void test_migration(void)
{
	interrupts = 0;
	restart(PMCR_LC);
	msr("pmevtyper0_el0", SW_INCR);
	msr("pmevtyper1_el0", CPU_CYCLES | FILTER_U);
	msr("pmevtyper5_el0", CPU_CYCLES);
	msr("pmcntenset_el0", 0x23);
	msr("pmintenset_el1", 1);
	msr("pmovsset_el0", 0x10);
	msr("pmuserenr_el0", 9);
	msr("pmselr_el0", 5);
	msr("pmcr_el0", PMCR_E | PMCR_LC | PMCR_LP);
	increment(1, 3);
	say("READY\n");
	while (arch_getc() < 0)
		;
	say2("types %lx %lx\n", mrs("pmevtyper1_el0"), mrs("pmxevtyper_el0"));
	say3("enabled %lx, interrupts %lx, overflows %lx\n", mrs("pmcntenset_el0"),
	     mrs("pmintenset_el1"), mrs("pmovsset_el0"));
	say3("user %lx, PMCR %lx, increments %lx\n", mrs("pmuserenr_el0"), mrs("pmcr_el0") & 0xff,
	     mrs("pmevcntr0_el0"));
	say("cycles are at most the clock's: %lu\n", (u64)(mrs("pmevcntr1_el0") <= now_ns()));
	irq_on();
	msr("pmevcntr5_el0", -10000ul);
	msr("pmintenset_el1", 0x20);
	await(1);
	say2("overflow: %lu, seen %lx\n", interrupts, status_seen);
}

void guest_main(void)
{
	static u64 migrate;
	static const struct guest_option options[] = { { "migrate", &migrate, NULL },
						       { NULL, NULL, NULL } };

	options_parse(options);
	gic_init_dist();
	gic_init_cpu(0);
	map_begin(12);
	user_stack = USER + 0x10000;
	map_page(USER, (u64)user_code, PTE_CODE | PTE_USER | PTE_RO);
	map_page(user_stack, page_alloc(3), PTE_DATA | PTE_USER);
	*reg32(gicr_sgi(0) + 0x100) = 1u << PMU_PPI;
	if (migrate) {
		test_migration();
		say("END\n");
		arm_power_off();
	}
	test_registers();
	test_increments();
	test_chain();
	test_cycles();
	test_levels();
	test_user();
	test_interrupts();
	test_chained_interrupt();
	test_instructions();
	say("END\n");
	arm_power_off();
}

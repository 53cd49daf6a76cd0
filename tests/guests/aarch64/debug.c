/*
 * debug.c - test guest for arm64: debug exceptions that the guest gives itself.
 *
 * Every line that it prints is the same on any correct machine.
 */
#include "trap.h"

#define MDSCR_SS  (1ul << 0)
#define MDSCR_KDE (1ul << 13)
#define MDSCR_MDE (1ul << 15)

#define CR_E      1ul
#define CR_EL1    (1ul << 1)
#define CR_EL0    (2ul << 1)
#define BCR_A64   (15ul << 5)
#define WCR_LOAD  (1ul << 3)
#define WCR_STORE (2ul << 3)
#define BAS(bits) ((u64)(bits) << 5)

/* Code that breakpoints and steps are for; its labels are addresses. */
extern char spot_add[], spot_nop[], user_code[], user_code_end[], user_loop[];
u64 spot(u64 x);
asm(".text\n"
    ".globl spot\n"
    "spot: add x0, x0, #1\n"
    "spot_add: add x0, x0, #2\n"
    "spot_nop: nop\n"
    "	ret\n"
    ".balign 65536\n"
    "user_code:\n"
    "	mov x1, #5\n"
    "	add x0, x0, x1\n"
    "	ldxr x2, [sp]\n"
    "	cbz xzr, user_loop\n"
    "	brk #9\n"
    "user_loop: ldr x3, [sp, #8]\n"
    "	str x3, [sp, #16]\n"
    "	svc #7\n"
    "user_code_end:\n"
    ".balign 65536\n");

#define USER (HIGH + 0x100000)

static void debug_on(void)
{
	asm volatile("msr daifclr, #8; isb" : : : "memory");
}

static void debug_off(void)
{
	asm volatile("msr daifset, #8; isb" : : : "memory");
}

static void test_lock(void)
{
	say("lock at reset: %lx\n", mrs("oslsr_el1") & 0xf);
	msr("oslar_el1", 0);
	say("lock opened: %lx\n", mrs("oslsr_el1") & 0xf);
	say2("breakpoints %lu watchpoints %lu\n", (mrs("id_aa64dfr0_el1") >> 12 & 15) + 1,
	     (mrs("id_aa64dfr0_el1") >> 20 & 15) + 1);
}

static void show(const char *what)
{
	say("%s: traps %lu", what, trap.count);
	if (trap.count)
		say(" class %lx code %lx at %s", trap_ec(), trap_fsc(),
		    trap.elr == (u64)spot_add   ? "add"
		    : trap.elr == (u64)spot_nop ? "nop"
						: "?");
	say("\n");
}

static void test_breakpoints(void)
{
	u64 val;

	msr("dbgbvr0_el1", spot_add);
	msr("dbgbcr0_el1", CR_E | CR_EL1 | BCR_A64);
	TRY(spot(0));
	show("not enabled");
	msr("mdscr_el1", MDSCR_MDE | MDSCR_KDE);
	TRY(spot(0));
	show("masked");
	debug_on();
	TRY(val = spot(0)); /* the handler goes on behind the instruction */
	show("breakpoint");
	say("result %lu\n", val);
	msr("mdscr_el1", MDSCR_MDE);
	TRY(spot(0));
	show("without KDE");
	msr("mdscr_el1", MDSCR_MDE | MDSCR_KDE);
	msr("dbgbcr0_el1", CR_E | CR_EL0 | BCR_A64);
	TRY(spot(0));
	show("for EL0");
	msr("dbgbcr0_el1", 0);
	/* Linked to a context, by the last breakpoint. */
	msr("contextidr_el1", 77);
	msr("dbgbvr5_el1", 77);
	msr("dbgbcr5_el1", CR_E | CR_EL1 | BCR_A64 | 3ul << 20);
	msr("dbgbvr2_el1", spot_nop);
	msr("dbgbcr2_el1", CR_E | CR_EL1 | BCR_A64 | 1ul << 20 | 5ul << 16);
	TRY(spot(0));
	show("this context");
	msr("contextidr_el1", 78);
	TRY(spot(0));
	show("another context");
	msr("dbgbcr2_el1", 0);
	msr("dbgbcr5_el1", 0);
	msr("oslar_el1", 1);
	msr("dbgbcr0_el1", CR_E | CR_EL1 | BCR_A64);
	TRY(spot(0));
	show("locked");
	msr("oslar_el1", 0);
	TRY(spot(0));
	show("not locked");
	msr("dbgbcr0_el1", 0);
	TRY(spot(0));
	show("cleared");
	debug_off();
}

/* ---- watchpoints ---- */

static u64 area[1024] __attribute__((aligned(4096)));

static void show_watch(const char *what)
{
	say("%s: traps %lu", what, trap.count);
	if (trap.count)
		say(" class %lx code %lx write %lu offset %lx", trap_ec(), trap_fsc(),
		    trap.esr >> 6 & 1, trap.far - (u64)area);
	say("\n");
}

static void test_watchpoints(void)
{
	u64 at = (u64)&area[10], a, b;

	area[10] = 1;
	msr("dbgwvr0_el1", at);
	msr("dbgwcr0_el1", CR_E | CR_EL1 | WCR_STORE | BAS(0xff));
	debug_on();
	peek(at);
	show_watch("load, stores watched");
	poke(at, 5);
	show_watch("store");
	say("not done: %lu\n", *(volatile u64 *)at); /* the handler left the store out */
	poke(at + 8, 5);
	show_watch("store behind");
	TRY(asm volatile("strb %w0, [%1, #3]" : : "r"(1), "r"(at) : "memory"));
	show_watch("byte inside");
	TRY(asm volatile("stp %0, %0, [%1, #-8]" : : "r"(1ul), "r"(at) : "memory"));
	show_watch("pair over it");
	TRY(asm volatile("stur %0, [%1, #-3]" : : "r"(1ul), "r"(at) : "memory"));
	show_watch("unaligned over it");
	TRY(asm volatile("dc zva, %0" : : "r"(at) : "memory"));
	say("DC ZVA: traps %lu class %lx\n", trap.count, trap_ec());
	msr("dbgwcr0_el1", CR_E | CR_EL1 | WCR_LOAD | BAS(0x0f));
	peek(at + 4);
	show_watch("load beside the bytes");
	TRY(asm volatile("ldr %w0, [%1]" : "=r"(a) : "r"(at)));
	show_watch("load of the bytes");
	poke(at, 5);
	show_watch("store, loads watched");
	TRY(asm volatile("ldp %0, %1, [%2]" : "=r"(a), "=r"(b) : "r"(at - 8)));
	show_watch("pair over them");
	msr("dbgwvr0_el1", area);
	msr("dbgwcr0_el1", CR_E | CR_EL1 | WCR_LOAD | WCR_STORE | BAS(0xff) | 8ul << 24);
	peek((u64)&area[31]);
	show_watch("range of 256, its end");
	peek((u64)&area[32]);
	show_watch("range of 256, behind");
	msr("dbgwcr0_el1", CR_E | CR_EL0 | WCR_LOAD | WCR_STORE | BAS(0xff) | 8ul << 24);
	peek((u64)area);
	show_watch("EL0's only");
	TRY(asm volatile("ldtr %0, [%1]" : "=r"(a) : "r"(area)));
	say("EL0's only, LDTR: class %lx\n", trap_ec()); /* no permission, unless it comes first */
	msr("dbgwcr0_el1", 0);
	peek((u64)area);
	show_watch("cleared");
	debug_off();
}

/* A loop over the watched page: nothing is lost, all hits are seen. */
static void test_watched_loop(void)
{
	u64 hits = 0, sum = 0;

	msr("dbgwvr1_el1", &area[100]);
	msr("dbgwcr1_el1", CR_E | CR_EL1 | WCR_LOAD | BAS(0xff));
	for (unsigned i = 0; i < 1024; i++)
		area[i] = i;
	debug_on();
	for (unsigned round = 0; round < 10; round++)
		for (unsigned i = 0; i < 1024; i++) {
			sum += peek((u64)&area[i]);
			hits += trap.count;
		}
	debug_off();
	msr("dbgwcr1_el1", 0);
	say2("loop: hits %lu sum %lu\n", hits, sum);
}

/* ---- software step ---- */

static u64 user_stack;

static void step_user(u64 pc, u64 spsr)
{
	trap.count = 0;
	call_user(pc, 1, user_stack, spsr);
}

static void test_step_user(void)
{
	u64 pc = USER, spsr = USER_STATE | 1ul << 21;

	msr("mdscr_el1", MDSCR_SS | MDSCR_MDE);
	for (unsigned n = 0; n < 10; n++) {
		step_user(pc, spsr);
		say("step %lu: class %lx at %lx", (u64)n, trap_ec(), trap.elr - USER);
		say(" ISV %lu EX %lu SS %lu\n", trap.esr >> 24 & 1,
		    trap_ec() == 0x32 ? trap.esr >> 6 & 1 : 0, trap.spsr >> 21 & 1);
		if (trap_ec() != 0x32)
			break;
		pc = trap.elr;
	}
	step_user(USER, USER_STATE);
	say3("SS clear: class %lx at %lx ISV %lu\n", trap_ec(), trap.elr - USER,
	     trap.esr >> 24 & 1);
	/* What faults is to be stepped again. */
	call_user(USER + (user_loop - user_code), 1, 0x100000, spsr);
	say3("fault: class %lx at %lx SS %lu\n", trap_ec(), trap.elr - USER, trap.spsr >> 21 & 1);
	msr("mdscr_el1", 0);
	step_user(USER, spsr);
	say3("off: class %lx at %lx immediate %lu\n", trap_ec(), trap.elr - USER,
	     trap.esr & 0xffff);
}

static void test_user_points(void)
{
	msr("mdscr_el1", MDSCR_MDE);
	msr("dbgbvr1_el1", USER + 4);
	msr("dbgbcr1_el1", CR_E | CR_EL0 | BCR_A64);
	step_user(USER, USER_STATE);
	say3("breakpoint: class %lx code %lx at %lx\n", trap_ec(), trap_fsc(), trap.elr - USER);
	msr("dbgbcr1_el1", 0);
	msr("dbgwvr3_el1", user_stack + 16);
	msr("dbgwcr3_el1", CR_E | CR_EL0 | WCR_STORE | BAS(0xff));
	step_user(USER, USER_STATE);
	say3("watchpoint: class %lx code %lx at %lx\n", trap_ec(), trap.esr & 0x7f,
	     trap.elr - USER);
	say("address %lx\n", trap.far - user_stack);
	msr("dbgwcr3_el1", 0);
	step_user(USER, USER_STATE);
	say2("none: class %lx at %lx\n", trap_ec(), trap.elr - USER);
	msr("mdscr_el1", 0);
}

void guest_main(void)
{
	options_parse(arch_options);
	map_begin(12);
	user_stack = USER + 0x10000;
	map_page(USER, (u64)user_code, PTE_CODE | PTE_USER | PTE_RO);
	map_page(user_stack, page_alloc(3), PTE_DATA | PTE_USER);
	test_lock();
	test_breakpoints();
	test_watchpoints();
	test_watched_loop();
	test_step_user();
	test_user_points();
	say("END\n");
	arm_power_off();
}

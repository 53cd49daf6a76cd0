/*
 * align.c - test guest for arm64: alignment, accesses that cross pages, what EL0 may not do, and
 * branch targets.
 *
 * Every line that it prints is the same on any correct machine; a line of an optional feature is
 * left out where ID registers do not tell of it.
 */
#include "trap.h"

#define SCTLR_A   (1ul << 1)
#define SCTLR_SA  (1ul << 3)
#define SCTLR_SA0 (1ul << 4)
#define SCTLR_BT1 (1ul << 36)

#define PAGES (HIGH + 0x200000) /* two pages that lie apart in memory, then nothing */

static u64 first, second;

static void show(const char *what)
{
	say("%s: traps %lu", what, trap.count);
	if (trap.count)
		say(" class %lx code %lx", trap_ec(), trap_fsc());
	say("\n");
}

static void show_far(const char *what)
{
	say("%s: traps %lu", what, trap.count);
	if (trap.count)
		say(" code %lx write %lu at %lx", trap_fsc(), trap.esr >> 6 & 1, trap.far - PAGES);
	say("\n");
}

static void test_crossing(void)
{
	u64 va = PAGES + 4096, a = 0, b = 0;
	volatile u8 *bytes = (u8 *)PAGES;

	for (unsigned i = 0; i < 8192; i++)
		bytes[i] = i;
	say("across: %lx", peek(va - 3));
	TRY(asm volatile("ldr %w0, [%1]" : "=r"(a) : "r"(va - 1)));
	say(" %lx", a);
	TRY(asm volatile("ldp %0, %1, [%2]" : "=&r"(a), "=r"(b) : "r"(va - 8)));
	say2(" %lx %lx\n", a, b);
	poke(va - 5, 0x8877665544332211);
	say2("stored across: %lx %lx\n", peek(va - 8), peek(va));
	/* The second page is missing, then read-only. */
	va += 4096;
	peek(va - 4);
	show_far("load into nothing");
	poke(va - 4, ~0ul);
	show_far("store into nothing");
	say("unchanged: %lx\n", peek(va - 8));
	TRY(asm volatile("stp %0, %0, [%1]" : : "r"(~0ul), "r"(va - 8) : "memory"));
	show_far("pair into nothing"); /* its first half may have been stored */
	poke(va - 8, 0x1122334455667788);
	TRY(asm volatile("ldp %0, %1, [%2]" : "=&r"(a), "=r"(b) : "r"(va - 8)));
	show_far("pair from nothing");
	map_page(va, second, PTE_DATA | PTE_RO);
	poke(va - 4, ~0ul);
	show_far("store into read-only");
	say("unchanged: %lx\n", peek(va - 8));
	TRY(asm volatile("ldr %0, [%1, #8]!" : "=r"(a), "+r"(va)));
	*map_entry(0, PAGES + 8192) = 0;
	tlbi_all();
	va = PAGES + 8184;
	TRY(asm volatile("str %1, [%0], #8" : "+r"(va) : "r"(1ul) : "memory"));
	TRY(asm volatile("str %1, [%0], #8" : "+r"(va) : "r"(1ul) : "memory"));
	show_far("post-index into nothing");
	say("base stays: %lx\n", va - PAGES);
}

static void test_ordered(void)
{
	u64 va = PAGES + 64, a = 1, b;
	bool lse2 = mrs("id_aa64mmfr2_el1") >> 32 & 15;

	TRY(asm volatile("ldxr %0, [%1]" : "=r"(b) : "r"(va + 12)));
	show("LDXR across 16 bytes");
	TRY(asm volatile("ldxp %0, %1, [%2]" : "=&r"(a), "=r"(b) : "r"(va + 8)));
	show("LDXP");
	TRY(asm volatile("ldar %0, [%1]" : "=r"(b) : "r"(va + 12)));
	show("LDAR across 16 bytes");
	TRY(asm volatile("stlr %0, [%1]" : : "r"(a), "r"(va + 12) : "memory"));
	show("STLR across 16 bytes");
	TRY(asm volatile("ldar %0, [%1]" : "=r"(b) : "r"(va + 4)));
	if (lse2)
		show("LSE2: LDAR inside 16 bytes");
	if (!lse2)
		return;
	TRY(asm volatile("1: ldxr %0, [%1]\n stxr %w0, xzr, [%1]\n cbnz %w0, 1b"
			 : "=&r"(b)
			 : "r"(va + 4)
			 : "memory"));
	show("LSE2: LDXR and STXR inside 16 bytes");
}

static void test_strict(void)
{
	u64 sctlr = mrs("sctlr_el1"), va = PAGES + 128, a, b;

	peek(va + 1);
	show("unaligned");
	msr("sctlr_el1", sctlr | SCTLR_A);
	peek(va + 1);
	show("A: load");
	poke(va + 4, 0);
	show("A: store");
	TRY(asm volatile("ldr %w0, [%1]" : "=r"(a) : "r"(va + 4)));
	show("A: word at 4");
	TRY(asm volatile("ldrb %w0, [%1]" : "=r"(a) : "r"(va + 5)));
	show("A: byte");
	TRY(asm volatile("ldp %0, %1, [%2]" : "=&r"(a), "=r"(b) : "r"(va + 8)));
	show("A: pair of doublewords at 8");
	TRY(asm volatile("ldp %w0, %w1, [%2]" : "=&r"(a), "=r"(b) : "r"(va + 2)));
	show("A: pair of words at 2");
	TRY(asm volatile(".arch armv8-a+simd\nldr q0, [%0]" : : "r"(va + 8)));
	show("A: quadword at 8");
	TRY(asm volatile(".arch armv8-a+simd\nld1 {v0.4s}, [%0]" : : "r"(va + 4)));
	show("A: vector of words at 4");
	TRY(asm volatile(".arch armv8-a+simd\nld1 {v0.2d}, [%0]" : : "r"(va + 4)));
	show("A: vector of doublewords at 4");
	msr("sctlr_el1", sctlr);
	peek(va + 1);
	show("off again");
}

/* Load with the stack pointer of EL0, at EL1, moved by @off. */
static void sp_load(u64 off)
{
	u64 sp = PAGES + 512;

	trap.count = 0;
	asm volatile("mov x9, sp\n"
		     "msr spsel, #0\n"
		     "mov x10, sp\n"
		     "mov sp, %0\n"
		     "add x11, sp, #0\n" /* no access */
		     "ldr x11, [sp]\n"
		     "mov sp, x10\n"
		     "msr spsel, #1\n"
		     "mov sp, x9\n"
		     :
		     : "r"(sp + off)
		     : "x9", "x10", "x11", "memory");
}

static void test_stack(void)
{
	u64 sctlr = mrs("sctlr_el1");

	msr("sctlr_el1", sctlr & ~SCTLR_SA);
	sp_load(8);
	show("SA off, SP at 8");
	msr("sctlr_el1", sctlr | SCTLR_SA);
	sp_load(0);
	show("SP at 0");
	for (u64 off = 1; off <= 8; off *= 8)
		sp_load(off);
	show("SP at 8");
	for (unsigned n = 0; n < 100; n++) { /* again and again, by code that is known */
		sp_load(n & 1 ? 16 : 4);
		if (trap.count == (n & 1))
			say("round %lu: traps %lu\n", (u64)n, trap.count);
	}
	msr("sctlr_el1", sctlr);
}

/* ---- EL0 ---- */

extern char user_code[], user_ctr[], user_daif[], user_id[], user_dc[], user_sp[], user_pair[];
extern char land_none[], land_c[], land_j[], land_jc[], land_pac[];
asm(".text\n"
    ".balign 65536\n"
    "user_code: svc #1\n"
    "user_ctr: mrs x0, ctr_el0\n	svc #2\n"
    "user_daif: msr daifset, #2\n	svc #3\n"
    "user_id: mrs x0, midr_el1\n	svc #4\n"
    "user_dc: dc cvau, x0\n	svc #5\n"
    "user_sp: ldr x0, [sp]\n	svc #6\n"
    "user_pair: stp x0, x0, [sp, #-16]!\n	ldr x1, [sp], #8\n	svc #7\n"
    ".balign 4096\n"
    "land_none: ret\n"
    "land_c: .inst 0xd503245f\n	ret\n"
    "land_j: .inst 0xd503249f\n	ret\n"
    "land_jc: .inst 0xd50324df\n	ret\n"
    "land_pac: .inst 0xd503233f\n	.inst 0xd50323bf\n	ret\n"
    ".balign 65536\n");

#define USER  (HIGH + 0x400000)
#define STACK (USER + 0x20000)

static void user(const char *what, char *code, u64 x0, u64 sp)
{
	trap.count = 0;
	call_user(USER + (code - user_code), x0, sp, USER_STATE);
	say("%s: class %lx", what, trap_ec());
	say(" iss %lx at %lx\n", trap_ec() == 0x15 || trap_ec() == 0x18 ? trap.esr & 0x1ffffff : 0,
	    trap.elr - USER);
}

static void test_user(void)
{
	u64 sctlr = mrs("sctlr_el1"), open = 1ul << 26 | 1ul << 15 | 1ul << 9;

	for (unsigned round = 0; round < 2; round++) {
		msr("sctlr_el1", round ? sctlr | open : sctlr & ~open);
		user("EL0: call", user_code, 0, STACK + 256);
		user("EL0: CTR_EL0", user_ctr, 0, STACK + 256);
		user("EL0: DAIFSet", user_daif, 0, STACK + 256);
		user("EL0: DC CVAU", user_dc, STACK, STACK + 256);
	}
	if (mrs("id_aa64mmfr2_el1") >> 36 & 15)
		user("IDST: MIDR_EL1", user_id, 0, STACK + 256);
	msr("sctlr_el1", sctlr & ~SCTLR_SA0);
	user("EL0: SP at 8, SA0 off", user_sp, 0, STACK + 264);
	msr("sctlr_el1", sctlr | SCTLR_SA0);
	user("EL0: SP at 8", user_sp, 0, STACK + 264);
	user("EL0: SP at 16", user_sp, 0, STACK + 272);
	user("EL0: SP moved by 8", user_pair, 0, STACK + 272);
	user("EL0: kernel's page", user_sp, 0, PAGES);
	msr("sctlr_el1", sctlr);
}

/* ---- branch targets ---- */

/* Go to @target by BLR, BR or BR of x16. */
static void branch(unsigned how, u64 target)
{
	trap.count = 0;
	switch (how) {
	case 0: asm volatile("blr %0" : : "r"(target) : "x30"); break;
	case 1: asm volatile("adr x30, 1f\n br %0\n1:" : : "r"(target) : "x30", "memory"); break;
	default:
		asm volatile("mov x16, %0\n adr x30, 1f\n br x16\n1:"
			     :
			     : "r"(target)
			     : "x16", "x30", "memory");
		break;
	}
}

static void test_branch_targets(void)
{
	static char *const targets[] = { land_none, land_c, land_j, land_jc, land_pac };
	static const char *const names[] = { "none", "c", "j", "jc", "PACIASP" };
	u64 base = HIGH + 0x800000, sctlr = mrs("sctlr_el1");

	if (!(mrs("id_aa64pfr1_el1") & 15))
		return;
	/* The code between is not guarded: BR counts as one from x16. */
	map_page(base, (u64)land_none, PTE_CODE | PTE_GP | PTE_UXN);
	for (unsigned warm = 0; warm < 2; warm++)
		branch(0, base + (land_c - land_none));
	for (unsigned t = 0; t < 5; t++) {
		say("BTI %s:", names[t]);
		for (unsigned how = 0; how < 3; how++) {
			branch(how, base + (targets[t] - land_none));
			if (trap.count)
				say(" class %lx type %lx", trap_ec(), trap.esr & 3);
			else
				say(" ok");
		}
		say("\n");
	}
	msr("sctlr_el1", sctlr | SCTLR_BT1);
	branch(0, base + (land_pac - land_none));
	say("BTI PACIASP, strict: call traps %lu\n", trap.count);
	msr("sctlr_el1", sctlr);
	map_page(base + 4096, (u64)land_none, PTE_CODE | PTE_UXN);
	branch(0, base + 4096);
	say("BTI: not guarded: traps %lu\n", trap.count);
}

void guest_main(void)
{
	options_parse(arch_options);
	map_begin(12);
	first = page_alloc(0);
	page_alloc(0);
	second = page_alloc(0);
	map_page(PAGES, first, PTE_DATA);
	map_page(PAGES + 4096, second, PTE_DATA);
	map_page(USER, (u64)user_code, PTE_CODE | PTE_USER | PTE_RO);
	map_page(STACK, page_alloc(0), PTE_DATA | PTE_USER);
	test_crossing();
	test_ordered();
	test_strict();
	test_stack();
	test_user();
	test_branch_targets();
	say("END\n");
	arm_power_off();
}

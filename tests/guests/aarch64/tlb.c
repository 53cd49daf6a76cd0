/*
 * tlb.c - test guest for arm64: translation tables and their caches, with all three granules.
 *
 * Every line that it prints is the same on any correct machine; a line of an optional feature is
 * left out where ID registers do not tell of it. With a second CPU it also broadcasts.
 */
#include "trap.h"

#define tlbi(op, val)                                                                              \
	asm volatile("dsb ishst; tlbi " op ", %0; dsb ish; isb" : : "r"(val) : "memory")
/* SYS instructions that the assembler's base level does not name. */
#define RVAE1IS      "#0, c8, c2, #1"
#define RVALE1IS     "#0, c8, c2, #5"
#define RVAE1        "#0, c8, c6, #1"
#define sys(op, val) asm volatile("dsb ishst; sys " op ", %0; dsb ish; isb" : : "r"(val) : "memory")

static unsigned lg; /* of the granule */

static u64 va_operand(u64 va, u64 asid, u64 ttl)
{
	return (va >> 12 & 0xfffffffffff) | ttl << 44 | asid << 48;
}

static u64 range_operand(u64 va, u64 scale, u64 num, u64 ttl)
{
	u64 tg = lg == 12 ? 1 : lg == 14 ? 2 : 3;

	return (va >> lg & 0x1fffffffff) | ttl << 37 | num << 39 | scale << 44 | tg << 46;
}

static void test_one_page(void)
{
	u64 va = HIGH + (3ul << lg), a = page_alloc(0xaaaa), b = page_alloc(0xbbbb);
	u64 ttl = (u64)(lg == 12 ? 1 : lg == 14 ? 2 : 3) << 2 | 3;

	map_page(va, a, PTE_DATA);
	say2("mapped: %lx traps %lu\n", peek(va), trap.count);
	*map_entry(0, va) = 0;
	tlbi("vae1", va_operand(va, 0, 0));
	peek(va);
	say3("unmapped: class %lx code %lx address %lu\n", trap_ec(), trap_fsc(), trap.far == va);
	map_page(va, b, PTE_DATA);
	say2("again: %lx traps %lu\n", peek(va), trap.count);
	*map_entry(0, va) = 0;
	tlbi("vale1is", va_operand(va, 0, ttl));
	map_page(va, a, PTE_DATA | PTE_RO);
	say2("read only: %lx traps %lu\n", peek(va), trap.count);
	poke(va, 1);
	say3("store: class %lx code %lx write %lu\n", trap_ec(), trap_fsc(), trap.esr >> 6 & 1);
	*map_entry(0, va) = 0;
	tlbi("vaae1", va_operand(va, 0, ttl));
	peek(va + 8);
	say2("all ASIDs: code %lx address %lu\n", trap_fsc(), trap.far == va + 8);
}

/* Pages of a range that are looked at: its ends and places between. */
static u64 sample(u64 pages, unsigned i)
{
	static const u8 parts[] = { 0, 1, 2, 3, 5, 8, 13, 15 };

	return i < 8 ? pages / 16 * parts[i] : pages - 1 - (i - 8) * (pages > 16);
}

static u64 stale_in_range(u64 scale, u64 num, unsigned how)
{
	u64 pages = (num + 1) << (5 * scale + 1), stale = 0;
	u64 base = -(lg == 12 ? 1ul << 39 : lg == 14 ? 1ul << 36 : 1ul << 42);
	u64 pa = page_alloc(0x1234);
	u64 operand = range_operand(base, scale, num, how == 1 ? 3 : 0);

	for (unsigned i = 0; i < 10; i++) {
		u64 va = base + (sample(pages, i) << lg);

		map_page(va, pa, PTE_DATA);
		if (peek(va) != 0x1234 || trap.count)
			return 1000;
	}
	for (unsigned i = 0; i < 10; i++)
		*map_entry(0, base + (sample(pages, i) << lg)) = 0;
	if (how == 0)
		sys(RVAE1IS, operand);
	else if (how == 1)
		sys(RVALE1IS, operand);
	else
		sys(RVAE1, operand);
	for (unsigned i = 0; i < 10; i++) {
		peek(base + (sample(pages, i) << lg));
		stale += !trap.count;
	}
	return stale;
}

static void test_ranges(void)
{
	static const u8 nums[] = { 0, 1, 15, 16, 31 };

	if ((mrs("id_aa64isar0_el1") >> 56 & 15) < 2)
		return;
	for (u64 scale = 0; scale < 4; scale++) {
		u64 stale = 0;

		for (unsigned i = 0; i < sizeof(nums); i++)
			for (unsigned how = 0; how < 3; how++) {
				map_begin(lg);
				stale += stale_in_range(scale, nums[i], how);
			}
		say2("ranges: scale %lu stale %lu\n", scale, stale);
	}
}

static void test_asids(void)
{
	u64 va = HIGH + (5ul << lg), one = page_alloc(1), two = page_alloc(2);
	u64 low = mrs("ttbr0_el1"), first = mrs("ttbr1_el1"), second;

	second = map_root();
	*map_entry(first, va) = one | PTE_DATA | PTE_NG | PTE_VALID;
	*map_entry(second, va) = two | PTE_DATA | PTE_NG | PTE_VALID;
	asm volatile("dsb ishst; isb");
	for (u64 round = 0; round < 2; round++) {
		msr("ttbr0_el1", low | 1ul << 48);
		msr("ttbr1_el1", first);
		say2("ASID 1: %lx traps %lu\n", peek(va), trap.count);
		msr("ttbr0_el1", low | 2ul << 48);
		msr("ttbr1_el1", second);
		say2("ASID 2: %lx traps %lu\n", peek(va), trap.count);
	}
	*map_entry(first, va) = 0;
	*map_entry(second, va) = 0;
	tlbi("aside1is", 2ul << 48);
	peek(va);
	say("ASID 2 after its invalidation: code %lx\n", trap_fsc());
	tlbi("vae1is", va_operand(va, 1, 0));
	msr("ttbr0_el1", low | 1ul << 48);
	msr("ttbr1_el1", first);
	peek(va);
	say("ASID 1 after its invalidation: code %lx\n", trap_fsc());
	/* A global page goes with any ASID. */
	*map_entry(first, va) = one | PTE_DATA | PTE_VALID;
	asm volatile("dsb ishst; isb");
	peek(va);
	*map_entry(first, va) = 0;
	tlbi("vae1is", va_operand(va, 7, 0));
	peek(va);
	say("global page: code %lx\n", trap_fsc());
	msr("ttbr0_el1", low);
	msr("ttbr1_el1", first);
	tlbi_all();
}

static u64 at(unsigned op, u64 va)
{
	switch (op) {
	case 0: asm volatile("at s1e1r, %0; isb" : : "r"(va)); break;
	case 1: asm volatile("at s1e1w, %0; isb" : : "r"(va)); break;
	case 2: asm volatile("at s1e0r, %0; isb" : : "r"(va)); break;
	default: asm volatile("at s1e0w, %0; isb" : : "r"(va)); break;
	}
	return mrs("par_el1");
}

static void show_at(const char *name, u64 va, u64 pa)
{
	say("AT %s:", name);
	for (unsigned op = 0; op < 4; op++) {
		u64 par = at(op, va);

		if (par & 1)
			say(" fault %lx", par >> 1 & 0x3f);
		else
			say(" %s", (par & 0xfffffffff000) == (pa & ~0xffful) ? "ok" : "wrong");
	}
	say("\n");
}

static void test_at(void)
{
	u64 va = HIGH + (9ul << lg), pa = page_alloc(0);

	map_page(va, pa, PTE_DATA);
	show_at("kernel page", va, pa);
	map_page(va + (1ul << lg), pa, PTE_DATA | PTE_USER | PTE_RO);
	show_at("user page, read only", va + (1ul << lg), pa);
	map_page(va + (2ul << lg), pa, PTE_DATA & ~PTE_AF);
	show_at("no access flag", va + (2ul << lg), pa);
	show_at("nothing", va + (3ul << lg), pa);
	show_at("no address", 0x0100000000000000, pa);
}

/* Descriptor's access flag and read-only bit. */
static u64 state_of(u64 va)
{
	u64 desc = *map_entry(0, va);

	return (desc >> 10 & 1) << 4 | (desc >> 7 & 1);
}

static void test_hardware_flags(void)
{
	u64 va = HIGH + (20ul << lg), pa = page_alloc(7), tcr = mrs("tcr_el1");

	map_page(va, pa, PTE_DATA & ~PTE_AF);
	peek(va);
	say2("no access flag: class %lx code %lx\n", trap_ec(), trap_fsc());
	if ((mrs("id_aa64mmfr1_el1") & 15) < 2)
		return;
	msr("tcr_el1", tcr | 1ul << 39 | 1ul << 40);
	tlbi_all();
	map_page(va, pa, (PTE_DATA & ~PTE_AF) | PTE_DBM | PTE_RO);
	say2("dirty state: %lx after load %lx", state_of(va), peek(va) == 7 ? state_of(va) : 99);
	poke(va, 8);
	say3(", after store %lx traps %lu value %lx\n", state_of(va), trap.count, peek(va));
	map_page(va + (1ul << lg), pa, PTE_DATA | PTE_RO);
	poke(va + (1ul << lg), 9);
	say2("dirty state: without DBM code %lx %lx\n", trap_fsc(), state_of(va + (1ul << lg)));
	/* AT does not change a table. */
	map_page(va + (2ul << lg), pa, PTE_DATA | PTE_DBM | PTE_RO);
	msr("tcr_el1", tcr);
	tlbi_all();
}

static void test_pan(void)
{
	u64 va = HIGH + (30ul << lg), pa = page_alloc(0x77), val = 0, sctlr = mrs("sctlr_el1");

	if (!(mrs("id_aa64mmfr1_el1") >> 20 & 15))
		return;
	map_page(va, pa, PTE_DATA | PTE_USER);
	say2("PAN off: %lx traps %lu\n", peek(va), trap.count);
	asm volatile(".inst 0xd500419f; isb"); /* msr pan, #1 */
	peek(va);
	say2("PAN on: class %lx code %lx\n", trap_ec(), trap_fsc());
	TRY(asm volatile("ldtr %0, [%1]" : "+r"(val) : "r"(va)));
	say2("PAN and LDTR: %lx traps %lu\n", val, trap.count);
	if ((mrs("id_aa64mmfr1_el1") >> 20 & 15) >= 3) {
		map_page(va + (1ul << lg), pa, PTE_CODE & ~PTE_UXN); /* EL0 may only execute */
		peek(va + (1ul << lg));
		say("EPAN off: traps %lu\n", trap.count);
		msr("sctlr_el1", sctlr | 1ul << 57);
		tlbi_all();
		peek(va + (1ul << lg));
		say("EPAN on: code %lx\n", trap_fsc());
		msr("sctlr_el1", sctlr);
		tlbi_all();
	}
	asm volatile(".inst 0xd500409f; isb"); /* msr pan, #0 */
}

static u64 peek_user(u64 va)
{
	u64 val = 0;

	TRY(asm volatile("ldtr %0, [%1]" : "+r"(val) : "r"(va)));
	return val;
}

/* Which of its pages an address space's LDTR, STTR and (with and without PAN) loads reach. */
static u64 wrong_views(u64 user, u64 kernel, u64 expected, u64 next)
{
	u64 wrong = 0;

	asm volatile(".inst 0xd500419f"); /* msr pan, #1 */
	peek(user);
	wrong += !trap.count;
	wrong += peek_user(user) != expected || trap.count;
	peek_user(kernel);
	wrong += !trap.count;
	TRY(asm volatile("sttr %0, [%1]" : : "r"(next), "r"(user) : "memory"));
	wrong += trap.count;
	TRY(asm volatile("sttr %0, [%1]" : : "r"(next), "r"(kernel) : "memory"));
	wrong += !trap.count;
	asm volatile(".inst 0xd500409f"); /* msr pan, #0 */
	wrong += peek(user) != next || trap.count;
	wrong += peek(kernel) != 0x55 || trap.count;
	return wrong;
}

/* Again and again, so that nothing is new any more, in two address spaces. */
static void test_views(void)
{
	u64 user = HIGH + (34ul << lg), kernel = HIGH + (35ul << lg), wrong = 0;
	u64 low = mrs("ttbr0_el1"), first = mrs("ttbr1_el1"), second;
	u64 one = page_alloc(100), two = page_alloc(200), shared = page_alloc(0x55);

	if (!(mrs("id_aa64mmfr1_el1") >> 20 & 15))
		return;
	second = map_root();
	*map_entry(first, user) = one | PTE_DATA | PTE_USER | PTE_NG | PTE_VALID;
	*map_entry(second, user) = two | PTE_DATA | PTE_USER | PTE_NG | PTE_VALID;
	*map_entry(first, kernel) = shared | PTE_DATA | PTE_VALID;
	*map_entry(second, kernel) = shared | PTE_DATA | PTE_VALID;
	asm volatile("dsb ishst; isb");
	for (u64 round = 0; round < 20; round++) {
		msr("ttbr0_el1", low | (round & 1) << 48);
		msr("ttbr1_el1", round & 1 ? second : first);
		for (u64 k = 0; k < 3; k++) {
			u64 old = (round & 1 ? 200 : 100) + round / 2 * 3 + k;

			wrong += wrong_views(user, kernel, old, old + 1);
		}
	}
	msr("ttbr0_el1", low);
	msr("ttbr1_el1", first);
	*map_entry(first, user) = 0;
	tlbi("vae1is", va_operand(user, 0, 0));
	peek_user(user);
	wrong += !trap.count;
	say("PAN and LDTR in two address spaces: wrong %lu\n", wrong);
}

/* ---- a second CPU ---- */

static volatile u64 shared_va, shared_tcr, shared_table, order, answer;

static void second(unsigned index)
{
	for (u64 done = 0;;) {
		while (order == done)
			arch_relax();
		done = order;
		arch_barrier();
		if (mrs("ttbr1_el1") != shared_table) {
			msr("ttbr1_el1", shared_table);
			msr("tcr_el1", shared_tcr);
			asm volatile("tlbi vmalle1; dsb nsh; isb");
		}
		asm volatile("isb");
		peek(shared_va);
		answer = trap.count ? trap_fsc() : 0x100;
		arch_barrier();
		order = ++done;
	}
}

static u64 ask_second(void)
{
	u64 next = order + 1;

	arch_barrier();
	order = next;
	while (order == next)
		arch_relax();
	arch_barrier();
	return answer;
}

static void test_broadcast(void)
{
	u64 va = HIGH + (40ul << lg), pa = page_alloc(1), bad = 0;

	shared_va = va;
	shared_tcr = mrs("tcr_el1");
	shared_table = mrs("ttbr1_el1");
	for (unsigned round = 0; round < 200; round++) {
		map_page(va, pa, PTE_DATA);
		bad += ask_second() != 0x100;
		*map_entry(0, va) = 0;
		if (round & 1)
			tlbi("vaae1is", va_operand(va, 0, 0));
		else
			tlbi_all();
		bad += (ask_second() & 0x3c) != 4;
	}
	say("broadcast: wrong %lu\n", bad);
}

void guest_main(void)
{
	static const u8 granules[] = { 12, 14, 16 };
	bool two;

	options_parse(arch_options);
	map_begin(12);
	two = arch_start_cpu(1, second);
	for (unsigned i = 0; i < 3; i++) {
		lg = granules[i];
		if (lg == 14 && !(mrs("id_aa64mmfr0_el1") >> 20 & 15))
			continue;
		say("granule %lu\n", 1ul << lg);
		map_begin(lg);
		test_one_page();
		test_ranges();
		map_begin(lg);
		test_asids();
		test_at();
		test_hardware_flags();
		test_pan();
		test_views();
		if (two && lg == 12)
			test_broadcast();
	}
	say("END\n");
	arm_power_off();
}

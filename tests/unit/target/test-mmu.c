/* tests/unit/target/test-mmu.c - address translation, exception levels and TLB maintenance. */
#include <glib.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"
#include "target/arm/excp.h"
#include "target/arm/irq.h"
#include "target/arm/mmu.h"
#include "target/arm/sysreg.h"

#define RAM_BASE 0x40000000ull
#define RAM_SIZE (4 * MiB)
#define UART     0x09000000ull

#define AF     (1ull << 10)
#define RO     (1ull << 7)
#define USER   (1ull << 6)
#define DBM    (1ull << 51)
#define PXN    (1ull << 53)
#define UXN    (1ull << 54)
#define DEVICE (1ull << 2) /* MAIR index 1 */
#define S2_RW  (3ull << 6 | 0xf << 2 | AF)

static u8 *ram;
static u64 next_table; /* physical */
static unsigned dirtied;
static bool track;
static u64 uart_value;

static void bus_page(void *opaque, u64 phys, struct arm_bus_page *page)
{
	*page = (struct arm_bus_page){ .writable = true, .track = track };
	if (phys - RAM_BASE < RAM_SIZE)
		page->host = ram + (phys - RAM_BASE);
}

static bool bus_read(void *opaque, u64 phys, unsigned size, u64 *val)
{
	*val = uart_value + size;
	return phys - UART < 0x1000;
}

static bool bus_write(void *opaque, u64 phys, unsigned size, u64 val)
{
	uart_value = val;
	return phys - UART < 0x1000;
}

static void bus_dirty(void *opaque, u64 phys)
{
	dirtied++;
}

static const struct arm_bus bus = {
	.page = bus_page, .read = bus_read, .write = bus_write, .dirty = bus_dirty
};

/* Exceptions enter the guest's handlers, except that HVC ends the run. */
static bool service(struct tcg_cpu *tcg, bool raised)
{
	struct arm_cpu *cpu = arm_cpu_of(tcg);

	tcg->exit_request = 0;
	if (raised && cpu->excp.ec == EC_HVC64) {
		cpu->excp = (struct arm_exception){ 0 };
		return false;
	}
	if (raised)
		arm_take_exception(cpu);
	else
		arm_irq_take(cpu);
	return true;
}

static const struct tcg_ops ops = { .fill = arm_mmu_fill,
				    .io_read = arm_mmu_io_read,
				    .io_write = arm_mmu_io_write,
				    .first_store = arm_mmu_first_store,
				    .service = service,
				    .step = arm_step,
				    .translate = arm_translate };

static u64 *table(u64 phys)
{
	return (u64 *)(ram + (phys - RAM_BASE));
}

static u64 new_table(void)
{
	u64 phys = next_table;

	next_table += 4096;
	memset(ram + (phys - RAM_BASE), 0, 4096);
	return phys;
}

/* Enter a 4 KiB page (or at @level 2 a 2 MiB block) into tables that start at level 1. */
static u64 *map_page(u64 root, u64 va, u64 pa, u64 attributes, int level)
{
	u64 at = root;

	for (int l = 1; l < level; l++) {
		u64 *entry = &table(at)[va >> (39 - 9 * l) & 511];

		if (!*entry)
			*entry = new_table() | 3;
		at = *entry & 0xfffffffff000;
	}
	table(at)[va >> (39 - 9 * level) & 511] = pa | attributes | (level == 3 ? 3 : 1);
	return &table(at)[va >> (39 - 9 * level) & 511];
}

static u64 root;

/* A CPU at EL1 with 39-bit addresses and the tables at root. */
static struct arm_cpu *cpu_add(bool jit)
{
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	cpu->tcg.ops = &ops;
	cpu->features = arm_features_max();
	cpu->conduit = ARM_CONDUIT_HVC;
	tcg_cpu_register(&cpu->tcg, jit);
	arm_mmu_create(cpu, &bus);
	arm_cpu_reset(cpu, RAM_BASE);
	cpu->pstate &= ~PSTATE_DAIF;
	cpu->cpacr_el1 = 3u << 20;
	cpu->mair_el[1] = 0x00ff;
	cpu->tcr_el[1] = 25 | 25 << 16 | 2u << 30; /* both ranges 39 bits, 4 KiB */
	cpu->ttbr0_el[1] = cpu->ttbr1_el[1] = root;
	cpu->sctlr_el[1] = 1 | 1u << 23; /* M, SPAN */
	cpu->vbar_el[1] = RAM_BASE + 0x10000;
	arm_mmu_flush(cpu);
	return cpu;
}

/* The first CPU of a machine; the first MiB of RAM is mapped flat for EL1 code. */
static struct arm_cpu *cpu_new(bool jit)
{
	ram = g_aligned_alloc0(1, RAM_SIZE, 4096);
	tcg_invalidate(RAM_BASE, RAM_SIZE); /* what earlier tests had there */
	next_table = RAM_BASE + 2 * MiB;
	dirtied = 0;
	track = false;
	root = new_table();
	for (u64 at = RAM_BASE; at < RAM_BASE + MiB; at += 4096)
		map_page(root, at, at, AF | UXN, 3);
	return cpu_add(jit);
}

static void cpu_remove(struct arm_cpu *cpu)
{
	arm_mmu_destroy(cpu);
	tcg_cpu_unregister(&cpu->tcg);
	g_hash_table_unref(cpu->sysregs);
	g_aligned_free(cpu);
}

static void cpu_free(struct arm_cpu *cpu)
{
	cpu_remove(cpu);
	g_aligned_free(ram);
}

static void put_code(u64 phys, const u32 *words, size_t n)
{
	memcpy(ram + (phys - RAM_BASE), words, n * sizeof(*words));
}

static void run(struct arm_cpu *cpu, u64 pc)
{
	tcg_set_pc(&cpu->tcg, pc);
	arm_state_changed(cpu);
	tcg_run(&cpu->tcg);
}

static bool translate(struct arm_cpu *cpu, u64 va, bool user, enum tcg_access access,
		      struct arm_translation *t)
{
	struct arm_regime r = arm_regime_current(cpu, user);

	return arm_translate_address(cpu, &r, va, access, t);
}

static void test_permissions(void)
{
	struct arm_cpu *cpu = cpu_new(false);
	struct arm_translation t;

	map_page(root, 0x1000, RAM_BASE + 0x1000, AF | USER, 3);
	map_page(root, 0x2000, RAM_BASE + 0x2000, AF | USER | RO, 3);
	map_page(root, 0x3000, RAM_BASE + 0x3000, AF, 3);
	map_page(root, 0x4000, RAM_BASE + 0x4000, USER, 3);
	map_page(root, 0x400000, RAM_BASE, AF | USER | UXN, 2);

	g_assert_true(translate(cpu, 0x1234, true, TCG_WRITE, &t));
	g_assert_cmphex(t.phys, ==, RAM_BASE + 0x1234);
	g_assert_false(translate(cpu, 0x1234, false, TCG_EXEC, &t)); /* writable by EL0 */
	g_assert_cmphex(t.fsc, ==, 0x0f);
	g_assert_false(translate(cpu, 0x2000, true, TCG_WRITE, &t));
	g_assert_cmphex(t.fsc, ==, 0x0f);
	g_assert_true(translate(cpu, 0x2000, true, TCG_EXEC, &t));
	g_assert_false(translate(cpu, 0x3000, true, TCG_READ, &t));
	g_assert_true(translate(cpu, 0x3000, false, TCG_WRITE, &t));
	g_assert_false(translate(cpu, 0x4000, true, TCG_READ, &t));
	g_assert_cmphex(t.fsc, ==, 0x0b); /* access flag, level 3 */
	g_assert_true(translate(cpu, 0x412345, true, TCG_READ, &t));
	g_assert_cmphex(t.phys, ==, RAM_BASE + 0x12345);
	g_assert_cmphex(t.size, ==, 2 * MiB);
	g_assert_false(translate(cpu, 0x412345, true, TCG_EXEC, &t));
	g_assert_cmphex(t.fsc, ==, 0x0e);
	g_assert_false(translate(cpu, 0x8000000000, true, TCG_READ, &t)); /* beyond 39 bits */
	g_assert_cmphex(t.fsc, ==, 0x04);
	g_assert_true(translate(cpu, 0xffffff8000001000, false, TCG_READ, &t)); /* upper range */
	cpu->pstate |= PSTATE_PAN;
	g_assert_false(translate(cpu, 0x1234, false, TCG_READ, &t));
	g_assert_true(translate(cpu, 0x3000, false, TCG_READ, &t));
	cpu_free(cpu);
}

static void test_hardware_flags(void)
{
	struct arm_cpu *cpu = cpu_new(false);
	u64 *entry = map_page(root, 0x1000, RAM_BASE + 0x1000, USER | RO | DBM, 3);
	struct arm_translation t;

	cpu->tcr_el[1] |= 3ull << 39; /* HA, HD */
	g_assert_true(translate(cpu, 0x1000, true, TCG_READ, &t));
	g_assert_false(t.write); /* the first store must be seen */
	g_assert_cmphex(*entry & (AF | RO), ==, AF | RO);
	g_assert_true(translate(cpu, 0x1000, true, TCG_WRITE, &t));
	g_assert_true(t.write);
	g_assert_cmphex(*entry & (AF | RO), ==, AF);
	cpu_free(cpu);
}

/* EL1 drops to EL0, which writes, calls the system, and touches what it must not. */
static void test_levels(gconstpointer jit)
{
	static const u32 el1[] = {
		0xd5184020, /* msr elr_el1, x0 */
		0xd518401f, /* msr spsr_el1, xzr */
		0xd69f03e0, /* eret */
	};
	static const u32 el0[] = {
		0xb9000041, /* str w1, [x2] */
		0xd4000541, /* svc #42 */
		0xb9400085, /* ldr w5, [x4] */
	};
	static const u32 handler[] = {
		0xd5385213, /* mrs x19, esr_el1 */
		0xd5386014, /* mrs x20, far_el1 */
		0xd5384035, /* mrs x21, elr_el1 */
		0xd35afe76, /* lsr x22, x19, #26 */
		0xf10056df, /* cmp x22, #0x15 */
		0x54000041, /* b.ne .+8 */
		0xd69f03e0, /* eret */
		0xd4000002, /* hvc #0 */
	};
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));

	put_code(RAM_BASE, el1, G_N_ELEMENTS(el1));
	put_code(RAM_BASE + 0x100000, el0, G_N_ELEMENTS(el0));
	put_code(RAM_BASE + 0x10400, handler, G_N_ELEMENTS(handler));
	map_page(root, 0x10000, RAM_BASE + 0x100000, AF | USER | RO | PXN, 3);
	map_page(root, 0x20000, RAM_BASE + 0x101000, AF | USER | UXN | PXN, 3);
	cpu->tcg.r[0] = 0x10000;
	cpu->tcg.r[1] = 0x12345678;
	cpu->tcg.r[2] = 0x20010;
	cpu->tcg.r[4] = RAM_BASE + 0x40; /* of EL1 */
	run(cpu, RAM_BASE);
	g_assert_cmphex(*(u32 *)(ram + 0x101010), ==, 0x12345678);
	g_assert_cmphex(cpu->tcg.r[19], ==, 0x24u << 26 | 1u << 25 | 0x0f);
	g_assert_cmphex(cpu->tcg.r[20], ==, RAM_BASE + 0x40);
	g_assert_cmphex(cpu->tcg.r[21], ==, 0x10008);
	g_assert_cmphex(cpu->pstate & 0xf, ==, 5);
	cpu_free(cpu);
}

/* Two address spaces by ASID keep their translations apart; TLBI makes a change visible. */
static void test_asid(gconstpointer jit)
{
	static const u32 code[] = {
		0xd5182000, /* msr ttbr0_el1, x0 */
		0xd5033fdf, /* isb */
		0xf9400046, /* ldr x6, [x2] */
		0xd5182001, /* msr ttbr0_el1, x1 */
		0xd5033fdf, /* isb */
		0xf9400047, /* ldr x7, [x2] */
		0xd4000002, /* hvc #0 */
		0xd508832b, /* tlbi vae1is, x11 */
		0xd5033f9f, /* dsb sy */
		0xf9400048, /* ldr x8, [x2] */
		0xd4000002, /* hvc #0 */
	};
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));
	u64 other = new_table(), *entry;

	cpu->ttbr1_el[1] = root;
	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	*(u64 *)(ram + 0x102000) = 111;
	*(u64 *)(ram + 0x103000) = 222;
	*(u64 *)(ram + 0x104000) = 333;
	map_page(root, 0x5000, RAM_BASE + 0x102000, AF, 3);
	entry = map_page(other, 0x5000, RAM_BASE + 0x103000, AF, 3);
	cpu->tcg.r[0] = root | 1ull << 48;
	cpu->tcg.r[1] = other | 2ull << 48;
	cpu->tcg.r[2] = 0x5000;
	run(cpu, 0xffffff8000000000 + RAM_BASE);
	g_assert_cmpuint(cpu->tcg.r[6], ==, 111);
	g_assert_cmpuint(cpu->tcg.r[7], ==, 222);
	*entry = (*entry & ~0xfffffff000ull) | (RAM_BASE + 0x104000);
	cpu->tcg.r[11] = 5 | 2ull << 48;
	run(cpu, 0xffffff8000000000 + RAM_BASE + 28);
	g_assert_cmpuint(cpu->tcg.r[8], ==, 333);
	cpu_free(cpu);
}

/* The same with @pages pages in each space, over and over: few are dropped one by one when the ASID
 * changes, many all at once, and in the end each space gets contexts of its own. */
static void check_spaces(bool jit, unsigned pages)
{
	static const u32 code[] = {
		0xd5182000, /* msr ttbr0_el1, x0 */
		0xd5033fdf, /* isb */
		0xf8408444, /* ldr x4, [x2], #8 */
		0x8b0400a5, /* add x5, x5, x4 */
		0x913fe042, /* add x2, x2, #4088 */
		0xf1000463, /* subs x3, x3, #1 */
		0x54ffff81, /* b.ne .-16 */
		0xd4000002, /* hvc #0 */
	};
	struct arm_cpu *cpu = cpu_new(jit);
	u64 space[2] = { root, new_table() };

	cpu->ttbr1_el[1] = root;
	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	for (unsigned n = 0; n < 2; n++) {
		for (unsigned i = 0; i < pages; i++) {
			u64 at = 0x120000 + (n * pages + i) * 4096;

			*(u64 *)(ram + at) = (n + 1) * (i + 1);
			map_page(space[n], 0x80000000 + i * 4096, RAM_BASE + at, AF, 3);
		}
	}
	for (unsigned round = 0; round < 100; round++) {
		cpu->tcg.r[0] = space[round & 1] | (u64)(1 + (round & 1)) << 48;
		cpu->tcg.r[2] = 0x80000000;
		cpu->tcg.r[3] = pages;
		cpu->tcg.r[5] = 0;
		run(cpu, 0xffffff8000000000 + RAM_BASE);
		g_assert_cmpuint(cpu->tcg.r[5], ==, (1 + (round & 1)) * pages * (pages + 1) / 2);
	}
	cpu_free(cpu);
}

static void test_few_own(gconstpointer jit)
{
	check_spaces(GPOINTER_TO_INT(jit), 3);
}

static void test_many_own(gconstpointer jit)
{
	check_spaces(GPOINTER_TO_INT(jit), 20);
}

static void test_device(gconstpointer jit)
{
	static const u32 code[] = {
		0xb9000841, /* str w1, [x2, #8] */
		0x79400043, /* ldrh w3, [x2] */
		0xb8401044, /* ldur w4, [x2, #1] */
	};
	static const u32 handler[] = { 0xd4000002 };
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));

	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	put_code(RAM_BASE + 0x10200, handler, 1);
	map_page(root, 0x9000, UART, AF | DEVICE, 3);
	cpu->tcg.r[1] = 40;
	cpu->tcg.r[2] = 0x9000;
	run(cpu, RAM_BASE);
	g_assert_cmpuint(uart_value, ==, 40);
	g_assert_cmpuint(cpu->tcg.r[3], ==, 42);
	g_assert_cmphex(cpu->esr_el[1], ==, 0x25u << 26 | 1u << 25 | 0x21);
	g_assert_cmphex(cpu->far_el[1], ==, 0x9001);
	cpu_free(cpu);
}

/* Nobody answers: the syndrome is that of the kind of access, the address the virtual one. */
static void test_nobody(gconstpointer jit)
{
	static const u32 code[] = { 0xf9400441, /* ldr x1, [x2, #8] */
				    0xf9000441, /* str x1, [x2, #8] */
				    0xd61f0040 /* br x2 */ };
	static const u32 handler[] = { 0xd4000002 };
	static const u64 far[] = { 0xa008, 0xa008, 0xa000 };
	static const u64 esr[] = { 0x25u << 26 | 1u << 25 | 0x10, 0x25u << 26 | 1u << 25 | 0x50,
				   0x21u << 26 | 1u << 25 | 0x10 };
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));

	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	put_code(RAM_BASE + 0x10200, handler, 1);
	map_page(root, 0xa000, 0x0a000000, AF, 3);
	for (unsigned i = 0; i < G_N_ELEMENTS(code); i++) {
		cpu->tcg.r[2] = 0xa000;
		run(cpu, RAM_BASE + 4 * i);
		g_assert_cmphex(cpu->esr_el[1], ==, esr[i]);
		g_assert_cmphex(cpu->far_el[1], ==, far[i]);
		g_assert_cmphex(cpu->elr_el[1], ==, i == 2 ? 0xa000 : RAM_BASE + 4 * i);
	}
	cpu_free(cpu);
}

/* MOPS with T: with PAN on a kernel reaches what is the user's, by these only. */
static void test_mops_rights(gconstpointer jit)
{
	static const u32 code[] = {
		0x19c31440, 0x19c35440,
		0x19c39440, /* setpt, setmt, setet [x0]!, x2!, x3 */
		0x19072506, 0x19472506,
		0x19872506, /* cpyfprt, cpyfmrt, cpyfert [x6]!, [x7]!, x8! */
		0xd4000002,
	};
	static const u32 handler[] = { 0xd4000002 };
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));
	u32 words[3];

	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	put_code(RAM_BASE + 0x10200, handler, 1);
	map_page(root, 0x1000, RAM_BASE + 0x1000, AF | USER | UXN, 3);
	map_page(root, 0x3000, RAM_BASE + 0x3000, AF | UXN, 3);
	cpu->pstate |= PSTATE_PAN;
	cpu->tcg.r[0] = 0x1080;
	cpu->tcg.r[2] = 16;
	cpu->tcg.r[3] = 0xa5;
	cpu->tcg.r[6] = 0x3000;
	cpu->tcg.r[7] = 0x1084;
	cpu->tcg.r[8] = 8;
	run(cpu, RAM_BASE);
	g_assert_cmphex(cpu->esr_el[1], ==, 0);
	for (unsigned i = 0; i < 16; i++)
		g_assert_cmphex(ram[0x1080 + i], ==, 0xa5);
	g_assert_cmphex(ram[0x3007], ==, 0xa5);
	g_assert_cmphex(ram[0x3008], ==, 0);

	/* back to the user by cpyfpwt; then without T the store faults, and so does its load */
	for (unsigned i = 0; i < 3; i++)
		words[i] = 0x19071506 | i << 22;
	put_code(RAM_BASE + 0x20000, words, 3);
	for (unsigned i = 0; i < 3; i++)
		words[i] = 0x19c30440 | i << 14;
	put_code(RAM_BASE + 0x2000c, words, 3);
	cpu->tcg.r[0] = 0x1080;
	cpu->tcg.r[2] = 16;
	cpu->tcg.r[6] = 0x1100;
	cpu->tcg.r[7] = 0x3000;
	cpu->tcg.r[8] = 8;
	run(cpu, RAM_BASE + 0x20000);
	g_assert_cmphex(ram[0x1107], ==, 0xa5);
	g_assert_cmphex(cpu->esr_el[1] & 0xfc00007f, ==, 0x25u << 26 | 0x4f);
	g_assert_cmphex(cpu->far_el[1], ==, 0x1080);
	g_assert_null(cpu->mmu_saved);
	cpu_free(cpu);
}

/* Stage 2: a fault reports the intermediate address and how to emulate the access. */
static void test_stage2(void)
{
	static const u32 code[] = { 0xb9400083 /* ldr w3, [x4] */ };
	static const u32 handler[] = { 0xd4000002 };
	struct arm_cpu *cpu = cpu_new(false);
	struct arm_translation t;
	u64 second = new_table();

	put_code(RAM_BASE, code, 1);
	put_code(RAM_BASE + 0x20400, handler, 1);
	for (u64 at = RAM_BASE; at < RAM_BASE + RAM_SIZE; at += 2 * MiB)
		map_page(second, at, at, S2_RW, 2);
	map_page(root, 0x6000, 0x7000 + RAM_BASE + RAM_SIZE, AF, 3);
	cpu->has_el2 = true;
	cpu->vtcr_el2 = 25 | 1 << 6; /* 39 bits from level 1, 4 KiB */
	cpu->vttbr_el2 = second;
	cpu->hcr_el2 = 1 | 1ull << 31;
	cpu->vbar_el[2] = RAM_BASE + 0x20000;
	arm_mmu_flush(cpu);
	g_assert_true(translate(cpu, RAM_BASE + 0x123, false, TCG_READ, &t));
	g_assert_cmphex(t.phys, ==, RAM_BASE + 0x123);
	cpu->tcg.r[4] = 0x6010;
	run(cpu, RAM_BASE);
	g_assert_cmphex(cpu->esr_el[2], ==,
			0x24u << 26 | 1u << 25 | 1u << 24 | 2u << 22 | 3u << 16 | 0x06);
	g_assert_cmphex(cpu->far_el[2], ==, 0x6010);
	g_assert_cmphex(cpu->hpfar_el2, ==, (RAM_BASE + RAM_SIZE + 0x7000) >> 8);
	cpu_free(cpu);
}

static void test_dirty(void)
{
	static const u32 code[] = {
		0xf9000041, /* str x1, [x2] */
		0xf9000441, /* str x1, [x2, #8] */
		0xd4000002,
	};
	struct arm_cpu *cpu = cpu_new(true);

	track = true;
	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	cpu->tcg.r[2] = RAM_BASE + 0x3000;
	run(cpu, RAM_BASE);
	run(cpu, RAM_BASE);
	g_assert_cmpuint(dirtied, ==, 1);
	arm_mmu_rearm(cpu);
	run(cpu, RAM_BASE);
	g_assert_cmpuint(dirtied, ==, 2);
	cpu_free(cpu);
}

/* A store to a page without a fast entry leaves the page that has its place in the TLB alone. */
static void test_dirty_of_another(gconstpointer jit)
{
	static const u32 code[] = {
		0xf9400044, /* ldr x4, [x2]: makes an entry for stores too, to be reported */
		0xf9000061, /* str x1, [x3] */
		0xf9000041, /* str x1, [x2] */
		0xd4000002,
	};
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));
	u64 other = RAM_BASE + 0x3000 + TLB_SIZE * TCG_PAGE_SIZE;

	track = true;
	map_page(root, other, RAM_BASE + 0x8000, AF | DEVICE, 3);
	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	cpu->tcg.r[2] = RAM_BASE + 0x3000;
	cpu->tcg.r[3] = other;
	run(cpu, RAM_BASE);
	g_assert_cmpuint(dirtied, ==, 2);
	cpu_free(cpu);
}

static gpointer run_thread(gpointer opaque)
{
	run(opaque, RAM_BASE);
	return NULL;
}

/* Three CPUs count with exclusives and atomics, invalidate each other's TLBs and rewrite code that
 * all of them run. */
static void test_smp(gconstpointer jit)
{
	static const u32 code[] = {
		0xc85f7c40, /* ldxr x0, [x2] */
		0x91000400, /* add x0, x0, #1 */
		0xc8017c40, /* stxr w1, x0, [x2] */
		0x35ffffa1, /* cbnz w1, .-12 */
		0xf8e30085, /* ldaddal x3, x5, [x4] */
		0xd5088327, /* tlbi vae1is, x7 */
		0xd5033f9f, /* dsb sy */
		0xb9000109, /* str w9, [x8]: rewrites the next word with itself */
		0xd503201f, /* nop */
		0xf1000673, /* subs x19, x19, #1 */
		0x54fffec1, /* b.ne .-40 */
		0xd4000002, /* hvc #0 */
	};
	enum { CPUS = 3, ROUNDS = 3000 };
	struct arm_cpu *cpus[CPUS];
	GThread *threads[CPUS];

	for (int i = 0; i < CPUS; i++)
		cpus[i] = i ? cpu_add(GPOINTER_TO_INT(jit)) : cpu_new(GPOINTER_TO_INT(jit));
	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	for (int i = 0; i < CPUS; i++) {
		cpus[i]->tcg.r[2] = RAM_BASE + 0x8000;
		cpus[i]->tcg.r[3] = 3;
		cpus[i]->tcg.r[4] = RAM_BASE + 0x9008;
		cpus[i]->tcg.r[7] = (RAM_BASE + 0x8000) >> 12;
		cpus[i]->tcg.r[8] = RAM_BASE + 4 * 8;
		cpus[i]->tcg.r[9] = 0xd503201f;
		cpus[i]->tcg.r[19] = ROUNDS;
		threads[i] = g_thread_new("cpu", run_thread, cpus[i]);
	}
	for (int i = 0; i < CPUS; i++)
		g_thread_join(threads[i]);
	g_assert_cmpuint(*(u64 *)(ram + 0x8000), ==, CPUS * ROUNDS);
	g_assert_cmpuint(*(u64 *)(ram + 0x9008), ==, 3 * CPUS * ROUNDS);
	for (int i = CPUS - 1; i > 0; i--)
		cpu_remove(cpus[i]);
	cpu_free(cpus[0]);
}

/* An interrupt is taken when it is unmasked, and WFI ends for it. */
static void test_interrupt(gconstpointer jit)
{
	static const u32 code[] = {
		0xd50342df, /* msr daifset, #2 */
		0x91000400, /* add x0, x0, #1 */
		0xd50342ff, /* msr daifclr, #2 */
		0x91000400, /* add x0, x0, #1: never done */
	};
	static const u32 handler[] = { 0xd5384035 /* mrs x21, elr_el1 */, 0xd4000002 };
	struct arm_cpu *cpu = cpu_new(GPOINTER_TO_INT(jit));

	put_code(RAM_BASE, code, G_N_ELEMENTS(code));
	put_code(RAM_BASE + 0x10280, handler, G_N_ELEMENTS(handler));
	cpu->pstate |= PSTATE_I;
	arm_irq_set(cpu, ARM_LINE_IRQ, true);
	run(cpu, RAM_BASE);
	g_assert_cmpuint(cpu->tcg.r[0], ==, 1);
	g_assert_cmphex(cpu->tcg.r[21], ==, RAM_BASE + 12);
	g_assert_cmphex(cpu->pstate & PSTATE_DAIF, ==, PSTATE_DAIF);
	cpu_free(cpu);
}

/* TLBI names an address without its tag; what is known by tagged addresses goes, too. */
static void test_tagged_invalidation(void)
{
	const u64 tag = 0x5aull << 56, one = RAM_BASE + 0x20000, two = RAM_BASE + 0x21000;
	struct arm_cpu *cpu = cpu_new(false);
	const struct arm_sysreg *tlbi = arm_sysreg_find(cpu, SYSREG(1, 0, 8, 7, 1)); /* VAE1 */
	u64 *page = map_page(root, 0x5000, one, AF | UXN, 3);
	u64 *block = map_page(root, 0x400000, RAM_BASE, AF | UXN, 2);

	cpu->tcr_el[1] |= 1ull << 37; /* TBI0 */
	arm_mmu_controls_changed(cpu);
	arm_state_changed(cpu);
	*(u64 *)(ram + (one - RAM_BASE)) = 1;
	*(u64 *)(ram + (two - RAM_BASE)) = 2;
	*(u64 *)(ram + 2 * MiB + 0x20000) = 3;
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x5000 | tag, 8), ==, 1);
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x5000, 8), ==, 1);
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x420000 | tag, 8), ==, 1);
	*page ^= one ^ two;
	tlbi->write(cpu, tlbi, 0x5000 >> 12);
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x5000 | tag, 8), ==, 2);
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x5000, 8), ==, 2);
	*block ^= RAM_BASE ^ (RAM_BASE + 2 * MiB);
	tlbi->write(cpu, tlbi, 0x400000 >> 12);
	g_assert_cmpuint(tcg_load(&cpu->tcg, 0x420000 | tag, 8), ==, 3);
	cpu_free(cpu);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mmu/tagged-invalidation", test_tagged_invalidation);
	g_test_add_func("/mmu/permissions", test_permissions);
	g_test_add_func("/mmu/hardware-flags", test_hardware_flags);
	g_test_add_data_func("/mmu/levels/interp", GINT_TO_POINTER(0), test_levels);
	g_test_add_data_func("/mmu/levels/jit", GINT_TO_POINTER(1), test_levels);
	g_test_add_data_func("/mmu/asid/interp", GINT_TO_POINTER(0), test_asid);
	g_test_add_data_func("/mmu/asid/jit", GINT_TO_POINTER(1), test_asid);
	g_test_add_data_func("/mmu/asid/few/interp", GINT_TO_POINTER(0), test_few_own);
	g_test_add_data_func("/mmu/asid/few/jit", GINT_TO_POINTER(1), test_few_own);
	g_test_add_data_func("/mmu/asid/many/interp", GINT_TO_POINTER(0), test_many_own);
	g_test_add_data_func("/mmu/asid/many/jit", GINT_TO_POINTER(1), test_many_own);
	g_test_add_data_func("/mmu/device/interp", GINT_TO_POINTER(0), test_device);
	g_test_add_data_func("/mmu/device/jit", GINT_TO_POINTER(1), test_device);
	g_test_add_data_func("/mmu/nobody/interp", GINT_TO_POINTER(0), test_nobody);
	g_test_add_data_func("/mmu/nobody/jit", GINT_TO_POINTER(1), test_nobody);
	g_test_add_data_func("/mmu/mops-rights/interp", GINT_TO_POINTER(0), test_mops_rights);
	g_test_add_data_func("/mmu/mops-rights/jit", GINT_TO_POINTER(1), test_mops_rights);
	g_test_add_data_func("/mmu/interrupt/interp", GINT_TO_POINTER(0), test_interrupt);
	g_test_add_data_func("/mmu/interrupt/jit", GINT_TO_POINTER(1), test_interrupt);
	g_test_add_data_func("/mmu/smp/interp", GINT_TO_POINTER(0), test_smp);
	g_test_add_data_func("/mmu/smp/jit", GINT_TO_POINTER(1), test_smp);
	g_test_add_func("/mmu/stage2", test_stage2);
	g_test_add_func("/mmu/dirty", test_dirty);
	g_test_add_data_func("/mmu/dirty-of-another/interp", GINT_TO_POINTER(0),
			     test_dirty_of_another);
	g_test_add_data_func("/mmu/dirty-of-another/jit", GINT_TO_POINTER(1),
			     test_dirty_of_another);
	return g_test_run();
}

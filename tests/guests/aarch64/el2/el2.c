/* el2.c - test guest at EL2: the hypervisor that the tests of dirty-state engines use. */
#include "el2.h"

#include "../layout.h"

_Static_assert(offsetof(struct vcpu, pc) == V_PC && offsetof(struct vcpu, host_sp) == V_HOST_SP &&
		       offsetof(struct vcpu, hpfar) == V_HPFAR,
	       "offsets.h");

#define CPUS        2
#define ENV_MEMORY  0x42000000UL /* 16 MiB for each CPU from here on */
#define ENV_SIZE    0x1000000UL
#define GUEST_STACK 0x4000UL

/* boot.S of EL1's guests takes it from here; the number must exist for the linker. */
asm(".global cntvoff_value\n.set cntvoff_value, 0");

void el2_exception(u64 kind, u64 esr, u64 elr, u64 far);

static struct env envs[CPUS];
static u8 guest_stacks[CPUS][GUEST_STACK] __attribute__((aligned(16)));
static volatile u64 own_esr[CPUS];
volatile u64 irqs_taken[16];
void (*irq_hook)(unsigned cpu, u64 intid);

static unsigned this_cpu(void)
{
	return mrs("mpidr_el1") & 0xff;
}

/* ---- checks ---- */

void check_equal(struct env *e, unsigned line, const char *what, u64 got, u64 want)
{
	if (got == want || e->failed)
		return;
	e->failed = true;
	say("not ok %s: cpu %lu line %lu: ", e->test, (u64)e->cpu, (u64)line);
	say("%s is 0x%lx, not 0x%lx\n", what, got, want);
}

/* ---- EL2's own exceptions ---- */

void el2_exception(u64 kind, u64 esr, u64 elr, u64 far)
{
	unsigned cpu = this_cpu();
	u64 intid;

	if (kind == 0) {
		if (EC(esr) != EC_UNKNOWN && EC(esr) != 0x18)
			die("exception at EL2: esr 0x%lx elr 0x%lx far 0x%lx", esr, elr, far);
		own_esr[cpu] = esr | 1UL << 63;
		msr("elr_el2", elr + 4);
		return;
	}
	intid = mrs(ICC_IAR1);
	irqs_taken[cpu]++;
	if (irq_hook)
		irq_hook(cpu, intid);
	if (intid < 1020)
		msr(ICC_EOIR1, intid);
}

u64 own_exception(void)
{
	u64 esr = own_esr[this_cpu()];

	own_esr[this_cpu()] = 0;
	return esr;
}

/* ---- memory ---- */

void stage2_tlbi(void)
{
	asm volatile("dsb ishst; tlbi vmalls12e1is; dsb ish; isb" : : : "memory");
}

static void map_blocks(u64 *level2, u64 ipa, u64 attributes)
{
	for (u64 i = 0; i < 512; i++)
		level2[i] = (ipa + (i << 21)) | attributes | 1;
}

/* Take 2 MiB for the tables first, then aligned room for all else. */
static void env_init(struct env *e, unsigned cpu)
{
	u64 base = ENV_MEMORY + cpu * ENV_SIZE;
	u64 *level2_ram = (u64 *)(base + 0x1000), *level2_test = (u64 *)(base + 0x2000);

	e->cpu = cpu;
	e->root = (u64 *)base;
	e->block = (u64 *)(base + 0x3000);
	e->leaves = (u64 *)(base + 0x4000);
	e->s1 = (u64 *)(base + 0x8000);
	e->memory = base + 0x200000;
	e->block_memory = base + 0x400000;
	e->hdbss = (u64 *)(base + 0x600000);
	e->hacdbs = (u64 *)(base + 0x800000);
	e->vttbr = base | (u64)(cpu + 1) << 48;
	map_blocks(level2_ram, 0x40000000, S2_RW);
	e->root[1] = (u64)level2_ram | 3; /* the image and its stacks */
	e->root[2] = (u64)level2_test | 3;
	e->root[3] = (u64)e->block | 3;
	e->leaves_parent = &level2_test[0];
	*e->leaves_parent = (u64)e->leaves | 3;
}

u64 leaf_bits(const struct env *e, unsigned n)
{
	return *(volatile u64 *)&e->leaves[n] & ~0x0000fffffffff003UL;
}

void set_leaf(struct env *e, unsigned n, u64 attributes)
{
	e->leaves[n] = (e->memory + n * PAGE_SIZE) | attributes | 3;
}

void env_reset(struct env *e, u64 attributes)
{
	msr(HACDBSBR, 0);
	msr(HACDBSCONS, 0);
	msr("hcr_el2", HCR_RW);
	msr("vtcr_el2", VTCR_BASE);
	msr(HDBSSBR, 0);
	msr(HDBSSPROD, 0);
	msr("sctlr_el1", 0x30d00800);
	msr("tcr_el1", 0);
	for (unsigned n = 0; n < TEST_PAGES; n++)
		set_leaf(e, n, attributes);
	*e->leaves_parent = (u64)e->leaves | 3;
	e->block[0] = e->block_memory | attributes | 1;
	for (unsigned i = 0; i < 1024; i++)
		e->hdbss[i] = e->hacdbs[i] = 0;
	msr("vttbr_el2", e->vttbr);
	own_exception();
	stage2_tlbi();
}

void hdbss_on(struct env *e, unsigned sz)
{
	msr("vtcr_el2", VTCR_LOG);
	msr(HDBSSBR, (u64)e->hdbss | sz);
	msr(HDBSSPROD, 0);
	stage2_tlbi();
}

/* ---- the guest ---- */

u64 guest_resume(struct env *e)
{
	u64 hcr = mrs("hcr_el2");

	msr("hcr_el2", hcr | HCR_VM);
	guest_enter(&e->v);
	msr("hcr_el2", hcr);
	asm volatile("dsb ish; isb" : : : "memory");
	return e->v.kind ? ~0UL : e->v.esr;
}

u64 guest_call(struct env *e, void (*fn)(u64, u64, u64), u64 a, u64 b, u64 c)
{
	e->v.x[0] = a;
	e->v.x[1] = b;
	e->v.x[2] = c;
	e->v.x[30] = 0;
	e->v.pc = (u64)fn;
	e->v.pstate = 0x3c5; /* EL1h, masked */
	e->v.sp = (u64)guest_stacks[e->cpu] + GUEST_STACK;
	return guest_resume(e);
}

void guest_store(u64 addr, u64 value, u64 unused)
{
	*(volatile u64 *)addr = value;
	guest_done(0);
}

void guest_load(u64 addr, u64 unused, u64 unused2)
{
	guest_done(*(volatile u64 *)addr);
}

void guest_store_pages(u64 addr, u64 n, u64 unused)
{
	for (u64 i = 0; i < n; i++)
		*(volatile u64 *)(addr + i * PAGE_SIZE) = i + 1;
	guest_done(n);
}

void store_ok(struct env *e, u64 addr)
{
	equal(e, EC(guest_call(e, guest_store, addr, 1, 0)), EC_HVC);
}

/* ---- all tests ---- */

static void run(struct env *e, const struct test *t)
{
	for (; t->name; t++) {
		e->test = t->name;
		e->failed = false;
		t->fn(e);
		e->failures += e->failed;
		if (!e->failed && e->cpu == 0)
			say("ok %s\n", t->name);
	}
}

static volatile unsigned second_done;

static void run_all(struct env *e)
{
	run(e, tests_2);
	run(e, tests_3);
	run(e, tests_4);
}

static void second(unsigned cpu)
{
	gic_init_cpu(cpu);
	env_init(&envs[cpu], cpu);
	run_all(&envs[cpu]);
	run(&envs[cpu], tests_shared);
	arch_barrier();
	second_done = 1;
}

static u64 cpus = 1, chosen, hold;

static const struct guest_option options[] = {
	{ "cpus", &cpus, NULL },
	{ "test", &chosen, NULL },
	{ "hold", &hold, NULL }, /* 1: stay as it is at the end */
	{ NULL, NULL, NULL },
};

void guest_main(void)
{
	options_parse(options);
	gic_init_dist();
	gic_init_cpu(0);
	env_init(&envs[0], 0);
	if (chosen) {
		const struct test one[] = { tests_injected[chosen - 1], { NULL, NULL } };

		run(&envs[0], one);
		cpus = 0;
	}
	if (cpus > 1 && !arch_start_cpu(1, second))
		die("the second CPU does not start");
	if (cpus)
		run_all(&envs[0]);
	if (cpus > 1) {
		run(&envs[0], tests_shared);
		while (!second_done)
			arch_relax();
	}
	say("failures: %lu\nEND\n", envs[0].failures + envs[1].failures);
	while (hold)
		arch_relax();
	arm_power_off();
}

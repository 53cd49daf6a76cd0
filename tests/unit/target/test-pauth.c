/* tests/unit/target/test-pauth.c - pointer authentication, translated and by the reference. */
#include <glib.h>

#include "accel/tcg/mem.h"
#include "target/arm/cpu.h"

#define PACIASP 0xd503233f
#define AUTIASP 0xd50323bf
#define PACIBZ  0xd503235f
#define AUTIBZ  0xd50323df
#define PACIA17 0xd503211f
#define AUTIA17 0xd503219f
#define PACDA35 0xdac108a3 /* pacda x3, x5 */
#define AUTDA35 0xdac118a3
#define PACDZB4 0xdac12fe4 /* pacdzb x4 */
#define AUTDZB4 0xdac13fe4
#define BRK     0xd4200000

#define SCTLR_KEYS (1ull << 31 | 1ull << 30 | 1ull << 27 | 1ull << 13)
#define EL1        (1u << PSTATE_EL_SHIFT | PSTATE_SPSEL)

static u8 memory[TCG_PAGE_SIZE] __attribute__((aligned(4096)));

static void fill(struct tcg_cpu *cpu, u64 va, enum tcg_access access, unsigned size,
		 struct tcg_page *page)
{
	*page = (struct tcg_page){ .phys = 0x7000, .host = memory, .readable = true };
}

static bool service(struct tcg_cpu *cpu, bool raised)
{
	cpu->exit_request = 0;
	return !raised;
}

static const struct tcg_ops ops = {
	.fill = fill, .service = service, .step = arm_step, .translate = arm_translate
};

static struct arm_cpu *cpu_new(bool jit)
{
	struct arm_cpu *cpu = g_aligned_alloc0(1, sizeof(*cpu), 64);

	cpu->tcg.ops = &ops;
	cpu->tcg.mmu = tcg_mmu_create();
	cpu->features = arm_features_max();
	cpu->cpacr_el1 = 3u << 20;
	for (unsigned key = 0; key < PAC_KEYS; key++) {
		cpu->pac_key[key][0] = 0x0123456789abcdefull * (key + 3);
		cpu->pac_key[key][1] = 0xfedcba9876543210ull * (key + 5);
	}
	tcg_cpu_register(&cpu->tcg, jit);
	return cpu;
}

static void cpu_free(struct arm_cpu *cpu)
{
	tcg_cpu_unregister(&cpu->tcg);
	tcg_mmu_destroy(cpu->tcg.mmu);
	g_aligned_free(cpu);
}

/* Give both CPUs the same state and run the instruction on both; all registers must agree. */
static void run_both(struct arm_cpu *const cpu[2], u32 word)
{
	u32 code[2] = { word, BRK };

	if (memcmp(memory, code, sizeof(code))) {
		memcpy(memory, code, sizeof(code));
		tcg_invalidate(0x7000, sizeof(code));
	}
	for (unsigned i = 0; i < 2; i++) {
		cpu[i]->excp.pending = false;
		tcg_select(&cpu[i]->tcg, cpu[i]->tcg.mmu, arm_state_key(cpu[i]));
		tcg_set_pc(&cpu[i]->tcg, 0);
		tcg_run(&cpu[i]->tcg);
		g_assert_cmpuint(cpu[i]->excp.ec, ==, EC_BRK64);
	}
	for (unsigned n = 0; n < 32; n++)
		g_assert_cmphex(cpu[0]->tcg.r[n], ==, cpu[1]->tcg.r[n]);
}

static u64 random64(void)
{
	return (u64)g_test_rand_int() << 32 | (u32)g_test_rand_int();
}

/* A pointer of either range, most often canonical. */
static u64 random_pointer(void)
{
	u64 v = random64();

	switch (v & 7) {
	case 0: return v;
	case 1: return v >> 8;
	case 2:
	case 3: return v >> 20;
	default: return ~(v >> 20);
	}
}

/* Each key in a form of its own: sign, then authenticate. */
static const struct {
	u32 sign, aut;
	unsigned reg;
} forms[] = { { PACIASP, AUTIASP, 30 },
	      { PACIBZ, AUTIBZ, 30 },
	      { PACIA17, AUTIA17, 17 },
	      { PACDA35, AUTDA35, 3 },
	      { PACDZB4, AUTDZB4, 4 } };

static void set_state(struct arm_cpu *const cpu[2], u32 pstate, u64 sctlr, u64 tcr)
{
	for (unsigned n = 0; n < 32; n++)
		cpu[0]->tcg.r[n] = cpu[1]->tcg.r[n] = random_pointer();
	for (unsigned i = 0; i < 2; i++) {
		cpu[i]->pstate = pstate;
		cpu[i]->sctlr_el[1] = sctlr;
		cpu[i]->tcr_el[1] = tcr;
	}
}

static void test_same(void)
{
	static const u64 tcr[] = { 16 | 16 << 16 | 1ull << 37, 25 | 25 << 16,
				   16 | 25 << 16 | 3ull << 37, 39 | 12 << 16 | 1ull << 38 };
	struct arm_cpu *const cpu[2] = { cpu_new(true), cpu_new(false) };

	for (unsigned round = 0; round < 4000; round++) {
		unsigned form = round % G_N_ELEMENTS(forms);
		u64 keys = round & 64 ? random64() & SCTLR_KEYS : SCTLR_KEYS;

		set_state(cpu, round & 32 ? 0 : EL1, keys, tcr[round / 128 % 4]);
		run_both(cpu, forms[form].sign);
		if (round & 1) /* forged */
			cpu[0]->tcg.r[forms[form].reg] = cpu[1]->tcg.r[forms[form].reg] ^=
				(u64)1 << (round / 2 % 64);
		run_both(cpu, forms[form].aut);
	}
	cpu_free(cpu[0]);
	cpu_free(cpu[1]);
}

/* A signed pointer is another one, comes back, and does not with another modifier. */
static void test_signature(void)
{
	struct arm_cpu *const cpu[2] = { cpu_new(true), cpu_new(false) };
	const u64 ptr = 0xffff800008123450, error = 0xbfff800008123450;
	unsigned signed_away = 0, refused = 0;
	u64 signature;

	for (unsigned round = 0; round < 200; round++) {
		set_state(cpu, EL1, SCTLR_KEYS, 16 | 16 << 16 | 1ull << 37);
		cpu[0]->tcg.r[30] = cpu[1]->tcg.r[30] = ptr;
		run_both(cpu, PACIASP);
		signature = cpu[0]->tcg.r[30];
		g_assert_cmphex(signature & 0x0080ffffffffffff, ==, ptr & 0x0080ffffffffffff);
		signed_away += signature != ptr;
		run_both(cpu, AUTIASP);
		g_assert_cmphex(cpu[0]->tcg.r[30], ==, ptr);
		cpu[0]->tcg.r[30] = cpu[1]->tcg.r[30] = signature;
		cpu[0]->tcg.r[31] = cpu[1]->tcg.r[31] = cpu[0]->tcg.r[31] + 16;
		run_both(cpu, AUTIASP);
		refused += cpu[0]->tcg.r[30] == error;
	}
	g_assert_cmpuint(signed_away, >, 190); /* 15 bits: hardly ever the same by chance */
	g_assert_cmpuint(refused, >, 190);
	cpu_free(cpu[0]);
	cpu_free(cpu[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pauth/same", test_same);
	g_test_add_func("/pauth/signature", test_signature);
	return g_test_run();
}

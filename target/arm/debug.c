/*
 * target/arm/debug.c - an arm64 vCPU for a debugger.
 *
 * Names and order of "core" and "fpu" are what GDB demands (GDB manual, G.5.1); system registers
 * are a feature of our own, which GDB shows in "info registers system".
 */
#include "target/arm/debug.h"

#include "target/arm/excp.h"
#include "target/arm/vcpu.h"

#include <stddef.h>

#define X(n)                                                                                       \
	{                                                                                          \
		.name = "x" #n, .bits = 64                                                         \
	}
static const struct debug_reg core_regs[] = {
	X(0),
	X(1),
	X(2),
	X(3),
	X(4),
	X(5),
	X(6),
	X(7),
	X(8),
	X(9),
	X(10),
	X(11),
	X(12),
	X(13),
	X(14),
	X(15),
	X(16),
	X(17),
	X(18),
	X(19),
	X(20),
	X(21),
	X(22),
	X(23),
	X(24),
	X(25),
	X(26),
	X(27),
	X(28),
	X(29),
	X(30),
	{ .name = "sp", .type = "data_ptr", .bits = 64 },
	{ .name = "pc", .type = "code_ptr", .bits = 64 },
	{ .name = "cpsr", .bits = 32 },
};
#undef X

enum { REG_SP = 31, REG_PC, REG_CPSR, REG_V0, REG_FPSR = REG_V0 + 32, REG_FPCR, REG_SYSTEM };

#define V(n)                                                                                       \
	{                                                                                          \
		.name = "v" #n, .type = "vector128", .bits = 128                                   \
	}
static const struct debug_reg fpu_regs[] = {
	V(0),
	V(1),
	V(2),
	V(3),
	V(4),
	V(5),
	V(6),
	V(7),
	V(8),
	V(9),
	V(10),
	V(11),
	V(12),
	V(13),
	V(14),
	V(15),
	V(16),
	V(17),
	V(18),
	V(19),
	V(20),
	V(21),
	V(22),
	V(23),
	V(24),
	V(25),
	V(26),
	V(27),
	V(28),
	V(29),
	V(30),
	V(31),
	{ .name = "fpsr", .group = "float", .bits = 32 },
	{ .name = "fpcr", .group = "float", .bits = 32 },
};
#undef V

/* Elements of a vector as v0.d.f[0], v0.s.u[3] and so on, which GDB users are used to. */
static const char vector_types[] =
	"<vector id=\"d_f\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"d_u\" type=\"uint64\" count=\"2\"/>"
	"<vector id=\"d_s\" type=\"int64\" count=\"2\"/>"
	"<vector id=\"s_f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"s_u\" type=\"uint32\" count=\"4\"/>"
	"<vector id=\"s_s\" type=\"int32\" count=\"4\"/>"
	"<vector id=\"h_u\" type=\"uint16\" count=\"8\"/>"
	"<vector id=\"h_s\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"b_u\" type=\"uint8\" count=\"16\"/>"
	"<vector id=\"b_s\" type=\"int8\" count=\"16\"/>"
	"<vector id=\"q_u\" type=\"uint128\" count=\"1\"/>"
	"<union id=\"d_any\"><field name=\"f\" type=\"d_f\"/><field name=\"u\" type=\"d_u\"/>"
	"<field name=\"s\" type=\"d_s\"/></union>"
	"<union id=\"s_any\"><field name=\"f\" type=\"s_f\"/><field name=\"u\" type=\"s_u\"/>"
	"<field name=\"s\" type=\"s_s\"/></union>"
	"<union id=\"h_any\"><field name=\"u\" type=\"h_u\"/><field name=\"s\" "
	"type=\"h_s\"/></union>"
	"<union id=\"b_any\"><field name=\"u\" type=\"b_u\"/><field name=\"s\" "
	"type=\"b_s\"/></union>"
	"<union id=\"q_any\"><field name=\"u\" type=\"q_u\"/></union>"
	"<union id=\"vector128\"><field name=\"d\" type=\"d_any\"/><field name=\"s\" "
	"type=\"s_any\"/>"
	"<field name=\"h\" type=\"h_any\"/><field name=\"b\" type=\"b_any\"/>"
	"<field name=\"q\" type=\"q_any\"/></union>";

#define SYSTEM(NAME)                                                                               \
	{                                                                                          \
		.name = NAME, .group = "system", .bits = 64                                        \
	}
static const struct debug_reg system_regs[] = {
	SYSTEM("SCTLR_EL1"), SYSTEM("TCR_EL1"),   SYSTEM("TTBR0_EL1"), SYSTEM("TTBR1_EL1"),
	SYSTEM("MAIR_EL1"),  SYSTEM("VBAR_EL1"),  SYSTEM("ELR_EL1"),   SYSTEM("SPSR_EL1"),
	SYSTEM("ESR_EL1"),   SYSTEM("FAR_EL1"),   SYSTEM("TPIDR_EL0"), SYSTEM("TPIDR_EL1"),
	SYSTEM("SP_EL0"),    SYSTEM("SCTLR_EL2"), SYSTEM("HCR_EL2"),   SYSTEM("VTTBR_EL2"),
	SYSTEM("VBAR_EL2"),  SYSTEM("ELR_EL2"),   SYSTEM("SPSR_EL2"),  SYSTEM("ESR_EL2"),
	SYSTEM("FAR_EL2"),   SYSTEM("HPFAR_EL2"),
};

/* Where they are, in that order. */
#define AT(field) offsetof(struct arm_cpu, field)
static const size_t system_at[] = {
	AT(sctlr_el[1]), AT(tcr_el[1]),   AT(ttbr0_el[1]), AT(ttbr1_el[1]), AT(mair_el[1]),
	AT(vbar_el[1]),  AT(elr_el[1]),   AT(spsr_el[1]),  AT(esr_el[1]),   AT(far_el[1]),
	AT(tpidr_el[0]), AT(tpidr_el[1]), AT(sp_el[0]),    AT(sctlr_el[2]), AT(hcr_el2),
	AT(vttbr_el2),   AT(vbar_el[2]),  AT(elr_el[2]),   AT(spsr_el[2]),  AT(esr_el[2]),
	AT(far_el[2]),   AT(hpfar_el2),
};
_Static_assert(ARRAY_SIZE(system_at) == ARRAY_SIZE(system_regs), "one place for each");

static const struct debug_feature features[] = {
	{ "org.gnu.gdb.aarch64.core", NULL, core_regs, ARRAY_SIZE(core_regs) },
	{ "org.gnu.gdb.aarch64.fpu", vector_types, fpu_regs, ARRAY_SIZE(fpu_regs) },
	{ "org.tidemark.aarch64.system", NULL, system_regs, ARRAY_SIZE(system_regs) },
};

static u64 read_system(struct arm_cpu *cpu, unsigned n)
{
	bool current = system_at[n] == AT(sp_el[0]) && !(cpu->pstate & PSTATE_SPSEL);

	return current ? cpu->tcg.r[31] : *(u64 *)((u8 *)cpu + system_at[n]);
}

static void read_reg(struct vcpu *vcpu, unsigned n, u8 *out)
{
	struct arm_cpu *cpu = arm_cpu_of_vcpu(vcpu);
	u64 val;

	if (n >= REG_V0 && n < REG_FPSR) {
		memcpy(out, cpu_v(cpu, n - REG_V0), 16);
		return;
	}
	if (n <= REG_SP)
		val = cpu_xsp(cpu, n);
	else if (n == REG_PC)
		val = tcg_pc(&cpu->tcg);
	else if (n == REG_CPSR)
		val = arm_get_pstate(cpu);
	else if (n == REG_FPSR)
		val = arm_get_fpsr(cpu);
	else if (n == REG_FPCR)
		val = cpu->fpcr;
	else
		val = read_system(cpu, n - REG_SYSTEM);
	memcpy(out, &val, n == REG_CPSR || n == REG_FPSR || n == REG_FPCR ? 4 : 8);
}

static void set_pc(struct vcpu *vcpu, u64 pc)
{
	tcg_set_pc(&arm_cpu_of_vcpu(vcpu)->tcg, pc);
}

/* System registers have effects (translation, state of the GIC): they are for reading. */
static bool write_reg(struct vcpu *vcpu, unsigned n, const u8 *in)
{
	struct arm_cpu *cpu = arm_cpu_of_vcpu(vcpu);
	u64 val;
	u32 word;

	if (n >= REG_V0 && n < REG_FPSR) {
		memcpy(cpu_v(cpu, n - REG_V0), in, 16);
		return true;
	}
	memcpy(&word, in, sizeof(word));
	if (n <= REG_PC)
		memcpy(&val, in, sizeof(val));
	if (n <= REG_SP) {
		cpu_set_xsp(cpu, n, val);
		arm_state_changed(cpu);
	} else if (n == REG_PC) {
		set_pc(vcpu, val);
	} else if (n == REG_CPSR) {
		arm_set_pstate(cpu, word);
		arm_state_changed(cpu);
	} else if (n == REG_FPSR) {
		arm_set_fpsr(cpu, word);
	} else if (n == REG_FPCR) {
		arm_set_fpcr(cpu, word);
	} else {
		return false;
	}
	return true;
}

static bool translate(struct vcpu *vcpu, u64 va, u64 *phys)
{
	struct arm_cpu *cpu = arm_cpu_of_vcpu(vcpu);
	struct arm_regime regime = arm_regime_current(cpu, false);
	struct arm_translation t;

	regime.purpose = ARM_FOR_LOOK;
	if (!arm_translate_address(cpu, &regime, va, TCG_READ, &t))
		return false;
	*phys = t.phys;
	return true;
}

const struct cpu_debug_ops arm_debug_ops = {
	.arch = "aarch64",
	.features = features,
	.nfeatures = ARRAY_SIZE(features),
	.read_reg = read_reg,
	.write_reg = write_reg,
	.set_pc = set_pc,
	.translate = translate,
};

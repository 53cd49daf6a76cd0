/* target/arm/sem_sys.c - system instructions, hints and barriers (Arm DDI 0487, C5, C6.2). */
#include "accel/tcg/mem.h"
#include "target/arm/engines-priv.h"
#include "target/arm/excp.h"
#include "target/arm/irq.h"
#include "target/arm/mmu.h"
#include "target/arm/self_debug.h"
#include "target/arm/sem.h"
#include "target/arm/sysreg.h"
#include "util/log.h"

#include <sys/random.h>

#define SCTLR_UMA    (1ull << 9)
#define SCTLR_EnRCTX (1ull << 10)
#define SCTLR_DZE    (1ull << 14)
#define SCTLR_nTWI   (1ull << 16)
#define SCTLR_nTWE   (1ull << 18)
#define SCTLR_UCI    (1ull << 26)

void exec_HINT(struct arm_cpu *cpu, const struct a64_HINT *i)
{
	/* all hints without a row of their own do nothing */
}

#define WFX_TIMEOUT 2u /* ISS.TI: the forms with a timeout */

/* What would not wait does not trap. */
static void trap_wait(struct arm_cpu *cpu, u64 sctlr_bit, u64 hcr_bit, u32 what)
{
	u32 iss = 1u << 24 | 0xe << 20 | what;

	if (!(what & 1) && arm_irq_wakes(cpu))
		return;
	if (cpu_el(cpu) == 0 && !(cpu->sctlr_el[arm_control_el(cpu)] & sctlr_bit))
		arm_raise(cpu, EC_WFX, iss, 0);
	if (cpu_el(cpu) < 2 && arm_hcr(cpu) & hcr_bit) {
		cpu->excp.target_el = 2;
		arm_raise(cpu, EC_WFX, iss, 0);
	}
}

/* WFI and WFE are traps, or end the run: the machine decides when to continue. */
static void wait_for(struct arm_cpu *cpu, u64 sctlr_bit, u64 hcr_bit, bool event)
{
	trap_wait(cpu, sctlr_bit, hcr_bit, event);
	cpu->tcg.exit_request = 1;
	cpu->waiting = event ? ARM_WAIT_EVENT : ARM_WAIT_INTERRUPT;
}

void exec_WFI(struct arm_cpu *cpu, const struct a64_WFI *i)
{
	wait_for(cpu, SCTLR_nTWI, HCR_TWI, false);
}

void exec_WFE(struct arm_cpu *cpu, const struct a64_WFE *i)
{
	wait_for(cpu, SCTLR_nTWE, HCR_TWE, true);
}

/* A timeout may always be taken as already passed. */
void exec_WFET(struct arm_cpu *cpu, const struct a64_WFET *i)
{
	u32 what = (u32)i->rt << 5 | 1u << 2 | WFX_TIMEOUT | !i->i; /* RN, RV, TI */

	trap_wait(cpu, i->i ? SCTLR_nTWI : SCTLR_nTWE, i->i ? HCR_TWI : HCR_TWE, what);
	tcg_cpu_yield(&cpu->tcg);
}

void exec_YIELD(struct arm_cpu *cpu, const struct a64_YIELD *i)
{
	tcg_cpu_yield(&cpu->tcg);
}

void exec_CLREX(struct arm_cpu *cpu, const struct a64_CLREX *i)
{
	cpu->tcg.excl_addr = ~(u64)0;
}

void exec_DSB(struct arm_cpu *cpu, const struct a64_DSB *i)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (engines_checked(cpu) && (i->crm & 3) == 3)
		arm_dirty_dsb(cpu);
}

void exec_DSB_NXS(struct arm_cpu *cpu, const struct a64_DSB_NXS *i)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (engines_checked(cpu))
		arm_dirty_dsb(cpu);
}

void exec_DMB(struct arm_cpu *cpu, const struct a64_DMB *i)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void exec_ISB(struct arm_cpu *cpu, const struct a64_ISB *i)
{
	/* every change of context takes effect at once; the region ends here */
	if (engines_checked(cpu))
		arm_dirty_synchronized(cpu);
}

void exec_SB(struct arm_cpu *cpu, const struct a64_SB *i)
{
}

/* MSR (immediate): op1:op2 names the field of PSTATE. */
void exec_MSR_I(struct arm_cpu *cpu, const struct a64_MSR_I *i)
{
	u32 bit;

	switch (i->op1 << 3 | i->op2) {
	case 003: bit = PSTATE_UAO; break;
	case 004: bit = PSTATE_PAN; break;
	case 005: /* SPSel */
		if (cpu_el(cpu) == 0)
			arm_undefined(cpu);
		arm_sysreg_find(cpu, SYSREG(3, 0, 4, 2, 0))->write(cpu, NULL, i->crm & 1);
		return;
	case 031: bit = PSTATE_SSBS; break;
	case 032: bit = PSTATE_DIT; break;
	default: arm_undefined(cpu);
	}
	if ((bit == PSTATE_UAO && !cpu_has(cpu, ARM_FEAT_UAO)) ||
	    (bit == PSTATE_PAN && !cpu_has(cpu, ARM_FEAT_PAN)) ||
	    (bit == PSTATE_SSBS && !cpu_has(cpu, ARM_FEAT_SSBS)) ||
	    (bit == PSTATE_DIT && !cpu_has(cpu, ARM_FEAT_DIT)) || (!i->op1 && cpu_el(cpu) == 0))
		arm_undefined(cpu);
	cpu->pstate = (cpu->pstate & ~bit) | (i->crm & 1 ? bit : 0);
	arm_state_changed(cpu);
}

/* ISS of a trapped MSR DAIFSet or DAIFClr: op0 0, op1 3, CRn 4, Rt 31, a write. */
static u32 daif_syndrome(const struct a64_MSR_DAIFI *i)
{
	return (u32)(6 + i->clear) << 17 | 3u << 14 | 4u << 10 | 31u << 5 | (u32)i->crm << 1;
}

void exec_MSR_DAIFI(struct arm_cpu *cpu, const struct a64_MSR_DAIFI *i)
{
	if (cpu_el(cpu) == 0 && !(cpu->sctlr_el[arm_control_el(cpu)] & SCTLR_UMA))
		arm_raise(cpu, EC_SYSREG, daif_syndrome(i), 0);
	if (i->clear) {
		cpu->pstate &= ~((u32)i->crm << 6);
		arm_unmasked(cpu);
	} else {
		cpu->pstate |= (u32)i->crm << 6;
	}
	arm_daif_changed(cpu);
}

/* DC ZVA: 64 bytes, see DCZID_EL0. */
static void dc_zva(struct arm_cpu *cpu, u64 va)
{
	void *host;

	va &= ~(u64)63;
	host = tcg_host(&cpu->tcg, va, 64, TCG_WRITE);
	if (!host)
		arm_raise(cpu, EC_DABORT, 0x21 | 1u << 6, va); /* as for device memory */
	memset(host, 0, 64);
}

/*
 * Stores to code are noticed as they happen, except those of another CPU that has not heard yet of
 * the first translation in their page: its code must be invalidated here.
 */
static void ic_ivau(struct arm_cpu *cpu, u64 va)
{
	struct arm_regime regime = arm_regime_current(cpu, false);
	struct arm_translation t;

	regime.purpose = ARM_FOR_LOOK;
	if (cpu->mmu && arm_translate_address(cpu, &regime, va, TCG_READ, &t))
		tcg_invalidate(t.phys & ~(u64)63, 64);
}

/* ISS of a trapped MRS or MSR (D24.2.40, exception from MSR, MRS, or System instruction). */
static u32 sysreg_syndrome(unsigned key, unsigned rt, bool write)
{
	unsigned op0 = key >> 14, op1 = key >> 11 & 7, crn = key >> 7 & 15, crm = key >> 3 & 15;

	return op0 << 20 | (key & 7) << 17 | op1 << 14 | crn << 10 | rt << 5 | crm << 1 | !write;
}

static _Noreturn void sysreg_trap(struct arm_cpu *cpu, unsigned el, u32 iss)
{
	if (el == SYSREG_UNDEF)
		arm_undefined(cpu);
	cpu->excp.target_el = el;
	arm_raise(cpu, EC_SYSREG, iss, 0);
}

/* op0 3, CRn 0: MIDR_EL1 and its like, ID_*, CCSIDR_EL1, CLIDR_EL1, AIDR_EL1. */
static bool is_id_register(unsigned key)
{
	return key >> 14 == 3 && (key >> 7 & 15) == 0 && (key >> 11 & 7) < 2;
}

/* Cache maintenance that is not a register of the table. Return: false if there is no such thing
 * at this exception level; a trap of EL0's own is raised. */
static bool is_cache_op(struct arm_cpu *cpu, unsigned key, u32 iss)
{
	u64 bit = SCTLR_UCI;
	bool known = true;

	switch (key) {
	case SYSREG(1, 3, 7, 4, 1): /* DC ZVA */ bit = SCTLR_DZE; break;
	case SYSREG(1, 3, 7, 5, 1):  /* IC IVAU */
	case SYSREG(1, 3, 7, 10, 1): /* DC CVAC */
	case SYSREG(1, 3, 7, 11, 1): /* DC CVAU */
	case SYSREG(1, 3, 7, 14, 1): /* DC CIVAC */ break;
	case SYSREG(1, 3, 7, 12, 1): /* DC CVAP */ known = cpu_has(cpu, ARM_FEAT_DPB); break;
	case SYSREG(1, 3, 7, 13, 1): /* DC CVADP */ known = cpu_has(cpu, ARM_FEAT_DPB2); break;
	case SYSREG(1, 3, 7, 3, 4): /* CFP RCTX */
	case SYSREG(1, 3, 7, 3, 5): /* DVP RCTX */
	case SYSREG(1, 3, 7, 3, 7): /* CPP RCTX: nothing is predicted across contexts */
		bit = SCTLR_EnRCTX;
		known = cpu_has(cpu, ARM_FEAT_SPECRES);
		break;
	case SYSREG(1, 0, 7, 1, 0):  /* IC IALLUIS */
	case SYSREG(1, 0, 7, 5, 0):  /* IC IALLU */
	case SYSREG(1, 0, 7, 6, 1):  /* DC IVAC */
	case SYSREG(1, 0, 7, 6, 2):  /* DC ISW */
	case SYSREG(1, 0, 7, 10, 2): /* DC CSW */
	case SYSREG(1, 0, 7, 14, 2): /* DC CISW */ return cpu_el(cpu) > 0;
	default: return false;
	}
	if (known && cpu_el(cpu) == 0 && !(cpu->sctlr_el[arm_control_el(cpu)] & bit))
		arm_raise(cpu, EC_SYSREG, iss, 0);
	return known;
}

void exec_SYSOP(struct arm_cpu *cpu, const struct a64_SYSOP *i)
{
	unsigned key = SYSREG(1, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *op = arm_sysreg_find(cpu, key);
	u32 iss = sysreg_syndrome(key, i->rt, !i->l);

	if (op ? cpu_el(cpu) < (i->l ? op->read_el : op->write_el) : !is_cache_op(cpu, key, iss))
		arm_undefined(cpu);
	if (arm_el2_trap(cpu, key, !i->l))
		sysreg_trap(cpu, 2, iss);
	if (op && i->l)
		cpu_set_x(cpu, i->rt, op->read(cpu, op));
	else if (op)
		op->write(cpu, op, cpu_x(cpu, i->rt));
	else if (key == SYSREG(1, 3, 7, 4, 1))
		dc_zva(cpu, cpu_x(cpu, i->rt));
	else if (key == SYSREG(1, 3, 7, 5, 1))
		ic_ivau(cpu, cpu_x(cpu, i->rt));
}

/* EL2 may own encodings that nothing is behind, and those that are the implementation's (CRn 11 and
 * 15): the trap comes before they are UNDEFINED. */
static void trap_unknown(struct arm_cpu *cpu, unsigned key, u32 iss, bool write)
{
	unsigned crn = key >> 7 & 15;

	if (cpu_el(cpu) > 1 || !cpu->has_el2)
		return;
	if ((crn == 11 || crn == 15) && key >> 14 == 3 && arm_hcr(cpu) & HCR_TIDCP)
		sysreg_trap(cpu, 2, iss);
	if (cpu_el(cpu) == 1 && arm_el2_trap(cpu, key, write))
		sysreg_trap(cpu, 2, iss);
}

static const struct arm_sysreg *find_access(struct arm_cpu *cpu, unsigned key, unsigned rt,
					    bool write)
{
	const struct arm_sysreg *reg = arm_sysreg_find(cpu, arm_vhe_key(cpu, key));
	u32 iss = sysreg_syndrome(key, rt, write);
	unsigned el;

	if (!reg) {
		trap_unknown(cpu, key, iss, write);
		log_unimp("%s of system register S%u_%u_C%u_C%u_%u at 0x%" PRIx64 "\n",
			  write ? "write" : "read", key >> 14, key >> 11 & 7, key >> 7 & 15,
			  key >> 3 & 15, key & 7, cpu_pc(cpu));
	}
	if (!reg || cpu_el(cpu) < (write ? reg->write_el : reg->read_el)) {
		/* FEAT_IDST: which ID register EL0 wanted, or EL1 of those that do not exist. */
		if (cpu_el(cpu) < (reg ? 1 : 2) && !write && is_id_register(key) &&
		    cpu_has(cpu, ARM_FEAT_IDST))
			arm_raise(cpu, EC_SYSREG, iss, 0);
		arm_undefined(cpu);
	}
	el = reg->trap ? reg->trap(cpu, reg, write) : 0;
	if (!el)
		el = arm_el2_trap(cpu, key, write);
	if (el)
		sysreg_trap(cpu, el, iss);
	return reg;
}

void exec_MRS(struct arm_cpu *cpu, const struct a64_MRS *i)
{
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = find_access(cpu, key, i->rt, false);

	cpu_set_x(cpu, i->rt,
		  reg->read ? reg->read(cpu, reg) : *(u64 *)((char *)cpu + reg->offset));
}

void exec_MSR(struct arm_cpu *cpu, const struct a64_MSR *i)
{
	unsigned key = SYSREG(2 + i->o0, i->op1, i->crn, i->crm, i->op2);
	const struct arm_sysreg *reg = find_access(cpu, key, i->rt, true);
	u64 val = cpu_x(cpu, i->rt);

	if (reg->write)
		reg->write(cpu, reg, val);
	else
		*(u64 *)((char *)cpu + reg->offset) = val;
}

void exec_MSR_NZCV(struct arm_cpu *cpu, const struct a64_MSR_NZCV *i)
{
	cpu_set_nzcv(cpu, cpu_x(cpu, i->rt) >> 28 & 0xf);
}

void exec_MRS_NZCV(struct arm_cpu *cpu, const struct a64_MRS_NZCV *i)
{
	cpu_set_x(cpu, i->rt, (u64)cpu_nzcv(cpu) << 28);
}

/* RNDR, RNDRRS: Z says that there was no number. */
void exec_RNDR(struct arm_cpu *cpu, const struct a64_RNDR *i)
{
	u64 val = 0;
	bool ok = getrandom(&val, sizeof(val), GRND_NONBLOCK) == (ssize_t)sizeof(val);

	cpu_set_x(cpu, i->rt, ok ? val : 0);
	cpu_set_nzcv(cpu, ok ? 0 : 4);
}

void exec_MSR_TPIDR0(struct arm_cpu *cpu, const struct a64_MSR_TPIDR0 *i)
{
	cpu->tpidr_el[0] = cpu_x(cpu, i->rt);
}

void exec_MRS_TPIDR0(struct arm_cpu *cpu, const struct a64_MRS_TPIDR0 *i)
{
	cpu_set_x(cpu, i->rt, cpu->tpidr_el[0]);
}

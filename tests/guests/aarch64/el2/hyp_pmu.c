/* hyp_pmu.c - the performance monitors as EL2 shares them with EL1 (Arm DDI 0487, MDCR_EL2). */
#include "el2.h"

#define MDCR_TPMCR (1UL << 5)
#define MDCR_TPM   (1UL << 6)
#define MDCR_HPME  (1UL << 7)
#define MDCR_HPMD  (1UL << 17)
#define MDCR_HCCD  (1UL << 23)

#define PMCR_E     1UL
#define PMCR_P     2UL
#define PMCR_LC    0x40UL
#define CYCLES     (1UL << 31)
#define FILTER_P   (1UL << 31)
#define FILTER_NSH (1UL << 27)
#define CPU_CYCLES 0x11

#define PMCR_N(pmcr) ((pmcr) >> 11 & 31)
#define ALL          6 /* event counters */

#define ISS(esr) ((esr)&0x1ffffffUL)

PAYLOAD(read_pmcr, "mrs %0, pmcr_el0")
PAYLOAD(write_pmcr, "msr pmcr_el0, %0")
PAYLOAD(enable, "msr pmcntenset_el0, %0; isb; mrs %0, pmcntenset_el0")
PAYLOAD(read_cycles, "mrs %0, pmccntr_el0")
PAYLOAD(select_counter, "msr pmselr_el0, %0; isb; mrs %0, pmxevtyper_el0")
PAYLOAD(increment, "msr pmswinc_el0, %0")

static void restart(struct env *e, u64 mdcr)
{
	env_reset(e, S2_RW);
	msr("mdcr_el2", ALL);
	msr("pmcntenclr_el0", ~0u);
	msr("pmovsclr_el0", ~0u);
	msr("pmintenclr_el1", ~0u);
	msr("pmccfiltr_el0", 0);
	msr("pmcr_el0", PMCR_LC | PMCR_P);
	msr("pmcr_el0", PMCR_LC);
	msr("mdcr_el2", mdcr);
}

static void spin(void)
{
	u64 end = now_ns() + 10000;

	while (now_ns() < end)
		;
}

static void test_partition(struct env *e)
{
	restart(e, 2);
	equal(e, PMCR_N(mrs("pmcr_el0")), ALL);
	guest_call(e, read_pmcr, 0, 0, 0);
	equal(e, PMCR_N(e->v.x[0]), 2);
	msr("pmcntenset_el0", 1 << 4);
	guest_call(e, enable, ~0u, 0, 0);
	equal(e, e->v.x[0], CYCLES | 3);
	equal(e, mrs("pmcntenset_el0"), CYCLES | 3 | 1 << 4);
	msr("pmevtyper3_el0", CPU_CYCLES);
	guest_call(e, select_counter, 3, 0, 0);
	equal(e, e->v.x[0], 0);
	/* EL1 resets its own counters only. */
	msr("pmevcntr1_el0", 5);
	msr("pmevcntr4_el0", 5);
	guest_call(e, write_pmcr, PMCR_LC | PMCR_P, 0, 0);
	equal(e, mrs("pmevcntr1_el0"), 0);
	equal(e, mrs("pmevcntr4_el0"), 5);
}

/* HPME is for EL2's counters what PMCR_EL0.E is for EL1's. */
static void test_enables(struct env *e)
{
	restart(e, 2 | MDCR_HPME);
	for (unsigned on = 0; on < 2; on++) {
		msr("pmevcntr1_el0", 0);
		msr("pmevcntr4_el0", 0);
		msr("pmevtyper1_el0", FILTER_NSH); /* increments by software */
		msr("pmevtyper4_el0", FILTER_NSH);
		msr("pmcntenset_el0", 1 << 1 | 1 << 4);
		msr("pmcr_el0", on ? PMCR_LC | PMCR_E : PMCR_LC);
		msr("pmswinc_el0", 1 << 1 | 1 << 4);
		equal(e, mrs("pmevcntr1_el0"), on);
		equal(e, mrs("pmevcntr4_el0"), 1);
	}
	guest_call(e, increment, 1 << 1 | 1 << 4, 0, 0);
	equal(e, mrs("pmevcntr1_el0"), 2);
	equal(e, mrs("pmevcntr4_el0"), 1);
	msr("mdcr_el2", 2);
	msr("pmswinc_el0", 1 << 1 | 1 << 4);
	equal(e, mrs("pmevcntr1_el0"), 3);
	equal(e, mrs("pmevcntr4_el0"), 1);
}

static bool cycles_move(void)
{
	u64 before = mrs("pmccntr_el0");

	spin();
	return mrs("pmccntr_el0") != before;
}

static void test_own_cycles(struct env *e)
{
	restart(e, ALL);
	msr("pmcntenset_el0", CYCLES);
	msr("pmcr_el0", PMCR_LC | PMCR_E);
	equal(e, cycles_move(), false);
	msr("pmccfiltr_el0", FILTER_NSH);
	equal(e, cycles_move(), true);
	msr("mdcr_el2", ALL | MDCR_HPMD); /* for event counters, unless PMCR_EL0.DP is set */
	equal(e, cycles_move(), true);
	msr("pmcr_el0", PMCR_LC | PMCR_E | 1UL << 5);
	equal(e, cycles_move(), false);
	msr("mdcr_el2", ALL);
	equal(e, cycles_move(), true);
	msr("mdcr_el2", ALL | MDCR_HCCD);
	equal(e, cycles_move(), false);
	msr("mdcr_el2", ALL);
	msr("pmcr_el0", PMCR_LC);
}

/* An event counter of EL1 stands still at EL2 under HPMD, one of EL2's does not. */
static void test_hpmd(struct env *e)
{
	restart(e, 2 | MDCR_HPME | MDCR_HPMD);
	msr("pmevtyper1_el0", CPU_CYCLES | FILTER_NSH);
	msr("pmevtyper4_el0", CPU_CYCLES | FILTER_NSH);
	msr("pmcntenset_el0", 1 << 1 | 1 << 4);
	msr("pmcr_el0", PMCR_LC | PMCR_E);
	spin();
	equal(e, mrs("pmevcntr1_el0"), 0);
	equal(e, mrs("pmevcntr4_el0") > 0, true);
	guest_call(e, read_cycles, 0, 0, 0);
	equal(e, mrs("pmevcntr1_el0") > 0, true);
	msr("mdcr_el2", ALL);
	msr("pmcr_el0", PMCR_LC);
}

/* ISS of a register: op0 3, op2, op1 3, CRn 9, CRm, and x7. */
#define REG(crm, op2, read)                                                                        \
	(3 << 20 | (op2) << 17 | 3 << 14 | 9 << 10 | 7 << 5 | (crm) << 1 | (read))

static void test_pmu_traps(struct env *e)
{
	restart(e, ALL | MDCR_TPM);
	equal(e, EC(guest_call(e, read_cycles, 0, 0, 0)), 0x18);
	equal(e, ISS(e->v.esr), REG(13, 0, 1));
	equal(e, EC(guest_call(e, read_pmcr, 0, 0, 0)), 0x18);
	msr("mdcr_el2", ALL | MDCR_TPMCR);
	equal(e, EC(guest_call(e, read_cycles, 0, 0, 0)), EC_HVC);
	equal(e, EC(guest_call(e, read_pmcr, 0, 0, 0)), 0x18);
	equal(e, ISS(e->v.esr), REG(12, 0, 1));
	equal(e, EC(guest_call(e, write_pmcr, PMCR_LC, 0, 0)), 0x18);
	equal(e, ISS(e->v.esr), REG(12, 0, 0));
	msr("mdcr_el2", ALL);
	equal(e, EC(guest_call(e, read_pmcr, 0, 0, 0)), EC_HVC);
}

const struct test tests_3[] = {
	{ "el2/pmu-partition", test_partition },   { "el2/pmu-enables", test_enables },
	{ "el2/pmu-own-cycles", test_own_cycles }, { "el2/pmu-hpmd", test_hpmd },
	{ "el2/pmu-traps", test_pmu_traps },       { NULL, NULL },
};

/*
 * hyp.c - what EL2 is, as a small hypervisor sees it: traps and their syndromes, registers under
 * HCR_EL2.E2H, virtual interrupts, VMIDs.
 *
 * Every line is the same on any correct CPU with FEAT_VHE and a GICv3.
 */
#include "el2.h"

#define ISV      (1UL << 24)
#define SAS(n)   ((u64)(n) << 22)
#define SSE      (1UL << 21)
#define SRT(n)   ((u64)(n) << 16)
#define SF       (1UL << 15)
#define ISS(esr) ((esr)&0x1ffffffUL)

#define HCR_FMO  (1UL << 3)
#define HCR_IMO  (1UL << 4)
#define HCR_AMO  (1UL << 5)
#define HCR_VSE  (1UL << 8)
#define HCR_VI   (1UL << 7)
#define HCR_TWI  (1UL << 13)
#define HCR_TID3 (1UL << 18)
#define HCR_TSC  (1UL << 19)
#define HCR_TACR (1UL << 21)
#define HCR_TSW  (1UL << 22)
#define HCR_TPU  (1UL << 24)
#define HCR_TTLB (1UL << 25)
#define HCR_TVM  (1UL << 26)
#define HCR_TRVM (1UL << 30)
#define HCR_APK  (1UL << 40)

#define ICH_HCR   "S3_4_C12_C11_0"
#define ICH_MISR  "S3_4_C12_C11_2"
#define ICH_EISR  "S3_4_C12_C11_3"
#define ICH_ELRSR "S3_4_C12_C11_5"
#define ICH_VMCR  "S3_4_C12_C11_7"
#define ICH_LR0   "S3_4_C12_C12_0"
#define ICH_AP1R0 "S3_4_C12_C9_0"

#define LR_PENDING (1UL << 62)
#define LR_ACTIVE  (1UL << 63)
#define LR_GROUP1  (1UL << 60)
#define LR_EOI     (1UL << 41)

/* ---- traps ---- */

PAYLOAD(write_ttbr0, "msr ttbr0_el1, %0")
PAYLOAD(read_ttbr0, "mrs %0, ttbr0_el1")
PAYLOAD(read_far, "mrs %0, far_el1")
PAYLOAD(read_pfr0, "mrs %0, id_aa64pfr0_el1")
PAYLOAD(read_reserved_id, "mrs %0, s3_0_c0_c3_7")
PAYLOAD(write_actlr, "msr actlr_el1, %0")
PAYLOAD(read_key, "mrs %0, s3_0_c2_c1_0")
PAYLOAD(tlbi, "tlbi vale1is, %0")
PAYLOAD(ic_iallu, "ic iallu")
PAYLOAD(dc_isw, "dc isw, %0")
PAYLOAD(do_smc, "smc #5")
PAYLOAD(do_wfi, "wfi")
PAYLOAD(read_hpfar, "mrs %0, hpfar_el2")

struct trap {
	void (*fn)(u64, u64, u64);
	u64 bits; /* of HCR_EL2 */
	u64 ec, iss;
};

/* ISS of a register: op0, op2, op1, CRn, CRm, and x7. */
#define REG(op0, op1, crn, crm, op2, read)                                                         \
	((op0) << 20 | (op2) << 17 | (op1) << 14 | (crn) << 10 | 7 << 5 | (crm) << 1 | (read))

static const struct trap traps[] = {
	{ write_ttbr0, HCR_TVM, 0x18, REG(3, 0, 2, 0, 0, 0) },
	{ read_ttbr0, HCR_TRVM, 0x18, REG(3, 0, 2, 0, 0, 1) },
	{ read_far, HCR_TRVM, 0x18, REG(3, 0, 6, 0, 0, 1) },
	{ read_pfr0, HCR_TID3, 0x18, REG(3, 0, 0, 4, 0, 1) },
	{ read_reserved_id, HCR_TID3, 0x18, REG(3, 0, 0, 3, 7, 1) },
	{ write_actlr, HCR_TACR, 0x18, REG(3, 0, 1, 0, 1, 0) },
	{ tlbi, HCR_TTLB, 0x18, REG(1, 0, 8, 3, 5, 0) },
	{ dc_isw, HCR_TSW, 0x18, REG(1, 0, 7, 6, 2, 0) },
	{ do_smc, HCR_TSC, 0x17, 5 },
	{ do_wfi, HCR_TWI, 0x01, 0x1e00000 },
};

/* A trap leaves the guest at the instruction, which works once the bit is clear. */
static void test_traps(struct env *e)
{
	for (unsigned i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
		const struct trap *t = &traps[i];
		u64 esr;

		env_reset(e, S2_RW);
		msr("hcr_el2", HCR_RW | HCR_APK | t->bits);
		esr = guest_call(e, t->fn, 0, 0, 0);
		equal(e, EC(esr), t->ec);
		equal(e, ISS(esr), t->iss);
		e->v.pc += 4;
		equal(e, EC(guest_resume(e)), EC_HVC);
		if (t->ec != 0x18)
			continue;
		msr("hcr_el2", HCR_RW | HCR_APK);
		equal(e, EC(guest_call(e, t->fn, 0, 0, 0)), EC_HVC);
	}
}

/* IC IALLU has no operand: Rt is 31. */
static void test_trap_without_operand(struct env *e)
{
	env_reset(e, S2_RW);
	msr("hcr_el2", HCR_RW | HCR_TPU);
	equal(e, EC(guest_call(e, ic_iallu, 0, 0, 0)), 0x18);
	equal(e, ISS(e->v.esr), REG(1, 0, 7, 5, 0, 0) | 31 << 5);
}

/* The keys' bit allows. */
static void test_key_trap(struct env *e)
{
	env_reset(e, S2_RW);
	equal(e, EC(guest_call(e, read_key, 0, 0, 0)), 0x18);
	equal(e, ISS(e->v.esr), REG(3, 0, 2, 1, 0, 1));
	msr("hcr_el2", HCR_RW | HCR_APK);
	equal(e, EC(guest_call(e, read_key, 0, 0, 0)), EC_HVC);
}

/* ---- syndromes of stage-2 faults ---- */

#define ACCESS(name, text)                                                                         \
	static void name(u64 a, u64 b, u64 c)                                                      \
	{                                                                                          \
		register u64 x8 asm("x8") = a;                                                     \
		register u64 x9 asm("x9") = b;                                                     \
		asm volatile(text : "+r"(x8), "+r"(x9) : : "memory", "x10");                       \
		guest_done(x9);                                                                    \
	}
ACCESS(ldrb, "ldrb w9, [x8]")
ACCESS(ldrsh_w, "ldrsh w9, [x8]")
ACCESS(ldrsh_x, "ldrsh x9, [x8, #2]")
ACCESS(ldrsw, "ldrsw x9, [x8]")
ACCESS(ldr_w, "ldr w9, [x8, #4]")
ACCESS(ldr_x, "ldur x9, [x8, #-8]")
ACCESS(str_x, "str x9, [x8]")
ACCESS(strh_wzr, "strh wzr, [x8]")
ACCESS(ldar_w, "ldar w9, [x8]")
ACCESS(str_reg, "str w9, [x8, x9, lsl #2]")
ACCESS(ldp, "ldp x9, x10, [x8]")
ACCESS(ldr_post, "ldr x9, [x8], #8")
ACCESS(ldxr, "ldxr x9, [x8]")
ACCESS(ldadd, ".arch_extension lse\n\tldadd x9, x10, [x8]")

struct access {
	void (*fn)(u64, u64, u64);
	u64 offset, iss; /* without the status code */
};

#define AR (1UL << 14)

static const struct access accesses[] = {
	{ ldrb, 0, ISV | SAS(0) | SRT(9) },
	{ ldrsh_w, 0, ISV | SAS(1) | SSE | SRT(9) },
	{ ldrsh_x, 2, ISV | SAS(1) | SSE | SRT(9) | SF },
	{ ldrsw, 0, ISV | SAS(2) | SSE | SRT(9) | SF },
	{ ldr_w, 4, ISV | SAS(2) | SRT(9) },
	{ ldr_x, (u64)-8, ISV | SAS(3) | SRT(9) | SF },
	{ str_x, 0, ISV | SAS(3) | SRT(9) | SF | ESR_WNR },
	{ strh_wzr, 0, ISV | SAS(1) | SRT(31) | ESR_WNR },
	{ ldar_w, 0, ISV | SAS(2) | SRT(9) | AR },
	{ str_reg, 12, ISV | SAS(2) | SRT(9) | ESR_WNR },
	{ ldp, 0, 0 },
	{ ldr_post, 0, 0 },
	{ ldxr, 0, 0 },
	{ ldadd, 0, 0 }, /* it reads first */
};

static void test_syndromes(struct env *e)
{
	for (unsigned i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		const struct access *t = &accesses[i];
		u64 addr = HOLE_IPA + 0x5100, esr;

		env_reset(e, S2_RW);
		esr = guest_call(e, t->fn, addr, 3, 0);
		equal(e, EC(esr), EC_DABT_LOW);
		equal(e, FSC(esr), 0x05); /* translation, level 1 */
		equal(e, ISS(esr) & ~0x3fUL, t->iss);
		equal(e, e->v.far, addr + t->offset);
		equal(e, e->v.hpfar, (HOLE_IPA + 0x5000) >> 8);
	}
}

/* Which level and kind: permission at level 3, access flag, a hole in the leaves. */
static void test_status_codes(struct env *e)
{
	env_reset(e, S2_RW);
	set_leaf(e, 1, S2_RO);
	set_leaf(e, 2, S2_RW & ~S2_AF);
	e->leaves[3] = 0;
	stage2_tlbi();
	equal(e, FSC(guest_call(e, guest_store, page_ipa(1), 1, 0)), 0x0f);
	equal(e, EC(guest_call(e, guest_load, page_ipa(1), 0, 0)), EC_HVC);
	equal(e, FSC(guest_call(e, guest_load, page_ipa(2), 0, 0)), 0x0b);
	equal(e, FSC(guest_call(e, guest_load, page_ipa(3), 0, 0)), 0x07);
	equal(e, e->v.hpfar, page_ipa(3) >> 8);
}

/* The guest's table lies where stage 2 has nothing. */
static void test_fault_on_stage1_table(struct env *e)
{
	env_reset(e, S2_RW);
	msr("ttbr0_el1", HOLE_IPA);
	msr("tcr_el1", 25 | 1UL << 23 | 2UL << 32); /* 39 bits, 4 KiB, no upper range, 40-bit IPA */
	msr("sctlr_el1", 0x30d00801);
	equal(e, guest_call(e, guest_load, 0, 0, 0) >> 26, 0x20);
	equal(e, e->v.esr & ESR_S1PTW, ESR_S1PTW);
	equal(e, FSC(e->v.esr), 0x05);
	equal(e, e->v.hpfar, HOLE_IPA >> 8);
}

/* ---- VHE ---- */

static void host_mode(bool on)
{
	msr("hcr_el2", HCR_RW | (on ? HCR_E2H | HCR_TGE : 0));
}

/* A register with a name of EL1 that a host redirects, and its own EL12 name. */
#define CHECK_REDIRECTED(e, el1, el2, el12, value)                                                 \
	do {                                                                                       \
		u64 keep_ = mrs(el2);                                                              \
                                                                                                   \
		msr(el1, 0x100);                                                                   \
		host_mode(true);                                                                   \
		msr(el1, value);                                                                   \
		msr(el12, 0x200);                                                                  \
		u64 seen_ = mrs(el2), own_ = mrs(el1), guest_ = mrs(el12);                         \
		host_mode(false);                                                                  \
		u64 after_ = mrs(el1);                                                             \
		msr(el2, keep_);                                                                   \
		equal(e, seen_, value);                                                            \
		equal(e, own_, value);                                                             \
		equal(e, guest_, 0x200);                                                           \
		equal(e, after_, 0x200);                                                           \
	} while (0)

static void test_redirection(struct env *e)
{
	env_reset(e, S2_RW);
	CHECK_REDIRECTED(e, "far_el1", "far_el2", "s3_5_c6_c0_0", 0x1234);
	CHECK_REDIRECTED(e, "elr_el1", "elr_el2", "s3_5_c4_c0_1", 0x5678);
	CHECK_REDIRECTED(e, "esr_el1", "esr_el2", "s3_5_c5_c2_0", 0x2000000);
	CHECK_REDIRECTED(e, "contextidr_el1", "s3_4_c13_c0_1", "s3_5_c13_c0_1", 0x77);
}

static void test_timer_redirection(struct env *e)
{
	env_reset(e, S2_RW);
	msr("cntv_cval_el0", 1000);
	host_mode(true);
	msr("cntv_cval_el0", 2000);
	u64 own = mrs("s3_4_c14_c3_2");   /* CNTHV_CVAL_EL2 */
	u64 guest = mrs("s3_5_c14_c3_2"); /* CNTV_CVAL_EL02 */
	msr("s3_5_c14_c3_2", 3000);
	host_mode(false);
	equal(e, own, 2000);
	equal(e, guest, 1000);
	equal(e, mrs("cntv_cval_el0"), 3000);
}

/* The names for EL12 are UNDEFINED without a host, and at EL1 always. */
static void test_el12_names_undefined(struct env *e)
{
	env_reset(e, S2_RW);
	mrs("s3_5_c6_c0_0");
	equal(e, own_exception() != 0, 1);
	mrs("s3_5_c14_c3_2");
	equal(e, own_exception() != 0, 1);
}

static void test_el2_register_undefined_at_el1(struct env *e)
{
	env_reset(e, S2_RW);
	msr("vbar_el1", HOLE_IPA); /* the handler is fetched from nowhere: that comes here */
	equal(e, EC(guest_call(e, read_hpfar, 0, 0, 0)), 0x20);
	equal(e, mrs("esr_el1") >> 26, EC_UNKNOWN);
}

/* ---- virtual interrupts ---- */

extern char hyp_guest_vectors[];
asm("	.pushsection .text\n"
    "	.balign 2048\n"
    "hyp_guest_vectors:\n"
    "	.skip 0x280\n" /* IRQ at the current level */
    "	hvc #7\n"
    "	eret\n"
    "	.balign 128\n"
    "	.skip 0x80\n" /* SError: after FIQ */
    "	hvc #8\n"
    "	.balign 2048\n"
    "	.popsection\n");

static void guest_acknowledge(u64 a, u64 b, u64 c)
{
	u64 intid = mrs(ICC_IAR1);

	if (intid < 1020)
		msr(ICC_EOIR1, intid);
	guest_done(intid);
}

static void guest_unmask(u64 a, u64 b, u64 c)
{
	asm volatile("msr daifclr, #2; isb; msr daifset, #2" : : : "memory");
	guest_done(1);
}

static void interface_on(struct env *e)
{
	env_reset(e, S2_RW);
	msr(ICH_AP1R0, 0);
	msr(ICH_VMCR, 0xf0UL << 24 | 1UL << 1); /* priority mask, group 1 on */
	msr(ICH_HCR, 1);
	msr("hcr_el2", HCR_RW | HCR_IMO | HCR_FMO);
	msr("vbar_el1", (u64)hyp_guest_vectors);
}

static void interface_off(void)
{
	msr(ICH_LR0, 0);
	msr(ICH_HCR, 0);
	msr("hcr_el2", HCR_RW);
}

static void test_list_register(struct env *e)
{
	interface_on(e);
	msr(ICH_LR0, LR_PENDING | LR_GROUP1 | LR_EOI | 0x80UL << 48 | 77);
	equal(e, EC(guest_call(e, guest_acknowledge, 0, 0, 0)), EC_HVC);
	equal(e, e->v.x[0], 77);
	equal(e, mrs(ICH_LR0) >> 62, 0);
	equal(e, mrs(ICH_EISR), 1);
	equal(e, mrs(ICH_MISR) & 1, 1);
	equal(e, mrs(ICH_ELRSR) & 1, 0);
	equal(e, EC(guest_call(e, guest_acknowledge, 0, 0, 0)), EC_HVC);
	equal(e, e->v.x[0], 1023);
	interface_off();
}

/* The guest's handler runs once it unmasks, and ends here; then with HCR_EL2.VI. */
static void test_interrupt_is_taken(struct env *e)
{
	interface_on(e);
	msr(ICH_LR0, LR_PENDING | LR_GROUP1 | 0x80UL << 48 | 77);
	equal(e, guest_call(e, guest_unmask, 0, 0, 0) & 0xffff, 7);
	msr(ICH_LR0, 0);
	e->v.pc += 0;
	equal(e, guest_resume(e) & 0xffff, 0);
	msr("hcr_el2", HCR_RW | HCR_IMO | HCR_FMO | HCR_VI);
	equal(e, guest_call(e, guest_unmask, 0, 0, 0) & 0xffff, 7);
	interface_off();
}

static void guest_unmask_serror(u64 a, u64 b, u64 c)
{
	asm volatile("msr daifclr, #4; isb; msr daifset, #4" : : : "memory");
	guest_done(1);
}

/* A virtual SError is one only, and has the syndrome that EL2 gives it (FEAT_RAS). */
static void test_virtual_serror(struct env *e)
{
	u64 ras = mrs("id_aa64pfr0_el1") >> 28 & 0xf;

	interface_on(e);
	if (ras)
		msr("s3_4_c5_c2_3", 0x123);
	msr("hcr_el2", HCR_RW | HCR_AMO | HCR_VSE);
	e->v.x[0] = 0;
	equal(e, guest_call(e, guest_unmask_serror, 0, 0, 0) & 0xffff, 8);
	equal(e, mrs("esr_el1") >> 26, 0x2f);
	if (ras)
		equal(e, mrs("esr_el1") & 0x1ffffff, 0x123);
	interface_off();
}

/* ---- address spaces ---- */

/* Two guests with pages of their own at one address, and no invalidation between them. */
static void test_vmids(struct env *e)
{
	u64 *other = e->hdbss; /* room for tables that this test does not need otherwise */
	u64 first, second, again;

	env_reset(e, S2_RW);
	for (unsigned i = 0; i < 512; i++) {
		other[i] = e->root[i];
		other[512 + i] = e->root[2] ? ((u64 *)(e->root[2] & ~0xfffUL))[i] : 0;
		other[1024 + i] = e->leaves[i];
	}
	other[2] = (u64)&other[512] | 3;
	other[512] = (u64)&other[1024] | 3;
	other[1024] = e->leaves[1]; /* page 0 there is page 1 here */
	*(volatile u64 *)e->memory = 111;
	*(volatile u64 *)(e->memory + PAGE_SIZE) = 222;
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	first = e->v.x[0];
	msr("vttbr_el2", (u64)other | (u64)(e->cpu + 100) << 48);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	second = e->v.x[0];
	msr("vttbr_el2", e->vttbr);
	guest_call(e, guest_load, page_ipa(0), 0, 0);
	again = e->v.x[0];
	msr("vttbr_el2", (u64)other | (u64)(e->cpu + 100) << 48);
	stage2_tlbi();
	msr("vttbr_el2", e->vttbr);
	equal(e, first, 111);
	equal(e, second, 222);
	equal(e, again, 111);
}

static void test_at(struct env *e)
{
	env_reset(e, S2_RW);
	set_leaf(e, 1, S2_RO);
	stage2_tlbi();
	msr("hcr_el2", HCR_RW | HCR_VM);
	asm volatile("at s12e1r, %0; isb" : : "r"(page_ipa(0)));
	u64 good = mrs("par_el1");
	asm volatile("at s12e1w, %0; isb" : : "r"(page_ipa(1)));
	u64 refused = mrs("par_el1");
	asm volatile("at s1e1r, %0; isb" : : "r"(page_ipa(1)));
	u64 stage1 = mrs("par_el1");
	msr("hcr_el2", HCR_RW);
	equal(e, good & 0xfffffffff001, e->memory);
	equal(e, refused & 0x37f, 1 | 0x0f << 1 | 1 << 9); /* permission, level 3, stage 2 */
	equal(e, stage1 & 0xfffffffff001, page_ipa(1));
}

const struct test tests_2[] = {
	{ "el2/traps", test_traps },
	{ "el2/trap-without-operand", test_trap_without_operand },
	{ "el2/key-trap", test_key_trap },
	{ "el2/syndromes", test_syndromes },
	{ "el2/status-codes", test_status_codes },
	{ "el2/fault-on-stage1-table", test_fault_on_stage1_table },
	{ "el2/redirection", test_redirection },
	{ "el2/timer-redirection", test_timer_redirection },
	{ "el2/el12-names-undefined", test_el12_names_undefined },
	{ "el2/el2-register-undefined-at-el1", test_el2_register_undefined_at_el1 },
	{ "el2/list-register", test_list_register },
	{ "el2/interrupt-is-taken", test_interrupt_is_taken },
	{ "el2/virtual-serror", test_virtual_serror },
	{ "el2/vmids", test_vmids },
	{ "el2/at", test_at },
	{ NULL, NULL },
};
const struct test tests_shared[] = { { NULL, NULL } };
const struct test tests_injected[] = { { NULL, NULL } };

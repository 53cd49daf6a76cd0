/*
 * el2.h - a small hypervisor for tests: stage 2, one guest per CPU, checks.
 *
 * Each CPU runs every test with a struct env of its own, so that tests need not know of each other.
 */
#ifndef TESTS_GUESTS_AARCH64_EL2_EL2_H
#define TESTS_GUESTS_AARCH64_EL2_EL2_H

#include "../arm.h"
#include "offsets.h"

#define HDBSSBR    "S3_4_C2_C3_2"
#define HDBSSPROD  "S3_4_C2_C3_3"
#define HACDBSBR   "S3_4_C2_C3_4"
#define HACDBSCONS "S3_4_C2_C3_5"

#define HCR_VM  (1UL << 0)
#define HCR_RW  (1UL << 31)
#define HCR_TGE (1UL << 27)
#define HCR_E2H (1UL << 34)

/* VTCR_EL2: 39-bit IPA, start at level 1, 4 KiB, write-back, 40-bit physical, RES1, VMIDs of 16 */
#define VTCR_BASE                                                                                  \
	(25UL | 1UL << 6 | 1UL << 8 | 1UL << 10 | 3UL << 12 | 2UL << 16 | 1UL << 19 | 1UL << 31)
#define VTCR_HA    (1UL << 21)
#define VTCR_HD    (1UL << 22)
#define VTCR_HAFT  (1UL << 44)
#define VTCR_HDBSS (1UL << 45)
#define VTCR_LOG   (VTCR_BASE | VTCR_HA | VTCR_HD | VTCR_HDBSS)

/* Stage-2 descriptors: Normal write-back, inner shareable. */
#define S2_AF     (1UL << 10)
#define S2_R      (1UL << 6)
#define S2_W      (1UL << 7)
#define S2_DBM    (1UL << 51)
#define S2_CONT   (1UL << 52)
#define S2_NORMAL (0xfUL << 2 | 3UL << 8)
#define S2_CLEAN  (S2_NORMAL | S2_AF | S2_R | S2_DBM)        /* writable-clean */
#define S2_DIRTY  (S2_NORMAL | S2_AF | S2_R | S2_W | S2_DBM) /* writable-dirty */
#define S2_RW     (S2_NORMAL | S2_AF | S2_R | S2_W)          /* not tracked */
#define S2_RO     (S2_NORMAL | S2_AF | S2_R)

#define PROD_FSC_ABORT (0x10UL << 26)
#define BR_EN          (1UL << 11)
#define CONS_ERR(n)    ((u64)(n) << 62)
#define STOP_MARKER    (1UL | 4UL << 1)

#define EC(esr)     ((esr) >> 26 & 0x3f)
#define FSC(esr)    ((esr)&0x3f)
#define ESR_WNR     (1UL << 6)
#define ESR_S1PTW   (1UL << 7)
#define ESR_HDBSSF  (1UL << 43)
#define EC_UNKNOWN  0x00
#define EC_HVC      0x16
#define EC_DABT_LOW 0x24

/* The test region: TEST_PAGES pages of 4 KiB at TEST_IPA, and a block of 2 MiB at BLOCK_IPA. */
#define TEST_IPA    0x80000000UL
#define TEST_PAGES  512
#define BLOCK_IPA   0xc0000000UL
#define HOLE_IPA    0x100000000UL /* nothing is mapped from here on */
#define BUFFER_MAX  0x200000UL
#define page_ipa(n) (TEST_IPA + (u64)(n)*PAGE_SIZE)

struct vcpu {
	u64 x[31], pc, pstate, sp, kind, esr, far, hpfar, host_sp;
};

struct env {
	struct vcpu v;
	unsigned cpu;
	u64 *root;           /* stage 2, level 1 */
	u64 *block;          /* level 2 of BLOCK_IPA */
	u64 *leaves;         /* level 3 of TEST_IPA: one descriptor for each page */
	u64 *leaves_parent;  /* the descriptor that points to it */
	u64 memory;          /* physical address of the test region */
	u64 block_memory;    /* ... of the block */
	u64 *hdbss, *hacdbs; /* buffers, BUFFER_MAX bytes, aligned to that */
	u64 *s1;             /* six pages for stage-1 tables, in the guest's RAM */
	u64 vttbr;
	u64 failures;
	const char *test; /* that runs */
	bool failed;
};

struct test {
	const char *name;
	void (*fn)(struct env *e);
};

/* tests of sections 2, 3 and 4; each list ends with a NULL name */
extern const struct test tests_2[], tests_3[], tests_4[];
/* with two CPUs, run by both at once */
extern const struct test tests_shared[];
/* each for one fault that is injected; test=NUMBER chooses it, 1 is the first */
extern const struct test tests_injected[];

/* Fail the running test unless the values are equal. */
#define equal(e, got, want) check_equal(e, __LINE__, #got, (u64)(got), (u64)(want))
void check_equal(struct env *e, unsigned line, const char *what, u64 got, u64 want);

/* Fresh tables, all test pages with @attributes, buffers zero, engines off, TLB empty. */
void env_reset(struct env *e, u64 attributes);
/* HDBSS on with a buffer of 4096 << sz bytes. */
void hdbss_on(struct env *e, unsigned sz);
/* Descriptor bits of a test page without address and type. */
u64 leaf_bits(const struct env *e, unsigned n);
void set_leaf(struct env *e, unsigned n, u64 attributes);

/* Call fn(a, b, c) at EL1; it ends with guest_done(). Return: ESR_EL2 of what ended it. */
u64 guest_call(struct env *e, void (*fn)(u64, u64, u64), u64 a, u64 b, u64 c);
/* After a fault: go on at the same instruction. */
u64 guest_resume(struct env *e);
#define guest_done(value)                                                                          \
	do {                                                                                       \
		register u64 x0_ asm("x0") = (value);                                              \
		asm volatile("hvc #0" : "+r"(x0_) : : "memory");                                   \
	} while (0)

/* Payloads: store to one address, or to each of @n pages from @addr on. */
void guest_store(u64 addr, u64 value, u64 unused);
void guest_load(u64 addr, u64 unused, u64 unused2);
void guest_store_pages(u64 addr, u64 n, u64 unused);
void guest_enter(struct vcpu *v);

/* Store from the guest; the test fails unless it ends as it should. */
void store_ok(struct env *e, u64 addr);
void stage2_tlbi(void);

/* What EL2's own exceptions were since the last call: ESR of the last, or 0. */
u64 own_exception(void);
extern volatile u64 irqs_taken[16]; /* per CPU; irq_hook acts on them */
extern void (*irq_hook)(unsigned cpu, u64 intid);

/* A guest function of one instruction or a few; x7 is its argument and result. */
#define PAYLOAD(name, text)                                                                        \
	static void name(u64 a, u64 b, u64 c)                                                      \
	{                                                                                          \
		register u64 x7 asm("x7") = a;                                                     \
		asm volatile(text : "+r"(x7) : : "memory");                                        \
		guest_done(x7);                                                                    \
	}

#endif

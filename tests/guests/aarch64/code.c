/*
 * code.c - test guest for arm64: code that changes while it is in use, made visible as the manual
 * says (Arm DDI 0487, B2: caches and memory hierarchy, concurrent modification), on one CPU and for
 * another one.
 *
 * Each line counts results that are not those of the code as it was last written.
 */
#include "arm.h"

#define NOP    0xd503201fu
#define RET    0xd65f03c0u
#define B_3    0x14000003u /* to the third instruction from here */
#define ISB    0xd5033fdfu
#define DSB    0xd5033b9fu                   /* ISH */
#define STR    0xb9000020u                   /* w0, [x1] */
#define CVAU   0xd50b7b21u                   /* DC CVAU, x1 */
#define IVAU   0xd50b7521u                   /* IC IVAU, x1 */
#define MOV(n) (0x52800000u | (u32)(n) << 5) /* w0, #n */

#define WORDS (PAGE_SIZE / 4)

typedef u32 code_fn(u32 insn, u32 *at);

static u32 page[WORDS] __attribute__((aligned(PAGE_SIZE)));
static u64 rounds = 2000;
static volatile u64 version, answered, answer, running, runs, neither;

/* What was written to @at is what this CPU, and others after an ISB, fetch from there. */
static void publish(u32 *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		asm volatile("dc cvau, %0" : : "r"(at + i) : "memory");
	asm volatile("dsb ish" : : : "memory");
	for (unsigned i = 0; i < n; i++)
		asm volatile("ic ivau, %0" : : "r"(at + i) : "memory");
	asm volatile("dsb ish; isb" : : : "memory");
}

static u32 call(u32 *at)
{
	return ((code_fn *)at)(0, NULL);
}

static void put(u32 *at, u32 first, u32 second)
{
	at[0] = first;
	at[1] = second;
	publish(at, 2);
}

static u64 rewritten(void)
{
	u64 wrong = 0;

	for (unsigned i = 0; i < rounds; i++) {
		put(page, MOV(i & 0xffff), RET);
		wrong += call(page) != (i & 0xffff);
	}
	return wrong;
}

/* The code changes its own next instruction but one barrier. */
static u64 its_own(void)
{
	static const u32 text[] = { STR, CVAU, DSB, IVAU, DSB, ISB, MOV(0), RET };
	const unsigned n = sizeof(text) / sizeof(text[0]);
	u64 wrong = 0;

	for (unsigned i = 0; i < n; i++)
		page[i] = text[i];
	publish(page, n);
	for (unsigned i = 1; i < rounds; i++)
		wrong += ((code_fn *)page)(MOV(i & 0xffff), page + n - 2) != (i & 0xffff);
	return wrong;
}

/* A page full of functions, every one of which changes while the others stay. */
static u64 many(void)
{
	u64 wrong = 0;

	for (unsigned i = 0; i < WORDS; i += 2)
		put(page + i, MOV(i), RET);
	for (unsigned i = 0; i < WORDS; i += 2) {
		put(page + i, MOV(i + 1), RET);
		wrong += call(page + i) != i + 1;
		if (i + 2 < WORDS)
			wrong += call(page + i + 2) != i + 2;
		wrong += call(page) != 1;
	}
	return wrong;
}

static u64 data_beside(void)
{
	volatile u32 *data = page + 8;
	u64 wrong = 0;

	put(page, MOV(77), RET);
	*data = 0;
	for (unsigned i = 0; i < rounds; i++) {
		(*data)++;
		wrong += call(page) != 77 || *data != i + 1;
	}
	return wrong;
}

static void other(unsigned cpu)
{
	u64 seen = 0;

	for (;;) {
		u64 v;

		asm volatile("ldar %0, [%1]" : "=r"(v) : "r"(&version) : "memory");
		if (running) {
			u32 got = call(page);

			neither += got != 1 && got != 2;
			runs++;
		}
		if (v == seen) {
			if (!running)
				arch_relax();
			continue;
		}
		asm volatile("isb" : : : "memory");
		seen = v;
		answer = call(page);
		asm volatile("stlr %0, [%1]" : : "r"(v), "r"(&answered) : "memory");
	}
}

/* What the other CPU gets from the code after it has been told of a change. */
static u64 ask(void)
{
	u64 v = version + 1, got;

	asm volatile("stlr %0, [%1]" : : "r"(v), "r"(&version) : "memory");
	do {
		asm volatile("ldar %0, [%1]" : "=r"(got) : "r"(&answered) : "memory");
		if (got != v)
			arch_relax();
	} while (got != v);
	return answer;
}

static u64 told(void)
{
	u64 wrong = 0;

	for (unsigned i = 0; i < rounds; i++) {
		put(page, MOV(i & 0xffff), RET);
		wrong += ask() != (i & 0xffff);
	}
	return wrong;
}

/* NOP and B may change into each other under whoever runs them. */
static u64 untold(void)
{
	static const u32 text[] = { NOP, MOV(1), RET, MOV(2), RET };
	u64 wrong = 0, start;

	for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		page[i] = text[i];
	publish(page, sizeof(text) / sizeof(text[0]));
	ask();
	running = 1;
	for (unsigned i = 0; i < rounds; i++) {
		start = runs;
		*(volatile u32 *)page = i & 1 ? NOP : B_3;
		publish(page, 1);
		wrong += ask() != (i & 1 ? 1 : 2);
		while (i % 64 == 0 && runs < start + 3)
			arch_relax();
	}
	running = 0;
	ask();
	return wrong + neither;
}

void guest_main(void)
{
	static const struct guest_option options[] = { { "rounds", &rounds, NULL },
						       { NULL, NULL, NULL } };

	options_parse(options);
	say("rewritten: wrong %lu\n", rewritten());
	say("rewrites itself: wrong %lu\n", its_own());
	say("one of many: wrong %lu\n", many());
	say("data beside: wrong %lu\n", data_beside());
	if (arch_start_cpu(1, other)) {
		say("other CPU, told: wrong %lu\n", told());
		say("other CPU, not told: wrong %lu\n", untold());
	}
	say("END\n");
	arm_power_off();
}

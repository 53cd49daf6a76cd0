/*
 * litmus.c - test guest for arm64: the memory model between two or four CPUs (Arm DDI 0487, B2.3).
 *
 * Each shape that needs as many CPUs as there are is run rounds= times: a round has two locations
 * of its own, and the CPUs go over thousands of rounds between two barriers. On their way they try
 * to stay together: every meet= rounds, whoever is ahead looks patience= times whether the others
 * have come, and then goes on, since there may be more CPUs than host CPUs to run them. A shape
 * that every host shows goes on for up to show= rounds until its weak outcome has been seen.
 *
 * The line of a shape has the number of rounds, how many had its weak outcome, and whether that is
 * forbidden.
 */
#include "arm.h"

#define BATCH   16384
#define THREADS 4

struct line {
	volatile u64 v;
	u64 pad[7];
};

static struct line x[BATCH], y[BATCH], progress[THREADS], done[THREADS];
static u8 seen[THREADS][BATCH];
static volatile u64 go, go_shape;
static u64 rounds = BATCH, meet = 16, patience = 200, show;

typedef u64 thread_fn(volatile u64 *a, volatile u64 *b);

/* A thread of two instructions with something between them; x registers 8 and 9 are what is read,
 * bit 0 the first. */
#define STORE_STORE(name, st1, between, st2)                                                       \
	static u64 name(volatile u64 *a, volatile u64 *b)                                          \
	{                                                                                          \
		asm volatile(st1 " %2, [%0]\n" between "\n" st2 " %2, [%1]"                        \
			     :                                                                     \
			     : "r"(a), "r"(b), "r"(1ul)                                            \
			     : "memory");                                                          \
		return 0;                                                                          \
	}
#define LOAD_LOAD(name, ld1, between, ld2)                                                         \
	static u64 name(volatile u64 *a, volatile u64 *b)                                          \
	{                                                                                          \
		u64 p, q;                                                                          \
                                                                                                   \
		asm volatile(ld1 " %0, [%2]\n" between "\n" ld2 " %1, [%3]"                        \
			     : "=&r"(p), "=&r"(q)                                                  \
			     : "r"(a), "r"(b)                                                      \
			     : "memory");                                                          \
		return p | q << 1;                                                                 \
	}
#define STORE_LOAD(name, st, between, ld)                                                          \
	static u64 name(volatile u64 *a, volatile u64 *b)                                          \
	{                                                                                          \
		u64 p;                                                                             \
                                                                                                   \
		asm volatile(st " %3, [%1]\n" between "\n" ld " %0, [%2]"                          \
			     : "=&r"(p)                                                            \
			     : "r"(a), "r"(b), "r"(1ul)                                            \
			     : "memory");                                                          \
		return p;                                                                          \
	}
#define LOAD_STORE(name, ld, between, st)                                                          \
	static u64 name(volatile u64 *a, volatile u64 *b)                                          \
	{                                                                                          \
		u64 p;                                                                             \
                                                                                                   \
		asm volatile(ld " %0, [%1]\n" between "\n" st " %3, [%2]"                          \
			     : "=&r"(p)                                                            \
			     : "r"(a), "r"(b), "r"(1ul)                                            \
			     : "memory");                                                          \
		return p;                                                                          \
	}

STORE_STORE(ss_plain, "str", "", "str")
STORE_STORE(ss_dmb, "str", "dmb ish", "str")
STORE_STORE(ss_dmb_st, "str", "dmb ishst", "str")
STORE_STORE(ss_release, "str", "", "stlr")
STORE_STORE(ss_dsb, "str", "dsb sy", "str")
LOAD_LOAD(ll_plain, "ldr", "", "ldr")
LOAD_LOAD(ll_dmb, "ldr", "dmb ish", "ldr")
LOAD_LOAD(ll_dmb_ld, "ldr", "dmb ishld", "ldr")
LOAD_LOAD(ll_acquire, "ldar", "", "ldr")
LOAD_LOAD(ll_acquires, "ldar", "", "ldar")
STORE_LOAD(sl_plain, "str", "", "ldr")
STORE_LOAD(sl_dmb, "str", "dmb ish", "ldr")
STORE_LOAD(sl_dmb_st, "str", "dmb ishst", "ldr")
STORE_LOAD(sl_dmb_ld, "str", "dmb ishld", "ldr")
STORE_LOAD(sl_release, "stlr", "", "ldar")
LOAD_STORE(ls_plain, "ldr", "", "str")
LOAD_STORE(ls_dmb_ld, "ldr", "dmb ishld", "str")
LOAD_STORE(ls_release, "ldr", "", "stlr")
LOAD_STORE(ls_acquire, "ldar", "", "str")

/* The same by an exclusive pair in between, whose order is that of its acquire and release. */
static u64 sl_exclusive(volatile u64 *a, volatile u64 *b)
{
	u64 p, old;
	u32 failed;

	asm volatile(
		"1: ldaxr %1, [%3]\n stlxr %w2, %5, [%3]\n cbnz %w2, 1b\n dmb ish\n ldr %0, [%4]"
		: "=&r"(p), "=&r"(old), "=&r"(failed)
		: "r"(a), "r"(b), "r"(1ul)
		: "memory");
	return p;
}

static u64 st_one(volatile u64 *a, volatile u64 *b)
{
	*a = 1;
	return 0;
}

static u64 st_release(volatile u64 *a, volatile u64 *b)
{
	asm volatile("stlr %1, [%0]" : : "r"(a), "r"(1ul) : "memory");
	return 0;
}

/* SHOWN: allowed, and every host with store buffers has it. */
enum verdict { FORBIDDEN, ALLOWED, SHOWN };

/*
 * @swap: bit n: thread n takes the locations in the other order. @weak: outcome, two bits for each
 * thread from the first on, that tells of reordering.
 */
struct shape {
	const char *name;
	thread_fn *fn[THREADS];
	unsigned swap, weak;
	enum verdict verdict;
};

static const struct shape shapes[] = {
	/* Message passing: the flag y is seen, and the message x is not. */
	{ "MP", { ss_plain, ll_plain }, 2, 1 << 2, ALLOWED },
	{ "MP+dmbs", { ss_dmb, ll_dmb }, 2, 1 << 2, FORBIDDEN },
	{ "MP+dmb.st+dmb.ld", { ss_dmb_st, ll_dmb_ld }, 2, 1 << 2, FORBIDDEN },
	{ "MP+release+acquire", { ss_release, ll_acquire }, 2, 1 << 2, FORBIDDEN },
	{ "MP+dsb+acquires", { ss_dsb, ll_acquires }, 2, 1 << 2, FORBIDDEN },
	/* Store buffering: neither sees the other's store. */
	{ "SB", { sl_plain, sl_plain }, 2, 0, SHOWN },
	{ "SB+dmb.sts", { sl_dmb_st, sl_dmb_st }, 2, 0, ALLOWED },
	{ "SB+dmb.lds", { sl_dmb_ld, sl_dmb_ld }, 2, 0, ALLOWED },
	{ "SB+dmbs", { sl_dmb, sl_dmb }, 2, 0, FORBIDDEN },
	{ "SB+release+acquire", { sl_release, sl_release }, 2, 0, FORBIDDEN },
	{ "SB+exclusive+dmb", { sl_exclusive, sl_dmb }, 2, 0, FORBIDDEN },
	/* Load buffering: both see the other's later store. */
	{ "LB", { ls_plain, ls_plain }, 2, 1 | 1 << 2, ALLOWED },
	{ "LB+dmb.lds", { ls_dmb_ld, ls_dmb_ld }, 2, 1 | 1 << 2, FORBIDDEN },
	{ "LB+releases", { ls_release, ls_release }, 2, 1 | 1 << 2, FORBIDDEN },
	{ "LB+acquires", { ls_acquire, ls_acquire }, 2, 1 | 1 << 2, FORBIDDEN },
	/* Two reads of one location: the new value, then the old one. */
	{ "CoRR", { st_one, NULL }, 0, 1 << 2, FORBIDDEN },
	/* Two readers see the stores of two writers in different orders. */
	{ "IRIW", { st_one, st_one, ll_plain, ll_plain }, 10, 1 << 4 | 1 << 6, ALLOWED },
	{ "IRIW+dmbs", { st_one, st_one, ll_dmb, ll_dmb }, 10, 1 << 4 | 1 << 6, FORBIDDEN },
	{ "IRIW+acquires",
	  { st_release, st_release, ll_acquires, ll_acquires },
	  10,
	  1 << 4 | 1 << 6,
	  FORBIDDEN },
};

static u64 co_rr(volatile u64 *a, volatile u64 *b)
{
	return ll_plain(a, a);
}

static unsigned threads_of(const struct shape *s)
{
	return s->fn[2] ? 4 : 2;
}

/* Wait a while for the threads that are behind round @i. */
static void meet_others(unsigned cpus, unsigned i)
{
	for (unsigned t = 0; t < cpus; t++)
		for (u64 n = 0; progress[t].v < i && n < patience; n++)
			;
}

/* One batch of rounds as thread @me. */
static void run_batch(const struct shape *s, unsigned me)
{
	thread_fn *fn = s->fn[me] ? s->fn[me] : co_rr;
	unsigned cpus = threads_of(s), next_meeting = 0;
	bool swap = s->swap >> me & 1;

	for (unsigned i = 0; i < BATCH; i++) {
		if (i == next_meeting) {
			progress[me].v = i;
			meet_others(cpus, i);
			next_meeting += meet;
		}
		seen[me][i] = swap ? fn(&y[i].v, &x[i].v) : fn(&x[i].v, &y[i].v);
	}
	progress[me].v = BATCH;
}

static void other(unsigned index)
{
	for (u64 batch = 1;; batch++) {
		while (go < batch)
			arch_relax();
		arch_barrier();
		if (index < threads_of(&shapes[go_shape]))
			run_batch(&shapes[go_shape], index);
		arch_barrier();
		done[index].v = batch;
	}
}

static u64 batch_number;

static u64 play(unsigned shape, unsigned ncpus)
{
	const struct shape *s = &shapes[shape];
	unsigned n = threads_of(s);
	u64 weak = 0;

	for (unsigned i = 0; i < BATCH; i++)
		x[i].v = y[i].v = 0;
	for (unsigned t = 0; t < THREADS; t++)
		progress[t].v = 0;
	go_shape = shape;
	arch_barrier();
	go = ++batch_number;
	run_batch(s, 0);
	arch_barrier();
	for (unsigned t = 1; t < ncpus; t++)
		while (done[t].v < batch_number)
			arch_relax();
	arch_barrier();
	for (unsigned i = 0; i < BATCH; i++) {
		u64 outcome = 0;

		for (unsigned t = 0; t < n; t++)
			outcome |= (u64)seen[t][i] << 2 * t;
		weak += outcome == s->weak;
	}
	return weak;
}

void guest_main(void)
{
	static const struct guest_option options[] = { { "rounds", &rounds, NULL },
						       { "meet", &meet, NULL },
						       { "patience", &patience, NULL },
						       { "show", &show, NULL },
						       { NULL, NULL, NULL } };
	unsigned ncpus = 1;

	options_parse(options);
	while (ncpus < THREADS && arch_start_cpu(ncpus, other))
		ncpus++;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		u64 weak = 0, n = 0;

		if (threads_of(&shapes[i]) != ncpus)
			continue;
		for (; n < rounds || (shapes[i].verdict == SHOWN && !weak && n < show); n += BATCH)
			weak += play(i, ncpus);
		say("%s rounds %lu", shapes[i].name, n);
		say(" weak %lu %s\n", weak, shapes[i].verdict ? "allowed" : "forbidden");
	}
	say("END\n");
	arm_power_off();
}

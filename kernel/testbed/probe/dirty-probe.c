/*
 * dirty-probe: what KVM's dirty logging costs, one ioctl at a time, and whether a page gets lost.
 *
 * One thread and one vCPU, so that on an emulated CPU nothing else runs between two readings of the
 * clock. Prints "phase ROUND ns=N calls=N pages=N" lines and some of KVM's own counters; exits with
 * 1 if a round's log does not hold exactly the pages that the guest wrote, or with -x, which is for
 * CPUs that report too much, if it lacks one of them; or if the guest can not write its pages any
 * more when logging is off.
 */
#include "vm.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: dirty-probe [-m MIB] [-i ROUNDS] [-b 4k|thp|hugetlb] [-c MANUAL_PROTECT_CAPS]\n"
	"                   [-k PAGES_PER_CLEAR] [-e SPLIT_CHUNK] [-d RING_ENTRIES] [-s STRIDE]\n"
	"                   [-o ODD_STEP] [-S SIGNAL_NS] [-u PAGES_TO_UNMAP] [-B] [-W] [-x]\n"
	"       dirty-probe -I | -V\n";

struct cost {
	uint64_t ns;
	unsigned long calls;
};

static void on_signal(int number)
{
	(void)number;
}

static void report(const char *phase, unsigned long round, const struct cost *c,
		   unsigned long pages)
{
	printf("%s %lu ns=%llu calls=%lu pages=%lu\n", phase, round, (unsigned long long)c->ns,
	       c->calls, pages);
}

/* Sends SIGALRM to this thread every ns; ioctls see it while they run. */
static timer_t start_signals(unsigned long ns)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerspec every = { .it_value = { 0, ns }, .it_interval = { 0, ns } };
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) || timer_settime(timer, 0, &every, NULL))
		fail("timer");
	return timer;
}

/* With -B these pages are reported in the first round only: see spoil(). */
static bool is_spoilt(const struct probe_vm *p, unsigned long page)
{
	return p->options->bad_entries && page % 8 == 7;
}

/*
 * Entries are writable by user space. Has every eighth name what does not exist, each in another
 * way, or a page of the slot behind; such an entry, and no other, must be without effect.
 */
static void spoil(const struct probe_vm *p, struct kvm_dirty_gfn *g)
{
	unsigned long page = g->offset;

	if (g->slot != PROBE_SLOT || !is_spoilt(p, page))
		return;
	switch (page / 8 % 8) {
	case 0: g->slot = 7; break;         /* no such slot */
	case 1: g->slot = 0x7fff; break;    /* no slot has such a number */
	case 2: g->slot |= 3u << 16; break; /* no such address space */
	case 3: g->offset = ~0ull; break;
	case 4: g->offset |= 1ull << 52; break;
	default: g->offset += p->pages; /* beyond the end, where the next slot is */
	}
}

/* Marks harvested entries, and their pages in log; returns how many there were. */
static unsigned long harvest(struct probe_vm *p, unsigned long *next, unsigned long *log)
{
	unsigned long before = *next;

	for (;; (*next)++) {
		struct kvm_dirty_gfn *g = &p->ring[*next % p->options->ring_entries];

		if (!(__atomic_load_n(&g->flags, __ATOMIC_ACQUIRE) & KVM_DIRTY_GFN_F_DIRTY))
			return *next - before;
		if (g->slot == PROBE_SLOT && g->offset < p->pages)
			log[g->offset / 64] |= 1ul << g->offset % 64;
		if (p->options->bad_entries)
			spoil(p, g);
		__atomic_store_n(&g->flags, KVM_DIRTY_GFN_F_RESET, __ATOMIC_RELEASE);
	}
}

/* Until all of pages are reset: a signal ends a call early, with what it did as its result. */
static void reset_rings(struct probe_vm *p, unsigned long pages, struct cost *c)
{
	uint64_t t = now();

	for (unsigned long done = 0; done < pages; c->calls++) {
		int r = ioctl(p->vm, KVM_RESET_DIRTY_RINGS, 0);

		if (r < 0 && errno != EINTR)
			fail("KVM_RESET_DIRTY_RINGS");
		done += r > 0 ? r : 0;
	}
	c->ns += now() - t;
}

static unsigned long ring_round(struct probe_vm *p, unsigned long round, unsigned long *log)
{
	static unsigned long next;
	struct cost reset = { 0 };
	unsigned long all = 0;
	timer_t timer = NULL;
	bool full;

	memset(log, 0, (p->pages / 64 + 1) * sizeof(*log));
	do {
		unsigned long pages;

		full = vm_run(p);
		pages = harvest(p, &next, log);
		if (p->options->signal_ns)
			timer = start_signals(p->options->signal_ns);
		reset_rings(p, pages, &reset);
		if (p->options->signal_ns)
			timer_delete(timer);
		all += pages;
	} while (full);
	report("reset", round, &reset, all);
	return all;
}

static void clear_log(struct probe_vm *p, unsigned long *log, struct cost *c)
{
	unsigned long step = p->options->clear_pages ? p->options->clear_pages : p->pages;
	uint64_t t = now();

	for (unsigned long at = 0; at < p->pages; at += step, c->calls++) {
		struct kvm_clear_dirty_log clear = {
			.slot = PROBE_SLOT,
			.first_page = at,
			.num_pages = p->pages - at < step ? p->pages - at : step,
			.dirty_bitmap = log + at / 64,
		};

		if (ioctl(p->vm, KVM_CLEAR_DIRTY_LOG, &clear))
			fail("KVM_CLEAR_DIRTY_LOG");
	}
	c->ns = now() - t;
}

/* As a balloon or a swapping host would: the pages are dirty, and not mapped at stage 2 any more.
 */
static void unmap_some(struct probe_vm *p)
{
	for (unsigned long i = 0; i < p->options->unmapped; i++)
		if (madvise(p->ram + p->pages / p->options->unmapped * i * PROBE_PAGE, PROBE_PAGE,
			    MADV_DONTNEED))
			fail("MADV_DONTNEED");
}

/* Pages in the log; with initially-set logs the first round reports all. */
static unsigned long bitmap_round(struct probe_vm *p, unsigned long round, unsigned long *log)
{
	struct kvm_dirty_log get = { .slot = PROBE_SLOT, .dirty_bitmap = log };
	struct cost got = { .calls = 1 }, cleared = { 0 };
	unsigned long pages = 0;

	vm_run(p);
	unmap_some(p);
	got.ns = now();
	if (ioctl(p->vm, KVM_GET_DIRTY_LOG, &get))
		fail("KVM_GET_DIRTY_LOG");
	got.ns = now() - got.ns;
	for (unsigned long i = 0; i < p->pages / 64; i++)
		pages += __builtin_popcountl(log[i]);
	report("get", round, &got, pages);
	if (p->options->manual_caps) {
		clear_log(p, log, &cleared);
		report("clear", round, &cleared, pages);
	}
	return pages;
}

static void set_log(struct probe_vm *p, bool on)
{
	struct cost c = { .ns = now(), .calls = 1 };

	vm_log(p, on);
	c.ns = now() - c.ns;
	report(on ? "enable" : "disable", 0, &c, p->pages);
}

/* Pages that the guest has written and log does not have. */
static unsigned long missing(const struct probe_vm *p, unsigned long round,
			     const unsigned long *log)
{
	unsigned long count = 0;

	for (unsigned long i = 0; i < p->written && i * p->options->stride < p->pages; i++) {
		unsigned long page = i * p->options->stride;

		if (round == 0 || !is_spoilt(p, page))
			count += !(log[page / 64] >> page % 64 & 1);
	}
	return count;
}

/* Pages that the log of a round has to hold. */
static unsigned long expected(const struct probe_vm *p, unsigned long round)
{
	const struct probe_options *o = p->options;

	if (o->bad_entries)
		return round == 0 ? p->pages : p->pages - p->pages / 8;
	if (round == 0 && o->manual_caps & KVM_DIRTY_LOG_INITIALLY_SET && !p->ring)
		return p->pages;
	return p->written;
}

#define VMID_ROUNDS 4

/* Has the pages of a VM that has never run cleaned, 64 at a time, beside another process. */
static void clear_beside(struct probe_vm *p, int *arrived)
{
	unsigned long *log = malloc(p->pages / 8);

	for (int r = 1; r <= VMID_ROUNDS; r++) {
		struct cost cleared = { 0 };

		vm_log(p, true);
		memset(log, 0xff, p->pages / 8);
		__atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < 2 * r)
			;
		clear_log(p, log, &cleared);
		vm_log(p, false);
	}
	free(log);
}

/*
 * Initially-set logs have the pages of VMs cleaned that have never run. What CPUs do for that in
 * the tables of two of them at once must not be under one VMID; the emulator's checker
 * (dirty-state-check=on) tells. Needs two CPUs.
 */
static int check_vmids(const struct probe_options *o)
{
	struct probe_options both = *o;
	struct probe_vm p;
	int status, *arrived;
	pid_t child;

	both.manual_caps = KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE | KVM_DIRTY_LOG_INITIALLY_SET;
	both.clear_pages = 64;
	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (arrived == MAP_FAILED)
		fail("mmap");
	child = fork();
	if (child < 0)
		fail("fork");
	vm_create(&p, &both);
	clear_beside(&p, arrived);
	if (!child)
		exit(0);
	if (waitpid(child, &status, 0) != child || status)
		fail("the other process");
	vm_print_stats(&p);
	return 0;
}

/* Exits for a page that the guest writes, from which on it does not get on. */
#define EXITS_PER_PAGE 16

/* Logging is off: the guest writes its pages once more; false if it can not. */
static bool write_after(struct probe_vm *p)
{
	uint64_t exits = vm_stat(p, "exits");
	struct cost c = { .calls = 1 };
	timer_t timer = start_signals(100000000);
	bool done;

	c.ns = now();
	done = vm_run_within(p, EXITS_PER_PAGE * p->written + 1000);
	c.ns = now() - c.ns;
	timer_delete(timer);
	if (done)
		report("after", 0, &c, p->written);
	exits = vm_stat(p, "exits") - exits;
	printf(done ? "exits after %llu\n" : "the guest does not get on: %llu exits\n",
	       (unsigned long long)exits);
	return done;
}

static int measure(const struct probe_options *o)
{
	struct probe_vm p;
	unsigned long *log, lost = 0;
	bool stuck;

	vm_create(&p, o);
	log = calloc(p.pages / 64 + 1, sizeof(*log));
	vm_run(&p);
	set_log(&p, true);
	for (unsigned long r = 0; r < o->rounds; r++) {
		unsigned long long exits = vm_stat(&p, "exits");
		unsigned long pages = p.ring ? ring_round(&p, r, log) : bitmap_round(&p, r, log);
		unsigned long absent = missing(&p, r, log), want = expected(&p, r);

		if (absent || pages != want) {
			printf("round %lu: %lu pages written, %lu in the log, %lu of them not\n", r,
			       want, pages, absent);
			lost += absent || !o->may_report_more;
		}
		printf("exits %lu %llu\n", r, vm_stat(&p, "exits") - exits);
	}
	if (o->write_again)
		vm_run(&p);
	set_log(&p, false);
	stuck = !write_after(&p);
	vm_print_stats(&p);
	printf(lost ? "lost\n" : "complete\n");
	return lost || stuck ? 1 : 0;
}

static bool parse_backing(const char *text, enum backing *backing)
{
	static const char *const names[] = {
		[BACKING_4K] = "4k", [BACKING_THP] = "thp", [BACKING_HUGETLB] = "hugetlb"
	};

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			*backing = i;
			return true;
		}
	return false;
}

static bool parse(int argc, char **argv, struct probe_options *o)
{
	bool *flag[256] = {
		['x'] = &o->may_report_more, ['B'] = &o->bad_entries, ['W'] = &o->write_again,
		['I'] = &o->check_ids,       ['V'] = &o->check_vmids,
	};
	unsigned long *number[256] = {
		['m'] = &o->mib,         ['i'] = &o->rounds,      ['c'] = &o->manual_caps,
		['k'] = &o->clear_pages, ['e'] = &o->split_chunk, ['d'] = &o->ring_entries,
		['s'] = &o->stride,      ['o'] = &o->step,        ['S'] = &o->signal_ns,
		['u'] = &o->unmapped,
	};
	int c;

	while ((c = getopt(argc, argv, "m:i:c:k:e:d:s:o:S:b:u:xBWIV")) != -1) {
		char *end;

		if (c == 'b' && parse_backing(optarg, &o->backing))
			continue;
		if (flag[c & 255]) {
			*flag[c & 255] = true;
			continue;
		}
		if (c == '?' || !number[c])
			return false;
		*number[c] = strtoul(optarg, &end, 0);
		if (*end || end == optarg)
			return false;
	}
	/* The guest walks its pages with a mask, the log is read in words. */
	return optind == argc && o->mib && !(o->mib & (o->mib - 1)) && o->stride &&
	       !(o->stride & (o->stride - 1)) && o->step & 1 && o->clear_pages % 64 == 0 &&
	       (!o->bad_entries || (o->ring_entries && o->stride == 1));
}

int main(int argc, char **argv)
{
	struct probe_options o = { .mib = 64, .rounds = 3, .stride = 1, .step = 1 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!parse(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	if (o.check_ids)
		return check_ids(&o);
	return o.check_vmids ? check_vmids(&o) : measure(&o);
}

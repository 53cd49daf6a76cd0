/*
 * writer.c - test guest that rewrites a window of its RAM in a known way and can prove it intact.
 *
 * Each page carries its own address and how often it was written, and the guest knows from its own
 * state what that number must be: a page that a migration lost, or sent too old, is found by the
 * check. Fill and window start at base=, counted from the start of RAM; the window is what is
 * rewritten, the fill is written once.
 *
 * Options: base, window, fill (bytes), rate (MiB/s of pages touched, 0 is as fast as it can),
 * order (seq, random, zipf), touch (bytes written a page), passes (stop after so many, 0 is never),
 * cpus, seed.
 * Commands, one byte each: 'c' check, 'p' pause, 'r' run, 's' statistics.
 */
#include "guest.h"

#define BATCH_PAGES    32         /* between two looks at the clock */
#define COMMAND_NS     20000000   /* between two looks for a command */
#define MAX_LAG_NS     500000000  /* a stall longer than this is not caught up with */
#define COUNTS         0x400000UL /* offset of the table of u32, one a page; before base= */
#define MIN_TOUCH      16
#define WORDS_PER_PAGE (PAGE_SIZE / sizeof(u64))

enum { ORDER_SEQ, ORDER_RANDOM, ORDER_ZIPF };

/* One a CPU; nobody else writes it. */
struct writer {
	u64 first, npages; /* its part of the window, page numbers from base */
	u64 pos, pass;     /* pages below pos have been written in pass + 1 passes */
	u64 written;       /* pages in all */
	u64 rate_pages;    /* a second, 0 is no limit */
	u64 paced_from_ns, paced_pages;
	u64 random;
	u64 zipf_step; /* coprime to npages, spreads the ranks */
	volatile bool parked;
};

static const char *const order_names[] = { "seq", "random", "zipf", NULL };

static u64 base = 16 << 20, window = 64 << 20, fill, rate, order, touch = 64, passes;
static u64 cpus = 1, seed = 1;
static struct writer writers[MAX_CPUS];
static volatile bool paused;

static const struct guest_option options[] = {
	{ "base", &base, NULL }, { "window", &window, NULL },      { "fill", &fill, NULL },
	{ "rate", &rate, NULL }, { "order", &order, order_names }, { "touch", &touch, NULL },
	{ "cpus", &cpus, NULL }, { "passes", &passes, NULL },      { "seed", &seed, NULL },
	{ NULL, NULL, NULL },
};

static u64 *page_at(u64 index)
{
	return (u64 *)(uintptr_t)(arch_ram_base + base + index * PAGE_SIZE);
}

static u32 *count_of(u64 index)
{
	return (u32 *)(uintptr_t)(arch_ram_base + COUNTS) + index;
}

/* Word @i of the page at @addr after its write number @count; number 0 is the fill. */
static u64 pattern(u64 addr, u64 count, unsigned i)
{
	u64 x;

	if (i == 0)
		return addr;
	if (i == 1)
		return count;
	x = (addr + i) * 0x9e3779b97f4a7c15ULL + count * 0xc2b2ae3d27d4eb4fULL;
	return x ^ x >> 29;
}

static void write_page(u64 index, u64 count, unsigned words)
{
	volatile u64 *page = page_at(index);

	for (unsigned i = 0; i < words; i++)
		page[i] = pattern((uintptr_t)page, count, i);
}

/* xorshift; the state must not be 0 */
static u64 random_next(u64 *state)
{
	u64 x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static u64 gcd(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void writer_init(struct writer *w, unsigned index)
{
	u64 npages = window / PAGE_SIZE;

	w->first = npages * index / cpus;
	w->npages = npages * (index + 1) / cpus - w->first;
	w->rate_pages = rate * (1 << 20) / PAGE_SIZE / cpus;
	w->random = (seed + index) * 0x9e3779b97f4a7c15ULL | 1;
	w->zipf_step = w->npages * 5 / 8 | 1;
	while (gcd(w->zipf_step, w->npages) != 1)
		w->zipf_step += 2;
}

/*
 * Rank r comes with a probability near 1 / r: an octave is drawn evenly, then a rank inside it.
 * The ranks are spread over the window, so that hot pages are not neighbours.
 */
static u64 zipf_page(struct writer *w)
{
	unsigned octaves = 64 - __builtin_clzll(w->npages);
	u64 low = 1ULL << random_next(&w->random) % octaves;
	u64 rank = low + random_next(&w->random) % low;

	return rank > w->npages ? 0 : (rank - 1) * w->zipf_step % w->npages;
}

static u64 next_page(struct writer *w)
{
	if (order == ORDER_SEQ)
		return w->first + w->pos;
	if (order == ORDER_RANDOM)
		return w->first + random_next(&w->random) % w->npages;
	return w->first + zipf_page(w);
}

static void write_next(struct writer *w)
{
	u64 index = next_page(w);
	u64 count = order == ORDER_SEQ ? w->pass + 1 : (u64)*count_of(index) + 1;

	write_page(index, count, touch / sizeof(u64));
	if (order != ORDER_SEQ)
		*count_of(index) = count;
	w->written++;
	if (++w->pos == w->npages) {
		w->pos = 0;
		w->pass++;
	}
}

/* How many pages may be written now; fewer than a batch when the rate says so. */
static unsigned allowance(struct writer *w)
{
	u64 now, due;

	if (!w->rate_pages)
		return BATCH_PAGES;
	now = now_ns() - w->paced_from_ns;
	if (now > 1000000000) { /* keeps the product below small */
		w->paced_from_ns += 1000000000;
		w->paced_pages -= w->rate_pages;
		now -= 1000000000;
	}
	if (now > 1000000000) { /* stood still for long */
		w->paced_from_ns += now;
		w->paced_pages = 0;
		return 0;
	}
	due = now * w->rate_pages / 1000000000;
	if ((int64_t)(due - w->paced_pages) <= 0)
		return 0;
	if (due - w->paced_pages > w->rate_pages * (MAX_LAG_NS / 1000000) / 1000)
		w->paced_pages = due - w->rate_pages * (MAX_LAG_NS / 1000000) / 1000;
	return due - w->paced_pages < BATCH_PAGES ? due - w->paced_pages : BATCH_PAGES;
}

static void write_batch(struct writer *w)
{
	unsigned n;

	if (passes && w->pass >= passes) {
		arch_relax();
		return;
	}
	n = allowance(w);
	if (!n)
		arch_relax();
	w->paced_pages += n;
	while (n--)
		write_next(w);
}

static u64 count_wanted(const struct writer *w, u64 index)
{
	if (order == ORDER_SEQ)
		return w->pass + (index - w->first < w->pos);
	return *count_of(index);
}

/* Compares one page word by word; @w is NULL for pages outside the window. */
static bool check_page(const struct writer *w, u64 index)
{
	const volatile u64 *page = page_at(index);
	u64 count = w ? count_wanted(w, index) : 0;
	bool filled = index < fill / PAGE_SIZE;

	for (unsigned i = 0; i < WORDS_PER_PAGE; i++) {
		u64 want = 0;

		if (count && i < touch / sizeof(u64))
			want = pattern((uintptr_t)page, count, i);
		else if (filled)
			want = pattern((uintptr_t)page, 0, i);
		if (page[i] != want) {
			say("\nBAD addr=0x%lx word=%lu want=0x%lx got=0x%lx\n",
			    (u64)(uintptr_t)page, (u64)i, want, page[i]);
			return false;
		}
	}
	return true;
}

static bool check_writer(const struct writer *w)
{
	u64 sum = 0;

	for (u64 i = w->first; i < w->first + w->npages; i++) {
		if (!check_page(w, i))
			return false;
		sum += count_wanted(w, i);
		if (i % BATCH_PAGES == 0)
			poll_clock();
	}
	if (sum != w->written)
		say("\nBAD sum of counts want=%lu got=%lu\n", w->written, sum);
	return sum == w->written;
}

static u64 total_written(void)
{
	u64 sum = 0;

	for (unsigned i = 0; i < cpus; i++)
		sum += writers[i].written;
	return sum;
}

static void check_all(void)
{
	for (unsigned i = 0; i < cpus; i++)
		if (!check_writer(&writers[i]))
			return;
	for (u64 i = window / PAGE_SIZE; i < fill / PAGE_SIZE; i++) {
		if (!check_page(NULL, i))
			return;
		if (i % BATCH_PAGES == 0)
			poll_clock();
	}
	say("\nOK pass=%lu written=%lu\n", writers[0].pass, total_written());
}

static void set_paused(bool pause)
{
	paused = pause;
	arch_barrier();
	for (unsigned i = 1; i < cpus; i++)
		while (writers[i].parked != pause) {
			arch_relax();
			poll_clock();
		}
}

static void run_command(int command)
{
	bool was_paused = paused;

	switch (command) {
	case 'c':
		set_paused(true);
		check_all();
		set_paused(was_paused);
		break;
	case 'p':
		set_paused(true);
		say("\nPAUSED written=%lu\n", total_written());
		break;
	case 'r':
		set_paused(false);
		say("\nRUNNING written=%lu\n", total_written());
		break;
	case 's':
		say("\nSTAT pass=%lu written=%lu ns=%lu host_ns=%lu\n", writers[0].pass,
		    total_written(), now_ns(), testdev_host_ns());
		break;
	default: say("\nERROR command %lu is not known\n", (u64)command);
	}
}

static void poll_commands(void)
{
	static u64 next_ns;
	u64 now = now_ns();
	int command;

	if (now < next_ns)
		return;
	next_ns = now + COMMAND_NS;
	command = command_read();
	if (command >= 0)
		run_command(command);
}

static void other_cpu(unsigned index)
{
	struct writer *w = &writers[index];

	w->paced_from_ns = now_ns();
	for (;;) {
		w->parked = paused;
		if (paused)
			arch_relax();
		else
			write_batch(w);
	}
}

static void check_options(void)
{
	u64 size = window > fill ? window : fill;

	if (touch < MIN_TOUCH || touch > PAGE_SIZE || touch % sizeof(u64))
		die("touch=%lu must be a multiple of 8 from 16 to 4096", touch);
	if (!cpus || cpus > MAX_CPUS)
		die("cpus=%lu must be from 1 to 16", cpus);
	if ((base | window | fill) % PAGE_SIZE || window / PAGE_SIZE < cpus * 4)
		die("base, window and fill must be whole pages, four of the window to a CPU");
	if (!arch_ram_covers(arch_ram_base + base, size))
		die("RAM does not reach from 0x%lx to 0x%lx", arch_ram_base + base,
		    arch_ram_base + base + size);
	if (COUNTS + size / PAGE_SIZE * sizeof(u32) > base)
		die("base=0x%lx leaves no room for the counts of the window", base);
	if (!seed || !arch_ticks_hz())
		die("seed must not be 0, and the counter's frequency must be known: give tsc=KHZ");
}

void guest_main(void)
{
	options_parse(options);
	check_options();
	say("writer base=0x%lx window=0x%lx fill=0x%lx rate=%lu order=%s touch=%lu cpus=%lu "
	    "hz=%lu\n",
	    base, window, fill, rate, order_names[order], touch, cpus, arch_ticks_hz());
	for (u64 i = 0; i < fill / PAGE_SIZE; i++) {
		write_page(i, 0, WORDS_PER_PAGE);
		if (i % BATCH_PAGES == 0)
			poll_clock();
	}
	for (unsigned i = 0; i < cpus; i++)
		writer_init(&writers[i], i);
	for (unsigned i = 1; i < cpus; i++)
		if (!arch_start_cpu(i, other_cpu))
			die("CPU %lu did not start", (u64)i);
	say("\nREADY\n");
	writers[0].paced_from_ns = now_ns();
	for (;;) {
		poll_clock();
		poll_commands();
		if (paused)
			arch_relax();
		else
			write_batch(&writers[0]);
	}
}

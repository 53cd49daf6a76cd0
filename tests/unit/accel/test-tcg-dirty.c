/*
 * Dirty tracking under TCG, with an architecture of our own whose only instruction writes the next
 * page: each first store is reported once, re-arming makes the next one be reported again, and a
 * client that takes, clears and then copies ends with a copy that equals the memory.
 */
#include "accel/tcg.h"
#include "accel/tcg/mem.h"
#include "accel/tcg/work.h"
#include "accel/vcpu.h"
#include "util/lock.h"

#define PAGES  256 /* of each vCPU */
#define CPUS   2
#define ROUNDS 40

struct toy {
	struct tcg_cpu tcg; /* first: the functions below get a pointer to it */
	struct tcg_mmu *mmu;
	struct vcpu *vcpu;
	u64 written; /* stores so far */
	u64 limit;   /* then sleep; 0: never */
	unsigned rearmed, flushed, reported;
};

struct fixture {
	struct vm *vm;
	struct ramblock *block;
	struct toy *toy[CPUS];
};

static struct fixture *fix;

static struct toy *toy_of(struct tcg_cpu *tcg)
{
	return (struct toy *)tcg;
}

static void fill(struct tcg_cpu *tcg, u64 va, enum tcg_access access, unsigned size,
		 struct tcg_page *page)
{
	u64 base = va & TCG_PAGE_MASK;

	*page = (struct tcg_page){
		.phys = base,
		.host = fix->block->host + base,
		.readable = true,
		.writable = true,
		.track = tcg_must_track(fix->block, base >> TCG_PAGE_BITS),
	};
}

static void first_store(struct tcg_cpu *tcg, const struct tcg_page *page)
{
	toy_of(tcg)->reported++;
	tcg_mark_dirty(fix->vm->accel, fix->block, page->phys >> TCG_PAGE_BITS);
}

/* The number of the store goes to the next page of this vCPU. */
static void step(struct tcg_cpu *tcg)
{
	struct toy *t = toy_of(tcg);
	u64 page = t->vcpu->index * PAGES + t->written % PAGES;

	tcg_store(tcg, page << TCG_PAGE_BITS, t->written + 1, 8);
	__atomic_store_n(&t->written, t->written + 1, __ATOMIC_RELAXED);
	if (t->written == t->limit)
		__atomic_store_n(&tcg->exit_request, 1, __ATOMIC_SEQ_CST);
}

static bool service(struct tcg_cpu *tcg, bool raised)
{
	struct toy *t = toy_of(tcg);

	__atomic_store_n(&tcg->exit_request, 0, __ATOMIC_SEQ_CST);
	while (!vcpu_must_park(t->vcpu)) {
		if (t->written != t->limit || !t->limit)
			return true;
		tcg_cpu_sleep(tcg);
		__atomic_store_n(&tcg->exit_request, 0, __ATOMIC_SEQ_CST);
	}
	return false;
}

static void rearm(struct tcg_cpu *tcg)
{
	toy_of(tcg)->rearmed++;
	tcg_mmu_rearm(toy_of(tcg)->mmu);
}

static void flush(struct tcg_cpu *tcg)
{
	toy_of(tcg)->flushed++;
	tcg_mmu_flush(toy_of(tcg)->mmu);
}

static const struct tcg_ops toy_ops = { .fill = fill,
					.first_store = first_store,
					.step = step,
					.service = service,
					.rearm = rearm,
					.flush = flush };

static void reset(struct vcpu *vcpu)
{
}

static struct tcg_cpu *get_tcg(struct vcpu *vcpu)
{
	struct toy *t = vcpu->arch;

	t->vcpu = vcpu;
	return &t->tcg;
}

static const struct cpu_ops toy_cpu_ops = { .name = "toy", .reset = reset, .tcg_cpu = get_tcg };

static void setup(struct fixture *f, gconstpointer data)
{
	static const struct vm_owner owner;
	struct ram_spec spec = { .id = "ram", .size = CPUS * PAGES * TCG_PAGE_SIZE, .fd = -1 };
	g_autoptr(JsonObject) props = json_object_new();

	fix = f;
	machine_lock();
	f->vm = vm_create(false, &owner);
	g_assert_cmpint(vm_attach_accel(f->vm, &tcg_accel_ops, props, NULL), ==, 0);
	f->block = ram_create(f->vm->ram, &spec, NULL);
	for (int i = 0; i < CPUS; i++) {
		struct toy *t = g_aligned_alloc0(1, sizeof(*t), 64);

		t->tcg.ops = &toy_ops;
		t->mmu = tcg_mmu_create();
		tcg_cpu_register(&t->tcg, false);
		tcg_select(&t->tcg, t->mmu, 0);
		f->toy[i] = t;
		g_assert_nonnull(vcpu_create(f->vm, &toy_cpu_ops, t, NULL));
	}
}

static void teardown(struct fixture *f, gconstpointer data)
{
	vm_destroy(f->vm);
	for (int i = 0; i < CPUS; i++) {
		tcg_cpu_unregister(&f->toy[i]->tcg);
		tcg_mmu_destroy(f->toy[i]->mmu);
		g_aligned_free(f->toy[i]);
	}
	machine_unlock();
}

/* Let each vCPU make @n stores and sleep, then stop the machine. */
static void run_stores(struct fixture *f, u64 n)
{
	for (int i = 0; i < CPUS; i++)
		f->toy[i]->limit = f->toy[i]->written + n;
	vm_start(f->vm);
	for (int i = 0; i < CPUS; i++)
		while (!__atomic_load_n(&f->toy[i]->tcg.sleeping, __ATOMIC_SEQ_CST))
			g_thread_yield();
	vm_stop(f->vm, RUN_STATE_PAUSED);
}

static u64 take_all(struct fixture *f)
{
	u64 n = dirty_map_take(&f->block->dirty, DIRTY_MIGRATION, 0, CPUS * PAGES, NULL);

	g_assert_cmpint(dirty_tracker_clear(f->vm->tracker, DIRTY_MIGRATION, f->block, 0,
					    CPUS * PAGES, NULL, NULL),
			==, 0);
	return n;
}

static void test_reported_once(struct fixture *f, gconstpointer data)
{
	run_stores(f, PAGES); /* no client: nothing to report, and fast entries for all */
	g_assert_cmpuint(f->toy[0]->reported, ==, 0);
	g_assert_cmpint(dirty_tracker_start(f->vm->tracker, DIRTY_MIGRATION, false, NULL), ==, 0);
	run_stores(f, 10);
	g_assert_cmpuint(f->toy[0]->reported, ==, 10);
	g_assert_cmpuint(take_all(f), ==, CPUS * 10);
	run_stores(f, 2 * PAGES); /* every page twice */
	g_assert_cmpuint(f->toy[0]->reported, ==, 10 + PAGES);
	g_assert_cmpuint(take_all(f), ==, CPUS * PAGES);
	g_assert_cmpuint(take_all(f), ==, 0);
	dirty_tracker_stop(f->vm->tracker, DIRTY_MIGRATION);
	run_stores(f, PAGES);
	g_assert_cmpuint(f->toy[0]->reported, ==, 10 + PAGES);
}

/* A page that is dirty for one client only must be reported for the other. */
static void test_two_clients(struct fixture *f, gconstpointer data)
{
	struct dirty_map *map = &f->block->dirty;

	g_assert_cmpint(dirty_tracker_start(f->vm->tracker, DIRTY_MIGRATION, true, NULL), ==, 0);
	run_stores(f, 1);
	g_assert_cmpuint(f->toy[0]->reported, ==, 0);
	g_assert_cmpint(dirty_tracker_start(f->vm->tracker, DIRTY_RATE, false, NULL), ==, 0);
	run_stores(f, 1);
	g_assert_true(dirty_map_test(map, DIRTY_RATE, 1));
	g_assert_cmpuint(dirty_map_count(map, DIRTY_RATE), ==, CPUS);
	dirty_tracker_stop(f->vm->tracker, DIRTY_RATE);
	dirty_tracker_stop(f->vm->tracker, DIRTY_MIGRATION);
}

/* Work for a vCPU that does not run must not pile up. */
static void test_work_is_bounded(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(dirty_tracker_start(f->vm->tracker, DIRTY_MIGRATION, true, NULL), ==, 0);
	for (unsigned i = 0; i < 1000; i++)
		take_all(f);
	g_assert_cmpuint(f->toy[0]->tcg.work->len, <=, 64);
	run_stores(f, PAGES);
	g_assert_cmpuint(f->toy[0]->flushed, ==, 1);
	g_assert_cmpuint(take_all(f), ==, CPUS * PAGES);
	dirty_tracker_stop(f->vm->tracker, DIRTY_MIGRATION);
}

/* Not instrumented: a client reads pages that vCPUs go on writing, and that is the point. */
__attribute__((no_sanitize("thread"))) static void copy_page(u64 *to, const volatile u64 *from)
{
	for (unsigned i = 0; i < TCG_PAGE_SIZE / 8; i++)
		to[i] = from[i];
}

static void copy_taken(struct fixture *f, u64 *copy)
{
	u64 bits[CPUS * PAGES / 64];

	dirty_map_take(&f->block->dirty, DIRTY_MIGRATION, 0, CPUS * PAGES, bits);
	g_assert_cmpint(dirty_tracker_clear(f->vm->tracker, DIRTY_MIGRATION, f->block, 0,
					    CPUS * PAGES, bits, NULL),
			==, 0);
	for (unsigned page = 0; page < CPUS * PAGES; page++)
		if (bits[page / 64] >> (page % 64) & 1)
			copy_page(copy + page * (TCG_PAGE_SIZE / 8),
				  (const u64 *)(f->block->host + page * TCG_PAGE_SIZE));
}

/* Whether every vCPU has gone over its pages again and again since @from. */
static bool all_have_written(struct fixture *f, const u64 *from)
{
	for (int i = 0; i < CPUS; i++)
		if (__atomic_load_n(&f->toy[i]->written, __ATOMIC_RELAXED) < from[i] + 10 * PAGES)
			return false;
	return true;
}

static void test_copy_is_equal(struct fixture *f, gconstpointer data)
{
	g_autofree u64 *copy = g_malloc0(CPUS * PAGES * TCG_PAGE_SIZE);

	for (unsigned attempt = 0; attempt < 4; attempt++) {
		u64 from[CPUS] = { f->toy[0]->written, f->toy[1]->written };

		g_assert_cmpint(dirty_tracker_start(f->vm->tracker, DIRTY_MIGRATION, true, NULL),
				==, 0);
		f->toy[0]->limit = f->toy[1]->limit = 0;
		vm_start(f->vm);
		machine_unlock();
		for (unsigned i = 0; i < ROUNDS || !all_have_written(f, from); i++) {
			copy_taken(f, copy);
			g_thread_yield();
		}
		machine_lock();
		vm_stop(f->vm, RUN_STATE_PAUSED);
		copy_taken(f, copy);
		g_assert_cmpmem(copy, CPUS * PAGES * TCG_PAGE_SIZE, f->block->host,
				CPUS * PAGES * TCG_PAGE_SIZE);
		dirty_tracker_stop(f->vm->tracker, DIRTY_MIGRATION);
	}
}

static void test_map_change_flushes(struct fixture *f, gconstpointer data)
{
	struct mapping map = {
		.name = "ram", .size = f->block->used_size, .kind = MAP_RAM, .block = f->block
	};

	run_stores(f, 1);
	address_space_map(f->vm->memory, &map);
	run_stores(f, 1);
	g_assert_cmpuint(f->toy[0]->flushed, ==, 1);
	address_space_unmap(f->vm->memory, &map);
}

#define ADD(path, fn) g_test_add(path, struct fixture, NULL, setup, fn, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/tcg-dirty/reported-once", test_reported_once);
	ADD("/tcg-dirty/two-clients", test_two_clients);
	ADD("/tcg-dirty/work-is-bounded", test_work_is_bounded);
	ADD("/tcg-dirty/copy-is-equal", test_copy_is_equal);
	ADD("/tcg-dirty/map-change", test_map_change_flushes);
	return g_test_run();
}

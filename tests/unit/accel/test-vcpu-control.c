/*
 * tests/unit/accel/test-vcpu-control.c - parking, resuming, requests and throttling, with vCPU
 * threads that count instead of running a guest.
 */
#include "accel/vcpu.h"
#include "util/keyval.h"
#include "util/lock.h"
#include "util/main-loop.h"

#define CPUS 4

struct spinner {
	u64 rounds;   /* atomic */
	int kicked;   /* atomic; as immediate_exit */
	bool request; /* atomic; ask for a reset at the next round */
	bool locks;   /* takes the machine lock in each round, as MMIO does */
	bool busy;    /* atomic; does not sleep between rounds */
};

static struct spinner spinners[CPUS];
static int resets, shutdowns, stops;
static bool parked_at_reset;

static gpointer spin(gpointer opaque)
{
	struct vcpu *cpu = opaque;
	struct spinner *s = cpu->accel_data;

	vcpu_thread_init(cpu);
	while (vcpu_wait_runnable(cpu)) {
		while (!__atomic_exchange_n(&s->kicked, 0, __ATOMIC_SEQ_CST)) {
			if (s->locks) {
				machine_lock();
				machine_unlock();
			}
			__atomic_fetch_add(&s->rounds, 1, __ATOMIC_SEQ_CST);
			if (__atomic_exchange_n(&s->request, false, __ATOMIC_SEQ_CST))
				vm_request_reset(cpu->vm, SHUTDOWN_GUEST_RESET);
			if (!__atomic_load_n(&s->busy, __ATOMIC_RELAXED))
				g_usleep(50);
		}
	}
	return NULL;
}

static const struct accel_ops spin_ops;

static struct accel *spin_create(struct vm *vm, JsonObject *props, GError **err)
{
	struct accel *a = g_new0(struct accel, 1);

	a->ops = &spin_ops;
	a->vm = vm;
	return a;
}

static void spin_destroy(struct accel *a)
{
	g_free(a);
}

static int spin_vcpu_create(struct accel *a, struct vcpu *cpu, GError **err)
{
	spinners[cpu->index] = (struct spinner){ .locks = cpu->index & 1 };
	cpu->accel_data = &spinners[cpu->index];
	cpu->thread = g_thread_new("spin", spin, cpu);
	return 0;
}

static void spin_vcpu_destroy(struct accel *a, struct vcpu *cpu)
{
}

static void spin_kick(struct accel *a, struct vcpu *cpu)
{
	__atomic_store_n(&((struct spinner *)cpu->accel_data)->kicked, 1, __ATOMIC_SEQ_CST);
}

static const struct accel_ops spin_ops = {
	.name = "spin",
	.create = spin_create,
	.destroy = spin_destroy,
	.vcpu_create = spin_vcpu_create,
	.vcpu_destroy = spin_vcpu_destroy,
	.vcpu_kick = spin_kick,
};

static void no_reset(struct vcpu *cpu)
{
}

static const struct cpu_ops cpu_ops = { .name = "none", .reset = no_reset };

static bool all_parked(struct vm *vm)
{
	for (int i = 0; i < vm->ncpus; i++)
		if (!vm->cpus[i]->stopped)
			return false;
	return true;
}

static void on_shutdown(void *opaque, enum shutdown_cause cause, int exit_code)
{
	shutdowns++;
	g_assert_cmpstr(shutdown_cause_name(cause), ==, "host-qmp-quit");
	g_assert_cmpint(exit_code, ==, 3);
}

static void on_reset(void *opaque, enum shutdown_cause cause)
{
	struct vm **vm = opaque;

	resets++;
	parked_at_reset = all_parked(*vm);
}

static void on_powerdown(void *opaque)
{
}

static void on_stopped(void *opaque, enum run_state state)
{
	stops++;
}

static struct vm *create(void)
{
	static struct vm *vm;
	static const struct vm_owner owner = { on_shutdown, on_reset, on_powerdown, on_stopped,
					       &vm };
	g_autoptr(GError) err = NULL;
	JsonObject *o = json_object_new();

	resets = shutdowns = stops = 0;
	vm = vm_create(false, &owner);
	g_assert_cmpint(vm_attach_accel(vm, &spin_ops, o, &err), ==, 0);
	json_object_unref(o);
	for (int i = 0; i < CPUS; i++)
		g_assert_nonnull(vcpu_create(vm, &cpu_ops, NULL, &err));
	return vm;
}

static u64 sum(void)
{
	u64 n = 0;

	for (int i = 0; i < CPUS; i++)
		n += __atomic_load_n(&spinners[i].rounds, __ATOMIC_SEQ_CST);
	return n;
}

static void rest(unsigned us)
{
	machine_unlock();
	g_usleep(us);
	machine_lock();
}

static void pump_until(const int *what, int value)
{
	for (int i = 0; i < 5000 && *what != value; i++) {
		rest(1000);
		main_loop_iterate(false);
	}
	g_assert_cmpint(*what, ==, value);
}

/* On return of vm_stop() nobody runs, every time; and vm_start() gets all of them going. */
static void test_stop_start(void)
{
	struct vm *vm = create();

	for (int i = 0; i < 300; i++) {
		u64 at, each[CPUS];

		for (int c = 0; c < CPUS; c++)
			each[c] = __atomic_load_n(&spinners[c].rounds, __ATOMIC_SEQ_CST);
		vm_start(vm);
		g_assert_true(vm_running(vm));
		for (int c = 0; c < CPUS && i % 10 == 0; c++)
			for (int w = 0;
			     __atomic_load_n(&spinners[c].rounds, __ATOMIC_SEQ_CST) == each[c];
			     w++) {
				g_assert_cmpint(w, <, 5000);
				rest(100);
			}
		vm_stop(vm, RUN_STATE_PAUSED);
		g_assert_true(all_parked(vm));
		at = sum();
		if (i % 10 == 0)
			rest(300);
		g_assert_cmpuint(sum(), ==, at);
	}
	g_assert_cmpint(stops, ==, 300);
	vm_destroy(vm);
}

static gpointer stop_and_start(gpointer opaque)
{
	struct vm *vm = opaque;

	for (int i = 0; i < 150; i++) {
		machine_lock();
		vm_stop(vm, RUN_STATE_FINISH_MIGRATE);
		g_assert_true(vm_running(vm) || all_parked(vm));
		vm_start(vm);
		machine_unlock();
		g_usleep(100);
	}
	return NULL;
}

/* Two threads that start and stop at will do not deadlock, and the last word counts. */
static void test_two_controllers(void)
{
	struct vm *vm = create();
	GThread *t;

	t = g_thread_new("other", stop_and_start, vm);
	for (int i = 0; i < 150; i++) {
		vm_start(vm);
		rest(100);
		vm_stop(vm, RUN_STATE_PAUSED);
	}
	machine_unlock();
	g_thread_join(t);
	machine_lock();
	vm_start(vm);
	vm_stop(vm, RUN_STATE_PAUSED);
	g_assert_true(all_parked(vm));
	vm_destroy(vm);
}

/* A later stage replaces an earlier one, not the other way round. */
static void test_stages(void)
{
	struct vm *vm = create();

	vm_start(vm);
	vm_stop(vm, RUN_STATE_PAUSED);
	vm_stop(vm, RUN_STATE_IO_ERROR);
	g_assert_cmpstr(run_state_name(vm_run_state(vm)), ==, "paused");
	vm_stop(vm, RUN_STATE_FINISH_MIGRATE);
	g_assert_cmpstr(run_state_name(vm_run_state(vm)), ==, "finish-migrate");
	vm_stop(vm, RUN_STATE_POSTMIGRATE);
	vm_stop(vm, RUN_STATE_PAUSED);
	g_assert_cmpstr(run_state_name(vm_run_state(vm)), ==, "postmigrate");
	g_assert_cmpint(stops, ==, 1);
	vm_destroy(vm);
}

/* A vCPU that asks for a reset runs no further until the reset is done with all vCPUs parked. */
static void test_reset_request(void)
{
	struct vm *vm = create();
	u64 at;

	vm_start(vm);
	__atomic_store_n(&spinners[0].request, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 5000 && (__atomic_load_n(&spinners[0].request, __ATOMIC_SEQ_CST) ||
				     !vm->cpus[0]->stopped);
	     i++)
		rest(200);
	at = __atomic_load_n(&spinners[0].rounds, __ATOMIC_SEQ_CST);
	rest(2000);
	g_assert_cmpuint(__atomic_load_n(&spinners[0].rounds, __ATOMIC_SEQ_CST), ==, at);
	g_assert_cmpint(resets, ==, 0);
	pump_until(&resets, 1);
	g_assert_true(parked_at_reset);
	g_assert_true(vm_running(vm));
	for (int i = 0; i < 5000 && __atomic_load_n(&spinners[0].rounds, __ATOMIC_SEQ_CST) == at;
	     i++)
		rest(200);
	g_assert_cmpuint(__atomic_load_n(&spinners[0].rounds, __ATOMIC_SEQ_CST), >, at);
	vm_destroy(vm);
}

static void test_requests(void)
{
	struct vm *vm = create();

	vm_start(vm);
	/* Of one kind only one is under way. */
	vm_request_shutdown_code(vm, SHUTDOWN_HOST_QMP_QUIT, 3);
	vm_request_shutdown(vm, SHUTDOWN_HOST_SIGNAL);
	pump_until(&shutdowns, 1);
	for (int i = 0; i < 20; i++)
		main_loop_iterate(false);
	g_assert_cmpint(shutdowns, ==, 1);
	vm_request_stop(vm, RUN_STATE_IO_ERROR);
	pump_until(&stops, 1);
	g_assert_cmpstr(run_state_name(vm_run_state(vm)), ==, "io-error");
	/* A reset must not touch a machine that is being moved; it waits for the start. */
	vm_stop(vm, RUN_STATE_FINISH_MIGRATE);
	vm_request_reset(vm, SHUTDOWN_GUEST_RESET);
	for (int i = 0; i < 20; i++)
		main_loop_iterate(false);
	g_assert_cmpint(resets, ==, 0);
	vm_start(vm);
	pump_until(&resets, 1);
	resets = 0;
	/* A request that outlives its VM is dropped. */
	vm_request_reset(vm, SHUTDOWN_HOST_QMP_RESET);
	vm_destroy(vm);
	for (int i = 0; i < 20; i++)
		main_loop_iterate(false);
	g_assert_cmpint(resets, ==, 0);
}

/* How often the first vCPU's thread went to sleep by itself meanwhile; a busy host does not change
 * that as it changes how far the thread gets (proc(5), status). */
static unsigned sleeps(struct vm *vm)
{
	static const char field[] = "\nvoluntary_ctxt_switches:";
	g_autofree char *path = g_strdup_printf("/proc/self/task/%d/status", vm->cpus[0]->tid);
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return g_ascii_strtoull(strstr(text, field) + strlen(field), NULL, 10);
}

static unsigned sleeps_during(struct vm *vm, unsigned us)
{
	unsigned before = sleeps(vm);

	rest(us);
	return sleeps(vm) - before;
}

static void test_throttle(void)
{
	struct spinner *s = &spinners[0];
	struct vm *vm = create();
	s64 quickest = G_MAXINT64;

	vm_start(vm);
	__atomic_store_n(&s->busy, true, __ATOMIC_RELAXED);
	/* Now the thread has told its id, and does not sleep between rounds any more. */
	for (u64 at = s->rounds; __atomic_load_n(&s->rounds, __ATOMIC_SEQ_CST) < at + 3;)
		rest(1000);
	g_assert_cmpuint(sleeps_during(vm, 200000), ==, 0);
	vcpu_throttle_set(vm, 80);
	rest(60000);
	/* It runs for 10 ms and sleeps for 40, over and over. */
	g_assert_cmpuint(sleeps_during(vm, 1000000), >=, 2);
	/* Throttled vCPUs stop at once, and not only when they have slept. */
	for (int i = 0; i < 20 && quickest > 400000; i++) {
		s64 t = g_get_monotonic_time();

		vcpu_throttle_set(vm, 99);
		rest(15000);
		vm_stop(vm, RUN_STATE_PAUSED);
		t = g_get_monotonic_time() - t;
		quickest = MIN(quickest, t);
		vm_start(vm);
	}
	g_assert_cmpint(quickest, <=, 400000);
	vcpu_throttle_set(vm, 0);
	rest(60000);
	g_assert_cmpuint(sleeps_during(vm, 200000), ==, 0);
	vm_destroy(vm);
}

static void test_names(void)
{
	for (int i = 0; i < RUN_STATES; i++)
		g_assert_cmpint(run_state_from_name(run_state_name(i)), ==, i);
	g_assert_cmpint(run_state_from_name("asleep"), ==, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/vcpu/stop-start", test_stop_start);
	g_test_add_func("/vcpu/two-controllers", test_two_controllers);
	g_test_add_func("/vcpu/stages", test_stages);
	g_test_add_func("/vcpu/reset-request", test_reset_request);
	g_test_add_func("/vcpu/requests", test_requests);
	g_test_add_func("/vcpu/throttle", test_throttle);
	g_test_add_func("/vcpu/names", test_names);
	return g_test_run();
}

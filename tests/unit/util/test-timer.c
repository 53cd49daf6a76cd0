/* Timers fire once, in order, on the right clock; the virtual clock stops and continues. */
#include "util/lock.h"
#include "util/main-loop.h"
#include "util/timer.h"

static GString *order;

static void note(void *opaque)
{
	g_assert_true(machine_lock_held());
	g_string_append(order, opaque);
}

static void quit(void *opaque)
{
	main_loop_quit();
}

static void run_for_ms(int ms)
{
	struct timer end;

	timer_init(&end, CLOCK_TYPE_REALTIME, quit, NULL);
	timer_mod(&end, clock_ns(CLOCK_TYPE_REALTIME) + ms * NS_PER_MS);
	main_loop_run();
}

static void test_order(void)
{
	s64 now = clock_ns(CLOCK_TYPE_REALTIME);
	struct timer a, b, c;

	order = g_string_new(NULL);
	timer_init(&a, CLOCK_TYPE_REALTIME, note, (void *)"a");
	timer_init(&b, CLOCK_TYPE_REALTIME, note, (void *)"b");
	timer_init(&c, CLOCK_TYPE_REALTIME, note, (void *)"c");
	timer_mod(&a, now + 8 * NS_PER_MS);
	timer_mod(&b, now + 4 * NS_PER_MS);
	timer_mod(&c, now + 2 * NS_PER_MS);
	timer_mod(&c, now + 12 * NS_PER_MS);
	g_assert_true(timer_pending(&c));
	run_for_ms(40);
	g_assert_cmpstr(order->str, ==, "bac");
	g_assert_false(timer_pending(&c));
	timer_mod(&a, 0);
	timer_del(&a);
	run_for_ms(5);
	g_assert_cmpstr(order->str, ==, "bac");
	g_string_free(order, TRUE);
}

static void test_virtual(void)
{
	struct timer t;
	s64 stopped;

	order = g_string_new(NULL);
	clock_virtual_set_ns(5 * NS_PER_S);
	g_assert_cmpint(clock_ns(CLOCK_TYPE_VIRTUAL), ==, 5 * NS_PER_S);
	timer_init(&t, CLOCK_TYPE_VIRTUAL, note, (void *)"v");
	timer_mod(&t, 5 * NS_PER_S + 3 * NS_PER_MS);
	run_for_ms(20);
	g_assert_cmpstr(order->str, ==, ""); /* the clock does not run */
	clock_virtual_run(true);
	run_for_ms(20);
	g_assert_cmpstr(order->str, ==, "v");
	clock_virtual_run(false);
	stopped = clock_ns(CLOCK_TYPE_VIRTUAL);
	g_assert_cmpint(stopped, >=, 5 * NS_PER_S + 3 * NS_PER_MS);
	run_for_ms(5);
	g_assert_cmpint(clock_ns(CLOCK_TYPE_VIRTUAL), ==, stopped);
	g_string_free(order, TRUE);
}

static s64 driven_now;

static s64 driven(void)
{
	return driven_now;
}

static void set_driven(s64 ns)
{
	driven_now = ns;
}

static void test_driven(void)
{
	struct timer t;

	order = g_string_new(NULL);
	clock_virtual_set_source(driven, set_driven);
	clock_virtual_run(true);
	timer_init(&t, CLOCK_TYPE_VIRTUAL, note, (void *)"d");
	timer_mod(&t, 100);
	run_for_ms(5);
	g_assert_cmpstr(order->str, ==, "");
	driven_now = 99;
	g_assert_cmpint(timer_run_virtual(), ==, 100);
	driven_now = 100;
	g_assert_cmpint(timer_run_virtual(), ==, -1);
	g_assert_cmpstr(order->str, ==, "d");
	clock_virtual_run(false);
	clock_virtual_set_ns(5000);
	g_assert_cmpint(clock_ns(CLOCK_TYPE_VIRTUAL), ==, 5000);
	clock_virtual_set_source(NULL, NULL);
	g_string_free(order, TRUE);
}

/* A thread that arms its timer anew whenever it has fired, at times that have nearly come. */
struct rearmer {
	struct timer timer;
	unsigned fired; /* atomic */
	unsigned *left; /* threads that still work; atomic */
};

#define REARMS 5000

static void count(void *opaque)
{
	struct rearmer *r = opaque;

	__atomic_fetch_add(&r->fired, 1, __ATOMIC_SEQ_CST);
}

static gpointer rearm(gpointer data)
{
	struct rearmer *r = data;
	s64 end = clock_ns(CLOCK_TYPE_REALTIME) + 100 * NS_PER_S;

	for (unsigned i = 0; i < REARMS; i++) {
		timer_mod(&r->timer, clock_ns(CLOCK_TYPE_REALTIME) + i * 7919 % 100000);
		while (__atomic_load_n(&r->fired, __ATOMIC_SEQ_CST) == i)
			if (clock_ns(CLOCK_TYPE_REALTIME) > end)
				g_error("a timer was forgotten after %u times", i);
			else
				g_thread_yield();
	}
	if (!__atomic_sub_fetch(r->left, 1, __ATOMIC_SEQ_CST))
		main_loop_quit();
	return NULL;
}

/* None is forgotten, however close its time is when another thread arms it. */
static void test_threads(void)
{
	unsigned left = 2;
	struct rearmer r[2];
	GThread *thread[2];

	for (int i = 0; i < 2; i++) {
		r[i] = (struct rearmer){ .left = &left };
		timer_init(&r[i].timer, CLOCK_TYPE_REALTIME, count, &r[i]);
		thread[i] = g_thread_new("rearm", rearm, &r[i]);
	}
	main_loop_run();
	for (int i = 0; i < 2; i++)
		g_thread_join(thread[i]);
}

static void from_thread(void *opaque)
{
	g_assert_true(machine_lock_held());
	main_loop_quit();
}

static gpointer caller(gpointer data)
{
	main_loop_call(from_thread, NULL);
	return NULL;
}

static void test_call(void)
{
	GThread *t = g_thread_new("caller", caller, NULL);

	main_loop_run();
	g_thread_join(t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/timer/order", test_order);
	g_test_add_func("/timer/virtual", test_virtual);
	g_test_add_func("/timer/driven", test_driven);
	g_test_add_func("/timer/threads", test_threads);
	g_test_add_func("/main-loop/call", test_call);
	return g_test_run();
}

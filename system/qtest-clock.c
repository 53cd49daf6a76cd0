/* system/qtest-clock.c - a virtual clock that only a test moves. */
#include "qtest-clock.h"

static s64 now_ns; /* atomic */

static s64 read_clock(void)
{
	return __atomic_load_n(&now_ns, __ATOMIC_SEQ_CST);
}

/* Where an incoming migration begins; no timer is due by that. */
static void set_clock(s64 ns)
{
	__atomic_store_n(&now_ns, ns, __ATOMIC_SEQ_CST);
}

void qtest_clock_init(void)
{
	clock_virtual_set_source(read_clock, set_clock);
}

s64 qtest_clock_set(s64 ns)
{
	s64 next;

	if (ns < now_ns)
		return -1;
	/* Each timer sees the time it was set for, not the end of the step. */
	while ((next = timer_run_virtual()) >= 0 && next <= ns)
		__atomic_store_n(&now_ns, next, __ATOMIC_SEQ_CST);
	__atomic_store_n(&now_ns, ns, __ATOMIC_SEQ_CST);
	return ns;
}

s64 qtest_clock_step(s64 ns)
{
	if (ns < 0) {
		s64 next = timer_run_virtual();

		if (next < 0)
			return -1;
		ns = MAX(next - now_ns, 0);
	}
	return qtest_clock_set(now_ns + ns);
}

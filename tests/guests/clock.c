/*
 * clock.c - time from the CPU's counter, heartbeats and clock lines.
 */
#include "clock.h"
#include "guest.h"

#define NS_PER_S 1000000000ULL

u64 beat_ms = 100, clock_ms;
u64 ticks_khz;

static u64 hz, ticks_at_start;
static u64 next_beat_ns, next_clock_ns;

void clock_init(void)
{
	hz = ticks_khz ? ticks_khz * 1000 : arch_ticks_hz();
	ticks_at_start = arch_ticks();
}

u64 now_ns(void)
{
	u64 ticks = arch_ticks() - ticks_at_start;

	/* in two steps: 64 bits hold it for counters up to 18 GHz */
	return ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
}

static void clock_line(u64 now)
{
	u64 interval = clock_ms * 1000000;
	u64 n = now / interval;

	next_clock_ns = (n + 1) * interval;
	say("T %lu %lu %lu\n", n, now, testdev_host_ns());
}

void poll_clock(void)
{
	u64 now;

	if (!beat_ms && !clock_ms)
		return;
	now = now_ns();
	if (clock_ms && now >= next_clock_ns)
		clock_line(now);
	if (beat_ms && now >= next_beat_ns) {
		next_beat_ns = now + beat_ms * 1000000;
		say(".");
	}
}

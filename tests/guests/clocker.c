/*
 * clocker.c - test guest that prints its clock at a steady interval, to measure how long it stood.
 *
 * Options: clock= (interval in ms, default 10). See poll_clock() for the line; intervals are
 * counted from the start of the guest, so a late line does not shift the ones after it.
 */
#include "clock.h"
#include "guest.h"

static const struct guest_option options[] = { { NULL, NULL, NULL } };

void guest_main(void)
{
	clock_ms = 10;
	beat_ms = 0;
	options_parse(options);
	if (!clock_ms || !arch_ticks_hz())
		die("clock must not be 0, and the counter's frequency must be known: give tsc=KHZ");
	say("clocker interval_ms=%lu hz=%lu\nREADY\n", clock_ms, arch_ticks_hz());
	for (;;) {
		poll_clock();
		arch_relax();
	}
}

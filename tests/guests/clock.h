/*
 * clock.h - set-up of the guest's clock, private to the library.
 */
#ifndef TESTS_GUESTS_CLOCK_H
#define TESTS_GUESTS_CLOCK_H

#include "guest.h"

extern u64 beat_ms, clock_ms; /* periods of poll_clock(), 0 is never */
extern u64 ticks_khz;         /* counter frequency when given by hand, else 0 */

void clock_init(void);

#endif

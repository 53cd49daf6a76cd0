/*
 * system/qtest-clock.h - a virtual clock that only a test moves.
 */
#ifndef SYSTEM_QTEST_CLOCK_H
#define SYSTEM_QTEST_CLOCK_H

#include "util/timer.h"

/* qtest_clock_init() - drive the virtual clock from here; it shows 0. Main thread. */
void qtest_clock_init(void);

/*
 * qtest_clock_step() - move on by @ns, or to the next timer if @ns is negative; fire what is due.
 *
 * Return: the new time, -1 if there is no timer to go to.
 */
s64 qtest_clock_step(s64 ns);

/* qtest_clock_set() - move to @ns; -1 if that is in the past. */
s64 qtest_clock_set(s64 ns);

#endif

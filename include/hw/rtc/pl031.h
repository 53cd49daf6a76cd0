/*
 * hw/rtc/pl031.h - PrimeCell real-time clock.
 */
#ifndef HW_RTC_PL031_H
#define HW_RTC_PL031_H

#define PL031_TYPE "pl031" /* properties "base" and "irq" */

#endif

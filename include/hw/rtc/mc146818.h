/*
 * hw/rtc/mc146818.h - PC real-time clock with its non-volatile memory.
 *
 * Source: MC146818 data sheet (Motorola, 1984); ports and century byte: IBM PC/AT convention.
 */
#ifndef HW_RTC_MC146818_H
#define HW_RTC_MC146818_H

#include "hw/device.h"

#define MC146818_TYPE "mc146818rtc"
#define MC146818_PORT 0x70
#define MC146818_IRQ  8

/*
 * mc146818_set_cmos() - a byte of the memory behind the clock registers.
 * @addr: 14..127.
 *
 * Context: before the guest runs; survives resets.
 */
void mc146818_set_cmos(struct device *dev, u8 addr, u8 val);

#endif

/*
 * hw/rtc/mc146818-priv.h - registers and state of the PC's real-time clock.
 */
#ifndef HW_RTC_MC146818_PRIV_H
#define HW_RTC_MC146818_PRIV_H

#include "hw/machine.h"
#include "hw/rtc/mc146818.h"
#include "memory/address-space.h"

enum {
	RTC_SECONDS,
	RTC_SECONDS_ALARM,
	RTC_MINUTES,
	RTC_MINUTES_ALARM,
	RTC_HOURS,
	RTC_HOURS_ALARM,
	RTC_WEEKDAY, /* 1: Sunday */
	RTC_DAY,
	RTC_MONTH,
	RTC_YEAR,
	RTC_A,
	RTC_B,
	RTC_C,
	RTC_D,
	RTC_CENTURY = 0x32,
};

enum {
	A_UIP = 0x80,
	A_DIVIDER = 0x70,
	A_RATE = 0x0f,
	A_DIV_32768 = 0x20,
	A_DIV_RESET = 0x60, /* and above */
	A_RATE_1024 = 0x06
};
enum { B_SET = 0x80, B_PIE = 0x40, B_AIE = 0x20, B_UIE = 0x10, B_SQWE = 0x08 };
enum { B_BINARY = 0x04, B_24H = 0x02 };
enum { C_IRQF = 0x80, C_PF = 0x40, C_AF = 0x20, C_UF = 0x10 };
enum { D_VALID = 0x80, HOUR_PM = 0x80, ALARM_ANY = 0xc0 };

#define MC146818_CMOS_SIZE 128
#define CHAIN_HZ           32768
#define DAY_S              86400
#define UIP_NS             (244 * NS_PER_US) /* the update is announced so long before */

/* Members that travel in a migration have the names of the wire's description. */
struct mc146818 {
	struct device dev;
	u8 cmos_data[MC146818_CMOS_SIZE];
	u8 cmos_index;
	struct timer periodic_timer; /* virtual clock */
	s64 next_periodic_time;      /* ns, virtual clock */
	u32 irq_coalesced;           /* always 0: no lost ticks are made up for */
	u32 period;                  /* ticks of 1/32768 s */
	u64 base_rtc;                /* guest seconds since 1970 at last_update */
	u64 last_update;             /* ns, RTC clock */
	s64 offset;                  /* ns to add */
	struct timer update_timer;   /* RTC clock */
	u64 next_alarm_time;         /* ns, RTC clock; 0: none */
	u16 irq_reinject_on_ack_count;
	s64 base_ns;   /* time without changes by the guest, minus the RTC clock; not migrated */
	s64 checked_s; /* guest second up to which UF and AF are set; not migrated */
	struct irq irq;
	struct mapping ports;
};

extern const struct device_type mc146818_type;
extern const struct state_desc mc146818_state;

/* mc146818_resume() - derive what does not travel after a load. */
void mc146818_resume(struct mc146818 *rtc);

#endif

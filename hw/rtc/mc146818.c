/* hw/rtc/mc146818.c - PC real-time clock (MC146818 data sheet, Motorola, 1984). */
#include "hw/rtc/mc146818-priv.h"

#include "accel/vm.h"
#include "util/log.h"

static s64 now_ns(const struct mc146818 *rtc)
{
	return clock_ns(rtc->dev.machine->opt.rtc_clock);
}

/* Guest time in nanoseconds since 1970. */
static s64 guest_ns(const struct mc146818 *rtc)
{
	return rtc->base_rtc * NS_PER_S + now_ns(rtc) - (s64)rtc->last_update + rtc->offset;
}

static s64 floor_div(s64 a, s64 b)
{
	return a / b - (a % b < 0);
}

static s64 guest_s(const struct mc146818 *rtc)
{
	return floor_div(guest_ns(rtc), NS_PER_S);
}

static bool in_divider_reset(const struct mc146818 *rtc)
{
	return (rtc->cmos_data[RTC_A] & A_DIVIDER) >= A_DIV_RESET;
}

static bool is_halted(const struct mc146818 *rtc)
{
	return (rtc->cmos_data[RTC_B] & B_SET) || in_divider_reset(rtc);
}

/* ---- time in registers ---- */

static u8 encode(const struct mc146818 *rtc, unsigned v)
{
	return rtc->cmos_data[RTC_B] & B_BINARY ? v : v / 10 << 4 | v % 10;
}

static unsigned decode(const struct mc146818 *rtc, u8 v)
{
	return rtc->cmos_data[RTC_B] & B_BINARY ? v : (v >> 4) * 10 + (v & 0x0f);
}

static u8 encode_hour(const struct mc146818 *rtc, unsigned hour)
{
	if (rtc->cmos_data[RTC_B] & B_24H)
		return encode(rtc, hour);
	return encode(rtc, hour % 12 ?: 12) | (hour >= 12 ? HOUR_PM : 0);
}

static unsigned decode_hour(const struct mc146818 *rtc, u8 v)
{
	if (rtc->cmos_data[RTC_B] & B_24H)
		return decode(rtc, v);
	return decode(rtc, v & ~HOUR_PM) % 12 + (v & HOUR_PM ? 12 : 0);
}

static void registers_from_time(struct mc146818 *rtc, s64 s)
{
	g_autoptr(GDateTime) t = g_date_time_new_from_unix_utc(s);
	u8 *r = rtc->cmos_data;

	if (!t)
		return; /* before year 1 or after 9999: a guest set nonsense */
	r[RTC_SECONDS] = encode(rtc, g_date_time_get_second(t));
	r[RTC_MINUTES] = encode(rtc, g_date_time_get_minute(t));
	r[RTC_HOURS] = encode_hour(rtc, g_date_time_get_hour(t));
	r[RTC_WEEKDAY] = encode(rtc, g_date_time_get_day_of_week(t) % 7 + 1);
	r[RTC_DAY] = encode(rtc, g_date_time_get_day_of_month(t));
	r[RTC_MONTH] = encode(rtc, g_date_time_get_month(t));
	r[RTC_YEAR] = encode(rtc, g_date_time_get_year(t) % 100);
	r[RTC_CENTURY] = encode(rtc, g_date_time_get_year(t) / 100);
}

static bool time_from_registers(const struct mc146818 *rtc, s64 *s)
{
	const u8 *r = rtc->cmos_data;
	int year = decode(rtc, r[RTC_CENTURY]) * 100 + decode(rtc, r[RTC_YEAR]);
	g_autoptr(GDateTime) t =
		g_date_time_new_utc(year, decode(rtc, r[RTC_MONTH]), decode(rtc, r[RTC_DAY]),
				    decode_hour(rtc, r[RTC_HOURS]), decode(rtc, r[RTC_MINUTES]),
				    decode(rtc, r[RTC_SECONDS]));

	if (!t)
		return false;
	*s = g_date_time_to_unix(t);
	return true;
}

/* Let the guest's time be @s seconds and @ns now. */
static void set_time(struct mc146818 *rtc, s64 s, s64 ns)
{
	rtc->base_rtc = s;
	rtc->last_update = now_ns(rtc);
	rtc->offset = ns;
	rtc->checked_s = s;
}

/* The guest chose another time: tell how far it is from the one that it was given. */
static void guest_set_time(struct mc146818 *rtc, s64 s, s64 ns)
{
	set_time(rtc, s, ns);
	machine_rtc_changed(&rtc->dev, s - floor_div(now_ns(rtc) + rtc->base_ns, NS_PER_S));
}

/* ---- flags and interrupts ---- */

static void update_irq(struct mc146818 *rtc)
{
	u8 *c = &rtc->cmos_data[RTC_C];

	if (*c & rtc->cmos_data[RTC_B] & (C_PF | C_AF | C_UF))
		*c |= C_IRQF;
	else
		*c &= ~C_IRQF;
	irq_set(&rtc->irq, !!(*c & C_IRQF));
}

static bool alarm_field_matches(u8 alarm, u8 now)
{
	return alarm >= ALARM_ANY || alarm == now;
}

/* Whether the alarm registers name the time of day of second @s. */
static bool alarm_matches(const struct mc146818 *rtc, s64 s)
{
	const u8 *r = rtc->cmos_data;
	unsigned day_s = s - floor_div(s, DAY_S) * DAY_S;

	return alarm_field_matches(r[RTC_SECONDS_ALARM], encode(rtc, day_s % 60)) &&
	       alarm_field_matches(r[RTC_MINUTES_ALARM], encode(rtc, day_s / 60 % 60)) &&
	       alarm_field_matches(r[RTC_HOURS_ALARM], encode_hour(rtc, day_s / 3600));
}

/* Set UF and AF for the seconds that began since the last call. */
static void catch_up(struct mc146818 *rtc)
{
	s64 s = guest_s(rtc), from = rtc->checked_s + 1;

	if (is_halted(rtc) || s < from) {
		rtc->checked_s = s;
		return;
	}
	rtc->cmos_data[RTC_C] |= C_UF;
	for (s64 t = MAX(from, s - DAY_S + 1); t <= s; t++) {
		if (alarm_matches(rtc, t)) {
			rtc->cmos_data[RTC_C] |= C_AF;
			break;
		}
	}
	rtc->checked_s = s;
}

/* Second after @s at which the alarm goes off; 0 if it never does. */
static s64 next_alarm_s(const struct mc146818 *rtc, s64 s)
{
	for (s64 t = s + 1; t <= s + DAY_S; t++)
		if (alarm_matches(rtc, t))
			return t;
	return 0;
}

/* Arm the timer for the next second that interrupts. */
static void arm_update(struct mc146818 *rtc)
{
	s64 s = guest_s(rtc), next = 0;

	rtc->next_alarm_time = 0;
	if (!is_halted(rtc) && (rtc->cmos_data[RTC_B] & B_AIE))
		next = next_alarm_s(rtc, s);
	if (next)
		rtc->next_alarm_time = now_ns(rtc) + next * NS_PER_S - guest_ns(rtc);
	if (!is_halted(rtc) && (rtc->cmos_data[RTC_B] & B_UIE))
		next = s + 1;
	if (next)
		timer_mod(&rtc->update_timer, now_ns(rtc) + next * NS_PER_S - guest_ns(rtc));
	else
		timer_del(&rtc->update_timer);
}

static void on_update(void *opaque)
{
	struct mc146818 *rtc = opaque;

	catch_up(rtc);
	update_irq(rtc);
	arm_update(rtc);
}

/* Ticks of the 32768 Hz chain between periodic interrupts; 0: none. */
static u32 period_ticks(const struct mc146818 *rtc)
{
	unsigned rate = rtc->cmos_data[RTC_A] & A_RATE;

	if (!rate || in_divider_reset(rtc))
		return 0;
	/* With a 32768 Hz time base, rates 1 and 2 repeat 8 and 9. */
	return 1u << ((rate <= 2 ? rate + 7 : rate) - 1);
}

static void arm_periodic(struct mc146818 *rtc, bool restart)
{
	s64 now = clock_ns(CLOCK_TYPE_VIRTUAL);
	s64 step;

	rtc->period = period_ticks(rtc);
	if (!rtc->period || !(rtc->cmos_data[RTC_B] & B_PIE)) {
		timer_del(&rtc->periodic_timer);
		rtc->next_periodic_time = 0;
		return;
	}
	step = NS_PER_S * rtc->period / CHAIN_HZ;
	if (restart || rtc->next_periodic_time + step <= now)
		rtc->next_periodic_time = now; /* ticks that were missed are lost */
	rtc->next_periodic_time += step;
	timer_mod(&rtc->periodic_timer, rtc->next_periodic_time);
}

static void on_periodic(void *opaque)
{
	struct mc146818 *rtc = opaque;

	rtc->cmos_data[RTC_C] |= C_PF;
	update_irq(rtc);
	arm_periodic(rtc, false);
}

/* ---- registers ---- */

static u8 read_a(struct mc146818 *rtc)
{
	s64 ns = guest_ns(rtc) - guest_s(rtc) * NS_PER_S;
	bool in_progress = !is_halted(rtc) && ns >= NS_PER_S - UIP_NS;

	return (rtc->cmos_data[RTC_A] & ~A_UIP) | (in_progress ? A_UIP : 0);
}

static u8 read_c(struct mc146818 *rtc)
{
	u8 val;

	catch_up(rtc);
	update_irq(rtc);
	val = rtc->cmos_data[RTC_C];
	rtc->cmos_data[RTC_C] = 0;
	update_irq(rtc);
	return val;
}

static bool is_time(u8 reg)
{
	return reg == RTC_SECONDS || reg == RTC_MINUTES || reg == RTC_HOURS ||
	       (reg >= RTC_WEEKDAY && reg <= RTC_YEAR) || reg == RTC_CENTURY;
}

static bool is_alarm(u8 reg)
{
	return reg == RTC_SECONDS_ALARM || reg == RTC_MINUTES_ALARM || reg == RTC_HOURS_ALARM;
}

static u8 read_reg(struct mc146818 *rtc, u8 reg)
{
	if (is_time(reg) && !is_halted(rtc))
		registers_from_time(rtc, guest_s(rtc));
	switch (reg) {
	case RTC_A: return read_a(rtc);
	case RTC_C: return read_c(rtc);
	case RTC_D: return D_VALID;
	default: return rtc->cmos_data[reg];
	}
}

static void write_time(struct mc146818 *rtc, u8 reg, u8 val)
{
	s64 sub = guest_ns(rtc) - guest_s(rtc) * NS_PER_S, s;

	if (!is_halted(rtc))
		registers_from_time(rtc, guest_s(rtc));
	rtc->cmos_data[reg] = val;
	if (is_halted(rtc))
		return; /* taken over when the clock goes on */
	if (time_from_registers(rtc, &s))
		guest_set_time(rtc, s, sub);
	else
		log_guest("mc146818rtc: register 0x%02x set to 0x%02x gives no date\n", reg, val);
}

/*
 * Write A or B. The time freezes into the registers while they halt the clock, and goes on from
 * there: in its old phase after SET, half a second before the next update after a divider reset.
 */
static void write_control(struct mc146818 *rtc, u8 reg, u8 val)
{
	bool was_halted = is_halted(rtc), was_reset = in_divider_reset(rtc);
	s64 phase = guest_ns(rtc) - guest_s(rtc) * NS_PER_S, s;

	catch_up(rtc);
	if (!was_halted)
		registers_from_time(rtc, guest_s(rtc));
	rtc->cmos_data[reg] = val;
	if (was_halted && !is_halted(rtc)) {
		if (time_from_registers(rtc, &s))
			guest_set_time(rtc, s, was_reset ? NS_PER_S / 2 : phase);
		else
			log_guest("mc146818rtc: the registers hold no date\n");
	}
	update_irq(rtc);
	arm_update(rtc);
}

static void write_a(struct mc146818 *rtc, u8 val)
{
	bool same = ((val ^ rtc->cmos_data[RTC_A]) & (A_DIVIDER | A_RATE)) == 0;

	write_control(rtc, RTC_A, val & ~A_UIP);
	if (!same)
		arm_periodic(rtc, true);
}

static void write_b(struct mc146818 *rtc, u8 val)
{
	bool same = ((val ^ rtc->cmos_data[RTC_B]) & B_PIE) == 0;

	/* SET clears UIE. */
	write_control(rtc, RTC_B, val & B_SET ? val & ~B_UIE : val);
	if (!same)
		arm_periodic(rtc, true);
}

static void write_reg(struct mc146818 *rtc, u8 reg, u8 val)
{
	switch (reg) {
	case RTC_A: write_a(rtc, val); return;
	case RTC_B: write_b(rtc, val); return;
	case RTC_C:
	case RTC_D: return; /* read-only */
	}
	if (is_time(reg)) {
		write_time(rtc, reg, val);
		arm_update(rtc);
		return;
	}
	if (is_alarm(reg))
		catch_up(rtc);
	rtc->cmos_data[reg] = val;
	if (is_alarm(reg))
		arm_update(rtc);
}

static u64 port_read(void *opaque, u64 offset, unsigned size)
{
	struct mc146818 *rtc = opaque;

	/* The index port cannot be read back. */
	return offset ? read_reg(rtc, rtc->cmos_index) : 0xff;
}

static void port_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct mc146818 *rtc = opaque;

	if (offset)
		write_reg(rtc, rtc->cmos_index, value);
	else
		rtc->cmos_index = value & 0x7f; /* bit 7 masks NMI */
}

static const struct mmio_ops port_ops = { .read = port_read, .write = port_write, .max_access = 1 };

void mc146818_set_cmos(struct device *dev, u8 addr, u8 val)
{
	g_assert(addr > RTC_D && addr < MC146818_CMOS_SIZE && addr != RTC_CENTURY);
	((struct mc146818 *)dev)->cmos_data[addr] = val;
}

/* ---- life ---- */

void mc146818_resume(struct mc146818 *rtc)
{
	rtc->checked_s = guest_s(rtc);
	arm_update(rtc);
	update_irq(rtc);
}

static void mc146818_reset(struct device *dev)
{
	struct mc146818 *rtc = (struct mc146818 *)dev;

	/* The clock runs on its battery; only the interrupt enables and flags are cleared. */
	rtc->cmos_data[RTC_B] &= ~(B_PIE | B_AIE | B_UIE | B_SQWE);
	rtc->cmos_data[RTC_C] = 0;
	rtc->cmos_index = 0;
	arm_periodic(rtc, true);
	arm_update(rtc);
	update_irq(rtc);
}

static int mc146818_realize(struct device *dev, GError **err)
{
	struct mc146818 *rtc = (struct mc146818 *)dev;
	struct machine *m = dev->machine;
	/* With a clock that does not count from 1970 the start is still the host's date. */
	s64 utc = clock_ns(CLOCK_TYPE_HOST);

	machine_connect_irq(m, &rtc->irq, MC146818_IRQ);
	timer_init(&rtc->periodic_timer, CLOCK_TYPE_VIRTUAL, on_periodic, rtc);
	timer_init(&rtc->update_timer, m->opt.rtc_clock, on_update, rtc);
	rtc->cmos_data[RTC_A] = A_DIV_32768 | A_RATE_1024;
	rtc->cmos_data[RTC_B] = B_24H;
	rtc->cmos_data[RTC_D] = D_VALID;
	set_time(rtc, utc / NS_PER_S + m->opt.rtc_offset_s, utc % NS_PER_S);
	rtc->base_ns = utc + m->opt.rtc_offset_s * NS_PER_S - now_ns(rtc);
	registers_from_time(rtc, guest_s(rtc));
	rtc->ports = (struct mapping){ .name = "rtc",
				       .base = MC146818_PORT,
				       .size = 2,
				       .kind = MAP_MMIO,
				       .ops = &port_ops,
				       .opaque = rtc };
	address_space_map(m->vm->io, &rtc->ports);
	return 0;
}

static void mc146818_unrealize(struct device *dev)
{
	struct mc146818 *rtc = (struct mc146818 *)dev;

	address_space_unmap(dev->machine->vm->io, &rtc->ports);
	timer_del(&rtc->periodic_timer);
	timer_del(&rtc->update_timer);
	machine_disconnect_irq(dev->machine, &rtc->irq);
}

const struct device_type mc146818_type = {
	.name = MC146818_TYPE,
	.desc = "PC real-time clock",
	.bus = "ISA",
	.instance_size = sizeof(struct mc146818),
	.realize = mc146818_realize,
	.unrealize = mc146818_unrealize,
	.reset = mc146818_reset,
	.state = &mc146818_state,
};

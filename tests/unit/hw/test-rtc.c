/* tests/unit/hw/test-rtc.c - the PC's clock: time, setting it, interrupts, state. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/rtc/mc146818.h"

static struct device *rtc;

static u8 get(struct machine *m, u8 reg)
{
	out8(m, 0x70, reg);
	return in8(m, 0x71);
}

static void put(struct machine *m, u8 reg, u8 val)
{
	out8(m, 0x70, reg);
	out8(m, 0x71, val);
}

/* The machine's time is 2026-02-28 23:59:58.3, a Saturday. */
static struct machine *rtc_machine(void)
{
	g_autoptr(GDateTime) t = g_date_time_new_utc(2026, 2, 28, 23, 59, 57);
	s64 host = clock_ns(CLOCK_TYPE_HOST);
	struct machine *m;

	/* The offset is in whole seconds of the host: do not let one begin in between. */
	if (host % NS_PER_S > 900 * NS_PER_MS)
		g_usleep(200000);
	host = clock_ns(CLOCK_TYPE_HOST);
	m = isa_machine(g_date_time_to_unix(t) - host / NS_PER_S);
	rtc = isa_device(m, MC146818_TYPE);
	/* A divider reset makes it half past a second, whatever the host's phase. */
	put(m, 0x0a, 0x66);
	put(m, 0x0a, 0x26);
	isa_run_to(isa_time_ns + 800 * NS_PER_MS);
	return m;
}

static void expect_time(struct machine *m, const char *want)
{
	g_autofree char *got =
		g_strdup_printf("%02x%02x-%02x-%02x %02x:%02x:%02x wd %x", get(m, 0x32), get(m, 9),
				get(m, 8), get(m, 7), get(m, 4), get(m, 2), get(m, 0), get(m, 6));

	g_assert_cmpstr(got, ==, want);
}

static void test_time_runs(void)
{
	struct machine *m = rtc_machine();

	expect_time(m, "2026-02-28 23:59:58 wd 7");
	isa_run_to(isa_time_ns + NS_PER_S);
	expect_time(m, "2026-02-28 23:59:59 wd 7");
	isa_run_to(isa_time_ns + NS_PER_S);
	expect_time(m, "2026-03-01 00:00:00 wd 1");
	g_assert_cmphex(get(m, 0x0d), ==, 0x80);
	g_assert_cmphex(in8(m, 0x70), ==, 0xff);
	isa_machine_free(m);
}

static void test_formats(void)
{
	struct machine *m = rtc_machine();

	put(m, 0x0b, 0x06); /* binary, 24 hours */
	g_assert_cmpuint(get(m, 4), ==, 23);
	g_assert_cmpuint(get(m, 2), ==, 59);
	put(m, 0x0b, 0x04); /* binary, 12 hours */
	g_assert_cmphex(get(m, 4), ==, 0x8b);
	put(m, 0x0b, 0x00); /* BCD, 12 hours */
	g_assert_cmphex(get(m, 4), ==, 0x91);
	isa_run_to(isa_time_ns + 2 * NS_PER_S);
	g_assert_cmphex(get(m, 4), ==, 0x12); /* midnight is 12 am */
	isa_machine_free(m);
}

static void test_setting(void)
{
	struct machine *m = rtc_machine();

	put(m, 0x0b, 0x82); /* SET freezes the registers */
	isa_run_to(isa_time_ns + 5 * NS_PER_S);
	g_assert_cmphex(get(m, 0), ==, 0x58);
	put(m, 9, 0x30);
	put(m, 8, 0x12);
	put(m, 7, 0x31);
	put(m, 4, 0x12);
	put(m, 2, 0x34);
	put(m, 0, 0x56);
	put(m, 0x32, 0x20);
	isa_requests.rtc_changes = 0;
	put(m, 0x0b, 0x02);
	expect_time(m, "2030-12-31 12:34:56 wd 3");
	/* From 2026-03-01 00:00:03, which it would be; the divider reset moved it by a part of a
	 * second. */
	g_assert_cmpuint(isa_requests.rtc_changes, ==, 1);
	g_assert_cmpint(ABS(isa_requests.rtc_offset_s - (152627696 - 3)), <=, 1);
	isa_run_to(isa_time_ns + 60 * NS_PER_S);
	expect_time(m, "2030-12-31 12:35:56 wd 3");
	put(m, 4, 0x23); /* without SET a single register is taken over at once */
	expect_time(m, "2030-12-31 23:35:56 wd 3");
	g_assert_cmpuint(isa_requests.rtc_changes, ==, 2);
	g_assert_cmpint(ABS(isa_requests.rtc_offset_s - (152627696 - 3 + 11 * 3600)), <=, 1);
	isa_machine_free(m);
}

static void test_update_in_progress(void)
{
	struct machine *m = rtc_machine();
	s64 step = 20 * NS_PER_US, seen = 0;
	u8 before = get(m, 0);

	while (get(m, 0) == before) {
		seen += get(m, 0x0a) & 0x80 ? step : 0;
		isa_run_to(isa_time_ns + step);
	}
	g_assert_cmpint(seen, >=, 220 * NS_PER_US);
	g_assert_cmpint(seen, <=, 260 * NS_PER_US);
	isa_machine_free(m);
}

static void test_update_interrupt(void)
{
	struct machine *m = rtc_machine();

	put(m, 5, 0x12); /* the alarm is not at midnight */
	get(m, 0x0c);
	isa_run_to(isa_time_ns + NS_PER_S);
	g_assert_cmphex(get(m, 0x0c), ==, 0x10); /* the flag is set without the interrupt */
	put(m, 0x0b, 0x12);
	isa_run_to(isa_time_ns + 500 * NS_PER_MS);
	g_assert_false(isa_lines[8]);
	isa_run_to(isa_time_ns + 500 * NS_PER_MS);
	g_assert_true(isa_lines[8]);
	g_assert_cmphex(get(m, 0x0c), ==, 0x90);
	g_assert_false(isa_lines[8]);
	isa_run_to(isa_time_ns + NS_PER_S);
	g_assert_true(isa_lines[8]);
	isa_machine_free(m);
}

static void test_alarm(void)
{
	struct machine *m = rtc_machine();

	put(m, 5, 0x00); /* at 00:00:03 */
	put(m, 3, 0x00);
	put(m, 1, 0x03);
	put(m, 0x0b, 0x22);
	get(m, 0x0c);
	isa_run_to(isa_time_ns + 4 * NS_PER_S); /* 00:00:02.3 */
	g_assert_false(isa_lines[8]);
	isa_run_to(isa_time_ns + NS_PER_S);
	g_assert_true(isa_lines[8]);
	g_assert_cmphex(get(m, 0x0c), ==, 0xb0);
	put(m, 5, 0xff); /* every hour, minute 1, second 0 */
	put(m, 3, 0x01);
	put(m, 1, 0x00);
	isa_run_to(isa_time_ns + 57 * NS_PER_S);
	g_assert_true(isa_lines[8]);
	get(m, 0x0c);
	isa_run_to(isa_time_ns + 3600 * NS_PER_S);
	g_assert_true(isa_lines[8]);
	isa_machine_free(m);
}

static void test_periodic(void)
{
	struct machine *m = rtc_machine();
	int ticks = 0;

	put(m, 0x0a, 0x2a); /* 64 Hz */
	put(m, 0x0b, 0x42);
	for (s64 end = isa_time_ns + NS_PER_S; isa_time_ns < end;) {
		isa_run_to(isa_time_ns + NS_PER_MS);
		if (isa_lines[8]) {
			g_assert_cmphex(get(m, 0x0c) & 0xc0, ==, 0xc0);
			ticks++;
		}
	}
	g_assert_cmpint(ticks, ==, 64);
	put(m, 0x0a, 0x20);
	isa_run_to(isa_time_ns + NS_PER_S);
	g_assert_false(isa_lines[8]);
	isa_machine_free(m);
}

static void test_cmos(void)
{
	struct machine *m = rtc_machine();

	mc146818_set_cmos(rtc, 0x5f, 3);
	put(m, 0x40, 0x77);
	rtc->type->reset(rtc);
	g_assert_cmphex(get(m, 0x5f), ==, 3);
	g_assert_cmphex(get(m, 0x40), ==, 0x77);
	expect_time(m, "2026-02-28 23:59:58 wd 7");
	isa_machine_free(m);
}

static void test_layout(void)
{
	const struct device_type *t = device_type_find(&isa_target, MC146818_TYPE);

	expect_text(state_layout(t->state), "mc146818rtc v3\n"
					    "  cmos_data:buffer:128\n"
					    "  cmos_index:uint8:1\n"
					    "  unused:unused_buffer:28\n"
					    "  periodic_timer:timer:8\n"
					    "  next_periodic_time:int64:8\n"
					    "  unused:unused_buffer:24\n"
					    "  irq_coalesced:uint32:4\n"
					    "  period:uint32:4\n"
					    "  base_rtc:uint64:8\n"
					    "  last_update:uint64:8\n"
					    "  offset:int64:8\n"
					    "  update_timer:timer:8\n"
					    "  next_alarm_time:uint64:8\n"
					    "  SUB mc146818rtc/irq_reinject_on_ack_count v1\n"
					    "    irq_reinject_on_ack_count:uint16:2\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rtc/time-runs", test_time_runs);
	g_test_add_func("/rtc/formats", test_formats);
	g_test_add_func("/rtc/setting", test_setting);
	g_test_add_func("/rtc/update-in-progress", test_update_in_progress);
	g_test_add_func("/rtc/update-interrupt", test_update_interrupt);
	g_test_add_func("/rtc/alarm", test_alarm);
	g_test_add_func("/rtc/periodic", test_periodic);
	g_test_add_func("/rtc/cmos", test_cmos);
	g_test_add_func("/rtc/layout", test_layout);
	return g_test_run();
}

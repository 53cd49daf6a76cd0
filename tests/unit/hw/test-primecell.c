/* tests/unit/hw/test-primecell.c - Arm's UART, clock and GPIO: registers, interrupts, state. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/char/pl011.h"
#include "hw/gpio/pl061.h"
#include "hw/rtc/pl031.h"
#include "migration/stream.h"
#include "util/lock.h"

#define BASE 0x9000000
#define LINE 5

enum { DR = 0, RSR = 4, FR = 0x18, IBRD = 0x24, FBRD = 0x28, LCR_H = 0x2c, CR = 0x30 };
enum { IMSC = 0x38, RIS = 0x3c, MIS = 0x40, ICR = 0x44 };

static struct device *add(struct machine *m, const char *type)
{
	struct device *dev = device_create(m, type, NULL, NULL);

	g_assert_cmpint(device_set_u64(dev, "base", BASE, NULL), ==, 0);
	g_assert_cmpint(device_set_u64(dev, "irq", LINE, NULL), ==, 0);
	if (!strcmp(type, PL011_TYPE))
		g_assert_cmpint(device_set(dev, "chardev", "c", NULL), ==, 0);
	g_assert_cmpint(device_realize(dev, NULL, NULL), ==, 0);
	dev->type->reset(dev);
	return dev;
}

static u32 rd(struct machine *m, u64 off)
{
	return address_space_ld(m->vm->memory, BASE + off, 4, NULL);
}

static void wr(struct machine *m, u64 off, u32 val)
{
	address_space_st(m->vm->memory, BASE + off, val, 4);
}

/* The state of a device, loaded into a new one of its type on another machine. */
static struct device *move(struct machine **m, struct device *dev)
{
	const struct device_type *t = dev->type;
	struct state_writer w;
	struct state_reader r;
	s64 now = isa_time_ns;

	state_writer_init(&w);
	g_assert_cmpint(state_save_nested(&w, t->state, dev, NULL), ==, 0);
	isa_machine_free(*m);
	*m = isa_machine(0);
	isa_time_ns = now;
	dev = add(*m, t->name);
	state_reader_init_memory(&r, w.buf->data, w.buf->len);
	g_assert_cmpint(state_load_nested(&r, t->state, dev, t->state->version, NULL), ==, 0);
	g_assert_cmpuint(state_position(&r), ==, w.buf->len);
	state_reader_finish(&r);
	state_writer_finish(&w);
	return dev;
}

static void expect_id(struct machine *m, u64 periph)
{
	u64 all = 0;

	for (int i = 7; i >= 0; i--)
		all = all << 8 | rd(m, 0xfe0 + 4 * i);
	g_assert_cmphex(all, ==, 0xb105f00d00000000ull | periph);
}

/* ---- PL011 ---- */

static void test_uart_registers(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	expect_id(m, 0x00141011);
	g_assert_cmphex(rd(m, FR), ==, 0x90);
	g_assert_cmphex(rd(m, CR), ==, 0x300);
	g_assert_cmphex(rd(m, 0x34), ==, 0x12);
	g_assert_cmphex(rd(m, RIS), ==, 0);
	wr(m, IBRD, 0x12345);
	wr(m, FBRD, 0xff);
	wr(m, LCR_H, 0x170);
	g_assert_cmphex(rd(m, IBRD), ==, 0x2345);
	g_assert_cmphex(rd(m, FBRD), ==, 0x3f);
	g_assert_cmphex(rd(m, LCR_H), ==, 0x70);
	wr(m, IMSC, 0xffff);
	g_assert_cmphex(rd(m, IMSC), ==, 0x7ff);
	isa_machine_free(m);
}

static void test_uart_output(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, IMSC, 0x20);
	g_assert_false(isa_lines[LINE]); /* nothing was sent: no edge of the FIFO's level */
	address_space_st(m->vm->memory, BASE + DR, 'a', 1);
	g_assert_true(isa_lines[LINE]);
	wr(m, ICR, 0x20);
	g_assert_false(isa_lines[LINE]);
	wr(m, DR, 'b');
	g_assert_cmpstr(fake_output->str, ==, "ab");
	g_assert_cmphex(rd(m, FR), ==, 0x90);
	isa_machine_free(m);
}

static void test_uart_input(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, IMSC, 0x10);
	g_assert_cmpuint(fake_input("xy", 2), ==, 1);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmphex(rd(m, FR), ==, 0xc0);
	g_assert_cmpint(rd(m, DR), ==, 'x');
	g_assert_false(isa_lines[LINE]);
	g_assert_cmphex(rd(m, FR), ==, 0x90);

	wr(m, LCR_H, 0x70);
	g_assert_cmpuint(fake_input("0123456789abcdefgh", 18), ==, 16);
	g_assert_cmphex(rd(m, FR), ==, 0xc0);
	for (const char *p = "0123456789abcdef"; *p; p++) {
		g_assert_true(isa_lines[LINE]);
		g_assert_cmpint(rd(m, DR), ==, *p);
	}
	g_assert_false(isa_lines[LINE]);
	isa_machine_free(m);
}

/* A driver that clears the interrupt with characters left hears of the next one. */
static void test_uart_input_after_clear(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, LCR_H, 0x70);
	wr(m, IMSC, 0x10);
	fake_input("a", 1);
	wr(m, ICR, 0x10);
	g_assert_false(isa_lines[LINE]);
	fake_input("b", 1);
	g_assert_true(isa_lines[LINE]);
	isa_machine_free(m);
}

static void test_uart_break_and_overrun(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, IMSC, 0x600);
	fake_break();
	g_assert_cmphex(rd(m, MIS), ==, 0x200);
	fake_break(); /* no room */
	g_assert_cmphex(rd(m, MIS), ==, 0x600);
	g_assert_cmphex(rd(m, DR), ==, 0x400);
	g_assert_cmphex(rd(m, RSR), ==, 0xc);
	wr(m, RSR, 0);
	g_assert_cmphex(rd(m, RSR), ==, 0);
	isa_machine_free(m);
}

static void test_uart_loopback(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, CR, 0xb81); /* UARTEN, LBE, TXE, RXE, RTS */
	g_assert_cmphex(rd(m, FR) & 0x107, ==, 1);
	g_assert_cmphex(rd(m, RIS) & 0xf, ==, 2);
	wr(m, CR, 0x3381);
	g_assert_cmphex(rd(m, FR) & 0x107, ==, 0x104);
	wr(m, DR, 'L');
	g_assert_cmpstr(fake_output->str, ==, "");
	g_assert_cmpuint(fake_input("z", 1), ==, 0);
	g_assert_cmpint(rd(m, DR), ==, 'L');
	wr(m, CR, 0x301);
	g_assert_cmphex(rd(m, FR), ==, 0x90);
	g_assert_cmpuint(fake_input("z", 1), ==, 1);
	isa_machine_free(m);
}

static void run_until_output_ready(struct machine *m)
{
	for (int i = 0; i < 1000 && rd(m, FR) & 0x20; i++) {
		machine_unlock();
		g_usleep(2000);
		machine_lock();
		g_main_context_iteration(NULL, FALSE);
	}
	g_assert_cmphex(rd(m, FR), ==, 0x90);
}

static void test_uart_back_pressure(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL011_TYPE);
	wr(m, IMSC, 0x20);
	fake_backlog = MiB;
	wr(m, DR, 'a');
	g_assert_cmphex(rd(m, FR), ==, 0x38);
	g_assert_false(isa_lines[LINE]);
	fake_backlog = 0;
	run_until_output_ready(m);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmpstr(fake_output->str, ==, "a");
	isa_machine_free(m);
}

static void test_uart_state(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = add(m, PL011_TYPE);
	g_autofree char *layout = state_layout(dev->type->state);

	g_assert_cmpstr(layout, ==,
			"pl011 v2\n  unused:unused_buffer:4\n  flags:uint32:4\n  lcr:uint32:4\n"
			"  rsr:uint32:4\n  cr:uint32:4\n  dmacr:uint32:4\n  int_enabled:uint32:4\n"
			"  int_level:uint32:4\n  read_fifo:uint32:4\n  ilpr:uint32:4\n"
			"  ibrd:uint32:4\n  fbrd:uint32:4\n  ifl:uint32:4\n  read_pos:int32:4\n"
			"  read_count:int32:4\n  read_trigger:int32:4\n  SUB pl011/clock v1\n"
			"    clk:struct:8\n      period:uint64:8\n");
	wr(m, LCR_H, 0x70);
	wr(m, IBRD, 13);
	wr(m, IMSC, 0x10);
	fake_input("abc", 3);
	g_assert_cmpint(rd(m, DR), ==, 'a');
	fake_backlog = MiB;
	wr(m, DR, 'x'); /* the back end there is not full */
	move(&m, dev);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmphex(rd(m, FR), ==, 0x80);
	g_assert_cmpuint(rd(m, IBRD), ==, 13);
	g_assert_cmpint(rd(m, DR), ==, 'b');
	g_assert_cmpint(rd(m, DR), ==, 'c');
	g_assert_false(isa_lines[LINE]);
	isa_machine_free(m);
}

static void test_uart_bad_state(void)
{
	static const struct {
		u32 pos, count;
		const char *text;
	} cases[] = {
		{ 16, 0, "'pl011': FIFO position 16, count 0, the FIFO has 16 entries" },
		{ 0, 17, "'pl011': FIFO position 0, count 17, the FIFO has 16 entries" },
		{ UINT32_MAX, 1, "'pl011': FIFO position -1, count 1, the FIFO has 16 entries" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = isa_machine(0);
		struct device *dev = add(m, PL011_TYPE);
		u32 bytes[31] = {
			[28] = GUINT32_TO_BE(cases[i].pos), [29] = GUINT32_TO_BE(cases[i].count)
		};
		g_autoptr(GError) err = NULL;
		struct state_reader r;

		state_reader_init_memory(&r, (u8 *)bytes, sizeof(bytes));
		g_assert_cmpint(state_load_nested(&r, dev->type->state, dev, 2, &err), ==, -EINVAL);
		g_assert_cmpstr(err->message, ==, cases[i].text);
		state_reader_finish(&r);
		isa_machine_free(m);
	}
}

/* ---- PL031 ---- */

enum { RTC_DR = 0, RTC_MR = 4, RTC_LR = 8, RTC_CR = 12, RTC_IMSC = 16, RTC_RIS = 20 };

static void test_clock(void)
{
	struct machine *m = isa_machine(3600);
	s64 utc = g_get_real_time() / 1000000;
	u32 t;

	add(m, PL031_TYPE);
	expect_id(m, 0x00141031);
	t = rd(m, RTC_DR);
	g_assert_cmpint((s64)t - utc, >=, 3600);
	g_assert_cmpint((s64)t - utc, <=, 3602);
	g_assert_cmpuint(rd(m, RTC_CR), ==, 1);
	isa_run_to(isa_time_ns + 10 * NS_PER_S);
	g_assert_cmpuint(rd(m, RTC_DR), ==, t + 10);
	wr(m, RTC_LR, 1000);
	g_assert_cmpuint(rd(m, RTC_LR), ==, 1000);
	g_assert_cmpuint(isa_requests.rtc_changes, ==, 1);
	g_assert_cmpint(isa_requests.rtc_offset_s, ==, 1000 - (s64)(t + 10));
	wr(m, RTC_MR, 1005);
	wr(m, RTC_IMSC, 1);
	isa_run_to(isa_time_ns + 4 * NS_PER_S);
	g_assert_false(isa_lines[LINE]);
	isa_run_to(isa_time_ns + 2 * NS_PER_S);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmpuint(rd(m, RTC_RIS), ==, 1);
	wr(m, 0x1c, 1);
	g_assert_false(isa_lines[LINE]);
	g_assert_cmpuint(rd(m, RTC_DR), ==, 1006);
	isa_machine_free(m);
}

static void test_clock_state(void)
{
	struct machine *m = isa_machine(0);
	struct device *dev = add(m, PL031_TYPE);

	wr(m, RTC_LR, 5000);
	wr(m, RTC_MR, 5003);
	wr(m, RTC_IMSC, 1);
	move(&m, dev);
	g_assert_cmpuint(rd(m, RTC_DR), ==, 5000);
	isa_run_to(isa_time_ns + 3 * NS_PER_S);
	g_assert_true(isa_lines[LINE]);
	isa_machine_free(m);
}

/* ---- PL061 and the key ---- */

enum { GDIR = 0x400, IS = 0x404, IBE = 0x408, IEV = 0x40c, IE = 0x410, GRIS = 0x414, IC = 0x41c };

static void test_gpio_data(void)
{
	struct machine *m = isa_machine(0);

	add(m, PL061_TYPE);
	expect_id(m, 0x00041061);
	wr(m, 0x3fc, 0xff);
	g_assert_cmphex(rd(m, 0x3fc), ==, 0); /* all are inputs */
	wr(m, GDIR, 0x0f);
	wr(m, 0x05 << 2, 0xff);
	g_assert_cmphex(rd(m, 0x3fc), ==, 0x05);
	g_assert_cmphex(rd(m, 0x04 << 2), ==, 0x04);
	wr(m, 0x3fc, 0x0a);
	g_assert_cmphex(rd(m, 0x3fc), ==, 0x0a);
	isa_machine_free(m);
}

static void test_gpio_interrupts(void)
{
	struct machine *m = isa_machine(0);
	struct device *gpio = add(m, PL061_TYPE);
	struct irq pin;

	pl061_connect(gpio, &pin, 3);
	wr(m, IE, 8);
	irq_set(&pin, 1); /* falling edge is chosen */
	g_assert_false(isa_lines[LINE]);
	irq_set(&pin, 0);
	g_assert_true(isa_lines[LINE]);
	wr(m, IC, 8);
	g_assert_false(isa_lines[LINE]);
	wr(m, IEV, 8);
	irq_set(&pin, 1);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmphex(rd(m, 0x3fc), ==, 8);
	wr(m, IC, 8);
	irq_set(&pin, 0);
	g_assert_false(isa_lines[LINE]);
	wr(m, IBE, 8);
	irq_set(&pin, 1);
	wr(m, IC, 8);
	irq_set(&pin, 0);
	g_assert_true(isa_lines[LINE]);
	wr(m, IC, 8);
	wr(m, IBE, 0);
	wr(m, IS, 8); /* high level */
	g_assert_false(isa_lines[LINE]);
	irq_set(&pin, 1);
	wr(m, IC, 8);
	g_assert_true(isa_lines[LINE]);
	irq_set(&pin, 0);
	g_assert_false(isa_lines[LINE]);
	g_assert_cmphex(rd(m, GRIS), ==, 0);
	isa_machine_free(m);
}

static void test_gpio_key(void)
{
	struct machine *m = isa_machine(0);
	struct device *gpio = add(m, PL061_TYPE);
	struct device *key = isa_device(m, GPIO_KEY_TYPE);

	pl061_connect(gpio, gpio_key_output(key), 3);
	wr(m, IE, 8);
	wr(m, IBE, 8);
	gpio_key_press(key);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmphex(rd(m, 0x3fc), ==, 8);
	wr(m, IC, 8);
	isa_run_to(isa_time_ns + 99 * NS_PER_MS);
	g_assert_cmphex(rd(m, 0x3fc), ==, 8);
	isa_run_to(isa_time_ns + 2 * NS_PER_MS);
	g_assert_cmphex(rd(m, 0x3fc), ==, 0);
	g_assert_true(isa_lines[LINE]);
	isa_machine_free(m);
}

static void test_gpio_state(void)
{
	/* What an idle device has on the wire: registers of a variant that we are not. */
	static const u32 idle[21] = { [0] = 1, [11] = 0xff, [19] = 0xff };
	struct machine *m = isa_machine(0);
	struct device *dev = add(m, PL061_TYPE);
	struct state_writer w;

	state_writer_init(&w);
	g_assert_cmpint(state_save_nested(&w, dev->type->state, dev, NULL), ==, 0);
	g_assert_cmpuint(w.buf->len, ==, sizeof(idle));
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		g_assert_cmphex(GUINT32_FROM_BE(((u32 *)w.buf->data)[i]), ==, idle[i]);
	state_writer_finish(&w);
	wr(m, GDIR, 0xf0);
	wr(m, 0x3fc, 0xa0);
	wr(m, IE, 8);
	wr(m, IS, 8); /* low level: it is */
	g_assert_true(isa_lines[LINE]);
	move(&m, dev);
	g_assert_true(isa_lines[LINE]);
	g_assert_cmphex(rd(m, 0x3fc), ==, 0xa0);
	isa_machine_free(m);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pl011/registers", test_uart_registers);
	g_test_add_func("/pl011/output", test_uart_output);
	g_test_add_func("/pl011/input", test_uart_input);
	g_test_add_func("/pl011/input-after-clear", test_uart_input_after_clear);
	g_test_add_func("/pl011/break-and-overrun", test_uart_break_and_overrun);
	g_test_add_func("/pl011/loopback", test_uart_loopback);
	g_test_add_func("/pl011/back-pressure", test_uart_back_pressure);
	g_test_add_func("/pl011/state", test_uart_state);
	g_test_add_func("/pl011/bad-state", test_uart_bad_state);
	g_test_add_func("/pl031/time-and-alarm", test_clock);
	g_test_add_func("/pl031/state", test_clock_state);
	g_test_add_func("/pl061/data", test_gpio_data);
	g_test_add_func("/pl061/interrupts", test_gpio_interrupts);
	g_test_add_func("/pl061/key", test_gpio_key);
	g_test_add_func("/pl061/state", test_gpio_state);
	return g_test_run();
}

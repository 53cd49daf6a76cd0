/* tests/unit/hw/test-serial.c - 16550A registers, fifos, interrupts, back-pressure, state. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/char/serial.h"
#include "util/lock.h"

enum { DATA = 0x3f8, IER, IIR, LCR, MCR, LSR, MSR, SCR };

static struct machine *serial_machine(void)
{
	struct machine *m = isa_machine(0);

	isa_device(m, "isa-serial,chardev=c");
	return m;
}

static void expect_output(const char *want)
{
	g_assert_cmpstr(fake_output->str, ==, want);
}

static void test_reset_values(void)
{
	struct machine *m = serial_machine();

	g_assert_cmphex(in8(m, IER), ==, 0);
	g_assert_cmphex(in8(m, IIR), ==, 0x01);
	g_assert_cmphex(in8(m, LCR), ==, 0);
	g_assert_cmphex(in8(m, LSR), ==, 0x60);
	g_assert_cmphex(in8(m, MSR), ==, 0xb0);
	out8(m, LCR, 0x83);
	g_assert_cmphex(in8(m, DATA), ==, 12);
	out8(m, DATA, 0x34);
	out8(m, IER, 0x12);
	g_assert_cmphex(in8(m, DATA), ==, 0x34);
	g_assert_cmphex(in8(m, IER), ==, 0x12);
	out8(m, LCR, 0x03);
	out8(m, SCR, 0xa5);
	g_assert_cmphex(in8(m, SCR), ==, 0xa5);
	out8(m, IER, 0xff); /* only four bits exist: how Linux tells a UART from nothing */
	g_assert_cmphex(in8(m, IER), ==, 0x0f);
	isa_machine_free(m);
}

static void test_output(void)
{
	struct machine *m = serial_machine();

	out8(m, DATA, 'a');
	g_assert_cmphex(in8(m, LSR) & 0x60, ==, 0x60);
	out8(m, IIR, 0x07);
	for (const char *p = "bcd"; *p; p++)
		out8(m, DATA, *p);
	expect_output("abcd");
	isa_machine_free(m);
}

static void test_thr_interrupt(void)
{
	struct machine *m = serial_machine();

	out8(m, IER, 0x02);
	g_assert_true(isa_lines[4]);
	g_assert_cmphex(in8(m, IIR), ==, 0x02);
	g_assert_false(isa_lines[4]); /* reading IIR took it */
	g_assert_cmphex(in8(m, IIR), ==, 0x01);
	out8(m, DATA, 'x');
	g_assert_true(isa_lines[4]);
	out8(m, IER, 0);
	g_assert_false(isa_lines[4]);
	out8(m, IER, 2); /* enabling again reports an empty transmitter: 8250 drivers rely on it */
	g_assert_true(isa_lines[4]);
	isa_machine_free(m);
}

static void test_input_without_fifo(void)
{
	struct machine *m = serial_machine();

	out8(m, IER, 0x01);
	g_assert_cmpuint(fake_input("hi", 2), ==, 1);
	g_assert_true(isa_lines[4]);
	g_assert_cmphex(in8(m, IIR), ==, 0x04);
	g_assert_cmpuint(fake_input("i", 1), ==, 0);
	g_assert_cmphex(in8(m, LSR) & 1, ==, 1);
	g_assert_cmpint(in8(m, DATA), ==, 'h');
	g_assert_false(isa_lines[4]);
	g_assert_cmphex(in8(m, LSR) & 1, ==, 0);
	isa_machine_free(m);
}

static void test_input_with_fifo(void)
{
	struct machine *m = serial_machine();
	s64 char_ns;

	out8(m, LCR, 0x83);
	out8(m, DATA, 1); /* 115200 baud */
	out8(m, IER, 0);
	out8(m, LCR, 0x03);
	char_ns = NS_PER_S * 10 / 115200;
	out8(m, IIR, 0x87); /* fifo on, trigger at 8 */
	out8(m, IER, 0x01);
	g_assert_cmphex(in8(m, IIR), ==, 0xc1);
	g_assert_cmpuint(fake_input("1234567", 7), ==, 7);
	g_assert_false(isa_lines[4]);
	isa_run_to(isa_time_ns + 3 * char_ns);
	g_assert_false(isa_lines[4]);
	isa_run_to(isa_time_ns + 2 * char_ns);
	g_assert_true(isa_lines[4]);
	g_assert_cmphex(in8(m, IIR), ==, 0xcc);
	g_assert_cmpint(in8(m, DATA), ==, '1');
	g_assert_false(isa_lines[4]);
	g_assert_cmpuint(fake_input("89abcdefghijk", 13), ==, 10); /* 16 fit */
	g_assert_cmphex(in8(m, IIR), ==, 0xc4);
	for (const char *p = "23456789abcdefgh"; *p; p++)
		g_assert_cmpint(in8(m, DATA), ==, *p);
	g_assert_cmphex(in8(m, LSR) & 0x01, ==, 0);
	isa_machine_free(m);
}

static void test_break_and_loopback(void)
{
	struct machine *m = serial_machine();

	out8(m, IER, 0x04);
	fake_break();
	g_assert_true(isa_lines[4]);
	g_assert_cmphex(in8(m, IIR), ==, 0x06);
	g_assert_cmphex(in8(m, LSR), ==, 0x71);
	g_assert_false(isa_lines[4]);
	in8(m, DATA);

	in8(m, MSR);
	out8(m, MCR, 0x1a); /* loop, OUT2, RTS: what Linux looks for */
	g_assert_cmphex(in8(m, MSR) & 0xf0, ==, 0x90);
	out8(m, DATA, 'L');
	expect_output("");
	g_assert_cmpint(in8(m, DATA), ==, 'L');
	out8(m, MCR, 0x0b);
	g_assert_cmphex(in8(m, MSR), ==, 0xb2); /* DSR is back: its delta is set */
	g_assert_cmphex(in8(m, MSR), ==, 0xb0);
	isa_machine_free(m);
}

static void test_back_pressure(void)
{
	struct machine *m = serial_machine();

	out8(m, IIR, 0x07);
	fake_backlog = 1 * MiB;
	out8(m, DATA, 'a'); /* sits in the shift register */
	out8(m, DATA, 'b');
	g_assert_cmphex(in8(m, LSR) & 0x60, ==, 0);
	expect_output("");
	fake_backlog = 0;
	for (int i = 0; i < 100 && strcmp(fake_output->str, "ab"); i++) {
		machine_unlock();
		g_usleep(5000);
		machine_lock();
		g_main_context_iteration(NULL, FALSE);
	}
	expect_output("ab");
	g_assert_cmphex(in8(m, LSR) & 0x60, ==, 0x60);
	isa_machine_free(m);
}

static void test_ports(void)
{
	struct machine *m = isa_machine(0);

	isa_device(m, "isa-serial");
	isa_device(m, "isa-serial");
	isa_device(m, "isa-serial,index=3");
	out8(m, 0x2f8 + 7, 0x22);
	out8(m, 0x2e8 + 7, 0x44);
	g_assert_cmphex(in8(m, 0x3f8 + 7), ==, 0);
	g_assert_cmphex(in8(m, 0x2f8 + 7), ==, 0x22);
	g_assert_cmphex(in8(m, 0x3e8 + 7), ==, 0xff);
	g_assert_cmphex(in8(m, 0x2e8 + 7), ==, 0x44);
	expect_text(fake_add(m, "isa-serial,index=3", NULL),
		    "isa-serial: index 3 is used by another port");
	isa_device(m, "isa-serial,iobase=0x1000,irq=9");
	expect_text(fake_add(m, "isa-serial", NULL),
		    "isa-serial: only 4 ports can be there, index 0 to 3");
	out8(m, 0x1000 + 1, 2);
	g_assert_true(isa_lines[9]);
	isa_machine_free(m);
}

static void test_chardev_in_use(void)
{
	struct machine *m = serial_machine();

	expect_text(fake_add(m, "isa-serial,chardev=c", NULL), "chardev 'fake' is already in use");
	isa_machine_free(m);
}

static void test_layout(void)
{
	const struct device_type *t = device_type_find(&isa_target, "isa-serial");

	expect_text(state_layout(t->state), "serial v3\n"
					    "  state:struct:11\n"
					    "    divider:uint16:2\n"
					    "    rbr:uint8:1\n"
					    "    ier:uint8:1\n"
					    "    iir:uint8:1\n"
					    "    lcr:uint8:1\n"
					    "    mcr:uint8:1\n"
					    "    lsr:uint8:1\n"
					    "    msr:uint8:1\n"
					    "    scr:uint8:1\n"
					    "    fcr_vmstate:uint8:1\n"
					    "    SUB serial/thr_ipending v1\n"
					    "      thr_ipending:int32:4\n"
					    "    SUB serial/tsr v1\n"
					    "      tsr_retry:uint32:4\n"
					    "      thr:uint8:1\n"
					    "      tsr:uint8:1\n"
					    "    SUB serial/recv_fifo v1\n"
					    "      recv_fifo:struct:24\n"
					    "        data:buffer:16\n"
					    "        head:uint32:4\n"
					    "        num:uint32:4\n"
					    "    SUB serial/xmit_fifo v1\n"
					    "      xmit_fifo:struct:24\n"
					    "        data:buffer:16\n"
					    "        head:uint32:4\n"
					    "        num:uint32:4\n"
					    "    SUB serial/fifo_timeout_timer v1\n"
					    "      fifo_timeout_timer:timer:8\n"
					    "    SUB serial/timeout_ipending v1\n"
					    "      timeout_ipending:int32:4\n"
					    "    SUB serial/poll v1\n"
					    "      poll_msl:int32:4\n"
					    "      modem_status_poll:int64:8\n");
}

/* Which subsections a state needs, and that a loaded state goes on. */
static void test_load(void)
{
	struct serial s = { 0 };
	GError *err = NULL;

	if (!machine_lock_held())
		machine_lock();
	g_assert_cmpint(serial_init(&s, NULL, NULL), ==, 0);
	for (int i = 0; serial_state.subsections[i]; i++)
		g_assert_false(serial_state.subsections[i]->needed(&s));

	serial_state.pre_load(&s, NULL);
	s.fcr = 0xff;
	s.ier = 1;
	s.recv_fifo = (struct serial_fifo){ .data = "zzzx", .head = 3, .num = 1 };
	s.lsr |= 1;
	g_assert_cmpint(serial_state.post_load(&s, 3, NULL), ==, 0);
	g_assert_cmphex(s.fcr, ==, 0xc9);
	g_assert_true(timer_pending(&s.fifo_timeout_timer));
	g_assert_cmpint(serial_read(&s, 0), ==, 'x');

	serial_state.pre_load(&s, NULL);
	s.xmit_fifo.num = 17;
	g_assert_cmpint(serial_state.post_load(&s, 3, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "num 17"));
	g_clear_error(&err);
	serial_finish(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/serial/load", test_load);
	g_test_add_func("/serial/layout", test_layout);
	g_test_add_func("/serial/reset-values", test_reset_values);
	g_test_add_func("/serial/output", test_output);
	g_test_add_func("/serial/thr-interrupt", test_thr_interrupt);
	g_test_add_func("/serial/input-without-fifo", test_input_without_fifo);
	g_test_add_func("/serial/input-with-fifo", test_input_with_fifo);
	g_test_add_func("/serial/break-and-loopback", test_break_and_loopback);
	g_test_add_func("/serial/back-pressure", test_back_pressure);
	g_test_add_func("/serial/ports", test_ports);
	g_test_add_func("/serial/chardev-in-use", test_chardev_in_use);
	return g_test_run();
}

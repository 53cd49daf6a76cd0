/*
 * console.c - text output and command input of a test guest, over the test device or the uart.
 */
#include <stdarg.h>

#include "console.h"
#include "guest.h"

enum { CONSOLE_AUTO, CONSOLE_UART, CONSOLE_TESTDEV };

const char *const console_names[] = { "auto", "uart", "testdev", NULL };
u64 console_kind = CONSOLE_AUTO;

static void put(u8 c)
{
	if (console_kind == CONSOLE_TESTDEV)
		testdev_putc(c);
	else
		arch_putc(c);
}

void console_init(void)
{
	if (console_kind == CONSOLE_AUTO)
		console_kind = testdev_present() ? CONSOLE_TESTDEV : CONSOLE_UART;
}

static void put_number(u64 n, unsigned radix)
{
	char buf[20];
	int len = 0;

	do {
		buf[len++] = "0123456789abcdef"[n % radix];
		n /= radix;
	} while (n);
	while (len)
		put(buf[--len]);
}

static void vsay(const char *fmt, va_list args)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(*fmt);
			continue;
		}
		if (*++fmt == 'l')
			fmt++;
		if (*fmt == 's')
			for (const char *s = va_arg(args, const char *); *s; s++)
				put(*s);
		else
			put_number(va_arg(args, u64), *fmt == 'x' ? 16 : 10);
	}
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
}

void die(const char *fmt, ...)
{
	va_list args;

	say("\nERROR ");
	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
	say("\n");
	testdev_exit(1);
	arch_stop();
}

int command_read(void)
{
	return console_kind == CONSOLE_TESTDEV ? testdev_getc() : arch_getc();
}

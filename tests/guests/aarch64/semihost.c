/*
 * semihost.c - test guest for arm64: every operation of semihosting, with the result of each.
 *
 * The last word of the command line is the directory to work in. It prints with SYS_WRITE0.
 */
#include "arm.h"

#define OPEN          0x01
#define CLOSE         0x02
#define WRITEC        0x03
#define WRITE0        0x04
#define WRITE         0x05
#define READ          0x06
#define READC         0x07
#define ISERROR       0x08
#define ISTTY         0x09
#define SEEK          0x0a
#define FLEN          0x0c
#define TMPNAM        0x0d
#define REMOVE        0x0e
#define RENAME        0x0f
#define CLOCK         0x10
#define TIME          0x11
#define SYSTEM        0x12
#define ERRNO         0x13
#define GET_CMDLINE   0x15
#define HEAPINFO      0x16
#define EXIT          0x18
#define EXIT_EXTENDED 0x20
#define ELAPSED       0x30
#define TICKFREQ      0x31

static long call(u64 op, const void *arg)
{
	register u64 x0 asm("x0") = op;
	register u64 x1 asm("x1") = (u64)arg;

	asm volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return x0;
}

static long call4(u64 op, u64 a, u64 b, u64 c, u64 d)
{
	u64 block[] = { a, b, c, d };

	return call(op, block);
}

static u64 length(const char *s)
{
	u64 n = 0;

	while (s[n])
		n++;
	return n;
}

static void put(const char *s)
{
	call(WRITE0, s);
}

/* "NAME: value" */
static void show(const char *name, long val)
{
	char digits[24];
	unsigned n = sizeof(digits);
	u64 left = val < 0 ? -(u64)val : (u64)val;

	digits[--n] = 0;
	digits[--n] = '\n';
	do {
		digits[--n] = '0' + left % 10;
		left /= 10;
	} while (left);
	if (val < 0)
		digits[--n] = '-';
	put(name);
	put(": ");
	put(digits + n);
}

static char dir[512];
static bool quick; /* the command line begins with Z: nobody types anything */

/* DIR/name, in one of four places. */
static const char *path(const char *name)
{
	static char buf[4][600];
	static unsigned next;
	char *to = buf[next++ & 3];
	u64 n = 0;

	for (const char *s = dir; *s; s++)
		to[n++] = *s;
	to[n++] = '/';
	for (; *name; name++)
		to[n++] = *name;
	to[n] = 0;
	return to;
}

static long open(const char *name, u64 mode)
{
	return call4(OPEN, (u64)name, mode, length(name), 0);
}

static void test_cmdline(void)
{
	static char line[1024];
	u64 block[] = { (u64)line, 4 }, at = 0;

	show("command line into 4 bytes", call(GET_CMDLINE, block));
	block[1] = sizeof(line);
	show("command line", call(GET_CMDLINE, block));
	show("its length is right", block[1] == length(line));
	for (u64 i = 0; line[i]; i++)
		if (line[i] == ' ')
			at = i + 1;
	for (u64 i = 0; i < sizeof(dir) - 1 && line[at + i]; i++)
		dir[i] = line[at + i];
	line[at] = 0;
	quick = line[0] == 'Z';
	put("begins: ");
	put(line);
	put("\n");
}

static void test_files(void)
{
	static char buf[64];
	long f = open(path("new"), 4);

	show("opened", f > 0);
	show("write", call4(WRITE, f, (u64) "hello, world", 12, 0));
	show("read what is for writing", call4(READ, f, (u64)buf, 5, 0));
	show("errno", call(ERRNO, 0));
	show("length", call4(FLEN, f, 0, 0, 0));
	show("tty", call4(ISTTY, f, 0, 0, 0));
	show("close", call4(CLOSE, f, 0, 0, 0));
	show("close again", call4(CLOSE, f, 0, 0, 0));
	f = open(path("new"), 1);
	show("seek", call4(SEEK, f, 7, 0, 0));
	show("not read", call4(READ, f, (u64)buf, 60, 0));
	show("first byte", buf[0]);
	show("at the end", call4(READ, f, (u64)buf, 60, 0));
	call4(CLOSE, f, 0, 0, 0);
	f = open(path("new"), 8);
	call4(WRITE, f, (u64) "!", 1, 0);
	show("after appending", call4(FLEN, f, 0, 0, 0));
	call4(CLOSE, f, 0, 0, 0);
	f = open(path("new"), 2);
	call4(WRITE, f, (u64) "J", 1, 0);
	call4(SEEK, f, 0, 0, 0);
	call4(READ, f, (u64)buf, 2, 0);
	show("updated", buf[0] == 'J' && buf[1] == 'e');
	call4(CLOSE, f, 0, 0, 0);
	show("no such file", open(path("nonesuch"), 0));
	show("errno", call(ERRNO, 0));
	show("no such mode", open(path("new"), 12));
	show("bad handle", call4(FLEN, 12345, 0, 0, 0));
	show("bad handle, write", call4(WRITE, 0, (u64)buf, 3, 0));
}

static void test_names(void)
{
	static char name[256];
	const char *from = path("new"), *to = path("renamed");
	long f;

	show("rename", call4(RENAME, (u64)from, length(from), (u64)to, length(to)));
	show("old name", open(from, 0));
	show("remove", call4(REMOVE, (u64)to, length(to), 0, 0));
	show("remove again", call4(REMOVE, (u64)to, length(to), 0, 0));
	show("temporary, short", call4(TMPNAM, (u64)name, 7, 3, 0));
	show("temporary", call4(TMPNAM, (u64)name, 7, sizeof(name), 0));
	f = open(name, 6);
	show("opened", f > 0);
	call4(CLOSE, f, 0, 0, 0);
	show("removed", call4(REMOVE, (u64)name, length(name), 0, 0));
}

static void test_features(void)
{
	static unsigned char buf[8];
	long f = open(":semihosting-features", 0);

	show("features", f > 0);
	show("length", call4(FLEN, f, 0, 0, 0));
	show("not read", call4(READ, f, (u64)buf, 8, 0));
	show("magic", buf[0] == 'S' && buf[1] == 'H' && buf[2] == 'F' && buf[3] == 'B');
	show("bits", buf[4]);
	show("to write", open(":semihosting-features", 4));
	call4(CLOSE, f, 0, 0, 0);
}

static void test_console(void)
{
	long in = open(":tt", 0), out = open(":tt", 4), err = open(":tt", 8);
	char buf[4] = { 0 };

	show("three handles", in > 0 && out > 0 && err > 0 && in != out && out != err);
	show("tty", call4(ISTTY, out, 0, 0, 0));
	call4(WRITE, out, (u64) "to output\n", 10, 0);
	call4(WRITE, err, (u64) "to error\n", 9, 0);
	show("write to input", call4(WRITE, in, (u64) "x", 1, 0));
	call(WRITEC, "c");
	call(WRITEC, "\n");
	put("type three\n");
	show("first", call(READC, 0));
	buf[0] = 0;
	show("second", call4(READ, in, (u64)buf, 1, 0) == 0 ? buf[0] : -1);
	show("third", call(READC, 0));
}

static void test_clocks(void)
{
	u64 first = 0, second = 0, block[] = { 0 };

	show("ticks in a second", call(TICKFREQ, 0));
	show("elapsed", call(ELAPSED, &first));
	for (unsigned i = 0; i < 1000; i++)
		asm volatile("nop");
	call(ELAPSED, &second);
	show("later", second > first);
	show("clock", call(CLOCK, 0) >= (long)(first / 10000000));
	show("time", call(TIME, 0) > 1600000000);
	show("is an error", call(ISERROR, block));
	block[0] = -1;
	show("is an error", call(ISERROR, block) != 0);
	show("system", call4(SYSTEM, (u64) "true", 4, 0, 0));
	show("no such operation", call(0x99, 0));
}

static void test_heap(void)
{
	u64 info[4] = { 0 }, *to = info;
	extern char stacks[];

	call(HEAPINFO, &to);
	show("heap", info[0] < info[1] && info[1] - info[0] >= 1 << 20);
	show("stack", info[2] == info[1] && info[3] == info[0]);
	show("behind the program", info[0] > (u64)stacks || info[1] <= (u64)stacks);
	*(volatile u64 *)info[0] = 1;
	*(volatile u64 *)(info[1] - 8) = 2;
	show("is memory", *(volatile u64 *)info[0] == 1 && *(volatile u64 *)(info[1] - 8) == 2);
}

void guest_main(void)
{
	test_cmdline();
	test_files();
	test_names();
	test_features();
	test_clocks();
	test_heap();
	if (!quick)
		test_console();
	put("7q\n"); /* to a test device: end with status 15 */
	put("END\n");
	call4(EXIT_EXTENDED, 0x20026, 42, 0, 0);
	for (;;)
		put("went on\n");
}

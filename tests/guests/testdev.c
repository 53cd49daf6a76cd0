/*
 * testdev.c - driver of tidemark-testdev, the emulator's memory-mapped device for test guests.
 *
 * Emulators that lack the device ignore stores to its page and answer loads with all zeros or all
 * ones, by which testdev_present() tells.
 */
#include "testdev.h"
#include "guest.h"

enum {
	REG_OUT = 0x00,     /* write: a byte for the character back end */
	REG_COMMAND = 0x08, /* read: next byte from the back end, or -1 */
	REG_HOST_NS = 0x10, /* read: the host's monotonic clock */
	REG_EXIT = 0x18,    /* write: ends the emulator with this code */
};

u64 testdev_base;

static bool present;

static volatile u64 *reg(unsigned offset)
{
	return (volatile u64 *)(uintptr_t)(testdev_base + offset);
}

void testdev_init(void)
{
	u64 first, second;

	if (!testdev_base)
		return;
	first = *reg(REG_HOST_NS);
	second = *reg(REG_HOST_NS);
	present = first && second != UINT64_MAX && second > first;
}

bool testdev_present(void)
{
	return present;
}

void testdev_putc(u8 c)
{
	*(volatile u8 *)reg(REG_OUT) = c;
}

int testdev_getc(void)
{
	return (int)*(volatile u32 *)reg(REG_COMMAND);
}

u64 testdev_host_ns(void)
{
	return present ? *reg(REG_HOST_NS) : 0;
}

void testdev_exit(u8 code)
{
	if (present)
		*(volatile u8 *)reg(REG_EXIT) = code;
}

/*
 * hw/char/pl011-priv.h - registers and state of the PrimeCell UART.
 */
#ifndef HW_CHAR_PL011_PRIV_H
#define HW_CHAR_PL011_PRIV_H

#include "hw/device.h"
#include "hw/irq.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "util/timer.h"

#define PL011_FIFO 16 /* characters */

enum { PL011_LCR_FEN = 0x10 };

/* UARTFR */
enum {
	PL011_FR_CTS = 0x001,
	PL011_FR_DSR = 0x002,
	PL011_FR_DCD = 0x004,
	PL011_FR_BUSY = 0x008,
	PL011_FR_RXFE = 0x010,
	PL011_FR_TXFF = 0x020,
	PL011_FR_RXFF = 0x040,
	PL011_FR_TXFE = 0x080,
	PL011_FR_RI = 0x100,
};

/* Members that travel in a migration have the names of the wire's description. */
struct pl011 {
	struct device dev;
	struct irq irq; /* UARTINTR, all of them ORed */
	struct mapping map;
	struct chardev_fe *fe;
	struct timer retry_timer; /* host time; armed while TXFF is set */

	u32 flags, lcr, rsr, cr, dmacr;
	u32 int_enabled, int_level; /* UARTIMSC, UARTRIS */
	u32 read_fifo[PL011_FIFO];  /* characters with their error bits, as UARTDR shows them */
	u32 ilpr, ibrd, fbrd, ifl;
	s32 read_pos;     /* index of the oldest character */
	s32 read_count;   /* characters in the FIFO */
	s32 read_trigger; /* count at which the receive interrupt comes */
	u64 clk_period;   /* of UARTCLK, 2^-32 ns; 0: not known */

	/* Properties. */
	struct chardev *chardev;
	u64 base;
	u32 line;
};

/* pl011_update_tx() - see whether the back end has room; raises the transmit interrupt if so. */
void pl011_update_tx(struct pl011 *s);

/* pl011_check_state() - whether loaded FIFO indices can be, and their form for this FIFO depth.
 * Return: 0, or -EINVAL with @err. */
int pl011_check_state(struct pl011 *s, GError **err);

extern const struct state_desc pl011_clock_state; /* subsection "pl011/clock" */

#endif

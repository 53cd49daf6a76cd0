/*
 * hw/char/serial.h - 16550A UART, without the bus it sits on.
 *
 * Source: PC16550D data sheet (National Semiconductor, 1995).
 */
#ifndef HW_CHAR_SERIAL_H
#define HW_CHAR_SERIAL_H

#include "hw/irq.h"
#include "util/timer.h"

struct chardev;
struct chardev_fe;
struct state_desc;

#define SERIAL_FIFO_SIZE 16
#define SERIAL_REGS      8 /* ports or bytes that it occupies */

struct serial_fifo {
	u8 data[SERIAL_FIFO_SIZE];
	u32 head; /* index of the oldest byte */
	u32 num;  /* bytes in it */
};

/* Members that travel in a migration have the names of the wire's description. */
struct serial {
	u16 divider;
	u8 rbr, thr, tsr, ier, iir, lcr, mcr, lsr, msr, scr, fcr;
	s32 thr_ipending;      /* the "transmitter empty" interrupt was not yet seen */
	s32 timeout_ipending;  /* likewise for "character timeout" */
	u32 tsr_retry;         /* > 0: tsr waits for room in the back end */
	s32 poll_msl;          /* >= 0 if a peer polls modem lines; we never do */
	s64 modem_status_poll; /* expiry of the peer's poll timer, not used */
	struct serial_fifo recv_fifo, xmit_fifo;
	struct timer fifo_timeout_timer; /* virtual clock */
	struct timer retry_timer;        /* host time; not migrated, follows from tsr_retry */
	struct irq irq;
	struct chardev_fe *fe; /* NULL: output is dropped */
};

extern const struct state_desc serial_state; /* "serial" version 3, of a struct serial */

/*
 * serial_init() - power-on state, connect to a back end.
 * @chardev: NULL: none.
 *
 * Return: 0, or -errno with @err when the back end is in use.
 * Context: machine lock held, as for everything here.
 */
int serial_init(struct serial *s, struct chardev *chardev, GError **err);
void serial_finish(struct serial *s);
void serial_reset(struct serial *s);

/* serial_read(), serial_write() - register @reg, 0..7. */
u8 serial_read(struct serial *s, unsigned reg);
void serial_write(struct serial *s, unsigned reg, u8 val);

#endif

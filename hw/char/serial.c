/* hw/char/serial.c - 16550A UART (PC16550D data sheet, National Semiconductor, 1995). */
#include "hw/char/serial.h"

#include "chardev/char.h"
#include "hw/char/serial-priv.h"

enum { REG_DATA, REG_IER, REG_IIR_FCR, REG_LCR, REG_MCR, REG_LSR, REG_MSR, REG_SCR };

enum { IER_RDI = 0x01, IER_THRI = 0x02, IER_RLSI = 0x04, IER_MSI = 0x08 };
enum {
	IIR_MSI = 0x00,
	IIR_NO_INT = 0x01,
	IIR_THRI = 0x02,
	IIR_RDI = 0x04,
	IIR_RLSI = 0x06,
	IIR_CTI = 0x0c,
	IIR_ID = 0x0f,
	IIR_FIFO = 0xc0
};
enum { FCR_ENABLE = 0x01, FCR_CLEAR_RX = 0x02, FCR_CLEAR_TX = 0x04, FCR_KEPT = 0xc9 };
enum { LCR_STOP = 0x04, LCR_PARITY = 0x08, LCR_DLAB = 0x80 };
enum { MCR_DTR = 0x01, MCR_RTS = 0x02, MCR_OUT1 = 0x04, MCR_OUT2 = 0x08, MCR_LOOP = 0x10 };
enum { LSR_DR = 0x01, LSR_OE = 0x02, LSR_BI = 0x10, LSR_THRE = 0x20, LSR_TEMT = 0x40 };
enum { LSR_ERRORS = 0x1e };
enum { MSR_DELTA = 0x0f, MSR_TERI = 0x04, MSR_CTS = 0x10, MSR_DSR = 0x20, MSR_RI = 0x40 };
enum { MSR_DCD = 0x80, MSR_LINES = 0xf0 };

#define CLOCK_HZ        1843200 /* PC clock of the UART; 16 ticks a bit at divider 1 */
#define DEFAULT_DIVIDER 12      /* 9600 baud */
#define BACKLOG_MAX     4096    /* bytes queued in the back end before the guest has to wait */
#define RETRY_NS        (10 * NS_PER_MS)
#define TIMEOUT_CHARS   4 /* of silence before a partly filled fifo interrupts */
#define MSR_CONNECTED   (MSR_DCD | MSR_DSR | MSR_CTS)

static void fifo_clear(struct serial_fifo *f)
{
	f->head = 0;
	f->num = 0;
}

static bool fifo_full(const struct serial_fifo *f)
{
	return f->num == SERIAL_FIFO_SIZE;
}

static void fifo_push(struct serial_fifo *f, u8 byte)
{
	f->data[(f->head + f->num++) % SERIAL_FIFO_SIZE] = byte;
}

static u8 fifo_pop(struct serial_fifo *f)
{
	u8 byte = f->data[f->head];

	f->head = (f->head + 1) % SERIAL_FIFO_SIZE;
	f->num--;
	return byte;
}

static bool fifo_enabled(const struct serial *s)
{
	return s->fcr & FCR_ENABLE;
}

static unsigned rx_trigger(const struct serial *s)
{
	static const u8 levels[] = { 1, 4, 8, 14 };

	return levels[s->fcr >> 6];
}

/* The pending interrupt of the highest priority. */
static u8 pending_interrupt(const struct serial *s)
{
	if ((s->ier & IER_RLSI) && (s->lsr & LSR_ERRORS))
		return IIR_RLSI;
	if ((s->ier & IER_RDI) && s->timeout_ipending)
		return IIR_CTI;
	if ((s->ier & IER_RDI) && (s->lsr & LSR_DR) &&
	    (!fifo_enabled(s) || s->recv_fifo.num >= rx_trigger(s)))
		return IIR_RDI;
	if ((s->ier & IER_THRI) && s->thr_ipending)
		return IIR_THRI;
	if ((s->ier & IER_MSI) && (s->msr & MSR_DELTA))
		return IIR_MSI;
	return IIR_NO_INT;
}

void serial_update_irq(struct serial *s)
{
	u8 id = pending_interrupt(s);

	s->iir = id | (fifo_enabled(s) ? IIR_FIFO : 0);
	irq_set(&s->irq, id != IIR_NO_INT);
}

/* Nanoseconds that a character takes on the line. */
static s64 char_ns(const struct serial *s)
{
	unsigned bits =
		1 + 5 + (s->lcr & 3) + !!(s->lcr & LCR_PARITY) + (s->lcr & LCR_STOP ? 2 : 1);

	return NS_PER_S * 16 * bits * (s->divider ?: DEFAULT_DIVIDER) / CLOCK_HZ;
}

/* ---- receiver ---- */

void serial_arm_rx_timeout(struct serial *s)
{
	timer_mod(&s->fifo_timeout_timer,
		  clock_ns(CLOCK_TYPE_VIRTUAL) + TIMEOUT_CHARS * char_ns(s));
}

static void rx_timeout(void *opaque)
{
	struct serial *s = opaque;

	if (!s->recv_fifo.num)
		return;
	s->timeout_ipending = 1;
	serial_update_irq(s);
}

static void rx_byte(struct serial *s, u8 byte)
{
	if (fifo_enabled(s)) {
		if (fifo_full(&s->recv_fifo)) {
			s->lsr |= LSR_OE;
			return;
		}
		fifo_push(&s->recv_fifo, byte);
		serial_arm_rx_timeout(s);
	} else {
		if (s->lsr & LSR_DR)
			s->lsr |= LSR_OE;
		s->rbr = byte;
	}
	s->lsr |= LSR_DR;
}

static size_t can_receive(void *opaque)
{
	struct serial *s = opaque;

	if (s->mcr & MCR_LOOP)
		return 0;
	if (fifo_enabled(s))
		return SERIAL_FIFO_SIZE - s->recv_fifo.num;
	return !(s->lsr & LSR_DR);
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	struct serial *s = opaque;

	for (size_t i = 0; i < len; i++)
		rx_byte(s, buf[i]);
	serial_update_irq(s);
}

static void on_event(void *opaque, enum chardev_event event)
{
	struct serial *s = opaque;

	if (event != CHARDEV_BREAK)
		return;
	rx_byte(s, 0);
	s->lsr |= LSR_BI;
	serial_update_irq(s);
}

static u8 read_data(struct serial *s)
{
	u8 byte = s->rbr;

	if (fifo_enabled(s)) {
		byte = s->recv_fifo.num ? fifo_pop(&s->recv_fifo) : 0;
		s->timeout_ipending = 0;
		if (s->recv_fifo.num)
			serial_arm_rx_timeout(s);
		else
			timer_del(&s->fifo_timeout_timer);
	}
	if (!fifo_enabled(s) || !s->recv_fifo.num)
		s->lsr &= ~LSR_DR;
	serial_update_irq(s);
	if (s->fe && !(s->mcr & MCR_LOOP))
		chardev_accept_input(s->fe);
	return byte;
}

/* ---- transmitter ---- */

/* Whether the back end has room for more; output without a back end always succeeds. */
static bool tx_ready(const struct serial *s)
{
	return !s->fe || chardev_queued(s->fe) < BACKLOG_MAX;
}

static bool send(struct serial *s, u8 byte)
{
	if (s->mcr & MCR_LOOP) {
		rx_byte(s, byte);
		return true;
	}
	if (!tx_ready(s))
		return false;
	if (s->fe)
		chardev_write(s->fe, &byte, 1);
	return true;
}

/* Move what waits to the line; stops when the back end is full and tries again later. */
void serial_transmit(struct serial *s)
{
	for (;;) {
		if (!s->tsr_retry) {
			if (s->xmit_fifo.num)
				s->tsr = fifo_pop(&s->xmit_fifo);
			else if (!fifo_enabled(s) && !(s->lsr & LSR_THRE))
				s->tsr = s->thr;
			else
				break;
			if (!s->xmit_fifo.num)
				s->lsr |= LSR_THRE;
			s->lsr &= ~LSR_TEMT;
		}
		if (!send(s, s->tsr)) {
			s->tsr_retry = 1;
			timer_mod(&s->retry_timer, clock_ns(CLOCK_TYPE_REALTIME) + RETRY_NS);
			return;
		}
		s->tsr_retry = 0;
	}
	s->lsr |= LSR_TEMT | LSR_THRE;
	s->thr_ipending = 1;
	serial_update_irq(s);
}

static void retry(void *opaque)
{
	serial_transmit(opaque);
}

static void write_data(struct serial *s, u8 val)
{
	s->thr = val;
	s->thr_ipending = 0;
	if (fifo_enabled(s)) {
		/* A full fifo loses its last byte to the new one. */
		if (fifo_full(&s->xmit_fifo))
			s->xmit_fifo.num--;
		fifo_push(&s->xmit_fifo, val);
	}
	s->lsr &= ~(LSR_THRE | LSR_TEMT);
	serial_update_irq(s);
	if (!s->tsr_retry)
		serial_transmit(s);
}

/* ---- control registers ---- */

static void write_ier(struct serial *s, u8 val)
{
	u8 risen = val & ~s->ier;

	s->ier = val & 0x0f;
	if ((risen & IER_THRI) && (s->lsr & LSR_THRE))
		s->thr_ipending = 1;
	serial_update_irq(s);
}

static void write_fcr(struct serial *s, u8 val)
{
	bool toggled = (val ^ s->fcr) & FCR_ENABLE;

	if (toggled || val & FCR_CLEAR_RX) {
		fifo_clear(&s->recv_fifo);
		timer_del(&s->fifo_timeout_timer);
		s->timeout_ipending = 0;
		s->lsr &= ~LSR_DR;
	}
	if (toggled || val & FCR_CLEAR_TX) {
		fifo_clear(&s->xmit_fifo);
		s->lsr |= LSR_THRE;
		s->thr_ipending = 1;
	}
	s->fcr = val & FCR_ENABLE ? val & FCR_KEPT : 0;
	serial_update_irq(s);
	if (s->fe)
		chardev_accept_input(s->fe);
}

/* In loop-back the modem inputs see the modem outputs. */
static u8 modem_lines(const struct serial *s)
{
	if (!(s->mcr & MCR_LOOP))
		return MSR_CONNECTED;
	return (s->mcr & MCR_RTS ? MSR_CTS : 0) | (s->mcr & MCR_DTR ? MSR_DSR : 0) |
	       (s->mcr & MCR_OUT1 ? MSR_RI : 0) | (s->mcr & MCR_OUT2 ? MSR_DCD : 0);
}

static void update_modem(struct serial *s)
{
	u8 old = s->msr & MSR_LINES, lines = modem_lines(s);
	u8 delta = (old ^ lines) >> 4;

	/* RI reports only its trailing edge. */
	if (lines & MSR_RI)
		delta &= ~MSR_TERI;
	s->msr = lines | (s->msr & MSR_DELTA) | delta;
	serial_update_irq(s);
}

u8 serial_read(struct serial *s, unsigned reg)
{
	u8 val;

	switch (reg & 7) {
	case REG_DATA: return s->lcr & LCR_DLAB ? s->divider & 0xff : read_data(s);
	case REG_IER: return s->lcr & LCR_DLAB ? s->divider >> 8 : s->ier;
	case REG_IIR_FCR:
		val = s->iir;
		if ((val & IIR_ID) == IIR_THRI) {
			s->thr_ipending = 0;
			serial_update_irq(s);
		}
		return val;
	case REG_LCR: return s->lcr;
	case REG_MCR: return s->mcr;
	case REG_LSR:
		val = s->lsr;
		s->lsr &= ~LSR_ERRORS;
		serial_update_irq(s);
		return val;
	case REG_MSR:
		val = s->msr;
		s->msr &= ~MSR_DELTA;
		serial_update_irq(s);
		return val;
	default: return s->scr;
	}
}

void serial_write(struct serial *s, unsigned reg, u8 val)
{
	switch (reg & 7) {
	case REG_DATA:
		if (s->lcr & LCR_DLAB)
			s->divider = (s->divider & 0xff00) | val;
		else
			write_data(s, val);
		break;
	case REG_IER:
		if (s->lcr & LCR_DLAB)
			s->divider = (s->divider & 0x00ff) | val << 8;
		else
			write_ier(s, val);
		break;
	case REG_IIR_FCR: write_fcr(s, val); break;
	case REG_LCR: s->lcr = val; break;
	case REG_MCR:
		s->mcr = val & 0x1f;
		update_modem(s);
		if (s->fe && !(s->mcr & MCR_LOOP))
			chardev_accept_input(s->fe);
		break;
	case REG_SCR: s->scr = val; break;
	default: break; /* LSR and MSR are read-only outside factory tests */
	}
}

void serial_reset(struct serial *s)
{
	timer_del(&s->fifo_timeout_timer);
	timer_del(&s->retry_timer);
	fifo_clear(&s->recv_fifo);
	fifo_clear(&s->xmit_fifo);
	s->divider = DEFAULT_DIVIDER;
	s->rbr = s->thr = s->tsr = s->ier = s->lcr = s->scr = s->fcr = 0;
	s->mcr = MCR_OUT2;
	s->lsr = LSR_THRE | LSR_TEMT;
	s->msr = MSR_CONNECTED;
	s->thr_ipending = s->timeout_ipending = 0;
	s->tsr_retry = 0;
	s->poll_msl = -1;
	serial_update_irq(s);
	if (s->fe)
		chardev_accept_input(s->fe);
}

int serial_init(struct serial *s, struct chardev *chardev, GError **err)
{
	const struct chardev_frontend fe = {
		.can_receive = can_receive, .receive = receive, .event = on_event, .opaque = s
	};

	timer_init(&s->fifo_timeout_timer, CLOCK_TYPE_VIRTUAL, rx_timeout, s);
	timer_init(&s->retry_timer, CLOCK_TYPE_REALTIME, retry, s);
	if (chardev) {
		s->fe = chardev_attach(chardev, &fe, err);
		if (!s->fe)
			return -EBUSY;
	}
	serial_reset(s);
	return 0;
}

void serial_finish(struct serial *s)
{
	timer_del(&s->fifo_timeout_timer);
	timer_del(&s->retry_timer);
	if (s->fe)
		chardev_detach(s->fe);
	s->fe = NULL;
}

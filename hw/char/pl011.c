/*
 * hw/char/pl011.c - PrimeCell UART (Arm DDI 0183G).
 *
 * Characters leave as soon as they are written, so the transmit FIFO is empty unless the back end
 * is full; then it reads as full. The receive interrupt comes with the first character instead of
 * at the level of UARTIFLS or after a time-out: drivers see no difference but a shorter delay.
 */
#include "hw/char/devices.h"
#include "hw/char/pl011-priv.h"

#include "accel/vm.h"
#include "chardev/char.h"
#include "hw/machine.h"
#include "hw/primecell.h"
#include "util/log.h"

#define PERIPH_ID   0x00141011 /* r1p3 */
#define BACKLOG_MAX 4096       /* bytes queued in the back end before the guest has to wait */
#define RETRY_NS    (10 * NS_PER_MS)

enum {
	UARTDR = 0x00,
	UARTRSR = 0x04,
	UARTFR = 0x18,
	UARTILPR = 0x20,
	UARTIBRD = 0x24,
	UARTFBRD = 0x28,
	UARTLCR_H = 0x2c,
	UARTCR = 0x30,
	UARTIFLS = 0x34,
	UARTIMSC = 0x38,
	UARTRIS = 0x3c,
	UARTMIS = 0x40,
	UARTICR = 0x44,
	UARTDMACR = 0x48,
};

enum { DR_BE = 0x400, DR_OE = 0x800 };
enum { CR_LBE = 0x80, CR_DTR = 0x400, CR_RTS = 0x800, CR_OUT1 = 0x1000, CR_OUT2 = 0x2000 };
enum { CR_RESET = 0x300, IFLS_RESET = 0x12 };
enum {
	INT_RI = 0x01,
	INT_CTS = 0x02,
	INT_DCD = 0x04,
	INT_DSR = 0x08,
	INT_RX = 0x10,
	INT_TX = 0x20,
	INT_RT = 0x40,
	INT_BE = 0x200,
	INT_OE = 0x400,
	INT_ALL = 0x7ff,
};

static void update_irq(struct pl011 *s)
{
	irq_set(&s->irq, (s->int_level & s->int_enabled) != 0);
}

static unsigned depth(const struct pl011 *s)
{
	return s->lcr & PL011_LCR_FEN ? PL011_FIFO : 1;
}

/* ---- receiver ---- */

static void clear_rx(struct pl011 *s)
{
	s->read_pos = s->read_count = 0;
	s->flags = (s->flags & ~PL011_FR_RXFF) | PL011_FR_RXFE;
}

/* @c: a character with its error bits. One that finds no room is lost, and the next one says so. */
static void rx_put(struct pl011 *s, u32 c)
{
	if (s->read_count == depth(s)) {
		s->rsr |= DR_OE >> 8;
		s->int_level |= INT_OE;
		return;
	}
	s->read_fifo[(s->read_pos + s->read_count++) % depth(s)] = c;
	s->flags &= ~PL011_FR_RXFE;
	if (s->read_count == depth(s))
		s->flags |= PL011_FR_RXFF;
	if (s->read_count >= s->read_trigger)
		s->int_level |= INT_RX;
	if (c & DR_BE)
		s->int_level |= INT_BE;
}

static size_t can_receive(void *opaque)
{
	const struct pl011 *s = opaque;

	return s->cr & CR_LBE ? 0 : depth(s) - s->read_count;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	struct pl011 *s = opaque;

	for (size_t i = 0; i < len; i++)
		rx_put(s, buf[i]);
	update_irq(s);
}

static void on_event(void *opaque, enum chardev_event event)
{
	struct pl011 *s = opaque;

	if (event != CHARDEV_BREAK || s->cr & CR_LBE)
		return;
	rx_put(s, DR_BE);
	update_irq(s);
}

static u32 read_data(struct pl011 *s)
{
	u32 c = s->read_fifo[s->read_pos];

	if (s->read_count) {
		s->read_pos = (s->read_pos + 1) % depth(s);
		s->read_count--;
		s->flags &= ~PL011_FR_RXFF;
		/* An overrun stays until UARTECR is written. */
		s->rsr = (c >> 8 & 0xf) | (s->rsr & DR_OE >> 8);
	}
	if (!s->read_count) {
		s->flags |= PL011_FR_RXFE;
		s->int_level &= ~INT_RT;
	}
	if (s->read_count < s->read_trigger)
		s->int_level &= ~INT_RX;
	update_irq(s);
	if (s->fe && !(s->cr & CR_LBE))
		chardev_accept_input(s->fe);
	return c;
}

/* ---- transmitter ---- */

/* The back end may be full: then so is the FIFO, until it was looked at again. */
void pl011_update_tx(struct pl011 *s)
{
	if (s->fe && chardev_queued(s->fe) >= BACKLOG_MAX) {
		s->flags = (s->flags & ~PL011_FR_TXFE) | PL011_FR_TXFF | PL011_FR_BUSY;
		timer_mod(&s->retry_timer, clock_ns(CLOCK_TYPE_REALTIME) + RETRY_NS);
		return;
	}
	s->flags = (s->flags & ~(PL011_FR_TXFF | PL011_FR_BUSY)) | PL011_FR_TXFE;
	s->int_level |= INT_TX;
}

static void retry(void *opaque)
{
	pl011_update_tx(opaque);
	update_irq(opaque);
}

static void write_data(struct pl011 *s, u32 val)
{
	u8 byte = val;

	s->int_level &= ~INT_TX;
	if (s->cr & CR_LBE)
		rx_put(s, byte);
	else if (s->fe)
		chardev_write(s->fe, &byte, 1);
	pl011_update_tx(s);
	update_irq(s);
}

/* ---- control registers ---- */

/* In loop-back the modem inputs see the modem outputs; nothing else is connected to them. */
static void update_modem(struct pl011 *s)
{
	static const struct {
		u16 out, in, interrupt;
	} lines[] = {
		{ CR_RTS, PL011_FR_CTS, INT_CTS },
		{ CR_DTR, PL011_FR_DSR, INT_DSR },
		{ CR_OUT1, PL011_FR_DCD, INT_DCD },
		{ CR_OUT2, PL011_FR_RI, INT_RI },
	};
	u32 old = s->flags;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		s->flags &= ~lines[i].in;
		if (s->cr & CR_LBE && s->cr & lines[i].out)
			s->flags |= lines[i].in;
		if ((old ^ s->flags) & lines[i].in)
			s->int_level |= lines[i].interrupt;
	}
}

static void write_lcr(struct pl011 *s, u32 val)
{
	bool toggled = (val ^ s->lcr) & PL011_LCR_FEN;

	s->lcr = val & 0xff;
	if (!toggled)
		return;
	clear_rx(s);
	if (s->fe)
		chardev_accept_input(s->fe);
}

static void write_cr(struct pl011 *s, u32 val)
{
	bool was_loop = s->cr & CR_LBE;

	s->cr = val & 0xffff;
	update_modem(s);
	if (was_loop && !(s->cr & CR_LBE) && s->fe)
		chardev_accept_input(s->fe);
}

static void write_dmacr(struct pl011 *s, u32 val)
{
	s->dmacr = val & 7;
	if (s->dmacr & 3)
		log_unimp("pl011: DMA is enabled, but no DMA controller is connected\n");
}

static u64 pl011_read(void *opaque, u64 off, unsigned size)
{
	struct pl011 *s = opaque;

	if (off >= PRIMECELL_ID_FIRST)
		return primecell_id(PERIPH_ID, off);
	switch (off) {
	case UARTDR: return read_data(s);
	case UARTRSR: return s->rsr;
	case UARTFR: return s->flags;
	case UARTILPR: return s->ilpr;
	case UARTIBRD: return s->ibrd;
	case UARTFBRD: return s->fbrd;
	case UARTLCR_H: return s->lcr;
	case UARTCR: return s->cr;
	case UARTIFLS: return s->ifl;
	case UARTIMSC: return s->int_enabled;
	case UARTRIS: return s->int_level;
	case UARTMIS: return s->int_level & s->int_enabled;
	case UARTDMACR: return s->dmacr;
	default: log_guest("pl011: read of register 0x%" PRIx64 "\n", off); return 0;
	}
}

static void pl011_write(void *opaque, u64 off, u64 val, unsigned size)
{
	struct pl011 *s = opaque;

	switch (off) {
	case UARTDR: write_data(s, val); return;
	case UARTRSR: s->rsr = 0; return;
	case UARTFR: return; /* read-only */
	case UARTILPR: s->ilpr = val & 0xff; return;
	case UARTIBRD: s->ibrd = val & 0xffff; return;
	case UARTFBRD: s->fbrd = val & 0x3f; return;
	case UARTLCR_H: write_lcr(s, val); break;
	case UARTCR: write_cr(s, val); break;
	case UARTIFLS: s->ifl = val & 0x3f; return;
	case UARTIMSC: s->int_enabled = val & INT_ALL; break;
	case UARTICR: s->int_level &= ~val; break;
	case UARTDMACR: write_dmacr(s, val); return;
	default:
		log_guest("pl011: write of 0x%" PRIx64 " to register 0x%" PRIx64 "\n", val, off);
		return;
	}
	update_irq(s);
}

static const struct mmio_ops pl011_ops = {
	.read = pl011_read,
	.write = pl011_write,
	.min_access = 4,
	.max_access = 4,
};

/* ---- device ---- */

static void pl011_reset(struct device *dev)
{
	struct pl011 *s = (struct pl011 *)dev;

	timer_del(&s->retry_timer);
	s->lcr = s->rsr = s->dmacr = s->int_enabled = s->int_level = 0;
	s->ilpr = s->ibrd = s->fbrd = 0;
	s->cr = CR_RESET;
	s->ifl = IFLS_RESET;
	s->read_trigger = 1;
	s->flags = PL011_FR_TXFE;
	memset(s->read_fifo, 0, sizeof(s->read_fifo));
	clear_rx(s);
	update_irq(s);
	if (s->fe)
		chardev_accept_input(s->fe);
}

static int pl011_realize(struct device *dev, GError **err)
{
	struct pl011 *s = (struct pl011 *)dev;
	const struct chardev_frontend fe = {
		.can_receive = can_receive, .receive = receive, .event = on_event, .opaque = s
	};

	timer_init(&s->retry_timer, CLOCK_TYPE_REALTIME, retry, s);
	s->read_trigger = 1;
	if (s->chardev) {
		s->fe = chardev_attach(s->chardev, &fe, err);
		if (!s->fe)
			return -EBUSY;
	}
	machine_connect_irq(dev->machine, &s->irq, s->line);
	s->map = (struct mapping){ .name = "pl011",
				   .base = s->base,
				   .size = PRIMECELL_SIZE,
				   .kind = MAP_MMIO,
				   .ops = &pl011_ops,
				   .opaque = s };
	address_space_map(dev->machine->vm->memory, &s->map);
	pl011_reset(dev);
	return 0;
}

static void pl011_unrealize(struct device *dev)
{
	struct pl011 *s = (struct pl011 *)dev;

	address_space_unmap(dev->machine->vm->memory, &s->map);
	machine_disconnect_irq(dev->machine, &s->irq);
	timer_del(&s->retry_timer);
	if (s->fe)
		chardev_detach(s->fe);
}

static int pl011_post_load(void *obj, int version, GError **err)
{
	struct pl011 *s = obj;
	int ret = pl011_check_state(s, err);

	if (ret)
		return ret;
	/* What the transmitter says depends on the back end here. */
	if (s->flags & PL011_FR_TXFF)
		pl011_update_tx(s);
	update_irq(s);
	if (s->fe)
		chardev_accept_input(s->fe);
	return 0;
}

static const struct state_field pl011_fields[] = {
	FIELD_UNUSED(4),
	FIELD_U32(struct pl011, flags),
	FIELD_U32(struct pl011, lcr),
	FIELD_U32(struct pl011, rsr),
	FIELD_U32(struct pl011, cr),
	FIELD_U32(struct pl011, dmacr),
	FIELD_U32(struct pl011, int_enabled),
	FIELD_U32(struct pl011, int_level),
	FIELD_ARRAY(struct pl011, read_fifo, U32),
	FIELD_U32(struct pl011, ilpr),
	FIELD_U32(struct pl011, ibrd),
	FIELD_U32(struct pl011, fbrd),
	FIELD_U32(struct pl011, ifl),
	FIELD_S32(struct pl011, read_pos),
	FIELD_S32(struct pl011, read_count),
	FIELD_S32(struct pl011, read_trigger),
	FIELD_END,
};

static const struct state_desc *const subsections[] = { &pl011_clock_state, NULL };

static const struct state_desc pl011_state = {
	.name = "pl011",
	.version = 2,
	.min_version = 2,
	.fields = pl011_fields,
	.subsections = subsections,
	.post_load = pl011_post_load,
};

static const struct property pl011_props[] = {
	PROP(struct pl011, chardev, "chardev", CHARDEV, NULL,
	     "ID of a chardev to use as a backend"),
	PROP(struct pl011, base, "base", U64, NULL, "guest physical address of its page"),
	PROP(struct pl011, line, "irq", U32, NULL, "line of the machine's interrupt controller"),
	PROP_END,
};

const struct device_type pl011_type = {
	.name = "pl011",
	.desc = "PrimeCell UART",
	.category = DEVICE_INPUT,
	.bus = "System",
	.instance_size = sizeof(struct pl011),
	.props = pl011_props,
	.realize = pl011_realize,
	.unrealize = pl011_unrealize,
	.reset = pl011_reset,
	.state = &pl011_state,
};

/* hw/gpio/pl061.c - PrimeCell GPIO, eight pins (Arm DDI 0190B). */
#include "hw/gpio/pl061.h"

#include "accel/vm.h"
#include "hw/devices.h"
#include "hw/gpio/devices.h"
#include "hw/machine.h"
#include "hw/primecell.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "util/log.h"

#define PERIPH_ID 0x00041061

enum {
	GPIODATA_LAST = 0x3ff, /* address bits 9:2 are the mask of an access */
	GPIODIR = 0x400,
	GPIOIS = 0x404,
	GPIOIBE = 0x408,
	GPIOIEV = 0x40c,
	GPIOIE = 0x410,
	GPIORIS = 0x414,
	GPIOMIS = 0x418,
	GPIOIC = 0x41c,
	GPIOAFSEL = 0x420,
};

/* What the wire has of another maker's variant of this device, in its reset state. */
struct other_registers {
	u32 locked, dr2r, dr4r, dr8r, odr, pur, pdr, slr, den, cr, amsel;
};

struct pl061 {
	struct device dev;
	struct irq irq;
	struct mapping map;

	/* Migrated; the names are those of the wire. */
	struct other_registers other;
	u32 data; /* levels of all pins */
	u32 old_out_data, old_in_data;
	u32 dir;    /* 1: output */
	u32 isense; /* 1: level, 0: edge */
	u32 ibe, iev, im, istate, afsel;

	/* Properties. */
	u64 base;
	u32 line;
};

static void update_irq(struct pl061 *s)
{
	irq_set(&s->irq, (s->istate & s->im) != 0);
}

/* Take up pins that changed and what they mean for the interrupts. */
static void update(struct pl061 *s)
{
	u32 changed = (s->old_in_data ^ s->data) & ~s->dir & 0xff;
	u32 edges = changed & ~s->isense;

	s->istate |= edges & (s->ibe | ~(s->data ^ s->iev));
	s->istate = (s->istate & ~s->isense) | (~(s->data ^ s->iev) & s->isense & 0xff);
	s->old_in_data = s->data;
	s->old_out_data = s->data & s->dir;
	update_irq(s);
}

static void set_input(void *opaque, int pin, int level)
{
	struct pl061 *s = opaque;
	u32 bit = 1u << pin;

	if (s->dir & bit)
		return;
	s->data = level ? s->data | bit : s->data & ~bit;
	update(s);
}

void pl061_connect(struct device *dev, struct irq *irq, unsigned pin)
{
	g_assert(pin < PL061_PINS);
	*irq = (struct irq){ .set = set_input, .opaque = dev, .n = pin };
}

static u64 pl061_read(void *opaque, u64 off, unsigned size)
{
	struct pl061 *s = opaque;

	if (off <= GPIODATA_LAST)
		return s->data & (off >> 2);
	if (off >= PRIMECELL_ID_FIRST)
		return primecell_id(PERIPH_ID, off);
	switch (off) {
	case GPIODIR: return s->dir;
	case GPIOIS: return s->isense;
	case GPIOIBE: return s->ibe;
	case GPIOIEV: return s->iev;
	case GPIOIE: return s->im;
	case GPIORIS: return s->istate;
	case GPIOMIS: return s->istate & s->im;
	case GPIOAFSEL: return s->afsel;
	default: log_guest("pl061: read of register 0x%" PRIx64 "\n", off); return 0;
	}
}

static void pl061_write(void *opaque, u64 off, u64 val, unsigned size)
{
	struct pl061 *s = opaque;
	u32 v = val & 0xff, mask;

	switch (off) {
	case 0 ... GPIODATA_LAST:
		mask = (off >> 2) & s->dir;
		s->data = (s->data & ~mask) | (v & mask);
		break;
	case GPIODIR: s->dir = v; break;
	case GPIOIS: s->isense = v; break;
	case GPIOIBE: s->ibe = v; break;
	case GPIOIEV: s->iev = v; break;
	case GPIOIE: s->im = v; break;
	case GPIOIC: s->istate &= ~v; break;
	case GPIOAFSEL: s->afsel = v; break;
	default:
		log_guest("pl061: write of 0x%" PRIx64 " to register 0x%" PRIx64 "\n", val, off);
		return;
	}
	update(s);
}

static const struct mmio_ops pl061_ops = {
	.read = pl061_read,
	.write = pl061_write,
	.min_access = 4,
	.max_access = 4,
};

static void pl061_reset(struct device *dev)
{
	struct pl061 *s = (struct pl061 *)dev;

	s->other = (struct other_registers){ .locked = 1, .dr2r = 0xff, .cr = 0xff };
	s->data = s->old_out_data = s->old_in_data = 0;
	s->dir = s->isense = s->ibe = s->iev = s->im = s->istate = s->afsel = 0;
	update_irq(s);
}

static int pl061_realize(struct device *dev, GError **err)
{
	struct pl061 *s = (struct pl061 *)dev;

	machine_connect_irq(dev->machine, &s->irq, s->line);
	s->map = (struct mapping){ .name = "pl061",
				   .base = s->base,
				   .size = PRIMECELL_SIZE,
				   .kind = MAP_MMIO,
				   .ops = &pl061_ops,
				   .opaque = s };
	address_space_map(dev->machine->vm->memory, &s->map);
	return 0;
}

static void pl061_unrealize(struct device *dev)
{
	struct pl061 *s = (struct pl061 *)dev;

	address_space_unmap(dev->machine->vm->memory, &s->map);
	machine_disconnect_irq(dev->machine, &s->irq);
}

static int pl061_post_load(void *obj, int version, GError **err)
{
	update_irq(obj);
	return 0;
}

#define OTHER(f)                                                                                   \
	{                                                                                          \
		.name = #f, .type = STATE_U32, .offset = offsetof(struct pl061, other.f),          \
		.size = sizeof(u32)                                                                \
	}

/* QEMU's "pl061" section, version 4. */
static const struct state_field pl061_fields[] = {
	OTHER(locked),
	FIELD_U32(struct pl061, data),
	FIELD_U32(struct pl061, old_out_data),
	FIELD_U32(struct pl061, old_in_data),
	FIELD_U32(struct pl061, dir),
	FIELD_U32(struct pl061, isense),
	FIELD_U32(struct pl061, ibe),
	FIELD_U32(struct pl061, iev),
	FIELD_U32(struct pl061, im),
	FIELD_U32(struct pl061, istate),
	FIELD_U32(struct pl061, afsel),
	OTHER(dr2r),
	OTHER(dr4r),
	OTHER(dr8r),
	OTHER(odr),
	OTHER(pur),
	OTHER(pdr),
	OTHER(slr),
	OTHER(den),
	OTHER(cr),
	OTHER(amsel),
	FIELD_END,
};

static const struct state_desc pl061_state = {
	.name = "pl061",
	.version = 4,
	.min_version = 4,
	.fields = pl061_fields,
	.post_load = pl061_post_load,
};

static const struct property pl061_props[] = {
	PROP(struct pl061, base, "base", U64, NULL, "guest physical address of its page"),
	PROP(struct pl061, line, "irq", U32, NULL, "line of the machine's interrupt controller"),
	PROP_END,
};

static const struct device_type pl061_type = {
	.name = PL061_TYPE,
	.desc = "PrimeCell GPIO",
	.bus = "System",
	.instance_size = sizeof(struct pl061),
	.props = pl061_props,
	.realize = pl061_realize,
	.unrealize = pl061_unrealize,
	.reset = pl061_reset,
	.state = &pl061_state,
};

const struct device_type *const hw_gpio_devices[] = { &pl061_type, &gpio_key_type, NULL };

/*
 * hw/rtc/pl031.c - PrimeCell real-time clock (Arm DDI 0224C).
 *
 * The clock counts seconds and always runs; it keeps its time over a reset. The wire has it as the
 * difference to the clock that -rtc clock= chose.
 */
#include "hw/rtc/pl031.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/primecell.h"
#include "hw/rtc/devices.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "util/log.h"

#define PERIPH_ID 0x00141031

enum {
	RTCDR = 0x00,
	RTCMR = 0x04,
	RTCLR = 0x08,
	RTCCR = 0x0c,
	RTCIMSC = 0x10,
	RTCRIS = 0x14,
	RTCMIS = 0x18,
	RTCICR = 0x1c,
};

struct pl031 {
	struct device dev;
	struct irq irq;
	struct mapping map;
	struct timer alarm; /* on the clock of -rtc clock= */

	/* Migrated, under these names. */
	u32 tick_offset_vmstate; /* offset to the virtual clock, for receivers without the next */
	u32 tick_offset;         /* seconds: guest's time less the clock's */
	u32 mr, lr, cr;
	u32 im; /* interrupt enabled: 0 or 1 */
	u32 is; /* alarm has come: 0 or 1 */

	u32 own_offset; /* tick_offset that the guest did not change; not migrated */

	/* Properties. */
	u64 base;
	u32 line;
};

static s64 host_ns(const struct pl031 *s)
{
	return clock_ns(s->dev.machine->opt.rtc_clock);
}

static u32 now(const struct pl031 *s)
{
	return s->tick_offset + (u32)(host_ns(s) / NS_PER_S);
}

static void update_irq(struct pl031 *s)
{
	irq_set(&s->irq, s->is & s->im);
}

/* The match register is compared when the count changes; a value that passed comes round again
 * after 2^32 seconds. */
static void set_alarm(struct pl031 *s)
{
	s64 ns = host_ns(s);
	u32 wait = s->mr - now(s);

	if (!wait) {
		timer_del(&s->alarm);
		s->is = 1;
		update_irq(s);
		return;
	}
	timer_mod(&s->alarm, (ns / NS_PER_S + wait) * NS_PER_S);
}

static void on_alarm(void *opaque)
{
	struct pl031 *s = opaque;

	/* The host's clock may have been set back meanwhile. */
	set_alarm(s);
}

static u64 pl031_read(void *opaque, u64 off, unsigned size)
{
	struct pl031 *s = opaque;

	if (off >= PRIMECELL_ID_FIRST)
		return primecell_id(PERIPH_ID, off);
	switch (off) {
	case RTCDR: return now(s);
	case RTCMR: return s->mr;
	case RTCLR: return s->lr;
	case RTCCR: return 1; /* it cannot be stopped */
	case RTCIMSC: return s->im;
	case RTCRIS: return s->is;
	case RTCMIS: return s->is & s->im;
	default: log_guest("pl031: read of register 0x%" PRIx64 "\n", off); return 0;
	}
}

static void pl031_write(void *opaque, u64 off, u64 val, unsigned size)
{
	struct pl031 *s = opaque;

	switch (off) {
	case RTCMR:
		s->mr = val;
		set_alarm(s);
		return;
	case RTCLR:
		s->lr = val;
		s->tick_offset += (u32)val - now(s);
		set_alarm(s);
		machine_rtc_changed(&s->dev, (s32)(s->tick_offset - s->own_offset));
		return;
	case RTCCR: return;
	case RTCIMSC: s->im = val & 1; break;
	case RTCICR: s->is &= ~val; break;
	default:
		log_guest("pl031: write of 0x%" PRIx64 " to register 0x%" PRIx64 "\n", val, off);
		return;
	}
	update_irq(s);
}

static const struct mmio_ops pl031_ops = {
	.read = pl031_read,
	.write = pl031_write,
	.min_access = 4,
	.max_access = 4,
};

/* The time and the alarm go on; only the interrupt is gone. */
static void pl031_reset(struct device *dev)
{
	struct pl031 *s = (struct pl031 *)dev;

	s->im = s->is = s->cr = 0;
	update_irq(s);
}

static int pl031_realize(struct device *dev, GError **err)
{
	struct pl031 *s = (struct pl031 *)dev;
	const struct machine_options *o = &dev->machine->opt;
	s64 utc = clock_ns(CLOCK_TYPE_HOST) / NS_PER_S;

	timer_init(&s->alarm, o->rtc_clock, on_alarm, s);
	s->tick_offset = s->own_offset = utc + o->rtc_offset_s - host_ns(s) / NS_PER_S;
	machine_connect_irq(dev->machine, &s->irq, s->line);
	s->map = (struct mapping){ .name = "pl031",
				   .base = s->base,
				   .size = PRIMECELL_SIZE,
				   .kind = MAP_MMIO,
				   .ops = &pl031_ops,
				   .opaque = s };
	address_space_map(dev->machine->vm->memory, &s->map);
	return 0;
}

static void pl031_unrealize(struct device *dev)
{
	struct pl031 *s = (struct pl031 *)dev;

	address_space_unmap(dev->machine->vm->memory, &s->map);
	machine_disconnect_irq(dev->machine, &s->irq);
	timer_del(&s->alarm);
}

/* ---- migration: QEMU's "pl031" section, version 1 ---- */

static u32 clock_difference_s(const struct pl031 *s)
{
	return (host_ns(s) - clock_ns(CLOCK_TYPE_VIRTUAL)) / NS_PER_S;
}

static void pl031_pre_save(void *obj)
{
	struct pl031 *s = obj;

	s->tick_offset_vmstate = s->tick_offset + clock_difference_s(s);
}

/* The subsection overwrites what follows from the older field. */
static int pl031_post_load(void *obj, int version, GError **err)
{
	struct pl031 *s = obj;

	s->im &= 1;
	s->is &= 1;
	update_irq(s);
	if (s->mr && !s->is)
		set_alarm(s);
	return 0;
}

static bool always(void *obj)
{
	return true;
}

static const struct state_field offset_fields[] = { FIELD_U32(struct pl031, tick_offset),
						    FIELD_END };
static const struct state_desc offset_state = {
	.name = "pl031/tick-offset",
	.version = 1,
	.min_version = 1,
	.fields = offset_fields,
	.needed = always,
};
static const struct state_desc *const subsections[] = { &offset_state, NULL };

static const struct state_field pl031_fields[] = {
	FIELD_U32(struct pl031, tick_offset_vmstate),
	FIELD_U32(struct pl031, mr),
	FIELD_U32(struct pl031, lr),
	FIELD_U32(struct pl031, cr),
	FIELD_U32(struct pl031, im),
	FIELD_U32(struct pl031, is),
	FIELD_END,
};

static const struct state_desc pl031_state = {
	.name = "pl031",
	.version = 1,
	.min_version = 1,
	.fields = pl031_fields,
	.subsections = subsections,
	.pre_save = pl031_pre_save,
	.post_load = pl031_post_load,
};

static const struct property pl031_props[] = {
	PROP(struct pl031, base, "base", U64, NULL, "guest physical address of its page"),
	PROP(struct pl031, line, "irq", U32, NULL, "line of the machine's interrupt controller"),
	PROP_END,
};

const struct device_type pl031_type = {
	.name = PL031_TYPE,
	.desc = "PrimeCell real-time clock",
	.bus = "System",
	.instance_size = sizeof(struct pl031),
	.props = pl031_props,
	.realize = pl031_realize,
	.unrealize = pl031_unrealize,
	.reset = pl031_reset,
	.state = &pl031_state,
};

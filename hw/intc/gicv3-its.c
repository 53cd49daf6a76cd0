/*
 * hw/intc/gicv3-its.c - interrupt translation service: messages become LPIs (Arm IHI 0069H, 5 and
 * 12.18).
 */
#include "hw/intc/gicv3-its-priv.h"

#include "accel/vm.h"
#include "hw/intc/devices.h"
#include "hw/machine.h"
#include "util/error.h"
#include "util/log.h"

#include <assert.h>

#define FRAME 0x10000

enum {
	GITS_CTLR = 0x0000,
	GITS_IIDR = 0x0004,
	GITS_TYPER = 0x0008,
	GITS_CBASER = 0x0080,
	GITS_CWRITER = 0x0088,
	GITS_CREADR = 0x0090,
	GITS_BASER = 0x0100,
	GITS_BASER_END = 0x0140,
	GITS_TRANSLATER = 0x0040, /* in the second frame */
};

#define CTLR_QUIESCENT (1u << 31)
#define CWRITER_OFFSET 0xfffe0ull
#define CBASER_BITS    0xb8effffffffffcffull
/* Type and entry size are read-only: devices and collections of 8 bytes. */
#define BASER_FIXED       0x071f000000000000ull
#define BASER_RW          (~BASER_FIXED)
#define BASER_DEVICES     0x0107000000000200ull
#define BASER_COLLECTIONS 0x0407000000000200ull

/* Physical LPIs; sizes of entries, INTIDs, device and collection numbers, each less one; RDbase is
 * the processor's number. */
#define TYPER                                                                                      \
	(1ull | (ITS_ITE_SIZE - 1ull) << 4 | (GIC_ID_BITS - 1ull) << 8 |                           \
	 (ITS_DEVICE_BITS - 1ull) << 13 | (ITS_ICID_BITS - 1ull) << 32 | 1ull << 36)

static u64 read_register(struct gicv3_its *s, u64 offset)
{
	switch (offset) {
	case GITS_TYPER: return TYPER;
	case GITS_CBASER: return s->cbaser;
	case GITS_CWRITER: return s->cwriter;
	case GITS_CREADR: return s->creadr;
	case GITS_BASER ... GITS_BASER_END - 1: return s->baser[(offset - GITS_BASER) / 8];
	default: return 0;
	}
}

static u32 read32(struct gicv3_its *s, u64 offset)
{
	switch (offset) {
	case GITS_CTLR: return s->ctlr | (s->ctlr & GITS_CTLR_ENABLED ? 0 : CTLR_QUIESCENT);
	case GITS_IIDR: return s->iidr;
	case FRAME - 0x30 ... FRAME - 1: return gicv3_id_register(offset);
	default: return read_register(s, offset & ~(u64)7) >> (offset & 4 ? 32 : 0);
	}
}

static u64 control_read(void *opaque, u64 offset, unsigned size)
{
	struct gicv3_its *s = opaque;

	if (size == 8)
		return read_register(s, offset);
	if (size == 4)
		return read32(s, offset);
	log_guest("ITS: read of %u bytes at 0x%" PRIx64 "\n", size, offset);
	return 0;
}

/* Where tables and queue lie can be changed only while the ITS is off. */
static void write_register(struct gicv3_its *s, u64 offset, u64 val)
{
	bool enabled = s->ctlr & GITS_CTLR_ENABLED;
	unsigned n = (offset - GITS_BASER) / 8;

	switch (offset) {
	case GITS_CBASER:
		if (!enabled) {
			s->cbaser = val & CBASER_BITS;
			s->creadr = 0;
		}
		break;
	case GITS_CWRITER:
		s->cwriter = val & CWRITER_OFFSET;
		if (val & 1) /* Retry */
			s->creadr &= ~(u64)GITS_CREADR_STALLED;
		its_run_commands(s);
		break;
	case GITS_BASER ... GITS_BASER_END - 1:
		if (!enabled && n < ITS_TABLES)
			s->baser[n] = (s->baser[n] & BASER_FIXED) | (val & BASER_RW);
		break;
	default: break;
	}
}

static void write32(struct gicv3_its *s, u64 offset, u32 val)
{
	u64 at = offset & ~(u64)7, old;

	if (offset == GITS_CTLR) {
		s->ctlr = val & GITS_CTLR_ENABLED;
		its_run_commands(s);
		return;
	}
	old = read_register(s, at);
	write_register(s, at, offset & 4 ? (u64)val << 32 | (u32)old : old >> 32 << 32 | val);
}

static void control_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	struct gicv3_its *s = opaque;

	if (size == 8)
		write_register(s, offset, val);
	else if (size == 4)
		write32(s, offset, val);
	else
		log_guest("ITS: write of %u bytes at 0x%" PRIx64 "\n", size, offset);
}

static u64 translation_read(void *opaque, u64 offset, unsigned size)
{
	return 0;
}

/* A CPU's own write has no device number: it counts as device 0, as on QEMU. */
static void translation_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	if (offset == GITS_TRANSLATER && (size == 4 || size == 2))
		arm_gicv3_its_send((struct device *)opaque, 0, val);
}

void arm_gicv3_its_send(struct device *dev, u32 device, u32 event)
{
	struct gicv3_its *s = (struct gicv3_its *)dev;
	struct gicv3_cpu *c = NULL;
	struct its_interrupt i;

	if (s->ctlr & GITS_CTLR_ENABLED)
		c = its_lookup(s, device, event, &i);
	if (c)
		its_lpi_set(c, i.intid, true);
	else
		log_guest("ITS: message %u of device 0x%x is not mapped\n", event, device);
}

u64 arm_gicv3_its_address(struct device *dev)
{
	return ((struct gicv3_its *)dev)->base + FRAME + GITS_TRANSLATER;
}

static const struct mmio_ops control_ops = { .read = control_read, .write = control_write };
static const struct mmio_ops translation_ops = { .read = translation_read,
						 .write = translation_write };

static void its_reset(struct device *dev)
{
	struct gicv3_its *s = (struct gicv3_its *)dev;

	s->ctlr = 0;
	s->iidr = GICV3_IIDR;
	s->cbaser = s->cwriter = s->creadr = 0;
	memset(s->baser, 0, sizeof(s->baser));
	s->baser[ITS_DEVICES] = BASER_DEVICES;
	s->baser[ITS_COLLECTIONS] = BASER_COLLECTIONS;
}

static int its_realize(struct device *dev, GError **err)
{
	struct gicv3_its *s = (struct gicv3_its *)dev;
	struct address_space *as = dev->machine->vm->memory;

	s->control = (struct mapping){ .name = "control",
				       .base = s->base,
				       .size = FRAME,
				       .kind = MAP_MMIO,
				       .ops = &control_ops,
				       .opaque = s };
	s->translation = s->control;
	s->translation.name = "translation";
	s->translation.base += FRAME;
	s->translation.ops = &translation_ops;
	address_space_map(as, &s->control);
	address_space_map(as, &s->translation);
	its_reset(dev);
	return 0;
}

static void its_unrealize(struct device *dev)
{
	struct gicv3_its *s = (struct gicv3_its *)dev;

	address_space_unmap(dev->machine->vm->memory, &s->translation);
	address_space_unmap(dev->machine->vm->memory, &s->control);
}

struct device *arm_gicv3_its_create(struct machine *m, struct device *gic, u64 base, GError **err)
{
	struct device *dev = device_create(m, ARM_GICV3_ITS_TYPE, NULL, err);
	struct gicv3_its *s = (struct gicv3_its *)dev;

	if (!dev)
		return NULL;
	s->gic = (struct gicv3 *)gic;
	s->base = base;
	assert(s->gic->has_lpi);
	if (device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

/* ---- migration; the tables are in the guest's memory ---- */

static int post_load(void *obj, int version, GError **err)
{
	struct gicv3_its *s = obj;
	u64 size = ((s->cbaser & 0xff) + 1) * 4096;

	if (s->creadr < size && s->cwriter < size)
		return 0;
	error_set(err,
		  "arm_gicv3_its: creadr 0x%" PRIx64 " or cwriter 0x%" PRIx64
		  " lies beyond the queue of %" PRIu64 " bytes",
		  s->creadr, s->cwriter, size);
	return -EINVAL;
}

static const struct state_field fields[] = {
	FIELD_U32(struct gicv3_its, ctlr),
	FIELD_U32(struct gicv3_its, iidr),
	FIELD_U64(struct gicv3_its, cbaser),
	FIELD_U64(struct gicv3_its, cwriter),
	FIELD_U64(struct gicv3_its, creadr),
	FIELD_ARRAY(struct gicv3_its, baser, U64),
	FIELD_END,
};

static const struct state_desc state_desc = {
	.name = "arm_gicv3_its",
	.priority = STATE_PRIO_GICV3_ITS,
	.fields = fields,
	.post_load = post_load,
};

const struct device_type arm_gicv3_its_type = {
	.name = ARM_GICV3_ITS_TYPE,
	.desc = "Arm GICv3 interrupt translation service",
	.bus = "System",
	.instance_size = sizeof(struct gicv3_its),
	.realize = its_realize,
	.unrealize = its_unrealize,
	.reset = its_reset,
	.state = &state_desc,
};

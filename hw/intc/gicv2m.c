/*
 * hw/intc/gicv2m.c - a frame that makes SPIs of a GICv2 of messages (Arm, Server Base System
 * Architecture 2.3, appendix E). It has no state.
 */
#include "hw/intc/arm-gicv2.h"

#include "accel/vm.h"
#include "hw/intc/devices.h"
#include "hw/machine.h"
#include "memory/address-space.h"
#include "util/log.h"

#define FRAME 0x1000

enum { MSI_TYPER = 0x008, MSI_SETSPI_NS = 0x040, MSI_IIDR = 0xfcc };

#define TYPER_FIRST_SHIFT 16
#define IIDR              0x05100000u /* product 0x51, as QEMU's frame answers */
#define GIC_INTERNAL      32

struct gicv2m {
	struct device dev;
	struct device *gic;
	u64 base;
	u32 first_spi, num_spi; /* SPI n is INTID 32 + n */
	struct mapping frame;
};

static u64 gicv2m_read(void *opaque, u64 offset, unsigned size)
{
	const struct gicv2m *v2m = opaque;

	switch (offset) {
	case MSI_TYPER: return (v2m->first_spi + GIC_INTERNAL) << TYPER_FIRST_SHIFT | v2m->num_spi;
	case MSI_IIDR: return IIDR;
	default: return 0;
	}
}

/* A message is an edge. */
static void gicv2m_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	const struct gicv2m *v2m = opaque;
	u64 spi = (val & 0x3ff) - GIC_INTERNAL;

	if (offset != MSI_SETSPI_NS)
		return;
	if (spi - v2m->first_spi >= v2m->num_spi) {
		log_guest("GICv2m: INTID 0x%" PRIx64 " is not one of the frame's\n", val);
		return;
	}
	arm_gicv2_set_spi(v2m->gic, spi, true);
	arm_gicv2_set_spi(v2m->gic, spi, false);
}

static const struct mmio_ops gicv2m_ops = {
	.read = gicv2m_read,
	.write = gicv2m_write,
	.min_access = 4,
	.max_access = 4,
};

static int gicv2m_realize(struct device *dev, GError **err)
{
	struct gicv2m *v2m = (struct gicv2m *)dev;

	v2m->frame = (struct mapping){ .name = "gicv2m",
				       .base = v2m->base,
				       .size = FRAME,
				       .kind = MAP_MMIO,
				       .ops = &gicv2m_ops,
				       .opaque = v2m };
	address_space_map(dev->machine->vm->memory, &v2m->frame);
	return 0;
}

static void gicv2m_unrealize(struct device *dev)
{
	address_space_unmap(dev->machine->vm->memory, &((struct gicv2m *)dev)->frame);
}

struct device *arm_gicv2m_create(struct machine *m, struct device *gic,
				 const struct arm_gicv2m_config *config, GError **err)
{
	struct device *dev = device_create(m, ARM_GICV2M_TYPE, NULL, err);
	struct gicv2m *v2m = (struct gicv2m *)dev;

	if (!dev)
		return NULL;
	v2m->gic = gic;
	v2m->base = config->base;
	v2m->first_spi = config->first_spi;
	v2m->num_spi = config->spis;
	if (device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

static const struct property gicv2m_props[] = {
	PROP(struct gicv2m, first_spi, "base-spi", U32, NULL, "first SPI"),
	PROP(struct gicv2m, num_spi, "num-spi", U32, NULL, "SPIs"),
	PROP_END,
};

const struct device_type arm_gicv2m_type = {
	.name = ARM_GICV2M_TYPE,
	.desc = "Arm GICv2 message frame",
	.bus = "System",
	.instance_size = sizeof(struct gicv2m),
	.props = gicv2m_props,
	.realize = gicv2m_realize,
	.unrealize = gicv2m_unrealize,
};

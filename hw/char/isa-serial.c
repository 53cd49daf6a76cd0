/* hw/char/isa-serial.c - 16550A UART at the ports and interrupts of a PC's COM1 to COM4. */
#include "hw/char/devices.h"
#include "hw/char/serial.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "migration/state.h"
#include "util/error.h"

#define UNSET UINT32_MAX

struct isa_serial {
	struct device dev;
	u32 index, iobase, isairq;
	struct chardev *chardev;
	struct serial state;
	struct mapping ports;
};

static const u16 default_iobase[MACHINE_SERIALS] = { 0x3f8, 0x2f8, 0x3e8, 0x2e8 };
static const u8 default_irq[MACHINE_SERIALS] = { 4, 3, 4, 3 };

static u64 port_read(void *opaque, u64 offset, unsigned size)
{
	return serial_read(opaque, offset);
}

static void port_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	serial_write(opaque, offset, value);
}

static const struct mmio_ops port_ops = { .read = port_read, .write = port_write, .max_access = 1 };

static bool index_is_used(struct device *self, u32 index)
{
	for (GList *l = self->machine->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (dev != self && dev->type == self->type && dev->realized &&
		    ((struct isa_serial *)dev)->index == index)
			return true;
	}
	return false;
}

static int choose_index(struct isa_serial *isa, GError **err)
{
	if (isa->index == UNSET)
		for (isa->index = 0; isa->index < MACHINE_SERIALS; isa->index++)
			if (!index_is_used(&isa->dev, isa->index))
				break;
	if (isa->index >= MACHINE_SERIALS) {
		error_set(err, "isa-serial: only %d ports can be there, index 0 to %d",
			  MACHINE_SERIALS, MACHINE_SERIALS - 1);
		return -EINVAL;
	}
	if (index_is_used(&isa->dev, isa->index)) {
		error_set(err, "isa-serial: index %u is used by another port", isa->index);
		return -EINVAL;
	}
	return 0;
}

static int isa_serial_realize(struct device *dev, GError **err)
{
	struct isa_serial *isa = (struct isa_serial *)dev;
	int ret = choose_index(isa, err);

	if (ret)
		return ret;
	if (isa->iobase == UNSET)
		isa->iobase = default_iobase[isa->index];
	if (isa->isairq == UNSET)
		isa->isairq = default_irq[isa->index];
	if (isa->isairq > 15 || isa->iobase > 0x10000 - SERIAL_REGS) {
		error_set(err, "isa-serial: iobase 0x%x or irq %u out of range (0..0xfff8, 0..15)",
			  isa->iobase, isa->isairq);
		return -EINVAL;
	}
	machine_connect_irq(dev->machine, &isa->state.irq, isa->isairq);
	ret = serial_init(&isa->state, isa->chardev, err);
	if (ret) {
		machine_disconnect_irq(dev->machine, &isa->state.irq);
		return ret;
	}
	isa->ports = (struct mapping){ .name = "serial",
				       .base = isa->iobase,
				       .size = SERIAL_REGS,
				       .kind = MAP_MMIO,
				       .ops = &port_ops,
				       .opaque = &isa->state };
	address_space_map(dev->machine->vm->io, &isa->ports);
	return 0;
}

static void isa_serial_unrealize(struct device *dev)
{
	struct isa_serial *isa = (struct isa_serial *)dev;

	address_space_unmap(dev->machine->vm->io, &isa->ports);
	serial_finish(&isa->state);
	machine_disconnect_irq(dev->machine, &isa->state.irq);
}

static void isa_serial_reset(struct device *dev)
{
	serial_reset(&((struct isa_serial *)dev)->state);
}

static const struct property isa_serial_props[] = {
	PROP(struct isa_serial, chardev, "chardev", CHARDEV, NULL,
	     "ID of a chardev to use as a backend"),
	PROP(struct isa_serial, index, "index", U32, "4294967295",
	     "0..3: COM1..COM4; default: the first that is free"),
	PROP(struct isa_serial, iobase, "iobase", U32, "4294967295", "first port"),
	PROP(struct isa_serial, isairq, "irq", U32, "4294967295", "interrupt, 0..15"),
	PROP_END,
};

static const struct state_field isa_serial_fields[] = {
	FIELD_STRUCT(struct isa_serial, state, serial_state),
	FIELD_END,
};

static const struct state_desc isa_serial_state = {
	.name = "serial",
	.version = 3,
	.min_version = 2,
	.fields = isa_serial_fields,
};

const struct device_type isa_serial_type = {
	.name = "isa-serial",
	.desc = "16550A serial port",
	.category = DEVICE_INPUT,
	.bus = "ISA",
	.instance_size = sizeof(struct isa_serial),
	.props = isa_serial_props,
	.user_creatable = true,
	.realize = isa_serial_realize,
	.unrealize = isa_serial_unrealize,
	.reset = isa_serial_reset,
	.state = &isa_serial_state,
};

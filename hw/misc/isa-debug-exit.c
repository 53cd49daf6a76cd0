/* hw/misc/isa-debug-exit.c - a port that ends the process: status (value << 1) | 1. */
#include "hw/misc/devices.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"

struct debug_exit {
	struct device dev;
	u32 iobase, iosize;
	struct mapping ports;
};

static u64 port_read(void *opaque, u64 offset, unsigned size)
{
	return 0;
}

static void port_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct debug_exit *d = opaque;

	vm_request_shutdown_code(d->dev.machine->vm, SHUTDOWN_GUEST_SHUTDOWN,
				 ((value << 1) | 1) & 0xff);
}

static const struct mmio_ops port_ops = { .read = port_read, .write = port_write, .max_access = 4 };

static int debug_exit_realize(struct device *dev, GError **err)
{
	struct debug_exit *d = (struct debug_exit *)dev;

	if (!d->iosize || d->iobase > 0x10000 || d->iosize > 0x10000 - d->iobase) {
		error_set(err, "isa-debug-exit: ports iobase 0x%x, iosize 0x%x exceed 0xffff",
			  d->iobase, d->iosize);
		return -EINVAL;
	}
	d->ports = (struct mapping){ .name = "isa-debug-exit",
				     .base = d->iobase,
				     .size = d->iosize,
				     .kind = MAP_MMIO,
				     .ops = &port_ops,
				     .opaque = d };
	address_space_map(dev->machine->vm->io, &d->ports);
	return 0;
}

static void debug_exit_unrealize(struct device *dev)
{
	address_space_unmap(dev->machine->vm->io, &((struct debug_exit *)dev)->ports);
}

static const struct property debug_exit_props[] = {
	PROP(struct debug_exit, iobase, "iobase", U32, "0x501", "first port"),
	PROP(struct debug_exit, iosize, "iosize", U32, "2", "number of ports"),
	PROP_END,
};

const struct device_type isa_debug_exit_type = {
	.name = "isa-debug-exit",
	.desc = "ends the process with a status",
	.bus = "ISA",
	.instance_size = sizeof(struct debug_exit),
	.props = debug_exit_props,
	.user_creatable = true,
	.realize = debug_exit_realize,
	.unrealize = debug_exit_unrealize,
};

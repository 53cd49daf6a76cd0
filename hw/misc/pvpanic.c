/*
 * hw/misc/pvpanic.c - a port by which a guest's kernel tells that it panicked.
 *
 * Source: the pvpanic device specification (QEMU, docs/specs).
 */
#include "hw/misc/devices.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"
#include "util/log.h"

struct pvpanic {
	struct device dev;
	u16 ioport;
	u8 events; /* that the guest may send */
	struct mapping port;
};

static u64 port_read(void *opaque, u64 offset, unsigned size)
{
	return ((struct pvpanic *)opaque)->events;
}

static void guest_panicked(struct machine *m, unsigned events)
{
	if (m->host && m->host->guest_panicked)
		m->host->guest_panicked(m->host->opaque, events);
	else if (events & PVPANIC_PANICKED)
		vm_request_stop(m->vm, RUN_STATE_GUEST_PANICKED);
}

static void port_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct pvpanic *p = opaque;
	u8 events = value & p->events;

	if (value & ~(u64)PVPANIC_EVENTS)
		log_guest("pvpanic: unknown event 0x%02" PRIx64 "\n", value);
	if (events & PVPANIC_SHUTDOWN)
		vm_request_shutdown(p->dev.machine->vm, SHUTDOWN_GUEST_SHUTDOWN);
	if (events & (PVPANIC_PANICKED | PVPANIC_CRASH_LOADED))
		guest_panicked(p->dev.machine, events);
}

static const struct mmio_ops port_ops = { .read = port_read, .write = port_write, .max_access = 1 };

static int pvpanic_realize(struct device *dev, GError **err)
{
	struct pvpanic *p = (struct pvpanic *)dev;

	if (p->events & ~PVPANIC_EVENTS) {
		error_set(err, "pvpanic: events 0x%x has bits outside 0x%x", p->events,
			  PVPANIC_EVENTS);
		return -EINVAL;
	}
	p->port = (struct mapping){ .name = "pvpanic",
				    .base = p->ioport,
				    .size = 1,
				    .kind = MAP_MMIO,
				    .ops = &port_ops,
				    .opaque = p };
	address_space_map(dev->machine->vm->io, &p->port);
	return 0;
}

static void pvpanic_unrealize(struct device *dev)
{
	address_space_unmap(dev->machine->vm->io, &((struct pvpanic *)dev)->port);
}

static const struct property pvpanic_props[] = {
	PROP(struct pvpanic, ioport, "ioport", U16, "0x505", "port"),
	PROP(struct pvpanic, events, "events", U8, "7",
	     "bits: 1 panicked, 2 crash kernel loaded, 4 shutdown"),
	PROP_END,
};

const struct device_type pvpanic_type = {
	.name = "pvpanic",
	.desc = "tells that the guest's kernel panicked",
	.bus = "ISA",
	.instance_size = sizeof(struct pvpanic),
	.props = pvpanic_props,
	.user_creatable = true,
	.realize = pvpanic_realize,
	.unrealize = pvpanic_unrealize,
};

/* hw/acpi/ged.c - generic event device with sleep and reset registers (ACPI 6.5, 4.8.3, 5.6.9). */
#include "hw/acpi/ged.h"

#include "accel/vm.h"
#include "hw/devices.h"
#include "hw/machine.h"
#include "migration/state.h"
#include "util/log.h"

enum { SLEEP_ENABLE = 0x20, SLEEP_TYPE_SHIFT = 2, SLEEP_TYPE_MASK = 7 };

struct ged_state {
	u32 sel; /* migrated: pending events */
};

struct ged {
	struct device dev;
	u64 base;
	u32 line;
	struct ged_state ged_state;
	struct irq irq;
	struct mapping map;
};

static void update_irq(struct ged *g)
{
	irq_set(&g->irq, g->ged_state.sel != 0);
}

static u64 ged_read(void *opaque, u64 offset, unsigned size)
{
	struct ged *g = opaque;
	u32 sel = g->ged_state.sel;

	if (offset != GED_SELECTOR)
		return 0; /* the registers only act on writes; WAK_STS is never set */
	g->ged_state.sel = 0;
	update_irq(g);
	return sel;
}

static void sleep_control(struct ged *g, u8 val)
{
	unsigned type = val >> SLEEP_TYPE_SHIFT & SLEEP_TYPE_MASK;

	if (!(val & SLEEP_ENABLE))
		return;
	if (type == GED_SLEEP_TYPE_S5)
		vm_request_shutdown(g->dev.machine->vm, SHUTDOWN_GUEST_SHUTDOWN);
	else
		log_guest("acpi-ged: sleep type %u is not offered\n", type);
}

static void ged_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	struct ged *g = opaque;

	if (offset == GED_SLEEP_CONTROL)
		sleep_control(g, value);
	else if (offset == GED_RESET && value == GED_RESET_VALUE)
		vm_request_reset(g->dev.machine->vm, SHUTDOWN_GUEST_RESET);
}

static const struct mmio_ops ged_ops = { .read = ged_read, .write = ged_write, .max_access = 4 };

void ged_press_power_button(struct device *dev)
{
	struct ged *g = (struct ged *)dev;

	g->ged_state.sel |= GED_EVENT_POWER_BUTTON;
	update_irq(g);
}

static int ged_realize(struct device *dev, GError **err)
{
	struct ged *g = (struct ged *)dev;

	machine_connect_irq(dev->machine, &g->irq, g->line);
	g->map = (struct mapping){ .name = "acpi-ged",
				   .base = g->base,
				   .size = GED_SIZE,
				   .kind = MAP_MMIO,
				   .ops = &ged_ops,
				   .opaque = g };
	address_space_map(dev->machine->vm->memory, &g->map);
	return 0;
}

static void ged_unrealize(struct device *dev)
{
	struct ged *g = (struct ged *)dev;

	address_space_unmap(dev->machine->vm->memory, &g->map);
	machine_disconnect_irq(dev->machine, &g->irq);
}

static void ged_reset(struct device *dev)
{
	struct ged *g = (struct ged *)dev;

	g->ged_state.sel = 0;
	update_irq(g);
}

static int ged_post_load(void *obj, int version, GError **err)
{
	update_irq(obj);
	return 0;
}

/* QEMU's "acpi-ged" section, version 1. */
static const struct state_field event_fields[] = { FIELD_U32(struct ged_state, sel), FIELD_END };
static const struct state_desc event_state = {
	.name = "acpi-ged-state",
	.version = 1,
	.min_version = 1,
	.fields = event_fields,
};
static const struct state_field ged_fields[] = {
	FIELD_STRUCT(struct ged, ged_state, event_state),
	FIELD_END,
};
static const struct state_desc ged_state = {
	.name = "acpi-ged",
	.version = 1,
	.min_version = 1,
	.fields = ged_fields,
	.post_load = ged_post_load,
};

static const struct property ged_props[] = {
	PROP(struct ged, base, "base", U64, NULL, "guest physical address of its page"),
	PROP(struct ged, line, "irq", U32, NULL, "line of the machine's interrupt controller"),
	PROP_END,
};

static const struct device_type ged_type = {
	.name = GED_TYPE,
	.desc = "ACPI generic event device",
	.bus = "System",
	.instance_size = sizeof(struct ged),
	.props = ged_props,
	.realize = ged_realize,
	.unrealize = ged_unrealize,
	.reset = ged_reset,
	.state = &ged_state,
};

const struct device_type *const hw_acpi_devices[] = {
	&ged_type,
	NULL,
};

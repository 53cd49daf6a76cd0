/*
 * hw/pci/pcie-root-port.c - PCI Express root port with a slot for one device.
 *
 * Source: PCI Express Base 5.0, 7.5.3 (capability), 7.8.4 (AER), 7.7.8 (ACS); PCI-to-PCI Bridge
 * Architecture 1.2, 3.2. Identity and order of the capabilities are those of QEMU's port of that
 * name: they travel in a migration.
 */
#include "hw/pci/pcie-root-port.h"

#include "hw/machine.h"
#include "hw/pci/devices.h"
#include "util/error.h"

#define AER_AT        0x100
#define AER_NEXT      0x148
#define ACS_AT        0x148
#define AER_LOG_MAX   8
#define SLOT_MAX      0x1fff
#define ACS_FEATURES  0x5f
#define UNCORRECTABLE 0x03fff030 /* errors that can be masked, graded and logged */

/* ---- what the device tells ---- */

static void add_bridge_header(struct pci_device *d)
{
	u8 *w = d->wmask;

	memset(w + PCI_PRIMARY_BUS, 0xff, 3);
	w[PCI_IO_BASE] = w[PCI_IO_LIMIT] = 0xf0;
	pci_set32(w + PCI_MEMORY_BASE, 0xfff0fff0);
	pci_set32(w + PCI_PREF_MEMORY_BASE, 0xfff0fff0);
	memset(w + PCI_PREF_BASE_UPPER32, 0xff, 8);
	pci_set32(d->config + PCI_PREF_MEMORY_BASE,
		  PCI_PREF_RANGE_TYPE_64 | PCI_PREF_RANGE_TYPE_64 << 16);
	pci_set16(w + PCI_BRIDGE_CONTROL,
		  PCI_BRIDGE_CTL_PARITY | PCI_BRIDGE_CTL_SERR | PCI_BRIDGE_CTL_BUS_RESET);
	pci_set16(d->w1cmask + PCI_SEC_STATUS, 0xf900);
}

static void add_subsystem_id(struct pci_device *d)
{
	u16 at = pci_add_capability(d, PCI_CAP_ID_SSVID, 8);

	pci_set16(d->config + at + 4, 0x1b36);
}

static void add_extended(struct pci_device *d, bool has_mask)
{
	u8 *c = d->config, *w = d->wmask;

	pci_set32(c + AER_AT, PCI_EXT_CAP_ID_ERR | 2 << 16 | AER_NEXT << 20);
	pci_set32(c + AER_AT + PCI_ERR_UNCOR_SEVER, 0x00462030);
	pci_set32(c + AER_AT + PCI_ERR_COR_MASK, 0x0000e000);
	pci_set32(c + AER_AT + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC | 0x200);
	if (has_mask) {
		pci_set32(c + AER_AT + PCI_ERR_UNCOR_MASK, 0x02400000);
		pci_set32(w + AER_AT + PCI_ERR_UNCOR_MASK, UNCORRECTABLE);
	}
	pci_set32(w + AER_AT + PCI_ERR_UNCOR_SEVER, UNCORRECTABLE);
	pci_set32(d->w1cmask + AER_AT + PCI_ERR_UNCOR_STATUS, UNCORRECTABLE);
	pci_set32(w + AER_AT + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE | 0x400);
	pci_set32(w + AER_AT + PCI_ERR_COR_MASK, 0x0000f1c1);
	pci_set32(d->w1cmask + AER_AT + PCI_ERR_COR_STATUS, 0x0000f1c1);
	w[AER_AT + PCI_ERR_ROOT_COMMAND] = 7;
	pci_set32(c + ACS_AT, PCI_EXT_CAP_ID_ACS | 1 << 16);
	pci_set16(c + ACS_AT + PCI_ACS_CAP, ACS_FEATURES);
	pci_set16(w + ACS_AT + PCI_ACS_CTRL, ACS_FEATURES);
	memset(d->cmask + AER_AT, 0xff, 4);
	memset(d->cmask + ACS_AT, 0xff, 4);
}

/* ---- life ---- */

static int check_options(const struct root_port *p, GError **err)
{
	if (p->opt_slot <= SLOT_MAX)
		return 0;
	error_set(err, "property 'pcie-root-port.slot' does not take value '%u', it wants 0 to %u",
		  p->opt_slot, SLOT_MAX);
	return -EINVAL;
}

/* Guests tell slots apart by these two numbers. */
static int check_chassis(struct root_port *p, GError **err)
{
	for (GList *l = p->pci.dev.machine->devices.head; l; l = l->next) {
		struct device *dev = l->data;
		const struct root_port *other = l->data;

		if (dev->type != &pcie_root_port_type || !dev->realized ||
		    other->opt_chassis != p->opt_chassis || other->opt_slot != p->opt_slot)
			continue;
		error_set(err, "Can't add chassis slot, chassis=%u, slot=%u are those of %s",
			  p->opt_chassis, p->opt_slot, dev->id ?: "another port");
		return -EBUSY;
	}
	return 0;
}

static void port_reset(struct device *dev)
{
	struct pci_device *d = (struct pci_device *)dev;
	u8 *c = d->config;

	pci_device_reset(d);
	/* Base above limit: the windows are closed. */
	c[PCI_IO_BASE] = 0xf0;
	pci_set16(c + PCI_MEMORY_BASE, 0xfff0);
	pci_set16(c + PCI_PREF_MEMORY_BASE, 0xfff0 | PCI_PREF_RANGE_TYPE_64);
	pci_set16(c + PCI_PREF_MEMORY_LIMIT, PCI_PREF_RANGE_TYPE_64);
	pcie_slot_reset(root_port_of(d));
}

static int port_realize(struct device *dev, GError **err)
{
	static const struct pci_ids ids = { .vendor = 0x1b36,
					    .device = 0x000c,
					    .class_code = 0x060400 };
	struct pci_device *d = (struct pci_device *)dev;
	struct root_port *p = root_port_of(d);
	int ret = check_options(p, err) ?: check_chassis(p, err);

	if (ret)
		return ret;
	d->bridge = true;
	ret = pci_device_init(d, &ids, PCIE_CONFIG_BYTES, err);
	if (ret)
		return ret;
	if (d->bus->bridge) {
		error_set(err, "pcie-root-port goes on the root bus, '%s' is behind a port",
			  dev->on_bus->name);
		pci_device_finish(d);
		return -EINVAL;
	}
	add_bridge_header(d);
	pci_use_pin(d);
	add_subsystem_id(d);
	msix_init(d, 1, 0);
	pci_add_express(d, PCI_EXP_TYPE_ROOT_PORT);
	add_extended(d, p->opt_err_mask);
	pcie_slot_init(p);
	dev->bus->hotplug = p->opt_hotplug;
	p->aer_log_max = AER_LOG_MAX;
	d->config_read = pcie_slot_config_read;
	d->config_written = pcie_slot_config_written;
	pci_bus_init(&p->bus, dev->bus, d->bus->host, d);
	return 0;
}

static void port_unrealize(struct device *dev)
{
	struct pci_device *d = (struct pci_device *)dev;

	pci_bus_finish(&root_port_of(d)->bus);
	pci_device_finish(d);
}

/* ---- migration: QEMU's "pcie-root-port" section, version 1 ---- */

static int log_check(void *obj, int version, GError **err)
{
	const struct root_port *p = obj;

	if (!p->aer_log_num && p->aer_log_max == AER_LOG_MAX)
		return 0;
	error_set(err, "%u of %u errors are logged at the source; only empty logs of %u are taken",
		  p->aer_log_num, p->aer_log_max, AER_LOG_MAX);
	return -EINVAL;
}

static const struct state_field log_fields[] = { FIELD_U16(struct root_port, aer_log_num),
						 FIELD_U16(struct root_port, aer_log_max),
						 FIELD_END };
static const struct state_desc log_state = {
	.name = "PCIE_AER_ERROR_LOG",
	.version = 1,
	.min_version = 1,
	.fields = log_fields,
	.post_load = log_check,
};

static const struct state_field port_fields[] = {
	{ .name = "parent_obj.parent_obj.parent_obj",
	  .type = STATE_STRUCT,
	  .size = sizeof(struct pci_device),
	  .desc = &pci_device_state },
	{ .name = "parent_obj.parent_obj.parent_obj.exp.aer_log",
	  .type = STATE_STRUCT,
	  .size = sizeof(struct root_port),
	  .desc = &log_state },
	{ .name = "msix",
	  .type = STATE_CUSTOM,
	  .size = sizeof(struct pci_device),
	  .codec = &msix_state_codec },
	FIELD_END,
};

static int port_post_load(void *obj, int version, GError **err)
{
	pcie_slot_loaded(obj);
	return 0;
}

static const struct state_desc port_state = {
	.name = "pcie-root-port",
	.version = 1,
	.min_version = 1,
	.priority = STATE_PRIO_PCI_BUS,
	.fields = port_fields,
	.post_load = port_post_load,
};

static const struct property port_props[] = {
	PCI_PROPS(struct root_port),
	PROP(struct root_port, opt_port, "port", U8, "0", "port number, as lspci shows it"),
	PROP(struct root_port, opt_chassis, "chassis", U8, "0",
	     "number of the chassis; with slot, unlike that of any other port"),
	PROP(struct root_port, opt_slot, "slot", U16, "0", "number of the slot"),
	PROP(struct root_port, opt_hotplug, "hotplug", BOOL, "on",
	     "tell the guest that the slot can be plugged"),
	PROP(struct root_port, opt_err_mask, "x-pcie-err-unc-mask", BOOL, "on",
	     "have a mask of uncorrectable errors that the guest can change"),
	PROP_END,
};

const struct device_type pcie_root_port_type = {
	.name = "pcie-root-port",
	.desc = "PCI Express Root Port",
	.category = DEVICE_BRIDGE,
	.bus = PCI_BUS_TYPE,
	.provides_bus = PCI_BUS_TYPE,
	.bus_name = "pci",
	.bus_named_by_id = true,
	.instance_size = sizeof(struct root_port),
	.props = port_props,
	.user_creatable = true,
	.child_plugged = pcie_slot_plugged,
	.unplug_request = pcie_slot_unplug_request,
	.realize = port_realize,
	.unrealize = port_unrealize,
	.reset = port_reset,
	.state = &port_state,
	.state_path = pci_path,
};

/*
 * hw/pci/gpex.c - generic PCI Express host bridge and its own function.
 *
 * Source: PCI Firmware Specification 3.2, 4.1: the offset into the configuration window is bus <<
 * 20 | device << 15 | function << 12 | register.
 */
#include "hw/pci/pci-priv.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/pci/devices.h"

#define ROOT_TYPE "gpex-root"

static u64 ecam_read(void *opaque, u64 off, unsigned size)
{
	struct pci_host *h = opaque;
	struct pci_device *d = pci_bus_find(&h->bus, off >> 20, off >> 12);

	return d ? pci_config_read(d, off & 0xfff, size) : UINT64_MAX;
}

static void ecam_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct pci_host *h = opaque;
	struct pci_device *d = pci_bus_find(&h->bus, off >> 20, off >> 12);

	if (d)
		pci_config_write(d, off & 0xfff, value, size);
}

static const struct mmio_ops ecam_ops = {
	.read = ecam_read,
	.write = ecam_write,
	.max_access = 4,
};

/* ---- the host's own function ---- */

struct gpex_root {
	struct pci_device pci;
};

static int root_realize(struct device *dev, GError **err)
{
	static const struct pci_ids ids = { .vendor = 0x1b36,
					    .device = 0x0008,
					    .subsystem_vendor = 0x1af4,
					    .subsystem = 0x1100,
					    .class_code = 0x060000 };

	return pci_device_init((struct pci_device *)dev, &ids, PCI_CONFIG_BYTES, err);
}

static void root_unrealize(struct device *dev)
{
	pci_device_finish((struct pci_device *)dev);
}

static void root_reset(struct device *dev)
{
	pci_device_reset((struct pci_device *)dev);
}

static const struct state_field root_fields[] = {
	{ .name = "parent_obj",
	  .type = STATE_STRUCT,
	  .size = sizeof(struct pci_device),
	  .desc = &pci_device_state },
	FIELD_END,
};

static const struct state_desc root_state = {
	.name = "gpex_root",
	.version = 1,
	.min_version = 1,
	.fields = root_fields,
};

const struct device_type gpex_root_type = {
	.name = ROOT_TYPE,
	.desc = "function of the generic PCI Express host bridge",
	.category = DEVICE_BRIDGE,
	.bus = PCI_BUS_TYPE,
	.instance_size = sizeof(struct gpex_root),
	.realize = root_realize,
	.unrealize = root_unrealize,
	.reset = root_reset,
	.state = &root_state,
	.state_path = pci_path,
};

/* ---- host ---- */

static int host_realize(struct device *dev, GError **err)
{
	struct pci_host *h = (struct pci_host *)dev;
	struct device *root;

	pci_bus_init(&h->bus, dev->bus, h, NULL);
	root = device_create(dev->machine, ROOT_TYPE, NULL, err);
	if (!root || device_realize(root, dev->bus, err)) {
		device_destroy(root);
		pci_bus_finish(&h->bus);
		return -EINVAL;
	}
	h->ecam = (struct mapping){
		.name = "pcie-mmcfg-mmio",
		.base = h->cfg.ecam.base,
		.size = h->cfg.ecam.size,
		.kind = MAP_MMIO,
		.ops = &ecam_ops,
		.opaque = h,
	};
	address_space_map(dev->machine->vm->memory, &h->ecam);
	return 0;
}

static void host_unrealize(struct device *dev)
{
	struct pci_host *h = (struct pci_host *)dev;

	address_space_unmap(dev->machine->vm->memory, &h->ecam);
	pci_bus_finish(&h->bus);
}

struct device *pci_host_create(struct machine *m, const struct pci_host_config *cfg, GError **err)
{
	struct device *dev = device_create(m, PCI_HOST_TYPE, NULL, err);

	if (!dev)
		return NULL;
	((struct pci_host *)dev)->cfg = *cfg;
	if (device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

struct device *pci_host_find(struct machine *m)
{
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (dev->type == &gpex_host_type && dev->realized)
			return dev;
	}
	return NULL;
}

static const struct state_field host_fields[] = { FIELD_U32(struct pci_host, config_reg),
						  FIELD_END };
static const struct state_desc host_state = {
	.name = "PCIHost",
	.version = 1,
	.min_version = 1,
	.fields = host_fields,
};

const struct device_type gpex_host_type = {
	.name = PCI_HOST_TYPE,
	.desc = "generic PCI Express host bridge",
	.category = DEVICE_BRIDGE,
	.bus = "System",
	.provides_bus = PCI_BUS_TYPE,
	.bus_name = "pcie",
	.bus_hotplug = false,
	.instance_size = sizeof(struct pci_host),
	.realize = host_realize,
	.unrealize = host_unrealize,
	.state = &host_state,
};

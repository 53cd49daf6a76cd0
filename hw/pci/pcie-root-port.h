/*
 * hw/pci/pcie-root-port.h - what the files of the root port share: the port and its slot.
 */
#ifndef HW_PCI_PCIE_ROOT_PORT_H
#define HW_PCI_PCIE_ROOT_PORT_H

#include "hw/pci/pci-priv.h"

/* What a slot keeps beside its registers; all of it follows from them, or is forgotten at a reset
 * and by a migration. */
struct pcie_slot {
	bool notified; /* a reason for the interrupt is there, and was told */
	u16 control;   /* the register before the guest's last write */
	bool leaving;  /* the guest was asked to let go of what is in it */
	bool ejecting; /* it has let go, the main thread is about to remove that */
};

struct root_port {
	struct pci_device pci;
	struct pci_bus bus; /* behind it */
	struct pcie_slot slot;
	u16 aer_log_num; /* migrates; no errors are logged */
	u16 aer_log_max; /* migrates */

	/* Properties. */
	u8 opt_port, opt_chassis;
	u16 opt_slot;
	bool opt_hotplug;
	bool opt_err_mask;
};

static inline struct root_port *root_port_of(struct pci_device *d)
{
	return container_of(d, struct root_port, pci);
}

/* pcie_slot_init() - slot registers of a new port whose Express capability is there. */
void pcie_slot_init(struct root_port *p);
void pcie_slot_reset(struct root_port *p);
/* pcie_slot_loaded() - after a migration brought the registers. */
void pcie_slot_loaded(struct root_port *p);

/* For pci_device's config_read and config_written, and a device_type's operations on children. */
void pcie_slot_config_read(struct pci_device *d, u16 off, unsigned len);
void pcie_slot_config_written(struct pci_device *d, u16 off, unsigned len);
void pcie_slot_plugged(struct device *port, struct device *child);
int pcie_slot_unplug_request(struct device *port, struct device *child, GError **err);

#endif

/*
 * hw/pci/pci-priv.h - what the files of the PCI core share.
 */
#ifndef HW_PCI_PCI_PRIV_H
#define HW_PCI_PCI_PRIV_H

#include "hw/pci/pci.h"

#include "hw/pci/host.h"

#include <linux/pci_regs.h>

#define PCI_DEVFNS 256

/* The devices of a bus; its struct bus has it as owner_data. */
struct pci_bus {
	struct pci_host *host;
	struct pci_device *bridge; /* NULL: the root bus */
	struct pci_device *at[PCI_DEVFNS];
	struct machine *machine;

	/* Migrates. */
	s32 nirq;
	s32 irq_count[PCI_PINS]; /* devices that drive each line */
};

struct pci_host {
	struct device dev;
	struct pci_host_config cfg;
	struct pci_bus bus;
	struct mapping ecam;
	u32 config_reg; /* migrates: of hosts with I/O ports for the configuration */
};

/* pci_bus_init() - of a new bus; @bridge NULL: the root. Registers its state. */
void pci_bus_init(struct pci_bus *bus, struct bus *owner, struct pci_host *host,
		  struct pci_device *bridge);
void pci_bus_finish(struct pci_bus *bus);

/* pci_bus_number() - as the guest set it up; the root has 0. */
u8 pci_bus_number(const struct pci_bus *bus);

/* pci_bus_find() - device by number of its bus; NULL: none decodes it. */
struct pci_device *pci_bus_find(struct pci_bus *root, u8 number, u8 devfn);

/* pci_bus_secondary() - the bus behind a bridge; NULL if @d is none. */
struct pci_bus *pci_bus_secondary(const struct pci_device *d);

/* pci_bus_line() - interrupt line of the machine for pin INTA of a device. */
unsigned pci_bus_line(const struct pci_device *d);

/* Accesses of @len 1, 2 or 4 bytes. */
u32 pci_config_read(struct pci_device *d, u16 off, unsigned len);
void pci_config_write(struct pci_device *d, u16 off, u32 value, unsigned len);

/* pci_update_bars() - map what the registers of the device and of bridges above let through. */
void pci_update_bars(struct pci_device *d);

/* pci_update_bars_below() - likewise of everything on a bus. */
void pci_update_bars_below(struct pci_bus *bus);

/* pci_update_irq() - after the command register changed. */
void pci_update_irq(struct pci_device *d);

/* pci_bar_in_use() - whether register @n is the upper half of the one before. */
bool pci_bar_is_upper_half(const struct pci_device *d, unsigned n);

/* pci_bar_address() - what the register holds, without the flags. */
u64 pci_bar_address(const struct pci_device *d, unsigned n);

/* msix_config_written(), msix_reset(), msix_finish() - of a device that has MSI-X. */
void msix_config_written(struct pci_device *d, u16 off, unsigned len);
void msix_reset(struct pci_device *d);
void msix_finish(struct pci_device *d);

#endif

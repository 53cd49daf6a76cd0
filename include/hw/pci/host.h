/*
 * hw/pci/host.h - generic PCI Express host bridge: configuration space in memory, no registers.
 *
 * Source: PCI Firmware Specification 3.2, 4.1 (ECAM); device tree binding "pci-host-ecam-generic".
 */
#ifndef HW_PCI_HOST_H
#define HW_PCI_HOST_H

#include "hw/device.h"

#define PCI_HOST_TYPE "gpex-pcihost"

struct pci_window {
	u64 base, size; /* size 0: none */
};

struct pci_host_config {
	struct pci_window ecam;   /* 1 MiB a bus */
	struct pci_window mmio;   /* below 4 GiB; bus addresses are the CPU's */
	struct pci_window mmio64; /* above */
	struct pci_window pio;    /* where the CPU sees I/O port 0 and up */
	unsigned lines[4]; /* of the machine's interrupt controller: INTA to INTD of slot 0 */
};

/*
 * pci_host_create() - the host bridge, with bus "pcie.0" and its own function at 00.0.
 *
 * Return: the realized device; NULL with @err.
 * Context: machine's init(), bus "System" there.
 */
struct device *pci_host_create(struct machine *m, const struct pci_host_config *cfg, GError **err);

/* pci_host_find() - the machine's; NULL if it has none. */
struct device *pci_host_find(struct machine *m);

/* pci_describe() - text of "info pci". Free with g_free(). */
char *pci_describe(struct machine *m);

#endif

/* hw/pci/devices.c - the device types of this folder. */
#include "hw/pci/devices.h"

#include "hw/devices.h"

const struct device_type *const hw_pci_devices[] = {
	&gpex_host_type,
	&gpex_root_type,
	&pcie_root_port_type,
	NULL,
};

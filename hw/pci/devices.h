/*
 * hw/pci/devices.h - the device types of this folder.
 */
#ifndef HW_PCI_DEVICES_H
#define HW_PCI_DEVICES_H

#include "hw/device.h"

extern const struct device_type gpex_host_type;
extern const struct device_type gpex_root_type;
extern const struct device_type pcie_root_port_type;

#endif

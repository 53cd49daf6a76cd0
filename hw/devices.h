/*
 * hw/devices.h - the tables of device types that folders export and targets list.
 *
 * Each is NULL-terminated and defined in the folder's devices.c.
 */
#ifndef HW_DEVICES_H
#define HW_DEVICES_H

#include "hw/device.h"

extern const struct device_type *const hw_acpi_devices[];
extern const struct device_type *const hw_block_devices[];
extern const struct device_type *const hw_char_arm_devices[];
extern const struct device_type *const hw_char_isa_devices[];
extern const struct device_type *const hw_display_devices[];
extern const struct device_type *const hw_gpio_devices[];
extern const struct device_type *const hw_intc_arm_devices[];
extern const struct device_type *const hw_misc_devices[];
extern const struct device_type *const hw_misc_isa_devices[];
extern const struct device_type *const hw_nvram_devices[];
extern const struct device_type *const hw_pci_devices[];
extern const struct device_type *const hw_rtc_arm_devices[];
extern const struct device_type *const hw_rtc_isa_devices[];
extern const struct device_type *const hw_virtio_pci_devices[];
extern const struct device_type *const hw_virtio_devices[]; /* and those of the family elsewhere */

#endif

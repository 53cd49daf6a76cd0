/*
 * hw/misc/devices.h - the device types of this folder.
 */
#ifndef HW_MISC_DEVICES_H
#define HW_MISC_DEVICES_H

#include "hw/device.h"

extern const struct device_type isa_debug_exit_type;
extern const struct device_type loader_type;
extern const struct device_type pvpanic_type;
extern const struct device_type tidemark_testdev_type;

#endif

/*
 * hw/char/devices.h - the device types of this folder.
 */
#ifndef HW_CHAR_DEVICES_H
#define HW_CHAR_DEVICES_H

#include "hw/device.h"

extern const struct device_type isa_serial_type;
extern const struct device_type pl011_type;

#endif

/*
 * hw/gpio/devices.h - the device types of this folder.
 */
#ifndef HW_GPIO_DEVICES_H
#define HW_GPIO_DEVICES_H

#include "hw/device.h"

extern const struct device_type gpio_key_type;

#endif

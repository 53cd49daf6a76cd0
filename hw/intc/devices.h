/*
 * hw/intc/devices.h - the device types of this folder.
 */
#ifndef HW_INTC_DEVICES_H
#define HW_INTC_DEVICES_H

#include "hw/device.h"

extern const struct device_type arm_gicv2_type;
extern const struct device_type arm_gicv2m_type;
extern const struct device_type arm_gicv3_its_type;
extern const struct device_type arm_gicv3_kernel_type;
extern const struct device_type arm_gicv3_type;

#endif

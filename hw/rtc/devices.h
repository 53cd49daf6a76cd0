/*
 * hw/rtc/devices.h - the device types of this folder.
 */
#ifndef HW_RTC_DEVICES_H
#define HW_RTC_DEVICES_H

#include "hw/device.h"

extern const struct device_type pl031_type;

#endif

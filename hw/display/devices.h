/*
 * hw/display/devices.h - the device types of this folder.
 */
#ifndef HW_DISPLAY_DEVICES_H
#define HW_DISPLAY_DEVICES_H

struct device_type;

extern const struct device_type ramfb_type;

#endif

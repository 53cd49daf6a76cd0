/* hw/display/devices.c - the device types of this folder. */
#include "hw/display/devices.h"
#include "hw/devices.h"

const struct device_type *const hw_display_devices[] = {
	&ramfb_type,
	NULL,
};

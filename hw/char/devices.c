/* hw/char/devices.c - the device types of this folder, by the targets that have them. */
#include "hw/char/devices.h"
#include "hw/devices.h"

const struct device_type *const hw_char_isa_devices[] = {
	&isa_serial_type,
	NULL,
};

const struct device_type *const hw_char_arm_devices[] = {
	&pl011_type,
	NULL,
};

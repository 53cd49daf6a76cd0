/* hw/misc/devices.c - the device types of this folder, by the targets that have them. */
#include "hw/misc/devices.h"
#include "hw/devices.h"

const struct device_type *const hw_misc_devices[] = {
	&loader_type,
	&tidemark_testdev_type,
	NULL,
};

const struct device_type *const hw_misc_isa_devices[] = {
	&isa_debug_exit_type,
	&pvpanic_type,
	NULL,
};

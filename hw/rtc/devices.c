/* hw/rtc/devices.c - the device types of this folder, by the targets that have them. */
#include "hw/devices.h"
#include "hw/rtc/devices.h"
#include "hw/rtc/mc146818-priv.h"

const struct device_type *const hw_rtc_isa_devices[] = {
	&mc146818_type,
	NULL,
};

const struct device_type *const hw_rtc_arm_devices[] = {
	&pl031_type,
	NULL,
};

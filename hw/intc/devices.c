/* hw/intc/devices.c - the device types of this folder, by the targets that have them. */
#include "hw/intc/devices.h"
#include "hw/devices.h"

const struct device_type *const hw_intc_arm_devices[] = {
	&arm_gicv2_type,        &arm_gicv2m_type, &arm_gicv3_its_type,
	&arm_gicv3_kernel_type, &arm_gicv3_type,  NULL,
};

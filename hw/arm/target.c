/* hw/arm/target.c - machines and devices of qemu-system-aarch64. */
#include "hw/arm/virt.h"
#include "hw/devices.h"
#include "hw/none.h"

#include <elf.h>

static const struct machine_type *const machines[] = {
	&virt_machine_types[0],  &virt_machine_types[1],
	&virt_machine_types[2],  &virt_machine_types[3],
	&virt_machine_types[4],  &virt_machine_types[5],
	&virt_machine_types[6],  &virt_machine_types[7],
	&virt_machine_types[8],  &virt_machine_types[9],
	&virt_machine_types[10], &virt_machine_types[11],
	&none_machine_type,      NULL,
};
_Static_assert(VIRT_TYPES == 12, "list them all");

static const struct device_type *const *const devices[] = {
	hw_block_devices,
	hw_char_arm_devices,
	hw_display_devices,
	hw_gpio_devices,
	hw_intc_arm_devices,
	hw_misc_devices,
	hw_nvram_devices,
	hw_pci_devices,
	hw_rtc_arm_devices,
	/* In this order a name without suffix means the PCI variant. */
	hw_virtio_pci_devices,
	hw_virtio_devices,
	NULL,
};

static const u8 gic_versions[] = { 2, 3, 0 };

const struct hw_target hw_target_aarch64 = {
	.name = "aarch64",
	.page_bits = 12,
	.cpu_type = "arm-cpu",
	.elf_machine = EM_AARCH64,
	.machines = machines,
	.devices = devices,
	.gic_versions = gic_versions,
};

/* hw/i386/target.c - machines and devices of qemu-system-x86_64. */
#include "hw/devices.h"
#include "hw/i386/microvm.h"
#include "hw/none.h"

#include <elf.h>

static const struct machine_type *const machines[] = { &microvm_machine_type, &none_machine_type,
						       NULL };

static const struct device_type *const *const devices[] = {
	hw_acpi_devices,    hw_char_isa_devices, hw_display_devices,
	hw_misc_devices,    hw_misc_isa_devices, hw_nvram_devices,
	hw_rtc_isa_devices, hw_virtio_devices,   NULL,
};

const struct hw_target hw_target_x86_64 = {
	.name = "x86_64",
	.cpu_type = "x86_64-cpu",
	.elf_machine = EM_X86_64,
	.machines = machines,
	.devices = devices,
};

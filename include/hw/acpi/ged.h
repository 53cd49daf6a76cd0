/*
 * hw/acpi/ged.h - hardware-reduced ACPI: generic event device, sleep and reset registers.
 *
 * Source: ACPI 6.5, sections 4.8.3.7 (sleep control and status), 4.8.3.6 (reset), 5.6.9 (GED).
 */
#ifndef HW_ACPI_GED_H
#define HW_ACPI_GED_H

#include "hw/device.h"

#define GED_TYPE "acpi-ged"

/* Offsets from property "base": the selector that the event method reads, then the registers. */
enum {
	GED_SELECTOR = 0x000, /* read, 4 bytes: pending events, cleared by the read */
	GED_SLEEP_CONTROL = 0x200,
	GED_SLEEP_STATUS = 0x201,
	GED_RESET = 0x202,
	GED_SIZE = 0x1000,
};

enum { GED_EVENT_POWER_BUTTON = 0x2 };
enum { GED_RESET_VALUE = 0x42, GED_SLEEP_TYPE_S5 = 5 };

/* ged_press_power_button() - tell the guest. Machine lock held. */
void ged_press_power_button(struct device *dev);

#endif

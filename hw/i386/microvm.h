/*
 * hw/i386/microvm.h - the machine "microvm": what its files share.
 */
#ifndef HW_I386_MICROVM_H
#define HW_I386_MICROVM_H

#include "hw/i386/boot.h"
#include "hw/i386/layout.h"
#include "memory/address-space.h"

struct microvm {
	struct machine m;

	/* Properties. */
	int acpi, rtc, pit, pic, pcie, ioapic2; /* enum on_off_auto */
	bool isa_serial;
	bool auto_kernel_cmdline;
	bool option_roms;

	struct mapping low_ram, high_ram;
	struct mapping bios, bios_low;       /* the image, and its last 128 KiB below 1 MiB */
	struct device *fw_cfg, *clock, *ged; /* ged: NULL without ACPI; clock: NULL with rtc=off */
	struct device *transports[VIRTIO_MMIO_TRANSPORTS];
	struct x86_chips *chips; /* NULL if the accelerator has none */
	bool states_registered;
	struct x86_boot_state start;
};

extern const struct machine_type microvm_machine_type;

static inline bool microvm_has_acpi(const struct microvm *vm)
{
	return vm->acpi != OOA_OFF;
}

/* microvm_virtio_line() - interrupt line of a virtio-mmio transport. */
unsigned microvm_virtio_line(const struct microvm *vm, unsigned transport);

struct acpi_tables;

/*
 * microvm_acpi_tables() - all tables for this machine with its devices, the root pointer first.
 * @base: guest physical address where they will lie.
 * @t:    out: where in them what is.
 */
GBytes *microvm_acpi_tables(struct microvm *vm, u64 base, struct acpi_tables *t);

/* microvm_offer_acpi() - hand the tables to firmware by fw_cfg, with the commands that place them.
 * Return: 0 or -errno with @err. */
int microvm_offer_acpi(struct microvm *vm, GError **err);

/*
 * microvm_mp_table() - processors and interrupts for kernels without ACPI.
 * @base: guest physical address where it will lie.
 */
GBytes *microvm_mp_table(struct microvm *vm, u64 base);

/* microvm_cmdline() - the kernel's command line with what the machine adds. Free with g_free(). */
char *microvm_cmdline(struct microvm *vm);

/* microvm_load_bios() - opt.bios at the top of 4 GiB and below 1 MiB. Return: 0 or -errno. */
int microvm_load_bios(struct microvm *vm, GError **err);

/* microvm_bios_boot() - hand the kernel, the memory map and the ACPI tables to firmware. */
int microvm_bios_boot(struct microvm *vm, GError **err);

/* microvm_memory_map() - what a kernel may use; @acpi_area: tables lie below 1 MiB. */
void microvm_memory_map(const struct microvm *vm, struct e820_map *map, bool acpi_area);

#endif

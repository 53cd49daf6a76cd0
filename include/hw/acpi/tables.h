/*
 * hw/acpi/tables.h - a machine's ACPI tables as one area of memory, and firmware's way to take
 * them.
 *
 * Source: ACPI 6.5, chapter 5.2; the linker/loader interface of fw_cfg (QEMU), as firmware reads
 * it: commands that allocate a file's memory, add its address to pointers in another, and make
 * checksums right.
 */
#ifndef HW_ACPI_TABLES_H
#define HW_ACPI_TABLES_H

#include "hw/device.h"

#define ACPI_RSDP_BYTES 36
#define ACPI_TABLES_MAX 16 /* that the XSDT lists */

/* Positions in a FADT of the pointers to the DSDT, of 4 and of 8 bytes. */
enum { FADT_DSDT_AT = 40, FADT_X_DSDT_AT = 140 };

/* Tables under construction; the root pointer comes first. */
struct acpi_tables {
	u64 base; /* guest physical address where they will lie; 0 for firmware that moves them */
	GByteArray *area;
	u64 listed[ACPI_TABLES_MAX];
	unsigned n;
	u32 fadt, fadt_bytes, xsdt, xsdt_bytes; /* offsets of what firmware must adjust */
};

/*
 * acpi_tables_init() - begin.
 * acpi_tables_place() - append a table that the XSDT does not list, such as the DSDT.
 * acpi_tables_add() - append one that it lists.
 * acpi_tables_add_fadt() - append the FADT, which refers to the DSDT.
 * @table: taken over.
 *
 * Return: the table's guest physical address.
 *
 * acpi_tables_end() - add the XSDT and the root pointer. Return: the area; the caller owns it.
 */
void acpi_tables_init(struct acpi_tables *t, u64 base);
u64 acpi_tables_place(struct acpi_tables *t, GBytes *table);
u64 acpi_tables_add(struct acpi_tables *t, GBytes *table);
u64 acpi_tables_add_fadt(struct acpi_tables *t, GBytes *table);
GBytes *acpi_tables_end(struct acpi_tables *t);

/*
 * acpi_tables_offer() - hand tables to firmware, with the commands that place them.
 * @t:      after acpi_tables_end(), made for base 0.
 * @tables: what that returned.
 * @fw_cfg: a device of hw/nvram/fw_cfg.h.
 *
 * Return: 0 or -errno with @err.
 */
int acpi_tables_offer(const struct acpi_tables *t, GBytes *tables, struct device *fw_cfg,
		      GError **err);

#endif

/*
 * hw/i386/bios-acpi.c - ACPI tables for firmware, which decides where they lie.
 *
 * Source: the ACPI linker/loader interface of fw_cfg (QEMU), as firmware reads it: commands that
 * allocate a file's memory, add its address to pointers in another, and make checksums right.
 */
#include "hw/i386/microvm.h"

#include "hw/nvram/fw_cfg.h"

#define RSDP_FILE   "etc/acpi/rsdp"
#define TABLES_FILE "etc/acpi/tables"
#define LOADER_FILE "etc/table-loader"

enum { CMD_ALLOCATE = 1, CMD_ADD_POINTER = 2, CMD_ADD_CHECKSUM = 3 };
enum { ZONE_HIGH = 1, ZONE_FSEG = 2 };

#define NAME_BYTES (FW_CFG_FILE_NAME_MAX + 1)

/* One command; little-endian, padded to 128 bytes. */
struct loader_command {
	u32 command;
	union {
		struct {
			char file[NAME_BYTES];
			u32 align;
			u8 zone;
		} __attribute__((packed)) allocate;
		struct {
			char dest_file[NAME_BYTES];
			char src_file[NAME_BYTES];
			u32 offset;
			u8 size;
		} __attribute__((packed)) pointer;
		struct {
			char file[NAME_BYTES];
			u32 offset; /* of the checksum */
			u32 start;
			u32 length;
		} __attribute__((packed)) checksum;
		u8 pad[124];
	};
};
_Static_assert(sizeof(struct loader_command) == 128, "loader command");

static void add(GByteArray *script, const struct loader_command *c)
{
	g_byte_array_append(script, (const u8 *)c, sizeof(*c));
}

static void allocate(GByteArray *script, const char *file, u32 align, u8 zone)
{
	struct loader_command c = { .command = GUINT32_TO_LE(CMD_ALLOCATE) };

	g_strlcpy(c.allocate.file, file, NAME_BYTES);
	c.allocate.align = GUINT32_TO_LE(align);
	c.allocate.zone = zone;
	add(script, &c);
}

/* A pointer into the tables; it holds the offset there. */
static void pointer(GByteArray *script, const char *file, u32 offset, u8 size)
{
	struct loader_command c = { .command = GUINT32_TO_LE(CMD_ADD_POINTER) };

	g_strlcpy(c.pointer.dest_file, file, NAME_BYTES);
	g_strlcpy(c.pointer.src_file, TABLES_FILE, NAME_BYTES);
	c.pointer.offset = GUINT32_TO_LE(offset);
	c.pointer.size = size;
	add(script, &c);
}

static void checksum(GByteArray *script, const char *file, u32 offset, u32 start, u32 length)
{
	struct loader_command c = { .command = GUINT32_TO_LE(CMD_ADD_CHECKSUM) };

	g_strlcpy(c.checksum.file, file, NAME_BYTES);
	c.checksum.offset = GUINT32_TO_LE(offset);
	c.checksum.start = GUINT32_TO_LE(start);
	c.checksum.length = GUINT32_TO_LE(length);
	add(script, &c);
}

static GBytes *build_script(const struct acpi_layout *l)
{
	GByteArray *script = g_byte_array_new();

	allocate(script, RSDP_FILE, 16, ZONE_FSEG);
	allocate(script, TABLES_FILE, 64, ZONE_HIGH);
	pointer(script, TABLES_FILE, l->fadt + FADT_DSDT_AT, 4);
	pointer(script, TABLES_FILE, l->fadt + FADT_X_DSDT_AT, 8);
	for (u32 at = ACPI_HEADER_BYTES; at < l->xsdt_bytes; at += 8)
		pointer(script, TABLES_FILE, l->xsdt + at, 8);
	checksum(script, TABLES_FILE, l->fadt + ACPI_CHECKSUM_AT, l->fadt, l->fadt_bytes);
	checksum(script, TABLES_FILE, l->xsdt + ACPI_CHECKSUM_AT, l->xsdt, l->xsdt_bytes);
	pointer(script, RSDP_FILE, RSDP_XSDT_AT, 8);
	checksum(script, RSDP_FILE, RSDP_CHECKSUM_AT, 0, RSDP_BYTES_1);
	checksum(script, RSDP_FILE, RSDP_CHECKSUM_2_AT, 0, ACPI_RSDP_BYTES);
	return g_byte_array_free_to_bytes(script);
}

int microvm_offer_acpi(struct microvm *vm, GError **err)
{
	struct acpi_layout layout;
	g_autoptr(GBytes) tables = microvm_acpi_tables(vm, 0, &layout);
	g_autoptr(GBytes) rsdp = g_bytes_new_from_bytes(tables, 0, ACPI_RSDP_BYTES);
	g_autoptr(GBytes) script = build_script(&layout);

	if (fw_cfg_add_file(vm->fw_cfg, RSDP_FILE, rsdp, err) ||
	    fw_cfg_add_file(vm->fw_cfg, TABLES_FILE, tables, err) ||
	    fw_cfg_add_file(vm->fw_cfg, LOADER_FILE, script, err))
		return -EINVAL;
	return 0;
}

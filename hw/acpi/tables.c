/* hw/acpi/tables.c - a machine's ACPI tables as one area of memory, and firmware's way to them. */
#include "hw/acpi/tables.h"

#include "hw/acpi/aml.h"
#include "hw/nvram/fw_cfg.h"

#include <assert.h>

#define ALIGNMENT 64

enum { ACPI_HEADER_BYTES = 36, ACPI_CHECKSUM_AT = 9 };
enum { RSDP_CHECKSUM_AT = 8, RSDP_XSDT_AT = 24, RSDP_CHECKSUM_2_AT = 32, RSDP_BYTES_1 = 20 };

static GBytes *build_xsdt(const u64 *tables, unsigned n)
{
	GByteArray *t = acpi_table_begin("XSDT", 1);

	for (unsigned i = 0; i < n; i++)
		acpi_u64(t, tables[i]);
	return acpi_table_end(t);
}

/* The root pointer; its first 20 bytes have a checksum of their own. */
static void put_rsdp(u8 *p, u64 xsdt)
{
	u64 le = GUINT64_TO_LE(xsdt);
	u32 len = GUINT32_TO_LE(ACPI_RSDP_BYTES);

	memcpy(p, "RSD PTR ", 8);
	memcpy(p + 9, "TIDEMK", 6);
	p[15] = 2; /* revision */
	memcpy(p + 20, &len, sizeof(len));
	memcpy(p + RSDP_XSDT_AT, &le, sizeof(le));
	p[RSDP_CHECKSUM_AT] = acpi_checksum(p, RSDP_BYTES_1);
	p[RSDP_CHECKSUM_2_AT] = acpi_checksum(p, ACPI_RSDP_BYTES);
}

void acpi_tables_init(struct acpi_tables *t, u64 base)
{
	*t = (struct acpi_tables){ .base = base, .area = g_byte_array_new() };
	acpi_zero(t->area, ACPI_RSDP_BYTES);
}

u64 acpi_tables_place(struct acpi_tables *t, GBytes *table)
{
	u64 at;
	gsize len;
	const u8 *data = g_bytes_get_data(table, &len);

	acpi_zero(t->area, ROUND_UP(t->area->len, ALIGNMENT) - t->area->len);
	at = t->base + t->area->len;
	g_byte_array_append(t->area, data, len);
	g_bytes_unref(table);
	return at;
}

u64 acpi_tables_add(struct acpi_tables *t, GBytes *table)
{
	assert(t->n < ACPI_TABLES_MAX);
	return t->listed[t->n++] = acpi_tables_place(t, table);
}

u64 acpi_tables_add_fadt(struct acpi_tables *t, GBytes *table)
{
	t->fadt_bytes = g_bytes_get_size(table);
	t->fadt = acpi_tables_add(t, table) - t->base;
	return t->base + t->fadt;
}

/* Some firmware computes a checksum over what is in its place, too: there must be 0. */
static void clear_checksums(struct acpi_tables *t)
{
	u8 *area = t->area->data;

	area[t->fadt + ACPI_CHECKSUM_AT] = 0;
	area[t->xsdt + ACPI_CHECKSUM_AT] = 0;
	area[RSDP_CHECKSUM_AT] = area[RSDP_CHECKSUM_2_AT] = 0;
}

GBytes *acpi_tables_end(struct acpi_tables *t)
{
	u64 xsdt = acpi_tables_place(t, build_xsdt(t->listed, t->n));

	put_rsdp(t->area->data, xsdt);
	t->xsdt = xsdt - t->base;
	t->xsdt_bytes = t->area->len - t->xsdt;
	if (!t->base)
		clear_checksums(t);
	return g_byte_array_free_to_bytes(g_steal_pointer(&t->area));
}

/* ---- the linker/loader's commands ---- */

#define RSDP_FILE   "etc/acpi/rsdp"
#define TABLES_FILE "etc/acpi/tables"
#define LOADER_FILE "etc/table-loader"

/* Least and greatest sizes, those of QEMU's RAM blocks. */
enum {
	RSDP_MAX = 4 * KiB,
	TABLES_BYTES = 128 * KiB,
	TABLES_MAX = 2 * MiB,
	LOADER_MAX = 64 * KiB,
};

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

static GBytes *build_script(const struct acpi_tables *l)
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

int acpi_tables_offer(const struct acpi_tables *t, GBytes *tables, struct device *fw_cfg,
		      GError **err)
{
	g_autoptr(GBytes) rsdp = g_bytes_new_from_bytes(tables, 0, ACPI_RSDP_BYTES);
	g_autoptr(GBytes) script = build_script(t);

	if (fw_cfg_add_rom(fw_cfg, RSDP_FILE, rsdp, 0, RSDP_MAX, err) ||
	    fw_cfg_add_rom(fw_cfg, TABLES_FILE, tables, TABLES_BYTES, TABLES_MAX, err) ||
	    fw_cfg_add_rom(fw_cfg, LOADER_FILE, script, 0, LOADER_MAX, err))
		return -EINVAL;
	return 0;
}

/*
 * hw/acpi/aml.h - writes ACPI tables: headers, checksums, and the byte code of DSDTs.
 *
 * Source: ACPI 6.5, chapter 20 (AML), 6.4 (resource data types), 5.2 (tables).
 */
#ifndef HW_ACPI_AML_H
#define HW_ACPI_AML_H

#include "util/base.h"

/* Bytes of a table or of a piece of AML; numbers go in little-endian. */
void acpi_u8(GByteArray *t, u8 v);
void acpi_u16(GByteArray *t, u16 v);
void acpi_u32(GByteArray *t, u32 v);
void acpi_u64(GByteArray *t, u64 v);
void acpi_zero(GByteArray *t, unsigned n);

/* Generic Address Structure of a register of @bits bits. */
enum acpi_space { ACPI_SPACE_MEMORY = 0, ACPI_SPACE_IO = 1 };
void acpi_gas(GByteArray *t, enum acpi_space space, u8 bits, u64 addr);

/*
 * acpi_table_begin() - a new table with its header.
 * @signature: four characters.
 *
 * acpi_table_end() fills in length and checksum. Return: the table; the caller owns it.
 */
GByteArray *acpi_table_begin(const char *signature, u8 revision);
GBytes *acpi_table_end(GByteArray *t);

/* acpi_checksum() - what a byte must be so that all of them add up to 0. */
u8 acpi_checksum(const void *data, size_t len);

/* Terms with a body: the body is what is written until the matching aml_end(). */
struct aml {
	GByteArray *b;
	GArray *open; /* of guint: where the lengths of unfinished terms go */
};

void aml_init(struct aml *a, GByteArray *b);
void aml_finish(struct aml *a); /* asserts that every term was ended */
void aml_scope(struct aml *a, const char *path);
void aml_device(struct aml *a, const char *name);
void aml_method(struct aml *a, const char *name, unsigned args);
void aml_package(struct aml *a, u8 elements);
void aml_if_and(struct aml *a, u8 local, u64 mask); /* If (LocalN & mask) */
void aml_end(struct aml *a);

/* aml_name() - Name (NAME, ...): the object that is written next. */
void aml_name(struct aml *a, const char *name);
void aml_int(struct aml *a, u64 v);
void aml_string(struct aml *a, const char *s);
void aml_eisa_id(struct aml *a, const char *id); /* "PNP0501" as a number */

/* Shorthands: Name (NAME, value). */
void aml_name_int(struct aml *a, const char *name, u64 v);
void aml_name_string(struct aml *a, const char *name, const char *s);
void aml_name_eisa_id(struct aml *a, const char *name, const char *id);

/* A region of memory with one 32-bit field that is as wide; @name and @field are 4 characters. */
void aml_memory_field(struct aml *a, const char *name, const char *field, u64 addr);
void aml_store_to_local(struct aml *a, const char *path, u8 local);
void aml_notify(struct aml *a, const char *path, u8 value);

/*
 * aml_resources() - Name (_CRS, a resource template): what is written until aml_resources_end().
 *
 * Interrupts are active high; @level and @shared as the device needs.
 */
void aml_resources(struct aml *a);
void aml_resources_end(struct aml *a);
void aml_res_memory32(struct aml *a, u32 base, u32 size);
void aml_res_io(struct aml *a, u16 base, u8 size);
void aml_res_irq(struct aml *a, u32 gsi, bool level, bool shared);

/*
 * aml_res_window() - a range that a bridge passes on.
 * @kind: what it is on the far side; I/O ports may be memory on the near one.
 * @min:  first address on the far side; @offset: what to add to have the near one.
 */
enum aml_window { AML_WINDOW_MEMORY, AML_WINDOW_IO, AML_WINDOW_BUS };
void aml_res_window(struct aml *a, enum aml_window kind, u64 min, u64 size, u64 offset);

/* aml_gpio_events() - Name (_AEI, ...): edges of one pin of the GPIO controller @path. */
void aml_gpio_events(struct aml *a, const char *path, u16 pin);

/* aml_return_arg() - Return (ArgN). */
void aml_return_arg(struct aml *a, u8 arg);

#endif

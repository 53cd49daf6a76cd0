/* hw/acpi/aml.c - writes ACPI tables and AML (ACPI 6.5, chapters 5.2, 6.4 and 20). */
#include "hw/acpi/aml.h"

#include <assert.h>

enum {
	AML_ZERO = 0x00,
	AML_ONE = 0x01,
	AML_NAME = 0x08,
	AML_BYTE = 0x0a,
	AML_WORD = 0x0b,
	AML_DWORD = 0x0c,
	AML_STRING = 0x0d,
	AML_QWORD = 0x0e,
	AML_SCOPE = 0x10,
	AML_BUFFER = 0x11,
	AML_PACKAGE = 0x12,
	AML_METHOD = 0x14,
	AML_DUAL_NAME = 0x2e,
	AML_MULTI_NAME = 0x2f,
	AML_EXT = 0x5b,
	AML_EXT_REGION = 0x80,
	AML_EXT_FIELD = 0x81,
	AML_EXT_DEVICE = 0x82,
	AML_LOCAL0 = 0x60,
	AML_ARG0 = 0x68,
	AML_STORE = 0x70,
	AML_AND = 0x7b,
	AML_NOTIFY = 0x86,
	AML_IF = 0xa0,
	AML_RETURN = 0xa4,
};

enum { FIELD_DWORD_ACCESS = 3, REGION_MEMORY = 0 };
enum {
	RES_IO = 0x47,
	RES_END = 0x79,
	RES_MEMORY32 = 0x86,
	RES_WORD_SPACE = 0x88,
	RES_IRQ = 0x89,
	RES_QWORD_SPACE = 0x8a,
	RES_GPIO = 0x8c,
};

#define WINDOW_FLAGS 0xc /* both ends fixed, passed on */
#define HEADER_BYTES 36
#define LENGTH_AT    4
#define CHECKSUM_AT  9
#define NAME_BYTES   4

void acpi_u8(GByteArray *t, u8 v)
{
	g_byte_array_append(t, &v, 1);
}

void acpi_u16(GByteArray *t, u16 v)
{
	acpi_u8(t, v);
	acpi_u8(t, v >> 8);
}

void acpi_u32(GByteArray *t, u32 v)
{
	acpi_u16(t, v);
	acpi_u16(t, v >> 16);
}

void acpi_u64(GByteArray *t, u64 v)
{
	acpi_u32(t, v);
	acpi_u32(t, v >> 32);
}

void acpi_zero(GByteArray *t, unsigned n)
{
	while (n--)
		acpi_u8(t, 0);
}

void acpi_gas(GByteArray *t, enum acpi_space space, u8 bits, u64 addr)
{
	acpi_u8(t, space);
	acpi_u8(t, bits);
	acpi_u8(t, 0); /* bit offset */
	acpi_u8(t, 1); /* accessed by byte */
	acpi_u64(t, addr);
}

u8 acpi_checksum(const void *data, size_t len)
{
	const u8 *p = data;
	u8 sum = 0;

	while (len--)
		sum += *p++;
	return -sum;
}

GByteArray *acpi_table_begin(const char *signature, u8 revision)
{
	GByteArray *t = g_byte_array_new();

	assert(strlen(signature) == 4);
	g_byte_array_append(t, (const u8 *)signature, 4);
	acpi_u32(t, 0); /* length */
	acpi_u8(t, revision);
	acpi_u8(t, 0); /* checksum */
	g_byte_array_append(t, (const u8 *)"TIDEMK", 6);
	g_byte_array_append(t, (const u8 *)"TIDEMARK", 8);
	acpi_u32(t, 1); /* of this table */
	g_byte_array_append(t, (const u8 *)"TDMK", 4);
	acpi_u32(t, 1); /* of the creator */
	assert(t->len == HEADER_BYTES);
	return t;
}

GBytes *acpi_table_end(GByteArray *t)
{
	u32 le = GUINT32_TO_LE(t->len);

	memcpy(t->data + LENGTH_AT, &le, sizeof(le));
	t->data[CHECKSUM_AT] = acpi_checksum(t->data, t->len);
	return g_byte_array_free_to_bytes(t);
}

/* ---- AML ---- */

void aml_init(struct aml *a, GByteArray *b)
{
	a->b = b;
	a->open = g_array_new(FALSE, FALSE, sizeof(guint));
}

void aml_finish(struct aml *a)
{
	assert(!a->open->len);
	g_array_unref(a->open);
}

/* Begin a term whose length goes here once it is known. */
static void open_term(struct aml *a)
{
	g_array_append_val(a->open, a->b->len);
}

/* PkgLength: counts itself; 6 bits in one byte, or 4 bits and 8 for each further byte. */
static unsigned encode_length(size_t body, u8 *out)
{
	size_t len = body + 1;
	unsigned more = 0;

	if (len < 0x40) {
		out[0] = len;
		return 1;
	}
	do
		len = body + 1 + ++more;
	while (len >> (4 + 8 * more));
	assert(more <= 3);
	out[0] = more << 6 | (len & 0x0f);
	for (unsigned i = 0; i < more; i++)
		out[1 + i] = len >> (4 + 8 * i);
	return 1 + more;
}

void aml_end(struct aml *a)
{
	guint at, body, n;
	u8 len[4];

	assert(a->open->len);
	at = g_array_index(a->open, guint, a->open->len - 1);
	g_array_set_size(a->open, a->open->len - 1);
	body = a->b->len - at;
	n = encode_length(body, len);
	acpi_zero(a->b, n);
	memmove(a->b->data + at + n, a->b->data + at, body);
	memcpy(a->b->data + at, len, n);
}

/* One segment, padded with underscores. */
static void name_seg(struct aml *a, const char *s, size_t len)
{
	assert(len && len <= NAME_BYTES);
	for (size_t i = 0; i < NAME_BYTES; i++)
		acpi_u8(a->b, i < len ? s[i] : '_');
}

/* "NAME", "\\_SB.NAME", "\\". */
static void name_path(struct aml *a, const char *path)
{
	g_auto(GStrv) segs = NULL;
	guint n;

	if (*path == '\\') {
		acpi_u8(a->b, '\\');
		path++;
	}
	segs = g_strsplit(path, ".", 0);
	n = g_strv_length(segs);
	if (!n)
		acpi_u8(a->b, 0);
	else if (n == 2)
		acpi_u8(a->b, AML_DUAL_NAME);
	else if (n > 2) {
		acpi_u8(a->b, AML_MULTI_NAME);
		acpi_u8(a->b, n);
	}
	for (guint i = 0; i < n; i++)
		name_seg(a, segs[i], strlen(segs[i]));
}

void aml_scope(struct aml *a, const char *path)
{
	acpi_u8(a->b, AML_SCOPE);
	open_term(a);
	name_path(a, path);
}

void aml_device(struct aml *a, const char *name)
{
	acpi_u8(a->b, AML_EXT);
	acpi_u8(a->b, AML_EXT_DEVICE);
	open_term(a);
	name_path(a, name);
}

void aml_method(struct aml *a, const char *name, unsigned args)
{
	acpi_u8(a->b, AML_METHOD);
	open_term(a);
	name_path(a, name);
	acpi_u8(a->b, args | 1 << 3); /* serialized */
}

void aml_package(struct aml *a, u8 elements)
{
	acpi_u8(a->b, AML_PACKAGE);
	open_term(a);
	acpi_u8(a->b, elements);
}

void aml_if_and(struct aml *a, u8 local, u64 mask)
{
	acpi_u8(a->b, AML_IF);
	open_term(a);
	acpi_u8(a->b, AML_AND);
	acpi_u8(a->b, AML_LOCAL0 + local);
	aml_int(a, mask);
	acpi_u8(a->b, 0); /* the result goes nowhere else */
}

void aml_name(struct aml *a, const char *name)
{
	acpi_u8(a->b, AML_NAME);
	name_path(a, name);
}

void aml_int(struct aml *a, u64 v)
{
	if (v <= 1) {
		acpi_u8(a->b, v ? AML_ONE : AML_ZERO);
	} else if (v <= UINT8_MAX) {
		acpi_u8(a->b, AML_BYTE);
		acpi_u8(a->b, v);
	} else if (v <= UINT16_MAX) {
		acpi_u8(a->b, AML_WORD);
		acpi_u16(a->b, v);
	} else if (v <= UINT32_MAX) {
		acpi_u8(a->b, AML_DWORD);
		acpi_u32(a->b, v);
	} else {
		acpi_u8(a->b, AML_QWORD);
		acpi_u64(a->b, v);
	}
}

void aml_string(struct aml *a, const char *s)
{
	acpi_u8(a->b, AML_STRING);
	g_byte_array_append(a->b, (const u8 *)s, strlen(s) + 1);
}

/* Three letters of 5 bits and four hexadecimal digits, big-endian (ACPI 19.3.4). */
void aml_eisa_id(struct aml *a, const char *id)
{
	u32 v = (id[0] - '@') << 26 | (id[1] - '@') << 21 | (id[2] - '@') << 16;

	assert(strlen(id) == 7);
	v |= g_ascii_strtoull(id + 3, NULL, 16);
	acpi_u8(a->b, AML_DWORD);
	acpi_u32(a->b, GUINT32_SWAP_LE_BE(v));
}

void aml_name_int(struct aml *a, const char *name, u64 v)
{
	aml_name(a, name);
	aml_int(a, v);
}

void aml_name_string(struct aml *a, const char *name, const char *s)
{
	aml_name(a, name);
	aml_string(a, s);
}

void aml_name_eisa_id(struct aml *a, const char *name, const char *id)
{
	aml_name(a, name);
	aml_eisa_id(a, id);
}

void aml_memory_field(struct aml *a, const char *name, const char *field, u64 addr)
{
	acpi_u8(a->b, AML_EXT);
	acpi_u8(a->b, AML_EXT_REGION);
	name_path(a, name);
	acpi_u8(a->b, REGION_MEMORY);
	aml_int(a, addr);
	aml_int(a, 4);

	acpi_u8(a->b, AML_EXT);
	acpi_u8(a->b, AML_EXT_FIELD);
	open_term(a);
	name_path(a, name);
	acpi_u8(a->b, FIELD_DWORD_ACCESS);
	name_seg(a, field, strlen(field));
	acpi_u8(a->b, 32); /* bits, as a PkgLength of one byte */
	aml_end(a);
}

void aml_store_to_local(struct aml *a, const char *path, u8 local)
{
	acpi_u8(a->b, AML_STORE);
	name_path(a, path);
	acpi_u8(a->b, AML_LOCAL0 + local);
}

void aml_notify(struct aml *a, const char *path, u8 value)
{
	acpi_u8(a->b, AML_NOTIFY);
	name_path(a, path);
	aml_int(a, value);
}

/*
 * A buffer: its size comes before its bytes, as a word so that it can be filled in afterwards. The
 * open stack has the term and, above it, where the size is.
 */
static void open_template(struct aml *a, const char *name)
{
	aml_name(a, name);
	acpi_u8(a->b, AML_BUFFER);
	open_term(a);
	acpi_u8(a->b, AML_WORD);
	open_term(a);
	acpi_u16(a->b, 0);
}

void aml_resources(struct aml *a)
{
	open_template(a, "_CRS");
}

void aml_resources_end(struct aml *a)
{
	guint at = g_array_index(a->open, guint, a->open->len - 1);
	u16 size;

	g_array_set_size(a->open, a->open->len - 1);
	acpi_u8(a->b, RES_END);
	acpi_u8(a->b, 0); /* no checksum */
	size = GUINT16_TO_LE(a->b->len - at - 2);
	memcpy(a->b->data + at, &size, sizeof(size));
	aml_end(a);
}

void aml_res_memory32(struct aml *a, u32 base, u32 size)
{
	acpi_u8(a->b, RES_MEMORY32);
	acpi_u16(a->b, 9);
	acpi_u8(a->b, 1); /* writable */
	acpi_u32(a->b, base);
	acpi_u32(a->b, size);
}

void aml_res_io(struct aml *a, u16 base, u8 size)
{
	acpi_u8(a->b, RES_IO);
	acpi_u8(a->b, 1); /* decodes 16 bits */
	acpi_u16(a->b, base);
	acpi_u16(a->b, base);
	acpi_u8(a->b, 1); /* alignment */
	acpi_u8(a->b, size);
}

void aml_res_irq(struct aml *a, u32 gsi, bool level, bool shared)
{
	acpi_u8(a->b, RES_IRQ);
	acpi_u16(a->b, 6);
	acpi_u8(a->b, 1 | (level ? 0 : 1 << 1) | (shared ? 1 << 3 : 0)); /* consumer, active high */
	acpi_u8(a->b, 1);                                                /* one interrupt */
	acpi_u32(a->b, gsi);
}

/* Bus numbers are words in ASL, whatever their descriptor. */
static void bus_numbers(struct aml *a, u16 first, u16 n)
{
	acpi_u8(a->b, RES_WORD_SPACE);
	acpi_u16(a->b, 13);
	acpi_u8(a->b, AML_WINDOW_BUS);
	acpi_u8(a->b, WINDOW_FLAGS);
	acpi_u8(a->b, 0);
	acpi_u16(a->b, 0); /* granularity */
	acpi_u16(a->b, first);
	acpi_u16(a->b, first + n - 1);
	acpi_u16(a->b, 0);
	acpi_u16(a->b, n);
}

void aml_res_window(struct aml *a, enum aml_window kind, u64 min, u64 size, u64 offset)
{
	bool io = kind == AML_WINDOW_IO;

	if (kind == AML_WINDOW_BUS) {
		bus_numbers(a, min, size);
		return;
	}
	acpi_u8(a->b, RES_QWORD_SPACE);
	acpi_u16(a->b, 43);
	acpi_u8(a->b, kind);
	acpi_u8(a->b, WINDOW_FLAGS);
	/* all ports, which are memory on the near side; or memory, writable, not cached */
	acpi_u8(a->b, io ? 3 | (offset ? 1 << 4 : 0) : 1);
	acpi_u64(a->b, 0); /* granularity */
	acpi_u64(a->b, min);
	acpi_u64(a->b, min + size - 1);
	acpi_u64(a->b, offset);
	acpi_u64(a->b, size);
}

#define GPIO_PINS_AT 23 /* bytes of the descriptor before its pins */

void aml_gpio_events(struct aml *a, const char *path, u16 pin)
{
	u16 name_bytes = strlen(path) + 1;

	open_template(a, "_AEI");
	acpi_u8(a->b, RES_GPIO);
	acpi_u16(a->b, GPIO_PINS_AT + 2 + name_bytes - 3);
	acpi_u8(a->b, 1);           /* revision */
	acpi_u8(a->b, 0);           /* an interrupt */
	acpi_u16(a->b, 1);          /* consumer */
	acpi_u16(a->b, 1 | 1 << 4); /* edge, active high, can wake */
	acpi_u8(a->b, 1);           /* pull-up */
	acpi_u16(a->b, 0);          /* drive strength */
	acpi_u16(a->b, 0);          /* debounce time */
	acpi_u16(a->b, GPIO_PINS_AT);
	acpi_u8(a->b, 0);
	acpi_u16(a->b, GPIO_PINS_AT + 2);              /* name of the controller */
	acpi_u16(a->b, GPIO_PINS_AT + 2 + name_bytes); /* vendor's data: none */
	acpi_u16(a->b, 0);
	acpi_u16(a->b, pin);
	g_byte_array_append(a->b, (const u8 *)path, name_bytes);
	aml_resources_end(a);
}

void aml_return_arg(struct aml *a, u8 arg)
{
	acpi_u8(a->b, AML_RETURN);
	acpi_u8(a->b, AML_ARG0 + arg);
}

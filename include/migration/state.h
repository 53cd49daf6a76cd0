/*
 * migration/state.h - device states as tables: how an object becomes a section of the stream.
 *
 * Saving, loading, the JSON description at the end of the stream and a fuzzer's grammar all come
 * from these tables. The wire is QEMU's: integers big-endian, sections and subsections by name,
 * versions as its devices have them; names on the wire must never change.
 */
#ifndef MIGRATION_STATE_H
#define MIGRATION_STATE_H

#include "util/base.h"
#include "util/timer.h"

enum state_type {
	STATE_END,
	STATE_BOOL,
	STATE_U8,
	STATE_U16,
	STATE_U32,
	STATE_U64,
	STATE_S8,
	STATE_S16,
	STATE_S32,
	STATE_S64,
	STATE_TIMER,    /* struct timer: expiry as s64 */
	STATE_BUFFER,   /* size bytes as they are */
	STATE_UNUSED,   /* size bytes: zeroes out, skipped in */
	STATE_STRUCT,   /* nested table */
	STATE_CONST_U8, /* written as .size; checked on load */
	STATE_CUSTOM,   /* codec */
};

struct state_writer; /* migration/stream.h */
struct state_reader;

/* For what a table cannot say (virtio's core state): own save and load. */
struct state_codec {
	const char *name; /* type name in the description */
	int (*save)(struct state_writer *w, void *field, size_t size, GError **err);
	int (*load)(struct state_reader *r, void *field, size_t size, int version, GError **err);
};

struct state_field {
	const char *name;
	enum state_type type;
	size_t offset;       /* in the object */
	size_t size;         /* bytes of one element */
	u32 count;           /* elements; 0: one (not an array) */
	size_t count_offset; /* if count_is_field: offset of a u32/u16/u8 member that holds the
				number of elements in use (already loaded by an earlier field) */
	u8 count_size;       /* 0: fixed count; 1, 2, 4: count_offset is used, count is the bound */
	bool pointer;        /* the member is a pointer to the elements */
	int since;           /* first version that has the field */
	bool (*present_if)(void *obj, int version); /* NULL: always */
	const struct state_desc *desc;              /* STATE_STRUCT */
	const struct state_codec *codec;            /* STATE_CUSTOM */
};

enum state_priority {
	STATE_PRIO_LAST = -1,
	STATE_PRIO_DEFAULT,
	STATE_PRIO_IOMMU,
	STATE_PRIO_PCI_BUS,
	STATE_PRIO_VIRTIO_MEM,
	STATE_PRIO_GICV3_ITS,
	STATE_PRIO_GICV3,
	STATE_PRIO_APIC,
};

struct state_desc {
	const char *name;
	int version;
	int min_version;
	enum state_priority priority; /* higher is sent earlier */
	const struct state_field *fields;
	const struct state_desc *const *subsections; /* NULL-terminated; NULL: none */
	bool (*needed)(void *obj); /* subsection or whole section is sent only if true */
	/* collect() - before pre_save(): fetch state that lives elsewhere (in the kernel). */
	int (*collect)(void *obj, GError **err);
	void (*pre_save)(void *obj);
	int (*pre_load)(void *obj, GError **err);
	/* post_load(): everything is decoded; check, then apply. Return 0 or -EINVAL with @err. */
	int (*post_load)(void *obj, int version, GError **err);
};

#define STATE_FIELD_(s, f, ty, csz)                                                                \
	.name = #f, .type = ty, .offset = offsetof(s, f),                                          \
	.size = sizeof(((s *)0)->f) + 0 * sizeof(char[sizeof(((s *)0)->f) == (csz) ? 1 : -1])
#define FIELD_BOOL(s, f)                                                                           \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_BOOL, sizeof(bool))                                       \
	}
#define FIELD_U8(s, f)                                                                             \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_U8, 1)                                                    \
	}
#define FIELD_U16(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_U16, 2)                                                   \
	}
#define FIELD_U32(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_U32, 4)                                                   \
	}
#define FIELD_U64(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_U64, 8)                                                   \
	}
#define FIELD_S8(s, f)                                                                             \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_S8, 1)                                                    \
	}
#define FIELD_S16(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_S16, 2)                                                   \
	}
#define FIELD_S32(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_S32, 4)                                                   \
	}
#define FIELD_S64(s, f)                                                                            \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_S64, 8)                                                   \
	}
#define FIELD_TIMER(s, f)                                                                          \
	{                                                                                          \
		STATE_FIELD_(s, f, STATE_TIMER, sizeof(struct timer))                              \
	}
#define FIELD_BUFFER(s, f)                                                                         \
	{                                                                                          \
		.name = #f, .type = STATE_BUFFER, .offset = offsetof(s, f),                        \
		.size = sizeof(((s *)0)->f)                                                        \
	}
/* Array member of fixed length; TY is U8, U16, U32, U64, S8, ... */
#define FIELD_ARRAY(s, f, TY)                                                                      \
	{                                                                                          \
		.name = #f, .type = STATE_##TY, .offset = offsetof(s, f),                          \
		.size = sizeof(((s *)0)->f[0]), .count = ARRAY_SIZE(((s *)0)->f)                   \
	}
#define FIELD_STRUCT(s, f, d)                                                                      \
	{                                                                                          \
		.name = #f, .type = STATE_STRUCT, .offset = offsetof(s, f),                        \
		.size = sizeof(((s *)0)->f), .desc = &(d)                                          \
	}
#define FIELD_STRUCT_ARRAY(s, f, d)                                                                \
	{                                                                                          \
		.name = #f, .type = STATE_STRUCT, .offset = offsetof(s, f),                        \
		.size = sizeof(((s *)0)->f[0]), .count = ARRAY_SIZE(((s *)0)->f), .desc = &(d)     \
	}
#define FIELD_CUSTOM(s, f, c)                                                                      \
	{                                                                                          \
		.name = #f, .type = STATE_CUSTOM, .offset = offsetof(s, f),                        \
		.size = sizeof(((s *)0)->f), .codec = &(c)                                         \
	}
#define FIELD_UNUSED(n)                                                                            \
	{                                                                                          \
		.name = "unused", .type = STATE_UNUSED, .size = (n)                                \
	}
#define FIELD_END                                                                                  \
	{                                                                                          \
		.type = STATE_END                                                                  \
	}

/*
 * state_save_nested(), state_load_nested() - for codecs: the fields and the subsections of a table
 * in place, with neither section nor footer.
 *
 * Loading runs pre_load(), decodes the fields, then takes the subsections that follow and whose
 * names start with the table's name and a slash, or are names of its own; anything else is left in
 * the stream.
 * @version: what the enclosing section was sent with.
 *
 * Return: 0, or -EINVAL with @err.
 */
int state_save_nested(struct state_writer *w, const struct state_desc *desc, void *obj,
		      GError **err);
int state_load_nested(struct state_reader *r, const struct state_desc *desc, void *obj, int version,
		      GError **err);

struct state_registry;

/* state_registry_create(), state_registry_destroy() - the sections of one machine. Objects that
 * are still registered are forgotten, not freed. */
struct state_registry *state_registry_create(void);
void state_registry_destroy(struct state_registry *reg);

/*
 * state_register() - an object takes part in migration.
 * @idstr:       name of its section; copied.
 * @instance_id: -1: the next free number for this idstr.
 *
 * Context: machine lock held, no migration running. Return: the instance id.
 */
int state_register(struct state_registry *reg, const char *idstr, int instance_id,
		   const struct state_desc *desc, void *obj);
void state_unregister(struct state_registry *reg, const struct state_desc *desc, void *obj);

/* Primitive access for codecs; errors stick in the stream and are reported once at its end. */
void state_put_u8(struct state_writer *w, u8 v);
void state_put_be16(struct state_writer *w, u16 v);
void state_put_be32(struct state_writer *w, u32 v);
void state_put_be64(struct state_writer *w, u64 v);
void state_put_buffer(struct state_writer *w, const void *buf, size_t len);
u8 state_get_u8(struct state_reader *r);
u16 state_get_be16(struct state_reader *r);
u32 state_get_be32(struct state_reader *r);
u64 state_get_be64(struct state_reader *r);
void state_get_buffer(struct state_reader *r, void *buf, size_t len); /* zeroes after an error */

#endif

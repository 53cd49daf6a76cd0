/*
 * qapi/type.h - run-time description of interface types, and conversion to and from JSON.
 *
 * qapi/gen.py writes one const description per type of the schema; the functions here walk them.
 * How a type is held in C: numbers, bool and enums by value (optional ones with a `has_` flag),
 * strings as `char *`, objects and alternates as pointer to struct, lists of pointers as
 * GPtrArray and lists of scalars as GArray, `any` as JsonNode. An absent pointer is NULL.
 */
#ifndef QAPI_TYPE_H
#define QAPI_TYPE_H

#include <json-glib/json-glib.h>

#include "util/base.h"

enum qapi_kind {
	QAPI_KIND_NULL,
	QAPI_KIND_BOOL,
	QAPI_KIND_INT,
	QAPI_KIND_NUMBER,
	QAPI_KIND_STR,
	QAPI_KIND_ENUM,
	QAPI_KIND_ANY,
	QAPI_KIND_OBJECT,
	QAPI_KIND_LIST,
	QAPI_KIND_ALTERNATE,
};

struct qapi_type;

struct qapi_field {
	const char *name;
	const struct qapi_type *type;
	u16 offset;
	u16 has_offset; /* of the has_ flag; QAPI_NO_FLAG for mandatory and pointer members */
	bool optional;
};

#define QAPI_NO_FLAG 0xffff

struct qapi_type {
	enum qapi_kind kind;
	const char *name; /* as in the schema */
	u16 size;         /* bytes: of the scalar, or of the struct behind the pointer */
	bool is_signed;   /* INT */

	const struct qapi_field *fields; /* OBJECT */
	u16 nfields;

	const char *const *values; /* ENUM */
	u16 nvalues;

	const struct qapi_type *element; /* LIST */
	GDestroyNotify destroy;          /* frees one value of this type held by pointer */

	/*
	 * OBJECT with a tag: variants[value of the tag], NULL for a case without members.
	 * ALTERNATE: variants[branch]; the branch number is the enum at tag_offset.
	 */
	const struct qapi_type *const *variants;
	u16 nvariants;
	u16 tag_offset;
	u16 variant_offset;
};

extern const struct qapi_type qapi_str_type, qapi_number_type, qapi_bool_type, qapi_null_type,
	qapi_any_type, qapi_int_type, qapi_int8_type, qapi_int16_type, qapi_int32_type,
	qapi_int64_type, qapi_uint8_type, qapi_uint16_type, qapi_uint32_type, qapi_uint64_type,
	qapi_size_type;
extern const struct qapi_type qapi_str_list_type, qapi_number_list_type, qapi_bool_list_type,
	qapi_any_list_type, qapi_int_list_type, qapi_int8_list_type, qapi_int16_list_type,
	qapi_int32_list_type, qapi_int64_list_type, qapi_uint8_list_type, qapi_uint16_list_type,
	qapi_uint32_list_type, qapi_uint64_list_type, qapi_size_list_type;

/* Arguments of a command that takes none. */
struct qapi_no_members {
	char unused;
};

extern const struct qapi_type qapi_no_members_type;

/*
 * qapi_struct_read() - fill a struct from the members of a JSON object.
 * @type:   an OBJECT.
 * @object: source; NULL reads as an object without members.
 * @out:    zeroed struct of @type.
 *
 * Return: true; or false with @err set (unknown, missing or wrong member, by name) and @out zeroed.
 */
bool qapi_struct_read(const struct qapi_type *type, JsonObject *object, void *out, GError **err);

/*
 * qapi_struct_read_text() - the same from options that came as text (keyval_parse()): strings do
 * for numbers, sizes with suffix and booleans, one element for a list of one, and for an object
 * with a single member the member alone.
 */
bool qapi_struct_read_text(const struct qapi_type *type, JsonObject *object, void *out,
			   GError **err);

/* qapi_struct_write() - the JSON form of a struct; the opposite of qapi_struct_read(). */
JsonObject *qapi_struct_write(const struct qapi_type *type, const void *value);

/*
 * qapi_value_read() - convert one JSON value.
 * @slot: where the value goes: the scalar itself or the pointer.
 *
 * Return: true; or false with @err set and nothing allocated.
 */
bool qapi_value_read(const struct qapi_type *type, JsonNode *node, void *slot, GError **err);

/*
 * qapi_value_write() - the JSON form of a value.
 * @slot: address of the scalar or of the pointer. A NULL list counts as empty; a NULL string or
 *        object where the schema demands one is a programming error.
 *
 * Return: new node, owned by the caller.
 */
JsonNode *qapi_value_write(const struct qapi_type *type, const void *slot);

/* qapi_struct_clear() - free what the members of a struct own and zero it. */
void qapi_struct_clear(const struct qapi_type *type, void *value);

/* qapi_value_clear() - free what is held in a slot and zero the slot. */
void qapi_value_clear(const struct qapi_type *type, void *slot);

/* qapi_list_new() - empty list with elements of @element that frees them with itself. */
GPtrArray *qapi_list_new(const struct qapi_type *element);

/* qapi_enum_find() - index of @text among the values of an ENUM, or -1. */
int qapi_enum_find(const struct qapi_type *type, const char *text);

#endif

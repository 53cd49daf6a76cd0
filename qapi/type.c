/*
 * qapi/type.c - descriptions of the built-in types, and freeing of interface values.
 */
#include <assert.h>

#include "qapi/type.h"

#define BUILTIN(ident, kind_, ctype, ...)                                                          \
	const struct qapi_type qapi_##ident##_type = {                                             \
		.kind = kind_, .name = #ident, .size = sizeof(ctype), __VA_ARGS__                  \
	};                                                                                         \
	const struct qapi_type qapi_##ident##_list_type = { .kind = QAPI_KIND_LIST,                \
							    .name = #ident,                        \
							    .size = sizeof(void *),                \
							    .element = &qapi_##ident##_type }

static void destroy_any(gpointer node)
{
	json_node_unref(node);
}

const struct qapi_type qapi_null_type = { .kind = QAPI_KIND_NULL, .name = "null" };
BUILTIN(str, QAPI_KIND_STR, char *, .destroy = g_free);
BUILTIN(any, QAPI_KIND_ANY, JsonNode *, .destroy = destroy_any);
BUILTIN(number, QAPI_KIND_NUMBER, double);
BUILTIN(bool, QAPI_KIND_BOOL, bool);
BUILTIN(int, QAPI_KIND_INT, s64, .is_signed = true);
BUILTIN(int8, QAPI_KIND_INT, s8, .is_signed = true);
BUILTIN(int16, QAPI_KIND_INT, s16, .is_signed = true);
BUILTIN(int32, QAPI_KIND_INT, s32, .is_signed = true);
BUILTIN(int64, QAPI_KIND_INT, s64, .is_signed = true);
BUILTIN(uint8, QAPI_KIND_INT, u8);
BUILTIN(uint16, QAPI_KIND_INT, u16);
BUILTIN(uint32, QAPI_KIND_INT, u32);
BUILTIN(uint64, QAPI_KIND_INT, u64);
BUILTIN(size, QAPI_KIND_INT, u64);

const struct qapi_type qapi_no_members_type = {
	.kind = QAPI_KIND_OBJECT,
	.name = "no-members",
	.size = sizeof(struct qapi_no_members),
};

static void clear_fields(const struct qapi_type *type, void *value)
{
	for (unsigned i = 0; i < type->nfields; i++)
		qapi_value_clear(type->fields[i].type, (char *)value + type->fields[i].offset);
}

/* The variant that the tag of a union or the branch number of an alternate selects. */
static const struct qapi_type *variant_of(const struct qapi_type *type, const void *value)
{
	unsigned tag;

	if (!type->variants)
		return NULL;
	tag = *(const unsigned *)((const char *)value + type->tag_offset);
	return tag < type->nvariants ? type->variants[tag] : NULL;
}

void qapi_struct_clear(const struct qapi_type *type, void *value)
{
	const struct qapi_type *variant = variant_of(type, value);
	char *at = (char *)value + type->variant_offset;

	if (variant && type->kind == QAPI_KIND_ALTERNATE)
		qapi_value_clear(variant, at);
	else if (variant)
		qapi_struct_clear(variant, at);
	clear_fields(type, value);
	memset(value, 0, type->size);
}

void qapi_value_clear(const struct qapi_type *type, void *slot)
{
	void *value;

	switch (type->kind) {
	case QAPI_KIND_NULL: return;
	case QAPI_KIND_BOOL:
	case QAPI_KIND_INT:
	case QAPI_KIND_NUMBER:
	case QAPI_KIND_ENUM: memset(slot, 0, type->size); return;
	default: break;
	}

	value = *(void **)slot;
	*(void **)slot = NULL;
	if (!value)
		return;

	switch (type->kind) {
	case QAPI_KIND_STR: g_free(value); break;
	case QAPI_KIND_ANY: json_node_unref(value); break;
	case QAPI_KIND_LIST:
		if (type->element->destroy)
			g_ptr_array_unref(value);
		else
			g_array_unref(value);
		break;
	default: qapi_struct_clear(type, value); g_free(value);
	}
}

GPtrArray *qapi_list_new(const struct qapi_type *element)
{
	assert(element->destroy);
	return g_ptr_array_new_with_free_func(element->destroy);
}

int qapi_enum_find(const struct qapi_type *type, const char *text)
{
	for (int i = 0; i < type->nvalues; i++) {
		if (!strcmp(type->values[i], text))
			return i;
	}
	return -1;
}

/*
 * qapi/read.c - from JSON to interface values, with the error texts that QMP clients know.
 */
#include "qapi/type.h"
#include "util/error.h"
#include "util/keyval.h"

/* Where in the arguments we are, innermost first: member name, or index if name is NULL. */
struct where {
	const struct where *up;
	const char *name;
	unsigned index;
	bool text; /* scalars may be given as strings, single elements for lists */
};

#define BELOW(where) .up = (where), .text = (where) && (where)->text

/* One JSON object being taken apart; a union's variant takes from the same object. */
struct source {
	JsonObject *object;
	const struct where *at;
	GPtrArray *seen; /* member names that the type knows, borrowed */
};

static const struct where text_root = { .text = true };

static bool read_value(const struct qapi_type *type, JsonNode *node, const struct where *at,
		       void *slot, GError **err);

static void append_path(GString *path, const struct where *at)
{
	if (!at || at == &text_root)
		return;
	append_path(path, at->up);
	if (!at->name)
		g_string_append_printf(path, "[%u]", at->index);
	else
		g_string_append_printf(path, path->len ? ".%s" : "%s", at->name);
}

static char *path_of(const struct where *at)
{
	GString *path = g_string_new(NULL);

	append_path(path, at);
	if (!path->len)
		g_string_append(path, "null");
	return g_string_free(path, FALSE);
}

static bool fail_type(const struct where *at, const char *expected, GError **err)
{
	g_autofree char *path = path_of(at);

	error_set(err, "Invalid parameter type for '%s', expected: %s", path, expected);
	return false;
}

static bool is_value_of(JsonNode *node, GType type)
{
	return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type;
}

/*
 * What a string means where the schema wants a scalar: a new node, or @node itself if it is no
 * string or does not read as one, so that the caller's own check reports it.
 */
static JsonNode *from_text(const struct qapi_type *type, JsonNode *node)
{
	const char *text = is_value_of(node, G_TYPE_STRING) ? json_node_get_string(node) : NULL;
	g_autoptr(JsonObject) one = NULL;
	double number;
	bool yes;
	u64 size;
	char *end;

	if (!text)
		return json_node_ref(node);
	switch (type->kind) {
	case QAPI_KIND_BOOL:
		one = json_object_new();
		json_object_set_string_member(one, "v", text);
		if (!keyval_bool(one, "v", &yes, NULL))
			return json_node_init_boolean(json_node_alloc(), yes);
		break;
	case QAPI_KIND_INT:
		errno = 0;
		size = *text == '-' ? (u64)g_ascii_strtoll(text, &end, 0)
				    : g_ascii_strtoull(text, &end, 0);
		if (*text && !*end && !errno)
			return json_node_init_int(json_node_alloc(), size);
		if (type == &qapi_size_type && !size_parse(text, 'B', &size))
			return json_node_init_int(json_node_alloc(), size);
		break;
	case QAPI_KIND_NUMBER:
		number = g_ascii_strtod(text, &end);
		if (*text && !*end)
			return json_node_init_double(json_node_alloc(), number);
		break;
	default: break;
	}
	return json_node_ref(node);
}

static bool read_int(const struct qapi_type *type, JsonNode *node, const struct where *at,
		     void *slot, GError **err)
{
	static const char *const width[] = { [1] = "8", [2] = "16", [4] = "32" };
	unsigned bits = type->size * 8;
	g_autofree char *path = NULL;
	s64 value;

	if (!is_value_of(node, G_TYPE_INT64))
		return fail_type(at, "integer", err);

	/* 64-bit values pass either way round: clients send both -1 and 2^64-1. */
	value = json_node_get_int(node);
	if (bits == 64) {
		*(s64 *)slot = value;
		return true;
	}
	if (type->is_signed ? value != (s64)((u64)value << (64 - bits)) >> (64 - bits)
			    : (u64)value >> bits) {
		path = path_of(at);
		error_set(err, "Parameter '%s' expects %sint%s_t", path, type->is_signed ? "" : "u",
			  width[type->size]);
		return false;
	}

	switch (type->size) {
	case 1: *(u8 *)slot = value; break;
	case 2: *(u16 *)slot = value; break;
	case 4: *(u32 *)slot = value; break;
	}
	return true;
}

static bool read_number(JsonNode *node, const struct where *at, double *slot, GError **err)
{
	if (!is_value_of(node, G_TYPE_INT64) && !is_value_of(node, G_TYPE_DOUBLE))
		return fail_type(at, "number", err);
	*slot = is_value_of(node, G_TYPE_INT64) ? json_node_get_int(node)
						: json_node_get_double(node);
	return true;
}

static bool read_enum(const struct qapi_type *type, JsonNode *node, const struct where *at,
		      int *slot, GError **err)
{
	g_autofree char *path = NULL;
	const char *text;

	if (!is_value_of(node, G_TYPE_STRING))
		return fail_type(at, "string", err);
	text = json_node_get_string(node);
	*slot = qapi_enum_find(type, text);
	if (*slot >= 0)
		return true;

	*slot = 0;
	path = path_of(at);
	error_set(err, "Parameter '%s' does not accept value '%s'", path, text);
	return false;
}

static bool read_scalar_elements(const struct qapi_type *element, JsonArray *array,
				 const struct where *at, GArray *list, GError **err)
{
	for (unsigned i = 0; i < json_array_get_length(array); i++) {
		struct where item = { BELOW(at), .index = i };

		g_array_set_size(list, i + 1);
		if (!read_value(element, json_array_get_element(array, i), &item,
				list->data + (size_t)i * element->size, err))
			return false;
	}
	return true;
}

static bool read_list(const struct qapi_type *type, JsonNode *node, const struct where *at,
		      void **slot, GError **err)
{
	const struct qapi_type *element = type->element;
	g_autoptr(JsonArray) single = NULL;
	JsonArray *array;
	GPtrArray *list;

	if (JSON_NODE_HOLDS_ARRAY(node)) {
		array = json_node_get_array(node);
	} else if (at && at->text) {
		array = single = json_array_new();
		json_array_add_element(single, json_node_ref(node));
	} else {
		return fail_type(at, "array", err);
	}

	if (!element->destroy) {
		*slot = g_array_new(FALSE, TRUE, element->size);
		if (read_scalar_elements(element, array, at, *slot, err))
			return true;
		qapi_value_clear(type, slot);
		return false;
	}

	list = *slot = qapi_list_new(element);
	for (unsigned i = 0; i < json_array_get_length(array); i++) {
		struct where item = { BELOW(at), .index = i };
		void *value = NULL;

		if (!read_value(element, json_array_get_element(array, i), &item, &value, err)) {
			qapi_value_clear(type, slot);
			return false;
		}
		g_ptr_array_add(list, value);
	}
	return true;
}

static bool fail_member(const struct source *from, const char *name, const char *problem,
			GError **err)
{
	struct where at = { BELOW(from->at), .name = name };
	g_autofree char *path = path_of(&at);

	error_set(err, "Parameter '%s' is %s", path, problem);
	return false;
}

static bool read_fields(const struct qapi_type *type, struct source *from, char *out, GError **err)
{
	for (unsigned i = 0; i < type->nfields; i++) {
		const struct qapi_field *field = &type->fields[i];
		struct where at = { BELOW(from->at), .name = field->name };
		JsonNode *node =
			from->object ? json_object_get_member(from->object, field->name) : NULL;

		g_ptr_array_add(from->seen, (gpointer)field->name);
		if (!node && field->optional)
			continue;
		if (!node)
			return fail_member(from, field->name, "missing", err);
		if (!read_value(field->type, node, &at, out + field->offset, err))
			return false;
		if (field->has_offset != QAPI_NO_FLAG)
			*(bool *)(out + field->has_offset) = true;
	}

	if (type->variants) {
		unsigned tag = *(unsigned *)(out + type->tag_offset);

		if (type->variants[tag])
			return read_fields(type->variants[tag], from, out + type->variant_offset,
					   err);
	}
	return true;
}

static bool check_unexpected(const struct source *from, GError **err)
{
	JsonObjectIter iter;
	const char *name;

	if (!from->object)
		return true;
	json_object_iter_init_ordered(&iter, from->object);
	while (json_object_iter_next_ordered(&iter, &name, NULL)) {
		if (!g_ptr_array_find_with_equal_func(from->seen, name, g_str_equal, NULL))
			return fail_member(from, name, "unexpected", err);
	}
	return true;
}

static bool read_object(const struct qapi_type *type, JsonObject *object, const struct where *at,
			void *out, GError **err)
{
	struct source from = { .object = object, .at = at, .seen = g_ptr_array_new() };
	bool ok = read_fields(type, &from, out, err) && check_unexpected(&from, err);

	g_ptr_array_unref(from.seen);
	if (!ok)
		qapi_struct_clear(type, out);
	return ok;
}

/* Which branch of an alternate takes this JSON value; -1 if none does. */
static int pick_branch(const struct qapi_type *type, JsonNode *node)
{
	for (int i = 0; i < type->nvariants; i++) {
		bool fits = false;

		switch (type->variants[i]->kind) {
		case QAPI_KIND_NULL: fits = JSON_NODE_HOLDS_NULL(node); break;
		case QAPI_KIND_BOOL: fits = is_value_of(node, G_TYPE_BOOLEAN); break;
		case QAPI_KIND_INT: fits = is_value_of(node, G_TYPE_INT64); break;
		case QAPI_KIND_NUMBER:
			fits = is_value_of(node, G_TYPE_INT64) || is_value_of(node, G_TYPE_DOUBLE);
			break;
		case QAPI_KIND_STR:
		case QAPI_KIND_ENUM: fits = is_value_of(node, G_TYPE_STRING); break;
		case QAPI_KIND_OBJECT: fits = JSON_NODE_HOLDS_OBJECT(node); break;
		case QAPI_KIND_LIST: fits = JSON_NODE_HOLDS_ARRAY(node); break;
		default: break;
		}
		if (fits)
			return i;
	}
	return -1;
}

static bool read_alternate(const struct qapi_type *type, JsonNode *node, const struct where *at,
			   void **slot, GError **err)
{
	int branch = pick_branch(type, node);
	char *value;

	if (branch < 0)
		return fail_type(at, type->name, err);

	value = g_malloc0(type->size);
	*(int *)(value + type->tag_offset) = branch;
	if (!read_value(type->variants[branch], node, at, value + type->variant_offset, err)) {
		g_free(value);
		return false;
	}
	*slot = value;
	return true;
}

/* An object behind a pointer. */
static bool read_pointer(const struct qapi_type *type, JsonNode *node, const struct where *at,
			 void **slot, GError **err)
{
	g_autoptr(JsonObject) wrapped = NULL;
	JsonObject *object;
	void *value;

	if (JSON_NODE_HOLDS_OBJECT(node)) {
		object = json_node_get_object(node);
	} else if (at && at->text && type->nfields == 1 && !type->variants) {
		/* "hostfwd=..." stands for { "str": ... } */
		object = wrapped = json_object_new();
		json_object_set_member(wrapped, type->fields[0].name, json_node_ref(node));
	} else {
		return fail_type(at, "object", err);
	}

	value = g_malloc0(type->size);
	if (!read_object(type, object, at, value, err)) {
		g_free(value);
		return false;
	}
	*slot = value;
	return true;
}

static bool read_value(const struct qapi_type *type, JsonNode *node, const struct where *at,
		       void *slot, GError **err)
{
	g_autoptr(JsonNode) meant = NULL;

	if (at && at->text)
		node = meant = from_text(type, node);
	switch (type->kind) {
	case QAPI_KIND_NULL: return JSON_NODE_HOLDS_NULL(node) || fail_type(at, "null", err);
	case QAPI_KIND_BOOL:
		if (!is_value_of(node, G_TYPE_BOOLEAN))
			return fail_type(at, "boolean", err);
		*(bool *)slot = json_node_get_boolean(node);
		return true;
	case QAPI_KIND_INT: return read_int(type, node, at, slot, err);
	case QAPI_KIND_NUMBER: return read_number(node, at, slot, err);
	case QAPI_KIND_STR:
		if (!is_value_of(node, G_TYPE_STRING))
			return fail_type(at, "string", err);
		*(char **)slot = json_node_dup_string(node);
		return true;
	case QAPI_KIND_ENUM: return read_enum(type, node, at, slot, err);
	case QAPI_KIND_ANY: *(JsonNode **)slot = json_node_copy(node); return true;
	case QAPI_KIND_LIST: return read_list(type, node, at, slot, err);
	case QAPI_KIND_ALTERNATE: return read_alternate(type, node, at, slot, err);
	case QAPI_KIND_OBJECT: return read_pointer(type, node, at, slot, err);
	}
	return false;
}

bool qapi_struct_read(const struct qapi_type *type, JsonObject *object, void *out, GError **err)
{
	return read_object(type, object, NULL, out, err);
}

bool qapi_struct_read_text(const struct qapi_type *type, JsonObject *object, void *out,
			   GError **err)
{
	return read_object(type, object, &text_root, out, err);
}

bool qapi_value_read(const struct qapi_type *type, JsonNode *node, void *slot, GError **err)
{
	return read_value(type, node, NULL, slot, err);
}

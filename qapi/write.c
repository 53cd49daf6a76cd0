/*
 * qapi/write.c - from interface values to JSON, and the ends of a command and an event.
 */
#include "qapi/command.h"
#include "util/error.h"

static JsonNode *write_int(const struct qapi_type *type, const void *slot)
{
	JsonNode *node = json_node_new(JSON_NODE_VALUE);
	s64 value = 0;

	switch (type->size) {
	case 1: value = type->is_signed ? *(const s8 *)slot : (s64) * (const u8 *)slot; break;
	case 2: value = type->is_signed ? *(const s16 *)slot : (s64) * (const u16 *)slot; break;
	case 4: value = type->is_signed ? *(const s32 *)slot : (s64) * (const u32 *)slot; break;
	case 8: value = *(const s64 *)slot; break;
	}

	/* A node holds no unsigned number: values above 2^63 travel as double. */
	if (!type->is_signed && value < 0)
		json_node_set_double(node, (double)(u64)value);
	else
		json_node_set_int(node, value);
	return node;
}

static JsonNode *write_list(const struct qapi_type *type, const void *list)
{
	const struct qapi_type *element = type->element;
	JsonArray *out = json_array_new();
	JsonNode *node = json_node_new(JSON_NODE_ARRAY);

	if (list && element->destroy) {
		const GPtrArray *pointers = list;

		for (unsigned i = 0; i < pointers->len; i++)
			json_array_add_element(out, qapi_value_write(element, &pointers->pdata[i]));
	} else if (list) {
		const GArray *scalars = list;

		for (unsigned i = 0; i < scalars->len; i++) {
			const char *slot = scalars->data + (size_t)i * element->size;

			json_array_add_element(out, qapi_value_write(element, slot));
		}
	}
	json_node_take_array(node, out);
	return node;
}

static bool is_absent(const struct qapi_field *field, const char *value)
{
	if (!field->optional)
		return false;
	if (field->has_offset != QAPI_NO_FLAG)
		return !*(const bool *)(value + field->has_offset);
	return !*(void *const *)(value + field->offset);
}

static void write_fields(const struct qapi_type *type, const char *value, JsonObject *out)
{
	for (unsigned i = 0; i < type->nfields; i++) {
		const struct qapi_field *field = &type->fields[i];
		const void *slot = value + field->offset;

		if (is_absent(field, value))
			continue;
		/* Every other kind with a pointer must be there; a NULL list is an empty one. */
		if ((field->type->destroy) && !*(void *const *)slot)
			g_error("%s of %s is not set", field->name, type->name);
		json_object_set_member(out, field->name, qapi_value_write(field->type, slot));
	}

	if (type->variants) {
		unsigned tag = *(const unsigned *)(value + type->tag_offset);

		if (type->variants[tag])
			write_fields(type->variants[tag], value + type->variant_offset, out);
	}
}

JsonObject *qapi_struct_write(const struct qapi_type *type, const void *value)
{
	JsonObject *object = json_object_new();

	write_fields(type, value, object);
	return object;
}

static JsonNode *write_struct(const struct qapi_type *type, const char *value)
{
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(node, qapi_struct_write(type, value));
	return node;
}

JsonNode *qapi_value_write(const struct qapi_type *type, const void *slot)
{
	const char *value;

	switch (type->kind) {
	case QAPI_KIND_NULL: return json_node_new(JSON_NODE_NULL);
	case QAPI_KIND_BOOL: return json_node_init_boolean(json_node_alloc(), *(const bool *)slot);
	case QAPI_KIND_INT: return write_int(type, slot);
	case QAPI_KIND_NUMBER:
		return json_node_init_double(json_node_alloc(), *(const double *)slot);
	case QAPI_KIND_ENUM:
		if (*(const unsigned *)slot >= type->nvalues)
			g_error("%u is not a value of %s", *(const unsigned *)slot, type->name);
		return json_node_init_string(json_node_alloc(),
					     type->values[*(const unsigned *)slot]);
	case QAPI_KIND_LIST: return write_list(type, *(void *const *)slot);
	default: break;
	}

	value = *(const char *const *)slot;
	if (!value)
		g_error("a value of type %s is not set", type->name);
	if (type->kind == QAPI_KIND_STR)
		return json_node_init_string(json_node_alloc(), value);
	if (type->kind == QAPI_KIND_ANY)
		return json_node_copy((JsonNode *)value);
	if (type->kind == QAPI_KIND_ALTERNATE)
		return qapi_value_write(type->variants[*(const int *)(value + type->tag_offset)],
					value + type->variant_offset);
	return write_struct(type, value);
}

void qapi_event_emit(struct qapi_event_sink *sink, const struct qapi_event *event, const void *data)
{
	g_autoptr(JsonObject) object = NULL;

	if (!sink)
		return;
	if (event->data)
		object = qapi_struct_write(event->data, data);
	sink->emit(sink, event, object);
}

static int compare_name(const void *name, const void *command)
{
	return strcmp(name, ((const struct qapi_command *)command)->name);
}

const struct qapi_command *qapi_command_find(const struct qapi_interface *interface,
					     const char *name)
{
	return bsearch(name, interface->commands, interface->ncommands, sizeof(struct qapi_command),
		       compare_name);
}

bool qapi_command_finish(const struct qapi_type *type, void *slot, GError *failed, JsonNode **ret,
			 GError **err)
{
	if (failed) {
		g_propagate_error(err, failed);
	} else if (type) {
		*ret = qapi_value_write(type, slot);
	} else {
		*ret = json_node_new(JSON_NODE_OBJECT);
		json_node_take_object(*ret, json_object_new());
	}
	if (type)
		qapi_value_clear(type, slot);
	return !failed;
}

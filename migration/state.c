/*
 * migration/state.c - registry of sections, and saving them with their description.
 */
#include "migration/registry.h"

#include "migration/state-field.h"
#include "migration/wire.h"
#include "util/error.h"

struct state_registry *state_registry_create(void)
{
	struct state_registry *reg = g_new0(struct state_registry, 1);

	reg->entries = g_ptr_array_new();
	reg->next_section_id = RAM_SECTION_ID + 1;
	return reg;
}

static void entry_free(struct state_entry *e)
{
	g_free(e->idstr);
	g_free(e);
}

void state_registry_destroy(struct state_registry *reg)
{
	if (!reg)
		return;
	for (guint i = 0; i < reg->entries->len; i++)
		entry_free(g_ptr_array_index(reg->entries, i));
	g_ptr_array_unref(reg->entries);
	g_free(reg);
}

struct state_entry *state_registry_find(const struct state_registry *reg, const char *idstr,
					u32 instance_id)
{
	for (guint i = 0; i < reg->entries->len; i++) {
		struct state_entry *e = g_ptr_array_index(reg->entries, i);

		if ((u32)e->instance_id == instance_id && g_str_equal(e->idstr, idstr))
			return e;
	}
	return NULL;
}

int state_register(struct state_registry *reg, const char *idstr, int instance_id,
		   const struct state_desc *desc, void *obj)
{
	struct state_entry *e = g_new0(struct state_entry, 1);
	guint at;

	g_assert(strlen(idstr) <= 255);
	if (instance_id < 0)
		for (instance_id = 0; state_registry_find(reg, idstr, instance_id);)
			instance_id++;
	g_assert(!state_registry_find(reg, idstr, instance_id));

	e->idstr = g_strdup(idstr);
	e->instance_id = instance_id;
	e->desc = desc;
	e->obj = obj;
	e->section_id = reg->next_section_id++;

	for (at = 0; at < reg->entries->len; at++) {
		const struct state_entry *other = g_ptr_array_index(reg->entries, at);

		if (other->desc->priority < desc->priority)
			break;
	}
	g_ptr_array_insert(reg->entries, at, e);
	return instance_id;
}

void state_unregister(struct state_registry *reg, const struct state_desc *desc, void *obj)
{
	for (guint i = 0; i < reg->entries->len; i++) {
		struct state_entry *e = g_ptr_array_index(reg->entries, i);

		if (e->desc == desc && e->obj == obj) {
			g_ptr_array_remove_index(reg->entries, i);
			entry_free(e);
			return;
		}
	}
}

void state_json_string(GString *json, const char *text)
{
	g_string_append_c(json, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_printf(json, "\\%c", *text);
		else if ((u8)*text < 0x20)
			g_string_append_printf(json, "\\u%04x", *text);
		else
			g_string_append_c(json, *text);
	}
	g_string_append_c(json, '"');
}

static void json_comma(GString *json)
{
	char last = json->len ? json->str[json->len - 1] : '[';

	if (last != '[' && last != '{')
		g_string_append_c(json, ',');
}

/* One entry of a "fields" array. @nested: body of its "struct", or NULL. */
static void json_field(GString *json, const struct state_field *f, size_t size, s64 index,
		       u32 array_len, const GString *nested)
{
	json_comma(json);
	g_string_append(json, "{\"name\":");
	state_json_string(json, f->name);
	if (array_len)
		g_string_append_printf(json, ",\"array_len\":%u", array_len);
	else if (index >= 0)
		g_string_append_printf(json, ",\"index\":%" PRId64, index);
	g_string_append(json, ",\"type\":");
	state_json_string(json, state_field_type_name(f));
	if (nested)
		g_string_append_printf(json, ",\"struct\":{%s}", nested->str);
	g_string_append_printf(json, ",\"size\":%zu}", size);
}

static int save_element(struct state_writer *w, const struct state_field *f, void *p, GString *json,
			GError **err)
{
	static const u8 zeroes[64];

	switch (f->type) {
	case STATE_BOOL: state_put_u8(w, *(bool *)p); break;
	case STATE_U8:
	case STATE_S8: state_put_u8(w, *(u8 *)p); break;
	case STATE_U16:
	case STATE_S16: state_put_be16(w, *(u16 *)p); break;
	case STATE_U32:
	case STATE_S32: state_put_be32(w, *(u32 *)p); break;
	case STATE_U64:
	case STATE_S64: state_put_be64(w, *(u64 *)p); break;
	case STATE_TIMER: state_put_be64(w, ((struct timer *)p)->expiry_ns); break;
	case STATE_BUFFER: state_put_buffer(w, p, f->size); break;
	case STATE_CONST_U8: state_put_u8(w, f->size); break;
	case STATE_UNUSED:
		for (size_t n = f->size; n;) {
			size_t step = MIN(n, sizeof(zeroes));

			state_put_buffer(w, zeroes, step);
			n -= step;
		}
		break;
	case STATE_STRUCT: return state_save_object(w, f->desc, p, json, err);
	case STATE_CUSTOM: return f->codec->save(w, p, f->size, err);
	case STATE_END: g_assert_not_reached();
	}
	return 0;
}

static int save_field(struct state_writer *w, const struct state_field *f, void *obj, GString *json,
		      GError **err)
{
	u8 *base = state_field_base(f, obj);
	u32 n;
	bool nested = json && f->type == STATE_STRUCT;

	if (!state_field_count(f, obj, &n, err))
		return -EINVAL;
	if (n && !base) {
		error_set(err, "no memory behind it");
		return -EINVAL;
	}
	for (u32 i = 0; i < n; i++) {
		g_autoptr(GString) body = nested ? g_string_new(NULL) : NULL;
		guint start = w->buf->len;
		int ret = save_element(w, f, base + i * f->size, body, err);

		if (ret) {
			if (state_field_is_array(f))
				g_prefix_error(err, "[%u]: ", i);
			return ret;
		}
		if (!json)
			continue;
		/* Elements of equal size are described once; structs may differ one by one. */
		if (nested || f->type == STATE_CUSTOM)
			json_field(json, f, w->buf->len - start,
				   state_field_is_array(f) ? (s64)i : -1, 0, body);
		else if (i == 0)
			json_field(json, f, w->buf->len - start, -1,
				   state_field_is_array(f) ? n : 0, NULL);
	}
	return 0;
}

static int save_subsections(struct state_writer *w, const struct state_desc *desc, void *obj,
			    GString *json, GError **err)
{
	bool any = false;

	for (const struct state_desc *const *s = desc->subsections; s && *s; s++) {
		int ret;

		if ((*s)->needed && !(*s)->needed(obj))
			continue;
		state_put_u8(w, ELEM_SUBSECTION);
		state_put_cstr8(w, (*s)->name);
		state_put_be32(w, (*s)->version);
		if (json)
			g_string_append(json, any ? ",{" : ",\"subsections\":[{");
		any = true;
		ret = state_save_object(w, *s, obj, json, err);
		if (ret) {
			g_prefix_error(err, "subsection '%s': ", (*s)->name);
			return ret;
		}
		if (json)
			g_string_append_c(json, '}');
	}
	if (any && json)
		g_string_append_c(json, ']');
	return 0;
}

int state_save_object(struct state_writer *w, const struct state_desc *desc, void *obj,
		      GString *json, GError **err)
{
	if (desc->collect) {
		int ret = desc->collect(obj, err);

		if (ret)
			return ret;
	}
	if (desc->pre_save)
		desc->pre_save(obj);
	if (json) {
		g_string_append(json, "\"vmsd_name\":");
		state_json_string(json, desc->name);
		g_string_append_printf(json, ",\"version\":%d,\"fields\":[", desc->version);
	}
	for (const struct state_field *f = desc->fields; f && f->type != STATE_END; f++) {
		int ret;

		if (!state_field_present(f, obj, desc->version))
			continue;
		ret = save_field(w, f, obj, json, err);
		if (ret) {
			g_prefix_error(err, "field '%s': ", f->name);
			return ret;
		}
	}
	if (json)
		g_string_append_c(json, ']');
	return save_subsections(w, desc, obj, json, err);
}

int state_save_entry(struct state_writer *w, struct state_entry *e, bool footer, GString *json,
		     GError **err)
{
	int ret;

	if (e->desc->needed && !e->desc->needed(e->obj))
		return 0;
	state_put_u8(w, ELEM_SECTION_FULL);
	state_put_be32(w, e->section_id);
	state_put_cstr8(w, e->idstr);
	state_put_be32(w, e->instance_id);
	state_put_be32(w, e->desc->version);
	if (json) {
		json_comma(json);
		g_string_append(json, "{\"name\":");
		state_json_string(json, e->idstr);
		g_string_append_printf(json, ",\"instance_id\":%d,", e->instance_id);
	}
	ret = state_save_object(w, e->desc, e->obj, json, err);
	if (ret) {
		g_prefix_error(err, "section '%s' instance %d: ", e->idstr, e->instance_id);
		return ret;
	}
	if (json)
		g_string_append_c(json, '}');
	if (footer) {
		state_put_u8(w, ELEM_SECTION_FOOTER);
		state_put_be32(w, e->section_id);
	}
	return 0;
}

int state_save_nested(struct state_writer *w, const struct state_desc *desc, void *obj,
		      GError **err)
{
	return state_save_object(w, desc, obj, NULL, err);
}

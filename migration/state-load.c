/*
 * migration/state-load.c - decoding sections: everything is read and checked, then applied.
 *
 * Timers and post_load() wait until the whole section, its subsections and its footer have been
 * decoded, so that a stream that breaks off never half-applies a device.
 */
#include "migration/registry.h"

#include "migration/state-field.h"
#include "migration/wire.h"
#include "util/error.h"

/* What is left to do once decoding has succeeded, in order. */
struct load_action {
	const struct state_desc *desc; /* post_load() of @obj; NULL: arm the timer @obj */
	void *obj;
	s64 value; /* version, or expiry */
};

struct load {
	struct state_reader *r;
	GArray *actions;
};

static int load_object(struct load *l, const struct state_desc *desc, void *obj, int version,
		       GError **err);

bool state_field_present(const struct state_field *f, void *obj, int version)
{
	return version >= f->since && (!f->present_if || f->present_if(obj, version));
}

bool state_field_count(const struct state_field *f, void *obj, u32 *n, GError **err)
{
	const void *counter = (u8 *)obj + f->count_offset;

	switch (f->count_size) {
	case 0: *n = f->count ? f->count : 1; return true;
	case 1: *n = *(const u8 *)counter; break;
	case 2: *n = *(const u16 *)counter; break;
	case 4: *n = *(const u32 *)counter; break;
	default: g_assert_not_reached();
	}
	if (*n > f->count) {
		error_set(err, "expected at most %u elements, got %u", f->count, *n);
		return false;
	}
	return true;
}

void *state_field_base(const struct state_field *f, void *obj)
{
	u8 *base = (u8 *)obj + f->offset;

	return f->pointer ? *(void **)base : base;
}

const char *state_field_type_name(const struct state_field *f)
{
	static const char *const names[] = {
		[STATE_BOOL] = "bool",     [STATE_U8] = "uint8",
		[STATE_U16] = "uint16",    [STATE_U32] = "uint32",
		[STATE_U64] = "uint64",    [STATE_S8] = "int8",
		[STATE_S16] = "int16",     [STATE_S32] = "int32",
		[STATE_S64] = "int64",     [STATE_TIMER] = "timer",
		[STATE_BUFFER] = "buffer", [STATE_UNUSED] = "unused_buffer",
		[STATE_STRUCT] = "struct", [STATE_CONST_U8] = "uint8",
	};

	return f->type == STATE_CUSTOM ? f->codec->name : names[f->type];
}

static bool reader_ok(struct state_reader *r, GError **err)
{
	if (!r->error)
		return true;
	if (err && !*err)
		*err = g_error_copy(r->error);
	return false;
}

static int load_scalar(struct load *l, const struct state_field *f, void *p, GError **err)
{
	struct state_reader *r = l->r;
	u8 byte;

	switch (f->type) {
	case STATE_BOOL:
		byte = state_get_u8(r);
		if (byte > 1) {
			error_set(err, "expected 0 or 1, got %u", byte);
			return -EINVAL;
		}
		*(bool *)p = byte;
		break;
	case STATE_U8:
	case STATE_S8: *(u8 *)p = state_get_u8(r); break;
	case STATE_U16:
	case STATE_S16: *(u16 *)p = state_get_be16(r); break;
	case STATE_U32:
	case STATE_S32: *(u32 *)p = state_get_be32(r); break;
	case STATE_U64:
	case STATE_S64: *(u64 *)p = state_get_be64(r); break;
	case STATE_BUFFER: state_get_buffer(r, p, f->size); break;
	case STATE_UNUSED: state_skip(r, f->size); break;
	case STATE_CONST_U8:
		byte = state_get_u8(r);
		if (byte != f->size) {
			error_set(err, "expected %zu, got %u", f->size, byte);
			return -EINVAL;
		}
		break;
	default: g_assert_not_reached();
	}
	return 0;
}

static int load_element(struct load *l, const struct state_field *f, void *p, int version,
			GError **err)
{
	struct load_action arm;

	switch (f->type) {
	case STATE_STRUCT: return load_object(l, f->desc, p, f->desc->version, err);
	case STATE_CUSTOM: return f->codec->load(l->r, p, f->size, version, err);
	case STATE_TIMER:
		arm = (struct load_action){ .obj = p, .value = state_get_be64(l->r) };
		g_array_append_val(l->actions, arm);
		return 0;
	default: return load_scalar(l, f, p, err);
	}
}

static int load_field(struct load *l, const struct state_field *f, void *obj, int version,
		      GError **err)
{
	u8 *base = state_field_base(f, obj);
	u32 n;

	if (!state_field_count(f, obj, &n, err))
		return -EINVAL;
	if (n && !base) {
		error_set(err, "got %u elements, but this machine has no room for any", n);
		return -EINVAL;
	}
	for (u32 i = 0; i < n; i++) {
		int ret = load_element(l, f, base + i * f->size, version, err);

		if (ret || !reader_ok(l->r, err)) {
			if (state_field_is_array(f))
				g_prefix_error(err, "[%u]: ", i);
			return ret ? ret : -EINVAL;
		}
	}
	return 0;
}

/* The subsection of that name; NULL: @desc has none. */
static const struct state_desc *find_subsection(const struct state_desc *desc, const char *name)
{
	const struct state_desc *const *s = desc->subsections;

	while (s && *s && strcmp((*s)->name, name))
		s++;
	return s ? *s : NULL;
}

/*
 * The name of the subsection of @desc that comes next; false if something else does. It is the name
 * of @desc and a slash with more, but for some old ones that have no slash.
 */
static bool peek_subsection(struct state_reader *r, const struct state_desc *desc, char *name)
{
	size_t prefix = strlen(desc->name);
	u8 len;

	if (state_peek(r, 2) < 2 || r->buf[r->pos] != ELEM_SUBSECTION)
		return false;
	len = r->buf[r->pos + 1];
	if (len <= prefix || state_peek(r, 2 + len) < 2u + len)
		return false;
	memcpy(name, r->buf + r->pos + 2, len);
	name[len] = 0;
	return strlen(name) == len && !strncmp(name, desc->name, prefix) &&
	       (name[prefix] == '/' || find_subsection(desc, name));
}

static int check_version(const struct state_desc *desc, u32 version, GError **err)
{
	if (version > (u32)desc->version || version < (u32)desc->min_version) {
		error_set(err, "expected version %d to %d, got %u", desc->min_version,
			  desc->version, version);
		return -EINVAL;
	}
	return 0;
}

static int load_subsections(struct load *l, const struct state_desc *desc, void *obj, GError **err)
{
	char name[256];

	while (peek_subsection(l->r, desc, name)) {
		const struct state_desc *sub = find_subsection(desc, name);
		u32 version;
		int ret;

		if (!sub) {
			error_set(err, "unknown subsection '%s'", name);
			return -EINVAL;
		}
		state_skip(l->r, 2 + strlen(name));
		version = state_get_be32(l->r);
		ret = check_version(sub, version, err);
		if (!ret)
			ret = load_object(l, sub, obj, version, err);
		if (ret) {
			g_prefix_error(err, "subsection '%s': ", name);
			return ret;
		}
	}
	return reader_ok(l->r, err) ? 0 : -EINVAL;
}

static int load_object(struct load *l, const struct state_desc *desc, void *obj, int version,
		       GError **err)
{
	struct load_action post = { .desc = desc, .obj = obj, .value = version };
	int ret = desc->pre_load ? desc->pre_load(obj, err) : 0;

	if (ret)
		return ret;
	for (const struct state_field *f = desc->fields; f && f->type != STATE_END; f++) {
		if (!state_field_present(f, obj, version))
			continue;
		ret = load_field(l, f, obj, version, err);
		if (ret) {
			g_prefix_error(err, "field '%s': ", f->name);
			return ret;
		}
	}
	ret = load_subsections(l, desc, obj, err);
	if (!ret && desc->post_load)
		g_array_append_val(l->actions, post);
	return ret;
}

static int apply(struct load *l, GError **err)
{
	for (guint i = 0; i < l->actions->len; i++) {
		struct load_action *a = &g_array_index(l->actions, struct load_action, i);
		int ret = 0;

		if (a->desc)
			ret = a->desc->post_load(a->obj, a->value, err);
		else if (a->value < 0)
			timer_del(a->obj);
		else
			timer_mod(a->obj, a->value);
		if (ret) {
			if (err && !*err)
				error_set(err, "the device refused its state (error %d)", -ret);
			g_prefix_error(err, "'%s': ", a->desc->name);
			return ret;
		}
	}
	return 0;
}

int state_load_object(struct state_reader *r, const struct state_desc *desc, void *obj, int version,
		      GError **err)
{
	g_autoptr(GArray) actions = g_array_new(FALSE, FALSE, sizeof(struct load_action));
	struct load l = { .r = r, .actions = actions };
	int ret = load_object(&l, desc, obj, version, err);

	return ret ? ret : apply(&l, err);
}

int state_load_nested(struct state_reader *r, const struct state_desc *desc, void *obj, int version,
		      GError **err)
{
	return state_load_object(r, desc, obj, version, err);
}

int state_check_footer(struct state_reader *r, u32 section_id, GError **err)
{
	u8 type = state_get_u8(r);
	u32 id = state_get_be32(r);

	if (!reader_ok(r, err))
		return -EINVAL;
	if (type != ELEM_SECTION_FOOTER || id != section_id) {
		error_set(err,
			  "expected the footer of section %u at byte %" PRIu64
			  ", got byte 0x%02x and id %u: sender and receiver disagree on the length",
			  section_id, state_position(r) - 5, type, id);
		return -EINVAL;
	}
	return 0;
}

int state_load_entry(struct state_reader *r, struct state_entry *e, u32 version, u32 section_id,
		     bool footer, GError **err)
{
	g_autoptr(GArray) actions = g_array_new(FALSE, FALSE, sizeof(struct load_action));
	struct load l = { .r = r, .actions = actions };
	int ret = check_version(e->desc, version, err);

	if (!ret)
		ret = load_object(&l, e->desc, e->obj, version, err);
	if (!ret && footer)
		ret = state_check_footer(r, section_id, err);
	if (!ret)
		ret = apply(&l, err);
	if (ret)
		g_prefix_error(err, "section '%s' instance %d: ", e->idstr, e->instance_id);
	return ret;
}

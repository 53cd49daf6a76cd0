/* tests/unit/migration/test-state.c - device state tables on the wire. */
#include "migration/registry.h"
#include "migration/wire.h"
#include "util/error.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <json-glib/json-glib.h>

struct inner {
	u16 a;
	u8 b;
};

struct outer {
	bool flag;
	u8 u8;
	u16 u16;
	u32 u32;
	u64 u64;
	s8 s8;
	s32 s32;
	struct timer timer;
	u8 raw[3];
	u32 n;
	u16 list[4];
	struct inner inner[2];
	u8 *far;
	u32 late; /* since version 2 */
	u32 sub;
	bool has_sub;
	unsigned posts;
};

static bool sub_needed(void *obj)
{
	return ((struct outer *)obj)->has_sub;
}

static int count_post(void *obj, int version, GError **err)
{
	((struct outer *)obj)->posts++;
	return 0;
}

static const struct state_field inner_fields[] = { FIELD_U16(struct inner, a),
						   FIELD_U8(struct inner, b), FIELD_END };
static const struct state_desc inner_state = {
	.name = "inner", .version = 1, .min_version = 1, .fields = inner_fields
};
static const struct state_field sub_fields[] = { FIELD_U32(struct outer, sub), FIELD_END };
static const struct state_desc sub_state = {
	.name = "outer/sub",
	.version = 1,
	.min_version = 1,
	.fields = sub_fields,
	.needed = sub_needed,
};
static const struct state_desc *const subs[] = { &sub_state, NULL };
static const struct state_field outer_fields[] = {
	FIELD_BOOL(struct outer, flag),
	FIELD_U8(struct outer, u8),
	FIELD_U16(struct outer, u16),
	FIELD_U32(struct outer, u32),
	FIELD_U64(struct outer, u64),
	FIELD_S8(struct outer, s8),
	FIELD_S32(struct outer, s32),
	FIELD_TIMER(struct outer, timer),
	FIELD_BUFFER(struct outer, raw),
	FIELD_U32(struct outer, n),
	{ .name = "list",
	  .type = STATE_U16,
	  .offset = offsetof(struct outer, list),
	  .size = 2,
	  .count = 4,
	  .count_offset = offsetof(struct outer, n),
	  .count_size = 4 },
	FIELD_UNUSED(2),
	{ .name = "mark", .type = STATE_CONST_U8, .size = 0x30 },
	FIELD_STRUCT_ARRAY(struct outer, inner, inner_state),
	{ .name = "far",
	  .type = STATE_U8,
	  .offset = offsetof(struct outer, far),
	  .size = 1,
	  .count = 2,
	  .pointer = true },
	{ .name = "late",
	  .type = STATE_U32,
	  .offset = offsetof(struct outer, late),
	  .size = 4,
	  .since = 2 },
	FIELD_END
};
static const struct state_desc outer_state = {
	.name = "outer",
	.version = 2,
	.min_version = 1,
	.fields = outer_fields,
	.subsections = subs,
	.post_load = count_post,
};

/* Laid out by hand from the rules of the format. */
static const u8
	golden[] = {
		0x04, 0,    0,    0,    2,    4,    'n',  'a',  'm',  'e',  0,    0,    0,
		7,    0,    0,    0,    2, /* header */
		1,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 1,    2,    3,    4,    5,
		6,    7,    8,    0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, /* timer: off */
		0xa1, 0xa2, 0xa3, 0,    0,    0,    2,    0,    10,   0,    11,   0,    0,
		0x30, 0,    1,    2,    0,    3,    4,    0xf1, 0xf2, 0,    0,    0,    99,
		0x05, 9,    'o',  'u',  't',  'e',  'r',  '/',  's',  'u',  'b',  0,    0,
		0,    1,    0,    0,    0,    5,    0x7e, 0,    0,    0,    2,
	};
#define HEADER_BYTES 18u

static u8 far_memory[2];

static void outer_init(struct outer *o)
{
	*o = (struct outer){ .far = far_memory };
	timer_init(&o->timer, CLOCK_TYPE_VIRTUAL, NULL, NULL);
}

static void outer_fill(struct outer *o)
{
	outer_init(o);
	o->flag = true;
	o->u8 = 0x11;
	o->u16 = 0x2233;
	o->u32 = 0x44556677;
	o->u64 = 0x0102030405060708;
	o->s8 = -1;
	o->s32 = -2;
	memcpy(o->raw, "\xa1\xa2\xa3", 3);
	o->n = 2;
	o->list[0] = 10;
	o->list[1] = 11;
	o->inner[0] = (struct inner){ 1, 2 };
	o->inner[1] = (struct inner){ 3, 4 };
	o->late = 99;
	o->sub = 5;
	o->has_sub = true;
	far_memory[0] = 0xf1;
	far_memory[1] = 0xf2;
}

static void test_golden(void)
{
	struct state_registry *reg = state_registry_create();
	g_autoptr(GString) json = g_string_new("[");
	g_autoptr(JsonParser) parser = json_parser_new();
	struct state_writer w;
	struct outer o;
	JsonObject *desc;
	JsonArray *fields;

	outer_fill(&o);
	state_register(reg, "name", 7, &outer_state, &o);
	state_writer_init(&w);
	g_assert_cmpint(state_save_entry(&w, g_ptr_array_index(reg->entries, 0), true, json, NULL),
			==, 0);
	g_assert_cmpmem(w.buf->data, w.buf->len, golden, sizeof(golden));

	/* The description covers the payload exactly. */
	g_string_append_c(json, ']');
	g_assert_true(json_parser_load_from_data(parser, json->str, -1, NULL));
	desc = json_array_get_object_element(json_node_get_array(json_parser_get_root(parser)), 0);
	g_assert_cmpstr(json_object_get_string_member(desc, "vmsd_name"), ==, "outer");
	g_assert_cmpint(json_object_get_int_member(desc, "instance_id"), ==, 7);
	fields = json_object_get_array_member(desc, "fields");
	{
		s64 sum = 0;

		for (guint i = 0; i < json_array_get_length(fields); i++) {
			JsonObject *f = json_array_get_object_element(fields, i);

			sum += json_object_get_int_member(f, "size") *
			       json_object_get_int_member_with_default(f, "array_len", 1);
		}
		g_assert_cmpint(sum, ==, sizeof(golden) - HEADER_BYTES - 19 - 5);
	}
	g_assert_cmpuint(json_array_get_length(json_object_get_array_member(desc, "subsections")),
			 ==, 1);
	state_writer_finish(&w);
	state_registry_destroy(reg);
}

/* Loads @len bytes of payload and footer. Return: the error's text, or NULL. */
static char *load(struct outer *o, const u8 *bytes, size_t len, u32 version)
{
	struct state_entry e = {
		.idstr = (char *)"name", .instance_id = 7, .desc = &outer_state, .obj = o
	};
	g_autoptr(GError) err = NULL;
	struct state_reader r;
	int ret;

	state_reader_init_memory(&r, bytes, len);
	ret = state_load_entry(&r, &e, version, 2, true, &err);
	state_reader_finish(&r);
	g_assert_true(!ret == !err);
	return err ? g_strdup(err->message) : NULL;
}

static void test_load(void)
{
	struct outer o, want;

	outer_fill(&want);
	outer_init(&o);
	memset(far_memory, 0, sizeof(far_memory));
	g_assert_null(load(&o, golden + HEADER_BYTES, sizeof(golden) - HEADER_BYTES, 2));
	g_assert_cmpuint(o.u64, ==, want.u64);
	g_assert_cmpint(o.s32, ==, -2);
	g_assert_cmpuint(o.list[1], ==, 11);
	g_assert_cmpuint(o.inner[1].b, ==, 4);
	g_assert_cmpuint(far_memory[1], ==, 0xf2);
	g_assert_cmpuint(o.late, ==, 99);
	g_assert_cmpuint(o.sub, ==, 5);
	g_assert_cmpuint(o.posts, ==, 1);
	g_assert_false(timer_pending(&o.timer));
}

/* A stream that ends anywhere is an error, and nothing is applied. */
static void test_truncated(void)
{
	for (size_t len = HEADER_BYTES; len < sizeof(golden); len++) {
		struct outer o;
		g_autofree char *error = NULL;

		outer_init(&o);
		error = load(&o, golden + HEADER_BYTES, len - HEADER_BYTES, 2);
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error, "section 'name' instance 7"));
		g_assert_cmpuint(o.posts, ==, 0);
	}
}

static void expect(size_t at, u8 value, u32 version, const char *text)
{
	g_autofree u8 *bytes = g_memdup2(golden, sizeof(golden));
	g_autofree char *error = NULL;
	struct outer o;

	outer_init(&o);
	bytes[HEADER_BYTES + at] = value;
	error = load(&o, bytes + HEADER_BYTES, sizeof(golden) - HEADER_BYTES, version);
	if (!error || !strstr(error, text))
		g_error("'%s' is not in '%s'", text, error ? error : "(no error)");
	g_assert_cmpuint(o.posts, ==, 0);
}

static void test_errors(void)
{
	expect(0, 7, 2, "section 'name' instance 7: field 'flag': expected 0 or 1, got 7");
	expect(35, 9, 2, "field 'list': expected at most 4 elements, got 9");
	expect(42, 0x31, 2, "field 'mark': expected 48, got 49");
	expect(0, 1, 3, "expected version 1 to 2, got 3");
	expect(0, 1, 0, "expected version 1 to 2, got 0");
	expect(63, 'x', 2, "unknown subsection 'outer/xub'");
	expect(69, 2, 2, "subsection 'outer/sub': expected version 1 to 1, got 2");
	expect(sizeof(golden) - HEADER_BYTES - 1, 3, 2, "expected the footer of section 2");
}

static void test_order(void)
{
	static const struct state_desc late = { .name = "l", .priority = STATE_PRIO_LAST };
	static const struct state_desc plain = { .name = "p" };
	static const struct state_desc early = { .name = "e", .priority = STATE_PRIO_GICV3 };
	struct state_registry *reg = state_registry_create();
	int a, b, c, d;

	state_register(reg, "last", -1, &late, &a);
	state_register(reg, "plain", -1, &plain, &b);
	g_assert_cmpint(state_register(reg, "plain", -1, &plain, &c), ==, 1);
	state_register(reg, "early", -1, &early, &d);
	g_assert_true(((struct state_entry *)g_ptr_array_index(reg->entries, 0))->obj == &d);
	g_assert_true(((struct state_entry *)g_ptr_array_index(reg->entries, 1))->obj == &b);
	g_assert_true(((struct state_entry *)g_ptr_array_index(reg->entries, 2))->obj == &c);
	g_assert_true(((struct state_entry *)g_ptr_array_index(reg->entries, 3))->obj == &a);
	state_unregister(reg, &plain, &b);
	g_assert_null(state_registry_find(reg, "plain", 0));
	g_assert_cmpint(state_register(reg, "plain", -1, &plain, &b), ==, 0);
	state_registry_destroy(reg);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	main_loop_init();
	g_test_add_func("/state/golden", test_golden);
	g_test_add_func("/state/load", test_load);
	g_test_add_func("/state/truncated", test_truncated);
	g_test_add_func("/state/errors", test_errors);
	g_test_add_func("/state/order", test_order);
	return g_test_run();
}

/* Option arguments: what people paste, and what must be refused. */
#include "util/keyval.h"

static JsonObject *parse(const char *text, const char *implied)
{
	g_autoptr(GError) err = NULL;
	JsonObject *o = keyval_parse(text, implied, &err);

	g_assert_no_error(err);
	return o;
}

static void check(const char *text, const char *implied, const char *want)
{
	JsonObject *o = parse(text, implied);
	g_autoptr(JsonNode) n = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(n, o);
	g_autofree char *got = json_to_string(n, FALSE);

	g_assert_cmpstr(got, ==, want);
}

static void test_forms(void)
{
	check("", NULL, "{}");
	check("virtio-blk,drive=d0", "driver", "{\"driver\":\"virtio-blk\",\"drive\":\"d0\"}");
	check("q35,", "type", "{\"type\":\"q35\"}");
	check("socket,server,nowait", "backend",
	      "{\"backend\":\"socket\",\"server\":\"on\",\"wait\":\"off\"}");
	check("file=a,,b,readonly", NULL, "{\"file\":\"a,b\",\"readonly\":\"on\"}");
	check("driver=raw,file.driver=file,file.filename=x=y", NULL,
	      "{\"driver\":\"raw\",\"file\":{\"driver\":\"file\",\"filename\":\"x=y\"}}");
	check("user,hostfwd=a,hostfwd=b,hostfwd=c", "type",
	      "{\"type\":\"user\",\"hostfwd\":[\"a\",\"b\",\"c\"]}");
	check("{\"qom-type\":\"x\",\"size\":5,\"on\":true}", NULL,
	      "{\"qom-type\":\"x\",\"size\":5,\"on\":true}");
}

/* "file=a" and "file.locking=off" belong together, in either order. */
static void test_value_with_members(void)
{
	static const char *const texts[] = { "file=a,file.locking=off", "file.locking=off,file=a" };

	for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(JsonObject) o = parse(texts[i], NULL);
		g_autofree char *file = NULL;

		g_assert_cmpstr(keyval_str(o, "file"), ==, "a");
		file = keyval_take_str(o, "file");
		g_assert_cmpstr(file, ==, "a");
		g_assert_null(keyval_str(o, "file"));
		g_assert_cmpstr(keyval_str(json_object_get_object_member(o, "file"), "locking"), ==,
				"off");
	}
}

static void test_bad(void)
{
	static const char *const bad[] = { "{", "{\"a\":1} x", "=1" };

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		g_autoptr(GError) err = NULL;

		g_assert_null(keyval_parse(bad[i], NULL, &err));
		g_assert_nonnull(err);
	}
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		char suffix;
		int ret;
		u64 want;
	} rows[] = {
		{ "128", 'M', 0, 128 * MiB },     { "1.5G", 'M', 0, 3 * GiB / 2 },
		{ "4k", 'B', 0, 4096 },           { "0x1000", 'B', 0, 4096 },
		{ "1Gg", 'M', -EINVAL, 0 },       { "-1", 'M', -EINVAL, 0 },
		{ "", 'M', -EINVAL, 0 },          { "x", 'M', -EINVAL, 0 },
		{ "99999999E", 'M', -ERANGE, 0 }, { "18446744073709551616", 'B', -ERANGE, 0 },
		{ "1024k", 'M', 0, MiB },         { "0", 'M', 0, 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 got = 0;

		g_assert_cmpint(size_parse(rows[i].text, rows[i].suffix, &got), ==, rows[i].ret);
		g_assert_cmpuint(got, ==, rows[i].want);
	}
}

static void test_typed(void)
{
	JsonObject *o = parse("a=on,b=maybe,n=12,bad=-3,s=1.5G,twice=1,twice=2", NULL);
	JsonObject *j = parse("{\"b\":true,\"n\":7}", NULL);
	g_autoptr(GError) err = NULL;
	bool b = false;
	u64 n = 0;

	g_assert_cmpint(keyval_bool(o, "a", &b, NULL), ==, 0);
	g_assert_true(b);
	g_assert_cmpint(keyval_bool(o, "absent", &b, NULL), ==, -ENOENT);
	g_assert_cmpint(keyval_bool(o, "b", &b, &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "'b=maybe': expected on or off");
	g_clear_error(&err);
	g_assert_cmpint(keyval_u64(o, "bad", &n, &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "'bad=-3': expected a non-negative number");
	g_clear_error(&err);
	g_assert_cmpint(keyval_size(o, "s", 'M', &n, NULL), ==, 0);
	g_assert_cmpuint(n, ==, 3 * GiB / 2);
	g_assert_cmpstr(keyval_str(o, "twice"), ==, "2");
	g_assert_cmpint(keyval_bool(j, "b", &b, NULL), ==, 0);
	g_assert_cmpint(keyval_u64(j, "n", &n, NULL), ==, 0);
	g_assert_cmpuint(n, ==, 7);

	g_assert_cmpint(keyval_take_u64(j, "n", &n, NULL), ==, 0);
	g_assert_cmpint(keyval_reject_rest(j, "-x", &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "-x: unknown option 'b=on'");
	json_object_unref(o);
	json_object_unref(j);
}

static void test_merge(void)
{
	JsonObject *a = parse("type=q35,accel=kvm,x.y=1", NULL);
	JsonObject *b = parse("accel=tcg,x.z=2", NULL);

	keyval_merge(a, b);
	g_assert_cmpstr(keyval_str(a, "accel"), ==, "tcg");
	g_assert_cmpstr(keyval_str(a, "type"), ==, "q35");
	JsonObject *x = json_object_get_object_member(a, "x");

	g_assert_cmpstr(keyval_str(x, "y"), ==, "1");
	g_assert_cmpstr(keyval_str(x, "z"), ==, "2");
	json_object_unref(a);
	json_object_unref(b);
}

/* Reading a number as text leaves the object's keys where they are: callers hold pointers to them.
 */
static void test_number_as_text(void)
{
	g_autoptr(GError) err = NULL;
	JsonObject *o = parse("{\"size\":5,\"sizes\":[6,7]}", NULL);
	GList *keys = json_object_get_members(o);
	const char *key = keys->data;

	g_assert_cmpstr(keyval_str(o, key), ==, "5");
	g_assert_cmpstr(key, ==, "size");
	g_assert_cmpstr(keyval_str(o, "sizes"), ==, "7");
	g_assert_cmpint(keyval_reject_rest(o, "-x", &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "'size=5'"));
	g_list_free(keys);
	json_object_unref(o);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/keyval/number-as-text", test_number_as_text);
	g_test_add_func("/keyval/forms", test_forms);
	g_test_add_func("/keyval/value-with-members", test_value_with_members);
	g_test_add_func("/keyval/bad", test_bad);
	g_test_add_func("/keyval/sizes", test_sizes);
	g_test_add_func("/keyval/typed", test_typed);
	g_test_add_func("/keyval/merge", test_merge);
	return g_test_run();
}

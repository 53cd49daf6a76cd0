/* tests/unit/target/test-engines.c - formats of dirty-state engines; properties about them. */
#include <glib.h>

#include "target/arm/engine_props.h"
#include "target/arm/engines-priv.h"

static void test_entry(void)
{
	g_assert_cmphex(entry_pack(0x80005000, 3), ==, 0x80005007);
	g_assert_cmphex(entry_pack(0xc0000000, 2), ==, 0xc0000005);
	g_assert_cmphex(entry_pack(0x100000000, 1), ==, 0x100000003);
	g_assert_cmphex(entry_pack(0, 0), ==, 1);
	g_assert_cmphex(entry_pack(0, -1), ==, 0xf);
	g_assert_cmphex(entry_pack(~0ull, 3), ==, 0x00fffffffffff007);
	for (int level = -4; level < 4; level++)
		g_assert_cmpint(entry_level(entry_pack(0x1000, level)), ==, level);
	g_assert_cmpint(entry_level(0xfffffffffffffff1), ==, 0); /* other bits do not matter */
}

static void test_buffer(void)
{
	for (unsigned sz = 0; sz <= 15; sz++) {
		u64 entries = sz < 9 ? 512ull << sz : 262144;

		g_assert_cmpuint(buffer_entries(sz), ==, entries);
		g_assert_cmphex(buffer_base(0xff00fffffffffff0 | sz), ==,
				0x0000fffffffff000 & ~(entries * 8 - 1));
	}
}

static void test_props(void)
{
	struct arm_engines_config c;
	GError *err = NULL;

	arm_engine_props_init(&c);
	g_assert_true(c.hdbss);
	g_assert_cmpint(arm_engine_prop_set(&c, "hdbss", "off", &err), ==, 0);
	g_assert_false(c.hdbss);
	g_assert_cmpint(arm_engine_prop_set(&c, "hdbss-append-ns", "250", &err), ==, 0);
	g_assert_cmpuint(c.hdbss_append_ns, ==, 250);
	g_assert_cmpint(arm_engine_prop_set(&c, "hdbss-append-us", "250", &err), ==, -ENOENT);
	g_assert_no_error(err);
	g_assert_cmpint(arm_engine_prop_set(&c, "hdbss-append-ns", "2s", &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "'hdbss-append-ns=2s'"));
	g_clear_error(&err);
	g_assert_cmpint(arm_engine_prop_set(&c, "hdbss", "2", &err), ==, -EINVAL);
	g_clear_error(&err);
	g_assert_cmpint(arm_engine_prop_set(&c, "hacdbs-irq", "17", &err), ==, 0);
	g_assert_cmpuint(c.hacdbs_irq, ==, 17);
	for (unsigned i = 0; i < 40; i++) {
		g_autofree char *text = g_strdup_printf("%u", i);
		bool is_free = (i >= 16 && i <= 22) || i == 24 || i == 31;

		g_assert_cmpint(arm_engine_prop_set(&c, "hacdbs-irq", text, NULL), ==,
				is_free ? 0 : -EINVAL);
	}
}

static void test_injections(void)
{
	struct arm_engines_config c;
	GError *err = NULL;

	arm_engine_props_init(&c);
	g_assert_cmpuint(c.inject[ARM_INJECT_HDBSS_FULL_AT], ==, ARM_INJECT_NEVER);
	g_assert_cmpint(arm_engine_inject(&c, "x-hdbss-full-at", "7", &err), ==, 0);
	g_assert_cmpuint(c.inject[ARM_INJECT_HDBSS_FULL_AT], ==, 7);
	g_assert_cmpint(arm_engine_inject(&c, "x-hdbss-full-at", "off", &err), ==, 0);
	g_assert_cmpuint(c.inject[ARM_INJECT_HDBSS_FULL_AT], ==, ARM_INJECT_NEVER);
	g_assert_cmpint(arm_engine_inject(&c, "x-hacdbs-error", "ipaf", &err), ==, 0);
	g_assert_cmpuint(c.inject[ARM_INJECT_HACDBS_ERROR], ==, 2);
	g_assert_cmpint(arm_engine_inject(&c, "x-hacdbs-error", "none", &err), ==, -EINVAL);
	g_clear_error(&err);
	/* What is not an injection cannot be changed any more. */
	g_assert_cmpint(arm_engine_inject(&c, "hdbss", "off", &err), ==, -ENOENT);
	g_assert_nonnull(strstr(err->message, "x-hacdbs-irq-lose"));
	g_clear_error(&err);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engines/entry", test_entry);
	g_test_add_func("/engines/buffer", test_buffer);
	g_test_add_func("/engines/props", test_props);
	g_test_add_func("/engines/injections", test_injections);
	return g_test_run();
}

/* Bitmaps against a model of one byte a bit. */
#include "util/bitmap.h"

#define NBITS 1000

static void check(const u64 *map, const u8 *model)
{
	for (unsigned i = 0; i < NBITS; i++)
		g_assert_cmpint(bitmap_test(map, i), ==, model[i]);
}

static void test_random(void)
{
	u64 *map = bitmap_new(NBITS);
	u8 model[NBITS] = { 0 };

	for (int round = 0; round < 500; round++) {
		u64 first = g_test_rand_int_range(0, NBITS);
		u64 n = g_test_rand_int_range(0, NBITS - first + 1);
		int op = g_test_rand_int_range(0, 3);
		u64 count = 0, next;

		if (op == 0)
			bitmap_set(map, first, n);
		else if (op == 1)
			bitmap_set_atomic(map, first, n);
		else
			bitmap_clear(map, first, n);
		memset(model + first, op != 2, n);
		check(map, model);

		for (unsigned i = first; i < first + n; i++)
			count += model[i];
		g_assert_cmpuint(bitmap_count(map, first, n), ==, count);

		for (next = first; next < NBITS && !model[next]; next++)
			;
		g_assert_cmpuint(bitmap_next_set(map, NBITS, first), ==, next);
		for (next = first; next < NBITS && model[next]; next++)
			;
		g_assert_cmpuint(bitmap_next_clear(map, NBITS, first), ==, next);
	}
	bitmap_free(map, NBITS);
}

static void test_edges(void)
{
	u64 *map = bitmap_new(128);

	g_assert_true(bitmap_is_empty(map, 128));
	bitmap_set(map, 127, 1);
	g_assert_cmphex(map[1], ==, 1ull << 63);
	g_assert_cmpuint(bitmap_next_set(map, 128, 0), ==, 127);
	g_assert_cmpuint(bitmap_next_set(map, 127, 0), ==, 127); /* beyond the end: not found */
	g_assert_cmpuint(bitmap_next_set(map, 128, 128), ==, 128);
	bitmap_set(map, 0, 128);
	g_assert_cmpuint(bitmap_next_clear(map, 128, 0), ==, 128);
	g_assert_cmphex(word_mask(0, 64), ==, ~0ull);
	g_assert_cmphex(word_mask(4, 8), ==, 0xf0);
	g_assert_cmphex(bitmap_take_word_atomic(map, 0, 0xff00), ==, 0xff00);
	g_assert_cmphex(map[0], ==, ~0xff00ull);
	bitmap_free(map, 128);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bitmap/random", test_random);
	g_test_add_func("/bitmap/edges", test_edges);
	return g_test_run();
}

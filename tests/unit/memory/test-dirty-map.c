/*
 * Dirty maps: client separation, and that no bit is lost between threads that set bits and the
 * one that takes them. Also run under ThreadSanitizer.
 */
#include "memory/dirty-map.h"

#include "util/bitmap.h"

#define NPAGES 1000

static void test_clients(void)
{
	struct dirty_map map;

	dirty_map_init(&map, NPAGES);
	dirty_map_set(&map, 0, NPAGES, DIRTY_ALL); /* nobody tracks: nothing happens */
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_MIGRATION), ==, 0);

	dirty_map_client_start(&map, DIRTY_MIGRATION, true);
	dirty_map_client_start(&map, DIRTY_RATE, false);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_MIGRATION), ==, NPAGES);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_RATE), ==, 0);

	g_assert_cmpuint(dirty_map_take(&map, DIRTY_MIGRATION, 0, NPAGES, NULL), ==, NPAGES);
	dirty_map_set(&map, 63, 2, DIRTY_BIT(DIRTY_RATE));
	g_assert_false(dirty_map_test(&map, DIRTY_MIGRATION, 63));
	dirty_map_set(&map, 999, 1, DIRTY_ALL);
	g_assert_true(dirty_map_test(&map, DIRTY_MIGRATION, 999));
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_RATE), ==, 3);
	g_assert_cmpuint(dirty_map_next(&map, DIRTY_RATE, 65), ==, 999);

	/* A client that comes back starts from the state it asks for. */
	dirty_map_client_stop(&map, DIRTY_RATE);
	dirty_map_set(&map, 5, 1, DIRTY_ALL);
	dirty_map_client_start(&map, DIRTY_RATE, false);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_RATE), ==, 0);
	dirty_map_finish(&map);
}

static void test_ragged(void)
{
	struct dirty_map map;
	u64 log[2] = { ~0ull, ~0ull }, out[2];

	dirty_map_init(&map, NPAGES);
	dirty_map_client_start(&map, DIRTY_MIGRATION, false);
	/* Bits past the length do not count, wherever the log's words end. */
	g_assert_cmpuint(dirty_map_or(&map, 64, 70, log, DIRTY_ALL), ==, 70);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_MIGRATION), ==, 70);
	g_assert_cmpuint(dirty_map_next(&map, DIRTY_MIGRATION, 0), ==, 64);
	g_assert_cmpuint(dirty_map_take(&map, DIRTY_MIGRATION, 64, 66, out), ==, 66);
	g_assert_cmphex(out[0], ==, ~0ull);
	g_assert_cmphex(out[1], ==, 3);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_MIGRATION), ==, 4);
	dirty_map_put_back(&map, DIRTY_MIGRATION, 64, 66, out);
	g_assert_cmpuint(dirty_map_count(&map, DIRTY_MIGRATION), ==, 70);
	dirty_map_finish(&map);
}

/*
 * Writers bump a page's generation, then set its bit; the taker takes bits, then reads. Whatever
 * the interleaving, after the last take each page's last generation has been seen.
 */
#define WRITERS 3
#define WRITES  100000

static u32 generation[NPAGES];

static gpointer writer(gpointer data)
{
	struct dirty_map *map = data;
	GRand *rand = g_rand_new_with_seed(GPOINTER_TO_UINT(g_thread_self()));

	for (int i = 0; i < WRITES; i++) {
		u64 page = g_rand_int_range(rand, 0, NPAGES);

		__atomic_fetch_add(&generation[page], 1, __ATOMIC_RELAXED);
		dirty_map_set(map, page, 1, DIRTY_ALL);
	}
	g_rand_free(rand);
	return NULL;
}

static u64 take_and_look(struct dirty_map *map, u32 *seen)
{
	u64 bits[BITMAP_WORDS(NPAGES)];
	u64 n = dirty_map_take(map, DIRTY_MIGRATION, 0, NPAGES, bits);

	for (u64 p = bitmap_next_set(bits, NPAGES, 0); p < NPAGES;
	     p = bitmap_next_set(bits, NPAGES, p + 1))
		seen[p] = __atomic_load_n(&generation[p], __ATOMIC_RELAXED);
	return n;
}

static void test_threads(void)
{
	u32 seen[NPAGES] = { 0 };
	GThread *threads[WRITERS];
	struct dirty_map map;

	dirty_map_init(&map, NPAGES);
	dirty_map_client_start(&map, DIRTY_MIGRATION, false);
	for (int i = 0; i < WRITERS; i++)
		threads[i] = g_thread_new("writer", writer, &map);
	for (int i = 0; i < 2000; i++)
		take_and_look(&map, seen);
	for (int i = 0; i < WRITERS; i++)
		g_thread_join(threads[i]);
	take_and_look(&map, seen);
	for (int p = 0; p < NPAGES; p++)
		g_assert_cmpuint(seen[p], ==, generation[p]);
	g_assert_cmpuint(take_and_look(&map, seen), ==, 0);
	dirty_map_finish(&map);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/dirty-map/clients", test_clients);
	g_test_add_func("/dirty-map/ragged", test_ragged);
	g_test_add_func("/dirty-map/threads", test_threads);
	return g_test_run();
}

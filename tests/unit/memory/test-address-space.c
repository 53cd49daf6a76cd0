/* The flat map: priorities, differences for listeners, accesses that cross ranges. */
#include "memory/address-space.h"

#include "util/lock.h"

static u64 last_offset, last_value;
static unsigned last_size, accesses;

static u64 dev_read(void *opaque, u64 offset, unsigned size)
{
	accesses++;
	last_offset = offset;
	last_size = size;
	return 0x1122334455667788ull;
}

static void dev_write(void *opaque, u64 offset, u64 value, unsigned size)
{
	accesses++;
	last_offset = offset;
	last_size = size;
	last_value = value;
}

static const struct mmio_ops any_ops = { dev_read, dev_write, 0, 0 };
static const struct mmio_ops word_ops = { dev_read, dev_write, 4, 4 };

struct fixture {
	struct ram_list *ram;
	struct ramblock *block;
	struct address_space *as;
	struct mapping low, high, dev, words, rom;
};

static void setup(struct fixture *f, gconstpointer data)
{
	struct ram_spec spec = { .id = "ram", .size = 1 * MiB, .fd = -1 };

	f->ram = ram_list_create();
	f->block = ram_create(f->ram, &spec, NULL);
	f->as = address_space_create("memory");
	f->low = (struct mapping){
		.name = "low", .base = 0, .size = 512 * KiB, .kind = MAP_RAM, .block = f->block
	};
	f->high = (struct mapping){ .name = "high",
				    .base = 4 * GiB,
				    .size = 512 * KiB,
				    .kind = MAP_RAM,
				    .block = f->block,
				    .block_offset = 512 * KiB };
	f->dev = (struct mapping){ .name = "dev",
				   .base = 0x10000,
				   .size = 0x1000,
				   .kind = MAP_MMIO,
				   .priority = 1,
				   .ops = &any_ops };
	f->words = (struct mapping){ .name = "words",
				     .base = 0x20000,
				     .size = 0x1000,
				     .kind = MAP_MMIO,
				     .priority = 1,
				     .ops = &word_ops };
	f->rom = (struct mapping){ .name = "rom",
				   .base = 0x30000,
				   .size = 0x1000,
				   .kind = MAP_ROM,
				   .priority = 1,
				   .block = f->block,
				   .block_offset = 0x30000 };
	address_space_begin(f->as);
	address_space_map(f->as, &f->low);
	address_space_map(f->as, &f->high);
	address_space_map(f->as, &f->dev);
	address_space_map(f->as, &f->words);
	address_space_map(f->as, &f->rom);
	address_space_commit(f->as);
	machine_lock();
	accesses = 0;
}

static void teardown(struct fixture *f, gconstpointer data)
{
	machine_unlock();
	address_space_destroy(f->as);
	ram_list_destroy(f->ram);
}

static void test_flat(struct fixture *f, gconstpointer data)
{
	const struct flat_view *v = address_space_view_get(f->as);

	g_assert_cmpuint(v->nranges, ==, 8);
	for (unsigned i = 1; i < v->nranges; i++)
		g_assert_cmpuint(v->ranges[i - 1].base + v->ranges[i - 1].size, <=,
				 v->ranges[i].base);
	g_assert_true(flat_view_find(v, 0x10fff)->map == &f->dev);
	g_assert_true(flat_view_find(v, 0x11000)->map == &f->low);
	g_assert_cmpuint(flat_view_find(v, 0x11000)->offset, ==, 0x11000);
	g_assert_null(flat_view_find(v, 512 * KiB));
	g_assert_cmpuint(flat_view_find(v, 4 * GiB + 5)->offset, ==, 512 * KiB);
	address_space_view_put(f->as, v);
}

static void test_access(struct fixture *f, gconstpointer data)
{
	enum mem_result r;
	u8 buf[16];

	g_assert_cmpint(address_space_st(f->as, 0xffff, 0x1234, 2), ==, MEM_OK);
	g_assert_cmpuint(f->block->host[0xffff], ==, 0x34); /* RAM, then one byte of the device */
	g_assert_cmpuint(last_value, ==, 0x12);
	g_assert_cmpuint(last_offset, ==, 0);

	/* An unaligned access is split into aligned ones. */
	accesses = 0;
	address_space_read(f->as, 0x10001, buf, 8);
	g_assert_cmpuint(accesses, ==, 4); /* 1 2 4 1 */

	/* Narrow accesses of a device that takes words only. */
	g_assert_cmphex(address_space_ld(f->as, 0x20001, 1, &r), ==, 0x77);
	g_assert_cmpuint(last_size, ==, 4);
	g_assert_cmpuint(last_offset, ==, 0);
	address_space_st(f->as, 0x20008, 0x1122334455667788ull, 8);
	g_assert_cmphex(last_value, ==, 0x11223344);
	g_assert_cmpuint(last_offset, ==, 0xc);

	g_assert_cmpint(address_space_st(f->as, 0x30000, 0xff, 1), ==, MEM_OK);
	g_assert_cmpuint(f->block->host[0x30000], ==, 0);

	g_assert_cmphex(address_space_ld(f->as, 512 * KiB - 1, 2, &r), ==, 0xff00);
	g_assert_cmpint(r, ==, MEM_UNMAPPED);
}

static void test_ram_pointer(struct fixture *f, gconstpointer data)
{
	struct ramblock *block;
	u64 len = 1 * MiB, offset;

	g_assert_true(address_space_ram(f->as, 0xf000, &len, true, &block, &offset) ==
		      f->block->host + 0xf000);
	g_assert_cmpuint(len, ==, 0x1000);
	g_assert_cmpuint(offset, ==, 0xf000);
	len = 1;
	g_assert_null(address_space_ram(f->as, 0x30000, &len, true, NULL, NULL));
	g_assert_nonnull(address_space_ram(f->as, 0x30000, &len, false, NULL, NULL));
	g_assert_null(address_space_ram(f->as, 0x10000, &len, false, NULL, NULL));
}

struct counter {
	struct as_listener l;
	int adds, dels;
};

static void count_add(struct as_listener *l, const struct flat_range *r)
{
	container_of(l, struct counter, l)->adds++;
}

static void count_del(struct as_listener *l, const struct flat_range *r)
{
	container_of(l, struct counter, l)->dels++;
}

static void test_listener(struct fixture *f, gconstpointer data)
{
	struct counter c = { .l = { .add = count_add, .del = count_del } };
	struct mapping m = {
		.name = "m", .base = 8 * GiB, .size = 4096, .kind = MAP_MMIO, .ops = &any_ops
	};

	address_space_listen(f->as, &c.l);
	g_assert_cmpint(c.adds, ==, 8);
	address_space_map(f->as, &m);
	g_assert_cmpint(c.adds, ==, 9);
	g_assert_cmpint(c.dels, ==, 0);
	address_space_unmap(f->as, &f->dev); /* the RAM around it becomes one range */
	g_assert_cmpint(c.dels, ==, 3);
	g_assert_cmpint(c.adds, ==, 10);
	address_space_unmap(f->as, &m);
	address_space_unlisten(f->as, &c.l);
}

static gpointer reader(gpointer data)
{
	struct fixture *f = data;

	for (int i = 0; i < 20000; i++) {
		const struct flat_view *v = address_space_view_get(f->as);
		const struct flat_range *r = flat_view_find(v, 4 * GiB);

		g_assert_true(r && r->map == &f->high);
		address_space_view_put(f->as, v);
	}
	return NULL;
}

/* Readers keep a whole map while the owner changes it. */
static void test_readers(struct fixture *f, gconstpointer data)
{
	GThread *t[2] = { g_thread_new("r", reader, f), g_thread_new("r", reader, f) };

	for (int i = 0; i < 500; i++) {
		address_space_unmap(f->as, &f->dev);
		address_space_map(f->as, &f->dev);
	}
	g_thread_join(t[0]);
	g_thread_join(t[1]);
}

#define ADD(path, fn) g_test_add(path, struct fixture, NULL, setup, fn, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("/address-space/flat", test_flat);
	ADD("/address-space/access", test_access);
	ADD("/address-space/ram-pointer", test_ram_pointer);
	ADD("/address-space/listener", test_listener);
	ADD("/address-space/readers", test_readers);
	return g_test_run();
}

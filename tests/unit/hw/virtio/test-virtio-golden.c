/*
 * tests/unit/hw/virtio/test-virtio-golden.c - sections as qemu-system-aarch64 7.2 writes them.
 *
 * Recorded from `-M virt-7.2 -global virtio-mmio.force-legacy=false`: "fresh" before any driver
 * ran, "live" with tests/guests/disk.c using the disk.
 */
#include "tests/unit/hw/virtio/driver.h"

#include "block/block.h"
#include "hw/virtio/devices.h"
#include "util/keyval.h"

#define FRESH_RNG_SIZE     44191
#define FRESH_BALLOON_SIZE 44251
#define FRESH_BLK_SIZE     44249
#define LIVE_BLK_SIZE      48387
#define LIVE_RINGS         0x40084000 /* of the guest; the used ring is at 0x4008405c */
#define LIVE_USED_IDX      0x5e
#define LIVE_INDEX         1624
#define HEADER             (5 + 1 + strlen("virtio-mmio@0000000010000000/") + 8)
#define FOOTER             5

/* Bytes that are not all zero. */
struct run {
	u32 at, len;
	const char *bytes;
};

static const struct run fresh_rng[] = {
	{ 27, 8, "\001\000\000\000\010\000\000\020" },
	{ 46, 27, "\005\025virtio/64bit_features\000\000\000\001" },
	{ 81, 23, "\005\021virtio/virtqueues\000\000\000\001" },
	{ 16488, 47,
	  "\005\022virtio/extra_state\000\000\000\001\005\021virtio_mmi"
	  "o/state\000\000\000\001" },
};

static const struct run fresh_balloon[] = {
	{ 23, 1, "\020" },
	{ 43, 8, "\003\000\000\000\200\000\000\020" },
	{ 65, 4, "\200\000\000\020" },
	{ 83, 4, "\200\000\000\020" },
	{ 106, 27, "\005\025virtio/64bit_features\000\000\000\001" },
	{ 141, 23, "\005\021virtio/virtqueues\000\000\000\001" },
	{ 16548, 47,
	  "\005\022virtio/extra_state\000\000\000\001\005\021virtio_mmi"
	  "o/state\000\000\000\001" },
};

static const struct run fresh_blk[] = {
	{ 23, 1, "9" },
	{ 84, 8, "\001\000\000\001\000\000\000\020" },
	{ 104, 27, "\005\025virtio/64bit_features\000\000\000\001" },
	{ 139, 23, "\005\021virtio/virtqueues\000\000\000\001" },
	{ 16546, 47,
	  "\005\022virtio/extra_state\000\000\000\001\005\021virtio_mmi"
	  "o/state\000\000\000\001" },
};

static const struct run live_blk[] = {
	{ 3, 11, "\001\000\000\000\001\000\000\000\000\017\001" },
	{ 23, 3, "9\000\010" },
	{ 36, 10, "\376\000\000\000\002\000\020\077\000\002" },
	{ 58, 120,
	  "\001\000\377\377\077\000\001\000\000\000\001\000\000\000\377"
	  "\377\077\000\001\000\000\000\001\000\000\000\001\000\000\000"
	  "\004\000\000\020\000\000\000\000\000@\010@\020\006X\000\005"
	  "\025virtio/64bit_features\000\000\000\001\000\000\000\001"
	  "\000\000\000\000\005\021virtio/virtqueues\000\000\000\001"
	  "\000\000\000\000@\010@P\000\000\000\000@\010@\134" },
	{ 16546, 24, "\005\017virtio/ringsize\000\000\000\001\000\000\001" },
	{ 20663, 47,
	  "\005\022virtio/extra_state\000\000\000\001\005\021virtio_mmi"
	  "o/state\000\000\000\001" },
	{ 20717, 24,
	  "\001\000\004\001@\010@\020\000\000\000\000@\010@P\000\000"
	  "\000\000@\010@\134" },
	{ 48366, 21, "\005\016virtio/started\000\000\000\001\001" },
};

static struct block_backend *find_drive(void *opaque, const char *id)
{
	return block_find(id);
}

static const struct device_type *const types[] = {
	&virtio_mmio_type, &virtio_blk_type, &virtio_rng_type, &virtio_balloon_type, NULL,
};
const struct device_type *const *const rig_devices[] = { types, NULL };
const struct machine_host rig_host = { .drive = find_drive };

static GByteArray *expand(const struct run *runs, unsigned n, u32 size)
{
	GByteArray *bytes = g_byte_array_new();

	g_byte_array_set_size(bytes, size);
	memset(bytes->data, 0, size);
	for (unsigned i = 0; i < n; i++)
		memcpy(bytes->data + runs[i].at, runs[i].bytes, runs[i].len);
	return bytes;
}

static void make_disk(void)
{
	g_autoptr(JsonObject) o = keyval_parse("driver=null-co,node-name=disk,size=1M", NULL, NULL);
	GError *err = NULL;

	block_node_create(o, &err);
	g_assert_no_error(err);
}

struct fresh {
	const char *device, *section;
	const struct run *runs;
	unsigned nruns;
	u32 size;
};

static void test_fresh(gconstpointer data)
{
	const struct fresh *f = data;
	struct rig *rig = rig_new(false);
	u64 header = HEADER + strlen(f->section);
	GByteArray *want = expand(f->runs, f->nruns, f->size), *got;

	rig_add(rig, f->device);
	got = rig_save(rig);
	g_assert_cmpuint(got->len, ==, header + want->len + FOOTER);
	g_assert_cmpmem(got->data + header, want->len, want->data, want->len);
	g_byte_array_unref(got);
	g_byte_array_unref(want);
	rig_free(rig);
}

/* Loaded, it is a running device; saved again, it is the same. */
static void test_live(void)
{
	struct rig *rig = rig_new(false);
	struct virtio_device *vdev = rig_add(rig, "virtio-blk,drive=disk");
	struct ram_spec spec = { .id = "rings", .size = 4096, .fd = -1 };
	struct ramblock *block = ram_create(rig->vm->ram, &spec, NULL);
	struct mapping rings = {
		.name = "rings", .base = LIVE_RINGS, .size = 4096, .kind = MAP_RAM, .block = block
	};
	GByteArray *live = expand(live_blk, ARRAY_SIZE(live_blk), LIVE_BLK_SIZE);
	GByteArray *bytes = rig_save(rig), *again;
	u64 header = HEADER + strlen("virtio-blk");
	u8 footer[FOOTER];
	GError *err = NULL;

	address_space_map(rig->vm->memory, &rings);
	*(u16 *)(block->host + LIVE_USED_IDX) = LIVE_INDEX;
	/* Our header and footer around their payload. */
	memcpy(footer, bytes->data + bytes->len - FOOTER, FOOTER);
	g_byte_array_set_size(bytes, header);
	g_byte_array_append(bytes, live->data, live->len);
	g_byte_array_append(bytes, footer, FOOTER);
	rig_run(rig, false);
	rig_load(rig, bytes, &err);
	g_assert_no_error(err);
	g_assert_cmpuint(vdev->vqs[0].last_avail, ==, LIVE_INDEX);
	g_assert_cmpuint(vdev->vqs[0].num, ==, 4);
	g_assert_true(vdev->vqs[0].ready);
	again = rig_save(rig);
	g_assert_cmpmem(again->data, again->len, bytes->data, bytes->len);
	g_byte_array_unref(again);
	g_byte_array_unref(bytes);
	g_byte_array_unref(live);
	address_space_unmap(rig->vm->memory, &rings);
	rig_free(rig);
}

int main(int argc, char **argv)
{
	static const struct fresh fresh[] = {
		{ "virtio-rng", "virtio-rng", fresh_rng, ARRAY_SIZE(fresh_rng), FRESH_RNG_SIZE },
		{ "virtio-balloon", "virtio-balloon", fresh_balloon, ARRAY_SIZE(fresh_balloon),
		  FRESH_BALLOON_SIZE },
		{ "virtio-blk,drive=disk", "virtio-blk", fresh_blk, ARRAY_SIZE(fresh_blk),
		  FRESH_BLK_SIZE },
	};

	g_test_init(&argc, &argv, NULL);
	make_disk();
	for (unsigned i = 0; i < ARRAY_SIZE(fresh); i++) {
		g_autofree char *name = g_strdup_printf("/golden/fresh/%s", fresh[i].section);

		g_test_add_data_func(name, &fresh[i], test_fresh);
	}
	g_test_add_func("/golden/live/virtio-blk", test_live);
	return g_test_run();
}

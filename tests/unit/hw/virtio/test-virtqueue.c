/* tests/unit/hw/virtio/test-virtqueue.c - rings, hostile rings, status, transport, core state. */
#include "tests/unit/hw/virtio/driver.h"
#include "tests/unit/hw/virtio/echo.h"

#include "accel/accel.h"
#include "hw/virtio/devices.h"

#include <sys/eventfd.h>

#define EVENT_IDX (1ull << VIRTIO_RING_F_EVENT_IDX)
#define INDIRECT  (1ull << VIRTIO_RING_F_INDIRECT_DESC)

static const struct device_type *const types[] = { &virtio_mmio_type, &echo_type, NULL };
const struct device_type *const *const rig_devices[] = { types, NULL };
const struct machine_host rig_host;

struct fixture {
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q;
	u64 out, in; /* a page each */
};

static void setup_features(struct fixture *f, u64 features, bool legacy)
{
	f->rig = rig_new(legacy);
	f->vdev = rig_add(f->rig, "echo");
	f->d = drv_probe(f->rig, f->vdev, features);
	f->q = drv_queue(f->d, 0, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	f->out = rig_alloc(f->rig, 4096);
	f->in = rig_alloc(f->rig, 4096);
}

static void setup(struct fixture *f, gconstpointer features)
{
	setup_features(f, GPOINTER_TO_SIZE(features), false);
}

static void setup_legacy(struct fixture *f, gconstpointer features)
{
	setup_features(f, GPOINTER_TO_SIZE(features), true);
}

static void teardown(struct fixture *f, gconstpointer features)
{
	g_free(f->q);
	drv_free(f->d);
	rig_free(f->rig);
}

/* Send @text in a chain of two readable buffers; expect it in two writable ones. */
static void echo(struct fixture *f, const char *text, const char *want, bool indirect)
{
	u32 n = strlen(text), half = n / 2, len;
	struct drv_buf bufs[] = {
		{ f->out, half, false },
		{ f->out + 2048, n - half, false },
		{ f->in, half, true },
		{ f->in + 2048, n - half + 1, true },
	};
	u8 *in = rig_at(f->rig, f->in);
	u16 head;

	memcpy(rig_at(f->rig, f->out), text, half);
	memcpy(rig_at(f->rig, f->out + 2048), text + half, n - half);
	memset(in, 0xee, 4096);
	head = (indirect ? drv_add_indirect : drv_add)(f->q, bufs, 4);
	rig_watch(f->rig);
	drv_kick(f->q);
	g_assert_cmpuint(rig_check(f->rig), ==, 2); /* the buffers' page and the used ring */
	g_assert_cmpuint(drv_take(f->q, &len), ==, head);
	g_assert_cmpuint(len, ==, n);
	g_assert_cmpmem(in, half, want, half);
	g_assert_cmpmem(in + 2048, n - half, want + half, n - half);
	g_assert_cmpuint(in[2048 + n - half], ==, 0xee);
}

static void test_echo(struct fixture *f, gconstpointer features)
{
	for (int i = 0; i < 20; i++)
		echo(f, "tidemark", "tidemark", false);
	if (virtio_has_feature(f->vdev, VIRTIO_RING_F_INDIRECT_DESC))
		for (int i = 0; i < 20; i++)
			echo(f, "a longer text", "a longer text", true);
	g_assert_false(drv_needs_reset(f->d));
}

static void test_shout(struct fixture *f, gconstpointer features)
{
	echo(f, "tide", "TIDE", false);
}

static void test_interrupt(struct fixture *f, gconstpointer features)
{
	g_assert_false(f->rig->irq[0]);
	echo(f, "tide", "tide", false);
	g_assert_true(f->rig->irq[0]);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_INTERRUPT_STATUS), ==, VIRTIO_MMIO_INT_VRING);
	drv_write(f->d, VIRTIO_MMIO_INTERRUPT_ACK, VIRTIO_MMIO_INT_CONFIG);
	g_assert_true(f->rig->irq[0]);
	drv_write(f->d, VIRTIO_MMIO_INTERRUPT_ACK, VIRTIO_MMIO_INT_VRING);
	g_assert_false(f->rig->irq[0]);
}

static void test_no_interrupt(struct fixture *f, gconstpointer features)
{
	struct vring_avail *avail = rig_at(f->rig, f->q->avail);

	avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
	echo(f, "tide", "tide", false);
	g_assert_false(f->rig->irq[0]);
	avail->flags = 0;
	echo(f, "tide", "tide", false);
	g_assert_true(f->rig->irq[0]);
}

/* Interrupts come at the entry that the driver names, kicks are wanted at the next free one. */
static void test_event_idx(struct fixture *f, gconstpointer features)
{
	__virtio16 *used_event = rig_at(f->rig, f->q->avail + 4 + 2 * QUEUE_SIZE);
	__virtio16 *avail_event = rig_at(f->rig, f->q->used + 4 + 8 * QUEUE_SIZE);

	echo(f, "tide", "tide", false);
	g_assert_true(f->rig->irq[0]); /* the first after a reset always does */
	for (u16 i = 1; i < 6; i++) {
		drv_write(f->d, VIRTIO_MMIO_INTERRUPT_ACK, VIRTIO_MMIO_INT_VRING);
		*used_event = 4;
		echo(f, "tide", "tide", false);
		g_assert_cmpint(f->rig->irq[0], ==, i == 4);
		g_assert_cmpuint(*avail_event, ==, i + 1);
	}
}

static void test_wrap(struct fixture *f, gconstpointer features)
{
	struct drv_buf bufs[] = { { f->out, 4, false }, { f->in, 4, true } };

	memcpy(rig_at(f->rig, f->out), "tide", 4);
	for (int i = 0; i < 70000; i += 4) {
		for (int j = 0; j < 4; j++)
			drv_add(f->q, bufs, 2);
		drv_kick(f->q);
		for (int j = 0; j < 4; j++)
			drv_take(f->q, NULL);
	}
	g_assert_false(drv_has_used(f->q));
	echo(f, "tidemark", "tidemark", false);
}

/* A second queue is independent of the first. */
static void test_two_queues(struct fixture *f, gconstpointer features)
{
	struct drv_queue *first = f->q;

	drv_write(f->d, VIRTIO_MMIO_STATUS, 0);
	drv_free(f->d);
	f->d = drv_probe(f->rig, f->vdev, 0);
	g_free(first);
	first = drv_queue(f->d, 0, 16);
	f->q = drv_queue(f->d, 1, 4);
	drv_ready(f->d);
	echo(f, "second", "second", false);
	g_assert_false(drv_has_used(first));
	g_free(first);
}

/* Every part of the used ring lies in another page: index, entries, event. */
static void test_dirty_ring(struct fixture *f, gconstpointer features)
{
	struct drv_buf bufs[] = { { f->out, 4, false }, { f->in, 4, true } };
	u64 seen = 0;

	g_free(f->q);
	f->q = drv_queue(f->d, 1, VIRTQUEUE_MAX_SIZE);
	for (unsigned i = 0; i < VIRTQUEUE_MAX_SIZE; i++) {
		memset(rig_at(f->rig, f->out), i, 4);
		drv_add(f->q, bufs, 2);
		if (i % 64 == 60)
			rig_watch(f->rig);
		drv_kick(f->q);
		if (i % 64 == 60)
			seen = MAX(rig_check(f->rig), seen);
		drv_take(f->q, NULL);
	}
	g_assert_cmpuint(seen, ==, 4); /* the buffer, and three pages of the ring */
}

/* The memory map changes under the rings: what is seen afterwards is the new memory. */
static void test_remap(struct fixture *f, gconstpointer features)
{
	struct ram_spec spec = { .id = "overlay", .size = 64 * KiB, .fd = -1 };
	struct ramblock *block = ram_create(f->rig->vm->ram, &spec, NULL);
	u64 base = ROUND_DOWN(f->q->used, 4096);
	struct mapping overlay = { .name = "overlay",
				   .base = base,
				   .size = 4096,
				   .kind = MAP_RAM,
				   .priority = 1,
				   .block = block,
				   .block_offset = 8 * KiB };
	struct drv_buf bufs[] = { { f->out, 4, false }, { f->in, 4, true } };
	struct vring_used *old = rig_at(f->rig, f->q->used);

	echo(f, "tide", "tide", false);
	memcpy(block->host + 8 * KiB, rig_at(f->rig, base), 4096);
	address_space_map(f->rig->vm->memory, &overlay);
	dirty_map_client_start(&block->dirty, DIRTY_MIGRATION, false);
	drv_add(f->q, bufs, 2);
	drv_kick(f->q);
	g_assert_cmpuint(old->idx, ==, 1);
	g_assert_cmpuint(((struct vring_used *)(block->host + 8 * KiB + f->q->used - base))->idx,
			 ==, 2);
	g_assert_cmpuint(dirty_map_count(&block->dirty, DIRTY_MIGRATION), ==, 1);
	g_assert_true(dirty_map_test(&block->dirty, DIRTY_MIGRATION, 2));
	address_space_unmap(f->rig->vm->memory, &overlay);
}

/* ---- Hostile drivers ------------------------------------------------------------------------ */

enum bad {
	BAD_HEAD,
	BAD_NEXT,
	BAD_LOOP,
	BAD_HOLE,
	BAD_WRAP,
	BAD_ORDER,
	BAD_INDEX,
	BAD_RING_HOLE,
	BAD_ALIGN,
	BAD_INDIRECT_SIZE,
	BAD_INDIRECT_EMPTY,
	BAD_INDIRECT_NEXT,
	BAD_INDIRECT_HOLE,
	BAD_INDIRECT_NESTED,
	BAD_INDIRECT_LOOP,
	BAD_HUGE,
	BAD_ROM,
};

static const struct {
	const char *name;
	enum bad bad;
} bads[] = {
	{ "head", BAD_HEAD },
	{ "next", BAD_NEXT },
	{ "loop", BAD_LOOP },
	{ "hole", BAD_HOLE },
	{ "wrap", BAD_WRAP },
	{ "order", BAD_ORDER },
	{ "index", BAD_INDEX },
	{ "ring-in-hole", BAD_RING_HOLE },
	{ "ring-alignment", BAD_ALIGN },
	{ "indirect-size", BAD_INDIRECT_SIZE },
	{ "indirect-empty", BAD_INDIRECT_EMPTY },
	{ "indirect-next", BAD_INDIRECT_NEXT },
	{ "indirect-hole", BAD_INDIRECT_HOLE },
	{ "indirect-nested", BAD_INDIRECT_NESTED },
	{ "indirect-loop", BAD_INDIRECT_LOOP },
	{ "more-than-4GiB", BAD_HUGE },
	{ "rom", BAD_ROM },
};

static void ready_at(struct fixture *f, u64 used)
{
	drv_write(f->d, VIRTIO_MMIO_QUEUE_SEL, 0);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_READY, 0);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_USED_LOW, used);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_READY, 1);
}

static void break_direct(struct fixture *f, enum bad bad)
{
	struct drv_queue *q = f->q;

	drv_put_desc(q, 0, f->out, 16, VRING_DESC_F_NEXT, 1);
	drv_put_desc(q, 1, f->in, 16, VRING_DESC_F_WRITE, 0);
	switch (bad) {
	case BAD_NEXT: drv_put_desc(q, 0, f->out, 16, VRING_DESC_F_NEXT, QUEUE_SIZE); break;
	case BAD_LOOP: drv_put_desc(q, 1, f->in, 16, VRING_DESC_F_NEXT, 0); break;
	case BAD_HOLE: drv_put_desc(q, 1, RAM_BYTES - 8, 16, VRING_DESC_F_WRITE, 0); break;
	case BAD_WRAP: drv_put_desc(q, 0, UINT64_MAX - 3, 16, 0, 0); break;
	case BAD_ROM: drv_put_desc(q, 1, HOLE_GPA, 16, VRING_DESC_F_WRITE, 0); break;
	case BAD_ORDER:
		drv_put_desc(q, 0, f->in, 16, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 1);
		drv_put_desc(q, 1, f->out, 16, 0, 0);
		break;
	default: break;
	}
}

static void break_size(struct fixture *f)
{
	struct drv_queue table = *f->q;
	unsigned n = 4 * GiB / RAM_BYTES + 1;

	table.desc = rig_alloc(f->rig, 16 * n);
	for (unsigned i = 0; i < n; i++)
		drv_put_desc(&table, i, 0, RAM_BYTES, i + 1 < n ? VRING_DESC_F_NEXT : 0, i + 1);
	drv_put_desc(f->q, 0, table.desc, 16 * n, VRING_DESC_F_INDIRECT, 0);
}

static void break_indirect(struct fixture *f, enum bad bad)
{
	struct drv_queue table = *f->q;
	u16 flags = VRING_DESC_F_INDIRECT;
	u32 len = 32;

	table.desc = rig_alloc(f->rig, 32);
	drv_put_desc(&table, 0, f->out, 16, VRING_DESC_F_NEXT, 1);
	drv_put_desc(&table, 1, f->in, 16, VRING_DESC_F_WRITE, 0);
	switch (bad) {
	case BAD_INDIRECT_SIZE: len = 33; break;
	case BAD_INDIRECT_EMPTY: len = 0; break;
	case BAD_INDIRECT_NEXT: flags |= VRING_DESC_F_NEXT; break;
	case BAD_INDIRECT_HOLE: table.desc = RAM_BYTES - 16; break;
	case BAD_INDIRECT_NESTED:
		drv_put_desc(&table, 1, table.desc, 32, VRING_DESC_F_INDIRECT, 0);
		break;
	default: drv_put_desc(&table, 1, f->out, 16, VRING_DESC_F_NEXT, 0);
	}
	drv_put_desc(f->q, 0, table.desc, len, flags, 1);
	drv_put_desc(f->q, 1, f->in, 16, VRING_DESC_F_WRITE, 0);
}

static void break_driver(struct fixture *f, enum bad bad)
{
	if (bad >= BAD_INDIRECT_SIZE && bad <= BAD_INDIRECT_LOOP)
		break_indirect(f, bad);
	else if (bad == BAD_HUGE)
		break_size(f);
	else
		break_direct(f, bad);
	if (bad == BAD_RING_HOLE)
		ready_at(f, HOLE_GPA + 64 * KiB);
	if (bad == BAD_ALIGN)
		ready_at(f, f->q->used + 2);
	if (bad == BAD_INDEX)
		f->q->avail_idx += QUEUE_SIZE;
	drv_offer(f->q, bad == BAD_HEAD ? QUEUE_SIZE : 0);
}

static void map_rom(struct fixture *f, struct mapping *rom)
{
	struct ram_spec spec = { .id = "rom", .size = 4096, .fd = -1 };

	*rom = (struct mapping){ .name = "rom", .base = HOLE_GPA, .size = 4096, .kind = MAP_ROM };
	rom->block = ram_create(f->rig->vm->ram, &spec, NULL);
	address_space_map(f->rig->vm->memory, rom);
}

static void test_bad(gconstpointer data)
{
	struct fixture f;
	struct mapping rom;
	enum bad bad = GPOINTER_TO_INT(data);

	setup_features(&f, INDIRECT, false);
	map_rom(&f, &rom);
	break_driver(&f, bad);
	rig_watch(f.rig);
	drv_kick(f.q);
	rig_check(f.rig);
	g_assert_true(drv_needs_reset(f.d));
	g_assert_cmpuint(drv_used_idx(f.q), ==, 0);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_INTERRUPT_STATUS) & VIRTIO_MMIO_INT_CONFIG, !=,
			 0);
	/* Writing the status does not repair it, a reset does. */
	drv_ready(f.d);
	g_assert_true(drv_needs_reset(f.d));
	drv_write(f.d, VIRTIO_MMIO_STATUS, 0);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_STATUS), ==, 0);
	g_assert_false(f.rig->irq[0]);
	drv_free(f.d);
	g_free(f.q);
	f.d = drv_probe(f.rig, f.vdev, 0);
	f.q = drv_queue(f.d, 0, QUEUE_SIZE);
	drv_ready(f.d);
	echo(&f, "tide", "tide", false);
	address_space_unmap(f.rig->vm->memory, &rom);
	teardown(&f, NULL);
}

/* Without the feature an indirect descriptor is an error. */
static void test_indirect_refused(struct fixture *f, gconstpointer features)
{
	struct drv_buf bufs[] = { { f->out, 4, false }, { f->in, 4, true } };

	drv_add_indirect(f->q, bufs, 2);
	drv_kick(f->q);
	g_assert_true(drv_needs_reset(f->d));
}

/* Rings full of chance: whatever happens, only memory that they name may change, all of it must be
 * reported, and a reset helps. */
static void test_random_rings(gconstpointer seed)
{
	GRand *rand = g_rand_new_with_seed(GPOINTER_TO_UINT(seed));
	struct fixture f;
	unsigned broken = 0, used = 0;

	setup_features(&f, EVENT_IDX | INDIRECT, false);
	for (int round = 0; round < 300; round++) {
		static const u64 bases[] = { 0x100000, 0x100ff0, RAM_BYTES - 64, HOLE_GPA };
		unsigned n = g_rand_int_range(rand, 1, QUEUE_SIZE);

		/* Mostly sane descriptors, so that some chains are good. */
		for (u16 i = 0; i < QUEUE_SIZE; i++)
			drv_put_desc(f.q, i, bases[g_rand_int(rand) % 32 ? i % 2 : i % 4],
				     g_rand_int_range(rand, 0, 128),
				     g_rand_int(rand) % (g_rand_int(rand) % 16 ? 2 : 8) |
					     (i >= QUEUE_SIZE / 2 ? VRING_DESC_F_WRITE : 0),
				     g_rand_int_range(rand, i, QUEUE_SIZE + (round % 8 == 0)));
		for (u16 i = 0; i < 8; i++) /* what an indirect descriptor finds */
			*(struct vring_desc *)rig_at(f.rig, 0x100000 + 16 * i) =
				(struct vring_desc){ 0x101000, i, g_rand_int(rand) % 8, i + 1 };
		while (n--)
			drv_offer(f.q, g_rand_int_range(rand, 0, QUEUE_SIZE));
		rig_watch(f.rig);
		drv_kick(f.q);
		g_assert_cmpuint(rig_check(f.rig), <=, 8);
		while (drv_has_used(f.q)) {
			drv_take(f.q, NULL);
			used++;
		}
		if (!drv_needs_reset(f.d))
			continue;
		broken++;
		drv_free(f.d);
		g_free(f.q);
		f.rig->next_gpa = 64 * KiB;
		f.d = drv_probe(f.rig, f.vdev, EVENT_IDX | INDIRECT);
		f.q = drv_queue(f.d, 0, QUEUE_SIZE);
		memset(rig_at(f.rig, f.q->desc), 0, 8192);
		drv_ready(f.d);
	}
	g_assert_cmpuint(broken, >, 10);
	g_assert_cmpuint(used, >, 10);
	g_rand_free(rand);
	teardown(&f, NULL);
}

/* ---- Status and features -------------------------------------------------------------------- */

static void test_features(void)
{
	struct rig *rig = rig_new(false);
	struct virtio_device *vdev = rig_add(rig, "echo,event_idx=off");
	struct drv *d = drv_probe(rig, vdev, 0);
	u64 offered;

	drv_write(d, VIRTIO_MMIO_DEVICE_FEATURES_SEL, 1);
	offered = (u64)drv_read(d, VIRTIO_MMIO_DEVICE_FEATURES) << 32;
	drv_write(d, VIRTIO_MMIO_DEVICE_FEATURES_SEL, 0);
	offered |= drv_read(d, VIRTIO_MMIO_DEVICE_FEATURES);
	g_assert_cmphex(offered, ==, 1ull << VIRTIO_F_VERSION_1 | INDIRECT | 1ull << ECHO_F_SHOUT);
	drv_write(d, VIRTIO_MMIO_DEVICE_FEATURES_SEL, 2);
	g_assert_cmphex(drv_read(d, VIRTIO_MMIO_DEVICE_FEATURES), ==, 0);

	/* After FEATURES_OK they are fixed. */
	drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES_SEL, 0);
	drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES, 1u << ECHO_F_SHOUT);
	g_assert_false(virtio_has_feature(vdev, ECHO_F_SHOUT));

	/* A driver that does not know version 1 is turned away. */
	drv_write(d, VIRTIO_MMIO_STATUS, 0);
	drv_write(d, VIRTIO_MMIO_STATUS, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
	drv_write(d, VIRTIO_MMIO_DRIVER_FEATURES, 1u << ECHO_F_SHOUT);
	drv_write(d, VIRTIO_MMIO_STATUS,
		  VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER |
			  VIRTIO_CONFIG_S_FEATURES_OK);
	g_assert_cmpuint(drv_read(d, VIRTIO_MMIO_STATUS) & VIRTIO_CONFIG_S_FEATURES_OK, ==, 0);

	rig_refuse(rig, "echo,packed=on", "packed=off");
	rig_refuse(rig, "echo,iommu_platform=on", "iommu_platform=off");
	drv_free(d);
	rig_free(rig);
}

static void test_registers(struct fixture *f, gconstpointer features)
{
	struct address_space *as = f->rig->vm->memory;
	enum mem_result result;

	g_assert_cmphex(drv_read(f->d, VIRTIO_MMIO_MAGIC_VALUE), ==, 0x74726976);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_VERSION), ==, 2);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_SHM_LEN_LOW), ==, UINT32_MAX);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_QUEUE_READY), ==, 1);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_SEL, 2);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_QUEUE_NUM_MAX), ==, 0);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_SEL, 1);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_QUEUE_NUM_MAX), ==, VIRTQUEUE_MAX_SIZE);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_NUM, 2 * VIRTQUEUE_MAX_SIZE); /* refused */
	drv_write(f->d, VIRTIO_MMIO_QUEUE_NUM, 3);
	g_assert_cmpuint(f->vdev->vqs[1].num, ==, VIRTQUEUE_MAX_SIZE);
	drv_write(f->d, VIRTIO_MMIO_QUEUE_NOTIFY, 77); /* no such queue */

	/* The configuration takes bytes and words, within its size. */
	drv_write(f->d, VIRTIO_MMIO_CONFIG, 0x11223344);
	g_assert_cmphex(address_space_ld(as, f->d->base + VIRTIO_MMIO_CONFIG + 1, 1, &result), ==,
			0x33);
	address_space_st(as, f->d->base + VIRTIO_MMIO_CONFIG + 2, 0xabcd, 2);
	g_assert_cmphex(drv_read(f->d, VIRTIO_MMIO_CONFIG), ==, 0xabcd3344);
	g_assert_cmphex(drv_read(f->d, VIRTIO_MMIO_CONFIG + 4), ==, 0);

	/* An empty slot has an identity and nothing else. */
	f->d->base += 0x200;
	g_assert_cmphex(drv_read(f->d, VIRTIO_MMIO_MAGIC_VALUE), ==, 0x74726976);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_DEVICE_ID), ==, 0);
	drv_write(f->d, VIRTIO_MMIO_STATUS, 1);
	g_assert_cmpuint(drv_read(f->d, VIRTIO_MMIO_STATUS), ==, 0);
}

/* Buffers that were offered early are handled as soon as the device may. */
static void test_early_kick(void)
{
	struct rig *rig = rig_new(false);
	struct drv *d = drv_probe(rig, rig_add(rig, "echo"), 0);
	struct drv_queue *q = drv_queue(d, 0, QUEUE_SIZE);
	u64 page = rig_alloc(rig, 4096);
	struct drv_buf bufs[] = { { page, 4, false }, { page + 8, 4, true } };

	drv_add(q, bufs, 2);
	drv_kick(q);
	g_assert_false(drv_has_used(q));
	drv_ready(d);
	g_assert_true(drv_has_used(q));
	drv_take(q, NULL);

	/* A stopped VM's memory is left alone. */
	rig_run(rig, false);
	drv_add(q, bufs, 2);
	rig_watch(rig);
	drv_kick(q);
	g_assert_cmpuint(rig_check(rig), ==, 0);
	rig_run(rig, true);
	g_assert_true(drv_has_used(q));
	g_free(q);
	drv_free(d);
	rig_free(rig);
}

/* ---- Kicks through eventfds ----------------------------------------------------------------- */

static GArray *eventfds; /* of struct ioeventfd, that the accelerator has */
static int add_result;

static int fake_add(struct accel *a, const struct ioeventfd *e)
{
	if (!add_result)
		g_array_append_vals(eventfds, e, 1);
	return add_result;
}

static int fake_del(struct accel *a, const struct ioeventfd *e)
{
	for (guint i = 0; i < eventfds->len; i++) {
		const struct ioeventfd *mine = &g_array_index(eventfds, struct ioeventfd, i);

		if (mine->fd != e->fd || mine->match != e->match || mine->addr != e->addr)
			continue;
		g_array_remove_index(eventfds, i);
		return 0;
	}
	g_assert_not_reached();
}

static const struct accel_ops fake_ops = {
	.name = "fake",
	.ioeventfd_add = fake_add,
	.ioeventfd_del = fake_del,
};

static void test_ioeventfd(gconstpointer result)
{
	struct rig *rig = rig_new(false);
	struct accel accel = { .ops = &fake_ops, .vm = rig->vm };
	struct drv *d = drv_probe(rig, rig_add(rig, "echo"), 0);
	struct drv_queue *q = drv_queue(d, 1, QUEUE_SIZE);
	u64 page = rig_alloc(rig, 4096);
	struct drv_buf bufs[] = { { page, 4, false }, { page + 8, 4, true } };
	const struct ioeventfd *e;

	eventfds = g_array_new(FALSE, FALSE, sizeof(*e));
	add_result = GPOINTER_TO_INT(result);
	rig->vm->accel = &accel;
	drv_ready(d);
	g_assert_cmpuint(eventfds->len, ==, add_result ? 0 : 1);
	drv_request(q, bufs, 2); /* a trap does it too */
	if (!add_result) {
		e = &g_array_index(eventfds, struct ioeventfd, 0);
		g_assert_cmphex(e->addr, ==, d->base + VIRTIO_MMIO_QUEUE_NOTIFY);
		g_assert_cmpuint(e->match, ==, 1);
		g_assert_cmpuint(e->size, ==, 4);
		g_assert_false(e->any || e->port);
		drv_add(q, bufs, 2);
		eventfd_write(e->fd, 1);
		g_assert_false(drv_has_used(q));
		rig_iterate(drv_has_used, q);
		drv_take(q, NULL);

		/* A kick that is under way when the VM stops is not lost. */
		drv_add(q, bufs, 2);
		eventfd_write(e->fd, 1);
		rig_run(rig, false);
		g_assert_cmpuint(eventfds->len, ==, 0);
		g_assert_false(drv_has_used(q));
		rig_run(rig, true);
		g_assert_cmpuint(eventfds->len, ==, 1);
		drv_take(q, NULL);
	}
	drv_write(d, VIRTIO_MMIO_STATUS, 0);
	g_assert_cmpuint(eventfds->len, ==, 0);
	g_array_unref(eventfds);
	rig->vm->accel = NULL;
	g_free(q);
	drv_free(d);
	rig_free(rig);
}

/* ---- State ---------------------------------------------------------------------------------- */

static void test_migrate(struct fixture *f, gconstpointer features)
{
	struct rig *from = f->rig, *to = rig_new(f->vdev->bus->legacy);
	GByteArray *bytes, *again;
	GError *err = NULL;

	f->vdev = rig_add(to, "echo");
	for (int i = 0; i < 11; i++)
		echo(f, "before", "before", false);
	drv_write(f->d, VIRTIO_MMIO_CONFIG, 0xabcd);
	rig_run(from, false);
	bytes = rig_save(from);

	rig_run(to, false);
	rig_copy_ram(to, from);
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	again = rig_save(to);
	g_assert_cmpmem(again->data, again->len, bytes->data, bytes->len);
	g_byte_array_unref(again);
	g_assert_cmpuint(f->vdev->status, ==,
			 VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER |
				 VIRTIO_CONFIG_S_DRIVER_OK |
				 (f->vdev->bus->legacy ? 0 : VIRTIO_CONFIG_S_FEATURES_OK));
	g_assert_true(to->irq[0]); /* not acknowledged at the source */
	f->rig = f->d->rig = to;
	rig_run(to, true);
	for (int i = 0; i < 11; i++)
		echo(f, "after", "after", false);
	g_byte_array_unref(bytes);
	rig_free(from);
}

static void test_migrate_broken(struct fixture *f, gconstpointer features)
{
	struct rig *to = rig_new(false);
	struct virtio_device *vdev = rig_add(to, "echo");
	GByteArray *bytes;
	GError *err = NULL;

	drv_offer(f->q, QUEUE_SIZE);
	drv_kick(f->q);
	bytes = rig_save(f->rig);
	rig_copy_ram(to, f->rig);
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	g_assert_true(vdev->broken);
	g_assert_cmpuint(vdev->status & VIRTIO_CONFIG_S_NEEDS_RESET, !=, 0);
	g_byte_array_unref(bytes);
	rig_free(to);
}

static void refuse_load(struct rig *from, const char *device, const char *want)
{
	struct rig *to = rig_new(false);
	GByteArray *bytes = rig_save(from);
	GError *err = NULL;

	rig_add(to, device);
	g_assert_cmpint(rig_load(to, bytes, &err), ==, -EINVAL);
	g_assert_nonnull(err);
	if (!strstr(err->message, want))
		g_error("'%s' lacks '%s'", err->message, want);
	g_error_free(err);
	g_byte_array_unref(bytes);
	rig_free(to);
}

static void test_refuse_load(struct fixture *f, gconstpointer features)
{
	struct vring_used *used = rig_at(f->rig, f->q->used);

	/* The destination does not offer what the guest uses. */
	refuse_load(f->rig, "echo,event_idx=off", "0x20000000");
	/* RAM did not come along, so that the indexes contradict each other. */
	for (int i = 0; i < QUEUE_SIZE + 1; i++)
		echo(f, "tide", "tide", false);
	refuse_load(f->rig, "echo", "in flight");
	used->idx = 0;
	f->vdev->vqs[0].num = 7;
	refuse_load(f->rig, "echo", "power of two");
	f->vdev->vqs[0].num = QUEUE_SIZE;
}

int main(int argc, char **argv)
{
	const gpointer both = GSIZE_TO_POINTER(EVENT_IDX | INDIRECT);

	g_test_init(&argc, &argv, NULL);
#define TEST(name, features, fn)                                                                   \
	g_test_add("/virtqueue/" name, struct fixture, features, setup, fn, teardown)
	TEST("echo/plain", NULL, test_echo);
	TEST("echo/all", both, test_echo);
	TEST("shout", GSIZE_TO_POINTER(1 << ECHO_F_SHOUT), test_shout);
	TEST("interrupt", NULL, test_interrupt);
	TEST("interrupt/off", NULL, test_no_interrupt);
	TEST("event-idx", both, test_event_idx);
	TEST("wrap/plain", NULL, test_wrap);
	TEST("wrap/event-idx", both, test_wrap);
	TEST("two-queues", NULL, test_two_queues);
	TEST("dirty-ring", both, test_dirty_ring);
	TEST("remap", both, test_remap);
	TEST("indirect-refused", NULL, test_indirect_refused);
	TEST("registers", NULL, test_registers);
	TEST("migrate/plain", NULL, test_migrate);
	TEST("migrate/event-idx", both, test_migrate);
	TEST("migrate/broken", NULL, test_migrate_broken);
	TEST("migrate/refused", both, test_refuse_load);
	g_test_add("/virtqueue/legacy/echo", struct fixture, both, setup_legacy, test_echo,
		   teardown);
	g_test_add("/virtqueue/legacy/migrate", struct fixture, both, setup_legacy, test_migrate,
		   teardown);
	for (unsigned seed = 1; seed <= 2; seed++) {
		g_autofree char *name = g_strdup_printf("/virtqueue/random/%u", seed);

		g_test_add_data_func(name, GUINT_TO_POINTER(seed), test_random_rings);
	}
	g_test_add_func("/virtqueue/features", test_features);
	g_test_add_data_func("/virtqueue/ioeventfd", GINT_TO_POINTER(0), test_ioeventfd);
	g_test_add_data_func("/virtqueue/ioeventfd/none-left", GINT_TO_POINTER(-ENOSPC),
			     test_ioeventfd);
	g_test_add_func("/virtqueue/early-kick", test_early_kick);
	for (unsigned i = 0; i < ARRAY_SIZE(bads); i++) {
		g_autofree char *name = g_strdup_printf("/virtqueue/bad/%s", bads[i].name);

		g_test_add_data_func(name, GINT_TO_POINTER(bads[i].bad), test_bad);
	}
	return g_test_run();
}

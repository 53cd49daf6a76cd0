/* tests/unit/hw/virtio/test-virtio-balloon.c - memory balloon. */
#include "tests/unit/hw/virtio/driver.h"

#include "hw/virtio/balloon.h"
#include "hw/virtio/devices.h"

#include <linux/virtio_balloon.h>

#define STATS     (1ull << VIRTIO_BALLOON_F_STATS_VQ)
#define POISON    (1ull << VIRTIO_BALLOON_F_PAGE_POISON)
#define REPORTING (1ull << VIRTIO_BALLOON_F_REPORTING)

static const struct device_type *const types[] = { &virtio_mmio_type, &virtio_balloon_type, NULL };
const struct device_type *const *const rig_devices[] = { types, NULL };
const struct machine_host rig_host;

struct fixture {
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q[4]; /* inflate, deflate, statistics, reporting */
	u64 list;               /* a page for lists of pages */
	u64 pages;              /* pages to give up, full of 0x55 */
};

#define NPAGES 16

static void begin(struct fixture *f, const char *device, u64 features)
{
	f->rig = rig_new(false);
	f->vdev = rig_add(f->rig, device);
	f->d = drv_probe(f->rig, f->vdev, features);
	for (unsigned i = 0; i < f->vdev->nqueues; i++)
		f->q[i] = drv_queue(f->d, i, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	f->list = rig_alloc(f->rig, 4096);
	f->pages = rig_alloc(f->rig, NPAGES * 4096);
	memset(rig_at(f->rig, f->pages), 0x55, NPAGES * 4096);
}

static void end(struct fixture *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(f->q); i++)
		g_free(f->q[i]);
	drv_free(f->d);
	rig_free(f->rig);
}

static bool page_is(struct fixture *f, unsigned page, u8 byte)
{
	const u8 *p = rig_at(f->rig, f->pages + page * 4096);

	for (unsigned i = 0; i < 4096; i++)
		if (p[i] != byte)
			return false;
	return true;
}

static void give(struct fixture *f, unsigned queue, const unsigned *pages, unsigned n)
{
	u32 *pfns = rig_at(f->rig, f->list);
	struct drv_buf buf = { f->list, n * sizeof(u32), false };

	for (unsigned i = 0; i < n; i++)
		pfns[i] = GUINT32_TO_LE(pages[i]);
	drv_request(f->q[queue], &buf, 1);
}

static void test_inflate(void)
{
	struct fixture f = { 0 };
	unsigned base, pages[6];

	begin(&f, "virtio-balloon", 0);
	base = f.pages >> 12;
	pages[0] = base + 1;
	pages[1] = base + 2;
	pages[2] = base + 3;
	pages[3] = base + 7;
	pages[4] = HOLE_GPA >> 12; /* no such page: ignored */
	pages[5] = base + 5;
	give(&f, 0, pages, 0);
	g_assert_true(page_is(&f, 1, 0x55));
	give(&f, 0, pages, 6);
	for (unsigned i = 0; i < NPAGES; i++)
		g_assert_true(page_is(&f, i, (i >= 1 && i <= 3) || i == 5 || i == 7 ? 0 : 0x55));
	give(&f, 1, pages, 3);
	g_assert_false(drv_needs_reset(f.d));
	end(&f);
}

static u64 told;

static void changed(struct machine *m, u64 actual, void *opaque)
{
	told = actual;
}

static void test_target(void)
{
	struct fixture f = { 0 };
	u64 actual;
	GError *err = NULL;

	begin(&f, "virtio-balloon", 0);
	balloon_on_change(changed, NULL);
	g_assert_cmpint(balloon_set_target(f.rig->m, RAM_BYTES - MiB, &err), ==, 0);
	g_assert_true(f.rig->irq[0]);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG), ==, 256);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG_GENERATION), ==, 1);
	drv_write(f.d, VIRTIO_MMIO_CONFIG + 4, 100);
	g_assert_cmpint(balloon_actual(f.rig->m, &actual, &err), ==, 0);
	g_assert_cmpuint(actual, ==, RAM_BYTES - 100 * 4096);
	g_assert_cmpuint(told, ==, actual);
	balloon_set_target(f.rig->m, 100 * RAM_BYTES, &err);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG), ==, 0);
	drv_write(f.d, VIRTIO_MMIO_CONFIG + 4, UINT32_MAX); /* more than there is */
	balloon_actual(f.rig->m, &actual, &err);
	g_assert_cmpuint(actual, ==, 0);
	balloon_on_change(NULL, NULL);
	end(&f);
}

static void put_stats(struct fixture *f, u64 free)
{
	struct virtio_balloon_stat *s = rig_at(f->rig, f->list);
	struct drv_buf buf = { f->list, 3 * sizeof(*s), false };

	s[0] = (struct virtio_balloon_stat){ VIRTIO_BALLOON_S_MEMFREE, free };
	s[1] = (struct virtio_balloon_stat){ VIRTIO_BALLOON_S_MEMTOT, 1000 };
	s[2] = (struct virtio_balloon_stat){ 77, 5 };
	drv_add(f->q[2], &buf, 1);
	drv_kick(f->q[2]);
}

static void expect_stats(struct fixture *f, u64 free)
{
	struct balloon_stats stats;

	balloon_get_stats(&f->vdev->dev, &stats);
	g_assert_cmpuint(stats.value[BALLOON_FREE_MEMORY], ==, free);
	g_assert_cmpuint(stats.value[BALLOON_TOTAL_MEMORY], ==, 1000);
	g_assert_cmpuint(stats.value[BALLOON_SWAP_IN], ==, UINT64_MAX);
	g_assert_cmpint(stats.last_update_s, >, 0);
}

static void test_stats(void)
{
	struct fixture f = { 0 };
	GError *err = NULL;

	begin(&f, "virtio-balloon", STATS);
	put_stats(&f, 42);
	g_assert_false(drv_has_used(f.q[2])); /* kept until somebody asks */
	expect_stats(&f, 42);
	g_assert_cmpint(balloon_stats_interval(&f.vdev->dev, 2, &err), ==, 0);
	drv_take(f.q[2], NULL);
	put_stats(&f, 43);
	expect_stats(&f, 43);
	g_assert_false(drv_has_used(f.q[2]));
	g_assert_cmpint(balloon_stats_interval(&f.vdev->dev, -1, &err), ==, -EINVAL);
	g_assert_nonnull(err);
	g_error_free(err);
	g_assert_cmpstr(balloon_stat_name(BALLOON_FREE_MEMORY), ==, "stat-free-memory");
	end(&f);
}

static void test_report(gconstpointer poison)
{
	struct fixture f = { 0 };
	struct drv_buf bufs[2];
	u8 kept = poison ? 0x55 : 0;

	begin(&f, "virtio-balloon,free-page-reporting=on", REPORTING | POISON);
	if (poison)
		drv_write(f.d, VIRTIO_MMIO_CONFIG + 12, 0xaaaaaaaa);
	bufs[0] = (struct drv_buf){ f.pages + 4096, 3 * 4096, true };
	bufs[1] = (struct drv_buf){ f.pages + 8 * 4096 + 100, 8192, true }; /* one whole page */
	drv_request(f.q[3], bufs, 2);
	for (unsigned i = 0; i < NPAGES; i++)
		g_assert_true(page_is(&f, i, (i >= 1 && i <= 3) || i == 9 ? kept : 0x55));
	end(&f);
}

static void test_refused(void)
{
	struct rig *rig = rig_new(false);
	GError *err = NULL;
	u64 actual;

	g_assert_cmpint(balloon_actual(rig->m, &actual, &err), ==, -ENODEV);
	g_assert_nonnull(err);
	g_error_free(err);
	rig_refuse(rig, "virtio-balloon,free-page-hint=on", "free-page-reporting");
	rig_add(rig, "virtio-balloon");
	rig_refuse(rig, "virtio-balloon", "Only one");
	rig_free(rig);
}

/* The held buffer of the statistics is taken up again, the poison and the target are kept. */
static void test_migrate(void)
{
	struct fixture f = { 0 };
	struct rig *to;
	GByteArray *bytes;
	GError *err = NULL;
	u64 actual;

	begin(&f, "virtio-balloon", STATS | POISON);
	put_stats(&f, 42);
	balloon_set_target(f.rig->m, RAM_BYTES - MiB, NULL);
	drv_write(f.d, VIRTIO_MMIO_CONFIG + 4, 10);
	drv_write(f.d, VIRTIO_MMIO_CONFIG + 12, 0xaaaaaaaa);
	rig_run(f.rig, false);
	bytes = rig_save(f.rig);
	to = rig_new(false);
	rig_run(to, false);
	f.vdev = rig_add(to, "virtio-balloon");
	rig_copy_ram(to, f.rig);
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	rig_free(f.rig);
	f.rig = f.d->rig = to;
	rig_run(to, true);
	expect_stats(&f, 42);
	g_assert_false(drv_has_used(f.q[2]));
	balloon_stats_interval(&f.vdev->dev, 2, NULL);
	drv_take(f.q[2], NULL);
	put_stats(&f, 43);
	expect_stats(&f, 43);
	g_assert_cmpuint(drv_read(f.d, VIRTIO_MMIO_CONFIG), ==, 256);
	g_assert_cmphex(drv_read(f.d, VIRTIO_MMIO_CONFIG + 12), ==, 0xaaaaaaaa);
	balloon_actual(to->m, &actual, NULL);
	g_assert_cmpuint(actual, ==, RAM_BYTES - 10 * 4096);
	g_byte_array_unref(bytes);
	end(&f);
}

/* The size that qemu-system-aarch64 7.2 gives the section of a device without driver. */
static void test_wire_size(void)
{
	struct rig *rig = rig_new(false);
	GByteArray *bytes;

	rig_add(rig, "virtio-balloon");
	bytes = rig_save(rig);
	g_assert_cmpuint(bytes->len, ==,
			 5 + 1 + strlen("virtio-mmio@0000000010000000/virtio-balloon") + 8 + 44251 +
				 5);
	g_byte_array_unref(bytes);
	rig_free(rig);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/virtio-balloon/inflate", test_inflate);
	g_test_add_func("/virtio-balloon/target", test_target);
	g_test_add_func("/virtio-balloon/stats", test_stats);
	g_test_add_data_func("/virtio-balloon/report", GINT_TO_POINTER(0), test_report);
	g_test_add_data_func("/virtio-balloon/report-poison", GINT_TO_POINTER(1), test_report);
	g_test_add_func("/virtio-balloon/refused", test_refused);
	g_test_add_func("/virtio-balloon/migrate", test_migrate);
	g_test_add_func("/virtio-balloon/wire-size", test_wire_size);
	return g_test_run();
}

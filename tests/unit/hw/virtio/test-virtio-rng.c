/* tests/unit/hw/virtio/test-virtio-rng.c - entropy device and its sources. */
#include "tests/unit/hw/virtio/driver.h"

#include "hw/rng-backend.h"
#include "hw/virtio/devices.h"
#include "util/timer.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rng_backend *source; /* the object "rng" */

static void *find_object(void *opaque, const char *id, const char *type)
{
	return strcmp(id, "rng") || strcmp(type, "rng-backend") ? NULL : source;
}

static const struct device_type *const types[] = { &virtio_mmio_type, &virtio_rng_type, NULL };
const struct device_type *const *const rig_devices[] = { types, NULL };
const struct machine_host rig_host = { .object = find_object };

struct fixture {
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q;
	u64 page;
};

static void begin(struct fixture *f, const char *device)
{
	f->rig = rig_new(false);
	f->vdev = rig_add(f->rig, device);
	f->d = drv_probe(f->rig, f->vdev, 0);
	f->q = drv_queue(f->d, 0, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	f->page = rig_alloc(f->rig, 8192);
}

static void end(struct fixture *f)
{
	g_free(f->q);
	drv_free(f->d);
	rig_free(f->rig);
}

static bool is_zero(const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void test_request(void)
{
	struct fixture f;
	struct drv_buf bufs[2];
	u32 len;

	begin(&f, "virtio-rng");
	bufs[0] = (struct drv_buf){ f.page, 64, true };
	bufs[1] = (struct drv_buf){ f.page + 4096, 64, true };
	drv_add(f.q, bufs, 2);
	rig_watch(f.rig);
	drv_kick(f.q);
	g_assert_cmpuint(rig_check(f.rig), ==, 3);
	drv_take(f.q, &len);
	g_assert_cmpuint(len, ==, 128);
	g_assert_false(is_zero(rig_at(f.rig, f.page), 64));
	g_assert_false(is_zero(rig_at(f.rig, f.page + 4096), 64));
	g_assert_true(is_zero(rig_at(f.rig, f.page + 64), 4096 - 64));
	end(&f);
}

static void test_no_buffer(void)
{
	struct fixture f;
	struct drv_buf buf;

	begin(&f, "virtio-rng-device");
	buf = (struct drv_buf){ f.page, 64, false };
	drv_add(f.q, &buf, 1);
	drv_kick(f.q);
	g_assert_true(drv_needs_reset(f.d));
	end(&f);
}

/* 16 bytes in 50 ms of guest time: the second request waits for the next period. */
static void test_rate(void)
{
	struct fixture f;
	struct drv_buf buf;
	s64 start;

	begin(&f, "virtio-rng,max-bytes=16,period=50");
	buf = (struct drv_buf){ f.page, 64, true };
	start = clock_ns(CLOCK_TYPE_VIRTUAL);
	g_assert_cmpuint(drv_request(f.q, &buf, 1), ==, 16);
	drv_add(f.q, &buf, 1);
	drv_kick(f.q);
	g_assert_false(drv_has_used(f.q));
	rig_iterate(drv_has_used, f.q);
	g_assert_cmpint(clock_ns(CLOCK_TYPE_VIRTUAL) - start, >=, 50 * NS_PER_MS);
	end(&f);
}

/* A source that has nothing yet is asked again. */
static void test_file(void)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "tidemark-rng-XXXXXX", NULL);
	JsonObject *opts = json_object_new();
	struct fixture f;
	struct drv_buf buf;
	GError *err = NULL;
	int fd;

	g_assert_nonnull(mkdtemp(path));
	g_rmdir(path);
	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	json_object_set_string_member(opts, "filename", path);
	source = rng_backend_create("rng-random", opts, &err);
	g_assert_no_error(err);
	begin(&f, "virtio-rng,rng=rng");
	buf = (struct drv_buf){ f.page, 8, true };
	drv_add(f.q, &buf, 1);
	drv_kick(f.q);
	g_assert_false(drv_has_used(f.q));
	g_assert_cmpint(write(fd, "tide", 4), ==, 4);
	rig_iterate(drv_has_used, f.q);
	g_assert_cmpmem(rig_at(f.rig, f.page), 4, "tide", 4);
	end(&f);
	rng_backend_destroy(source);
	json_object_unref(opts);
	close(fd);
	g_unlink(path);
}

static void test_refused(void)
{
	struct rig *rig = rig_new(false);
	JsonObject *opts = json_object_new();
	GError *err = NULL;

	rig_refuse(rig, "virtio-rng,period=0", "period=0");
	rig_refuse(rig, "virtio-rng,max-bytes=9223372036854775808", "2^63");
	json_object_set_string_member(opts, "filename", "/nowhere/rng");
	g_assert_null(rng_backend_create("rng-random", opts, &err));
	g_assert_nonnull(strstr(err->message, "/nowhere/rng"));
	g_clear_error(&err);
	json_object_set_string_member(opts, "path", "x");
	g_assert_null(rng_backend_create("rng-builtin", opts, &err));
	g_assert_nonnull(err);
	g_error_free(err);
	json_object_unref(opts);
	rig_free(rig);
}

/* A request that waits for its quota is served at the destination. */
static void test_migrate(void)
{
	struct fixture f;
	struct rig *to;
	struct drv_buf buf;
	GByteArray *bytes;
	GError *err = NULL;

	begin(&f, "virtio-rng,max-bytes=16,period=1000000");
	buf = (struct drv_buf){ f.page, 16, true };
	g_assert_cmpuint(drv_request(f.q, &buf, 1), ==, 16);
	drv_add(f.q, &buf, 1);
	drv_kick(f.q);
	g_assert_false(drv_has_used(f.q));
	rig_run(f.rig, false);
	bytes = rig_save(f.rig);
	to = rig_new(false);
	rig_run(to, false);
	rig_add(to, "virtio-rng");
	rig_copy_ram(to, f.rig);
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	rig_free(f.rig);
	f.rig = f.d->rig = to;
	g_assert_false(drv_has_used(f.q));
	rig_run(to, true);
	drv_take(f.q, NULL);
	g_byte_array_unref(bytes);
	end(&f);
}

/* The size that qemu-system-aarch64 7.2 gives the section of a device without driver. */
static void test_wire_size(void)
{
	struct rig *rig = rig_new(false);
	GByteArray *bytes;
	const char idstr[] = "virtio-mmio@0000000010000000/virtio-rng";

	rig_add(rig, "virtio-rng");
	bytes = rig_save(rig);
	g_assert_cmpuint(bytes->len, ==, 5 + 1 + strlen(idstr) + 8 + 44191 + 5);
	g_assert_cmpmem(bytes->data + 6, strlen(idstr), idstr, strlen(idstr));
	g_byte_array_unref(bytes);
	rig_free(rig);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/virtio-rng/request", test_request);
	g_test_add_func("/virtio-rng/no-buffer", test_no_buffer);
	g_test_add_func("/virtio-rng/rate", test_rate);
	g_test_add_func("/virtio-rng/file", test_file);
	g_test_add_func("/virtio-rng/refused", test_refused);
	g_test_add_func("/virtio-rng/migrate", test_migrate);
	g_test_add_func("/virtio-rng/wire-size", test_wire_size);
	return g_test_run();
}

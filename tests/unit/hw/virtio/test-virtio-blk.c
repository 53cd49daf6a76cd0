/* tests/unit/hw/virtio/test-virtio-blk.c - block device: requests, errors, migration. */
#include "tests/unit/hw/virtio/driver.h"

#include "block/block.h"
#include "hw/virtio/devices.h"
#include "util/keyval.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/virtio_blk.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECTOR    512
#define DISK_SIZE (256 * KiB)
#define ZEROES    (1ull << VIRTIO_BLK_F_WRITE_ZEROES)
#define DISCARD   (1ull << VIRTIO_BLK_F_DISCARD)
#define FLUSH     (1ull << VIRTIO_BLK_F_FLUSH)

static struct block_backend *find_drive(void *opaque, const char *id)
{
	return block_find(id);
}

static const struct device_type *const types[] = { &virtio_mmio_type, &virtio_blk_type, NULL };
const struct device_type *const *const rig_devices[] = { types, NULL };
const struct machine_host rig_host = { .drive = find_drive };

struct fixture {
	char *path;
	u8 *model; /* what the disk should hold */
	struct rig *rig;
	struct virtio_device *vdev;
	struct drv *d;
	struct drv_queue *q;
	u64 page, data; /* header and status; 64 KiB */
};

static void make_disk(struct fixture *f, const char *opts)
{
	g_autofree char *text = NULL;
	g_autoptr(JsonObject) o = NULL;
	GError *err = NULL;
	int fd = g_file_open_tmp("tidemark-blk-XXXXXX", &f->path, &err);

	g_assert_no_error(err);
	close(fd);
	f->model = g_malloc(DISK_SIZE);
	for (unsigned i = 0; i < DISK_SIZE; i++)
		f->model[i] = i * 7 >> 4;
	g_file_set_contents(f->path, (char *)f->model, DISK_SIZE, &err);
	g_assert_no_error(err);
	text = g_strdup_printf("driver=raw,node-name=disk,file.driver=file,file.filename=%s%s",
			       f->path, opts);
	o = keyval_parse(text, NULL, &err);
	g_assert_no_error(err);
	block_node_create(o, &err);
	g_assert_no_error(err);
}

static void drop_disk(struct fixture *f)
{
	GError *err = NULL;

	block_node_remove("disk", &err);
	g_assert_no_error(err);
	g_unlink(f->path);
	g_free(f->path);
	g_free(f->model);
}

static void probe(struct fixture *f, u64 features)
{
	f->d = drv_probe(f->rig, f->vdev, features);
	f->q = drv_queue(f->d, 0, QUEUE_SIZE);
	drv_ready(f->d);
	f->rig->next_gpa = ROUND_UP(f->rig->next_gpa, 4096);
	f->page = rig_alloc(f->rig, 4096);
	f->data = rig_alloc(f->rig, 64 * KiB);
}

static void begin(struct fixture *f, const char *disk, const char *device, u64 features)
{
	make_disk(f, disk);
	f->rig = rig_new(false);
	f->vdev = rig_add(f->rig, device);
	probe(f, features);
}

static void end(struct fixture *f)
{
	g_free(f->q);
	drv_free(f->d);
	rig_free(f->rig);
	drop_disk(f);
}

static struct drv_buf header(struct fixture *f, u32 type, u64 sector)
{
	struct virtio_blk_outhdr *h = rig_at(f->rig, f->page);

	*h = (struct virtio_blk_outhdr){ .type = type, .sector = sector };
	*(u8 *)rig_at(f->rig, f->page + 2048) = 0xff;
	return (struct drv_buf){ f->page, sizeof(*h), false };
}

static struct drv_buf status(struct fixture *f)
{
	return (struct drv_buf){ f->page + 2048, 1, true };
}

static u8 result(struct fixture *f)
{
	return *(u8 *)rig_at(f->rig, f->page + 2048);
}

/* A request with @len bytes of data. Return: its status. */
static u8 request(struct fixture *f, u32 type, u64 sector, u32 len)
{
	bool in = type == VIRTIO_BLK_T_IN || type == VIRTIO_BLK_T_GET_ID;
	struct drv_buf bufs[3] = { header(f, type, sector), { f->data, len, in }, status(f) };

	if (!len)
		bufs[1] = bufs[2];
	g_assert_cmpuint(drv_request(f->q, bufs, len ? 3 : 2), ==, in ? len + 1 : 1);
	return result(f);
}

static void fill(struct fixture *f, u64 sector, u32 len, u8 seed)
{
	u8 *data = rig_at(f->rig, f->data);

	for (u32 i = 0; i < len; i++)
		data[i] = f->model[sector * SECTOR + i] = seed + i * 13;
}

static void expect_disk(struct fixture *f)
{
	for (u64 at = 0; at < DISK_SIZE; at += 64 * KiB) {
		g_assert_cmpuint(request(f, VIRTIO_BLK_T_IN, at / SECTOR, 64 * KiB), ==,
				 VIRTIO_BLK_S_OK);
		g_assert_cmpmem(rig_at(f->rig, f->data), 64 * KiB, f->model + at, 64 * KiB);
	}
}

static void test_transfer(void)
{
	struct fixture f;
	g_autofree char *file = NULL;

	begin(&f, "", "virtio-blk,drive=disk", FLUSH);
	expect_disk(&f);
	fill(&f, 3, 5 * SECTOR, 99);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, 3, 5 * SECTOR), ==, VIRTIO_BLK_S_OK);
	fill(&f, DISK_SIZE / SECTOR - 1, SECTOR, 44);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, DISK_SIZE / SECTOR - 1, SECTOR), ==,
			 VIRTIO_BLK_S_OK);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_FLUSH, 0, 0), ==, VIRTIO_BLK_S_OK);
	expect_disk(&f);
	g_file_get_contents(f.path, &file, NULL, NULL);
	g_assert_cmpmem(file, DISK_SIZE, f.model, DISK_SIZE);
	end(&f);
}

/* Descriptors may cut a request anywhere; the status is the last writable byte. */
static void test_framing(void)
{
	struct fixture f;
	struct drv_buf bufs[5];

	begin(&f, "", "virtio-blk,drive=disk", 0);
	bufs[0] = header(&f, VIRTIO_BLK_T_IN, 2);
	bufs[0].len = 5;
	bufs[1] = (struct drv_buf){ f.page + 5, 11, false };
	bufs[2] = (struct drv_buf){ f.data, 100, true };
	bufs[3] = (struct drv_buf){ f.data + 100, SECTOR - 100 + 1, true };
	g_assert_cmpuint(drv_request(f.q, bufs, 4), ==, SECTOR + 1);
	g_assert_cmpmem(rig_at(f.rig, f.data), SECTOR, f.model + 2 * SECTOR, SECTOR);
	g_assert_cmpuint(*(u8 *)rig_at(f.rig, f.data + SECTOR), ==, VIRTIO_BLK_S_OK);

	bufs[0] = header(&f, VIRTIO_BLK_T_OUT, 2);
	fill(&f, 2, SECTOR, 7);
	memmove(rig_at(f.rig, f.data + 16), rig_at(f.rig, f.data), SECTOR);
	memcpy(rig_at(f.rig, f.data), rig_at(f.rig, f.page), 16);
	bufs[0] = (struct drv_buf){ f.data, 16 + SECTOR, false };
	bufs[1] = status(&f);
	drv_request(f.q, bufs, 2);
	g_assert_cmpuint(result(&f), ==, VIRTIO_BLK_S_OK);
	expect_disk(&f);
	end(&f);
}

static void test_bad_requests(void)
{
	struct fixture f;
	struct drv_buf bufs[2];
	u64 last = DISK_SIZE / SECTOR;

	begin(&f, "", "virtio-blk,drive=disk,logical_block_size=4096", 0);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_IN, last, 4096), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_IN, last - 8, 8192), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, UINT64_MAX, 4096), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, 1ull << 55, 4096), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, 1, 4096), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_IN, 8, 512), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(request(&f, 0x77, 0, 512), ==, VIRTIO_BLK_S_UNSUPP);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_DISCARD, 0, 16), ==, VIRTIO_BLK_S_UNSUPP);
	expect_disk(&f);
	g_assert_false(drv_needs_reset(f.d));

	bufs[0] = header(&f, VIRTIO_BLK_T_IN, 0);
	drv_add(f.q, bufs, 1); /* no status */
	drv_kick(f.q);
	g_assert_true(drv_needs_reset(f.d));
	g_free(f.q);
	drv_free(f.d);
	probe(&f, 0);
	bufs[0].len = 15; /* no header */
	bufs[1] = status(&f);
	drv_add(f.q, bufs, 2);
	drv_kick(f.q);
	g_assert_true(drv_needs_reset(f.d));
	end(&f);
}

static void test_get_id(void)
{
	struct fixture f;

	begin(&f, "", "virtio-blk,drive=disk,serial=SN-0123456789-ABCDEFGHI", 0);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_GET_ID, 0, 20), ==, VIRTIO_BLK_S_OK);
	g_assert_cmpmem(rig_at(f.rig, f.data), 20, "SN-0123456789-ABCDEF", 20);
	end(&f);
	begin(&f, "", "virtio-blk,drive=disk,serial=short", 0);
	memset(rig_at(f.rig, f.data), 0xee, 20);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_GET_ID, 0, 20), ==, VIRTIO_BLK_S_OK);
	g_assert_cmpmem(rig_at(f.rig, f.data), 20, "short\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	end(&f);
}

static u8 segment(struct fixture *f, u32 type, u64 sector, u32 sectors, u32 flags)
{
	struct virtio_blk_discard_write_zeroes *s = rig_at(f->rig, f->data);

	*s = (struct virtio_blk_discard_write_zeroes){ sector, sectors, flags };
	return request(f, type, 0, sizeof(*s));
}

static void test_segments(void)
{
	struct fixture f;
	const u32 zeroes = VIRTIO_BLK_T_WRITE_ZEROES, discard = VIRTIO_BLK_T_DISCARD;

	begin(&f, ",discard=unmap", "virtio-blk,drive=disk,max-write-zeroes-sectors=64",
	      ZEROES | DISCARD);
	g_assert_cmpuint(segment(&f, zeroes, 5, 11, 0), ==, VIRTIO_BLK_S_OK);
	memset(f.model + 5 * SECTOR, 0, 11 * SECTOR);
	g_assert_cmpuint(segment(&f, zeroes, 64, 64, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP), ==,
			 VIRTIO_BLK_S_OK);
	memset(f.model + 64 * SECTOR, 0, 64 * SECTOR);
	expect_disk(&f);
	g_assert_cmpuint(segment(&f, zeroes, 0, 65, 0), ==, VIRTIO_BLK_S_IOERR);
	g_assert_cmpuint(segment(&f, zeroes, 0, 1, 2), ==, VIRTIO_BLK_S_UNSUPP);
	g_assert_cmpuint(segment(&f, discard, 0, 1, 1), ==, VIRTIO_BLK_S_UNSUPP);
	g_assert_cmpuint(segment(&f, discard, DISK_SIZE / SECTOR, 1, 0), ==, VIRTIO_BLK_S_IOERR);
	expect_disk(&f);
	g_assert_cmpuint(segment(&f, discard, 256, 128, 0), ==, VIRTIO_BLK_S_OK);
	memset(f.model + 256 * SECTOR, 0, 128 * SECTOR); /* a hole in a file reads as zeroes */
	expect_disk(&f);
	end(&f);
}

static void test_read_only(void)
{
	struct fixture f;

	begin(&f, ",read-only=on", "virtio-blk,drive=disk", 0);
	g_assert_true(f.vdev->host_features >> VIRTIO_BLK_F_RO & 1);
	g_assert_false(f.vdev->host_features >> VIRTIO_BLK_F_DISCARD & 1);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, 0, SECTOR), ==, VIRTIO_BLK_S_IOERR);
	expect_disk(&f);
	end(&f);
}

static u32 config(struct fixture *f, u64 off)
{
	return drv_read(f->d, VIRTIO_MMIO_CONFIG + off);
}

static void test_config(void)
{
	struct fixture f;

	begin(&f, "",
	      "virtio-blk,drive=disk,logical_block_size=1024,physical_block_size=4096,"
	      "min_io_size=4096,opt_io_size=64K,num-queues=3,queue-size=64,write-cache=on",
	      1ull << VIRTIO_BLK_F_CONFIG_WCE);
	g_assert_cmpuint(config(&f, 0), ==, DISK_SIZE / SECTOR);
	g_assert_cmpuint(config(&f, 4), ==, 0);
	g_assert_cmpuint(config(&f, 12), ==, 62);          /* seg_max */
	g_assert_cmpuint(config(&f, 20), ==, 1024);        /* blk_size */
	g_assert_cmpuint(config(&f, 24), ==, 4 << 16 | 2); /* min_io_size, exponent */
	g_assert_cmpuint(config(&f, 28), ==, 64);          /* opt_io_size */
	g_assert_cmpuint(config(&f, 32), ==, 3 << 16 | 1); /* num_queues, wce */
	g_assert_cmpuint(config(&f, 44), ==, 2);           /* discard alignment */
	g_assert_cmpuint(f.vdev->nqueues, ==, 3);
	address_space_st(f.rig->vm->memory, f.d->base + VIRTIO_MMIO_CONFIG + 32, 0, 1);
	g_assert_false(block_write_cache(block_find("disk")));
	drv_write(f.d, VIRTIO_MMIO_STATUS, 0);
	g_assert_true(block_write_cache(block_find("disk")));
	end(&f);
}

static void test_refused(void)
{
	struct fixture f;

	begin(&f, "", "virtio-blk,drive=disk", 0);
	rig_refuse(f.rig, "virtio-blk", "drive");
	rig_refuse(f.rig, "virtio-blk,drive=nowhere", "nowhere");
	rig_refuse(f.rig, "virtio-blk,drive=disk", "disk");
	rig_refuse(f.rig, "virtio-blk,drive=disk,logical_block_size=1000", "1000");
	rig_refuse(f.rig, "virtio-blk,drive=disk,num-queues=0", "num-queues=0");
	rig_refuse(f.rig, "virtio-blk,drive=disk,queue-size=100", "queue-size=100");
	rig_refuse(f.rig, "virtio-blk,drive=disk,cyls=1", "cyls=1");
	rig_refuse(f.rig, "virtio-blk,drive=disk,min_io_size=100", "min_io_size=100");
	end(&f);
}

/* When the VM has stopped, nothing is in flight and nothing is written any more. */
static void test_drain(void)
{
	struct fixture f;
	struct drv_buf bufs[3];

	begin(&f, "", "virtio-blk,drive=disk", 0);
	bufs[0] = header(&f, VIRTIO_BLK_T_IN, 0);
	bufs[1] = (struct drv_buf){ f.data, 64 * KiB, true };
	bufs[2] = status(&f);
	drv_add(f.q, bufs, 3);
	rig_watch(f.rig);
	drv_kick(f.q);
	rig_run(f.rig, false);
	rig_check(f.rig);
	g_assert_true(drv_has_used(f.q));
	g_assert_cmpmem(rig_at(f.rig, f.data), 64 * KiB, f.model, 64 * KiB);
	end(&f);
}

static bool stopped(void *opaque)
{
	return !vm_running(((struct rig *)opaque)->vm);
}

static void limit_file_size(rlim_t max)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = MIN(max, l.rlim_max);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &l), ==, 0);
}

/* A write that fails stops the VM, travels, and is repeated where the VM runs again. */
static void test_error_stop(gconstpointer migrate)
{
	struct fixture f;
	struct drv_buf bufs[3];
	GByteArray *bytes;
	GError *err = NULL;
	struct rig *to;

	begin(&f, "", "virtio-blk,drive=disk,werror=stop", 0);
	fill(&f, 300, 4096, 9);
	bufs[0] = header(&f, VIRTIO_BLK_T_OUT, 300);
	bufs[1] = (struct drv_buf){ f.data, 4096, false };
	bufs[2] = status(&f);
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size(128 * KiB);
	drv_add(f.q, bufs, 3);
	drv_kick(f.q);
	rig_iterate(stopped, f.rig);
	limit_file_size(RLIM_INFINITY);
	g_assert_cmpint(vm_run_state(f.rig->vm), ==, RUN_STATE_IO_ERROR);
	g_assert_false(drv_has_used(f.q));
	g_assert_cmpint(block_io_status(block_find("disk")), !=, BLOCK_IO_OK);
	if (migrate) {
		bytes = rig_save(f.rig);
		to = rig_new(false);
		rig_run(to, false);
		rig_copy_ram(to, f.rig);
		rig_free(f.rig);
		f.vdev = rig_add(to, "virtio-blk,drive=disk,werror=stop");
		rig_load(to, bytes, &err);
		g_assert_no_error(err);
		g_byte_array_unref(bytes);
		f.rig = f.d->rig = to;
	}
	rig_run(f.rig, true);
	rig_iterate(drv_has_used, f.q);
	drv_take(f.q, NULL);
	g_assert_cmpuint(result(&f), ==, VIRTIO_BLK_S_OK);
	expect_disk(&f);
	end(&f);
}

static void test_error_report(void)
{
	struct fixture f;

	begin(&f, "", "virtio-blk,drive=disk,werror=report", 0);
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size(128 * KiB);
	g_assert_cmpuint(request(&f, VIRTIO_BLK_T_OUT, 300, 4096), ==, VIRTIO_BLK_S_IOERR);
	limit_file_size(RLIM_INFINITY);
	expect_disk(&f);
	end(&f);
}

static void test_migrate(void)
{
	struct fixture f;
	GByteArray *bytes;
	GError *err = NULL;
	struct rig *to;

	begin(&f, "", "virtio-blk,drive=disk", FLUSH);
	expect_disk(&f);
	rig_run(f.rig, false);
	bytes = rig_save(f.rig);
	to = rig_new(false);
	rig_run(to, false);
	rig_copy_ram(to, f.rig);
	rig_free(f.rig);
	f.vdev = rig_add(to, "virtio-blk,drive=disk");
	rig_load(to, bytes, &err);
	g_assert_no_error(err);
	g_byte_array_unref(bytes);
	f.rig = f.d->rig = to;
	rig_run(to, true);
	expect_disk(&f);
	end(&f);
}

/* The size that qemu-system-aarch64 7.2 gives the section of a device without driver. */
static void test_wire_size(void)
{
	struct fixture f = { 0 };
	GByteArray *bytes;

	make_disk(&f, "");
	f.rig = rig_new(false);
	rig_add(f.rig, "virtio-blk,drive=disk");
	bytes = rig_save(f.rig);
	g_assert_cmpuint(bytes->len, ==,
			 5 + 1 + strlen("virtio-mmio@0000000010000000/virtio-blk") + 8 + 44249 + 5);
	g_byte_array_unref(bytes);
	rig_free(f.rig);
	drop_disk(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/virtio-blk/transfer", test_transfer);
	g_test_add_func("/virtio-blk/framing", test_framing);
	g_test_add_func("/virtio-blk/bad-requests", test_bad_requests);
	g_test_add_func("/virtio-blk/get-id", test_get_id);
	g_test_add_func("/virtio-blk/segments", test_segments);
	g_test_add_func("/virtio-blk/read-only", test_read_only);
	g_test_add_func("/virtio-blk/config", test_config);
	g_test_add_func("/virtio-blk/refused", test_refused);
	g_test_add_func("/virtio-blk/drain", test_drain);
	g_test_add_func("/virtio-blk/error/report", test_error_report);
	g_test_add_data_func("/virtio-blk/error/stop", GINT_TO_POINTER(0), test_error_stop);
	g_test_add_data_func("/virtio-blk/error/migrate", GINT_TO_POINTER(1), test_error_stop);
	g_test_add_func("/virtio-blk/migrate", test_migrate);
	g_test_add_func("/virtio-blk/wire-size", test_wire_size);
	return g_test_run();
}

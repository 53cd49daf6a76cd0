/*
 * hw/block/virtio-blk.c - virtio block device.
 *
 * Source: Virtio 1.2, 5.2. Layouts are those of <linux/virtio_blk.h>.
 */
#include "hw/block/virtio-blk.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"
#include "util/log.h"

#define SECTOR          512u /* bytes: the unit of the interface whatever the block size */
#define ID_BYTES        VIRTIO_BLK_ID_BYTES
#define MAX_QUEUES      (VIRTIO_QUEUE_MAX - 1)
#define NUM_QUEUES_AUTO UINT16_MAX
#define MAX_BLOCK_SIZE  (2 * MiB)

_Static_assert(sizeof(struct virtio_blk_outhdr) == 16, "5.2.6");
_Static_assert(sizeof(struct virtio_blk_discard_write_zeroes) == 16, "5.2.6");
_Static_assert(offsetof(struct virtio_blk_config, write_zeroes_may_unmap) == 56, "5.2.4");

/* ---- Configuration -------------------------------------------------------------------------- */

static u64 blk_features(struct virtio_device *vdev)
{
	const struct virtio_blk *blk = virtio_blk_of(vdev);
	u64 f = 1u << VIRTIO_BLK_F_SEG_MAX | 1u << VIRTIO_BLK_F_GEOMETRY |
		1u << VIRTIO_BLK_F_BLK_SIZE | 1u << VIRTIO_BLK_F_TOPOLOGY |
		1u << VIRTIO_BLK_F_FLUSH;

	if (blk->opt_config_wce)
		f |= 1u << VIRTIO_BLK_F_CONFIG_WCE;
	if (blk->opt_num_queues > 1)
		f |= 1u << VIRTIO_BLK_F_MQ;
	if (block_read_only(blk->drive))
		return f | 1u << VIRTIO_BLK_F_RO;
	if (blk->opt_discard)
		f |= 1u << VIRTIO_BLK_F_DISCARD;
	if (blk->opt_write_zeroes)
		f |= 1u << VIRTIO_BLK_F_WRITE_ZEROES;
	return f;
}

static void fill_geometry(const struct virtio_blk *blk, u64 capacity, struct virtio_blk_config *c)
{
	/* What BIOSes make of a disk without a translation: 16 heads of 63 sectors. */
	u64 cylinders = MIN(capacity / (16 * 63), 16383);

	if (blk->opt_cyls) {
		c->geometry.cylinders = GUINT16_TO_LE(blk->opt_cyls);
		c->geometry.heads = blk->opt_heads;
		c->geometry.sectors = blk->opt_secs;
		return;
	}
	c->geometry.cylinders = GUINT16_TO_LE(MAX(cylinders, 2));
	c->geometry.heads = 16;
	c->geometry.sectors = 63;
}

static void blk_config_get(struct virtio_device *vdev, u8 *config)
{
	const struct virtio_blk *blk = virtio_blk_of(vdev);
	u32 block = blk->opt_logical_block_size;
	u64 capacity = block_size(blk->drive) / SECTOR;
	struct virtio_blk_config c = {
		.capacity = GUINT64_TO_LE(capacity),
		.seg_max = GUINT32_TO_LE(blk->opt_queue_size - 2), /* header and status */
		.blk_size = GUINT32_TO_LE(block),
		.physical_block_exp = __builtin_ctz(blk->opt_physical_block_size / block),
		.min_io_size = GUINT16_TO_LE(blk->opt_min_io_size / block),
		.opt_io_size = GUINT32_TO_LE(blk->opt_opt_io_size / block),
		.wce = block_write_cache(blk->drive),
		.num_queues = GUINT16_TO_LE(blk->opt_num_queues),
	};

	fill_geometry(blk, capacity, &c);
	if (vdev->host_features >> VIRTIO_BLK_F_DISCARD & 1) {
		c.max_discard_sectors = GUINT32_TO_LE(blk->opt_max_discard_sectors);
		c.max_discard_seg = GUINT32_TO_LE(1);
		c.discard_sector_alignment = GUINT32_TO_LE(blk->opt_discard_granularity / SECTOR);
	}
	if (vdev->host_features >> VIRTIO_BLK_F_WRITE_ZEROES & 1) {
		c.max_write_zeroes_sectors = GUINT32_TO_LE(blk->opt_max_write_zeroes_sectors);
		c.max_write_zeroes_seg = GUINT32_TO_LE(1);
		c.write_zeroes_may_unmap = 1;
	}
	memcpy(config, &c, vdev->config_size);
}

/* The cache mode is the one field that the driver may write. */
static void blk_config_set(struct virtio_device *vdev, const u8 *config)
{
	struct virtio_blk *blk = virtio_blk_of(vdev);

	if (virtio_has_feature(vdev, VIRTIO_BLK_F_CONFIG_WCE))
		block_set_write_cache(blk->drive, config[offsetof(struct virtio_blk_config, wce)]);
}

static void blk_resized(void *opaque)
{
	virtio_config_changed(opaque);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static bool power_of_two_between(u64 v, u64 lo, u64 hi)
{
	return IS_POW2(v) && v >= lo && v <= hi;
}

static int check_size(const char *name, u64 value, u64 lo, u64 hi, GError **err)
{
	if (power_of_two_between(value, lo, hi))
		return 0;
	error_set(err, "%s=%" PRIu64 " is not a power of two between %" PRIu64 " and %" PRIu64,
		  name, value, lo, hi);
	return -EINVAL;
}

static int check_geometry(const struct virtio_blk *blk, GError **err)
{
	if (!blk->opt_cyls && !blk->opt_heads && !blk->opt_secs)
		return 0;
	if (blk->opt_cyls - 1 < UINT16_MAX && blk->opt_heads - 1 < UINT8_MAX &&
	    blk->opt_secs - 1 < UINT8_MAX)
		return 0;
	error_set(err, "cyls=%u, heads=%u, secs=%u: give all three, at most 65535, 255, 255",
		  blk->opt_cyls, blk->opt_heads, blk->opt_secs);
	return -EINVAL;
}

static int check_sectors(const char *name, u32 value, GError **err)
{
	if (value && value <= INT32_MAX / SECTOR)
		return 0;
	error_set(err, "%s=%u is not between 1 and %u", name, value, INT32_MAX / SECTOR);
	return -EINVAL;
}

/* The hints are told in logical blocks, the first in 16 bits. */
static int check_hints(const struct virtio_blk *blk, GError **err)
{
	u64 block = blk->opt_logical_block_size;

	if (IS_ALIGNED(blk->opt_min_io_size, block) && IS_ALIGNED(blk->opt_opt_io_size, block) &&
	    blk->opt_min_io_size / block <= UINT16_MAX &&
	    blk->opt_opt_io_size / block <= UINT32_MAX)
		return 0;
	error_set(err,
		  "min_io_size=%" PRIu64 ", opt_io_size=%" PRIu64
		  ": not a multiple of the logical block, %" PRIu64 ", or too large",
		  blk->opt_min_io_size, blk->opt_opt_io_size, block);
	return -EINVAL;
}

static int check_options(struct virtio_blk *blk, GError **err)
{
	if (!blk->drive || !block_inserted(blk->drive)) {
		error_set(err, blk->drive ? "drive is empty; a medium is needed"
					  : "drive property not set");
		return -EINVAL;
	}
	if (blk->opt_num_queues == NUM_QUEUES_AUTO)
		blk->opt_num_queues = 1;
	if (!blk->opt_num_queues || blk->opt_num_queues > MAX_QUEUES) {
		error_set(err, "num-queues=%u is not between 1 and %u", blk->opt_num_queues,
			  MAX_QUEUES);
		return -EINVAL;
	}
	blk->opt_logical_block_size = blk->opt_logical_block_size ?: SECTOR;
	blk->opt_physical_block_size = blk->opt_physical_block_size ?: blk->opt_logical_block_size;
	if (blk->opt_discard_granularity == UINT32_MAX)
		blk->opt_discard_granularity = blk->opt_logical_block_size;
	return check_size("queue-size", blk->opt_queue_size, 4, VIRTQUEUE_MAX_SIZE, err) ?:
	       check_size("logical_block_size", blk->opt_logical_block_size, SECTOR,
			  MAX_BLOCK_SIZE, err) ?:
	       check_size("physical_block_size", blk->opt_physical_block_size,
			  blk->opt_logical_block_size, MAX_BLOCK_SIZE, err) ?:
	       check_size("discard_granularity", blk->opt_discard_granularity,
			  blk->opt_logical_block_size, 2 * GiB, err) ?:
	       check_sectors("max-discard-sectors", blk->opt_max_discard_sectors, err) ?:
	       check_sectors("max-write-zeroes-sectors", blk->opt_max_write_zeroes_sectors, err) ?:
	       check_hints(blk, err) ?: check_geometry(blk, err);
}

static void apply_write_cache(struct virtio_blk *blk)
{
	if (blk->opt_write_cache != OOA_AUTO)
		block_set_write_cache(blk->drive, blk->opt_write_cache == OOA_ON);
	blk->initial_wce = block_write_cache(blk->drive);
}

static void blk_reset(struct virtio_device *vdev)
{
	struct virtio_blk *blk = virtio_blk_of(vdev);

	virtio_blk_drop_requests(blk);
	block_set_write_cache(blk->drive, blk->initial_wce);
}

static const struct virtio_class blk_class = {
	.id = VIRTIO_ID_BLOCK,
	.config_size = offsetof(struct virtio_blk_config, unused1),
	.features = blk_features,
	.config_get = blk_config_get,
	.config_set = blk_config_set,
	.reset = blk_reset,
	.run = virtio_blk_run,
	.save = virtio_blk_save,
	.load = virtio_blk_load,
	.load_done = virtio_blk_load_done,
};

static int blk_realize(struct device *dev, GError **err)
{
	struct virtio_blk *blk = container_of(dev, struct virtio_blk, vdev.dev);
	int ret = check_options(blk, err);

	if (ret)
		return ret;
	blk->qdev = dev->id ? g_strdup(dev->id) : device_path(dev);
	blk->user = (struct block_user){ .qdev = blk->qdev,
					 .resized = blk_resized,
					 .opaque = &blk->vdev };
	ret = block_attach(blk->drive, &blk->user, !block_read_only(blk->drive), err);
	if (ret)
		goto fail_qdev;
	ret = block_set_error_policy(blk->drive, blk->opt_rerror, blk->opt_werror, err);
	if (ret)
		goto fail_attach;
	ret = virtio_device_init(&blk->vdev, &blk_class, blk->opt_num_queues, err);
	if (ret)
		goto fail_attach;
	ret = virtio_set_iothread(&blk->vdev, blk->iothread, err);
	if (ret)
		goto fail_init;
	block_set_iothread(blk->drive, blk->iothread);
	apply_write_cache(blk);
	for (unsigned i = 0; i < blk->opt_num_queues; i++)
		virtio_add_queue(&blk->vdev, blk->opt_queue_size, virtio_blk_handle);
	return 0;

fail_init:
	virtio_device_finish(&blk->vdev);
fail_attach:
	block_detach(blk->drive);
fail_qdev:
	g_clear_pointer(&blk->qdev, g_free);
	return ret;
}

static void blk_unrealize(struct device *dev)
{
	struct virtio_blk *blk = container_of(dev, struct virtio_blk, vdev.dev);

	virtio_device_finish(&blk->vdev);
	block_set_iothread(blk->drive, NULL);
	block_detach(blk->drive);
	g_free(blk->qdev);
}

static const struct property blk_props[] = {
	VIRTIO_PROPS(struct virtio_blk),
	PROP(struct virtio_blk, drive, "drive", DRIVE, NULL, "id or node name of the image"),
	PROP_OBJECT(struct virtio_blk, iothread, "iothread", "iothread",
		    "id of the -object iothread that serves the queues"),
	PROP(struct virtio_blk, opt_serial, "serial", STR, NULL, "serial number, 20 bytes"),
	PROP(struct virtio_blk, opt_num_queues, "num-queues", U16, "65535", "65535: automatic"),
	PROP(struct virtio_blk, opt_queue_size, "queue-size", U16, "256", "entries of a queue"),
	PROP(struct virtio_blk, opt_logical_block_size, "logical_block_size", SIZE, "0",
	     "bytes; 0: 512"),
	PROP(struct virtio_blk, opt_physical_block_size, "physical_block_size", SIZE, "0",
	     "bytes; 0: as logical_block_size"),
	PROP(struct virtio_blk, opt_min_io_size, "min_io_size", SIZE, "0", "bytes"),
	PROP(struct virtio_blk, opt_opt_io_size, "opt_io_size", SIZE, "0", "bytes"),
	PROP(struct virtio_blk, opt_discard_granularity, "discard_granularity", SIZE, "4294967295",
	     "bytes; 4294967295: as logical_block_size"),
	PROP(struct virtio_blk, opt_cyls, "cyls", U32, "0", "geometry; 0: from the size"),
	PROP(struct virtio_blk, opt_heads, "heads", U32, "0", "geometry"),
	PROP(struct virtio_blk, opt_secs, "secs", U32, "0", "geometry"),
	PROP(struct virtio_blk, opt_discard, "discard", BOOL, "on", "offer discard"),
	PROP(struct virtio_blk, opt_write_zeroes, "write-zeroes", BOOL, "on", "offer write zeroes"),
	PROP(struct virtio_blk, opt_max_discard_sectors, "max-discard-sectors", U32, "4194303",
	     "of 512 bytes"),
	PROP(struct virtio_blk, opt_max_write_zeroes_sectors, "max-write-zeroes-sectors", U32,
	     "4194303", "of 512 bytes"),
	PROP(struct virtio_blk, opt_config_wce, "config-wce", BOOL, "on",
	     "let the driver switch the write cache"),
	PROP(struct virtio_blk, opt_write_cache, "write-cache", ON_OFF_AUTO, "auto",
	     "auto: as the image's cache mode says"),
	PROP(struct virtio_blk, opt_rerror, "rerror", STR, NULL, "report, ignore, stop or auto"),
	PROP(struct virtio_blk, opt_werror, "werror", STR, NULL,
	     "report, ignore, enospc, stop or auto"),
	PROP(struct virtio_blk, opt_bootindex, "bootindex", S32, "-1", "order of booting"),
	PROP_END
};

static const struct state_desc blk_state = {
	.name = "virtio-blk",
	.version = 2,
	.min_version = 2,
	.fields = virtio_state_fields,
};

const struct device_type virtio_blk_type = {
	.name = "virtio-blk-device",
	.alias = "virtio-blk",
	.desc = "virtio block device",
	.category = DEVICE_STORAGE,
	.bus = "virtio-bus",
	.instance_size = sizeof(struct virtio_blk),
	.props = blk_props,
	.user_creatable = true,
	.realize = blk_realize,
	.unrealize = blk_unrealize,
	.reset = virtio_device_reset,
	.state = &blk_state,
};

/*
 * hw/block/virtio-blk.h - what the files of the virtio block device share.
 */
#ifndef HW_BLOCK_VIRTIO_BLK_H
#define HW_BLOCK_VIRTIO_BLK_H

#include "block/block.h"
#include "hw/virtio/virtio.h"

#include <linux/virtio_blk.h>

struct virtio_blk {
	struct virtio_device vdev;
	struct block_backend *drive;
	struct iothread *iothread; /* NULL: none */
	struct block_user user;
	char *qdev;
	bool initial_wce;
	GQueue waiting; /* of struct blk_request: failed, to be repeated when the VM runs again */

	/* Properties. */
	char *opt_serial, *opt_rerror, *opt_werror;
	u16 opt_num_queues, opt_queue_size;
	u64 opt_logical_block_size, opt_physical_block_size, opt_min_io_size, opt_opt_io_size;
	u64 opt_discard_granularity;
	u32 opt_cyls, opt_heads, opt_secs;
	u32 opt_max_discard_sectors, opt_max_write_zeroes_sectors;
	bool opt_discard, opt_write_zeroes, opt_config_wce;
	int opt_write_cache;
	s32 opt_bootindex;
};

static inline struct virtio_blk *virtio_blk_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_blk, vdev);
}

/* Requests: hw/block/virtio-blk-request.c. */
void virtio_blk_handle(struct virtio_device *vdev, struct virtqueue *vq);
void virtio_blk_drop_requests(struct virtio_blk *blk); /* waits for those in flight */
void virtio_blk_run(struct virtio_device *vdev, bool running);
int virtio_blk_save(struct virtio_device *vdev, struct state_writer *w, GError **err);
int virtio_blk_load(struct virtio_device *vdev, struct state_reader *r, int version, GError **err);
int virtio_blk_load_done(struct virtio_device *vdev, GError **err);

#endif

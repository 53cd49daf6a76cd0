/*
 * hw/block/virtio-blk-request.c - requests of the virtio block device.
 *
 * Source: Virtio 1.2, 5.2.6. A request is a header, data, and a status byte, which is the last
 * writable one; descriptors may cut it anywhere (2.7.4).
 */
#include "hw/block/virtio-blk.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"

#define SECTOR 512u

struct blk_request {
	struct virtio_blk *blk;
	struct virtqueue *vq;
	struct virtqueue_elem *elem;
	u32 type;
	u64 sector;
	GList link; /* in blk->waiting */
};

static void finish(struct blk_request *req, u8 status)
{
	struct virtqueue_elem *elem = req->elem;

	virtq_elem_write(elem, elem->in_len - 1, &status, 1);
	virtqueue_push(req->vq, elem, elem->in_len);
	virtio_notify(req->vq);
	g_free(req);
}

static u64 in_data_len(const struct blk_request *req)
{
	return req->elem->in_len - 1;
}

static u64 out_data_len(const struct blk_request *req)
{
	return req->elem->out_len - sizeof(struct virtio_blk_outhdr);
}

static void done(void *opaque, int ret)
{
	struct blk_request *req = opaque;
	struct virtio_blk *blk = req->blk;
	bool is_read = req->type == VIRTIO_BLK_T_IN;

	/* Even if it failed: some of it may have been read. */
	if (is_read)
		virtq_elem_mark_written(req->elem, 0, in_data_len(req));
	if (!ret) {
		finish(req, VIRTIO_BLK_S_OK);
		return;
	}
	switch (block_error(blk->drive, is_read, -ret)) {
	case BLOCK_ERROR_IGNORE: finish(req, VIRTIO_BLK_S_OK); break;
	case BLOCK_ERROR_REPORT: finish(req, VIRTIO_BLK_S_IOERR); break;
	case BLOCK_ERROR_STOP:
		req->link.data = req;
		g_queue_push_tail_link(&blk->waiting, &req->link);
		vm_request_stop(blk->vdev.dev.machine->vm, RUN_STATE_IO_ERROR);
		break;
	}
}

/* A driver that has not taken FLUSH cannot flush: every write goes through (5.2.6.2). */
static unsigned write_flags(const struct virtio_blk *blk)
{
	const struct virtio_device *vdev = &blk->vdev;
	bool cached = virtio_has_feature(vdev, VIRTIO_BLK_F_FLUSH) ||
		      virtio_has_feature(vdev, VIRTIO_BLK_F_CONFIG_WCE);

	return cached && block_write_cache(blk->drive) ? 0 : BLOCK_FUA;
}

/* Whether the transfer is of whole blocks and within the disk. */
static bool range_ok(const struct virtio_blk *blk, u64 sector, u64 bytes)
{
	u64 capacity = block_size(blk->drive) / SECTOR;
	u64 block = blk->opt_logical_block_size;

	return sector <= capacity && bytes / SECTOR <= capacity - sector &&
	       IS_ALIGNED(sector * SECTOR, block) && IS_ALIGNED(bytes, block);
}

static void submit_read(struct blk_request *req)
{
	struct virtqueue_elem *elem = req->elem;
	struct iovec iov[VIRTQUEUE_MAX_SIZE];
	struct block_span span;
	unsigned n;

	if (!range_ok(req->blk, req->sector, in_data_len(req))) {
		finish(req, VIRTIO_BLK_S_IOERR);
		return;
	}
	n = virtq_iov_slice(elem->in, elem->in_num, 0, in_data_len(req), iov);
	span = (struct block_span){ req->sector * SECTOR, iov, n };
	block_readv(req->blk->drive, &span, done, req);
}

static void submit_write(struct blk_request *req)
{
	struct virtqueue_elem *elem = req->elem;
	struct iovec iov[VIRTQUEUE_MAX_SIZE];
	struct block_span span;
	unsigned n;

	if (block_read_only(req->blk->drive) ||
	    !range_ok(req->blk, req->sector, out_data_len(req))) {
		finish(req, VIRTIO_BLK_S_IOERR);
		return;
	}
	n = virtq_iov_slice(elem->out, elem->out_num, sizeof(struct virtio_blk_outhdr),
			    out_data_len(req), iov);
	span = (struct block_span){ req->sector * SECTOR, iov, n };
	block_writev(req->blk->drive, &span, write_flags(req->blk), done, req);
}

static void submit_get_id(struct blk_request *req)
{
	const char *serial = req->blk->opt_serial ?: block_serial(req->blk->drive);
	char id[VIRTIO_BLK_ID_BYTES] = { 0 };

	/* All 20 bytes may be used: there is no terminator then (5.2.6). */
	if (serial)
		memcpy(id, serial, strnlen(serial, sizeof(id)));
	virtq_elem_write(req->elem, 0, id, MIN(in_data_len(req), sizeof(id)));
	finish(req, VIRTIO_BLK_S_OK);
}

/* Discard and write zeroes. One segment, as the configuration says. */
static void submit_segment(struct blk_request *req)
{
	struct virtio_blk *blk = req->blk;
	bool zeroes = req->type == VIRTIO_BLK_T_WRITE_ZEROES;
	unsigned feature = zeroes ? VIRTIO_BLK_F_WRITE_ZEROES : VIRTIO_BLK_F_DISCARD;
	u32 max = zeroes ? blk->opt_max_write_zeroes_sectors : blk->opt_max_discard_sectors;
	u32 may = zeroes ? VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0;
	struct virtio_blk_discard_write_zeroes seg;
	u64 sector, bytes;
	u32 flags;

	if (!virtio_has_feature(&blk->vdev, feature) || out_data_len(req) != sizeof(seg)) {
		finish(req, VIRTIO_BLK_S_UNSUPP);
		return;
	}
	virtq_elem_read(req->elem, sizeof(struct virtio_blk_outhdr), &seg, sizeof(seg));
	sector = GUINT64_FROM_LE(seg.sector);
	bytes = (u64)GUINT32_FROM_LE(seg.num_sectors) * SECTOR;
	flags = GUINT32_FROM_LE(seg.flags);
	if (flags & ~may) { /* 5.2.6.2: unknown flags, or unmap with discard */
		finish(req, VIRTIO_BLK_S_UNSUPP);
		return;
	}
	if (bytes / SECTOR > max || !range_ok(blk, sector, bytes)) {
		finish(req, VIRTIO_BLK_S_IOERR);
		return;
	}
	if (zeroes)
		block_write_zeroes(blk->drive, sector * SECTOR, bytes,
				   write_flags(blk) | (flags ? BLOCK_MAY_UNMAP : 0), done, req);
	else
		block_discard(blk->drive, sector * SECTOR, bytes, done, req);
}

static void submit(struct blk_request *req)
{
	switch (req->type) {
	case VIRTIO_BLK_T_IN: submit_read(req); break;
	case VIRTIO_BLK_T_OUT: submit_write(req); break;
	case VIRTIO_BLK_T_FLUSH: block_flush(req->blk->drive, done, req); break;
	case VIRTIO_BLK_T_GET_ID: submit_get_id(req); break;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES: submit_segment(req); break;
	default: finish(req, VIRTIO_BLK_S_UNSUPP);
	}
}

/* Return: NULL if the chain is no request. */
static struct blk_request *request_new(struct virtio_blk *blk, struct virtqueue *vq,
				       struct virtqueue_elem *elem)
{
	struct virtio_blk_outhdr hdr;
	struct blk_request *req;

	if (!elem->in_len || virtq_elem_read(elem, 0, &hdr, sizeof(hdr)) < sizeof(hdr))
		return NULL;
	req = g_new0(struct blk_request, 1);
	req->blk = blk;
	req->vq = vq;
	req->elem = elem;
	req->type = GUINT32_FROM_LE(hdr.type);
	req->sector = GUINT64_FROM_LE(hdr.sector);
	return req;
}

void virtio_blk_handle(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;
	struct blk_request *req;

	block_plug();
	do {
		virtqueue_notify_off(vq);
		while ((elem = virtqueue_pop(vq))) {
			req = request_new(virtio_blk_of(vdev), vq, elem);
			if (!req) {
				virtio_error(vdev,
					     "queue %u: request of %" PRIu64 " + %" PRIu64
					     " bytes lacks header or status",
					     vq->index, elem->out_len, elem->in_len);
				virtqueue_detach(vq, elem);
				break;
			}
			submit(req);
		}
	} while (!virtqueue_notify_on(vq));
	block_unplug();
}

void virtio_blk_drop_requests(struct virtio_blk *blk)
{
	GList *link;

	block_drain(blk->drive);
	while ((link = g_queue_pop_head_link(&blk->waiting))) {
		struct blk_request *req = link->data;

		virtqueue_detach(req->vq, req->elem);
		g_free(req);
	}
}

void virtio_blk_run(struct virtio_device *vdev, bool running)
{
	struct virtio_blk *blk = virtio_blk_of(vdev);
	GQueue again = blk->waiting;
	GList *link;

	if (!running) {
		block_drain(blk->drive);
		return;
	}
	block_reset_io_status(blk->drive);
	g_queue_init(&blk->waiting);
	while ((link = g_queue_pop_head_link(&again)))
		submit(link->data);
}

/* The chains that wait to be repeated; everything else was drained when the VM stopped. */
int virtio_blk_save(struct virtio_device *vdev, struct state_writer *w, GError **err)
{
	struct virtio_blk *blk = virtio_blk_of(vdev);

	for (GList *l = blk->waiting.head; l; l = l->next) {
		struct blk_request *req = l->data;

		state_put_u8(w, 1);
		if (vdev->nqueues > 1)
			state_put_be32(w, req->vq->index);
		virtio_elem_save(w, req->elem);
	}
	state_put_u8(w, 0);
	return 0;
}

int virtio_blk_load(struct virtio_device *vdev, struct state_reader *r, int version, GError **err)
{
	struct virtio_blk *blk = virtio_blk_of(vdev);

	while (state_get_u8(r)) {
		u32 queue = vdev->nqueues > 1 ? state_get_be32(r) : 0;
		struct virtqueue_elem *elem;
		struct blk_request *req;

		if (queue >= vdev->nqueues) {
			error_set(err, "virtio-blk: request in queue %u of %u", queue,
				  vdev->nqueues);
			return -EINVAL;
		}
		elem = virtio_elem_load(r, &vdev->vqs[queue], err);
		if (!elem)
			return -EINVAL;
		req = request_new(blk, &vdev->vqs[queue], elem);
		if (!req) {
			g_free(elem);
			error_set(err, "virtio-blk: request in flight without header or status");
			return -EINVAL;
		}
		req->link.data = req;
		g_queue_push_tail_link(&blk->waiting, &req->link);
	}
	return 0;
}

/* The indexes of each queue must leave room for what waits. */
int virtio_blk_load_done(struct virtio_device *vdev, GError **err)
{
	g_autofree unsigned *waiting = g_new0(unsigned, vdev->nqueues);

	for (GList *l = virtio_blk_of(vdev)->waiting.head; l; l = l->next)
		waiting[((struct blk_request *)l->data)->vq->index]++;
	for (unsigned i = 0; i < vdev->nqueues; i++) {
		if (waiting[i] <= vdev->vqs[i].inuse)
			continue;
		error_set(err, "virtio-blk: %u requests wait in queue %u, %u are in flight",
			  waiting[i], i, vdev->vqs[i].inuse);
		return -EINVAL;
	}
	return 0;
}

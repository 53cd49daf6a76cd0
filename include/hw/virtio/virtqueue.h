/*
 * hw/virtio/virtqueue.h - split virtqueues, the device's side.
 *
 * Source: Virtio 1.2, 2.6 (virtqueues) and 2.7 (split virtqueues). All functions: machine lock
 * held. Whatever the guest put into its rings is checked here; an elem that was popped can be used
 * without further checks of addresses.
 */
#ifndef HW_VIRTIO_VIRTQUEUE_H
#define HW_VIRTIO_VIRTQUEUE_H

#include "util/base.h"

#include <sys/uio.h>

#define VIRTQUEUE_MAX_SIZE     1024 /* entries; also the longest chain through an indirect table */
#define VIRTQUEUE_LEGACY_ALIGN 4096 /* bytes; until a legacy driver says otherwise */
#define VIRTIO_QUEUE_MAX       1024 /* queues of a device */

struct ramblock;
struct virtio_device;
struct virtqueue;

typedef void virtqueue_handler(struct virtio_device *vdev, struct virtqueue *vq);

/* One part of a ring as the host sees it. */
struct virtq_area {
	u8 *host;
	struct ramblock *block;
	u64 offset; /* of host in block */
};

struct virtqueue {
	struct virtio_device *vdev;
	virtqueue_handler *handle; /* the driver made buffers available */
	u16 index;
	u16 num_max; /* entries offered; a power of two */
	u16 num;     /* entries in use; migrates */
	bool ready;  /* enabled by the driver; migrates */
	u32 align;   /* bytes, of the used ring in the legacy layout; migrates */
	u64 desc_gpa, avail_gpa, used_gpa; /* migrate */
	u16 last_avail;                    /* index of the next entry to take; migrates */
	u16 used_idx; /* index of the next used entry; read back from the ring on load */
	u16 signalled_used;
	bool signalled_used_valid;
	unsigned inuse;                      /* popped, not yet pushed */
	struct virtq_area desc, avail, used; /* valid for map_generation */
	u64 map_generation;                  /* of vdev when the areas were looked up; 0: never */
	int notify_fd;                       /* ioeventfd; -1: none */
	GSource *notify_source;
	bool kicked; /* for the I/O thread that serves the device */
};

/* Where a piece of a device-writable buffer lies, for dirty tracking. */
struct virtq_place {
	struct ramblock *block;
	u64 offset; /* bytes */
};

/* A chain of buffers. Pieces are contiguous on the host; guest buffers may have been split. */
struct virtqueue_elem {
	u16 head; /* index of its first descriptor */
	unsigned out_num, in_num;
	u64 out_len, in_len; /* bytes that the device may read, write */
	struct iovec *out, *in;
	u64 *gpa;                     /* guest addresses: out_num of out, then in_num of in */
	struct virtq_place *in_place; /* parallel to in */
};

/*
 * virtqueue_pop() - take the next chain that the driver made available.
 *
 * Return: the chain; give it back with virtqueue_push(), virtqueue_unpop() or virtqueue_detach().
 * NULL: none, the queue is not ready, or the device is (now) broken.
 */
struct virtqueue_elem *virtqueue_pop(struct virtqueue *vq);

/*
 * virtqueue_push() - return a chain to the driver and free it.
 * @len: bytes that were written into it, from its start.
 *
 * Does not interrupt: see virtio_notify(). Every byte written into elem->in must have been
 * reported: virtq_elem_write() does, otherwise virtq_elem_mark_written().
 */
void virtqueue_push(struct virtqueue *vq, struct virtqueue_elem *elem, u32 len);

/* virtqueue_fill(), virtqueue_flush() - push several chains so that the driver sees them at once.
 * @n: position in the batch; number of chains filled. fill() frees @elem. */
void virtqueue_fill(struct virtqueue *vq, struct virtqueue_elem *elem, u32 len, unsigned n);
void virtqueue_flush(struct virtqueue *vq, unsigned n);

/* virtqueue_unpop() - put back the chain that was popped last. Frees it. */
void virtqueue_unpop(struct virtqueue *vq, struct virtqueue_elem *elem);

/* virtqueue_rewind() - forget that the last chain was popped (after a load, where the source held
 * it). There must be one in use. */
void virtqueue_rewind(struct virtqueue *vq);

/* virtqueue_detach() - forget a chain (queue reset). Frees it. */
void virtqueue_detach(struct virtqueue *vq, struct virtqueue_elem *elem);

/*
 * virtqueue_elem_remap() - a chain that is in flight already, from its guest addresses.
 * @gpa, @len: out_num readable buffers, then in_num writable ones.
 *
 * Return: NULL if a buffer is not in RAM; the device is then broken.
 */
struct virtqueue_elem *virtqueue_elem_remap(struct virtqueue *vq, u16 head, const u64 *gpa,
					    const u32 *len, unsigned out_num, unsigned in_num);

/* virtqueue_empty() - whether pop would find nothing. */
bool virtqueue_empty(struct virtqueue *vq);

/*
 * virtqueue_notify_off(), virtqueue_notify_on() - whether the driver shall kick.
 *
 * Return (on): false if there are chains to take, so that the caller must look again. True if there
 * are none, or the queue cannot be used: the driver kicks at the next one.
 */
void virtqueue_notify_off(struct virtqueue *vq);
bool virtqueue_notify_on(struct virtqueue *vq);

/* virtqueue_wants_interrupt() - whether the driver asked to be told of what was pushed since the
 * last call that returned true. */
bool virtqueue_wants_interrupt(struct virtqueue *vq);

/* virtqueue_reset() - as after power-on. Chains in flight must have been detached. */
void virtqueue_reset(struct virtqueue *vq);

/* virtqueue_legacy_layout() - the rings of a legacy queue follow each other, the used ring aligned
 * (2.7.2): set their addresses from desc_gpa, num and align. */
void virtqueue_legacy_layout(struct virtqueue *vq);

/*
 * virtqueue_load_done() - the addresses and last_avail were loaded: take up the used index.
 *
 * Return: 0, -EINVAL with @err: rings outside RAM, or indexes that cannot be.
 */
int virtqueue_load_done(struct virtqueue *vq, GError **err);

/*
 * virtq_elem_read(), virtq_elem_write() - copy from / into the chain at @offset.
 *
 * Writing reports the pages dirty. Return: bytes copied; less than @len where the chain ends.
 */
u64 virtq_elem_read(const struct virtqueue_elem *elem, u64 offset, void *buf, u64 len);
u64 virtq_elem_write(const struct virtqueue_elem *elem, u64 offset, const void *buf, u64 len);

/* virtq_elem_mark_written() - the device wrote @len bytes at @offset through elem->in. */
void virtq_elem_mark_written(const struct virtqueue_elem *elem, u64 offset, u64 len);

/*
 * virtq_iov_slice() - the pieces of @len bytes at @offset.
 * @out: room for @n pieces.
 *
 * Return: pieces stored.
 */
unsigned virtq_iov_slice(const struct iovec *iov, unsigned n, u64 offset, u64 len,
			 struct iovec *out);

#endif

/*
 * hw/display/virtio-gpu.h - the virtio display device, 2D.
 */
#ifndef HW_DISPLAY_VIRTIO_GPU_H
#define HW_DISPLAY_VIRTIO_GPU_H

#include "hw/virtio/virtio.h"
#include "ui/display.h"

#include <linux/virtio_gpu.h>

#define GPU_ENTRIES_MAX 16384 /* pieces of a backing store */

/* A picture of the guest's, and where in its memory it keeps the pixels. */
struct gpu_resource {
	u32 id, format;
	struct surface *surface;
	u64 charged; /* bytes, of max_hostmem */
	struct gpu_piece {
		u64 gpa;
		u32 len;
	} * pieces; /* NULL: no backing store */
	u32 npieces;
	u64 store; /* bytes of all pieces */
};

struct virtio_gpu {
	struct virtio_device vdev;
	struct virtqueue *ctrl, *cursor_queue;
	struct console *console;
	GHashTable *resources; /* id -> struct gpu_resource, owned */
	u64 used;              /* bytes of max_hostmem */

	/* The one output; migrates. */
	u32 scanout_id, width, height, x, y; /* resource (0: off) and rectangle of it */
	u32 cursor_id, hot_x, hot_y, cursor_x, cursor_y;

	/* Properties. */
	u32 opt_max_outputs, opt_xres, opt_yres;
	u64 opt_max_hostmem;
	bool opt_edid;
};

/* hw/display/virtio-gpu-resource.c; numbers that are returned are VIRTIO_GPU_RESP_x */
struct gpu_resource *gpu_find(struct virtio_gpu *g, u32 id);
u32 gpu_create(struct virtio_gpu *g, u32 id, u32 format, u32 width, u32 height);
void gpu_unref(struct virtio_gpu *g, struct gpu_resource *r);
void gpu_drop_all(struct virtio_gpu *g);
/* gpu_attach() - takes @pieces over. */
u32 gpu_attach(struct virtio_gpu *g, struct gpu_resource *r, struct gpu_piece *pieces, u32 n);
void gpu_detach(struct virtio_gpu *g, struct gpu_resource *r);
bool gpu_within(const struct gpu_resource *r, u32 x, u32 y, u32 width, u32 height);
u32 gpu_transfer(struct virtio_gpu *g, struct gpu_resource *r, u32 x, u32 y, u32 width, u32 height,
		 u64 offset);

/* hw/display/virtio-gpu.c */
void gpu_show(struct virtio_gpu *g);        /* what scanout_id and the rectangle say */
void gpu_show_cursor(struct virtio_gpu *g); /* what cursor_id says */

/* hw/display/edid.c: a monitor that prefers that size; 128 bytes. */
#define EDID_BYTES 128
void edid_make(u8 edid[EDID_BYTES], unsigned width, unsigned height);

extern const struct state_desc gpu_state; /* hw/display/virtio-gpu-state.c */

#endif

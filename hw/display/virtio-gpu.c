/*
 * hw/display/virtio-gpu.c - the virtio display device with one output, 2D: its commands.
 *
 * Source: Virtio 1.2, 5.7. Commands are done at once, so a fence is reached when they are answered.
 */
#include "hw/display/virtio-gpu.h"

#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/virtio_ids.h>

#define CTRL_SIZE   64
#define CURSOR_SIZE 16
#define SIDE_MIN    16

static struct virtio_gpu *gpu_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_gpu, vdev);
}

/* ---- The output ---- */

void gpu_show(struct virtio_gpu *g)
{
	struct gpu_resource *r = g->scanout_id ? gpu_find(g, g->scanout_id) : NULL;
	struct surface *s = r ? surface_part(r->surface, g->x, g->y, g->width, g->height) : NULL;

	console_show(g->console, s, false);
	surface_unref(s);
}

void gpu_show_cursor(struct virtio_gpu *g)
{
	struct gpu_resource *r = g->cursor_id ? gpu_find(g, g->cursor_id) : NULL;
	struct display_cursor *c;

	if (!r || r->surface->width > CURSOR_MAX_SIDE || r->surface->height > CURSOR_MAX_SIDE) {
		console_set_cursor(g->console, NULL);
		return;
	}
	c = g_new0(struct display_cursor, 1);
	c->refs = 1;
	c->width = r->surface->width;
	c->height = r->surface->height;
	c->hot_x = MIN(g->hot_x, c->width - 1);
	c->hot_y = MIN(g->hot_y, c->height - 1);
	surface_read(r->surface, 0, 0, c->width, c->height, c->pixels, c->width * sizeof(u32));
	console_set_cursor(g->console, c);
}

/* ---- Commands. Each gets what the driver sent, of at least the size in its row. ---- */

struct command {
	const struct virtqueue_elem *elem;
	union {
		struct virtio_gpu_ctrl_hdr hdr;
		struct virtio_gpu_resource_create_2d create;
		struct virtio_gpu_resource_unref unref;
		struct virtio_gpu_set_scanout scanout;
		struct virtio_gpu_resource_flush flush;
		struct virtio_gpu_transfer_to_host_2d transfer;
		struct virtio_gpu_resource_attach_backing attach;
		struct virtio_gpu_resource_detach_backing detach;
		struct virtio_gpu_cmd_get_edid edid;
		struct virtio_gpu_update_cursor cursor;
	} in;
	union {
		struct virtio_gpu_ctrl_hdr hdr;
		struct virtio_gpu_resp_display_info display;
		struct virtio_gpu_resp_edid edid;
	} out;
	u32 out_len;
};

static u32 get_display_info(struct virtio_gpu *g, struct command *c)
{
	struct virtio_gpu_display_one *one = &c->out.display.pmodes[0];

	one->enabled = GUINT32_TO_LE(1);
	one->r.width = GUINT32_TO_LE(g->opt_xres);
	one->r.height = GUINT32_TO_LE(g->opt_yres);
	c->out_len = sizeof(c->out.display);
	return VIRTIO_GPU_RESP_OK_DISPLAY_INFO;
}

static u32 get_edid(struct virtio_gpu *g, struct command *c)
{
	if (!virtio_has_feature(&g->vdev, VIRTIO_GPU_F_EDID))
		return VIRTIO_GPU_RESP_ERR_UNSPEC;
	if (c->in.edid.scanout)
		return VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID;
	edid_make(c->out.edid.edid, g->opt_xres, g->opt_yres);
	c->out.edid.size = GUINT32_TO_LE(EDID_BYTES);
	c->out_len = sizeof(c->out.edid);
	return VIRTIO_GPU_RESP_OK_EDID;
}

static u32 create_2d(struct virtio_gpu *g, struct command *c)
{
	return gpu_create(g, GUINT32_FROM_LE(c->in.create.resource_id),
			  GUINT32_FROM_LE(c->in.create.format), GUINT32_FROM_LE(c->in.create.width),
			  GUINT32_FROM_LE(c->in.create.height));
}

static u32 unref(struct virtio_gpu *g, struct command *c)
{
	struct gpu_resource *r = gpu_find(g, GUINT32_FROM_LE(c->in.unref.resource_id));

	if (!r)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	gpu_unref(g, r);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

struct rect {
	u32 x, y, width, height;
};

static struct rect rect_of(const struct virtio_gpu_rect *le)
{
	return (struct rect){ GUINT32_FROM_LE(le->x), GUINT32_FROM_LE(le->y),
			      GUINT32_FROM_LE(le->width), GUINT32_FROM_LE(le->height) };
}

static u32 set_scanout(struct virtio_gpu *g, struct command *c)
{
	struct rect q = rect_of(&c->in.scanout.r);
	u32 id = GUINT32_FROM_LE(c->in.scanout.resource_id);
	struct gpu_resource *r = id ? gpu_find(g, id) : NULL;

	if (c->in.scanout.scanout_id)
		return VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID;
	if (id && !r)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	if (r && (!gpu_within(r, q.x, q.y, q.width, q.height) || q.width < SIDE_MIN ||
		  q.height < SIDE_MIN))
		return VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER;
	g->scanout_id = id;
	g->x = q.x;
	g->y = q.y;
	g->width = q.width;
	g->height = q.height;
	gpu_show(g);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

static u32 flush(struct virtio_gpu *g, struct command *c)
{
	struct rect q = rect_of(&c->in.flush.r);
	u32 id = GUINT32_FROM_LE(c->in.flush.resource_id);
	struct gpu_resource *r = gpu_find(g, id);

	if (!r)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	if (!gpu_within(r, q.x, q.y, q.width, q.height))
		return VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER;
	/* Sides are at most SURFACE_MAX_SIDE, so nothing overflows. */
	if (id == g->scanout_id) {
		int x = (int)q.x - (int)g->x, y = (int)q.y - (int)g->y;

		console_update(g->console, x, y, q.width + MIN(x, 0), q.height + MIN(y, 0));
	}
	return VIRTIO_GPU_RESP_OK_NODATA;
}

static u32 transfer_to_host(struct virtio_gpu *g, struct command *c)
{
	struct gpu_resource *r = gpu_find(g, GUINT32_FROM_LE(c->in.transfer.resource_id));
	struct rect q = rect_of(&c->in.transfer.r);

	if (!r)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	return gpu_transfer(g, r, q.x, q.y, q.width, q.height,
			    GUINT64_FROM_LE(c->in.transfer.offset));
}

static u32 attach_backing(struct virtio_gpu *g, struct command *c)
{
	struct gpu_resource *r = gpu_find(g, GUINT32_FROM_LE(c->in.attach.resource_id));
	u32 n = GUINT32_FROM_LE(c->in.attach.nr_entries);
	g_autofree struct virtio_gpu_mem_entry *entries = NULL;
	struct gpu_piece *pieces;
	u64 bytes = n * (u64)sizeof(*entries);

	if (!r)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	if (!n || n > GPU_ENTRIES_MAX || c->elem->out_len < sizeof(c->in.attach) + bytes)
		return VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER;
	entries = g_malloc(bytes);
	virtq_elem_read(c->elem, sizeof(c->in.attach), entries, bytes);
	pieces = g_new0(struct gpu_piece, n);
	for (u32 i = 0; i < n; i++) {
		pieces[i].gpa = GUINT64_FROM_LE(entries[i].addr);
		pieces[i].len = GUINT32_FROM_LE(entries[i].length);
	}
	return gpu_attach(g, r, pieces, n);
}

static u32 detach_backing(struct virtio_gpu *g, struct command *c)
{
	struct gpu_resource *r = gpu_find(g, GUINT32_FROM_LE(c->in.detach.resource_id));

	if (!r || !r->pieces)
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	gpu_detach(g, r);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

static void note_position(struct virtio_gpu *g, const struct command *c)
{
	g->cursor_x = GUINT32_FROM_LE(c->in.cursor.pos.x);
	g->cursor_y = GUINT32_FROM_LE(c->in.cursor.pos.y);
}

static u32 update_cursor(struct virtio_gpu *g, struct command *c)
{
	if (c->in.cursor.pos.scanout_id)
		return VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID;
	note_position(g, c);
	g->cursor_id = GUINT32_FROM_LE(c->in.cursor.resource_id);
	g->hot_x = GUINT32_FROM_LE(c->in.cursor.hot_x);
	g->hot_y = GUINT32_FROM_LE(c->in.cursor.hot_y);
	gpu_show_cursor(g);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

/* Viewers draw the pointer where their user has it. */
static u32 move_cursor(struct virtio_gpu *g, struct command *c)
{
	if (c->in.cursor.pos.scanout_id)
		return VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID;
	note_position(g, c);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

static const struct row {
	u32 type;
	bool cursor; /* is sent on the cursor queue */
	size_t size; /* bytes */
	u32 (*run)(struct virtio_gpu *g, struct command *c);
} rows[] = {
#define ROW(name, cursor, member, fn)                                                              \
	{                                                                                          \
		VIRTIO_GPU_CMD_##name, cursor, sizeof(((struct command *)0)->in.member), fn        \
	}
	ROW(GET_DISPLAY_INFO, false, hdr, get_display_info),
	ROW(GET_EDID, false, edid, get_edid),
	ROW(RESOURCE_CREATE_2D, false, create, create_2d),
	ROW(RESOURCE_UNREF, false, unref, unref),
	ROW(SET_SCANOUT, false, scanout, set_scanout),
	ROW(RESOURCE_FLUSH, false, flush, flush),
	ROW(TRANSFER_TO_HOST_2D, false, transfer, transfer_to_host),
	ROW(RESOURCE_ATTACH_BACKING, false, attach, attach_backing),
	ROW(RESOURCE_DETACH_BACKING, false, detach, detach_backing),
	ROW(UPDATE_CURSOR, true, cursor, update_cursor),
	ROW(MOVE_CURSOR, true, cursor, move_cursor),
};

static u32 run_command(struct virtio_gpu *g, struct command *c, bool cursor)
{
	u64 got = virtq_elem_read(c->elem, 0, &c->in, sizeof(c->in));
	u32 type = got < sizeof(c->in.hdr) ? 0 : GUINT32_FROM_LE(c->in.hdr.type);

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].type == type && rows[i].cursor == cursor && got >= rows[i].size)
			return rows[i].run(g, c);
	return VIRTIO_GPU_RESP_ERR_UNSPEC;
}

static void answer(struct virtio_gpu *g, struct virtqueue *vq, struct virtqueue_elem *elem)
{
	struct command c = { .elem = elem, .out_len = sizeof(c.out.hdr) };
	u32 result = run_command(g, &c, vq == g->cursor_queue);

	if (result >= VIRTIO_GPU_RESP_ERR_UNSPEC) {
		log_guest("virtio-gpu: command 0x%x: error 0x%x\n", GUINT32_FROM_LE(c.in.hdr.type),
			  result);
		c.out_len = sizeof(c.out.hdr);
	}
	c.out.hdr.type = GUINT32_TO_LE(result);
	if (c.in.hdr.flags & GUINT32_TO_LE(VIRTIO_GPU_FLAG_FENCE)) {
		c.out.hdr.flags = GUINT32_TO_LE(VIRTIO_GPU_FLAG_FENCE);
		c.out.hdr.fence_id = c.in.hdr.fence_id;
		c.out.hdr.ctx_id = c.in.hdr.ctx_id;
	}
	virtqueue_push(vq, elem, virtq_elem_write(elem, 0, &c.out, c.out_len));
	virtio_notify(vq);
}

static void gpu_handle(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq)))
			answer(gpu_of(vdev), vq, elem);
	} while (!virtqueue_notify_on(vq));
}

/* ---- The device ---- */

static u64 gpu_features(struct virtio_device *vdev)
{
	return gpu_of(vdev)->opt_edid ? 1ull << VIRTIO_GPU_F_EDID : 0;
}

static void gpu_config(struct virtio_device *vdev, u8 *config)
{
	const struct virtio_gpu_config c = { .num_scanouts = GUINT32_TO_LE(1) };

	memcpy(config, &c, sizeof(c));
}

static void gpu_reset(struct virtio_device *vdev)
{
	struct virtio_gpu *g = gpu_of(vdev);

	gpu_drop_all(g);
	g->scanout_id = g->width = g->height = g->x = g->y = 0;
	g->cursor_id = g->hot_x = g->hot_y = g->cursor_x = g->cursor_y = 0;
	gpu_show(g);
	gpu_show_cursor(g);
}

static const struct virtio_class gpu_class = {
	.id = VIRTIO_ID_GPU,
	.config_size = sizeof(struct virtio_gpu_config),
	.features = gpu_features,
	.config_get = gpu_config,
	.reset = gpu_reset,
};

static int check_options(const struct virtio_gpu *g, GError **err)
{
	if (g->opt_max_outputs != 1) {
		error_set(err, "max_outputs=%u is not supported: there is one output, use 1",
			  g->opt_max_outputs);
		return -EINVAL;
	}
	if (g->opt_xres < SIDE_MIN || g->opt_xres > SURFACE_MAX_SIDE || g->opt_yres < SIDE_MIN ||
	    g->opt_yres > SURFACE_MAX_SIDE) {
		error_set(err, "xres=%u, yres=%u: both must be between %d and %d", g->opt_xres,
			  g->opt_yres, SIDE_MIN, SURFACE_MAX_SIDE);
		return -EINVAL;
	}
	if (!g->vdev.dev.machine->host->display) {
		error_set(err, "the machine has no place for displays");
		return -EINVAL;
	}
	return 0;
}

static int gpu_realize(struct device *dev, GError **err)
{
	struct virtio_gpu *g = container_of(dev, struct virtio_gpu, vdev.dev);
	int ret = check_options(g, err) ?: virtio_device_init(&g->vdev, &gpu_class, 2, err);

	if (ret)
		return ret;
	g->ctrl = virtio_add_queue(&g->vdev, CTRL_SIZE, gpu_handle);
	g->cursor_queue = virtio_add_queue(&g->vdev, CURSOR_SIZE, gpu_handle);
	g->resources = g_hash_table_new(NULL, NULL);
	g->console = console_create(dev->machine->host->display, device_user_id(dev), 0);
	return 0;
}

static void gpu_unrealize(struct device *dev)
{
	struct virtio_gpu *g = container_of(dev, struct virtio_gpu, vdev.dev);

	virtio_device_finish(&g->vdev);
	console_destroy(g->console);
	g_hash_table_unref(g->resources);
}

static const struct property gpu_props[] = {
	VIRTIO_PROPS(struct virtio_gpu),
	PROP(struct virtio_gpu, opt_max_outputs, "max_outputs", U32, "1", "outputs (only 1)"),
	PROP(struct virtio_gpu, opt_edid, "edid", BOOL, "on", "describe a monitor"),
	PROP(struct virtio_gpu, opt_xres, "xres", U32, "1280", "width that it prefers, pixels"),
	PROP(struct virtio_gpu, opt_yres, "yres", U32, "800", "height, pixels"),
	PROP(struct virtio_gpu, opt_max_hostmem, "max_hostmem", SIZE, "256M",
	     "host memory that the guest's pictures may take"),
	PROP_END
};

const struct device_type virtio_gpu_type = {
	.name = "virtio-gpu-device",
	.alias = "virtio-gpu",
	.desc = "virtio display, 2D",
	.category = DEVICE_DISPLAY,
	.bus = "virtio-bus",
	.instance_size = sizeof(struct virtio_gpu),
	.props = gpu_props,
	.user_creatable = true,
	.realize = gpu_realize,
	.unrealize = gpu_unrealize,
	.reset = virtio_device_reset,
	.state = &gpu_state,
};

/*
 * hw/display/virtio-gpu-state.c - the virtio display device in the migration stream.
 *
 * Beside the field of all virtio devices there is one more: resources with their pixels, ended by
 * the id 0, then the outputs.
 */
#include "hw/display/virtio-gpu.h"

#include "util/error.h"

#define OUTPUTS 1

static void save_resource(struct state_writer *w, const struct gpu_resource *r)
{
	const struct surface *s = r->surface;

	state_put_be32(w, r->id);
	state_put_be32(w, s->width);
	state_put_be32(w, s->height);
	state_put_be32(w, r->format);
	state_put_be32(w, r->npieces);
	for (u32 i = 0; i < r->npieces; i++) {
		state_put_be64(w, r->pieces[i].gpa);
		state_put_be32(w, r->pieces[i].len);
	}
	state_put_buffer(w, s->bits, (size_t)s->stride * s->height);
}

static int gpu_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	struct virtio_gpu *g = field;
	const u32 output[] = { g->scanout_id, g->width, g->height, g->x,        g->y,
			       g->cursor_id,  g->hot_x, g->hot_y,  g->cursor_x, g->cursor_y };
	GHashTableIter it;
	gpointer r;

	g_hash_table_iter_init(&it, g->resources);
	while (g_hash_table_iter_next(&it, NULL, &r))
		save_resource(w, r);
	state_put_be32(w, 0);
	state_put_be32(w, 0); /* a member without meaning for others */
	state_put_be32(w, OUTPUTS);
	for (unsigned i = 0; i < ARRAY_SIZE(output); i++)
		state_put_be32(w, output[i]);
	return 0;
}

static int load_resource(struct state_reader *r, struct virtio_gpu *g, u32 id, GError **err)
{
	u32 width = state_get_be32(r), height = state_get_be32(r), format = state_get_be32(r);
	u32 n = state_get_be32(r);
	u32 result = gpu_create(g, id, format, width, height);
	struct gpu_piece *pieces;
	struct gpu_resource *res;

	if (result == VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY) {
		error_set(
			err,
			"virtio-gpu: resource %u of %ux%u pixels is more than max_hostmem=%" PRIu64
			" allows",
			id, width, height, g->opt_max_hostmem);
		return -EINVAL;
	}
	if (result != VIRTIO_GPU_RESP_OK_NODATA || n > GPU_ENTRIES_MAX) {
		error_set(
			err,
			"virtio-gpu: resource %u of %ux%u pixels of format %u in %u pieces is not "
			"one",
			id, width, height, format, n);
		return -EINVAL;
	}
	res = gpu_find(g, id);
	pieces = g_new0(struct gpu_piece, n);
	for (u32 i = 0; i < n; i++) {
		pieces[i].gpa = state_get_be64(r);
		pieces[i].len = state_get_be32(r);
	}
	if (gpu_attach(g, res, pieces, n) != VIRTIO_GPU_RESP_OK_NODATA) {
		error_set(err,
			  "virtio-gpu: resource %u: %u pieces are more than max_hostmem allows", id,
			  n);
		return -EINVAL;
	}
	state_get_buffer(r, res->surface->bits, (size_t)res->surface->stride * height);
	return 0;
}

static int load_output(struct state_reader *r, struct virtio_gpu *g, GError **err)
{
	u32 *const output[] = { &g->scanout_id, &g->width, &g->height, &g->x,        &g->y,
				&g->cursor_id,  &g->hot_x, &g->hot_y,  &g->cursor_x, &g->cursor_y };
	struct gpu_resource *res;
	u32 n;

	state_get_be32(r);
	n = state_get_be32(r);
	if (n != OUTPUTS) {
		error_set(err, "virtio-gpu: the source has %u outputs, this device %d", n, OUTPUTS);
		return -EINVAL;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(output); i++)
		*output[i] = state_get_be32(r);
	res = g->scanout_id ? gpu_find(g, g->scanout_id) : NULL;
	if (g->scanout_id && (!res || !gpu_within(res, g->x, g->y, g->width, g->height))) {
		error_set(err, "virtio-gpu: output of %ux%u pixels at (%u, %u) of resource %u",
			  g->width, g->height, g->x, g->y, g->scanout_id);
		g->scanout_id = 0;
		return -EINVAL;
	}
	gpu_show(g);
	gpu_show_cursor(g);
	return 0;
}

static int gpu_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	struct virtio_gpu *g = field;
	u32 id;

	while ((id = state_get_be32(r)))
		if (load_resource(r, g, id, err))
			return -EINVAL;
	return load_output(r, g, err);
}

static const struct state_codec gpu_codec = { "virtio-gpu", gpu_save, gpu_load };

static const struct state_field gpu_fields[] = {
	VIRTIO_STATE_FIELD,
	{ .name = "virtio-gpu",
	  .type = STATE_CUSTOM,
	  .size = sizeof(struct virtio_gpu),
	  .codec = &gpu_codec },
	FIELD_END,
};

const struct state_desc gpu_state = {
	.name = "virtio-gpu",
	.version = 1,
	.min_version = 1,
	.fields = gpu_fields,
};

/*
 * hw/display/virtio-gpu-resource.c - resources of the virtio display device.
 *
 * Source: Virtio 1.2, 5.7.6.7. Everything that a guest can make the host keep is charged against
 * max_hostmem: pixels, the list of backing pieces, and a page for the rest.
 */
#include "hw/display/virtio-gpu.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/log.h"

#define OVERHEAD 4096

static const struct {
	u32 format;
	pixman_format_code_t pixman;
} formats[] = {
	/* Virtio names bytes as they follow each other, pixman the parts of a little-endian word.
	 */
	{ VIRTIO_GPU_FORMAT_B8G8R8A8_UNORM, PIXMAN_a8r8g8b8 },
	{ VIRTIO_GPU_FORMAT_B8G8R8X8_UNORM, PIXMAN_x8r8g8b8 },
	{ VIRTIO_GPU_FORMAT_A8R8G8B8_UNORM, PIXMAN_b8g8r8a8 },
	{ VIRTIO_GPU_FORMAT_X8R8G8B8_UNORM, PIXMAN_b8g8r8x8 },
	{ VIRTIO_GPU_FORMAT_R8G8B8A8_UNORM, PIXMAN_a8b8g8r8 },
	{ VIRTIO_GPU_FORMAT_X8B8G8R8_UNORM, PIXMAN_r8g8b8x8 },
	{ VIRTIO_GPU_FORMAT_A8B8G8R8_UNORM, PIXMAN_r8g8b8a8 },
	{ VIRTIO_GPU_FORMAT_R8G8B8X8_UNORM, PIXMAN_x8b8g8r8 },
};

struct gpu_resource *gpu_find(struct virtio_gpu *g, u32 id)
{
	return g_hash_table_lookup(g->resources, GUINT_TO_POINTER(id));
}

/* False: the guest has used up what it may have. */
static bool charge(struct virtio_gpu *g, struct gpu_resource *r, u64 bytes)
{
	if (bytes > g->opt_max_hostmem - g->used)
		return false;
	g->used += bytes;
	r->charged += bytes;
	return true;
}

static void resource_free(struct virtio_gpu *g, struct gpu_resource *r)
{
	g->used -= r->charged;
	surface_unref(r->surface);
	g_free(r->pieces);
	g_free(r);
}

u32 gpu_create(struct virtio_gpu *g, u32 id, u32 format, u32 width, u32 height)
{
	struct gpu_resource *r;
	unsigned i = 0;

	if (!id || gpu_find(g, id))
		return VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID;
	while (i < ARRAY_SIZE(formats) && formats[i].format != format)
		i++;
	if (i == ARRAY_SIZE(formats) || !surface_bytes(formats[i].pixman, width, height))
		return VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER;
	r = g_new0(struct gpu_resource, 1);
	r->id = id;
	r->format = format;
	if (charge(g, r, surface_bytes(formats[i].pixman, width, height) + OVERHEAD))
		r->surface = surface_create(formats[i].pixman, width, height);
	if (!r->surface) {
		resource_free(g, r);
		return VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY;
	}
	g_hash_table_insert(g->resources, GUINT_TO_POINTER(id), r);
	return VIRTIO_GPU_RESP_OK_NODATA;
}

void gpu_unref(struct virtio_gpu *g, struct gpu_resource *r)
{
	u32 id = r->id;

	g_hash_table_remove(g->resources, GUINT_TO_POINTER(id));
	resource_free(g, r);
	if (id == g->scanout_id) {
		g->scanout_id = 0;
		gpu_show(g);
	}
	if (id == g->cursor_id) {
		g->cursor_id = 0;
		gpu_show_cursor(g);
	}
}

void gpu_drop_all(struct virtio_gpu *g)
{
	GHashTableIter it;
	gpointer r;

	g_hash_table_iter_init(&it, g->resources);
	while (g_hash_table_iter_next(&it, NULL, &r)) {
		g_hash_table_iter_remove(&it);
		resource_free(g, r);
	}
}

u32 gpu_attach(struct virtio_gpu *g, struct gpu_resource *r, struct gpu_piece *pieces, u32 n)
{
	if (r->pieces || !charge(g, r, n * sizeof(*pieces))) {
		g_free(pieces);
		return r->pieces ? VIRTIO_GPU_RESP_ERR_UNSPEC : VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY;
	}
	r->pieces = pieces;
	r->npieces = n;
	r->store = 0;
	for (u32 i = 0; i < n; i++)
		r->store += pieces[i].len;
	return VIRTIO_GPU_RESP_OK_NODATA;
}

void gpu_detach(struct virtio_gpu *g, struct gpu_resource *r)
{
	u64 bytes = r->npieces * sizeof(*r->pieces);

	r->charged -= bytes;
	g->used -= bytes;
	g_clear_pointer(&r->pieces, g_free);
	r->npieces = 0;
}

bool gpu_within(const struct gpu_resource *r, u32 x, u32 y, u32 width, u32 height)
{
	return width && height && x <= r->surface->width && y <= r->surface->height &&
	       width <= r->surface->width - x && height <= r->surface->height - y;
}

/* A place in a backing store, for reading on from there. */
struct reader {
	struct address_space *as;
	const struct gpu_resource *r;
	u32 piece;
	u64 start; /* of that piece in the store, bytes */
};

/* Copy @len bytes at @offset. Return: false if some are not in guest RAM. */
static bool read_store(struct reader *in, u64 offset, u8 *out, u64 len)
{
	while (len && in->piece < in->r->npieces) {
		const struct gpu_piece *p = &in->r->pieces[in->piece];
		u64 skip, n;

		if (offset - in->start >= p->len) {
			in->start += p->len;
			in->piece++;
			continue;
		}
		skip = offset - in->start;
		n = MIN(len, p->len - skip);
		if (address_space_read(in->as, p->gpa + skip, out, n) != MEM_OK)
			return false;
		offset += n;
		out += n;
		len -= n;
	}
	return !len;
}

/* The pixel (x, y) is at @offset in the store, lines follow at the resource's stride. */
u32 gpu_transfer(struct virtio_gpu *g, struct gpu_resource *r, u32 x, u32 y, u32 width, u32 height,
		 u64 offset)
{
	struct reader in = { .as = g->vdev.dev.machine->vm->memory, .r = r };
	struct surface *s = r->surface;
	u8 *to = s->bits + (size_t)y * s->stride + 4 * (size_t)x;

	if (!gpu_within(r, x, y, width, height))
		return VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER;
	if (!r->pieces || offset > r->store ||
	    (u64)s->stride * (height - 1) + 4 * (u64)width > r->store - offset)
		return VIRTIO_GPU_RESP_ERR_UNSPEC;
	if (width == s->width) { /* one run */
		width *= height;
		height = 1;
	}
	for (u32 i = 0; i < height; i++)
		if (!read_store(&in, offset + (u64)i * s->stride, to + (size_t)i * s->stride,
				4 * (u64)width))
			return VIRTIO_GPU_RESP_ERR_UNSPEC;
	return VIRTIO_GPU_RESP_OK_NODATA;
}

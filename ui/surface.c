/* ui/surface.c - pictures with a count of references. */
#include "ui/surface.h"

static unsigned stride_of(pixman_format_code_t format, unsigned width)
{
	return (width * PIXMAN_FORMAT_BPP(format) / 8 + 3) & ~3u;
}

u64 surface_bytes(pixman_format_code_t format, unsigned width, unsigned height)
{
	if (!width || !height || width > SURFACE_MAX_SIDE || height > SURFACE_MAX_SIDE)
		return 0;
	return (u64)stride_of(format, width) * height;
}

struct surface *surface_create(pixman_format_code_t format, unsigned width, unsigned height)
{
	u64 bytes = surface_bytes(format, width, height);
	u8 *bits = bytes ? g_try_malloc0(bytes) : NULL;
	struct surface *s;

	if (!bits)
		return NULL;
	s = surface_wrap(format, width, height, stride_of(format, width), bits);
	s->own = true;
	return s;
}

struct surface *surface_wrap(pixman_format_code_t format, unsigned width, unsigned height,
			     unsigned stride, u8 *bits)
{
	struct surface *s = g_new0(struct surface, 1);

	s->refs = 1;
	s->format = format;
	s->width = width;
	s->height = height;
	s->stride = stride;
	s->bits = bits;
	return s;
}

struct surface *surface_part(struct surface *base, unsigned x, unsigned y, unsigned width,
			     unsigned height)
{
	size_t at = (size_t)y * base->stride + (size_t)x * PIXMAN_FORMAT_BPP(base->format) / 8;
	struct surface *s =
		surface_wrap(base->format, width, height, base->stride, base->bits + at);

	s->base = surface_ref(base);
	return s;
}

struct surface *surface_ref(struct surface *s)
{
	if (s)
		g_atomic_int_inc(&s->refs);
	return s;
}

void surface_unref(struct surface *s)
{
	if (!s || !g_atomic_int_dec_and_test(&s->refs))
		return;
	surface_unref(s->base);
	if (s->own)
		g_free(s->bits);
	g_free(s);
}

/* Images are made for each copy: pixman's own objects may not be shared between threads. */
void surface_read(const struct surface *s, unsigned x, unsigned y, unsigned width, unsigned height,
		  u32 *out, unsigned stride)
{
	pixman_image_t *from, *to;

	if (s->format == PIXMAN_x8r8g8b8 || s->format == PIXMAN_a8r8g8b8) {
		for (unsigned i = 0; i < height; i++)
			memcpy((u8 *)out + (size_t)i * stride,
			       s->bits + (size_t)(y + i) * s->stride + 4 * (size_t)x, 4 * width);
		return;
	}
	from = pixman_image_create_bits_no_clear(s->format, s->width, s->height, (u32 *)s->bits,
						 s->stride);
	to = pixman_image_create_bits_no_clear(PIXMAN_a8r8g8b8, width, height, out, stride);
	if (from && to)
		pixman_image_composite32(PIXMAN_OP_SRC, from, NULL, to, x, y, 0, 0, 0, 0, width,
					 height);
	if (from)
		pixman_image_unref(from);
	if (to)
		pixman_image_unref(to);
}

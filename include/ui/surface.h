/*
 * ui/surface.h - pictures that a display device shows, and copying out of them.
 *
 * A surface is shared between the device that draws into it and the threads that show it, hence
 * the atomic count of references. Whoever shows it may read while the device draws: a pixel may
 * then be old or new, and the device reports the rectangle once it is done.
 */
#ifndef UI_SURFACE_H
#define UI_SURFACE_H

#include "util/base.h"

#include <pixman.h>

#define SURFACE_MAX_SIDE 16384 /* pixels; no picture is wider or higher */

struct surface {
	gint refs;
	pixman_format_code_t format;
	unsigned width, height; /* pixels, both > 0 */
	unsigned stride;        /* bytes from line to line, a multiple of 4 */
	u8 *bits;
	bool own;             /* bits are freed with it */
	struct surface *base; /* whose part it is; NULL */
};

/*
 * surface_create() - a black picture with memory of its own.
 * @width, @height: 1 to SURFACE_MAX_SIDE.
 *
 * Return: the picture, with one reference; NULL if there is no memory for it.
 */
struct surface *surface_create(pixman_format_code_t format, unsigned width, unsigned height);

/* surface_wrap() - a picture in memory that stays when the surface goes (guest RAM); @bits is
 * aligned to 4 bytes. One reference. */
struct surface *surface_wrap(pixman_format_code_t format, unsigned width, unsigned height,
			     unsigned stride, u8 *bits);

/* surface_part() - a rectangle of another picture, which stays while this does. One reference. */
struct surface *surface_part(struct surface *base, unsigned x, unsigned y, unsigned width,
			     unsigned height);

/* surface_ref(), surface_unref() - any thread; NULL is let through, ignored. */
struct surface *surface_ref(struct surface *s);
void surface_unref(struct surface *s);

/* surface_bytes() - memory that a picture of its own takes; 0: the size is out of range. */
u64 surface_bytes(pixman_format_code_t format, unsigned width, unsigned height);

/*
 * surface_read() - copy a rectangle out, as a8r8g8b8 in the host's byte order; alpha means
 * something where the picture has it.
 * @x, @y, @width, @height: within the picture.
 * @out: its first pixel; @stride: bytes from line to line there, a multiple of 4.
 *
 * Any thread.
 */
void surface_read(const struct surface *s, unsigned x, unsigned y, unsigned width, unsigned height,
		  u32 *out, unsigned stride);

#endif

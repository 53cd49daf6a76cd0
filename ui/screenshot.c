/*
 * ui/screenshot.c - pictures as files: PPM (Netpbm's raw form, P6), and PNG by libpng.
 */
#include "ui/screenshot.h"

#include <png.h>
#include <stdio.h>

#include "util/error.h"

#define PNG_LEVEL 1 /* of zlib: screens are simple, and somebody waits */

/* A line as bytes red, green, blue. */
static void read_line(const struct surface *s, unsigned y, u32 *pixels, u8 *out)
{
	surface_read(s, 0, y, s->width, 1, pixels, s->width * sizeof(u32));
	for (unsigned x = 0; x < s->width; x++) {
		*out++ = pixels[x] >> 16;
		*out++ = pixels[x] >> 8;
		*out++ = pixels[x];
	}
}

static bool write_ppm(const struct surface *s, FILE *f, u32 *pixels, u8 *line)
{
	fprintf(f, "P6\n%u %u\n255\n", s->width, s->height);
	for (unsigned y = 0; y < s->height && !ferror(f); y++) {
		read_line(s, y, pixels, line);
		fwrite(line, 3, s->width, f);
	}
	return !ferror(f);
}

static bool write_png(const struct surface *s, FILE *f, u32 *pixels, u8 *line)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info || setjmp(png_jmpbuf(png))) { /* libpng comes here when it fails */
		png_destroy_write_struct(&png, &info);
		return false;
	}
	png_init_io(png, f);
	png_set_compression_level(png, PNG_LEVEL);
	png_set_IHDR(png, info, s->width, s->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (unsigned y = 0; y < s->height; y++) {
		read_line(s, y, pixels, line);
		png_write_row(png, line);
	}
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return true;
}

int screenshot_write(const struct surface *s, enum screenshot_format format, const char *path,
		     GError **err)
{
	g_autofree u32 *pixels = g_new(u32, s->width);
	g_autofree u8 *line = g_malloc(3 * s->width);
	FILE *f = fopen(path, "we");
	int ret = f ? 0 : -errno;
	bool good;

	if (f) {
		errno = 0;
		good = (format == SCREENSHOT_PNG ? write_png : write_ppm)(s, f, pixels, line);
		if (!good)
			ret = errno ? -errno : -EIO;
		if (fclose(f) && !ret)
			ret = -errno;
	}
	if (ret)
		error_set_errno(err, -ret, "screen shot '%s'", path);
	return ret;
}

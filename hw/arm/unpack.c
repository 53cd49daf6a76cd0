/*
 * hw/arm/unpack.c - kernels that come compressed (RFC 1952; Linux, drivers/firmware/efi/libstub/
 * zboot-header.S for the layout of EFI images with a payload).
 */
#include "hw/arm/unpack.h"

#include <zlib.h>

#include "util/error.h"

#define UNPACKED_MAX (256 * MiB)
#define CHUNK        (4 * MiB)
#define GZIP_WINDOW  (15 + 16) /* zlib's code for a gzip header */

/* Start of such an EFI image; little-endian. */
struct zboot_header {
	u8 mz[4];
	char type[4]; /* "zimg" */
	u32 payload_offset;
	u32 payload_size;
	u32 reserved[2];
	char compression[32]; /* name, ended by NUL */
};
_Static_assert(sizeof(struct zboot_header) == 56, "header of an EFI image with payload");

static bool is_gzip(const u8 *data, gsize size)
{
	return size > 18 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8;
}

/* Inflate until the end of the stream. Return: 0 or -EINVAL with @err. */
static int inflate_all(z_stream *z, GByteArray *out, GError **err)
{
	int ret;

	do {
		guint at = out->len;

		if (at >= UNPACKED_MAX) {
			error_set(err, "it unpacks to more than %u MiB",
				  (unsigned)(UNPACKED_MAX / MiB));
			return -EINVAL;
		}
		g_byte_array_set_size(out, at + CHUNK);
		z->next_out = out->data + at;
		z->avail_out = CHUNK;
		ret = inflate(z, Z_NO_FLUSH);
		g_byte_array_set_size(out, at + CHUNK - z->avail_out);
		if (ret != Z_OK && ret != Z_STREAM_END) {
			error_set(err, "its gzip data is damaged (%s)",
				  z->msg ? z->msg : zError(ret));
			return -EINVAL;
		}
	} while (ret != Z_STREAM_END);
	return 0;
}

static GBytes *gunzip(const u8 *data, gsize size, GError **err)
{
	z_stream z = { .next_in = (u8 *)data, .avail_in = size };
	GByteArray *out;
	int ret;

	if (size > UINT32_MAX || inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
		error_set(err, "it cannot be unpacked");
		return NULL;
	}
	out = g_byte_array_new();
	ret = inflate_all(&z, out, err);
	inflateEnd(&z);
	if (ret) {
		g_byte_array_unref(out);
		return NULL;
	}
	return g_byte_array_free_to_bytes(out);
}

static GBytes *unpack_payload(const u8 *data, gsize size, GError **err)
{
	const struct zboot_header *h = (const void *)data;
	gsize offset = GUINT32_FROM_LE(h->payload_offset), len = GUINT32_FROM_LE(h->payload_size);

	if (offset > size || len > size - offset) {
		error_set(err, "its payload lies outside of the file");
		return NULL;
	}
	if (strncmp(h->compression, "gzip", sizeof(h->compression)) ||
	    !is_gzip(data + offset, len)) {
		error_set(err, "an EFI image compressed by '%.32s'; gzip is understood",
			  h->compression);
		return NULL;
	}
	return gunzip(data + offset, len, err);
}

GBytes *kernel_unpack(GBytes *file, GError **err)
{
	gsize size;
	const u8 *data = g_bytes_get_data(file, &size);

	if (is_gzip(data, size))
		return gunzip(data, size, err);
	if (size > sizeof(struct zboot_header) && !memcmp(data, "MZ", 2) &&
	    !memcmp(data + 4, "zimg", 4))
		return unpack_payload(data, size, err);
	return g_bytes_ref(file);
}

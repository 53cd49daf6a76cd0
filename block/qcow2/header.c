/* block/qcow2/header.c - the first cluster of a qcow2 file: fields, features, extensions. */
#include "block/qcow2/qcow2.h"

#include "util/error.h"

#define BACKING_NAME_MAX 1023
#define L1_MAX           (32 * MiB) /* bytes; an image must not take all memory */
#define REFTABLE_MAX     (8 * MiB)

enum {
	VERSION = 4,
	BACKING_OFFSET = 8,
	BACKING_SIZE = 16,
	CLUSTER_BITS = 20,
	DISK_SIZE = 24,
	CRYPT_METHOD = 32,
	L1_SIZE = 36,
	L1_OFFSET = 40,
	REFTABLE_OFFSET = 48,
	REFTABLE_CLUSTERS = 56,
	SNAPSHOTS = 60,
	V2_LENGTH = 72,
	INCOMPATIBLE = 72,
	COMPATIBLE = 80,
	AUTOCLEAR = 88,
	REFCOUNT_ORDER = 96,
	HEADER_LENGTH = 100,
	V3_LENGTH = 104,
	COMPRESSION_TYPE = 104,
};

enum extension {
	EXT_END = 0,
	EXT_BACKING_FORMAT = 0xe2792aca,
	EXT_BITMAPS = 0x23852875,
};

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return GUINT32_FROM_BE(v);
}

static u64 get64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return GUINT64_FROM_BE(v);
}

/* Everything that is wrong with the image is told in one form. */
#define refuse(img, err, ...)                                                                      \
	(error_set(err, __VA_ARGS__),                                                              \
	 g_prefix_error(err, "qcow2 image '%s': ", (img)->o.filename), -EINVAL)

static int read_now(struct image *img, u64 offset, void *buf, size_t len)
{
	struct iovec v = { buf, len };

	return image_io(img, &(struct io){ IO_READ, offset, len, &v, 1, 0 });
}

/* ---- Features ---- */

static int check_features(struct image *img, const struct qcow2_header *h, GError **err)
{
	static const struct {
		u64 bit;
		const char *what;
	} refused[] = {
		{ QCOW2_DATA_FILE, "its data is in another file (data_file)" },
		{ QCOW2_EXTENDED_L2, "it has extended L2 entries (extended_l2)" },
	};
	const u64 known = QCOW2_DIRTY | QCOW2_CORRUPT | QCOW2_DATA_FILE | QCOW2_COMPRESSION |
			  QCOW2_EXTENDED_L2;

	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		if (h->incompatible & refused[i].bit)
			return refuse(img, err,
				      "%s, which is not supported; 'qemu-img convert -O qcow2' "
				      "makes a copy without",
				      refused[i].what);
	}
	if (h->incompatible & ~known)
		return refuse(img, err, "unknown incompatible features, bits %#" PRIx64,
			      h->incompatible & ~known);
	return 0;
}

static int read_v3(struct image *img, const u8 *p, struct qcow2_header *h, u32 *length,
		   GError **err)
{
	h->incompatible = get64(p + INCOMPATIBLE);
	h->compatible = get64(p + COMPATIBLE);
	h->autoclear = get64(p + AUTOCLEAR);
	h->refcount_order = get32(p + REFCOUNT_ORDER);
	*length = get32(p + HEADER_LENGTH);
	if (*length < V3_LENGTH || *length > 1u << h->cluster_bits || *length % 8)
		return refuse(img, err, "header of %u bytes", *length);
	if (h->refcount_order > 6)
		return refuse(img, err, "refcounts of 2^%u bits", h->refcount_order);
	if (check_features(img, h, err))
		return -EINVAL;
	if (*length > COMPRESSION_TYPE)
		h->compression = p[COMPRESSION_TYPE];
	if (h->compression != QCOW2_ZLIB && h->compression != QCOW2_ZSTD)
		return refuse(img, err, "unknown compression type %u", h->compression);
	if ((h->compression != QCOW2_ZLIB) != !!(h->incompatible & QCOW2_COMPRESSION))
		return refuse(img, err, "compression type %u and its feature bit do not agree",
			      h->compression);
	return 0;
}

/* ---- Extensions and the name of the backing file ---- */

static int read_extensions(struct image *img, const u8 *p, u64 at, u64 end, struct qcow2_header *h,
			   GError **err)
{
	while (end - at >= 8) {
		u32 type = get32(p + at), len = get32(p + at + 4);

		if (type == EXT_END)
			return 0;
		at += 8;
		if (len > end - at)
			return refuse(img, err, "header extension %#x of %u bytes", type, len);
		if (type == EXT_BACKING_FORMAT) {
			g_free(h->backing_format);
			h->backing_format = g_strndup((const char *)p + at, len);
		}
		h->has_bitmaps |= type == EXT_BITMAPS;
		at += MIN(ROUND_UP((u64)len, 8), end - at);
	}
	return 0;
}

static int read_backing_name(struct image *img, const u8 *p, struct qcow2_header *h, u32 length,
			     u64 *ext_end, GError **err)
{
	u64 offset = get64(p + BACKING_OFFSET), cluster = (u64)1 << h->cluster_bits;
	u32 size = get32(p + BACKING_SIZE);

	*ext_end = cluster;
	if (!offset || !size)
		return 0;
	if (size > BACKING_NAME_MAX || offset < length || offset > cluster - size)
		return refuse(img, err, "name of the backing file of %u bytes at %" PRIu64, size,
			      offset);
	h->backing_name = g_strndup((const char *)p + offset, size);
	*ext_end = offset;
	return 0;
}

/* ---- Tables ---- */

static int check_tables(struct image *img, const struct qcow2_header *h, GError **err)
{
	u64 cluster = (u64)1 << h->cluster_bits;
	u64 per_l1 = cluster * (cluster / 8);

	if (h->size > (u64)1 << 62)
		return refuse(img, err, "disk of %" PRIu64 " bytes", h->size);
	if (!IS_ALIGNED(h->l1_offset, cluster) || h->l1_offset > QCOW2_OFFSET ||
	    (u64)h->l1_size * 8 > L1_MAX)
		return refuse(img, err, "L1 table of %u entries at %" PRIu64, h->l1_size,
			      h->l1_offset);
	if (DIV_ROUND_UP(h->size, per_l1) > h->l1_size || (h->l1_size && !h->l1_offset))
		return refuse(img, err, "L1 table of %u entries for a disk of %" PRIu64 " bytes",
			      h->l1_size, h->size);
	if (!h->reftable_offset || !IS_ALIGNED(h->reftable_offset, cluster) ||
	    h->reftable_offset > QCOW2_OFFSET || !h->reftable_clusters ||
	    h->reftable_clusters > REFTABLE_MAX / cluster)
		return refuse(img, err, "refcount table of %u clusters at %" PRIu64,
			      h->reftable_clusters, h->reftable_offset);
	return 0;
}

static int parse(struct image *img, const u8 *p, struct qcow2_header *h, GError **err)
{
	u32 length = V2_LENGTH, crypt = get32(p + CRYPT_METHOD);
	u64 ext_end;
	int ret = 0;

	h->size = get64(p + DISK_SIZE);
	h->l1_size = get32(p + L1_SIZE);
	h->l1_offset = get64(p + L1_OFFSET);
	h->reftable_offset = get64(p + REFTABLE_OFFSET);
	h->reftable_clusters = get32(p + REFTABLE_CLUSTERS);
	h->snapshots = get32(p + SNAPSHOTS);
	h->refcount_order = 4;
	memcpy(h->sector, p, sizeof(h->sector));
	if (crypt)
		return refuse(img, err,
			      "it is encrypted (method %u), which is not supported; "
			      "'qemu-img convert' makes a copy without",
			      crypt);
	if (h->version >= 3)
		ret = read_v3(img, p, h, &length, err);
	if (!ret)
		ret = read_backing_name(img, p, h, length, &ext_end, err);
	if (!ret)
		ret = read_extensions(img, p, length, ext_end, h, err);
	return ret ? ret : check_tables(img, h, err);
}

int qcow2_header_read(struct image *img, struct qcow2_header *h, GError **err)
{
	u8 start[24];
	g_autofree u8 *cluster = NULL;
	int ret = read_now(img, 0, start, sizeof(start));

	if (ret) {
		error_set_errno(err, -ret, "cannot read '%s'", img->o.filename);
		return ret;
	}
	h->version = get32(start + VERSION);
	h->cluster_bits = get32(start + CLUSTER_BITS);
	if (get32(start) != QCOW2_MAGIC)
		return refuse(img, err, "it does not begin as one");
	if (h->version != 2 && h->version != 3)
		return refuse(img, err, "version %u; 2 and 3 are supported", h->version);
	if (h->cluster_bits < 9 || h->cluster_bits > 21)
		return refuse(img, err, "clusters of 2^%u bytes; 2^9 to 2^21 are supported",
			      h->cluster_bits);
	cluster = g_malloc((size_t)1 << h->cluster_bits);
	ret = read_now(img, 0, cluster, (size_t)1 << h->cluster_bits);
	if (ret) {
		error_set_errno(err, -ret, "cannot read '%s'", img->o.filename);
		return ret;
	}
	return parse(img, cluster, h, err);
}

void qcow2_header_clear(struct qcow2_header *h)
{
	g_free(h->backing_name);
	g_free(h->backing_format);
	*h = (struct qcow2_header){ 0 };
}

int qcow2_header_check_write(const struct qcow2_header *h, const char *filename, GError **err)
{
	if (h->incompatible & QCOW2_CORRUPT)
		error_set(err,
			  "qcow2 image '%s' is marked as corrupt: 'qemu-img check -r all' may "
			  "repair it; read-only=on opens it as it is",
			  filename);
	else if (h->incompatible & QCOW2_DIRTY)
		error_set(err,
			  "qcow2 image '%s' was not closed after use with lazy refcounts: "
			  "'qemu-img check -r all' repairs it; read-only=on opens it as it is",
			  filename);
	else if (h->snapshots)
		error_set(err,
			  "qcow2 image '%s' has %u internal snapshots, and such images can only "
			  "be read here: give read-only=on (or -snapshot), or delete them with "
			  "'qemu-img snapshot -d'",
			  filename, h->snapshots);
	else
		return 0;
	return -EINVAL;
}

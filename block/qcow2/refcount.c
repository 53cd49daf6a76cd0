/*
 * block/qcow2/refcount.c - how often clusters of the file are used; taking and giving back.
 *
 * A refcount block that does not exist yet is put at the first of the clusters that it is to
 * count, so that it counts itself. The refcount table grows in memory first; its new place in the
 * file is taken when the allocation is over, from clusters like any others.
 */
#include "block/qcow2/qcow2.h"

#include "util/log.h"

#define REFTABLE_ENTRIES_MAX (8 * MiB / 8)

/* ---- Metadata ---- */

void qcow2_note_metadata(struct qcow2 *q, u64 offset, u64 clusters)
{
	u64 first = offset >> q->h.cluster_bits;

	for (u64 i = 0; i < clusters; i++)
		g_hash_table_add(q->metadata, GSIZE_TO_POINTER(first + i + 1));
}

static bool is_metadata(const struct qcow2 *q, u64 cluster)
{
	return g_hash_table_contains(q->metadata, GSIZE_TO_POINTER(cluster + 1));
}

bool qcow2_is_metadata(const struct qcow2 *q, u64 offset)
{
	return is_metadata(q, offset >> q->h.cluster_bits);
}

/* ---- One count ---- */

static u64 get_count(const struct qcow2 *q, const u8 *block, u64 index)
{
	unsigned order = q->h.refcount_order;

	switch (order) {
	case 6: return GUINT64_FROM_BE(((const u64 *)block)[index]);
	case 5: return GUINT32_FROM_BE(((const u32 *)block)[index]);
	case 4: return GUINT16_FROM_BE(((const u16 *)block)[index]);
	case 3: return block[index];
	default: break;
	}
	/* Of several in a byte the first is in the lowest bits. */
	return block[index >> (3 - order)] >> ((index << order) & 7) & ((1u << (1 << order)) - 1);
}

static void put_count(const struct qcow2 *q, u8 *block, u64 index, u64 value)
{
	unsigned order = q->h.refcount_order, shift;
	u8 mask, *byte;

	switch (order) {
	case 6: ((u64 *)block)[index] = GUINT64_TO_BE(value); return;
	case 5: ((u32 *)block)[index] = GUINT32_TO_BE((u32)value); return;
	case 4: ((u16 *)block)[index] = GUINT16_TO_BE((u16)value); return;
	case 3: block[index] = value; return;
	default: break;
	}
	shift = (index << order) & 7;
	mask = ((1u << (1 << order)) - 1) << shift;
	byte = &block[index >> (3 - order)];
	*byte = (*byte & ~mask) | (value << shift & mask);
}

/* The block that counts @cluster; NULL with @ret 0: there is none, all its counts are 0. */
static struct table *block_of(struct qcow2 *q, u64 cluster, int *ret)
{
	u64 index = cluster >> q->ref_bits, offset;

	*ret = 0;
	if (index >= q->reftable_size)
		return NULL;
	offset = GUINT64_FROM_BE(q->reftable[index]) & ~(u64)511;
	if (!offset)
		return NULL;
	if (!IS_ALIGNED(offset, q->cluster_size)) {
		*ret = qcow2_corrupt(q, "a refcount block is not aligned", offset);
		return NULL;
	}
	return table_get(q, &q->refs, offset, ret);
}

static u64 count_index(const struct qcow2 *q, u64 cluster)
{
	return cluster & (((u64)1 << q->ref_bits) - 1);
}

/* @cluster has a block in memory: block_of() was not NULL since the lock was taken. */
static void set_count(struct qcow2 *q, struct table *t, u64 cluster, u64 value)
{
	u64 index = count_index(q, cluster);

	put_count(q, t->bytes, index, value);
	table_mark(q, &q->refs, t, (index << q->h.refcount_order) >> 3,
		   1 << MAX(q->h.refcount_order, 3) >> 3);
}

/* ---- Growth ---- */

static int grow_reftable(struct qcow2 *q, u64 index)
{
	u64 size = MAX(q->reftable_size * 2, index + 1 + q->cluster_size / 8);

	size = ROUND_UP(size, q->cluster_size / 8);
	if (size > REFTABLE_ENTRIES_MAX)
		size = REFTABLE_ENTRIES_MAX;
	if (index >= size)
		return -EFBIG;
	q->reftable = g_renew(u64, q->reftable, size);
	memset(q->reftable + q->reftable_size, 0, (size - q->reftable_size) * 8);
	q->reftable_size = size;
	return 0;
}

/* Make the block that is to count @cluster, there. */
static int create_block(struct qcow2 *q, u64 cluster)
{
	u64 index = cluster >> q->ref_bits, offset = cluster << q->h.cluster_bits;
	struct table *t;
	int ret = index < q->reftable_size ? 0 : grow_reftable(q, index);

	if (ret)
		return ret;
	t = table_new(q, &q->refs, offset);
	set_count(q, t, cluster, 1);
	qcow2_note_metadata(q, offset, 1);
	q->reftable[index] = GUINT64_TO_BE(offset);
	q->ref_lo = MIN(q->ref_lo, index);
	q->ref_hi = MAX(q->ref_hi, index + 1);
	return 0;
}

/* ---- Taking ---- */

/*
 * The first run of free clusters from @from on; all of them have a block. Return: its length, or
 * -errno.
 */
static int find_run(struct qcow2 *q, u64 from, u64 least, u64 most, u64 *first)
{
	u64 n = 0, end = QCOW2_OFFSET >> q->h.cluster_bits;
	int ret;

	for (u64 at = from; at < end; at++) {
		struct table *t = block_of(q, at, &ret);

		if (ret)
			return ret;
		if (t && get_count(q, t->bytes, count_index(q, at))) {
			if (n >= least)
				return n;
			n = 0;
			continue;
		}
		if (is_metadata(q, at))
			return qcow2_corrupt(q, "metadata is not counted", at << q->h.cluster_bits);
		if (!t) {
			if (n >= least && n)
				return n;
			ret = create_block(q, at);
			if (ret)
				return ret;
			n = 0;
			continue;
		}
		if (!n)
			*first = at;
		if (++n == most)
			return n;
	}
	return -EFBIG;
}

static int take_run(struct qcow2 *q, u64 least, u64 most, u64 *first)
{
	int n = find_run(q, q->hint, least, most, first);

	for (int i = 0; i < n; i++) {
		int ret;
		struct table *t = block_of(q, *first + i, &ret);

		if (ret) { /* it was just there */
			qcow2_unalloc(q, *first, i);
			return ret;
		}
		set_count(q, t, *first + i, 1);
	}
	if (n > 0 && least == 1)
		q->hint = *first + n;
	return n;
}

/* A place for a refcount table that grew. */
static int place_reftable(struct qcow2 *q)
{
	u64 clusters, first, old = q->h.reftable_offset, old_clusters = q->h.reftable_clusters;
	int n;

	do {
		clusters = DIV_ROUND_UP(q->reftable_size * 8, q->cluster_size);
		n = take_run(q, clusters, clusters, &first);
		if (n < 0)
			return n;
		/* Blocks for the place itself may have made the table grow again. */
		if (clusters < DIV_ROUND_UP(q->reftable_size * 8, q->cluster_size)) {
			qcow2_unalloc(q, first, clusters);
			clusters = 0;
		}
	} while (!clusters);
	q->h.reftable_offset = first << q->h.cluster_bits;
	q->h.reftable_clusters = clusters;
	q->reftable_in_file = q->reftable_size;
	q->reftable_moved = true;
	qcow2_note_metadata(q, q->h.reftable_offset, clusters);
	qcow2_free_later(q, old >> q->h.cluster_bits, old_clusters);
	for (u64 i = 0; i < old_clusters; i++)
		g_hash_table_remove(q->metadata,
				    GSIZE_TO_POINTER((old >> q->h.cluster_bits) + i + 1));
	return 0;
}

int qcow2_alloc(struct qcow2 *q, u64 least, u64 most, u64 *first)
{
	int n, ret;

	if (q->broken)
		return -EIO;
	n = take_run(q, least, MIN(most, G_MAXINT), first);
	if (n < 0 || q->reftable_in_file == q->reftable_size)
		return n;
	ret = place_reftable(q);
	if (!ret)
		return n;
	qcow2_unalloc(q, *first, n);
	return ret;
}

/* ---- Giving back ---- */

void qcow2_unalloc(struct qcow2 *q, u64 first, u64 count)
{
	for (u64 i = 0; i < count; i++) {
		int ret;
		struct table *t = block_of(q, first + i, &ret);

		/* What cannot be counted down is lost space, not lost data. */
		if (t)
			set_count(q, t, first + i, 0);
	}
	if (count)
		q->hint = MIN(q->hint, first);
}

void qcow2_free_later(struct qcow2 *q, u64 first, u64 count)
{
	struct cluster_run *last = NULL, run = { first, count };

	if (q->freed->len)
		last = &g_array_index(q->freed, struct cluster_run, q->freed->len - 1);
	if (last && last->first + last->count == first)
		last->count += count;
	else
		g_array_append_val(q->freed, run);
	q->freed_clusters += count;
}

/* Return: whether the cluster lost its last use; its count is then left for put_down(). */
static bool lower(struct qcow2 *q, u64 cluster)
{
	int ret;
	struct table *t = block_of(q, cluster, &ret);
	u64 count;

	if (!t)
		return false;
	count = get_count(q, t->bytes, count_index(q, cluster));
	if (!count)
		qcow2_corrupt(q, "a cluster in use is not counted", cluster << q->h.cluster_bits);
	if (count > 1)
		set_count(q, t, cluster, count - 1);
	return count == 1;
}

void qcow2_free_now(struct qcow2 *q, GArray *runs)
{
	g_autoptr(GArray) unused = g_array_new(false, false, sizeof(struct cluster_run));

	g_mutex_lock(&q->lock);
	for (guint i = 0; i < runs->len; i++) {
		struct cluster_run *r = &g_array_index(runs, struct cluster_run, i);

		for (u64 n = 0; n < r->count; n++) {
			struct cluster_run one = { r->first + n, 1 }, *last = NULL;

			if (!lower(q, one.first))
				continue;
			if (unused->len)
				last = &g_array_index(unused, struct cluster_run, unused->len - 1);
			if (last && last->first + last->count == one.first)
				last->count++;
			else
				g_array_append_val(unused, one);
		}
	}
	g_mutex_unlock(&q->lock);
	/* While they still count as used: nobody writes to them meanwhile. */
	for (guint i = 0; i < unused->len && q->discard_file; i++) {
		struct cluster_run *r = &g_array_index(unused, struct cluster_run, i);

		image_io(q->img, &(struct io){ .op = IO_DISCARD,
					       .offset = r->first << q->h.cluster_bits,
					       .bytes = r->count << q->h.cluster_bits });
	}
	g_mutex_lock(&q->lock);
	for (guint i = 0; i < unused->len; i++) {
		struct cluster_run *r = &g_array_index(unused, struct cluster_run, i);

		qcow2_unalloc(q, r->first, r->count);
	}
	g_mutex_unlock(&q->lock);
}

/* system/qmp/block.c - commands about disk images. */
#include "qapi/gen/block.h"

#include <sys/stat.h>

#include "block/block.h"
#include "block/throttle.h"
#include "util/error.h"
#include "util/timer.h"

/* @deep: with those of its backing files. */
static struct qapi_image_info *image_info(const struct block_info *info, bool deep)
{
	struct qapi_image_info *image = g_new0(struct qapi_image_info, 1);
	struct stat st;

	image->filename = g_strdup(info->filename ?: "");
	image->format = g_strdup(info->driver);
	image->virtual_size = (s64)info->size;
	if (info->filename && !stat(info->filename, &st)) {
		image->has_actual_size = true;
		image->actual_size = (s64)st.st_blocks * 512;
	}
	image->has_dirty_flag = info->cluster_size != 0;
	image->dirty_flag = info->dirty;
	image->has_cluster_size = info->cluster_size != 0;
	image->cluster_size = (s64)info->cluster_size;
	image->backing_filename = g_strdup(info->backing_name);
	image->backing_filename_format = g_strdup(info->backing_format);
	if (info->backing) {
		struct block_info below;

		block_get_info(info->backing, &below);
		image->full_backing_filename = g_strdup(below.filename);
		if (deep)
			image->backing_image = image_info(&below, true);
	}
	return image;
}

static void add_child(GPtrArray *list, const char *role, const char *node_name)
{
	struct qapi_blockdev_child *child = g_new0(struct qapi_blockdev_child, 1);

	child->child = g_strdup(role);
	child->node_name = g_strdup(node_name);
	g_ptr_array_add(list, child);
}

static int backing_depth(const struct block_info *info)
{
	struct block_info below;

	if (!info->backing)
		return 0;
	block_get_info(info->backing, &below);
	return 1 + backing_depth(&below);
}

static void throttle_info(const struct block_backend *b, struct qapi_block_device_info *node)
{
	struct block_throttle t;
	const char *group = block_throttle_get(b, &t);

	if (!group)
		return;
	node->group = g_strdup(group);
	/* As the field names in QAPI go. */
#define LIMIT(kind, name)                                                                          \
	do {                                                                                       \
		node->name = (s64)t.limit[kind].avg;                                               \
		node->has_##name##_max = t.limit[kind].max != 0;                                   \
		node->name##_max = (s64)t.limit[kind].max;                                         \
		node->has_##name##_max_length = t.limit[kind].max != 0;                            \
		node->name##_max_length = (s64)t.limit[kind].length;                               \
	} while (0)
	LIMIT(BLOCK_BPS_TOTAL, bps);
	LIMIT(BLOCK_BPS_READ, bps_rd);
	LIMIT(BLOCK_BPS_WRITE, bps_wr);
	LIMIT(BLOCK_IOPS_TOTAL, iops);
	LIMIT(BLOCK_IOPS_READ, iops_rd);
	LIMIT(BLOCK_IOPS_WRITE, iops_wr);
#undef LIMIT
	node->has_iops_size = t.iops_size != 0;
	node->iops_size = (s64)t.iops_size;
}

static struct qapi_block_device_info *node_info(const struct block_backend *b,
						const struct block_info *info, bool deep)
{
	static const enum qapi_blockdev_detect_zeroes_options zeroes[] = {
		[BLOCK_ZEROES_OFF] = QAPI_BLOCKDEV_DETECT_ZEROES_OPTIONS_OFF,
		[BLOCK_ZEROES_ON] = QAPI_BLOCKDEV_DETECT_ZEROES_OPTIONS_ON,
		[BLOCK_ZEROES_UNMAP] = QAPI_BLOCKDEV_DETECT_ZEROES_OPTIONS_UNMAP,
	};
	struct qapi_block_device_info *node = g_new0(struct qapi_block_device_info, 1);
	struct block_info below;

	node->file = g_strdup(info->filename ?: "");
	node->node_name = g_strdup(info->node_name);
	node->ro = info->read_only;
	node->drv = g_strdup(info->driver);
	node->active = info->active;
	node->detect_zeroes = zeroes[info->detect_zeroes];
	node->children = qapi_blockdev_child_list_new();
	if (info->child)
		add_child(node->children, "file", info->child);
	if (info->backing) {
		add_child(node->children, "backing", block_node_name(info->backing));
		block_get_info(info->backing, &below);
		node->backing_file = g_strdup(below.filename);
		node->backing_file_depth = backing_depth(info);
	}
	node->image = image_info(info, deep);
	node->cache = g_new0(struct qapi_blockdev_cache_info, 1);
	node->cache->writeback = info->write_cache;
	node->cache->direct = info->direct;
	node->cache->no_flush = info->no_flush;
	throttle_info(b, node);
	return node;
}

static enum qapi_block_device_io_status io_status(enum block_io_status s)
{
	static const enum qapi_block_device_io_status map[] = {
		[BLOCK_IO_OK] = QAPI_BLOCK_DEVICE_IO_STATUS_OK,
		[BLOCK_IO_FAILED] = QAPI_BLOCK_DEVICE_IO_STATUS_FAILED,
		[BLOCK_IO_NOSPACE] = QAPI_BLOCK_DEVICE_IO_STATUS_NOSPACE,
	};

	return map[s];
}

/* A disk as users count them: what -drive made, and nodes that a device uses. */
static bool is_disk(const struct block_info *info)
{
	return !info->is_child && (info->id[0] || info->attached);
}

struct info_query {
	GPtrArray *list;
	bool deep; /* images with their backing images */
};

static void add_disk(struct block_backend *b, const struct block_info *info, void *opaque)
{
	struct info_query *q = opaque;
	struct qapi_block_info *disk;

	if (!is_disk(info))
		return;
	disk = g_new0(struct qapi_block_info, 1);
	disk->device = g_strdup(info->id);
	disk->qdev = g_strdup(info->qdev);
	disk->type = g_strdup("unknown");
	disk->removable = info->cdrom;
	disk->has_tray_open = info->cdrom;
	if (info->driver)
		disk->inserted = node_info(b, info, q->deep);
	if (info->attached) {
		disk->has_io_status = true;
		disk->io_status = io_status(info->io_status);
	}
	g_ptr_array_add(q->list, disk);
}

GPtrArray *qmp_query_block(struct machine *m, const struct qapi_query_block_args *args,
			   GError **err)
{
	struct info_query q = { .list = qapi_block_info_list_new(), .deep = !args->flat };

	block_foreach(add_disk, &q);
	return q.list;
}

static void add_node(struct block_backend *b, const struct block_info *info, void *opaque)
{
	struct info_query *q = opaque;

	if (info->driver)
		g_ptr_array_add(q->list, node_info(b, info, q->deep));
}

GPtrArray *qmp_query_named_block_nodes(struct machine *m,
				       const struct qapi_query_named_block_nodes_args *args,
				       GError **err)
{
	struct info_query q = { .list = qapi_block_device_info_list_new(), .deep = !args->flat };

	block_foreach(add_node, &q);
	return q.list;
}

static struct qapi_block_device_stats *device_stats(const struct block_backend *b)
{
	struct qapi_block_device_stats *out = g_new0(struct qapi_block_device_stats, 1);
	struct block_stats s;

	block_get_stats(b, &s);
	out->rd_bytes = (s64)s.bytes[BLOCK_OP_READ];
	out->wr_bytes = (s64)s.bytes[BLOCK_OP_WRITE];
	out->unmap_bytes = (s64)s.bytes[BLOCK_OP_UNMAP];
	out->rd_operations = (s64)s.operations[BLOCK_OP_READ];
	out->wr_operations = (s64)s.operations[BLOCK_OP_WRITE];
	out->flush_operations = (s64)s.operations[BLOCK_OP_FLUSH];
	out->unmap_operations = (s64)s.operations[BLOCK_OP_UNMAP];
	out->rd_total_time_ns = (s64)s.total_time_ns[BLOCK_OP_READ];
	out->wr_total_time_ns = (s64)s.total_time_ns[BLOCK_OP_WRITE];
	out->flush_total_time_ns = (s64)s.total_time_ns[BLOCK_OP_FLUSH];
	out->unmap_total_time_ns = (s64)s.total_time_ns[BLOCK_OP_UNMAP];
	out->wr_highest_offset = (s64)s.wr_highest_offset;
	out->failed_rd_operations = (s64)s.failed[BLOCK_OP_READ];
	out->failed_wr_operations = (s64)s.failed[BLOCK_OP_WRITE];
	out->failed_flush_operations = (s64)s.failed[BLOCK_OP_FLUSH];
	out->failed_unmap_operations = (s64)s.failed[BLOCK_OP_UNMAP];
	out->invalid_rd_operations = (s64)s.invalid[BLOCK_OP_READ];
	out->invalid_wr_operations = (s64)s.invalid[BLOCK_OP_WRITE];
	out->invalid_flush_operations = (s64)s.invalid[BLOCK_OP_FLUSH];
	out->invalid_unmap_operations = (s64)s.invalid[BLOCK_OP_UNMAP];
	if (s.last_access_ns) {
		out->has_idle_time_ns = true;
		out->idle_time_ns = clock_ns(CLOCK_TYPE_REALTIME) - s.last_access_ns;
	}
	/* For idle_time_ns requests that failed or were refused are accesses too. */
	out->account_failed = true;
	out->account_invalid = true;
	out->timed_stats = qapi_block_device_timed_stats_list_new();
	return out;
}

struct stats_query {
	GPtrArray *list;
	bool nodes; /* all nodes by their names, not disks */
};

static void add_stats(struct block_backend *b, const struct block_info *info, void *opaque)
{
	struct stats_query *q = opaque;
	struct qapi_block_stats *stats;

	if (q->nodes ? !info->driver : !is_disk(info))
		return;
	stats = g_new0(struct qapi_block_stats, 1);
	if (!q->nodes) {
		stats->device = g_strdup(info->id);
		stats->qdev = g_strdup(info->qdev);
	}
	if (info->driver)
		stats->node_name = g_strdup(info->node_name);
	stats->stats = device_stats(b);
	g_ptr_array_add(q->list, stats);
}

GPtrArray *qmp_query_blockstats(struct machine *m, const struct qapi_query_blockstats_args *args,
				GError **err)
{
	struct stats_query q = { .list = qapi_block_stats_list_new(), .nodes = args->query_nodes };

	block_foreach(add_stats, &q);
	return q.list;
}

void qmp_blockdev_add(struct machine *m, JsonObject *args, GError **err)
{
	if (!json_object_has_member(args, "node-name")) {
		error_set(err, "'node-name' must be specified for the root node");
		return;
	}
	block_node_create(args, err);
}

void qmp_block_resize(struct machine *m, const struct qapi_block_resize_args *args, GError **err)
{
	const char *name = args->node_name ?: args->device;
	struct block_backend *b;

	if (!args->device == !args->node_name) {
		error_set(err, "give one of 'device' and 'node-name'");
		return;
	}
	b = block_find(name);
	if (!b) {
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND, "there is no disk '%s'",
			    name);
		return;
	}
	if (args->size < 0)
		error_set(err, "size %" PRId64 " is negative", args->size);
	else
		block_resize(b, args->size, err);
}

/* ---- Limits ---- */

/* A device is named by its id, or by the QOM path of itself or of the virtio device in it. */
static bool is_device(const char *qdev, const char *id)
{
	g_autofree char *path = g_strdup_printf("/machine/peripheral/%s", id);
	const char *outer = id[0] == '/' ? id : path;

	return !strcmp(qdev, id) || !strcmp(qdev, outer) ||
	       (g_str_has_prefix(qdev, outer) && !strcmp(qdev + strlen(outer), "/virtio-backend"));
}

struct disk_query {
	const char *device, *id;
	struct block_backend *found;
};

static void match_disk(struct block_backend *b, const struct block_info *info, void *opaque)
{
	struct disk_query *q = opaque;

	if (q->id ? info->qdev && is_device(info->qdev, q->id) : !strcmp(info->id, q->device))
		q->found = b;
}

static struct block_backend *find_disk(const char *device, const char *id, GError **err)
{
	struct disk_query q = { .device = device, .id = id };

	if (!device == !id) {
		error_set(err, "give one of 'device' and 'id'");
		return NULL;
	}
	block_foreach(match_disk, &q);
	if (!q.found)
		g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND,
			    id ? "there is no device '%s' with a disk" : "there is no disk '%s'",
			    id ?: device);
	else if (!block_inserted(q.found))
		error_set(err, "disk '%s' has no medium", device ?: id);
	else
		return q.found;
	return NULL;
}

static int take_limit(struct block_limit *l, s64 avg, const s64 *max, const s64 *length,
		      GError **err)
{
	if (avg < 0 || (max && *max < 0) || (length && *length < 0)) {
		error_set(err, "a limit is negative: %" PRId64,
			  avg < 0           ? avg
			  : max && *max < 0 ? *max
					    : *length);
		return -EINVAL;
	}
	l->avg = avg;
	l->max = max ? *max : 0;
	l->length = length ? *length : 1;
	return 0;
}

void qmp_block_set_io_throttle(struct machine *m, const struct qapi_block_set_io_throttle_args *a,
			       GError **err)
{
	struct block_backend *b = find_disk(a->device, a->id, err);
	const char *group = a->group;
	struct block_throttle t;

	if (!b)
		return;
	block_throttle_init(&t);
#define TAKE(kind, name)                                                                           \
	take_limit(&t.limit[kind], a->name, a->has_##name##_max ? &a->name##_max : NULL,           \
		   a->has_##name##_max_length ? &a->name##_max_length : NULL, err)
	if (TAKE(BLOCK_BPS_TOTAL, bps) || TAKE(BLOCK_BPS_READ, bps_rd) ||
	    TAKE(BLOCK_BPS_WRITE, bps_wr) || TAKE(BLOCK_IOPS_TOTAL, iops) ||
	    TAKE(BLOCK_IOPS_READ, iops_rd) || TAKE(BLOCK_IOPS_WRITE, iops_wr))
		return;
#undef TAKE
	if (a->has_iops_size && a->iops_size < 0) {
		error_set(err, "iops_size %" PRId64 " is negative", a->iops_size);
		return;
	}
	t.iops_size = a->has_iops_size ? a->iops_size : 0;
	if (!group && !block_throttle_get(b, &(struct block_throttle){ 0 }))
		group = a->device ?: a->id;
	block_throttle_set(b, &t, group, err);
}

void qmp_blockdev_del(struct machine *m, const struct qapi_blockdev_del_args *args, GError **err)
{
	block_node_remove(args->node_name, err);
}

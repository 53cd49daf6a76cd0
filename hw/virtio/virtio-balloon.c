/*
 * hw/virtio/virtio-balloon.c - virtio memory balloon.
 *
 * Source: Virtio 1.2, 5.5. Layouts are those of <linux/virtio_balloon.h>.
 */
#include "hw/virtio/balloon.h"

#include "accel/vm.h"
#include "hw/virtio/devices.h"
#include "hw/virtio/virtio.h"
#include "util/error.h"
#include "util/log.h"
#include "util/timer.h"

#include <linux/virtio_balloon.h>

#define QUEUE_SIZE     128
#define PAGE_BYTES     (1ull << VIRTIO_BALLOON_PFN_SHIFT)
#define PFNS_AT_ONCE   256
#define MAX_INTERVAL_S UINT32_MAX

_Static_assert(sizeof(struct virtio_balloon_stat) == 10, "5.5.6.3");
_Static_assert(sizeof(struct virtio_balloon_config) == 16, "5.5.4");
_Static_assert(BALLOON_HTLB_PGFAIL == VIRTIO_BALLOON_S_HTLB_PGFAIL, "5.5.6.4");

struct virtio_balloon {
	struct virtio_device vdev;
	struct virtqueue *inflate, *deflate, *stats_vq, *report;
	u32 num_pages;  /* wanted in the balloon; migrates, likewise those below */
	u32 actual;     /* pages that are in it */
	u32 poison_val; /* what the guest fills free pages with */
	struct virtqueue_elem *stats_elem; /* held until statistics are wanted again */
	struct timer stats_timer;
	u32 stats_interval_s; /* 0: nobody wants them */
	struct balloon_stats stats;

	/* Properties. */
	bool opt_deflate_on_oom, opt_page_poison, opt_reporting, opt_hint;
};

static struct {
	void (*fn)(struct machine *m, u64 actual, void *opaque);
	void *opaque;
} change_listener;

static struct virtio_balloon *balloon_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_balloon, vdev);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* Pages that lie behind each other in a block. */
struct run {
	struct ramblock *block;
	u64 offset, len; /* bytes */
};

static void give_back(const struct run *run)
{
	int ret;

	if (!run->len)
		return;
	ret = ram_discard(run->block, run->offset, run->len);
	if (ret < 0)
		log_warn_once("virtio-balloon: could not discard memory of %s: %s", run->block->id,
			      g_strerror(-ret));
	else /* it reads as zeroes now: a copy made earlier differs */
		memory_mark_dirty(run->block, run->offset, run->len);
}

static void add_page(struct virtio_balloon *b, struct run *run, u32 pfn)
{
	struct ramblock *block;
	u64 gpa = (u64)pfn << VIRTIO_BALLOON_PFN_SHIFT, len = PAGE_BYTES, offset;

	if (!address_space_ram(b->vdev.dev.machine->vm->memory, gpa, &len, true, &block, &offset) ||
	    len < PAGE_BYTES) {
		log_guest("virtio-balloon: page %#x is not RAM", pfn);
		return;
	}
	if (run->block == block && run->offset + run->len == offset) {
		run->len += PAGE_BYTES;
		return;
	}
	give_back(run);
	*run = (struct run){ block, offset, PAGE_BYTES };
}

static void inflate_elem(struct virtio_balloon *b, const struct virtqueue_elem *elem)
{
	struct run run = { 0 };
	__virtio32 pfns[PFNS_AT_ONCE];
	u64 at = 0, n;

	while ((n = virtq_elem_read(elem, at, pfns, sizeof(pfns)) / sizeof(pfns[0]))) {
		for (u64 i = 0; i < n; i++)
			add_page(b, &run, GUINT32_FROM_LE(pfns[i]));
		at += n * sizeof(pfns[0]);
	}
	give_back(&run);
}

static void handle_inflate(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq))) {
			inflate_elem(balloon_of(vdev), elem);
			virtqueue_push(vq, elem, 0);
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

/* The pages are RAM all the time: there is nothing to do but to say yes. */
static void handle_deflate(struct virtio_device *vdev, struct virtqueue *vq)
{
	virtio_return_all(vq);
}

static void report_elem(struct virtio_balloon *b, const struct virtqueue_elem *elem)
{
	/* A guest that looks for its poison must find it (5.5.6.5.2). */
	if (b->poison_val)
		return;
	for (unsigned i = 0; i < elem->in_num; i++) {
		const struct virtq_place *place = &elem->in_place[i];
		u64 start = ROUND_UP(place->offset, PAGE_BYTES);
		u64 end = ROUND_DOWN(place->offset + elem->in[i].iov_len, PAGE_BYTES);
		struct run run = { place->block, start, end > start ? end - start : 0 };

		give_back(&run);
	}
}

static void handle_report(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq))) {
			report_elem(balloon_of(vdev), elem);
			virtqueue_push(vq, elem, 0);
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

/* ---- Statistics ----------------------------------------------------------------------------- */

static void clear_stats(struct virtio_balloon *b)
{
	for (unsigned i = 0; i < BALLOON_STATS; i++)
		b->stats.value[i] = UINT64_MAX;
}

static void arm_stats_timer(struct virtio_balloon *b)
{
	if (b->stats_interval_s)
		timer_mod(&b->stats_timer,
			  clock_ns(CLOCK_TYPE_VIRTUAL) + b->stats_interval_s * NS_PER_S);
}

/* Returning the buffer is the question; the driver answers by offering it again. */
static void ask_for_stats(void *opaque)
{
	struct virtio_balloon *b = opaque;

	if (b->stats_elem && virtio_live(&b->vdev)) {
		virtqueue_push(b->stats_vq, b->stats_elem, 0);
		b->stats_elem = NULL;
		virtio_notify(b->stats_vq);
	} else {
		arm_stats_timer(b);
	}
}

static void take_stats(struct virtio_balloon *b, const struct virtqueue_elem *elem)
{
	struct virtio_balloon_stat s;

	clear_stats(b);
	for (u64 at = 0; virtq_elem_read(elem, at, &s, sizeof(s)) == sizeof(s); at += sizeof(s))
		if (GUINT16_FROM_LE(s.tag) < BALLOON_STATS)
			b->stats.value[GUINT16_FROM_LE(s.tag)] = GUINT64_FROM_LE(s.val);
	if (elem->out_len >= sizeof(s))
		b->stats.last_update_s = clock_ns(CLOCK_TYPE_HOST) / NS_PER_S;
}

static void handle_stats(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtio_balloon *b = balloon_of(vdev);
	struct virtqueue_elem *elem = virtqueue_pop(vq);

	if (!elem)
		return;
	if (b->stats_elem) { /* one buffer is all there should be */
		virtqueue_push(vq, b->stats_elem, 0);
		virtio_notify(vq);
	}
	b->stats_elem = elem;
	take_stats(b, elem);
	virtqueue_notify_on(vq);
	arm_stats_timer(b);
}

int balloon_stats_interval(struct device *dev, s64 seconds, GError **err)
{
	struct virtio_balloon *b = container_of(dev, struct virtio_balloon, vdev.dev);

	if (seconds < 0 || seconds > MAX_INTERVAL_S) {
		error_set(err, "guest-stats-polling-interval=%" PRId64 " is not between 0 and %u",
			  seconds, MAX_INTERVAL_S);
		return -EINVAL;
	}
	b->stats_interval_s = seconds;
	timer_del(&b->stats_timer);
	if (seconds)
		ask_for_stats(b);
	return 0;
}

void balloon_get_stats(struct device *dev, struct balloon_stats *stats)
{
	*stats = container_of(dev, struct virtio_balloon, vdev.dev)->stats;
}

const char *balloon_stat_name(enum balloon_stat stat)
{
	static const char *const names[BALLOON_STATS] = {
		[BALLOON_SWAP_IN] = "stat-swap-in",
		[BALLOON_SWAP_OUT] = "stat-swap-out",
		[BALLOON_MAJOR_FAULTS] = "stat-major-faults",
		[BALLOON_MINOR_FAULTS] = "stat-minor-faults",
		[BALLOON_FREE_MEMORY] = "stat-free-memory",
		[BALLOON_TOTAL_MEMORY] = "stat-total-memory",
		[BALLOON_AVAILABLE_MEMORY] = "stat-available-memory",
		[BALLOON_DISK_CACHES] = "stat-disk-caches",
		[BALLOON_HTLB_PGALLOC] = "stat-htlb-pgalloc",
		[BALLOON_HTLB_PGFAIL] = "stat-htlb-pgfail",
	};

	return names[stat];
}

/* ---- Target --------------------------------------------------------------------------------- */

static struct virtio_balloon *find_balloon(struct machine *m, GError **err)
{
	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (dev->type == &virtio_balloon_type && dev->realized)
			return container_of(dev, struct virtio_balloon, vdev.dev);
	}
	g_set_error(err, MACHINE_ERROR, ERROR_DEVICE_NOT_ACTIVE,
		    "No balloon device has been activated");
	return NULL;
}

static u64 actual_bytes(const struct virtio_balloon *b)
{
	return b->vdev.dev.machine->opt.ram_size - b->actual * PAGE_BYTES;
}

int balloon_set_target(struct machine *m, u64 bytes, GError **err)
{
	struct virtio_balloon *b = find_balloon(m, err);

	if (!b)
		return -ENODEV;
	b->num_pages = (m->opt.ram_size - MIN(bytes, m->opt.ram_size)) / PAGE_BYTES;
	virtio_config_changed(&b->vdev);
	return 0;
}

int balloon_actual(struct machine *m, u64 *bytes, GError **err)
{
	struct virtio_balloon *b = find_balloon(m, err);

	if (!b)
		return -ENODEV;
	*bytes = actual_bytes(b);
	return 0;
}

void balloon_on_change(void (*fn)(struct machine *m, u64 actual, void *opaque), void *opaque)
{
	change_listener.fn = fn;
	change_listener.opaque = opaque;
}

/* ---- Device --------------------------------------------------------------------------------- */

static u64 balloon_features(struct virtio_device *vdev)
{
	const struct virtio_balloon *b = balloon_of(vdev);
	u64 f = 1u << VIRTIO_BALLOON_F_STATS_VQ;

	if (b->opt_deflate_on_oom)
		f |= 1u << VIRTIO_BALLOON_F_DEFLATE_ON_OOM;
	if (b->opt_page_poison)
		f |= 1u << VIRTIO_BALLOON_F_PAGE_POISON;
	if (b->opt_reporting)
		f |= 1u << VIRTIO_BALLOON_F_REPORTING;
	return f;
}

static void balloon_config_get(struct virtio_device *vdev, u8 *config)
{
	const struct virtio_balloon *b = balloon_of(vdev);
	struct virtio_balloon_config c = {
		.num_pages = GUINT32_TO_LE(b->num_pages),
		.actual = GUINT32_TO_LE(b->actual),
		.poison_val = GUINT32_TO_LE(b->poison_val),
	};

	memcpy(config, &c, sizeof(c));
}

static void balloon_config_set(struct virtio_device *vdev, const u8 *config)
{
	struct virtio_balloon *b = balloon_of(vdev);
	u64 max = vdev->dev.machine->opt.ram_size / PAGE_BYTES;
	struct virtio_balloon_config c;
	u32 actual;

	memcpy(&c, config, sizeof(c));
	actual = GUINT32_FROM_LE(c.actual);
	if (actual > max) {
		log_guest("virtio-balloon: %u pages in the balloon of %" PRIu64, actual, max);
		actual = max;
	}
	if (virtio_has_feature(vdev, VIRTIO_BALLOON_F_PAGE_POISON))
		b->poison_val = GUINT32_FROM_LE(c.poison_val);
	if (actual == b->actual)
		return;
	b->actual = actual;
	if (change_listener.fn)
		change_listener.fn(vdev->dev.machine, actual_bytes(b), change_listener.opaque);
}

static void balloon_reset(struct virtio_device *vdev)
{
	struct virtio_balloon *b = balloon_of(vdev);

	if (b->stats_elem)
		virtqueue_detach(b->stats_vq, b->stats_elem);
	b->stats_elem = NULL;
	timer_del(&b->stats_timer);
	clear_stats(b);
	b->poison_val = 0;
}

/* ---- State ---------------------------------------------------------------------------------- */

static bool has_poison(void *obj)
{
	return virtio_has_feature(&((struct virtio_balloon *)obj)->vdev,
				  VIRTIO_BALLOON_F_PAGE_POISON);
}

static const struct state_field poison_fields[] = { FIELD_U32(struct virtio_balloon, poison_val),
						    FIELD_END };

static const struct state_desc poison_state = {
	.name = "virtio-balloon-device/page-poison",
	.version = 1,
	.min_version = 1,
	.fields = poison_fields,
	.needed = has_poison,
};

static const struct state_field own_fields[] = { FIELD_U32(struct virtio_balloon, num_pages),
						 FIELD_U32(struct virtio_balloon, actual),
						 FIELD_END };

static const struct state_desc *const own_subsections[] = { &poison_state, NULL };

static const struct state_desc own_state = {
	.name = "virtio-balloon-device",
	.version = 1,
	.min_version = 1,
	.fields = own_fields,
	.subsections = own_subsections,
};

static int balloon_save(struct virtio_device *vdev, struct state_writer *w, GError **err)
{
	return state_save_nested(w, &own_state, balloon_of(vdev), err);
}

static int balloon_load(struct virtio_device *vdev, struct state_reader *r, int version,
			GError **err)
{
	return state_load_nested(r, &own_state, balloon_of(vdev), 1, err);
}

static int balloon_load_done(struct virtio_device *vdev, GError **err)
{
	struct virtio_balloon *b = balloon_of(vdev);
	u64 max = vdev->dev.machine->opt.ram_size / PAGE_BYTES;

	if (b->actual > max || b->num_pages > max) {
		error_set(err, "virtio-balloon: %u pages of %u wanted, memory has %" PRIu64,
			  b->actual, b->num_pages, max);
		return -EINVAL;
	}
	/* The source held the buffer of the statistics: take it again. */
	if (b->stats_vq->inuse == 1)
		virtqueue_rewind(b->stats_vq);
	return 0;
}

static const struct virtio_class balloon_class = {
	.id = VIRTIO_ID_BALLOON,
	.config_size = sizeof(struct virtio_balloon_config),
	.features = balloon_features,
	.config_get = balloon_config_get,
	.config_set = balloon_config_set,
	.reset = balloon_reset,
	.save = balloon_save,
	.load = balloon_load,
	.load_done = balloon_load_done,
};

static int balloon_realize(struct device *dev, GError **err)
{
	struct virtio_balloon *b = container_of(dev, struct virtio_balloon, vdev.dev);
	struct virtio_device *vdev = &b->vdev;
	int ret;

	if (find_balloon(dev->machine, NULL)) {
		error_set(err, "Only one balloon device is supported");
		return -EBUSY;
	}
	if (b->opt_hint) {
		error_set(err, "free-page-hint=on is not supported; use free-page-reporting=on");
		return -EINVAL;
	}
	ret = virtio_device_init(vdev, &balloon_class, 4, err);
	if (ret)
		return ret;
	clear_stats(b);
	timer_init(&b->stats_timer, CLOCK_TYPE_VIRTUAL, ask_for_stats, b);
	b->inflate = virtio_add_queue(vdev, QUEUE_SIZE, handle_inflate);
	b->deflate = virtio_add_queue(vdev, QUEUE_SIZE, handle_deflate);
	b->stats_vq = virtio_add_queue(vdev, QUEUE_SIZE, handle_stats);
	if (b->opt_reporting)
		b->report = virtio_add_queue(vdev, QUEUE_SIZE, handle_report);
	return 0;
}

static void balloon_unrealize(struct device *dev)
{
	virtio_device_finish(container_of(dev, struct virtio_device, dev));
}

/* What the guest does not tell is all ones, which only a double can hold in JSON. */
static JsonNode *get_guest_stats(struct device *dev)
{
	JsonObject *values = json_object_new(), *all = json_object_new();
	struct balloon_stats stats;

	balloon_get_stats(dev, &stats);
	for (int i = 0; i < BALLOON_STATS; i++) {
		if (stats.value[i] == UINT64_MAX)
			json_object_set_double_member(values, balloon_stat_name(i), 0x1p64);
		else
			json_object_set_int_member(values, balloon_stat_name(i),
						   (s64)stats.value[i]);
	}
	json_object_set_object_member(all, "stats", values);
	json_object_set_int_member(all, "last-update", stats.last_update_s);
	return json_node_init_object(json_node_alloc(), all);
}

static JsonNode *get_interval(struct device *dev)
{
	struct virtio_balloon *b = container_of(dev, struct virtio_balloon, vdev.dev);

	return json_node_init_int(json_node_alloc(), b->stats_interval_s);
}

static int set_interval(struct device *dev, JsonNode *value, GError **err)
{
	if (json_node_get_value_type(value) != G_TYPE_INT64) {
		error_set(err, "guest-stats-polling-interval expects a number of seconds");
		return -EINVAL;
	}
	return balloon_stats_interval(dev, json_node_get_int(value), err);
}

static const struct device_value balloon_values[] = {
	{ "guest-stats", "guest statistics", "what the guest last told of its memory",
	  get_guest_stats, NULL },
	{ "guest-stats-polling-interval", "int", "seconds between questions; 0: none", get_interval,
	  set_interval },
	{ .name = NULL },
};

static const struct property balloon_props[] = {
	VIRTIO_PROPS(struct virtio_balloon),
	PROP(struct virtio_balloon, opt_deflate_on_oom, "deflate-on-oom", BOOL, "off",
	     "the guest may take pages back instead of killing processes"),
	PROP(struct virtio_balloon, opt_page_poison, "page-poison", BOOL, "on",
	     "learn what the guest fills free pages with"),
	PROP(struct virtio_balloon, opt_reporting, "free-page-reporting", BOOL, "off",
	     "give pages back that the guest reports free"),
	PROP(struct virtio_balloon, opt_hint, "free-page-hint", BOOL, "off", "only off"),
	PROP_END
};

static const struct state_desc balloon_state = {
	.name = "virtio-balloon",
	.version = 1,
	.min_version = 1,
	.fields = virtio_state_fields,
};

const struct device_type virtio_balloon_type = {
	.name = "virtio-balloon-device",
	.alias = "virtio-balloon",
	.desc = "virtio memory balloon",
	.category = DEVICE_MISC,
	.bus = "virtio-bus",
	.instance_size = sizeof(struct virtio_balloon),
	.props = balloon_props,
	.values = balloon_values,
	.user_creatable = true,
	.realize = balloon_realize,
	.unrealize = balloon_unrealize,
	.reset = virtio_device_reset,
	.state = &balloon_state,
};

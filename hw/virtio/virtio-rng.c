/*
 * hw/virtio/virtio-rng.c - virtio entropy device.
 *
 * Source: Virtio 1.2, 5.4.
 */
#include "hw/rng-backend.h"
#include "hw/virtio/devices.h"
#include "hw/virtio/virtio.h"
#include "util/error.h"
#include "util/log.h"
#include "util/timer.h"

#include <linux/virtio_ids.h>

#define QUEUE_SIZE 8
#define RETRY_MS   100  /* while the source has nothing */
#define CHUNK      4096 /* bytes put into one buffer at most; the driver asks again (5.4.6.2) */

struct virtio_rng {
	struct virtio_device vdev;
	struct virtqueue *vq;
	struct rng_backend *backend;
	struct rng_backend *own; /* made because none was given */
	struct timer period, again;
	u64 quota; /* bytes left in this period */

	/* Properties. */
	struct rng_backend *opt_rng;
	u64 opt_max_bytes;
	u32 opt_period_ms;
};

static struct virtio_rng *rng_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_rng, vdev);
}

static void retry(void *opaque)
{
	struct virtio_rng *rng = opaque;

	virtio_kick(&rng->vdev, rng->vq->index);
}

static void period_over(void *opaque)
{
	struct virtio_rng *rng = opaque;

	rng->quota = rng->opt_max_bytes;
	retry(rng);
}

/* Return: whether the chain was returned to the driver. */
static bool fill(struct virtio_rng *rng, struct virtqueue_elem *elem)
{
	u8 buf[CHUNK];
	ssize_t n = rng_backend_read(rng->backend, buf,
				     MIN(MIN(elem->in_len, rng->quota), sizeof(buf)));

	if (n == -EAGAIN) {
		timer_mod(&rng->again, clock_ns(CLOCK_TYPE_REALTIME) + RETRY_MS * NS_PER_MS);
		return false;
	}
	if (n < 0) {
		log_warn_once("virtio-rng: the source of randomness failed: %s", g_strerror(-n));
		return false;
	}
	if (!timer_pending(&rng->period))
		timer_mod(&rng->period,
			  clock_ns(CLOCK_TYPE_VIRTUAL) + rng->opt_period_ms * NS_PER_MS);
	rng->quota -= n;
	virtq_elem_write(elem, 0, buf, n);
	virtqueue_push(rng->vq, elem, n);
	return true;
}

static void rng_handle(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtio_rng *rng = rng_of(vdev);
	struct virtqueue_elem *elem;

	do {
		while (rng->quota && (elem = virtqueue_pop(vq))) {
			if (!elem->in_len) {
				virtio_error(vdev, "request without a writable buffer");
				virtqueue_detach(vq, elem);
				return;
			}
			if (!fill(rng, elem)) {
				virtqueue_unpop(vq, elem);
				return;
			}
			virtio_notify(vq);
		}
	} while (rng->quota && !virtqueue_notify_on(vq));
}

static void rng_reset(struct virtio_device *vdev)
{
	timer_del(&rng_of(vdev)->again);
}

static const struct virtio_class rng_class = {
	.id = VIRTIO_ID_RNG,
	.reset = rng_reset,
};

static int rng_realize(struct device *dev, GError **err)
{
	struct virtio_rng *rng = container_of(dev, struct virtio_rng, vdev.dev);
	int ret;

	if (!rng->opt_period_ms || !rng->opt_max_bytes || rng->opt_max_bytes > INT64_MAX) {
		error_set(err,
			  "max-bytes=%" PRIu64 ", period=%u: both must be positive, max-bytes "
			  "less than 2^63",
			  rng->opt_max_bytes, rng->opt_period_ms);
		return -EINVAL;
	}
	if (!rng->opt_rng) {
		rng->own = rng_backend_create("rng-builtin", NULL, err);
		if (!rng->own)
			return -EINVAL;
	}
	rng->backend = rng->opt_rng ?: rng->own;
	rng->quota = rng->opt_max_bytes;
	timer_init(&rng->period, CLOCK_TYPE_VIRTUAL, period_over, rng);
	timer_init(&rng->again, CLOCK_TYPE_REALTIME, retry, rng);
	ret = virtio_device_init(&rng->vdev, &rng_class, 1, err);
	if (ret) {
		rng_backend_destroy(rng->own);
		return ret;
	}
	rng->vq = virtio_add_queue(&rng->vdev, QUEUE_SIZE, rng_handle);
	return 0;
}

static void rng_unrealize(struct device *dev)
{
	struct virtio_rng *rng = container_of(dev, struct virtio_rng, vdev.dev);

	virtio_device_finish(&rng->vdev);
	timer_del(&rng->period);
	rng_backend_destroy(rng->own);
}

static const struct property rng_props[] = {
	VIRTIO_PROPS(struct virtio_rng),
	PROP_OBJECT(struct virtio_rng, opt_rng, "rng", "rng-backend",
		    "source; not given: one of its own, rng-builtin"),
	PROP(struct virtio_rng, opt_max_bytes, "max-bytes", U64, "9223372036854775807",
	     "bytes in a period"),
	PROP(struct virtio_rng, opt_period_ms, "period", U32, "65536", "milliseconds"), PROP_END
};

static const struct state_desc rng_state = {
	.name = "virtio-rng",
	.version = 1,
	.min_version = 1,
	.fields = virtio_state_fields,
};

const struct device_type virtio_rng_type = {
	.name = "virtio-rng-device",
	.alias = "virtio-rng",
	.desc = "virtio entropy device",
	.category = DEVICE_MISC,
	.bus = "virtio-bus",
	.instance_size = sizeof(struct virtio_rng),
	.props = rng_props,
	.user_creatable = true,
	.realize = rng_realize,
	.unrealize = rng_unrealize,
	.reset = virtio_device_reset,
	.state = &rng_state,
};

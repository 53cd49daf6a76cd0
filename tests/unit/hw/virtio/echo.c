/* tests/unit/hw/virtio/echo.c - a device that returns what it is sent. */
#include "tests/unit/hw/virtio/echo.h"

#include "hw/virtio/virtio.h"

struct echo {
	struct virtio_device vdev;
	u32 knob; /* in the configuration */
};

static void echo_handle(struct virtio_device *vdev, struct virtqueue *vq)
{
	struct virtqueue_elem *elem;
	char buf[256];

	do {
		virtqueue_notify_off(vq);
		while ((elem = virtqueue_pop(vq))) {
			u64 n = virtq_elem_read(elem, 0, buf, sizeof(buf));

			if (virtio_has_feature(vdev, ECHO_F_SHOUT))
				for (u64 i = 0; i < n; i++)
					buf[i] = g_ascii_toupper(buf[i]);
			virtqueue_push(vq, elem, virtq_elem_write(elem, 0, buf, n));
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

static u64 echo_features(struct virtio_device *vdev)
{
	return 1u << ECHO_F_SHOUT;
}

static void echo_config_get(struct virtio_device *vdev, u8 *config)
{
	memcpy(config, &container_of(vdev, struct echo, vdev)->knob, 4);
}

static void echo_config_set(struct virtio_device *vdev, const u8 *config)
{
	memcpy(&container_of(vdev, struct echo, vdev)->knob, config, 4);
}

static const struct virtio_class echo_class = {
	.id = ECHO_ID,
	.config_size = 4,
	.features = echo_features,
	.config_get = echo_config_get,
	.config_set = echo_config_set,
};

static int echo_realize(struct device *dev, GError **err)
{
	struct virtio_device *vdev = container_of(dev, struct virtio_device, dev);
	int ret = virtio_device_init(vdev, &echo_class, 2, err);

	if (ret)
		return ret;
	virtio_add_queue(vdev, ECHO_QUEUE_SIZE, echo_handle);
	virtio_add_queue(vdev, VIRTQUEUE_MAX_SIZE, echo_handle);
	return 0;
}

static void echo_unrealize(struct device *dev)
{
	virtio_device_finish(container_of(dev, struct virtio_device, dev));
}

static const struct property echo_props[] = { VIRTIO_PROPS(struct echo), PROP_END };

static const struct state_desc echo_state = {
	.name = "echo",
	.version = 1,
	.min_version = 1,
	.fields = virtio_state_fields,
};

const struct device_type echo_type = {
	.name = "echo",
	.bus = "virtio-bus",
	.instance_size = sizeof(struct echo),
	.props = echo_props,
	.user_creatable = true,
	.realize = echo_realize,
	.unrealize = echo_unrealize,
	.reset = virtio_device_reset,
	.state = &echo_state,
};

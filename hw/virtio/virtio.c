/*
 * hw/virtio/virtio.c - status, features and configuration of virtio devices.
 *
 * Source: Virtio 1.2, 2.1 (status), 2.2 (features), 2.5 (configuration), 3.1 (initialization).
 */
#include "hw/virtio/virtio.h"

#include "accel/vm.h"
#include "hw/machine.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

static void map_changed(struct as_listener *l, const struct flat_range *r)
{
	struct virtio_device *vdev = container_of(l, struct virtio_device, listener);

	vdev->map_generation++;
}

static void set_notifiers(struct virtio_device *vdev, bool on)
{
	if (vdev->notifiers_on != on && vdev->bus->ops->notifiers)
		vdev->bus->ops->notifiers(vdev->bus, on);
	vdev->notifiers_on = on;
}

bool virtio_live(const struct virtio_device *vdev)
{
	return vdev->vm_running && !vdev->broken && (vdev->status & VIRTIO_CONFIG_S_DRIVER_OK);
}

void virtio_kick(struct virtio_device *vdev, unsigned queue)
{
	/* A kick that comes too early is not lost: see kick_all(). */
	if (queue < vdev->nqueues && virtio_live(vdev) && vdev->vqs[queue].ready &&
	    !virtio_leave_to_iothread(&vdev->vqs[queue]))
		vdev->vqs[queue].handle(vdev, &vdev->vqs[queue]);
}

/* The driver may have offered buffers before it was ready, or before the VM stopped. */
static void kick_all(struct virtio_device *vdev)
{
	for (unsigned i = 0; i < vdev->nqueues; i++)
		virtio_kick(vdev, i);
}

static void vm_state_changed(struct notifier *n, void *data)
{
	struct virtio_device *vdev = container_of(n, struct virtio_device, vm_notifier);
	const struct run_state_change *change = data;

	vdev->vm_running = change->running;
	if (vdev->status & VIRTIO_CONFIG_S_DRIVER_OK)
		set_notifiers(vdev, change->running);
	if (vdev->cls->run)
		vdev->cls->run(vdev, change->running);
	if (change->running)
		kick_all(vdev);
}

static u64 common_features(const struct virtio_device *vdev)
{
	u64 f = 0;

	if (!vdev->bus->legacy)
		f |= 1ull << VIRTIO_F_VERSION_1;
	if (vdev->opt_indirect)
		f |= 1ull << VIRTIO_RING_F_INDIRECT_DESC;
	if (vdev->opt_event_idx)
		f |= 1ull << VIRTIO_RING_F_EVENT_IDX;
	return f;
}

static int check_options(const struct virtio_device *vdev, GError **err)
{
	if (vdev->opt_packed) {
		error_set(err, "packed=on: packed virtqueues are not supported; use packed=off");
		return -EINVAL;
	}
	if (vdev->opt_iommu) {
		error_set(err, "iommu_platform=on: there is no IOMMU; use iommu_platform=off");
		return -EINVAL;
	}
	return 0;
}

int virtio_device_init(struct virtio_device *vdev, const struct virtio_class *cls, unsigned nqueues,
		       GError **err)
{
	struct vm *vm = vdev->dev.machine->vm;
	int ret = check_options(vdev, err);

	if (ret < 0)
		return ret;
	vdev->cls = cls;
	vdev->bus = vdev->dev.on_bus->owner_data;
	vdev->nqueues = 0;
	vdev->vqs = g_new0(struct virtqueue, nqueues);
	vdev->config_size = cls->config_size;
	vdev->config = g_malloc0(cls->config_size);
	vdev->host_features = common_features(vdev) | (cls->features ? cls->features(vdev) : 0);
	vdev->map_generation = 1;
	vdev->listener = (struct as_listener){ .add = map_changed, .del = map_changed };
	address_space_listen(vm->memory, &vdev->listener);
	vdev->vm_running = vm_running(vm);
	vdev->vm_notifier.fn = vm_state_changed;
	notifier_add(&vm->state_notifiers, &vdev->vm_notifier);
	vdev->bus->vdev = vdev;
	return 0;
}

void virtio_device_finish(struct virtio_device *vdev)
{
	struct vm *vm = vdev->dev.machine->vm;

	virtio_device_reset(&vdev->dev);
	virtio_drop_iothread(vdev);
	vdev->bus->vdev = NULL;
	notifier_remove(&vm->state_notifiers, &vdev->vm_notifier);
	address_space_unlisten(vm->memory, &vdev->listener);
	g_free(vdev->vqs);
	g_free(vdev->config);
}

struct virtqueue *virtio_add_queue(struct virtio_device *vdev, u16 size, virtqueue_handler *handle)
{
	struct virtqueue *vq = &vdev->vqs[vdev->nqueues];

	*vq = (struct virtqueue){
		.vdev = vdev,
		.handle = handle,
		.index = vdev->nqueues++,
		.num_max = size,
		.notify_fd = -1,
	};
	virtqueue_reset(vq);
	return vq;
}

void virtio_device_reset(struct device *dev)
{
	struct virtio_device *vdev = container_of(dev, struct virtio_device, dev);

	set_notifiers(vdev, false);
	if (vdev->cls->reset)
		vdev->cls->reset(vdev);
	for (unsigned i = 0; i < vdev->nqueues; i++)
		virtqueue_reset(&vdev->vqs[i]);
	vdev->status = 0;
	vdev->isr = 0;
	vdev->queue_sel = 0;
	vdev->features = 0;
	vdev->broken = false;
	vdev->bus->ops->reset(vdev->bus);
}

void virtio_set_features(struct virtio_device *vdev, u64 features)
{
	if (vdev->status & VIRTIO_CONFIG_S_FEATURES_OK) {
		log_guest("%s: features written after FEATURES_OK", vdev->dev.type->name);
		return;
	}
	if (features & ~vdev->host_features)
		log_guest("%s: driver accepts features %#" PRIx64 " that were not offered",
			  vdev->dev.type->name, features & ~vdev->host_features);
	vdev->features = features & vdev->host_features;
}

/* The driver has chosen its features: a legacy one says so only by being ready. */
static bool features_acceptable(struct virtio_device *vdev)
{
	if (!vdev->bus->legacy && !virtio_has_feature(vdev, VIRTIO_F_VERSION_1))
		return false;
	return !vdev->cls->features_ok || vdev->cls->features_ok(vdev);
}

void virtio_set_status(struct virtio_device *vdev, u8 status)
{
	u8 chosen = vdev->bus->legacy ? VIRTIO_CONFIG_S_DRIVER_OK : VIRTIO_CONFIG_S_FEATURES_OK;
	u8 gained = status & ~vdev->status;

	if (!status) {
		virtio_device_reset(&vdev->dev);
		return;
	}
	if ((gained & chosen) && !features_acceptable(vdev)) {
		log_guest("%s: features %#" PRIx64 " refused", vdev->dev.type->name,
			  vdev->features);
		status &= ~chosen;
	}
	/* Only a reset takes this one back. */
	vdev->status = status | (vdev->status & VIRTIO_CONFIG_S_NEEDS_RESET);
	if (gained & status & VIRTIO_CONFIG_S_DRIVER_OK) {
		set_notifiers(vdev, vdev->vm_running);
		kick_all(vdev);
	}
}

static void raise_isr(struct virtio_device *vdev, u8 isr, struct virtqueue *vq)
{
	vdev->isr |= isr;
	vdev->bus->ops->interrupt(vdev->bus, vq);
}

void virtio_notify(struct virtqueue *vq)
{
	if (virtqueue_wants_interrupt(vq))
		raise_isr(vq->vdev, VIRTIO_ISR_QUEUE, vq);
}

void virtio_return_all(struct virtqueue *vq)
{
	struct virtqueue_elem *elem;

	do {
		while ((elem = virtqueue_pop(vq))) {
			virtqueue_push(vq, elem, 0);
			virtio_notify(vq);
		}
	} while (!virtqueue_notify_on(vq));
}

void virtio_config_changed(struct virtio_device *vdev)
{
	vdev->config_generation++;
	if (vdev->status & VIRTIO_CONFIG_S_DRIVER_OK)
		raise_isr(vdev, VIRTIO_ISR_CONFIG, NULL);
}

void virtio_error(struct virtio_device *vdev, const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	text = g_strdup_vprintf(fmt, args);
	va_end(args);
	log_guest("%s: %s", device_user_id(&vdev->dev) ?: vdev->dev.type->name, text);
	g_free(text);
	vdev->broken = true;
	if (virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
		vdev->status |= VIRTIO_CONFIG_S_NEEDS_RESET;
		virtio_config_changed(vdev);
	}
}

static bool config_access_ok(const struct virtio_device *vdev, u64 offset, unsigned size)
{
	if (offset + size <= vdev->config_size)
		return true;
	log_guest("%s: configuration access of %u bytes at %#" PRIx64, vdev->dev.type->name, size,
		  offset);
	return false;
}

u32 virtio_config_read(struct virtio_device *vdev, u64 offset, unsigned size)
{
	u32 value = 0;

	if (!config_access_ok(vdev, offset, size))
		return 0;
	vdev->cls->config_get(vdev, vdev->config);
	memcpy(&value, vdev->config + offset, size);
	return GUINT32_FROM_LE(value);
}

void virtio_config_write(struct virtio_device *vdev, u64 offset, u32 value, unsigned size)
{
	if (!config_access_ok(vdev, offset, size))
		return;
	vdev->cls->config_get(vdev, vdev->config);
	value = GUINT32_TO_LE(value);
	memcpy(vdev->config + offset, &value, size);
	if (vdev->cls->config_set)
		vdev->cls->config_set(vdev, vdev->config);
}

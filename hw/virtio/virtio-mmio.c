/*
 * hw/virtio/virtio-mmio.c - the memory-mapped transport, versions 2 and 1 (legacy).
 *
 * Source: Virtio 1.2, 4.2. Register names are those of <linux/virtio_mmio.h>.
 */
#include "hw/virtio/virtio-mmio.h"

#include "accel/accel.h"
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "hw/virtio/virtio.h"
#include "util/error.h"
#include "util/log.h"

#include <glib-unix.h>
#include <linux/virtio_config.h>
#include <linux/virtio_mmio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAGIC     0x74726976 /* "virt" */
#define VENDOR_ID 0x554d4551 /* what guests know from QEMU's devices */

/* What the driver wrote for a queue; takes effect with QueueReady. Low half first. Migrates. */
struct mmio_queue {
	u16 num;
	bool enabled;
	u32 desc[2], avail[2], used[2];
};

struct virtio_mmio {
	struct device dev;
	struct virtio_bus bus;
	struct mapping window;
	struct irq irq;
	u64 base;
	u32 host_features_sel, guest_features_sel;  /* migrate */
	u32 guest_features[2];                      /* migrates */
	u32 guest_page_shift;                       /* legacy; migrates */
	struct mmio_queue queues[VIRTIO_QUEUE_MAX]; /* migrate; used up to the device's number */

	/* Properties. */
	bool opt_ioeventfd;
	u16 opt_queue_size; /* told as the size of every queue; 0: its own */
};

static struct virtio_mmio *mmio_of(struct virtio_bus *bus)
{
	return container_of(bus, struct virtio_mmio, bus);
}

static u64 join(const u32 half[2])
{
	return (u64)half[1] << 32 | half[0];
}

/* The selected queue; NULL if there is none. */
static struct virtqueue *selected(struct virtio_mmio *mmio)
{
	struct virtio_device *vdev = mmio->bus.vdev;

	return vdev->queue_sel < vdev->nqueues ? &vdev->vqs[vdev->queue_sel] : NULL;
}

/* ---- Registers ------------------------------------------------------------------------------ */

static u32 read_features(const struct virtio_mmio *mmio)
{
	u64 features = mmio->bus.vdev->host_features;

	return mmio->host_features_sel < 2 ? features >> (32 * mmio->host_features_sel) : 0;
}

static u32 read_queue_register(struct virtio_mmio *mmio, u64 off)
{
	const struct virtqueue *vq = selected(mmio);

	if (!vq)
		return 0;
	switch (off) {
	case VIRTIO_MMIO_QUEUE_NUM_MAX: return mmio->opt_queue_size ?: vq->num_max;
	case VIRTIO_MMIO_QUEUE_READY: return vq->ready;
	default: return vq->desc_gpa >> mmio->guest_page_shift;
	}
}

static u32 read_register(struct virtio_mmio *mmio, u64 off)
{
	struct virtio_device *vdev = mmio->bus.vdev;
	bool legacy = mmio->bus.legacy;

	switch (off) {
	case VIRTIO_MMIO_DEVICE_FEATURES: return read_features(mmio);
	case VIRTIO_MMIO_QUEUE_NUM_MAX: return read_queue_register(mmio, off);
	case VIRTIO_MMIO_INTERRUPT_STATUS: return vdev->isr;
	case VIRTIO_MMIO_STATUS: return vdev->status;
	case VIRTIO_MMIO_QUEUE_PFN: return legacy ? read_queue_register(mmio, off) : 0;
	case VIRTIO_MMIO_QUEUE_READY: return legacy ? 0 : read_queue_register(mmio, off);
	case VIRTIO_MMIO_CONFIG_GENERATION: return legacy ? 0 : vdev->config_generation;
	case VIRTIO_MMIO_SHM_LEN_LOW:
	case VIRTIO_MMIO_SHM_LEN_HIGH:
	case VIRTIO_MMIO_SHM_BASE_LOW:
	case VIRTIO_MMIO_SHM_BASE_HIGH: return UINT32_MAX; /* no such region */
	default: log_guest("virtio-mmio: read of register %#" PRIx64, off); return 0;
	}
}

static u64 mmio_read(void *opaque, u64 off, unsigned size)
{
	struct virtio_mmio *mmio = opaque;
	struct virtio_device *vdev = mmio->bus.vdev;

	if (off >= VIRTIO_MMIO_CONFIG)
		return vdev ? virtio_config_read(vdev, off - VIRTIO_MMIO_CONFIG, size) : 0;
	if (size != 4) {
		log_guest("virtio-mmio: read of %u bytes at %#" PRIx64, size, off);
		return 0;
	}
	switch (off) {
	case VIRTIO_MMIO_MAGIC_VALUE: return MAGIC;
	case VIRTIO_MMIO_VERSION: return mmio->bus.legacy ? 1 : 2;
	case VIRTIO_MMIO_DEVICE_ID: return vdev ? vdev->cls->id : 0;
	case VIRTIO_MMIO_VENDOR_ID: return VENDOR_ID;
	default: return vdev ? read_register(mmio, off) : 0;
	}
}

static void write_driver_features(struct virtio_mmio *mmio, u32 value)
{
	if (mmio->guest_features_sel > 1 || (mmio->bus.legacy && mmio->guest_features_sel)) {
		if (value)
			log_guest("virtio-mmio: driver features %#x in word %u", value,
				  mmio->guest_features_sel);
		return;
	}
	mmio->guest_features[mmio->guest_features_sel] = value;
	virtio_set_features(mmio->bus.vdev, join(mmio->guest_features));
}

static void write_queue_num(struct virtio_mmio *mmio, struct virtqueue *vq, u32 value)
{
	if (vq->ready || !IS_POW2(value) || value > (mmio->opt_queue_size ?: vq->num_max)) {
		log_guest("virtio-mmio: size %u for queue %u%s", value, vq->index,
			  vq->ready ? " that is ready" : "");
		return;
	}
	vq->num = value;
	mmio->queues[vq->index].num = value;
}

static void write_queue_ready(struct virtio_mmio *mmio, struct virtqueue *vq, u32 value)
{
	struct mmio_queue *q = &mmio->queues[vq->index];
	u16 num = vq->num;

	q->enabled = value == 1;
	if (!q->enabled) {
		vq->ready = false;
		return;
	}
	if (vq->ready)
		return;
	if (vq->inuse || !IS_ALIGNED(q->desc[0], 16) || !IS_ALIGNED(q->avail[0], 2) ||
	    !IS_ALIGNED(q->used[0], 4)) {
		virtio_error(mmio->bus.vdev,
			     "queue %u enabled with %u chains in flight, rings at %#" PRIx64
			     ", %#" PRIx64 ", %#" PRIx64,
			     vq->index, vq->inuse, join(q->desc), join(q->avail), join(q->used));
		return;
	}
	virtqueue_reset(vq);
	vq->num = num;
	vq->desc_gpa = join(q->desc);
	vq->avail_gpa = join(q->avail);
	vq->used_gpa = join(q->used);
	vq->ready = true;
}

static void write_queue_pfn(struct virtio_mmio *mmio, struct virtqueue *vq, u32 value)
{
	u32 align = vq->align;
	u16 num = vq->num;

	if (vq->inuse) {
		virtio_error(mmio->bus.vdev, "queue %u moved with %u chains in flight", vq->index,
			     vq->inuse);
		return;
	}
	virtqueue_reset(vq);
	if (!value)
		return;
	vq->num = num;
	vq->align = align;
	vq->desc_gpa = (u64)value << mmio->guest_page_shift;
	virtqueue_legacy_layout(vq);
	vq->ready = true;
}

static void write_legacy_queue(struct virtio_mmio *mmio, struct virtqueue *vq, u64 off, u32 value)
{
	switch (off) {
	case VIRTIO_MMIO_QUEUE_NUM: write_queue_num(mmio, vq, value); break;
	case VIRTIO_MMIO_QUEUE_PFN: write_queue_pfn(mmio, vq, value); break;
	case VIRTIO_MMIO_QUEUE_ALIGN:
		if (IS_POW2(value) && value >= 4)
			vq->align = value;
		else
			log_guest("virtio-mmio: queue alignment %u", value);
		break;
	default: log_guest("virtio-mmio: write of %#x to register %#" PRIx64, value, off);
	}
}

static void write_modern_queue(struct virtio_mmio *mmio, struct virtqueue *vq, u64 off, u32 value)
{
	struct mmio_queue *q = &mmio->queues[vq->index];

	switch (off) {
	case VIRTIO_MMIO_QUEUE_NUM: write_queue_num(mmio, vq, value); break;
	case VIRTIO_MMIO_QUEUE_READY: write_queue_ready(mmio, vq, value); break;
	case VIRTIO_MMIO_QUEUE_DESC_LOW: q->desc[0] = value; break;
	case VIRTIO_MMIO_QUEUE_DESC_HIGH: q->desc[1] = value; break;
	case VIRTIO_MMIO_QUEUE_AVAIL_LOW: q->avail[0] = value; break;
	case VIRTIO_MMIO_QUEUE_AVAIL_HIGH: q->avail[1] = value; break;
	case VIRTIO_MMIO_QUEUE_USED_LOW: q->used[0] = value; break;
	case VIRTIO_MMIO_QUEUE_USED_HIGH: q->used[1] = value; break;
	default: log_guest("virtio-mmio: write of %#x to register %#" PRIx64, value, off);
	}
}

static void write_queue_register(struct virtio_mmio *mmio, u64 off, u32 value)
{
	struct virtqueue *vq = selected(mmio);

	if (!vq)
		log_guest("virtio-mmio: write to register %#" PRIx64 " of queue %u, there are %u",
			  off, mmio->bus.vdev->queue_sel, mmio->bus.vdev->nqueues);
	else if (mmio->bus.legacy)
		write_legacy_queue(mmio, vq, off, value);
	else
		write_modern_queue(mmio, vq, off, value);
}

static void write_page_size(struct virtio_mmio *mmio, u32 value)
{
	if (mmio->bus.legacy && IS_POW2(value))
		mmio->guest_page_shift = __builtin_ctz(value);
	else
		log_guest("virtio-mmio: guest page size %u", value);
}

static void update_irq(struct virtio_bus *bus, struct virtqueue *vq)
{
	irq_set(&mmio_of(bus)->irq, bus->vdev->isr != 0);
}

static void write_register(struct virtio_mmio *mmio, u64 off, u32 value)
{
	struct virtio_device *vdev = mmio->bus.vdev;

	switch (off) {
	case VIRTIO_MMIO_DEVICE_FEATURES_SEL: mmio->host_features_sel = value; break;
	case VIRTIO_MMIO_DRIVER_FEATURES: write_driver_features(mmio, value); break;
	case VIRTIO_MMIO_DRIVER_FEATURES_SEL: mmio->guest_features_sel = value; break;
	case VIRTIO_MMIO_GUEST_PAGE_SIZE: write_page_size(mmio, value); break;
	case VIRTIO_MMIO_QUEUE_SEL: vdev->queue_sel = MIN(value, UINT16_MAX); break;
	case VIRTIO_MMIO_QUEUE_NOTIFY: virtio_kick(vdev, value); break;
	case VIRTIO_MMIO_STATUS: virtio_set_status(vdev, value); break;
	case VIRTIO_MMIO_INTERRUPT_ACK:
		vdev->isr &= ~value;
		update_irq(&mmio->bus, NULL);
		break;
	default: write_queue_register(mmio, off, value);
	}
}

static void mmio_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct virtio_mmio *mmio = opaque;

	if (!mmio->bus.vdev)
		return;
	if (off >= VIRTIO_MMIO_CONFIG)
		virtio_config_write(mmio->bus.vdev, off - VIRTIO_MMIO_CONFIG, value, size);
	else if (size != 4)
		log_guest("virtio-mmio: write of %u bytes at %#" PRIx64, size, off);
	else
		write_register(mmio, off, value);
}

static const struct mmio_ops mmio_ops = {
	.read = mmio_read,
	.write = mmio_write,
	.min_access = 1,
	.max_access = 4,
};

/* ---- Transport ------------------------------------------------------------------------------ */

static gboolean kicked(gint fd, GIOCondition condition, gpointer opaque)
{
	struct virtqueue *vq = opaque;
	eventfd_t count;

	eventfd_read(fd, &count);
	virtio_kick(vq->vdev, vq->index);
	return G_SOURCE_CONTINUE;
}

static struct ioeventfd queue_ioeventfd(const struct virtio_mmio *mmio, const struct virtqueue *vq)
{
	return (struct ioeventfd){
		.addr = mmio->base + VIRTIO_MMIO_QUEUE_NOTIFY,
		.match = vq->index,
		.size = 4,
		.fd = vq->notify_fd,
	};
}

static void notifier_on(struct virtio_mmio *mmio, struct accel *accel, struct virtqueue *vq)
{
	struct ioeventfd e;
	int ret;

	vq->notify_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (vq->notify_fd < 0)
		return;
	e = queue_ioeventfd(mmio, vq);
	ret = accel->ops->ioeventfd_add(accel, &e);
	if (ret < 0) { /* the accelerator has run out of them: a trap does as well */
		log_warn_once("virtio-mmio: no ioeventfd (%s), kicks are slower", g_strerror(-ret));
		close(vq->notify_fd);
		vq->notify_fd = -1;
		return;
	}
	vq->notify_source = g_unix_fd_source_new(vq->notify_fd, G_IO_IN);
	g_source_set_callback(vq->notify_source, G_SOURCE_FUNC(kicked), vq, NULL);
	g_source_attach(vq->notify_source, iothread_context(vq->vdev->iothread));
}

static void notifier_off(struct virtio_mmio *mmio, struct accel *accel, struct virtqueue *vq)
{
	struct ioeventfd e = queue_ioeventfd(mmio, vq);

	accel->ops->ioeventfd_del(accel, &e);
	g_source_destroy(vq->notify_source);
	g_clear_pointer(&vq->notify_source, g_source_unref);
	close(vq->notify_fd);
	vq->notify_fd = -1;
}

/* A kick that is still in an eventfd when it goes away is made up for when the VM starts. */
static void set_notifiers(struct virtio_bus *bus, bool on)
{
	struct virtio_mmio *mmio = mmio_of(bus);
	struct accel *accel = bus->dev->machine->vm->accel;

	if (!mmio->opt_ioeventfd || !accel || !accel->ops->ioeventfd_add)
		return;
	for (unsigned i = 0; i < bus->vdev->nqueues; i++) {
		struct virtqueue *vq = &bus->vdev->vqs[i];

		if (on && vq->ready)
			notifier_on(mmio, accel, vq);
		else if (!on && vq->notify_fd >= 0)
			notifier_off(mmio, accel, vq);
	}
}

static void mmio_bus_reset(struct virtio_bus *bus)
{
	struct virtio_mmio *mmio = mmio_of(bus);

	mmio->host_features_sel = mmio->guest_features_sel = 0;
	mmio->guest_features[0] = mmio->guest_features[1] = 0;
	mmio->guest_page_shift = 0;
	if (!bus->vdev)
		return;
	memset(mmio->queues, 0, bus->vdev->nqueues * sizeof(mmio->queues[0]));
	update_irq(bus, NULL);
}

static void save_config(struct virtio_bus *bus, struct state_writer *w)
{
	struct virtio_mmio *mmio = mmio_of(bus);

	state_put_be32(w, mmio->host_features_sel);
	state_put_be32(w, mmio->guest_features_sel);
	state_put_be32(w, mmio->guest_page_shift);
}

static int load_config(struct virtio_bus *bus, struct state_reader *r, GError **err)
{
	struct virtio_mmio *mmio = mmio_of(bus);

	mmio->host_features_sel = state_get_be32(r);
	mmio->guest_features_sel = state_get_be32(r);
	mmio->guest_page_shift = state_get_be32(r);
	return 0;
}

static int load_done(struct virtio_bus *bus, GError **err)
{
	struct virtio_mmio *mmio = mmio_of(bus);

	if (mmio->guest_page_shift > 31) {
		error_set(err, "virtio-mmio: guest page shift %u", mmio->guest_page_shift);
		return -EINVAL;
	}
	for (unsigned i = 0; i < bus->vdev->nqueues; i++) {
		struct virtqueue *vq = &bus->vdev->vqs[i];
		const struct mmio_queue *q = &mmio->queues[i];

		if (bus->legacy) {
			virtqueue_legacy_layout(vq);
			continue;
		}
		vq->ready = q->enabled;
		if (!q->enabled)
			continue;
		vq->desc_gpa = join(q->desc);
		vq->avail_gpa = join(q->avail);
		vq->used_gpa = join(q->used);
	}
	update_irq(bus, NULL);
	return 0;
}

static const struct state_field queue_fields[] = {
	FIELD_U16(struct mmio_queue, num),         FIELD_BOOL(struct mmio_queue, enabled),
	FIELD_ARRAY(struct mmio_queue, desc, U32), FIELD_ARRAY(struct mmio_queue, avail, U32),
	FIELD_ARRAY(struct mmio_queue, used, U32), FIELD_END
};

static const struct state_desc queue_state = {
	.name = "virtio_mmio/queue_state",
	.version = 1,
	.min_version = 1,
	.fields = queue_fields,
};

static const struct state_field modern_fields[] = {
	FIELD_ARRAY(struct virtio_mmio, guest_features, U32),
	FIELD_STRUCT_ARRAY(struct virtio_mmio, queues, queue_state), FIELD_END
};

static bool is_modern(void *obj)
{
	return !((struct virtio_mmio *)obj)->bus.legacy;
}

static const struct state_desc modern_state = {
	.name = "virtio_mmio/state",
	.version = 1,
	.min_version = 1,
	.fields = modern_fields,
	.needed = is_modern,
};

static const struct state_field no_fields[] = { FIELD_END };
static const struct state_desc *const extra_subsections[] = { &modern_state, NULL };

static const struct state_desc extra_state = {
	.name = "virtio_mmio",
	.version = 1,
	.min_version = 1,
	.fields = no_fields,
	.subsections = extra_subsections,
	.needed = is_modern,
};

static const struct virtio_transport_ops transport_ops = {
	.interrupt = update_irq,
	.notifiers = set_notifiers,
	.reset = mmio_bus_reset,
	.save_config = save_config,
	.load_config = load_config,
	.saves_align = true,
	.extra_state = &extra_state,
	.load_done = load_done,
};

/* ---- Device type ---------------------------------------------------------------------------- */

static int mmio_realize(struct device *dev, GError **err)
{
	struct virtio_mmio *mmio = container_of(dev, struct virtio_mmio, dev);

	mmio->bus.ops = &transport_ops;
	mmio->bus.dev = dev;
	dev->bus->owner_data = &mmio->bus;
	mmio->window = (struct mapping){
		.name = "virtio-mmio",
		.base = mmio->base,
		.size = VIRTIO_MMIO_SIZE,
		.kind = MAP_MMIO,
		.ops = &mmio_ops,
		.opaque = mmio,
	};
	address_space_map(dev->machine->vm->memory, &mmio->window);
	return 0;
}

static void mmio_unrealize(struct device *dev)
{
	struct virtio_mmio *mmio = container_of(dev, struct virtio_mmio, dev);

	address_space_unmap(dev->machine->vm->memory, &mmio->window);
	machine_disconnect_irq(dev->machine, &mmio->irq);
}

static void mmio_reset(struct device *dev)
{
	mmio_bus_reset(&container_of(dev, struct virtio_mmio, dev)->bus);
}

static char *mmio_bus_path(const struct device *dev)
{
	const struct virtio_mmio *mmio = container_of(dev, struct virtio_mmio, dev);

	return g_strdup_printf("virtio-mmio@%016" PRIx64, mmio->base);
}

struct device *virtio_mmio_create(struct machine *m, u64 base, unsigned line, GError **err)
{
	struct device *dev = device_create(m, virtio_mmio_type.name, NULL, err);
	struct virtio_mmio *mmio = container_of(dev, struct virtio_mmio, dev);

	if (!dev)
		return NULL;
	mmio->base = base;
	machine_connect_irq(m, &mmio->irq, line);
	if (device_realize(dev, NULL, err)) {
		machine_disconnect_irq(m, &mmio->irq);
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

static const struct property mmio_props[] = {
	PROP(struct virtio_mmio, bus.legacy, "force-legacy", BOOL, "off",
	     "speak version 1 of the interface"),
	PROP(struct virtio_mmio, opt_ioeventfd, "ioeventfd", BOOL, "on",
	     "have the accelerator signal kicks, where it can"),
	PROP(struct virtio_mmio, opt_queue_size, "x-override-queue-size", U16, "0",
	     "tell drivers that every queue may have this size; 0: the device's own"),
	PROP_END
};

const struct device_type virtio_mmio_type = {
	.name = VIRTIO_MMIO_TYPE,
	.desc = "virtio transport in memory",
	.category = DEVICE_MISC,
	.provides_bus = "virtio-bus",
	.bus_name = "virtio-mmio-bus",
	.bus_slots = 1,
	.bus_path = mmio_bus_path,
	.instance_size = sizeof(struct virtio_mmio),
	.props = mmio_props,
	.realize = mmio_realize,
	.unrealize = mmio_unrealize,
	.reset = mmio_reset,
};

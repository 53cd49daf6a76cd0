/*
 * hw/virtio/virtio.h - what all virtio devices share: status, features, configuration, state.
 *
 * A device embeds struct virtio_device first and sits on a bus of type "virtio-bus", whose provider
 * is a transport that has a struct virtio_bus and set bus->owner_data to it. Source: Virtio 1.2, 2
 * and 3. All functions: machine lock held.
 */
#ifndef HW_VIRTIO_VIRTIO_H
#define HW_VIRTIO_VIRTIO_H

#include "accel/runstate.h"
#include "hw/device.h"
#include "hw/virtio/virtqueue.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "util/iothread.h"

/* Bits of the interrupt status: virtio-mmio's InterruptStatus (4.2.2), virtio-pci's ISR. */
#define VIRTIO_ISR_QUEUE  0x1
#define VIRTIO_ISR_CONFIG 0x2

/* One const table per kind of device. Members may be NULL unless noted. */
struct virtio_class {
	u16 id;          /* device type, chapter 5 */
	u16 config_size; /* bytes of the device configuration, at most */
	/* features() - device-specific bits to offer; asked once, in virtio_device_init(). */
	u64 (*features)(struct virtio_device *vdev);
	/* features_ok() - the driver has chosen vdev->features: false refuses FEATURES_OK. */
	bool (*features_ok)(struct virtio_device *vdev);
	/* config_get() - fill vdev->config_size bytes, little endian; config_set() - the driver
	 * wrote. */
	void (*config_get)(struct virtio_device *vdev, u8 *config);
	void (*config_set)(struct virtio_device *vdev, const u8 *config);
	/* reset() - drop chains in flight (virtqueue_detach()) and go to the power-on state. */
	void (*reset)(struct virtio_device *vdev);
	/* run() - the VM starts or has stopped. When stopped the device must leave guest memory
	 * alone: requests in flight are waited for here. Queues are handled again after a start. */
	void (*run)(struct virtio_device *vdev, bool running);
	/* The part of the state that follows the queues; @version: the section's. load_done():
	 * everything is there, features and queues too: check, then apply. */
	int (*save)(struct virtio_device *vdev, struct state_writer *w, GError **err);
	int (*load)(struct virtio_device *vdev, struct state_reader *r, int version, GError **err);
	int (*load_done)(struct virtio_device *vdev, GError **err);
};

struct virtio_bus;

struct virtio_transport_ops {
	/* interrupt() - vdev->isr gained bits; @vq: the queue, NULL: configuration or status. */
	void (*interrupt)(struct virtio_bus *bus, struct virtqueue *vq);
	/* notifiers() - have kicks arrive through vq->notify_fd instead of a trap, or undo it. */
	void (*notifiers)(struct virtio_bus *bus, bool on);
	void (*reset)(struct virtio_bus *bus); /* the driver reset the device */
	/* The transport's place in the core state, before and within each queue. */
	void (*save_config)(struct virtio_bus *bus, struct state_writer *w);
	int (*load_config)(struct virtio_bus *bus, struct state_reader *r, GError **err);
	bool saves_align; /* each queue carries its alignment */
	void (*save_queue)(struct virtqueue *vq, struct state_writer *w); /* NULL: nothing */
	void (*load_queue)(struct virtqueue *vq, struct state_reader *r);
	const struct state_desc *extra_state; /* of the transport; its needed() is asked */
	/* load_done() - set vq->ready and the addresses from what was loaded. */
	int (*load_done)(struct virtio_bus *bus, GError **err);
};

/* A transport has one of these. */
struct virtio_bus {
	struct device *dev;                     /* the transport; set by its realize(), likewise */
	const struct virtio_transport_ops *ops; /* this */
	struct virtio_device *vdev;             /* NULL: nothing plugged in */
	bool legacy; /* speaks the interface before Virtio 1.0; a transport that has both follows
			the driver */
};

struct virtio_device {
	struct device dev;
	const struct virtio_class *cls;
	struct virtio_bus *bus;
	struct virtqueue *vqs;
	unsigned nqueues;
	u16 config_size; /* bytes of the configuration; may be lowered by realize() */
	u8 *config;      /* as read last; migrates */
	u8 status;       /* migrates, likewise those below */
	u8 isr;
	u16 queue_sel;
	bool broken;       /* the driver violated the protocol; until reset */
	u64 features;      /* negotiated */
	u64 host_features; /* offered */
	u32 config_generation;
	u64 map_generation; /* counts changes of the memory map; > 0 */
	struct as_listener listener;
	struct notifier vm_notifier;
	bool vm_running;
	bool notifiers_on;
	struct iothread *iothread; /* handles the queues; NULL: whoever is kicked */
	int kick_fd;               /* eventfd for it */
	GSource *kick_source;

	/* Properties. */
	bool opt_indirect, opt_event_idx, opt_packed, opt_iommu;
};

#define VIRTIO_PROPS(s)                                                                            \
	PROP(s, vdev.opt_indirect, "indirect_desc", BOOL, "on", "offer indirect descriptors"),     \
		PROP(s, vdev.opt_event_idx, "event_idx", BOOL, "on", "offer event indexes"),       \
		PROP(s, vdev.opt_packed, "packed", BOOL, "off",                                    \
		     "offer packed virtqueues (only off)"),                                        \
		PROP(s, vdev.opt_iommu, "iommu_platform", BOOL, "off",                             \
		     "go through an IOMMU (only off)")

/*
 * virtio_device_init() - first step of a device's realize().
 * @nqueues: how many virtio_add_queue() will make.
 *
 * Return: 0, or -EINVAL with @err; nothing is left behind.
 */
int virtio_device_init(struct virtio_device *vdev, const struct virtio_class *cls, unsigned nqueues,
		       GError **err);
void virtio_device_finish(struct virtio_device *vdev);

/* virtio_add_queue() - the next queue. @size: entries, a power of two <= VIRTQUEUE_MAX_SIZE. */
struct virtqueue *virtio_add_queue(struct virtio_device *vdev, u16 size, virtqueue_handler *handle);

/*
 * virtio_set_iothread() - have all queues handled in a thread; after virtio_device_init().
 * @t: NULL: no thread. virtio_device_finish() lets go of it.
 *
 * Return: 0, or -errno with @err.
 */
int virtio_set_iothread(struct virtio_device *vdev, struct iothread *t, GError **err);
void virtio_drop_iothread(struct virtio_device *vdev);
/* virtio_leave_to_iothread() - a kick: false if the caller is to handle the queue. */
bool virtio_leave_to_iothread(struct virtqueue *vq);

/* virtio_device_reset() - what the driver does by writing 0 to the status; device_type.reset. */
void virtio_device_reset(struct device *dev);

static inline bool virtio_has_feature(const struct virtio_device *vdev, unsigned bit)
{
	return vdev->features >> bit & 1;
}

/* virtio_live() - the driver is ready, the VM runs, nothing is broken: queues may be used. */
bool virtio_live(const struct virtio_device *vdev);

/* virtio_notify() - interrupt for pushed chains, if the driver wants one. */
void virtio_notify(struct virtqueue *vq);

/* virtio_return_all() - from a queue's handler: give the driver back whatever it offers, as done.
 */
void virtio_return_all(struct virtqueue *vq);

/* virtio_config_changed() - the configuration changed by itself. */
void virtio_config_changed(struct virtio_device *vdev);

/* virtio_error() - the driver broke the protocol: log it, stop using queues until reset. */
void virtio_error(struct virtio_device *vdev, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* For transports. */
void virtio_set_status(struct virtio_device *vdev, u8 status);
void virtio_set_features(struct virtio_device *vdev, u64 features); /* before FEATURES_OK */
void virtio_kick(struct virtio_device *vdev, unsigned queue);
u32 virtio_config_read(struct virtio_device *vdev, u64 offset, unsigned size);
void virtio_config_write(struct virtio_device *vdev, u64 offset, u32 value, unsigned size);

/* The state of every virtio device: one field in its section, for device_type.state. Most have no
 * other. */
extern const struct state_codec virtio_state_codec;
#define VIRTIO_STATE_FIELD                                                                         \
	{                                                                                          \
		.name = "virtio", .type = STATE_CUSTOM, .size = sizeof(struct virtio_device),      \
		.codec = &virtio_state_codec                                                       \
	}
extern const struct state_field virtio_state_fields[];

/*
 * virtio_elem_save(), virtio_elem_load() - a chain in flight.
 *
 * load: NULL with @err if it cannot be one of @vq's.
 */
void virtio_elem_save(struct state_writer *w, const struct virtqueue_elem *elem);
struct virtqueue_elem *virtio_elem_load(struct state_reader *r, struct virtqueue *vq, GError **err);

#endif

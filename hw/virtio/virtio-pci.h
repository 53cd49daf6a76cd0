/*
 * hw/virtio/virtio-pci.h - what the files of the PCI transport share.
 *
 * Source: Virtio 1.2, 4.1. Constants are those of <linux/virtio_pci.h>.
 */
#ifndef HW_VIRTIO_VIRTIO_PCI_H
#define HW_VIRTIO_VIRTIO_PCI_H

#include "hw/pci/pci.h"
#include "hw/virtio/virtio.h"

#include <linux/virtio_pci.h>

/* BARs, where QEMU's devices have them. */
enum { VIRTIO_PCI_BAR_LEGACY = 0, VIRTIO_PCI_BAR_MSIX = 1, VIRTIO_PCI_BAR_MODERN = 4 };

#define VIRTIO_PCI_MODERN_BYTES 0x4000
#define VIRTIO_PCI_NOTIFY_STEP  4 /* bytes from one queue's notification register to the next */

/* What the driver wrote for a queue; takes effect when it is enabled. Low half first. */
struct virtio_pci_queue {
	u16 num; /* entries; migrates, likewise those below */
	bool enabled;
	u32 desc[2], avail[2], used[2];
	u16 vector; /* MSI-X; VIRTIO_MSI_NO_VECTOR */
};

struct virtio_pci {
	struct pci_device pci;
	struct virtio_bus bus;
	u32 dfselect, gfselect; /* migrate */
	u32 guest_features[2];  /* migrates */
	u16 config_vector;      /* migrates */
	u16 window_cap;         /* offset of the capability that reaches the BAR from there; 0 */
	bool has_legacy, has_modern;
	struct virtio_pci_queue vqs[VIRTIO_QUEUE_MAX]; /* used up to the device's number */

	/* Properties. */
	int opt_disable_legacy; /* enum on_off_auto */
	bool opt_disable_modern;
	u32 opt_vectors;
	char *opt_romfile;
};

static inline struct virtio_pci *virtio_pci_of(struct virtio_bus *bus)
{
	return container_of(bus, struct virtio_pci, bus);
}

/* virtio_pci_selected() - the queue that the driver chose; NULL if there is none. */
static inline struct virtqueue *virtio_pci_selected(struct virtio_pci *p)
{
	struct virtio_device *vdev = p->bus.vdev;

	return vdev->queue_sel < vdev->nqueues ? &vdev->vqs[vdev->queue_sel] : NULL;
}

/* virtio_pci_take_isr() - read the interrupt status: it is cleared by that. */
u8 virtio_pci_take_isr(struct virtio_pci *p);

/* virtio_pci_vector() - what a driver's choice of a vector becomes: one that there is, or none. */
u16 virtio_pci_vector(const struct virtio_pci *p, u32 wanted);

/* The two interfaces: BARs and capabilities, after the device inside is there. */
void virtio_pci_add_modern(struct virtio_pci *p);
void virtio_pci_add_legacy(struct virtio_pci *p);

extern const struct state_desc virtio_pci_extra_state; /* of a struct virtio_pci */

#endif

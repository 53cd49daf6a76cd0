/* hw/virtio/virtio-pci-legacy.c - the interface before Virtio 1.0, in I/O space (4.1.4.10). */
#include "hw/virtio/virtio-pci.h"

#include "util/log.h"

static u64 config_start(const struct virtio_pci *p)
{
	return VIRTIO_PCI_CONFIG_OFF(msix_enabled(&p->pci));
}

static u32 read_register(struct virtio_pci *p, u64 off)
{
	struct virtio_device *vdev = p->bus.vdev;
	const struct virtqueue *vq = virtio_pci_selected(p);

	switch (off) {
	case VIRTIO_PCI_HOST_FEATURES: return vdev->host_features;
	case VIRTIO_PCI_GUEST_FEATURES: return vdev->features;
	case VIRTIO_PCI_QUEUE_PFN: return vq ? vq->desc_gpa >> VIRTIO_PCI_QUEUE_ADDR_SHIFT : 0;
	case VIRTIO_PCI_QUEUE_NUM: return vq ? vq->num_max : 0;
	case VIRTIO_PCI_QUEUE_SEL: return vdev->queue_sel;
	case VIRTIO_PCI_STATUS: return vdev->status;
	case VIRTIO_PCI_ISR: return virtio_pci_take_isr(p);
	case VIRTIO_MSI_CONFIG_VECTOR: return p->config_vector;
	case VIRTIO_MSI_QUEUE_VECTOR: return vq ? p->vqs[vq->index].vector : VIRTIO_MSI_NO_VECTOR;
	default: return 0;
	}
}

static u64 legacy_read(void *opaque, u64 off, unsigned size)
{
	struct virtio_pci *p = opaque;

	if (off >= config_start(p))
		return virtio_config_read(p->bus.vdev, off - config_start(p), size);
	return read_register(p, off);
}

static void write_pfn(struct virtio_pci *p, u32 pfn)
{
	struct virtqueue *vq = virtio_pci_selected(p);

	if (!pfn) {
		virtio_device_reset(&p->bus.vdev->dev);
		return;
	}
	if (!vq)
		return;
	if (vq->inuse) {
		virtio_error(p->bus.vdev, "queue %u moved with %u chains in flight", vq->index,
			     vq->inuse);
		return;
	}
	virtqueue_reset(vq);
	vq->desc_gpa = (u64)pfn << VIRTIO_PCI_QUEUE_ADDR_SHIFT;
	virtqueue_legacy_layout(vq);
	vq->ready = true;
}

static void write_register(struct virtio_pci *p, u64 off, u32 value)
{
	struct virtio_device *vdev = p->bus.vdev;
	struct virtqueue *vq = virtio_pci_selected(p);

	switch (off) {
	case VIRTIO_PCI_GUEST_FEATURES:
		p->bus.legacy = true;
		virtio_set_features(vdev, value);
		break;
	case VIRTIO_PCI_QUEUE_PFN: write_pfn(p, value); break;
	case VIRTIO_PCI_QUEUE_SEL: vdev->queue_sel = MIN(value, UINT16_MAX); break;
	case VIRTIO_PCI_QUEUE_NOTIFY: virtio_kick(vdev, value); break;
	case VIRTIO_PCI_STATUS:
		p->bus.legacy = value || !p->has_modern;
		virtio_set_status(vdev, value);
		break;
	case VIRTIO_MSI_CONFIG_VECTOR: p->config_vector = virtio_pci_vector(p, value); break;
	case VIRTIO_MSI_QUEUE_VECTOR:
		if (vq)
			p->vqs[vq->index].vector = virtio_pci_vector(p, value);
		break;
	default: log_guest("virtio-pci: write of %#x to legacy register %#" PRIx64, value, off);
	}
}

static void legacy_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct virtio_pci *p = opaque;

	if (off >= config_start(p))
		virtio_config_write(p->bus.vdev, off - config_start(p), value, size);
	else
		write_register(p, off, value);
}

static const struct mmio_ops legacy_ops = {
	.read = legacy_read,
	.write = legacy_write,
	.max_access = 4,
};

void virtio_pci_add_legacy(struct virtio_pci *p)
{
	u64 bytes = VIRTIO_PCI_CONFIG_OFF(p->pci.msix != NULL) + p->bus.vdev->config_size;
	u64 size = 16;

	while (size < bytes)
		size *= 2;
	pci_add_bar(&p->pci, VIRTIO_PCI_BAR_LEGACY, PCI_BAR_IO, size, &legacy_ops, p);
}

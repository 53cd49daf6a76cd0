/* hw/virtio/virtio-pci-modern.c - the interface of Virtio 1.0 and later, in a BAR (4.1.4). */
#include "hw/virtio/virtio-pci.h"

#include "util/log.h"

#include <linux/pci_regs.h>

/* Parts of the BAR, each a page. */
enum { COMMON_AT = 0x0000, ISR_AT = 0x1000, DEVICE_AT = 0x2000, NOTIFY_AT = 0x3000 };
#define PART_BYTES 0x1000

static u64 join(const u32 half[2])
{
	return (u64)half[1] << 32 | half[0];
}

static u32 read_features(const struct virtio_pci *p)
{
	return p->dfselect < 2 ? p->bus.vdev->host_features >> (32 * p->dfselect) : 0;
}

static u32 read_queue_register(struct virtio_pci *p, u64 off)
{
	const struct virtqueue *vq = virtio_pci_selected(p);
	const struct virtio_pci_queue *q;

	if (!vq)
		return 0;
	q = &p->vqs[vq->index];
	switch (off) {
	case VIRTIO_PCI_COMMON_Q_SIZE: return vq->num;
	case VIRTIO_PCI_COMMON_Q_MSIX: return q->vector;
	case VIRTIO_PCI_COMMON_Q_ENABLE: return q->enabled;
	case VIRTIO_PCI_COMMON_Q_NOFF: return vq->index;
	case VIRTIO_PCI_COMMON_Q_DESCLO: return q->desc[0];
	case VIRTIO_PCI_COMMON_Q_DESCHI: return q->desc[1];
	case VIRTIO_PCI_COMMON_Q_AVAILLO: return q->avail[0];
	case VIRTIO_PCI_COMMON_Q_AVAILHI: return q->avail[1];
	case VIRTIO_PCI_COMMON_Q_USEDLO: return q->used[0];
	case VIRTIO_PCI_COMMON_Q_USEDHI: return q->used[1];
	default: log_guest("virtio-pci: read of register %#" PRIx64, off); return 0;
	}
}

static u32 read_common(struct virtio_pci *p, u64 off)
{
	struct virtio_device *vdev = p->bus.vdev;

	switch (off) {
	case VIRTIO_PCI_COMMON_DFSELECT: return p->dfselect;
	case VIRTIO_PCI_COMMON_DF: return read_features(p);
	case VIRTIO_PCI_COMMON_GFSELECT: return p->gfselect;
	case VIRTIO_PCI_COMMON_GF: return p->gfselect < 2 ? p->guest_features[p->gfselect] : 0;
	case VIRTIO_PCI_COMMON_MSIX: return p->config_vector;
	case VIRTIO_PCI_COMMON_NUMQ: return vdev->nqueues;
	case VIRTIO_PCI_COMMON_STATUS: return vdev->status;
	case VIRTIO_PCI_COMMON_CFGGENERATION: return (u8)vdev->config_generation;
	case VIRTIO_PCI_COMMON_Q_SELECT: return vdev->queue_sel;
	default: return read_queue_register(p, off);
	}
}

static u64 modern_read(void *opaque, u64 off, unsigned size)
{
	struct virtio_pci *p = opaque;

	switch (ROUND_DOWN(off, (u64)PART_BYTES)) {
	case COMMON_AT: return read_common(p, off);
	case ISR_AT: return off == ISR_AT ? virtio_pci_take_isr(p) : 0;
	case DEVICE_AT: return virtio_config_read(p->bus.vdev, off - DEVICE_AT, size);
	default: return 0;
	}
}

static void write_driver_features(struct virtio_pci *p, u32 value)
{
	if (p->gfselect > 1) {
		if (value)
			log_guest("virtio-pci: driver features %#x in word %u", value, p->gfselect);
		return;
	}
	p->bus.legacy = false;
	p->guest_features[p->gfselect] = value;
	virtio_set_features(p->bus.vdev, join(p->guest_features));
}

static void write_queue_size(struct virtio_pci *p, struct virtqueue *vq, u32 value)
{
	if (vq->ready || !IS_POW2(value) || value > vq->num_max) {
		log_guest("virtio-pci: size %u for queue %u%s", value, vq->index,
			  vq->ready ? " that is enabled" : "");
		return;
	}
	vq->num = value;
	p->vqs[vq->index].num = value;
}

static void enable_queue(struct virtio_pci *p, struct virtqueue *vq)
{
	struct virtio_pci_queue *q = &p->vqs[vq->index];
	u16 num = vq->num;

	if (vq->ready)
		return;
	if (vq->inuse || !IS_ALIGNED(q->desc[0], 16) || !IS_ALIGNED(q->avail[0], 2) ||
	    !IS_ALIGNED(q->used[0], 4)) {
		virtio_error(p->bus.vdev,
			     "queue %u enabled with %u chains in flight, rings at %#" PRIx64
			     ", %#" PRIx64 ", %#" PRIx64,
			     vq->index, vq->inuse, join(q->desc), join(q->avail), join(q->used));
		return;
	}
	virtqueue_reset(vq);
	q->num = vq->num = num;
	q->enabled = true;
	vq->desc_gpa = join(q->desc);
	vq->avail_gpa = join(q->avail);
	vq->used_gpa = join(q->used);
	vq->ready = true;
}

static void write_queue_register(struct virtio_pci *p, u64 off, u32 value)
{
	struct virtqueue *vq = virtio_pci_selected(p);
	struct virtio_pci_queue *q = vq ? &p->vqs[vq->index] : NULL;

	if (!vq) {
		log_guest("virtio-pci: write to register %#" PRIx64 " of queue %u, there are %u",
			  off, p->bus.vdev->queue_sel, p->bus.vdev->nqueues);
		return;
	}
	switch (off) {
	case VIRTIO_PCI_COMMON_Q_SIZE: write_queue_size(p, vq, value); break;
	case VIRTIO_PCI_COMMON_Q_MSIX: q->vector = virtio_pci_vector(p, value); break;
	case VIRTIO_PCI_COMMON_Q_ENABLE:
		if (value == 1)
			enable_queue(p, vq);
		else
			log_guest("virtio-pci: %u written to enable queue %u", value, vq->index);
		break;
	case VIRTIO_PCI_COMMON_Q_DESCLO: q->desc[0] = value; break;
	case VIRTIO_PCI_COMMON_Q_DESCHI: q->desc[1] = value; break;
	case VIRTIO_PCI_COMMON_Q_AVAILLO: q->avail[0] = value; break;
	case VIRTIO_PCI_COMMON_Q_AVAILHI: q->avail[1] = value; break;
	case VIRTIO_PCI_COMMON_Q_USEDLO: q->used[0] = value; break;
	case VIRTIO_PCI_COMMON_Q_USEDHI: q->used[1] = value; break;
	default: log_guest("virtio-pci: write of %#x to register %#" PRIx64, value, off);
	}
}

static void write_common(struct virtio_pci *p, u64 off, u32 value)
{
	struct virtio_device *vdev = p->bus.vdev;

	switch (off) {
	case VIRTIO_PCI_COMMON_DFSELECT: p->dfselect = value; break;
	case VIRTIO_PCI_COMMON_GFSELECT: p->gfselect = value; break;
	case VIRTIO_PCI_COMMON_GF: write_driver_features(p, value); break;
	case VIRTIO_PCI_COMMON_MSIX: p->config_vector = virtio_pci_vector(p, value); break;
	case VIRTIO_PCI_COMMON_STATUS:
		if (value)
			p->bus.legacy = false;
		virtio_set_status(vdev, value);
		break;
	case VIRTIO_PCI_COMMON_Q_SELECT: vdev->queue_sel = MIN(value, UINT16_MAX); break;
	default: write_queue_register(p, off, value);
	}
}

static void modern_write(void *opaque, u64 off, u64 value, unsigned size)
{
	struct virtio_pci *p = opaque;

	switch (ROUND_DOWN(off, (u64)PART_BYTES)) {
	case COMMON_AT: write_common(p, off, value); break;
	case DEVICE_AT: virtio_config_write(p->bus.vdev, off - DEVICE_AT, value, size); break;
	case NOTIFY_AT: virtio_kick(p->bus.vdev, (off - NOTIFY_AT) / VIRTIO_PCI_NOTIFY_STEP); break;
	default: log_guest("virtio-pci: write of %#" PRIx64 " at %#" PRIx64, value, off);
	}
}

static const struct mmio_ops modern_ops = {
	.read = modern_read,
	.write = modern_write,
	.max_access = 4,
};

/* ---- the window in configuration space (4.1.4.9) ---- */

/* Where the driver pointed the window; false if it does not point into the BAR. */
static bool window_target(const struct virtio_pci *p, u64 *off, u32 *len)
{
	const u8 *c = p->pci.config + p->window_cap;

	*off = pci_get32(c + VIRTIO_PCI_CAP_OFFSET);
	*len = pci_get32(c + VIRTIO_PCI_CAP_LENGTH);
	return c[VIRTIO_PCI_CAP_BAR] == VIRTIO_PCI_BAR_MODERN &&
	       (*len == 1 || *len == 2 || *len == 4) && IS_ALIGNED(*off, (u64)*len) &&
	       *off + *len <= VIRTIO_PCI_MODERN_BYTES;
}

static bool touches_data(const struct virtio_pci *p, u16 off, unsigned len)
{
	unsigned at = p->window_cap + sizeof(struct virtio_pci_cap);

	return off < at + 4 && off + len > at;
}

static void window_read(struct pci_device *d, u16 off, unsigned len)
{
	struct virtio_pci *p = container_of(d, struct virtio_pci, pci);
	u64 at;
	u32 n;

	if (touches_data(p, off, len) && window_target(p, &at, &n))
		pci_set32(d->config + p->window_cap + sizeof(struct virtio_pci_cap),
			  modern_read(p, at, n));
}

static void window_written(struct pci_device *d, u16 off, unsigned len)
{
	struct virtio_pci *p = container_of(d, struct virtio_pci, pci);
	u64 at;
	u32 n, value;

	if (!touches_data(p, off, len) || !window_target(p, &at, &n))
		return;
	value = pci_get32(d->config + p->window_cap + sizeof(struct virtio_pci_cap));
	modern_write(p, at, n == 4 ? value : value & ((1u << 8 * n) - 1), n);
}

/* ---- set-up ---- */

static u16 add_cap(struct virtio_pci *p, u8 type, u8 bytes, u32 off, u32 len)
{
	u16 at = pci_add_capability(&p->pci, PCI_CAP_ID_VNDR, bytes);
	u8 *c = p->pci.config + at;

	c[VIRTIO_PCI_CAP_LEN] = bytes;
	c[VIRTIO_PCI_CAP_CFG_TYPE] = type;
	if (len)
		c[VIRTIO_PCI_CAP_BAR] = VIRTIO_PCI_BAR_MODERN;
	pci_set32(c + VIRTIO_PCI_CAP_OFFSET, off);
	pci_set32(c + VIRTIO_PCI_CAP_LENGTH, len);
	memset(p->pci.cmask + at, 0xff, bytes);
	return at;
}

void virtio_pci_add_modern(struct virtio_pci *p)
{
	const u8 bytes = sizeof(struct virtio_pci_cap);
	u16 at;

	add_cap(p, VIRTIO_PCI_CAP_COMMON_CFG, bytes, COMMON_AT, PART_BYTES);
	add_cap(p, VIRTIO_PCI_CAP_ISR_CFG, bytes, ISR_AT, PART_BYTES);
	add_cap(p, VIRTIO_PCI_CAP_DEVICE_CFG, bytes, DEVICE_AT, PART_BYTES);
	at = add_cap(p, VIRTIO_PCI_CAP_NOTIFY_CFG, bytes + 4, NOTIFY_AT, PART_BYTES);
	pci_set32(p->pci.config + at + VIRTIO_PCI_NOTIFY_CAP_MULT, VIRTIO_PCI_NOTIFY_STEP);
	at = add_cap(p, VIRTIO_PCI_CAP_PCI_CFG, bytes + 4, 0, 0);
	p->pci.wmask[at + VIRTIO_PCI_CAP_BAR] = 0xff;
	memset(p->pci.wmask + at + VIRTIO_PCI_CAP_OFFSET, 0xff, 12);
	p->window_cap = at;
	p->pci.config_read = window_read;
	p->pci.config_written = window_written;
	pci_add_bar(&p->pci, VIRTIO_PCI_BAR_MODERN, PCI_BAR_MEM64 | PCI_BAR_PREF,
		    VIRTIO_PCI_MODERN_BYTES, &modern_ops, p);
}

/* ---- migration ---- */

static const struct state_field queue_fields[] = {
	FIELD_U16(struct virtio_pci_queue, num),
	FIELD_UNUSED(1),
	FIELD_BOOL(struct virtio_pci_queue, enabled),
	FIELD_ARRAY(struct virtio_pci_queue, desc, U32),
	FIELD_ARRAY(struct virtio_pci_queue, avail, U32),
	FIELD_ARRAY(struct virtio_pci_queue, used, U32),
	FIELD_END,
};

static const struct state_desc queue_state = {
	.name = "virtio_pci/modern_queue_state",
	.version = 1,
	.min_version = 1,
	.fields = queue_fields,
};

static const struct state_field modern_fields[] = {
	FIELD_U32(struct virtio_pci, dfselect),
	FIELD_U32(struct virtio_pci, gfselect),
	FIELD_ARRAY(struct virtio_pci, guest_features, U32),
	FIELD_STRUCT_ARRAY(struct virtio_pci, vqs, queue_state),
	FIELD_END,
};

static bool is_modern(void *obj)
{
	return ((struct virtio_pci *)obj)->has_modern;
}

static const struct state_desc modern_state = {
	.name = "virtio_pci/modern_state",
	.version = 1,
	.min_version = 1,
	.fields = modern_fields,
	.needed = is_modern,
};

static const struct state_field no_fields[] = { FIELD_END };
static const struct state_desc *const extra_subsections[] = { &modern_state, NULL };

const struct state_desc virtio_pci_extra_state = {
	.name = "virtio_pci",
	.version = 1,
	.min_version = 1,
	.fields = no_fields,
	.subsections = extra_subsections,
	.needed = is_modern,
};

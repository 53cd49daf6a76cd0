/*
 * hw/virtio/virtio-pci.c - the PCI transport: the device that carries a virtio device inside.
 *
 * Source: Virtio 1.2, 4.1. Identities, BARs and the order of capabilities are those of QEMU's
 * devices, read from their configuration space: guests and migrations rely on them. On the root bus
 * a device has both interfaces (it is transitional), behind a port only the modern one.
 */
#include "hw/virtio/virtio-pci.h"

#include "accel/vm.h"
#include "hw/devices.h"
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/pci_regs.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>

#define VENDOR           0x1af4
#define MODERN_ID        0x1040 /* plus the type of the device */
#define SUBSYSTEM        0x1100 /* of a device that is modern only */
#define VECTORS_AUTO     UINT32_MAX
#define VECTORS_MAX      2048
#define NON_TRANSITIONAL "-pci-non-transitional"
#define POWER_MANAGEMENT 3 /* version of the capability */

/* What the PCI side has to know of each kind of device. */
struct kind {
	const struct device_type *inner;
	u16 id, legacy_id;
	u32 class_code;
	unsigned (*vectors)(const struct virtio_device *vdev); /* by default */
	bool modern; /* the kind is not older than Virtio 1.0 */
};

static unsigned one_each(const struct virtio_device *vdev)
{
	return vdev->nqueues + 1;
}

/* One for the configuration, one that all queues share. */
static unsigned one_for_all(const struct virtio_device *vdev)
{
	return 2;
}

static const struct kind kinds[] = {
	{ &virtio_net_type, VIRTIO_ID_NET, 0x1000, 0x020000, one_each },
	{ &virtio_blk_type, VIRTIO_ID_BLOCK, 0x1001, 0x010000, one_each },
	{ &virtio_balloon_type, VIRTIO_ID_BALLOON, 0x1002, 0x00ff00, one_for_all },
	{ &virtio_serial_type, VIRTIO_ID_CONSOLE, 0x1003, 0x078000, one_for_all },
	{ &virtio_rng_type, VIRTIO_ID_RNG, 0x1005, 0x00ff00, one_each },
	{ &virtio_gpu_type, VIRTIO_ID_GPU, 0, 0x038000, one_each, true },
	{ &virtio_keyboard_type, VIRTIO_ID_INPUT, 0, 0x090000, one_for_all, true },
	{ &virtio_mouse_type, VIRTIO_ID_INPUT, 0, 0x090200, one_for_all, true },
	{ &virtio_tablet_type, VIRTIO_ID_INPUT, 0, 0x098000, one_for_all, true },
};

static const struct kind *kind_of(const struct device *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].inner == dev->type->inner)
			return &kinds[i];
	g_assert_not_reached();
}

/* ---- interrupts ---- */

u8 virtio_pci_take_isr(struct virtio_pci *p)
{
	u8 isr = p->bus.vdev->isr;

	p->bus.vdev->isr = 0;
	pci_set_irq(&p->pci, false);
	return isr;
}

u16 virtio_pci_vector(const struct virtio_pci *p, u32 wanted)
{
	return wanted < p->opt_vectors ? wanted : VIRTIO_MSI_NO_VECTOR;
}

static void interrupt(struct virtio_bus *bus, struct virtqueue *vq)
{
	struct virtio_pci *p = virtio_pci_of(bus);

	if (!msix_enabled(&p->pci))
		pci_set_irq(&p->pci, bus->vdev->isr != 0);
	else
		msix_notify(&p->pci, vq ? p->vqs[vq->index].vector : p->config_vector);
}

/* ---- transport ---- */

static void bus_reset(struct virtio_bus *bus)
{
	struct virtio_pci *p = virtio_pci_of(bus);

	bus->legacy = !p->has_modern;
	p->dfselect = p->gfselect = 0;
	p->guest_features[0] = p->guest_features[1] = 0;
	p->config_vector = VIRTIO_MSI_NO_VECTOR;
	for (unsigned i = 0; bus->vdev && i < bus->vdev->nqueues; i++)
		p->vqs[i] = (struct virtio_pci_queue){ .vector = VIRTIO_MSI_NO_VECTOR };
	pci_set_irq(&p->pci, false);
}

static void save_config(struct virtio_bus *bus, struct state_writer *w)
{
	struct virtio_pci *p = virtio_pci_of(bus);

	state_save_nested(w, &pci_device_state, &p->pci, NULL);
	if (!p->pci.msix)
		return;
	msix_save(&p->pci, w);
	state_put_be16(w, p->config_vector);
}

static int load_config(struct virtio_bus *bus, struct state_reader *r, GError **err)
{
	struct virtio_pci *p = virtio_pci_of(bus);
	int ret = state_load_nested(r, &pci_device_state, &p->pci, pci_device_state.version, err);

	if (ret || !p->pci.msix)
		return ret;
	msix_load(&p->pci, r);
	p->config_vector = virtio_pci_vector(p, state_get_be16(r));
	return 0;
}

static void save_queue(struct virtqueue *vq, struct state_writer *w)
{
	struct virtio_pci *p = virtio_pci_of(vq->vdev->bus);

	if (p->pci.msix)
		state_put_be16(w, p->vqs[vq->index].vector);
}

static void load_queue(struct virtqueue *vq, struct state_reader *r)
{
	struct virtio_pci *p = virtio_pci_of(vq->vdev->bus);

	if (p->pci.msix)
		p->vqs[vq->index].vector = virtio_pci_vector(p, state_get_be16(r));
}

static int load_done(struct virtio_bus *bus, GError **err)
{
	struct virtio_pci *p = virtio_pci_of(bus);
	struct virtio_device *vdev = bus->vdev;

	/* A driver that has chosen its features without this one spoke the older interface. */
	bus->legacy =
		!p->has_modern || (p->has_legacy && vdev->status & VIRTIO_CONFIG_S_DRIVER_OK &&
				   !virtio_has_feature(vdev, VIRTIO_F_VERSION_1));
	for (unsigned i = 0; i < vdev->nqueues; i++) {
		struct virtqueue *vq = &vdev->vqs[i];
		const struct virtio_pci_queue *q = &p->vqs[i];

		if (bus->legacy) {
			virtqueue_legacy_layout(vq);
			continue;
		}
		vq->ready = q->enabled;
		if (!q->enabled)
			continue;
		vq->desc_gpa = (u64)q->desc[1] << 32 | q->desc[0];
		vq->avail_gpa = (u64)q->avail[1] << 32 | q->avail[0];
		vq->used_gpa = (u64)q->used[1] << 32 | q->used[0];
	}
	return 0;
}

static const struct virtio_transport_ops transport_ops = {
	.interrupt = interrupt,
	.reset = bus_reset,
	.save_config = save_config,
	.load_config = load_config,
	.save_queue = save_queue,
	.load_queue = load_queue,
	.extra_state = &virtio_pci_extra_state,
	.load_done = load_done,
};

/* ---- life ---- */

/* A type whose name says so has the modern interface only, wherever it sits. */
static bool is_non_transitional(const struct virtio_pci *p)
{
	return g_str_has_suffix(p->pci.dev.type->name, NON_TRANSITIONAL);
}

static int choose_interfaces(struct virtio_pci *p, const struct kind *k, GError **err)
{
	bool below_port = pci_bus_is_below_port(p->pci.dev.on_bus);

	if (k->modern || is_non_transitional(p)) {
		p->has_modern = true;
		return 0;
	}
	p->has_modern = !p->opt_disable_modern;
	p->has_legacy = p->opt_disable_legacy == OOA_AUTO ? !below_port || !p->has_modern
							  : p->opt_disable_legacy == OOA_OFF;
	if (p->has_modern || p->has_legacy)
		return 0;
	error_set(err,
		  "disable-legacy=on and disable-modern=on leave no interface, set one to off");
	return -EINVAL;
}

/* Command lines for QEMU, whose cards have a ROM to boot from, say that there shall be none. */
static int check_rom(const struct virtio_pci *p, GError **err)
{
	if (!p->opt_romfile || !p->opt_romfile[0])
		return 0;
	error_set(err, "romfile=%s: option ROMs are not supported; use romfile=", p->opt_romfile);
	return -EINVAL;
}

static void add_power_management(struct pci_device *d)
{
	u16 at = pci_add_capability(d, PCI_CAP_ID_PM, PCI_PM_SIZEOF);

	pci_set16(d->config + at + PCI_PM_PMC, POWER_MANAGEMENT);
	pci_set16(d->wmask + at + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
}

static int choose_vectors(struct virtio_pci *p, const struct kind *k, GError **err)
{
	if (p->opt_vectors == VECTORS_AUTO)
		p->opt_vectors = k->vectors(p->bus.vdev);
	if (p->opt_vectors <= VECTORS_MAX)
		return 0;
	error_set(err, "property '%s.vectors' does not take value '%u', it wants 0 to %u",
		  p->pci.dev.type->name, p->opt_vectors, VECTORS_MAX);
	return -EINVAL;
}

static void add_interfaces(struct virtio_pci *p)
{
	if (p->pci.config_bytes == PCIE_CONFIG_BYTES) {
		pci_add_express(&p->pci, PCI_EXP_TYPE_ENDPOINT);
		add_power_management(&p->pci);
	}
	if (p->has_modern)
		virtio_pci_add_modern(p);
	if (p->opt_vectors)
		msix_init(&p->pci, p->opt_vectors, VIRTIO_PCI_BAR_MSIX);
	if (p->has_legacy)
		virtio_pci_add_legacy(p);
	bus_reset(&p->bus);
}

static int init_pci(struct virtio_pci *p, const struct kind *k, GError **err)
{
	const struct pci_ids ids = {
		.vendor = VENDOR,
		.device = p->has_legacy ? k->legacy_id : MODERN_ID + k->id,
		.subsystem_vendor = VENDOR,
		.subsystem = p->has_legacy ? k->id : SUBSYSTEM,
		.class_code = k->class_code,
		.revision = p->has_legacy ? 0 : 1,
	};
	bool express = p->has_modern && pci_bus_is_below_port(p->pci.dev.on_bus);

	return pci_device_init(&p->pci, &ids, express ? PCIE_CONFIG_BYTES : PCI_CONFIG_BYTES, err);
}

static int virtio_pci_realize(struct device *dev, GError **err)
{
	struct virtio_pci *p = (struct virtio_pci *)dev;
	const struct kind *k = kind_of(dev);
	int ret = check_rom(p, err) ?: choose_interfaces(p, k, err) ?: init_pci(p, k, err);

	if (ret)
		return ret;
	p->bus.dev = dev;
	p->bus.ops = &transport_ops;
	p->bus.legacy = !p->has_modern;
	dev->bus->owner_data = &p->bus;
	pci_use_pin(&p->pci);
	ret = device_realize(dev->inner, dev->bus, err);
	if (!ret)
		ret = choose_vectors(p, k, err);
	if (ret) {
		device_destroy(dev->inner);
		pci_device_finish(&p->pci);
		return ret;
	}
	add_interfaces(p);
	return 0;
}

static void virtio_pci_unrealize(struct device *dev)
{
	pci_device_finish(&((struct virtio_pci *)dev)->pci);
}

static void virtio_pci_reset(struct device *dev)
{
	struct virtio_pci *p = (struct virtio_pci *)dev;

	if (p->bus.vdev)
		virtio_device_reset(&p->bus.vdev->dev);
	pci_device_reset(&p->pci);
}

static const struct property virtio_pci_props[] = {
	PCI_PROPS(struct virtio_pci),
	PROP(struct virtio_pci, opt_disable_legacy, "disable-legacy", ON_OFF_AUTO, "auto",
	     "off: offer the interface before Virtio 1.0 too; auto: off on the root bus"),
	PROP(struct virtio_pci, opt_disable_modern, "disable-modern", BOOL, "off",
	     "offer only the interface before Virtio 1.0"),
	PROP(struct virtio_pci, opt_vectors, "vectors", U32, "4294967295",
	     "MSI-X vectors; 0: none; 4294967295: as many as the device has use for"),
	PROP(struct virtio_pci, opt_romfile, "romfile", STR, NULL, "option ROM (only empty: none)"),
	PROP_END,
};

static const struct property non_transitional_props[] = {
	PCI_PROPS(struct virtio_pci),
	PROP(struct virtio_pci, opt_vectors, "vectors", U32, "4294967295",
	     "MSI-X vectors; 0: none; 4294967295: as many as the device has use for"),
	PROP(struct virtio_pci, opt_romfile, "romfile", STR, NULL, "option ROM (only empty: none)"),
	PROP_END,
};

#define VIRTIO_PCI_FORM(nm, short_name, in, cat, what, own_props)                                  \
	{                                                                                          \
		.name = nm, .alias = short_name, .desc = what, .category = cat,                    \
		.bus = PCI_BUS_TYPE, .provides_bus = "virtio-bus", .bus_slots = 1,                 \
		.bus_name = "virtio-bus", .bus_path = pci_path, .inner = &(in),                    \
		.instance_size = sizeof(struct virtio_pci), .props = own_props,                    \
		.user_creatable = true, .realize = virtio_pci_realize,                             \
		.unrealize = virtio_pci_unrealize, .reset = virtio_pci_reset,                      \
	}
#define VIRTIO_PCI_TYPE(nm, in, cat, what)                                                         \
	VIRTIO_PCI_FORM(nm "-pci", nm, in, cat, what " on PCI", virtio_pci_props),                 \
		VIRTIO_PCI_FORM(nm NON_TRANSITIONAL, NULL, in, cat,                                \
				what " on PCI, from Virtio 1.0 on", non_transitional_props)

/* Of kinds that are modern there is one form, whose name does not say so. */
#define VIRTIO_PCI_MODERN(nm, in, cat, what)                                                       \
	VIRTIO_PCI_FORM(nm "-pci", nm, in, cat, what " on PCI", non_transitional_props)

static const struct device_type types[] = {
	VIRTIO_PCI_TYPE("virtio-blk", virtio_blk_type, DEVICE_STORAGE, "virtio block device"),
	VIRTIO_PCI_TYPE("virtio-net", virtio_net_type, DEVICE_NETWORK, "virtio network device"),
	VIRTIO_PCI_TYPE("virtio-rng", virtio_rng_type, DEVICE_MISC, "virtio entropy device"),
	VIRTIO_PCI_TYPE("virtio-serial", virtio_serial_type, DEVICE_INPUT,
			"virtio serial controller"),
	VIRTIO_PCI_TYPE("virtio-balloon", virtio_balloon_type, DEVICE_MISC,
			"virtio memory balloon"),
	VIRTIO_PCI_MODERN("virtio-gpu", virtio_gpu_type, DEVICE_DISPLAY, "virtio display, 2D"),
	VIRTIO_PCI_MODERN("virtio-keyboard", virtio_keyboard_type, DEVICE_INPUT, "virtio keyboard"),
	VIRTIO_PCI_MODERN("virtio-mouse", virtio_mouse_type, DEVICE_INPUT, "virtio mouse"),
	VIRTIO_PCI_MODERN("virtio-tablet", virtio_tablet_type, DEVICE_INPUT, "virtio tablet"),
};

const struct device_type *const hw_virtio_pci_devices[] = {
	&types[0], &types[1], &types[2],  &types[3],  &types[4],  &types[5],  &types[6], &types[7],
	&types[8], &types[9], &types[10], &types[11], &types[12], &types[13], NULL,
};

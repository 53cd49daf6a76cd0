/* hw/arm/virt-devices.c - the machine "virt": devices on the platform's own bus. */
#include "hw/arm/virt.h"

#include "hw/arm/fdt.h"
#include "hw/nvram/fw_cfg.h"
#include "hw/virtio/virtio-mmio.h"

static int add_fw_cfg(struct virt *v, GError **err)
{
	struct device *dev = device_create(&v->m, FW_CFG_MEM_TYPE, NULL, err);

	if (!dev)
		return -EINVAL;
	if (device_set_u64(dev, "base", v->map[VIRT_FW_CFG].base, err) ||
	    device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return -EINVAL;
	}
	v->fw_cfg = dev;
	return 0;
}

static void fw_cfg_fdt(struct virt *v, void *fdt)
{
	const struct virt_range *r = &v->map[VIRT_FW_CFG];
	g_autofree char *path = g_strdup_printf("/fw-cfg@%" PRIx64, r->base);

	dt_node(fdt, path);
	dt_set_string(fdt, path, "compatible", "qemu,fw-cfg-mmio");
	dt_set_reg(fdt, path, "reg", r->base, r->size);
	dt_set_empty(fdt, path, "dma-coherent");
}

/* Devices take the transports from the last one downwards. */
static int add_transports(struct virt *v, GError **err)
{
	for (unsigned i = 0; i < VIRT_TRANSPORTS; i++) {
		struct device *dev =
			virtio_mmio_create(&v->m, v->map[VIRT_MMIO].base + i * VIRTIO_MMIO_SIZE,
					   VIRT_SPI_MMIO + i, err);

		if (!dev)
			return -EINVAL;
		dev->bus->rank = VIRT_TRANSPORTS - 1 - i;
		v->transports[i] = dev;
	}
	return 0;
}

/* The last node first: libfdt puts each before the others, and guests number them in order. */
static void transports_fdt(struct virt *v, void *fdt)
{
	for (unsigned i = VIRT_TRANSPORTS; i-- > 0;) {
		u64 base = v->map[VIRT_MMIO].base + i * VIRTIO_MMIO_SIZE;
		g_autofree char *path = g_strdup_printf("/virtio_mmio@%" PRIx64, base);

		dt_node(fdt, path);
		dt_set_string(fdt, path, "compatible", "virtio,mmio");
		dt_set_reg(fdt, path, "reg", base, VIRTIO_MMIO_SIZE);
		dt_set_cells(fdt, path, "interrupts", DT_SPI, VIRT_SPI_MMIO + i, DT_EDGE);
		dt_set_empty(fdt, path, "dma-coherent");
	}
}

int virt_devices_create(struct virt *v, GError **err)
{
	if (add_fw_cfg(v, err) || add_transports(v, err))
		return -EINVAL;
	return 0;
}

void virt_devices_fdt(struct virt *v, void *fdt)
{
	transports_fdt(v, fdt);
	fw_cfg_fdt(v, fdt);
}

bool virt_devices_powerdown(struct virt *v)
{
	return false;
}

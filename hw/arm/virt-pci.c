/* hw/arm/virt-pci.c - the machine "virt": PCI Express. */
#include "hw/arm/virt.h"

#include "hw/arm/fdt.h"
#include "hw/pci/host.h"

#define BUS_BYTES MiB /* of the configuration window */

/* Cells of "ranges": kinds of address in the first one. */
enum { DT_PCI_IO = 0x01000000, DT_PCI_MEM32 = 0x02000000, DT_PCI_MEM64 = 0x03000000 };

static struct pci_window window(const struct virt *v, enum virt_region at)
{
	return (struct pci_window){ v->map[at].base, v->map[at].size };
}

static bool has_high(const struct virt *v, enum virt_region at)
{
	return v->map[at].size;
}

/* The configuration of 256 buses needs room that there is only above RAM. */
static struct pci_window ecam(const struct virt *v)
{
	return window(v, has_high(v, VIRT_HIGH_PCIE_ECAM) ? VIRT_HIGH_PCIE_ECAM : VIRT_PCIE_ECAM);
}

struct virt_range virt_pci_config(const struct virt *v)
{
	return v->map[has_high(v, VIRT_HIGH_PCIE_ECAM) ? VIRT_HIGH_PCIE_ECAM : VIRT_PCIE_ECAM];
}

int virt_pci_create(struct virt *v, GError **err)
{
	struct pci_host_config cfg = {
		.ecam = ecam(v),
		.mmio = window(v, VIRT_PCIE_MMIO),
		.mmio64 = window(v, VIRT_HIGH_PCIE_MMIO),
		.pio = window(v, VIRT_PCIE_PIO),
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cfg.lines); i++)
		cfg.lines[i] = VIRT_SPI_PCIE + i;
	return pci_host_create(&v->m, &cfg, err) ? 0 : -EINVAL;
}

/* Which line each pin of the first four slots has; the others repeat. */
static void interrupts_fdt(void *fdt, const char *path)
{
	u32 map[4 * 4 * 10], *c = map;

	for (unsigned slot = 0; slot < 4; slot++) {
		for (unsigned pin = 0; pin < 4; pin++) {
			const u32 entry[10] = { slot << 11,
						0,
						0,
						pin + 1,
						VIRT_PHANDLE_GIC,
						0,
						0,
						DT_SPI,
						VIRT_SPI_PCIE + (slot + pin) % 4,
						DT_LEVEL_HIGH };

			memcpy(c, entry, sizeof(entry));
			c += ARRAY_SIZE(entry);
		}
	}
	dt_set_cells(fdt, path, "#interrupt-cells", 1);
	dt_set_cell_array(fdt, path, "interrupt-map", map, ARRAY_SIZE(map));
	dt_set_cells(fdt, path, "interrupt-map-mask", 3 << 11, 0, 0, 7);
}

static void ranges_fdt(const struct virt *v, void *fdt, const char *path)
{
	const struct pci_window pio = window(v, VIRT_PCIE_PIO), low = window(v, VIRT_PCIE_MMIO),
				high = window(v, VIRT_HIGH_PCIE_MMIO);
	const u32 cells[] = {
		/* kind, address on the bus, address of the CPU, size */
		DT_PCI_IO,
		0,
		0,
		pio.base >> 32,
		pio.base,
		pio.size >> 32,
		pio.size,
		DT_PCI_MEM32,
		low.base >> 32,
		low.base,
		low.base >> 32,
		low.base,
		low.size >> 32,
		low.size,
		DT_PCI_MEM64,
		high.base >> 32,
		high.base,
		high.base >> 32,
		high.base,
		high.size >> 32,
		high.size,
	};

	dt_set_cell_array(fdt, path, "ranges", cells, high.size ? 21 : 14);
}

void virt_pci_fdt(struct virt *v, void *fdt)
{
	const struct pci_window config = ecam(v);
	g_autofree char *path = g_strdup_printf("/pcie@%" PRIx64, v->map[VIRT_PCIE_MMIO].base);

	dt_node(fdt, path);
	dt_set_string(fdt, path, "compatible", "pci-host-ecam-generic");
	dt_set_string(fdt, path, "device_type", "pci");
	dt_set_cells(fdt, path, "#address-cells", 3);
	dt_set_cells(fdt, path, "#size-cells", 2);
	dt_set_cells(fdt, path, "linux,pci-domain", 0);
	dt_set_cells(fdt, path, "bus-range", 0, config.size / BUS_BYTES - 1);
	dt_set_empty(fdt, path, "dma-coherent");
	if (virt_intc_has_msi(v))
		dt_set_cells(fdt, path, "msi-map", 0, VIRT_PHANDLE_MSI, 0, 0x10000);
	dt_set_reg(fdt, path, "reg", config.base, config.size);
	ranges_fdt(v, fdt, path);
	interrupts_fdt(fdt, path);
}

/*
 * hw/arm/virt.h - the machine "virt" for arm64: what its files share.
 *
 * Addresses, interrupt numbers and device tree are those that guests, firmware and scripts know
 * from QEMU's machine of that name.
 */
#ifndef HW_ARM_VIRT_H
#define HW_ARM_VIRT_H

#include "hw/arm/boot.h"
#include "hw/machine.h"
#include "memory/address-space.h"
#include "target/arm.h"

enum virt_region {
	VIRT_FLASH, /* two banks of equal size */
	VIRT_GIC_DIST,
	VIRT_GIC_CPU, /* GICv2 */
	VIRT_GIC_V2M,
	VIRT_GIC_HYP,
	VIRT_GIC_VCPU,
	VIRT_GIC_ITS,
	VIRT_GIC_REDIST, /* GICv3 */
	VIRT_UART,
	VIRT_RTC,
	VIRT_FW_CFG,
	VIRT_GPIO,
	VIRT_UART1,
	VIRT_GED,
	VIRT_MMIO, /* the first of VIRT_TRANSPORTS */
	VIRT_PLATFORM_BUS,
	VIRT_PCIE_MMIO,
	VIRT_PCIE_PIO,
	VIRT_PCIE_ECAM,
	VIRT_MEM,
	VIRT_GIC_REDIST2, /* above RAM: vCPUs that the first region has no room for */
	VIRT_HIGH_PCIE_ECAM,
	VIRT_HIGH_PCIE_MMIO,
	VIRT_REGIONS,
};

struct virt_range {
	u64 base, size; /* bytes */
};

/* Shared peripheral interrupts, as numbered in the device tree (INTID less 32). */
enum virt_spi {
	VIRT_SPI_UART = 1,
	VIRT_SPI_RTC = 2,
	VIRT_SPI_PCIE = 3, /* to 6 */
	VIRT_SPI_GPIO = 7,
	VIRT_SPI_UART1 = 8,
	VIRT_SPI_GED = 9,
	VIRT_SPI_MMIO = 16, /* to 47 */
	VIRT_SPI_V2M = 48,  /* to 111 */
	VIRT_SPIS_V2M = 64,
	VIRT_SPIS = 256,
};

/* Private peripheral interrupts, as numbered in the device tree (INTID less 16). */
enum virt_ppi {
	VIRT_PPI_PMU = 7,
	VIRT_PPI_GIC = 9,
	VIRT_PPI_HYP_TIMER = 10,
	VIRT_PPI_VIRT_TIMER = 11,
	VIRT_PPI_HYP_VIRT_TIMER = 12,
	VIRT_PPI_SEC_TIMER = 13,
	VIRT_PPI_PHYS_TIMER = 14,
};

/* Names of nodes for references in the device tree. */
enum virt_phandle {
	VIRT_PHANDLE_CLOCK = 0x8000,
	VIRT_PHANDLE_GIC,
	VIRT_PHANDLE_MSI,
	VIRT_PHANDLE_GPIO,
	VIRT_PHANDLE_CPU0 = 0x8100, /* and on */
};

#define VIRT_TRANSPORTS    32
#define VIRT_POWER_KEY_PIN 3 /* of the GPIO controller */

/* Cells of "interrupts": kind and trigger. */
enum { DT_SPI = 0, DT_PPI = 1, DT_EDGE = 1, DT_LEVEL_HIGH = 4, DT_PPI_CPUS_SHIFT = 8 };

struct virt {
	struct machine m;

	/* Properties. */
	bool secure, virtualization, mte, ras, dtb_randomness, highmem, want_its;
	int iommu;
	int acpi;                        /* enum on_off_auto */
	struct block_backend *pflash[2]; /* NULL: none */
	char *dumpdtb;                   /* NULL: run */
	char *gic_version;               /* NULL: the machine chooses */

	struct virt_range map[VIRT_REGIONS]; /* virt_layout(); size 0: not there */
	struct mapping ram;
	unsigned gic_number; /* 2 or 3 */
	struct device *gic;
	struct virt_cpu_lines *cpu_lines; /* virt-intc.c: of each vCPU */
	struct device *its;               /* of a GICv3, takes messages; NULL: there is none */
	struct device *fw_cfg;
	bool has_acpi_state, acpi_patched; /* virt-acpi.c; the second migrates */
	struct device *power_key;
	struct device *flash[2];
	bool has_firmware; /* in flash[0] */
	struct device *transports[VIRT_TRANSPORTS];
	struct arm_cpu_model *model;
	GBytes *dtb;         /* as the guest finds it after each reset */
	u64 entry, start_x0; /* where the first vCPU starts, and what x0 is there */
	u64 dtb_at;
};

/* Versions of the machine in which something changed for guests. */
enum {
	VIRT_8_0 = MACHINE_VERSION(8, 0),
	VIRT_8_2 = MACHINE_VERSION(8, 2),
	VIRT_9_0 = MACHINE_VERSION(9, 0),
	VIRT_9_1 = MACHINE_VERSION(9, 1),
	VIRT_9_2 = MACHINE_VERSION(9, 2),
	VIRT_10_0 = MACHINE_VERSION(10, 0),
	VIRT_11_1 = MACHINE_VERSION(11, 1),
};

#define VIRT_TYPES 12
extern const struct machine_type virt_machine_types[VIRT_TYPES];

/* virt_is_before() - whether the machine is of a version older than @version. */
static inline bool virt_is_before(const struct virt *v, int version)
{
	return v->m.type->version < version;
}

static inline struct virt *virt_of(struct machine *m)
{
	return (struct virt *)m;
}

/* virt-map.c: addresses for the amount of RAM; and RAM itself. 0 or -errno with @err. */
int virt_layout(struct virt *v, GError **err);
int virt_map_ram(struct virt *v, GError **err);
void virt_unmap_ram(struct virt *v);

/* virt_mpidr() - affinity of a vCPU: 16 to a cluster. */
u64 virt_mpidr(const struct virt *v, unsigned index);

/*
 * virt-intc.c: interrupt controller, its lines, and the timers of vCPUs.
 *
 * virt_intc_create() comes when the vCPUs exist and before any device that has a line.
 */
int virt_intc_create(struct virt *v, GError **err);
void virt_intc_destroy(struct virt *v);
void virt_intc_set(struct virt *v, unsigned spi, bool level);
void virt_intc_msi(struct virt *v, u16 requester, u64 addr, u32 data);
void virt_intc_fdt(struct virt *v, void *fdt);
/* virt_intc_has_msi() - something takes messages of PCI devices. */
bool virt_intc_has_msi(const struct virt *v);
/* virt_intc_ppi_flags() - third cell of a private interrupt: level, and for GICv2 whose. */
u32 virt_intc_ppi_flags(const struct virt *v);

/* virt-devices.c: everything on the platform's own bus. */
int virt_devices_create(struct virt *v, GError **err);
void virt_devices_fdt(struct virt *v, void *fdt);
/* virt_devices_powerdown() - press the power button; false if there is none. */
bool virt_devices_powerdown(struct virt *v);

/*
 * virt-flash.c: two banks of flash; the first is where CPUs start without a kernel.
 *
 * virt_flash_boot() gives firmware what -kernel, -initrd and -append name, by fw_cfg.
 */
int virt_flash_create(struct virt *v, GError **err);
void virt_flash_fdt(struct virt *v, void *fdt);
int virt_flash_boot(struct virt *v, GError **err);

/* virt-pci.c: PCI Express host bridge; virt_pci_config() - its configuration window. */
int virt_pci_create(struct virt *v, GError **err);
struct virt_range virt_pci_config(const struct virt *v);
void virt_pci_fdt(struct virt *v, void *fdt);

/* virt-acpi.c: hand the ACPI tables to firmware, and undo that; virt-dsdt.c: the one that names
 * devices. */
int virt_acpi_offer(struct virt *v, GError **err);
void virt_acpi_finish(struct virt *v);
GBytes *virt_dsdt(const struct virt *v);

/*
 * virt-fdt.c: the whole tree.
 * @boot: what was loaded; NULL: nothing was, firmware will run.
 *
 * Return: NULL with @err.
 */
GBytes *virt_fdt(struct virt *v, const struct arm_boot *boot, GError **err);

/* virt-boot.c: load what runs first; reset() starts it. 0, 1 if only the tree was asked for, or
 * -errno with @err. */
int virt_boot_load(struct virt *v, GError **err);
int virt_boot_start(struct virt *v, GError **err);

#endif

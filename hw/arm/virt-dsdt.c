/* hw/arm/virt-dsdt.c - the machine "virt": devices that its DSDT names (ACPI 6.5, chapters 6 and
 * 19). */
#include "hw/acpi/aml.h"
#include "hw/arm/virt.h"
#include "hw/primecell.h"
#include "hw/virtio/virtio-mmio.h"

#define INTID(spi) (32 + (spi))
#define BUS_BYTES  MiB /* of the configuration window */
#define SLOTS      32
#define PINS       4
#define STA_HIDDEN 0xb /* present, works, not shown */

static void begin(struct aml *a, const char *name, const char *hid, u64 uid)
{
	aml_device(a, name);
	aml_name_string(a, "_HID", hid);
	aml_name_int(a, "_UID", uid);
}

static void memory_and_irq(struct aml *a, const struct virt_range *r, u64 size, enum virt_spi spi)
{
	aml_res_memory32(a, r->base, size);
	aml_res_irq(a, INTID(spi), true, false);
}

static void add_cpus(struct aml *a, const struct virt *v)
{
	for (unsigned i = 0; i < v->m.opt.cpus; i++) {
		g_autofree char *name = g_strdup_printf("C%03X", i);

		begin(a, name, "ACPI0007", i);
		aml_end(a);
	}
}

static void add_uart(struct aml *a, const struct virt *v, const char *name, unsigned n)
{
	begin(a, name, "ARMH0011", n);
	aml_resources(a);
	memory_and_irq(a, &v->map[n ? VIRT_UART1 : VIRT_UART], PRIMECELL_SIZE,
		       n ? VIRT_SPI_UART1 : VIRT_SPI_UART);
	aml_resources_end(a);
	aml_end(a);
}

static void add_flash(struct aml *a, const struct virt *v)
{
	u64 size = v->map[VIRT_FLASH].size / 2;

	for (unsigned i = 0; i < 2; i++) {
		g_autofree char *name = g_strdup_printf("FLS%u", i);

		begin(a, name, "LNRO0015", i);
		aml_resources(a);
		aml_res_memory32(a, v->map[VIRT_FLASH].base + i * size, size);
		aml_resources_end(a);
		aml_end(a);
	}
}

static void add_fw_cfg(struct aml *a, const struct virt *v)
{
	begin(a, "FWCF", "QEMU0002", 0);
	aml_name_int(a, "_STA", STA_HIDDEN);
	aml_name_int(a, "_CCA", 1);
	aml_resources(a);
	aml_res_memory32(a, v->map[VIRT_FW_CFG].base, v->map[VIRT_FW_CFG].size);
	aml_resources_end(a);
	aml_end(a);
}

static void add_transports(struct aml *a, const struct virt *v)
{
	for (unsigned i = 0; i < VIRT_TRANSPORTS; i++) {
		g_autofree char *name = g_strdup_printf("VR%02u", i);

		begin(a, name, "LNRO0005", i);
		aml_name_int(a, "_CCA", 1);
		aml_resources(a);
		aml_res_memory32(a, v->map[VIRT_MMIO].base + i * VIRTIO_MMIO_SIZE,
				 VIRTIO_MMIO_SIZE);
		aml_res_irq(a, INTID(VIRT_SPI_MMIO + i), true, false);
		aml_resources_end(a);
		aml_end(a);
	}
}

/* Which line each pin of each slot has; interrupts are of the controller, without a link device. */
static void add_routing(struct aml *a)
{
	aml_name(a, "_PRT");
	aml_package(a, SLOTS * PINS);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		for (unsigned pin = 0; pin < PINS; pin++) {
			aml_package(a, 4);
			aml_int(a, slot << 16 | 0xffff); /* all functions */
			aml_int(a, pin);
			aml_int(a, 0);
			aml_int(a, INTID(VIRT_SPI_PCIE + (slot + pin) % PINS));
			aml_end(a);
		}
	aml_end(a);
}

static void add_windows(struct aml *a, const struct virt *v, unsigned buses)
{
	const struct virt_range *low = &v->map[VIRT_PCIE_MMIO], *io = &v->map[VIRT_PCIE_PIO],
				*high = &v->map[VIRT_HIGH_PCIE_MMIO];

	aml_resources(a);
	aml_res_window(a, AML_WINDOW_BUS, 0, buses, 0);
	aml_res_window(a, AML_WINDOW_MEMORY, low->base, low->size, 0);
	aml_res_window(a, AML_WINDOW_IO, 0, io->size, io->base);
	if (high->size)
		aml_res_window(a, AML_WINDOW_MEMORY, high->base, high->size, 0);
	aml_resources_end(a);
}

static void add_pci(struct aml *a, const struct virt *v)
{
	struct virt_range config = virt_pci_config(v);

	aml_device(a, "PCI0");
	aml_name_eisa_id(a, "_HID", "PNP0A08");
	aml_name_eisa_id(a, "_CID", "PNP0A03");
	aml_name_int(a, "_SEG", 0);
	aml_name_int(a, "_BBN", 0);
	aml_name_int(a, "_UID", 0);
	aml_name_int(a, "_CCA", 1);
	add_routing(a);
	add_windows(a, v, config.size / BUS_BYTES);
	/* Whatever the system wants to control itself: firmware controls nothing. */
	aml_method(a, "_OSC", 4);
	aml_return_arg(a, 3);
	aml_end(a);

	/* The configuration window belongs to nobody else. */
	aml_device(a, "RES0");
	aml_name_eisa_id(a, "_HID", "PNP0C02");
	aml_resources(a);
	aml_res_window(a, AML_WINDOW_MEMORY, config.base, config.size, 0);
	aml_resources_end(a);
	aml_end(a);
	aml_end(a);
}

/* The power button is a pin of the GPIO controller. */
static void add_power_button(struct aml *a, const struct virt *v)
{
	aml_device(a, "PWRB");
	aml_name_eisa_id(a, "_HID", "PNP0C0C");
	aml_name_int(a, "_UID", 0);
	aml_end(a);

	begin(a, "GPO0", "ARMH0061", 0);
	aml_resources(a);
	memory_and_irq(a, &v->map[VIRT_GPIO], PRIMECELL_SIZE, VIRT_SPI_GPIO);
	aml_resources_end(a);
	aml_gpio_events(a, "\\_SB.GPO0", VIRT_POWER_KEY_PIN);
	aml_method(a, "_E03", 0); /* named after the pin */
	aml_notify(a, "\\_SB.PWRB", 0x80);
	aml_end(a);
	aml_end(a);
}
_Static_assert(VIRT_POWER_KEY_PIN == 3, "name of the method");

GBytes *virt_dsdt(const struct virt *v)
{
	GByteArray *t = acpi_table_begin("DSDT", 2);
	struct aml a;

	aml_init(&a, t);
	aml_scope(&a, "\\_SB");
	add_cpus(&a, v);
	add_uart(&a, v, "COM0", 0);
	if (v->m.opt.serial[1])
		add_uart(&a, v, "COM1", 1);
	add_flash(&a, v);
	add_fw_cfg(&a, v);
	add_transports(&a, v);
	add_pci(&a, v);
	add_power_button(&a, v);
	aml_end(&a);
	aml_finish(&a);
	return acpi_table_end(t);
}

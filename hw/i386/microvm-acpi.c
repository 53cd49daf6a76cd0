/* hw/i386/microvm-acpi.c - ACPI tables of microvm, hardware-reduced (ACPI 6.5, chapter 5.2). */
#include "accel/vm.h"
#include "hw/acpi/aml.h"
#include "hw/acpi/ged.h"
#include "hw/acpi/tables.h"
#include "hw/i386/microvm.h"
#include "hw/nvram/fw_cfg.h"
#include "hw/rtc/mc146818.h"

#include <assert.h>

enum { FADT_FLAGS_AT = 112, FADT_BYTES = 276 };
enum { FADT_RESET_REGISTER = 1 << 10, FADT_HW_REDUCED = 1 << 20 };
enum { BOOT_NO_VGA = 1 << 2, BOOT_NO_CMOS_RTC = 1 << 5 };
enum { MADT_LOCAL_APIC = 0, MADT_IOAPIC = 1, MADT_OVERRIDE = 2, MADT_LOCAL_NMI = 4 };
enum { MADT_HAS_PIC = 1 };
enum { INTI_ACTIVE_HIGH = 1, INTI_LEVEL = 3 << 2 };

#define CENTURY_AT 0x32 /* in the clock's memory */
#define IO_BYTES   12   /* ports of fw_cfg */
#define ID_IOAPIC  0
#define PIT_LINE   2 /* of ISA interrupt 0 */
#define ALL_CPUS   0xff
#define COM_PORTS  8
#define RTC_PORTS  8

/* ---- DSDT ---- */

static void add_com(struct aml *a, struct device *dev, unsigned n)
{
	g_autofree char *name = g_strdup_printf("COM%u", n);
	g_autoptr(JsonNode) iobase = device_get(dev, "iobase", NULL);
	g_autoptr(JsonNode) irq = device_get(dev, "irq", NULL);

	aml_device(a, name);
	aml_name_eisa_id(a, "_HID", "PNP0501");
	aml_name_int(a, "_UID", n);
	aml_resources(a);
	aml_res_io(a, json_node_get_int(iobase), COM_PORTS);
	aml_res_irq(a, json_node_get_int(irq), false, false);
	aml_resources_end(a);
	aml_end(a);
}

static void add_coms(struct aml *a, struct machine *m)
{
	unsigned n = 0;

	for (GList *l = m->devices.head; l; l = l->next) {
		struct device *dev = l->data;

		if (!strcmp(dev->type->name, "isa-serial"))
			add_com(a, dev, ++n);
	}
}

static void add_clock(struct aml *a)
{
	aml_device(a, "RTC");
	aml_name_eisa_id(a, "_HID", "PNP0B00");
	aml_resources(a);
	aml_res_io(a, MC146818_PORT, RTC_PORTS);
	aml_res_irq(a, MC146818_IRQ, false, false);
	aml_resources_end(a);
	aml_end(a);
}

static void add_fw_cfg(struct aml *a)
{
	aml_device(a, "FWCF");
	aml_name_string(a, "_HID", "QEMU0002");
	aml_name_int(a, "_STA", 0xb); /* present, works, not shown */
	aml_resources(a);
	aml_res_io(a, FW_CFG_IO_PORT, IO_BYTES);
	aml_resources_end(a);
	aml_end(a);
}

static void add_transport(struct aml *a, const struct microvm *vm, unsigned n)
{
	g_autofree char *name = g_strdup_printf("VR%02u", n);

	aml_device(a, name);
	aml_name_string(a, "_HID", "LNRO0005");
	aml_name_int(a, "_UID", n);
	aml_name_int(a, "_CCA", 1);
	aml_resources(a);
	aml_res_memory32(a, VIRTIO_MMIO_BASE + n * VIRTIO_MMIO_STEP, VIRTIO_MMIO_STEP);
	aml_res_irq(a, microvm_virtio_line(vm, n), true, true);
	aml_resources_end(a);
	aml_end(a);
}

/* The power button, and the event device whose interrupt tells that it was pressed. */
static void add_events(struct aml *a)
{
	aml_device(a, "PWRB");
	aml_name_eisa_id(a, "_HID", "PNP0C0C");
	aml_name_int(a, "_UID", 0);
	aml_end(a);

	aml_device(a, "GED");
	aml_name_string(a, "_HID", "ACPI0013");
	aml_name_string(a, "_UID", "GED");
	aml_resources(a);
	aml_res_irq(a, GED_LINE, true, false);
	aml_resources_end(a);
	aml_memory_field(a, "EREG", "ESEL", GED_BASE + GED_SELECTOR);
	aml_method(a, "_EVT", 1);
	aml_store_to_local(a, "ESEL", 0);
	aml_if_and(a, 0, GED_EVENT_POWER_BUTTON);
	aml_notify(a, "\\_SB.PWRB", 0x80); /* pressed */
	aml_end(a);
	aml_end(a);
	aml_end(a);
}

/* Sleep type of power-off, for the sleep control register. */
static void add_s5(struct aml *a)
{
	aml_name(a, "_S5");
	aml_package(a, 4);
	aml_int(a, GED_SLEEP_TYPE_S5);
	for (int i = 0; i < 3; i++)
		aml_int(a, 0);
	aml_end(a);
}

static GBytes *build_dsdt(struct microvm *vm)
{
	GByteArray *t = acpi_table_begin("DSDT", 2);
	struct aml a;

	aml_init(&a, t);
	aml_scope(&a, "\\_SB");
	add_coms(&a, &vm->m);
	if (vm->clock)
		add_clock(&a);
	add_fw_cfg(&a);
	for (unsigned i = 0; i < VIRTIO_MMIO_TRANSPORTS; i++)
		if (bus_child(vm->transports[i]->bus))
			add_transport(&a, vm, i);
	add_events(&a);
	aml_end(&a);
	add_s5(&a);
	aml_finish(&a);
	return acpi_table_end(t);
}

/* ---- the other tables ---- */

static GBytes *build_fadt(struct microvm *vm, u64 dsdt)
{
	GByteArray *t = acpi_table_begin("FACP", 6);
	u16 boot = BOOT_NO_VGA | (vm->clock ? 0 : BOOT_NO_CMOS_RTC);

	acpi_zero(t, FADT_DSDT_AT - t->len);
	acpi_u32(t, dsdt);
	acpi_zero(t, 108 - t->len);
	acpi_u8(t, vm->clock ? CENTURY_AT : 0);
	acpi_u16(t, boot);
	acpi_u8(t, 0);
	assert(t->len == FADT_FLAGS_AT);
	acpi_u32(t, FADT_RESET_REGISTER | FADT_HW_REDUCED);
	acpi_gas(t, ACPI_SPACE_MEMORY, 8, GED_BASE + GED_RESET);
	acpi_u8(t, GED_RESET_VALUE);
	acpi_u16(t, 0); /* Arm */
	acpi_u8(t, 5);  /* minor version */
	acpi_u64(t, 0);
	assert(t->len == FADT_X_DSDT_AT);
	acpi_u64(t, dsdt);
	acpi_zero(t, 244 - t->len);
	acpi_gas(t, ACPI_SPACE_MEMORY, 8, GED_BASE + GED_SLEEP_CONTROL);
	acpi_gas(t, ACPI_SPACE_MEMORY, 8, GED_BASE + GED_SLEEP_STATUS);
	acpi_zero(t, FADT_BYTES - t->len);
	return acpi_table_end(t);
}

static void add_override(GByteArray *t, u8 isa, u32 line, u16 flags)
{
	acpi_u8(t, MADT_OVERRIDE);
	acpi_u8(t, 10);
	acpi_u8(t, 0); /* bus: ISA */
	acpi_u8(t, isa);
	acpi_u32(t, line);
	acpi_u16(t, flags);
}

static GBytes *build_madt(struct microvm *vm)
{
	GByteArray *t = acpi_table_begin("APIC", 5);

	acpi_u32(t, LOCAL_APIC);
	acpi_u32(t, vm->pic == OOA_OFF ? 0 : MADT_HAS_PIC);
	for (unsigned i = 0; i < vm->m.opt.cpus; i++) {
		acpi_u8(t, MADT_LOCAL_APIC);
		acpi_u8(t, 8);
		acpi_u8(t, i); /* processor's _UID */
		acpi_u8(t, x86_cpu_apic_id(vm->m.vm->cpus[i]));
		acpi_u32(t, 1); /* enabled */
	}
	acpi_u8(t, MADT_IOAPIC);
	acpi_u8(t, 12);
	acpi_u8(t, ID_IOAPIC);
	acpi_u8(t, 0);
	acpi_u32(t, IOAPIC);
	acpi_u32(t, 0); /* its first line */
	add_override(t, 0, PIT_LINE, 0);
	add_override(t, GED_LINE, GED_LINE, INTI_ACTIVE_HIGH | INTI_LEVEL);
	acpi_u8(t, MADT_LOCAL_NMI);
	acpi_u8(t, 6);
	acpi_u8(t, ALL_CPUS);
	acpi_u16(t, 0);
	acpi_u8(t, 1); /* LINT1 */
	return acpi_table_end(t);
}

GBytes *microvm_acpi_tables(struct microvm *vm, u64 base, struct acpi_tables *t)
{
	u64 dsdt;

	acpi_tables_init(t, base);
	dsdt = acpi_tables_place(t, build_dsdt(vm));
	acpi_tables_add_fadt(t, build_fadt(vm, dsdt));
	acpi_tables_add(t, build_madt(vm));
	return acpi_tables_end(t);
}

int microvm_offer_acpi(struct microvm *vm, GError **err)
{
	struct acpi_tables t;
	g_autoptr(GBytes) tables = microvm_acpi_tables(vm, 0, &t);

	return acpi_tables_offer(&t, tables, vm->fw_cfg, err);
}

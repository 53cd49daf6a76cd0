/*
 * hw/arm/virt-acpi.c - the machine "virt": its ACPI tables, hardware-reduced.
 *
 * Sources: ACPI 6.5, chapter 5.2 (FADT, MADT, GTDT, PPTT); PCI Firmware 3.3, 4.1.2 (MCFG);
 * Microsoft's SPCR and DBG2; Arm DEN 0049 (IORT).
 */
#include "hw/acpi/aml.h"
#include "hw/acpi/tables.h"
#include "hw/arm/virt.h"
#include "hw/intc/arm-gicv3.h"
#include "hw/primecell.h"
#include "migration/state.h"

#include <assert.h>

#define INTID_PPI(ppi) (16 + (ppi))
#define INTID_SPI(spi) (32 + (spi))
#define NOWHERE        (~(u64)0)
#define BUS_BYTES      MiB

enum { FADT_FLAGS_AT = 112, FADT_BYTES = 276, FADT_HW_REDUCED = 1 << 20 };
enum { FADT_ARM_BOOT_AT = 129, BOOT_PSCI = 1 << 0, BOOT_PSCI_HVC = 1 << 1 };
enum { MADT_GICC = 0xb, MADT_GICD, MADT_MSI_FRAME, MADT_GICR, MADT_ITS };
enum { GTDT_ALWAYS_ON = 1 << 2 }; /* level-triggered, active high */
enum { SERIAL_PL011 = 3, SERIAL_GIC = 1 << 3, SERIAL_115200 = 7, DEBUG_SERIAL = 0x8000 };
enum { PPTT_PACKAGE = 1 << 0, PPTT_HAS_ID = 1 << 1, PPTT_THREAD = 1 << 2, PPTT_LEAF = 1 << 3 };

static GBytes *build_fadt(const struct virt *v, u64 dsdt)
{
	GByteArray *t = acpi_table_begin("FACP", 6);

	acpi_zero(t, FADT_DSDT_AT - t->len);
	acpi_u32(t, dsdt);
	acpi_zero(t, FADT_FLAGS_AT - t->len);
	acpi_u32(t, FADT_HW_REDUCED);
	acpi_zero(t, FADT_ARM_BOOT_AT - t->len);
	acpi_u16(t, BOOT_PSCI | (v->virtualization ? 0 : BOOT_PSCI_HVC));
	acpi_u8(t, 3); /* minor version */
	acpi_u64(t, 0);
	assert(t->len == FADT_X_DSDT_AT);
	acpi_u64(t, dsdt);
	acpi_zero(t, FADT_BYTES - t->len);
	return acpi_table_end(t);
}

/* ---- interrupt controller ---- */

static void add_gicc(GByteArray *t, const struct virt *v, unsigned i)
{
	bool v2 = v->gic_number == 2, hyp = v2 && v->virtualization;

	acpi_u8(t, MADT_GICC);
	acpi_u8(t, 80);
	acpi_u16(t, 0);
	acpi_u32(t, i); /* number of the CPU interface */
	acpi_u32(t, i); /* _UID */
	acpi_u32(t, 1); /* enabled */
	acpi_u32(t, 0); /* no parking protocol */
	acpi_u32(t, arm_cpu_model_has_pmu(v->model) ? INTID_PPI(VIRT_PPI_PMU) : 0);
	acpi_u64(t, 0);
	acpi_u64(t, v2 ? v->map[VIRT_GIC_CPU].base : 0);
	acpi_u64(t, hyp ? v->map[VIRT_GIC_VCPU].base : 0);
	acpi_u64(t, hyp ? v->map[VIRT_GIC_HYP].base : 0);
	acpi_u32(t, v->virtualization ? INTID_PPI(VIRT_PPI_GIC) : 0);
	acpi_u64(t, 0); /* redistributors have their own entries */
	acpi_u64(t, virt_mpidr(v, i));
	acpi_u32(t, 0); /* efficiency class; no SPE */
}

static void add_gicd(GByteArray *t, const struct virt *v)
{
	acpi_u8(t, MADT_GICD);
	acpi_u8(t, 24);
	acpi_u16(t, 0);
	acpi_u32(t, 0);
	acpi_u64(t, v->map[VIRT_GIC_DIST].base);
	acpi_u32(t, 0);
	acpi_u32(t, v->gic_number); /* a byte, and three reserved ones */
}

static void add_msi_frame(GByteArray *t, const struct virt *v)
{
	acpi_u8(t, MADT_MSI_FRAME);
	acpi_u8(t, 24);
	acpi_u16(t, 0);
	acpi_u32(t, 0); /* its number */
	acpi_u64(t, v->map[VIRT_GIC_V2M].base);
	acpi_u32(t, 1); /* what follows holds */
	acpi_u16(t, VIRT_SPIS_V2M);
	acpi_u16(t, INTID_SPI(VIRT_SPI_V2M));
}

static void add_gicr(GByteArray *t, const struct virt_range *r)
{
	acpi_u8(t, MADT_GICR);
	acpi_u8(t, 16);
	acpi_u16(t, 0);
	acpi_u64(t, r->base);
	acpi_u32(t, r->size);
}

static void add_its(GByteArray *t, const struct virt *v)
{
	acpi_u8(t, MADT_ITS);
	acpi_u8(t, 20);
	acpi_u16(t, 0);
	acpi_u32(t, 0); /* its number, for the IORT */
	acpi_u64(t, v->map[VIRT_GIC_ITS].base);
	acpi_u32(t, 0);
}

static GBytes *build_madt(const struct virt *v)
{
	GByteArray *t = acpi_table_begin("APIC", 5);
	const struct virt_range *first = &v->map[VIRT_GIC_REDIST];

	acpi_u64(t, 0); /* no local APIC; flags */
	add_gicd(t, v);
	for (unsigned i = 0; i < v->m.opt.cpus; i++)
		add_gicc(t, v, i);
	if (v->gic_number == 2) {
		add_msi_frame(t, v);
		return acpi_table_end(t);
	}
	add_gicr(t, first);
	if (v->m.opt.cpus > first->size / ARM_GICV3_REGION)
		add_gicr(t, &v->map[VIRT_GIC_REDIST2]);
	if (v->its)
		add_its(t, v);
	return acpi_table_end(t);
}

/* One translation service, and the PCI host whose messages it takes. */
static GBytes *build_iort(void)
{
	enum { NODES_AT = 48, ITS_BYTES = 24, ROOT_BYTES = 36, MAP_BYTES = 20 };
	GByteArray *t = acpi_table_begin("IORT", 3);

	acpi_u32(t, 2);
	acpi_u32(t, NODES_AT);
	acpi_u32(t, 0);

	acpi_u8(t, 0); /* a group of translation services */
	acpi_u16(t, ITS_BYTES);
	acpi_u8(t, 1);
	acpi_u32(t, 0); /* number of the node */
	acpi_u64(t, 0); /* no mappings */
	acpi_u32(t, 1);
	acpi_u32(t, 0); /* number in the MADT */

	acpi_u8(t, 2); /* a PCI host */
	acpi_u16(t, ROOT_BYTES + MAP_BYTES);
	acpi_u8(t, 3);
	acpi_u32(t, 1);
	acpi_u32(t, 1); /* mappings, and where */
	acpi_u32(t, ROOT_BYTES);
	acpi_u32(t, 1); /* coherent */
	acpi_u8(t, 0);
	acpi_u16(t, 0);
	acpi_u8(t, 3);  /* the same for all accesses */
	acpi_u32(t, 0); /* no ATS */
	acpi_u32(t, 0); /* segment */
	acpi_u8(t, 64); /* address bits */
	acpi_zero(t, 3);

	acpi_u32(t, 0); /* the first requester, how many less one, and theirs at the ITS */
	acpi_u32(t, 0xffff);
	acpi_u32(t, 0);
	acpi_u32(t, NODES_AT);
	acpi_u32(t, 0);
	return acpi_table_end(t);
}

/* ---- timers, topology ---- */

static void add_timer(GByteArray *t, enum virt_ppi ppi)
{
	acpi_u32(t, INTID_PPI(ppi));
	acpi_u32(t, GTDT_ALWAYS_ON);
}

static GBytes *build_gtdt(const struct virt *v)
{
	GByteArray *t = acpi_table_begin("GTDT", 3);

	acpi_u64(t, NOWHERE); /* no frame of the counter's control */
	acpi_u32(t, 0);
	add_timer(t, VIRT_PPI_SEC_TIMER);
	add_timer(t, VIRT_PPI_PHYS_TIMER);
	add_timer(t, VIRT_PPI_VIRT_TIMER);
	add_timer(t, VIRT_PPI_HYP_TIMER);
	acpi_u64(t, NOWHERE);
	acpi_u64(t, 0); /* no timers of the platform */
	if (v->virtualization && !virt_is_before(v, VIRT_9_0))
		add_timer(t, VIRT_PPI_HYP_VIRT_TIMER);
	else
		acpi_u64(t, 0);
	return acpi_table_end(t);
}

/* Return: where in the table the node is, for its children. */
static u32 add_node(GByteArray *t, u32 flags, u32 parent, u32 id)
{
	u32 at = t->len;

	acpi_u8(t, 0);
	acpi_u8(t, 20);
	acpi_u16(t, 0);
	acpi_u32(t, flags);
	acpi_u32(t, parent);
	acpi_u32(t, id);
	acpi_u32(t, 0); /* no caches are told of */
	return at;
}

static GBytes *build_pptt(const struct virt *v)
{
	const struct machine_options *o = &v->m.opt;
	GByteArray *t = acpi_table_begin("PPTT", 2);
	u32 socket = 0, core = 0;

	for (unsigned i = 0; i < o->cpus; i++) {
		if (i % (o->cores * o->threads) == 0)
			socket = add_node(t, PPTT_PACKAGE, 0, i / (o->cores * o->threads));
		if (o->threads == 1) {
			add_node(t, PPTT_HAS_ID | PPTT_LEAF, socket, i);
			continue;
		}
		if (i % o->threads == 0)
			core = add_node(t, 0, socket, i / o->threads);
		add_node(t, PPTT_HAS_ID | PPTT_THREAD | PPTT_LEAF, core, i);
	}
	return acpi_table_end(t);
}

/* ---- PCI, console ---- */

static GBytes *build_mcfg(const struct virt *v)
{
	struct virt_range config = virt_pci_config(v);
	GByteArray *t = acpi_table_begin("MCFG", 1);

	acpi_u64(t, 0);
	acpi_u64(t, config.base);
	acpi_u16(t, 0); /* segment */
	acpi_u8(t, 0);
	acpi_u8(t, config.size / BUS_BYTES - 1);
	acpi_u32(t, 0);
	return acpi_table_end(t);
}

/* Registers of the console: words. */
static void add_uart_address(GByteArray *t, const struct virt *v)
{
	acpi_u8(t, ACPI_SPACE_MEMORY);
	acpi_u8(t, 32);
	acpi_u8(t, 0);
	acpi_u8(t, 3);
	acpi_u64(t, v->map[VIRT_UART].base);
}

static GBytes *build_spcr(const struct virt *v)
{
	GByteArray *t = acpi_table_begin("SPCR", 2);

	acpi_u32(t, SERIAL_PL011); /* a byte, and three reserved ones */
	add_uart_address(t, v);
	acpi_u8(t, SERIAL_GIC);
	acpi_u8(t, 0);
	acpi_u32(t, INTID_SPI(VIRT_SPI_UART));
	acpi_u8(t, SERIAL_115200);
	acpi_u8(t, 0); /* no parity */
	acpi_u8(t, 1); /* stop bit */
	acpi_u8(t, 0); /* no flow control */
	acpi_u8(t, 3); /* VT-UTF8 */
	acpi_u8(t, 0);
	acpi_u32(t, ~0u); /* not a PCI device */
	acpi_zero(t, 12);
	return acpi_table_end(t);
}

static GBytes *build_dbg2(const struct virt *v)
{
	static const char name[] = "\\_SB.COM0";
	enum { INFO_AT = 44, INFO_BYTES = 22, GAS_BYTES = 12 };
	GByteArray *t = acpi_table_begin("DBG2", 0);

	acpi_u32(t, INFO_AT);
	acpi_u32(t, 1);
	acpi_u8(t, 0);
	acpi_u16(t, INFO_BYTES + GAS_BYTES + 4 + sizeof(name));
	acpi_u8(t, 1); /* addresses */
	acpi_u16(t, sizeof(name));
	acpi_u16(t, INFO_BYTES + GAS_BYTES + 4);
	acpi_u32(t, 0); /* no data of a vendor */
	acpi_u16(t, DEBUG_SERIAL);
	acpi_u16(t, SERIAL_PL011);
	acpi_u16(t, 0);
	acpi_u16(t, INFO_BYTES);
	acpi_u16(t, INFO_BYTES + GAS_BYTES);
	add_uart_address(t, v);
	acpi_u32(t, PRIMECELL_SIZE);
	g_byte_array_append(t, (const u8 *)name, sizeof(name));
	return acpi_table_end(t);
}

/*
 * QEMU's section of the tables: whether it has put them together already, which it does when
 * firmware reads them. Here they are complete from the beginning, and are never made anew.
 */
static const struct state_field acpi_fields[] = { FIELD_BOOL(struct virt, acpi_patched),
						  FIELD_END };
static const struct state_desc acpi_state = {
	.name = "virt_acpi_build",
	.version = 1,
	.min_version = 1,
	.fields = acpi_fields,
};

int virt_acpi_offer(struct virt *v, GError **err)
{
	struct acpi_tables t;
	g_autoptr(GBytes) area = NULL;
	u64 dsdt;

	acpi_tables_init(&t, 0);
	dsdt = acpi_tables_place(&t, virt_dsdt(v));
	acpi_tables_add_fadt(&t, build_fadt(v, dsdt));
	acpi_tables_add(&t, build_madt(v));
	acpi_tables_add(&t, build_pptt(v));
	acpi_tables_add(&t, build_gtdt(v));
	acpi_tables_add(&t, build_mcfg(v));
	acpi_tables_add(&t, build_spcr(v));
	acpi_tables_add(&t, build_dbg2(v));
	if (v->its)
		acpi_tables_add(&t, build_iort());
	area = acpi_tables_end(&t);
	if (acpi_tables_offer(&t, area, v->fw_cfg, err))
		return -EINVAL;
	if (v->m.registry)
		state_register(v->m.registry, acpi_state.name, -1, &acpi_state, v);
	v->has_acpi_state = v->m.registry != NULL;
	return 0;
}

void virt_acpi_finish(struct virt *v)
{
	if (v->has_acpi_state)
		state_unregister(v->m.registry, &acpi_state, v);
}

/*
 * hw/i386/mp-table.c - processors and interrupts for kernels that do not read ACPI.
 *
 * Source: Intel MultiProcessor Specification 1.4, chapter 4.
 */
#include "accel/vm.h"
#include "hw/acpi/aml.h"
#include "hw/i386/microvm.h"
#include "hw/rtc/mc146818.h"

enum { MP_PROCESSOR, MP_BUS, MP_IOAPIC, MP_IO_INTERRUPT, MP_LOCAL_INTERRUPT };
enum { INT_NORMAL = 0, INT_NMI = 1, INT_EXTINT = 3 };
enum { FLAGS_OF_BUS = 0, FLAGS_LEVEL_HIGH = 0xd };
enum { CPU_ENABLED = 1, CPU_BOOT = 2 };

#define POINTER_BYTES  16
#define HEADER_BYTES   44
#define APIC_VERSION   0x14
#define IOAPIC_VERSION 0x11
#define BUS_ISA        0
#define ISA_LINES      16
#define TIMER_PIN      2 /* of ISA interrupt 0, as the kernel's routing has it */
#define ALL_APICS      0xff
#define CPU_SIGNATURE  0x600 /* family 6; what the guest's CPUID says counts */
#define CPU_FEATURES   0x201 /* FPU, APIC */

/* Return: the highest APIC id. */
static u8 add_processors(GByteArray *t, const struct vm *vm)
{
	u8 highest = 0;

	for (int i = 0; i < vm->ncpus; i++) {
		u8 id = x86_cpu_apic_id(vm->cpus[i]);

		highest = MAX(highest, id);
		acpi_u8(t, MP_PROCESSOR);
		acpi_u8(t, id);
		acpi_u8(t, APIC_VERSION);
		acpi_u8(t, CPU_ENABLED | (i ? 0 : CPU_BOOT));
		acpi_u32(t, CPU_SIGNATURE);
		acpi_u32(t, CPU_FEATURES);
		acpi_zero(t, 8);
	}
	return highest;
}

static void add_interrupt(GByteArray *t, u8 entry, u8 type, u16 flags, u8 irq, u8 apic, u8 pin)
{
	acpi_u8(t, entry);
	acpi_u8(t, type);
	acpi_u16(t, flags);
	acpi_u8(t, BUS_ISA);
	acpi_u8(t, irq);
	acpi_u8(t, apic);
	acpi_u8(t, pin);
}

/* Virtio's lines are shared: they must be level triggered. */
static bool is_virtio_line(const struct microvm *vm, unsigned line)
{
	for (unsigned i = 0; i < VIRTIO_MMIO_LINES; i++)
		if (microvm_virtio_line(vm, i) == line)
			return true;
	return false;
}

static unsigned add_interrupts(GByteArray *t, const struct microvm *vm, u8 ioapic)
{
	unsigned n = 0;

	for (unsigned line = 0; line < ISA_LINES; line++) {
		if (line == TIMER_PIN)
			continue; /* the cascade */
		add_interrupt(t, MP_IO_INTERRUPT, INT_NORMAL,
			      is_virtio_line(vm, line) ? FLAGS_LEVEL_HIGH : FLAGS_OF_BUS, line,
			      ioapic, line ? line : TIMER_PIN);
		n++;
	}
	add_interrupt(t, MP_LOCAL_INTERRUPT, INT_EXTINT, FLAGS_OF_BUS, 0, 0, 0);
	add_interrupt(t, MP_LOCAL_INTERRUPT, INT_NMI, FLAGS_OF_BUS, 0, ALL_APICS, 1);
	return n + 2;
}

static void put_header(u8 *h, unsigned entries, u16 len)
{
	u32 apic = GUINT32_TO_LE(LOCAL_APIC);

	memcpy(h, "PCMP", 4);
	h[4] = len;
	h[5] = len >> 8;
	h[6] = 4; /* specification 1.4 */
	memcpy(h + 8, "TIDEMARK", 8);
	memcpy(h + 16, "MICROVM     ", 12);
	h[34] = entries;
	h[35] = entries >> 8;
	memcpy(h + 36, &apic, sizeof(apic));
	h[7] = acpi_checksum(h, len);
}

static void put_pointer(u8 *p, u32 table)
{
	u32 le = GUINT32_TO_LE(table);

	memcpy(p, "_MP_", 4);
	memcpy(p + 4, &le, sizeof(le));
	p[8] = 1; /* of 16 bytes */
	p[9] = 4;
	p[10] = acpi_checksum(p, POINTER_BYTES);
}

GBytes *microvm_mp_table(struct microvm *vm, u64 base)
{
	GByteArray *t = g_byte_array_new();
	unsigned entries = vm->m.vm->ncpus + 2;
	u8 ioapic;

	acpi_zero(t, POINTER_BYTES + HEADER_BYTES);
	ioapic = add_processors(t, vm->m.vm) + 1; /* not a processor's */
	acpi_u8(t, MP_BUS);
	acpi_u8(t, BUS_ISA);
	g_byte_array_append(t, (const u8 *)"ISA   ", 6);
	acpi_u8(t, MP_IOAPIC);
	acpi_u8(t, ioapic);
	acpi_u8(t, IOAPIC_VERSION);
	acpi_u8(t, 1); /* enabled */
	acpi_u32(t, IOAPIC);
	entries += add_interrupts(t, vm, ioapic);
	put_header(t->data + POINTER_BYTES, entries, t->len - POINTER_BYTES);
	put_pointer(t->data, base + POINTER_BYTES);
	return g_byte_array_free_to_bytes(t);
}

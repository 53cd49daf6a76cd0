/*
 * hw/i386/layout.h - where microvm puts things: guest memory, I/O memory, interrupt lines.
 */
#ifndef HW_I386_LAYOUT_H
#define HW_I386_LAYOUT_H

#include "util/base.h"

/* Below 1 MiB, written before a direct boot. */
#define BOOT_GDT       0x500u
#define PVH_START_INFO 0x6000u /* start info, memory map and module list */
#define ZERO_PAGE      0x7000u
#define BOOT_STACK     0x9000u /* grows down */
#define PAGE_TABLES    0x9000u /* six pages */
#define CMDLINE        0x20000u
#define CMDLINE_MAX    0x10000u /* with the final NUL */
#define EBDA           0x9fc00u
#define VGA_HOLE       0xa0000u
#define ACPI_AREA      0xe0000u /* root pointer first: where guests search for it */
#define ACPI_AREA_END  0xf0000u
#define MP_TABLE       0xf0000u
#define RESET_VECTOR   0xffff0u
#define HIGH_MEMORY    0x100000u
#define KERNEL_ALIGN   0x200000u

/* RAM ends here and goes on at 4 GiB, if it does not fit. */
#define PCI_HOLE   0xc0000000ull
#define ABOVE_4G   0x100000000ull
#define BIOS_END   0x100000000ull
#define BIOS_MAX   (8 * MiB)
#define IOAPIC     0xfec00000u
#define LOCAL_APIC 0xfee00000u
#define GED_BASE   0xfea00000u
#define GED_LINE   9

#define VIRTIO_MMIO_BASE       0xfeb00000u
#define VIRTIO_MMIO_STEP       0x200u
#define VIRTIO_MMIO_TRANSPORTS 24
#define VIRTIO_MMIO_LINES      8
#define VIRTIO_LINE_ACPI       16 /* first line; the lines above the ISA ones need an IOAPIC */
#define VIRTIO_LINE_ISA        5

#endif

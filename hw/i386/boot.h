/*
 * hw/i386/boot.h - direct boot of a kernel: what is put into memory and how the first vCPU starts.
 */
#ifndef HW_I386_BOOT_H
#define HW_I386_BOOT_H

#include "hw/machine.h"
#include "target/i386.h"

/* Types of memory as BIOS call E820 and PVH name them. */
enum e820_type { E820_RAM = 1, E820_RESERVED = 2, E820_ACPI = 3 };

struct e820_entry {
	u64 addr, size; /* bytes */
	u32 type;
};

#define E820_MAX 16

struct e820_map {
	unsigned n;
	struct e820_entry entries[E820_MAX];
};

/* e820_add() - append a range; empty ones are left out. */
void e820_add(struct e820_map *map, u64 addr, u64 end, enum e820_type type);

/* What a loader needs, and what it answers. */
struct x86_boot {
	struct machine *m;
	struct e820_map map;
	char *cmdline;   /* complete; "" if there is none */
	u64 rsdp;        /* guest physical; 0: no ACPI */
	u64 low_ram_end; /* of the RAM below 4 GiB */
	GBytes *kernel;
	GBytes *initrd;              /* NULL: none */
	struct x86_boot_state state; /* out: how the first vCPU starts */
};

/*
 * x86_boot_load() - recognise opt.kernel and add its images to the machine's blobs.
 * @b: zeroed but for m, map, cmdline, rsdp and low_ram_end.
 *
 * Return: 0, or -errno with @err naming the file and what would be understood.
 */
int x86_boot_load(struct x86_boot *b, GError **err);

/* x86_boot_open() - only map the kernel and the initial ramdisk. */
int x86_boot_open(struct x86_boot *b, GError **err);

/* x86_boot_finish() - release what x86_boot_load() holds. */
void x86_boot_finish(struct x86_boot *b);

/* linux_boot_matches(), pvh_boot_matches() - by the file's first bytes; the loaders behind. */
bool linux_boot_matches(GBytes *kernel);
int linux_boot_load(struct x86_boot *b, GError **err);
bool pvh_boot_matches(GBytes *kernel);
int pvh_boot_load(struct x86_boot *b, GError **err);

/* boot_add_cmdline() - the command line, at CMDLINE. @max: bytes that the kernel takes. */
int boot_add_cmdline(struct x86_boot *b, u64 max, GError **err);

/*
 * boot_place_initrd() - address for the initial ramdisk: as high as possible, page aligned.
 * @floor: where the kernel ends.
 * @limit: end of what the kernel reaches.
 *
 * boot_add_initrd() also loads it; @addr is 0 if there is none.
 * Return: 0, or -EINVAL with @err.
 */
int boot_place_initrd(struct x86_boot *b, u64 floor, u64 limit, u64 *addr, GError **err);
int boot_add_initrd(struct x86_boot *b, u64 floor, u64 limit, u64 *addr, GError **err);

#endif

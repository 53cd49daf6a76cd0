/*
 * hw/i386/boot-linux.c - Linux bzImage by the 64-bit boot protocol.
 *
 * Source: Linux Documentation/arch/x86/boot.rst (protocol 2.12 and later) and zero-page.rst.
 */
#include "hw/i386/boot.h"

#include "hw/i386/layout.h"
#include "util/error.h"

/* Offsets in the image's first sectors and in the zero page. */
enum {
	ZP_RSDP = 0x070,
	ZP_RAMDISK_IMAGE_HIGH = 0x0c0,
	ZP_E820_ENTRIES = 0x1e8,
	HDR_SETUP_SECTS = 0x1f1,
	HDR_BOOT_FLAG = 0x1fe,
	HDR_LENGTH = 0x201, /* of the header behind 0x202 */
	HDR_MAGIC = 0x202,
	HDR_VERSION = 0x206,
	HDR_LOADER = 0x210,
	HDR_LOADFLAGS = 0x211,
	HDR_RAMDISK_IMAGE = 0x218,
	HDR_RAMDISK_SIZE = 0x21c,
	HDR_CMDLINE = 0x228,
	HDR_INITRD_MAX = 0x22c,
	HDR_ALIGNMENT = 0x230,
	HDR_RELOCATABLE = 0x234,
	HDR_XLOADFLAGS = 0x236,
	HDR_CMDLINE_SIZE = 0x238,
	HDR_PREF_ADDRESS = 0x258,
	HDR_INIT_SIZE = 0x260,
	HDR_END = 0x264,
	ZP_E820 = 0x2d0,
};

enum { LOADED_HIGH = 1, XLF_KERNEL_64 = 1, LOADER_UNKNOWN = 0xff };

#define BOOT_FLAG       0xaa55
#define MAGIC           0x53726448 /* "HdrS" */
#define VERSION_64      0x20c
#define SECTOR          512
#define DEFAULT_SECTS   4
#define ENTRY_64        0x200 /* behind the start of the protected-mode kernel */
#define ZERO_PAGE_BYTES 4096
#define E820_BYTES      20 /* of an entry in the zero page */
#define LARGE_PAGE      0x200000u
#define PTE_TABLE       0x3  /* present, writable */
#define PTE_LARGE       0x83 /* and 2 MiB */

static u32 get(GBytes *image, unsigned at, unsigned size)
{
	u32 v = 0;

	memcpy(&v, (const u8 *)g_bytes_get_data(image, NULL) + at, size);
	return GUINT32_FROM_LE(v);
}

static u64 get64(GBytes *image, unsigned at)
{
	return get(image, at, 4) | (u64)get(image, at + 4, 4) << 32;
}

static void put(u8 *page, unsigned at, u64 v, unsigned size)
{
	v = GUINT64_TO_LE(v);
	memcpy(page + at, &v, size);
}

bool linux_boot_matches(GBytes *kernel)
{
	return g_bytes_get_size(kernel) > HDR_END && get(kernel, HDR_BOOT_FLAG, 2) == BOOT_FLAG &&
	       get(kernel, HDR_MAGIC, 4) == MAGIC;
}

static int check_header(struct x86_boot *b, GError **err)
{
	u32 version = get(b->kernel, HDR_VERSION, 2);

	if (version < VERSION_64 || !(get(b->kernel, HDR_XLOADFLAGS, 2) & XLF_KERNEL_64) ||
	    !(get(b->kernel, HDR_LOADFLAGS, 1) & LOADED_HIGH)) {
		error_set(err,
			  "-kernel '%s' has boot protocol %u.%02u without a 64-bit entry; a 64-bit "
			  "bzImage (protocol 2.12 or later) is needed",
			  b->m->opt.kernel, version >> 8, version & 0xff);
		return -EINVAL;
	}
	return 0;
}

/* The image behind the real-mode sectors, which we do not use. */
static GBytes *protected_mode_part(struct x86_boot *b, GError **err)
{
	unsigned sects = get(b->kernel, HDR_SETUP_SECTS, 1) ?: DEFAULT_SECTS;
	size_t skip = (sects + 1) * SECTOR, size = g_bytes_get_size(b->kernel);

	if (skip + ENTRY_64 >= size) {
		error_set(err,
			  "-kernel '%s' is truncated: %zu bytes, its set-up part alone has %zu",
			  b->m->opt.kernel, size, skip);
		return NULL;
	}
	return g_bytes_new_from_bytes(b->kernel, skip, size - skip);
}

/* Where the kernel wants to be, or the lowest place that is aligned as it needs. */
static int choose_address(struct x86_boot *b, u64 init_size, u64 *addr, GError **err)
{
	u32 align = get(b->kernel, HDR_ALIGNMENT, 4) ?: KERNEL_ALIGN;

	*addr = get64(b->kernel, HDR_PREF_ADDRESS);
	if (*addr >= HIGH_MEMORY && *addr + init_size <= b->low_ram_end)
		return 0;
	*addr = ROUND_UP((u64)HIGH_MEMORY, (u64)align);
	if (get(b->kernel, HDR_RELOCATABLE, 1) && *addr + init_size <= b->low_ram_end)
		return 0;
	error_set(err,
		  "-kernel '%s' needs %" PRIu64 " MiB behind address 0x%" PRIx64
		  ", give more memory with -m",
		  b->m->opt.kernel, DIV_ROUND_UP(init_size, MiB), *addr);
	return -EINVAL;
}

static void put_memory_map(u8 *zp, const struct e820_map *map)
{
	zp[ZP_E820_ENTRIES] = map->n;
	for (unsigned i = 0; i < map->n; i++) {
		unsigned at = ZP_E820 + i * E820_BYTES;

		put(zp, at, map->entries[i].addr, 8);
		put(zp, at + 8, map->entries[i].size, 8);
		put(zp, at + 16, map->entries[i].type, 4);
	}
}

static int add_zero_page(struct x86_boot *b, u64 initrd, GError **err)
{
	u8 *zp = g_malloc0(ZERO_PAGE_BYTES);
	unsigned end = HDR_MAGIC + get(b->kernel, HDR_LENGTH, 1);
	g_autoptr(GBytes) page = g_bytes_new_take(zp, ZERO_PAGE_BYTES);
	const u8 *image = g_bytes_get_data(b->kernel, NULL);

	memcpy(zp + HDR_SETUP_SECTS, image + HDR_SETUP_SECTS, end - HDR_SETUP_SECTS);
	put(zp, HDR_LOADER, LOADER_UNKNOWN, 1);
	put(zp, HDR_CMDLINE, CMDLINE, 4);
	put(zp, ZP_RSDP, b->rsdp, 8);
	if (initrd) {
		put(zp, HDR_RAMDISK_IMAGE, initrd, 4);
		put(zp, HDR_RAMDISK_SIZE, g_bytes_get_size(b->initrd), 4);
	}
	put_memory_map(zp, &b->map);
	return machine_add_blob(b->m, "Linux zero page", ZERO_PAGE, page, err);
}

/* The first 4 GiB, mapped to themselves by pages of 2 MiB. */
static int add_page_tables(struct x86_boot *b, GError **err)
{
	u64 *t = g_new0(u64, 6 * 512);
	g_autoptr(GBytes) tables = g_bytes_new_take(t, 6 * 4096);

	t[0] = GUINT64_TO_LE((PAGE_TABLES + 0x1000) | PTE_TABLE);
	for (u64 i = 0; i < 4; i++)
		t[512 + i] = GUINT64_TO_LE((PAGE_TABLES + 0x2000 + i * 0x1000) | PTE_TABLE);
	for (u64 i = 0; i < 4 * 512; i++)
		t[1024 + i] = GUINT64_TO_LE((i * LARGE_PAGE) | PTE_LARGE);
	return machine_add_blob(b->m, "boot page tables", PAGE_TABLES, tables, err);
}

/* Null, unused, __BOOT_CS (0x10), __BOOT_DS (0x18). */
static int add_gdt(struct x86_boot *b, GError **err)
{
	static const u64 gdt[] = { 0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff };
	g_autoptr(GBytes) table = g_bytes_new_static(gdt, sizeof(gdt));

	b->state.gdt = BOOT_GDT;
	b->state.gdt_limit = sizeof(gdt) - 1;
	return machine_add_blob(b->m, "boot descriptor table", BOOT_GDT, table, err);
}

int linux_boot_load(struct x86_boot *b, GError **err)
{
	g_autoptr(GBytes) image = NULL;
	u64 init_size, addr, initrd, initrd_max;
	int ret = check_header(b, err);

	if (ret)
		return ret;
	image = protected_mode_part(b, err);
	if (!image)
		return -EINVAL;
	init_size = MAX(get(b->kernel, HDR_INIT_SIZE, 4), g_bytes_get_size(image));
	initrd_max = (u64)get(b->kernel, HDR_INITRD_MAX, 4) + 1;
	ret = choose_address(b, init_size, &addr, err);
	if (ret)
		return ret;
	if (machine_add_blob(b->m, "kernel", addr, image, err) ||
	    boot_add_initrd(b, addr + init_size, initrd_max, &initrd, err) ||
	    boot_add_cmdline(b, (u64)get(b->kernel, HDR_CMDLINE_SIZE, 4) + 1, err) ||
	    add_zero_page(b, initrd, err) || add_page_tables(b, err) || add_gdt(b, err))
		return -EINVAL;
	b->state.mode = X86_BOOT_LONG;
	b->state.rip = addr + ENTRY_64;
	b->state.rsp = BOOT_STACK;
	b->state.rsi = ZERO_PAGE;
	b->state.cr3 = PAGE_TABLES;
	return 0;
}

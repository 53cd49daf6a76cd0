/*
 * hw/i386/bios.c - firmware images, and what firmware asks of fw_cfg: kernel and memory map.
 *
 * Sources: QEMU Firmware Configuration Device specification; Linux Documentation/arch/x86/boot.rst
 * for the split of a bzImage.
 */
#include "hw/i386/microvm.h"

#include "accel/vm.h"
#include "hw/nvram/fw_cfg.h"
#include "util/error.h"

#define BIOS_UNIT    (64 * KiB) /* an image is a multiple of it */
#define BIOS_LOW_MAX (128 * KiB)
#define SECTOR       512
#define SETUP_ADDR   0x10000u
#define CMDLINE_ADDR 0x20000u
#define KERNEL_ADDR  0x100000u

enum {
	HDR_SETUP_SECTS = 0x1f1,
	HDR_LOADER = 0x210,
	HDR_LOADFLAGS = 0x211,
	HDR_RAMDISK_IMAGE = 0x218,
	HDR_RAMDISK_SIZE = 0x21c,
	HDR_HEAP_END = 0x224,
	HDR_CMDLINE = 0x228,
	HDR_INITRD_MAX = 0x22c
};
enum { LOADER_QEMU = 0xb0, CAN_USE_HEAP = 0x80 };

static int map_image(struct microvm *vm, const char *image, u64 size, GError **err)
{
	struct machine *m = &vm->m;
	struct ram_spec spec = {
		.id = "microvm.bios", .size = size, .fd = -1, .flags = RAM_MIGRATABLE | RAM_READONLY
	};
	struct ramblock *block = ram_create(m->vm->ram, &spec, err);
	u64 low = MIN(size, BIOS_LOW_MAX);

	if (!block)
		return -ENOMEM;
	memcpy(block->host, image, size);
	vm->bios = (struct mapping){ .name = "bios",
				     .base = BIOS_END - size,
				     .size = size,
				     .kind = MAP_ROM,
				     .priority = 1,
				     .block = block };
	vm->bios_low = (struct mapping){ .name = "bios-below-1m",
					 .base = HIGH_MEMORY - low,
					 .size = low,
					 .kind = MAP_ROM,
					 .priority = 1,
					 .block = block,
					 .block_offset = size - low };
	address_space_map(m->vm->memory, &vm->bios);
	address_space_map(m->vm->memory, &vm->bios_low);
	return 0;
}

int microvm_load_bios(struct microvm *vm, GError **err)
{
	const char *path = vm->m.opt.bios;
	g_autofree char *image = NULL;
	GError *why = NULL;
	gsize size;

	if (!g_file_get_contents(path, &image, &size, &why)) {
		error_set(err, "could not load -bios '%s': %s", path, why->message);
		g_error_free(why);
		return -ENOENT;
	}
	if (!size || size % BIOS_UNIT || size > BIOS_MAX) {
		error_set(
			err,
			"-bios '%s' has %zu bytes; a firmware image is a multiple of 64 KiB up to "
			"%" PRIu64 " MiB",
			path, size, BIOS_MAX / MiB);
		return -EINVAL;
	}
	return map_image(vm, image, size, err);
}

/* ---- fw_cfg ---- */

static int add_memory_map(struct microvm *vm, GError **err)
{
	struct e820_map map = { 0 };
	g_autoptr(GBytes) data = NULL;
	u8 entries[E820_MAX][20];

	microvm_memory_map(vm, &map, false);
	for (unsigned i = 0; i < map.n; i++) {
		memcpy(entries[i], &map.entries[i].addr, 8);
		memcpy(entries[i] + 8, &map.entries[i].size, 8);
		memcpy(entries[i] + 16, &map.entries[i].type, 4);
	}
	data = g_bytes_new(entries, map.n * sizeof(entries[0]));
	return fw_cfg_add_file(vm->fw_cfg, "etc/e820", data, err);
}

/* One image: where firmware shall put it, its size, its bytes. */
static void set_image(struct device *fw, u16 addr_key, u16 size_key, u16 data_key, u32 addr,
		      GBytes *data)
{
	fw_cfg_set_u32(fw, addr_key, addr);
	fw_cfg_set_u32(fw, size_key, g_bytes_get_size(data));
	fw_cfg_set(fw, data_key, data);
}

static void put(u8 *at, u32 v, unsigned size)
{
	v = GUINT32_TO_LE(v);
	memcpy(at, &v, size);
}

/* The set-up part, its header filled in as a boot loader does. */
static GBytes *patched_setup(struct x86_boot *b, size_t size, u64 initrd)
{
	u8 *setup = g_memdup2(g_bytes_get_data(b->kernel, NULL), size);

	put(setup + HDR_LOADER, LOADER_QEMU, 1);
	setup[HDR_LOADFLAGS] |= CAN_USE_HEAP;
	put(setup + HDR_HEAP_END, CMDLINE_ADDR - SETUP_ADDR - 0x200, 2);
	put(setup + HDR_CMDLINE, CMDLINE_ADDR, 4);
	if (initrd) {
		put(setup + HDR_RAMDISK_IMAGE, initrd, 4);
		put(setup + HDR_RAMDISK_SIZE, g_bytes_get_size(b->initrd), 4);
	}
	return g_bytes_new_take(setup, size);
}

static int offer_kernel(struct microvm *vm, struct x86_boot *b, GError **err)
{
	const u8 *image = g_bytes_get_data(b->kernel, NULL);
	size_t size = g_bytes_get_size(b->kernel), setup_size;
	g_autoptr(GBytes) setup = NULL, kernel = NULL, cmdline = NULL;
	struct device *fw = vm->fw_cfg;
	u64 initrd = 0;
	u32 limit;

	if (!linux_boot_matches(b->kernel)) {
		error_set(err, "-kernel '%s' with -bios must be a Linux bzImage", b->m->opt.kernel);
		return -EINVAL;
	}
	setup_size = ((image[HDR_SETUP_SECTS] ?: 4) + 1) * SECTOR;
	if (setup_size >= size || setup_size > CMDLINE_ADDR - SETUP_ADDR) {
		error_set(err, "-kernel '%s' is damaged: %zu bytes, set-up part of %zu",
			  b->m->opt.kernel, size, setup_size);
		return -EINVAL;
	}
	memcpy(&limit, image + HDR_INITRD_MAX, 4);
	if (b->initrd) {
		if (boot_place_initrd(b, KERNEL_ADDR + size, (u64)GUINT32_FROM_LE(limit) + 1,
				      &initrd, err))
			return -EINVAL;
		set_image(fw, FW_CFG_INITRD_ADDR, FW_CFG_INITRD_SIZE, FW_CFG_INITRD_DATA, initrd,
			  b->initrd);
	}
	setup = patched_setup(b, setup_size, initrd);
	kernel = g_bytes_new_from_bytes(b->kernel, setup_size, size - setup_size);
	cmdline = g_bytes_new(b->cmdline, strlen(b->cmdline) + 1);
	set_image(fw, FW_CFG_SETUP_ADDR, FW_CFG_SETUP_SIZE, FW_CFG_SETUP_DATA, SETUP_ADDR, setup);
	set_image(fw, FW_CFG_KERNEL_ADDR, FW_CFG_KERNEL_SIZE, FW_CFG_KERNEL_DATA, KERNEL_ADDR,
		  kernel);
	set_image(fw, FW_CFG_CMDLINE_ADDR, FW_CFG_CMDLINE_SIZE, FW_CFG_CMDLINE_DATA, CMDLINE_ADDR,
		  cmdline);
	return 0;
}

int microvm_bios_boot(struct microvm *vm, GError **err)
{
	struct x86_boot b = { .m = &vm->m,
			      .cmdline = microvm_cmdline(vm),
			      .low_ram_end = vm->low_ram.size };
	int ret = add_memory_map(vm, err);

	if (!ret && microvm_has_acpi(vm))
		ret = microvm_offer_acpi(vm, err);
	if (!ret && vm->m.opt.kernel)
		ret = x86_boot_open(&b, err) ?: offer_kernel(vm, &b, err);
	x86_boot_finish(&b);
	return ret;
}

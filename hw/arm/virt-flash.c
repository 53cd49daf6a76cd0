/* hw/arm/virt-flash.c - the machine "virt": flash, and firmware that starts from it. */
#include "hw/arm/virt.h"

#include "block/block.h"
#include "hw/arm/fdt.h"
#include "hw/block/pflash.h"
#include "hw/nvram/fw_cfg.h"
#include "util/error.h"

#define BANKS  2
#define SECTOR (256 * KiB)

static u64 bank_size(const struct virt *v)
{
	return v->map[VIRT_FLASH].size / BANKS;
}

/* -machine pflashN= or -drive if=pflash,index=N. */
static int choose_drive(struct virt *v, unsigned bank, GError **err)
{
	struct block_drive *drive = block_drive_get(BLOCK_IF_PFLASH, bank);

	if (!drive)
		return 0;
	if (v->pflash[bank]) {
		error_set(err,
			  "-machine pflash%u=%s and -drive if=pflash,index=%u name the same flash; "
			  "give one",
			  bank, block_name(v->pflash[bank]), bank);
		return -EINVAL;
	}
	drive->claimed = true;
	v->pflash[bank] = drive->backend;
	return 0;
}

static int load_bios(struct virt *v, GError **err)
{
	g_autofree char *data = NULL;
	gsize len;

	if (v->pflash[0]) {
		error_set(err,
			  "-bios %s: the first flash has its content from '%s' already; give one "
			  "of them",
			  v->m.opt.bios, block_name(v->pflash[0]));
		return -EINVAL;
	}
	if (!g_file_get_contents(v->m.opt.bios, &data, &len, err)) {
		g_prefix_error(err, "-bios: ");
		return -EINVAL;
	}
	if (len > bank_size(v)) {
		error_set(err, "-bios %s: %zu bytes, the flash has %" PRIu64, v->m.opt.bios, len,
			  bank_size(v));
		return -EINVAL;
	}
	pflash_load(v->flash[0], data, len);
	return 0;
}

int virt_flash_create(struct virt *v, GError **err)
{
	for (unsigned bank = 0; bank < BANKS; bank++) {
		const char *const names[BANKS] = { "virt.flash0", "virt.flash1" };
		struct pflash_config cfg = {
			.name = names[bank],
			.base = v->map[VIRT_FLASH].base + bank * bank_size(v),
			.size = bank_size(v),
			.sector = SECTOR,
		};
		int ret = choose_drive(v, bank, err);

		if (ret)
			return ret;
		cfg.drive = v->pflash[bank];
		v->flash[bank] = pflash_create(&v->m, &cfg, err);
		if (!v->flash[bank])
			return -EINVAL;
	}
	v->has_firmware = v->pflash[0] || v->m.opt.bios;
	return v->m.opt.bios ? load_bios(v, err) : 0;
}

void virt_flash_fdt(struct virt *v, void *fdt)
{
	u64 base = v->map[VIRT_FLASH].base, size = bank_size(v);
	g_autofree char *path = g_strdup_printf("/flash@%" PRIx64, base);
	const u32 reg[] = { base >> 32,          base,        size >> 32, size,
			    (base + size) >> 32, base + size, size >> 32, size };

	dt_node(fdt, path);
	dt_set_string(fdt, path, "compatible", "cfi-flash");
	dt_set_cell_array(fdt, path, "reg", reg, ARRAY_SIZE(reg));
	dt_set_cells(fdt, path, "bank-width", 4);
}

static int offer_file(struct virt *v, const char *path, u16 size_key, u16 data_key, GError **err)
{
	g_autoptr(GBytes) bytes = NULL;
	char *data;
	gsize len;

	if (!path)
		return 0;
	if (!g_file_get_contents(path, &data, &len, err))
		return -EINVAL;
	bytes = g_bytes_new_take(data, len);
	fw_cfg_set_u32(v->fw_cfg, size_key, len);
	fw_cfg_set(v->fw_cfg, data_key, bytes);
	return 0;
}

int virt_flash_boot(struct virt *v, GError **err)
{
	const struct machine_options *o = &v->m.opt;

	if (o->append) {
		g_autoptr(GBytes) text = g_bytes_new(o->append, strlen(o->append) + 1);

		fw_cfg_set_u32(v->fw_cfg, FW_CFG_CMDLINE_SIZE, g_bytes_get_size(text));
		fw_cfg_set(v->fw_cfg, FW_CFG_CMDLINE_DATA, text);
	}
	return offer_file(v, o->kernel, FW_CFG_KERNEL_SIZE, FW_CFG_KERNEL_DATA, err)
		       ?: offer_file(v, o->initrd, FW_CFG_INITRD_SIZE, FW_CFG_INITRD_DATA, err);
}

/* hw/arm/virt-boot.c - the machine "virt": what its first vCPU executes after a reset. */
#include "hw/arm/virt.h"

#include "accel/accel.h"
#include "util/error.h"
#include "util/log.h"

static int dump_tree(struct virt *v, GError **err)
{
	gsize len;
	const char *data = g_bytes_get_data(v->dtb, &len);
	g_autoptr(GError) why = NULL;

	if (!g_file_set_contents(v->dumpdtb, data, len, &why)) {
		error_set(err, "-machine dumpdtb=%s: %s", v->dumpdtb, why->message);
		return -EINVAL;
	}
	log_info("dtb dumped to %s. Exiting.", v->dumpdtb);
	return 1;
}

/* Firmware looks for the tree where RAM begins; a kernel is told. */
static int place_tree(struct virt *v, const struct arm_boot *boot, GError **err)
{
	v->dtb = virt_fdt(v, boot, err);
	if (!v->dtb)
		return -EINVAL;
	if (v->dumpdtb)
		return dump_tree(v, err);
	v->dtb_at = boot ? boot->dtb : v->map[VIRT_MEM].base;
	return machine_add_blob(&v->m, "device tree", v->dtb_at, v->dtb, err);
}

static int check_start(struct virt *v, GError **err)
{
	/* Nobody executes anything until an incoming migration brings memory and registers. */
	if (v->has_firmware || v->m.opt.incoming || !v->m.vm->accel->ops->dirty_log)
		return 0;
	error_set(err,
		  "machine %s has nothing to start: give a kernel with -kernel (a Linux Image) or "
		  "firmware with -bios or -drive if=pflash",
		  v->m.type->name);
	return -EINVAL;
}

int virt_boot_load(struct virt *v, GError **err)
{
	struct arm_boot boot = {
		.m = &v->m,
		.ram_base = v->map[VIRT_MEM].base,
		.ram_size = v->map[VIRT_MEM].size,
	};
	int ret = v->has_firmware ? virt_flash_boot(v, err) : 0;

	/* A kernel that is started directly takes the device tree, and looks for no tables. */
	if (!ret && (v->acpi == OOA_ON || (v->acpi == OOA_AUTO && v->has_firmware)))
		ret = virt_acpi_offer(v, err);
	if (ret)
		return ret;
	if (!v->m.opt.kernel || v->has_firmware) {
		ret = place_tree(v, NULL, err);
		return ret ? ret : check_start(v, err);
	}
	ret = arm_boot_load(&boot, err);
	if (ret)
		return ret;
	v->entry = boot.entry;
	return place_tree(v, &boot, err);
}

void virt_boot_start(struct virt *v)
{
	if (v->m.opt.kernel && !v->has_firmware)
		arm_cpu_boot(v->m.vm->cpus[0], v->entry, v->dtb_at);
}

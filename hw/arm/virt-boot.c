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

/*
 * Programs that are linked to the start of RAM are common and have no use for a device tree, which
 * could be nowhere else: they go first, unless somebody asked for a tree.
 */
static int skip_tree(struct virt *v, GError **err)
{
	if (!v->m.opt.dtb)
		return 0;
	error_set(err,
		  "-dtb %s: a program is where it would look for the device tree, at 0x%" PRIx64
		  "; link it to a higher address",
		  v->m.opt.dtb, v->dtb_at);
	return -EINVAL;
}

/* Firmware and programs look for the tree where RAM begins; a kernel is told. */
static int place_tree(struct virt *v, const struct arm_boot *boot, GError **err)
{
	v->dtb = virt_fdt(v, boot, err);
	if (!v->dtb)
		return -EINVAL;
	if (v->dumpdtb)
		return dump_tree(v, err);
	v->dtb_at = boot ? boot->dtb : v->map[VIRT_MEM].base;
	if (!v->has_firmware && (!boot || boot->is_program) &&
	    machine_blob_at(&v->m, v->dtb_at, g_bytes_get_size(v->dtb)))
		return skip_tree(v, err);
	return machine_add_blob(&v->m, "device tree", v->dtb_at, v->dtb, err);
}

static int check_start(struct virt *v, GError **err)
{
	/*
	 * Nobody executes anything until an incoming migration, or a debugger that found the vCPUs
	 * stopped, brings memory and registers.
	 */
	if (v->has_firmware || v->m.opt.incoming || v->m.opt.stopped || v->m.entries->len ||
	    !v->m.vm->accel->ops->dirty_log)
		return 0;
	error_set(
		err,
		"machine %s has nothing to start: give a kernel with -kernel (a Linux Image or an "
		"ELF program), firmware with -bios or -drive if=pflash, a program with -device "
		"loader,cpu-num=0, or -S to load one with a debugger",
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

	/* A kernel that is started directly takes the device tree, and looks for no tables; but
	 * they are part of every stream. */
	if (!ret && v->acpi != OOA_OFF)
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
	ret = place_tree(v, &boot, err);
	v->start_x0 = boot.is_program ? 0 : v->dtb_at;
	return ret;
}

int virt_boot_start(struct virt *v, GError **err)
{
	if (!v->m.opt.kernel || v->has_firmware)
		return 0;
	return arm_cpu_boot(v->m.vm->cpus[0], v->entry, v->start_x0, err);
}

/* hw/arm/virt.c - the machine "virt" for arm64: its properties and the order of its creation. */
#include "hw/arm/virt.h"

#include "accel/accel.h"
#include "hw/virtio/virtio-mmio.h"
#include "util/error.h"

#define CPUS_MAX 512

static const char *const iommu_names[] = { "none", "smmuv3", NULL };

/* What can be asked for in QEMU and is not there. */
static int check_properties(const struct virt *v, GError **err)
{
	bool in_kernel = v->m.vm->accel->irqchip;
	const struct {
		bool wanted;
		const char *text, *why;
	} absent[] = {
		{ v->secure, "secure=on", "there is no EL3" },
		{ v->mte, "mte=on", "CPUs have no memory tagging" },
		{ v->ras, "ras=on", "no errors are reported to guests" },
		{ v->iommu, "iommu=smmuv3", "there is no SMMU" },
	};

	if (in_kernel && v->virtualization) {
		error_set(err,
			  "machine virt: virtualization=on is not available with accelerator "
			  "%s: its guests have no EL2; use -accel tcg",
			  v->m.vm->accel->ops->name);
		return -ENOTSUP;
	}
	if (in_kernel && v->want_its) {
		error_set(err,
			  "machine virt: its=on is not available with accelerator %s: its "
			  "interrupt controller takes no messages yet; use its=off",
			  v->m.vm->accel->ops->name);
		return -ENOTSUP;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(absent); i++) {
		if (!absent[i].wanted)
			continue;
		error_set(err, "machine virt: %s is not available: %s; leave it out",
			  absent[i].text, absent[i].why);
		return -ENOTSUP;
	}
	return 0;
}

static int check_options(const struct machine *m, GError **err)
{
	const struct machine_options *o = &m->opt;

	if (o->max_ram_size > o->ram_size || o->ram_slots) {
		error_set(err, "-m: machine %s has no memory slots to plug more into",
			  m->type->name);
		return -ENOTSUP;
	}
	if (o->dies > 1) {
		error_set(err, "-smp: dies=%u: machine %s has sockets, cores and threads", o->dies,
			  m->type->name);
		return -ENOTSUP;
	}
	return 0;
}

static int add_cpus(struct virt *v, GError **err)
{
	struct machine *m = &v->m;

	v->model = arm_cpu_model_create(m->vm, machine_cpu_model(m),
					machine_compat_value(m->type, "cpu", "pauth-qarma5"), err);
	if (!v->model)
		return -EINVAL;
	for (unsigned i = 0; i < m->opt.cpus; i++) {
		const struct arm_cpu_config config = {
			.mpidr = virt_mpidr(v, i),
			.has_el2 = v->virtualization,
			.conduit = v->virtualization ? ARM_CONDUIT_SMC : ARM_CONDUIT_HVC,
			.starts_off = i > 0,
		};

		if (!arm_cpu_create(m->vm, v->model, &config, err))
			return -EINVAL;
	}
	return 0;
}

static void register_states(struct virt *v)
{
	bool old_list = virt_is_before(v, VIRT_8_0);

	for (int i = 0; v->m.registry && i < v->m.vm->ncpus; i++)
		arm_cpu_register_state(v->m.vm->cpus[i], old_list, v->m.registry);
}

static int virt_init(struct machine *m, GError **err)
{
	struct virt *v = virt_of(m);

	if (check_properties(v, err) || check_options(m, err) || virt_layout(v, err) ||
	    add_cpus(v, err) || virt_map_ram(v, err))
		return -EINVAL;
	register_states(v);
	bus_add(m, "System", "main-system-bus");
	if (virt_intc_create(v, err) || virt_flash_create(v, err) || virt_devices_create(v, err) ||
	    virt_pci_create(v, err))
		return -EINVAL;
	return 0;
}

static int virt_done(struct machine *m, GError **err)
{
	return virt_boot_load(virt_of(m), err);
}

static int virt_reset(struct machine *m, GError **err)
{
	return virt_boot_start(virt_of(m), err);
}

static int virt_start_at(struct machine *m, unsigned cpu, u64 pc, GError **err)
{
	return arm_cpu_start_at(m->vm->cpus[cpu], pc, err);
}

static bool virt_powerdown(struct machine *m)
{
	return virt_devices_powerdown(virt_of(m));
}

static void virt_irq_set(struct machine *m, unsigned line, bool level)
{
	virt_intc_set(virt_of(m), line, level);
}

static void virt_send_msi(struct machine *m, u16 requester, u64 addr, u32 data)
{
	virt_intc_msi(virt_of(m), requester, addr, data);
}

static void virt_finish(struct machine *m)
{
	struct virt *v = virt_of(m);

	virt_acpi_finish(v);
	virt_intc_destroy(v);
	virt_unmap_ram(v);
	for (int i = 0; m->registry && i < m->vm->ncpus; i++)
		arm_cpu_unregister_state(m->vm->cpus[i], m->registry);
	while (m->vm->ncpus)
		arm_cpu_destroy(m->vm->cpus[m->vm->ncpus - 1]);
	arm_cpu_model_destroy(v->model);
	if (v->dtb)
		g_bytes_unref(v->dtb);
}

static const struct property virt_props[] = {
	PROP(struct virt, secure, "secure", BOOL, "off", "have EL3"),
	PROP(struct virt, virtualization, "virtualization", BOOL, "off", "have EL2"),
	PROP(struct virt, highmem, "highmem", BOOL, "on", "use addresses above 4 GiB"),
	PROP(struct virt, mte, "mte", BOOL, "off", "have memory tagging"),
	PROP(struct virt, ras, "ras", BOOL, "off", "report memory errors to the guest"),
	PROP_NAMES(struct virt, iommu, "iommu", "none", "have an IOMMU", iommu_names),
	PROP(struct virt, acpi, "acpi", ON_OFF_AUTO, "auto",
	     "give firmware ACPI tables to describe the machine by"),
	PROP(struct virt, dtb_randomness, "dtb-randomness", BOOL, "on",
	     "put random numbers for the kernel into the device tree"),
	PROP(struct virt, want_its, "its", BOOL, "on",
	     "with GICv3 have an ITS, which takes message-signalled interrupts"),
	PROP(struct virt, gic_version, "gic-version", STR, NULL,
	     "interrupt controller: 2, 3 or max; default 2 where that is enough"),
	PROP(struct virt, pflash[0], "pflash0", DRIVE, NULL,
	     "content of the first flash: firmware"),
	PROP(struct virt, pflash[1], "pflash1", DRIVE, NULL,
	     "content of the second flash: what firmware keeps"),
	PROP(struct virt, dumpdtb, "dumpdtb", STR, NULL,
	     "write the device tree to this file and end"),
	PROP_END,
};

/* What is otherwise before a version, and can be seen by a guest or in a stream. */
static const struct machine_compat virt_compat[] = {
	{ VIRT_11_1, VIRTIO_MMIO_TYPE, "x-override-queue-size", "1024" },
	{ VIRT_10_0, "virtio-balloon-pci", "vectors", "0" },
	{ VIRT_10_0, "virtio-balloon-pci-non-transitional", "vectors", "0" },
	{ VIRT_10_0, "migration", "send-switchover-start", "off" },
	{ VIRT_10_0, "cpu", "pauth-qarma5", "on" },
	{ VIRT_9_2, NULL, "x-pcie-ext-tag", "off" },
	{ VIRT_8_2, "ramfb", "x-migrate", "off" },
	{ VIRT_8_0, NULL, "x-pcie-err-unc-mask", "off" },
	{ .property = NULL },
};

#define TYPE(major, minor, ...)                                                                    \
	{                                                                                          \
		.name = "virt-" #major "." #minor, .version = MACHINE_VERSION(major, minor),       \
		.compat = virt_compat, .desc = "QEMU " #major "." #minor " ARM Virtual Machine",   \
		.default_ram_id = "mach-virt.ram", .default_ram_size = 128 * MiB,                  \
		.default_cpu = "cortex-a57", .max_cpus = CPUS_MAX, .has_acpi = true,               \
		.instance_size = sizeof(struct virt), .props = virt_props, .init = virt_init,      \
		.done = virt_done, .reset = virt_reset, .start_at = virt_start_at,                 \
		.powerdown = virt_powerdown, .irq_set = virt_irq_set, .send_msi = virt_send_msi,   \
		.finish = virt_finish, __VA_ARGS__                                                 \
	}

const struct machine_type virt_machine_types[VIRT_TYPES] = {
	TYPE(11, 1, .alias = "virt"),
	TYPE(11, 0),
	TYPE(10, 2),
	TYPE(10, 1),
	TYPE(10, 0),
	TYPE(9, 2),
	TYPE(9, 1),
	TYPE(9, 0),
	TYPE(8, 2),
	TYPE(8, 1),
	TYPE(8, 0),
	TYPE(7, 2),
};

/* hw/arm/virt-intc.c - the machine "virt": interrupt controller, its lines, timers of vCPUs. */
#include "hw/arm/virt.h"

#include "accel/vm.h"
#include "hw/arm/fdt.h"
#include "hw/intc/arm-gicv3.h"
#include "target/arm/timer.h"
#include "util/error.h"

#define PPI_INTID 16 /* PPI n of the device tree is INTID 16 + n */

/* What a vCPU's timers drive. */
struct virt_cpu_lines {
	struct virt *v;
	unsigned cpu;
};

static void timer_output(void *opaque, enum arm_timer timer, bool level)
{
	static const u8 ppi[ARM_TIMERS] = {
		[ARM_TIMER_PHYS] = VIRT_PPI_PHYS_TIMER,
		[ARM_TIMER_VIRT] = VIRT_PPI_VIRT_TIMER,
		[ARM_TIMER_HYP] = VIRT_PPI_HYP_TIMER,
		[ARM_TIMER_SEC] = VIRT_PPI_SEC_TIMER,
		[ARM_TIMER_HYP_VIRT] = VIRT_PPI_HYP_VIRT_TIMER,
	};
	struct virt_cpu_lines *lines = opaque;

	arm_gicv3_set_ppi(lines->v->gic, lines->cpu, PPI_INTID + ppi[timer], level);
}

/* ---- which controller ---- */

/* Only version 3 exists; the others are named so that the message says what would work. */
static int check_version(struct virt *v, GError **err)
{
	static const struct {
		const char *name, *why;
	} absent[] = {
		{ "2", "there is no GICv2 yet" },
		{ "4", "there is no direct injection of virtual LPIs" },
		{ "host", "that is for accelerator kvm" },
	};

	if (!v->gic_version || !strcmp(v->gic_version, "3") || !strcmp(v->gic_version, "max"))
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(absent); i++) {
		if (strcmp(v->gic_version, absent[i].name))
			continue;
		error_set(err, "machine virt: gic-version=%s is not available: %s; use 3 or max",
			  v->gic_version, absent[i].why);
		return -ENOTSUP;
	}
	error_set(err, "machine virt: gic-version=%s is not known: use 3 or max", v->gic_version);
	return -EINVAL;
}

static int create_gicv3(struct virt *v, GError **err)
{
	const struct virt_range *first = &v->map[VIRT_GIC_REDIST];
	const struct virt_range *second = &v->map[VIRT_GIC_REDIST2];
	unsigned cpus = v->m.opt.cpus, room = first->size / ARM_GICV3_REGION;
	struct arm_gicv3_config config = {
		.dist_base = v->map[VIRT_GIC_DIST].base,
		.redist = { { first->base, MIN(cpus, room) },
			    { second->base, cpus - MIN(cpus, room) } },
		.lpis = v->want_its,
		.spis = VIRT_SPIS,
	};

	if (cpus > room + second->size / ARM_GICV3_REGION) {
		error_set(err, "-smp: machine virt with highmem=off has room for %u vCPUs, not %u",
			  room, cpus);
		return -EINVAL;
	}
	v->gic = arm_gicv3_create(&v->m, &config, err);
	if (!v->gic)
		return -EINVAL;
	if (!v->want_its)
		return 0;
	v->its = arm_gicv3_its_create(&v->m, v->gic, v->map[VIRT_GIC_ITS].base, err);
	return v->its ? 0 : -EINVAL;
}

/* CPUs of before Armv8.6 count at a lower frequency. */
static u32 counter_hz(const struct virt *v)
{
	return strcmp(arm_cpu_model_name(v->model), "max") ? ARM_CNTFRQ_LEGACY : ARM_CNTFRQ_V8_6;
}

int virt_intc_create(struct virt *v, GError **err)
{
	int ret = check_version(v, err);

	if (!ret)
		ret = create_gicv3(v, err);
	if (ret)
		return ret;
	v->cpu_lines = g_new0(struct virt_cpu_lines, v->m.opt.cpus);
	for (unsigned i = 0; i < v->m.opt.cpus; i++) {
		struct arm_cpu *cpu = arm_cpu_of_vcpu(v->m.vm->cpus[i]);

		v->cpu_lines[i] = (struct virt_cpu_lines){ v, i };
		arm_gicv3_attach(v->gic, i, cpu);
		arm_timers_create(cpu, counter_hz(v));
		arm_timers_connect(cpu, timer_output, &v->cpu_lines[i]);
	}
	return 0;
}

/* The controller is gone with the other devices; nobody drives its lines any more. */
void virt_intc_destroy(struct virt *v)
{
	for (int i = 0; v->cpu_lines && i < v->m.vm->ncpus; i++)
		arm_timers_destroy(arm_cpu_of_vcpu(v->m.vm->cpus[i]));
	g_clear_pointer(&v->cpu_lines, g_free);
}

void virt_intc_set(struct virt *v, unsigned spi, bool level)
{
	arm_gicv3_set_spi(v->gic, spi, level);
}

/* Messages to any other place are writes to memory like others. */
void virt_intc_msi(struct virt *v, u16 requester, u64 addr, u32 data)
{
	if (v->its && addr == arm_gicv3_its_address(v->its))
		arm_gicv3_its_send(v->its, requester, data);
	else
		address_space_st(v->m.vm->memory, addr, data, 4);
}

/* ---- device tree ---- */

static void add_frames(struct virt *v, void *fdt, const char *node)
{
	const struct virt_range *dist = &v->map[VIRT_GIC_DIST];
	const struct virt_range *first = &v->map[VIRT_GIC_REDIST];
	const struct virt_range *second = &v->map[VIRT_GIC_REDIST2];
	bool both = v->m.opt.cpus > first->size / ARM_GICV3_REGION;
	const u32 reg[] = {
		dist->base >> 32,   dist->base,   dist->size >> 32,   dist->size,
		first->base >> 32,  first->base,  first->size >> 32,  first->size,
		second->base >> 32, second->base, second->size >> 32, second->size,
	};

	dt_set_cells(fdt, node, "#redistributor-regions", both ? 2 : 1);
	dt_set_cell_array(fdt, node, "reg", reg, both ? 12 : 8);
}

static void its_fdt(struct virt *v, void *fdt, const char *gic)
{
	const struct virt_range *r = &v->map[VIRT_GIC_ITS];
	g_autofree char *node = g_strdup_printf("%s/its@%" PRIx64, gic, r->base);

	dt_node(fdt, node);
	dt_set_string(fdt, node, "compatible", "arm,gic-v3-its");
	dt_set_empty(fdt, node, "msi-controller");
	dt_set_cells(fdt, node, "#msi-cells", 1);
	dt_set_reg(fdt, node, "reg", r->base, r->size);
	dt_set_cells(fdt, node, "phandle", VIRT_PHANDLE_MSI);
}

void virt_intc_fdt(struct virt *v, void *fdt)
{
	g_autofree char *node = g_strdup_printf("/intc@%" PRIx64, v->map[VIRT_GIC_DIST].base);

	dt_node(fdt, node);
	dt_set_cells(fdt, node, "#interrupt-cells", 3);
	dt_set_empty(fdt, node, "interrupt-controller");
	dt_set_cells(fdt, node, "#address-cells", 2);
	dt_set_cells(fdt, node, "#size-cells", 2);
	dt_set_empty(fdt, node, "ranges");
	dt_set_string(fdt, node, "compatible", "arm,gic-v3");
	add_frames(v, fdt, node);
	if (v->virtualization)
		dt_set_cells(fdt, node, "interrupts", DT_PPI, VIRT_PPI_GIC, DT_LEVEL_HIGH);
	dt_set_cells(fdt, node, "phandle", VIRT_PHANDLE_GIC);
	if (v->its)
		its_fdt(v, fdt, node);
}

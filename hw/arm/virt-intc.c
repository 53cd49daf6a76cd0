/* hw/arm/virt-intc.c - the machine "virt": interrupt controller, its lines, timers of vCPUs. */
#include "hw/arm/virt.h"

#include "accel/accel.h"
#include "hw/arm/fdt.h"
#include "hw/intc/arm-gicv2.h"
#include "hw/intc/arm-gicv3.h"
#include "target/arm/engines.h"
#include "target/arm/pmu.h"
#include "target/arm/timer.h"
#include "util/error.h"

#define PPI_INTID 16 /* PPI n of the device tree is INTID 16 + n */

/* What a vCPU's timers and performance monitors drive. */
struct virt_cpu_lines {
	struct virt *v;
	unsigned cpu;
};

static void set_internal(const struct virt_cpu_lines *lines, unsigned intid, bool level)
{
	if (lines->v->gic_number == 2)
		arm_gicv2_set_ppi(lines->v->gic, lines->cpu, intid, level);
	else
		arm_gicv3_set_ppi(lines->v->gic, lines->cpu, intid, level);
}

static void set_ppi(const struct virt_cpu_lines *lines, unsigned ppi, bool level)
{
	set_internal(lines, PPI_INTID + ppi, level);
}

static void timer_output(void *opaque, enum arm_timer timer, bool level)
{
	static const u8 ppi[ARM_TIMERS] = {
		[ARM_TIMER_PHYS] = VIRT_PPI_PHYS_TIMER,
		[ARM_TIMER_VIRT] = VIRT_PPI_VIRT_TIMER,
		[ARM_TIMER_HYP] = VIRT_PPI_HYP_TIMER,
		[ARM_TIMER_SEC] = VIRT_PPI_SEC_TIMER,
		[ARM_TIMER_HYP_VIRT] = VIRT_PPI_HYP_VIRT_TIMER,
	};

	set_ppi(opaque, ppi[timer], level);
}

static void pmu_output(void *opaque, bool level)
{
	set_ppi(opaque, VIRT_PPI_PMU, level);
}

static void hacdbs_output(void *opaque, bool level)
{
	struct virt_cpu_lines *lines = opaque;
	const struct arm_cpu *cpu = arm_cpu_of_vcpu(lines->v->m.vm->cpus[lines->cpu]);

	set_internal(lines, cpu->engines->config.hacdbs_irq, level);
}

/* ---- which controller ---- */

/* Of the accelerator, in the kernel. */
static bool in_kernel(const struct virt *v)
{
	return v->m.vm->accel->irqchip;
}

/* What a GICv2 cannot do. Return: NULL, or why @v needs another. */
static const char *no_gicv2(const struct virt *v)
{
	if (in_kernel(v))
		return "the accelerator has version 3";
	if (v->m.opt.cpus > ARM_GICV2_CPUS)
		return "it has room for 8 vCPUs";
	return NULL;
}

static int version_error(const struct virt *v, const char *why, GError **err)
{
	error_set(err, "machine virt: gic-version=%s is not available: %s; use 3 or max",
		  v->gic_version, why);
	return -ENOTSUP;
}

/*
 * Version 2 unless it is not enough, or a hypervisor would get less than it can have; those that do
 * not exist are told by name.
 */
static int choose_version(struct virt *v, GError **err)
{
	const char *name = v->gic_version, *why = no_gicv2(v);

	v->gic_number = 3;
	if (!name)
		v->gic_number = why || v->virtualization ? 3 : 2;
	else if (!strcmp(name, "2") && why)
		return version_error(v, why, err);
	else if (!strcmp(name, "2"))
		v->gic_number = 2;
	else if (!strcmp(name, "4"))
		return version_error(v, "there is no direct injection of virtual LPIs", err);
	else if (!strcmp(name, "host") && !in_kernel(v))
		return version_error(v, "that is for accelerator kvm", err);
	else if (strcmp(name, "3") && strcmp(name, "max") && strcmp(name, "host")) {
		error_set(err, "machine virt: gic-version=%s is not known: use 2, 3 or max", name);
		return -EINVAL;
	}
	return 0;
}

static int create_gicv2(struct virt *v, GError **err)
{
	const struct arm_gicv2_config config = {
		.dist_base = v->map[VIRT_GIC_DIST].base,
		.cpu_base = v->map[VIRT_GIC_CPU].base,
		.cpus = v->m.opt.cpus,
		.spis = VIRT_SPIS,
		.hyp_base = v->virtualization ? v->map[VIRT_GIC_HYP].base : 0,
		.vcpu_base = v->virtualization ? v->map[VIRT_GIC_VCPU].base : 0,
	};
	const struct arm_gicv2m_config frame = {
		.base = v->map[VIRT_GIC_V2M].base,
		.first_spi = VIRT_SPI_V2M,
		.spis = VIRT_SPIS_V2M,
	};

	v->gic = arm_gicv2_create(&v->m, &config, err);
	return v->gic && arm_gicv2m_create(&v->m, v->gic, &frame, err) ? 0 : -EINVAL;
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
	v->gic = in_kernel(v) ? arm_gicv3_kernel_create(&v->m, &config, err)
			      : arm_gicv3_create(&v->m, &config, err);
	if (!v->gic)
		return -EINVAL;
	if (!v->want_its)
		return 0;
	v->its = arm_gicv3_its_create(&v->m, v->gic, v->map[VIRT_GIC_ITS].base, err);
	return v->its ? 0 : -EINVAL;
}

/* CPUs of before Armv8.6 count at a lower frequency, and so did all in older versions. */
static u32 counter_hz(const struct virt *v)
{
	bool v8_6 = !strcmp(arm_cpu_model_name(v->model), "max");

	return v8_6 && !virt_is_before(v, VIRT_9_1) ? ARM_CNTFRQ_V8_6 : ARM_CNTFRQ_LEGACY;
}

int virt_intc_create(struct virt *v, GError **err)
{
	int ret = choose_version(v, err);

	if (!ret)
		ret = v->gic_number == 2 ? create_gicv2(v, err) : create_gicv3(v, err);
	if (ret || in_kernel(v)) /* where CPUs' own interrupts and timers are, too */
		return ret;
	v->cpu_lines = g_new0(struct virt_cpu_lines, v->m.opt.cpus);
	for (unsigned i = 0; i < v->m.opt.cpus; i++) {
		struct arm_cpu *cpu = arm_cpu_of_vcpu(v->m.vm->cpus[i]);

		v->cpu_lines[i] = (struct virt_cpu_lines){ v, i };
		if (v->gic_number == 2)
			arm_gicv2_attach(v->gic, i, cpu);
		else
			arm_gicv3_attach(v->gic, i, cpu);
		arm_timers_create(cpu, counter_hz(v));
		arm_timers_connect(cpu, timer_output, &v->cpu_lines[i]);
		arm_pmu_connect(cpu, pmu_output, &v->cpu_lines[i]);
		if (cpu->engines && cpu->engines->config.hacdbs_irq)
			arm_engines_connect(cpu, hacdbs_output, &v->cpu_lines[i]);
	}
	return 0;
}

/* The controller is gone with the other devices; nobody drives its lines any more. */
void virt_intc_destroy(struct virt *v)
{
	for (int i = 0; v->cpu_lines && i < v->m.vm->ncpus; i++) {
		arm_timers_destroy(arm_cpu_of_vcpu(v->m.vm->cpus[i]));
		arm_pmu_connect(arm_cpu_of_vcpu(v->m.vm->cpus[i]), NULL, NULL);
	}
	g_clear_pointer(&v->cpu_lines, g_free);
}

void virt_intc_set(struct virt *v, unsigned spi, bool level)
{
	if (in_kernel(v))
		v->m.vm->accel->ops->gsi_set(v->m.vm->accel, spi, level);
	else if (v->gic_number == 2)
		arm_gicv2_set_spi(v->gic, spi, level);
	else
		arm_gicv3_set_spi(v->gic, spi, level);
}

bool virt_intc_has_msi(const struct virt *v)
{
	return v->gic_number == 2 || v->its;
}

u32 virt_intc_ppi_flags(const struct virt *v)
{
	u32 cpus = v->gic_number == 2 ? (1u << v->m.opt.cpus) - 1 : 0;

	return cpus << DT_PPI_CPUS_SHIFT | DT_LEVEL_HIGH;
}

/* Messages to any other place, such as the frame of a GICv2, are writes to memory like others. */
void virt_intc_msi(struct virt *v, u16 requester, u64 addr, u32 data)
{
	if (v->its && addr == arm_gicv3_its_address(v->its))
		arm_gicv3_its_send(v->its, requester, data);
	else
		address_space_st(v->m.vm->memory, addr, data, 4);
}

/* ---- device tree ---- */

static void frames_v3(struct virt *v, void *fdt, const char *node)
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

static void v2m_fdt(struct virt *v, void *fdt, const char *gic)
{
	const struct virt_range *r = &v->map[VIRT_GIC_V2M];
	g_autofree char *node = g_strdup_printf("%s/v2m@%" PRIx64, gic, r->base);

	dt_node(fdt, node);
	dt_set_string(fdt, node, "compatible", "arm,gic-v2m-frame");
	dt_set_empty(fdt, node, "msi-controller");
	dt_set_reg(fdt, node, "reg", r->base, r->size);
	dt_set_cells(fdt, node, "phandle", VIRT_PHANDLE_MSI);
}

static void frames_v2(struct virt *v, void *fdt, const char *node)
{
	static const enum virt_region frames[] = { VIRT_GIC_DIST, VIRT_GIC_CPU, VIRT_GIC_HYP,
						   VIRT_GIC_VCPU };
	unsigned n = v->virtualization ? 4 : 2;
	u32 reg[4 * ARRAY_SIZE(frames)];

	for (unsigned i = 0; i < n; i++) {
		const struct virt_range *r = &v->map[frames[i]];
		const u32 cells[] = { r->base >> 32, r->base, r->size >> 32, r->size };

		memcpy(reg + 4 * i, cells, sizeof(cells));
	}
	dt_set_cell_array(fdt, node, "reg", reg, 4 * n);
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
	dt_set_string(fdt, node, "compatible",
		      v->gic_number == 2 ? "arm,cortex-a15-gic" : "arm,gic-v3");
	if (v->gic_number == 2)
		frames_v2(v, fdt, node);
	else
		frames_v3(v, fdt, node);
	if (v->virtualization)
		dt_set_cells(fdt, node, "interrupts", DT_PPI, VIRT_PPI_GIC, DT_LEVEL_HIGH);
	dt_set_cells(fdt, node, "phandle", VIRT_PHANDLE_GIC);
	if (v->its)
		its_fdt(v, fdt, node);
	if (v->gic_number == 2)
		v2m_fdt(v, fdt, node);
}

/* hw/arm/virt-fdt.c - the machine "virt": its device tree. */
#include "hw/arm/virt.h"

#include <sys/random.h>

#include "accel/vm.h"
#include "hw/arm/fdt.h"
#include "target/arm/engines.h"
#include "util/error.h"

#define CLOCK_HZ 24000000

static void add_root(void *fdt)
{
	dt_set_string(fdt, "/", "compatible", "linux,dummy-virt");
	dt_set_string(fdt, "/", "model", "linux,dummy-virt");
	dt_set_cells(fdt, "/", "#address-cells", 2);
	dt_set_cells(fdt, "/", "#size-cells", 2);
	dt_set_cells(fdt, "/", "interrupt-parent", VIRT_PHANDLE_GIC);
}

static void add_clock(void *fdt)
{
	dt_node(fdt, "/apb-pclk");
	dt_set_string(fdt, "/apb-pclk", "compatible", "fixed-clock");
	dt_set_cells(fdt, "/apb-pclk", "#clock-cells", 0);
	dt_set_cells(fdt, "/apb-pclk", "clock-frequency", CLOCK_HZ);
	dt_set_string(fdt, "/apb-pclk", "clock-output-names", "clk24mhz");
	dt_set_cells(fdt, "/apb-pclk", "phandle", VIRT_PHANDLE_CLOCK);
}

static void add_psci(struct virt *v, void *fdt)
{
	static const char *const compatible[] = { "arm,psci-1.0", "arm,psci-0.2", "arm,psci",
						  NULL };

	dt_node(fdt, "/psci");
	dt_set_strings(fdt, "/psci", "compatible", compatible);
	dt_set_string(fdt, "/psci", "method", v->virtualization ? "smc" : "hvc");
	dt_set_cells(fdt, "/psci", "cpu_suspend", 0xc4000001);
	dt_set_cells(fdt, "/psci", "cpu_off", 0x84000002);
	dt_set_cells(fdt, "/psci", "cpu_on", 0xc4000003);
	dt_set_cells(fdt, "/psci", "migrate", 0xc4000005);
}

static void add_cpu(struct virt *v, void *fdt, unsigned i)
{
	g_autofree char *path = g_strdup_printf("/cpus/cpu@%u", i);

	dt_node(fdt, path);
	dt_set_string(fdt, path, "device_type", "cpu");
	dt_set_string(fdt, path, "compatible", arm_cpu_model_compatible(v->model));
	if (v->m.opt.cpus > 1)
		dt_set_string(fdt, path, "enable-method", "psci");
	dt_set_cells(fdt, path, "reg", virt_mpidr(v, i));
	dt_set_cells(fdt, path, "phandle", VIRT_PHANDLE_CPU0 + i);
}

/* Node of a CPU's place in the topology, with its parents. */
static char *place_of(struct virt *v, void *fdt, unsigned i)
{
	const struct machine_options *o = &v->m.opt;
	unsigned core = i / o->threads % o->cores, socket = i / o->threads / o->cores;
	g_autofree char *at_socket = g_strdup_printf("/cpus/cpu-map/socket%u", socket);
	g_autofree char *at_cluster = g_strconcat(at_socket, "/cluster0", NULL);
	g_autofree char *at_core = g_strdup_printf("%s/core%u", at_cluster, core);

	if (!dt_has_node(fdt, at_socket)) {
		dt_node(fdt, at_socket);
		dt_node(fdt, at_cluster);
	}
	if (!dt_has_node(fdt, at_core))
		dt_node(fdt, at_core);
	if (o->threads == 1)
		return g_steal_pointer(&at_core);
	return g_strdup_printf("%s/thread%u", at_core, i % o->threads);
}

static void add_cpu_map(struct virt *v, void *fdt)
{
	dt_node(fdt, "/cpus/cpu-map");
	for (unsigned i = v->m.opt.cpus; i-- > 0;) {
		g_autofree char *path = place_of(v, fdt, i);

		if (!dt_has_node(fdt, path))
			dt_node(fdt, path);
		dt_set_cells(fdt, path, "cpu", VIRT_PHANDLE_CPU0 + i);
	}
}

/* Nobody has defined how a tree tells of HACDBSIRQ: this is our own, for those who ask for it. */
static void add_hacdbs(struct virt *v, void *fdt)
{
	const struct arm_engines *e = arm_cpu_of_vcpu(v->m.vm->cpus[0])->engines;

	if (!e || !e->config.hacdbs_irq || !e->config.hacdbs_irq_dt)
		return;
	dt_node(fdt, "/hacdbs");
	dt_set_string(fdt, "/hacdbs", "compatible", "tidemark,hacdbs");
	dt_set_cells(fdt, "/hacdbs", "interrupts", DT_PPI, e->config.hacdbs_irq - 16,
		     DT_LEVEL_HIGH);
}

static void add_cpus(struct virt *v, void *fdt)
{
	dt_node(fdt, "/cpus");
	dt_set_cells(fdt, "/cpus", "#address-cells", 1);
	dt_set_cells(fdt, "/cpus", "#size-cells", 0);
	for (unsigned i = v->m.opt.cpus; i-- > 0;)
		add_cpu(v, fdt, i);
	add_cpu_map(v, fdt);
}

/* EL2's virtual timer comes last, and only where there is an EL2 to use it. Guests were not told of
 * it before version 9.0. */
static void add_timer(struct virt *v, void *fdt)
{
	static const char *const compatible[] = { "arm,armv8-timer", "arm,armv7-timer", NULL };
	static const u32 ppi[] = { VIRT_PPI_SEC_TIMER, VIRT_PPI_PHYS_TIMER, VIRT_PPI_VIRT_TIMER,
				   VIRT_PPI_HYP_TIMER, VIRT_PPI_HYP_VIRT_TIMER };
	bool el2 = v->virtualization && !virt_is_before(v, VIRT_9_0);
	unsigned n = el2 ? ARRAY_SIZE(ppi) : ARRAY_SIZE(ppi) - 1;
	u32 cells[3 * ARRAY_SIZE(ppi)];

	for (unsigned i = 0; i < n; i++) {
		cells[3 * i] = DT_PPI;
		cells[3 * i + 1] = ppi[i];
		cells[3 * i + 2] = virt_intc_ppi_flags(v);
	}
	dt_node(fdt, "/timer");
	dt_set_strings(fdt, "/timer", "compatible", compatible);
	dt_set_empty(fdt, "/timer", "always-on");
	dt_set_cell_array(fdt, "/timer", "interrupts", cells, 3 * n);
}

static void add_pmu(struct virt *v, void *fdt)
{
	if (!arm_cpu_model_has_pmu(v->model))
		return;
	dt_node(fdt, "/pmu");
	dt_set_string(fdt, "/pmu", "compatible", "arm,armv8-pmuv3");
	dt_set_cells(fdt, "/pmu", "interrupts", DT_PPI, VIRT_PPI_PMU, virt_intc_ppi_flags(v));
}

static void add_memory(struct virt *v, void *fdt)
{
	const struct virt_range *r = &v->map[VIRT_MEM];
	g_autofree char *path = g_strdup_printf("/memory@%" PRIx64, r->base);

	if (!dt_has_node(fdt, path))
		dt_node(fdt, path);
	dt_set_string(fdt, path, "device_type", "memory");
	dt_set_reg(fdt, path, "reg", r->base, r->size);
}

static void set_random(void *fdt, const char *name, size_t len)
{
	u8 seed[32];

	if (getrandom(seed, len, 0) == (ssize_t)len)
		dt_set_bytes(fdt, "/chosen", name, seed, len);
}

static void set_u64(void *fdt, const char *name, u64 value)
{
	dt_set_cells(fdt, "/chosen", name, value >> 32, (u32)value);
}

static void add_chosen(struct virt *v, void *fdt, const struct arm_boot *boot)
{
	if (!dt_has_node(fdt, "/chosen"))
		dt_node(fdt, "/chosen");
	if (v->dtb_randomness) {
		set_random(fdt, "kaslr-seed", 8);
		set_random(fdt, "rng-seed", 32);
	}
	if (!boot)
		return;
	if (v->m.opt.append)
		dt_set_string(fdt, "/chosen", "bootargs", v->m.opt.append);
	if (boot->initrd_end > boot->initrd) {
		set_u64(fdt, "linux,initrd-start", boot->initrd);
		set_u64(fdt, "linux,initrd-end", boot->initrd_end);
	}
}

static void *build(struct virt *v)
{
	void *fdt = dt_new();

	/* The last node of this list is the first of the tree. */
	add_root(fdt);
	dt_node(fdt, "/chosen");
	add_clock(fdt);
	add_timer(v, fdt);
	add_cpus(v, fdt);
	add_pmu(v, fdt);
	add_hacdbs(v, fdt);
	virt_flash_fdt(v, fdt);
	virt_intc_fdt(v, fdt);
	virt_pci_fdt(v, fdt);
	virt_devices_fdt(v, fdt);
	add_psci(v, fdt);
	return fdt;
}

GBytes *virt_fdt(struct virt *v, const struct arm_boot *boot, GError **err)
{
	void *fdt = v->m.opt.dtb ? dt_load(v->m.opt.dtb, err) : build(v);

	if (!fdt) {
		g_prefix_error(err, "-dtb: ");
		return NULL;
	}
	add_memory(v, fdt);
	add_chosen(v, fdt, boot);
	return dt_finish(fdt);
}

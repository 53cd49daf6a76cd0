/* hw/intc/gicv3.c - the GICv3 as a device: its frames, its CPUs, reset. */
#include "hw/intc/gicv3-priv.h"

#include "accel/vm.h"
#include "hw/intc/devices.h"
#include "hw/machine.h"
#include "target/arm/cpu.h"
#include "util/error.h"

#include <assert.h>

#define FRAME 0x10000

void gic_reset_distributor(struct gicv3 *g)
{
	g->gicd_ctlr = GICD_CTLR_ARE | GICD_CTLR_DS;
	memset(g->gicd_statusr, 0, sizeof(g->gicd_statusr));
	memset(g->group, 0, sizeof(g->group));
	memset(g->grpmod, 0, sizeof(g->grpmod));
	memset(g->enabled, 0, sizeof(g->enabled));
	memset(g->pending, 0, sizeof(g->pending));
	memset(g->active, 0, sizeof(g->active));
	memset(g->edge_trigger, 0, sizeof(g->edge_trigger));
	memset(g->nmi, 0, sizeof(g->nmi));
	memset(g->gicd_ipriority, 0, sizeof(g->gicd_ipriority));
	memset(g->gicd_irouter, 0, sizeof(g->gicd_irouter));
	memset(g->gicd_nsacr, 0, sizeof(g->gicd_nsacr));
	g->gicd_no_migration_shift_bug = true;
}

void gic_reset_redistributor(struct gicv3_cpu *c)
{
	c->gicr_ctlr = GICR_CTLR_CES;
	memset(c->gicr_statusr, 0, sizeof(c->gicr_statusr));
	c->gicr_waker = 6; /* asleep */
	c->gicr_propbaser = c->gicr_pendbaser = 0;
	c->gicr_igroupr0 = c->gicr_ienabler0 = c->gicr_ipendr0 = c->gicr_iactiver0 = 0;
	c->edge_trigger = 0xffff; /* SGIs */
	c->gicr_igrpmodr0 = c->gicr_nsacr = c->gicr_inmir0 = 0;
	memset(c->gicr_ipriorityr, 0, sizeof(c->gicr_ipriorityr));
	gic_lpi_enable(c, true);
}

/* Inputs keep their level: devices drive them, and reset those themselves. */
static void gicv3_reset(struct device *dev)
{
	struct gicv3 *g = (struct gicv3 *)dev;

	g_mutex_lock(&g->lock);
	gic_reset_distributor(g);
	for (unsigned i = 0; i < g->num_cpu; i++) {
		gic_reset_redistributor(&g->cpu[i]);
		gic_reset_interface(&g->cpu[i]);
		gic_update_virtual(&g->cpu[i]);
	}
	gic_route_all(g);
	gic_update_all(g);
	g_mutex_unlock(&g->lock);
}

void arm_gicv3_attach(struct device *dev, unsigned index, struct arm_cpu *cpu)
{
	struct gicv3 *g = (struct gicv3 *)dev;
	struct gicv3_cpu *c = &g->cpu[index];

	assert(index < g->num_cpu);
	c->cpu = cpu;
	c->affinity = cpu->mpidr & GIC_AFFINITY;
	gic_add_icc_registers(c);
	g_mutex_lock(&g->lock);
	gic_route_all(g);
	gic_update_all(g);
	g_mutex_unlock(&g->lock);
}

static void map(struct gicv3 *g, struct mapping *map, const char *name, u64 base, u64 size,
		const struct mmio_ops *ops, void *opaque)
{
	*map = (struct mapping){ .name = name,
				 .base = base,
				 .size = size,
				 .kind = MAP_MMIO,
				 .ops = ops,
				 .opaque = opaque };
	address_space_map(g->dev.machine->vm->memory, map);
}

static void map_frames(struct gicv3 *g)
{
	address_space_begin(g->dev.machine->vm->memory);
	map(g, &g->dist, "gicv3_dist", g->dist_base, FRAME, &gicv3_dist_ops, g);
	for (unsigned i = 0; i < g->num_cpu; i++) {
		struct gicv3_cpu *c = &g->cpu[i];

		map(g, &c->frames, "gicv3_redist_region", c->frames.base, ARM_GICV3_REGION,
		    &gicv3_redist_ops, c);
	}
	address_space_commit(g->dev.machine->vm->memory);
}

/* Affinities until a CPU says its own: clusters of 16, as many as a target list can name. */
static void init_cpu(struct gicv3 *g, unsigned i, u64 base, bool last)
{
	struct gicv3_cpu *c = &g->cpu[i];

	c->gic = g;
	c->index = i;
	c->affinity = (i / 16) << 8 | i % 16;
	c->frames.base = base;
	c->last = last;
	if (g->has_lpi)
		c->lpi_pending = g_new0(u64, (1u << GIC_ID_BITS) / 64);
}

void gicv3_free_cpus(struct gicv3 *g)
{
	for (unsigned i = 0; i < g->num_cpu; i++)
		g_free(g->cpu[i].lpi_pending);
	g_free(g->cpu);
}

static int gicv3_realize(struct device *dev, GError **err)
{
	struct gicv3 *g = (struct gicv3 *)dev;

	g_mutex_init(&g->lock);
	memset(g->target, 0xff, sizeof(g->target)); /* GIC_NO_CPU */
	map_frames(g);
	gicv3_reset(dev);
	return 0;
}

static void gicv3_unrealize(struct device *dev)
{
	struct gicv3 *g = (struct gicv3 *)dev;
	struct address_space *as = dev->machine->vm->memory;

	for (unsigned i = 0; i < g->num_cpu; i++)
		address_space_unmap(as, &g->cpu[i].frames);
	address_space_unmap(as, &g->dist);
	gicv3_free_cpus(g);
	g_mutex_clear(&g->lock);
}

void gicv3_configure(struct gicv3 *g, const struct arm_gicv3_config *config)
{
	unsigned first = config->redist[0].cpus, i;

	assert(config->spis % 32 == 0 && config->spis <= ARM_GICV3_SPIS);
	g->num_cpu = first + config->redist[1].cpus;
	g->num_irq = ARM_GIC_INTERNAL + config->spis;
	g->dist_base = config->dist_base;
	g->has_lpi = config->lpis;
	g->cpu = g_new0(struct gicv3_cpu, g->num_cpu);
	for (i = 0; i < first; i++)
		init_cpu(g, i, config->redist[0].base + i * ARM_GICV3_REGION, i == first - 1);
	for (; i < g->num_cpu; i++)
		init_cpu(g, i, config->redist[1].base + (i - first) * ARM_GICV3_REGION,
			 i == g->num_cpu - 1);
}

struct device *arm_gicv3_create(struct machine *m, const struct arm_gicv3_config *config,
				GError **err)
{
	struct device *dev = device_create(m, ARM_GICV3_TYPE, NULL, err);

	if (!dev)
		return NULL;
	gicv3_configure((struct gicv3 *)dev, config);
	if (device_realize(dev, NULL, err)) {
		gicv3_free_cpus((struct gicv3 *)dev);
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

const struct property gicv3_props[] = {
	PROP(struct gicv3, num_cpu, "num-cpu", U32, NULL, "CPUs"),
	PROP(struct gicv3, num_irq, "num-irq", U32, NULL, "interrupts but LPIs"),
	PROP(struct gicv3, has_lpi, "has-lpi", BOOL, NULL, "has LPIs"),
	PROP_END,
};

const struct device_type arm_gicv3_type = {
	.name = ARM_GICV3_TYPE,
	.desc = "Arm Generic Interrupt Controller version 3",
	.bus = "System",
	.instance_size = sizeof(struct gicv3),
	.props = gicv3_props,
	.realize = gicv3_realize,
	.unrealize = gicv3_unrealize,
	.reset = gicv3_reset,
	.state = &gicv3_state_desc,
};

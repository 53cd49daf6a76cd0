/* hw/intc/gicv2.c - the GICv2 as a device: its frames, its CPUs, reset. */
#include "hw/intc/gicv2-priv.h"

#include "accel/vm.h"
#include "hw/intc/devices.h"
#include "hw/machine.h"

#include <assert.h>

#define FRAME 0x10000

/* Inputs keep their level: devices drive them, and reset those themselves. */
static void reset_irq(struct gicv2_irq *irq, bool sgi)
{
	*irq = (struct gicv2_irq){
		.enabled = sgi ? GICV2_ALL_CPUS : 0,
		.edge_trigger = sgi,
		.level = irq->level,
	};
}

static void gicv2_reset(struct device *dev)
{
	struct gicv2 *g = (struct gicv2 *)dev;

	g_mutex_lock(&g->lock);
	for (unsigned i = 0; i < GICV2_MAX_IRQ; i++)
		reset_irq(&g->irq_state[i], i < GICV2_SGIS);
	g->ctlr = 0;
	memset(g->cpu_ctlr, 0, sizeof(g->cpu_ctlr));
	memset(g->irq_target, 0, sizeof(g->irq_target));
	memset(g->priority1, 0, sizeof(g->priority1));
	memset(g->priority2, 0, sizeof(g->priority2));
	memset(g->sgi_pending, 0, sizeof(g->sgi_pending));
	memset(g->priority_mask, 0, sizeof(g->priority_mask));
	memset(g->bpr, 0, sizeof(g->bpr));
	memset(g->abpr, GICV2_MIN_ABPR, sizeof(g->abpr));
	memset(g->apr, 0, sizeof(g->apr));
	memset(g->nsapr, 0, sizeof(g->nsapr));
	gicv2_reset_virtual(g);
	gicv2_rebuild(g);
	g_mutex_unlock(&g->lock);
}

void arm_gicv2_attach(struct device *dev, unsigned index, struct arm_cpu *cpu)
{
	struct gicv2 *g = (struct gicv2 *)dev;

	assert(index < g->num_cpu);
	g->cpu[index] = cpu;
}

static void map(struct gicv2 *g, struct mapping *map, const char *name, u64 base,
		const struct mmio_ops *ops)
{
	*map = (struct mapping){
		.name = name, .base = base, .size = FRAME, .kind = MAP_MMIO, .ops = ops, .opaque = g
	};
	address_space_map(g->dev.machine->vm->memory, map);
}

static int gicv2_realize(struct device *dev, GError **err)
{
	struct gicv2 *g = (struct gicv2 *)dev;

	g_mutex_init(&g->lock);
	map(g, &g->dist, "gic_dist", g->dist_base, &gicv2_dist_ops);
	map(g, &g->interface, "gic_cpu", g->cpu_base, &gicv2_cpu_ops);
	if (g->hyp_base) {
		map(g, &g->hyp, "gic_viface", g->hyp_base, &gicv2_hyp_ops);
		map(g, &g->vcpu, "gic_vcpu", g->vcpu_base, &gicv2_vcpu_ops);
	}
	gicv2_reset(dev);
	return 0;
}

static void gicv2_unrealize(struct device *dev)
{
	struct gicv2 *g = (struct gicv2 *)dev;

	if (g->hyp_base) {
		address_space_unmap(dev->machine->vm->memory, &g->vcpu);
		address_space_unmap(dev->machine->vm->memory, &g->hyp);
	}
	address_space_unmap(dev->machine->vm->memory, &g->interface);
	address_space_unmap(dev->machine->vm->memory, &g->dist);
	g_mutex_clear(&g->lock);
}

struct device *arm_gicv2_create(struct machine *m, const struct arm_gicv2_config *config,
				GError **err)
{
	struct device *dev = device_create(m, ARM_GICV2_TYPE, NULL, err);
	struct gicv2 *g = (struct gicv2 *)dev;

	if (!dev)
		return NULL;
	assert(config->spis % 32 == 0 && config->spis <= ARM_GICV2_SPIS);
	assert(config->cpus >= 1 && config->cpus <= ARM_GICV2_CPUS);
	g->num_cpu = config->cpus;
	g->num_irq = GICV2_INTERNAL + config->spis;
	g->dist_base = config->dist_base;
	g->cpu_base = config->cpu_base;
	g->hyp_base = config->hyp_base;
	g->vcpu_base = config->vcpu_base;
	if (device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

static const struct property gicv2_props[] = {
	PROP(struct gicv2, num_cpu, "num-cpu", U32, NULL, "CPUs"),
	PROP(struct gicv2, num_irq, "num-irq", U32, NULL, "interrupts"),
	PROP_END,
};

const struct device_type arm_gicv2_type = {
	.name = ARM_GICV2_TYPE,
	.desc = "Arm Generic Interrupt Controller version 2",
	.bus = "System",
	.instance_size = sizeof(struct gicv2),
	.props = gicv2_props,
	.realize = gicv2_realize,
	.unrealize = gicv2_unrealize,
	.reset = gicv2_reset,
	.state = &gicv2_state_desc,
};

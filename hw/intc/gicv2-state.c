/*
 * hw/intc/gicv2-state.c - migration of the GICv2.
 *
 * Layout: QEMU's section "arm_gic" (version 12). Arrays are as long as its largest controller.
 */
#include "hw/intc/gicv2-priv.h"

#include "target/arm/timer.h"

static void pre_save(void *obj)
{
	struct gicv2 *g = obj;

	g_mutex_lock(&g->lock);
	for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++)
		g->current_pending[cpu] = cpu < g->num_cpu ? g->next[cpu].intid : GICV2_NONE;
	gicv2_save_virtual(g);
	g_mutex_unlock(&g->lock);
}

/* The bytes of an SPI say the same of all CPUs here; elsewhere they may name some. */
static u8 all_or_none(u8 bits)
{
	return bits ? GICV2_ALL_CPUS : 0;
}

static void limit_irq(struct gicv2 *g, unsigned intid)
{
	struct gicv2_irq *irq = &g->irq_state[intid];

	if (intid < GICV2_SGIS) {
		irq->enabled = GICV2_ALL_CPUS;
		irq->edge_trigger = true;
		irq->pending = 0;
		for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++)
			irq->pending |= g->sgi_pending[intid][cpu] ? 1u << cpu : 0;
	}
	if (intid < GICV2_INTERNAL)
		return;
	irq->enabled = all_or_none(irq->enabled);
	irq->pending = all_or_none(irq->pending);
	irq->active = all_or_none(irq->active);
	irq->level = all_or_none(irq->level);
	irq->group = all_or_none(irq->group);
	g->irq_target[intid] &= (1u << g->num_cpu) - 1;
}

static int post_load(void *obj, int version, GError **err)
{
	struct gicv2 *g = obj;
	u8 all = (1u << g->num_cpu) - 1;

	g_mutex_lock(&g->lock);
	g->ctlr &= GICD_CTLR_RW;
	for (unsigned sgi = 0; sgi < GICV2_SGIS; sgi++)
		for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++)
			g->sgi_pending[sgi][cpu] &= all;
	for (unsigned i = 0; i < GICV2_MAX_IRQ; i++)
		limit_irq(g, i);
	for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++) {
		g->cpu_ctlr[cpu] &= GICC_CTLR_RW;
		g->priority_mask[cpu] &= 0xff;
		g->bpr[cpu] &= 7;
		g->abpr[cpu] = CLAMP(g->abpr[cpu], GICV2_MIN_ABPR, 7);
	}
	gicv2_limit_virtual(g);
	gicv2_rebuild(g);
	g_mutex_unlock(&g->lock);
	for (unsigned cpu = 0; cpu < g->num_cpu; cpu++)
		if (g->cpu[cpu])
			arm_timers_repeat(g->cpu[cpu]);
	return 0;
}

static const struct state_field irq_fields[] = {
	FIELD_U8(struct gicv2_irq, enabled), FIELD_U8(struct gicv2_irq, pending),
	FIELD_U8(struct gicv2_irq, active),  FIELD_U8(struct gicv2_irq, level),
	FIELD_BOOL(struct gicv2_irq, model), FIELD_BOOL(struct gicv2_irq, edge_trigger),
	FIELD_U8(struct gicv2_irq, group),   FIELD_END,
};
static const struct state_desc irq_desc = {
	.name = "arm_gic_irq_state",
	.version = 1,
	.min_version = 1,
	.fields = irq_fields,
};

/* A table of rows that is one row on the wire. */
#define TABLE_FIELD(f, TY, rows)                                                                   \
	{                                                                                          \
		.name = #f, .type = STATE_##TY, .offset = offsetof(struct gicv2, f),               \
		.size = sizeof(((struct gicv2 *)0)->f[0][0]), .count = (rows)*ARM_GICV2_CPUS       \
	}

/* The wire has the virtual interfaces as rows of the physical ones' arrays. */
#define VIRTUAL_FIELD(wire, f, TY)                                                                 \
	{                                                                                          \
		.name = (wire), .type = STATE_##TY, .offset = offsetof(struct gicv2, f),           \
		.size = sizeof(((struct gicv2 *)0)->f[0]), .count = ARM_GICV2_CPUS                 \
	}

static bool has_virtual(void *obj)
{
	return ((struct gicv2 *)obj)->hyp_base;
}

static const struct state_field virtual_fields[] = {
	FIELD_ARRAY(struct gicv2, h_hcr, U32),
	FIELD_ARRAY(struct gicv2, h_misr, U32),
	TABLE_FIELD(h_lr, U32, GICV2_WIRE_LRS),
	FIELD_ARRAY(struct gicv2, h_apr, U32),
	VIRTUAL_FIELD("cpu_ctlr", v_ctlr, U32),
	VIRTUAL_FIELD("priority_mask", v_priority_mask, U16),
	VIRTUAL_FIELD("running_priority", v_running_priority, U16),
	VIRTUAL_FIELD("current_pending", v_current_pending, U16),
	VIRTUAL_FIELD("bpr", v_bpr, U8),
	VIRTUAL_FIELD("abpr", v_abpr, U8),
	FIELD_END,
};
static const struct state_desc virtual_desc = {
	.name = "arm_gic_virt_state",
	.version = 1,
	.min_version = 1,
	.fields = virtual_fields,
	.needed = has_virtual,
};
static const struct state_desc *const subsections[] = { &virtual_desc, NULL };

static const struct state_field fields[] = {
	FIELD_U32(struct gicv2, ctlr),
	FIELD_ARRAY(struct gicv2, cpu_ctlr, U32),
	FIELD_STRUCT_ARRAY(struct gicv2, irq_state, irq_desc),
	FIELD_ARRAY(struct gicv2, irq_target, U8),
	TABLE_FIELD(priority1, U8, GICV2_INTERNAL),
	FIELD_ARRAY(struct gicv2, priority2, U8),
	TABLE_FIELD(sgi_pending, U8, GICV2_SGIS),
	FIELD_ARRAY(struct gicv2, priority_mask, U16),
	FIELD_ARRAY(struct gicv2, running_priority, U16),
	FIELD_ARRAY(struct gicv2, current_pending, U16),
	FIELD_ARRAY(struct gicv2, bpr, U8),
	FIELD_ARRAY(struct gicv2, abpr, U8),
	TABLE_FIELD(apr, U32, 4),
	TABLE_FIELD(nsapr, U32, 4),
	FIELD_END,
};

const struct state_desc gicv2_state_desc = {
	.name = "arm_gic",
	.version = 12,
	.min_version = 12,
	.fields = fields,
	.subsections = subsections,
	.pre_save = pre_save,
	.post_load = post_load,
};

/*
 * hw/intc/gicv2-core.c - states and priorities of interrupts (Arm IHI 0048B.b, chapter 3).
 */
#include "hw/intc/gicv2-priv.h"

#include "accel/vcpu.h"

unsigned gicv2_this_cpu(const struct gicv2 *g)
{
	const struct vcpu *cpu = vcpu_self();

	return cpu && (unsigned)cpu->index < g->num_cpu ? cpu->index : 0;
}

/* ---- the next interrupt ---- */

static bool is_ready(const struct gicv2 *g, unsigned intid, unsigned cpu)
{
	const struct gicv2_irq *irq = &g->irq_state[intid];
	u8 mask = gicv2_mask(intid, cpu);

	if (intid >= GICV2_INTERNAL && !(gicv2_targets(g, intid) >> cpu & 1))
		return false;
	return irq->enabled & mask && !(irq->active & mask) && gicv2_is_pending(irq, mask);
}

void gicv2_changed(struct gicv2 *g, unsigned intid)
{
	for (unsigned cpu = 0; cpu < g->num_cpu; cpu++) {
		u32 *word = &g->ready[cpu][intid / 32], bit = 1u << intid % 32;

		*word = is_ready(g, intid, cpu) ? *word | bit : *word & ~bit;
	}
}

static bool group_enabled(const struct gicv2 *g, unsigned cpu, bool group1)
{
	return (g->ctlr & g->cpu_ctlr[cpu]) >> group1 & 1;
}

/* Of equal priorities the lowest INTID wins. */
static struct gicv2_next find_next(struct gicv2 *g, unsigned cpu)
{
	struct gicv2_next best = { GICV2_NONE, GICV2_IDLE_PRIO, false };

	for (unsigned w = 0; w < g->num_irq / 32; w++)
		for (u32 ready = g->ready[cpu][w]; ready; ready &= ready - 1) {
			unsigned intid = 32 * w + __builtin_ctz(ready);
			bool group1 = g->irq_state[intid].group & gicv2_mask(intid, cpu);
			u8 prio = *gicv2_priority(g, intid, cpu);

			if (prio < best.prio && group_enabled(g, cpu, group1))
				best = (struct gicv2_next){ intid, prio, group1 };
		}
	return best;
}

/* Which bits of a priority are its group priority; GICC_ABPR counts from one higher. */
static unsigned group_mask(const struct gicv2 *g, unsigned cpu, bool group1)
{
	bool own = group1 && !(g->cpu_ctlr[cpu] & GICC_CTLR_CBPR);

	return ~0u << ((own ? g->abpr[cpu] - GICV2_MIN_ABPR : g->bpr[cpu]) + 1);
}

bool gicv2_can_take(const struct gicv2 *g, unsigned cpu)
{
	const struct gicv2_next *next = &g->next[cpu];

	if (next->prio >= g->priority_mask[cpu])
		return false;
	return g->running_priority[cpu] == GICV2_IDLE_PRIO ||
	       (next->prio & group_mask(g, cpu, next->group1)) < g->running_priority[cpu];
}

void gicv2_drive(struct gicv2 *g, unsigned cpu, bool *line, enum arm_irq_line which, bool level)
{
	if (*line == level)
		return;
	*line = level;
	if (g->cpu[cpu])
		arm_irq_set(g->cpu[cpu], which, level);
}

void gicv2_update(struct gicv2 *g, unsigned cpu)
{
	bool take, fiq;

	g->next[cpu] = find_next(g, cpu);
	take = gicv2_can_take(g, cpu);
	fiq = !g->next[cpu].group1 && g->cpu_ctlr[cpu] & GICC_CTLR_FIQEN;
	gicv2_drive(g, cpu, &g->irq_line[cpu], ARM_LINE_IRQ, take && !fiq);
	gicv2_drive(g, cpu, &g->fiq_line[cpu], ARM_LINE_FIQ, take && fiq);
}

void gicv2_update_all(struct gicv2 *g)
{
	for (unsigned cpu = 0; cpu < g->num_cpu; cpu++)
		gicv2_update(g, cpu);
}

/* ---- active priorities ---- */

/* The highest, as the number of its bit; 128: none. */
static unsigned highest(const u32 apr[4][ARM_GICV2_CPUS], unsigned cpu)
{
	for (unsigned i = 0; i < 4; i++)
		if (apr[i][cpu])
			return 32 * i + __builtin_ctz(apr[i][cpu]);
	return 128;
}

static void find_running(struct gicv2 *g, unsigned cpu)
{
	g->running_priority[cpu] = MIN(highest(g->apr, cpu), highest(g->nsapr, cpu)) * 2;
}

void gicv2_rebuild(struct gicv2 *g)
{
	for (unsigned intid = 0; intid < g->num_irq; intid++)
		gicv2_changed(g, intid);
	for (unsigned cpu = 0; cpu < g->num_cpu; cpu++)
		find_running(g, cpu);
	for (unsigned cpu = 0; cpu < g->num_cpu && g->hyp_base; cpu++)
		gicv2_update_virtual(g, cpu);
	gicv2_update_all(g);
}

/* ---- life of an interrupt ---- */

void gicv2_send_sgi(struct gicv2 *g, unsigned sgi, unsigned sender, unsigned target)
{
	g->sgi_pending[sgi][target] |= 1u << sender;
	g->irq_state[sgi].pending |= 1u << target;
	gicv2_changed(g, sgi);
	gicv2_update(g, target);
}

void gicv2_clear_sgi(struct gicv2 *g, unsigned sgi, u8 senders, unsigned target)
{
	g->sgi_pending[sgi][target] &= ~senders;
	if (!g->sgi_pending[sgi][target])
		g->irq_state[sgi].pending &= ~(1u << target);
}

u32 gicv2_acknowledge(struct gicv2 *g, unsigned cpu)
{
	struct gicv2_next next = g->next[cpu];
	struct gicv2_irq *irq = &g->irq_state[next.intid];
	u8 mask = gicv2_mask(next.intid, cpu);
	unsigned level = (next.prio & group_mask(g, cpu, next.group1)) / 2;
	u32 *apr = next.group1 ? &g->nsapr[level / 32][cpu] : &g->apr[level / 32][cpu];
	u32 sender = 0;

	*apr |= 1u << level % 32;
	find_running(g, cpu);
	irq->active |= mask;
	if (next.intid < GICV2_SGIS) {
		sender = __builtin_ctz(g->sgi_pending[next.intid][cpu] | 1u << 7);
		gicv2_clear_sgi(g, next.intid, 1u << sender, cpu);
	} else {
		irq->pending &= ~mask;
	}
	gicv2_changed(g, next.intid);
	if (next.intid < GICV2_INTERNAL)
		gicv2_update(g, cpu);
	else
		gicv2_update_all(g);
	return sender << 10 | next.intid;
}

bool gicv2_drop_priority(struct gicv2 *g, unsigned cpu, bool group1)
{
	unsigned mine = highest(group1 ? g->nsapr : g->apr, cpu);
	u32 *apr = group1 ? &g->nsapr[mine / 32 % 4][cpu] : &g->apr[mine / 32 % 4][cpu];

	if (mine == 128 || mine * 2 != g->running_priority[cpu])
		return false;
	*apr &= ~(1u << mine % 32);
	find_running(g, cpu);
	return true;
}

void gicv2_deactivate(struct gicv2 *g, unsigned cpu, unsigned intid)
{
	if (intid >= g->num_irq)
		return;
	g->irq_state[intid].active &= ~gicv2_mask(intid, cpu);
	gicv2_changed(g, intid);
}

/* ---- inputs ---- */

void gicv2_set_input(struct gicv2 *g, unsigned intid, u8 mask, bool level)
{
	struct gicv2_irq *irq = &g->irq_state[intid];

	if (level && !(irq->level & mask) && irq->edge_trigger)
		irq->pending |= mask;
	irq->level = level ? irq->level | mask : irq->level & ~mask;
	gicv2_changed(g, intid);
}

void arm_gicv2_set_spi(struct device *dev, unsigned spi, bool level)
{
	struct gicv2 *g = (struct gicv2 *)dev;
	unsigned intid = GICV2_INTERNAL + spi;

	g_mutex_lock(&g->lock);
	gicv2_set_input(g, intid, GICV2_ALL_CPUS, level);
	for (unsigned cpu = 0; cpu < g->num_cpu; cpu++)
		if (gicv2_targets(g, intid) >> cpu & 1)
			gicv2_update(g, cpu);
	g_mutex_unlock(&g->lock);
}

void arm_gicv2_set_ppi(struct device *dev, unsigned cpu, unsigned intid, bool level)
{
	struct gicv2 *g = (struct gicv2 *)dev;

	g_mutex_lock(&g->lock);
	gicv2_set_input(g, intid, 1u << cpu, level);
	gicv2_update(g, cpu);
	g_mutex_unlock(&g->lock);
}

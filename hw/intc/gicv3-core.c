/*
 * hw/intc/gicv3-core.c - states, priorities and routing of interrupts (Arm IHI 0069H, chapter 4).
 */
#include "hw/intc/gicv3-priv.h"

#include "target/arm/irq.h"

#define IROUTER_IRM (1ull << 31) /* any one CPU */

static bool group_enabled(const struct gicv3_cpu *c, enum gic_group group)
{
	u32 bit = group == GIC_G0 ? GICD_CTLR_GRP0 : GICD_CTLR_GRP1;

	return c->gic->gicd_ctlr & bit && c->icc_igrpen[group];
}

/* ---- the next interrupt ---- */

/* Let the interrupts @ready of one word compete with @best. Of equal ones the lowest INTID wins. */
static void compete(const struct gicv3_cpu *c, struct gic_pending *best, unsigned word, u32 ready,
		    u32 groups, const u8 *prio)
{
	if (!group_enabled(c, GIC_G0))
		ready &= groups;
	if (!group_enabled(c, GIC_G1))
		ready &= ~groups;
	for (; ready; ready &= ready - 1) {
		unsigned n = __builtin_ctz(ready);

		if (prio[n] < best->prio)
			*best = (struct gic_pending){ 32 * word + n, prio[n],
						      groups >> n & 1 ? GIC_G1 : GIC_G0 };
	}
}

static struct gic_pending find_next(const struct gicv3_cpu *c)
{
	const struct gicv3 *g = c->gic;
	struct gic_pending best = { GIC_SPURIOUS, GIC_IDLE_PRIO, GIC_G0 };
	u32 ready = gic_pending_internal(c) & c->gicr_ienabler0 & ~c->gicr_iactiver0;

	if (ready)
		compete(c, &best, 0, ready, c->gicr_igroupr0, c->gicr_ipriorityr);
	for (unsigned w = 1; w < g->num_irq / 32; w++) {
		ready = gic_pending_word(g, w) & g->enabled[w] & ~g->active[w] & c->routed[w];
		if (ready)
			compete(c, &best, w, ready, g->group[w], &g->gicd_ipriority[32 * w]);
	}
	if (c->lpi_next.prio < best.prio && group_enabled(c, GIC_G1))
		best = c->lpi_next;
	return best;
}

/* Which bits of a priority are its group priority. BPR1 counts from one higher, since it is the
 * non-secure view (4.8.3). */
static u8 group_mask(const struct gicv3_cpu *c, enum gic_group group)
{
	bool common = c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_CBPR;
	unsigned bpr = group == GIC_G0 || common ? c->icc_bpr[GIC_G0] : c->icc_bpr[GIC_G1] - 1;

	return 0xff << (bpr + 1);
}

u8 gic_running_priority(const struct gicv3_cpu *c)
{
	u32 active = c->icc_apr[GIC_G0][0] | c->icc_apr[GIC_G1][0];

	return active ? __builtin_ctz(active) << (8 - GIC_PRIO_BITS) : GIC_IDLE_PRIO;
}

bool gic_can_take(const struct gicv3_cpu *c)
{
	unsigned running = gic_running_priority(c), mask = group_mask(c, c->next.group);

	if (c->next.prio >= c->icc_pmr_el1)
		return false;
	return running == GIC_IDLE_PRIO || (c->next.prio & mask) < (running & mask);
}

void gic_drive(struct gicv3_cpu *c, bool *line, enum arm_irq_line which, bool level)
{
	if (*line == level)
		return;
	*line = level;
	if (c->cpu)
		arm_irq_set(c->cpu, which, level);
}

void gic_update(struct gicv3_cpu *c)
{
	bool take;

	c->next = find_next(c);
	take = gic_can_take(c);
	gic_drive(c, &c->irq_line, ARM_LINE_IRQ, take && c->next.group == GIC_G1);
	gic_drive(c, &c->fiq_line, ARM_LINE_FIQ, take && c->next.group == GIC_G0);
}

void gic_update_all(struct gicv3 *g)
{
	for (unsigned i = 0; i < g->num_cpu; i++)
		gic_update(&g->cpu[i]);
}

void gic_update_irq(struct gicv3 *g, unsigned intid)
{
	if (g->target[intid] != GIC_NO_CPU)
		gic_update(&g->cpu[g->target[intid]]);
}

/* ---- routing ---- */

static unsigned find_cpu(const struct gicv3 *g, u64 affinity)
{
	for (unsigned i = 0; i < g->num_cpu; i++)
		if (g->cpu[i].affinity == affinity)
			return i;
	return GIC_NO_CPU;
}

/* 1 of N: spread over the CPUs that take interrupts of the group. */
static unsigned choose_cpu(const struct gicv3 *g, unsigned intid)
{
	enum gic_group group = g->group[intid / 32] >> intid % 32 & 1 ? GIC_G1 : GIC_G0;
	unsigned willing = 0, nth;

	for (unsigned i = 0; i < g->num_cpu; i++)
		willing += !!g->cpu[i].icc_igrpen[group];
	if (!willing)
		return GIC_NO_CPU;
	nth = intid % willing;
	for (unsigned i = 0;; i++)
		if (g->cpu[i].icc_igrpen[group] && !nth--)
			return i;
}

void gic_route(struct gicv3 *g, unsigned intid)
{
	u64 router = g->gicd_irouter[intid];
	unsigned old = g->target[intid];
	unsigned cpu =
		router & IROUTER_IRM ? choose_cpu(g, intid) : find_cpu(g, router & GIC_AFFINITY);

	if (old != GIC_NO_CPU)
		g->cpu[old].routed[intid / 32] &= ~(1u << intid % 32);
	if (cpu != GIC_NO_CPU)
		g->cpu[cpu].routed[intid / 32] |= 1u << intid % 32;
	g->target[intid] = cpu;
}

void gic_route_all(struct gicv3 *g)
{
	for (unsigned i = ARM_GIC_INTERNAL; i < g->num_irq; i++)
		gic_route(g, i);
}

/* ---- life of an interrupt ---- */

unsigned gic_acknowledge(struct gicv3_cpu *c)
{
	struct gicv3 *g = c->gic;
	unsigned intid = c->next.intid, prio = c->next.prio & group_mask(c, c->next.group);
	u32 bit = 1u << intid % 32;

	c->icc_apr[c->next.group][0] |= 1u << (prio >> (8 - GIC_PRIO_BITS));
	if (intid >= GIC_FIRST_LPI) {
		gic_lpi_set(c, intid, false); /* there is no active state */
	} else if (intid < ARM_GIC_INTERNAL) {
		c->gicr_iactiver0 |= bit;
		c->gicr_ipendr0 &= ~bit;
	} else {
		g->active[intid / 32] |= bit;
		g->pending[intid / 32] &= ~bit;
	}
	gic_update(c);
	return intid;
}

bool gic_drop_priority(struct gicv3_cpu *c, enum gic_group group)
{
	u64 *apr = &c->icc_apr[group][0];
	u64 other = c->icc_apr[group == GIC_G0 ? GIC_G1 : GIC_G0][0];
	u64 lowest = *apr & -*apr;

	if (!*apr || (other && (other & -other) < lowest))
		return false;
	*apr &= ~lowest;
	return true;
}

void gic_deactivate(struct gicv3_cpu *c, unsigned intid)
{
	u32 bit = 1u << intid % 32;

	if (intid < ARM_GIC_INTERNAL) {
		c->gicr_iactiver0 &= ~bit;
	} else if (intid < c->gic->num_irq) {
		c->gic->active[intid / 32] &= ~bit;
		gic_update_irq(c->gic, intid);
	}
}

void gic_send_sgi(struct gicv3_cpu *c, unsigned sgi, enum gic_group group)
{
	if ((c->gicr_igroupr0 >> sgi & 1) != (group != GIC_G0))
		return;
	c->gicr_ipendr0 |= 1u << sgi;
	gic_update(c);
}

/* ---- inputs ---- */

void arm_gicv3_set_spi(struct device *dev, unsigned spi, bool level)
{
	struct gicv3 *g = (struct gicv3 *)dev;
	unsigned intid = ARM_GIC_INTERNAL + spi, w = intid / 32;
	u32 bit = 1u << intid % 32;

	g_mutex_lock(&g->lock);
	if (level && !(g->level[w] & bit) && g->edge_trigger[w] & bit)
		g->pending[w] |= bit;
	g->level[w] = level ? g->level[w] | bit : g->level[w] & ~bit;
	gic_update_irq(g, intid);
	g_mutex_unlock(&g->lock);
}

void arm_gicv3_set_ppi(struct device *dev, unsigned cpu, unsigned intid, bool level)
{
	struct gicv3 *g = (struct gicv3 *)dev;
	struct gicv3_cpu *c = &g->cpu[cpu];
	u32 bit = 1u << intid;

	g_mutex_lock(&g->lock);
	if (level && !(c->level & bit) && c->edge_trigger & bit)
		c->gicr_ipendr0 |= bit;
	c->level = level ? c->level | bit : c->level & ~bit;
	gic_update(c);
	g_mutex_unlock(&g->lock);
}

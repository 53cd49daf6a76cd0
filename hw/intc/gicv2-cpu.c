/* hw/intc/gicv2-cpu.c - registers of the CPU interfaces (Arm IHI 0048B.b, 4.4). */
#include "hw/intc/gicv2-priv.h"

#include "util/log.h"

enum {
	GICC_CTLR = 0x00,
	GICC_PMR = 0x04,
	GICC_BPR = 0x08,
	GICC_IAR = 0x0c,
	GICC_EOIR = 0x10,
	GICC_RPR = 0x14,
	GICC_HPPIR = 0x18,
	GICC_ABPR = 0x1c,
	GICC_AIAR = 0x20,
	GICC_AEOIR = 0x24,
	GICC_AHPPIR = 0x28,
	GICC_APR = 0xd0,
	GICC_NSAPR = 0xe0,
	GICC_NSAPR_END = 0xf0,
	GICC_IIDR = 0xfc,
	GICC_DIR = 0x1000,
};

#define IAR_INTID 0x3ff

/* What an acknowledgement or a look by @group1's register finds of @intid. */
static u32 seen_by(const struct gicv2 *g, unsigned cpu, u32 intid, bool group1)
{
	const struct gicv2_next *next = &g->next[cpu];

	if (intid == GICV2_NONE || (group1 && !next->group1))
		return GICV2_NONE;
	if (!group1 && next->group1 && !(g->cpu_ctlr[cpu] & GICC_CTLR_ACKCTL))
		return GICV2_OTHER;
	return intid;
}

static u32 acknowledge(struct gicv2 *g, unsigned cpu, bool group1)
{
	u32 intid = gicv2_can_take(g, cpu) ? g->next[cpu].intid : GICV2_NONE;

	intid = seen_by(g, cpu, intid, group1);
	return intid < GICV2_OTHER ? gicv2_acknowledge(g, cpu) : intid;
}

/* As GICC_IAR would answer, whatever priority mask and running priority. */
static u32 highest_pending(const struct gicv2 *g, unsigned cpu, bool group1)
{
	u32 intid = seen_by(g, cpu, g->next[cpu].intid, group1);

	if (intid < GICV2_SGIS)
		intid |= (u32)__builtin_ctz(g->sgi_pending[intid][cpu] | 1u << 7) << 10;
	return intid;
}

/* GICC_EOIR ends interrupts of either group, as GICC_IAR with AckCtl takes them. */
static void end(struct gicv2 *g, unsigned cpu, u32 val, bool group1)
{
	u32 intid = val & IAR_INTID;

	if (intid >= GICV2_MAX_IRQ)
		return;
	if (!gicv2_drop_priority(g, cpu, group1) &&
	    (group1 || !(g->cpu_ctlr[cpu] & GICC_CTLR_ACKCTL) ||
	     !gicv2_drop_priority(g, cpu, true)))
		return;
	if (!(g->cpu_ctlr[cpu] & GICC_CTLR_EOIMODE))
		gicv2_deactivate(g, cpu, intid);
}

static u32 read_abpr(const struct gicv2 *g, unsigned cpu)
{
	if (g->cpu_ctlr[cpu] & GICC_CTLR_CBPR)
		return MIN(g->bpr[cpu] + 1, 7);
	return g->abpr[cpu];
}

static u32 read_register(struct gicv2 *g, u64 offset, unsigned cpu)
{
	switch (offset) {
	case GICC_CTLR: return g->cpu_ctlr[cpu];
	case GICC_PMR: return g->priority_mask[cpu];
	case GICC_BPR: return g->bpr[cpu];
	case GICC_IAR: return acknowledge(g, cpu, false);
	case GICC_RPR: return MIN(g->running_priority[cpu], 0xff);
	case GICC_HPPIR: return highest_pending(g, cpu, false);
	case GICC_ABPR: return read_abpr(g, cpu);
	case GICC_AIAR: return acknowledge(g, cpu, true);
	case GICC_AHPPIR: return highest_pending(g, cpu, true);
	case GICC_APR ... GICC_NSAPR - 1: return g->apr[(offset - GICC_APR) / 4][cpu];
	case GICC_NSAPR ... GICC_NSAPR_END - 1: return g->nsapr[(offset - GICC_NSAPR) / 4][cpu];
	case GICC_IIDR: return GICV2_CPU_IIDR;
	default: return 0;
	}
}

static void write_register(struct gicv2 *g, u64 offset, unsigned cpu, u32 val)
{
	switch (offset) {
	case GICC_CTLR: g->cpu_ctlr[cpu] = val & GICC_CTLR_RW; break;
	case GICC_PMR: g->priority_mask[cpu] = val & 0xff; break;
	case GICC_BPR: g->bpr[cpu] = val & 7; break;
	case GICC_EOIR: end(g, cpu, val, false); break;
	case GICC_ABPR:
		if (!(g->cpu_ctlr[cpu] & GICC_CTLR_CBPR))
			g->abpr[cpu] = MAX(val & 7, GICV2_MIN_ABPR);
		break;
	case GICC_AEOIR: end(g, cpu, val, true); break;
	case GICC_APR ... GICC_NSAPR - 1: g->apr[(offset - GICC_APR) / 4][cpu] = val; break;
	case GICC_NSAPR ... GICC_NSAPR_END - 1:
		g->nsapr[(offset - GICC_NSAPR) / 4][cpu] = val;
		break;
	case GICC_DIR:
		if (g->cpu_ctlr[cpu] & GICC_CTLR_EOIMODE)
			gicv2_deactivate(g, cpu, val & IAR_INTID);
		break;
	default: break; /* read-only, or not there */
	}
}

static u64 cpu_read(void *opaque, u64 offset, unsigned size)
{
	struct gicv2 *g = opaque;
	u64 val;

	if (size != 4) {
		log_guest("GICC: read of %u bytes at 0x%" PRIx64 "\n", size, offset);
		return 0;
	}
	g_mutex_lock(&g->lock);
	val = read_register(g, offset, gicv2_this_cpu(g));
	g_mutex_unlock(&g->lock);
	return val;
}

static void cpu_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	struct gicv2 *g = opaque;
	unsigned cpu = gicv2_this_cpu(g);

	if (size != 4) {
		log_guest("GICC: write of %u bytes at 0x%" PRIx64 "\n", size, offset);
		return;
	}
	g_mutex_lock(&g->lock);
	write_register(g, offset, cpu, val);
	if (offset >= GICC_APR && offset < GICC_NSAPR_END)
		gicv2_rebuild(g);
	else if (offset == GICC_EOIR || offset == GICC_AEOIR || offset == GICC_DIR)
		gicv2_update_all(g); /* an SPI goes to whoever is quickest */
	else
		gicv2_update(g, cpu);
	g_mutex_unlock(&g->lock);
}

const struct mmio_ops gicv2_cpu_ops = { .read = cpu_read, .write = cpu_write };

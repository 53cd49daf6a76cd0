/* hw/intc/gicv2-dist.c - the distributor's registers (Arm IHI 0048B.b, 4.3). */
#include "hw/intc/gicv2-priv.h"

#include "util/log.h"

enum {
	GICD_CTLR = 0x000,
	GICD_TYPER = 0x004,
	GICD_IIDR = 0x008,
	GICD_IGROUPR = 0x080,
	GICD_ISENABLER = 0x100,
	GICD_ICENABLER = 0x180,
	GICD_ISPENDR = 0x200,
	GICD_ICPENDR = 0x280,
	GICD_ISACTIVER = 0x300,
	GICD_ICACTIVER = 0x380,
	GICD_IPRIORITYR = 0x400,
	GICD_ITARGETSR = 0x800,
	GICD_ICFGR = 0xc00,
	GICD_ICFGR_END = 0xd00,
	GICD_SGIR = 0xf00,
	GICD_CPENDSGIR = 0xf10,
	GICD_SPENDSGIR = 0xf20,
	GICD_SPENDSGIR_END = 0xf30,
	ID_REGISTERS = 0xfd0,
	DIST_END = 0x1000,
};

#define IIDR 0x43b /* implementer Arm */

/* From 0xfd0 on: PIDR4 to 7, PIDR0 to 3, CIDR0 to 3; architecture version 2 in PIDR2. */
static u32 id_register(u64 offset)
{
	static const u8 ids[] = { 0x04, 0, 0, 0, 0x90, 0xb4, 0x2b, 0, 0x0d, 0xf0, 0x05, 0xb1 };

	return ids[(offset - ID_REGISTERS) / 4];
}

/* ---- bitmaps: a bit for each of 32 interrupts ---- */

static bool read_bit(const struct gicv2 *g, u64 what, unsigned intid, unsigned cpu)
{
	const struct gicv2_irq *irq = &g->irq_state[intid];
	u8 mask = gicv2_mask(intid, cpu);

	switch (what) {
	case GICD_IGROUPR: return irq->group & mask;
	case GICD_ISENABLER:
	case GICD_ICENABLER: return irq->enabled & mask;
	case GICD_ISPENDR:
	case GICD_ICPENDR: return gicv2_is_pending(irq, mask);
	default: return irq->active & mask;
	}
}

static void write_bit(struct gicv2 *g, u64 what, unsigned intid, unsigned cpu, bool bit)
{
	struct gicv2_irq *irq = &g->irq_state[intid];
	u8 mask = gicv2_mask(intid, cpu);
	bool sgi = intid < GICV2_SGIS;

	if (what == GICD_IGROUPR)
		irq->group = bit ? irq->group | mask : irq->group & ~mask;
	if (!bit)
		return;
	switch (what) {
	case GICD_ISENABLER: irq->enabled |= mask; break;
	case GICD_ICENABLER: irq->enabled &= sgi ? 0xff : ~mask; break; /* SGIs always are */
	case GICD_ISPENDR: irq->pending |= sgi ? 0 : mask; break;       /* by GICD_SPENDSGIR */
	case GICD_ICPENDR: irq->pending &= sgi ? 0xff : ~mask; break;
	case GICD_ISACTIVER: irq->active |= mask; break;
	case GICD_ICACTIVER: irq->active &= ~mask; break;
	default: break;
	}
}

static u32 read_bitmap(const struct gicv2 *g, u64 offset, unsigned cpu)
{
	unsigned first = offset % 0x80 * 8;
	u32 val = 0;

	for (unsigned n = 0; n < 32 && first + n < g->num_irq; n++)
		val |= (u32)read_bit(g, offset & ~(u64)0x7f, first + n, cpu) << n;
	return val;
}

static void write_bitmap(struct gicv2 *g, u64 offset, unsigned cpu, u32 val)
{
	unsigned first = offset % 0x80 * 8;

	for (unsigned n = 0; n < 32 && first + n < g->num_irq; n++) {
		write_bit(g, offset & ~(u64)0x7f, first + n, cpu, val >> n & 1);
		gicv2_changed(g, first + n);
	}
}

/* ---- GICD_ICFGR: two bits an interrupt, the upper one is edge ---- */

static u32 read_icfgr(const struct gicv2 *g, u64 offset)
{
	unsigned first = (offset - GICD_ICFGR) * 4;
	u32 val = 0;

	for (unsigned n = 0; n < 16 && first + n < g->num_irq; n++)
		val |= (u32)g->irq_state[first + n].edge_trigger << (2 * n + 1);
	return val;
}

static void write_icfgr(struct gicv2 *g, u64 offset, u32 val)
{
	unsigned first = (offset - GICD_ICFGR) * 4;

	for (unsigned n = 0; n < 16 && first + n < g->num_irq; n++) {
		if (first + n >= GICV2_SGIS)
			g->irq_state[first + n].edge_trigger = val >> (2 * n + 1) & 1;
		gicv2_changed(g, first + n);
	}
}

/* ---- bytes: priorities, targets, senders of SGIs ---- */

static bool is_bytes(u64 offset)
{
	return (offset >= GICD_IPRIORITYR && offset < GICD_ICFGR) ||
	       (offset >= GICD_CPENDSGIR && offset < GICD_SPENDSGIR_END);
}

static u8 read_byte(struct gicv2 *g, u64 offset, unsigned cpu)
{
	unsigned intid = offset % 0x400;

	if (offset >= GICD_CPENDSGIR)
		return g->sgi_pending[offset % GICV2_SGIS][cpu];
	if (intid >= g->num_irq)
		return 0;
	if (offset < GICD_ITARGETSR)
		return *gicv2_priority(g, intid, cpu);
	if (g->num_cpu == 1)
		return 0; /* without a choice there is no register */
	return intid < GICV2_INTERNAL ? 1u << cpu : g->irq_target[intid];
}

static void write_sgi_byte(struct gicv2 *g, u64 offset, unsigned cpu, u8 val)
{
	unsigned sgi = offset % GICV2_SGIS;

	val &= (1u << g->num_cpu) - 1;
	if (offset < GICD_SPENDSGIR) {
		gicv2_clear_sgi(g, sgi, val, cpu);
		gicv2_changed(g, sgi);
		return;
	}
	for (; val; val &= val - 1)
		gicv2_send_sgi(g, sgi, __builtin_ctz(val), cpu);
}

static void write_byte(struct gicv2 *g, u64 offset, unsigned cpu, u8 val)
{
	unsigned intid = offset % 0x400;

	if (offset >= GICD_CPENDSGIR) {
		write_sgi_byte(g, offset, cpu, val);
	} else if (intid >= g->num_irq) {
		return;
	} else if (offset < GICD_ITARGETSR) {
		*gicv2_priority(g, intid, cpu) = val;
	} else if (intid >= GICV2_INTERNAL && g->num_cpu > 1) {
		g->irq_target[intid] = val & ((1u << g->num_cpu) - 1);
		gicv2_changed(g, intid);
	}
}

/* ---- GICD_SGIR ---- */

static void write_sgir(struct gicv2 *g, unsigned cpu, u32 val)
{
	u8 all = (1u << g->num_cpu) - 1, targets;

	switch (val >> 24 & 3) {
	case 0: targets = val >> 16 & all; break;
	case 1: targets = all & ~(1u << cpu); break;
	case 2: targets = 1u << cpu; break;
	default: return; /* reserved */
	}
	for (; targets; targets &= targets - 1)
		gicv2_send_sgi(g, val & 0xf, cpu, __builtin_ctz(targets));
}

/* ---- accesses ---- */

static u32 read32(struct gicv2 *g, u64 offset, unsigned cpu)
{
	switch (offset) {
	case GICD_CTLR: return g->ctlr;
	case GICD_TYPER: return (g->num_irq / 32 - 1) | (g->num_cpu - 1) << 5;
	case GICD_IIDR: return IIDR;
	case GICD_IGROUPR ... GICD_IPRIORITYR - 1: return read_bitmap(g, offset, cpu);
	case GICD_ICFGR ... GICD_ICFGR_END - 1: return read_icfgr(g, offset);
	case ID_REGISTERS ... DIST_END - 1: return id_register(offset);
	default: return 0;
	}
}

static void write32(struct gicv2 *g, u64 offset, unsigned cpu, u32 val)
{
	switch (offset) {
	case GICD_CTLR: g->ctlr = val & GICD_CTLR_RW; break;
	case GICD_IGROUPR ... GICD_IPRIORITYR - 1: write_bitmap(g, offset, cpu, val); break;
	case GICD_ICFGR ... GICD_ICFGR_END - 1: write_icfgr(g, offset, val); break;
	case GICD_SGIR: write_sgir(g, cpu, val); break;
	default: break; /* read-only, or not there */
	}
}

/* Words everywhere, bytes where each is a register (4.1.4). */
static bool size_is_valid(u64 offset, unsigned size)
{
	return size == 4 || (size < 4 && is_bytes(offset));
}

static u64 dist_read(void *opaque, u64 offset, unsigned size)
{
	struct gicv2 *g = opaque;
	unsigned cpu = gicv2_this_cpu(g);
	u64 val = 0;

	g_mutex_lock(&g->lock);
	if (!size_is_valid(offset, size))
		log_guest("GICD: read of %u bytes at 0x%" PRIx64 "\n", size, offset);
	else if (is_bytes(offset))
		for (unsigned i = 0; i < size; i++)
			val |= (u64)read_byte(g, offset + i, cpu) << 8 * i;
	else
		val = read32(g, offset, cpu);
	g_mutex_unlock(&g->lock);
	return val;
}

static void dist_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	struct gicv2 *g = opaque;
	unsigned cpu = gicv2_this_cpu(g);

	g_mutex_lock(&g->lock);
	if (!size_is_valid(offset, size))
		log_guest("GICD: write of %u bytes at 0x%" PRIx64 "\n", size, offset);
	else if (is_bytes(offset))
		for (unsigned i = 0; i < size; i++)
			write_byte(g, offset + i, cpu, val >> 8 * i);
	else
		write32(g, offset, cpu, val);
	gicv2_update_all(g);
	g_mutex_unlock(&g->lock);
}

const struct mmio_ops gicv2_dist_ops = { .read = dist_read, .write = dist_write };

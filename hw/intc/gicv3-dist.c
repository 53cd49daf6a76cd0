/* hw/intc/gicv3-dist.c - the distributor's registers (Arm IHI 0069H, 12.9). */
#include "hw/intc/gicv3-priv.h"

#include "util/log.h"

enum {
	GICD_CTLR = 0x0000,
	GICD_TYPER = 0x0004,
	GICD_IIDR = 0x0008,
	GICD_IGROUPR = 0x0080,
	GICD_ISENABLER = 0x0100,
	GICD_ICENABLER = 0x0180,
	GICD_ISPENDR = 0x0200,
	GICD_ICPENDR = 0x0280,
	GICD_ISACTIVER = 0x0300,
	GICD_ICACTIVER = 0x0380,
	GICD_IPRIORITYR = 0x0400,
	GICD_ITARGETSR = 0x0800,
	GICD_ICFGR = 0x0c00,
	GICD_IGRPMODR = 0x0d00,
	GICD_IROUTER = 0x6000,
	GICD_IROUTER_END = 0x8000,
	ID_REGISTERS = 0xffd0,
};

#define TYPER_IDBITS (15u << 19) /* INTIDs have 16 bits */
#define TYPER_LPIS   (1u << 17)
#define TYPER_A3V    (1u << 24) /* affinity level 3 may be other than 0 */

/* Part 0x492 by Arm, as QEMU's controller answers. From 0xffd0 on: PIDR4 to 7, PIDR0 to 3, CIDR0 to
 * 3; architecture version 3 in PIDR2. */
u32 gicv3_id_register(u32 offset)
{
	static const u8 ids[] = { 0x44, 0, 0, 0, 0x92, 0xb4, 0x3b, 0, 0x0d, 0xf0, 0x05, 0xb1 };

	return offset >= ID_REGISTERS ? ids[(offset - ID_REGISTERS) / 4] : 0;
}

/* ---- fields of two bits: ICFGR ---- */

/* Bits 2n + 1 of ICFGR<r> tell of interrupt 16r + n. */
static u32 read_icfgr(const struct gicv3 *g, unsigned r)
{
	u32 edges = g->edge_trigger[r / 2] >> (r % 2 ? 16 : 0), val = 0;

	for (unsigned n = 0; n < 16; n++)
		val |= (edges >> n & 1) << (2 * n + 1);
	return val;
}

static void write_icfgr(struct gicv3 *g, unsigned r, u32 val)
{
	unsigned shift = r % 2 ? 16 : 0;
	u32 edges = 0;

	for (unsigned n = 0; n < 16; n++)
		edges |= (val >> (2 * n + 1) & 1) << n;
	g->edge_trigger[r / 2] = (g->edge_trigger[r / 2] & ~(0xffffu << shift)) | edges << shift;
}

/* ---- priorities: bytes ---- */

static bool is_priority(const struct gicv3 *g, u64 offset)
{
	return offset >= GICD_IPRIORITYR + ARM_GIC_INTERNAL &&
	       offset < GICD_IPRIORITYR + g->num_irq;
}

static u32 read_priorities(const struct gicv3 *g, u64 offset, unsigned size)
{
	u32 val = 0;

	for (unsigned i = 0; i < size; i++)
		if (is_priority(g, offset + i))
			val |= (u32)g->gicd_ipriority[offset + i - GICD_IPRIORITYR] << 8 * i;
	return val;
}

static void write_priorities(struct gicv3 *g, u64 offset, u32 val, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (is_priority(g, offset + i))
			g->gicd_ipriority[offset + i - GICD_IPRIORITYR] =
				val >> 8 * i & GIC_PRIO_MASK;
}

/* ---- bitmaps: one word of 32 interrupts at each register ---- */

/* Word 0 belongs to the redistributors; those beyond num_irq do not exist. */
static bool word_exists(const struct gicv3 *g, unsigned w)
{
	return w >= 1 && w < g->num_irq / 32;
}

static u32 read_bitmap(const struct gicv3 *g, u64 offset)
{
	unsigned w = offset % 0x80 / 4;

	if (!word_exists(g, w))
		return 0;
	switch (offset & ~(u64)0x7f) {
	case GICD_IGROUPR: return g->group[w];
	case GICD_ISENABLER:
	case GICD_ICENABLER: return g->enabled[w];
	case GICD_ISPENDR:
	case GICD_ICPENDR: return gic_pending_word(g, w);
	default: return g->active[w];
	}
}

static void write_group(struct gicv3 *g, unsigned w, u32 val)
{
	g->group[w] = val;
	for (unsigned i = 32 * w; i < 32 * w + 32; i++)
		gic_route(g, i); /* which CPUs may take it depends on the group */
}

static void write_bitmap(struct gicv3 *g, u64 offset, u32 val)
{
	unsigned w = offset % 0x80 / 4;

	if (!word_exists(g, w))
		return;
	switch (offset & ~(u64)0x7f) {
	case GICD_IGROUPR: write_group(g, w, val); break;
	case GICD_ISENABLER: g->enabled[w] |= val; break;
	case GICD_ICENABLER: g->enabled[w] &= ~val; break;
	case GICD_ISPENDR: g->pending[w] |= val; break;
	case GICD_ICPENDR: g->pending[w] &= ~val; break;
	case GICD_ISACTIVER: g->active[w] |= val; break;
	default: g->active[w] &= ~val; break;
	}
}

/* ---- routers ---- */

static bool is_router(const struct gicv3 *g, u64 offset)
{
	return offset >= GICD_IROUTER + 8 * ARM_GIC_INTERNAL &&
	       offset < GICD_IROUTER + 8 * (u64)g->num_irq;
}

static void write_router(struct gicv3 *g, unsigned intid, u64 val)
{
	g->gicd_irouter[intid] = val & (GIC_AFFINITY | 1ull << 31);
	gic_route(g, intid);
}

/* ---- accesses ---- */

static u32 read32(const struct gicv3 *g, u64 offset)
{
	switch (offset) {
	case GICD_CTLR: return g->gicd_ctlr;
	case GICD_TYPER:
		return (g->num_irq / 32 - 1) | TYPER_IDBITS | TYPER_A3V |
		       (g->has_lpi ? TYPER_LPIS : 0);
	case GICD_IIDR: return GICV3_IIDR;
	case GICD_IGROUPR ... GICD_IPRIORITYR - 1: return read_bitmap(g, offset);
	case GICD_IPRIORITYR ... GICD_ITARGETSR - 1: return read_priorities(g, offset, 4);
	case GICD_ICFGR ... GICD_IGRPMODR - 1:
		return word_exists(g, offset % 0x100 / 8) ? read_icfgr(g, offset % 0x100 / 4) : 0;
	case GICD_IROUTER ... GICD_IROUTER_END - 1:
		return is_router(g, offset) ? g->gicd_irouter[(offset - GICD_IROUTER) / 8] >>
						      (offset & 4 ? 32 : 0)
					    : 0;
	default: return gicv3_id_register(offset);
	}
}

static void write32(struct gicv3 *g, u64 offset, u32 val)
{
	u32 enables = GICD_CTLR_GRP0 | GICD_CTLR_GRP1;
	unsigned router = (offset - GICD_IROUTER) / 8;

	switch (offset) {
	case GICD_CTLR: g->gicd_ctlr = (g->gicd_ctlr & ~enables) | (val & enables); break;
	case GICD_IGROUPR ... GICD_IPRIORITYR - 1: write_bitmap(g, offset, val); break;
	case GICD_IPRIORITYR ... GICD_ITARGETSR - 1: write_priorities(g, offset, val, 4); break;
	case GICD_ICFGR ... GICD_IGRPMODR - 1:
		if (word_exists(g, offset % 0x100 / 8))
			write_icfgr(g, offset % 0x100 / 4, val);
		break;
	case GICD_IROUTER ... GICD_IROUTER_END - 1:
		if (is_router(g, offset))
			write_router(g, router,
				     offset & 4 ? (u64)val << 32 | (u32)g->gicd_irouter[router]
						: g->gicd_irouter[router] >> 32 << 32 | val);
		break;
	default: break; /* read-only, or not there with one security state and affinity routing */
	}
}

/* Words everywhere, bytes for priorities, double words for routers (12.1.3). */
static bool size_is_valid(const struct gicv3 *g, u64 offset, unsigned size)
{
	return size == 4 || (size == 1 && is_priority(g, offset)) ||
	       (size == 8 && offset >= GICD_IROUTER && offset < GICD_IROUTER_END);
}

static u64 dist_read(void *opaque, u64 offset, unsigned size)
{
	struct gicv3 *g = opaque;
	u64 val = 0;

	g_mutex_lock(&g->lock);
	if (!size_is_valid(g, offset, size))
		log_guest("GICD: read of %u bytes at 0x%" PRIx64 "\n", size, offset);
	else if (size == 1)
		val = read_priorities(g, offset, 1);
	else if (size == 8)
		val = is_router(g, offset) ? g->gicd_irouter[(offset - GICD_IROUTER) / 8] : 0;
	else
		val = read32(g, offset);
	g_mutex_unlock(&g->lock);
	return val;
}

static void dist_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	struct gicv3 *g = opaque;

	g_mutex_lock(&g->lock);
	if (!size_is_valid(g, offset, size))
		log_guest("GICD: write of %u bytes at 0x%" PRIx64 "\n", size, offset);
	else if (size == 1)
		write_priorities(g, offset, val, 1);
	else if (size == 4)
		write32(g, offset, val);
	else if (is_router(g, offset))
		write_router(g, (offset - GICD_IROUTER) / 8, val);
	gic_update_all(g);
	g_mutex_unlock(&g->lock);
}

const struct mmio_ops gicv3_dist_ops = { .read = dist_read, .write = dist_write };

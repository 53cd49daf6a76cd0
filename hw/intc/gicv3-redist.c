/* hw/intc/gicv3-redist.c - the redistributors' registers (Arm IHI 0069H, 12.11). */
#include "hw/intc/gicv3-priv.h"

#include "util/log.h"

/* Offsets in the two frames, the second one (SGIs and PPIs) from 0x10000 on. */
enum {
	GICR_CTLR = 0x0000,
	GICR_IIDR = 0x0004,
	GICR_TYPER = 0x0008,
	GICR_WAKER = 0x0014,
	GICR_PROPBASER = 0x0070,
	GICR_PENDBASER = 0x0078,
	GICR_IGROUPR0 = 0x10080,
	GICR_ISENABLER0 = 0x10100,
	GICR_ICENABLER0 = 0x10180,
	GICR_ISPENDR0 = 0x10200,
	GICR_ICPENDR0 = 0x10280,
	GICR_ISACTIVER0 = 0x10300,
	GICR_ICACTIVER0 = 0x10380,
	GICR_IPRIORITYR = 0x10400,
	GICR_IPRIORITYR_END = 0x10420,
	GICR_ICFGR0 = 0x10c00,
	GICR_ICFGR1 = 0x10c04,
};

#define TYPER_COMMON_LPI (1u << 24) /* LPI tables are shared by CPUs of one affinity 3 */
#define TYPER_LAST       (1u << 4)
#define TYPER_PLPIS      (1u << 0)
#define PROPBASER_BITS   0x070fffffffffff9full
#define PENDBASER_BITS   0x470fffffffff0f80ull
#define WAKER_SLEEP      (1u << 1) /* ProcessorSleep */
#define WAKER_ASLEEP     (1u << 2) /* ChildrenAsleep */

static u64 typer(const struct gicv3_cpu *c)
{
	u32 affinity = (c->affinity >> 8 & 0xff000000) | (c->affinity & 0xffffff);

	return (u64)affinity << 32 | TYPER_COMMON_LPI | c->index << 8 | (c->last ? TYPER_LAST : 0) |
	       (c->gic->has_lpi ? TYPER_PLPIS : 0);
}

static u32 read_ppi_config(const struct gicv3_cpu *c)
{
	u32 val = 0;

	for (unsigned n = 16; n < 32; n++)
		val |= (c->edge_trigger >> n & 1) << (2 * (n - 16) + 1);
	return val;
}

/* SGIs are edge-triggered for ever. */
static void write_ppi_config(struct gicv3_cpu *c, u32 val)
{
	c->edge_trigger = 0xffff;
	for (unsigned n = 16; n < 32; n++)
		c->edge_trigger |= (val >> (2 * (n - 16) + 1) & 1) << n;
}

static u32 read_priorities(const struct gicv3_cpu *c, u64 offset, unsigned size)
{
	u32 val = 0;

	for (unsigned i = 0; i < size; i++)
		val |= (u32)c->gicr_ipriorityr[offset + i - GICR_IPRIORITYR] << 8 * i;
	return val;
}

static void write_priorities(struct gicv3_cpu *c, u64 offset, u32 val, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		c->gicr_ipriorityr[offset + i - GICR_IPRIORITYR] = val >> 8 * i & GIC_PRIO_MASK;
}

/* Registers of 64 bits, by either size of access. */
static u64 read_wide(const struct gicv3_cpu *c, u64 offset)
{
	switch (offset & ~(u64)7) {
	case GICR_TYPER: return typer(c);
	case GICR_PROPBASER: return c->gicr_propbaser;
	default: return c->gicr_pendbaser & ~GICR_PENDBASER_PTZ; /* write-only */
	}
}

/* The tables may move only while LPIs are off (12.11.26); else writes are ignored. */
static void write_wide(struct gicv3_cpu *c, u64 offset, u64 val)
{
	if (!c->gic->has_lpi || c->gicr_ctlr & GICR_CTLR_LPIS)
		return;
	if ((offset & ~(u64)7) == GICR_PROPBASER)
		c->gicr_propbaser = val & PROPBASER_BITS;
	else if ((offset & ~(u64)7) == GICR_PENDBASER)
		c->gicr_pendbaser = val & PENDBASER_BITS;
}

static void write_half(struct gicv3_cpu *c, u64 offset, u32 val)
{
	u64 old = read_wide(c, offset);

	write_wide(c, offset, offset & 4 ? (u64)val << 32 | (u32)old : old >> 32 << 32 | val);
}

static void write_ctlr(struct gicv3_cpu *c, u32 val)
{
	bool was = c->gicr_ctlr & GICR_CTLR_LPIS;

	if (!c->gic->has_lpi || was == (val & GICR_CTLR_LPIS))
		return;
	c->gicr_ctlr ^= GICR_CTLR_LPIS;
	gic_lpi_enable(c, c->gicr_pendbaser & GICR_PENDBASER_PTZ);
}

static u32 read32(const struct gicv3_cpu *c, u64 offset)
{
	switch (offset) {
	case GICR_CTLR: return c->gicr_ctlr;
	case GICR_IIDR: return GICV3_IIDR;
	case GICR_TYPER ... GICR_TYPER + 4:
	case GICR_PROPBASER ... GICR_PENDBASER + 4:
		return read_wide(c, offset) >> (offset & 4 ? 32 : 0);
	case GICR_WAKER: return c->gicr_waker;
	case GICR_IGROUPR0: return c->gicr_igroupr0;
	case GICR_ISENABLER0:
	case GICR_ICENABLER0: return c->gicr_ienabler0;
	case GICR_ISPENDR0:
	case GICR_ICPENDR0: return gic_pending_internal(c);
	case GICR_ISACTIVER0:
	case GICR_ICACTIVER0: return c->gicr_iactiver0;
	case GICR_IPRIORITYR ... GICR_IPRIORITYR_END - 1: return read_priorities(c, offset, 4);
	case GICR_ICFGR0: return 0xaaaaaaaa;
	case GICR_ICFGR1: return read_ppi_config(c);
	default: return gicv3_id_register(offset & 0xffff);
	}
}

/* Waking and falling asleep take no time; interrupts are delivered all the same, since guests
 * exist that never wake their redistributors. */
static void write_waker(struct gicv3_cpu *c, u32 val)
{
	c->gicr_waker = val & WAKER_SLEEP ? WAKER_SLEEP | WAKER_ASLEEP : 0;
}

static void write32(struct gicv3_cpu *c, u64 offset, u32 val)
{
	switch (offset) {
	case GICR_CTLR: write_ctlr(c, val); break;
	case GICR_PROPBASER ... GICR_PENDBASER + 4: write_half(c, offset, val); break;
	case GICR_WAKER: write_waker(c, val); break;
	case GICR_IGROUPR0: c->gicr_igroupr0 = val; break;
	case GICR_ISENABLER0: c->gicr_ienabler0 |= val; break;
	case GICR_ICENABLER0: c->gicr_ienabler0 &= ~val; break;
	case GICR_ISPENDR0: c->gicr_ipendr0 |= val; break;
	case GICR_ICPENDR0: c->gicr_ipendr0 &= ~val; break;
	case GICR_ISACTIVER0: c->gicr_iactiver0 |= val; break;
	case GICR_ICACTIVER0: c->gicr_iactiver0 &= ~val; break;
	case GICR_IPRIORITYR ... GICR_IPRIORITYR_END - 1:
		write_priorities(c, offset, val, 4);
		break;
	case GICR_ICFGR1: write_ppi_config(c, val); break;
	default: break;
	}
}

static bool is_wide(u64 offset)
{
	return offset == GICR_TYPER || offset == GICR_PROPBASER || offset == GICR_PENDBASER;
}

static bool size_is_valid(u64 offset, unsigned size)
{
	return size == 4 || (size == 8 && is_wide(offset)) ||
	       (size == 1 && offset >= GICR_IPRIORITYR && offset < GICR_IPRIORITYR_END);
}

static u64 redist_read(void *opaque, u64 offset, unsigned size)
{
	struct gicv3_cpu *c = opaque;
	u64 val = 0;

	g_mutex_lock(&c->gic->lock);
	if (!size_is_valid(offset, size))
		log_guest("GICR %u: read of %u bytes at 0x%" PRIx64 "\n", c->index, size, offset);
	else if (size == 1)
		val = read_priorities(c, offset, 1);
	else if (size == 8)
		val = read_wide(c, offset);
	else
		val = read32(c, offset);
	g_mutex_unlock(&c->gic->lock);
	return val;
}

static void redist_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	struct gicv3_cpu *c = opaque;

	g_mutex_lock(&c->gic->lock);
	if (!size_is_valid(offset, size))
		log_guest("GICR %u: write of %u bytes at 0x%" PRIx64 "\n", c->index, size, offset);
	else if (size == 1)
		write_priorities(c, offset, val, 1);
	else if (size == 4)
		write32(c, offset, val);
	else
		write_wide(c, offset, val);
	gic_update(c);
	g_mutex_unlock(&c->gic->lock);
}

const struct mmio_ops gicv3_redist_ops = { .read = redist_read, .write = redist_write };

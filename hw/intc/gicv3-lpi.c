/*
 * hw/intc/gicv3-lpi.c - LPIs in the redistributors (Arm IHI 0069H, 5.1 and 5.2).
 *
 * Configuration and pending state lie in tables in guest memory. The pending bits are also kept
 * here, since to find the highest one must look at all of them; each change is written through, so
 * that a migration finds them in the guest's memory.
 */
#include "hw/intc/gicv3-priv.h"

#include "accel/vm.h"
#include "hw/machine.h"

#define BASE_ADDRESS 0x000ffffffffff000ull
#define PROP_IDBITS  0x1f
#define LPI_ENABLED  1
#define LPI_PRIORITY (0xfc & GIC_PRIO_MASK)
#define LPI_WORDS    ((1u << GIC_ID_BITS) / 64)

bool gic_guest_ram(const struct gicv3 *g, u64 gpa, u64 len, bool write, struct gic_ram *ram)
{
	u64 there = len;

	ram->host = address_space_ram(g->dev.machine->vm->memory, gpa, &there, write, &ram->block,
				      &ram->offset);
	return ram->host && there >= len;
}

void gic_guest_wrote(const struct gic_ram *ram, u64 len)
{
	memory_mark_dirty(ram->block, ram->offset, len);
}

static unsigned number_of_ids(const struct gicv3_cpu *c)
{
	unsigned bits = (c->gicr_propbaser & PROP_IDBITS) + 1;

	return 1u << MIN(bits, GIC_ID_BITS);
}

static bool exists(const struct gicv3_cpu *c, unsigned intid)
{
	return c->gicr_ctlr & GICR_CTLR_LPIS && intid >= GIC_FIRST_LPI && intid < number_of_ids(c);
}

/* The byte of the configuration table; where there is no memory, nothing is enabled. */
static u8 configuration(const struct gicv3_cpu *c, unsigned intid)
{
	u64 at = (c->gicr_propbaser & BASE_ADDRESS) + intid - GIC_FIRST_LPI;
	struct gic_ram ram;

	return gic_guest_ram(c->gic, at, 1, false, &ram) ? *ram.host : 0;
}

static void offer(struct gicv3_cpu *c, unsigned intid)
{
	u8 config = configuration(c, intid), prio = config & LPI_PRIORITY;

	if (!(config & LPI_ENABLED))
		return;
	if (prio < c->lpi_next.prio || (prio == c->lpi_next.prio && intid < c->lpi_next.intid))
		c->lpi_next = (struct gic_pending){ intid, prio, GIC_G1 };
}

void gic_lpi_reconfigured(struct gicv3_cpu *c)
{
	unsigned left = c->lpi_count;

	c->lpi_next = (struct gic_pending){ GIC_SPURIOUS, GIC_IDLE_PRIO, GIC_G1 };
	for (unsigned w = GIC_FIRST_LPI / 64; left && w < LPI_WORDS; w++) {
		for (u64 bits = c->lpi_pending[w]; bits; bits &= bits - 1) {
			offer(c, 64 * w + __builtin_ctzll(bits));
			left--;
		}
	}
}

bool gic_lpi_is_pending(const struct gicv3_cpu *c, unsigned intid)
{
	return exists(c, intid) && c->lpi_pending[intid / 64] >> intid % 64 & 1;
}

static void write_through(const struct gicv3_cpu *c, unsigned intid, bool pending)
{
	u64 at = (c->gicr_pendbaser & BASE_ADDRESS) + intid / 8;
	u8 bit = 1u << intid % 8;
	struct gic_ram ram;

	if (!gic_guest_ram(c->gic, at, 1, true, &ram))
		return;
	*ram.host = pending ? *ram.host | bit : *ram.host & ~bit;
	gic_guest_wrote(&ram, 1);
}

void gic_lpi_set(struct gicv3_cpu *c, unsigned intid, bool pending)
{
	if (!exists(c, intid) || gic_lpi_is_pending(c, intid) == pending)
		return;
	c->lpi_pending[intid / 64] ^= 1ull << intid % 64;
	write_through(c, intid, pending);
	if (pending) {
		c->lpi_count++;
		offer(c, intid);
		return;
	}
	c->lpi_count--;
	if (c->lpi_next.intid == intid)
		gic_lpi_reconfigured(c);
}

/* Read the pending table. Bytes that are not RAM have nothing pending. */
static void load_pending(struct gicv3_cpu *c)
{
	u64 base = c->gicr_pendbaser & BASE_ADDRESS;
	unsigned ids = number_of_ids(c);

	for (unsigned w = GIC_FIRST_LPI / 64; w < ids / 64; w++) {
		struct gic_ram ram;
		u64 bits;

		if (!gic_guest_ram(c->gic, base + 8 * w, 8, false, &ram))
			continue;
		memcpy(&bits, ram.host, 8);
		c->lpi_pending[w] = GUINT64_FROM_LE(bits);
		c->lpi_count += __builtin_popcountll(bits);
	}
}

void gic_lpi_enable(struct gicv3_cpu *c, bool zeroed)
{
	c->lpi_count = 0;
	if (c->lpi_pending)
		memset(c->lpi_pending, 0, LPI_WORDS * sizeof(u64));
	if (c->gicr_ctlr & GICR_CTLR_LPIS && !zeroed)
		load_pending(c);
	gic_lpi_reconfigured(c);
}

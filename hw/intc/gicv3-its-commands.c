/*
 * hw/intc/gicv3-its-commands.c - commands of the ITS (Arm IHI 0069H, 5.3.4 to 5.13).
 *
 * A command with wrong operands is ignored, as the manual allows, and told to -d guest_errors.
 */
#include "hw/intc/gicv3-its-priv.h"

#include "util/log.h"

#define COMMAND_BYTES 32
#define QUEUE_ADDRESS 0x000ffffffffff000ull
#define VALID         (1ull << 63)

enum {
	MOVI = 0x01,
	INT = 0x03,
	CLEAR = 0x04,
	SYNC = 0x05,
	MAPD = 0x08,
	MAPC = 0x09,
	MAPTI = 0x0a,
	MAPI = 0x0b,
	INV = 0x0c,
	INVALL = 0x0d,
	MOVALL = 0x0e,
	DISCARD = 0x0f,
};

/* Operands lie at the same places in all commands that have them. */
static u32 device_of(const u64 *cmd)
{
	return cmd[0] >> 32;
}

static u32 event_of(const u64 *cmd)
{
	return cmd[1];
}

static u16 icid_of(const u64 *cmd)
{
	return cmd[2];
}

/* RDbase is the number of the redistributor, since GITS_TYPER.PTA is 0. */
static struct gicv3_cpu *cpu_at(struct gicv3_its *s, u64 rdbase)
{
	u64 n = rdbase >> 16 & 0x7ffffffff;

	return n < s->gic->num_cpu ? &s->gic->cpu[n] : NULL;
}

static bool map_device(struct gicv3_its *s, const u64 *cmd)
{
	const struct its_device d = { .valid = cmd[2] & VALID,
				      .event_bits = (cmd[1] & 0x1f) + 1,
				      .itt = cmd[2] & 0x000fffffffffff00 };

	return (!d.valid || d.event_bits <= GIC_ID_BITS) && its_device_set(s, device_of(cmd), &d);
}

static bool map_collection(struct gicv3_its *s, const u64 *cmd)
{
	const struct gicv3_cpu *cpu = cpu_at(s, cmd[2]);
	const struct its_collection c = { .valid = cmd[2] & VALID, .cpu = cpu ? cpu->index : 0 };

	return (!c.valid || cpu) && its_collection_set(s, icid_of(cmd), &c);
}

static bool map_interrupt(struct gicv3_its *s, const u64 *cmd, u32 intid)
{
	struct its_device d = its_device_get(s, device_of(cmd));
	const struct its_interrupt i = { true, intid, icid_of(cmd) };

	return intid >= GIC_FIRST_LPI && intid < 1u << GIC_ID_BITS &&
	       its_interrupt_set(s, &d, event_of(cmd), &i);
}

static bool set_pending(struct gicv3_its *s, const u64 *cmd, bool pending)
{
	struct its_interrupt i;
	struct gicv3_cpu *c = its_lookup(s, device_of(cmd), event_of(cmd), &i);

	if (c)
		its_lpi_set(c, i.intid, pending);
	return c;
}

static bool discard(struct gicv3_its *s, const u64 *cmd)
{
	struct its_device d = its_device_get(s, device_of(cmd));
	const struct its_interrupt none = { 0 };

	return set_pending(s, cmd, false) && its_interrupt_set(s, &d, event_of(cmd), &none);
}

/* A pending interrupt goes with its collection. */
static void move_pending(struct gicv3_cpu *from, struct gicv3_cpu *to, u32 intid)
{
	struct gicv3 *g = from->gic;

	g_mutex_lock(&g->lock);
	if (from != to && gic_lpi_is_pending(from, intid)) {
		gic_lpi_set(from, intid, false);
		gic_lpi_set(to, intid, true);
		gic_update(from);
		gic_update(to);
	}
	g_mutex_unlock(&g->lock);
}

static bool move_interrupt(struct gicv3_its *s, const u64 *cmd)
{
	struct its_device d = its_device_get(s, device_of(cmd));
	struct its_collection c = its_collection_get(s, icid_of(cmd));
	struct its_interrupt i;
	struct gicv3_cpu *from = its_lookup(s, device_of(cmd), event_of(cmd), &i);

	if (!from || !c.valid || c.cpu >= s->gic->num_cpu)
		return false;
	i.icid = icid_of(cmd);
	if (!its_interrupt_set(s, &d, event_of(cmd), &i))
		return false;
	move_pending(from, &s->gic->cpu[c.cpu], i.intid);
	return true;
}

static bool move_all(struct gicv3_its *s, const u64 *cmd)
{
	struct gicv3_cpu *from = cpu_at(s, cmd[2]), *to = cpu_at(s, cmd[3]);

	if (!from || !to)
		return false;
	for (unsigned i = GIC_FIRST_LPI;
	     s->gic->has_lpi && from->lpi_count && i < 1u << GIC_ID_BITS; i++)
		move_pending(from, to, i);
	return true;
}

static bool reconfigure(struct gicv3_its *s, struct gicv3_cpu *c)
{
	if (!c)
		return false;
	g_mutex_lock(&s->gic->lock);
	gic_lpi_reconfigured(c);
	gic_update(c);
	g_mutex_unlock(&s->gic->lock);
	return true;
}

static struct gicv3_cpu *cpu_of_collection(struct gicv3_its *s, u16 icid)
{
	struct its_collection c = its_collection_get(s, icid);

	return c.valid && c.cpu < s->gic->num_cpu ? &s->gic->cpu[c.cpu] : NULL;
}

static bool run(struct gicv3_its *s, const u64 *cmd)
{
	struct its_interrupt i;

	switch (cmd[0] & 0xff) {
	case SYNC: return true; /* everything before is done */
	case MAPD: return map_device(s, cmd);
	case MAPC: return map_collection(s, cmd);
	case MAPTI: return map_interrupt(s, cmd, cmd[1] >> 32);
	case MAPI: return map_interrupt(s, cmd, event_of(cmd));
	case MOVI: return move_interrupt(s, cmd);
	case MOVALL: return move_all(s, cmd);
	case INT: return set_pending(s, cmd, true);
	case CLEAR: return set_pending(s, cmd, false);
	case DISCARD: return discard(s, cmd);
	case INV: return reconfigure(s, its_lookup(s, device_of(cmd), event_of(cmd), &i));
	case INVALL: return reconfigure(s, cpu_of_collection(s, icid_of(cmd)));
	default: return false;
	}
}

void its_run_commands(struct gicv3_its *s)
{
	u64 base = s->cbaser & QUEUE_ADDRESS, size = ((s->cbaser & 0xff) + 1) * 4096;

	if (!(s->ctlr & GITS_CTLR_ENABLED) || !(s->cbaser & VALID) || s->cwriter >= size)
		return;
	while (s->creadr != s->cwriter) {
		struct gic_ram ram;
		u64 cmd[4];

		if (!gic_guest_ram(s->gic, base + s->creadr, COMMAND_BYTES, false, &ram)) {
			log_guest("ITS: no memory for command at 0x%" PRIx64 "\n",
				  base + s->creadr);
			s->creadr |= GITS_CREADR_STALLED;
			return;
		}
		memcpy(cmd, ram.host, sizeof(cmd));
		for (unsigned n = 0; n < 4; n++)
			cmd[n] = GUINT64_FROM_LE(cmd[n]);
		if (!run(s, cmd))
			log_guest("ITS: command %#x (%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
				  ") ignored\n",
				  (unsigned)cmd[0] & 0xff, cmd[0], cmd[1], cmd[2]);
		s->creadr = (s->creadr + COMMAND_BYTES) % size;
	}
}

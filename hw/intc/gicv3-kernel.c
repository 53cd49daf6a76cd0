/*
 * hw/intc/gicv3-kernel.c - a GICv3 that the accelerator has in the kernel.
 *
 * struct gicv3 holds its registers only while they are saved, loaded or reset; the section of a
 * migration is that of the emulated controller. Register offsets: Arm IHI 0069H, 12.8 and 12.10.
 */
#include "hw/intc/gicv3-priv.h"

#include "accel/accel.h"
#include "hw/intc/devices.h"
#include "hw/machine.h"
#include "target/arm/sysreg.h"
#include "target/arm/vgic.h"
#include "util/error.h"
#include "util/log.h"

enum {
	GICD_CTLR = 0x0,
	GICD_IROUTER = 0x6000,
	GICR_CTLR = 0x0,
	GICR_PROPBASER = 0x70,
	GICR_PENDBASER = 0x78,
	GICR_SGI = 0x10000, /* second frame: the registers below for SGIs and PPIs */
	IGROUPR = 0x80,
	ISENABLER = 0x100,
	ICENABLER = 0x180,
	ISPENDR = 0x200,
	ISACTIVER = 0x300,
	ICACTIVER = 0x380,
	IPRIORITYR = 0x400,
	ICFGR = 0xc00,
};

#define ICC_PMR     SYSREG(3, 0, 4, 6, 0)
#define ICC_BPR0    SYSREG(3, 0, 12, 8, 3)
#define ICC_AP0R(n) (SYSREG(3, 0, 12, 8, 4) + (n))
#define ICC_AP1R(n) (SYSREG(3, 0, 12, 9, 0) + (n))
#define ICC_BPR1    SYSREG(3, 0, 12, 12, 3)
#define ICC_CTLR    SYSREG(3, 0, 12, 12, 4)
#define ICC_SRE     SYSREG(3, 0, 12, 12, 5)
#define ICC_IGRPEN0 SYSREG(3, 0, 12, 12, 6)
#define ICC_IGRPEN1 SYSREG(3, 0, 12, 12, 7)

#define CTLR_PRIBITS(ctlr) ((ctlr) >> 8 & 7) /* less one */

/* ---- registers ---- */

/* Configuration, state and priorities of 32 interrupts; in the distributor or a redistributor. */
struct bank {
	enum arm_vgic_space space;
	u64 mpidr;
	u32 base;  /* of the registers' offsets */
	u32 intid; /* first one */
	u32 *group, *enabled, *edge, *pending, *active, *level;
	u8 *priority;
};

static u32 move_reg(struct arm_vgic_move *m, const struct bank *b, u32 offset, u32 val)
{
	return arm_vgic_move(m, b->space, b->mpidr, b->base + offset, val);
}

/* Those of which a 1 sets a bit and a 0 leaves it, with @clear beside them for the opposite. */
static u32 move_bits(struct arm_vgic_move *m, const struct bank *b, u32 set, u32 clear, u32 val)
{
	if (m->to_kernel)
		move_reg(m, b, clear + b->intid / 8, ~(u32)0);
	return move_reg(m, b, set + b->intid / 8, val);
}

/* Two bits an interrupt, of which the upper one says that it is edge-triggered. */
static u32 move_edges(struct arm_vgic_move *m, const struct bank *b, u32 edge)
{
	u32 moved = 0;

	for (unsigned half = 0; half < 2; half++) {
		u32 cfg = 0;

		for (unsigned i = 0; i < 16; i++)
			cfg |= (edge >> (16 * half + i) & 1) << (2 * i + 1);
		cfg = move_reg(m, b, ICFGR + b->intid / 4 + 4 * half, cfg);
		for (unsigned i = 0; i < 16; i++)
			moved |= (cfg >> (2 * i + 1) & 1) << (16 * half + i);
	}
	return moved;
}

static void move_bank(struct arm_vgic_move *m, const struct bank *b, bool levels)
{
	*b->group = move_reg(m, b, IGROUPR + b->intid / 8, *b->group);
	*b->enabled = move_bits(m, b, ISENABLER, ICENABLER, *b->enabled);
	*b->edge = move_edges(m, b, *b->edge);
	if (levels)
		*b->level = arm_vgic_move(m, ARM_VGIC_LEVEL, b->mpidr, b->intid, *b->level);
	*b->pending = move_reg(m, b, ISPENDR + b->intid / 8, *b->pending);
	*b->active = move_bits(m, b, ISACTIVER, ICACTIVER, *b->active);
	for (unsigned i = 0; i < 32; i += 4) {
		u8 *p = b->priority + i;
		u32 word = p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;

		word = move_reg(m, b, IPRIORITYR + b->intid + i, word);
		for (unsigned n = 0; n < 4; n++)
			p[n] = word >> (8 * n);
	}
}

static u64 move_wide(struct arm_vgic_move *m, enum arm_vgic_space space, u64 mpidr, u32 reg,
		     u64 val)
{
	u64 low = arm_vgic_move(m, space, mpidr, reg, (u32)val);

	return low | arm_vgic_move(m, space, mpidr, reg + 4, val >> 32) << 32;
}

static void move_distributor(struct arm_vgic_move *m, struct gicv3 *g, bool levels)
{
	for (unsigned w = 1; w < g->num_irq / 32; w++) {
		const struct bank bank = {
			.space = ARM_VGIC_DIST,
			.intid = 32 * w,
			.group = &g->group[w],
			.enabled = &g->enabled[w],
			.edge = &g->edge_trigger[w],
			.pending = &g->pending[w],
			.active = &g->active[w],
			.level = &g->level[w],
			.priority = &g->gicd_ipriority[32 * w],
		};

		move_bank(m, &bank, levels);
	}
	for (unsigned i = ARM_GIC_INTERNAL; i < g->num_irq; i++)
		g->gicd_irouter[i] =
			move_wide(m, ARM_VGIC_DIST, 0, GICD_IROUTER + 8 * i, g->gicd_irouter[i]);
}

static void move_redistributor(struct arm_vgic_move *m, struct gicv3_cpu *c, bool levels)
{
	const struct bank bank = {
		.space = ARM_VGIC_REDIST,
		.mpidr = c->affinity,
		.base = GICR_SGI,
		.group = &c->gicr_igroupr0,
		.enabled = &c->gicr_ienabler0,
		.edge = &c->edge_trigger,
		.pending = &c->gicr_ipendr0,
		.active = &c->gicr_iactiver0,
		.level = &c->level,
		.priority = c->gicr_ipriorityr,
	};

	c->gicr_propbaser =
		move_wide(m, ARM_VGIC_REDIST, c->affinity, GICR_PROPBASER, c->gicr_propbaser);
	c->gicr_pendbaser =
		move_wide(m, ARM_VGIC_REDIST, c->affinity, GICR_PENDBASER, c->gicr_pendbaser);
	c->gicr_ctlr = arm_vgic_move(m, ARM_VGIC_REDIST, c->affinity, GICR_CTLR, c->gicr_ctlr);
	move_bank(m, &bank, levels);
	if (!m->to_kernel)
		c->gicr_waker = 0; /* KVM's never sleep */
}

static u64 move_icc(struct arm_vgic_move *m, const struct gicv3_cpu *c, u32 reg, u64 val)
{
	return arm_vgic_move(m, ARM_VGIC_CPU, c->affinity, reg, val);
}

static void move_interface(struct arm_vgic_move *m, struct gicv3_cpu *c)
{
	unsigned aprs;

	c->icc_sre_el1 = move_icc(m, c, ICC_SRE, c->icc_sre_el1);
	c->icc_ctlr_el1[GIC_NS] = move_icc(m, c, ICC_CTLR, c->icc_ctlr_el1[GIC_NS]);
	c->icc_igrpen[GIC_G0] = move_icc(m, c, ICC_IGRPEN0, c->icc_igrpen[GIC_G0]);
	c->icc_igrpen[GIC_G1] = move_icc(m, c, ICC_IGRPEN1, c->icc_igrpen[GIC_G1]);
	c->icc_pmr_el1 = move_icc(m, c, ICC_PMR, c->icc_pmr_el1);
	c->icc_bpr[GIC_G0] = move_icc(m, c, ICC_BPR0, c->icc_bpr[GIC_G0]);
	c->icc_bpr[GIC_G1] = move_icc(m, c, ICC_BPR1, c->icc_bpr[GIC_G1]);
	/* One bit for each group priority: 32 fit into a register. */
	aprs = 1u << (MAX(CTLR_PRIBITS(c->icc_ctlr_el1[GIC_NS]), 4) - 4);
	for (unsigned i = 0; i < MIN(aprs, 4); i++) {
		c->icc_apr[GIC_G0][i] = move_icc(m, c, ICC_AP0R(i), c->icc_apr[GIC_G0][i]);
		c->icc_apr[GIC_G1][i] = move_icc(m, c, ICC_AP1R(i), c->icc_apr[GIC_G1][i]);
	}
}

/* @levels: also what devices drive. */
static int move_all(struct gicv3 *g, bool to_kernel, bool levels, GError **err)
{
	struct arm_vgic_move m = { .vgic = g->vgic, .to_kernel = to_kernel, .err = err };

	/* First: KVM passes an interrupt on when it becomes pending, which comes to nothing while
	 * the distributor is off, and does not look again when it is turned on. A timer's level
	 * would then stay as it is for ever. */
	g->gicd_ctlr = arm_vgic_move(&m, ARM_VGIC_DIST, 0, GICD_CTLR, g->gicd_ctlr);
	for (unsigned i = 0; i < g->num_cpu; i++)
		move_redistributor(&m, &g->cpu[i], levels);
	move_distributor(&m, g, levels);
	for (unsigned i = 0; i < g->num_cpu; i++)
		move_interface(&m, &g->cpu[i]);
	return m.ret;
}

/* ---- migration ---- */

static int collect(void *obj, GError **err)
{
	return move_all(obj, false, true, err);
}

static int post_load(void *obj, int version, GError **err)
{
	int ret = gicv3_check_loaded(obj, err);

	return ret ? ret : move_all(obj, true, true, err);
}

const struct state_desc gicv3_kernel_state_desc = {
	.name = "arm_gicv3",
	.version = 1,
	.min_version = 1,
	.priority = STATE_PRIO_GICV3,
	.fields = gicv3_state_fields,
	.subsections = gicv3_state_subsections,
	.collect = collect,
	.post_load = post_load,
};

/* ---- the device ---- */

static void kernel_reset(struct device *dev)
{
	struct gicv3 *g = (struct gicv3 *)dev;
	g_autoptr(GError) err = NULL;

	/* First, since some bits say what the controller is. */
	if (move_all(g, false, false, &err)) {
		log_warn("%s", err->message);
		return;
	}
	gic_reset_distributor(g);
	for (unsigned i = 0; i < g->num_cpu; i++) {
		struct gicv3_cpu *c = &g->cpu[i];
		u64 ctlr = c->icc_ctlr_el1[GIC_NS];

		gic_reset_redistributor(c);
		gic_reset_interface(c);
		c->icc_ctlr_el1[GIC_NS] = ctlr & ~(u64)(ICC_CTLR_CBPR | ICC_CTLR_EOIMODE);
	}
	if (move_all(g, true, false, &err))
		log_warn("%s", err->message);
}

static int kernel_realize(struct device *dev, GError **err)
{
	struct gicv3 *g = (struct gicv3 *)dev;

	g_mutex_init(&g->lock);
	return 0;
}

static void kernel_unrealize(struct device *dev)
{
	struct gicv3 *g = (struct gicv3 *)dev;

	arm_vgic_destroy(g->vgic);
	gicv3_free_cpus(g);
	g_mutex_clear(&g->lock);
}

struct device *arm_gicv3_kernel_create(struct machine *m, const struct arm_gicv3_config *config,
				       GError **err)
{
	struct device *dev = device_create(m, ARM_GICV3_KERNEL_TYPE, NULL, err);
	struct gicv3 *g = (struct gicv3 *)dev;
	struct arm_vgic_config c = {
		.dist_base = config->dist_base,
		.redist = { { config->redist[0].base, config->redist[0].cpus },
			    { config->redist[1].base, config->redist[1].cpus } },
		.irqs = ARM_GIC_INTERNAL + config->spis,
	};

	if (!dev)
		return NULL;
	gicv3_configure(g, config);
	g->vgic = arm_vgic_create(m->vm, &c, err);
	if (!g->vgic || device_realize(dev, NULL, err)) {
		arm_vgic_destroy(g->vgic);
		gicv3_free_cpus(g);
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

const struct device_type arm_gicv3_kernel_type = {
	.name = ARM_GICV3_KERNEL_TYPE,
	.desc = "Arm Generic Interrupt Controller version 3 in the kernel",
	.bus = "System",
	.instance_size = sizeof(struct gicv3),
	.props = gicv3_props,
	.realize = kernel_realize,
	.unrealize = kernel_unrealize,
	.reset = kernel_reset,
	.state = &gicv3_kernel_state_desc,
};

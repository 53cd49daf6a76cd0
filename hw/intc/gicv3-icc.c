/*
 * hw/intc/gicv3-icc.c - system registers of the physical CPU interface (Arm IHI 0069H, 12.2).
 *
 * They run on the vCPU's own thread, without the machine lock.
 */
#include "hw/intc/gicv3-priv.h"

#include "target/arm/sysreg.h"

#define CTLR_FIXED  0x8c00u /* A3V, 24 bits of INTID, GIC_PRIO_BITS of priority */
#define CTLR_EL1_RW (ICC_CTLR_CBPR | ICC_CTLR_EOIMODE)
#define SRE_EL1     7u   /* system registers always, no bypass of interrupts */
#define SRE_EL2     0xfu /* and EL1 may read ICC_SRE_EL1 */
#define SGIR_IRM    (1ull << 40)

#define GROUP(reg) ((enum gic_group)(uintptr_t)(reg)->opaque)

static struct gicv3_cpu *lock(struct arm_cpu *cpu)
{
	g_mutex_lock(&cpu->icc->gic->lock);
	return cpu->icc;
}

static void unlock(struct gicv3_cpu *c)
{
	g_mutex_unlock(&c->gic->lock);
}

static void update_unlock(struct gicv3_cpu *c)
{
	gic_update(c);
	unlock(c);
}

/* ---- taking and ending interrupts ---- */

static u64 read_iar(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = lock(cpu);
	unsigned intid = GIC_SPURIOUS;

	if (gic_can_take(c) && c->next.group == GROUP(reg))
		intid = gic_acknowledge(c);
	unlock(c);
	return intid;
}

static u64 read_hppir(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = lock(cpu);
	unsigned intid = c->next.group == GROUP(reg) ? c->next.intid : GIC_SPURIOUS;

	unlock(c);
	return intid;
}

/* An EOI that does not match the highest active priority's group is UNPREDICTABLE: ignored. */
static void write_eoir(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	unsigned intid = val & 0xffffff;
	struct gicv3_cpu *c;

	if (intid >= GIC_MAX_IRQ && intid <= GIC_SPURIOUS)
		return;
	c = lock(cpu);
	if (gic_drop_priority(c, GROUP(reg)) && !(c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_EOIMODE))
		gic_deactivate(c, intid);
	update_unlock(c);
}

static void write_dir(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	if (c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_EOIMODE)
		gic_deactivate(c, val & 0xffffff);
	update_unlock(c);
}

static u64 read_rpr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = lock(cpu);
	u64 val = gic_running_priority(c);

	unlock(c);
	return val;
}

/* ---- software generated interrupts ---- */

/* Aff3.Aff2.Aff1 of the targets, as in MPIDR_EL1. */
static u64 sgi_cluster(u64 val)
{
	return (val >> 48 & 0xff) << 32 | (val >> 32 & 0xff) << 16 | (val >> 16 & 0xff) << 8;
}

static bool is_target(const struct gicv3_cpu *self, const struct gicv3_cpu *c, u64 val)
{
	unsigned aff0 = c->affinity & 0xff, first = (val >> 44 & 0xf) * 16;

	if (val & SGIR_IRM)
		return c != self;
	return (c->affinity & ~(u64)0xff) == sgi_cluster(val) && aff0 >= first &&
	       aff0 < first + 16 && val >> (aff0 - first) & 1;
}

/* With one security state ICC_ASGI1R_EL1 names no other group than ICC_SGI1R_EL1. */
static void write_sgir(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *self = lock(cpu);
	struct gicv3 *g = self->gic;

	for (unsigned i = 0; i < g->num_cpu; i++)
		if (is_target(self, &g->cpu[i], val))
			gic_send_sgi(&g->cpu[i], val >> 24 & 0xf, GROUP(reg));
	unlock(self);
}

/* ---- configuration ---- */

static u64 read_pmr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_pmr_el1; /* only this thread writes it */
}

static void write_pmr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	c->icc_pmr_el1 = val & GIC_PRIO_MASK;
	update_unlock(c);
}

/* With CBPR set BPR1 shows BPR0, in its own way of counting, and ignores writes. */
static bool bpr_is_common(const struct gicv3_cpu *c, enum gic_group group)
{
	return group == GIC_G1 && c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_CBPR;
}

static u64 read_bpr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	const struct gicv3_cpu *c = cpu->icc;

	return bpr_is_common(c, GROUP(reg)) ? MIN(c->icc_bpr[GIC_G0] + 1, 7)
					    : c->icc_bpr[GROUP(reg)];
}

static void write_bpr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);
	u64 min = GROUP(reg) == GIC_G0 ? GIC_MIN_BPR0 : GIC_MIN_BPR1;

	if (!bpr_is_common(c, GROUP(reg)))
		c->icc_bpr[GROUP(reg)] = MAX(val & 7, min);
	update_unlock(c);
}

static u64 read_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_apr[GROUP(reg)][0];
}

static void write_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	c->icc_apr[GROUP(reg)][0] = (u32)val;
	update_unlock(c);
}

static u64 read_ctlr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_ctlr_el1[GIC_NS];
}

static void write_ctlr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	c->icc_ctlr_el1[GIC_NS] = CTLR_FIXED | (val & CTLR_EL1_RW);
	update_unlock(c);
}

static u64 read_igrpen(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_igrpen[GROUP(reg)];
}

/* Interrupts for any one CPU go to those that have their group enabled. */
static void write_igrpen(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	if (c->icc_igrpen[GROUP(reg)] != (val & 1)) {
		c->icc_igrpen[GROUP(reg)] = val & 1;
		gic_route_all(c->gic);
		gic_update_all(c->gic);
	}
	unlock(c);
}

static u64 read_sre_el1(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return SRE_EL1;
}

static u64 read_sre_el2(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return SRE_EL2;
}

static void write_ignored(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
}

#define ICC(crm, op2, rel, wel, name, group, rd, wr)                                               \
	{                                                                                          \
		SYSREG(3, 0, 12, crm, op2), rel, wel, 0, name, rd, wr, (void *)(uintptr_t)(group), \
			NULL                                                                       \
	}
#define ICC_RO(crm, op2, name, group, rd)     ICC(crm, op2, 1, SYSREG_NONE, name, group, rd, NULL)
#define ICC_WO(crm, op2, name, group, wr)     ICC(crm, op2, SYSREG_NONE, 1, name, group, NULL, wr)
#define ICC_RW(crm, op2, name, group, rd, wr) ICC(crm, op2, 1, 1, name, group, rd, wr)

static const struct arm_sysreg icc_regs[] = {
	{ SYSREG(3, 0, 4, 6, 0), 1, 1, 0, "ICC_PMR_EL1", read_pmr, write_pmr, NULL, NULL },
	ICC_RO(8, 0, "ICC_IAR0_EL1", GIC_G0, read_iar),
	ICC_WO(8, 1, "ICC_EOIR0_EL1", GIC_G0, write_eoir),
	ICC_RO(8, 2, "ICC_HPPIR0_EL1", GIC_G0, read_hppir),
	ICC_RW(8, 3, "ICC_BPR0_EL1", GIC_G0, read_bpr, write_bpr),
	ICC_RW(8, 4, "ICC_AP0R0_EL1", GIC_G0, read_apr, write_apr),
	ICC_RW(9, 0, "ICC_AP1R0_EL1", GIC_G1, read_apr, write_apr),
	ICC_WO(11, 1, "ICC_DIR_EL1", 0, write_dir),
	ICC_RO(11, 3, "ICC_RPR_EL1", 0, read_rpr),
	ICC_WO(11, 5, "ICC_SGI1R_EL1", GIC_G1, write_sgir),
	ICC_WO(11, 6, "ICC_ASGI1R_EL1", GIC_G1, write_sgir),
	ICC_WO(11, 7, "ICC_SGI0R_EL1", GIC_G0, write_sgir),
	ICC_RO(12, 0, "ICC_IAR1_EL1", GIC_G1, read_iar),
	ICC_WO(12, 1, "ICC_EOIR1_EL1", GIC_G1, write_eoir),
	ICC_RO(12, 2, "ICC_HPPIR1_EL1", GIC_G1, read_hppir),
	ICC_RW(12, 3, "ICC_BPR1_EL1", GIC_G1, read_bpr, write_bpr),
	ICC_RW(12, 4, "ICC_CTLR_EL1", 0, read_ctlr, write_ctlr),
	ICC_RW(12, 5, "ICC_SRE_EL1", 0, read_sre_el1, write_ignored),
	ICC_RW(12, 6, "ICC_IGRPEN0_EL1", GIC_G0, read_igrpen, write_igrpen),
	ICC_RW(12, 7, "ICC_IGRPEN1_EL1", GIC_G1, read_igrpen, write_igrpen),
};

static const struct arm_sysreg icc_el2_regs[] = {
	{ SYSREG(3, 4, 12, 9, 5), 2, 2, 0, "ICC_SRE_EL2", read_sre_el2, write_ignored, NULL, NULL },
};

void gic_reset_interface(struct gicv3_cpu *c)
{
	memset(c->icc_apr, 0, sizeof(c->icc_apr));
	memset(c->icc_igrpen, 0, sizeof(c->icc_igrpen));
	c->icc_pmr_el1 = 0;
	c->icc_bpr[GIC_G0] = GIC_MIN_BPR0;
	c->icc_bpr[GIC_G1] = GIC_MIN_BPR1;
	c->icc_ctlr_el1[GIC_NS] = CTLR_FIXED;
	/* What QEMU's controller has in the places of the secure state. */
	c->icc_bpr[GIC_G1S] = GIC_MIN_BPR0;
	c->icc_ctlr_el1[GIC_S] = CTLR_FIXED;
	c->icc_ctlr_el3 = 0x28c00;
}

static void reset_with_cpu(struct arm_cpu *cpu)
{
	struct gicv3_cpu *c = lock(cpu);

	gic_reset_interface(c);
	gic_route_all(c->gic);
	gic_update_all(c->gic);
	unlock(c);
}

void gic_add_icc_registers(struct gicv3_cpu *c)
{
	c->cpu->icc = c;
	c->cpu->icc_reset = reset_with_cpu;
	arm_sysreg_add(c->cpu, icc_regs, ARRAY_SIZE(icc_regs));
	if (c->cpu->has_el2)
		arm_sysreg_add(c->cpu, icc_el2_regs, ARRAY_SIZE(icc_el2_regs));
}

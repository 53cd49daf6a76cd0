/*
 * hw/intc/gicv3-icc.c - system registers of the CPU interface (Arm IHI 0069H, 12.2).
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

/* ---- a guest's view and a hypervisor's traps ---- */

#define HCR_FMO (1ull << 3) /* routes group 0 to EL2 */
#define HCR_IMO (1ull << 4) /* and group 1 */
/* Traps of EL1's accesses in ICH_HCR_EL2. */
#define ICH_HCR_TC    (1u << 10)
#define ICH_HCR_TALL0 (1u << 11)
#define ICH_HCR_TALL1 (1u << 12)
#define ICH_HCR_TDIR  (1u << 14)

static u64 routing_of(const struct arm_sysreg *reg)
{
	return GROUP(reg) == GIC_G0 ? HCR_FMO : HCR_IMO;
}

/* Whether EL1 means the virtual CPU interface. */
static bool is_virtual(const struct arm_cpu *cpu, u64 routing)
{
	return cpu->has_el2 && cpu_el(cpu) == 1 && cpu->hcr_el2 & routing;
}

static unsigned trap_if(const struct arm_cpu *cpu, u32 bits)
{
	return cpu->has_el2 && cpu_el(cpu) == 1 && cpu->icc->ich_hcr_el2 & bits ? 2 : 0;
}

static unsigned trap_common(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return trap_if(cpu, ICH_HCR_TC);
}

static unsigned trap_group(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return trap_if(cpu, GROUP(reg) == GIC_G0 ? ICH_HCR_TALL0 : ICH_HCR_TALL1);
}

static unsigned trap_dir(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return trap_if(cpu, ICH_HCR_TC | ICH_HCR_TDIR);
}

/* A guest has no SGIs but those that its hypervisor sends for it. */
static unsigned trap_sgi(struct arm_cpu *cpu, const struct arm_sysreg *reg, bool write)
{
	return is_virtual(cpu, HCR_FMO | HCR_IMO) ? 2 : trap_if(cpu, ICH_HCR_TC);
}

static u64 read_virtual(struct arm_cpu *cpu, enum gic_virtual_reg which, enum gic_group group)
{
	struct gicv3_cpu *c = lock(cpu);
	u64 val = gic_virtual_read(c, which, group);

	unlock(c);
	return val;
}

static void write_virtual(struct arm_cpu *cpu, enum gic_virtual_reg which, enum gic_group group,
			  u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	gic_virtual_write(c, which, group, val);
	unlock(c);
}

/* ---- taking and ending interrupts ---- */

static u64 read_iar(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = lock(cpu);
	unsigned intid = GIC_SPURIOUS;

	if (is_virtual(cpu, routing_of(reg)))
		intid = gic_virtual_acknowledge(c, GROUP(reg));
	else if (gic_can_take(c) && c->next.group == GROUP(reg))
		intid = gic_acknowledge(c);
	unlock(c);
	return intid;
}

static u64 read_hppir(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = lock(cpu);
	unsigned intid = c->next.group == GROUP(reg) ? c->next.intid : GIC_SPURIOUS;

	if (is_virtual(cpu, routing_of(reg)))
		intid = gic_virtual_pending(c, GROUP(reg));
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
	if (is_virtual(cpu, routing_of(reg)))
		gic_virtual_end(c, GROUP(reg), intid);
	else if (gic_drop_priority(c, GROUP(reg)) && !(c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_EOIMODE))
		gic_deactivate(c, intid);
	update_unlock(c);
}

static void write_dir(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	if (is_virtual(cpu, HCR_FMO | HCR_IMO))
		gic_virtual_deactivate(c, val & 0xffffff);
	else if (c->icc_ctlr_el1[GIC_NS] & ICC_CTLR_EOIMODE)
		gic_deactivate(c, val & 0xffffff);
	update_unlock(c);
}

static u64 read_physical_rpr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
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

static u64 read_physical_pmr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_pmr_el1; /* only this thread writes it */
}

static void write_physical_pmr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
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

static u64 read_physical_bpr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	const struct gicv3_cpu *c = cpu->icc;

	return bpr_is_common(c, GROUP(reg)) ? MIN(c->icc_bpr[GIC_G0] + 1, 7)
					    : c->icc_bpr[GROUP(reg)];
}

static void write_physical_bpr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);
	u64 min = GROUP(reg) == GIC_G0 ? GIC_MIN_BPR0 : GIC_MIN_BPR1;

	if (!bpr_is_common(c, GROUP(reg)))
		c->icc_bpr[GROUP(reg)] = MAX(val & 7, min);
	update_unlock(c);
}

static u64 read_physical_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_apr[GROUP(reg)][0];
}

static void write_physical_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	c->icc_apr[GROUP(reg)][0] = (u32)val;
	update_unlock(c);
}

static u64 read_physical_ctlr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_ctlr_el1[GIC_NS];
}

static void write_physical_ctlr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = lock(cpu);

	c->icc_ctlr_el1[GIC_NS] = CTLR_FIXED | (val & CTLR_EL1_RW);
	update_unlock(c);
}

static u64 read_physical_igrpen(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->icc_igrpen[GROUP(reg)];
}

/* Interrupts for any one CPU go to those that have their group enabled. */
static void write_physical_igrpen(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
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

/* ---- registers that are the virtual interface's for a guest ---- */

#define READER(name, which, routing)                                                               \
	static u64 read_##name(struct arm_cpu *cpu, const struct arm_sysreg *reg)                  \
	{                                                                                          \
		return is_virtual(cpu, routing) ? read_virtual(cpu, which, GROUP(reg))             \
						: read_physical_##name(cpu, reg);                  \
	}
#define WRITER(name, which, routing)                                                               \
	static void write_##name(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)       \
	{                                                                                          \
		if (is_virtual(cpu, routing))                                                      \
			write_virtual(cpu, which, GROUP(reg), val);                                \
		else                                                                               \
			write_physical_##name(cpu, reg, val);                                      \
	}

READER(pmr, GIC_V_PMR, HCR_FMO | HCR_IMO)
WRITER(pmr, GIC_V_PMR, HCR_FMO | HCR_IMO)
READER(ctlr, GIC_V_CTLR, HCR_FMO | HCR_IMO)
WRITER(ctlr, GIC_V_CTLR, HCR_FMO | HCR_IMO)
READER(rpr, GIC_V_RPR, HCR_FMO | HCR_IMO)
READER(bpr, GIC_V_BPR, routing_of(reg))
WRITER(bpr, GIC_V_BPR, routing_of(reg))
READER(apr, GIC_V_APR, routing_of(reg))
WRITER(apr, GIC_V_APR, routing_of(reg))
READER(igrpen, GIC_V_IGRPEN, routing_of(reg))
WRITER(igrpen, GIC_V_IGRPEN, routing_of(reg))

#define ICC(crm, op2, rel, wel, name, group, rd, wr, trap)                                         \
	{                                                                                          \
		SYSREG(3, 0, 12, crm, op2), rel, wel, 0, name, rd, wr, (void *)(uintptr_t)(group), \
			trap                                                                       \
	}
#define ICC_RO(crm, op2, name, group, rd, trap)                                                    \
	ICC(crm, op2, 1, SYSREG_NONE, name, group, rd, NULL, trap)
#define ICC_WO(crm, op2, name, group, wr, trap)                                                    \
	ICC(crm, op2, SYSREG_NONE, 1, name, group, NULL, wr, trap)
#define ICC_RW(crm, op2, name, group, rd, wr, trap) ICC(crm, op2, 1, 1, name, group, rd, wr, trap)

static const struct arm_sysreg icc_regs[] = {
	{ SYSREG(3, 0, 4, 6, 0), 1, 1, 0, "ICC_PMR_EL1", read_pmr, write_pmr, NULL, trap_common },
	ICC_RO(8, 0, "ICC_IAR0_EL1", GIC_G0, read_iar, trap_group),
	ICC_WO(8, 1, "ICC_EOIR0_EL1", GIC_G0, write_eoir, trap_group),
	ICC_RO(8, 2, "ICC_HPPIR0_EL1", GIC_G0, read_hppir, trap_group),
	ICC_RW(8, 3, "ICC_BPR0_EL1", GIC_G0, read_bpr, write_bpr, trap_group),
	ICC_RW(8, 4, "ICC_AP0R0_EL1", GIC_G0, read_apr, write_apr, trap_group),
	ICC_RW(9, 0, "ICC_AP1R0_EL1", GIC_G1, read_apr, write_apr, trap_group),
	ICC_WO(11, 1, "ICC_DIR_EL1", 0, write_dir, trap_dir),
	ICC_RO(11, 3, "ICC_RPR_EL1", 0, read_rpr, trap_common),
	ICC_WO(11, 5, "ICC_SGI1R_EL1", GIC_G1, write_sgir, trap_sgi),
	ICC_WO(11, 6, "ICC_ASGI1R_EL1", GIC_G1, write_sgir, trap_sgi),
	ICC_WO(11, 7, "ICC_SGI0R_EL1", GIC_G0, write_sgir, trap_sgi),
	ICC_RO(12, 0, "ICC_IAR1_EL1", GIC_G1, read_iar, trap_group),
	ICC_WO(12, 1, "ICC_EOIR1_EL1", GIC_G1, write_eoir, trap_group),
	ICC_RO(12, 2, "ICC_HPPIR1_EL1", GIC_G1, read_hppir, trap_group),
	ICC_RW(12, 3, "ICC_BPR1_EL1", GIC_G1, read_bpr, write_bpr, trap_group),
	ICC_RW(12, 4, "ICC_CTLR_EL1", 0, read_ctlr, write_ctlr, trap_common),
	ICC_RW(12, 5, "ICC_SRE_EL1", 0, read_sre_el1, write_ignored, NULL),
	ICC_RW(12, 6, "ICC_IGRPEN0_EL1", GIC_G0, read_igrpen, write_igrpen, trap_group),
	ICC_RW(12, 7, "ICC_IGRPEN1_EL1", GIC_G1, read_igrpen, write_igrpen, trap_group),
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
	gic_reset_virtual(c);
}

static void reset_with_cpu(struct arm_cpu *cpu)
{
	struct gicv3_cpu *c = lock(cpu);

	gic_reset_interface(c);
	gic_update_virtual(c);
	gic_route_all(c->gic);
	gic_update_all(c->gic);
	unlock(c);
}

void gic_add_icc_registers(struct gicv3_cpu *c)
{
	c->cpu->icc = c;
	c->cpu->icc_reset = reset_with_cpu;
	arm_sysreg_add(c->cpu, icc_regs, ARRAY_SIZE(icc_regs));
	if (!c->cpu->has_el2)
		return;
	arm_sysreg_add(c->cpu, icc_el2_regs, ARRAY_SIZE(icc_el2_regs));
	gic_add_ich_registers(c);
}

/*
 * hw/intc/gicv3-state.c - migration of the GICv3.
 *
 * Layout: QEMU's sections "arm_gicv3" (version 1). Fields of the secure state and of NMIs, which
 * this controller does not have, are there too: an incoming one must not use them.
 */
#include "hw/intc/gicv3-priv.h"

#include "util/error.h"

#define MAX_CPUS 512

static bool always(void *obj)
{
	return true;
}

static bool never(void *obj)
{
	return false;
}

/* Registers that a guest sees with fewer bits than the wire has room for. */
static void mask_registers(struct gicv3 *g)
{
	for (unsigned i = 0; i < GIC_MAX_IRQ; i++) {
		g->gicd_ipriority[i] &= GIC_PRIO_MASK;
		g->gicd_irouter[i] &= GIC_AFFINITY | 1ull << 31;
	}
	for (unsigned i = 0; i < g->num_cpu; i++) {
		struct gicv3_cpu *c = &g->cpu[i];

		for (unsigned n = 0; n < ARM_GIC_INTERNAL; n++)
			c->gicr_ipriorityr[n] &= GIC_PRIO_MASK;
		c->icc_pmr_el1 &= GIC_PRIO_MASK;
		for (unsigned group = 0; group < GIC_GROUPS; group++) {
			c->icc_igrpen[group] &= 1;
			c->icc_bpr[group] = CLAMP(c->icc_bpr[group],
						  group == GIC_G1 ? GIC_MIN_BPR1 : GIC_MIN_BPR0, 7);
		}
		c->edge_trigger |= 0xffff;
	}
}

int gicv3_check_loaded(const struct gicv3 *g, GError **err)
{
	bool nmi = false;

	if (!(g->gicd_ctlr & GICD_CTLR_DS)) {
		error_set(err,
			  "arm_gicv3: gicd_ctlr 0x%x has two security states, this machine's "
			  "controller has one (secure=off)",
			  g->gicd_ctlr);
		return -EINVAL;
	}
	for (unsigned w = 0; w < ARRAY_SIZE(g->nmi); w++)
		nmi |= g->nmi[w];
	for (unsigned i = 0; i < g->num_cpu; i++) {
		nmi |= g->cpu[i].gicr_inmir0;
		if (g->cpu[i].gicr_ctlr & GICR_CTLR_LPIS && !g->has_lpi) {
			error_set(err,
				  "arm_gicv3: gicr_ctlr of CPU %u has LPIs enabled, this "
				  "machine has no ITS (its=off)",
				  i);
			return -EINVAL;
		}
	}
	if (!nmi)
		return 0;
	error_set(err, "arm_gicv3: the guest uses non-maskable interrupts (FEAT_GICv3_NMI), which "
		       "this controller does not have");
	return -EINVAL;
}

static int post_load(void *obj, int version, GError **err)
{
	struct gicv3 *g = obj;
	int ret = gicv3_check_loaded(g, err);

	if (ret)
		return ret;
	g_mutex_lock(&g->lock);
	g->gicd_ctlr =
		(g->gicd_ctlr & (GICD_CTLR_GRP0 | GICD_CTLR_GRP1)) | GICD_CTLR_ARE | GICD_CTLR_DS;
	mask_registers(g);
	for (unsigned i = 0; i < g->num_cpu; i++)
		gic_lpi_enable(&g->cpu[i], false);
	gic_route_all(g);
	for (unsigned i = 0; i < g->num_cpu; i++)
		gic_update_virtual(&g->cpu[i]);
	g_mutex_unlock(&g->lock);
	return 0;
}

static const struct state_field sre_fields[] = {
	FIELD_U64(struct gicv3_cpu, icc_sre_el1),
	FIELD_END,
};
static const struct state_desc sre_desc = {
	.name = "arm_gicv3_cpu/sre_el1",
	.version = 1,
	.min_version = 1,
	.fields = sre_fields,
	.needed = always,
};

static const struct state_field cpu_nmi_fields[] = {
	FIELD_U32(struct gicv3_cpu, gicr_inmir0),
	FIELD_END,
};
static const struct state_desc cpu_nmi_desc = {
	.name = "arm_gicv3_cpu/nmi",
	.version = 1,
	.min_version = 1,
	.fields = cpu_nmi_fields,
	.needed = never,
};

static bool has_el2(void *obj)
{
	const struct gicv3_cpu *c = obj;

	return c->cpu && c->cpu->has_el2;
}

/* ich_apr is one row of twelve on the wire. */
static const struct state_field virt_fields[] = {
	{ .name = "ich_apr",
	  .type = STATE_U64,
	  .offset = offsetof(struct gicv3_cpu, ich_apr),
	  .size = sizeof(u64),
	  .count = GIC_GROUPS * 4 },
	FIELD_U64(struct gicv3_cpu, ich_hcr_el2),
	FIELD_ARRAY(struct gicv3_cpu, ich_lr_el2, U64),
	FIELD_U64(struct gicv3_cpu, ich_vmcr_el2),
	FIELD_END,
};
static const struct state_desc virt_desc = {
	.name = "arm_gicv3_cpu/virt",
	.version = 1,
	.min_version = 1,
	.fields = virt_fields,
	.needed = has_el2,
};

static const struct state_desc *const cpu_subsections[] = { &virt_desc, &sre_desc, &cpu_nmi_desc,
							    NULL };

/* icc_apr is one row of twelve on the wire. */
#define APR_FIELD                                                                                  \
	{                                                                                          \
		.name = "icc_apr", .type = STATE_U64,                                              \
		.offset = offsetof(struct gicv3_cpu, icc_apr), .size = sizeof(u64),                \
		.count = GIC_GROUPS * 4                                                            \
	}

static const struct state_field cpu_fields[] = {
	FIELD_U32(struct gicv3_cpu, level),
	FIELD_U32(struct gicv3_cpu, gicr_ctlr),
	FIELD_ARRAY(struct gicv3_cpu, gicr_statusr, U32),
	FIELD_U32(struct gicv3_cpu, gicr_waker),
	FIELD_U64(struct gicv3_cpu, gicr_propbaser),
	FIELD_U64(struct gicv3_cpu, gicr_pendbaser),
	FIELD_U32(struct gicv3_cpu, gicr_igroupr0),
	FIELD_U32(struct gicv3_cpu, gicr_ienabler0),
	FIELD_U32(struct gicv3_cpu, gicr_ipendr0),
	FIELD_U32(struct gicv3_cpu, gicr_iactiver0),
	FIELD_U32(struct gicv3_cpu, edge_trigger),
	FIELD_U32(struct gicv3_cpu, gicr_igrpmodr0),
	FIELD_U32(struct gicv3_cpu, gicr_nsacr),
	FIELD_ARRAY(struct gicv3_cpu, gicr_ipriorityr, U8),
	FIELD_ARRAY(struct gicv3_cpu, icc_ctlr_el1, U64),
	FIELD_U64(struct gicv3_cpu, icc_pmr_el1),
	FIELD_ARRAY(struct gicv3_cpu, icc_bpr, U64),
	APR_FIELD,
	FIELD_ARRAY(struct gicv3_cpu, icc_igrpen, U64),
	FIELD_U64(struct gicv3_cpu, icc_ctlr_el3),
	FIELD_END,
};
static const struct state_desc cpu_desc = {
	.name = "arm_gicv3_cpu",
	.version = 1,
	.min_version = 1,
	.fields = cpu_fields,
	.subsections = cpu_subsections,
};

static const struct state_field shift_bug_fields[] = {
	FIELD_BOOL(struct gicv3, gicd_no_migration_shift_bug),
	FIELD_END,
};
static const struct state_desc shift_bug_desc = {
	.name = "arm_gicv3/gicd_no_migration_shift_bug",
	.version = 1,
	.min_version = 1,
	.fields = shift_bug_fields,
	.needed = always,
};

static const struct state_field nmi_fields[] = {
	FIELD_ARRAY(struct gicv3, nmi, U32),
	FIELD_END,
};
static const struct state_desc nmi_desc = {
	.name = "arm_gicv3/gicd_nmi",
	.version = 1,
	.min_version = 1,
	.fields = nmi_fields,
	.needed = never,
};

const struct state_desc *const gicv3_state_subsections[] = { &shift_bug_desc, &nmi_desc, NULL };

const struct state_field gicv3_state_fields[] = {
	FIELD_U32(struct gicv3, gicd_ctlr),
	FIELD_ARRAY(struct gicv3, gicd_statusr, U32),
	FIELD_ARRAY(struct gicv3, group, U32),
	FIELD_ARRAY(struct gicv3, grpmod, U32),
	FIELD_ARRAY(struct gicv3, enabled, U32),
	FIELD_ARRAY(struct gicv3, pending, U32),
	FIELD_ARRAY(struct gicv3, active, U32),
	FIELD_ARRAY(struct gicv3, level, U32),
	FIELD_ARRAY(struct gicv3, edge_trigger, U32),
	FIELD_ARRAY(struct gicv3, gicd_ipriority, U8),
	FIELD_ARRAY(struct gicv3, gicd_irouter, U64),
	FIELD_ARRAY(struct gicv3, gicd_nsacr, U32),
	{ .name = "cpu",
	  .type = STATE_STRUCT,
	  .offset = offsetof(struct gicv3, cpu),
	  .size = sizeof(struct gicv3_cpu),
	  .count = MAX_CPUS,
	  .count_offset = offsetof(struct gicv3, num_cpu),
	  .count_size = 4,
	  .pointer = true,
	  .desc = &cpu_desc },
	FIELD_END,
};

const struct state_desc gicv3_state_desc = {
	.name = "arm_gicv3",
	.version = 1,
	.min_version = 1,
	.priority = STATE_PRIO_GICV3,
	.fields = gicv3_state_fields,
	.subsections = gicv3_state_subsections,
	.post_load = post_load,
};

/*
 * hw/intc/gicv3-priv.h - what the parts of the GICv3 share.
 *
 * One security state (GICD_CTLR.DS is RAO), affinity routing always on, five bits of priority.
 * Names of members that migrate are those on the wire.
 */
#ifndef HW_INTC_GICV3_PRIV_H
#define HW_INTC_GICV3_PRIV_H

#include "hw/intc/arm-gicv3.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "target/arm/irq.h"

#define GIC_MAX_IRQ   1020 /* INTIDs below are SGIs, PPIs and SPIs */
#define GIC_SPURIOUS  1023
#define GIC_LIST_REGS 16
#define GIC_FIRST_LPI 8192
#define GIC_ID_BITS   16 /* of INTIDs, LPIs included */
#define GIC_NO_CPU    0xffff
#define GIC_PRIO_BITS 5
#define GIC_PRIO_MASK 0xf8u
#define GIC_IDLE_PRIO 0xff /* running priority when nothing is active */
#define GIC_MIN_BPR0  2    /* 7 - GIC_PRIO_BITS */
#define GIC_MIN_BPR1  3
#define GIC_AFFINITY  0xff00ffffffull /* bits of MPIDR_EL1 */

/* Index of per-group arrays; GIC_G1S exists on the wire only. */
enum gic_group { GIC_G0, GIC_G1S, GIC_G1, GIC_GROUPS };
/* Index of banked registers by security state; the first exists on the wire only. */
enum { GIC_S, GIC_NS };

#define GICD_CTLR_GRP0 (1u << 0)
#define GICD_CTLR_GRP1 (1u << 1)
#define GICD_CTLR_ARE  (1u << 4)
#define GICD_CTLR_DS   (1u << 6)

#define ICC_CTLR_CBPR    (1u << 0)
#define ICC_CTLR_EOIMODE (1u << 1)

/* The interrupt that a CPU would take next, whatever its priority mask. */
struct gic_pending {
	u32 intid; /* GIC_SPURIOUS: none */
	u8 prio;   /* GIC_IDLE_PRIO if none */
	u8 group;  /* enum gic_group */
};

struct gicv3;

/* Redistributor and CPU interface of one CPU. */
struct gicv3_cpu {
	struct gicv3 *gic;
	struct arm_cpu *cpu; /* NULL: not attached (tests of the registers) */
	unsigned index;
	u64 affinity; /* GIC_AFFINITY bits */
	bool last;    /* of its region */
	struct mapping frames;

	/* Redistributor. Bit n is INTID n. */
	u32 level; /* inputs of PPIs */
	u32 gicr_ctlr, gicr_statusr[2], gicr_waker;
	u64 gicr_propbaser, gicr_pendbaser;
	u32 gicr_igroupr0, gicr_ienabler0;
	u32 gicr_ipendr0; /* latched; a level-sensitive one is also pending by its input */
	u32 gicr_iactiver0;
	u32 edge_trigger; /* bit n: INTID n is edge-triggered */
	u32 gicr_igrpmodr0, gicr_nsacr;
	u8 gicr_ipriorityr[ARM_GIC_INTERNAL];
	u32 gicr_inmir0; /* wire only */

	/* CPU interface. */
	u64 icc_sre_el1; /* wire only */
	u64 icc_ctlr_el1[2], icc_pmr_el1;
	u64 icc_bpr[GIC_GROUPS], icc_apr[GIC_GROUPS][4], icc_igrpen[GIC_GROUPS];
	u64 icc_ctlr_el3; /* wire only */

	/* List registers and virtual CPU interface; see gicv3-virt.c. */
	u64 ich_apr[GIC_GROUPS][4], ich_hcr_el2, ich_lr_el2[GIC_LIST_REGS], ich_vmcr_el2;
	bool virq_line, vfiq_line;

	/* LPIs; see gicv3-lpi.c. */
	u64 *lpi_pending; /* a bit for each INTID, as in the table in memory; NULL: no LPIs */
	unsigned lpi_count;
	struct gic_pending lpi_next; /* the highest that is enabled */

	/* Derived. */
	u32 routed[32]; /* bit n of word w: SPI 32w + n is routed here */
	struct gic_pending next;
	bool irq_line, fiq_line;
};

struct gicv3 {
	struct device dev;
	u32 num_cpu, num_irq; /* num_irq: INTIDs that are not LPIs */
	bool has_lpi;
	u64 dist_base;
	struct arm_vgic *vgic; /* the kernel's; NULL: emulated */

	/*
	 * Guards everything below and in the CPUs' structs. Taken by vCPUs in system registers and
	 * (under the machine lock) MMIO, by devices that drive inputs, by timers. A leaf: what is
	 * called with it held takes no lock.
	 */
	GMutex lock;
	struct gicv3_cpu *cpu;
	struct mapping dist;

	/* Distributor. Bit n of word w is INTID 32w + n; word 0 is unused. */
	u32 gicd_ctlr, gicd_statusr[2];
	u32 group[32], grpmod[32], enabled[32];
	u32 pending[32]; /* latched, as gicr_ipendr0 */
	u32 active[32], level[32], edge_trigger[32], nmi[32];
	u8 gicd_ipriority[GIC_MAX_IRQ];
	u64 gicd_irouter[GIC_MAX_IRQ];
	u32 gicd_nsacr[64];
	bool gicd_no_migration_shift_bug;

	u16 target[GIC_MAX_IRQ]; /* derived: index of the CPU an SPI is routed to, GIC_NO_CPU */
};

/* All functions below: gic->lock held. */

/* gic_update() - find the CPU's next interrupt and drive its lines. gic_update_all() - of all CPUs;
 * gic_update_irq() - of the CPU that an SPI is routed to. */
void gic_update(struct gicv3_cpu *c);
void gic_update_all(struct gicv3 *g);
void gic_update_irq(struct gicv3 *g, unsigned intid);

/* gic_route() - find the CPU for an SPI from its GICD_IROUTER. gic_route_all() - of all SPIs. */
void gic_route(struct gicv3 *g, unsigned intid);
void gic_route_all(struct gicv3 *g);

/* gic_pending_word() - interrupts 32w to 32w + 31 that are pending, by latch or input; @w >= 1. */
static inline u32 gic_pending_word(const struct gicv3 *g, unsigned w)
{
	return g->pending[w] | (g->level[w] & ~g->edge_trigger[w]);
}

static inline u32 gic_pending_internal(const struct gicv3_cpu *c)
{
	return c->gicr_ipendr0 | (c->level & ~c->edge_trigger);
}

/* gic_running_priority() - group priority of the highest active interrupt; GIC_IDLE_PRIO: none. */
u8 gic_running_priority(const struct gicv3_cpu *c);

/* gic_can_take() - whether c->next is signalled to the CPU: above its mask, and preempts. */
bool gic_can_take(const struct gicv3_cpu *c);

/* gic_acknowledge() - the CPU takes c->next. Return: its INTID. */
unsigned gic_acknowledge(struct gicv3_cpu *c);

/* gic_drop_priority() - the highest active priority of a group ends. Return: false if the highest
 * of all belongs to another group. */
bool gic_drop_priority(struct gicv3_cpu *c, enum gic_group group);

/* gic_deactivate() - an interrupt is not active any more. INTIDs that cannot be are ignored. */
void gic_deactivate(struct gicv3_cpu *c, unsigned intid);

/* gic_send_sgi() - SGI @sgi becomes pending at a CPU if it is in that group. */
void gic_send_sgi(struct gicv3_cpu *c, unsigned sgi, enum gic_group group);

/*
 * gicv3-lpi.c: LPIs. Numbers that do not exist, or are out of the tables, are ignored; the caller
 * calls gic_update() for the CPU afterwards.
 *
 * gic_lpi_set() - becomes pending or not; gic_lpi_is_pending().
 * gic_lpi_reconfigured() - the configuration table in memory changed.
 * gic_lpi_enable() - GICR_CTLR.EnableLPIs was written, or arrived with a migration.
 */
void gic_lpi_set(struct gicv3_cpu *c, unsigned intid, bool pending);
bool gic_lpi_is_pending(const struct gicv3_cpu *c, unsigned intid);
void gic_lpi_reconfigured(struct gicv3_cpu *c);
void gic_lpi_enable(struct gicv3_cpu *c, bool zeroed);

#define GICR_CTLR_LPIS     (1u << 0)
#define GICR_CTLR_CES      (1u << 1) /* EnableLPIs can be cleared again */
#define GICR_PENDBASER_PTZ (1ull << 62)

/*
 * gic_guest_ram() - host address of a piece of guest RAM that a table of the guest's lies in.
 *
 * Return: NULL if it is not all RAM. gic_guest_wrote() - it was written.
 */
struct gic_ram {
	u8 *host;
	struct ramblock *block;
	u64 offset;
};
bool gic_guest_ram(const struct gicv3 *g, u64 gpa, u64 len, bool write, struct gic_ram *ram);
void gic_guest_wrote(const struct gic_ram *ram, u64 len);

/* gic_drive() - set an interrupt line of the CPU; @line: its level as last driven. */
void gic_drive(struct gicv3_cpu *c, bool *line, enum arm_irq_line which, bool level);

/*
 * gicv3-virt.c: what a guest's accesses to the CPU interface do, below EL2. The functions are those
 * of the physical interface, on list registers and ICH_VMCR_EL2.
 */
enum gic_virtual_reg { GIC_V_PMR, GIC_V_BPR, GIC_V_IGRPEN, GIC_V_CTLR, GIC_V_APR, GIC_V_RPR };
unsigned gic_virtual_acknowledge(struct gicv3_cpu *c, enum gic_group group);
unsigned gic_virtual_pending(const struct gicv3_cpu *c, enum gic_group group);
void gic_virtual_end(struct gicv3_cpu *c, enum gic_group group, u32 intid);
void gic_virtual_deactivate(struct gicv3_cpu *c, u32 intid);
u64 gic_virtual_read(const struct gicv3_cpu *c, enum gic_virtual_reg reg, enum gic_group group);
void gic_virtual_write(struct gicv3_cpu *c, enum gic_virtual_reg reg, enum gic_group group,
		       u64 val);

/* gic_update_virtual() - drive the virtual lines and the maintenance interrupt, then gic_update().
 * gic_reset_virtual() - power-on state; gic_add_ich_registers() - EL2's registers. */
void gic_update_virtual(struct gicv3_cpu *c);
void gic_reset_virtual(struct gicv3_cpu *c);
void gic_add_ich_registers(struct gicv3_cpu *c);

/* gic_reset_interface() - power-on state of the CPU interface. */
void gic_reset_interface(struct gicv3_cpu *c);

/* gicv3-icc.c: give an attached CPU its system registers. */
void gic_add_icc_registers(struct gicv3_cpu *c);

/* MMIO of the distributor (opaque: struct gicv3) and of redistributors (struct gicv3_cpu). */
extern const struct mmio_ops gicv3_dist_ops, gicv3_redist_ops;

/* Identification registers at the end of every frame; 0 elsewhere. */
u32 gicv3_id_register(u32 offset);

/* The value of GICD_IIDR and GICR_IIDR: implementer Arm. */
#define GICV3_IIDR 0x43b

/* gicv3-state.c: what travels. gicv3_check_loaded() - 0, or -EINVAL with @err if a stream has what
 * this controller has not. */
extern const struct state_desc gicv3_state_desc;
extern const struct state_field gicv3_state_fields[];
extern const struct state_desc *const gicv3_state_subsections[];
int gicv3_check_loaded(const struct gicv3 *g, GError **err);

/* gicv3.c: what the emulated controller and the kernel's share. gicv3_configure() - sizes, CPUs and
 * addresses; gicv3_free_cpus(). The others set power-on values in the struct. */
extern const struct property gicv3_props[];
void gicv3_configure(struct gicv3 *g, const struct arm_gicv3_config *config);
void gicv3_free_cpus(struct gicv3 *g);
void gic_reset_distributor(struct gicv3 *g);
void gic_reset_redistributor(struct gicv3_cpu *c);

#endif

/*
 * hw/intc/gicv2-priv.h - what the parts of the GICv2 share.
 *
 * Names of members that migrate are those on the wire.
 */
#ifndef HW_INTC_GICV2_PRIV_H
#define HW_INTC_GICV2_PRIV_H

#include "hw/intc/arm-gicv2.h"
#include "memory/address-space.h"
#include "migration/state.h"
#include "target/arm/irq.h"

#define GICV2_MAX_IRQ   1020
#define GICV2_INTERNAL  32 /* INTIDs of SGIs and PPIs */
#define GICV2_SGIS      16
#define GICV2_IDLE_PRIO 0x100 /* running priority when nothing is active */
#define GICV2_NONE      1023  /* spurious INTID */
#define GICV2_OTHER     1022  /* there is one, of group 1 */
#define GICV2_MIN_ABPR  1
#define GICV2_ALL_CPUS  0xff

#define GICD_CTLR_RW 3u /* EnableGrp0, EnableGrp1 */

#define GICC_CTLR_GRP0    (1u << 0)
#define GICC_CTLR_GRP1    (1u << 1)
#define GICC_CTLR_ACKCTL  (1u << 2)
#define GICC_CTLR_FIQEN   (1u << 3)
#define GICC_CTLR_CBPR    (1u << 4)
#define GICC_CTLR_EOIMODE (1u << 9)
#define GICC_CTLR_RW      0x21fu

#define GICV2_CPU_IIDR 0x2043b /* architecture version 2, implementer Arm */

#define GICV2_LIST_REGS 4
#define GICV2_WIRE_LRS  64 /* as many as the architecture could have */
#define GICV2_VIRT_PRIO 0xf8u
#define GICV2_MIN_VBPR  2
#define GICV2_MIN_VABPR 3

/*
 * One INTID. Bytes have a bit for each CPU; those of an SPI are GICV2_ALL_CPUS or 0.
 */
struct gicv2_irq {
	u8 enabled;
	u8 pending; /* latched; a level-sensitive one is also pending by its input */
	u8 active, level;
	bool model; /* wire only: 1-N */
	bool edge_trigger;
	u8 group;
};

/* The interrupt that a CPU would take next, whatever its priority mask. */
struct gicv2_next {
	u16 intid; /* GICV2_NONE */
	u16 prio;  /* GICV2_IDLE_PRIO if none */
	bool group1;
};

struct gicv2 {
	struct device dev;
	u32 num_cpu, num_irq;
	u64 dist_base, cpu_base, hyp_base,
		vcpu_base;                   /* the last two 0: no Virtualization Extensions */
	struct arm_cpu *cpu[ARM_GICV2_CPUS]; /* NULL: not attached */
	struct mapping dist, interface, hyp, vcpu;

	/* Guards all below; a leaf, as that of the GICv3. */
	GMutex lock;

	u32 ctlr;
	u32 cpu_ctlr[ARM_GICV2_CPUS];
	struct gicv2_irq irq_state[GICV2_MAX_IRQ];
	u8 irq_target[GICV2_MAX_IRQ]; /* bit for each CPU; not used by SGIs and PPIs */
	u8 priority1[GICV2_INTERNAL][ARM_GICV2_CPUS];
	u8 priority2[GICV2_MAX_IRQ - GICV2_INTERNAL];
	u8 sgi_pending[GICV2_SGIS][ARM_GICV2_CPUS]; /* [target]: bit for each sender */
	u16 priority_mask[ARM_GICV2_CPUS];
	u16 running_priority[ARM_GICV2_CPUS]; /* derived from apr and nsapr */
	u16 current_pending[ARM_GICV2_CPUS];  /* wire only: next[].intid */
	u8 bpr[ARM_GICV2_CPUS], abpr[ARM_GICV2_CPUS];
	/* Active group priorities of group 0 and 1: bit n of 128 is priority 2n. */
	u32 apr[4][ARM_GICV2_CPUS], nsapr[4][ARM_GICV2_CPUS];

	/* List registers and virtual CPU interfaces; see gicv2-virt.c. */
	u32 h_hcr[ARM_GICV2_CPUS], h_lr[GICV2_WIRE_LRS][ARM_GICV2_CPUS], h_apr[ARM_GICV2_CPUS];
	u32 v_ctlr[ARM_GICV2_CPUS];
	u16 v_priority_mask[ARM_GICV2_CPUS];
	u8 v_bpr[ARM_GICV2_CPUS], v_abpr[ARM_GICV2_CPUS];
	u32 h_misr[ARM_GICV2_CPUS]; /* wire only, as the next two: they follow from the others */
	u16 v_running_priority[ARM_GICV2_CPUS], v_current_pending[ARM_GICV2_CPUS];

	/* Derived. */
	u32 ready[ARM_GICV2_CPUS][32]; /* bit n of word w: INTID 32w + n could be taken */
	struct gicv2_next next[ARM_GICV2_CPUS];
	bool irq_line[ARM_GICV2_CPUS], fiq_line[ARM_GICV2_CPUS];
	bool virq_line[ARM_GICV2_CPUS], vfiq_line[ARM_GICV2_CPUS];
};

/* All functions below: g->lock held. */

/* gicv2_mask() - the bits of struct gicv2_irq that are meant when @cpu accesses @intid. */
static inline u8 gicv2_mask(unsigned intid, unsigned cpu)
{
	return intid < GICV2_INTERNAL ? 1u << cpu : GICV2_ALL_CPUS;
}

/* gicv2_targets() - CPUs that an SPI goes to. */
static inline u8 gicv2_targets(const struct gicv2 *g, unsigned intid)
{
	return g->num_cpu == 1 ? 1 : g->irq_target[intid];
}

/* gicv2_is_pending() - by latch or input, for one of @mask. */
static inline bool gicv2_is_pending(const struct gicv2_irq *irq, u8 mask)
{
	return (irq->pending | (irq->edge_trigger ? 0 : irq->level)) & mask;
}

/* gicv2_priority() - where the priority of an interrupt is kept. */
static inline u8 *gicv2_priority(struct gicv2 *g, unsigned intid, unsigned cpu)
{
	return intid < GICV2_INTERNAL ? &g->priority1[intid][cpu]
				      : &g->priority2[intid - GICV2_INTERNAL];
}

/* gicv2_changed() - an interrupt's state changed: to be followed by gicv2_update() of the CPUs that
 * it goes to, or gicv2_update_all(). */
void gicv2_changed(struct gicv2 *g, unsigned intid);
void gicv2_update(struct gicv2 *g, unsigned cpu);
void gicv2_update_all(struct gicv2 *g);

/* gicv2_rebuild() - everything that is derived, after a reset or a migration. */
void gicv2_rebuild(struct gicv2 *g);

/* gicv2_can_take() - whether next[cpu] is signalled: enabled, above the mask, and preempts. */
bool gicv2_can_take(const struct gicv2 *g, unsigned cpu);

/* gicv2_acknowledge() - the CPU takes next[cpu]. Return: as in GICC_IAR, with an SGI's sender. */
u32 gicv2_acknowledge(struct gicv2 *g, unsigned cpu);

/* gicv2_drop_priority() - the highest active priority ends, if it is of that group. */
bool gicv2_drop_priority(struct gicv2 *g, unsigned cpu, bool group1);
void gicv2_deactivate(struct gicv2 *g, unsigned cpu, unsigned intid);

/* gicv2_send_sgi() - SGI @sgi of @sender becomes pending at @target; gicv2_clear_sgi() - the
 * SGIs of @senders are not pending any more. */
void gicv2_send_sgi(struct gicv2 *g, unsigned sgi, unsigned sender, unsigned target);
void gicv2_clear_sgi(struct gicv2 *g, unsigned sgi, u8 senders, unsigned target);

/* gicv2_set_input() - level of the input of an interrupt, for the CPUs of @mask; to be followed by
 * gicv2_update(). gicv2_drive() - set an interrupt line of the CPU; @line: as last driven. */
void gicv2_set_input(struct gicv2 *g, unsigned intid, u8 mask, bool level);
void gicv2_drive(struct gicv2 *g, unsigned cpu, bool *line, enum arm_irq_line which, bool level);

/*
 * gicv2-virt.c, for a controller with Virtualization Extensions.
 *
 * gicv2_update_virtual() - drive the virtual lines and the maintenance interrupt, then
 * gicv2_update(). gicv2_reset_virtual() - power-on state. gicv2_save_virtual() - what only the wire
 * has. gicv2_limit_virtual() - registers that came over it hold no more than they can.
 */
void gicv2_update_virtual(struct gicv2 *g, unsigned cpu);
void gicv2_reset_virtual(struct gicv2 *g);
void gicv2_save_virtual(struct gicv2 *g);
void gicv2_limit_virtual(struct gicv2 *g);

/* gicv2_this_cpu() - the CPU whose access this is; 0 for accesses of no CPU. */
unsigned gicv2_this_cpu(const struct gicv2 *g);

/* MMIO; opaque: struct gicv2. */
extern const struct mmio_ops gicv2_dist_ops, gicv2_cpu_ops, gicv2_hyp_ops, gicv2_vcpu_ops;

extern const struct state_desc gicv2_state_desc; /* gicv2-state.c */

#endif

/*
 * hw/intc/gicv3-virt.c - list registers and the virtual CPU interface (Arm IHI 0069H, chapter 6).
 *
 * The hypervisor's side are the ICH registers, the guest's the ICV ones, which have the names of
 * the ICC registers at EL1 while HCR_EL2 routes interrupts to EL2.
 */
#include "hw/intc/gicv3-priv.h"

#include "target/arm/cpu.h"
#include "target/arm/irq.h"
#include "target/arm/sysreg.h"

#define HCR_EN       (1u << 0)
#define HCR_UIE      (1u << 1)
#define HCR_EOICOUNT (1ull << 27) /* one of the five-bit counter */
#define HCR_EOIS     (31ull << 27)
#define HCR_BITS     (HCR_EOIS | 0x7cff)
#define VTR          0x90b80000u /* 5 bits of priority and preemption, 24 of INTID, A3V, nV4, TDS */
#define VMCR_RESET   0x4c0008u
#define VMCR_VENG0   (1u << 0)
#define VMCR_VFIQEN  (1u << 3)
#define VMCR_VCBPR   (1u << 4)
#define VMCR_VEOIM   (1u << 9)
#define VMCR_BPR1_AT 18
#define VMCR_BPR0_AT 21
#define VMCR_PMR_AT  24
#define LR_PENDING   (1ull << 62)
#define LR_ACTIVE    (1ull << 63)
#define LR_STATE     (LR_PENDING | LR_ACTIVE)
#define LR_HW        (1ull << 61)
#define LR_GROUP1    (1ull << 60)
#define LR_EOI       (1ull << 41) /* of one that is not hardware's: tell when it ends */
#define LR_BITS      0xf0ff1fffffffffffull
#define MAINTENANCE  25 /* INTID */

enum { MISR_EOI = 1, MISR_U = 2, MISR_LRENP = 4, MISR_NP = 8 };

static unsigned lr_prio(u64 lr)
{
	return lr >> 48 & GIC_PRIO_MASK;
}

static enum gic_group lr_group(u64 lr)
{
	return lr & LR_GROUP1 ? GIC_G1 : GIC_G0;
}

/* The pending list register of highest priority whose group is on; -1: none. */
static int find_next(const struct gicv3_cpu *c)
{
	int best = -1;

	for (int n = 0; n < GIC_LIST_REGS; n++) {
		u64 lr = c->ich_lr_el2[n];
		u64 on = VMCR_VENG0 << (lr & LR_GROUP1 ? 1 : 0);

		if ((lr & LR_STATE) == LR_PENDING && c->ich_vmcr_el2 & on &&
		    (best < 0 || lr_prio(lr) < lr_prio(c->ich_lr_el2[best])))
			best = n;
	}
	return best;
}

static u8 group_mask(const struct gicv3_cpu *c, enum gic_group group)
{
	unsigned bpr0 = c->ich_vmcr_el2 >> VMCR_BPR0_AT & 7;
	unsigned bpr1 = c->ich_vmcr_el2 >> VMCR_BPR1_AT & 7;

	return 0xff << ((group == GIC_G0 || c->ich_vmcr_el2 & VMCR_VCBPR ? bpr0 : bpr1 - 1) + 1);
}

static u8 running_priority(const struct gicv3_cpu *c)
{
	u32 active = c->ich_apr[GIC_G0][0] | c->ich_apr[GIC_G1][0];

	return active ? __builtin_ctz(active) << (8 - GIC_PRIO_BITS) : GIC_IDLE_PRIO;
}

static bool can_take(const struct gicv3_cpu *c, int n)
{
	unsigned prio, mask, running = running_priority(c);

	if (n < 0 || !(c->ich_hcr_el2 & HCR_EN))
		return false;
	prio = lr_prio(c->ich_lr_el2[n]);
	mask = group_mask(c, lr_group(c->ich_lr_el2[n]));
	return prio < (c->ich_vmcr_el2 >> VMCR_PMR_AT & 0xff) &&
	       (running == GIC_IDLE_PRIO || (prio & mask) < (running & mask));
}

/* ---- maintenance ---- */

/* Bit n: list register n holds nothing more, and its end is to be told. */
static u32 ended(const struct gicv3_cpu *c)
{
	u32 val = 0;

	for (unsigned n = 0; n < GIC_LIST_REGS; n++)
		if ((c->ich_lr_el2[n] & (LR_STATE | LR_HW | LR_EOI)) == LR_EOI)
			val |= 1u << n;
	return val;
}

static u32 empty(const struct gicv3_cpu *c)
{
	u32 val = 0;

	for (unsigned n = 0; n < GIC_LIST_REGS; n++) {
		u64 lr = c->ich_lr_el2[n];

		if (!(lr & LR_STATE) && (lr & LR_HW || !(lr & LR_EOI)))
			val |= 1u << n;
	}
	return val;
}

/* Bits 4 to 7 tell that a group is on or off, and are asked for in the same places of HCR. */
static u32 maintenance(const struct gicv3_cpu *c)
{
	u64 hcr = c->ich_hcr_el2, vmcr = c->ich_vmcr_el2;
	unsigned used = 0, pending = 0;
	u32 groups = 0, val = ended(c) ? MISR_EOI : 0;

	for (unsigned n = 0; n < GIC_LIST_REGS; n++) {
		used += !!(c->ich_lr_el2[n] & LR_STATE);
		pending += (c->ich_lr_el2[n] & LR_STATE) == LR_PENDING;
	}
	if (hcr & HCR_UIE && used <= 1)
		val |= MISR_U;
	if (hcr & MISR_LRENP && hcr & HCR_EOIS)
		val |= MISR_LRENP;
	if (hcr & MISR_NP && !pending)
		val |= MISR_NP;
	groups |= vmcr & 1 ? 1u << 4 : 1u << 5;
	groups |= vmcr & 2 ? 1u << 6 : 1u << 7;
	return val | (groups & hcr);
}

void gic_update_virtual(struct gicv3_cpu *c)
{
	int n = find_next(c);
	bool take = can_take(c, n), fiq;
	u32 bit = 1u << MAINTENANCE;

	fiq = take && lr_group(c->ich_lr_el2[n]) == GIC_G0 && c->ich_vmcr_el2 & VMCR_VFIQEN;
	gic_drive(c, &c->vfiq_line, ARM_LINE_VFIQ, fiq);
	gic_drive(c, &c->virq_line, ARM_LINE_VIRQ, take && !fiq);
	c->level = c->ich_hcr_el2 & HCR_EN && maintenance(c) ? c->level | bit : c->level & ~bit;
	gic_update(c);
}

/* ---- the guest's side ---- */

unsigned gic_virtual_acknowledge(struct gicv3_cpu *c, enum gic_group group)
{
	int n = find_next(c);
	u64 *lr = &c->ich_lr_el2[MAX(n, 0)];
	unsigned prio;

	if (!can_take(c, n) || lr_group(*lr) != group)
		return GIC_SPURIOUS;
	prio = lr_prio(*lr) & group_mask(c, group);
	c->ich_apr[group][0] |= 1u << (prio >> (8 - GIC_PRIO_BITS));
	*lr &= ~LR_STATE;
	if ((u32)*lr < GIC_FIRST_LPI) /* LPIs have no active state */
		*lr |= LR_ACTIVE;
	gic_update_virtual(c);
	return (u32)*lr;
}

unsigned gic_virtual_pending(const struct gicv3_cpu *c, enum gic_group group)
{
	int n = find_next(c);

	return n >= 0 && lr_group(c->ich_lr_el2[n]) == group ? (u32)c->ich_lr_el2[n] : GIC_SPURIOUS;
}

/* The end of an interrupt that no list register holds is counted for the hypervisor. */
static void deactivate(struct gicv3_cpu *c, u32 intid)
{
	for (unsigned n = 0; n < GIC_LIST_REGS; n++) {
		u64 *lr = &c->ich_lr_el2[n];

		if ((u32)*lr != intid || !(*lr & LR_ACTIVE))
			continue;
		*lr &= ~LR_ACTIVE;
		if (*lr & LR_HW)
			gic_deactivate(c, *lr >> 32 & 0x1fff);
		return;
	}
	if (intid < GIC_FIRST_LPI && (c->ich_hcr_el2 & HCR_EOIS) != HCR_EOIS)
		c->ich_hcr_el2 += HCR_EOICOUNT;
}

void gic_virtual_end(struct gicv3_cpu *c, enum gic_group group, u32 intid)
{
	u64 *apr = &c->ich_apr[group][0], other = c->ich_apr[GIC_G0 + GIC_G1 - group][0];
	u64 lowest = *apr & -*apr;

	if (!*apr || (other && (other & -other) < lowest))
		return;
	*apr &= ~lowest;
	if (!(c->ich_vmcr_el2 & VMCR_VEOIM))
		deactivate(c, intid);
	gic_update_virtual(c);
}

void gic_virtual_deactivate(struct gicv3_cpu *c, u32 intid)
{
	if (c->ich_vmcr_el2 & VMCR_VEOIM)
		deactivate(c, intid);
	gic_update_virtual(c);
}

u64 gic_virtual_read(const struct gicv3_cpu *c, enum gic_virtual_reg reg, enum gic_group group)
{
	u64 vmcr = c->ich_vmcr_el2;

	switch (reg) {
	case GIC_V_PMR: return vmcr >> VMCR_PMR_AT & 0xff;
	case GIC_V_BPR:
		if (group == GIC_G0)
			return vmcr >> VMCR_BPR0_AT & 7;
		return vmcr & VMCR_VCBPR ? MIN((vmcr >> VMCR_BPR0_AT & 7) + 1, 7)
					 : vmcr >> VMCR_BPR1_AT & 7;
	case GIC_V_IGRPEN: return vmcr >> (group == GIC_G1) & 1;
	case GIC_V_CTLR:
		return 0x8c00 | (vmcr & VMCR_VCBPR ? ICC_CTLR_CBPR : 0) |
		       (vmcr & VMCR_VEOIM ? ICC_CTLR_EOIMODE : 0);
	case GIC_V_APR: return c->ich_apr[group][0];
	case GIC_V_RPR: return running_priority(c);
	}
	g_assert_not_reached();
}

static void set_field(u64 *vmcr, unsigned at, u64 mask, u64 val)
{
	*vmcr = (*vmcr & ~(mask << at)) | (val & mask) << at;
}

void gic_virtual_write(struct gicv3_cpu *c, enum gic_virtual_reg reg, enum gic_group group, u64 val)
{
	u64 *vmcr = &c->ich_vmcr_el2;

	switch (reg) {
	case GIC_V_PMR: set_field(vmcr, VMCR_PMR_AT, 0xff, val & GIC_PRIO_MASK); break;
	case GIC_V_BPR:
		if (group == GIC_G0)
			set_field(vmcr, VMCR_BPR0_AT, 7, MAX(val & 7, GIC_MIN_BPR0));
		else if (!(*vmcr & VMCR_VCBPR))
			set_field(vmcr, VMCR_BPR1_AT, 7, MAX(val & 7, GIC_MIN_BPR1));
		break;
	case GIC_V_IGRPEN: set_field(vmcr, group == GIC_G1, 1, val); break;
	case GIC_V_CTLR:
		set_field(vmcr, 4, 1, val);
		set_field(vmcr, 9, 1, val >> 1);
		break;
	case GIC_V_APR: c->ich_apr[group][0] = (u32)val; break;
	case GIC_V_RPR: break;
	}
	gic_update_virtual(c);
}

/* ---- the hypervisor's side; on the vCPU's thread ---- */

enum ich { ICH_HCR, ICH_VTR, ICH_MISR, ICH_EISR, ICH_ELRSR, ICH_VMCR };

static u64 read_ich(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	struct gicv3_cpu *c = cpu->icc;
	u64 val = 0;

	g_mutex_lock(&c->gic->lock);
	switch ((enum ich)(uintptr_t)reg->opaque) {
	case ICH_HCR: val = c->ich_hcr_el2; break;
	case ICH_VTR: val = VTR | (GIC_LIST_REGS - 1); break;
	case ICH_MISR: val = maintenance(c); break;
	case ICH_EISR: val = ended(c); break;
	case ICH_ELRSR: val = empty(c); break;
	case ICH_VMCR: val = c->ich_vmcr_el2; break;
	}
	g_mutex_unlock(&c->gic->lock);
	return val;
}

static void write_vmcr(struct gicv3_cpu *c, u64 val)
{
	u64 *vmcr = &c->ich_vmcr_el2;

	*vmcr = val & (0x21bu | GIC_PRIO_MASK << VMCR_PMR_AT);
	set_field(vmcr, VMCR_BPR0_AT, 7, MAX(val >> VMCR_BPR0_AT & 7, GIC_MIN_BPR0));
	set_field(vmcr, VMCR_BPR1_AT, 7, MAX(val >> VMCR_BPR1_AT & 7, GIC_MIN_BPR1));
}

static void write_ich(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = cpu->icc;

	g_mutex_lock(&c->gic->lock);
	if ((enum ich)(uintptr_t)reg->opaque == ICH_HCR)
		c->ich_hcr_el2 = val & HCR_BITS;
	else
		write_vmcr(c, val);
	gic_update_virtual(c);
	g_mutex_unlock(&c->gic->lock);
}

static u64 read_lr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->ich_lr_el2[(uintptr_t)reg->opaque]; /* only this thread changes it */
}

static void write_lr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = cpu->icc;

	g_mutex_lock(&c->gic->lock);
	c->ich_lr_el2[(uintptr_t)reg->opaque] = val & LR_BITS;
	gic_update_virtual(c);
	g_mutex_unlock(&c->gic->lock);
}

static u64 read_ich_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg)
{
	return cpu->icc->ich_apr[(uintptr_t)reg->opaque][0];
}

static void write_ich_apr(struct arm_cpu *cpu, const struct arm_sysreg *reg, u64 val)
{
	struct gicv3_cpu *c = cpu->icc;

	g_mutex_lock(&c->gic->lock);
	c->ich_apr[(uintptr_t)reg->opaque][0] = (u32)val;
	gic_update_virtual(c);
	g_mutex_unlock(&c->gic->lock);
}

#define ICH(crm, op2, wel, name, rd, wr, which)                                                    \
	{                                                                                          \
		SYSREG(3, 4, 12, crm, op2), 2, wel, 0, name, rd, wr, (void *)(uintptr_t)(which),   \
			NULL                                                                       \
	}
#define ICH_RO(op2, name, which) ICH(11, op2, SYSREG_NONE, name, read_ich, NULL, which)
#define LR_AT(n, name)           ICH(12 + (n) / 8, (n) % 8, 2, name, read_lr, write_lr, n)
#define ICH_LR(n)                LR_AT(n, "ICH_LR" #n "_EL2")

static const struct arm_sysreg ich_regs[] = {
	ICH(8, 0, 2, "ICH_AP0R0_EL2", read_ich_apr, write_ich_apr, GIC_G0),
	ICH(9, 0, 2, "ICH_AP1R0_EL2", read_ich_apr, write_ich_apr, GIC_G1),
	ICH(11, 0, 2, "ICH_HCR_EL2", read_ich, write_ich, ICH_HCR),
	ICH_RO(1, "ICH_VTR_EL2", ICH_VTR),
	ICH_RO(2, "ICH_MISR_EL2", ICH_MISR),
	ICH_RO(3, "ICH_EISR_EL2", ICH_EISR),
	ICH_RO(5, "ICH_ELRSR_EL2", ICH_ELRSR),
	ICH(11, 7, 2, "ICH_VMCR_EL2", read_ich, write_ich, ICH_VMCR),
	ICH_LR(0),
	ICH_LR(1),
	ICH_LR(2),
	ICH_LR(3),
	ICH_LR(4),
	ICH_LR(5),
	ICH_LR(6),
	ICH_LR(7),
	ICH_LR(8),
	ICH_LR(9),
	ICH_LR(10),
	ICH_LR(11),
	ICH_LR(12),
	ICH_LR(13),
	ICH_LR(14),
	ICH_LR(15),
};

void gic_reset_virtual(struct gicv3_cpu *c)
{
	memset(c->ich_apr, 0, sizeof(c->ich_apr));
	memset(c->ich_lr_el2, 0, sizeof(c->ich_lr_el2));
	c->ich_hcr_el2 = 0;
	c->ich_vmcr_el2 = VMCR_RESET;
}

void gic_add_ich_registers(struct gicv3_cpu *c)
{
	arm_sysreg_add(c->cpu, ich_regs, ARRAY_SIZE(ich_regs));
}

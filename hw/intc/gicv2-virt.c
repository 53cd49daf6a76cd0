/*
 * hw/intc/gicv2-virt.c - list registers and virtual CPU interfaces (Arm IHI 0048B.b, chapter 5).
 *
 * GICH registers are the hypervisor's side. GICV ones are the guest's, who has them in the place of
 * the physical interface. A CPU's accesses go to its own.
 */
#include "hw/intc/gicv2-priv.h"

#include "target/arm/irq.h"
#include "util/log.h"

enum {
	GICH_HCR = 0x000,
	GICH_VTR = 0x004,
	GICH_VMCR = 0x008,
	GICH_MISR = 0x010,
	GICH_EISR0 = 0x020,
	GICH_ELRSR0 = 0x030,
	GICH_APR = 0x0f0,
	GICH_LR = 0x100,
	GICH_LR_END = GICH_LR + 4 * GICV2_LIST_REGS,

	GICV_CTLR = 0x00,
	GICV_PMR = 0x04,
	GICV_BPR = 0x08,
	GICV_IAR = 0x0c,
	GICV_EOIR = 0x10,
	GICV_RPR = 0x14,
	GICV_HPPIR = 0x18,
	GICV_ABPR = 0x1c,
	GICV_AIAR = 0x20,
	GICV_AEOIR = 0x24,
	GICV_AHPPIR = 0x28,
	GICV_APR = 0xd0,
	GICV_IIDR = 0xfc,
	GICV_DIR = 0x1000,
};

#define HCR_EN       (1u << 0)
#define HCR_UIE      (1u << 1)
#define HCR_EOICOUNT (1u << 27) /* one of the five-bit counter */
#define HCR_EOIS     (31u << 27)
#define HCR_BITS     (HCR_EOIS | 0xff)
#define VTR          (0x90000000u | (GICV2_LIST_REGS - 1)) /* 5 bits of priority and preemption */
#define VMCR_ABPR_AT 18
#define VMCR_BPR_AT  21
#define VMCR_PMR_AT  24 /* the upper five bits of eight */
#define LR_HW        (1u << 31)
#define LR_GROUP1    (1u << 30)
#define LR_ACTIVE    (1u << 29)
#define LR_PENDING   (1u << 28)
#define LR_STATE     (LR_PENDING | LR_ACTIVE)
#define LR_EOI       (1u << 19) /* of one that is not hardware's: tell when it ends */
#define LR_INTID     0x3ffu
#define LR_SENDER    0x1c00u /* of an SGI, likewise */
#define LR_BITS      0xff8fffffu
#define MAINTENANCE  25 /* INTID */

enum { MISR_EOI = 1, MISR_U = 2, MISR_LRENP = 4, MISR_NP = 8 };

static u16 lr_prio(u32 lr)
{
	return lr >> 20 & GICV2_VIRT_PRIO;
}

/* What GICV_IAR tells of a list register: an SGI with who sent it. */
static u32 lr_number(u32 lr)
{
	return lr &
	       (!(lr & LR_HW) && (lr & LR_INTID) < GICV2_SGIS ? LR_INTID | LR_SENDER : LR_INTID);
}

/* The pending list register of highest priority whose group is on; -1: none. */
static int find_next(const struct gicv2 *g, unsigned cpu)
{
	int best = -1;

	for (int n = 0; n < GICV2_LIST_REGS; n++) {
		u32 lr = g->h_lr[n][cpu];
		u32 on = lr & LR_GROUP1 ? GICC_CTLR_GRP1 : GICC_CTLR_GRP0;

		if ((lr & LR_STATE) == LR_PENDING && g->v_ctlr[cpu] & on &&
		    (best < 0 || lr_prio(lr) < lr_prio(g->h_lr[best][cpu])))
			best = n;
	}
	return best;
}

static unsigned group_mask(const struct gicv2 *g, unsigned cpu, bool group1)
{
	bool own = group1 && !(g->v_ctlr[cpu] & GICC_CTLR_CBPR);

	return ~0u << (own ? g->v_abpr[cpu] : g->v_bpr[cpu] + 1);
}

static u16 running_priority(const struct gicv2 *g, unsigned cpu)
{
	return g->h_apr[cpu] ? __builtin_ctz(g->h_apr[cpu]) << 3 : GICV2_IDLE_PRIO;
}

static bool can_take(const struct gicv2 *g, unsigned cpu, int n)
{
	u16 running = running_priority(g, cpu);
	unsigned prio, mask;

	if (n < 0 || !(g->h_hcr[cpu] & HCR_EN))
		return false;
	prio = lr_prio(g->h_lr[n][cpu]);
	mask = group_mask(g, cpu, g->h_lr[n][cpu] & LR_GROUP1);
	return prio < g->v_priority_mask[cpu] &&
	       (running == GICV2_IDLE_PRIO || (prio & mask) < running);
}

/* ---- maintenance ---- */

/* Bit n: list register n holds nothing more, and its end is to be told. */
static u32 ended(const struct gicv2 *g, unsigned cpu)
{
	u32 val = 0;

	for (unsigned n = 0; n < GICV2_LIST_REGS; n++)
		if ((g->h_lr[n][cpu] & (LR_STATE | LR_HW | LR_EOI)) == LR_EOI)
			val |= 1u << n;
	return val;
}

static u32 empty(const struct gicv2 *g, unsigned cpu)
{
	u32 val = 0;

	for (unsigned n = 0; n < GICV2_LIST_REGS; n++) {
		u32 lr = g->h_lr[n][cpu];

		if (!(lr & LR_STATE) && (lr & LR_HW || !(lr & LR_EOI)))
			val |= 1u << n;
	}
	return val;
}

/* Bits 4 to 7 tell that a group is on or off, and are asked for in the same places of GICH_HCR. */
static u32 maintenance(const struct gicv2 *g, unsigned cpu)
{
	u32 hcr = g->h_hcr[cpu], ctlr = g->v_ctlr[cpu], groups, val = ended(g, cpu) ? MISR_EOI : 0;
	unsigned used = 0, pending = 0;

	for (unsigned n = 0; n < GICV2_LIST_REGS; n++) {
		used += !!(g->h_lr[n][cpu] & LR_STATE);
		pending += (g->h_lr[n][cpu] & LR_STATE) == LR_PENDING;
	}
	if (hcr & HCR_UIE && used <= 1)
		val |= MISR_U;
	if (hcr & MISR_LRENP && hcr & HCR_EOIS)
		val |= MISR_LRENP;
	if (hcr & MISR_NP && !pending)
		val |= MISR_NP;
	groups = ctlr & GICC_CTLR_GRP0 ? 1u << 4 : 1u << 5;
	groups |= ctlr & GICC_CTLR_GRP1 ? 1u << 6 : 1u << 7;
	return val | (groups & hcr);
}

void gicv2_update_virtual(struct gicv2 *g, unsigned cpu)
{
	int n = find_next(g, cpu);
	bool take = can_take(g, cpu, n);
	bool fiq = take && !(g->h_lr[n][cpu] & LR_GROUP1) && g->v_ctlr[cpu] & GICC_CTLR_FIQEN;

	gicv2_drive(g, cpu, &g->virq_line[cpu], ARM_LINE_VIRQ, take && !fiq);
	gicv2_drive(g, cpu, &g->vfiq_line[cpu], ARM_LINE_VFIQ, fiq);
	gicv2_set_input(g, MAINTENANCE, 1u << cpu, g->h_hcr[cpu] & HCR_EN && maintenance(g, cpu));
	gicv2_update(g, cpu);
}

/* ---- the guest's side ---- */

/* The number that an acknowledgement or a look by @group1's register finds in list register @n. */
static u32 seen_by(const struct gicv2 *g, unsigned cpu, int n, bool group1)
{
	bool is_group1 = n >= 0 && g->h_lr[n][cpu] & LR_GROUP1;

	if (n < 0 || (group1 && !is_group1))
		return GICV2_NONE;
	if (!group1 && is_group1 && !(g->v_ctlr[cpu] & GICC_CTLR_ACKCTL))
		return GICV2_OTHER;
	return lr_number(g->h_lr[n][cpu]);
}

static u32 acknowledge(struct gicv2 *g, unsigned cpu, bool group1)
{
	int n = find_next(g, cpu);
	u32 number = seen_by(g, cpu, can_take(g, cpu, n) ? n : -1, group1), *lr;

	if (number == GICV2_NONE || number == GICV2_OTHER)
		return number;
	lr = &g->h_lr[n][cpu];
	g->h_apr[cpu] |= 1u << ((lr_prio(*lr) & group_mask(g, cpu, *lr & LR_GROUP1)) >> 3);
	*lr = (*lr & ~LR_STATE) | LR_ACTIVE;
	gicv2_update_virtual(g, cpu);
	return number;
}

/* The end of an interrupt that no list register holds is counted for the hypervisor. */
static void deactivate(struct gicv2 *g, unsigned cpu, u32 number)
{
	for (unsigned n = 0; n < GICV2_LIST_REGS; n++) {
		u32 *lr = &g->h_lr[n][cpu];

		if (lr_number(*lr) != number || !(*lr & LR_ACTIVE))
			continue;
		*lr &= ~LR_ACTIVE;
		if (*lr & LR_HW)
			gicv2_deactivate(g, cpu, *lr >> 10 & LR_INTID);
		return;
	}
	if ((g->h_hcr[cpu] & HCR_EOIS) != HCR_EOIS)
		g->h_hcr[cpu] += HCR_EOICOUNT;
}

static u32 number_of(u32 val)
{
	return val & ((val & LR_INTID) < GICV2_SGIS ? LR_INTID | LR_SENDER : LR_INTID);
}

static void end(struct gicv2 *g, unsigned cpu, u32 val)
{
	if ((val & LR_INTID) >= GICV2_MAX_IRQ || !g->h_apr[cpu])
		return;
	g->h_apr[cpu] &= g->h_apr[cpu] - 1;
	if (!(g->v_ctlr[cpu] & GICC_CTLR_EOIMODE))
		deactivate(g, cpu, number_of(val));
}

static u32 read_abpr(const struct gicv2 *g, unsigned cpu)
{
	return g->v_ctlr[cpu] & GICC_CTLR_CBPR ? MIN(g->v_bpr[cpu] + 1, 7) : g->v_abpr[cpu];
}

static u32 read_gicv(struct gicv2 *g, unsigned cpu, u64 offset)
{
	switch (offset) {
	case GICV_CTLR: return g->v_ctlr[cpu];
	case GICV_PMR: return g->v_priority_mask[cpu];
	case GICV_BPR: return g->v_bpr[cpu];
	case GICV_IAR: return acknowledge(g, cpu, false);
	case GICV_RPR: return MIN(running_priority(g, cpu), 0xff);
	case GICV_HPPIR: return seen_by(g, cpu, find_next(g, cpu), false);
	case GICV_ABPR: return read_abpr(g, cpu);
	case GICV_AIAR: return acknowledge(g, cpu, true);
	case GICV_AHPPIR: return seen_by(g, cpu, find_next(g, cpu), true);
	case GICV_APR: return g->h_apr[cpu];
	case GICV_IIDR: return GICV2_CPU_IIDR;
	default: return 0;
	}
}

static void write_gicv(struct gicv2 *g, unsigned cpu, u64 offset, u32 val)
{
	switch (offset) {
	case GICV_CTLR: g->v_ctlr[cpu] = val & GICC_CTLR_RW; break;
	case GICV_PMR: g->v_priority_mask[cpu] = val & GICV2_VIRT_PRIO; break;
	case GICV_BPR: g->v_bpr[cpu] = MAX(val & 7, GICV2_MIN_VBPR); break;
	case GICV_ABPR:
		if (!(g->v_ctlr[cpu] & GICC_CTLR_CBPR))
			g->v_abpr[cpu] = MAX(val & 7, GICV2_MIN_VABPR);
		break;
	case GICV_EOIR:
	case GICV_AEOIR: end(g, cpu, val); break;
	case GICV_APR: g->h_apr[cpu] = val; break;
	case GICV_DIR:
		if (g->v_ctlr[cpu] & GICC_CTLR_EOIMODE)
			deactivate(g, cpu, number_of(val));
		break;
	default: break; /* read-only, or not there */
	}
}

/* ---- the hypervisor's side ---- */

static u32 read_vmcr(const struct gicv2 *g, unsigned cpu)
{
	return g->v_ctlr[cpu] | (u32)g->v_abpr[cpu] << VMCR_ABPR_AT |
	       (u32)g->v_bpr[cpu] << VMCR_BPR_AT | (u32)g->v_priority_mask[cpu] << VMCR_PMR_AT;
}

static void write_vmcr(struct gicv2 *g, unsigned cpu, u32 val)
{
	g->v_ctlr[cpu] = val & GICC_CTLR_RW;
	g->v_abpr[cpu] = MAX(val >> VMCR_ABPR_AT & 7, GICV2_MIN_VABPR);
	g->v_bpr[cpu] = MAX(val >> VMCR_BPR_AT & 7, GICV2_MIN_VBPR);
	g->v_priority_mask[cpu] = val >> VMCR_PMR_AT & GICV2_VIRT_PRIO;
}

static u32 read_gich(struct gicv2 *g, unsigned cpu, u64 offset)
{
	switch (offset) {
	case GICH_HCR: return g->h_hcr[cpu];
	case GICH_VTR: return VTR;
	case GICH_VMCR: return read_vmcr(g, cpu);
	case GICH_MISR: return maintenance(g, cpu);
	case GICH_EISR0: return ended(g, cpu);
	case GICH_ELRSR0: return empty(g, cpu);
	case GICH_APR: return g->h_apr[cpu];
	case GICH_LR ... GICH_LR_END - 1: return g->h_lr[(offset - GICH_LR) / 4][cpu];
	default: return 0;
	}
}

static void write_gich(struct gicv2 *g, unsigned cpu, u64 offset, u32 val)
{
	switch (offset) {
	case GICH_HCR: g->h_hcr[cpu] = val & HCR_BITS; break;
	case GICH_VMCR: write_vmcr(g, cpu, val); break;
	case GICH_APR: g->h_apr[cpu] = val; break;
	case GICH_LR ... GICH_LR_END - 1:
		g->h_lr[(offset - GICH_LR) / 4][cpu] = val & LR_BITS;
		break;
	default: break; /* read-only, or not there */
	}
}

void gicv2_reset_virtual(struct gicv2 *g)
{
	memset(g->h_hcr, 0, sizeof(g->h_hcr));
	memset(g->h_lr, 0, sizeof(g->h_lr));
	memset(g->h_apr, 0, sizeof(g->h_apr));
	memset(g->v_ctlr, 0, sizeof(g->v_ctlr));
	memset(g->v_priority_mask, 0, sizeof(g->v_priority_mask));
	memset(g->v_bpr, GICV2_MIN_VBPR, sizeof(g->v_bpr));
	memset(g->v_abpr, GICV2_MIN_VABPR, sizeof(g->v_abpr));
}

/* ---- what travels ---- */

void gicv2_save_virtual(struct gicv2 *g)
{
	for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++) {
		int n = find_next(g, cpu);

		g->h_misr[cpu] = maintenance(g, cpu);
		g->v_running_priority[cpu] = running_priority(g, cpu);
		g->v_current_pending[cpu] = n < 0 ? GICV2_NONE : lr_number(g->h_lr[n][cpu]);
	}
}

/* Whatever came is made what the registers could hold; list registers that do not exist are empty.
 */
void gicv2_limit_virtual(struct gicv2 *g)
{
	for (unsigned cpu = 0; cpu < ARM_GICV2_CPUS; cpu++) {
		g->h_hcr[cpu] &= HCR_BITS;
		for (unsigned n = 0; n < GICV2_WIRE_LRS; n++)
			g->h_lr[n][cpu] &= n < GICV2_LIST_REGS ? LR_BITS : 0;
		g->v_ctlr[cpu] &= GICC_CTLR_RW;
		g->v_priority_mask[cpu] &= GICV2_VIRT_PRIO;
		g->v_bpr[cpu] = CLAMP(g->v_bpr[cpu], GICV2_MIN_VBPR, 7);
		g->v_abpr[cpu] = CLAMP(g->v_abpr[cpu], GICV2_MIN_VABPR, 7);
	}
}

/* ---- accesses ---- */

static u64 read_frame(struct gicv2 *g, u64 offset, unsigned size, bool guest)
{
	unsigned cpu = gicv2_this_cpu(g);
	u64 val;

	if (size != 4) {
		log_guest("GIC%c: read of %u bytes at 0x%" PRIx64 "\n", guest ? 'V' : 'H', size,
			  offset);
		return 0;
	}
	g_mutex_lock(&g->lock);
	val = guest ? read_gicv(g, cpu, offset) : read_gich(g, cpu, offset);
	g_mutex_unlock(&g->lock);
	return val;
}

static void write_frame(struct gicv2 *g, u64 offset, u32 val, unsigned size, bool guest)
{
	unsigned cpu = gicv2_this_cpu(g);

	if (size != 4) {
		log_guest("GIC%c: write of %u bytes at 0x%" PRIx64 "\n", guest ? 'V' : 'H', size,
			  offset);
		return;
	}
	g_mutex_lock(&g->lock);
	if (guest)
		write_gicv(g, cpu, offset, val);
	else
		write_gich(g, cpu, offset, val);
	gicv2_update_virtual(g, cpu);
	if (guest && (offset == GICV_EOIR || offset == GICV_AEOIR || offset == GICV_DIR))
		gicv2_update_all(g); /* the end of a physical SPI */
	g_mutex_unlock(&g->lock);
}

static u64 hyp_read(void *opaque, u64 offset, unsigned size)
{
	return read_frame(opaque, offset, size, false);
}

static void hyp_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	write_frame(opaque, offset, val, size, false);
}

static u64 vcpu_read(void *opaque, u64 offset, unsigned size)
{
	return read_frame(opaque, offset, size, true);
}

static void vcpu_write(void *opaque, u64 offset, u64 val, unsigned size)
{
	write_frame(opaque, offset, val, size, true);
}

const struct mmio_ops gicv2_hyp_ops = { .read = hyp_read, .write = hyp_write };
const struct mmio_ops gicv2_vcpu_ops = { .read = vcpu_read, .write = vcpu_write };

/*
 * target/i386/apic.c - the local APIC between its register page and the wire.
 *
 * Source: Intel SDM volume 3, chapter 11; KVM_GET_LAPIC's page has the layout of the APIC's own.
 */
#include "accel/accel.h"
#include "target/i386.h"
#include "target/i386/cpu.h"
#include "util/error.h"
#include "util/timer.h"

#include <linux/kvm.h>

/* A message that a device would send (volume 3, 11.11). */
enum {
	MSI_ADDRESS = 0xfee00000,
	MSI_DEST_ALL = 0xff << 12,
	MSI_DELIVERY_NMI = 4 << 8,
};

enum {
	APIC_ID = 0x20,
	APIC_VERSION = 0x30,
	APIC_TPR = 0x80,
	APIC_ARB = 0x90,
	APIC_LDR = 0xd0,
	APIC_DFR = 0xe0,
	APIC_SVR = 0xf0,
	APIC_ISR = 0x100,
	APIC_TMR = 0x180,
	APIC_IRR = 0x200,
	APIC_ESR = 0x280,
	APIC_ICR = 0x300,
	APIC_ICR2 = 0x310,
	APIC_LVT = 0x320,
	APIC_TMICT = 0x380,
	APIC_TMCCT = 0x390,
	APIC_TDCR = 0x3e0,
};

#define APIC_VERSION_VALUE 0x50014 /* 6 local vector table entries */
#define APIC_BASE_ENABLE   0x800
#define APIC_BASE_BSP      0x100
#define LVT_MASKED         0x10000
#define LVT_EXTINT         0x700
#define LVT_TIMER_TSC      0x40000 /* TSC-deadline mode has no count */

void x86_apic_reset(struct x86_cpu *cpu)
{
	struct x86_apic *a = &cpu->apic;

	*a = (struct x86_apic){
		.apicbase = 0xfee00000 | APIC_BASE_ENABLE |
			    (cpu->vcpu && cpu->vcpu->index ? 0 : APIC_BASE_BSP),
		.id = cpu->apic_id,
		.spurious_vec = 0xff,
		.dest_mode = 0xf,
		.count_shift = 1,
		.timer_expiry = -1,
	};
	for (int i = 0; i < 6; i++)
		a->lvt[i] = LVT_MASKED;
	/* Firmware expects the 8259 to reach the boot processor through LINT0. */
	if (a->apicbase & APIC_BASE_BSP)
		a->lvt[3] = LVT_EXTINT;
}

static u32 get(const struct kvm_lapic_state *s, unsigned offset)
{
	u32 v;

	memcpy(&v, s->regs + offset, sizeof(v));
	return v;
}

static void put(struct kvm_lapic_state *s, unsigned offset, u32 v)
{
	memcpy(s->regs + offset, &v, sizeof(v));
}

/* Ticks of the timer are 1 ns times the divider (KVM's bus clock). */
static int count_shift(u32 divide_conf)
{
	u32 v = (divide_conf & 3) | (divide_conf >> 1 & 4);

	return (v + 1) & 7;
}

/* What is left of the timer's count, from the time that it was started. */
static u32 current_count(const struct x86_apic *a)
{
	s64 ticks = (clock_ns(CLOCK_TYPE_VIRTUAL) - a->initial_count_load_time) >> a->count_shift;

	if (!a->initial_count || ticks <= 0)
		return a->initial_count;
	if (a->lvt[0] & 1 << 17) /* periodic */
		return a->initial_count - ticks % ((s64)a->initial_count + 1);
	return ticks >= a->initial_count ? 0 : a->initial_count - ticks;
}

void x86_apic_to_kvm(const struct x86_cpu *cpu, struct kvm_lapic_state *out)
{
	const struct x86_apic *a = &cpu->apic;

	memset(out, 0, sizeof(*out));
	put(out, APIC_ID, (u32)a->id << 24);
	put(out, APIC_VERSION, APIC_VERSION_VALUE);
	put(out, APIC_TPR, a->tpr);
	put(out, APIC_ARB, a->arb_id);
	put(out, APIC_LDR, (u32)a->log_dest << 24);
	put(out, APIC_DFR, (u32)a->dest_mode << 28 | 0x0fffffff);
	put(out, APIC_SVR, a->spurious_vec);
	for (int i = 0; i < 8; i++) {
		put(out, APIC_ISR + 16 * i, a->isr[i]);
		put(out, APIC_TMR + 16 * i, a->tmr[i]);
		put(out, APIC_IRR + 16 * i, a->irr[i]);
	}
	put(out, APIC_ESR, a->esr);
	put(out, APIC_ICR, a->icr[0]);
	put(out, APIC_ICR2, a->icr[1]);
	for (int i = 0; i < 6; i++)
		put(out, APIC_LVT + 16 * i, a->lvt[i]);
	put(out, APIC_TMICT, a->initial_count);
	put(out, APIC_TMCCT, a->lvt[0] & LVT_TIMER_TSC ? 0 : current_count(a));
	put(out, APIC_TDCR, a->divide_conf);
}

void x86_apic_from_kvm(struct x86_cpu *cpu, const struct kvm_lapic_state *in)
{
	struct x86_apic *a = &cpu->apic;
	s64 now = clock_ns(CLOCK_TYPE_VIRTUAL);

	a->id = get(in, APIC_ID) >> 24;
	a->arb_id = get(in, APIC_ARB);
	a->tpr = get(in, APIC_TPR);
	a->log_dest = get(in, APIC_LDR) >> 24;
	a->dest_mode = get(in, APIC_DFR) >> 28;
	a->spurious_vec = get(in, APIC_SVR);
	for (int i = 0; i < 8; i++) {
		a->isr[i] = get(in, APIC_ISR + 16 * i);
		a->tmr[i] = get(in, APIC_TMR + 16 * i);
		a->irr[i] = get(in, APIC_IRR + 16 * i);
	}
	a->esr = get(in, APIC_ESR);
	a->icr[0] = get(in, APIC_ICR);
	a->icr[1] = get(in, APIC_ICR2);
	for (int i = 0; i < 6; i++)
		a->lvt[i] = get(in, APIC_LVT + 16 * i);
	a->divide_conf = get(in, APIC_TDCR);
	a->count_shift = count_shift(a->divide_conf);
	a->initial_count = get(in, APIC_TMICT);
	/* The wire has the time of the start instead of the count that is left. */
	a->initial_count_load_time =
		now - ((s64)(a->initial_count - get(in, APIC_TMCCT)) << a->count_shift);
	a->next_time = a->initial_count_load_time + (((s64)a->initial_count + 1) << a->count_shift);
	a->timer_expiry = -1;
}

int x86_inject_nmi(struct vm *vm, GError **err)
{
	struct accel *a = vm->accel;
	int ret;

	if (!a->irqchip || !a->ops->msi_send) {
		error_set(err, "an NMI needs interrupt controllers, which accelerator %s has not",
			  a->ops->name);
		return -ENOTSUP;
	}
	/* To all, by physical destination. */
	ret = a->ops->msi_send(a, MSI_ADDRESS | MSI_DEST_ALL, MSI_DELIVERY_NMI);
	if (ret < 0)
		error_set_errno(err, -ret, "cannot send an NMI");
	return ret < 0 ? ret : 0;
}

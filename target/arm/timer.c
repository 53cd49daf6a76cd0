/* target/arm/timer.c - generic timers: counter, comparison, outputs (Arm DDI 0487, D12.2). */
#include "target/arm/timer-priv.h"

#include "target/arm/excp.h"

#include <assert.h>

#define NEVER     INT64_MAX
#define ECV_SHIFT 60 /* of ID_AA64MMFR0_EL1.ECV */

static u64 ns_to_count(const struct arm_timers *t, s64 ns)
{
	if (t->period_ns == 1)
		return ns;
	if (t->period_ns)
		return (u64)ns / t->period_ns;
	return (unsigned __int128)ns * t->hz / NS_PER_S;
}

u64 arm_timers_counter(const struct arm_cpu *cpu)
{
	return ns_to_count(cpu->timers, clock_ns(CLOCK_TYPE_VIRTUAL));
}

s64 arm_timers_to_ns(const struct arm_cpu *cpu, u64 count)
{
	unsigned __int128 scaled = (unsigned __int128)count * NS_PER_S + cpu->timers->hz - 1;
	unsigned __int128 ns = scaled / cpu->timers->hz;

	return ns < NEVER ? (s64)ns : NEVER;
}

u64 arm_timers_virtual_counter(const struct arm_cpu *cpu)
{
	unsigned el = cpu_el(cpu);
	u64 host = HCR_E2H | (el == 0 ? HCR_TGE : 0);
	u64 count = arm_timers_counter(cpu);

	if (!cpu->has_el2 || (el != 1 && el < 3 && (cpu->hcr_el2 & host) == host))
		return count;
	return count - cpu->cntvoff_el2;
}

static bool physical_offset_enabled(const struct arm_cpu *cpu)
{
	return cpu->has_el2 && cpu->cnthctl_el2 & CNTHCTL_ECV && cpu->id[7][0] >> ECV_SHIFT >= 2;
}

u64 timer_physical_offset(const struct arm_cpu *cpu)
{
	return physical_offset_enabled(cpu) && !arm_el0_in_host(cpu) ? cpu->cntpoff_el2 : 0;
}

/* EL2's host mode would make the offsets of EL1's timers zero. It is not looked at: the host uses
 * CNTHV and CNTHP then, and world switches would have to arm the guest's timers twice. */
static u64 offset_of(const struct arm_cpu *cpu, enum arm_timer n)
{
	switch (n) {
	case ARM_TIMER_VIRT: return cpu->has_el2 ? cpu->cntvoff_el2 : 0;
	case ARM_TIMER_PHYS: return physical_offset_enabled(cpu) ? cpu->cntpoff_el2 : 0;
	default: return 0;
	}
}

u64 timer_count(const struct arm_cpu *cpu, enum arm_timer n)
{
	return arm_timers_counter(cpu) - offset_of(cpu, n);
}

bool timer_condition(const struct arm_cpu *cpu, enum arm_timer n)
{
	return timer_count(cpu, n) >= cpu->timer[n].cval;
}

/*
 * When the condition changes next by itself. Counts are unsigned and wrap: with an offset that the
 * counter has not reached yet, the condition may be true now and becomes false when it is reached.
 */
static s64 next_change_ns(const struct arm_cpu *cpu, enum arm_timer n)
{
	u64 offset = offset_of(cpu, n), now = arm_timers_counter(cpu);
	u64 count = now - offset, cval = cpu->timer[n].cval, ticks;

	if (count < cval)
		ticks = cval - count;
	else if (count > now)
		ticks = -count;
	else
		return NEVER;
	return ticks > UINT64_MAX - now ? NEVER : arm_timers_to_ns(cpu, now + ticks);
}

static void drive(struct arm_timers *t, enum arm_timer n, bool level)
{
	if (t->level[n] == level)
		return;
	t->level[n] = level;
	if (t->output)
		t->output(t->opaque, n, level);
}

/* Masked timers need no host timer: nobody sees their condition change but by reading it. */
static void update_locked(struct arm_timers *t, enum arm_timer n)
{
	const struct arm_cpu *cpu = t->cpu;
	bool live = (cpu->timer[n].ctl & (CNT_ENABLE | CNT_IMASK)) == CNT_ENABLE;
	s64 next = live ? next_change_ns(cpu, n) : NEVER;

	drive(t, n, live && timer_condition(cpu, n));
	if (next != NEVER && t->host[n].expiry_ns != next)
		timer_mod(&t->host[n], next);
	else if (next == NEVER && timer_pending(&t->host[n]))
		timer_del(&t->host[n]); /* may still fire once: that only comes back to here */
}

static void on_expiry(struct arm_timers *t, enum arm_timer n)
{
	g_mutex_lock(&t->lock);
	update_locked(t, n);
	g_mutex_unlock(&t->lock);
}

/* One callback for each timer, since a host timer carries one pointer. */
#define EXPIRY(name, n)                                                                            \
	static void expire_##name(void *opaque)                                                    \
	{                                                                                          \
		on_expiry(opaque, n);                                                              \
	}
EXPIRY(phys, ARM_TIMER_PHYS)
EXPIRY(virt, ARM_TIMER_VIRT)
EXPIRY(hyp, ARM_TIMER_HYP)
EXPIRY(sec, ARM_TIMER_SEC)
EXPIRY(hyp_virt, ARM_TIMER_HYP_VIRT)

static timer_fn *const expire[ARM_TIMERS] = { expire_phys, expire_virt, expire_hyp, expire_sec,
					      expire_hyp_virt };

void timer_write_ctl(struct arm_cpu *cpu, enum arm_timer n, u64 ctl)
{
	g_mutex_lock(&cpu->timers->lock);
	cpu->timer[n].ctl = ctl & (CNT_ENABLE | CNT_IMASK);
	update_locked(cpu->timers, n);
	g_mutex_unlock(&cpu->timers->lock);
}

void timer_write_cval(struct arm_cpu *cpu, enum arm_timer n, u64 cval)
{
	g_mutex_lock(&cpu->timers->lock);
	cpu->timer[n].cval = cval;
	update_locked(cpu->timers, n);
	g_mutex_unlock(&cpu->timers->lock);
}

void arm_timers_update(struct arm_cpu *cpu)
{
	struct arm_timers *t = cpu->timers;

	g_mutex_lock(&t->lock);
	for (enum arm_timer n = 0; n < ARM_TIMERS; n++)
		update_locked(t, n);
	g_mutex_unlock(&t->lock);
}

void arm_timers_repeat(struct arm_cpu *cpu)
{
	struct arm_timers *t = cpu->timers;

	if (!t || !t->output)
		return;
	g_mutex_lock(&t->lock);
	for (enum arm_timer n = 0; n < ARM_TIMERS; n++)
		t->output(t->opaque, n, t->level[n]);
	g_mutex_unlock(&t->lock);
}

void arm_timers_reset(struct arm_cpu *cpu)
{
	memset(cpu->timer, 0, sizeof(cpu->timer));
	cpu->cntvoff_el2 = cpu->cntpoff_el2 = cpu->cntkctl_el1 = 0;
	cpu->cnthctl_el2 = 3; /* EL1 has counter and timer, as QEMU resets it */
	cpu->cntfrq_el0 = cpu->timers->hz;
	arm_timers_update(cpu);
}

void arm_timers_connect(struct arm_cpu *cpu, arm_timer_output_fn *fn, void *opaque)
{
	cpu->timers->output = fn;
	cpu->timers->opaque = opaque;
}

void arm_timers_create(struct arm_cpu *cpu, u32 hz)
{
	struct arm_timers *t = g_new0(struct arm_timers, 1);

	assert(hz >= 1 && hz <= NS_PER_S);
	t->cpu = cpu;
	t->hz = hz;
	t->period_ns = NS_PER_S % hz ? 0 : NS_PER_S / hz;
	g_mutex_init(&t->lock);
	for (enum arm_timer n = 0; n < ARM_TIMERS; n++)
		timer_init(&t->host[n], CLOCK_TYPE_VIRTUAL, expire[n], t);
	cpu->timers = t;
	timer_registers_add(cpu);
	arm_timers_reset(cpu);
}

void arm_timers_destroy(struct arm_cpu *cpu)
{
	struct arm_timers *t = cpu->timers;

	cpu->timers = NULL;
	if (!t)
		return;
	for (enum arm_timer n = 0; n < ARM_TIMERS; n++)
		timer_del(&t->host[n]);
	g_mutex_clear(&t->lock);
	g_free(t);
}

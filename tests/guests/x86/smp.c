/*
 * smp.c - starting further CPUs of a test guest through the local APIC.
 *
 * Source: Intel SDM, volume 3, sections 8.4 (INIT, start-up interrupts) and 10.6 (ICR).
 */
#include "../guest.h"
#include "layout.h"
#include "x86.h"

#define APIC_ICR_LOW  0xfee00300UL
#define APIC_ICR_HIGH 0xfee00310UL
#define ICR_INIT      0x4500
#define ICR_STARTUP   0x4600

extern char trampoline[], trampoline_end[];
extern volatile u64 smp_index;

static void (*smp_fn)(unsigned index);
static volatile unsigned smp_arrived;

static void apic_send(unsigned apic_id, u32 what)
{
	*(volatile u32 *)APIC_ICR_HIGH = apic_id << 24;
	*(volatile u32 *)APIC_ICR_LOW = what;
}

/* Waits until the CPU has arrived, at most @ns. */
static bool wait_arrival(unsigned index, u64 ns)
{
	u64 end = now_ns() + ns;

	while (smp_arrived != index && now_ns() < end)
		arch_relax();
	return smp_arrived == index;
}

void smp_entry(unsigned index)
{
	smp_arrived = index;
	smp_fn(index);
	arch_stop();
}

bool arch_start_cpu(unsigned index, void (*fn)(unsigned index))
{
	volatile char *low = (volatile char *)TRAMPOLINE;

	for (int i = 0; trampoline + i < trampoline_end; i++)
		low[i] = trampoline[i];
	smp_fn = fn;
	smp_index = index;
	arch_barrier();
	apic_send(index, ICR_INIT);
	wait_arrival(index, 10000000);
	for (int i = 0; i < 2; i++) {
		apic_send(index, ICR_STARTUP | TRAMPOLINE >> 12);
		if (wait_arrival(index, 500000000))
			return true;
	}
	return false;
}

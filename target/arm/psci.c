/*
 * target/arm/psci.c - power control of CPUs and machine by calls (Arm DEN 0022F.b, PSCI 1.1;
 * Arm DEN 0028, SMC calling convention).
 */
#include "target/arm/excp.h"
#include "target/arm/vcpu.h"
#include "util/lock.h"

#define FN64           0x40000000u /* set in the 64-bit form of a function's number */
#define AFFINITY_MASK  0xff00ffffffull
#define PSCI_VERSION_1 0x00010001u
#define TOS_NOT_NEEDED 2 /* MIGRATE_INFO_TYPE: no trusted OS that would have to move */

enum function {
	PSCI_VERSION = 0x84000000,
	PSCI_CPU_SUSPEND,
	PSCI_CPU_OFF,
	PSCI_CPU_ON,
	PSCI_AFFINITY_INFO,
	PSCI_MIGRATE,
	PSCI_MIGRATE_INFO_TYPE,
	PSCI_MIGRATE_INFO_UP_CPU,
	PSCI_SYSTEM_OFF,
	PSCI_SYSTEM_RESET,
	PSCI_FEATURES,
	PSCI_SYSTEM_RESET2 = 0x84000012,
};

enum result {
	SUCCESS = 0,
	NOT_SUPPORTED = -1,
	INVALID_PARAMETERS = -2,
	ALREADY_ON = -4,
	INVALID_ADDRESS = -9,
};

/* Power states that AFFINITY_INFO tells. */
enum { STATE_ON, STATE_OFF };

static struct arm_vcpu *find_cpu(const struct arm_vcpu *v, u64 mpidr)
{
	struct vm *vm = v->vcpu->vm;

	for (int i = 0; i < vm->ncpus; i++) {
		struct arm_vcpu *other = vm->cpus[i]->arch;

		if ((other->cpu.mpidr & AFFINITY_MASK) == (mpidr & AFFINITY_MASK))
			return other;
	}
	return NULL;
}

static bool reserved_bits(u64 mpidr)
{
	return mpidr & ~AFFINITY_MASK;
}

static s64 affinity_info(struct arm_vcpu *v, u64 mpidr, u64 level)
{
	const struct arm_vcpu *target;

	/* Clusters have no power state of their own. */
	if (level > 3 || reserved_bits(mpidr))
		return INVALID_PARAMETERS;
	if (level)
		return STATE_ON;
	target = find_cpu(v, mpidr);
	if (!target)
		return INVALID_PARAMETERS;
	return target->powered_off ? STATE_OFF : STATE_ON;
}

/*
 * The target is off: its thread sleeps or is parked and looks at nothing but powered_off, so that
 * its registers may be written here.
 */
static s64 cpu_on(struct arm_vcpu *v, u64 mpidr, u64 entry, u64 context)
{
	struct arm_vcpu *target = reserved_bits(mpidr) ? NULL : find_cpu(v, mpidr);

	if (!target)
		return INVALID_PARAMETERS;
	if (!target->powered_off)
		return ALREADY_ON;
	if (entry & 3)
		return INVALID_ADDRESS;
	arm_cpu_reset(&target->cpu, 0);
	/* At the highest level that is not firmware's, whatever the caller's is (6.4.3.4). */
	arm_cpu_boot_at(&target->cpu, arm_boot_el(&target->cpu), entry, context);
	__atomic_store_n(&target->powered_off, false, __ATOMIC_RELEASE);
	tcg_cpu_kick(&target->cpu.tcg);
	return SUCCESS;
}

static void power_off(struct arm_vcpu *v)
{
	__atomic_store_n(&v->powered_off, true, __ATOMIC_RELEASE);
}

/* A power-down state may always be treated as one that keeps the CPU's registers. */
static s64 cpu_suspend(struct arm_vcpu *v)
{
	v->cpu.waiting = ARM_WAIT_INTERRUPT;
	return SUCCESS;
}

/* The calls below do not come back: until the machine is reset the caller is off. */
static s64 system_off(struct arm_vcpu *v)
{
	power_off(v);
	vm_request_shutdown(v->vcpu->vm, SHUTDOWN_GUEST_SHUTDOWN);
	return SUCCESS;
}

static s64 system_reset(struct arm_vcpu *v)
{
	power_off(v);
	vm_request_reset(v->vcpu->vm, SHUTDOWN_GUEST_RESET);
	return SUCCESS;
}

/* Architectural types: 0 is a warm reset; all of ours keep no state. */
static s64 system_reset2(struct arm_vcpu *v, u64 type)
{
	if (type & 0x80000000)
		return NOT_SUPPORTED; /* vendor's own */
	return type ? INVALID_PARAMETERS : system_reset(v);
}

/* Whether there is a 64-bit form of the function, which takes addresses or affinities. */
static bool has_64bit_form(u32 fn)
{
	return fn == PSCI_CPU_SUSPEND || fn == PSCI_CPU_ON || fn == PSCI_AFFINITY_INFO ||
	       fn == PSCI_SYSTEM_RESET2;
}

static s64 features(u32 fn)
{
	u32 base = fn & ~FN64;

	if (fn & FN64 && !has_64bit_form(base))
		return NOT_SUPPORTED;
	switch (base) {
	case PSCI_VERSION:
	case PSCI_CPU_SUSPEND: /* original format of power states, no OS-initiated mode */
	case PSCI_CPU_OFF:
	case PSCI_CPU_ON:
	case PSCI_AFFINITY_INFO:
	case PSCI_MIGRATE_INFO_TYPE:
	case PSCI_SYSTEM_OFF:
	case PSCI_SYSTEM_RESET:
	case PSCI_SYSTEM_RESET2:
	case PSCI_FEATURES: return SUCCESS;
	default: return NOT_SUPPORTED;
	}
}

static s64 call(struct arm_vcpu *v, u32 fn, const u64 *arg)
{
	switch (fn & ~FN64) {
	case PSCI_VERSION: return PSCI_VERSION_1;
	case PSCI_CPU_SUSPEND: return cpu_suspend(v);
	case PSCI_CPU_OFF: power_off(v); return SUCCESS;
	case PSCI_CPU_ON: return cpu_on(v, arg[0], arg[1], arg[2]);
	case PSCI_AFFINITY_INFO: return affinity_info(v, arg[0], arg[1]);
	case PSCI_MIGRATE_INFO_TYPE: return TOS_NOT_NEEDED;
	case PSCI_SYSTEM_OFF: return system_off(v);
	case PSCI_SYSTEM_RESET: return system_reset(v);
	case PSCI_SYSTEM_RESET2: return system_reset2(v, arg[0]);
	case PSCI_FEATURES: return features(arg[0]);
	default: return NOT_SUPPORTED;
	}
}

void arm_psci_call(struct arm_vcpu *v)
{
	u64 *x = v->cpu.tcg.r;
	u32 fn = x[0];
	u64 arg[3] = { x[1], x[2], x[3] };

	/* Arguments of a 32-bit call are 32 bits wide. */
	for (unsigned i = 0; i < ARRAY_SIZE(arg) && !(fn & FN64); i++)
		arg[i] = (u32)arg[i];
	machine_lock();
	x[0] = fn & FN64 && !has_64bit_form(fn & ~FN64) ? (s64)NOT_SUPPORTED : call(v, fn, arg);
	machine_unlock();
}

/*
 * target/arm/sem_mem.h - alignment rules that the memory reference functions share.
 */
#ifndef TARGET_ARM_SEM_MEM_H
#define TARGET_ARM_SEM_MEM_H

#include "target/arm/cpu.h"

#define SCTLR_nAA (1ull << 6)

_Noreturn void arm_align_fault(struct arm_cpu *cpu, u64 va, bool write);

/* check_align() - alignment fault of a plain access, where SCTLR_ELx.A asks for it. */
static inline void check_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write)
{
	if (unlikely(va & (size - 1)) && cpu->tcg.state_key & ARM_KEY_ALIGN)
		arm_align_fault(cpu, va, write);
}

/*
 * check_ordered_align() - alignment fault for acquire and release accesses.
 * check_atomic_align() - the same for exclusives and atomics.
 * @size: 1 to 16 bytes, a power of two. With FEAT_LSE2 an access inside one aligned 16-byte
 *        granule is allowed, and if it is acquire or release, with SCTLR_ELx.nAA every access.
 * Source: Arm DDI 0487, B2.8.2.
 */
void check_ordered_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write);
void check_atomic_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write);

#endif

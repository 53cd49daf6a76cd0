/*
 * target/arm/sem_mem.h - alignment rules that the memory reference functions share.
 */
#ifndef TARGET_ARM_SEM_MEM_H
#define TARGET_ARM_SEM_MEM_H

#include "target/arm/cpu.h"

#define SCTLR_nAA (1ull << 6)

_Noreturn void arm_align_fault(struct arm_cpu *cpu, u64 va, bool write);

/*
 * check_ordered_align() - alignment fault for acquire, release and atomic accesses.
 * @size: 1 to 16 bytes, a power of two. With FEAT_LSE2 an access inside one aligned 16-byte
 *        granule is allowed, and with SCTLR_ELx.nAA every access.
 * Source: Arm DDI 0487, B2.8.2.
 */
void check_ordered_align(struct arm_cpu *cpu, u64 va, unsigned size, bool write);

#endif
